#include "git/confine.h"

#include "os/path.h"

static void add(struct confine *confine, enum landlock_access access, const char *path, int fd)
{
    if (confine->rules.path_count < CONFINE_PATHS_MAX)
        confine->paths[confine->rules.path_count++] =
            (struct landlock_path){.access = access, .path = path, .fd = fd};
}

/* Adds a directory that it owns. */
static void add_owned(struct confine *confine, char *path)
{
    strv_push(&confine->names, path);
    add(confine, ACCESS_READ, confine->names[strv_len(confine->names) - 1], -1);
    free(path);
}

/* Returns true if one of the two directories is in the other. */
static bool is_related(const char *a, const char *b)
{
    size_t len = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncmp(a, b, len) == 0 && (a[len] == '\0' || a[len] == '/') &&
           (b[len] == '\0' || b[len] == '/');
}

/* Allows the directory of a program, and what it is installed with: all that is beside that
 * directory, in a home only what git has there. Takes `program` over. */
static void add_installation(struct confine *confine, char *program)
{
    static const char *const parts[] = {"lib", "libexec", "share/git-core"};
    const char *home = getenv("HOME");
    char *slash = program != NULL ? strrchr(program, '/') : NULL;

    if (slash != NULL && slash != program) {
        *slash = '\0';
        add_owned(confine, mem_dup(program));
        slash = strrchr(program, '/');
    }
    if (slash != NULL && slash != program) {
        *slash = '\0';
        if (home == NULL || !is_related(home, program))
            add_owned(confine, mem_dup(program));
        else
            for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                add_owned(confine, mem_printf("%s/%s", program, parts[i]));
    }
    free(program);
}

void confine_make(const char *program, const char *dir, int tree, struct confine *ret)
{
    static const char *const system[] = {
        "/usr",        "/bin", "/sbin", "/lib", "/lib32", "/lib64",
        "/libx32",     "/etc", "/opt",  "/nix", "/gnu",   "/sys/devices/system/cpu",
        "/dev/urandom"};

    ret->rules.paths = ret->paths;
    add(ret, ACCESS_WRITE, dir, -1);
    if (tree != -1)
        add(ret, ACCESS_WRITE, NULL, tree);
    add(ret, ACCESS_WRITE, "/dev/null", -1);
    for (size_t i = 0; i < ARRAY_LEN(system); i++)
        add(ret, ACCESS_READ, system[i], -1);
    add_installation(ret, mem_dup(program));
    add_installation(ret, path_canonical(program));
    char *own = path_exe_dir(); /* for the filter `lfs` */
    if (own != NULL)
        add_owned(ret, own);
}

void confine_allow(struct confine *confine, enum landlock_access access, const char *path)
{
    add(confine, access, path, -1);
}

void confine_free(struct confine *confine)
{
    strv_free(confine->names);
    confine->names = NULL;
}
