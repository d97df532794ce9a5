/*
 * The configuration: values of settings, and presets, as mas.ini, the environment and the command
 * line give them.
 */
#ifndef MAS_STORE_CONFIG_H
#define MAS_STORE_CONFIG_H

#include "base/err.h"
#include "base/log.h"
#include "model/diagnostic.h"
#include "model/preset.h"
#include "model/setting.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config {
    struct {
        char *text;
        char *origin; /* "built in", "MAS_TMUX_SOCKET", "/root/mas.ini:12", "--agent" */
    } settings[SETTING_COUNT];
    struct config_env { /* set.NAME of [env] */
        char *name, *value, *origin;
    } * env;
    size_t env_count;
    struct preset *presets;
    size_t preset_count;
    char *disbelieved; /* where a root that is not accepted names a program that is not run; NULL */
};

#define CONFIG_INIT                                                                                \
    {                                                                                              \
        .presets = NULL                                                                            \
    }

/*
 * Reads built-in values, the user's mas.ini, the root's and the environment, each over the one
 * before; and, `with_presets`, templates/agents.ini under all of them. An unknown section or key,
 * a value out of range: MAS_FAILED with file, line and key. root may be NULL (no root yet). Where
 * `wrong` is not NULL it gets all that is wrong in the files; the error is the first of these.
 */
int config_load(const struct root *root, bool with_presets, struct config *ret,
                struct diagnostics *wrong, struct err *err);
void config_free(struct config *config);
#define _cleanup_config_ __attribute__((cleanup(config_free)))

const char *config_text(const struct config *config, enum setting setting);
/* true if its value comes from an environment variable. */
bool config_is_of_env(const struct config *config, enum setting setting);
/* Of a setting that is a time, in milliseconds; a size, in bytes; a number; yes or no. */
int config_ms(const struct config *config, enum setting setting);
uint64_t config_bytes(const struct config *config, enum setting setting);
int config_number(const struct config *config, enum setting setting);
bool config_yes(const struct config *config, enum setting setting); /* or on and off */
/* true if [workspace] hardlink says that read-only files are linked. */
bool config_links(const struct config *config);
/* [log] size and keep. */
struct log_limits config_log_limits(const struct config *config);
/* Sets a value from the command line, checked like any other (MAS_USAGE). */
int config_override(struct config *config, enum setting setting, const char *value,
                    const char *origin, struct err *err);

/* NULL where there is none of that name. */
const struct preset *config_preset(const struct config *config, const char *name);
/* Adds the hint to an error that says that there is no such preset: which there are. Returns -1. */
int config_hint_presets(const struct config *config, struct err *err);

#endif
