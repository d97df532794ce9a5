/*
 * Commands: each verb is one constant struct cmd; the table in cmd.c lists them all. The parser,
 * `mas help`, the completion scripts and the check of the man pages use that table.
 *
 * To add a verb: write src/cmd/<verb>.c with a `const struct cmd cmd_<verb>`, declare it below, add
 * it to the table in cmd.c, write test/cli/<verb>.bats and its entry in man/mas.1.
 *
 * A verb may consist of actions (`mas template list`). Each action is a struct cmd named "template
 * list" in the verb's list `actions`, and has its own entry in man/mas.1. An action may have
 * actions in turn (`mas serve token add`). A verb that runs by itself and has actions, too, takes
 * no operands: its action is the first word behind it, as in `mas serve token list`.
 */
#pragma once

#include "base/id.h"
#include "store/config.h"
#include "store/root.h"

/* What the word for an option's value or an operand stands for: what shell completion offers, and
 * what is a file. The words are in cmd.c. */
enum offer {
    OFFER_NONE,
    OFFER_FILE,
    OFFER_DIR,
    OFFER_SESSION,
    OFFER_TEMPLATE,
    OFFER_PRESET,
    OFFER_COMMAND,
    OFFER_SHELL,
    OFFER_TARGET, /* agents and units of the session on the command line, and words */
    OFFER_AGENT, /* only agents of that session */
    OFFER_ACTION, /* of the command in the previous operand */
    OFFER_STATUS, /* a comma-separated list */
    OFFER_MODE,
    OFFER_UNTIL, /* states for `wait --for` */
    OFFER_ALLOW, /* answers to a permission request */
    OFFER_REJECT,
    OFFER_HOST, /* hosts of mas.ini */
    OFFER_ACCOUNT, /* a comma-separated list of accounts of mas.ini */
    OFFER_KEPT, /* agent sessions that began without mas */
};

struct opt {
    char letter; /* 0: it has only a long name */
    const char *name;
    const char *arg; /* name of its value, in capitals; NULL: it takes no value; in brackets: it
                      * may have one, after "=" */
    const char *help;
};

/* The root that a verb works in. */
enum cmd_root {
    ROOT_NONE,
    ROOT_NEEDED,
    ROOT_IF_THERE, /* it runs without one if the user's default root is missing */
    ROOT_MADE, /* the user's default root is made if it is missing */
};

/* What it acts on there, which it also takes as -s. */
enum cmd_on {
    ON_NOTHING,
    ON_SESSION, /* -s, else the first operand, else $MAS_SESSION_ID */
    ON_SESSIONS, /* all operands are SESSIONs */
    ON_TARGET, /* operands are [SESSION] TARGET, see cli/targets.h */
};

/* Who may run it. */
enum cmd_who {
    WHO_USERS, /* no agent: its host refuses that, see cli/brokered.h */
    WHO_AGENTS, /* agents, too, on their own session */
    WHO_AGENTS_SHARE, /* likewise, and on other sessions, as [memory] share says */
    WHO_PERSONS, /* no process of an agent in the root */
    WHO_PERSONS_ANYWHERE, /* no process of any agent: it reaches other machines */
};

/* The options that it shares with others; cmd_common_opts(). */
enum cmd_takes {
    TAKES_JSON = 1, /* --json */
    TAKES_QUIET = 2, /* -q */
    TAKES_ALL_HOSTS = 4, /* --all-hosts: a row in cli/all_hosts_table.c */
};

/* What it does that others have to know. */
enum cmd_does {
    OPENS_ROOT_LATER = 1, /* by call_open_root(); else cmd_run() opens root and settings first */
    READS_PRESETS = 2, /* the settings include the presets */
    RUNS_PROGRAMS = 4, /* that the root names, see cli/roots.h */
    CHANGES_SESSIONS = 8, /* refuses those of other machines, see store/owner.h */
    WAITS_LONG = 16, /* for agents, persons, checks or a stream: it may say nothing for hours */
    USES_TERMINAL = 32, /* `mas --host` gives it one there */
    OPENS_NO_DATABASE = 64, /* an agent's host runs it without a program of its own */
};

struct call;
struct carry; /* fleet/carry.h */

/* What a verb does with a session that is a job of Slurm; see cli/jobs.h. */
struct batch_job;
struct cmd_job {
    /* Acts on a job whose team is not up; NULL: the verb refuses jobs, whatever they do. */
    int (*act)(const struct call *call, const char *store, const struct batch_job *job,
               struct err *err);
    bool ends; /* likewise if the team is up: inside of the job the verb would end with it */
};

/* The heading under which `mas help` lists a command. */
enum group {
    GROUP_NONE, /* of an action */
    GROUP_HIDDEN, /* for mas itself; not listed */
    GROUP_BEGIN,
    GROUP_SESSIONS,
    GROUP_TEAMS,
    GROUP_AGENTS,
    GROUP_CODE,
    GROUP_MEMORY,
    GROUP_PROGRAMS,
    GROUP_SETUP,
    GROUP_COUNT
};

struct cmd {
    const char *name;
    enum group group;
    const char *alias; /* NULL: none */
    const char *operands; /* as in the usage line, with a leading space, or "" */
    const char *summary; /* one line, lower case, no full stop */
    const char *examples; /* command lines for `mas help <cmd>`, one per line */
    const char *details; /* text of `mas help <cmd>`, which fills its lines; NULL: none */
    const struct opt *opts; /* ends with a NULL name; NULL: none */
    int operands_min, operands_max; /* operands_max -1: any number */
    const char *stray; /* hint for a surplus operand; NULL: none */
    enum offer last; /* for the last operand, if its word in `operands` does not say that */
    enum cmd_root root;
    enum cmd_on on;
    enum cmd_who who;
    unsigned takes, does; /* bits of enum cmd_takes, enum cmd_does */
    const struct cmd_job *job; /* NULL: what it does with any session, inside of the job */
    const struct cmd *const *actions; /* NULL-terminated; NULL: none */
    /* Called here before it runs on another machine, on its session (NULL: on none). *ret_done: it
     * need not run there. NULL: nothing is to be done here. */
    int (*from_here)(struct call *call, const struct carry *carry, const char *session,
                     bool *ret_done, struct err *err);
    /* Called here after it has succeeded there. NULL: nothing is to be done. */
    int (*back_here)(struct call *call, struct err *err);
    /* NULL: it has only actions. */
    /* Returns 0, or -1 with *err set. */
    int (*run)(struct call *call, struct err *err);
};

enum { OPTS_MAX = 28 };

struct call {
    const struct cmd *cmd;
    struct given { /* the command's own options, in the order given */
        const struct opt *opt;
        const char *value; /* "" if the option takes no value */
    } * given;
    size_t given_count;
    char **operands; /* NULL-terminated; part of the argv of main() */
    int operand_count;
    bool json;
    bool quiet;
    bool all_hosts;
    bool greet;
    const char *session; /* names the session: -s or, with ON_SESSION, the operand or variable */
    char **texts; /* that values of options have become */
    char **jobs; /* what NAME:SESSION became where it means a job, see call_go_elsewhere() */
    const char *root_path; /* --root, or NULL */
    char *searched; /* path where mas looked for the root; NULL before that */
    bool has_root;
    enum root_origin origin;
    struct root root;
    struct config config;
};

/* The table, NULL-terminated, in the order of `mas help`, grouped by `group`. */
extern const struct cmd *const cmd_table[];

/* Returns the command with this name or alias, or NULL. */
const struct cmd *cmd_find(const char *name);
/* Returns the action `name` ("list") of a command, or NULL. */
const struct cmd *cmd_action(const struct cmd *cmd, const char *name);
/* Returns the name of an action in the list of its command: "list" of "template list". */
const char *cmd_action_name(const struct cmd *action);
/* The options before the verb. */
struct cmd_globals {
    const char *root; /* --root, or NULL */
    bool greet; /* --greet: see fleet/greeting.h */
};
/* Runs a command, or prints its help. argv[0] is not read; options and operands follow. Opens
 * the root and the settings if the command needs them. Of what ran on other machines, which prints
 * its own errors, *ret_code is the first exit code but 0. */
int cmd_run(const struct cmd *cmd, int argc, char **argv, const struct cmd_globals *globals,
            int *ret_code, struct err *err);
/* Prints what a command has failed with, if rc is -1, and what is still to be printed. Returns the
 * exit code; `code` is the one of what failed before, or MAS_OK. */
int cmd_finish(int rc, int code, struct err *err);
/* Opens the files that the options of a command name in place of standard input, and replaces their
 * names in argv with "-". A command line that is wrong stays as it is. */
int cmd_open_files(const struct cmd *cmd, int argc, char **argv, struct err *err);
/* Returns true if a command line has one of the command's own options; false if it is wrong. */
bool cmd_has_option(const struct cmd *cmd, int argc, char *const *argv, const char *name);
/* Finds the word of a command line that names the session, or the first of several; NULL if there
 * is none. It points into a word of argv, which stays as it is. *ret_only: no other word names one.
 * Fails with MAS_USAGE if the command line is wrong. */
int cmd_session_word(const struct cmd *cmd, int argc, char *const *argv, const char **ret,
                     bool *ret_only, struct err *err);
/* Fills `buf` with the shared options that a command takes, and returns it. The list
 * ends with a NULL name. */
const struct opt *cmd_common_opts(const struct cmd *cmd, struct opt buf[8]);
/* Returns what completion offers for the operand at a place, 0 being the first: what its word in
 * `operands` names, such as SESSION. */
enum offer cmd_operand_offer(const struct cmd *cmd, size_t place);
/* Likewise for the value of an option. */
enum offer opt_offer(const struct opt *opt);
/* Returns true if cmd_run() opens the root for it. */
bool cmd_opens_root(const struct cmd *cmd);
/* Prints the help of a command, or the overview if cmd is NULL. */
void cmd_print_help(const struct cmd *cmd);

/* Opens the root and the settings as the command says. cmd_run() calls it if cmd_opens_root(). */
int call_open_root(struct call *call, struct err *err);
/* Prints up to DIAGNOSTICS_SHOWN errors of mas.ini; the last one is left in *err. Returns -1. */
int call_show_wrong(const struct diagnostics *wrong, int code, struct err *err);
/* Runs the command on the machines of the sessions that are named NAME:SESSION, where mas.ini has
 * a host NAME, one after the other, and takes these sessions from the call. Those that a command
 * acts on as jobs (cmd->job) stay, as ids in call->jobs: call_select() finds
 * no session by them. *ret_done: no session is left. See cli/remote/remote.h. */
int call_go_elsewhere(struct call *call, bool *ret_done, int *ret_code, struct err *err);
/* Runs a command with --all-hosts. *ret_code is the first exit code but 0 of a
 * machine. See cli/all_hosts.h. */
int call_all_hosts(struct call *call, int *ret_code, struct err *err);
/* Fail if a host runs this command for its agent, and the agent may not do that: see
 * cli/brokered.h. `text` names a session, `id` is what was found; NULL: none, or several. */
int call_check_agent(const struct call *call, struct err *err);
int call_check_session(const struct call *call, const char *text, const char *id, struct err *err);
/* Returns the last value of one of the command's own options; NULL if it was not given. */
const char *call_opt(const struct call *call, const char *name);
/* Returns all values of an option in order; NULL if it was not given. The caller releases them with
 * strv_free(). */
char **call_opts(const struct call *call, const char *name);
/* Adds the usage line to an error as its hint. Returns -1. */
int call_usage(const struct call *call, struct err *err);
/* Sets the error for an operand that the command does not take. Returns -1. */
int call_unexpected(const struct call *call, const char *operand, struct err *err);
/* Adds how to run the command on a host to an error as its hint. Returns -1. */
int call_hint_host(const struct call *call, const char *host, struct err *err);
/* Sets the error for the value of an option; `want` says what the value must be. Returns -1. */
int call_bad_value(const struct call *call, const char *option, const char *want, struct err *err);
/* Sets *ret to the value of an option that is an age or a time in the past, in ms since 1970.
 * Without that option it stays unchanged. */
int call_past(const struct call *call, const char *option, int64_t *ret, struct err *err);
/* Finds the session that `text` names and stores its id in `ret`. If text is NULL, sets a usage
 * error. */
int call_select(const struct call *call, const char *text, char ret[ID_TEXT], struct err *err);

extern const struct cmd cmd_add, cmd_fork, cmd_remove;
extern const struct cmd cmd_commits, cmd_compare, cmd_diff, cmd_land, cmd_merge, cmd_pick,
    cmd_review, cmd_sync, cmd_try;
extern const struct cmd cmd_carried, cmd_leave, cmd_move, cmd_open, cmd_receive, cmd_reset;
extern const struct cmd cmd_acp, cmd_adopt, cmd_approve, cmd_archive, cmd_ask, cmd_attach,
    cmd_cancel, cmd_clean, cmd_clear, cmd_complete, cmd_completion, cmd_config, cmd_context,
    cmd_deny, cmd_doctor, cmd_du, cmd_env, cmd_errand, cmd_every, cmd_goal, cmd_help, cmd_history,
    cmd_host, cmd_init, cmd_invite, cmd_keys, cmd_remote, cmd_lease, cmd_library, cmd_list,
    cmd_lfs_filter, cmd_logs, cmd_look, cmd_mcp, cmd_measure, cmd_migrate, cmd_new, cmd_next,
    cmd_notify, cmd_peek, cmd_presets, cmd_restart, cmd_restore, cmd_rm, cmd_kept, cmd_run_session,
    cmd_search, cmd_send, cmd_serve, cmd_set, cmd_setup, cmd_show, cmd_sleep, cmd_start, cmd_status,
    cmd_stop, cmd_template, cmd_tick, cmd_top, cmd_usage, cmd_version, cmd_wait;
