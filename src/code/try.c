/*
 * What is compared are trees and the person's index: git does not read the files that it knows.
 * Objects of both sides are read; the person's configuration says how files stand in the checkout,
 * and no filter of it runs.
 */

#include "code/try.h"

#include "base/json.h"
#include "base/time.h"
#include "code/held.h"
#include "code/lfs_carry.h"
#include "code/project.h"
#include "code/stranger.h"
#include "code/work.h"
#include "git/checkout.h"
#include "git/drivers.h"
#include "git/locks.h"
#include "git/raw.h"
#include "os/file.h"
#include "os/path.h"

struct trying {
    const struct repo *repo;
    struct stranger stranger;
    struct snapshot_tree snapshot;
    struct tried tried;
    struct git git; /* on the checkout, with the objects of code.git */
    char *objects; /* of code.git */
    char *head; /* the commit that is checked out */
    char **settings, **off; /* as those of a struct checkout */
    char *hooks; /* where the person's git looks for hooks, a path; NULL: beside its objects */
    char **gone; /* what HEAD has and the agent has not, sorted */
    size_t gone_count;
    char *above; /* the directory that plan_above() has seen last */
    char *inside; /* that is_in_repository() has */
    bool in_repository; /* what it found */
    bool again; /* in a session that is tried there already */
    struct try_result *result;
};

void try_result_free(struct try_result *result)
{
    free(result->top);
    strv_free(result->held);
    strv_free(result->modules);
    tried_notes_free(&result->notes);
    *result = (struct try_result)TRY_RESULT_INIT;
}

static void trying_free(struct trying *trying)
{
    work_free(&trying->snapshot);
    stranger_free(&trying->stranger);
    tried_free(&trying->tried);
    free(trying->objects);
    free(trying->head);
    strv_free(trying->settings);
    strv_free(trying->off);
    strv_free(trying->gone);
    free(trying->above);
    free(trying->inside);
    free(trying->hooks);
}

int try_refuse(const char *top, const char *what, struct err *err)
{
    _cleanup_tried_ struct tried tried = TRIED_INIT;
    struct err why = ERR_INIT;

    if (top == NULL)
        return 0;
    if (tried_open(top, &tried, &why) == -1 && why.code != MAS_CONFLICT) {
        *err = why;
        return -1;
    }
    if (tried.workspace == NULL)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot %s: files of agent '%s' are tried in '%s'", what,
                  tried.agent, tried.top_path);
    return err_hint(err, "take them out first, there, with: mas try --off");
}

/* ---- what the checkout must be */

static int check_checkout(const struct trying *trying, struct err *err)
{
    const char *top = trying->tried.top_path;
    const char *progress = git_progress(trying->tried.git);
    _cleanup_free_ char *lock = mem_printf("%s/index.lock", trying->tried.git_path);

    if (progress != NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot try in '%s': %s is in progress", top, progress);
        return err_hint(err, "finish it there, or give it up");
    }
    if (access(lock, F_OK) == 0 && !lock_is_left(lock, top))
        return err_set(err, MAS_CONFLICT, "cannot try in '%s': git is at work there", top);
    return 0;
}

static bool is_own(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

/* Opens the checkout. What is wrong with it, project_reopen_same() says. */
static int open_checkout(struct trying *trying, const struct team_project *project, struct err *err)
{
    const struct git own = repo_git(trying->repo);
    _cleanup_project_ struct project what = PROJECT_INIT;
    struct tried *tried = &trying->tried;
    struct err why = ERR_INIT;

    if (tried_open(project->path, tried, &why) == 0 && is_own(tried->git) && is_own(tried->top) &&
        project_look(&own, project->path, project->base) == PROJECT_SAME) {
        const struct git there = {.cwd = tried->top, .person = true};
        return git_text(&there, GIT_ARGS("rev-parse", "--verify", "HEAD^{commit}"), &trying->head,
                        &why) == 0
                   ? 0
                   : err_set(err, MAS_CONFLICT, "cannot try in '%s': it has no commit yet",
                             tried->top_path);
    }
    if (project_reopen_same(&own, project->path, project->base, &what, err) == -1)
        return -1;
    if (what.top != NULL)
        return why.code != MAS_OK ? (*err = why, -1)
                                  : err_set(err, MAS_CONFLICT,
                                            "cannot try in '%s': another user "
                                            "has made what git keeps for it",
                                            project->path);
    (void)err_set(err, MAS_CONFLICT, "cannot try in '%s': it has no work tree", project->path);
    return err_hint(err, "make one with: git worktree add; then name it with: mas set SESSION "
                         "project=DIR");
}

/* Puts back what is in the way of this session's files. */
static int make_room(struct trying *trying, bool only_again, struct err *err)
{
    struct tried *tried = &trying->tried;
    bool mine = tried->workspace != NULL && strcmp(tried->workspace, trying->repo->workspace) == 0;

    if (only_again && (!mine || tried->half || strcmp(tried->agent, trying->stranger.agent) != 0))
        return err_set(err, MAS_NOT_FOUND, "files of agent '%s' are not tried in '%s' any more",
                       trying->stranger.agent, tried->top_path);
    trying->again = mine && !tried->half;
    return trying->again ? 0 : tried_off(tried, &trying->result->notes, err);
}

/* ---- the agent's files */

static int take_snapshot(struct trying *trying, const char *agent, struct err *err)
{
    return stranger_open(trying->repo, agent, &trying->stranger, err) == -1 ||
                   work_snapshot(&trying->stranger, &trying->snapshot, err) == -1 ||
                   work_keep(&trying->snapshot, err) == -1
               ? -1
               : lfs_from_agent(&trying->stranger, trying->snapshot.oid, err);
}

/* Opens git on both sides. How files stand in the checkout is what the person's settings say. */
static int open_git(struct trying *trying, struct err *err)
{
    struct tried *tried = &trying->tried;
    const struct git there = {.cwd = tried->top, .person = true};

    if (drivers_turn_off(&there, &trying->off, err) == -1 ||
        checkout_settings(tried->top, &trying->settings, &trying->hooks, err) == -1)
        return err_wrap(err, "cannot use the work tree '%s'", tried->top_path);
    strv_push_all(&trying->settings, trying->off);
    trying->objects = mem_printf("%s/objects", trying->repo->git);
    trying->git = (struct git){.dir = tried->git_path,
                               .common = tried->common,
                               .tree = tried->top_path,
                               .cwd = tried->top,
                               .objects = {trying->objects},
                               .settings = (const char *const *)trying->settings};
    return 0;
}

/* ---- comparing */

/* Notes which directories mas makes for a file, and has what is in the way go: a file where a
 * directory is to be. */
static void plan_above(struct trying *trying, const char *path)
{
    struct tried *tried = &trying->tried;
    const char *last = strrchr(path, '/');
    size_t len = last != NULL ? (size_t)(last - path) : 0;
    struct stat st;

    if (last == NULL || (trying->above != NULL && strlen(trying->above) == len &&
                         strncmp(trying->above, path, len) == 0))
        return;
    free(trying->above);
    trying->above = mem_dupn(path, len);
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *part = mem_dupn(path, (size_t)(slash - path));
        bool there = tried_stat(tried, TRIED_TOP, part, &st);
        if ((there && S_ISDIR(st.st_mode)) || strv_has(tried->dirs, part))
            continue;
        if (there && tried_find(tried, part) == NULL) {
            struct tried_file *file = tried_add(tried, part);
            file->step = TRIED_CLEAR;
            file->had = file->fresh = true;
        }
        strv_push(&tried->dirs, part);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_gone(const struct trying *trying, const char *path)
{
    return trying->gone_count > 0 && bsearch(&path, trying->gone, trying->gone_count,
                                             sizeof *trying->gone, compare_names) != NULL;
}

/* Returns true for a file in a directory of hooks that the person's git runs. */
static bool is_hook(const struct trying *trying, const char *path)
{
    const char *top = trying->tried.top_path;
    const char *dir = trying->hooks != NULL ? trying->hooks : "/";

    if (str_starts(dir, top) && dir[strlen(top)] == '/')
        dir += strlen(top) + 1;
    while (str_starts(dir, "./"))
        dir += strlen("./");
    size_t len = strlen(dir);
    while (len > 0 && dir[len - 1] == '/')
        len--;
    return dir[0] != '/' && strncmp(path, dir, len) == 0 && (len == 0 || path[len] == '/');
}

/* Returns true for a file below a directory that has a HEAD: it may be a repository, in which git
 * runs what its config names. */
static bool is_in_repository(struct trying *trying, const char *path)
{
    const char *last = strrchr(path, '/');
    size_t dir = last != NULL ? (size_t)(last - path) : 0;
    struct stat st;

    if (trying->inside == NULL || strlen(trying->inside) != dir ||
        strncmp(trying->inside, path, dir) != 0) {
        free(trying->inside);
        trying->inside = mem_dupn(path, dir);
        trying->in_repository = false;
        for (size_t len = dir; len > 0 && !trying->in_repository; len--) {
            if (len < dir && path[len] != '/')
                continue;
            _cleanup_free_ char *head = mem_printf("%.*s/HEAD", (int)len, path);
            trying->in_repository = tried_stat(&trying->tried, TRIED_TOP, head, &st);
        }
    }
    return trying->in_repository;
}

/* Plans what becomes of one path. The old side is the agent's, the new one the checkout's. */
static void plan(struct trying *trying, const struct raw_row *row)
{
    struct tried *tried = &trying->tried;
    bool comes = strcmp(row->old.mode, "000000") != 0;
    bool goes = !comes && is_gone(trying, row->path);
    struct tried_file *file = trying->again ? tried_find(tried, row->path) : NULL;
    struct stat st;

    if (!comes && !goes && file == NULL)
        return; /* it is the person's own */
    if (strcmp(row->old.mode, "160000") == 0 || strcmp(row->new.mode, "160000") == 0) {
        strv_push(&trying->result->modules, row->path);
        return;
    }
    if (held_back(row->path) || is_hook(trying, row->path) || is_in_repository(trying, row->path)) {
        strv_push(&trying->result->held, row->path);
        return;
    }
    if (file == NULL) {
        bool had = tried_stat(tried, TRIED_TOP, row->path, &st);
        if (!comes && !had)
            return;
        if (comes)
            plan_above(trying, row->path);
        file = tried_add(tried, row->path);
        file->had = had;
        file->fresh = true;
        file->unsure = had && row->new.oid[strspn(row->new.oid, "0")] == '\0';
    }
    file->step = comes ? TRIED_PUT : goes ? TRIED_CLEAR : TRIED_BACK;
    file->was = file->is;
    file->is = (struct tried_stamp){.mtime = 0};
    if (comes)
        memcpy(file->is.oid, row->old.oid, sizeof file->is.oid);
}

/* Compares the agent's files with the checkout, as its index says that it is. Of what has another
 * time than there git does not tell what it is. */
static int compare_checkout(struct trying *trying, struct proc_result *ret, struct err *err)
{
    return git_must(
        &trying->git,
        GIT_ARGS("diff-index", "--raw", "-z", "--no-abbrev", "--no-renames", trying->snapshot.oid),
        NULL, ret, err);
}

/* Compares them with those that are tried. */
static int compare_tried(const struct trying *trying, struct proc_result *ret, struct err *err)
{
    return git_must(&trying->git,
                    GIT_ARGS("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames",
                             trying->snapshot.oid, trying->tried.tree),
                    NULL, ret, err);
}

static int list_gone(struct trying *trying, struct err *err)
{
    if (git_names(&trying->git,
                  GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--no-renames",
                           "--diff-filter=D", trying->head, trying->snapshot.oid),
                  &trying->gone, err) == -1)
        return -1;
    trying->gone_count = strv_len(trying->gone);
    if (trying->gone_count > 0)
        qsort(trying->gone, trying->gone_count, sizeof *trying->gone, compare_names);
    return 0;
}

/* Returns true if one of the lines names a file that the agent has not. */
static bool has_lacking(const struct str *rows)
{
    struct raw_row row;

    for (size_t at = 0; raw_next(rows, &at, &row);)
        if (strcmp(row.old.mode, "000000") == 0)
            return true;
    return false;
}

static int compare(struct trying *trying, struct err *err)
{
    _cleanup_result_ struct proc_result rows = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    struct raw_row row;

    if (trying->again && compare_tried(trying, &rows, &why) == -1) {
        /* archived and restored meanwhile, the session lacks the objects that no ref needs */
        trying->again = false;
        if (tried_off(&trying->tried, &trying->result->notes, err) == -1 ||
            tried_stage(&trying->tried, err) == -1)
            return -1;
    }
    if ((!trying->again && compare_checkout(trying, &rows, err) == -1) ||
        (has_lacking(&rows.out) && list_gone(trying, err) == -1))
        return -1;
    for (size_t at = 0; raw_next(&rows.out, &at, &row);)
        plan(trying, &row);
    return 0;
}

/* ---- writing them beside the checkout */

static int write_stage(const struct trying *trying, struct err *err)
{
    static const char whole[] = "core.sparseCheckout=false";
    static const char beside[] = "checkout.workers=2";
    _cleanup_free_ char *tree = mem_printf("%s/" TRIED_DIR "/new", trying->tried.git_path);
    _cleanup_close_ int cwd = path_open_dir(trying->tried.dir, "new");
    _cleanup_strv_ char **settings = NULL;
    _cleanup_str_ struct str paths = STR_INIT;
    struct git git = trying->git;

    for (size_t i = 0; i < trying->tried.count; i++)
        if (trying->tried.files[i].step == TRIED_PUT)
            str_addn(&paths, trying->tried.files[i].path, strlen(trying->tried.files[i].path) + 1);
    if (paths.len == 0)
        return 0;
    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", tree);
    strv_push_all(&settings, trying->settings);
    strv_push(&settings, whole);
    strv_push(&settings, beside);
    git.index = trying->snapshot.index;
    git.settings = (const char *const *)settings;
    git.tree = tree;
    git.cwd = cwd;
    return git_must(&git,
                    GIT_ARGS("checkout-index", "--ignore-skip-worktree-bits", "-z", "--stdin"),
                    &(struct git_input){paths.data, paths.len}, NULL, err);
}

static int fail_link(const struct trying *trying, const char *path, struct err *err)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_name(&shown, path);
    (void)err_set(err, MAS_CONFLICT,
                  "cannot try agent '%s': its link %s leads out of its tree, or into .git",
                  trying->stranger.agent, str_text(&shown));
    return err_hint(err, "have the agent remove it");
}

/* Returns true if what is to come stands there already. */
static bool is_there(struct trying *trying, const struct tried_file *file, const char *staged)
{
    bool sha256 = strlen(trying->snapshot.oid) == GIT_OID_MAX;
    char new[GIT_OID_TEXT], old[GIT_OID_TEXT];
    struct stat st;

    return file->unsure && tried_stat(&trying->tried, TRIED_TOP, file->path, &st) &&
           st.st_size == file->is.size && st.st_mode == file->is.mode &&
           tried_hash(trying->tried.dir, staged, sha256, new) &&
           tried_hash(trying->tried.top, file->path, sha256, old) && strcmp(new, old) == 0;
}

/* Reads what git has written for a file, and leaves the file as it is if that is there already.
 * Fails if it is a link that leads out of the tree. */
static int check_staged(struct trying *trying, struct tried_file *file, struct err *err)
{
    _cleanup_free_ char *staged = mem_printf("new/%s", file->path);
    const char *name = NULL;
    int above = tried_above(&trying->tried, TRIED_NEW, staged, false, &name);
    char target[PATH_MAX];
    struct stat st;

    if (above == -1 || fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return err_errno(err, "cannot read '%s' of agent '%s'", file->path, trying->stranger.agent);
    if (S_ISLNK(st.st_mode)) {
        ssize_t len = readlinkat(above, name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        if (held_leaves(file->path, target))
            return fail_link(trying, file->path, err);
    }
    file->is.size = st.st_size;
    file->is.mode = st.st_mode;
    file->is.mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (is_there(trying, file, staged))
        file->step = TRIED_REST;
    return 0;
}

/* Takes from the list what need not be moved. */
static void drop_same(struct tried *tried)
{
    size_t count = 0;

    for (size_t i = 0; i < tried->count; i++)
        if (tried->files[i].fresh && tried->files[i].step == TRIED_REST)
            free(tried->files[i].path);
        else
            tried->files[count++] = tried->files[i];
    tried->count = count;
}

static int stage(struct trying *trying, struct err *err)
{
    struct tried *tried = &trying->tried;
    _cleanup_free_ char *index = mem_printf("%s/" TRIED_DIR "/stage.index", tried->git_path);
    _cleanup_free_ char *filtered = NULL;

    if (drivers_find(&trying->git, trying->off, index, trying->head, trying->snapshot.oid,
                     &filtered, err) == -1)
        return -1;
    if (filtered != NULL)
        return err_set(err, MAS_CONFLICT,
                       "cannot try agent '%s': '%s' needs a filter of the project, and mas runs "
                       "none",
                       trying->stranger.agent, filtered);
    if (write_stage(trying, err) == -1)
        return err_wrap(err, "cannot try agent '%s'", trying->stranger.agent);
    for (size_t i = 0; i < tried->count; i++)
        if (tried->files[i].step == TRIED_PUT && check_staged(trying, &tried->files[i], err) == -1)
            return -1;
    drop_same(tried);
    return 0;
}

/* ---- moving them */

static void replace(char **text, const char *by)
{
    free(*text);
    *text = mem_dup(by);
}

/* Tells the session where it is tried. Without this, only the checkout knows. */
static int write_hint(const struct trying *trying, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    _cleanup_close_ int dir = open(trying->repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    json_put_all(&out, JO(NULL), JT("agent", trying->stranger.agent),
                 JT("dir", trying->tried.top_path), JT("git", trying->tried.git_path),
                 JT("since", trying->tried.since), JOE);
    return dir == -1 ? err_errno(err, "cannot open '%s'", trying->repo->git)
                     : file_replace(dir, TRIED_HINT, text.data, text.len, 0600, err);
}

static int move_files(struct trying *trying, struct err *err)
{
    struct tried *tried = &trying->tried;
    struct try_result *result = trying->result;
    char now[TIME_TEXT];

    for (size_t i = 0; i < tried->count; i++) {
        result->came += tried->files[i].step == TRIED_PUT;
        result->went += tried->files[i].step != TRIED_PUT && tried->files[i].step != TRIED_REST;
    }
    if (!trying->again && tried_keep_index(tried, err) == -1)
        return -1;
    time_format(time(NULL), now);
    replace(&tried->workspace, trying->repo->workspace);
    if (!trying->again || strcmp(tried->agent, trying->stranger.agent) != 0)
        replace(&tried->since, now);
    replace(&tried->agent, trying->stranger.agent);
    replace(&tried->tree, trying->snapshot.oid);
    if (!trying->again)
        replace(&tried->head, trying->head);
    return write_hint(trying, err) == -1 ? -1 : tried_move(tried, &result->notes, err);
}

static int bring(struct trying *trying, struct err *err)
{
    struct tried *tried = &trying->tried;

    if (trying->again && strcmp(tried->tree, trying->snapshot.oid) == 0 &&
        strcmp(tried->agent, trying->stranger.agent) == 0) {
        trying->result->same = true;
        return write_hint(trying, err); /* the checkout may have moved */
    }
    if (check_checkout(trying, err) == -1 || tried_stage(tried, err) == -1)
        return -1;
    if (open_git(trying, err) == -1 || compare(trying, err) == -1 || stage(trying, err) == -1 ||
        move_files(trying, err) == -1) {
        if (!tried->half)
            tried_drop_stage(tried);
        return -1;
    }
    return 0;
}

int try_agent(const struct repo *repo, const char *agent, const struct team_project *project,
              bool only_again, struct try_result *ret, struct err *err)
{
    struct trying trying = {.repo = repo,
                            .stranger = STRANGER_INIT,
                            .snapshot = SNAPSHOT_TREE_INIT,
                            .tried = TRIED_INIT,
                            .result = ret};
    int rc = take_snapshot(&trying, agent, err);

    if (rc == 0)
        rc = open_checkout(&trying, project, err);
    if (rc == 0)
        rc = make_room(&trying, only_again, err);
    if (rc == 0) {
        ret->top = mem_dup(trying.tried.top_path);
        rc = bring(&trying, err);
    }
    trying_free(&trying);
    return rc;
}
