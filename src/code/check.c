/*
 * The tree is made anew for each check, in code.git/check, and removed after it; what a kill leaves
 * goes with the next check or merge_lock(). The command writes to the log, however much, and only
 * the end of that is read back. A check that fails or takes too long is a result; an error is one
 * that could not be run.
 */

#include "code/check.h"

#include "base/utf8.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define CHECK "check" /* in code.git */
#define CHECK_LOG "logs/check.log" /* in the workspace */

enum {
    OUTPUT_MAX = 16 << 10, /* bytes of the log that are read back */
    LINES_SHOWN = 10,
};

extern char **environ;

void check_result_free(struct check_result *result)
{
    free(result->why);
    free(result->output);
    *result = (struct check_result){.passed = false};
}

static int check_drop(const struct repo *repo, struct err *err)
{
    _cleanup_close_ int git = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return git == -1 ? err_errno(err, "cannot open '%s'", repo->git) : tree_remove(git, CHECK, err);
}

/* Checks out a commit in an empty scratch directory below code.git, which the caller removes with
 * check_drop(). The caller frees *ret_tree, its path. */
static int check_make_tree(const struct repo *repo, const char *commit, char **ret_tree,
                           struct err *err)
{
    _cleanup_close_ int dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *tree = mem_printf("%s/" CHECK "/tree", repo->git);
    _cleanup_free_ char *index = mem_printf("%s/" CHECK "/index", repo->git);

    if (check_drop(repo, err) == -1)
        return -1;
    _cleanup_close_ int top = dir == -1 ? -1 : path_make_dir(dir, CHECK, 0700);
    _cleanup_close_ int cwd = top == -1 ? -1 : path_make_dir(top, "tree", 0700);
    if (cwd == -1)
        return err_errno(err, "cannot make '" CODE_GIT "/" CHECK "'");
    const struct git git = {
        .dir = repo->git, .tree = tree, .index = index, .confined = true, .cwd = cwd};
    if (git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", commit), NULL, NULL, err) == -1)
        return err_wrap(err, "cannot check out %s", commit);
    *ret_tree = tree;
    tree = NULL;
    return 0;
}

/* Returns this process's environment with the places of the scratch tree. */
static char **make_env(const struct repo *repo, const char *tree)
{
    _cleanup_free_ char *dir = mem_printf("MAS_CODE_DIR=%s", tree);
    _cleanup_free_ char *branch =
        mem_printf("MAS_CODE_BRANCH=%s", repo->main + strlen("refs/heads/"));
    char **env = NULL;

    for (char **e = environ; *e != NULL; e++)
        if (!str_starts(*e, "MAS_CODE_"))
            strv_push(&env, *e);
    strv_push(&env, dir);
    strv_push(&env, branch);
    return env;
}

/* Returns the last lines of the log. The caller frees them. */
static char *read_tail(const struct repo *repo, int count)
{
    _cleanup_free_ char *path = mem_printf("%s/" CHECK_LOG, repo->workspace);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;
    size_t len = 0;

    if (fd == -1 || fstat(fd, &st) == -1)
        return mem_dup("");
    if (st.st_size > OUTPUT_MAX)
        (void)lseek(fd, st.st_size - OUTPUT_MAX, SEEK_SET);
    if (file_read_stream(fd, path, OUTPUT_MAX, &text, &len, &ignored) == -1)
        return mem_dup("");
    while (len > 0 && text[len - 1] == '\n')
        len--;
    size_t from = len;
    for (int lines = 0; from > 0; from--)
        if (text[from - 1] == '\n' && ++lines == (count > 0 ? count : LINES_SHOWN))
            break;
    while (from < len && utf8_is_inside(text[from]))
        from++;
    return mem_dupn(text + from, len - from);
}

/* Opens the log, which is empty then. */
static int open_log(const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" CHECK_LOG, repo->workspace);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);

    return fd != -1 ? fd : err_errno(err, "cannot write '%s'", path);
}

static int run(const struct repo *repo, const struct check *check, const char *tree,
               struct check_result *ret, struct err *err)
{
    _cleanup_strv_ char **words = NULL;
    _cleanup_strv_ char **env = make_env(repo, tree);
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int log = open_log(repo, err);
    int status = -1;

    if (log == -1 || str_split_words(check->command, &words, err) == -1)
        return -1;
    const struct check_program program = {.argv = words,
                                          .env = env,
                                          .tree = tree,
                                          .cwd = cwd,
                                          .log = log,
                                          .timeout_ms = check->timeout_ms};
    int rc = check->run(check->arg, &program, &status, err);
    if (rc == 0) {
        ret->passed = status == 0;
        if (!ret->passed)
            ret->why = mem_printf("it ended with exit code %d", status);
    } else if (err->code == MAS_TIMEOUT) {
        *err = (struct err)ERR_INIT;
        ret->why = mem_printf("it takes longer than %d s", check->timeout_ms / 1000);
        rc = 0;
    }
    ret->output = read_tail(repo, check->lines);
    return rc;
}

int check_run(const struct repo *repo, const struct check *check, const char *commit,
              struct check_result *ret, struct err *err)
{
    struct check_result result = {.passed = false};
    _cleanup_free_ char *tree = NULL;
    struct err ignored = ERR_INIT;

    int rc = check_make_tree(repo, commit, &tree, err);
    if (rc == 0)
        rc = run(repo, check, tree, &result, err);
    (void)check_drop(repo, &ignored);
    if (rc == 0)
        *ret = result;
    else
        check_result_free(&result);
    return rc;
}
