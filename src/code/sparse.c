/*
 * Most projects are not sparse, so a look for the file of patterns comes before any call of git.
 * sparse_mark() has git merge the commit into the index over an empty directory, code.git/empty:
 * git brings no file back that is missing, so all that it does there is to set the marks.
 */

#include "code/sparse.h"

#include "os/file.h"
#include "os/path.h"

#define INFO "info"
#define PATTERNS "sparse-checkout" /* in info/ of a repository */
#define EMPTY "empty" /* in code.git: a work tree without a file */

bool sparse_is_used(const char *git_dir)
{
    _cleanup_free_ char *path = mem_printf("%s/" INFO "/" PATTERNS, git_dir);

    return access(path, F_OK) == 0;
}

/* Reads a boolean setting of the checkout; false if it is not set. */
static int read_bool(const struct git *git, const char *key, bool *ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_run(git, GIT_ARGS("config", "--type=bool", "--get", key), NULL, &result, err) == -1)
        return -1;
    *ret = strcmp(str_text(&result.out), "true\n") == 0;
    return 0;
}

static int refuse(const struct project *project, const char *why, struct err *err)
{
    return err_set(err, MAS_USAGE,
                   "cannot use project '%s': its patterns of a sparse checkout cannot be read: %s",
                   project->path, why);
}

/* Returns true if the checkout, one that is not linked, has no patterns. This spares the question
 * for its settings. */
static bool has_none(const struct project *project)
{
    _cleanup_free_ char *path = mem_printf("%s/.git/" INFO "/" PATTERNS, project->top);
    struct stat st;

    return lstat(path, &st) == -1 && errno == ENOENT;
}

/* Reads the patterns of the project's checkout. *ret stays NULL if it has all files. */
static int read_patterns(const struct project *project, const struct git *git, char **ret,
                         size_t *ret_len, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    struct err why = ERR_INIT;
    bool is_sparse = false;

    if (read_bool(git, "core.sparseCheckout", &is_sparse, err) == -1)
        return -1;
    if (!is_sparse)
        return 0;
    if (git_text(git,
                 GIT_ARGS("rev-parse", "--path-format=absolute", "--git-path", INFO "/" PATTERNS),
                 &path, err) == -1)
        return -1;
    char *name = strrchr(path, '/');
    if (name == NULL)
        return refuse(project, path, err);
    *name++ = '\0';
    _cleanup_close_ int dir = open(path, PATH_PLACE | O_CLOEXEC);
    if (dir == -1) /* git takes this for all files */
        return errno == ENOENT ? 0 : refuse(project, strerror(errno), err);
    if (file_read(dir, name, SPARSE_PATTERNS_MAX, ret, ret_len, &why) == 0 || why.number == ENOENT)
        return 0;
    return refuse(project, why.text, err);
}

/* Creates info/sparse-checkout in the repository that is open at `to`. */
static int write_patterns(int to, const char *text, size_t len, struct err *err)
{
    if (mkdirat(to, INFO, 0755) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '" INFO "'");
    _cleanup_close_ int info = path_open_dir(to, INFO);
    return info == -1 ? err_errno(err, "cannot open '" INFO "'")
                      : file_create(info, PATTERNS, text, len, 0644, err);
}

int sparse_inherit(const char *code_git, const struct project *project, struct err *err)
{
    _cleanup_close_ int cwd =
        project->top != NULL ? open(project->top, PATH_PLACE | O_CLOEXEC) : -1;
    _cleanup_close_ int to = open(code_git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    const struct git theirs = {.cwd = cwd};
    const struct git ours = {.dir = code_git};
    size_t len = 0;
    bool cone = false;

    if (project->top == NULL || has_none(project))
        return 0;
    if (cwd == -1 || to == -1)
        return err_errno(err, "cannot open '%s'", cwd == -1 ? project->top : code_git);
    if (read_patterns(project, &theirs, &text, &len, err) == -1)
        return -1;
    if (text == NULL)
        return 0;
    return read_bool(&theirs, "core.sparseCheckoutCone", &cone, err) == -1 ||
                   write_patterns(to, text, len, err) == -1 ||
                   git_must(&ours, GIT_ARGS("config", "core.sparseCheckout", "true"), NULL, NULL,
                            err) == -1 ||
                   git_must(&ours,
                            GIT_ARGS("config", "core.sparseCheckoutCone", cone ? "true" : "false"),
                            NULL, NULL, err) == -1
               ? -1
               : 0;
}

int sparse_copy(const char *code_git, int to, struct str *config, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" INFO, code_git);
    _cleanup_free_ char *text = NULL;
    const struct git git = {.dir = code_git};
    size_t len = 0;
    bool cone = false;

    if (!sparse_is_used(code_git))
        return 0;
    _cleanup_close_ int info = open(path, PATH_PLACE | O_CLOEXEC);
    if (info == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (file_read(info, PATTERNS, SPARSE_PATTERNS_MAX, &text, &len, err) == -1 ||
        write_patterns(to, text, len, err) == -1 ||
        (config != NULL && read_bool(&git, "core.sparseCheckoutCone", &cone, err) == -1))
        return -1;
    if (config != NULL)
        str_addf(config, "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = %s\n",
                 cone ? "true" : "false");
    return 0;
}

int sparse_mark(const struct git *git, const char *code_git, const char *commit, struct err *err)
{
    _cleanup_free_ char *empty = mem_printf("%s/" EMPTY, code_git);
    struct git nowhere = *git;

    if (!sparse_is_used(git->dir))
        return 0;
    if (mkdir(empty, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", empty);
    _cleanup_close_ int cwd = open(empty, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", empty);
    /* without --reset, git brings no file back that is missing, so all that it does is to mark */
    nowhere.tree = empty;
    nowhere.cwd = cwd;
    return git_must(&nowhere, GIT_ARGS("read-tree", "-m", "-u", commit), NULL, NULL, err);
}
