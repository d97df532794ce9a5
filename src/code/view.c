/*
 * A move writes "<old> <new>" to the file `moving` before git touches a file, then HEAD, and
 * removes the file last. The next move finishes one that was killed, unless HEAD is not <old> any
 * more: then an agent has checked something out. If git fails in the middle, what it has written is
 * taken back. The first filling has no old commit; after a kill it is just done again.
 */

#include "code/view.h"

#include "code/leftover.h"
#include "code/sparse.h"
#include "git/in_way.h"
#include "git/odd.h"
#include "git/unseen.h"
#include "os/file.h"
#include "os/path.h"

#define MOVING "moving" /* while it is moved: "<old> <new>" */

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

/* The view, open. */
struct view_tree {
    char *path, *index, *tree;
    int own; /* its directory in code.git */
    int cwd; /* its files */
    char head[GIT_OID_TEXT]; /* the commit that it shows; "": none yet, or it has a branch */
};

static void view_close(struct view_tree *view)
{
    free(view->path);
    free(view->index);
    free(view->tree);
    fd_closep(&view->own);
    fd_closep(&view->cwd);
}

/* Returns 1; 0 if the team has none; -1 on failure. The caller calls view_close(), in any case. */
static int view_open(const struct repo *repo, struct view_tree *ret, struct err *err)
{
    _cleanup_free_ char *was = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    ret->path = mem_printf("%s/" CODE_VIEW_GIT, repo->git);
    ret->index = mem_printf("%s/index", ret->path);
    ret->tree = repo_tree(repo, CODE_VIEW);
    ret->own = open(ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->own == -1 && errno == ENOENT)
        return 0;
    ret->cwd = open(ret->tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (ret->own == -1 || ret->cwd == -1)
        return err_errno(err, "cannot open the view of the project");
    if (odd_check(ret->cwd, ret->tree, err) == -1)
        return err_wrap(err, "cannot read the view of the project");
    if (file_read(ret->own, "HEAD", GIT_OID_TEXT, &was, &len, &ignored) == 0) {
        was[strcspn(was, "\n")] = '\0';
        (void)git_parse_oid(was, ret->head);
    }
    return 1;
}

static struct git view_git(const struct repo *repo, const struct view_tree *view)
{
    return (struct git){.dir = repo->git,
                        .tree = view->tree,
                        .index = view->index,
                        .confined = true,
                        .cwd = view->cwd};
}

static int write_head(const struct view_tree *view, const char *commit, struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;

    str_addf(&head, "%s\n", commit);
    return file_replace(view->own, "HEAD", head.data, head.len, 0644, err);
}

/* Finishes a move that was killed. An agent that has checked something out since keeps that. */
static int finish_move(const struct repo *repo, struct view_tree *view, struct err *err)
{
    struct leftover leftover = {.repo = repo, .git = view_git(repo, view)};
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(view->own, MOVING, HEAD_MAX, &text, &len, &ignored) == -1)
        return 0;
    char *second = text + strcspn(text, " ");
    if (*second == ' ')
        *second++ = '\0';
    second[strcspn(second, "\n")] = '\0';
    if (git_parse_oid(text, leftover.old) && git_parse_oid(second, leftover.new) &&
        strcmp(view->head, leftover.old) == 0) {
        if (leftover_finish(&leftover, err) == -1)
            return err_wrap(err, "cannot update the view of the project");
        if (write_head(view, leftover.new, err) == -1)
            return -1;
        memcpy(view->head, leftover.new, sizeof view->head);
    }
    (void)unlinkat(view->own, MOVING, 0);
    return 0;
}

/* Has git write the files of the commit. */
static int move_files(const struct repo *repo, const struct view_tree *view, const char *commit,
                      struct err *err)
{
    const char *old = view->head;
    const struct git git = view_git(repo, view);
    const char *const *args = old[0] == '\0' ? GIT_ARGS("read-tree", "-u", "--reset", commit)
                                             : GIT_ARGS("read-tree", "-u", "-m", old, commit);
    _cleanup_result_ struct proc_result refreshed = PROC_RESULT_INIT;
    struct err why = ERR_INIT;

    if (git_must(&git, args, NULL, NULL, &why) == 0)
        return 0;
    /* a file that was written anew with the same content is in the way only until git has read it
     */
    int rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
    if (rc == -1 || git_must(&git, args, NULL, NULL, err) == -1)
        return err_wrap(err, "cannot update the view of the project");
    return 0;
}

/* After an error, brings back the files that git has written. If that fails, too, the next move
 * finishes this one, unless a file was changed: then this is an agent's. Returns -1. */
static int take_back(const struct repo *repo, const struct view_tree *view, const char *commit)
{
    struct leftover leftover = {.repo = repo, .git = view_git(repo, view)};
    struct err why = ERR_INIT;

    if (view->head[0] != '\0' && git_parse_oid(commit, leftover.old) &&
        git_parse_oid(view->head, leftover.new) &&
        (leftover_finish(&leftover, &why) == 0 || why.code == MAS_CONFLICT))
        (void)unlinkat(view->own, MOVING, 0);
    return -1;
}

static int move_opened(const struct repo *repo, struct view_tree *view, const char *commit,
                       struct err *err)
{
    const struct git git = view_git(repo, view);
    _cleanup_str_ struct str moving = STR_INIT;

    if (finish_move(repo, view, err) == -1)
        return -1;
    if (view->head[0] != '\0' && strcmp(view->head, commit) == 0)
        return 0;
    if (view->head[0] != '\0') {
        if (check_unseen(repo, &git, view->head, commit, err) == -1)
            return -1;
        if (in_way_check(&git, view->head, commit, err) == -1)
            return err_wrap(err, "cannot update the view of the project");
        str_addf(&moving, "%s %s\n", view->head, commit);
        if (file_replace(view->own, MOVING, moving.data, moving.len, 0644, err) == -1)
            return -1;
    }
    if (move_files(repo, view, commit, err) == -1)
        return take_back(repo, view, commit);
    if (write_head(view, commit, err) == -1)
        return -1;
    (void)unlinkat(view->own, MOVING, 0);
    return 0;
}

int view_move(const struct repo *repo, const char *commit, struct err *err)
{
    struct view_tree view = {.own = -1, .cwd = -1};
    int rc = view_open(repo, &view, err);

    if (rc == 1)
        rc = move_opened(repo, &view, commit, err);
    view_close(&view);
    return rc;
}
