/*
 * Presets: named ways to run an agent, as data. `[preset NAME]` in templates/agents.ini and
 * mas.ini; mas.ini(5) says what each key means.
 *
 * A key is a row of the table in preset.c: its name, the member that it sets, and a function that
 * reads it.
 */
#ifndef MAS_MODEL_PRESET_H
#define MAS_MODEL_PRESET_H

#include "base/err.h"
#include "base/ini.h"
#include "base/kv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRESET_NAME_MAX = 32, PRESET_REGEX_MAX = 512, PRESET_NEEDS_MAX = 32 };

/* When an agent's process starts: with the team, or with its first message or key press. */
enum start { START_UNSET, START_NOW, START_DEMAND };

/* "now", "demand", and "" for START_UNSET. */
const char *start_name(enum start start);
bool start_parse(const char *text, enum start *ret);

/* How its host speaks with an agent: as a terminal, or by the Agent Client Protocol. */
enum protocol { PROTOCOL_TTY, PROTOCOL_ACP };

/* What is answered when an agent asks for a permission: a person is asked, or mas answers. */
enum policy { POLICY_UNSET, POLICY_ASK, POLICY_ALLOW, POLICY_DENY };

/* What a tool call is about, as the Agent Client Protocol has it. */
enum tool_kind {
    TOOL_READ,
    TOOL_EDIT,
    TOOL_DELETE,
    TOOL_MOVE,
    TOOL_SEARCH,
    TOOL_EXECUTE,
    TOOL_THINK,
    TOOL_FETCH,
    TOOL_SWITCH_MODE,
    TOOL_OTHER,
    TOOL_KIND_COUNT
};

enum said { SAID_UNSET, SAID_NO, SAID_YES };

struct preset {
    char *name;
    enum protocol protocol;
    char *description; /* "" where it has none, like the next ones */
    char *command; /* words by the shell's quoting rules; "" is the user's shell */
    char *model_option; /* put in front of a model's name on the command line */
    char *install; /* how to get the program, for the error that says it is missing */
    char *login; /* how to log in, for the error that says that this is needed */
    char *as_root; /* what to know where it runs as root, for the error of one that cannot start */
    struct kv env; /* added to the agent's environment */
    char **needs_env; /* variables that must be there and not empty; may be NULL */
    enum start start; /* never START_UNSET */
    bool restart_on_crash;
    int restart_limit; /* how often in a row; 0: never */
    int restart_delay_ms; /* before the first time; doubles each time */
    uint64_t memory; /* bytes that it is likely to take; 0: not known */
    int idle_ms; /* no output for so long means idle */
    int ready_ms; /* silence after its first output that means ready to read */
    int ready_timeout_ms; /* ready after so long, whatever it shows */
    int enter_ms; /* between a message and its Enter */
    /* POSIX extended regular expressions, known to compile; "" none */
    char *ready, *waiting; /* on the last text that it printed */
    char *title_working, *title_idle, *title_waiting; /* on the title that it set */
    enum said is_operator; /* it is a person's terminal; unset: if it is the user's shell */
    /* of agents that speak the protocol */
    enum policy permission;
    enum policy tool_permission[TOOL_KIND_COUNT]; /* POLICY_UNSET: as `permission` */
    char *mode; /* that its sessions are put into; "" as the agent has it */
    char *plan_mode; /* in which it carries an approved plan out unasked; "" not known */
    bool tools; /* its sessions get the tools of the team (mas mcp) */
    int initialize_ms; /* for its first answer, and a new session */
    int resume_ms; /* for each attempt to bring a session back */
    int end_ms; /* after the end of its input, before SIGTERM */
};

/* The policy for a kind of tool by its name; one that is not known is TOOL_OTHER. */
enum policy preset_policy(const struct preset *preset, const char *kind);

/* An empty one with the values that a preset has without being told. */
void preset_make(struct preset *preset, const char *name);
/* Takes one key of its section, with an error that names file and line. */
int preset_read(struct preset *preset, const struct ini_line *line, struct err *err);
void preset_free(struct preset *preset);

#endif
