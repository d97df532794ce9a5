/*
 * An archive is written in the directory where it will be, under a name that nobody takes for one,
 * in a file that is locked as long as its writer lives; so what a killed one left is known by its
 * free lock, and goes when the next archive is written there. It is renamed when it is whole and
 * synced, never over another file. The rest is the order for mas-archive and what it reports. Of a
 * running session memory.db is copied first, into a spool without a name for mas-archive.
 */

#include "session/archive.h"

#include "base/time.h"
#include "memory/backup.h"
#include "model/manifest.h"
#include "os/file.h"
#include "os/path.h"
#include "session/archive_helper.h"
#include "session/grow.h"
#include "session/life_internal.h"
#include "session/unlanded.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/stage.h"
#include "store/workspace.h"

#include <sys/file.h>

#define TEMP_PREFIX ".mas-archive-"
#define TEMP_SUFFIX ".new"

enum {
    NAMES_MAX = 100, /* archives of one session within a second */
    LIVE_TRIES = 3,
};

/* An archive being written: a file whose lock says that a process writes it. */
struct output {
    char *dir_path; /* up to the last slash; "" if there is none */
    char *name; /* NULL: standard output */
    bool chosen; /* by the user; otherwise a number is appended to a name that exists */
    int dir;
    int fd;
    char temp[sizeof TEMP_PREFIX + ID_TEXT + sizeof TEMP_SUFFIX]; /* "": none */
};

static void output_drop(struct output *output)
{
    if (output->temp[0] != '\0')
        (void)unlinkat(output->dir, output->temp, 0);
    if (output->name != NULL) {
        fd_closep(&output->fd);
        fd_closep(&output->dir);
    }
    free(output->dir_path);
    free(output->name);
}
#define _cleanup_output_ __attribute__((cleanup(output_drop)))

/* Returns "fix-login-550e8400-20251218T080000Z"; a session without a name is called by its tmux
 * name. */
static char *default_name(const struct session *session)
{
    char now[TIME_TEXT];
    _cleanup_free_ char *tmux = session_tmux_name(session->id, session_name_digits[0]);

    time_format(time(NULL), now);
    size_t len = 0;
    for (const char *p = now; *p != '\0'; p++)
        if (*p != '-' && *p != ':')
            now[len++] = *p;
    now[len] = '\0';
    if (session->name[0] == '\0')
        return mem_printf("%s-%s.tar.zst", tmux, now);
    return mem_printf("%s-%.8s-%s.tar.zst", session->name, session->id, now);
}

/* Returns [archive] dir. */
static char *default_path(const struct root *root, const struct config *config)
{
    const char *set = config_text(config, SETTING_ARCHIVE_DIR);
    return set[0] == '/' ? mem_dup(set) : mem_printf("%s/%s", root->path, set);
}

/* Returns [archive] dir after creating it if it is missing. */
static int default_dir(const struct life *life, char **ret, struct err *err)
{
    _cleanup_free_ char *path = default_path(life->root, life->config);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    if (path[0] != '\0' && path_make_dirs(path, err) == -1)
        return -1;
    *slash = '/';
    if (mkdir(path, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create directory '%s'", path);
    *ret = mem_printf("%s/", path);
    return 0;
}

static int refuse_taken(const char *dir, const char *name, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "cannot write '%s%s': it exists", dir, name);
    return err_hint(err, "choose another file with -o");
}

/* Returns true for names in the format of open_temp(). */
static bool is_temp(const char *name)
{
    char id[ID_TEXT] = "";
    size_t prefix = strlen(TEMP_PREFIX);

    if (!str_starts(name, TEMP_PREFIX) ||
        strlen(name) != prefix + ID_TEXT - 1 + strlen(TEMP_SUFFIX))
        return false;
    memcpy(id, name + prefix, ID_TEXT - 1);
    return id_is_valid(id) && strcmp(name + prefix + ID_TEXT - 1, TEMP_SUFFIX) == 0;
}

/* Finds what killed commands left: files whose lock nobody holds. */
static void sweep(int dir, bool keep, workspace_stale *each, void *arg)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++)
        if (is_temp(*name) && fstatat(dir, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && !file_is_locked(dir, *name) &&
            (keep || unlinkat(dir, *name, 0) == 0) && each != NULL)
            each(*name, arg);
}

void archive_sweep(const struct root *root, const struct config *config, bool keep,
                   workspace_stale *each, void *arg)
{
    _cleanup_free_ char *path = default_path(root, config);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir != -1)
        sweep(dir, keep, each, arg);
}

/* Creates the file under a name that nobody takes for an archive, and locks it. */
static int open_temp(struct output *output, struct err *err)
{
    char id[ID_TEXT];

    while (output->fd == -1) {
        if (id_make(id, err) == -1)
            return -1;
        (void)snprintf(output->temp, sizeof output->temp, TEMP_PREFIX "%s" TEMP_SUFFIX, id);
        output->fd = openat(output->dir, output->temp,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (output->fd == -1) {
            output->temp[0] = '\0';
            return err_errno(err, "cannot write in '%s'",
                             output->dir_path[0] != '\0' ? output->dir_path : ".");
        }
        if (fchmod(output->fd, 0600) == -1 || flock(output->fd, LOCK_EX) == -1)
            return err_errno(err, "cannot lock '%s%s'", output->dir_path, output->temp);
        if (!file_is_named(output->dir, output->temp, output->fd, NULL))
            fd_closep(&output->fd); /* a sweep removed it in between */
    }
    return 0;
}

static int output_open(const struct life *life, const struct session *session, const char *file,
                       struct output *output, struct err *err)
{
    struct stat st;

    if (file != NULL && strcmp(file, ARCHIVE_STANDARD) == 0) {
        output->fd = STDOUT_FILENO;
        return 0;
    }
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    output->chosen = file != NULL;
    output->name = file == NULL ? default_name(session) : mem_dup(slash ? slash + 1 : file);
    if (output->name[0] == '\0')
        return err_set(err, MAS_FAILED, "cannot write '%s': it is a directory", file);
    if (file == NULL) {
        if (default_dir(life, &output->dir_path, err) == -1)
            return -1;
    } else {
        output->dir_path = mem_dupn(file, slash != NULL ? (size_t)(slash + 1 - file) : 0);
    }
    const char *dir = output->dir_path[0] != '\0' ? output->dir_path : ".";
    output->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->dir == -1)
        return err_errno(err, "cannot open directory '%s'", dir);
    if (output->chosen && fstatat(output->dir, output->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse_taken(output->dir_path, output->name, err);
    sweep(output->dir, false, NULL, NULL);
    return open_temp(output, err);
}

/* Gives the file its name without overwriting anything; syncs before and after. */
static int output_finish(struct output *output, char **ret, struct err *err)
{
    _cleanup_free_ char *name = output->name != NULL ? mem_dup(output->name) : NULL;
    int rc = -1;

    if (name == NULL) {
        *ret = mem_dup(ARCHIVE_STANDARD);
        return 0;
    }
    if (fsync(output->fd) == -1)
        return err_errno(err, "cannot write '%s%s'", output->dir_path, name);
    for (int i = 1; i <= NAMES_MAX; i++) {
        if (i > 1) {
            free(name);
            name = mem_printf("%.*s-%d.tar.zst", (int)(strlen(output->name) - strlen(".tar.zst")),
                              output->name, i);
        }
        rc = path_rename_new(output->dir, output->temp, output->dir, name);
        if (rc == 0 || errno != EEXIST || output->chosen)
            break;
    }
    if (rc == -1 && errno == EEXIST)
        return refuse_taken(output->dir_path, name, err);
    if (rc == -1)
        return err_errno(err, "cannot write '%s%s'", output->dir_path, name);
    output->temp[0] = '\0';
    if (file_sync_dir(output->dir, err) == -1)
        return -1;
    *ret = mem_printf("%s%s", output->dir_path, name);
    return 0;
}

/* How an archive is written. */
struct how {
    bool strict; /* nothing may be left out: see struct pack; the session goes, if it is stopped */
    int spool; /* of a running session: the copy of its memory.db; -1: it is stopped */
    int64_t memory; /* see struct listing_source */
    const int *to; /* write to this descriptor; NULL: to a file */
};

static void format_order(const struct life *life, const struct session *session,
                         const struct how *how, struct str *to)
{
    char created[TIME_TEXT];
    char now[TIME_TEXT];
    _cleanup_str_ struct str text = STR_INIT;
    struct manifest manifest = {.name = session->name,
                                .template = session->template,
                                .mode = (char *)mode_name(session->mode),
                                .created = created,
                                .archived = now,
                                .version = (char[]){MAS_VERSION},
                                .last = how->strict && how->spool == -1};

    memcpy(manifest.id, session->id, ID_TEXT);
    time_format(session->created, created);
    time_format(time(NULL), now);
    manifest_format(&manifest, &text);
    str_addf(to, "{\"do\":\"pack\",\"level\":%d,\"strict\":%s,\"manifest\":%s",
             config_number(life->config, SETTING_ARCHIVE_LEVEL), how->strict ? "true" : "false",
             str_text(&text));
    if (how->spool != -1)
        str_addf(to, ",\"live\":true,\"memory\":%lld", (long long)how->memory);
    str_addc(to, '}');
}

static int64_t get_count(const struct frame *frame, const char *key)
{
    return json_int(json_get(frame->head, key), 0);
}

/* Runs mas-archive to write the archive. */
static int run_helper(const struct life *life, int dir, const struct session *session,
                      const struct how *how, int file, struct archive_report *report,
                      struct err *err)
{
    _cleanup_archive_helper_ struct archive_helper helper = ARCHIVE_HELPER_INIT;
    _cleanup_str_ struct str order = STR_INIT;
    struct frame frame = {.head = NULL};
    struct archive_work work = {.file = file,
                                .dir = dir,
                                .parts = placement_dir(life->root, dir, session->mode),
                                .more = how->spool,
                                .order = &order};

    format_order(life, session, how, &order);
    if (archive_helper_start(&work, &helper, err) == -1 ||
        archive_helper_await(life, &helper, "packed", &frame, err) == -1)
        return -1;
    report->entries = (uint64_t)get_count(&frame, "entries");
    report->bytes = (uint64_t)get_count(&frame, "size");
    report->written = (uint64_t)get_count(&frame, "written");
    report->links = (uint64_t)get_count(&frame, "linksOut");
    const char *digest = json_get_text(frame.head, "digest");
    if (digest != NULL && sha256_is_hex(digest))
        memcpy(report->digest, digest, SHA256_TEXT);
    report->warnings = TAKE_PTR(helper.warnings);
    frame_free(&frame);
    return 0;
}

/* Packs a running session again if git packed a repository meanwhile, which it seldom does. */
static int run_helper_often(const struct life *life, int dir, const struct session *session,
                            const struct how *how, const struct output *output,
                            struct archive_report *report, struct err *err)
{
    struct stat st;

    if (how->spool == -1)
        return run_helper(life, dir, session, how, output->fd, report, err);
    if (fstat(how->spool, &st) == -1)
        return err_errno(err, "cannot look at the copy of its memory");
    for (int i = 1;; i++) {
        *err = (struct err)ERR_INIT;
        if (run_helper(life, dir, session, how, output->fd, report, err) == 0)
            return 0;
        if (err->code != MAS_CONFLICT || i == LIVE_TRIES || output->name == NULL)
            return -1;
        if (ftruncate(how->spool, st.st_size) == -1 || ftruncate(output->fd, 0) == -1 ||
            lseek(output->fd, 0, SEEK_SET) == -1)
            return err_errno(err, "cannot write the archive anew");
    }
}

static int write_archive(const struct life *life, int dir, const struct session *session,
                         const char *file, const struct how *how, struct archive_report *report,
                         struct err *err)
{
    _cleanup_output_ struct output output = {.dir = -1, .fd = -1};

    if (how->to != NULL)
        output.fd = *how->to;
    if (how->spool == -1 && grow_mend(life->root, dir, session->id, err) == -1)
        return err_wrap(err, "cannot archive session '%s'",
                        session_label(life->root, session->id).text);
    /* agents that never started have no directory yet */
    if ((how->spool == -1 && workspace_complete(life->root, dir, err) == -1) ||
        (how->to == NULL && output_open(life, session, file, &output, err) == -1) ||
        run_helper_often(life, dir, session, how, &output, report, err) == -1 ||
        output_finish(&output, &report->file, err) == -1)
        return err_wrap(err, "cannot archive session '%s'",
                        session_label(life->root, session->id).text);
    workspace_log(dir, config_log_limits(life->config), "archive entries=%ju bytes=%ju",
                  (uintmax_t)report->entries, (uintmax_t)report->bytes);
    return 0;
}

int archive_write(const struct life *life, int dir, const struct session *session, const char *file,
                  char **ret_file, struct err *err)
{
    struct archive_report report = {.file = NULL};
    const struct how how = {.strict = true, .spool = -1};
    int rc = write_archive(life, dir, session, file, &how, &report, err);

    if (rc == 0) {
        *ret_file = TAKE_PTR(report.file);
    }
    archive_report_free(&report);
    return rc;
}

int archive_to(const struct life *life, int dir, const struct session *session, int to,
               struct archive_report *ret, struct err *err)
{
    const struct how how = {.strict = true, .spool = -1, .to = &to};
    struct archive_report report = {.file = NULL};

    if (write_archive(life, dir, session, NULL, &how, &report, err) == -1) {
        archive_report_free(&report);
        return -1;
    }
    *ret = report;
    return 0;
}

int archive_session(const struct life *life, const char *id, const char *file, bool remove,
                    struct archive_report *ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct archive_report report = {.file = NULL};

    if (life_hold(life, id, LOCK_TRY, "archive", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "archive", &session, err) == -1)
        return -1;
    if (life_is_half_moved(life, dir, &session))
        return life_migrate_first(life, "archive", id, err);
    if (life_require_stopped(life, dir, &session, "archive", err) == -1 ||
        (remove && unlanded_check(life, dir, id, err) == -1))
        return -1;
    const struct how how = {.strict = remove, .spool = -1};
    int rc = write_archive(life, dir, &session, file, &how, &report, err);
    if (rc == 0 && remove) {
        life_lease_forget(&session);
        rc = life_remove_held(life, id, err);
    }
    if (rc == 0)
        *ret = report;
    else
        archive_report_free(&report);
    return rc;
}

/* Removes what a killed command has left of an agent, unless a command is at it. */
static void mend_live(const struct life *life, int dir, const char *id)
{
    _cleanup_close_ int held = -1;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;

    if (faccessat(dir, GROW_JOURNAL, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
        life_hold(life, id, LOCK_TRY, "archive", &held, &lock, &ignored) == 0)
        (void)grow_mend(life->root, dir, id, &ignored);
}

int archive_live(const struct life *life, const char *id, const char *file, bool strict,
                 struct archive_report *ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = workspace_open(life->root, id);
    _cleanup_close_ int spool = -1;
    struct archive_report report = {.file = NULL};
    struct how how = {.strict = strict, .memory = 0};
    struct err why = ERR_INIT;

    if (dir == -1)
        return err_errno(err, "cannot archive session '%s'", id);
    if (owner_check(life->root, dir, id, "archive", err) == -1 ||
        life_load(life, dir, id, "archive", &session, err) == -1)
        return -1;
    if (life_is_half_moved(life, dir, &session))
        return life_migrate_first(life, "archive", id, err);
    mend_live(life, dir, id);
    int rc = memory_backup(dir, life->tick, life->tick_arg, &spool, &how.memory, &why);
    if (rc == -1 && why.code == MAS_DAMAGED && spool != -1 && ftruncate(spool, 0) == 0) {
        how.memory = -1;
        rc = 0;
    }
    if (rc == -1) {
        *err = why;
        return err_wrap(err, "cannot archive session '%s'", session_label(life->root, id).text);
    }
    how.spool = spool;
    if (write_archive(life, dir, &session, file, &how, &report, err) == -1) {
        archive_report_free(&report);
        return -1;
    }
    if (how.memory == -1)
        strv_push(&report.warnings, why.text);
    *ret = report;
    return 0;
}

void archive_report_free(struct archive_report *report)
{
    free(report->file);
    strv_free(report->warnings);
    *report = (struct archive_report){.file = NULL};
}
