#include "code/sync.h"

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "code/pack.h"
#include "code/project.h"
#include "code/stranger.h"
#include "code/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INDEX_MAX = 256 << 20 };

/* A branch and a work tree that are moved. */
struct sync {
    struct stranger stranger;
    struct snapshot_tree tree;
    char *main; /* commit of the integration branch */
    char *branch; /* the agent's */
    bool index_locked, ref_locked;
};

static void sync_free(struct sync *sync)
{
    if (sync->index_locked)
        (void)unlinkat(sync->stranger.fd, "index.lock", 0);
    if (sync->ref_locked) {
        _cleanup_free_ char *lock = mem_printf("%s.lock", sync->branch);
        (void)unlinkat(sync->stranger.fd, lock, 0);
    }
    work_free(&sync->tree);
    stranger_free(&sync->stranger);
    free(sync->main);
    free(sync->branch);
}

/* Returns true if `old` is an ancestor of `new`. */
static int is_ancestor(const struct git *git, const char *old, const char *new, bool *ret,
                       struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_run(git, GIT_ARGS("merge-base", "--is-ancestor", old, new), NULL, &result, err) == -1)
        return -1;
    bool failed = result.status > 1;
    *ret = result.status == 0;
    if (failed)
        (void)git_fail(&result, "merge-base", err);
    proc_result_free(&result);
    return failed ? -1 : 0;
}

/* Returns why the agent has to merge by itself; NULL: mas can move it. */
static int find_obstacle(struct sync *sync, const char **ret, struct err *err)
{
    const struct stranger *stranger = &sync->stranger;
    const struct git git = stranger_git(stranger, NULL);
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
    if (work_snapshot(stranger, &sync->tree, err) == -1 ||
        git_text(&git, GIT_ARGS("rev-parse", "--verify", top), &tree, err) == -1)
        return -1;
    if (strcmp(tree, sync->tree.oid) != 0)
        *ret = "it has files that are not committed";
    return 0;
}

/* Creates a lock as git does: whoever creates the file has it. */
static int lock(const struct stranger *stranger, const char *name, struct err *err)
{
    int fd = openat(stranger->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd != -1)
        return close(fd);
    int number = errno;
    (void)err_errno(err, "cannot update the work tree of agent '%s': '%s'", stranger->agent, name);
    if (number == EEXIST)
        err->code = MAS_CONFLICT;
    return -1;
}

static int lock_both(struct sync *sync, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s.lock", sync->branch);

    sync->index_locked = lock(&sync->stranger, "index.lock", err) == 0;
    if (!sync->index_locked)
        return -1;
    sync->ref_locked = lock(&sync->stranger, name, err) == 0;
    return sync->ref_locked ? 0 : -1;
}

/* Gives the agent the index that mas kept while it moved the work tree. */
static int place_index(const struct sync *sync, struct err *err)
{
    _cleanup_close_ int fd = open(sync->tree.index, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (fd == -1)
        return err_errno(err, "cannot open '%s'", sync->tree.index);
    return file_read_stream(fd, sync->tree.index, INDEX_MAX, &text, &len, err) == -1
               ? -1
               : file_replace(sync->stranger.fd, "index", text, len, 0644, err);
}

static int place_branch(const struct sync *sync, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char now[GIT_OID_TEXT];
    _cleanup_free_ char *dir =
        mem_dupn(sync->branch, (size_t)(strrchr(sync->branch, '/') - sync->branch));

    if (stranger_ref(&sync->stranger, sync->branch, now, err) == -1)
        return -1;
    if (strcmp(now, sync->stranger.head) != 0)
        return err_set(err, MAS_CONFLICT,
                       "cannot update the branch of agent '%s': it has moved meanwhile",
                       sync->stranger.agent);
    str_addf(&text, "%s\n", sync->main);
    _cleanup_close_ int fd = path_open_beneath(sync->stranger.fd, dir, O_RDONLY | O_DIRECTORY);
    if (fd == -1)
        return err_errno(err, "cannot update the branch of agent '%s'", sync->stranger.agent);
    return file_replace(fd, strrchr(sync->branch, '/') + 1, text.data, text.len, 0644, err);
}

/* Moves the files first, then the index, the branch last: a kill leaves changed files, never a
 * commit that is not there. */
static int move(struct sync *sync, struct err *err)
{
    const struct git git = stranger_git(&sync->stranger, sync->tree.index);

    if (lock_both(sync, err) == -1)
        return -1;
    if (git_must(&git, GIT_ARGS("read-tree", "-m", "-u", sync->stranger.head, sync->main), NULL,
                 NULL, err) == -1)
        return err_wrap(err, "cannot update the work tree of agent '%s'", sync->stranger.agent);
    return place_branch(sync, err) == -1 ? -1 : place_index(sync, err);
}

int sync_agent(const struct repo *repo, const char *agent, enum sync_outcome *ret,
               const char **ret_why, struct err *err)
{
    const struct git git = repo_git(repo);
    struct sync sync = {.stranger = STRANGER_INIT, .tree = SNAPSHOT_TREE_INIT};
    const char *why = NULL;
    bool current = false;

    sync.branch = repo_branch(repo, agent);
    int rc = stranger_open(repo, agent, &sync.stranger, err);
    if (rc == 0)
        rc = git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &sync.main, err);
    if (rc == 0) {
        const struct git both = stranger_git(&sync.stranger, NULL);
        rc = is_ancestor(&both, sync.main, sync.stranger.head, &current, err);
    }
    if (rc == 0 && !current)
        rc = find_obstacle(&sync, &why, err);
    if (rc == 0 && !current && why == NULL)
        rc = move(&sync, err);
    sync_free(&sync);
    if (rc == -1)
        return -1;
    *ret = current ? SYNC_CURRENT : why != NULL ? SYNC_BEHIND : SYNC_MOVED;
    *ret_why = why;
    return 0;
}

int sync_project(const struct repo *repo, const struct team_project *project,
                 struct merge_result *ret, struct err *err)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    _cleanup_free_ char *oid = NULL;

    if (project_open(project->path, &opened, err) == -1)
        return -1;
    const struct git theirs = {.dir = opened.dir};
    const char *name = project->onto[0] != '\0' ? project->onto : "HEAD";
    if (git_text(&theirs, GIT_ARGS("rev-parse", "--verify", name), &oid, err) == -1)
        return err_wrap(err, "cannot read project '%s'", project->path);
    _cleanup_free_ char *objects = mem_printf("%s/objects", opened.dir);
    const struct git from = {.dir = repo->git, .objects = {objects}};
    const struct git to = repo_git(repo);
    _cleanup_free_ char *wanted = mem_printf("%s\n", oid);
    if (pack_copy(&from, &to, PACK_TMP, wanted, err) == -1)
        return err_wrap(err, "cannot fetch project '%s'", project->path);
    return merge_commit(repo, oid, "the project", ret, err);
}
