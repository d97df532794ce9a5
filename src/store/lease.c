/*
 * Whatever is decided follows from a look (struct sight): the text of the lease, and the last epoch
 * that was claimed. To take a lease means to renew the own one if nobody has claimed the session
 * since; else to wait until no look differs, which is left out if it is free or a person says so,
 * then to claim, to look again and to renew. If somebody was quicker, all that begins anew, a few
 * times. Files are written under a name of each process and renamed; what killed writers leave goes
 * when a lease is taken.
 */

#include "store/lease.h"

#include "base/time.h"
#include "model/member.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/machine.h"
#include "os/path.h"
#include "store/session.h"

#define LEASE_FILE "lease"
#define CLAIM_PREFIX "claim-"
#define WATCH_PREFIX "watch-"
#define LEASE_PREFIX "lease-" /* of one that is being written */

enum lease_age lease_age(int64_t age_ms)
{
    return age_ms < LEASE_LOST_MS ? LEASE_VALID : age_ms < LEASE_OVER_MS ? LEASE_ENDS : LEASE_OVER;
}

int lease_open_store(const char *store, struct err *err)
{
    int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd != -1)
        return fd;
    (void)err_errno(err, "cannot open the store '%s'", store);
    return err->number == ENOENT ? err_hint(err, "create that directory, or mount its disk") : -1;
}

int lease_open(const char *store, const char *id, bool make, struct err *err)
{
    struct stat st;
    _cleanup_close_ int at = lease_open_store(store, err);

    if (at == -1)
        return -1;
    if (make && mkdirat(at, id, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s/%s'", store, id);
    int dir = path_open_dir(at, id);
    if (dir == -1)
        return err_errno(err, "cannot open '%s/%s'", store, id);
    if (fstat(dir, &st) == 0 && st.st_uid == geteuid())
        return dir;
    (void)close(dir);
    return err_set(err, MAS_FAILED, "cannot use '%s/%s': it belongs to another user", store, id);
}

/* ---- the text */

static const struct value_type text_type = {VALUE_TEXT, .max = MACHINE_TEXT_MAX};
static const struct value_type epoch_type = {VALUE_NUMBER, .min = 1, .max = EPOCH_MAX};
static const struct value_type sequence_type = {VALUE_NUMBER, .max = EPOCH_MAX};
static const struct value_type token_type = {VALUE_CHARS, .min = 1, .fits = id_is_valid};

static const struct member members[] = {
    {MEMBER("MACHINE", text_type, struct lease, machine), .how = MEMBER_NEEDED},
    {MEMBER("BOOT", text_type, struct lease, boot), .how = MEMBER_NEEDED},
    {MEMBER("EPOCH", epoch_type, struct lease, epoch), .how = MEMBER_NEEDED},
    {MEMBER("SEQUENCE", sequence_type, struct lease, sequence), .how = MEMBER_NEEDED},
    {MEMBER("TOKEN", token_type, struct lease, token), .how = MEMBER_NEEDED},
    MEMBER_END,
};

void lease_free(struct lease *lease)
{
    members_free(members, lease);
}

int lease_parse(const char *text, size_t len, struct lease *ret, struct err *err)
{
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err ignored = ERR_INIT;
    _cleanup_kv_ struct kv kv = {.count = 0};

    if (kv_parse(text, len, &kv, err) == -1)
        return -1;
    int rc = members_take(members, &kv, &lease, &ignored);
    if (rc == -1)
        return err_set(err, MAS_DAMAGED, "it is not a lease");
    *ret = lease;
    lease = (struct lease)LEASE_INIT;
    return 0;
}

void lease_format(const struct lease *lease, struct str *to)
{
    members_format(members, lease, to);
}

/* ---- what is in the store */

/* What one look has seen. */
struct sight {
    char *text; /* of the lease; NULL: there is none */
    size_t len;
    struct lease lease; /* if it can be read */
    bool read;
    uint64_t claimed; /* the last epoch that was claimed; 0: none */
};

static void sight_free(struct sight *sight)
{
    free(sight->text);
    lease_free(&sight->lease);
    *sight = (struct sight){.text = NULL};
}
#define _cleanup_sight_ __attribute__((cleanup(sight_free)))

/* Finds the last epoch that was claimed. Removes the claims before `keep`. */
static int find_claim(int dir, uint64_t keep, uint64_t *ret, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (path_list(dir, &names, err) == -1)
        return -1;
    *ret = 0;
    for (char **name = names; *name != NULL && name - names < LEASE_NAMES_MAX; name++) {
        uint64_t epoch = 0;
        if (!str_starts(*name, CLAIM_PREFIX) ||
            VALUE_PARSE(&sequence_type, *name + strlen(CLAIM_PREFIX), &epoch) != NULL)
            continue;
        *ret = epoch > *ret ? epoch : *ret;
        if (epoch < keep)
            (void)unlinkat(dir, *name, 0);
    }
    return 0;
}

static int look(int dir, struct sight *ret, struct err *err)
{
    struct err why = ERR_INIT;

    *ret = (struct sight){.text = NULL};
    if (find_claim(dir, 0, &ret->claimed, err) == -1)
        return -1;
    int there = file_read_if_there(dir, LEASE_FILE, LEASE_FILE_MAX, &ret->text, &ret->len, err);
    if (there == -1)
        return err_wrap(err, "cannot read the lease");
    ret->read = there == 1 && lease_parse(ret->text, ret->len, &ret->lease, &why) == 0;
    return 0;
}

static int set_machine(struct lease *lease, struct err *err)
{
    return machine_identity(&lease->machine, err) == -1 || machine_boot(&lease->boot, err) == -1
               ? err_wrap(err, "cannot tell which machine this is")
               : 0;
}

int lease_hold(uint64_t epoch, const char *token, struct lease *ret, struct err *err)
{
    if (set_machine(ret, err) == -1)
        return -1;
    ret->epoch = epoch;
    ret->sequence = (uint64_t)time_boot_ms(); /* later than any before */
    memcpy(ret->token, token, ID_TEXT);
    return 0;
}

static bool same_sight(const struct sight *a, const struct sight *b)
{
    return a->claimed == b->claimed && (a->text == NULL) == (b->text == NULL) && a->len == b->len &&
           (a->text == NULL || memcmp(a->text, b->text, a->len) == 0);
}

/* Two processes of one session may write at the same time, so each has a name of its own. */
static int write_new(int dir, const char *name, const struct str *text)
{
    (void)unlinkat(dir, name, 0);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1)
        return -1;
    bool good = file_write_all(fd, text->data, text->len) == 0 && fsync(fd) == 0;
    int saved = errno;
    if (close(fd) == -1) /* where a network file system says that it could not write */
        return -1;
    errno = saved;
    return good ? 0 : -1;
}

static int write_lease(int dir, const struct lease *lease, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *name = mem_printf(LEASE_PREFIX "%s-%ld", lease->token, (long)getpid());

    lease_format(lease, &text);
    if (write_new(dir, name, &text) == 0 && renameat(dir, name, dir, LEASE_FILE) == 0)
        return 0;
    (void)err_errno(err, "cannot write the lease");
    (void)unlinkat(dir, name, 0);
    return -1;
}

/* Removes what killed writers of other leases have left. */
static void drop_others(int dir, const char *token)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    (void)path_list(dir, &names, &ignored);
    for (char **name = names; name != NULL && *name != NULL; name++)
        if ((str_starts(*name, LEASE_PREFIX) && strstr(*name, token) == NULL) ||
            str_starts(*name, WATCH_PREFIX))
            (void)unlinkat(dir, *name, 0);
}

/* ---- holding it */

static int check_claims(int dir, const struct lease *lease, struct err *err)
{
    uint64_t claimed = 0;

    if (find_claim(dir, lease->epoch, &claimed, err) == -1)
        return -1;
    return claimed <= lease->epoch
               ? 0
               : err_set(err, MAS_CONFLICT, "another machine has taken the session over");
}

int lease_renew(int dir, struct lease *lease, int64_t *ret_begun, struct err *err)
{
    int64_t begun = time_boot_ms();

    if (check_claims(dir, lease, err) == -1)
        return -1;
    lease->sequence++;
    if (write_lease(dir, lease, err) == -1 || check_claims(dir, lease, err) == -1)
        return -1;
    *ret_begun = begun;
    return 0;
}

int lease_release(int dir, struct lease *lease, struct err *err)
{
    lease->sequence = 0;
    return check_claims(dir, lease, err) == -1 ? -1 : write_lease(dir, lease, err);
}

/* ---- removing it */

static bool is_of_lease(const char *name)
{
    return strcmp(name, LEASE_FILE) == 0 || str_starts(name, CLAIM_PREFIX) ||
           str_starts(name, LEASE_PREFIX) || str_starts(name, WATCH_PREFIX);
}

int lease_forget(const char *store, const char *id, uint64_t epoch, const char *token,
                 struct err *err)
{
    _cleanup_sight_ struct sight seen = {.text = NULL};
    _cleanup_strv_ char **names = NULL;
    _cleanup_close_ int dir = lease_open(store, id, false, err);

    if (dir == -1 || look(dir, &seen, err) == -1 || path_list(dir, &names, err) == -1)
        return -1;
    bool own = seen.claimed <= epoch &&
               (token == NULL || !seen.read || strcmp(seen.lease.token, token) == 0);
    for (char **name = names; *name != NULL; name++)
        own = own && is_of_lease(*name);
    if (!own)
        return 0;
    for (char **name = names; *name != NULL; name++)
        if (unlinkat(dir, *name, 0) == -1 && errno != ENOENT)
            return err_errno(err, "cannot remove '%s' from the store", *name);
    fd_closep(&dir);
    _cleanup_close_ int top = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top == -1 || (unlinkat(top, id, AT_REMOVEDIR) == -1 && errno != ENOENT))
        return err_errno(err, "cannot remove '%s' from the store", id);
    return 0;
}

static bool is_left(int dir, const char *machine)
{
    _cleanup_sight_ struct sight seen = {.text = NULL};
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (fstatat(dir, LEASE_FILE, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
        time(NULL) - st.st_mtime < LEASE_LEFT_S || look(dir, &seen, &ignored) == -1 || !seen.read ||
        path_list(dir, &names, &ignored) == -1)
        return false;
    for (char **name = names; *name != NULL; name++)
        if (!is_of_lease(*name))
            return false;
    return seen.claimed <= 1 && seen.lease.epoch == 1 && seen.lease.sequence == 1 &&
           strcmp(seen.lease.machine, machine) == 0;
}

char **lease_left(const char *store)
{
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *machine = NULL;
    _cleanup_strv_ char **names = NULL;
    _cleanup_close_ int top = lease_open_store(store, &ignored);
    size_t count = 0;

    if (top == -1 || machine_identity(&machine, &ignored) == -1 ||
        path_list(top, &names, &ignored) == -1)
        return NULL;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_close_ int dir =
            id_is_valid(*name) ? lease_open(store, *name, false, &ignored) : -1;
        if (dir != -1 && is_left(dir, machine))
            names[count++] = *name;
        else
            free(*name);
    }
    names[count] = NULL;
    char **ret = names;
    names = NULL;
    return ret;
}

/* ---- taking it */

/* Says who has it, as the reason why it cannot be taken. */
static int refuse(const struct sight *sight, const char *verb, struct err *err)
{
    return err_set(err, MAS_CONFLICT, "it %s on %s", verb,
                   sight->read ? machine_host(sight->lease.machine) : "another machine");
}

int lease_check_epoch(int dir, uint64_t epoch, struct err *err)
{
    _cleanup_sight_ struct sight seen = {.text = NULL};

    if (look(dir, &seen, err) == -1)
        return -1;
    return seen.claimed > epoch ? refuse(&seen, "has run", err) : 0;
}

/* Waits until nothing in the store changes for LEASE_TAKE_MS. *seen is the last look. */
static int wait_unchanged(int dir, const struct lease_wish *wish, struct sight *seen,
                          struct err *err)
{
    _cleanup_free_ char *name = mem_printf(WATCH_PREFIX "%ld", (long)getpid());
    int64_t since = time_monotonic_ms();
    int changes = 0;

    while (time_monotonic_ms() - since < LEASE_TAKE_MS) {
        struct sight now;
        const char *machine = seen->read ? machine_host(seen->lease.machine) : "another machine";
        int64_t left = since + LEASE_TAKE_MS - time_monotonic_ms();
        if (wish->tick != NULL && wish->tick(machine, left, wish->arg))
            return err_set(err, MAS_FAILED, "interrupted");
        (void)loop_wait_for(-1, 0, LEASE_LOOK_MS);
        /* shows that the store takes writes, and that the look is not one into a cache */
        if (file_replace(dir, name, "", 0, 0600, err) == -1)
            return err_wrap(err, "cannot write into the store");
        (void)unlinkat(dir, name, 0);
        if (look(dir, &now, err) == -1)
            return -1;
        bool changed = !same_sight(&now, seen);
        sight_free(seen);
        *seen = now;
        if (changed && seen->read && seen->lease.sequence == 0)
            return 0; /* it was just given back */
        if (changed)
            since = time_monotonic_ms();
        changes += changed; /* one may come late from a machine that has ended */
        if (changes > 1)
            return refuse(seen, "runs", err);
    }
    return 0;
}

static int claim(int dir, uint64_t epoch, const struct lease *lease, bool *ret_lost,
                 struct err *err)
{
    _cleanup_free_ char *name = mem_printf(CLAIM_PREFIX "%ju", (uintmax_t)epoch);
    _cleanup_str_ struct str text = STR_INIT;

    kv_add(&text, "MACHINE", lease->machine);
    *ret_lost = false;
    if (file_create(dir, name, text.data, text.len, 0600, err) == 0)
        return file_sync_dir(dir, err);
    *ret_lost = err->number == EEXIST;
    return -1;
}

static uint64_t next_epoch(const struct lease_wish *wish, const struct sight *sight)
{
    uint64_t last = sight->claimed;

    if (sight->read && sight->lease.epoch > last)
        last = sight->lease.epoch;
    return wish->epoch > last ? wish->epoch : last + 1;
}

/* Claims the next epoch and renews its lease once. Returns 1 if that has to be tried again. */
static int take_next(int dir, const struct lease_wish *wish, struct sight *seen,
                     struct lease *lease, int64_t *ret_begun, struct err *err)
{
    struct sight now;
    bool lost = false;
    struct err why = ERR_INIT;

    lease->epoch = next_epoch(wish, seen);
    lease->sequence = 0;
    if (id_make(lease->token, err) == -1)
        return -1;
    if (claim(dir, lease->epoch, lease, &lost, &why) == -1 && !lost) {
        *err = why;
        return err_wrap(err, "cannot claim the lease");
    }
    if (look(dir, &now, err) == -1)
        return -1;
    bool same =
        now.len == seen->len &&
        (now.text == NULL || (seen->text != NULL && memcmp(now.text, seen->text, now.len) == 0));
    sight_free(seen);
    *seen = now;
    if (lost || (!same && !wish->fenced))
        return 1;
    drop_others(dir, lease->token);
    return lease_renew(dir, lease, ret_begun, err);
}

/* Returns true if the session ran here under this lease and nobody has claimed it since. */
static bool is_own(const struct lease_wish *wish, const struct sight *sight)
{
    return wish->own && wish->token[0] != '\0' && sight->read &&
           strcmp(sight->lease.token, wish->token) == 0 && sight->claimed <= wish->epoch;
}

int lease_take(int dir, const struct lease_wish *wish, struct lease *ret, int64_t *ret_begun,
               struct err *err)
{
    enum { TRIES = 4 };
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    _cleanup_sight_ struct sight seen = {.text = NULL};
    int rc = 1;

    if (set_machine(&lease, err) == -1 || look(dir, &seen, err) == -1)
        return -1;
    if (is_own(wish, &seen)) {
        lease.epoch = wish->epoch;
        lease.sequence = seen.lease.sequence;
        memcpy(lease.token, wish->token, ID_TEXT);
        rc = lease_renew(dir, &lease, ret_begun, err);
    } else if (wish->own && wish->token[0] != '\0' && seen.claimed > wish->epoch &&
               !wish->takeover) {
        return refuse(&seen, "has run", err);
    }
    for (int i = 0; rc == 1 && i < TRIES; i++) {
        bool is_free = i == 0 && (seen.text == NULL ? seen.claimed == 0
                                                    : seen.read && seen.lease.sequence == 0 &&
                                                          seen.claimed <= seen.lease.epoch);
        if (!is_free && !wish->fenced && wait_unchanged(dir, wish, &seen, err) == -1)
            return -1;
        rc = take_next(dir, wish, &seen, &lease, ret_begun, err);
    }
    if (rc == 1)
        return refuse(&seen, "is being taken over", err);
    if (rc == 0) {
        *ret = lease;
        lease = (struct lease)LEASE_INIT;
    }
    return rc;
}
