/*
 * The conversation of an ACP agent, in its host; for src/host/ only. struct talk owns all of it,
 * and the loop drives it: nothing here waits.
 *
 *     talk.c          its life; the agent's pipes, bytes in and out
 *     talk_store.c    where it is kept, and what happens when it cannot be
 *     talk_resume.c   from a process that has just started to a session that takes prompts: the
 *                     ladder (initialize; resume, load, new)
 *     talk_settings.c mode, model and options: the agent's, and those to be set again
 *     talk_summary.c  a summary of what is too long to be told again, by the agent itself
 *     talk_turn.c     the queue of prompts, the turn, its end
 *     talk_update.c   what comes of the agent, in a turn and outside of one
 *     talk_clear.c    clears, and the change to another conversation
 *     talk_permit.c   permissions: by policy, asked, answered from anywhere; plans
 *     talk_event.c    what listeners and askers are told
 *     talk_request.c  what they ask
 *     talk_work.c     files and programs that the agent asks for (talk_files.h, talk_terminals.h)
 *     talk_tools.c    the tools of the team, for the agent's sessions
 *     talk_pane.c     the pane: mas-chat, or plain lines
 *
 * Order of all that happens: it is stored, then told. A session of the agent is known by its id;
 * what comes of another than the present one is dropped, so that nothing from before a clear can
 * come after it.
 */
#ifndef MAS_HOST_TALK_H
#define MAS_HOST_TALK_H

#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"
#include "host/talk_files.h"
#include "host/talk_terminals.h"
#include "memory/store.h"
#include "model/agent_status.h"
#include "model/team.h"
#include "protocol/acp.h"
#include "protocol/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;
struct client;
struct frame;

enum {
    TALK_ID_MAX = 64, /* bytes of a message's id */
    TALK_PERMISSIONS_MAX = 32, /* open at once */
    TALK_TOOLS_MAX = 512, /* known in one turn; the oldest makes room */
    TALK_WORDS_MAX = 256, /* modes, commands, options that are kept of an agent */
    TALK_UNCLOSED_MAX = 4, /* sessions left behind in a process that cannot close them */
    TALK_LEFT_MAX = 20, /* in one that can */
    TALK_SERVERS_MAX = 4, /* MCP servers of closed sessions that still run: Codex keeps them */
    TALK_CANCEL_MS = 5000, /* an agent that has not ended its turn by then is ended */
    TALK_SETTING_MS = 10000, /* for the answer to a mode or an option */
    TALK_CLOSE_MS = 5000,
    TALK_FULL_MS = 1000, /* a listener that has left TALK_BACKLOG unread for so long goes */
    TALK_QUEUE_BYTES = 16 << 20, /* of prompts that wait */
    TALK_SETTLE_MS = 150, /* silence that says that a loaded session has been replayed */
    TALK_SETTLE_MAX_MS = 3000,
};

/* Where the connection with the agent's process is. */
enum talk_phase {
    TALK_OFF, /* no process */
    TALK_INITIALIZES,
    TALK_RESUMES,
    TALK_LOADS,
    TALK_SETTLES, /* loaded; what it replays may still come */
    TALK_OPENS, /* session/new */
    TALK_SUMS_UP, /* a session of its own, for the summary of a long history */
    TALK_SETS, /* mode, model, options, one after the other */
    TALK_READY, /* takes prompts */
    TALK_ENDS_TURN, /* the context was cleared in a turn: its end is waited for */
    TALK_STUCK, /* needs a login, or cannot do what mas needs: `trouble` says it */
};

/* A prompt that waits, or is at work. */
struct talk_prompt {
    int64_t number; /* in the store */
    char *text;
    size_t len;
    char from[TEAM_WORD_MAX + 1]; /* "-": a person */
    char **tags; /* NULL: none */
    bool begun; /* it was stored as one whose turn begins */
    bool kept; /* the agent was stopped: who waited for it was told that it is asked later */
    bool told; /* that its turn begins */
    char conversation[37]; /* that it was asked in, "" the current one; and the query there */
    int64_t query;
};

/* A tool call of the turn, as far as it is known. */
struct talk_tool {
    int64_t number;
    char *id, *title, *kind, *status, *text;
};

struct talk_turn {
    bool on;
    struct talk_prompt prompt;
    int64_t serial; /* of session/prompt */
    bool primed; /* it began with system, history */
    bool cancelled;
    bool heard; /* the agent has said or done something in it */
    int64_t cancel_until; /* -1: not cancelled */
    /* messages that grow; 0: none */
    int64_t answer, thought, plan;
    size_t answer_len, thought_len; /* bytes of them */
    struct talk_tool *tools;
    size_t tool_count;
    char *plan_text; /* newest plan as text; NULL */
    bool unkept; /* something could not be stored, and that was said */
    bool skipped; /* a message was too long, and that was said */
};

/* A permission that is asked. */
struct talk_permission {
    int64_t number; /* in the store: how others name it */
    char id[TALK_ID_MAX]; /* the same with the session's id */
    char *ticket; /* the wire's name */
    char *title, *kind, *details, *tool_id;
    bool plan; /* a plan is to be approved */
    char *plan_text; /* NULL: not known */
    struct acp_word *options; /* the agent's, and one of mas for a plan */
    size_t count;
};

/* Where the agent's requests are served, while it runs. */
struct talk_work {
    struct talk_root roots[3]; /* the workspace, and where else the agents work */
    char *paths[3];
    struct talk_place place;
    struct talk_terminals *terminals; /* NULL: it does not run */
    int64_t shown; /* how many of them had ended when their output was last shown */
};

struct talk {
    struct talk_work work;
    struct store *store; /* NULL: cannot be opened, `store_error` says why */
    char store_error[ERR_TEXT_MAX];
    struct store_place place;
    char *cwd; /* of agent sessions: absolute */
    char *machine;
    char *tools; /* mcpServers of agent sessions; NULL: none */

    /* the process */
    int in, out, err; /* its standard files; -1 */
    struct acp *acp; /* NULL: none */
    bool eof; /* it prints nothing more */
    enum talk_phase phase;
    int64_t serial; /* of the request that the phase waits for */
    int64_t phase_until; /* of SETTLES, ENDS_TURN; -1 */
    int64_t quiet_since; /* of SETTLES */
    char *session; /* the agent's id; NULL: none */
    char *program; /* its name and version */
    enum store_outcome outcome;
    bool proved; /* a turn has ended well in the session */
    unsigned fell; /* rungs (1 << phase) that came back with a session that fails its prompts */
    bool prime; /* system and history go in front of the next prompt */
    int64_t remind; /* first of the prompts at the end whose turns were cut off: the agent may not
                       know of them; 0: none */
    int64_t replayed; /* pieces that a loaded session has shown again */
    bool settled; /* content outside of turns is news, not a replay */
    int setting; /* next of the settings that are made in SETS */
    int left, unclosed; /* sessions of this process: that were left, and were not closed */
    size_t servers; /* programs of ours that ran below this process when it had left one */
    bool summed; /* a summary was made, or tried, on this climb */
    struct str summary; /* "" none */
    char *rung_notes; /* why rungs failed; NULL */
    char trouble[ERR_TEXT_MAX]; /* "" none */
    bool needs_login;
    int64_t garbage; /* lines that were no messages */

    /* what the agent has told of itself */
    char *mode; /* that it is in; "" not known */
    struct acp_word *modes, *commands;
    size_t mode_count, command_count;
    struct acp_word *past_modes; /* of the process before, for when none runs */
    size_t past_mode_count;
    struct str options; /* config options: the "options" event's array; "" none */
    struct talk_option { /* the same, as far as mas uses it */
        char *id, *category, *value;
    } * option_list;
    size_t option_count;
    char *title;

    struct talk_prompt *queue;
    size_t count;
    bool queue_read; /* what waited when this host came up is in it */
    struct talk_turn turn;
    struct talk_permission permissions[TALK_PERMISSIONS_MAX];
    size_t permission_count;

    enum agent_state told_state;
    char *told_note;

    /* the pane */
    pid_t chat; /* mas-chat; 0: none runs */
    bool plain; /* there is no mas-chat */
    bool term_text_open; /* a line is open */
    int chat_failures;
    int64_t chat_started, chat_at; /* when it is started again; -1 */
};

/* ---- talk.c */
/* For agents that speak ACP; opens the store. */
void talk_open(struct host *host);
void talk_free(struct host *host);
/* Opens the store if that was not possible before. Fails with why it cannot be. */
int talk_need_store(struct host *host, struct err *err);
/* A call of the store has failed: says so once a turn; a damaged one is set aside, and the talk
 * goes on in a new one. */
void talk_store_failed(struct host *host, const struct err *err);
/* true where a call has failed because the store is damaged or was set aside, and there is a new
 * one by now: it is worth another try. Resets the error then. */
bool talk_renew_store(struct host *host, struct err *err);
/* Pipes for a process that is about to start: ret_fds is its end. */
int talk_connect(struct host *host, int ret_fds[3], struct err *err);
/* It runs. */
void talk_begin(struct host *host);
/* It is to end: what is in flight is told, its input closed. */
void talk_hang_up(struct host *host);
/* It has ended: the turn is over, with why. */
void talk_ended(struct host *host, const char *why);
void talk_disconnect(struct host *host);
/* Waits for what the agent and its programs print, and for the agent to read. */
void talk_want(const struct host *host, struct loop *loop);
void talk_serve(struct host *host, struct loop *loop);
/* Reads all that is there. */
void talk_drain(struct host *host);
/* What time alone brings; returns when to call again. */
int64_t talk_tick(struct host *host, int64_t now);
enum agent_state talk_state(const struct host *host);
/* What it waits for, or why it cannot go on; "" */
const char *talk_note(const struct host *host);
/* How the present session came to know what was said; "" where there is none. */
const char *talk_continuity(const struct host *host);
/* It cannot be used as it is: state and words. Prompts that wait fail. */
void talk_trouble(struct host *host, bool needs_login, const char *why);
/* Appends what helps with an agent that fails by itself: what its preset says of root, and the last
 * lines that it has printed. */
void talk_add_last_words(struct host *host, struct str *to);
/* [memory]: how much of what was said is shown again. */
struct store_budget talk_budget(const struct host *host);
/* Words with their ids, kept. */
struct acp_word *talk_copy_words(const struct acp_word *words, size_t count);
void talk_free_words(struct acp_word *words, size_t count);

/* ---- talk_resume.c */
/* The ladder of the open query, behind initialize. */
void talk_resume(struct host *host);
/* An answer to one of its requests. */
void talk_rung_answer(struct host *host, const struct acp_answer *answer);
/* The agent has the present session for the open query: it is kept. */
int talk_keep_session(struct host *host, const char *note, struct err *err);
/* A turn in the session has ended well: that is kept, before the end of the turn is. */
void talk_prove(struct host *host);
/* The turn has failed. true: it was the first one in a session that came back, nothing was heard in
 * it, and its prompt is in front of the queue again, for the next rung. */
bool talk_fall(struct host *host, const char *why);
/* The same has happened, and there is no further rung: it is not the sessions' fault, and the one
 * before is come back to. */
void talk_resume_again(struct host *host);
/* The agent has ended in its first turn. */
void talk_fell_dead(struct host *host, const char *why);
/* Appends how one logs in, by what the agent has told. */
void talk_add_login(const struct host *host, struct str *to);
/* Why an answer was no success, in words. */
const char *talk_why(const struct acp_answer *answer, char *buf, size_t size);
/* Leaves the present session: it is closed where the agent can. */
void talk_leave_session(struct host *host);
/* The loaded session has been silent for long enough, or for too long. */
void talk_settled(struct host *host);

/* Opens a session, for the summary's end. */
void talk_open_session(struct host *host);

/* ---- talk_settings.c */
/* One setting after the other, then prompts. */
void talk_set_up(struct host *host);
void talk_setting_answer(struct host *host, const struct acp_answer *answer);
/* Takes modes and options of a session's answer, or of an update. */
void talk_parse_modes(struct host *host, const char *mode, const struct acp_word *modes,
                      size_t count);
void talk_free_options(struct talk *talk);
void talk_parse_options(struct host *host, const struct json *options);
/* Fails where the agent is known not to have it, with those that it has. */
bool talk_knows_modes(const struct talk *talk);
int talk_check_mode(const struct host *host, const char *mode, struct err *err);
/* Keeps a mode, or an option's value, and has the agent set it now where it runs. */
int talk_set_mode(struct host *host, const char *mode, struct err *err);
int talk_set_option(struct host *host, const char *option, const char *value, struct err *err);

/* ---- talk_summary.c */
/* true if the new session is used for a summary first; the next one is for prompts. */
bool talk_sum_up(struct host *host);
void talk_summed_up(struct host *host, const struct acp_answer *answer);
/* What goes in front of the history. */
void talk_add_summary(const struct talk *talk, struct str *to);

/* ---- talk_turn.c */
/* Number of the prompt whose turn is on, 0 none; and else of the one that waits longest. */
int64_t talk_turn_prompt(const struct talk *talk);
int64_t talk_next_prompt(const struct talk *talk);
/* Stores a prompt and puts it behind those that wait, in the conversation that is current when its
 * turn comes, or another by choice and id. *ret is its number. */
struct talk_new_prompt {
    const char *text;
    size_t len;
    const char *from;
    char *const *tags; /* NULL: none */
    enum conversation_choice choice; /* CHOICE_CURRENT: as those before it */
    const char *id;
};
int talk_add_prompt(struct host *host, const struct talk_new_prompt *prompt, int64_t *ret,
                    struct err *err);
/* The same for one that is stored already (--then). */
void talk_push_prompt(struct host *host, int64_t number, const char *text, size_t len,
                      const char *from, char *const *tags);
/* Begins the next turn, if that can be. */
void talk_run(struct host *host);
void talk_prompt_answer(struct host *host, const struct acp_answer *answer);
/* The turn's prompt is the first one that waits again, and nobody is told. */
void talk_put_back(struct host *host);
/* Ends the turn, in the store and for those who wait. */
void talk_end_turn(struct host *host, const char *stop_reason, int64_t code, const char *error);
/* Those that wait end without a turn. */
void talk_fail_queue(struct host *host, const char *stop_reason, const char *error);
/* The agent stops: those that wait stay, in the store and here, for its next start. Who waits for
 * one is told so. */
void talk_keep_queue(struct host *host, const char *why);
/* Takes those that waited when the host before this one ended, however that was. Once. */
int talk_read_queue(struct host *host, struct err *err);
/* Asks the agent to end its turn; false where none is on. */
bool talk_cancel(struct host *host);
/* The same for one prompt alone, which may also wait. */
bool talk_cancel_prompt(struct host *host, int64_t number);
void talk_prompt_free(struct talk_prompt *prompt);

/* ---- talk_update.c */
void talk_update(struct host *host, const struct acp_update *update);
/* Programs have ended: the tool calls that show their output are told again. */
void talk_show_programs(struct host *host);
/* What comes next is not more of the text that was. */
void talk_close_text(struct host *host);
void talk_tool_free(struct talk_tool *tool);
/* Takes what an update, or the request for a permission, says of a tool call, and tells nobody yet.
 * NULL where that has no id. */
struct talk_tool *talk_know_tool(struct host *host, const struct acp_update *update);
/* true if the call of the store went well; else it was said that it did not. */
bool talk_kept(struct host *host, int rc, const struct err *err);

/* ---- talk_clear.c */
struct talk_clear_options {
    const char *reason; /* "clear", "plan" */
    const char *mode; /* NULL: as it is */
    const char *then_text; /* NULL: none */
    size_t then_len;
    const char *from;
    char *const *tags;
};
/* *ret_then: the number of the prompt, 0 none. */
int talk_clear(struct host *host, const struct talk_clear_options *options, int64_t *ret_then,
               struct err *err);
int talk_change_conversation(struct host *host, enum conversation_choice choice, const char *id,
                             struct err *err);
/* The same for a prompt whose turn comes, while others wait behind it. */
int talk_enter_conversation(struct host *host, enum conversation_choice choice, const char *id,
                            struct err *err);
/* In TALK_ENDS_TURN: it has ended. */
void talk_turn_is_gone(struct host *host);

/* ---- talk_permit.c */
void talk_permission(struct host *host, const struct acp_permission *request);
void talk_withdrawn(struct host *host, const char *ticket);
/* Answers the permission of that number (0: the oldest) by an option's id or one of the words of
 * protocol/host.h. `as` ("allow", "deny"; NULL either) is what it is meant as. */
struct talk_verdict {
    int64_t number;
    const char *as, *wanted, *by;
    const char
        *mode; /* for a plan that is carried out with a cleared context; NULL: as it lets work */
};
struct talk_permitted {
    char *title, *option;
    char *mode; /* that the plan is carried out in; NULL: no plan was, or none is known */
    int64_t number;
};
int talk_permit(struct host *host, const struct talk_verdict *verdict, struct talk_permitted *ret,
                struct err *err);
void talk_permitted_free(struct talk_permitted *permitted);
/* Tells those that are open to one who has come since they were asked. */
void talk_tell_permissions(const struct host *host, struct client *client);
/* All of them are over, as cancelled. */
void talk_drop_permissions(struct host *host);

/* ---- talk_event.c */
/* Hangs up on those who do not read. Returns when to call again. While one is full the agent waits.
 */
int64_t talk_tick_listeners(struct host *host, int64_t now);
bool talk_has_full_listener(const struct host *host);
/* An event is an object with "event" first, closed by talk_tell(). */
struct talk_event {
    struct str head;
    struct json_out out;
};
void talk_event(struct talk_event *event, const char *name);
/* To listeners, and to those who wait for prompt `number` (0: to listeners alone). Releases the
 * event.
 */
void talk_tell(struct host *host, struct talk_event *event, const char *body, size_t len,
               int64_t number);
void talk_tell_one(struct client *client, struct talk_event *event, const char *body, size_t len);
/* `at`: bytes of the message before this piece. */
void talk_tell_text(struct host *host, const char *name, int64_t message, size_t at,
                    const char *text, size_t len);
/* Words of mas: stored where `keep` says so, and told. */
void talk_say(struct host *host, bool keep, const char *fmt, ...) PRINTF_LIKE(3, 4);
void talk_tell_state(struct host *host, const struct agent_status *status);
void talk_put_modes(const struct talk *talk, struct json_out *out);
void talk_put_commands(const struct talk *talk, struct json_out *out);
void talk_put_permission(const struct host *host, const struct talk_permission *permission,
                         struct json_out *out);
/* "<session id>:<number>" */
const char *talk_id(const struct host *host, int64_t number, char buf[TALK_ID_MAX]);
/* The number in such an id, or a number alone; 0 where it is neither. */
int64_t talk_number(const struct host *host, const char *id);

/* ---- talk_request.c */
/* true if the request is one of a talk, and was answered. */
/* What a request does, for "cannot <what> agent"; NULL: it is none of an ACP agent. */
const char *talk_request_what(const char *name);
bool talk_request(struct host *host, struct client *client, const struct frame *frame);

/* ---- talk_work.c */
void talk_work_open(struct host *host);
void talk_work_close(struct host *host);
/* A session of the agent has been left: its programs end. */
void talk_work_leave(struct host *host, const char *session);
void talk_work_request(struct host *host, const struct acp_request *request);
void talk_work_want(const struct host *host, struct loop *loop);
void talk_work_serve(struct host *host, struct loop *loop);
/* Content of a tool call with the output of programs in it; the caller frees. */
#define TALK_TERMINAL_MARK "[terminal "
char *talk_work_text(const struct host *host, const char *text);

/* ---- talk_tools.c */
/* mcpServers with `mas mcp` for this agent, the caller's; NULL where its preset does not want it.
 */
char *talk_tools(const struct host *host);

/* ---- talk_pane.c */
void talk_pane_open(struct host *host);
void talk_pane_close(struct host *host);
/* A child of the host has ended; if it was mas-chat, plans its next start. */
void talk_pane_reap(struct host *host, pid_t pid);
int64_t talk_pane_tick(struct host *host, int64_t now);
/* Where there is no mas-chat: an event as a line. */
void talk_pane_print(struct host *host, const char *event, const char *text, size_t len);

#endif
