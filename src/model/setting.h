/*
 * Settings: their names and valid values.
 *
 * A setting is one row of the table in setting.c: section, key, environment variable, built-in
 * value, type and a line of help. `mas config`, the commented mas.ini of `mas init` and mas.ini(5)
 * follow that table.
 */
#pragma once

#include "base/value.h"
#include "model/budget.h"
#include "model/notice.h"

enum setting {
    SETTING_MODE, /* isolated or legacy */
    SETTING_TEMPLATE,
    SETTING_PRESET,
    SETTING_SOCKET, /* "" (the user's default socket), a name, or an absolute path */
    SETTING_SERVER, /* shared or per-session */
    SETTING_SIZE, /* columns x rows of the windows of a new team */
    SETTING_STATUS, /* whether the status line and pane borders say who waits */
    SETTING_HANGUP, /* how long `stop` waits after the hang-up */
    SETTING_TERMINATE, /* how long `stop` waits after SIGTERM, before SIGKILL */
    SETTING_LOG_SIZE, /* bytes at which a log rotates */
    SETTING_LOG_KEEP, /* number of rotated logs to keep */
    SETTING_ENV_PASS, /* patterns of variables to pass to agents */
    SETTING_ENV_REMOVE, /* patterns of variables to remove from those */
    SETTING_HARDLINK, /* template files to link instead of copy: no or readonly */
    SETTING_LAZY, /* yes: an agent's directory is created at its first start */
    SETTING_CLEAN_OLDER, /* minimum age of sessions for `clean`, or "" */
    SETTING_CLEAN_KEEP, /* number of sessions that `clean` keeps, or "" */
    SETTING_CLEAN_STATUS, /* list of statuses for `clean`, or "" */
    SETTING_CLEAN_ARCHIVE, /* `clean` archives first: yes or no */
    SETTING_ARCHIVE_DIR, /* directory for archives, absolute or below the root */
    SETTING_ARCHIVE_LEVEL, /* compression level */
    SETTING_FLEET_STORE, /* a directory on a disk that machines share, or "" */
    SETTING_FLEET_SAVE, /* how often a running session is saved there */
    SETTING_FLEET_ANSWER, /* how long --all-hosts waits for a machine */
    SETTING_FLEET_SILENCE, /* how long a command there may print nothing */
    SETTING_LIMIT_SESSION, /* bytes that a session may use on disk; 0: unlimited */
    SETTING_LIMIT_AGENT, /* likewise of an agent's own directories */
    SETTING_LIMIT_FREE, /* bytes that `new` leaves free on the file system; 0: none */
    SETTING_LIMIT_MEMORY, /* bytes that the processes of an agent may use; 0: unlimited */
    SETTING_LIMIT_CPUS, /* likewise: hundredths */
    SETTING_LIMIT_PROCESSES, /* likewise: processes and threads */
    SETTING_LIMIT_CGROUP, /* where mas makes cgroups: auto, no, or an absolute path */
    SETTING_LIMIT_TURNS, /* of all ACP agents of the root at the same time; 0: any number */
    SETTING_LIMIT_QUOTA, /* percent of a window of a provider; 0: any */
    SETTING_LIMIT_RETRY, /* before a prompt is sent again, if the provider tells no time */
    SETTING_BUDGET_COST, /* limits of each session, or ""; see model/budget.h */
    SETTING_BUDGET_TOKENS,
    SETTING_BUDGET_TURNS,
    SETTING_BUDGET_TIME,
    SETTING_WALL_LEVEL, /* of agents whose preset and template say nothing; "": as wall.home says */
    SETTING_WALL_NETWORK, /* likewise: open, none or hosts */
    SETTING_WALL_READ, /* paths that agents behind a wall may read */
    SETTING_WALL_WRITE, /* and write */
    SETTING_WALL_NESTED, /* whether they may make user namespaces */
    SETTING_CODE_CHECK, /* a command that has to succeed before `merge` moves the branch, or "" */
    SETTING_CODE_CHECK_TIMEOUT, /* how long it may take */
    SETTING_CODE_SETUP, /* a command that runs once in each new work tree, or "" */
    SETTING_CODE_SETUP_TIMEOUT, /* how long it may take */
    SETTING_FORGE_COMMAND, /* a program that is asked for pull requests, or "": gh */
    SETTING_NOTIFY_ON, /* the kinds of change that a person is told of */
    SETTING_NOTIFY_COMMAND, /* a program that is told, or "" */
    SETTING_NOTIFY_DESKTOP, /* yes: the desktop shows them */
    SETTING_NOTIFY_TERMINAL, /* no, yes, or how attached terminals are told */
    SETTING_NOTIFY_WEBHOOK, /* a URL that they are posted to, or "" */
    SETTING_NOTIFY_DONE_AFTER, /* how long a turn takes whose end is told */
    SETTING_NOTIFY_QUIET, /* a time of the day during which nothing is told, or "" */
    SETTING_MEMORY_RECALL, /* on: prompts get relevant history of the same project */
    SETTING_MEMORY_SHARE, /* yes: agents see the messages of other sessions */
    SETTING_MEMORY_EMBED, /* a program that computes embedding vectors, or "" */
    SETTING_MEMORY_EMBED_HOST, /* a host that may get texts for vectors, or "" */
    SETTING_MEMORY_SUMMARY, /* off or agent: what replaces history beyond the budget */
    SETTING_MEMORY_MESSAGES, /* maximum number of injected messages */
    SETTING_MEMORY_EACH, /* maximum characters of each injected message */
    SETTING_MEMORY_ALL, /* maximum characters of all, and of each list of `context` */
    SETTING_MEMORY_CURRENT, /* `context`: messages of the conversation, per role */
    SETTING_MEMORY_RELEVANT, /* `context`: messages of relevant history, per role */
    SETTING_SERVE_LISTEN, /* ADDRESS:PORT, or "": do not listen */
    SETTING_SERVE_UNIX, /* path of a socket, absolute or below the root, or "" */
    SETTING_SERVE_TOKEN, /* path of the file with the token, likewise */
    SETTING_SERVE_HOSTS, /* host names that requests may use, besides loopback ones */
    SETTING_SERVE_CERT, /* path of a certificate chain, or "" */
    SETTING_SERVE_KEY, /* path of its private key, or "" */
    SETTING_SERVE_REMOTE, /* yes: allow addresses beyond loopback without TLS */
    SETTING_COUNT
};

enum setting_how {
    SETTING_MAY_BE_EMPTY = 1, /* "" is valid: nothing was said */
    /* mas ignores it in a root that the user has not accepted, because its value names a program,
     * or a place on the network that would learn of the team */
    SETTING_IS_PROGRAM = 2,
    /* the hosts of a team read it when they start: a change reaches a team that runs with the next
     * `mas stop` and `mas start`; other settings are read by each command */
    SETTING_OF_HOSTS = 4,
};

/* What a value is besides its text: 0 for one that is a text alone. */
union setting_value {
    int64_t number; /* also of words, sizes and times */
    struct {
        int columns, rows;
    } size;
    struct notice_quiet quiet;
    struct budget_limit budget;
};

enum { SERVER_SHARED, SERVER_PER_SESSION }; /* SETTING_SERVER */

struct setting_info {
    const char *section, *key;
    const char *env; /* environment variable that sets it; NULL: none */
    const char *fallback; /* the built-in value */
    const struct value_type *type;
    const char *help;
    unsigned how; /* a set of enum setting_how */
};
extern const struct setting_info setting_infos[SETTING_COUNT];

/* Checks a value and, if `ret` is not NULL, says what it is. Returns NULL, or what a valid one is.
 */
const char *setting_parse(enum setting setting, const char *text, union setting_value *ret);
/* The values of enum mode. */
extern const struct value_type mode_type;

/* Writes "section.key" to `buf` and returns it. */
const char *setting_name(enum setting setting, char buf[64]);

/* Appends the text of a new mas.ini: every setting with its help, commented out but for
 * the template, if that is not NULL. */
void setting_write_defaults(struct str *to, const char *team);

/* Parses "200x50"; returns false for anything else. */
bool setting_parse_size(const char *text, int *ret_columns, int *ret_rows);
