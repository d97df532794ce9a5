/*
 * What any agent has that is asked something and tells what it does, whatever it speaks; for
 * src/host/ only. struct talk is composed of parts. One file owns each part and is the only one
 * that changes it, unless the comment on the part says otherwise. Lowest first:
 *
 *     event.h                    what clients are told
 *     memory       memory.h      where the conversation is stored, and the messages of mas
 *     spending     usage.h       tokens, costs and working time; budget.h: their limits
 *     queue        queue.h       prompts that wait
 *     limit        limit.h       what the provider takes now
 *     quota        quota.h       how much of its windows is used, and what waits for that
 *     turns        turns.h       how many turns may be on at the same time
 *     turn         said.h        what the agent says and does in the turn, or by itself
 *     permissions  permission.h  what a person is asked
 *     sleep        sleep.h       what keeps the agent awake, and when it falls asleep
 *     -            query.h       which conversation and query it is in
 *     turn         turn.h        the prompt at work, and what holds it back
 *     -            clear.h       a clear, which begins the next query
 *     -            doing.h       what the agent does, worked out from the parts each time
 *     -            request.h     what clients ask of it
 *
 * parts.h makes all of this. No file calls one that is above it, and none knows the kind of agent:
 * what has to be done there it asks by struct talk_ops. The kind calls down.
 */
#pragma once

#include "host/state.h"
#include "memory/store.h"
#include "model/token_counts.h"
#include "protocol/tool_words.h"
#include "protocol/word.h"
#include "store/limits/login_limit.h"

enum {
    EVENT_ID_MAX = 64, /* bytes of a message's id */
    PERMISSIONS_MAX = 32, /* asked at the same time */
    BUDGET_WORDS = 400, /* bytes */
    LIMIT_WORDS_MAX = 400, /* bytes of a message of a provider */
};

/* What the store knows for other parts. */
struct memory_hooks {
    /* Reads what waits in the store, which is being opened. */
    int (*read)(struct host *host, struct err *err);
    /* It is open, or has all of its writes again (`again`): its sums are to be read. */
    void (*opened)(struct host *host, bool again);
};

/* Where the conversation is stored. `place` is valid while `store` is open. query.c and clear.c
 * change the place, and who is told of a mode and of options these. */
struct conversation_memory {
    const struct memory_hooks *hooks;
    struct store *store; /* NULL: it cannot be opened */
    struct store_place place; /* the present conversation and its query */
};

/* What the agent uses. `paused`, `look_at` and `changes` belong to budget.c. */
struct spending {
    struct agent_usage usage; /* as far as the agent tells; for its status */
    struct token_counts summed; /* what the agent session has told last */
    int64_t began; /* when the turn did */
    int64_t waited; /* how long it has waited for a person; waits_since 0: it does not now */
    int64_t waits_since;
    int64_t kept_at; /* when the time of the turn was stored last */
    char paused[BUDGET_WORDS]; /* the limits that are reached; "": none */
    bool said; /* the clients know that it is paused */
    unsigned warned; /* bits 1 << kind: they know that this limit cannot be counted */
    int64_t changes; /* of the store, when the limits were looked at last */
    int64_t look_at; /* when to look whether the store has changed */
};

/* A prompt that waits, or is at work. */
struct prompt {
    int64_t number; /* in the store */
    char *text;
    size_t len;
    char from[TEAM_WORD_MAX + 1]; /* "-": a person */
    char **tags; /* NULL: none */
    char *data; /* its pictures (model/picture.h); NULL: none */
    bool begun; /* it was stored as a prompt whose turn begins */
    bool kept; /* the agent was stopped, and those who wait for it know that it is asked later */
    bool told; /* the clients know that its turn begins */
    bool given; /* the agent has it, and is to tell that its turn begins */
    bool later; /* it was given in the middle of a turn, and the agent tells when it takes it */
    bool message; /* it was typed by the host, as a message, and is typed again if it is refused */
    bool unwanted; /* it is given, and its turn is to be cancelled when it begins */
    int64_t steer; /* the serial of the request by which the agent may take it now; 0: none */
    int64_t asked_ms; /* when it was accepted; ms since 1970 */
    char conversation[37]; /* in which it was asked; "" the present one; and the query there */
    int64_t query;
};

/* Prompts in the order in which they are asked. Each of them is in the store too, as a message that
 * waits. */
struct prompt_queue {
    struct prompt *prompts;
    size_t count;
    bool read; /* the prompts that waited when this host began are in it */
    bool lacks_first; /* the first message of the team is not in it, as it could not be stored */
};

/* A tool call of the turn, as far as it is known. */
struct tool_call {
    int64_t number; /* in the store; 0: it is not there */
    char *id, *kind, *status, *text;
    char *told; /* the title, as the agent tells it */
    char *title; /* with what it is about: tool_words_line() */
    struct tool_words is;
};

/* Tool calls of a turn, or of a subagent. */
struct tool_table {
    struct tool_call *call;
    size_t count;
};

/*
 * The turn. If it is not on, tool calls and growing messages are what the agent says by itself.
 * said.c keeps tool calls, messages and plan; whoever hears the agent sets `heard`, `employs` and
 * `skipped`, and who sends the prompt, `serial`. memory.c sets `unkept`, and the numbers to 0 if it
 * begins a new store.
 */
struct turn {
    bool on;
    struct prompt prompt;
    int64_t serial; /* of the request to the agent */
    struct prompt *steered; /* that the agent has taken in the middle of it */
    size_t steered_count;
    bool cancelled;
    int64_t cancel_until; /* when the agent is ended if it has not ended the turn; -1 */
    bool heard; /* the agent has said or done something in it */
    int64_t answer, thought, plan; /* messages that grow; 0: none */
    size_t answer_len, thought_len; /* bytes of them */
    bool employs; /* a subagent or a task has begun in it */
    struct tool_table tools;
    char *plan_text; /* newest plan as text; NULL */
    bool unkept; /* something could not be stored, and the clients know it */
    bool skipped; /* a message was too long, and the clients know it */
};

/* A permission that is asked. */
struct asked_permission {
    int64_t number; /* in the store: clients name it so */
    char id[EVENT_ID_MAX]; /* the same with the session's id */
    char *ticket; /* by which the agent knows the answer */
    /* title: what is asked, on a line; details: all of it, for reading */
    char *title, *kind, *details, *tool_id;
    char *subagent; /* the session of the subagent that asks; NULL: the agent itself */
    bool plan; /* the agent asks to approve a plan */
    char *plan_text; /* NULL: not known */
    bool elicits; /* it is no permission: the agent asks a person for something */
    char *form; /* the JSON schema of that; NULL: none */
    char *url, *url_host; /* that a person opens in a browser, and its host; NULL: none */
    char *elicitation; /* the agent's id of that */
    struct word *options; /* the agent's, and for a plan one of mas */
    size_t count;
    char *alone; /* why only its own screen can answer; NULL: clients can */
};

/* Permissions that are asked, the oldest first. Each of them waits for an answer of a client, and
 * the agent waits for it. */
struct permissions {
    struct asked_permission open[PERMISSIONS_MAX];
    size_t count;
};

/* What the agent's provider has told it to wait for. Times in ms since 1970, except look_at and
 * trial_until, which are monotonic. */
struct agent_limit {
    char login[LOGIN_ID]; /* for store/limits/login_limit.h */
    int64_t prompt; /* that was refused, or is sent again; 0: none */
    int attempts; /* how often it was refused in a row */
    bool sent; /* it was sent again since */
    bool unwritten; /* run/<agent>.limit does not say so yet */
    bool on; /* the next turn waits */
    /* A person may ask the agent on a screen of its own: it is limited while no prompt waits, too,
     * and a turn is no trial of mas. */
    bool screen;
    bool skip; /* a person wants it to be tried now */
    int64_t until_ms, due_ms; /* as in struct login_limit */
    int64_t look_at; /* when to look whether the wait is over */
    int soon; /* so many more looks come soon */
    int64_t began_ms; /* the last turn */
    int trial; /* held while this agent tries first, for all with the same login; -1 */
    int64_t trial_until;
    int dir; /* sessions/.limits; -1: not open */
    int watch; /* tells changes in it; -1 */
    char said[LIMIT_WORDS_MAX + 2]; /* the beginning of what the agent says in the turn */
    size_t said_len;
    char note[96];
};

/* Why what no person has sent waits; "": it does not. */
struct agent_quota {
    char note[96];
    int64_t look_at; /* monotonic; when to look again */
    bool passes; /* a person's prompt of another conversation is at the front now */
};

/* The limits of turns at the same time; see store/limits/turn_slots.h. */
enum { TURNS_ROOT, TURNS_SESSION, TURN_POOLS };
struct agent_turns {
    struct turn_pool {
        int most; /* turns; 0: any number */
        int dir, slot, ticket; /* -1 */
        char *name; /* of the ticket; NULL: none */
    } pool[TURN_POOLS];
    bool waits; /* the next turn waits for a slot */
    int64_t look_at; /* monotonic; when to look again */
    int watch; /* tells changes in the directories; -1 */
    char note[96];
};

/*
 * What keeps the agent's process from being ended while it is idle. Its own processes are those
 * that ran before the first turn of a session: the rest of the program, and its MCP servers. What
 * came later may be work that goes on behind a turn.
 */
struct agent_sleep {
    bool marked; /* the mark is in run/, so that the next host does not start the agent */
    bool unwritten; /* it could not be written yet */
    bool woken; /* it comes back from its sleep, and its history has to say how */
    struct proc_id *own, *strange; /* strange: those that were not its own in the session before */
    size_t own_count, strange_count;
    bool knows_own; /* a turn of the present session has begun */
    struct open_call {
        char *id, *title;
    } * calls; /* tool calls that go on behind a turn */
    size_t call_count;
    bool lost; /* there were too many of them */
    int64_t since; /* when it became idle; -1: it is not */
    int64_t again; /* when the next attempt is due, after one that failed */
};

struct answered_permission;
struct verdict;

/* What an agent can do, which clients may offer a person. */
struct abilities {
    bool known; /* a process of this host has told them */
    bool now; /* it takes words in the middle of a turn */
    bool aside; /* a copy of its session can be asked */
    bool pictures; /* it takes them in prompts */
    bool kept, delete_kept; /* it lists its sessions, and deletes them */
};

/* What the parts of a talk have its agent do, and ask it. */
struct talk_ops {
    /* Shows an event on the pane, if nothing else does. */
    void (*show)(struct host *host, const char *event, const char *text, size_t len);
    /* ---- turns */
    bool (*is_ready)(const struct host *host); /* it takes prompts */
    /* Sends the prompt of the turn. */
    void (*send)(struct host *host);
    /* Of an agent that begins its turns itself, instead of `send`: gives it the first prompt of the
     * queue, which stays there until it tells of that turn. */
    void (*give)(struct host *host);
    /* A turn has ended well; called before its end is stored. */
    void (*succeeds)(struct host *host);
    /* Asks it to end the turn, or what goes on without one. Returns false if there is nothing. */
    bool (*cancel)(struct host *host);
    /* Takes back a prompt that it was given. Returns false if it may have it already. */
    bool (*take_back)(struct host *host, int64_t number);
    const char *(*model)(const struct host *host); /* its name, as far as it is known */
    /* ---- what clients ask */
    /* Starts the agent, or its next turn, if something waits for it. */
    void (*wake)(struct host *host);
    /* Writes what it offers beside its turns; and returns its options, a JSON array, NULL: none. */
    void (*put_offers)(const struct host *host, struct json_out *out);
    const char *(*options)(const struct host *host);
    bool (*knows_modes)(const struct host *host); /* check_mode() has something to go by */
    /* Takes a prompt for a copy of its session, and ends one for its client, which returns false if
     * there is none with this id. */
    int (*ask_aside)(struct host *host, struct client *client, const char *text, size_t len,
                     struct err *err);
    bool (*cancel_aside)(struct host *host, const char *id);
    /* ---- permissions */
    /* Answers the one at this index, and closes it. Fills in ret->mode. */
    int (*permit)(struct host *host, size_t index, const struct word *option,
                  const struct verdict *verdict, struct answered_permission *ret, struct err *err);
    /* Refuses one that is not asked any more. */
    void (*refuse)(struct host *host, const struct asked_permission *permission);
    /* ---- state */
    /* What it does while it takes no prompts: WAITING for a login, WORKING off a turn that was cut
     * off, STARTING, or IDLE as it cannot be used. */
    enum agent_state (*unready)(const struct host *host);
    /* Returns what works beside its turn, or why it cannot be used; "". */
    const char *(*note)(const struct host *host);
    /* ---- another query */
    /* Fails if it is known not to have the mode. */
    int (*check_mode)(const struct host *host, const char *mode, struct err *err);
    /* Has it end its turn, if one is on, and what it was given in it. The turn ends without it. */
    void (*cut_off)(struct host *host);
    /* Leaves its session for one of the present query. `turn`: the serial of a turn that was just
     * cut off, 0: none; `cleared`: what the session knows is to be forgotten. */
    void (*leave)(struct host *host, int64_t turn, bool cleared);
    /* ---- sleep */
    bool (*is_at_rest)(const struct host *host); /* it is ready, and nothing works beside a turn */
    bool (*is_used)(const struct host *host); /* by a person on its screen; NULL: it has none */
    /* Appends what else keeps it awake, and returns true; false: nothing does. */
    bool (*is_kept_awake)(const struct host *host, struct str *why);
    /* ---- the store */
    /* The store is another one: records the agent's session there; and forgets its numbers. */
    void (*keep_session)(struct host *host, const char *note);
    void (*forget_numbers)(struct host *host);
};

struct talk {
    const struct talk_ops *ops;
    /* The agent's own session that prompts go to, as long as it is known; else NULL. The kind of
     * agent sets it. */
    char *session;
    struct conversation_memory memory;
    struct spending spending;
    struct prompt_queue queue;
    struct turn turn;
    struct permissions permissions;
    struct agent_limit limit;
    struct agent_quota quota;
    struct agent_turns turns;
    struct agent_sleep sleep;
    enum agent_state told_state; /* that the clients know; of event.c */
    char *told_note; /* NULL: they know nothing yet */
};

/* Returns the number of the prompt at work, 0: none; the second function else that of the prompt
 * that waits longest. */
static inline int64_t turn_prompt(const struct talk *talk)
{
    return talk->turn.on ? talk->turn.prompt.number : 0;
}
static inline int64_t turn_next_prompt(const struct talk *talk)
{
    return talk->turn.on || talk->queue.count == 0 ? turn_prompt(talk)
                                                   : talk->queue.prompts[0].number;
}
