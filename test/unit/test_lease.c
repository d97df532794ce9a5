#include "root.h"

#include "gap.h"

#include "base/kv.h"
#include "base/time.h"
#include "os/tree.h"
#include "store/lease.h"
#include "store/lease_clock.h"

#include <sched.h>
#include <sys/wait.h>

#define TOKEN "43875daf-7240-4f28-b62a-5d7cdeed3152"
#define OTHER "53875daf-7240-4f28-b62a-5d7cdeed3152"
#define SESSION "63875daf-7240-4f28-b62a-5d7cdeed3152"

static uid_t user_offset; /* this process seems to be another user's */

uid_t geteuid(void)
{
    return (uid_t)syscall(SYS_geteuid) + user_offset;
}

/* A store of this test, with the session's directory. */
struct store_dir {
    char path[64];
    int dir;
};

static bool store_make(struct store_dir *place)
{
    struct err err = ERR_INIT;
    (void)snprintf(place->path, sizeof place->path, "/tmp/mas-lease-XXXXXX");
    if (mkdtemp(place->path) == NULL)
        return false;
    place->dir = lease_open(place->path, SESSION, true, &err);
    return place->dir != -1;
}

static void store_drop(struct store_dir *place)
{
    struct err ignored = ERR_INIT;

    (void)close(place->dir);
    (void)tree_remove_path(place->path, &ignored);
}

static bool put(const struct store_dir *place, const char *name, const char *text)
{
    int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool done = fd != -1 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    (void)close(fd);
    return done;
}

static bool has(const struct store_dir *place, const char *name)
{
    return faccessat(place->dir, name, F_OK, 0) == 0;
}

TEST(reads_what_it_writes)
{
    char machine[] = "12ab it's n1";
    char boot[] = "";
    const struct lease lease = {
        .machine = machine, .boot = boot, .epoch = 7, .sequence = 99, .token = TOKEN};
    _cleanup_lease_ struct lease back = LEASE_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    lease_format(&lease, &text);
    REQUIRE(lease_parse(text.data, text.len, &back, &err) == 0);
    CHECK_STR(back.machine, machine);
    CHECK_STR(back.boot, "");
    CHECK_INT(back.epoch, 7);
    CHECK_INT(back.sequence, 99);
    CHECK_STR(back.token, TOKEN);
}

TEST(refuses_other_texts)
{
    static const char *const texts[] = {
        "",
        "MACHINE=a\nBOOT=b\nEPOCH=1\nSEQUENCE=1\n",
        "MACHINE=a\nBOOT=b\nEPOCH=0\nSEQUENCE=1\nTOKEN=" TOKEN "\n",
        "MACHINE=a\nBOOT=b\nEPOCH=-1\nSEQUENCE=1\nTOKEN=" TOKEN "\n",
        "MACHINE=a\nBOOT=b\nEPOCH=1000000000000\nSEQUENCE=1\nTOKEN=" TOKEN "\n",
        "MACHINE=a\nBOOT=b\nEPOCH=1\nSEQUENCE=x\nTOKEN=" TOKEN "\n",
        "MACHINE=a\nBOOT=b\nEPOCH=1\nSEQUENCE=1\nTOKEN=../../etc/passwd\n",
        "MACHINE=a\nEPOCH=1\nSEQUENCE=1\nTOKEN=" TOKEN "\n",
        "MACHINE=a\nMACHINE=b\nBOOT=\nEPOCH=1\nSEQUENCE=1\nTOKEN=" TOKEN "\n",
        ("MACHINE=a\nBOOT=b\nEPOCH=1\nSEQUENCE=1\nTOKEN=" TOKEN),
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_lease_ struct lease lease = LEASE_INIT;
        struct err err = ERR_INIT;
        CHECK(lease_parse(texts[i], strlen(texts[i]), &lease, &err) == -1);
    }
}

TEST(ages_in_steps)
{
    CHECK_INT(lease_age(0), LEASE_VALID);
    CHECK_INT(lease_age(LEASE_LOST_MS - 1), LEASE_VALID);
    CHECK_INT(lease_age(LEASE_LOST_MS), LEASE_ENDS);
    CHECK_INT(lease_age(LEASE_OVER_MS - 1), LEASE_ENDS);
    CHECK_INT(lease_age(LEASE_OVER_MS), LEASE_OVER);
    /* whoever takes it waits longer than the last of the old ones may live, with a margin */
    CHECK(LEASE_RENEW_MS * 3 < LEASE_LOST_MS);
    CHECK(LEASE_OVER_MS + LEASE_HANGS_MS < LEASE_TAKE_MS);
}

TEST(the_first_claims_and_renews)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    const struct lease_wish wish = {.id = SESSION, .epoch = 1, .token = "", .own = true};
    struct err err = ERR_INIT;
    int64_t begun = 0;

    REQUIRE(store_make(&place));
    int64_t before = time_boot_ms();
    REQUIRE(lease_take(place.dir, &wish, &lease, &begun, &err) == 0);
    CHECK(begun >= before && begun <= time_boot_ms());
    CHECK_INT(lease.epoch, 1);
    CHECK(id_is_valid(lease.token));
    CHECK(has(&place, "claim-1") && has(&place, "lease"));
    CHECK(lease_renew(place.dir, &lease, &begun, &err) == 0);
    /* the session itself needs not wait, however often it starts */
    const struct lease_wish again = {.id = SESSION, .epoch = 1, .token = lease.token, .own = true};
    _cleanup_lease_ struct lease second = LEASE_INIT;
    CHECK(lease_take(place.dir, &again, &second, &begun, &err) == 0);
    CHECK_STR(second.token, lease.token);
    CHECK_INT(second.epoch, 1);
    /* given back, anybody may have it at once */
    CHECK(lease_release(place.dir, &second, &err) == 0);
    const struct lease_wish other = {.id = SESSION, .epoch = 2, .token = ""};
    _cleanup_lease_ struct lease third = LEASE_INIT;
    before = time_monotonic_ms();
    CHECK(lease_take(place.dir, &other, &third, &begun, &err) == 0);
    CHECK(time_monotonic_ms() - before < LEASE_TAKE_MS / 2);
    CHECK_INT(third.epoch, 2);
    CHECK(has(&place, "claim-2") && !has(&place, "claim-1"));
    store_drop(&place);
}

TEST(a_claim_ends_the_lease_before_it)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err err = ERR_INIT;
    int64_t begun = -5;

    REQUIRE(store_make(&place));
    CHECK_INT(lease_hold(3, TOKEN, &lease, &err), 0);
    REQUIRE(lease_renew(place.dir, &lease, &begun, &err) == 0);
    static const char *const none[] = {"claim-3",          "claim-2",  "claim-",
                                       "claim-x",          "claim-4x", "claim-99999999999999",
                                       "save-9-x.tar.zst", "xclaim-9"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        REQUIRE(put(&place, none[i], ""));
    CHECK(lease_renew(place.dir, &lease, &begun, &err) == 0);
    CHECK(!has(&place, "claim-2")); /* an old one goes */
    REQUIRE(put(&place, "claim-5", ""));
    begun = -5;
    CHECK(lease_renew(place.dir, &lease, &begun, &err) == -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(begun, -5);
    CHECK(lease_release(place.dir, &lease, &err) == -1);
    store_drop(&place);
}

TEST(a_session_that_was_taken_over_does_not_take_itself_back)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    const struct lease_wish wish = {.id = SESSION, .epoch = 1, .token = OTHER, .own = true};
    struct err err = ERR_INIT;
    int64_t begun = 0;

    REQUIRE(store_make(&place));
    REQUIRE(put(&place, "claim-2", "") &&
            put(&place, "lease", "MACHINE='77 n2'\nBOOT=\nEPOCH=2\nSEQUENCE=0\nTOKEN=" TOKEN "\n"));
    CHECK(lease_take(place.dir, &wish, &lease, &begun, &err) == -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_STR(err.text, "it has run on n2");
    /* unless a person says so */
    const struct lease_wish fenced = {
        .id = SESSION, .epoch = 1, .token = OTHER, .own = true, .takeover = true, .fenced = true};
    struct err none = ERR_INIT;
    CHECK(lease_take(place.dir, &fenced, &lease, &begun, &none) == 0);
    CHECK_INT(lease.epoch, 3);
    store_drop(&place);
}

TEST(a_lease_that_changes_is_not_taken)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    const struct lease_wish wish = {.id = SESSION, .epoch = 2, .token = ""};
    struct err err = ERR_INIT;
    int64_t begun = 0;

    REQUIRE(store_make(&place));
    _cleanup_lease_ struct lease held = LEASE_INIT;
    CHECK_INT(lease_hold(1, TOKEN, &held, &err), 0);
    REQUIRE(put(&place, "claim-1", "") && lease_renew(place.dir, &held, &begun, &err) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 60; i++) {
            struct err ignored = ERR_INIT;
            (void)lease_renew(place.dir, &held, &begun, &ignored);
            (void)usleep(500000);
        }
        _exit(0);
    }
    CHECK(lease_take(place.dir, &wish, &lease, &begun, &err) == -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(strstr(err.text, "it runs on ") == err.text);
    CHECK(!has(&place, "claim-2"));
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    store_drop(&place);
}

/* ---- others who act while somebody takes it; the waits cost no time */

/* A machine that holds the lease of epoch 1, and what it does at a tick of who waits. */
struct holder {
    struct store_dir place;
    struct lease lease;
    int renews_at[4]; /* ticks; 0: none */
    int releases_at;
    int ticks;
    int64_t left_ms; /* as it was told last */
};

static void renew(void *arg)
{
    struct holder *holder = arg;
    struct err ignored = ERR_INIT;
    int64_t begun = 0;

    (void)lease_renew(holder->place.dir, &holder->lease, &begun, &ignored);
}

static bool on_tick(const char *machine, int64_t left_ms, void *arg)
{
    struct holder *holder = arg;
    struct err err = ERR_INIT;

    (void)machine;
    holder->ticks++;
    holder->left_ms = left_ms;
    for (size_t i = 0; i < ARRAY_LEN(holder->renews_at); i++)
        if (holder->renews_at[i] == holder->ticks)
            renew(holder);
    if (holder->releases_at == holder->ticks)
        CHECK_INT(lease_release(holder->place.dir, &holder->lease, &err), 0);
    return false;
}

static bool holder_make(struct holder *holder)
{
    struct err err = ERR_INIT;
    int64_t begun = 0;

    gap_clock(true);
    return store_make(&holder->place) && put(&holder->place, "claim-1", "") &&
           lease_hold(1, TOKEN, &holder->lease, &err) == 0 &&
           lease_renew(holder->place.dir, &holder->lease, &begun, &err) == 0;
}

static void holder_drop(struct holder *holder)
{
    gap_clock(false);
    lease_free(&holder->lease);
    store_drop(&holder->place);
}

/* Takes it as another machine does; returns the ms that it waited, or -1. */
static int64_t take(struct holder *holder, uint64_t epoch, struct lease *ret, struct err *err)
{
    const struct lease_wish wish = {
        .id = SESSION, .epoch = epoch, .token = "", .tick = on_tick, .arg = holder};
    int64_t before = time_monotonic_ms();
    int64_t begun = 0;

    return lease_take(holder->place.dir, &wish, ret, &begun, err) == -1
               ? -1
               : time_monotonic_ms() - before;
}

TEST(one_late_renewal_begins_the_wait_anew_and_two_are_a_life)
{
    struct holder holder = {.lease = LEASE_INIT, .renews_at = {5}};
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err err = ERR_INIT;

    REQUIRE(holder_make(&holder));
    CHECK(take(&holder, 2, &lease, &err) >= 4 * LEASE_LOOK_MS + LEASE_TAKE_MS);
    CHECK_INT(lease.epoch, 2);
    holder_drop(&holder);

    holder = (struct holder){.lease = LEASE_INIT, .renews_at = {2, 9}};
    REQUIRE(holder_make(&holder));
    CHECK_INT(take(&holder, 2, &lease, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(holder.ticks, 9);
    holder_drop(&holder);
}

TEST(what_is_given_back_is_taken_at_once)
{
    struct holder holder = {.lease = LEASE_INIT, .releases_at = 3};
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err err = ERR_INIT;

    REQUIRE(holder_make(&holder));
    int64_t waited = take(&holder, 2, &lease, &err);
    CHECK(waited >= 3 * LEASE_LOOK_MS && waited < 4 * LEASE_LOOK_MS);
    holder_drop(&holder);
}

/* The last look is before the claim; the holder has not seen that yet. */
static void renew_between_look_and_claim(void *arg)
{
    struct holder *holder = arg;

    holder->lease.sequence++;
    _cleanup_str_ struct str text = STR_INIT;
    lease_format(&holder->lease, &text);
    CHECK(put(&holder->place, "lease", str_text(&text)));
}

static bool renew_late(const char *machine, int64_t left_ms, void *arg)
{
    struct holder *holder = arg;

    (void)machine;
    holder->ticks++;
    if (holder->left_ms == 0 && left_ms <= LEASE_LOOK_MS) {
        holder->left_ms = left_ms;
        gap_before_nth("fsync", 3, renew_between_look_and_claim, holder); /* the claim's own */
    }
    return false;
}

TEST(a_renewal_between_look_and_claim_is_waited_for)
{
    struct holder holder = {.lease = LEASE_INIT};
    const struct lease_wish wish = {
        .id = SESSION, .epoch = 2, .token = "", .tick = renew_late, .arg = &holder};
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err err = ERR_INIT;
    int64_t begun = 0;

    REQUIRE(holder_make(&holder));
    int64_t before = time_monotonic_ms();
    CHECK_INT(lease_take(holder.place.dir, &wish, &lease, &begun, &err), 0);
    CHECK(time_monotonic_ms() - before >= 2 * LEASE_TAKE_MS);
    CHECK_INT(lease.epoch, 3);
    holder_drop(&holder);
}

static void claim_nine(void *arg)
{
    CHECK(put(arg, "claim-9", ""));
}

TEST(a_claim_while_it_is_renewed_ends_it)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    struct err err = ERR_INIT;
    int64_t begun = -5;

    REQUIRE(store_make(&place));
    CHECK_INT(lease_hold(3, TOKEN, &lease, &err), 0);
    gap_before("rename", claim_nine, &place);
    CHECK_INT(lease_renew(place.dir, &lease, &begun, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(begun, -5);
    store_drop(&place);
}

TEST(each_taker_gets_an_epoch_that_was_never_claimed)
{
    static const struct {
        uint64_t claimed, lease, wished, want;
    } cases[] = {{0, 0, 1, 1}, {0, 0, 4, 4}, {4, 4, 4, 5}, {4, 4, 5, 5},
                 {4, 4, 3, 5}, {6, 4, 5, 7}, {6, 4, 6, 7}, {6, 4, 7, 7}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct holder holder = {.lease = LEASE_INIT};
        _cleanup_lease_ struct lease lease = LEASE_INIT;
        struct err err = ERR_INIT;
        int64_t begun = 0;
        char name[32];

        gap_clock(true);
        REQUIRE(store_make(&holder.place));
        (void)snprintf(name, sizeof name, "claim-%d", (int)cases[i].lease);
        if (cases[i].lease > 0)
            REQUIRE(put(&holder.place, name, "") &&
                    lease_hold(cases[i].lease, TOKEN, &holder.lease, &err) == 0 &&
                    lease_renew(holder.place.dir, &holder.lease, &begun, &err) == 0);
        (void)snprintf(name, sizeof name, "claim-%d", (int)cases[i].claimed);
        if (cases[i].claimed > 0)
            REQUIRE(put(&holder.place, name, ""));
        CHECK(take(&holder, cases[i].wished, &lease, &err) >= 0);
        CHECK_INT(lease.epoch, cases[i].want);
        holder_drop(&holder);
    }
}

TEST(it_is_durable_in_the_order_that_counts)
{
    struct store_dir place;
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    const struct lease_wish wish = {.id = SESSION, .epoch = 1, .token = ""};
    struct err err = ERR_INIT;
    int64_t begun = 0;

    REQUIRE(store_make(&place));
    trace_begin();
    CHECK_INT(lease_take(place.dir, &wish, &lease, &begun, &err), 0);
    const char *told = trace_end();
    const char *claimed = strstr(told, "fsync DIR"); /* the claim, before anything is written */
    REQUIRE(claimed != NULL);
    const char *written = strstr(claimed, "fsync lease-");
    CHECK(written != NULL && strstr(written, "rename lease") != NULL);
    store_drop(&place);
}

TEST(the_clock_is_shared_and_only_goes_on)
{
    _cleanup_lease_clock_ struct lease_clock a = LEASE_CLOCK_INIT;
    _cleanup_lease_clock_ struct lease_clock b = LEASE_CLOCK_INIT;
    struct err err = ERR_INIT;
    int64_t next = 0;

    lease_clock_remove(OTHER);
    CHECK(lease_clock_open(OTHER, false, &a, &err) == -1);
    CHECK_INT(err.number, ENOENT);
    REQUIRE(lease_clock_open(OTHER, true, &a, &err) == 0);
    REQUIRE(lease_clock_open(OTHER, false, &b, &err) == 0);
    CHECK_INT(lease_clock_look(&a, NULL), LEASE_OVER); /* never renewed */
    int64_t now = time_boot_ms();
    lease_clock_set(&a, now);
    CHECK_INT(lease_clock_look(&b, &next), LEASE_VALID);
    CHECK(next > time_monotonic_ms() && next <= time_monotonic_ms() + LEASE_LOST_MS + 1);
    lease_clock_set(&b, now - 60000); /* a process that was stopped for a minute */
    CHECK_INT(lease_clock_look(&a, NULL), LEASE_VALID);
    CHECK(!lease_clock_has_hosts(&a) && !lease_clock_has_renewer(&a));
    CHECK(lease_clock_be_host(&a) && lease_clock_be_renewer(&a));
    CHECK(lease_clock_has_hosts(&b) && lease_clock_has_renewer(&b));
    CHECK(!lease_clock_be_renewer(&b));
    CHECK(lease_clock_be_host(&b));
    lease_clock_close(&a);
    CHECK(!lease_clock_has_renewer(&b));
    CHECK(!lease_clock_is_lost(OTHER) && !lease_clock_is_lost(""));
    lease_clock_say(&b, LEASE_TAKEN);
    CHECK_INT(lease_clock_look(&b, NULL), LEASE_OVER);
    CHECK(lease_clock_is_lost(OTHER));
    lease_clock_remove(OTHER);
    const struct lease_clock none = LEASE_CLOCK_INIT;
    CHECK_INT(lease_clock_look(&none, &next), LEASE_VALID);
    CHECK_INT(next, -1);
}

TEST(a_clock_of_others_is_refused)
{
    static const char path[] = "/dev/shm/mas-lease-" TOKEN;
    struct lease_clock clock = LEASE_CLOCK_INIT;
    struct err err = ERR_INIT;

    (void)unlink(path);
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    REQUIRE(fd != -1);
    for (mode_t bit = 1; bit <= 040; bit <<= 1) {
        CHECK(fchmod(fd, 0600 | bit) == 0);
        CHECK(lease_clock_open(TOKEN, true, &clock, &err) == -1);
        lease_clock_close(&clock);
    }
    CHECK(fchmod(fd, 0600) == 0);
    user_offset = 1;
    CHECK(lease_clock_open(TOKEN, true, &clock, &err) == -1);
    user_offset = 0;
    CHECK(link(path, "/dev/shm/mas-lease-second-name") == 0);
    CHECK(lease_clock_open(TOKEN, true, &clock, &err) == -1);
    (void)unlink("/dev/shm/mas-lease-second-name");
    (void)unlink(path);
    CHECK(symlink("/etc/passwd", path) == 0);
    CHECK(lease_clock_open(TOKEN, true, &clock, &err) == -1);
    (void)unlink(path);
    (void)close(fd);
}

enum { PAGE_BYTES = 32, DAY_MS = 24 * 60 * 60 * 1000 };

/* Makes the page of a lease that was renewed last `age` ms ago, of a root that is gone. */
static bool page_make(const char *token, int64_t age)
{
    struct err err = ERR_INIT;
    struct lease_clock clock = LEASE_CLOCK_INIT;

    lease_clock_remove(token);
    if (lease_clock_open(token, true, &clock, &err) == -1)
        return false;
    /* by its format: a machine may have been up for less than a day */
    int64_t begun = time_boot_ms() - age;
    bool done = pwrite(clock.fd, &begun, sizeof begun, 0) == (ssize_t)sizeof begun &&
                lseek(clock.fd, 0, SEEK_END) == PAGE_BYTES;
    lease_clock_close(&clock);
    return done;
}

static bool has_page(const char *token)
{
    char path[80];

    (void)snprintf(path, sizeof path, "/dev/shm/mas-lease-%s", token);
    return access(path, F_OK) == 0;
}

TEST(old_pages_that_nobody_has_are_dropped)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    struct err err = ERR_INIT;

    REQUIRE(page_make(TOKEN, DAY_MS + 60000) && page_make(OTHER, DAY_MS - 60000));
    lease_clock_drop_old();
    CHECK(!has_page(TOKEN));
    CHECK(has_page(OTHER));
    for (int part = 0; part < 3; part++) {
        REQUIRE(page_make(OTHER, DAY_MS + 60000));
        /* the last one is of a start that has not renewed the lease yet */
        REQUIRE(lease_clock_open(OTHER, part == 2, &clock, &err) == 0);
        CHECK(part != 0 || lease_clock_be_renewer(&clock));
        CHECK(part != 1 || lease_clock_be_host(&clock));
        lease_clock_drop_old();
        CHECK(has_page(OTHER));
        lease_clock_close(&clock);
        lease_clock_drop_old();
        CHECK(!has_page(OTHER));
    }
}

/* Of pages that are over, only those of the same root are left of it. */
TEST(pages_are_left_of_their_own_root)
{
    _cleanup_place_ struct place one = place_make();
    _cleanup_place_ struct place two = place_make();
    const int roots[] = {one.dir, two.dir};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < 2; i++) {
        _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
        const char *token = i == 0 ? TOKEN : OTHER;
        REQUIRE(page_make(token, DAY_MS) && lease_clock_open(token, false, &clock, &err) == 0);
        lease_clock_belongs(&clock, roots[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        _cleanup_strv_ char **left = lease_clock_left(roots[i]);
        REQUIRE(CHECK(strv_len(left) == 1));
        CHECK_STR(left[0], i == 0 ? TOKEN : OTHER);
    }
    lease_clock_remove(TOKEN);
    lease_clock_remove(OTHER);
}

/* Waits until a process waits for a lock of an open file. */
static bool somebody_waits_for(int fd)
{
    char inode[32];
    char line[256];
    struct stat st;
    bool found = false;

    if (fstat(fd, &st) == -1)
        return false;
    (void)snprintf(inode, sizeof inode, ":%ju ", (uintmax_t)st.st_ino);
    for (int64_t until = time_monotonic_ms() + 60000; !found && time_monotonic_ms() < until;) {
        FILE *locks = fopen("/proc/locks", "re");
        while (locks != NULL && !found && fgets(line, sizeof line, locks) != NULL)
            found = strstr(line, "-> OFDLCK") != NULL && strstr(line, inode) != NULL;
        if (locks != NULL)
            (void)fclose(locks);
        (void)sched_yield();
    }
    return found;
}

TEST(a_page_that_is_dropped_while_it_is_opened_is_made_anew)
{
    _cleanup_lease_clock_ struct lease_clock first = LEASE_CLOCK_INIT;
    struct err err = ERR_INIT;

    REQUIRE(page_make(TOKEN, 0));
    REQUIRE(lease_clock_open(TOKEN, true, &first, &err) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct lease_clock second = LEASE_CLOCK_INIT;
        struct stat st;
        lease_clock_close(&first); /* the lock is that of the open file, which the parent has */
        bool done = lease_clock_open(TOKEN, true, &second, &err) == 0 &&
                    fstat(second.fd, &st) == 0 && st.st_nlink == 1;
        _exit(done ? 0 : 1);
    }
    REQUIRE(pid > 0);
    CHECK(somebody_waits_for(first.fd));
    lease_clock_remove(TOKEN);
    lease_clock_close(&first);
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(has_page(TOKEN));
    lease_clock_remove(TOKEN);
}
