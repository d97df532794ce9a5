#include "session/retention.h"

#include "base/file.h"
#include "base/path.h"
#include "base/time.h"
#include "store/placement.h"
#include "store/workspace.h"

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
