/*
 * Presets: named ways to run an agent, as data. They come from `[preset NAME]` in
 * templates/agents.ini and mas.ini; mas.ini(5) describes the keys.
 *
 * Each key is a row of the table in preset.c: its name, its type and the member that it sets.
 */
#pragma once

#include "base/kv.h"
#include "model/budget.h"
#include "model/ini.h"
#include "model/limits.h"
#include "model/line_rule.h"
#include "model/wall.h"

enum {
    PRESET_NAME_MAX = 32,
    PRESET_REGEX_MAX = 512,
    PRESET_NEEDS_MAX = 32,
    PRESET_READS_MAX = 16,
    PRESET_FILE_MAX = 64, /* bytes of a file name */
    PRESET_TOLD_MAX = 32, /* events, files, and tools */
    PRESET_EACH_MAX = 4, /* texts that are repeated for each event */
};

/* When the process of an agent starts: with the team, or with its first message or key press. */
enum start { START_UNSET, START_NOW, START_DEMAND };

/* "", "now" and "demand"; the last two are values of a preset. */
extern const char *const start_words[];

/* How the host communicates with an agent: through a terminal, or by the Agent Client Protocol. */
enum protocol { PROTOCOL_TTY, PROTOCOL_ACP };

/* How an agent's permission request is answered: mas asks a person, or answers itself. */
enum policy { POLICY_UNSET, POLICY_ASK, POLICY_ALLOW, POLICY_DENY };

/* The kind of a tool call, as defined by the Agent Client Protocol. */
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

/* What mas can do for an ACP agent, as bits: the members of clientCapabilities in initialize. */
enum preset_offer {
    OFFERS_FS = 1 << 0,
    OFFERS_TERMINAL = 1 << 1,
    OFFERS_ELICITATION = 1 << 2,
    OFFERS_AUTH = 1 << 3,
    OFFERS_SESSION = 1 << 4,
    OFFERS_SUBAGENTS = 1 << 5,
    OFFERS_ALL = (1 << 6) - 1,
};

enum said { SAID_UNSET, SAID_NO, SAID_YES };

/* How a person answers what programs ask of each new directory, once for all of a root. */
#define TRUST_ADVICE                                                                               \
    "'mas approve' says yes for one agent; a yes to the program itself, run in the root's "        \
    "sessions/, holds for all agents of the root, except that Codex asks for each repository"
#define TRUST_ASKED "trust: " /* begins what such an agent asks, before the directory */

/* What it does is not a tool, but something that only its own screen can answer. */
#define TOLD_QUESTION "question"

/* How a program on a terminal tells what it does, how its sessions are named, and which keys it
 * takes: host/terminal/teller.h. */
struct preset_told {
    struct kv events; /* its name of an event -> one of told_facts[] */
    char *hook; /* a JSON value: how its settings say that an event runs a command */
    struct kv each; /* name -> text: {name} is this text for each event, with commas between */
    struct kv files; /* name -> text: written into run/<agent>.role/told/ */
    struct kv homes; /* path in the home -> a JSON object, added to the agent's own copy of it */
    struct kv env; /* added to the environment */
    char *args; /* words with shell quoting, added to the command; also these: */
    char *begin, *resume; /* for a new session with the id {id}, and for one that goes on */
    char **kept; /* where it keeps a session: patterns of paths; NULL: nowhere */
    char **state; /* where it keeps its state, likewise; no {id} */
    char **transcript; /* where a session's transcript is, likewise; NULL: where it is kept */
    /* Files that are there while process {pid} has the session {id}, or without {pid} while a
     * process that has it holds them open, likewise. */
    char **alive;
    char *title_new; /* a pattern of its title while it has no session; "" none */
    char
        *like; /* the preset of the same program whose `kept`, `copies` and `lines` hold; "" this */
    char **database; /* where it keeps all sessions in one, likewise; NULL: it does not */
    /* SELECTs of SQL: of the sessions in it, and of the lines of one:
     * session/outside/outside_rows.h */
    char *session_rows, *line_rows;
    bool copies; /* a copy of a kept file with another id is a session, too */
    struct line_rule *lines; /* how the lines of the transcript read */
    size_t line_count;
    struct kv tools; /* its name of a tool -> a kind of tool, or TOLD_QUESTION */
    /* Keys (model/key_names.h): that allow what its dialog asks, refuse it, and stop its turn. */
    char *allow, *deny, *stop;
    /* The question whether its directory is to be trusted, as a pattern; and the keys for yes. */
    char *trust, *trust_keys;
    char *trusted; /* words for the command, once a person has said yes to that; "" none */
    struct kv trusted_homes; /* likewise, as `homes` */
    bool renews; /* behind that yes it starts itself anew, or ends with an error */
    char *clear; /* the line by which it begins a session anew, and tells it; "" none */
};

/* How a program is told to leave its own sandbox off, which it cannot put up inside of a wall. */
struct sandbox_off {
    struct kv env; /* added to the environment */
    char *args; /* words with shell quoting, added to the command */
    char *session; /* a JSON object: _meta of an ACP agent's sessions */
};

struct preset {
    char *name;
    enum protocol protocol;
    char *description; /* "" if the preset has none; this also applies below */
    char *command; /* words with shell quoting; "" is the user's shell */
    char *model_option; /* precedes the model's name on the command line */
    char *install; /* how to get the program; shown if it is missing */
    char *login; /* how to log in; shown if the agent needs a login */
    char *login_command; /* what /login runs for an agent behind a wall; "": nothing */
    char **login_files; /* below the home: one is there once it is logged in; NULL: nobody knows */
    char *as_root; /* advice for root; shown if an agent run by root cannot start */
    struct kv env; /* added to the agent's environment */
    char *accounts; /* as accounts_type; "": the login is the program's own */
    char **reads; /* files of instructions that it reads where it starts; NULL: none */
    char **needs_env; /* variables that must be set and not empty; may be NULL */
    enum start start; /* never START_UNSET */
    bool restart_on_crash;
    int restart_limit; /* restarts in a row; 0: never */
    int restart_delay_ms; /* before the first restart; doubles each time */
    uint64_t memory; /* bytes that it probably needs; 0: unknown */
    int idle_ms; /* without output for this long, the agent is idle */
    int ready_ms; /* this much silence after its first output means ready */
    int quiet_ms; /* and so much, if it has shown `ready` */
    int ready_timeout_ms; /* ready after this time in any case */
    int enter_ms; /* delay between a message and its Enter */
    bool pastes; /* a message is a bracketed paste, also one of a single line */
    int hold_ms; /* how long a message waits for a line that a person has typed on */
    /* POSIX extended regular expressions, known to compile; "" is none */
    char *ready, *waiting; /* match its last output */
    char *title_working, *title_idle, *title_waiting; /* match the title that it set */
    /* How a program on a terminal is told its role; host/role.c expands the placeholders. */
    char *picture; /* how the path of a picture is typed; "": not at all */
    char *role_option; /* words with shell quoting, added to the command */
    struct kv role_env; /* added to the environment */
    char *role_file; /* the name of the file with the text; "" is any */
    struct preset_told told;
    struct kv wall_env; /* added to the environment inside of a wall */
    struct sandbox_off sandbox_off;
    enum said is_operator; /* a terminal for a person; unset: yes for the user's shell */
    enum said executes; /* see preset_executes() */
    struct wall_options wall;
    /* ACP agents only */
    enum policy permission;
    enum policy tool_permission[TOOL_KIND_COUNT]; /* POLICY_UNSET: same as `permission` */
    char *mode; /* mode for its sessions; "" leaves the agent's own */
    char *plan_mode; /* mode in which it carries out an approved plan unasked; "" unknown */
    char *limited; /* matches its words for a limit of its provider; see config_limited() */
    unsigned offers; /* what mas says that it can do for it */
    bool tools; /* its sessions get the team's tools (mas mcp) */
    bool sums_tokens; /* it tells the tokens of all turns since it opened its session */
    int initialize_ms; /* limit for its first answer, and for a new session */
    int resume_ms; /* limit for each attempt to resume a session */
    int end_ms; /* wait after closing its input, before SIGTERM */
    int hibernate_ms; /* idle for this long, its process is ended; 0: never */
    struct budget budget;
    struct limit_set limits; /* LIMIT_SESSION is not set */
};

/* The time after which an idle agent is put to sleep, in ms: "no" is 0. */
extern const struct value_type hibernate_type;

/* Returns true if the program runs what it is sent, as a shell does. If the preset does not say so,
 * only a program that can be told its role is known to take words: an ACP agent, or one whose
 * preset says how. */
bool preset_executes(const struct preset *preset);

/* Returns true if the program tells what it does. */
static inline bool preset_tells(const struct preset *preset)
{
    return preset->protocol == PROTOCOL_TTY &&
           (preset->told.events.count > 0 || preset->told.line_count > 0);
}

/* Returns true if it is known where the program, which tells, keeps its sessions. */
static inline bool preset_keeps(const struct preset *preset)
{
    return preset_tells(preset) && (preset->told.kept != NULL || preset->told.database != NULL);
}

/* Returns the policy for a kind of tool, given its name. An unknown name counts as TOOL_OTHER. */
enum policy preset_policy(const struct preset *preset, const char *kind);

/* Returns the kind of a tool that a program tells of by its name: "execute", ..., or TOLD_QUESTION.
 */
const char *preset_told_kind(const struct preset *preset, const char *tool);

/* Initialises a preset with its name and default values. The caller releases it with
 * preset_free(). */
void preset_make(struct preset *preset, const char *name);
/* Parses one key of the preset's section. The error names file and line. */
int preset_read(struct preset *preset, const struct ini_line *line, struct err *err);
void preset_free(struct preset *preset);
