#include "base/env.h"

const char *env_get(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env != NULL && *env != NULL; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

void env_put(char ***env, const char *name, const char *value)
{
    _cleanup_free_ char *entry = mem_printf("%s=%s", name, value);
    size_t len = strlen(name) + 1;

    for (char **e = *env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, entry, len) != 0)
            continue;
        free(*e);
        *e = mem_dup(entry);
        return;
    }
    strv_push(env, entry);
}

/* Appends the absolute paths of a variable of the loader; without any, there is no variable. */
static void add_absolute(const char *entry, char ***to)
{
    static const char between[] = ":; ";
    size_t name = strcspn(entry, "=");
    _cleanup_str_ struct str kept = STR_INIT;

    for (const char *at = entry + name; *at != '\0'; at += strcspn(at, between)) {
        at++;
        if (*at == '/')
            str_addf(&kept, "%s%.*s", kept.len > 0 ? ":" : "", (int)strcspn(at, between), at);
    }
    if (kept.len == 0)
        return;
    _cleanup_free_ char *left = mem_printf("%.*s=%s", (int)name, entry, kept.data);
    strv_push(to, left);
}

char **env_load_nothing_here(char *const *env)
{
    char **ret = mem_alloc(sizeof *ret); /* never NULL, which could mean environ */

    for (; env != NULL && *env != NULL; env++) {
        if (str_starts(*env, "LD_"))
            add_absolute(*env, &ret);
        else
            strv_push(&ret, *env);
    }
    return ret;
}

void env_drop(char **env, const char *name)
{
    size_t len = strlen(name);
    char **to = env;

    for (char **e = env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            free(*e);
        else
            *to++ = *e;
    }
    if (to != NULL)
        *to = NULL;
}
