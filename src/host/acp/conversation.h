/*
 * The conversation of an ACP agent, in its host; for src/host/acp/ only. struct conversation is
 * composed of parts. One file owns each part and is the only one that changes it, unless the
 * comment on the part says otherwise:
 *
 *     link          link.c        the agent's process: pipes, phase, session
 *     resume        resume.c      how the present session knows what was said before; summary.c
 *                                 makes the summary
 *     offered       settings.c    modes, options and commands that the agent offers
 *     queue         queue.c       prompts that wait
 *     turn          turn.c        the prompt at work; update.c keeps what the agent says in it;
 *                                 steer.c: prompts that the agent takes in the middle of it
 *     compaction    compact.c     how the agent shortens its context
 *     asides        aside.c       prompts to copies of the session
 *     permissions   permission.c  permissions that are asked; plan.c: plans that are approved;
 *                                 elicit.c: forms that are filled in
 *     work          work.c        files and programs that the agent asks for (files.h, terminals.h)
 *     chat          chat.c        the pane: mas-chat, or plain lines
 *     limit         limit.c       what the provider takes now; gate.c: what holds turns back
 *     turns         turns.c       how many turns may be on at the same time
 *     sleep         sleep.c       what keeps the agent awake, and when it falls asleep
 *     memory        memory.c      where the conversation is stored
 *     spending      usage.c       tokens, costs and working time; budget.c: their limits
 *
 * Some files own no part: event.c tells clients what happens, request.c answers their requests, and
 * clear.c clears the context and changes the conversation. tools.c makes the list of the team's
 * tools for the agent's sessions, opening.c says what else those are opened with, and login.c has
 * the pane while a person logs in. conversation.c
 * makes all of this and is called by the loop; nothing here waits.
 *
 * Everything that happens is stored, then told. A session of the agent is known by its id; the host
 * drops what comes from another session than the present one, so that nothing from before a clear
 * arrives after it.
 */
#ifndef MAS_HOST_ACP_CONVERSATION_H
#define MAS_HOST_ACP_CONVERSATION_H

#include "base/json.h"
#include "base/loop.h"
#include "base/proc.h"
#include "base/str.h"
#include "host/acp/files.h"
#include "host/acp/phase.h"
#include "host/acp/terminals.h"
#include "host/state.h"
#include "host/watcher.h"
#include "memory/store.h"
#include "protocol/acp.h"
#include "protocol/acp_limit.h"
#include "protocol/host.h"
#include "store/login_limit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EVENT_ID_MAX = 64, /* bytes of a message's id */
    PERMISSIONS_MAX = 32, /* asked at the same time */
    VISITED_MAX = 8, /* addresses whose end the agent may tell */
    OFFERED_MAX = 256, /* modes, commands or options that are kept of an agent */
    SESSION_CLOSE_MS = 5000,
    BUDGET_WORDS = 400, /* bytes */
    TURN_CANCEL_MS = 5000, /* an agent that has not ended its turn by then is ended */
};

/*
 * The agent's process and its session. `acp` exists while the process runs, and the phase is not
 * OFF then. `session` is the id of the session that prompts go to, or that is resumed or loaded;
 * NULL until it is known. Whoever enters a phase makes the request that the phase waits for.
 * resume.c sets program and session and counts the sessions that it leaves, clear.c counts the
 * programs that those leave behind, and conversation_trouble() sets needs_login.
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
};

/* What the agent offers. It is forgotten when the process ends, except for the modes and the title.
 * update.c keeps commands and title. */
struct offered {
    char *mode; /* the present one; "" not known */
    struct acp_word *modes, *commands;
    size_t mode_count, command_count;
    struct acp_word *past_modes; /* of the process before, for when none runs */
    size_t past_mode_count;
    struct str options; /* the array of the event "options"; "" none */
    struct config_option *option_list; /* the same options */
    size_t option_count;
    char *title;
    int next_setting; /* that is made in the phase SETS */
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
};

/* A tool call of the turn, as far as it is known. */
struct tool_call {
    int64_t number; /* in the store; 0: it is not there */
    char *id, *title, *kind, *status, *text;
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
    struct tool_call *tools;
    size_t tool_count;
    char *plan_text; /* newest plan as text; NULL */
    bool unkept; /* something could not be stored, and the clients know it */
    bool skipped; /* a message was too long, and the clients know it */
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

/* A permission that is asked. */
struct asked_permission {
    int64_t number; /* in the store: clients name it so */
    char id[EVENT_ID_MAX]; /* the same with the session's id */
    char *ticket; /* of the request, for acp_permit() */
    char *title, *kind, *details, *tool_id;
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
    char said[ACP_LIMIT_ANSWER_MAX + 2]; /* the beginning of what the agent says in the turn */
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

/* Where the conversation is stored. `place` is valid while `store` is open. clear.c changes the
 * place, settings.c and update.c its mode and options. */
struct conversation_memory {
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

struct conversation {
    struct agent_link link;
    struct resume resume;
    struct offered offered;
    struct prompt_queue queue;
    struct turn turn;
    struct asides asides;
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

/* ---- conversation.c */
/* Enters a phase; see phase.h. */
void conversation_enter(struct host *host, enum phase phase, int64_t serial, int64_t until);
/* Enters STUCK, because the agent cannot be used, and ends the turn and all prompts that wait with
 * `why`. */
void conversation_trouble(struct host *host, bool needs_login, const char *why);
/* Returns how much of what was said goes in front of a prompt ([memory]). */
struct store_budget conversation_budget(const struct host *host);

/* ---- link.c */
/* Makes the pipes for a process that is about to start; ret_fds are its ends. */
int link_connect(struct host *host, int ret_fds[3], struct err *err);
/* Closes them, and forgets the session and what the agent offered. */
void link_disconnect(struct host *host);
void link_free(struct agent_link *link);
/* Sends `initialize` to the process, which runs now. */
void link_begin(struct host *host);
/* Ends the turn and closes the agent's input, because mas ends the agent. */
void link_hang_up(struct host *host);
/* Ends the turn with `why` after the process has ended, and disconnects. */
void link_ended(struct host *host, const char *why);
void link_want(const struct host *host, struct loop *loop);
void link_serve(struct host *host, struct loop *loop);
/* Writes what the agent is to get, as far as it reads. */
void link_flush(struct host *host);
/* Keeps why the process cannot be used. */
void link_keep_trouble(struct agent_link *link, const char *words);
/* Appends what helps with an agent that fails by itself: the note of its preset on root, and the
 * last lines that it printed. */
void link_add_last_words(struct host *host, struct str *to);
/* Appends how to log in, by what the agent has told. */
void link_add_login(const struct host *host, struct str *to);
/* Says in words why an answer was no success. Returns buf. */
const char *link_why(const struct acp_answer *answer, char *buf, size_t size);

/* ---- memory.c */
/* Opens the store unless it is open, and reads the prompts that wait in it. */
int memory_need(struct host *host, struct err *err);
/* Handles a failed call of the store: tells the clients once a turn, sets a damaged store aside and
 * goes on in a new one. */
void memory_failed(struct host *host, const struct err *err);
/* Calls memory_failed() if rc is -1. Returns true if it is not. */
bool memory_kept(struct host *host, int rc, const struct err *err);
/* Stores a message of the present query. Returns its number; 0: it is not stored. */
int64_t memory_add(struct host *host, const struct store_message *message);
/* Updates a message; see store_update(). */
void memory_update(struct host *host, int64_t number, const char *text, size_t len,
                   const char *data, enum store_state state, enum store_sync sync);
/* Stores the end of a prompt; see store_end_turn(). */
void memory_end_prompt(struct host *host, int64_t prompt, const char *stop_reason);
/* Returns true, and resets the error, if a call has failed because the store was damaged or set
 * aside, and a new one is open now. Then the caller tries again. */
bool memory_renew(struct host *host, struct err *err);

/* ---- resume.c */
/* Gets a session for the present query: resumes or loads the newest one, or opens a new one. */
void resume_begin(struct host *host);
/* Handles an answer to `initialize`, or to a request for a session or a setting. */
void resume_answer(struct host *host, const struct acp_answer *answer);
/* Forgets what is known of the session, as the process has ended. */
void resume_forget(struct resume *resume);
/* Leaves a session (NULL: none) of the process: has the agent close it, and with `deletes` delete
 * it, as far as the agent can. */
void resume_leave(struct host *host, const char *session, bool deletes);
/* Leaves the present session. One whose context was cleared is deleted. */
void resume_leave_session(struct host *host);
/* Opens a new session. */
void resume_open_session(struct host *host);
/* Ends the replay of a loaded session, which has been silent for long enough or taken too long. */
void resume_settled(struct host *host);
/* Records that the agent uses the present session for the query. */
int resume_keep_session(struct host *host, const char *note, struct err *err);
/* Records that the session works, as a turn has ended well. Call it before that end is stored. */
void resume_prove(struct host *host);
/* Handles a failed turn. If it was the first one in a session that was resumed or loaded, and the
 * agent has said nothing in it, puts its prompt back in front of the queue, tries the next method
 * and returns true. */
bool resume_by_next_method(struct host *host, const char *why);
/* Resumes the previous session, because the first prompt has failed in the session of the last
 * method, too: so the sessions are not the reason. */
void resume_again(struct host *host);
/* Counts an end of the agent in the first turn against the method. */
void resume_died(struct host *host, const char *why);

/* ---- summary.c */
/* Asks the new session for a summary if the history is too long. Returns false if it needs none. */
bool summary_begin(struct host *host);
/* Handles the answer to the request for a copy of the session that did not come back. */
void summary_copied(struct host *host, const struct acp_answer *answer);
/* Forgets that session and its copy. */
void summary_forget(struct host *host);
/* Keeps the summary and opens the session for prompts. */
void summary_end(struct host *host, const struct acp_answer *answer);
/* Appends the summary, which goes in front of the history. */
void summary_add(const struct conversation *conversation, struct str *to);

/* ---- settings.c */
/* Makes one setting after the other, then enters READY. */
void settings_begin(struct host *host);
/* Handles an answer to a setting, and makes the next one if the phase waits for that. */
void settings_answer(struct host *host, const struct acp_answer *answer);
/* Keep modes and options of a session's answer or of an update, and tell them. */
void settings_parse_modes(struct host *host, const char *mode, const struct acp_word *modes,
                          size_t count);
void settings_parse_options(struct host *host, const struct json *options);
/* Forgets what the agent has offered, as its process has ended. */
void settings_forget(struct offered *offered);
void settings_free(struct offered *offered);
/* Copies words; the caller frees them with the second function. */
struct acp_word *settings_copy_words(const struct acp_word *words, size_t count);
void settings_free_words(struct acp_word *words, size_t count);
/* Returns true if the modes of the agent are known. */
bool settings_knows_modes(const struct conversation *conversation);
/* Fails if the agent is known not to have the mode; the hint names those that it has. */
int settings_check_mode(const struct host *host, const char *mode, struct err *err);
/* Store a mode or the value of an option, and ask a running agent to set it now. */
int settings_set_mode(struct host *host, const char *mode, struct err *err);
int settings_set_option(struct host *host, const char *option, const char *value, struct err *err);

/* ---- queue.c */
struct new_prompt {
    const char *text;
    size_t len;
    const char *from;
    char *const *tags; /* NULL: none */
    enum conversation_choice choice; /* CHOICE_CURRENT: the conversation of the prompts before it */
    const char *id; /* of CHOICE_NAMED */
    bool steers; /* it is given to the agent at once, and stored as one that is at work */
};
/* Stores a prompt and appends it to the queue. *ret is its number. */
int queue_add(struct host *host, const struct new_prompt *prompt, int64_t *ret, struct err *err);
/* Appends a prompt that is stored already. */
void queue_push(struct host *host, int64_t number, const char *text, size_t len, const char *from,
                char *const *tags);
/* Puts a prompt in front of the queue; the queue owns it then. */
void queue_push_first(struct host *host, const struct prompt *prompt);
/* Removes a prompt from the queue; the caller owns it then. */
struct prompt queue_remove(struct conversation *conversation, size_t index);
/* Returns the index of a prompt; queue.count if it does not wait. */
size_t queue_find(const struct conversation *conversation, int64_t number);
/* Ends a prompt without a turn, and frees it. `kept`: its end is in the store already. */
void queue_drop(struct host *host, struct prompt *prompt, bool kept, const char *stop_reason,
                const char *error);
/* Ends all prompts that wait, without a turn. */
void queue_fail(struct host *host, const char *stop_reason, const char *error);
/* Keeps the prompts that wait for the agent's next start, in the store and here, and tells those
 * who wait for them. */
void queue_keep(struct host *host, const char *why);
/* Reads the prompts that waited when the previous host ended, however it ended. */
int queue_read(struct host *host, struct err *err);
/* Returns the number of the first prompt that waits; INT64_MAX if none does. What was said before
 * it is the history. */
int64_t queue_first_number(const struct conversation *conversation);
void queue_free_prompt(struct prompt *prompt);

/* ---- turn.c */
/* Begins the next turn, if the agent is ready for it and a prompt waits. */
void turn_run(struct host *host);
void turn_answer(struct host *host, const struct acp_answer *answer);
/* Ends the turn, in the store and for those who wait for its end. */
void turn_end(struct host *host, const char *stop_reason, int64_t code, const char *error);
/* Words for a session of the agent. */
struct turn_words {
    const char *session;
    const char *from; /* an agent of the team; "-": a person */
    const char *text;
    int64_t before; /* the history that the session does not know ends with this message */
    bool recalls; /* without such a history, what other conversations have on the subject */
};
/* Sends a prompt with what the session has to know first: role, history, and who asks. Returns the
 * serial of the request. */
int64_t turn_send(struct host *host, const struct turn_words *words);
/* Tells that the turn of a prompt begins, or that the agent has taken it in the middle of one. */
void turn_tell_prompt(struct host *host, const struct prompt *prompt, bool steered);
/* Returns words that tell a model which agent speaks to it, which the caller frees; NULL if a
 * person does. */
char *turn_name_sender(const struct host *host, const char *from);
/* Puts the prompt of the turn back in front of the queue. Nobody is told. */
void turn_put_back(struct host *host);
/* Tells the end of a prompt to those who wait for it. */
void turn_tell_end(struct host *host, int64_t prompt, const char *stop_reason, int64_t code,
                   const char *error);
/* Returns the state that the messages of a turn get if it ends so. */
enum store_state turn_end_state(const char *stop_reason);
/* Asks the agent to end the turn; without a turn, ends the prompt that waits longest. Returns false
 * if there is neither. */
bool turn_cancel(struct host *host);
/* The same for one prompt, which may wait. */
bool turn_cancel_prompt(struct host *host, int64_t number);
/* Returns the number of the prompt at work, 0: none; the second function else that of the prompt
 * that waits longest. */
int64_t turn_prompt(const struct conversation *conversation);
int64_t turn_next_prompt(const struct conversation *conversation);
/* Returns true if a prompt that is added now begins its turn at once. */
bool turn_begins_at_once(struct host *host);

/* ---- steer.c */
/* Returns why the agent takes no words now, as constant text; NULL: it does. */
const char *steer_why_not(struct host *host);
/* Gives the agent a prompt of the queue, which then waits for its answer. */
void steer_prompt(struct host *host, int64_t number);
void steer_answer(struct host *host, const struct acp_answer *answer);
/* Lets all prompts that the agent was given, and has not taken, wait for turns of their own. */
void steer_drop_all(struct host *host);
/* Ends those that the agent has taken, together with the turn. */
void steer_end(struct host *host, const char *stop_reason);
/* Puts them back in front of the queue, with the turn's own prompt. */
void steer_put_back(struct host *host);
void steer_free(struct turn *turn);
/* Tells the client that waits for it what has become of a prompt: "steered" or "queued". */
void steer_tell(struct host *host, int64_t number, const char *outcome, const char *why);

/* ---- compact.c */
/* Handles news of a compaction, and keeps what is left of the context: a boundary of the history.
 */
void compact_handle(struct host *host, const struct acp_update *update);
/* Tells a notice of the agent, which is not kept. */
void compact_notice(struct host *host, const struct acp_update *update);
void compact_free(struct compaction *compaction);

/* ---- aside.c */
/* Takes a prompt for a copy of the session; answers go to the client. */
int aside_add(struct host *host, struct client *client, const char *text, size_t len,
              struct err *err);
/* Begins what waits, once there is a session. */
void aside_run(struct host *host);
/* Ends the one with this id for its client. Returns false if there is none. */
bool aside_cancel(struct host *host, const char *id);
/* Each returns true if it was about a copy of the session. */
bool aside_answer(struct host *host, const struct acp_answer *answer);
bool aside_update(struct host *host, const struct acp_update *update);
bool aside_is_session(const struct host *host, const char *session);
/* Ends those that the process knew, which has ended. */
void aside_process_ended(struct host *host);
/* Ends all of them, because of `why`. */
void aside_fail_all(struct host *host, const char *why);

/* ---- update.c */
/* Handles an update of the agent, in a turn and outside of one. */
void update_handle(struct host *host, const struct acp_update *update);
/* Tells the tool calls that show the output of programs again, because a program has ended. */
void update_show_programs(struct host *host);
/* Ends the text that grows: what comes next is another message. */
void update_close_text(struct host *host);
/* Keeps what an update or the request for a permission says of a tool call. Returns NULL if it has
 * no id. */
struct tool_call *update_know_tool(struct host *host, const struct acp_update *update);
void update_free_tool(struct tool_call *tool);
/* Returns true if the tool call has ended. */
bool update_tool_is_over(const struct tool_call *tool);

/* ---- usage.c */
/* Reads what the agent has used so far from the store, which was just opened. */
void usage_open(struct host *host);
/* The agent has opened the present session: a new one, or an earlier one. */
void usage_joined(struct host *host, bool is_new);
/* How many turns the team and the agent may have; 0: any number. */
struct usage_turns {
    int64_t team, agent;
};
/* Records that the turn of a prompt begins. Returns false if it may not. */
bool usage_begin(struct host *host, int64_t prompt, const struct usage_turns *most);
/* Records that it has ended. Its end must be stored after that. */
void usage_end(struct host *host, int64_t prompt);
/* Keeps and tells what the agent says that its session uses, and that a turn has used. */
void usage_update(struct host *host, const struct acp_usage *told);
void usage_answer(struct host *host, const struct acp_answer *answer);
/* Measures the time in which the turn works. Returns when to call again. */
int64_t usage_tick(struct host *host, int64_t now);

/* ---- budget.c */
/* Finds out which limits are reached, and tells it if that has changed. */
void budget_look(struct host *host);
/* The same when the store has just been opened, and when a turn has ended. */
void budget_open(struct host *host);
void budget_turn_ended(struct host *host);
/* Returns true if the next turn may not begin, because a limit is reached. Otherwise it begins in
 * the store. */
bool budget_holds(struct host *host);
/* Lets the agent go on: by `more` ("2 USD", "turns=5"), or with NULL by the same again for each
 * limit that is reached. Appends what it may use now to *ret_words. MAS_NOT_FOUND: no limit is
 * reached. */
int budget_extend(struct host *host, const char *more, struct str *ret_words, struct err *err);
/* Looks again whether a limit was changed. Returns when to call again. */
int64_t budget_tick(struct host *host, int64_t now);

/* ---- clear.c */
struct clear_options {
    const char *reason; /* "clear", "plan" */
    const char *mode; /* NULL: as it is */
    const char *then_text; /* NULL: no first prompt */
    size_t then_len;
    const char *from;
    char *const *tags;
};
/* Begins the next query. *ret_then is the number of its first prompt, 0: none. */
int clear_context(struct host *host, const struct clear_options *options, int64_t *ret_then,
                  struct err *err);
/* Changes the conversation. Fails with MAS_CONFLICT if prompts are at work or wait. */
int clear_change_conversation(struct host *host, enum conversation_choice choice, const char *id,
                              struct err *err);
/* Changes to the conversation of the next prompt, while others wait behind it. */
int clear_enter_conversation(struct host *host, enum conversation_choice choice, const char *id,
                             struct err *err);
/* Goes on after the end of a turn that was cut off (ENDS_TURN). */
void clear_turn_ended(struct host *host);

/* ---- permission.c */
/* Handles a request for a permission: answers by the preset's policy, or asks the clients. */
void permission_ask(struct host *host, const struct acp_permission *request);
/* Removes a permission that the agent has withdrawn. */
void permission_withdraw(struct host *host, const char *ticket);
/* Cancels all permissions that are asked. */
void permission_drop_all(struct host *host);
/* Sends those that are asked to a client that came later. */
void permission_tell_open(const struct host *host, struct client *client);
struct verdict {
    int64_t number; /* of the permission; 0: the oldest */
    const char *as; /* "allow", "deny": what the answer is meant as; NULL: either */
    const char *wanted; /* an option's id, or one of the words of protocol/host.h */
    const char *by;
    const struct json *answers; /* to a form; NULL: none */
    const char *mode; /* for a plan that is carried out in a new query; NULL: the mode that asks
                         least */
};
/* Filled by permission_answer(); free it with permission_free_answered(). */
struct answered_permission {
    char *title, *option;
    char *mode; /* that the plan is carried out in; NULL: no plan, or none is known */
    int64_t number;
};
int permission_answer(struct host *host, const struct verdict *verdict,
                      struct answered_permission *ret, struct err *err);
void permission_free_answered(struct answered_permission *answered);
/* Stores and tells what was decided, and removes the permission; the caller answers the agent
 * before. `option` NULL: nothing was. `by`: an agent, "-" a person, "policy", "cancelled". */
void permission_close(struct host *host, size_t index, const struct acp_word *option,
                      const char *by);

/* Stores and tells a request whose members are set, and keeps it until it is answered. */
void permission_open(struct host *host, const struct asked_permission *permission);

/* ---- elicit.c */
/* Handles elicitation/create. */
void elicit_ask(struct host *host, const struct acp_request *request);
/* Answers it with the action "accept" and the answers to its form, which are checked. Nothing of
 * them is stored. */
int elicit_accept(struct host *host, const struct asked_permission *asked,
                  const struct json *answers, struct err *err);
/* Answers it with another action: "decline" or "cancel". */
void elicit_refuse(struct host *host, const char *ticket, const char *action);
/* Handles elicitation/complete: what a person did in a browser is done. */
void elicit_complete(struct host *host, const char *id);
/* Forgets the addresses that a person has opened, as the agent's process has ended. */
void elicit_forget(struct permissions *permissions);

/* ---- plan.c */
#define PLAN_CLEAR_OPTION "clear" /* the id of the option that mas adds to a plan */
/* Returns true if the agent asks to approve a plan. */
bool plan_is_asked(const struct acp_permission *request);
/* Returns the plan's text, which the caller frees; NULL if it is not known. */
char *plan_find_text(const struct conversation *conversation, const struct acp_permission *request,
                     const struct tool_call *known);
/* Adds the option by which mas clears the context and carries out the plan. */
void plan_add_option(struct asked_permission *permission);
/* Returns true for an option that clears the context. */
bool plan_option_clears(const struct acp_word *option);
/* Returns the mode in which the plan is carried out if the verdict names none; NULL: the present
 * one.
 */
const char *plan_mode(const struct host *host, const struct acp_word *option, const char *wanted);
/* Clears the context and makes the plan the first prompt of the new query. */
int plan_carry_out(struct host *host, size_t index, const struct acp_word *option, const char *mode,
                   const char *by, struct err *err);

/* ---- event.c */
/* An event is an object whose first member is "event". event_tell() closes, sends and frees it. */
struct client_event {
    struct str head;
    struct json_out out;
};
void event_open(struct client_event *event, const char *name);
/* Sends an event to the listeners, and to those who wait for the prompt `number` (0: none). */
void event_tell(struct host *host, struct client_event *event, const char *body, size_t len,
                int64_t number);
/* Sends an event to one client. */
void event_tell_one(struct client *client, struct client_event *event, const char *body,
                    size_t len);
/* Sends a piece of a message; `at`: bytes of the message before it. */
void event_tell_text(struct host *host, const char *name, int64_t message, size_t at,
                     const char *text, size_t len);
/* Tells a message of mas; with `keep` it is stored first. */
void event_say(struct host *host, bool keep, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Tells the state, if the clients know another one. */
void event_tell_state(struct host *host, const struct agent_status *status);
void event_put_modes(const struct conversation *conversation, struct json_out *out);
void event_put_commands(const struct conversation *conversation, struct json_out *out);
void event_put_permission(const struct host *host, const struct asked_permission *permission,
                          struct json_out *out);
/* Writes the id of a message, "<session id>:<number>". Returns buf. */
const char *event_id(const struct host *host, int64_t number, char buf[EVENT_ID_MAX]);
/* Returns the number in such an id, or of a number alone; 0 if it is neither. */
int64_t event_number(const struct host *host, const char *id);
/* Drops listeners that do not read. Returns when to call again. */
int64_t event_tick_listeners(struct host *host, int64_t now);
/* Returns true while a listener has too much unread. The host does not read from the agent then. */
bool event_has_full_listener(const struct host *host);

/* ---- work.c */
void work_open(struct host *host);
void work_close(struct host *host);
/* Ends the programs of a session that the host has left. */
void work_leave(struct host *host, const char *session);
/* Answers a request of the agent. */
void work_request(struct host *host, const struct acp_request *request);
void work_want(const struct host *host, struct loop *loop);
void work_serve(struct host *host, struct loop *loop);
/* Returns the content of a tool call with the output of its programs, which the caller frees. */
#define WORK_TERMINAL_MARK "[terminal "
char *work_text(const struct host *host, const char *text);

/* ---- gate.c */
/* Returns true if something holds back the first turn of the queue, which begins at once otherwise.
 * With `begins` false the queue is empty: it is about a prompt that comes now. */
bool gate_holds(struct host *host, bool begins);
/* Gives up what was taken for a turn that does not begin. */
void gate_give_up(struct host *host);

/* ---- limit.c */
/* Reads the prompt that was refused when the previous host ended, after the queue was read. */
void limit_open(struct host *host);
void limit_free(struct agent_limit *limit);
/* Returns true while the provider, or mas for it, has the next turn wait. Otherwise this agent may
 * be the one that tries first for its login, until limit_gives_up(). */
bool limit_holds(struct host *host);
void limit_gives_up(struct host *host);
/* Tries now, as a person has restarted the agent. */
void limit_skip(struct host *host);
/* Returns true if a prompt waits for the provider. */
bool limit_is_on(const struct conversation *conversation);
/* Handles a turn's end that is a refusal of the provider: keeps its prompt, which is sent again.
 * Returns false if it is none. */
bool limit_refused(struct host *host, const struct acp_answer *answer);
/* Notes that a turn begins, what the agent says in it, and that it ends in another way. */
void limit_turn_begins(struct host *host);
void limit_said(struct host *host, const char *text, size_t len);
void limit_turn_ended(struct host *host, bool succeeded);
void limit_want(const struct host *host, struct loop *loop);
void limit_serve(struct host *host, struct loop *loop);
/* Returns when to look again. */
int64_t limit_tick(struct host *host, int64_t now);

/* ---- turns.c */
void turns_open(struct host *host);
void turns_free(struct agent_turns *turns);
/* Returns true while too many turns are on. Otherwise the slots for a turn are taken. */
bool turns_hold(struct host *host);
/* Gives back the slots of a turn that does not begin, and of one that has ended. */
void turns_give_up(struct host *host);
void turns_ended(struct host *host);
/* Returns true if the next turn waits for a slot. */
bool turns_are_waited_for(const struct conversation *conversation);
void turns_want(const struct host *host, struct loop *loop);
void turns_serve(struct host *host, struct loop *loop);
/* Returns when to look again. */
int64_t turns_tick(struct host *host, int64_t now);

/* ---- sleep.c */
/* Reads whether the previous host has left the agent asleep. */
void sleep_open(struct host *host);
void sleep_free(struct agent_sleep *sleep);
/* Appends why the agent cannot sleep now, and returns true; false: it can. */
bool sleep_is_kept_awake(struct host *host, struct str *why);
/* Ends the agent's process. Call it only if nothing keeps the agent awake. */
void sleep_begin(struct host *host);
/* Notes that the process starts, ends, begins a turn, ends one well, or leaves its session. */
void sleep_process_starts(struct host *host);
void sleep_process_ended(struct host *host);
void sleep_turn_begins(struct host *host);
void sleep_turn_ended(struct host *host);
void sleep_session_left(struct host *host);
/* Notes what a tool call has become. */
void sleep_tool_told(struct host *host, const struct tool_call *tool);
/* Puts an agent to sleep that has been idle for long enough. Returns when to call again. */
int64_t sleep_tick(struct host *host, int64_t now);

/* ---- opening.c */
/* Sets the role and the directories with which the next session is opened, as far as the agent
 * takes them. */
void opening_set(struct host *host);
/* Returns true if a session that could not be opened may be opened without its role. */
bool opening_without_role(struct host *host);

/* ---- tools.c */
/* Returns mcpServers with `mas mcp` for this agent, which the caller frees; NULL if its preset does
 * not want it. */
char *tools_servers(const struct host *host);

/* ---- login.c */
/* Starts the agent's login on the pane, in place of mas-chat, by the method with this id, or with
 * NULL by the first that is for a terminal. */
int login_begin(struct host *host, const char *id, struct err *err);
/* Gives the pane back to mas-chat, and after a login that succeeded starts the agent again. */
void login_ended(struct host *host, int status);

/* ---- chat.c */
void chat_open(struct host *host);
void chat_close(struct host *host);
/* Plans the next start of mas-chat, which has ended. */
void chat_reap(struct host *host);
int64_t chat_tick(struct host *host, int64_t now);
/* Prints an event as plain lines, unless mas-chat shows it. */
void chat_print(struct host *host, const char *event, const char *text, size_t len);

#endif
