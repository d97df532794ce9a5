#include "code/view.h"

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "code/sparse.h"
#include "code/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_MAX = 1024 }; /* bytes */

int view_make(const struct repo *repo, int dir, int code, const char *commit, struct err *err)
{
    static const char link[] = "gitdir: ../../" CODE_GIT "/" CODE_VIEW_GIT "\n";
    static const char common[] = "../..\n";
    static const char locked[] =
        "mas\n"; /* `git worktree prune` would drop it in a moved session */
    _cleanup_free_ char *tree = repo_tree(repo, CODE_VIEW);
    _cleanup_free_ char *place = mem_printf("%s/.git\n", tree);
    _cleanup_close_ int git = path_open_dir(dir, CODE_GIT);
    _cleanup_close_ int view = path_make_dir(code, CODE_VIEW, 0755);
    _cleanup_close_ int worktrees = git == -1 ? -1 : path_make_dir(git, "worktrees", 0755);
    _cleanup_close_ int own = worktrees == -1 ? -1 : path_make_dir(worktrees, CODE_VIEW, 0755);

    if (view == -1 || own == -1)
        return err_errno(err, "cannot make '" CODE_DIR "/" CODE_VIEW "'");
    return sparse_copy(repo->git, own, NULL, err) == -1 ||
                   file_create(own, "commondir", common, strlen(common), 0644, err) == -1 ||
                   file_create(own, "gitdir", place, strlen(place), 0644, err) == -1 ||
                   file_create(own, "locked", locked, strlen(locked), 0644, err) == -1 ||
                   file_create(view, ".git", link, strlen(link), 0644, err) == -1 ||
                   view_move(repo, commit, err) == -1
               ? -1
               : 0;
}

int view_head(const struct repo *repo, char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_VIEW_GIT, repo->git);
    _cleanup_close_ int own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (own == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (file_read(own, "HEAD", HEAD_MAX, &text, &len, err) == -1)
        return err_wrap(err, "cannot read the view of the project");
    text[strcspn(text, "\n")] = '\0';
    if (git_parse_oid(text, ret))
        return 0;
    /* an agent has checked a branch out */
    const struct git git = repo_git(repo);
    const char *name = str_starts(text, "ref: ") ? text + strlen("ref: ") : "";
    _cleanup_free_ char *oid = NULL;
    if (str_starts(name, "refs/heads/") && git_is_branch(name + strlen("refs/heads/")) &&
        git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", name), &oid, err) == 0 &&
        git_parse_oid(oid, ret))
        return 0;
    return err_set(err, MAS_DAMAGED, "cannot read the view of the project: its HEAD is '%.100s'",
                   text);
}

/* Fails if a file that the move replaces was changed, and git does not see it. */
static int check_unseen(const struct repo *repo, const struct git *git, const char *old,
                        const char *new, struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/unseen.index", repo->git);
    _cleanup_strv_ char **names = NULL;

    if (unseen_find(git, index, old, new, &names, err) == -1)
        return -1;
    return names == NULL
               ? 0
               : err_set(err, MAS_CONFLICT,
                         "cannot update the view of the project: '%s' was changed there", names[0]);
}

int view_move(const struct repo *repo, const char *commit, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_VIEW_GIT, repo->git);
    _cleanup_free_ char *index = mem_printf("%s/index", path);
    _cleanup_free_ char *tree = repo_tree(repo, CODE_VIEW);
    _cleanup_free_ char *was = NULL;
    _cleanup_close_ int own = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_str_ struct str head = STR_INIT;
    struct err why = ERR_INIT;
    size_t len = 0;
    char old[GIT_OID_TEXT] = "";

    if (own == -1 && errno == ENOENT)
        return 0; /* nobody in the team has the view */
    if (own == -1 || cwd == -1)
        return err_errno(err, "cannot open the view of the project");
    if (file_read(own, "HEAD", GIT_OID_TEXT, &was, &len, &why) == 0) {
        was[strcspn(was, "\n")] = '\0';
        (void)git_parse_oid(was, old);
    }
    const struct git git = {.dir = repo->git, .tree = tree, .index = index, .cwd = cwd};
    if (old[0] != '\0' && strcmp(old, commit) != 0 &&
        check_unseen(repo, &git, old, commit, err) == -1)
        return -1;
    const char *const *args = old[0] == '\0' ? GIT_ARGS("read-tree", "-u", "--reset", commit)
                                             : GIT_ARGS("read-tree", "-u", "-m", old, commit);
    if (git_must(&git, args, NULL, NULL, &why) == -1) {
        /* a file that was written anew with the same content is in the way only until git has read
         * it */
        struct proc_result refreshed = PROC_RESULT_INIT;
        int rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
        proc_result_free(&refreshed);
        if (rc == -1 || git_must(&git, args, NULL, NULL, err) == -1)
            return err_wrap(err, "cannot update the view of the project");
    }
    str_addf(&head, "%s\n", commit);
    return file_replace(own, "HEAD", head.data, head.len, 0644, err);
}
