/*
 * The configuration: settings and presets from mas.ini, the environment and the command line.
 */
#pragma once

#include "model/account.h"
#include "model/diagnostic.h"
#include "model/preset.h"
#include "model/remote.h"
#include "model/setting.h"
#include "model/team/team.h"
#include "os/log.h"
#include "store/root.h"

struct config {
    struct {
        char *text;
        union setting_value value;
        char *origin; /* "built in", "MAS_TMUX_SOCKET", "/root/mas.ini:12", "--agent" */
    } settings[SETTING_COUNT];
    struct config_named {
        char *name, *value, *origin;
    } * env; /* set.NAME of [env] */
    size_t env_count;
    struct preset *presets;
    size_t preset_count;
    struct config_named *preset_keys; /* that a mas.ini sets: "NAME.KEY" */
    size_t preset_key_count;
    struct accounts accounts;
    struct remote *remotes; /* in the order of the files */
    size_t remote_count;
    struct diagnostics wrong_remotes; /* what is wrong in sections of remotes */
    bool hides_remotes; /* a mas.ini that may name no programs has some, which are left out */
    char *disbelieved; /* origin of a program that mas ignores in an unaccepted root; or NULL */
};

#define CONFIG_INIT                                                                                \
    {                                                                                              \
        .presets = NULL                                                                            \
    }

/*
 * Loads the configuration. Later sources override earlier ones: built-in values,
 * templates/agents.ini (if `with_presets`), the user's mas.ini, the root's mas.ini, the
 * environment. An unknown section or key, or an invalid value, fails with MAS_FAILED and names
 * file, line and key; in the section of a remote, only that remote is not to be used. `root` may be
 * NULL (no root yet): then the presets are the shipped ones. If `wrong` is not NULL, it receives
 * all problems of the files, and the error is the first of them. The caller releases *ret with
 * config_free().
 */
int config_load(const struct root *root, bool with_presets, struct config *ret,
                struct diagnostics *wrong, struct err *err);
void config_free(struct config *config);
#define _cleanup_config_ __attribute__((cleanup(config_free)))

/* Returns the value of a setting. The configuration owns it. */
const char *config_text(const struct config *config, enum setting setting);
/* Returns true if the value comes from an environment variable. */
bool config_is_of_env(const struct config *config, enum setting setting);
/* Returns true if nobody has set the value. */
bool config_is_built_in(const struct config *config, enum setting setting);
/* Return what it is: all of it, bytes, a number of at most INT_MAX (also a time in ms, and the
 * index of a word), yes or no. */
const union setting_value *config_value(const struct config *config, enum setting setting);
uint64_t config_bytes(const struct config *config, enum setting setting);
int config_number(const struct config *config, enum setting setting);
bool config_yes(const struct config *config, enum setting setting); /* also on and off */
/* Returns true if [workspace] hardlink says to link read-only files. */
bool config_links(const struct config *config);
/* Returns [log] size and keep. */
struct log_limits config_log_limits(const struct config *config);
/* Sets a value from the command line. Fails with MAS_USAGE if it is invalid. */
int config_override(struct config *config, enum setting setting, const char *value,
                    const char *origin, struct err *err);

/* Returns the preset with this name, or NULL. The configuration owns it. */
const struct preset *config_preset(const struct config *config, const char *name);
/* Returns the preset of an agent: its own, else the team's, else that of mas.ini; NULL if there is
 * no such preset. The configuration owns it. */
const struct preset *config_agent_preset(const struct config *config, const struct team *team,
                                         const struct agent *agent);
/* Returns its name, which there need not be. */
const char *config_agent_preset_name(const struct config *config, const struct team *team,
                                     const struct agent *agent);
/* Returns a pattern that matches if `limited` of any preset does, as the same program can run under
 * many names and ask many providers. "" if no preset has one. The caller frees it. */
char *config_limited(const struct config *config);
/* Fails with MAS_NOT_FOUND, and with a hint, if there is no preset with this name. */
int config_need_preset(const struct config *config, const char *name, struct err *err);
/* Adds a hint that lists the known presets to the error for an unknown preset. Returns -1. */
int config_hint_presets(const struct config *config, struct err *err);

/* Returns the remote with this name, or NULL. The configuration owns it. */
const struct remote *config_remote(const struct config *config, const char *name);
/* Sets *ret to it. Fails if there is none, if its section is wrong, or if nothing says how to reach
 * it. */
int config_need_remote(const struct config *config, const char *name, const struct remote **ret,
                       struct err *err);
