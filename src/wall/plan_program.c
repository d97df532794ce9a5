/*
 * The part of wall/plan.h for programs: a program that is not of the system is there with its
 * interpreter and what it is installed with, to read; a script with what is around it, and with
 * what a script of the shell runs in its own place.
 */
#include "base/env.h"
#include "os/file.h"
#include "os/path.h"
#include "wall/plan_internal.h"

enum {
    LINKS_MAX = 16,
    INTERPRETERS_MAX = 4,
    DEPTH_MAX = 3, /* of scripts that run scripts */
    LEVELS_MAX = 8, /* directories above a script that are looked at */
    SCRIPT_MAX = 64 << 10, /* bytes of a script of the shell that is read */
    PACKAGES_MAX = 64, /* that npx keeps */
};

/* Files that only the top directory of a package has. */
static const char *const markers[] = {"package.json", "pyproject.toml", "setup.py",  "setup.cfg",
                                      "deno.json",    "deno.jsonc",     "pyvenv.cfg"};
static const char *const scripts[] = {".js", ".mjs", ".cjs", ".ts", ".mts", ".cts",
                                      ".py", ".sh",  ".rb",  ".pl", ".pyz"};
static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};

static void add_program(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *program, bool is_approved, int depth);

static void add_path(struct wall_plan *plan, const char *path)
{
    if (wall_plan_has(plan, path))
        return;
    int fd = plan_open(plan, path, O_PATH);
    if (fd != -1)
        wall_plan_mount(plan, WALL_MOUNT_READ, path, NULL, fd);
}

static bool is_one_of(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_script(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        if (str_ends(path, scripts[i]))
            return true;
    return false;
}

static bool is_shell(const char *path)
{
    const char *slash = strrchr(path, '/');

    return is_one_of(shells, ARRAY_LEN(shells), slash != NULL ? slash + 1 : path);
}

/* ---- what is around a script */

static bool is_at_or_above(const char *dir, const char *path)
{
    size_t len = strlen(dir);

    return path != NULL && strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Returns true if a directory may be shown for the sake of a script: not one of the first level,
 * the home or a hidden directory in it, and none with the home or the root of mas in it. */
static bool may_show(const struct wall_plan *plan, const struct wall_subject *subject,
                     const char *dir)
{
    const char *home = plan->user_home != NULL ? plan->user_home : plan->home;
    size_t len = home != NULL ? strlen(home) : 0;

    if (strchr(dir + 1, '/') == NULL || is_at_or_above(dir, home) ||
        is_at_or_above(dir, subject->root->path))
        return false;
    bool is_hidden = home != NULL && is_at_or_above(home, dir) && dir[len + 1] == '.' &&
                     strchr(dir + len + 1, '/') == NULL;
    return !is_hidden;
}

static bool has_marker(const char *dir)
{
    for (size_t i = 0; i < ARRAY_LEN(markers); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", dir, markers[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash != NULL)
        *slash = '\0';
}

/* Adds what Python has installed for the scripts in the directory `bin` of the user. */
static void add_python(struct wall_plan *plan, const char *prefix)
{
    _cleanup_free_ char *lib = mem_printf("%s/lib", prefix);
    _cleanup_close_ int fd = plan_open(plan, lib, O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (fd == -1 || path_list(fd, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", lib, *name);
        if (str_starts(*name, "python3"))
            add_path(plan, path);
    }
}

static void add_package(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *script)
{
    _cleanup_free_ char *dir = mem_dup(script);
    _cleanup_free_ char *at = NULL;

    cut_last(dir);
    if (dir[0] == '\0' || wall_plan_has(plan, dir))
        return;
    at = mem_dup(dir);
    for (int i = 0; i < LEVELS_MAX && may_show(plan, subject, at); i++) {
        _cleanup_free_ char *modules = mem_printf("%s/node_modules", at);
        add_path(plan, modules); /* of packages that share them */
        if (has_marker(at)) {
            add_path(plan, at);
            return;
        }
        cut_last(at);
    }
    /* no package: what is in its directory, or beside its bin/ */
    if (str_ends(dir, "/bin")) {
        cut_last(dir);
        add_python(plan, dir);
    }
    if (may_show(plan, subject, dir))
        add_path(plan, dir);
}

/* ---- scripts of the shell */

/* Returns a word as the shell would have it, as far as that is clear. The caller frees it. */
static char *expand(const struct wall_subject *subject, const char *word)
{
    static const char *const homes[] = {"~/", "$HOME/", "${HOME}/"};
    const char *home = env_get(subject->env, "HOME");

    for (size_t i = 0; i < ARRAY_LEN(homes); i++)
        if (home != NULL && str_starts(word, homes[i]))
            return mem_printf("%s/%s", home, word + strlen(homes[i]));
    return mem_dup(word);
}

/* Adds what a command of a script names. */
static void add_command(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *line, int depth)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;
    bool found = false;

    if (str_split_words(line, &words, &ignored) == -1)
        return;
    for (char **word = words; word != NULL && *word != NULL; word++) {
        _cleanup_free_ char *path = expand(subject, *word);
        bool is_name = path[0] != '-' && strpbrk(path, "=$/") == NULL;
        if (!found && is_name) {
            char *program = path_find_program(path, env_get(subject->env, "PATH"), AT_FDCWD);
            found = strcmp(path, "env") != 0 && strcmp(path, "exec") != 0;
            if (program != NULL)
                add_program(plan, subject, program, false, depth);
            free(program);
        } else if (path[0] == '/') {
            plan_add_word(plan, subject, path, depth);
            found = true;
        }
    }
}

static void add_wrapped(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *script, int depth)
{
    _cleanup_close_ int fd = plan_open(plan, script, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    char *last = NULL, *save = NULL;
    size_t len = 0;
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
        file_read_stream(fd, script, SCRIPT_MAX, &text, &len, &ignored) == -1)
        return;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        line += strspn(line, " \t");
        if (line[0] == '\0' || line[0] == '#')
            continue;
        last = line;
        if (str_starts(line, "exec "))
            add_command(plan, subject, line, depth);
    }
    if (last != NULL && !str_starts(last, "exec "))
        add_command(plan, subject, last, depth);
}

/* ---- programs */

static bool exists(const char *dir, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void add_in(struct wall_plan *plan, const char *dir, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", dir, name);
    add_path(plan, path);
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
        add_path(plan, dir);
    }
    _cleanup_free_ char *bin = above(path, 1);
    _cleanup_free_ char *prefix = above(path, 2);
    const char *name = bin != NULL ? strrchr(bin, '/') : NULL;
    if (prefix == NULL || name == NULL)
        return;
    /* a manager of versions, such as pyenv, asdf, mise or volta, with all that it has installed */
    if (strcmp(name, "/shims") == 0 || (strcmp(name, "/bin") == 0 && str_ends(prefix, "/.volta")))
        add_path(plan, prefix);
    if (strcmp(name, "/bin") != 0)
        return;
    if (exists(prefix, "pyvenv.cfg"))
        add_path(plan, prefix);
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
    add_path(plan, at);
    free(at);
    return plan_canonical(plan, path);
}

static void add_program(struct wall_plan *plan, const struct wall_subject *subject,
                        const char *program, bool is_approved, int depth)
{
    _cleanup_free_ char *at = program != NULL ? mem_dup(program) : NULL;

    for (int i = 0; at != NULL && at[0] == '/' && i < INTERPRETERS_MAX; i++) {
        if (!(is_approved && i == 0) && plan_is_written(plan, at)) {
            add_path(plan, at); /* and nothing that it names */
            break;
        }
        _cleanup_free_ char *real = add_links(plan, at);
        add_installation(plan, at);
        char *next = find_interpreter(plan, at, subject->env);
        if (real != NULL) {
            add_installation(plan, real);
            if (!is_approved && (next != NULL || is_script(real)))
                add_package(plan, subject, real);
            add_path(plan, real);
        }
        bool is_for_shell = next != NULL ? is_shell(next) : str_ends(at, ".sh");
        if (is_for_shell && depth < DEPTH_MAX && !is_approved)
            add_wrapped(plan, subject, at, depth + 1);
        free(at);
        at = next;
    }
}

char *plan_beside(const char *enter, const char *name)
{
    const char *slash = strrchr(enter, '/');

    return mem_printf("%.*s%s", slash != NULL ? (int)(slash - enter) + 1 : 0, enter, name);
}

void plan_add_program(struct wall_plan *plan, const struct wall_subject *subject,
                      const char *program, bool is_approved)
{
    add_program(plan, subject, program, is_approved, 0);
}

void plan_add_word(struct wall_plan *plan, const struct wall_subject *subject, const char *word,
                   int depth)
{
    _cleanup_close_ int fd = plan_open(plan, word, O_PATH);
    _cleanup_strv_ char **first = NULL;
    struct stat st;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return;
    if (!is_script(word))
        first = read_interpreter(plan, word);
    if (first != NULL || is_script(word))
        add_program(plan, subject, word, false, depth);
    else if (!wall_plan_has(plan, word))
        wall_plan_mount(plan, WALL_MOUNT_READ, word, NULL, TAKE_FD(fd));
}

/* ---- npx */

/* Returns true if npx keeps the package in the directory. */
static bool keeps(struct wall_plan *plan, const char *dir, const char *name)
{
    _cleanup_free_ char *path = mem_printf("%s/package.json", dir);
    _cleanup_free_ char *quoted = mem_printf("\"%s\"", name);
    _cleanup_close_ int fd = plan_open(plan, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return fd != -1 && file_read_stream(fd, path, SCRIPT_MAX, &text, &len, &ignored) == 0 &&
           strstr(text, quoted) != NULL;
}

/* Adds what npx keeps in the directory. Not the directory itself: npx makes a lock there. */
static void add_kept(struct wall_plan *plan, const char *dir)
{
    static const char *const parts[] = {"package.json", "package-lock.json", "node_modules"};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", dir, parts[i]);
        add_path(plan, path);
    }
}

void plan_add_npx(struct wall_plan *plan, const struct wall_subject *subject)
{
    const char *home = plan->user_home != NULL ? plan->user_home : plan->home;
    char *const *argv = subject->argv;
    _cleanup_free_ char *kept = mem_printf("%s/.npm/_npx", home != NULL ? home : "");
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (home == NULL || argv == NULL || argv[0] == NULL ||
        (strcmp(argv[0], "npx") != 0 && !str_ends(argv[0], "/npx")))
        return;
    while (*++argv != NULL && (*argv)[0] == '-')
        ;
    _cleanup_close_ int fd = plan_open(plan, kept, O_RDONLY | O_DIRECTORY);
    if (*argv == NULL || fd == -1 || path_list(fd, &names, &ignored) == -1)
        return;
    const char *version = strchr(*argv + 1, '@'); /* one may begin the name of a scope */
    _cleanup_free_ char *name =
        mem_dupn(*argv, version != NULL ? (size_t)(version - *argv) : strlen(*argv));
    for (size_t i = 0; i < PACKAGES_MAX && names[i] != NULL; i++) {
        _cleanup_free_ char *dir = mem_printf("%s/%s", kept, names[i]);
        if (keeps(plan, dir, name))
            add_kept(plan, dir);
    }
}
