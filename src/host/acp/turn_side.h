/*
 * What the files of src/host/acp/ do for each other about what is asked and answered: prompts,
 * turns and what the agent says in them, permissions, limits, the store, and what clients are told.
 * conversation.h has the data, agent_side.h what is about the agent. For src/host/acp/ only.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "host/state.h"
#include "memory/store.h"
#include "protocol/acp.h"

struct acp_tool;
struct agent_limit;
struct agent_task;
struct agent_tasks;
struct agent_turns;
struct asked_permission;
struct compaction;
struct conversation;
struct permissions;
struct prompt;
struct tool_call;
struct tool_table;
struct turn;

/* ---- memory.c */
/* Tells a message of mas; with `keep` it is stored first. */
void memory_say(struct host *host, bool keep, const char *fmt, ...) PRINTF_LIKE(3, 4);
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
/* Appends a piece to a message that grows, and ends such a message. */
void memory_append(struct host *host, int64_t number, const char *text, size_t len);
void memory_finish(struct host *host, int64_t number);
/* Stores that a prompt belongs to the turn of another, 0: to none; see store_join_turn(). */
void memory_join_turn(struct host *host, int64_t number, int64_t turn);
/* Returns the state that the messages of a turn get if it ends so. */
enum store_state memory_end_state(const char *stop_reason);
/* Stores the end of a prompt, and why it has failed or was stopped (NULL: not known); see
 * store_end_turn(). */
void memory_end_prompt(struct host *host, int64_t prompt, const char *stop_reason, const char *why);
/* Returns true, and resets the error, if a call has failed because the store was damaged or set
 * aside, and a new one is open now. Then the caller tries again. */
bool memory_renew(struct host *host, struct err *err);
/* Writes to the store, now or, if it takes nothing, later. Returns the number of the message; 0:
 * there is none. */
int64_t memory_write(struct host *host, const struct unwritten_write *write);
/* Try again what could not be done, for unwritten_tick(). */
bool memory_open_again(struct host *host);
bool memory_flush(struct host *host);
/* Tries for the last time, and closes the store. */
void memory_close(struct host *host);

/* Returns how much of what was said goes in front of a prompt ([memory]). */
struct store_budget memory_budget(const struct host *host);

/* ---- queue.c */
/*
 * A waiting prompt is a message of role `user` that is open, has no stop reason and has caused
 * nothing (STORE_WAITS); there is no other queue on disk. It is written before it is accepted,
 * marked as done, with fsync, before it is sent, and the agent's next host reads it (queue_read()).
 * A kill between the mark and the sending leaves a prompt that looks cut off, and mas treats it as
 * one.
 *
 * After a restart in the middle of a turn, nobody can know whether the agent kept the prompt that
 * was cut off. A second kill may cut off the next prompt, with the first in front of it. So the
 * text in front of the next prompt begins with the first cut-off turn since the last turn that
 * ended well.
 */
struct new_prompt {
    const char *text;
    size_t len;
    const char *from;
    char *const *tags; /* NULL: none */
    enum conversation_choice choice; /* CHOICE_CURRENT: the conversation of the prompts before it */
    const char *id; /* of CHOICE_NAMED */
    bool begins; /* its turn begins at once, unless others wait */
    bool steers; /* it is given to the agent at once, and stored as one that is at work */
};
/* Stores a prompt and appends it to the queue. *ret is its number. */
int queue_add(struct host *host, const struct new_prompt *prompt, int64_t *ret, struct err *err);
/* Queues the first message of the team, which is a prompt, if it was not asked yet. */
void queue_open(struct host *host);
/* Tries that again. Returns false if it cannot be stored. */
bool queue_add_first(struct host *host);
/* Appends a prompt that is stored already. */
void queue_push(struct host *host, int64_t number, const char *text, size_t len, const char *from,
                char *const *tags);
/* Puts a prompt in front of the queue; the queue owns it then. */
void queue_push_first(struct host *host, const struct prompt *prompt);
/* Removes a prompt from the queue; the caller owns it then. */
struct prompt queue_remove(struct conversation *conversation, size_t index);
/* Returns the index of a prompt; queue.count if it does not wait. */
size_t queue_find(const struct conversation *conversation, int64_t number);
/* Tells the client that waits for it what has become of a prompt: "steered" or "queued". */
void queue_tell_outcome(struct host *host, int64_t number, const char *outcome, const char *why);
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
/* Returns true if a prompt that waits is kept in another conversation than the present one. */
bool queue_is_elsewhere(const struct conversation *conversation, const struct prompt *prompt);
void queue_free_prompt(struct prompt *prompt);

/* ---- turn.c */
/* Begins the next turn, if the agent is ready for it and a prompt waits. */
void turn_run(struct host *host);
/* Ends the turn, in the store and for those who wait for its end. */
void turn_end(struct host *host, const char *stop_reason, int64_t code, const char *error);
/* Puts the prompt of the turn back in front of the queue. Nobody is told. */
void turn_put_back(struct host *host);
/* The same for a turn that the provider has refused: what it has left open is ended. */
struct limit_refusal;
void turn_refused(struct host *host, const struct limit_refusal *told);
/* The agent has taken a prompt of the queue in the middle of the turn: it belongs to it. */
void turn_take(struct host *host, size_t index);
/* Asks the agent to end the turn; without a turn, ends the prompt that waits longest. Returns false
 * if there is neither. */
bool turn_cancel(struct host *host);
/* The same for one prompt, which may wait. */
bool turn_cancel_prompt(struct host *host, int64_t number);
/* Returns true if a prompt that is added now begins its turn at once. */
bool turn_begins_at_once(struct host *host);

/* ---- prompt.c */
/* Words for a session of the agent. */
struct prompt_words {
    const char *session;
    const char *from; /* an agent of the team; "-": a person */
    const char *text;
    int64_t before; /* the history that the session does not know ends with this message */
    bool recalls; /* without such a history, what other conversations have on the subject */
};
/* Sends a prompt with what the session has to know first: role, history, and who asks. Returns the
 * serial of the request. */
int64_t prompt_send(struct host *host, const struct prompt_words *words);
/* Sends the prompt of the turn. */
void prompt_send_turn(struct host *host);
/* Returns words that tell a model which agent speaks to it, which the caller frees; NULL if a
 * person does. */
char *prompt_name_sender(const struct host *host, const char *from);

/* ---- steer.c */
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

/* ---- said.c */
/* Stores and tells a piece of what the agent says or thinks. */
void said_text(struct host *host, enum store_role role, const char *text, size_t len);
/* Ends the text that grows: what comes next is another message. */
void said_close_text(struct host *host);
/* Returns the tool call with this id, which may be new. */
struct tool_call *said_know_tool(struct tool_table *tools, const char *id);
void said_free_tool(struct tool_call *tool);
void said_free_tools(struct tool_table *tools);
/* Returns true if the tool call has ended. */
bool said_tool_is_over(const struct tool_call *tool);
/* Stores and tells what a tool call has become. */
void said_tell_tool(struct host *host, struct tool_call *tool, const char *content);
/* Stores and tells the plan; `more` entries are left out of `entries`, a JSON array. */
void said_plan(struct host *host, const char *text, const char *entries, size_t more);

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
                   const struct acp_tool *is, const char *told, const char *content);

/* ---- update.c */
/* Handles an update of the agent, in a turn and outside of one. */
void update_handle(struct host *host, const struct acp_update *update);

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
/* `of` is the agent session; NULL: not known. */
void usage_tokens(struct host *host, const char *of, const struct token_counts *told);
/* Measures the time in which the turn works. Returns when to call again. */
int64_t usage_tick(struct host *host, int64_t now);

/* ---- budget.c */
/* Finds out which limits are reached, and tells it if that has changed; with `keep` it is stored.
 */
void budget_look(struct host *host, bool keep);
/* The same when a turn has ended. */
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
/*
 * A clear:
 *
 * 1. Tell the agent to end the running turn; for mas it has ended.
 * 2. One transaction: the query ends with its agent sessions, waiting prompts end as cleared, the
 *    next query begins, --then is its first prompt.
 * 3. Tell the waiting clients (`cancelled`, `cleared`), the listeners, and the client that asked
 *    for the clear.
 * 4. When the turn has ended in the agent too, close its session and get a new one; there is
 *    nothing to resume. The host ends an agent that goes on for 5 s. It restarts an agent that has
 *    left four sessions which it cannot close, or twenty in all, or whose closed sessions left more
 *    than four programs running.
 *
 * Killed before 2, nothing was cleared and nothing reported. Killed after it, the next start finds
 * the new query. The host drops everything that comes with another session's id, so nothing from
 * before 2 appears after it.
 */
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
#define PLAN_CLEAR_OPTION "clear" /* the id of the option that mas adds to a plan */
/* Stores a request whose members are set, and keeps it until it is answered. Returns its index. */
size_t permission_add(struct host *host, const struct asked_permission *permission);
/* Tells it; the second function stores it anew before, as more was told of it. */
void permission_tell(struct host *host, const struct asked_permission *permission);
void permission_tell_again(struct host *host, struct asked_permission *permission);
/* Returns the option of this kind, else of the other one; NULL: there is none. */
const struct acp_word *permission_option(const struct asked_permission *permission,
                                         const char *kind, const char *else_kind);
/* Returns true for an option that says yes, and for one that clears the context. */
bool permission_allows(const struct acp_word *option);
bool permission_option_clears(const struct acp_word *option);
/* Removes a permission that the agent has withdrawn. */
void permission_withdraw(struct host *host, const char *ticket);
/* Cancels all permissions that are asked, or those of a subagent's session, NULL: of the agent
 * itself. */
void permission_drop_all(struct host *host);
void permission_drop_of(struct host *host, const char *subagent);
/* Writes what is asked. */
void permission_put(const struct host *host, const struct asked_permission *permission,
                    struct json_out *out);
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
    char *title, *details, *option;
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

/* ---- ask.c */
/* Handles a request for a permission: answers by the preset's policy, or asks the clients. */
void ask_permission(struct host *host, const struct acp_permission *request);
/* Answer the agent, for struct talk_ops. */
int ask_permit(struct host *host, size_t index, const struct acp_word *option,
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
void elicit_forget(struct permissions *permissions);

/* ---- plan.c */
/* Returns true if the agent asks to approve a plan. */
bool plan_is_asked(const struct acp_permission *request);
/* Returns the plan's text, which the caller frees; NULL if it is not known. */
char *plan_find_text(const struct conversation *conversation, const struct acp_permission *request,
                     const struct tool_call *known);
/* Adds the option by which mas clears the context and carries out the plan. */
void plan_add_option(struct asked_permission *permission);
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
/* Tells that the turn of a prompt begins, or that the agent has taken it in the middle of one. */
void event_tell_prompt(struct host *host, const struct prompt *prompt, bool steered);
/* Tells the end of a prompt to those who wait for it. */
void event_tell_end(struct host *host, int64_t prompt, const char *stop_reason, int64_t code,
                    const char *error);
/* Tells the state, if the clients know another one. */
void event_tell_state(struct host *host, const struct agent_status *status);
/* Writes the id of a message, "<session id>:<number>", into EVENT_ID_MAX bytes. Returns buf. */
const char *event_id(const struct host *host, int64_t number, char *buf);
/* Returns the number in such an id, or of a number alone; 0 if it is neither. */
int64_t event_number(const struct host *host, const char *id);
/* Drops listeners that do not read. Returns when to call again. */
int64_t event_tick_listeners(struct host *host, int64_t now);
/* Returns true while a listener has too much unread. The host does not read from the agent then. */
bool event_has_full_listener(const struct host *host);

/* ---- gate.c */
/* Returns true if something holds back the first turn of the queue, which begins at once otherwise.
 * With `begins` false the queue is empty: it is about a prompt that comes now. */
bool gate_holds(struct host *host, bool begins);
/* Gives up what was taken for a turn that does not begin. */
void gate_give_up(struct host *host);

/* ---- limit.c */
/* Reads the prompt that was refused when the previous host ended, after the queue was read. */
void limit_open(struct host *host);
/* Tries again to keep the prompt that was refused. Returns false if that is not possible. */
bool limit_keep_again(struct host *host);
void limit_free(struct agent_limit *limit);
/* Returns true while the provider, or mas for it, has the next turn wait. Otherwise this agent may
 * be the one that tries first for its login, until limit_gives_up(). */
bool limit_holds(struct host *host);
void limit_gives_up(struct host *host);
/* Tries now, as a person has restarted the agent. */
void limit_skip(struct host *host);
/* Returns true if a prompt waits for the provider. */
bool limit_is_on(const struct conversation *conversation);
/* A refusal of the provider. */
struct limit_refusal {
    bool overloaded; /* it has too much load; else the user has used too much */
    int64_t until_ms; /* when it takes prompts again, ms since 1970; 0: it does not say */
    const char *why;
};
/* Keeps the prompt of the turn, which is sent again. Put it back in front of the queue, and then
 * tell it with the second function. */
void limit_refused(struct host *host, const struct limit_refusal *told);
void limit_tell(struct host *host, const struct limit_refusal *told);
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

/* ---- chat.c */
void chat_open(struct host *host);
void chat_close(struct host *host);
/* Plans the next start of mas-chat, which has ended. */
void chat_reap(struct host *host);
int64_t chat_tick(struct host *host, int64_t now);
/* Prints an event as plain lines, unless mas-chat shows it. */
void chat_print(struct host *host, const char *event, const char *text, size_t len);
