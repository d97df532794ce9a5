/*
 * First the choice, which only reads; then each batch: acquire() locks a session, compares it with
 * what was chosen and prepares it, remove_batch() removes rows, names and files of all that passed.
 * A session that has changed since is passed over in silence. Those that could not be looked at are
 * never removed, and are one error at the end. A dry run takes no lock.
 */

#include "session/retention.h"

#include "base/time.h"
#include "client/hosts.h"
#include "model/retention_status.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/tree.h"
#include "session/archive.h"
#include "session/life_internal.h"
#include "session/unlanded.h"
#include "store/index.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/snapshot.h"
#include "store/stage.h"
#include "store/workspace.h"

#include <sys/resource.h>

/* ---- which sessions */

int retention_read(const struct config *config, struct retention *ret, struct err *err)
{
    struct retention options = {.archive = config_yes(config, SETTING_CLEAN_ARCHIVE)};

    options.by_age = config_text(config, SETTING_CLEAN_OLDER)[0] != '\0';
    options.age = (time_t)config_value(config, SETTING_CLEAN_OLDER)->number;
    options.by_count = config_text(config, SETTING_CLEAN_KEEP)[0] != '\0';
    options.keep = (size_t)config_number(config, SETTING_CLEAN_KEEP);
    options.statuses = (unsigned)config_number(config, SETTING_CLEAN_STATUS);
    if (!options.by_age && !options.by_count && options.statuses == 0) {
        (void)err_set(err, MAS_USAGE, "cannot clean: no criterion selects the sessions to remove");
        return err_hint(err, "give --older-than, --keep or --status, or set them under [retention] "
                             "in mas.ini");
    }
    if (options.statuses == 0)
        options.statuses = RETENTION_STOPPED | RETENTION_ERROR;
    *ret = options;
    return 0;
}

/* Uses the time of an entry if it is newer. */
static bool look_at(int dir, const char *name, time_t *newest)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return false;
    if (st.st_mtim.tv_sec > *newest)
        *newest = st.st_mtim.tv_sec;
    return true;
}

bool retention_find_used(int dir, time_t *ret)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_strv_ char **logs = NULL;
    struct err ignored = ERR_INIT;
    time_t newest = 0;

    if (path_list(dir, &names, &ignored) == -1)
        return false;
    for (char **name = names; *name != NULL; name++) /* readers of a lock may write to it */
        if (strcmp(*name, WORKSPACE_LOCK) != 0 && strcmp(*name, WORKSPACE_CODE_LOCKS) != 0 &&
            !look_at(dir, *name, &newest))
            return false;
    _cleanup_close_ int log_dir = path_open_dir(dir, WORKSPACE_LOGS);
    if (log_dir != -1 && path_list(log_dir, &logs, &ignored) == -1)
        return false;
    for (char **name = logs; name != NULL && *name != NULL; name++)
        if (!look_at(log_dir, *name, &newest))
            return false;
    *ret = newest;
    return true;
}

/* A candidate and its place in the survey, which breaks ties. */
struct ranked_candidate {
    struct retention_candidate session;
    size_t place;
    int unknown; /* MAS_OK, or the code of the reason to leave it */
    const char *why;
};

/* Describes a view as a candidate; returns false if it can never be one. */
static bool is_candidate(const struct root *root, const struct view *view,
                         struct ranked_candidate *ret)
{
    static const unsigned bits[STATUS_COUNT] = {[STATUS_ACTIVE] = RETENTION_CRASHED,
                                                [STATUS_STOPPED] = RETENTION_STOPPED,
                                                [STATUS_ERROR] = RETENTION_ERROR};
    struct retention_candidate *session = &ret->session;

    *session = (struct retention_candidate){.id = view->row.id,
                                            .name = view_name(view),
                                            .status = RETENTION_ERROR,
                                            .used = view->used,
                                            .metadata = view->metadata,
                                            .written = view->written};
    ret->why = view->reason;
    ret->unknown = view->unreadable ? MAS_FAILED : view->unknown ? MAS_TMUX : MAS_OK;
    /* its move of the root's files is unfinished */
    bool is_on_its_way = view->migrating && placement_is_shared(view->row.mode);
    if (view->live != NULL || view->row.missing || is_on_its_way || view->elsewhere)
        return false;
    if (view->socket != NULL)
        session->status = bits[view->row.status];
    if (view->socket != NULL || view->unreadable)
        return true;
    session->damaged = true;
    _cleanup_close_ int dir = workspace_open(root, view->row.id);
    if (dir != -1 && retention_find_used(dir, &session->used))
        return true;
    if (dir == -1 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return false;
    ret->unknown = MAS_FAILED;
    return true;
}

/* Newest first. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_candidate *x = a;
    const struct ranked_candidate *y = b;

    if (x->session.used != y->session.used)
        return x->session.used > y->session.used ? -1 : 1;
    return (x->place < y->place) - (x->place > y->place);
}

size_t retention_choose(const struct root *root, const struct survey *survey,
                        const struct retention *options, time_t now,
                        struct retention_candidate **ret, struct retention_unknown *ret_unknown)
{
    struct ranked_candidate *all = mem_alloc((survey->count + 1) * sizeof *all);
    struct retention_candidate *chosen = mem_alloc((survey->count + 1) * sizeof *chosen);
    struct retention_unknown unknown = {.count = 0};
    size_t count = 0;
    size_t kept = 0;

    for (size_t i = 0; i < survey->count; i++) {
        all[count].place = i;
        if (is_candidate(root, &survey->views[i], &all[count]) &&
            (all[count].session.status & options->statuses) != 0)
            count++;
    }
    qsort(all, count, sizeof *all, compare_ranked);
    for (size_t i = count; i-- > (options->by_count ? options->keep : 0);) {
        if (options->by_age && all[i].session.used > now - options->age)
            break; /* this also applies to all that follow */
        if (all[i].unknown == MAS_OK)
            chosen[kept++] = all[i].session;
        else if (unknown.count++ == 0)
            unknown = (struct retention_unknown){1, all[i].unknown, all[i].why};
    }
    free(all);
    *ret = chosen;
    *ret_unknown = unknown;
    return kept;
}

/* ---- removing them, in batches */

enum {
    BATCH_MAX = 128, /* sessions locked at once; one write of the index per batch */
    FILES_SPARE = 48, /* descriptors for everything else */
};

/* A session that is being removed. */
struct going {
    struct retention_result result;
    int lock; /* held to the end; -1: none */
    char trash[TRASH_NAME];
};

struct retention_run {
    const struct life *life;
    const struct retention *options;
    bool dry;
    char **inhabited; /* ids in the environment of any process */
    retention_tell *tell;
    void *arg;
};

static bool fail(struct going *going, enum retention_fate fate)
{
    going->result.fate = fate;
    return false;
}

/* Returns true if no host of the session lives. */
static bool is_deserted(struct going *going, int dir)
{
    struct err *err = &going->result.err;
    bool live = false;

    if (hosts_live(dir, &live, err) == -1) {
        (void)err_wrap(err, "cannot remove session '%s'", going->result.session->id);
        return fail(going, RETENTION_FAILED);
    }
    return !live || fail(going, RETENTION_LOCKED);
}

/* Opens the workspace and takes its lock; a dry run only checks the lock. */
static bool hold(const struct retention_run *run, struct going *going, int *ret_dir)
{
    const struct root *root = run->life->root;
    const char *id = going->result.session->id;
    struct err *err = &going->result.err;
    int dir = workspace_open(root, id);

    *ret_dir = dir;
    if (dir == -1) {
        (void)err_errno(err, "cannot open session '%s'", id);
        return fail(going, err->number == ENOENT ? RETENTION_CHANGED : RETENTION_FAILED);
    }
    if (run->dry && workspace_is_locked(dir))
        return fail(going, RETENTION_LOCKED);
    bool elsewhere = false;
    if (!run->dry &&
        owner_lock(root, dir, id, LOCK_TRY, "clean", &going->lock, &elsewhere, err) == -1) {
        if (elsewhere)
            return fail(going, RETENTION_FAILED);
        (void)err_wrap(err, "cannot lock session '%s'", id);
        bool held = err->code == MAS_CONFLICT;
        bool gone = !held && !file_is_named(root->sessions, id, dir, NULL);
        return fail(going, held ? RETENTION_LOCKED : gone ? RETENTION_CHANGED : RETENTION_FAILED);
    }
    return file_is_named(root->sessions, id, dir, NULL) || fail(going, RETENTION_CHANGED);
}

/* Asks tmux again, for sessions whose metadata does not show whether they were started. */
static bool is_live(const struct retention_run *run, struct going *going,
                    const struct session *session)
{
    const char *id = going->result.session->id;
    struct err *err = &going->result.err;
    _cleanup_free_ char *socket = NULL;
    struct tmux_session *live = NULL;

    int rc = going->result.session->damaged
                 ? survey_find_anywhere(run->life->root, run->life->config, id, &socket, &live, err)
                 : survey_find_live(run->life->root, session->tmux_socket, id, &live, err);
    tmux_sessions_free(live, live != NULL);
    if (rc == -1)
        (void)fail(going, RETENTION_FAILED);
    else if (live != NULL)
        (void)fail(going, RETENTION_CHANGED);
    return rc == -1 || live != NULL;
}

/* Returns true if the session is the same as when it was selected: a start writes the metadata
 * first, and so does a stop that follows. */
static bool is_unchanged(struct going *going, int dir)
{
    const struct retention_candidate *was = going->result.session;
    struct stat st = {.st_ino = 0};
    time_t used = 0;

    if (fstatat(dir, WORKSPACE_SESSION, &st, AT_SYMLINK_NOFOLLOW) == -1 && errno != ENOENT) {
        (void)err_errno(&going->result.err, "cannot remove session '%s'", was->id);
        return fail(going, RETENTION_FAILED);
    }
    bool same = st.st_ino == was->metadata && st.st_ctim.tv_sec == was->written.tv_sec &&
                st.st_ctim.tv_nsec == was->written.tv_nsec;
    if (was->damaged)
        same = same && retention_find_used(dir, &used) && used == was->used;
    return same || fail(going, RETENTION_CHANGED);
}

/* Reads the metadata; false if it is unreadable now or no longer damaged. */
static bool load(const struct retention_run *run, struct going *going, int dir,
                 struct session *session)
{
    const struct retention_candidate *was = going->result.session;
    struct err *err = &going->result.err;

    if (session_load(run->life->root, dir, was->id, session, err) == 0)
        return !was->damaged || fail(going, RETENTION_CHANGED);
    if (was->damaged && err->code == MAS_DAMAGED)
        return true;
    (void)err_wrap(err, "cannot remove session '%s'", was->id);
    return fail(going, RETENTION_FAILED);
}

/* Returns true if processes with its id exist, so that it needs its own sweep. */
static bool is_inhabited(const struct retention_run *run, const char *id)
{
    for (char **value = run->inhabited; value != NULL && *value != NULL; value++)
        if (strcmp(*value, id) == 0)
            return true;
    return false;
}

/* Prepares one session for the batch: ends its remaining processes and writes the archive. */
static bool prepare(const struct retention_run *run, struct going *going, int dir,
                    const struct session *session)
{
    struct retention_result *result = &going->result;
    const char *id = result->session->id;
    int rc = 0;

    if (result->session->status == RETENTION_CRASHED && !run->dry)
        tmux_drop_own_server(session->tmux_socket, session->tmux_name);
    if (is_inhabited(run, id) && life_sweep(run->life, id, &result->err) == -1)
        return fail(going, RETENTION_FAILED);
    if (unlanded_check(run->life, dir, id, &result->err) == -1)
        return fail(going, RETENTION_FAILED);
    if (run->options->archive && result->session->damaged) {
        (void)err_set(&result->err, MAS_DAMAGED,
                      "cannot archive session '%s': its metadata is damaged", id);
        rc = err_hint(&result->err, "check it with: mas doctor");
    } else if (run->options->archive && !run->dry) {
        rc = archive_write(run->life, dir, session, NULL, &result->archive, &result->err);
    }
    return rc == 0 || fail(going, RETENTION_FAILED);
}

/* Checks the session again, now that no other command can work on it. */
static bool acquire(const struct retention_run *run, struct going *going)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    const struct retention_candidate *was = going->result.session;
    bool stopped = !was->damaged && was->status != RETENTION_CRASHED;

    /* only for a lease is the metadata of a stopped session read that need not be */
    bool loads =
        !stopped || run->options->archive || config_text(run->life->config, SETTING_FLEET_STORE)[0];
    if (!hold(run, going, &dir) || !is_unchanged(going, dir) ||
        (loads && !load(run, going, dir, &session)) ||
        (!stopped && is_live(run, going, &session)) || !is_deserted(going, dir) ||
        !prepare(run, going, dir, &session))
        return false;
    going->result.err = (struct err)ERR_INIT; /* the error in its metadata */
    going->result.fate = RETENTION_REMOVED;
    if (!run->dry)
        life_lease_forget(&session);
    if (run->dry) {
        _cleanup_meter_ struct tree_meter *meter = tree_meter_new();
        (void)tree_measure(meter, dir, ".", false);
        going->result.freed = tree_meter_own(meter);
    }
    return true;
}

/* Removes rows and names under the metadata lock. The rows go first: a workspace without a row is
 * still listed, but a row without a workspace is an error. */
static int set_aside(const struct root *root, struct going **batch, size_t count, struct err *err)
{
    _cleanup_close_ int lock = -1;
    const char *ids[BATCH_MAX];
    struct err ignored = ERR_INIT;
    bool failed = false;

    for (size_t i = 0; i < count; i++)
        ids[i] = batch[i]->result.session->id;
    if (root_lock(root, &lock, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (life_end_guests(root, ids[i], err) == -1)
            return -1;
    if (index_remove(root, ids, count, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (workspace_set_aside(root, ids[i], &batch[i]->result.err) == -1) {
            batch[i]->result.fate = RETENTION_FAILED;
            failed = true;
        }
    if (failed)
        (void)index_rebuild(root, &ignored);
    if (file_sync_dir(root->sessions, &ignored) == -1 && !failed)
        /* all are removed; one of them reports the doubt about durability */
        batch[0]->result.err = ignored;
    return 0;
}

/* Removes the sessions that acquire() accepted. */
static void remove_batch(const struct root *root, struct going **batch, size_t count)
{
    struct tree_removal *items = mem_alloc((count + 1) * sizeof *items);
    struct going *deleted[BATCH_MAX];
    struct err err = ERR_INIT;
    size_t n = 0;

    bool aside = set_aside(root, batch, count, &err) == 0;
    for (size_t i = 0; i < count; i++) {
        struct going *going = batch[i];
        if (!aside) {
            going->result.fate = RETENTION_FAILED;
            going->result.err = err;
        }
        if (going->result.fate != RETENTION_REMOVED)
            continue;
        workspace_trash_name(going->result.session->id, going->trash);
        deleted[n] = going;
        items[n++].name = going->trash;
    }
    tree_remove_many(root->sessions, WORKSPACE_LOCK, items, n);
    for (size_t i = 0; i < n; i++) {
        deleted[i]->result.freed = items[i].freed;
        if (!items[i].failed)
            continue;
        deleted[i]->result.fate = RETENTION_FAILED;
        deleted[i]->result.err = items[i].err;
    }
    free(items);
}

/* Returns how many locks may be held at once; with archives one, because they take long. */
static size_t batch_size(const struct retention_run *run)
{
    struct rlimit limit;

    if (run->options->archive)
        return 1;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= BATCH_MAX + FILES_SPARE)
        return BATCH_MAX;
    return limit.rlim_cur > FILES_SPARE ? (size_t)limit.rlim_cur - FILES_SPARE : 1;
}

/* Checks, removes and reports this many sessions. */
static void run_batch(const struct retention_run *run, const struct retention_candidate *chosen,
                      size_t count)
{
    struct going *all = mem_alloc((count + 1) * sizeof *all);
    struct going *batch[BATCH_MAX];
    size_t taken = 0;

    for (size_t i = 0; i < count; i++) {
        all[i].result.session = &chosen[i];
        all[i].lock = -1;
        if (acquire(run, &all[i]))
            batch[taken++] = &all[i];
        else
            fd_closep(&all[i].lock);
    }
    if (taken > 0 && !run->dry)
        remove_batch(run->life->root, batch, taken);
    for (size_t i = 0; i < taken; i++)
        fd_closep(&batch[i]->lock);
    for (size_t i = 0; i < count; i++) {
        if (all[i].result.fate != RETENTION_CHANGED)
            run->tell(&all[i].result, run->arg);
        free(all[i].result.archive);
    }
    free(all);
}

static int run_all(struct retention_run *run, const struct retention_candidate *chosen,
                   size_t count, struct err *err)
{
    const struct life *life = run->life;
    size_t step = batch_size(run);

    /* Once for all sessions: anything started later changes the metadata. */
    if (count > 0 && !run->dry && proc_env_values("MAS_SESSION_ID", &run->inhabited, err) == -1)
        return err_wrap(err, "cannot clean");
    for (size_t i = 0; i < count; i += step) {
        if (life->tick != NULL && life->tick(0, 0, life->tick_arg))
            return err_set(err, MAS_FAILED, "cannot clean: interrupted");
        run_batch(run, chosen + i, count - i < step ? count - i : step);
    }
    return 0;
}

int retention_run(const struct life *life, const struct retention *options, bool dry_run,
                  retention_tell *tell, void *arg, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    struct retention_run run = {
        .life = life, .options = options, .dry = dry_run, .tell = tell, .arg = arg};
    struct retention_candidate *chosen = NULL;
    struct retention_unknown unknown;

    if (!dry_run && root_check(life->root, err) == -1)
        return -1;
    if (!dry_run)
        (void)workspace_sweep(life->root, false, NULL, NULL);
    if (survey_take(life->root, life->config, SURVEY_ALL, &survey, err) == -1)
        return -1;
    size_t count = retention_choose(life->root, &survey, options, time(NULL), &chosen, &unknown);
    int rc = run_all(&run, chosen, count, err);
    if (!dry_run && count > 0)
        (void)snapshot_collect(life->root, false, NULL, NULL);
    if (rc == 0 && unknown.count > 0)
        rc = err_set(err, unknown.code, "cannot clean %zu session%s: %s", unknown.count,
                     unknown.count == 1 ? "" : "s", unknown.why);
    strv_free(run.inhabited);
    free(chosen);
    return rc;
}
