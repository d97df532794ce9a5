/*
 * Settings: what can be set, and to what.
 *
 * A setting has one row in the table in setting.c: section, key, environment variable, built-in
 * value, check and a line of help. `mas config`, the commented mas.ini of `mas init` and mas.ini(5)
 * follow that table.
 */
#ifndef MAS_MODEL_SETTING_H
#define MAS_MODEL_SETTING_H

#include "base/str.h"

#include <stdbool.h>
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

struct setting_info {
    const char *section, *key;
    const char *env; /* the variable that sets it; NULL: none */
    const char *fallback; /* the built-in value */
    const char *(*check)(const char *value); /* NULL for a good value, else what one looks like */
    const char *help;
};
extern const struct setting_info setting_infos[SETTING_COUNT];

/* true if its value is not believed of a root that this user has not accepted */
bool setting_names_program(enum setting setting);

/* "section.key" of a setting. */
const char *setting_name(enum setting setting, char buf[64]);

/* The text of a new mas.ini: every setting, commented out, with its help. */
void setting_write_defaults(struct str *to);

/* Splits "200x50". */
bool setting_parse_size(const char *text, int *ret_columns, int *ret_rows);
/* Digits alone, up to `max`. */
bool setting_parse_count(const char *text, uint64_t max, uint64_t *ret);

#endif
