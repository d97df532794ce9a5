#include "code/project.h"

#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void project_free(struct project *project)
{
    free(project->path);
    free(project->dir);
    free(project->top);
    free(project->onto);
    free(project->base);
    free(project->format);
    free(project->user_name);
    free(project->user_email);
    *project = (struct project)PROJECT_INIT;
}

/* Splits DIR@REF at the last '@' unless the whole is a directory. *ret_ref is NULL without a REF.
 */
static int find_dir(const char *spec, char **ret_dir, char **ret_ref, struct err *err)
{
    const char *at = strrchr(spec, '@');
    struct stat st;
    bool whole = stat(spec, &st) == 0;
    _cleanup_free_ char *dir =
        whole || at == NULL ? mem_dup(spec) : mem_dupn(spec, (size_t)(at - spec));

    if (!whole && stat(dir, &st) == -1)
        return err_errno(err, "cannot use project '%s'", dir);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, MAS_USAGE, "cannot use project '%s': it is not a directory", dir);
    *ret_dir = path_canonical(dir);
    if (*ret_dir == NULL)
        return err_errno(err, "cannot use project '%s'", dir);
    *ret_ref = whole || at == NULL ? NULL : mem_dup(at + 1);
    return 0;
}

/* Returns true for a repository without a work tree. git may be told not to find those by itself.
 */
static bool is_bare(const char *path)
{
    _cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return dir != -1 && faccessat(dir, ".git", F_OK, 0) == -1 &&
           faccessat(dir, "HEAD", F_OK, 0) == 0 && faccessat(dir, "objects", F_OK, 0) == 0 &&
           faccessat(dir, "refs", F_OK, 0) == 0;
}

static int check_owner(const struct project *project, struct err *err)
{
    const char *paths[] = {project->path, project->dir};
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (stat(paths[i], &st) == -1)
            return err_errno(err, "cannot use project '%s'", paths[i]);
        if (st.st_uid == geteuid())
            continue;
        return err_set(err, MAS_USAGE,
                       "cannot use project '%s': '%s' belongs to another user (uid %u)",
                       project->path, paths[i], (unsigned)st.st_uid);
    }
    return 0;
}

/* Finds the repository and what kind it is. */
static int find_repository(struct project *project, int cwd, bool bare, struct err *err)
{
    const struct git git = {.cwd = cwd, .dir = bare ? project->path : NULL};
    _cleanup_free_ char *kind = NULL;

    if (git_text(&git, GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
                 &project->dir, err) == -1) {
        err->code = MAS_USAGE;
        (void)err_wrap(err, "cannot use project '%s'", project->path);
        return err_hint(err, "make it a repository with: git init");
    }
    if (!bare && git_text(&git, GIT_ARGS("rev-parse", "--show-toplevel"), &project->top, err) == -1)
        return err_wrap(err, "cannot use project '%s'", project->path);
    if (git_text(&git, GIT_ARGS("rev-parse", "--is-shallow-repository", "--show-object-format"),
                 &kind, err) == -1)
        return err_wrap(err, "cannot use project '%s'", project->path);
    project->shallow = str_starts(kind, "true");
    project->format = mem_dup(kind + strcspn(kind, "\n") + 1);
    return 0;
}

/* Reads a setting of the project, or of its user. */
static int read_setting(const struct git *git, const char *key, const char *missing, char **ret,
                        struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_run(git, GIT_ARGS("config", "--get", key), NULL, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    bool is_set = result.status == 0 && text[0] != '\n';
    *ret = is_set ? mem_dupn(text, strcspn(text, "\n")) : mem_dup(missing);
    proc_result_free(&result);
    return 0;
}

static int read_identity(struct project *project, int cwd, struct err *err)
{
    const struct git git = {.cwd = cwd, .settings = GIT_ARGS("safe.bareRepository=all")};

    return read_setting(&git, "user.name", "mas", &project->user_name, err) == -1 ||
                   read_setting(&git, "user.email", "mas@localhost", &project->user_email, err) ==
                       -1
               ? -1
               : 0;
}

static int refuse_ref(const struct project *project, const char *ref, const char *why,
                      struct err *err)
{
    return err_set(err, MAS_USAGE, "cannot use '%s' of project '%s': %s", ref, project->path, why);
}

/* Finds the commit to begin with and the branch to land on. */
static int find_base(struct project *project, const char *ref, struct err *err)
{
    const struct git git = {.dir = project->dir};
    const char *name = ref != NULL ? ref : "HEAD";
    struct err why = ERR_INIT;

    if (ref != NULL && !git_is_branch(ref))
        return refuse_ref(project, ref, "it is not a name of a branch, a tag or a commit", err);
    if (str_starts(name, "refs/mas/"))
        return refuse_ref(project, ref, "refs/mas/ belongs to mas", err);
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", name);
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", commit),
                 &project->base, &why) == -1 ||
        !git_is_oid(project->base))
        return ref == NULL
                   ? err_set(err, MAS_USAGE, "cannot use project '%s': it has no commit yet",
                             project->path)
                   : refuse_ref(project, ref, "there is no such branch, tag or commit", err);
    if (git_text(&git, GIT_ARGS("rev-parse", "--symbolic-full-name", name), &project->onto, &why) ==
            -1 ||
        !str_starts(project->onto, "refs/heads/")) {
        free(project->onto);
        project->onto = mem_dup("");
    }
    return 0;
}

static int check_whole(const struct project *project, struct err *err)
{
    const struct git git = {.dir = project->dir};
    struct proc_result result = PROC_RESULT_INIT;
    int rc = git_run(&git, GIT_ARGS("config", "--get-regexp", "^remote\\..*\\.promisor$"), NULL,
                     &result, err);
    bool partial = rc == 0 && result.status == 0 && result.out.len > 0;

    proc_result_free(&result);
    if (rc == -1 || !partial)
        return rc;
    (void)err_set(err, MAS_USAGE,
                  "cannot use project '%s': it is a partial clone, which lacks objects",
                  project->path);
    return err_hint(err, "make it whole with: git -C %s fetch --refetch --no-filter",
                    project->path);
}

int project_open(const char *spec, struct project *ret, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_free_ char *ref = NULL;

    if (git_check(err) == -1 || find_dir(spec, &project.path, &ref, err) == -1)
        return -1;
    _cleanup_close_ int cwd = open(project.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cwd == -1)
        return err_errno(err, "cannot use project '%s'", project.path);
    if (find_repository(&project, cwd, is_bare(project.path), err) == -1 ||
        check_owner(&project, err) == -1 || check_whole(&project, err) == -1 ||
        find_base(&project, ref, err) == -1 || read_identity(&project, cwd, err) == -1)
        return -1;
    *ret = project;
    project = (struct project)PROJECT_INIT;
    return 0;
}
