#include "session/env.h"

#include "store/workspace.h"

#include <fnmatch.h>

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
    env_drop(env, MAS_SOCKET_VARIABLE); /* of this process, whoever it acts for */
    env_drop(env, MAS_BROKERED_VARIABLE);
    for (size_t i = 0; i < config->env_count; i++)
        env_put(&env, config->env[i].name, config->env[i].value);
    return env;
}
