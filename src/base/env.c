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
