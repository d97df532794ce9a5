/*
 * First it looks for all that would be in the way, then takes both locks; only then git moves the
 * files, with an index of mas. That index and the branch are renamed into place. A lock says from
 * which commit to which it was taken: both locks mean that files may lag, and leftover.h finishes;
 * one alone means that no file was touched, or all is done, and it just goes.
 */

#include "code/sync.h"

#include "code/leftover.h"
#include "code/lfs_carry.h"
#include "code/project.h"
#include "code/stranger.h"
#include "code/submodule/submodule.h"
#include "code/work.h"
#include "git/in_way.h"
#include "git/index.h"
#include "git/pack.h"
#include "os/file.h"
#include "os/path.h"

#define INDEX_LOCK "index.lock"
#define LOCK_BEGINS "mas sync "

enum { LOCK_MAX = 256 }; /* bytes of a lock of mas */

/* A branch and a work tree that are moved. */
struct sync {
    struct stranger stranger;
    struct snapshot_tree tree;
    char *main; /* commit of the integration branch */
    char *branch; /* the agent's */
    char *ref_lock; /* name of its lock */
    int refs; /* the directory of the branch */
    bool index_locked, ref_locked;
};

static void unlock(struct sync *sync)
{
    if (sync->index_locked)
        (void)unlinkat(sync->stranger.fd, INDEX_LOCK, 0);
    if (sync->ref_locked)
        (void)unlinkat(sync->refs, sync->ref_lock, 0);
    sync->index_locked = false;
    sync->ref_locked = false;
    fd_closep(&sync->refs);
}

static void format_lock(const struct sync *sync, struct str *to)
{
    str_addf(to, LOCK_BEGINS "%s %s\n", sync->stranger.head, sync->main);
}

static void sync_free(struct sync *sync)
{
    unlock(sync);
    work_free(&sync->tree);
    stranger_free(&sync->stranger);
    free(sync->main);
    free(sync->branch);
    free(sync->ref_lock);
}

/* Returns true if `old` is an ancestor of `new`. */
static int is_ancestor(const struct git *git, const char *old, const char *new, bool *ret,
                       struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_run(git, GIT_ARGS("merge-base", "--is-ancestor", old, new), NULL, &result, err) == -1)
        return -1;
    bool failed = result.status > 1;
    *ret = result.status == 0;
    if (failed)
        (void)git_fail(&result, "merge-base", err);
    return failed ? -1 : 0;
}

/* Returns why the agent has to merge by itself; NULL: mas can move it. */
static int find_obstacle(struct sync *sync, const char **ret, struct err *err)
{
    const struct stranger *stranger = &sync->stranger;
    const struct git git = repo_git(stranger->repo);
    _cleanup_free_ char *top = mem_printf("%s^{tree}", stranger->head);
    _cleanup_free_ char *tree = NULL;
    bool forward = false;

    *ret = NULL;
    if (stranger->is_detached)
        *ret = "another branch is checked out";
    else if (stranger_progress(stranger) != NULL)
        *ret = "something is in progress";
    if (*ret != NULL)
        return 0;
    if (is_ancestor(&git, stranger->head, sync->main, &forward, err) == -1)
        return -1;
    if (!forward) {
        *ret = "it has commits of its own";
        return 0;
    }
    if (work_snapshot(stranger, &sync->tree, err) == -1)
        return -1;
    if (strcmp(sync->tree.oid, stranger->head) == 0)
        return 0;
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", top), &tree, err) == -1)
        return -1;
    if (strcmp(tree, sync->tree.oid) != 0)
        *ret = "it has files that are not committed";
    return 0;
}

/* Creates a lock as git does: whoever creates the file has it. Its text tells a later mas that the
 * one that made it was killed, and what it was about to do. */
static int lock(const struct sync *sync, int dir, const char *name, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    format_lock(sync, &text);
    if (file_create(dir, "mas.lock", text.data, text.len, 0644, err) == -1 &&
        err->number == EEXIST) {
        *err = (struct err)ERR_INIT; /* of a mas that was killed */
        (void)unlinkat(dir, "mas.lock", 0);
        if (file_create(dir, "mas.lock", text.data, text.len, 0644, err) == -1)
            return -1;
    }
    int rc = err->code == MAS_OK ? linkat(dir, "mas.lock", dir, name, 0) : -1;
    int number = errno;
    (void)unlinkat(dir, "mas.lock", 0);
    if (rc == 0 || err->code != MAS_OK)
        return rc;
    errno = number;
    (void)err_errno(err, "cannot update the work tree of agent '%s': '%s'", sync->stranger.agent,
                    name);
    if (number != EEXIST)
        return -1;
    err->code = MAS_CONFLICT;
    return err_hint(err, "its git is at work, or was killed; then remove that file from its .git");
}

/* Fails with MAS_CONFLICT if the agent's git has been at work since the look at its repository. The
 * caller has the locks, which keep it away from now on. */
static int check_still(const struct sync *sync, struct err *err)
{
    const struct stranger *was = &sync->stranger;
    _cleanup_stranger_ struct stranger now = STRANGER_INIT;

    if (stranger_open(was->repo, was->agent, &now, err) == -1)
        return -1;
    if (!now.is_detached && strcmp(now.head, was->head) == 0 && stranger_progress(&now) == NULL)
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot update the work tree of agent '%s': its git was at work", was->agent);
    return err_hint(err, "try again");
}

/* Opens the directory of the agent's branch; it is missing if all refs are packed. */
static int open_refs(struct sync *sync, struct err *err)
{
    const char *name;

    sync->refs = path_make_above(sync->stranger.fd, sync->branch, 0755, &name);
    return sync->refs != -1
               ? 0
               : err_errno(err, "cannot update the branch of agent '%s'", sync->stranger.agent);
}

static int lock_both(struct sync *sync, struct err *err)
{
    sync->index_locked = lock(sync, sync->stranger.fd, INDEX_LOCK, err) == 0;
    if (!sync->index_locked)
        return -1;
    sync->ref_locked = lock(sync, sync->refs, sync->ref_lock, err) == 0;
    return sync->ref_locked ? 0 : -1;
}

/* Replaces a file; a kill leaves no name that git takes for a ref. */
static int place_file(const struct sync *sync, int dir, const char *name, const struct str *text,
                      struct err *err)
{
    (void)unlinkat(sync->stranger.fd, "mas.new", 0);
    if (file_create(sync->stranger.fd, "mas.new", text->data, text->len, 0644, err) == -1)
        return -1;
    return renameat(sync->stranger.fd, "mas.new", dir, name) == -1
               ? err_errno(err, "cannot replace '%s' of agent '%s'", name, sync->stranger.agent)
               : 0;
}

/* Gives the agent the index that mas kept while it moved the work tree. */
static int place_index(struct sync *sync, struct err *err)
{
    _cleanup_close_ int fd = open(sync->tree.index, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (fd == -1)
        return err_errno(err, "cannot open '%s'", sync->tree.index);
    return file_read_stream(fd, sync->tree.index, INDEX_BYTES_MAX, &text, &len, err) == -1
               ? -1
               : place_file(sync, sync->stranger.fd, "index",
                            &(struct str){.data = text, .len = len}, err);
}

static int place_branch(const struct sync *sync, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_addf(&text, "%s\n", sync->main);
    return place_file(sync, sync->refs, sync->stranger.agent, &text, err);
}

/* Runs leftover_finish() with an index of its own, which then becomes the agent's. */
static int finish_files(struct sync *sync, struct leftover *leftover, struct err *err)
{
    const struct stranger *stranger = &sync->stranger;
    _cleanup_free_ char *index = mem_printf("%s/finish.index", stranger->repo->git);

    leftover->repo = stranger->repo;
    leftover->git = stranger_git(stranger, index);
    free(sync->tree.index);
    sync->tree.index = mem_dup(index);
    int rc = leftover_finish(leftover, err) == -1 ? -1 : place_index(sync, err);
    (void)unlink(index);
    return rc;
}

/* After an error, brings the files and the index back to the commit of the branch. If that fails,
 * too, the locks stay for the next sync, unless a file was changed meanwhile: then this is the
 * agent's. */
static void take_back(struct sync *sync)
{
    struct leftover leftover = {.repo = NULL};
    struct err why = ERR_INIT;

    if (git_parse_oid(sync->main, leftover.old) &&
        git_parse_oid(sync->stranger.head, leftover.new) &&
        finish_files(sync, &leftover, &why) == -1 && why.code != MAS_CONFLICT)
        sync->index_locked = sync->ref_locked = false;
}

/* Moves the files first, then the index, the branch last: a kill leaves locks, with which the next
 * sync finishes it. */
static int move(struct sync *sync, struct err *err)
{
    const struct git git = work_git(&sync->stranger, &sync->tree);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (in_way_check(&git, sync->stranger.head, sync->main, err) == -1)
        return err_wrap(err, "cannot update the work tree of agent '%s'", sync->stranger.agent);
    /* what changed since the snapshot is in the way of read-tree */
    if (open_refs(sync, err) == -1 || lock_both(sync, err) == -1 || check_still(sync, err) == -1 ||
        git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err) == -1)
        return -1;
    if (git_must(&git, GIT_ARGS("read-tree", "-m", "-u", sync->stranger.head, sync->main), NULL,
                 NULL, err) == 0 &&
        place_index(sync, err) == 0 && place_branch(sync, err) == 0)
        return 0;
    take_back(sync);
    return err_wrap(err, "cannot update the work tree of agent '%s'", sync->stranger.agent);
}

/* ---- after a kill */

/* Reads a lock that a killed mas left: "mas sync <old> <new>". Returns false for any other. */
static bool read_lock(int dir, const char *name, char old[GIT_OID_TEXT], char new[GIT_OID_TEXT])
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, name, LOCK_MAX, &text, &len, &ignored) == -1 ||
        !str_starts(text, LOCK_BEGINS))
        return false;
    char *first = text + strlen(LOCK_BEGINS);
    char *second = first + strcspn(first, " ");
    if (*second != ' ')
        return false;
    *second++ = '\0';
    second[strcspn(second, "\n")] = '\0';
    return git_parse_oid(first, old) && git_parse_oid(second, new);
}

/* Finishes a sync that was killed, unless the files were changed since; then only the locks go. */
static int finish(struct sync *sync, struct err *err)
{
    const struct stranger *stranger = &sync->stranger;
    struct leftover leftover = {.repo = NULL};
    struct err why = ERR_INIT;

    if (open_refs(sync, err) == -1)
        return -1;
    sync->index_locked = read_lock(stranger->fd, INDEX_LOCK, leftover.old, leftover.new);
    sync->ref_locked = read_lock(sync->refs, sync->ref_lock, leftover.old, leftover.new);
    if (!sync->index_locked && !sync->ref_locked)
        return 0;
    if (!sync->index_locked || !sync->ref_locked) {
        unlock(sync); /* killed before it changed a file, or after all */
        return 0;
    }
    bool mine = !stranger->is_detached && (strcmp(stranger->head, leftover.old) == 0 ||
                                           strcmp(stranger->head, leftover.new) == 0);
    free(sync->main);
    sync->main = mem_dup(leftover.new);
    if (mine &&
        (finish_files(sync, &leftover, &why) == -1 ||
         (strcmp(stranger->head, leftover.old) == 0 && place_branch(sync, &why) == -1)) &&
        why.code != MAS_CONFLICT) {
        sync->index_locked = sync->ref_locked = false; /* for the next sync */
        *err = why;
        return -1;
    }
    unlock(sync);
    return 0;
}

static int sync_opened(struct sync *sync, enum sync_outcome *ret, const char **ret_why,
                       struct err *err)
{
    const struct repo *repo = sync->stranger.repo;
    const struct git git = repo_git(repo);
    bool current = false;

    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &sync->main, err) == -1 ||
        work_fetch(&sync->stranger, sync->stranger.head, CODE_REF_HEADS, err) == -1 ||
        is_ancestor(&git, sync->main, sync->stranger.head, &current, err) == -1)
        return -1;
    *ret = SYNC_CURRENT;
    *ret_why = NULL;
    if (current)
        return 0;
    if (find_obstacle(sync, ret_why, err) == -1)
        return -1;
    *ret = *ret_why != NULL ? SYNC_BEHIND : SYNC_MOVED;
    if (*ret_why != NULL)
        return 0;
    return move(sync, err) == -1 ? -1
                                 : submodule_follow(repo, sync->stranger.agent, sync->main, err);
}

bool sync_is_left(const struct stranger *stranger)
{
    char old[GIT_OID_TEXT], new[GIT_OID_TEXT];

    return read_lock(stranger->fd, INDEX_LOCK, old, new);
}

static void sync_init(const struct repo *repo, const char *agent, struct sync *ret)
{
    *ret = (struct sync){.stranger = STRANGER_INIT, .tree = SNAPSHOT_TREE_INIT, .refs = -1};
    ret->branch = repo_branch(repo, agent);
    ret->ref_lock = mem_printf("%s.lock", agent);
}

int sync_finish(const struct repo *repo, const char *agent, struct err *err)
{
    struct sync sync;

    sync_init(repo, agent, &sync);
    int rc = stranger_open(repo, agent, &sync.stranger, err);
    if (rc == 0)
        rc = finish(&sync, err);
    sync_free(&sync);
    return rc;
}

int sync_agent(const struct repo *repo, const char *agent, enum sync_outcome *ret,
               const char **ret_why, struct err *err)
{
    struct sync sync;
    enum sync_outcome outcome = SYNC_CURRENT;
    const char *why = NULL;

    if (sync_finish(repo, agent, err) == -1)
        return -1;
    sync_init(repo, agent, &sync);
    int rc = stranger_open(repo, agent, &sync.stranger, err);
    if (rc == 0)
        rc = sync_opened(&sync, &outcome, &why, err);
    sync_free(&sync);
    if (rc == -1)
        return -1;
    *ret = outcome;
    *ret_why = why;
    return 0;
}

int sync_project(const struct repo *repo, const struct team_project *project,
                 struct merge_result *ret, struct err *err)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    _cleanup_free_ char *oid = NULL;

    const struct git to = repo_git(repo);

    if (project_reopen_same(&to, project->path, project->base, &opened, err) == -1)
        return -1;
    const struct git theirs = {.dir = opened.dir};
    const char *name = project->onto[0] != '\0' ? project->onto : "HEAD";
    if (git_text(&theirs, GIT_ARGS("rev-parse", "--verify", name), &oid, err) == -1)
        return err_wrap(err, "cannot read project '%s'", project->path);
    _cleanup_free_ char *objects = mem_printf("%s/objects", opened.dir);
    const struct git from = {.dir = repo->git, .objects = {objects}};
    _cleanup_free_ char *wanted = mem_printf("%s\n", oid);
    if (pack_copy(&from, &to, PACK_TMP, wanted, err) == -1)
        return err_wrap(err, "cannot fetch project '%s'", project->path);
    if (lfs_is_used(repo->git) && lfs_from_project(repo, &opened, oid, err) == -1)
        return -1;
    /* no check: a person has it already, and no agent could mend it */
    return merge_commit(repo, oid, "the project", NULL, ret, err);
}
