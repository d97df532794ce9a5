#include "cli/installed.h"

#include "cli/consent.h"
#include "os/path.h"
#include "store/config_add.h"

char *installed_program(const struct preset *preset)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;
    const char *shell = getenv("SHELL");

    if (str_split_words(preset->command, &words, &ignored) == 0 && strv_len(words) > 0)
        return mem_dup(words[0]);
    return mem_dup(shell != NULL && shell[0] != '\0' ? shell : "/bin/sh");
}

bool installed_is(const struct preset *preset, const char *program)
{
    const char *search = kv_get(&preset->env, "PATH");
    _cleanup_free_ char *path =
        path_find_program(program, search != NULL ? search : getenv("PATH"), AT_FDCWD);

    return path != NULL || (program[0] != '/' && strchr(program, '/') != NULL);
}

enum installed_login installed_login(const struct preset *preset)
{
    const char *home = getenv("HOME");
    enum installed_login login = LOGIN_UNKNOWN;

    if (home == NULL || home[0] != '/')
        return LOGIN_UNKNOWN;
    for (char **file = preset->login_files; file != NULL && *file != NULL; file++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", home, *file);
        if (access(path, F_OK) == 0)
            return LOGIN_FOUND;
        login = LOGIN_NONE;
    }
    return login;
}

/* Returns the next preset of an agent's own screen whose program is installed, from *at on; or
 * NULL. */
static const struct preset *find_next(const struct config *config, size_t *at)
{
    while (*at < config->preset_count) {
        const struct preset *preset = &config->presets[(*at)++];
        if (preset->protocol == PROTOCOL_ACP || preset->install[0] == '\0')
            continue;
        _cleanup_free_ char *program = installed_program(preset);
        if (installed_is(preset, program))
            return preset;
    }
    return NULL;
}

size_t installed_names(const struct config *config, struct str *out,
                       const struct preset **ret_first)
{
    const struct preset *preset;
    size_t count = 0;

    *ret_first = NULL;
    for (size_t at = 0; (preset = find_next(config, &at)) != NULL; count++) {
        *ret_first = *ret_first != NULL ? *ret_first : preset;
        str_addf(out, "%s%s", count > 0 ? ", " : "", preset->name);
    }
    return count;
}

/* Returns the only one, or NULL. */
static const struct preset *find_only(const struct config *config)
{
    size_t at = 0;
    const struct preset *first = find_next(config, &at);

    return first != NULL && find_next(config, &at) == NULL ? first : NULL;
}

void installed_say_ways(const struct call *call)
{
    _cleanup_str_ struct str names = STR_INIT;
    const struct preset *first = NULL;
    _cleanup_config_ struct config config = CONFIG_INIT; /* a list reads no presets */
    struct err ignored = ERR_INIT;

    if (isatty(STDERR_FILENO) == 0 ||
        config_load(call->has_root ? &call->root : NULL, true, &config, NULL, &ignored) == -1)
        return;
    (void)installed_names(&config, &names, &first);
    (void)fprintf(stderr,
                  "agents that are installed here: %s\n"
                  "  mas new --template solo --project . --agent %s\n"
                  "                one agent, on the git repository in this directory\n"
                  "  mas new       a team of 13, shells until you say what they run\n"
                  "  mas help      all commands; README has a tour of five minutes\n",
                  first != NULL ? names.data : "none; mas presets lists those that mas knows",
                  first != NULL ? first->name : "claude-tty");
}

/* Adds the setting to the root's mas.ini. */
static int keep(const struct root *root, const char *preset, struct err *err)
{
    _cleanup_free_ char *lines = mem_printf("[session]\npreset = %s\n", preset);

    return config_add(root, lines, NULL, NULL, err);
}

int installed_offer(struct call *call, struct err *err)
{
    const struct preset *only = NULL;
    char said;

    if (call->quiet || call->json || call_opt(call, "agent") != NULL ||
        call_opt(call, "host") != NULL || !config_is_built_in(&call->config, SETTING_PRESET) ||
        !consent_possible() || caller_is_agent() || (only = find_only(&call->config)) == NULL)
        return 0;
    _cleanup_free_ char *program = installed_program(only);
    (void)fprintf(stderr,
                  "\r\033[K'%s' is installed. Do the agents of your teams run it, by the preset %s"
                  " (%s)?\ny or n, for all new sessions; Enter: not now [y/n] ",
                  program, only->name, only->description);
    if (consent_read(&said, err) == -1)
        return -1;
    if (said == '\0')
        return 0;
    const char *answer = said == 'y' ? only->name : config_text(&call->config, SETTING_PRESET);
    return keep(&call->root, answer, err) == -1
               ? -1
               : config_override(&call->config, SETTING_PRESET, answer, ROOT_SETTINGS, err);
}
