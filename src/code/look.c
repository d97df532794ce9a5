#include "code/look.h"

#include "code/held.h"
#include "code/lfs_carry.h"
#include "code/work.h"
#include "os/path.h"
#include "os/tree.h"
#include "store/workspace.h"

#include <sys/file.h>

/* Makes the directory, empty and locked. The lock is on the directory that has the name now. */
static int make_place(struct file_look *look, int workspace, const char *agent, struct err *err)
{
    struct err ignored = ERR_INIT;

    look->name = mem_printf("%s" LOOK_ENDING, agent);
    look->run = path_open_dir(workspace, WORKSPACE_RUN);
    _cleanup_close_ int left = path_open_dir(look->run, look->name);
    if (left != -1 && flock(left, LOCK_EX | LOCK_NB) == -1)
        return err_set(err, MAS_CONFLICT,
                       "cannot open the files of agent '%s': they are open in an editor", agent);
    if (left != -1 && tree_remove(look->run, look->name, &ignored) == -1)
        return err_set(err, ignored.code, "%s", ignored.text);
    look->dir = path_make_dir(look->run, look->name, 0700);
    return look->dir != -1 && flock(look->dir, LOCK_EX | LOCK_NB) == 0
               ? 0
               : err_errno(err, "cannot make '" WORKSPACE_RUN "/%s'", look->name);
}

/* Sorts the files of a tree, as `git ls-tree -r -z` prints it: into what is written, each with a
 * NUL, of which links, and what is held back. What submodules have is not there. */
static void sort(const struct str *rows, struct str *paths, char ***links, char ***held)
{
    const char *end = str_text(rows) + rows->len;

    for (const char *row = str_text(rows), *path; row < end; row = path + strlen(path) + 1) {
        path = strchr(row, '\t');
        if (path++ == NULL)
            return;
        if (str_starts(row, "160000"))
            continue;
        if (held_back(path)) {
            strv_push(held, path);
            continue;
        }
        str_addn(paths, path, strlen(path) + 1);
        if (str_starts(row, "120000"))
            strv_push(links, path);
    }
}

/* Removes the links that lead out. */
static void check_links(struct file_look *look, char *const *links)
{
    char target[PATH_MAX];

    for (; links != NULL && *links != NULL; links++) {
        ssize_t len = readlinkat(look->dir, *links, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        if (held_leaves(*links, target) && unlinkat(look->dir, *links, 0) == 0)
            strv_push(&look->held, *links);
    }
}

static int write_files(const struct stranger *stranger, const struct snapshot_tree *tree,
                       struct file_look *look, struct err *err)
{
    static const char *const settings[] = {"core.sparseCheckout=false", NULL};
    _cleanup_free_ char *index = mem_printf("%s/look.index", stranger->repo->git);
    _cleanup_result_ struct proc_result rows = PROC_RESULT_INIT;
    _cleanup_str_ struct str paths = STR_INIT;
    _cleanup_strv_ char **links = NULL;
    struct git git = work_git(stranger, tree);

    git.index = index;
    git.settings = settings;
    (void)unlink(index);
    int rc =
        git_must(&git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", tree->oid), NULL, &rows, err);
    if (rc == 0)
        rc = git_must(&git, GIT_ARGS("read-tree", tree->oid), NULL, NULL, err);
    sort(&rows.out, &paths, &links, &look->held);
    git.tree = look->path;
    git.cwd = look->dir;
    if (rc == 0)
        rc = git_must(&git, GIT_ARGS("checkout-index", "-z", "--stdin"),
                      &(struct git_input){paths.data, paths.len}, NULL, err);
    (void)unlink(index);
    check_links(look, links);
    return rc;
}

int look_open(const struct repo *repo, int workspace, const char *agent, struct file_look *ret,
              struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;

    if (make_place(ret, workspace, agent, err) == -1)
        return -1;
    ret->path = mem_printf("%s/" WORKSPACE_RUN "/%s", repo->workspace, ret->name);
    return stranger_open(repo, agent, &stranger, err) == -1 ||
                   work_snapshot(&stranger, &tree, err) == -1 || work_keep(&tree, err) == -1 ||
                   lfs_from_agent(&stranger, tree.oid, err) == -1 ||
                   write_files(&stranger, &tree, ret, err) == -1
               ? -1
               : 0;
}

void look_close(struct file_look *look)
{
    struct err ignored = ERR_INIT;

    if (look->dir != -1)
        (void)tree_remove(look->run, look->name, &ignored);
    fd_closep(&look->dir);
    fd_closep(&look->run);
    free(look->name);
    free(look->path);
    strv_free(look->held);
}
