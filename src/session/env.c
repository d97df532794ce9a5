#include "session/env.h"

#include "base/str.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool matches(char *const *patterns, const char *name)
{
    for (; patterns != NULL && *patterns != NULL; patterns++)
        if (fnmatch(*patterns, name, FNM_NOESCAPE) == 0)
            return true;
    return false;
}

char **env_handed_on(const struct config *config)
{
    _cleanup_strv_ char **pass = str_split_list(config_text(config, SETTING_ENV_PASS));
    _cleanup_strv_ char **remove = str_split_list(config_text(config, SETTING_ENV_REMOVE));
    size_t count = 0;
    char **env = mem_alloc((strv_len(environ) + 1) * sizeof *env);

    for (char **e = environ; *e != NULL; e++) {
        _cleanup_free_ char *name = mem_dupn(*e, strcspn(*e, "="));
        if (matches(pass, name) && !matches(remove, name))
            env[count++] = mem_dup(*e);
    }
    for (size_t i = 0; i < config->env_count; i++)
        env_put(&env, config->env[i].name, config->env[i].value);
    return env;
}

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
    char **kept = env;

    for (char **e = env; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            free(*e);
        else
            *kept++ = *e;
    }
    if (kept != NULL)
        *kept = NULL;
}
