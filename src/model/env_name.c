#include "model/env_name.h"

bool env_is_name(const char *name)
{
    if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
           strlen(name);
}

const char *env_check_name(const char *name)
{
    static const char *const own[] = {"SESSION_NAME", "UNIT_DIR", "WORKFLOWS_DIR",
                                      "PWD",          "TMUX",     "TMUX_PANE"};
    if (!env_is_name(name))
        return "is not a name of an environment variable";
    bool is_own = str_starts(name, "MAS_");
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        is_own = is_own || strcmp(name, own[i]) == 0;
    return is_own ? "is set by mas itself" : NULL;
}

const char *env_check_set(const char *name)
{
    const char *wrong = env_check_name(name);
    _cleanup_free_ char *entry = mem_printf("%s=", name);

    return wrong == NULL && env_belongs_to_pane(entry) ? "describes the agent's own terminal"
                                                       : wrong;
}

bool env_belongs_to_pane(const char *entry)
{
    static const char *const names[] = {
        "TERM=", "TMUX=",         "TMUX_PANE=", "COLUMNS=",       "LINES=", "PWD=",
        "MAS_",  "SESSION_NAME=", "UNIT_DIR=",  "WORKFLOWS_DIR=", "OLDPWD="};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(entry, names[i]))
            return true;
    return false;
}
