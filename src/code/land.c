#include "code/land.h"

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "code/merge.h"
#include "code/pack.h"
#include "code/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL "landing" /* in code.git */

enum { JOURNAL_MAX = 65536 };

void land_result_free(struct land_result *result)
{
    free(result->onto);
    strv_free(result->files);
    *result = (struct land_result)LAND_RESULT_INIT;
}

/* A landing at work. */
struct landing {
    const struct repo *repo;
    struct project project;
    char *objects; /* of the project */
    char *onto; /* full name of the branch */
    char old[GIT_OID_TEXT], new[GIT_OID_TEXT];
    char *tree; /* work tree that has the branch checked out; NULL: none */
};

static void landing_free(struct landing *landing)
{
    project_free(&landing->project);
    free(landing->objects);
    free(landing->onto);
    free(landing->tree);
}

/* git on code.git that also reads the objects of the project. */
static struct git both(const struct landing *landing)
{
    return (struct git){.dir = landing->repo->git, .objects = {landing->objects}};
}

static struct git theirs(const struct landing *landing)
{
    return (struct git){.dir = landing->project.dir};
}

static int open_onto(struct landing *landing, const struct team_project *project,
                     const struct land_options *options, struct err *err)
{
    const struct git git = theirs(landing);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;

    if (options->onto == NULL && project->onto[0] == '\0') {
        (void)err_set(err, MAS_USAGE, "cannot land: the session began at no branch");
        return err_hint(err, "name the branch with --onto BRANCH");
    }
    if (options->onto != NULL && !git_is_branch(options->onto))
        return err_set(err, MAS_USAGE, "cannot land onto '%s': it is not a name of a branch",
                       options->onto);
    landing->onto =
        options->onto == NULL ? mem_dup(project->onto) : mem_printf("refs/heads/%s", options->onto);
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", landing->onto), &text, &why) ==
            -1 ||
        !git_parse_oid(text, landing->old)) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot land onto '%s': project '%s' has no such branch",
                      landing->onto + strlen("refs/heads/"), landing->project.path);
        return err_hint(err, "name another one with --onto BRANCH");
    }
    return 0;
}

/* Finds the work tree that has the branch checked out. */
static int find_tree(struct landing *landing, struct err *err)
{
    const struct git git = theirs(landing);
    struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *wanted = mem_printf("branch %s", landing->onto);
    const char *tree = NULL;

    if (git_must(&git, GIT_ARGS("worktree", "list", "--porcelain", "-z"), NULL, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    for (const char *line = text; line < text + result.out.len; line += strlen(line) + 1) {
        if (str_starts(line, "worktree "))
            tree = line + strlen("worktree ");
        else if (strcmp(line, wanted) == 0 && tree != NULL)
            landing->tree = mem_dup(tree);
    }
    proc_result_free(&result);
    return 0;
}

/* Makes the commit to land. result->files is set if there is a conflict. */
static int make_commit(struct landing *landing, const struct land_options *options,
                       struct land_result *result, struct err *err)
{
    const struct git git = both(landing);
    const struct repo *repo = landing->repo;
    const char *branch = repo->main + strlen("refs/heads/");
    _cleanup_free_ char *counts = NULL;
    _cleanup_free_ char *main = NULL;
    _cleanup_free_ char *text = NULL;
    char tree[GIT_OID_TEXT];
    char *tab = NULL;

    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &main, err) == -1)
        return -1;
    _cleanup_free_ char *range = mem_printf("%s...%s", landing->old, main);
    if (git_text(&git, GIT_ARGS("rev-list", "--left-right", "--count", range), &counts, err) == -1)
        return -1;
    size_t missing = strtoul(counts, &tab, 10);
    result->commits = strtoul(tab, NULL, 10);
    if (result->commits == 0) {
        memcpy(landing->new, landing->old, sizeof landing->new);
        return 0;
    }
    if (missing == 0 && options->way == LAND_AUTO) {
        (void)git_parse_oid(main, landing->new);
        return 0;
    }
    if (merge_trees(&git, landing->old, main, tree, &result->files, err) == -1)
        return err_wrap(err, "cannot land '%s'", branch);
    if (tree[0] == '\0')
        return 0;
    strv_free(result->files);
    result->files = NULL;
    /* what is there in other commits, for example a squash, is not landed again */
    _cleanup_free_ char *top = mem_printf("%s^{tree}", landing->old);
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", top), &text, err) == -1)
        return -1;
    if (strcmp(text, tree) == 0) {
        result->commits = 0;
        memcpy(landing->new, landing->old, sizeof landing->new);
        return 0;
    }
    free(text);
    text = NULL;
    _cleanup_free_ char *message = options->message != NULL      ? mem_dup(options->message)
                                   : options->way == LAND_SQUASH ? mem_printf("Land %s", branch)
                                                                 : mem_printf("Merge %s", branch);
    const char *const *args =
        options->way == LAND_SQUASH
            ? GIT_ARGS("commit-tree", tree, "-p", landing->old, "-m", message)
            : GIT_ARGS("commit-tree", tree, "-p", landing->old, "-p", main, "-m", message);
    if (git_text(&git, args, &text, err) == -1)
        return err_wrap(err, "cannot land '%s'", branch);
    return git_parse_oid(text, landing->new)
               ? 0
               : err_set(err, MAS_FAILED, "git commit-tree printed '%s'", text);
}

/* ---- the work tree of the branch */

static struct git on_tree(const char *tree, int cwd, const char *git_dir)
{
    return (struct git){.dir = git_dir, .tree = tree, .cwd = cwd};
}

/* Finds the repository of a work tree: that of the project, or of one that is linked to it. */
static int find_git_dir(int cwd, char **ret, struct err *err)
{
    const struct git git = {.cwd = cwd};
    return git_text(&git, GIT_ARGS("rev-parse", "--absolute-git-dir"), ret, err);
}

static int check_clean(const struct landing *landing, struct err *err)
{
    _cleanup_close_ int cwd = open(landing->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *dir = NULL;
    struct proc_result result = PROC_RESULT_INIT;

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", landing->tree);
    if (find_git_dir(cwd, &dir, err) == -1)
        return -1;
    const struct git git = on_tree(landing->tree, cwd, dir);
    if (git_must(&git, GIT_ARGS("status", "--porcelain", "--untracked-files=no"), NULL, &result,
                 err) == -1)
        return -1;
    bool clean = result.out.len == 0;
    proc_result_free(&result);
    if (clean)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot land onto '%s': its work tree '%s' has changes",
                  landing->onto + strlen("refs/heads/"), landing->tree);
    return err_hint(err, "commit them, or put them away with: git stash");
}

static int write_journal(const struct landing *landing, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    _cleanup_close_ int dir = open(landing->repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", landing->repo->git);
    json_open(&out, NULL, '{');
    json_put(&out, "project", landing->project.path);
    json_put(&out, "onto", landing->onto);
    json_put(&out, "old", landing->old);
    json_put(&out, "new", landing->new);
    json_put(&out, "tree", landing->tree);
    json_close(&out, '}');
    str_addc(&text, '\n');
    return file_replace(dir, JOURNAL, text.data, text.len, 0600, err);
}

static int drop_journal(const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" JOURNAL, repo->git);

    return unlink(path) == -1 && errno != ENOENT ? err_errno(err, "cannot remove '%s'", path) : 0;
}

/* Moves a work tree from one commit to another, as `git switch` does: a file that was changed is in
 * the way. */
static int move_tree(const char *tree, const char *old, const char *new, struct err *err)
{
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *dir = NULL;

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", tree);
    if (find_git_dir(cwd, &dir, err) == -1)
        return -1;
    const struct git git = on_tree(tree, cwd, dir);
    if (git_must(&git, GIT_ARGS("read-tree", "-u", "-m", old, new), NULL, NULL, err) == -1) {
        err->code = MAS_CONFLICT;
        return err_wrap(err, "cannot update the work tree '%s'", tree);
    }
    return 0;
}

static int remember(const struct repo *repo, struct err *err)
{
    const struct git git = repo_git(repo);
    return git_must(&git, GIT_ARGS("update-ref", CODE_REF_LANDED, repo->main), NULL, NULL, err);
}

/* Moves the branch, and the work tree behind it. */
static int place(const struct landing *landing, struct err *err)
{
    const struct git git = theirs(landing);
    struct err ignored = ERR_INIT;

    if (landing->tree != NULL &&
        (check_clean(landing, err) == -1 || write_journal(landing, err) == -1))
        return -1;
    if (git_must(
            &git,
            GIT_ARGS("update-ref", "-m", "mas land", landing->onto, landing->new, landing->old),
            NULL, NULL, err) == -1) {
        (void)drop_journal(landing->repo, &ignored);
        err->code = MAS_CONFLICT;
        (void)err_wrap(err, "cannot land onto '%s'", landing->onto + strlen("refs/heads/"));
        return err_hint(err, "the branch has moved; try again");
    }
    if (landing->tree != NULL && move_tree(landing->tree, landing->old, landing->new, err) == -1)
        return -1;
    return drop_journal(landing->repo, err);
}

static int land_open(struct landing *landing, const struct team_project *project,
                     const struct land_options *options, struct land_result *result,
                     struct err *err)
{
    if (project_open(project->path, &landing->project, err) == -1)
        return -1;
    landing->objects = mem_printf("%s/objects", landing->project.dir);
    return open_onto(landing, project, options, err) == -1 || find_tree(landing, err) == -1
               ? -1
               : make_commit(landing, options, result, err);
}

static int copy_commit(const struct landing *landing, struct err *err)
{
    const struct git from = both(landing);
    const struct git to = theirs(landing);
    _cleanup_free_ char *wanted = mem_printf("%s\n", landing->new);

    return pack_copy(&from, &to, PACK_TMP, wanted, err) == -1
               ? err_wrap(err, "cannot land onto '%s'", landing->onto + strlen("refs/heads/"))
               : 0;
}

int land(const struct repo *repo, const struct team_project *project,
         const struct land_options *options, struct land_result *ret, struct err *err)
{
    struct landing landing = {.repo = repo, .project = PROJECT_INIT};
    _cleanup_land_ struct land_result result = LAND_RESULT_INIT;
    bool finished = false;
    int rc = land_finish(repo, &finished, err);

    if (rc == 0)
        rc = land_open(&landing, project, options, &result, err);
    bool moves = rc == 0 && result.files == NULL && strcmp(landing.old, landing.new) != 0;
    if (moves)
        rc = copy_commit(&landing, err);
    if (rc == 0 && moves)
        rc = place(&landing, err);
    if (rc == 0 && result.files == NULL)
        rc = remember(repo, err);
    if (rc == 0) {
        result.onto = mem_dup(landing.onto);
        memcpy(result.oid, landing.new, sizeof result.oid);
        result.checked_out = landing.tree != NULL;
        *ret = result;
        result = (struct land_result)LAND_RESULT_INIT;
    }
    landing_free(&landing);
    return rc;
}

/* ---- after a kill */

/* Removes the lock that a killed git left in a work tree's repository. */
static void drop_index_lock(const char *tree)
{
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *dir = NULL;
    struct err ignored = ERR_INIT;

    if (cwd == -1 || find_git_dir(cwd, &dir, &ignored) == -1)
        return;
    _cleanup_free_ char *lock = mem_printf("%s/index.lock", dir);
    (void)unlink(lock);
}

/* What a landing that was killed has left. */
struct leftover {
    const struct repo *repo;
    char *tree;
    char *dir; /* the repository of the work tree */
    char old[GIT_OID_TEXT], new[GIT_OID_TEXT];
    int cwd;
};

static void leftover_free(struct leftover *leftover)
{
    free(leftover->tree);
    free(leftover->dir);
    fd_closep(&leftover->cwd);
}

/* Lists the paths that differ: output of git with a NUL behind each. */
static int list_paths(const struct git *git, const char *const *args, char ***ret, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    for (const char *path = text; path < text + result.out.len; path += strlen(path) + 1)
        strv_push(ret, path);
    proc_result_free(&result);
    return 0;
}

static bool has_path(char *const *list, const char *path)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(*list, path) == 0)
            return true;
    return false;
}

/* Lists the files of the work tree that are not as in `commit`, with an index of our own. */
static int list_changed(const struct leftover *leftover, const char *commit, char ***ret,
                        struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/" JOURNAL ".index", leftover->repo->git);
    struct git git = on_tree(leftover->tree, leftover->cwd, leftover->dir);

    git.index = index;
    int rc =
        git_must(&git, GIT_ARGS("read-tree", "--reset", commit), NULL, NULL, err) == -1
            ? -1
            : list_paths(&git,
                         GIT_ARGS("diff-files", "--name-only", "-z", "--ignore-submodules=dirty"),
                         ret, err);
    (void)unlink(index);
    return rc;
}

/* Returns true if the index is that of the commit, or if there is none. */
static int index_is(const struct leftover *leftover, const char *commit, bool *ret, struct err *err)
{
    const struct git git = on_tree(leftover->tree, leftover->cwd, leftover->dir);
    struct proc_result result = PROC_RESULT_INIT;

    if (git_run(&git, GIT_ARGS("diff-index", "--cached", "--quiet", commit), NULL, &result, err) ==
        -1)
        return -1;
    *ret = result.status == 0;
    proc_result_free(&result);
    return 0;
}

/* Fails if a file that landing changes is neither as before nor as after it, or if something was
 * staged since. */
static int check_leftover(const struct leftover *leftover, char *const *changes,
                          char *const *not_old, char *const *not_new, struct err *err)
{
    bool is_old = false;
    bool is_new = false;

    for (char *const *path = changes; path != NULL && *path != NULL; path++)
        if (has_path(not_old, *path) && has_path(not_new, *path))
            return err_set(err, MAS_CONFLICT,
                           "cannot finish landing in '%s': '%s' was changed meanwhile",
                           leftover->tree, *path);
    if (index_is(leftover, leftover->old, &is_old, err) == -1 ||
        index_is(leftover, leftover->new, &is_new, err) == -1)
        return -1;
    return is_old || is_new ? 0
                            : err_set(err, MAS_CONFLICT,
                                      "cannot finish landing in '%s': something was staged there "
                                      "meanwhile",
                                      leftover->tree);
}

/* Brings the files that lag to the new commit. */
static int update_files(const struct leftover *leftover, char *const *changes, char *const *not_new,
                        struct err *err)
{
    const struct git git = on_tree(leftover->tree, leftover->cwd, leftover->dir);
    _cleanup_str_ struct str paths = STR_INIT;
    _cleanup_strv_ char **gone = NULL;

    if (git_must(&git, GIT_ARGS("read-tree", "--reset", leftover->new), NULL, NULL, err) == -1 ||
        list_paths(&git,
                   GIT_ARGS("diff-tree", "-r", "-z", "--name-only", "--diff-filter=D",
                            leftover->old, leftover->new),
                   &gone, err) == -1)
        return -1;
    for (char *const *path = changes; path != NULL && *path != NULL; path++) {
        if (!has_path(not_new, *path) || has_path(gone, *path))
            continue;
        str_addn(&paths, *path, strlen(*path) + 1);
    }
    if (git_must(&git, GIT_ARGS("checkout-index", "--force", "-z", "--stdin"),
                 &(struct git_input){str_text(&paths), paths.len}, NULL, err) == -1)
        return -1;
    for (char *const *path = gone; path != NULL && *path != NULL; path++)
        (void)unlinkat(leftover->cwd, *path, 0);
    struct proc_result result = PROC_RESULT_INIT;
    int rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &result, err);
    proc_result_free(&result);
    return rc;
}

static int finish_tree(const struct leftover *leftover, struct err *err)
{
    _cleanup_strv_ char **changes = NULL;
    _cleanup_strv_ char **not_old = NULL;
    _cleanup_strv_ char **not_new = NULL;
    const struct git git = on_tree(leftover->tree, leftover->cwd, leftover->dir);

    return list_paths(
               &git, GIT_ARGS("diff-tree", "-r", "-z", "--name-only", leftover->old, leftover->new),
               &changes, err) == -1 ||
                   list_changed(leftover, leftover->old, &not_old, err) == -1 ||
                   list_changed(leftover, leftover->new, &not_new, err) == -1 ||
                   check_leftover(leftover, changes, not_old, not_new, err) == -1 ||
                   update_files(leftover, changes, not_new, err) == -1
               ? -1
               : 0;
}

static int read_journal(const struct repo *repo, struct json **ret, struct err *err)
{
    _cleanup_close_ int dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    *ret = NULL;
    if (dir == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    if (file_read(dir, JOURNAL, JOURNAL_MAX, &text, &len, &why) == -1) {
        if (why.number == ENOENT)
            return 0;
        *err = why;
        return -1;
    }
    return json_parse(text, len, JOURNAL_MAX, ret, err);
}

int land_finish(const struct repo *repo, bool *ret, struct err *err)
{
    _cleanup_json_ struct json *journal = NULL;
    _cleanup_free_ char *now = NULL;
    struct leftover leftover = {.repo = repo, .cwd = -1};
    int rc = 0;

    *ret = false;
    if (read_journal(repo, &journal, err) == -1)
        return -1;
    if (journal == NULL)
        return 0;
    const char *tree = json_get_text(journal, "tree");
    const char *onto = json_get_text(journal, "onto");
    const char *old = json_get_text(journal, "old");
    const char *new = json_get_text(journal, "new");
    if (tree == NULL || onto == NULL || !str_starts(onto, "refs/heads/") || old == NULL ||
        new == NULL || !git_parse_oid(old, leftover.old) || !git_parse_oid(new, leftover.new))
        return err_set(err, MAS_DAMAGED, "cannot read '%s/" JOURNAL "'", repo->git);
    leftover.tree = mem_dup(tree);
    leftover.cwd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (leftover.cwd == -1)
        rc = err_errno(err, "cannot open '%s'", tree);
    if (rc == 0)
        rc = find_git_dir(leftover.cwd, &leftover.dir, err);
    if (rc == 0) {
        const struct git git = {.dir = leftover.dir};
        rc = git_text(&git, GIT_ARGS("rev-parse", "--verify", onto), &now, err);
    }
    if (rc == 0 && strcmp(now, leftover.new) == 0) {
        drop_index_lock(tree);
        rc = finish_tree(&leftover, err);
        *ret = rc == 0;
    }
    if (rc == 0)
        rc = drop_journal(repo, err);
    leftover_free(&leftover);
    return rc;
}
