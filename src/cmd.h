/*
 * Commands: one static struct cmd a verb, all in the table in cmd.c. The parser, `mas help`, the
 * completion scripts and the check of the man pages follow that table.
 *
 * To add a verb: write src/cmd/<verb>.c with a `const struct cmd cmd_<verb>`, declare it below, put
 * it in the table in cmd.c, write test/cli/<verb>.bats and its entry in man/mas.1.
 *
 * A verb may be made of actions (`mas template list`): each is a struct cmd of its own, named
 * "template list", in the verb's list `actions`, and has its own entry in man/mas.1.
 */
#ifndef MAS_CMD_H
#define MAS_CMD_H

#include "base/err.h"
#include "base/id.h"
#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>

/* What the completion of a shell offers for an option's value or an operand. */
enum offer {
    OFFER_NONE,
    OFFER_FILE,
    OFFER_DIR,
    OFFER_SESSION,
    OFFER_TEMPLATE,
    OFFER_PRESET,
    OFFER_COMMAND,
    OFFER_SHELL,
    OFFER_TARGET, /* agents of the session that the command line names, units, ... */
    OFFER_AGENT, /* only its agents */
    OFFER_ACTION, /* of the command in the operand before */
    OFFER_STATUS, /* a list of them */
    OFFER_MODE,
    OFFER_UNTIL, /* of `wait` */
    OFFER_ALLOW, /* answers to a permission request */
    OFFER_REJECT,
};

struct opt {
    char letter; /* 0: only long */
    const char *name;
    const char *arg; /* what it takes, in capitals; NULL: nothing */
    const char *help;
    enum offer offer;
};

enum cmd_flags {
    CMD_ROOT = 1, /* opens the root and the settings before it runs */
    CMD_PRESETS = 2, /* with the presets */
    CMD_MAKES_ROOT = 4, /* sets up the user's default root where it is missing */
    CMD_NO_ROOT_OK = 8, /* runs without one where the default root is missing */
    CMD_JSON = 16, /* takes --json */
    CMD_QUIET = 32, /* takes -q */
    CMD_SESSION = 64, /* first operand is a SESSION, or -s, or $MAS_SESSION_ID */
    CMD_SESSIONS = 128, /* operands are SESSIONs, and so is -s */
    CMD_HIDDEN = 256, /* for mas itself */
    CMD_TARGET = 512, /* operands are [SESSION] TARGET, see cmd/targets.h; takes -s */
    CMD_RUNS = 1024, /* runs programs that the root names, see cmd/roots.h */
};

/* Where `mas help` lists a command; an action has none of its own. */
enum group {
    GROUP_NONE,
    GROUP_BEGIN,
    GROUP_SESSIONS,
    GROUP_AGENTS,
    GROUP_MEMORY,
    GROUP_PROGRAMS,
    GROUP_SETUP,
    GROUP_COUNT
};

struct call;

struct cmd {
    const char *name;
    enum group group;
    const char *alias; /* NULL: none */
    const char *operands; /* as in the usage line */
    const char *summary; /* one line, lower case, no full stop */
    const char *examples; /* command lines for `mas help <cmd>`, one a line */
    const char *details; /* more for `mas help <cmd>`, filled by it; NULL: nothing */
    const struct opt *opts; /* ends with a NULL name; NULL: none */
    int operands_min, operands_max; /* operands_max -1: any number */
    const char *stray; /* what to say of an operand too many; NULL: nothing */
    enum offer offer, then, rest; /* of its first, its second and all other operands */
    unsigned flags;
    const struct cmd *const *actions; /* NULL-terminated; NULL: it has none, else it has no run */
    /* 0, or -1 with *err set */
    int (*run)(struct call *call, struct err *err);
};

enum { OPTS_MAX = 24 };

struct call {
    const struct cmd *cmd;
    struct given { /* the command's own options, as they were given */
        const struct opt *opt;
        const char *value; /* "" for one that takes nothing */
    } * given;
    size_t given_count;
    char **operands; /* NULL-terminated, belongs to main */
    int operand_count;
    bool json;
    bool quiet;
    const char *session; /* what names the session, where CMD_SESSION; NULL: nothing does */
    const char *root_path; /* --root, or NULL */
    char *searched; /* where the root is or would be, once it was looked for */
    bool has_root;
    enum root_origin origin;
    struct root root;
    struct config config;
};

/* The table, NULL-terminated, in the order of `mas help`, which is group by group. */
extern const struct cmd *const cmd_table[];

/* NULL where there is none of that name or alias. */
const struct cmd *cmd_find(const char *name);
/* The action of that name; NULL where there is none. */
const struct cmd *cmd_action(const struct cmd *cmd, const char *name);
/* Parses the words behind the verb, opens what the command needs, runs it. */
int cmd_run(const struct cmd *cmd, int argc, char **argv, const char *root, struct err *err);
/* Options that a command takes besides its own, by its flags; ends with a NULL name. */
const struct opt *cmd_common_opts(const struct cmd *cmd, struct opt buf[8]);
void cmd_print_help(const struct cmd *cmd); /* NULL: the overview */

/* Opens the root and the settings, as the command's flags say; for one without CMD_ROOT. */
int call_open_root(struct call *call, struct err *err);
/* The value of an option of this call, the last one: NULL where it was not given. */
const char *call_opt(const struct call *call, const char *name);
/* All values of an option, in order; NULL where it was not given. Released with strv_free(). */
char **call_opts(const struct call *call, const char *name);
/* Adds the usage line to an error; returns -1. */
int call_usage(const struct call *call, struct err *err);
/* The id of the session that `text` means; NULL is a usage error. */
int call_select(const struct call *call, const char *text, char ret[ID_TEXT], struct err *err);

extern const struct cmd cmd_acp, cmd_approve, cmd_archive, cmd_ask, cmd_attach, cmd_cancel,
    cmd_clean, cmd_clear, cmd_complete, cmd_completion, cmd_config, cmd_context, cmd_deny,
    cmd_doctor, cmd_du, cmd_env, cmd_help, cmd_history, cmd_host, cmd_init, cmd_library, cmd_list,
    cmd_logs, cmd_mcp, cmd_migrate, cmd_new, cmd_peek, cmd_presets, cmd_restart, cmd_restore,
    cmd_rm, cmd_search, cmd_send, cmd_serve, cmd_set, cmd_show, cmd_start, cmd_status, cmd_stop,
    cmd_template, cmd_version, cmd_wait;

#endif
