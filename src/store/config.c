/*
 * The files are read in the order in which they override each other, then the environment; each
 * value takes its origin along. read_entry() gives a line to the reader of its section: a preset, a
 * remote, a variable of [env], else the table of settings, which checks it. What is wrong in their
 * lines is collected and fails only at the end, so that one run names all of it; a wrong remote
 * fails nobody but its users. A file is checked and read through the same descriptor.
 */

#include "store/config.h"

#include "base/suggest.h"
#include "model/env_name.h"
#include "model/ini.h"
#include "os/path.h"
#include "store/shipped.h"

/* In [env]: the prefix of a variable's name. */
#define ENV_SET "set."
#define BUILT_IN "built in" /* an origin */
/* The beginning of a section of a remote. */
#define REMOTE_SECTION "host "

/* Sets a value, or returns what a valid one is. */
static const char *set(struct config *config, enum setting setting, const char *text,
                       const char *origin)
{
    const char *want = setting_parse(setting, text, &config->settings[setting].value);

    if (want != NULL)
        return want;
    free(config->settings[setting].text);
    free(config->settings[setting].origin);
    config->settings[setting].text = mem_dup(text);
    config->settings[setting].origin = mem_dup(origin);
    return NULL;
}

/* Finds the preset or creates an empty one. */
static struct preset *add_preset(struct config *config, const char *name)
{
    for (size_t i = 0; i < config->preset_count; i++)
        if (strcmp(config->presets[i].name, name) == 0)
            return &config->presets[i];
    config->presets = mem_grow(config->presets, config->preset_count + 1, sizeof *config->presets);
    struct preset *preset = &config->presets[config->preset_count++];
    preset_make(preset, name);
    return preset;
}

struct config_reader {
    struct config *config;
    bool only_presets; /* agents.ini */
    bool shipped; /* the one that is installed with mas */
    bool believed; /* its settings may name programs */
    bool private; /* nobody else can read it */
    const char *file;
    struct diagnostics *diagnostics;
};

/* Keeps the line's value under this name; a later file overrides an earlier one. */
static void keep(struct config_named **list, size_t *count, const char *name,
                 const struct ini_line *line)
{
    size_t i = 0;

    while (i < *count && strcmp((*list)[i].name, name) != 0)
        i++;
    if (i == *count) {
        *list = mem_grow(*list, *count + 1, sizeof **list);
        (*list)[(*count)++] = (struct config_named){.name = mem_dup(name)};
    }
    free((*list)[i].value);
    free((*list)[i].origin);
    (*list)[i].value = mem_dup(line->value);
    (*list)[i].origin = mem_printf("%s:%d", line->file, line->line);
}

static int read_preset(const struct config_reader *reader, const struct ini_line *line,
                       struct err *err)
{
    const char *name = line->section + strlen("preset ");
    if (!str_is_word(name, PRESET_NAME_MAX))
        return ini_fail(line, err, "a preset's name must be 1 to 32 " STR_WORD_CHARS);
    struct preset *preset = add_preset(reader->config, name);
    if (line->key == NULL)
        return 0;
    if (preset_read(preset, line, err) == -1)
        return -1;
    if (!reader->only_presets) {
        _cleanup_free_ char *key = mem_printf("%s.%s", name, line->key);
        keep(&reader->config->preset_keys, &reader->config->preset_key_count, key, line);
    }
    return 0;
}

/* Reads set.NAME of [env]; a later file overrides an earlier one. */
static int read_env(struct config *config, const struct ini_line *line, struct err *err)
{
    const char *name = line->key + strlen(ENV_SET);
    const char *wrong = env_check_set(name);

    if (wrong != NULL)
        return ini_fail(line, err, "'%s' %s", name, wrong);
    keep(&config->env, &config->env_count, name, line);
    return 0;
}

/* Finds the remote or creates one. */
static struct remote *add_remote(struct config *config, const char *name, const char *origin)
{
    for (size_t i = 0; i < config->remote_count; i++)
        if (strcmp(config->remotes[i].name, name) == 0)
            return &config->remotes[i];
    config->remotes = mem_grow(config->remotes, config->remote_count + 1, sizeof *config->remotes);
    struct remote *remote = &config->remotes[config->remote_count++];
    remote_make(remote, name, origin);
    return remote;
}

static void drop_remotes(struct config *config)
{
    for (size_t i = 0; i < config->remote_count; i++)
        remote_free(&config->remotes[i]);
    free(config->remotes);
    config->remotes = NULL;
    config->remote_count = 0;
}

/* Reads into another list what a file says that may name no programs: its lines are checked. */
static int read_remote(struct config *config, bool believed, const struct ini_line *line,
                       struct err *err)
{
    const char *name = line->section + strlen(REMOTE_SECTION);
    _cleanup_free_ char *origin = mem_printf("%s:%d", line->file, line->line);
    struct config aside = CONFIG_INIT;

    if (!remote_is_name(name))
        return ini_fail(line, err, "a host's name must be 1 to %d " STR_WORD_CHARS,
                        REMOTE_NAME_MAX);
    if (believed && config->remote_count == REMOTES_MAX && config_remote(config, name) == NULL)
        return ini_fail(line, err, "there are more than %d hosts", REMOTES_MAX);
    config->hides_remotes = config->hides_remotes || !believed;
    struct remote *remote = add_remote(believed ? config : &aside, name, origin);
    int rc = line->key == NULL ? 0 : remote_read(remote, line, err);
    drop_remotes(&aside);
    return rc;
}

static int read_account(const struct config_reader *reader, const struct ini_line *line,
                        struct err *err)
{
    return reader->private ? accounts_read(&reader->config->accounts, line, err)
                           : ini_fail(line, err,
                                      "others can read this file, which has logins; "
                                      "take that away with: chmod 600 %s",
                                      line->file);
}

static const char *nearest_setting(const char *section, const char *key)
{
    struct suggest suggest = SUGGEST_INIT(key);

    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(section, setting_infos[i].section) == 0)
            suggest_try(&suggest, setting_infos[i].key);
    if (strcmp(section, "env") == 0)
        suggest_try(&suggest, ENV_SET "NAME");
    return suggest.nearest;
}

static const char *const named_sections[] = {"preset", "host", "account"};

static int no_section(const struct config_reader *reader, const struct ini_line *line,
                      struct err *err)
{
    _cleanup_free_ char *word = mem_dupn(line->section, strcspn(line->section, " "));
    struct suggest suggest = SUGGEST_INIT(word);

    for (size_t i = 0; i < SETTING_COUNT && !reader->only_presets; i++)
        suggest_try(&suggest, setting_infos[i].section);
    for (size_t i = 0; i < ARRAY_LEN(named_sections); i++)
        if (i == 0 || !reader->only_presets)
            suggest_try(&suggest, named_sections[i]);
    bool named = false;
    for (size_t i = 0; suggest.nearest != NULL && i < ARRAY_LEN(named_sections); i++)
        named = named || strcmp(suggest.nearest, named_sections[i]) == 0;
    _cleanup_free_ char *nearest =
        suggest.nearest == NULL ? NULL
                                : mem_printf("[%s%s]", suggest.nearest, named ? " NAME" : "");
    return ini_fail_unknown(line, "unknown section", nearest, err);
}

static int read_entry(const struct ini_line *line, void *arg, struct err *err)
{
    const struct config_reader *reader = arg;

    if (str_starts(line->section, "preset "))
        return read_preset(reader, line, err);
    if (!reader->only_presets && str_starts(line->section, REMOTE_SECTION))
        return read_remote(reader->config, reader->believed, line, err);
    if (!reader->only_presets && str_starts(line->section, ACCOUNT_SECTION))
        return read_account(reader, line, err);
    if (!reader->only_presets && line->key != NULL && strcmp(line->section, "env") == 0 &&
        str_starts(line->key, ENV_SET))
        return read_env(reader->config, line, err);
    bool known = false;
    for (size_t i = 0; i < SETTING_COUNT && !reader->only_presets; i++) {
        if (strcmp(line->section, setting_infos[i].section) != 0)
            continue;
        known = true;
        if (line->key == NULL || strcmp(line->key, setting_infos[i].key) != 0)
            continue;
        _cleanup_free_ char *origin = mem_printf("%s:%d", line->file, line->line);
        bool ignored = (setting_infos[i].how & SETTING_IS_PROGRAM) != 0 && !reader->believed;
        const char *want = ignored ? setting_parse((enum setting)i, line->value, NULL)
                                   : set(reader->config, (enum setting)i, line->value, origin);
        if (want != NULL)
            return ini_fail(line, err, "'%s' is not %s", line->value, want);
        if (ignored) {
            free(reader->config->disbelieved);
            reader->config->disbelieved = line->value[0] != '\0' ? TAKE_PTR(origin) : NULL;
        }
        return 0;
    }
    if (line->key == NULL && known)
        return 0;
    return known ? ini_fail_unknown(line, "unknown setting",
                                    nearest_setting(line->section, line->key), err)
                 : no_section(reader, line, err);
}

/* What is wrong with one remote stops only what reaches it. Errors of lines come before the
 * sections are read, so the remote may be new. */
static void add_wrong(int line, const char *section, const char *text, void *arg)
{
    const struct config_reader *reader = arg;
    struct config *config = reader->config;
    bool of_remote =
        !reader->only_presets && section != NULL && str_starts(section, REMOTE_SECTION);

    diagnostics_add(of_remote ? &config->wrong_remotes : reader->diagnostics, DIAGNOSTIC_ERROR,
                    reader->file, line, "%s", text);
    if (!of_remote || !reader->believed)
        return;
    const char *name = section + strlen(REMOTE_SECTION);
    if (!remote_is_name(name) ||
        (config->remote_count == REMOTES_MAX && config_remote(config, name) == NULL))
        return;
    _cleanup_free_ char *origin = mem_printf("%s:%d", reader->file, line);
    struct remote *remote = add_remote(config, name, origin);
    if (remote->wrong == NULL)
        remote->wrong = mem_printf("%s: %s", origin, text);
}

/* Reads one file if it exists. The file names programs, so it must belong to this user and not be
 * writable by everybody. */
static int read_settings(int dir, const char *name, const char *path, struct config_reader *reader,
                         struct err *err)
{
    struct stat st;
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, MAS_FAILED, "cannot read '%s': it is %s", path,
                       path_type_name(st.st_mode));
    if (st.st_uid != geteuid() && !reader->shipped) {
        (void)err_set(err, MAS_FAILED, "cannot use '%s': it belongs to user %ld", path,
                      (long)st.st_uid);
        return err_hint(err, "it names programs that mas runs, so it must be yours");
    }
    if ((st.st_mode & S_IWOTH) != 0) {
        (void)err_set(err, MAS_FAILED, "cannot use '%s': everybody may write to it", path);
        return err_hint(
            err, "it names programs that mas runs; take that permission away with: chmod o-w");
    }
    reader->private = (st.st_mode & (S_IRWXG | S_IRWXO)) == 0;
    if (ini_read(fd, path, read_entry, add_wrong, reader, err) == -1) {
        err->code = MAS_FAILED;
        return -1;
    }
    return 0;
}

static int read_environment(struct config *config, struct err *err)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *value = setting_infos[i].env != NULL ? getenv(setting_infos[i].env) : NULL;
        if (value == NULL || value[0] == '\0')
            continue;
        /* inside a team this variable describes that team and is not a request */
        if (i == SETTING_MODE && getenv("MAS_SESSION_ID") != NULL)
            continue;
        const char *want = set(config, (enum setting)i, value, setting_infos[i].env);
        if (want != NULL)
            return err_set(err, MAS_FAILED, "cannot use %s='%s': it is not %s",
                           setting_infos[i].env, value, want);
    }
    return 0;
}

static char *user_settings_path(void)
{
    _cleanup_free_ char *dir = path_user_dir("XDG_CONFIG_HOME", ".config");
    return dir != NULL ? mem_printf("%s/mas/mas.ini", dir) : NULL;
}

/* Reads the files, each overriding the one before. *remarks receives all problems, sorted by file
 * and line. */
static int read_files(const struct root *root, bool with_presets, struct config *config,
                      struct diagnostics *diagnostics, struct err *err)
{
    _cleanup_free_ char *user = user_settings_path();
    /* without a root, those that it would be made with */
    struct err ignored = ERR_INIT;
    _cleanup_close_ int shipped = root == NULL && with_presets ? shipped_find(&ignored) : -1;
    _cleanup_free_ char *presets = root != NULL    ? mem_printf("%s/%s", root->path, ROOT_PRESETS)
                                   : shipped != -1 ? mem_dup(ROOT_PRESETS)
                                                   : NULL;
    _cleanup_free_ char *settings =
        root != NULL ? mem_printf("%s/%s", root->path, ROOT_SETTINGS) : NULL;
    const struct {
        int dir;
        const char *name, *path;
        bool is_read, only_presets, believed;
    } files[] = {
        {root != NULL ? root->fd : shipped, root != NULL ? ROOT_PRESETS : SHIPPED_PRESETS, presets,
         with_presets, true, false},
        {AT_FDCWD, user, user, true, false, true},
        {root != NULL ? root->fd : -1, ROOT_SETTINGS, settings, true, false,
         root != NULL && root->accepted},
    };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct config_reader reader = {.config = config,
                                       .only_presets = files[i].only_presets,
                                       .shipped = root == NULL && files[i].only_presets,
                                       .believed = files[i].believed,
                                       .file = files[i].path,
                                       .diagnostics = diagnostics};
        if (!files[i].is_read || files[i].path == NULL)
            continue;
        if (read_settings(files[i].dir, files[i].name, files[i].path, &reader, err) == -1)
            return -1;
    }
    diagnostics_sort(diagnostics);
    diagnostics_sort(&config->wrong_remotes);
    for (size_t i = 0; i < config->remote_count; i++)
        if (config->remotes[i].wrong != NULL)
            config->remotes[i].via = REMOTE_UNSET;
    return 0;
}

int config_load(const struct root *root, bool with_presets, struct config *ret,
                struct diagnostics *wrong, struct err *err)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_diagnostics_ struct diagnostics own = DIAGNOSTICS_INIT;
    struct diagnostics *diagnostics = wrong != NULL ? wrong : &own;

    for (size_t i = 0; i < SETTING_COUNT; i++)
        (void)set(&config, (enum setting)i, setting_infos[i].fallback, BUILT_IN);
    if (read_files(root, with_presets, &config, diagnostics, err) == -1 ||
        diagnostics_fail(diagnostics, MAS_FAILED, err) == -1 ||
        read_environment(&config, err) == -1)
        return -1;
    *ret = config;
    config = (struct config)CONFIG_INIT;
    return 0;
}

static void drop_named(struct config_named *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].value);
        free(list[i].origin);
    }
    free(list);
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        free(config->settings[i].text);
        free(config->settings[i].origin);
    }
    drop_named(config->env, config->env_count);
    drop_named(config->preset_keys, config->preset_key_count);
    free(config->disbelieved);
    for (size_t i = 0; i < config->preset_count; i++)
        preset_free(&config->presets[i]);
    free(config->presets);
    accounts_free(&config->accounts);
    drop_remotes(config);
    diagnostics_free(&config->wrong_remotes);
    *config = (struct config)CONFIG_INIT;
}

const char *config_text(const struct config *config, enum setting setting)
{
    return config->settings[setting].text;
}

bool config_is_of_env(const struct config *config, enum setting setting)
{
    const char *env = setting_infos[setting].env;
    return env != NULL && strcmp(config->settings[setting].origin, env) == 0;
}

bool config_is_built_in(const struct config *config, enum setting setting)
{
    return strcmp(config->settings[setting].origin, BUILT_IN) == 0;
}

const union setting_value *config_value(const struct config *config, enum setting setting)
{
    return &config->settings[setting].value;
}

uint64_t config_bytes(const struct config *config, enum setting setting)
{
    return (uint64_t)config->settings[setting].value.number;
}

int config_number(const struct config *config, enum setting setting)
{
    return (int)config->settings[setting].value.number;
}

bool config_yes(const struct config *config, enum setting setting)
{
    return config->settings[setting].value.number != 0;
}

bool config_links(const struct config *config)
{
    return config_yes(config, SETTING_HARDLINK);
}

struct log_limits config_log_limits(const struct config *config)
{
    return (struct log_limits){.size = (off_t)config_bytes(config, SETTING_LOG_SIZE),
                               .keep = config_number(config, SETTING_LOG_KEEP)};
}

int config_override(struct config *config, enum setting setting, const char *value,
                    const char *origin, struct err *err)
{
    const char *want = set(config, setting, value, origin);

    return want == NULL
               ? 0
               : err_set(err, MAS_USAGE, "cannot use %s '%s': it is not %s", origin, value, want);
}

const struct preset *config_preset(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->preset_count; i++)
        if (strcmp(config->presets[i].name, name) == 0)
            return &config->presets[i];
    return NULL;
}

char *config_limited(const struct config *config)
{
    _cleanup_str_ struct str all = STR_INIT;

    for (size_t i = 0; i < config->preset_count; i++)
        if (config->presets[i].limited[0] != '\0')
            str_addf(&all, "%s(%s)", all.len > 0 ? "|" : "", config->presets[i].limited);
    return mem_dup(all.len > 0 ? all.data : "");
}

int config_hint_presets(const struct config *config, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    for (size_t i = 0; i < config->preset_count && names.len < 400; i++)
        str_addf(&names, "%s%s", i > 0 ? ", " : "", config->presets[i].name);
    if (names.len == 0)
        return err_hint(err, "presets are in templates/agents.ini and mas.ini");
    return err_hint(err, "the presets are: %s", names.data);
}

int config_need_preset(const struct config *config, const char *name, struct err *err)
{
    struct suggest suggest = SUGGEST_INIT(name);

    if (config_preset(config, name) != NULL)
        return 0;
    for (size_t i = 0; i < config->preset_count; i++)
        suggest_try(&suggest, config->presets[i].name);
    (void)err_set(err, MAS_NOT_FOUND, "cannot use preset '%s': there is no such preset", name);
    return suggest.nearest != NULL ? err_hint(err, SUGGEST_MEANT "%s", suggest.nearest)
                                   : config_hint_presets(config, err);
}

const struct remote *config_remote(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->remote_count; i++)
        if (strcmp(config->remotes[i].name, name) == 0)
            return &config->remotes[i];
    return NULL;
}

int config_need_remote(const struct config *config, const char *name, const struct remote **ret,
                       struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    const struct remote *remote = config_remote(config, name);
    const char *here = getenv(ERR_REACHED_AS); /* not the mas.ini that the reader has before them */

    if (remote != NULL && remote->via != REMOTE_UNSET) {
        *ret = remote;
        return 0;
    }
    if (remote != NULL && remote->wrong != NULL)
        return err_set(err, MAS_FAILED, "cannot use host '%s': %s", name, remote->wrong);
    if (remote != NULL) {
        (void)err_set(err, MAS_FAILED, "cannot use host '%s': %s does not say how to reach it",
                      name, remote->origin);
        return err_hint(err, "add a line: via = ssh:DESTINATION");
    }
    (void)err_set(err, MAS_NOT_FOUND, "cannot find host '%s': mas.ini%s%s has no [host %s]", name,
                  here != NULL ? " on " : "", here != NULL ? here : "", name);
    for (size_t i = 0; i < config->remote_count && names.len < 400; i++)
        str_addf(&names, "%s%s", i > 0 ? ", " : "", config->remotes[i].name);
    if (names.len > 0)
        return err_hint(err, "the hosts are: %s", names.data);
    if (config->hides_remotes)
        return err_hint(err, "mas reads the hosts of a root that you have not created once you "
                             "accept it: mas init DIR");
    return err_hint(err, "add it with: mas remote add %s DESTINATION",
                    remote_is_name(name) ? name : "NAME");
}

const char *config_agent_preset_name(const struct config *config, const struct team *team,
                                     const struct agent *agent)
{
    if (agent->preset[0] != '\0')
        return agent->preset;
    if (team->preset[0] != '\0')
        return team->preset;
    return config_text(config, SETTING_PRESET);
}

const struct preset *config_agent_preset(const struct config *config, const struct team *team,
                                         const struct agent *agent)
{
    return config_preset(config, config_agent_preset_name(config, team, agent));
}
