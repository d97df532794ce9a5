/*
 * Settings and presets: what mas.ini says, and what overrides it.
 *
 * A setting has one row in the table in config.c: section, key, environment variable, built-in
 * value, check and a line of help. `mas config`, the commented mas.ini of `mas init` and mas.ini(5)
 * follow that table.
 */
#ifndef MAS_CORE_CONFIG_H
#define MAS_CORE_CONFIG_H

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "core/preset.h"
#include "core/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting {
    SETTING_MODE, /* isolated or legacy */
    SETTING_TEMPLATE,
    SETTING_PRESET,
    SETTING_SOCKET, /* "" (the user's own), a name, or an absolute path */
    SETTING_SERVER, /* shared or per-session */
    SETTING_SIZE, /* columns x rows of a new team's windows */
    SETTING_HANGUP, /* how long `stop` gives processes after the hang-up */
    SETTING_TERMINATE, /* after SIGTERM, before SIGKILL */
    SETTING_LOG_SIZE, /* bytes at which a log is rotated */
    SETTING_LOG_KEEP, /* how many rotated ones are kept */
    SETTING_ENV_PASS, /* patterns of variables that agents are handed */
    SETTING_ENV_REMOVE, /* and of those among them that they are not */
    SETTING_HARDLINK, /* which files of a template are linked, not copied: no or readonly */
    SETTING_LAZY, /* yes: an agent's directory is made when the agent first starts */
    SETTING_CLEAN_OLDER, /* what `clean` takes: an age, or "" */
    SETTING_CLEAN_KEEP, /* how many it leaves, or "" */
    SETTING_CLEAN_STATUS, /* a list of statuses, or "" */
    SETTING_CLEAN_ARCHIVE, /* yes or no */
    SETTING_ARCHIVE_DIR, /* where archives go, below the root or absolute */
    SETTING_ARCHIVE_LEVEL, /* of the compression */
    SETTING_LIMIT_SESSION, /* bytes that a session may take on disk; 0: any */
    SETTING_LIMIT_FREE, /* bytes that `new` leaves free on the file system; 0: none */
    SETTING_MEMORY_RECALL, /* on: relevant history goes into the first prompt of a fresh query */
    SETTING_MEMORY_SHARE, /* yes: agents see what was said in other sessions */
    SETTING_MEMORY_EMBED, /* a program that makes vectors of texts, or "" */
    SETTING_MEMORY_SUMMARY, /* off, or agent: what stands in for history past the budget */
    SETTING_MEMORY_MESSAGES, /* how many are injected at most */
    SETTING_MEMORY_EACH, /* characters of one of them */
    SETTING_MEMORY_ALL, /* and of all; of each list of `context` too */
    SETTING_MEMORY_CURRENT, /* `context`: messages of the conversation, of each role */
    SETTING_MEMORY_RELEVANT, /* and of the relevant history, of each role */
    SETTING_SERVE_LISTEN, /* ADDRESS:PORT, or "": none */
    SETTING_SERVE_UNIX, /* path of a socket, below the root or absolute, or "" */
    SETTING_SERVE_TOKEN, /* path of the file with the token, likewise */
    SETTING_SERVE_HOSTS, /* names that requests may be for, besides those of loopback */
    SETTING_SERVE_CERT, /* path of a certificate chain, or "" */
    SETTING_SERVE_KEY, /* and of its key */
    SETTING_SERVE_REMOTE, /* yes: listens beyond loopback without TLS */
    SETTING_COUNT
};

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
};

#define CONFIG_INIT                                                                                \
    {                                                                                              \
        .presets = NULL                                                                            \
    }

/*
 * Reads built-in values, the user's mas.ini, the root's and the environment, each over the one
 * before; and, `with_presets`, templates/agents.ini under all of them. An unknown section or key,
 * a value out of range: MAS_FAILED with file, line and key. root may be NULL (no root yet).
 */
int config_load(const struct root *root, bool with_presets, struct config *ret, struct err *err);
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

/* "section.key" of a setting. */
const char *setting_name(enum setting setting, char buf[64]);

/* The text of a new mas.ini: every setting, commented out, with its help. */
void config_write_defaults(struct str *to);

/* Splits "200x50". */
bool config_parse_size(const char *text, int *ret_columns, int *ret_rows);

#endif
