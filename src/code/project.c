/*
 * The project is a person's, but what is at its path may have been made to harm whoever opens it: a
 * repository of another user, the inside of a repository, and a work tree that a configuration has
 * moved elsewhere are refused, as is a clone that lacks objects. Then it finds where to begin: a
 * branch comes before a tag or a commit of the same name.
 */

#include "code/project.h"

#include "os/path.h"

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

/* A person elsewhere may have meant a path there: the shell makes `~/shop` absolute. Returns -1. */
static int hint_place(struct err *err)
{
    const char *here = getenv(ERR_REACHED_AS);

    return here == NULL
               ? -1
               : err_hint(err,
                          "an absolute path is one on host '%s'; name a repository of yours "
                          "by a relative path, such as .",
                          here);
}

/* Splits DIR@REF: DIR is the longest part before an '@', or the whole, that exists. *ret_ref is
 * NULL without a REF. */
static int find_dir(const char *spec, char **ret_dir, char **ret_ref, struct err *err)
{
    _cleanup_free_ char *dir = mem_dup(spec);
    size_t len = strlen(spec);
    struct stat st;
    int found = stat(dir, &st);

    while (found == -1 && len > 0)
        if (spec[--len] == '@') {
            dir[len] = '\0';
            found = stat(dir, &st);
        }
    if (found == -1) {
        free(dir);
        const char *at = strrchr(spec, '@');
        dir = at == NULL ? mem_dup(spec) : mem_dupn(spec, (size_t)(at - spec));
        errno = stat(dir, &st) == -1 ? errno : ENOENT;
        (void)err_errno(err, "cannot use project '%s'", dir);
        err->code = MAS_USAGE;
        return hint_place(err);
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(err, MAS_USAGE, "cannot use project '%s': it is not a directory", dir);
    *ret_dir = path_canonical(dir);
    if (*ret_dir == NULL)
        return err_errno(err, "cannot use project '%s'", dir);
    *ret_ref = dir[strlen(dir)] == spec[strlen(dir)] ? NULL : mem_dup(spec + strlen(dir) + 1);
    return 0;
}

/* Returns true for the inside of a repository. git may be told not to find those by itself.
 */
static bool is_inside(const char *path)
{
    _cleanup_close_ int dir = open(path, PATH_PLACE | O_CLOEXEC);

    return dir != -1 && faccessat(dir, ".git", F_OK, 0) == -1 &&
           faccessat(dir, "HEAD", F_OK, 0) == 0 && faccessat(dir, "objects", F_OK, 0) == 0 &&
           faccessat(dir, "refs", F_OK, 0) == 0;
}

/* Refuses what belongs to another user, as git does unless safe.directory names it. */
static int check_owner(const char *path, struct err *err)
{
    struct stat st;

    if (stat(path, &st) == -1)
        return err_errno(err, "cannot use project '%s'", path);
    if (st.st_uid == geteuid())
        return 0;
    (void)err_set(err, MAS_USAGE,
                  "cannot use project '%s': it belongs to another user (uid %u), and mas does not "
                  "read git's safe.directory",
                  path, (unsigned)st.st_uid);
    return err_hint(err, "use a clone of your own: git clone DIR");
}

/* Refuses a work tree that the configuration moved elsewhere, and the repository inside one. */
static int check_tree(const struct project *project, const struct git *git, struct err *err)
{
    _cleanup_free_ char *top = project->top != NULL ? path_canonical(project->top) : NULL;
    _cleanup_result_ struct proc_result bare = PROC_RESULT_INIT;
    size_t len = top != NULL ? strlen(top) : 0;

    if (project->top != NULL) {
        if (top != NULL && strncmp(project->path, top, len) == 0 &&
            (project->path[len] == '/' || project->path[len] == '\0' || len == 1))
            return check_owner(top, err);
        return err_set(err, MAS_USAGE, "cannot use project '%s': its work tree is '%s'",
                       project->path, project->top);
    }
    if (git_run(git, GIT_ARGS("config", "--type=bool", "--get", "core.bare"), NULL, &bare, err) ==
        -1)
        return -1;
    bool is_bare = strcmp(str_text(&bare.out), "true\n") == 0;
    return is_bare ? 0
                   : err_set(err, MAS_USAGE,
                             "cannot use project '%s': it is the inside of a repository that has a "
                             "work tree; name the work tree",
                             project->path);
}

/* Finds the repository and what kind it is. A path is asked for last, as it may have line breaks.
 */
static int find_repository(struct project *project, int cwd, bool bare, struct err *err)
{
    const struct git git = {.cwd = cwd, .dir = bare ? project->path : NULL};
    _cleanup_free_ char *text = NULL;
    char *lines[3];

    if (git_text(&git,
                 GIT_ARGS("rev-parse", "--is-shallow-repository", "--show-object-format",
                          "--path-format=absolute", "--git-common-dir"),
                 &text, err) == -1) {
        bool foreign = strstr(err->text, "dubious ownership") != NULL;
        err->code = MAS_USAGE;
        (void)err_wrap(err, "cannot use project '%s'", project->path);
        return foreign ? err_hint(err, "use a clone of your own: git clone DIR")
                       : err_hint(err, "make it a repository with: git init");
    }
    if (!str_fields(text, '\n', lines, ARRAY_LEN(lines)))
        return err_set(err, MAS_FAILED, "git rev-parse printed '%s'", text);
    project->shallow = strcmp(lines[0], "true") == 0;
    project->format = mem_dup(lines[1]);
    project->dir = mem_dup(lines[2]);
    if (check_owner(project->dir, err) == -1)
        return -1;
    if (!bare && git_text(&git, GIT_ARGS("rev-parse", "--show-toplevel"), &project->top, err) == -1)
        return err_wrap(err, "cannot use project '%s'", project->path);
    return check_tree(project, &git, err);
}

static int refuse_ref(const struct project *project, const char *ref, const char *why,
                      struct err *err)
{
    return err_set(err, MAS_USAGE, "cannot use '%s' of project '%s': %s", ref, project->path, why);
}

/* Finds the commit that `name` means, and the branch to land on. *ret_found tells whether there is
 * one. */
static int find_commit(struct project *project, const struct git *git, const char *name,
                       bool *ret_found, struct err *err)
{
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", name);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    char base[GIT_OID_TEXT];

    if (git_run(git, GIT_ARGS("rev-parse", "--revs-only", commit, "--symbolic-full-name", name),
                NULL, &result, err) == -1)
        return -1;
    _cleanup_free_ char *text = mem_dup(str_text(&result.out));
    char *full = text, *line = strsep(&full, "\n");
    *ret_found = result.status == 0 && full != NULL && git_parse_oid(line, base);
    if (!*ret_found)
        return 0;
    full[strcspn(full, "\n")] = '\0'; /* "" for a commit that is named by itself */
    if (str_starts(full, "refs/mas/"))
        return refuse_ref(project, name, "refs/mas/ belongs to mas", err);
    project->base = mem_dup(base);
    project->onto = mem_dup(str_starts(full, "refs/heads/") ? full : "");
    return 0;
}

/* Finds where to begin. A work tree has a HEAD of its own. A branch comes before a tag of the same
 * name, and before a commit whose name begins so. */
static int find_base(struct project *project, int cwd, const char *ref, struct err *err)
{
    const struct git here = {.cwd = cwd, .dir = project->top == NULL ? project->dir : NULL};
    const struct git git = {.dir = project->dir};
    bool found = false;

    if (ref == NULL) {
        if (find_commit(project, &here, "HEAD", &found, err) == -1)
            return -1;
        if (found)
            return 0;
        (void)err_set(err, MAS_USAGE, "cannot use project '%s': it has no commit yet",
                      project->path);
        return err_hint(err, "make one with: git commit");
    }
    if (!git_is_branch(ref))
        return refuse_ref(project, ref, "it is not a name of a branch, a tag or a commit", err);
    _cleanup_free_ char *branch = mem_printf("refs/heads/%s", ref);
    if (find_commit(project, &git, branch, &found, err) == -1 ||
        (!found && find_commit(project, &git, ref, &found, err) == -1))
        return -1;
    return found ? 0 : refuse_ref(project, ref, "there is no such branch, tag or commit", err);
}

static int check_whole(const struct project *project, struct err *err)
{
    const struct git git = {.dir = project->dir};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_run(&git, GIT_ARGS("config", "--get-regexp", "^remote\\..*\\.promisor$"), NULL,
                     &result, err);
    bool partial = rc == 0 && result.status == 0 && result.out.len > 0;

    if (rc == -1 || !partial)
        return rc;
    (void)err_set(err, MAS_USAGE,
                  "cannot use project '%s': it is a partial clone, which lacks objects",
                  project->path);
    return err_hint(err, "use a whole clone: git clone without --filter");
}

int project_open(const char *spec, struct project *ret, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_free_ char *ref = NULL;

    if (git_check(err) == -1 || find_dir(spec, &project.path, &ref, err) == -1)
        return -1;
    _cleanup_close_ int cwd = open(project.path, PATH_PLACE | O_CLOEXEC);
    if (cwd == -1)
        return err_errno(err, "cannot use project '%s'", project.path);
    if (check_owner(project.path, err) == -1 ||
        find_repository(&project, cwd, is_inside(project.path), err) == -1 ||
        check_whole(&project, err) == -1 || find_base(&project, cwd, ref, err) == -1)
        return -1;
    *ret = project;
    project = (struct project)PROJECT_INIT;
    return 0;
}

/* Splits "NAME <EMAIL> TIME ZONE". */
static bool parse_identity(const char *text, struct project *project)
{
    const char *open = strrchr(text, '<');
    const char *close = strrchr(text, '>');

    if (open == NULL || close == NULL || close < open || open - text < 2)
        return false;
    project->user_name = mem_dupn(text, (size_t)(open - text) - 1);
    project->user_email = mem_dupn(open + 1, (size_t)(close - open) - 1);
    return true;
}

int project_find_person(struct project *project, struct err *err)
{
    _cleanup_close_ int cwd = open(project->path, PATH_PLACE | O_CLOEXEC);
    const struct git git = {
        .cwd = cwd, .person = true, .settings = GIT_ARGS("safe.bareRepository=all")};
    _cleanup_free_ char *text = NULL;

    if (cwd == -1)
        return err_errno(err, "cannot use project '%s'", project->path);
    if (git_text(&git, GIT_ARGS("var", "GIT_AUTHOR_IDENT"), &text, err) == 0 &&
        parse_identity(text, project))
        return 0;
    (void)err_set(err, MAS_USAGE,
                  "cannot use project '%s': git does not know in whose name to commit",
                  project->path);
    return err_hint(err, "tell it with: git config --global user.name 'YOUR NAME' && git config "
                         "--global user.email 'YOU@EXAMPLE.ORG'");
}

int project_check_lfs(struct project *project, struct err *err)
{
    const struct git git = {.dir = project->dir, .magic = true};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_run(&git,
                GIT_ARGS("grep", "-l", "-z", "-E", "-e", "^[^#].*filter=lfs", project->base, "--",
                         ":(glob)**/.gitattributes"),
                NULL, &result, err) == -1)
        return -1;
    const char *colon = strchr(str_text(&result.out), ':');
    _cleanup_free_ char *file = mem_dup(colon != NULL ? colon + 1 : "");
    _cleanup_free_ char *program = path_find_program("git-lfs", getenv("PATH"), -1);
    project->lfs = result.status == 0;
    if (!project->lfs || program != NULL)
        return 0;
    (void)err_set(err, MAS_USAGE,
                  "cannot use project '%s': it keeps files with git-lfs (%s), and there is no "
                  "'git-lfs' in PATH",
                  project->path, file);
    return err_hint(err, "install it, for example: apt-get install git-lfs");
}

static int hint_moved(struct err *err)
{
    return err_hint(err, "say where it is now with: mas set SESSION project=DIR");
}

int project_reopen(const char *dir, struct project *ret, struct err *err)
{
    if (access(dir, F_OK) == -1 && (errno == ENOENT || errno == ENOTDIR)) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot find project '%s': it was moved or removed", dir);
        return hint_moved(err);
    }
    return project_open(dir, ret, err) == -1 ? hint_moved(err) : 0;
}

static bool has_commit(const struct git *git, const char *oid)
{
    _cleanup_free_ char *commit = mem_printf("%s^{commit}", oid);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    bool found = git_run(git, GIT_ARGS("cat-file", "-e", commit), NULL, &result, &ignored) == 0 &&
                 result.status == 0;

    return found;
}

enum project_kind project_look(const struct git *own, const char *path, const char *base)
{
    _cleanup_close_ int cwd = open(path, PATH_PLACE | O_CLOEXEC);
    const struct git there = {.cwd = cwd, .dir = is_inside(path) ? path : NULL};
    _cleanup_free_ char *roots = NULL;
    struct err ignored = ERR_INIT;

    if (cwd == -1)
        return errno == ENOENT || errno == ENOTDIR ? PROJECT_GONE : PROJECT_OTHER;
    if (own == NULL)
        return PROJECT_UNKNOWN;
    if (has_commit(&there, base))
        return PROJECT_SAME;
    /* a person may have rewritten the history, but not from its beginning */
    if (git_text(own, GIT_ARGS("rev-list", "--max-parents=0", base), &roots, &ignored) == -1)
        return PROJECT_SAME; /* code.git is damaged: nobody can tell */
    for (char *rest = roots, *root; (root = strsep(&rest, "\n")) != NULL;)
        if (git_is_oid(root) && has_commit(&there, root))
            return PROJECT_SAME;
    return PROJECT_OTHER;
}

int project_reopen_same(const struct git *own, const char *path, const char *base,
                        struct project *ret, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;

    if (project_reopen(path, &project, err) == -1)
        return -1;
    if (project_look(own, project.path, base) == PROJECT_OTHER) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot use project '%s': it is another repository than the one that the "
                      "session began with",
                      path);
        return hint_moved(err);
    }
    *ret = project;
    project = (struct project)PROJECT_INIT;
    return 0;
}

void project_find_submodule(const char *top, const char *path, char **ret)
{
    _cleanup_close_ int dir = top != NULL ? open(top, PATH_PLACE | O_CLOEXEC) : -1;
    _cleanup_close_ int cwd = dir != -1 ? path_open_beneath(dir, path, O_RDONLY | O_DIRECTORY) : -1;
    const struct git there = {.cwd = cwd};
    struct err ignored = ERR_INIT;

    /* without it, git would find the project around it, or a repository that the project has as
     * files */
    if (cwd != -1 && faccessat(cwd, ".git", F_OK, 0) == 0)
        (void)git_text(&there, GIT_ARGS("rev-parse", "--path-format=absolute", "--git-common-dir"),
                       ret, &ignored);
}
