/*
 * The status of an agent, as its host knows it. `mas status --json` prints these members. The
 * host's answers to "status" and "watch" (protocol/host.h) omit members without information and
 * give times in ms only, because a command may read hundreds of them.
 */
#pragma once

#include "base/json.h"
#include "base/number.h"
#include "model/disk.h"
#include "model/limits.h"
#include "model/money.h"
#include "model/wall.h"

enum agent_state {
    AGENT_ASLEEP, /* start = demand: starts with its first message or key press */
    AGENT_STARTING, /* runs, not ready for input yet */
    AGENT_WORKING,
    AGENT_IDLE,
    AGENT_WAITING, /* for a permission or an answer */
    AGENT_LIMITED, /* its provider told it to wait: see until_ms and retry_ms */
    AGENT_PAUSED, /* it has reached a budget, or its session a quota; a person lets it go on */
    AGENT_EXITED, /* on its own with a code, or ended by mas */
    /* by a signal that mas did not send, or, if the preset sets restart = on-crash, with a code
     * other than 0 */
    AGENT_CRASHED,
    AGENT_STATE_COUNT
};

/* How the newest turn of an agent ended. */
enum turn_outcome {
    TURN_NONE, /* it has had none yet */
    TURN_DONE, /* well, or as a person wanted */
    TURN_FAILED, /* by an error, or because its program ended otherwise than well */
    TURN_STOPPED, /* cut off: by a stop, by a kill of its host, or with its machine */
    TURN_OUTCOME_COUNT
};

enum { AGENT_NOTE_MAX = 512, AGENT_TITLE_MAX = 256 }; /* bytes */

/* What an agent has done in its work tree, at the time when mas last looked. */
struct code_figures {
    int64_t looked_ms; /* milliseconds since 1970; 0: never, or the agent has no work tree */
    char branch[AGENT_TITLE_MAX]; /* "": no branch is checked out */
    int ahead, behind; /* commits, compared with the integration branch */
    int changed; /* files that are not committed */
    char problem[AGENT_TITLE_MAX]; /* why mas cannot read it; "": mas can */
};

/* What an agent has used, as far as it tells. 0 and "" are unknown. */
struct agent_usage {
    int64_t context_used, context_size; /* tokens */
    int64_t tokens; /* of all its turns in this session */
    struct money cost; /* of all its turns in this session, in the currency it told last */
};

/* What the processes of an agent use, at the time when its host last measured; -1: unknown. */
struct agent_resources {
    int64_t cpu_ms; /* used so far */
    int64_t memory; /* bytes */
    int64_t processes; /* with a cgroup also threads */
};

enum { AGENT_CPU_TEXT = 32 };

struct agent_status {
    enum agent_state state;
    int64_t since_ms; /* milliseconds since 1970, like the next two */
    int64_t output_ms; /* newest output; 0: none yet */
    int64_t restart_ms; /* when one that does not run starts again; 0: it does not */
    int64_t until_ms; /* of a limited agent: when its provider takes prompts again; 0: unknown */
    int64_t
        retry_ms; /* of a limited agent: when mas sends its prompt again, by mas's own rule; 0 */
    int64_t done_ms; /* when its newest turn ended, or it became idle; 0: it has done nothing yet */
    int64_t seen_ms; /* when a person last looked at it; 0: nobody has */
    enum turn_outcome turn; /* how its newest turn ended; while one is on, the one before */
    char *turn_why; /* why it failed or was stopped; or "" */
    pid_t pid; /* of the agent, 0: none runs */
    pid_t host_pid;
    char pane[24]; /* tmux's %id */
    int exit_code; /* of the last run; -1: none, or it ended by a signal */
    int signal; /* of the last run; 0: none */
    int restarts; /* since its host started */
    int port; /* the first of its own ports (store/ports.h); 0: none */
    int queued; /* messages accepted but not delivered yet */
    int64_t log_lost; /* bytes of output missing from its log */
    int64_t passed_over; /* lines of its program's transcript that say nothing that mas knows */
    char *title; /* the terminal title that it set; or "" */
    char *memory; /* what is wrong with memory.db, as far as it concerns the agent; or "" */
    char *account; /* that its program logs in with; NULL or "": none */
    char *note; /* last lines before its end, why it cannot start, or a notification; or "" */
    struct code_figures code;
    struct agent_resources resources;
    struct wall_report wall; /* of the process that runs, or ran last */
    struct disk_use disk; /* of its own directories */
    struct limits_held limits;
    bool acp;
    /* What it does is told, by ACP or by hooks of its program, instead of being seen on its screen.
     */
    bool tells;
    /* It has a conversation: it can be asked, and answered. Only then there is the rest; else it is
     * "" or NULL. */
    bool talks;
    char conversation[37]; /* id of the current conversation; a transcript tells of one, too */
    char *continuity; /* how it learned what was said before: store_outcome_name() */
    char *permission; /* id of the oldest open permission request */
    char *asks; /* the subject of that request */
    struct agent_usage usage;
};

/* The name of a state, such as "idle", and the reverse; agent_state_parse() returns false for an
 * unknown name. */
const char *agent_state_name(enum agent_state state);
bool agent_state_parse(const char *text, enum agent_state *ret);
/* The name of an outcome: "done", "failed", "stopped"; NULL: none. */
const char *turn_outcome_name(enum turn_outcome end);
/* Returns true if the newest turn has failed or was stopped, and no other one has begun. */
bool agent_turn_is_bad(const struct agent_status *status);
/* Appends "the turn failed: WHY" or "the turn was stopped: WHY" if the newest turn is bad. */
void agent_turn_add(const struct agent_status *status, struct str *to);
/* Appends how the last run of an agent ended, such as "was killed by signal 9 (Killed)"; nothing
 * if it has not. */
void agent_end_add(const struct agent_status *status, struct str *to);
/* Returns true if a process of the agent runs in this state. */
bool agent_state_is_live(enum agent_state state);

/* Writes the members into an open object, each time as ISO 8601 ("since") and in ms ("sinceMs"). */
void agent_status_put(const struct agent_status *status, struct json_out *out);
/* Writes the members in the short form of a host's answer. */
void agent_status_tell(const struct agent_status *status, struct json_out *out);
/* Parses a host's answer. Fails with MAS_DAMAGED if it is not a valid status. The caller releases
 * *ret with agent_status_free(). */
int agent_status_parse(const struct json *object, struct agent_status *ret, struct err *err);
void agent_status_free(struct agent_status *status);

/* What the host in a pane knows of it, so that tmux need not be asked. */
struct agent_pane {
    pid_t server; /* the tmux server; 0: the host does not tell */
    char session[24]; /* "$3", valid on its server */
    int64_t activity_ms; /* the newest output there; milliseconds since 1970; up to 8 s early */
    int agents; /* of the whole team */
};
/* Writes the member "tmux", and reads such an object; 0 and "" if it is NULL or no such object. */
void agent_pane_put(const struct agent_pane *pane, struct json_out *out);
void agent_pane_parse(const struct json *object, struct agent_pane *ret);

/* Reads such an object; all is unknown if it is NULL. */
void agent_usage_parse(const struct json *object, struct agent_usage *ret);
/* Reads the member "resources"; all is unknown if it is NULL. */
void agent_resources_parse(const struct json *object, struct agent_resources *ret);
/* Writes the CPU time as ps(1) does, "1:02:03", and the memory as "2.1M", for tables; "" for what
 * is unknown. */
void agent_resources_format(const struct agent_resources *resources, char cpu[AGENT_CPU_TEXT],
                            char memory[NUMBER_SIZE_TEXT]);
/* Returns how much of the context is used, in percent; -1 if that is not known. */
int agent_usage_percent(const struct agent_usage *usage);

/* Writes the member "code", null if nobody has looked. */
void code_figures_put(const struct code_figures *figures, struct json_out *out);
/* Writes the members in the short form, into an open object. */
void code_figures_tell(const struct code_figures *figures, struct json_out *out);
/* Reads such an object; all is 0 and "" if it is NULL. */
void code_figures_parse(const struct json *object, struct code_figures *ret);
/* Appends "+2 -1 ~3" for 2 commits ahead, 1 behind and 3 changed files; "=" if there are none. */
void code_figures_format(int64_t ahead, int64_t behind, int64_t changed, struct str *to);
/* Returns true if both say the same, whenever it was found. */
bool code_figures_equal(const struct code_figures *a, const struct code_figures *b);
