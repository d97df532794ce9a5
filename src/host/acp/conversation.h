/* clang-format off */
/*
 * The conversation of an ACP agent, in its host; for src/host/acp/ only. struct conversation is
 * composed of parts. One file owns each part and is the only one that changes it, unless the
 * comment on the part says otherwise:
 *
 *     link          link.c        the agent's process: pipes, phase, session; process.c: its life
 *     resume        resume.c      how the present session knows what was said before; summary.c
 *                                 makes the summary
 *     offered       offered.c     modes, options and commands that the agent offers
 *     settings      settings.c    those that are made in each session, and those that a client makes
 *     queue         queue.c       prompts that wait
 *     turn          turn.c        the prompt at work; said.c keeps what the agent says in it, as
 *                                 update.c and tool.c read it; steer.c: prompts in the middle of it
 *     compaction    compact.c     how the agent shortens its context
 *     tasks         tasks.c       subagents and tasks that go on beside the turn
 *     asides        aside.c       prompts to copies of the session
 *     kept          kept.c        a person's look at the sessions that the agent keeps
 *     permissions   permission.c  what is asked; ask.c: permissions; plan.c: plans that are
 *                                 approved; elicit.c: forms that are filled in
 *     work          work.c        files and programs that the agent asks for (files.h, terminals.h)
 *     chat          chat.c        the pane: mas-chat, or plain lines
 *     limit         limit.c       what the provider takes now; gate.c: what holds turns back
 *     turns         turns.c       how many turns may be on at the same time
 *     sleep         sleep.c       what keeps the agent awake, and when it falls asleep
 *     memory        memory.c      where the conversation is stored
 *     spending      usage.c       tokens, costs and working time; budget.c: their limits
 *
 * Some files own no part: event.c tells clients what happens, request.c answers their requests,
 * clear.c clears the context and changes the conversation, and prompt.c sends prompts. opening.c
 * opens the agent's sessions and leaves them, tools.c makes the list of the team's tools for them,
 * and login.c has the pane while a person logs in. conversation.c makes all of this and is called
 * by the loop; nothing here waits. What these files do for each other is in agent_side.h (the
 * agent: its process and its sessions) and in turn_side.h (prompts, turns, permissions, clients).
 *
 * No two of these files call each other. What is of any agent (events, memory, usage, the queue,
 * what holds turns back, permissions, sleep, and on top of these the turn) asks the agent through
 * struct talk_ops, whose functions are in conversation.c and above.
 *
 * Everything that happens is stored, then told. A session of the agent is known by its id; the host
 * drops what comes from another session than the present one, so that nothing from before a clear
 * arrives after it.
 *
 * mas-chat, which has the pane, is a client like any other. It is started again 1 s after it ends;
 * after more than five ends in a row the pane shows plain lines. If the agent ends in a turn, the
 * turn ends as `failed`, and waiting prompts go to the next process, which starts at once. After a
 * SIGKILL of the host the supervisor ends the agent's tree; everything shown is in memory.db, and
 * the next writer marks open messages as interrupted and a turn without an end as stopped.
 */
/* clang-format on */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "base/proc.h"
#include "host/acp/files.h"
#include "host/acp/phase.h"
#include "host/acp/terminals.h"
#include "host/state.h"
#include "host/watcher.h"
#include "memory/store.h"
#include "protocol/acp.h"
#include "protocol/acp_tool.h"
#include "protocol/host.h"
#include "store/login_limit.h"

enum {
    EVENT_ID_MAX = 64, /* bytes of a message's id */
    PERMISSIONS_MAX = 32, /* asked at the same time */
    VISITED_MAX = 8, /* addresses whose end the agent may tell */
    OFFERED_MAX = 256, /* modes, commands or options that are kept of an agent */
    SESSION_CLOSE_MS = 5000,
    BUDGET_WORDS = 400, /* bytes */
    LIMIT_WORDS_MAX = 400, /* bytes of a message of a provider */
    TURN_CANCEL_MS = 5000, /* an agent that has not ended its turn by then is ended */
};

/*
 * The agent's process and its session. `acp` exists while the process runs, and the phase is not
 * OFF then. `session` is the id of the session that prompts go to, or that is resumed or loaded;
 * NULL until it is known. Whoever enters a phase makes the request that the phase waits for.
 * resume.c sets program and session and counts the sessions that it leaves, clear.c counts the
 * programs that those leave behind, and resume_trouble() sets needs_login.
 */
struct agent_link {
    int in, out, err; /* the agent's standard files; -1 */
    struct acp *acp; /* NULL: no process */
    struct phase_state phase;
    struct watcher printed; /* what the agent writes to its standard error */
    char *program; /* its name and version */
    char *cwd; /* of its sessions: absolute */
    char *machine;
    char *tools; /* mcpServers of its sessions; NULL: none */
    bool has_role; /* its sessions have the role in their system prompts */
    bool refused_role; /* it opens no session with that */
    bool cleared; /* the present session is of a query that was cleared */
    char *session;
    bool counted; /* what its start came to is in sessions/.starts */
    int left, unclosed; /* sessions of this process that the host left; that it could not close */
    size_t servers; /* programs of mas below this process when the host had left one session */
    int64_t garbage; /* lines that were no messages */
    char trouble[ERR_TEXT_MAX]; /* why the process cannot be used; "" */
    bool needs_login;
};

/* The ways to get a session, in the order in which the host tries them. */
enum resume_method { METHOD_RESUME, METHOD_LOAD, METHOD_NEW };

/*
 * How the present session knows what was said before. A resumed or loaded session is proved once a
 * turn in it has ended well. Until then an error of the first prompt leads to the next method, and
 * `failed` keeps the methods whose sessions failed so. turn.c ends `prime`, `remind` and `ignores`
 * when a turn has ended well; update.c counts the replay and collects the summary.
 */
struct resume {
    enum store_outcome outcome; /* the way in which the session came to know it */
    bool proved;
    unsigned failed; /* 1 << method */
    char *notes; /* why methods failed or were skipped; NULL */
    bool prime; /* the agent's system text and the history go in front of the next prompt */
    int64_t remind; /* the first of the newest prompts whose turns were cut off, which the agent may
                       have forgotten; 0: none */
    int64_t replayed; /* pieces that a loaded session has shown again */
    int64_t quiet_since; /* when the last of them came */
    bool ignores; /* content that comes outside of a turn may be a replay, and is not stored */
    bool summed; /* a summary was made, or tried, since resume_begin() */
    char *lost; /* the session that did not come back; NULL: none */
    char *copy; /* of that, which is asked for the summary; NULL: none */
    struct str summary; /* "" none */
};

/* A config option, as far as mas uses it. */
struct config_option {
    char *id, *category, *value;
    bool boolean; /* the value is "true" or "false" */
};

/* What the agent offers. It is forgotten when the process ends, except for the modes and the title.
 * update.c keeps commands and title. */
struct offered {
    struct abilities {
        bool known; /* a process of this host has told them */
        bool now; /* it takes words in the middle of a turn */
        bool aside; /* a copy of its session can be asked */
        bool kept, delete_kept; /* it lists its sessions, and deletes them */
    } can; /* also of the process before, for when none runs */
    char *mode; /* the present one; "" not known */
    struct acp_word *modes, *commands;
    size_t mode_count, command_count;
    struct acp_word *past_modes; /* of the process before, for when none runs */
    size_t past_mode_count;
    struct str options; /* the array of the event "options"; "" none */
    struct config_option *option_list; /* the same options */
    size_t option_count;
    char *title;
};

/* A setting that a client makes, for which the agent was asked. */
struct asked_setting {
    int64_t serial; /* of the request */
    char *option, *value; /* option NULL: a mode */
};

struct settings {
    int next; /* that is made in the phase SETS */
    struct asked_setting *asked;
    size_t asked_count;
};

/* A prompt that waits, or is at work. */
struct prompt {
    int64_t number; /* in the store */
    char *text;
    size_t len;
    char from[TEAM_WORD_MAX + 1]; /* "-": a person */
    char **tags; /* NULL: none */
    bool begun; /* it was stored as a prompt whose turn begins */
    bool kept; /* the agent was stopped, and those who wait for it know that it is asked later */
    bool told; /* the clients know that its turn begins */
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
    char *title; /* with what it is about: acp_tool_line() */
    struct acp_tool is;
};

/* Tool calls of a turn, or of a subagent. */
struct tool_table {
    struct tool_call *call;
    size_t count;
};

/*
 * The turn. If it is not on, tool calls and growing messages are what the agent says by itself. A
 * turn begins in the phase READY only. update.c keeps tool calls, messages and plan; whoever hears
 * the agent sets `heard`. memory.c sets `unkept`, and the numbers to 0 if it begins a new store.
 */
struct turn {
    bool on;
    struct prompt prompt;
    int64_t serial; /* of session/prompt */
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

/* A subagent, which has a session of its own, or a task. The history shows what it does as a tool
 * call; a subagent may work again later. */
struct agent_task {
    char *id; /* of its session, or of the task */
    char *name; /* "": not told */
    bool subagent, stoppable;
    enum acp_task state; /* DONE: it rests */
    struct str told; /* what it is to do */
    struct str said, reply; /* its last words in its session, and to that of the agent */
    struct tool_table tools;
    struct tool_call line; /* its id is NULL before it has worked */
    int runs;
};
struct agent_tasks {
    struct agent_task *tasks;
    size_t count;
    struct str note; /* what is told of them in the status */
};

/* A prompt to a copy of the session, which leaves nothing in the conversation. Its client has the
 * kind CLIENT_ASKS and -number as its prompt. */
struct aside {
    int64_t number;
    char *text; /* of the prompt; NULL: the copy has it */
    char from[TEAM_WORD_MAX + 1];
    int64_t serial; /* of the request for the copy, or of the prompt to it; 0: it waits for READY */
    char *session; /* the copy; NULL: not known yet */
    size_t said; /* bytes of the answer */
};
enum { ASIDES_MAX = 4 };
struct asides {
    struct aside open[ASIDES_MAX];
    size_t count;
    int64_t last; /* number */
};

/* A person asks which sessions the agent itself keeps for its directory, and may have some deleted.
 * The client has the kind CLIENT_LISTS; there is one at a time. */
struct kept_sessions {
    enum kept_state { KEPT_NONE, KEPT_WAITS /* for READY */, KEPT_LISTS, KEPT_DELETES } state;
    int64_t serial; /* of the request for a page of the list */
    int pages;
    char *wanted; /* the id of one to delete; NULL: none */
    bool all; /* delete all but the present one */
    struct kept_session {
        char *id, *title, *updated; /* title and updated: NULL if not told */
        bool deletes;
        int64_t serial; /* of the request that deletes it */
        char *error; /* why it was not deleted; NULL */
    } * sessions;
    size_t count, open; /* open: requests to delete that were not answered */
};

/* A permission that is asked. */
struct asked_permission {
    int64_t number; /* in the store: clients name it so */
    char id[EVENT_ID_MAX]; /* the same with the session's id */
    char *ticket; /* of the request, for acp_permit() */
    /* title: what is asked, on a line; details: all of it, for reading */
    char *title, *kind, *details, *tool_id;
    char *subagent; /* the session of the subagent that asks; NULL: the agent itself */
    bool plan; /* the agent asks to approve a plan */
    char *plan_text; /* NULL: not known */
    bool elicits; /* it is no permission: the agent asks a person for something */
    char *form; /* the JSON schema of that; NULL: none */
    char *url, *url_host; /* that a person opens in a browser, and its host; NULL: none */
    char *elicitation; /* the agent's id of that */
    struct acp_word *options; /* the agent's, and for a plan one of mas */
    size_t count;
};

/* Permissions that are asked, the oldest first. Each of them waits for an answer of a client, and
 * the agent waits for it. */
struct permissions {
    struct asked_permission open[PERMISSIONS_MAX];
    size_t count;
    char *visited[VISITED_MAX]; /* elicitations whose addresses a person has agreed to open; NULL:
                                   none */
    size_t visited_next;
};

/* What serves the agent's requests for files and programs while it runs. */
struct agent_work {
    struct work_root roots[5]; /* the workspace, or the parts of it behind a wall */
    char *paths[5];
    struct work_place place;
    struct terminals *terminals; /* NULL: the agent does not run */
    int64_t shown; /* how many programs had ended when their output was last shown */
};

/* The pane: mas-chat runs in it (host->pane_program), or the host prints plain lines. */
struct chat_pane {
    bool plain; /* there is no mas-chat */
    bool text_open; /* a plain line has no end yet */
    int failures; /* ends of mas-chat in a row */
    int64_t started, start_at; /* start_at: when mas-chat starts again; -1: not */
};

/* What the agent's provider has told it to wait for. Times in ms since 1970, except look_at and
 * trial_until, which are monotonic. */
struct agent_limit {
    char login[LOGIN_ID]; /* for store/login_limit.h */
    int64_t prompt; /* that was refused, or is sent again; 0: none */
    int attempts; /* how often it was refused in a row */
    bool sent; /* it was sent again since */
    bool unwritten; /* run/<agent>.limit does not say so yet */
    bool on; /* the next turn waits */
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

/* The limits of turns at the same time; see store/turn_slots.h. */
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

/* What the store knows for other parts. */
struct memory_hooks {
    /* Reads what waits in the store, which is being opened. */
    int (*read)(struct host *host, struct err *err);
    /* It is open, or has all of its writes again (`again`): its sums are to be read. */
    void (*opened)(struct host *host, bool again);
};

/* Where the conversation is stored. `place` is valid while `store` is open. clear.c changes the
 * place, settings.c and update.c its mode and options. */
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

/* What the agent tells of the newest compaction of its context. */
struct compaction {
    char *id; /* NULL: none yet */
    struct str summary;
    bool done;
};

struct answered_permission;
struct verdict;

/* What the parts of a conversation have its agent do, and ask it. */
struct talk_ops {
    /* ---- turns */
    bool (*is_ready)(const struct host *host); /* it takes prompts */
    /* Sends the prompt of the turn. */
    void (*send)(struct host *host);
    /* A turn has ended well; called before its end is stored. */
    void (*succeeds)(struct host *host);
    /* Asks it to end the turn, or what goes on without one. Returns false if there is nothing. */
    bool (*cancel)(struct host *host);
    /* Changes to another conversation, while prompts wait. */
    int (*enter)(struct host *host, const char *conversation, struct err *err);
    const char *(*model)(const struct host *host); /* its name, as far as it is known */
    /* ---- permissions */
    /* Answers the one at this index, and closes it. Fills in ret->mode. */
    int (*permit)(struct host *host, size_t index, const struct acp_word *option,
                  const struct verdict *verdict, struct answered_permission *ret, struct err *err);
    /* Refuses one that is not asked any more. */
    void (*refuse)(struct host *host, const struct asked_permission *permission);
    /* ---- sleep */
    bool (*is_at_rest)(const struct host *host); /* it is ready, and nothing works beside a turn */
    /* Appends why it cannot sleep now, if that is not known without asking. */
    bool (*is_kept_awake)(const struct host *host, struct str *why);
    /* ---- the store */
    /* The store is another one: records the agent's session there; and forgets its numbers. */
    void (*keep_session)(struct host *host, const char *note);
    void (*forget_numbers)(struct host *host);
};

struct conversation {
    const struct talk_ops *ops;
    struct agent_link link;
    struct resume resume;
    struct offered offered;
    struct settings settings;
    struct prompt_queue queue;
    struct turn turn;
    struct agent_tasks tasks;
    struct asides asides;
    struct kept_sessions kept;
    struct compaction compaction;
    struct permissions permissions;
    struct agent_work work;
    struct chat_pane chat;
    struct agent_limit limit;
    struct agent_turns turns;
    struct agent_sleep sleep;
    struct conversation_memory memory;
    struct spending spending;
    enum agent_state told_state; /* that the clients know; of event.c */
    char *told_note; /* NULL: they know nothing yet */
};

/* Returns the number of the prompt at work, 0: none; the second function else that of the prompt
 * that waits longest. */
static inline int64_t turn_prompt(const struct conversation *conversation)
{
    return conversation->turn.on ? conversation->turn.prompt.number : 0;
}
static inline int64_t turn_next_prompt(const struct conversation *conversation)
{
    return conversation->turn.on || conversation->queue.count == 0
               ? turn_prompt(conversation)
               : conversation->queue.prompts[0].number;
}

/* ---- conversation.c */
