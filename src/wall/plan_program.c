/*
 * The part of wall/plan.h for programs: a program that is not of the system is there with its
 * interpreter and what it is installed with, to read.
 */
#include "base/env.h"
#include "base/file.h"
#include "base/path.h"
#include "wall/plan_internal.h"

enum { LINKS_MAX = 16, INTERPRETERS_MAX = 4, DEPTH_MAX = 3 };

static bool exists(const char *dir, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

void plan_add_path(struct wall_plan *plan, const char *path)
{
    if (wall_plan_has(plan, path))
        return;
    int fd = plan_open(plan, path, O_PATH);
    if (fd != -1)
        wall_plan_mount(plan, WALL_MOUNT_READ, path, NULL, fd);
}

static void add_in(struct wall_plan *plan, const char *dir, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    plan_add_path(plan, path);
}

/* Returns the directory of a path, `up` levels up; NULL: it has not so many. The caller frees
 * it. */
static char *above(const char *path, int up)
{
    char *dir = mem_dup(path);

    for (; up > 0; up--) {
        char *slash = strrchr(dir, '/');
        if (slash == NULL || slash == dir) {
            free(dir);
            return NULL;
        }
        *slash = '\0';
    }
    return dir;
}

/* Adds what a program is installed with, if that is known: packages of node, node itself, a virtual
 * environment of Python, Python itself. */
static void add_installation(struct wall_plan *plan, const char *path)
{
    static const char modules[] = "/node_modules/";
    const char *at = strstr(path, modules);

    if (at != NULL) {
        _cleanup_free_ char *dir = mem_dupn(path, (size_t)(at - path) + sizeof modules - 2);
        plan_add_path(plan, dir);
    }
    _cleanup_free_ char *bin = above(path, 1);
    _cleanup_free_ char *prefix = above(path, 2);
    const char *name = bin != NULL ? strrchr(bin, '/') : NULL;
    if (prefix == NULL || name == NULL)
        return;
    /* a manager of versions, such as pyenv, asdf, mise or volta, with all that it has installed */
    if (strcmp(name, "/shims") == 0 || (strcmp(name, "/bin") == 0 && str_ends(prefix, "/.volta")))
        plan_add_path(plan, prefix);
    if (strcmp(name, "/bin") != 0)
        return;
    if (exists(prefix, "pyvenv.cfg"))
        plan_add_path(plan, prefix);
    if (exists(prefix, "bin/node")) {
        static const char *const parts[] = {"bin", "lib/node_modules", "include/node"};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
            add_in(plan, prefix, parts[i]);
    }
    if (str_starts(strrchr(path, '/'), "/python3")) {
        _cleanup_free_ char *lib = mem_printf("lib/%s", strrchr(path, '/') + 1);
        if (exists(prefix, lib)) {
            add_in(plan, prefix, "bin");
            add_in(plan, prefix, "lib");
        }
    }
}

/* Reads the words of the first line of a script. The caller releases them. */
static char **read_interpreter(struct wall_plan *plan, const char *path)
{
    _cleanup_close_ int fd = plan_open(plan, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    return fd != -1 ? path_read_interpreter(fd) : NULL;
}

/* Returns the program of a script's first line; NULL: none. The caller frees it. */
static char *find_interpreter(struct wall_plan *plan, const char *path, char *const *env)
{
    _cleanup_strv_ char **words = read_interpreter(plan, path);

    if (words == NULL || words[0] == NULL || words[0][0] != '/')
        return NULL;
    if (!str_ends(words[0], "/env"))
        return mem_dup(words[0]);
    for (char **word = words + 1; *word != NULL; word++)
        if ((*word)[0] != '-' && strchr(*word, '=') == NULL)
            return path_find_program(*word, env_get(env, "PATH"), AT_FDCWD);
    return NULL;
}

/* Adds a path and, as long as it is a link, what it leads to. Links in directories above it are
 * resolved: inside, the path leads to the same file. */
static char *add_links(struct wall_plan *plan, const char *path)
{
    char target[PATH_MAX];
    char *at = mem_dup(path);

    for (int i = 0; i < LINKS_MAX && !plan_is_written(plan, at); i++) {
        ssize_t len = readlink(at, target, sizeof target - 1);
        if (len <= 0)
            break;
        target[len] = '\0';
        if (!wall_plan_has(plan, at))
            wall_plan_mount(plan, WALL_MOUNT_LINK, at, target, -1);
        _cleanup_free_ char *dir = above(at, 1);
        free(at);
        at = target[0] == '/' ? mem_dup(target)
                              : mem_printf("%s/%s", dir != NULL ? dir : "", target);
    }
    plan_add_path(plan, at);
    free(at);
    return plan_canonical(plan, path);
}

static void add_program(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *program, bool is_approved, int depth)
{
    _cleanup_free_ char *at = program != NULL ? mem_dup(program) : NULL;

    for (int i = 0; at != NULL && at[0] == '/' && i < INTERPRETERS_MAX; i++) {
        if (!(is_approved && i == 0) && plan_is_written(plan, at)) {
            plan_add_path(plan, at); /* and nothing that it names */
            break;
        }
        _cleanup_free_ char *real = add_links(plan, at);
        add_installation(plan, at);
        char *next = find_interpreter(plan, at, subject->env);
        if (real != NULL) {
            add_installation(plan, real);
            if (!is_approved && (next != NULL || plan_is_script(real)))
                plan_add_package(plan, subject, real);
            plan_add_path(plan, real);
        }
        bool is_shell = next != NULL ? plan_is_shell(next) : str_ends(at, ".sh");
        if (is_shell && depth < DEPTH_MAX && !is_approved)
            plan_add_wrapped(plan, subject, at, depth + 1);
        free(at);
        at = next;
    }
}

void plan_add_program(struct wall_plan *plan, const struct wall_subject *subject,
                      const char *program, bool is_approved)
{
    add_program(plan, subject, program, is_approved, 0);
}

void plan_add_program_at(struct wall_plan *plan, const struct wall_subject *subject,
                         const char *program, int depth)
{
    add_program(plan, subject, program, false, depth);
}

void plan_add_word(struct wall_plan *plan, const struct wall_subject *subject, const char *word,
                   int depth)
{
    _cleanup_close_ int fd = plan_open(plan, word, O_PATH);
    _cleanup_strv_ char **first = NULL;
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return;
    if (!plan_is_script(word))
        first = read_interpreter(plan, word);
    if (first != NULL || plan_is_script(word))
        add_program(plan, subject, word, false, depth);
    else if (!wall_plan_has(plan, word))
        wall_plan_mount(plan, WALL_MOUNT_READ, word, NULL, TAKE_FD(fd));
}
