/*
 * What the files of src/host/acp/ do for each other about the agent: its process, its sessions and
 * what it offers, what it may reach, and when it sleeps. conversation.h has the data, turn_side.h
 * what is asked and answered. For src/host/acp/ only.
 */
#pragma once

#include "base/json.h"
#include "host/acp/phase.h"
#include "host/state.h"
#include "os/loop.h"
#include "protocol/acp.h"

struct agent_link;
struct agent_sleep;
struct client;
struct conversation;
struct kept_sessions;
struct offered;
struct resume;
struct settings;
struct tool_call;

/* ---- link.c */
/* Enters a phase; see phase.h. */
void link_enter(struct host *host, enum phase phase, int64_t serial, int64_t until);
/* Makes the pipes for a process that is about to start; ret_fds are its ends. */
int link_connect(struct host *host, int ret_fds[3], struct err *err);
/* Closes them, and forgets the protocol. */
void link_close(struct agent_link *link);
void link_free(struct agent_link *link);
/* Reads all that is there. */
void link_drain(struct host *host);
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

/* ---- process.c */
int process_connect(struct host *host, int ret_fds[3], struct err *err);
/* Writes what the agent is to get. One that does not read is ended. */
void process_flush(struct host *host);
/* Has each part forget what was of the process. */
void process_disconnect(struct host *host);
/* Sends `initialize` to the process, which runs now. */
void process_begin(struct host *host);
/* Ends the turn and closes the agent's input, because mas ends the agent. */
void process_hang_up(struct host *host);
/* Ends the turn with `why` after the process has ended, and disconnects. */
void process_ended(struct host *host, const char *why);

/* ---- resume.c */
/* Gets a session for the present query: resumes or loads the newest one, or opens a new one. */
void resume_begin(struct host *host);
/* Enters STUCK, because the agent cannot be used, and ends the turn and all prompts that wait with
 * `why`. */
void resume_trouble(struct host *host, bool needs_login, const char *why);
/* Handles an answer to `initialize`, or to a request for a session or a setting. */
void resume_answer(struct host *host, const struct acp_answer *answer);
/* Forgets what is known of the session, as the process has ended. */
void resume_forget(struct resume *resume);
/* Ends the replay of a loaded session when it is silent for long enough, or takes too long. Returns
 * when to call again. */
int64_t resume_tick(struct host *host, int64_t now);
/* Records that the agent uses the present session for the query. */
void resume_keep_session(struct host *host, const char *note);
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

/* ---- offered.c */
/* Keep modes and options of a session's answer or of an update, and tell them. */
void offered_parse_modes(struct host *host, const char *mode, const struct word *modes,
                         size_t count);
void offered_parse_options(struct host *host, const struct json *options);
void offered_put_modes(const struct conversation *conversation, struct json_out *out);
void offered_put_commands(const struct conversation *conversation, struct json_out *out);
/* Tells the clients the options again. */
void offered_tell_options(struct host *host);
/* Forgets what the agent has offered, as its process has ended. */
void offered_forget(struct offered *offered);
/* Notes what the agent can do, as it has told in its answer to `initialize`. */
void offered_learn(struct host *host);
void offered_free(struct offered *offered);
bool offered_has_mode(const struct word *modes, size_t count, const char *mode);
/* Returns the option with this id, or of this category; NULL: none. */
const struct config_option *offered_find(const struct offered *offered, const char *id,
                                         const char *category);
/* Appends the values of an option (NULL: the one for the mode) as far as they fit in a hint.
 * Returns true if the value is one of them, or for an agent with modes one of those. */
bool offered_list_values(const struct offered *offered, const char *option, const char *value,
                         struct str *to);

/* ---- settings.c */
/* Makes one setting after the other, then enters READY. */
void settings_begin(struct host *host);
/* Handles an answer to a setting, and makes the next one if the phase waits for that. */
void settings_answer(struct host *host, const struct acp_answer *answer);
/* Answers the clients that wait for the agent's answer, as its process has ended. */
void settings_process_ended(struct host *host);
void settings_free(struct settings *settings);
/* Returns true if the modes of the agent are known. */
bool settings_knows_modes(const struct conversation *conversation);
/* Fails if the agent is known not to have the mode; the hint names those that it has. */
int settings_check_mode(const struct host *host, const char *mode, struct err *err);
/* Set a mode or the value of an option, store what was set, and answer the client when the agent
 * has answered. A client that makes further requests is answered at once, and a note says what the
 * agent rejects. */
int settings_set_mode(struct host *host, struct client *client, const char *mode, struct err *err);
int settings_set_option(struct host *host, struct client *client, const char *option,
                        const char *value, struct err *err);

/* ---- work.c */
void work_open(struct host *host);
void work_close(struct host *host);
/* Ends the programs of a session that the host has left. */
void work_leave(struct host *host, const char *session);
/* Answers a request of the agent, with `reads_only` one of a session that may only read files. */
void work_request(struct host *host, const struct acp_request *request, bool reads_only);
void work_want(const struct host *host, struct loop *loop);
/* Returns true if a program has ended, so that tool calls show more. */
bool work_serve(struct host *host, struct loop *loop);
/* Returns the content of a tool call with the output of its programs, which the caller frees. */
#define WORK_TERMINAL_MARK "[terminal "
char *work_text(const struct host *host, const char *text);

/* ---- kept.c */
/* Takes the question of a client, which gets the answer later. `id`: the session to delete, NULL:
 * none. */
int kept_add(struct host *host, struct client *client, const char *id, bool all, struct err *err);
/* Returns true if one waits for the agent. */
bool kept_waits(const struct conversation *conversation);
/* Asks the agent, once it can be asked. */
void kept_run(struct host *host);
/* Returns true if the answer was to one of its requests. */
bool kept_answer(struct host *host, const struct acp_answer *from);
/* Ends it because of `why`, and because the process has ended. */
void kept_fail(struct host *host, const char *why);
void kept_process_ended(struct host *host);
void kept_free(struct kept_sessions *kept);

/* ---- opening.c */
/* Sets the role and the directories with which the next session is opened, as far as the agent
 * takes them. */
void opening_set(struct host *host);
/* Returns true if a session that could not be opened may be opened without its role. */
bool opening_without_role(struct host *host);
/* Returns mcpServers with `mas mcp` for this agent, which the caller frees; NULL if its preset does
 * not want it. */
char *opening_servers(const struct host *host);
/* Leaves a session (NULL: none) of the process: has the agent close it, and with `deletes` delete
 * it, as far as the agent can. */
void opening_close(struct host *host, const char *session, bool deletes);
/* Leaves the present session. One whose context was cleared is deleted. */
void opening_leave(struct host *host);
/* Opens a new session. */
void opening_ask(struct host *host);

/* ---- leave.c */
/*
 * Leaves the present session for one of the present query, of which the host has told already.
 * `turn` is the serial of a turn that was just cut off, 0: none was on. The agent ends that turn
 * first, and the host hears nothing of it any more; it ends an agent that goes on for 5 s. It
 * restarts one that has left four sessions which it cannot close, or twenty in all, or whose closed
 * sessions left more than four programs running. The host drops everything that comes with another
 * session's id, so nothing from before a clear appears after it. `cleared`: the session is one of a
 * query that was cleared.
 */
void leave_session(struct host *host, int64_t turn, bool cleared);
/* Goes on after the end of a turn that was cut off (ENDS_TURN). */
void leave_turn_ended(struct host *host);

/* ---- login.c */
/* Starts the agent's login on the pane, in place of mas-chat, by the method with this id, or with
 * NULL by the first that is for a terminal. */
int login_begin(struct host *host, const char *id, struct err *err);
/* Gives the pane back to mas-chat, and after a login that succeeded starts the agent again. */
void login_ended(struct host *host, int status);
