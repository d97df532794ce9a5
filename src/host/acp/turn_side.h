/*
 * What the files of src/host/acp/ do for each other about what is asked and said: prompts, updates
 * and permissions. conversation.h has the data, agent_side.h what is about the agent. For
 * src/host/acp/ only.
 */
#pragma once

#include "host/talk/permission.h"
#include "protocol/acp.h"

struct agent_task;
struct agent_tasks;
struct compaction;
struct conversation;
struct tool_call;
struct tool_table;
struct tool_words;
struct visited;

/* ---- prompt.c */
/* Words for a session of the agent. */
struct prompt_words {
    const char *session;
    const char *from; /* an agent of the team; "-": a person */
    const char *text;
    const char *data; /* its pictures; NULL: none */
    int64_t before; /* the history that the session does not know ends with this message */
    bool recalls; /* without such a history, what other conversations have on the subject */
};
/* Sends a prompt with what the session has to know first: role, history, and who asks. *ret is the
 * serial of the request. Fails if it has pictures that cannot be sent. */
int prompt_send(struct host *host, const struct prompt_words *words, int64_t *ret, struct err *err);
/* Returns true if the agent takes pictures, or has not told yet. */
bool prompt_takes_pictures(const struct host *host);
/* Sends the prompt of the turn. */
void prompt_send_turn(struct host *host);
/*
 * A prompt of `send --now` is marked as done, too, before the agent is asked whether it takes it,
 * and waits again if it does not: a kill in between leaves a prompt that looks cut off. Until the
 * agent has answered, no turn begins with it.
 */
/* Returns why the agent takes no words now, as constant text; NULL: it does. */
const char *steer_why_not(struct host *host);
/* Gives the agent a prompt of the queue, which then waits for its answer. */
void steer_prompt(struct host *host, int64_t number);
void steer_answer(struct host *host, const struct acp_answer *answer);
/* Lets all prompts that the agent was given, and has not taken, wait for turns of their own. */
void steer_drop_all(struct host *host);

/* ---- compact.c */
/* Handles news of a compaction, and keeps what is left of the context: a boundary of the history.
 */
void compact_handle(struct host *host, const struct acp_update *update);
/* Tells a notice of the agent, which is not kept. */
void compact_notice(struct host *host, const struct acp_update *update);
void compact_free(struct compaction *compaction);

/* ---- tasks.c */
/* Handles news of a subagent or a task, and messages between sessions. With `live` false they are
 * of the past: only the names are kept. */
void tasks_handle(struct host *host, const struct acp_update *update, bool live);
/* Handles an update of a subagent's session. Returns false if it is none. */
bool tasks_update(struct host *host, const struct acp_update *update, bool live);
/* Returns the subagent with this session; NULL: there is none. */
const struct agent_task *tasks_subagent(const struct host *host, const char *session);
/* Returns the tool calls of the subagent with this session; NULL: there is none. */
struct tool_table *tasks_tools(const struct host *host, const char *session);
/* Returns a title with the name of the subagent in front, which the caller frees; NULL for NULL. */
char *tasks_title(const struct host *host, const char *session, const char *title);
/* Returns true while one works. */
bool tasks_go_on(const struct conversation *conversation);
/* Appends which of them work, with `unknown` also those of which the agent does not know. Returns
 * false if there are none. */
bool tasks_add_note(const struct conversation *conversation, bool unknown, struct str *to);
/* Stops the subagents that work and can be stopped. Returns false if there are none. */
bool tasks_cancel(struct host *host);
/* Forgets all of them, as their session was left or the process has ended. */
void tasks_forget(struct host *host);
/* Forgets their numbers in the store, which is another one now. */
void tasks_forget_numbers(struct agent_tasks *tasks);

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

/* ---- tool.c */
/* Keeps what an update or the request for a permission says of a tool call of a subagent (tools
 * NULL: of the agent itself). Returns NULL if it has no id. */
struct tool_call *tool_know(struct host *host, struct tool_table *tools,
                            const struct acp_update *update);
/* Handles a tool call, even if the agent never announced it. */
void tool_handle(struct host *host, const char *subagent, struct tool_table *tools,
                 const struct acp_update *update);
/* Stores and tells what a tool call has become. */
void tool_tell(struct host *host, struct tool_call *tool);
/* Tells the tool calls that show the output of programs again, because a program has ended. */
void tool_show_programs(struct host *host);
/* Sets what is asked about a tool call. Returns true if it has changed. */
bool tool_describe(const struct host *host, struct asked_permission *permission,
                   const struct tool_words *is, const char *told, const char *content);

/* ---- update.c */
/* Handles an update of the agent, in a turn and outside of one. */
void update_handle(struct host *host, const struct acp_update *update);

/* ---- ask.c */
/* Handles a request for a permission: answers by the preset's policy, or asks the clients. */
void ask_permission(struct host *host, const struct acp_permission *request);
/* Answer the agent, for struct talk_ops. */
int ask_permit(struct host *host, size_t index, const struct word *option,
               const struct verdict *verdict, struct answered_permission *ret, struct err *err);
void ask_refuse(struct host *host, const struct asked_permission *permission);

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
void elicit_forget(struct visited *visited);

/* ---- chat.c */
void chat_open(struct host *host);
void chat_close(struct host *host);
/* Plans the next start of mas-chat, which has ended. */
void chat_reap(struct host *host);
int64_t chat_tick(struct host *host, int64_t now);
/* Prints an event as plain lines into the agent's log, and on the pane unless mas-chat shows it. */
void chat_print(struct host *host, const char *event, const char *text, size_t len);
/* Logs standard error, beginning on a new line. */
void chat_keep_error(struct host *host, const char *bytes, size_t len);
