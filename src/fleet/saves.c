/*
 * A name is one of a save if make_name() makes the same one from its parts. A write takes the epoch
 * from the session, refuses if the store has a later one, and removes old saves only once the new
 * one is whole. Within an epoch each name has a later time than the one before, whatever the clock
 * says.
 */

#include "fleet/saves.h"

#include "base/number.h"
#include "base/time.h"
#include "os/file.h"
#include "os/path.h"
#include "store/lease.h"

#include <dirent.h>

#define PREFIX "save-"
#define SUFFIX "Z.tar.zst"

enum { STAMP = sizeof "YYYYMMDDTHHMMSS" - 1 };

static void make_name(struct save *save)
{
    struct tm tm;

    (void)gmtime_r(&save->when, &tm);
    (void)snprintf(save->name, sizeof save->name, PREFIX "%ju-%04d%02d%02dT%02d%02d%02d" SUFFIX,
                   (uintmax_t)save->epoch, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                   tm.tm_min, tm.tm_sec);
}

/* Returns false for a name that make_name() does not make. */
static bool parse_name(const char *name, struct save *ret)
{
    struct save save = {.epoch = 0};
    char digits[SAVES_NAME];
    char iso[TIME_TEXT];

    if (strlen(name) >= SAVES_NAME || !str_starts(name, PREFIX))
        return false;
    const char *number = name + strlen(PREFIX);
    size_t len = strcspn(number, "-");
    const char *t = number + len + 1;
    if (number[len] != '-' || strlen(t) != STAMP + strlen(SUFFIX))
        return false;
    memcpy(digits, number, len);
    digits[len] = '\0';
    (void)snprintf(iso, sizeof iso, "%.4s-%.2s-%.5s:%.2s:%.2sZ", t, t + 4, t + 6, t + 11, t + 13);
    if (!number_parse_count(digits, UINT64_MAX, &save.epoch) || !time_parse(iso, &save.when))
        return false;
    make_name(&save);
    *ret = save;
    return strcmp(save.name, name) == 0;
}

static bool is_newer(const struct save *a, const struct save *b)
{
    return a->epoch != b->epoch ? a->epoch > b->epoch : a->when > b->when;
}

/* Opens the session's directory in the store. *ret is -1 if there is none. */
static int open_dir(const char *store, const char *id, int *ret, struct err *err)
{
    struct stat st;
    _cleanup_close_ int at = lease_open_store(store, err);

    if (at == -1) {
        if (err->number == ENOENT)
            err->code = MAS_NOT_FOUND;
        return -1;
    }
    _cleanup_close_ int dir = path_open_dir(at, id);
    if (dir == -1 && errno == ENOENT)
        return 0;
    if (dir == -1 || fstat(dir, &st) == -1)
        return err_errno(err, "cannot open '%s/%s'", store, id);
    if (st.st_uid != geteuid())
        return err_set(err, MAS_FAILED, "cannot use '%s/%s': it belongs to another user", store,
                       id);
    *ret = TAKE_FD(dir);
    return 0;
}

static int make_dir(const char *store, const char *id, struct err *err)
{
    _cleanup_close_ int at = lease_open_store(store, err);

    if (at == -1)
        return -1;
    if (mkdirat(at, id, 0700) == -1)
        return errno == EEXIST ? 0 : err_errno(err, "cannot create '%s/%s'", store, id);
    return file_sync_dir(at, err);
}

static void insert(struct save list[SAVES_LISTED], size_t *count, const struct save *save)
{
    size_t at = *count < SAVES_LISTED ? (*count)++ : SAVES_LISTED;

    while (at > 0 && is_newer(save, &list[at - 1])) {
        if (at < SAVES_LISTED)
            list[at] = list[at - 1];
        at--;
    }
    if (at < SAVES_LISTED)
        list[at] = *save;
}

/* Calls `each` for every save in the directory. */
static int walk(int dir, void (*each)(int dir, const struct save *save, void *arg), void *arg,
                struct err *err)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy == -1 ? NULL : fdopendir(copy);
    struct save save;
    struct stat st;
    size_t seen = 0;

    if (stream == NULL) {
        (void)err_errno(err, "cannot read a directory in the store");
        fd_closep(&copy);
        return -1;
    }
    for (struct dirent *entry; (entry = readdir(stream)) != NULL && seen < SAVES_LOOKED_AT; seen++)
        if (parse_name(entry->d_name, &save) &&
            fstatat(dir, save.name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            each(dir, &save, arg);
    (void)closedir(stream);
    return seen < SAVES_LOOKED_AT
               ? 0
               : err_set(err, MAS_FAILED,
                         "cannot read a directory in the store: it has more than "
                         "%d names",
                         SAVES_LOOKED_AT);
}

struct newest_saves {
    struct save *list;
    size_t *count;
};

static void note(int dir, const struct save *save, void *arg)
{
    struct newest_saves *found = arg;
    (void)dir;
    insert(found->list, found->count, save);
}

int saves_list(const char *store, const char *id, struct save ret[SAVES_LISTED], size_t *ret_count,
               struct err *err)
{
    _cleanup_close_ int dir = -1;
    struct newest_saves found = {.list = ret, .count = ret_count};

    *ret_count = 0;
    if (open_dir(store, id, &dir, err) == -1)
        return -1;
    return dir == -1 ? 0 : walk(dir, note, &found, err);
}

static void remove_older(int dir, const struct save *save, void *arg)
{
    if (is_newer(arg, save))
        (void)unlinkat(dir, save->name, 0);
}

/* Removes all but the newest saves. A failure does not matter: the next save tries again. */
static void prune(const char *store, const char *id)
{
    struct save list[SAVES_LISTED];
    size_t count = 0;
    _cleanup_close_ int dir = -1;
    struct err ignored = ERR_INIT;

    if (saves_list(store, id, list, &count, &ignored) == 0 && count >= SAVES_KEPT &&
        open_dir(store, id, &dir, &ignored) == 0 && dir != -1)
        (void)walk(dir, remove_older, &list[SAVES_KEPT - 1], &ignored);
}

/* Reads the epoch in which this machine has the session, and the store of its start, which the
 * caller frees. */
static int read_session(const struct life *life, const char *id, uint64_t *ret, char **ret_store,
                        struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(life->root, id);

    if (dir == -1)
        return err_errno(err, "cannot save session '%s'", id);
    if (session_load(life->root, dir, id, &session, err) == -1)
        return err_wrap(err, "cannot save session '%s'", id);
    *ret = session.epoch;
    *ret_store = mem_dup(session.store != NULL ? session.store : "");
    return 0;
}

int saves_write(const struct life *life, const char *store, const char *id, bool live,
                struct archive_report *ret, struct err *err)
{
    struct save list[SAVES_LISTED];
    struct save save = {.when = time(NULL)};
    _cleanup_free_ char *own = NULL;
    size_t count = 0;

    if (read_session(life, id, &save.epoch, &own, err) == -1)
        return -1;
    store = store[0] != '\0' ? store : own;
    if (store[0] == '\0') {
        (void)err_set(err, MAS_FAILED, "cannot save session '%s': there is no store", id);
        return err_hint(err, "name a directory in mas.ini: [fleet] store = DIR");
    }
    if (make_dir(store, id, err) == -1 || saves_list(store, id, list, &count, err) == -1)
        return -1;
    if (count > 0 && list[0].epoch > save.epoch)
        return err_set(err, MAS_CONFLICT,
                       "cannot save session '%s': another machine has taken it over; the store has "
                       "'%s'",
                       id, list[0].name);
    /* later than the one before, also if the clock of this machine is not */
    if (count > 0 && list[0].epoch == save.epoch && save.when <= list[0].when)
        save.when = list[0].when + 1;
    make_name(&save);
    _cleanup_free_ char *path = mem_printf("%s/%s/%s", store, id, save.name);
    int rc = live ? archive_live(life, id, path, false, ret, err)
                  : archive_session(life, id, path, false, ret, err);
    if (rc == 0)
        prune(store, id);
    return rc;
}

int saves_restore(const struct life *life, const char *store, const char *id, struct session *ret,
                  char ***ret_passed_over, struct err *err)
{
    struct save list[SAVES_LISTED];
    _cleanup_strv_ char **passed = NULL;
    size_t count = 0;

    if (saves_list(store, id, list, &count, err) == -1)
        return -1;
    if (count == 0)
        return err_set(err, MAS_NOT_FOUND,
                       "cannot restore session '%s': the store '%s' has no save "
                       "of it",
                       id, store);
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s/%s", store, id, list[i].name);
        const struct archive_restore options = {.file = path, .links = true, .takeover = true};
        struct err why = ERR_INIT;
        if (archive_restore(life, &options, ret, &why) == 0) {
            *ret_passed_over = TAKE_PTR(passed);
            return 0;
        }
        *err = why;
        if (why.code != MAS_DAMAGED && access(path, F_OK) == 0)
            return -1;
        strv_push(&passed, why.text);
    }
    return err_hint(err, "none of the %zu saves can be restored", count);
}
