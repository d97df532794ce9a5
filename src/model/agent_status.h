/*
 * What an agent does just now, as its host knows it. `mas status --json` prints these members. The
 * host's answer to "status" and "watch" (see HACKING.md, "The host's socket") has those that say
 * something, and times in ms alone: a command reads hundreds of them.
 */
#ifndef MAS_MODEL_AGENT_STATUS_H
#define MAS_MODEL_AGENT_STATUS_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum agent_state {
    AGENT_ASLEEP, /* start = demand: comes with its first message or key press */
    AGENT_STARTING, /* runs, not ready to read yet */
    AGENT_WORKING,
    AGENT_IDLE,
    AGENT_WAITING, /* for a permission or an answer */
    AGENT_EXITED, /* by itself, with a code; or because mas ended it */
    AGENT_CRASHED, /* by a signal that mas did not send; or with a code other than 0 where the
                      preset says restart = on-crash */
    AGENT_STATE_COUNT
};

enum { AGENT_NOTE_MAX = 512, AGENT_TITLE_MAX = 256 }; /* bytes */

struct agent_status {
    enum agent_state state;
    int64_t since_ms; /* epoch, like the others */
    int64_t output_ms; /* newest output; 0: none yet */
    int64_t restart_ms; /* when a crashed one is started again; 0: not by itself */
    pid_t pid; /* of the agent, 0: none runs */
    pid_t host_pid;
    char pane[24]; /* tmux's %id */
    int exit_code; /* of the last run; -1: none, or it ended by a signal */
    int signal; /* of the last run; 0: none */
    int restarts; /* since its host started */
    int queued; /* messages taken and not delivered yet */
    int64_t log_lost; /* bytes of output that are not in its log */
    char *title; /* terminal title it set; "" */
    char *note; /* an end's last lines, why it could not start, a notification; "" */
    /* of an agent that speaks ACP; false and "" or NULL of a terminal program */
    bool acp;
    char conversation[37]; /* the current one */
    char *continuity; /* how it came to know what was said: store_outcome_name() */
    char *permission; /* the id of the oldest request that is open */
    char *asks; /* what that is about */
};

const char *agent_state_name(enum agent_state state);
bool agent_state_parse(const char *text, enum agent_state *ret);
/* true where a process of the agent runs. */
bool agent_state_is_live(enum agent_state state);

/* Writes the members into an open object; times as ISO 8601 ("since") and in ms ("sinceMs"). */
void agent_status_put(const struct agent_status *status, struct json_out *out);
/* The same as a host answers it. */
void agent_status_tell(const struct agent_status *status, struct json_out *out);
/* Reads what a host answered; MAS_DAMAGED where it is none. Release with agent_status_free(). */
int agent_status_parse(const struct json *object, struct agent_status *ret, struct err *err);
void agent_status_free(struct agent_status *status);

#endif
