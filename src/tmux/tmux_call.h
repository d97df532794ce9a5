/*
 * Calls of the tmux client; for the files of tmux/ only.
 */
#pragma once

#include "base/id.h"
#include "model/team/team.h"
#include "os/proc.h"

/* User options of a pane: its agent's id and role; its state; "1" while it waits for a person. tmux
 * inherits options from the window, the session and the server, so no other level has these. */
#define TMUX_PANE_AGENT "@mas_agent"
#define TMUX_PANE_STATE "@mas_state"
#define TMUX_PANE_WAITS "@mas_waits"

struct tmux_pane;
struct tmux_team;

struct tmux_call {
    const char *socket;
    const char *const *args; /* NULL-terminated, after `tmux -u -S <socket>`; at most 24 */
    const struct str *script; /* standard input, for `source-file -`; NULL: none */
    int dir; /* -1: the current directory */
    bool starts_server; /* prepare for a new server: its limits and its own scope */
    int scope; /* of that server, an enum tmux_scope */
    pid_t server; /* of the socket, if tmux_is_alive() has just named it; 0: the call checks */
    /* This process is in a pane of that server, so the socket needs no check: the call starts
     * without waiting for the server, and gets INSIDE_CALL_MS in all. */
    bool inside;
};

enum { INSIDE_CALL_MS = 3000 };

/* Starts a call; the caller ends it with tmux_finish(). */
int tmux_call_start(const struct tmux_call *call, struct proc *ret, struct err *err);
/* Waits for the end of a call as long as the server is active, see TMUX_CALL_MS. */
int tmux_finish(struct proc *proc, struct proc_result *ret, struct err *err);
/* Runs a call to its end. If the client fails, this is not an error here: see ret->status. */
int tmux_call(const struct tmux_call *call, struct proc_result *ret, struct err *err);

/* Connects to a socket and checks that a process of this user listens. Returns 1 and sets *ret_pid;
 * 0 if no process listens; -1 with errno. */
int tmux_socket_peer(const char *socket_path, pid_t *ret_pid);
/* Returns the process of the server on a socket; 0: none. */
pid_t tmux_socket_server(const char *socket_path);
/* Checks whether it is safe to start a tmux client for this socket. Returns the same as
 * tmux_is_alive(). */
int tmux_socket_check(const char *socket_path, pid_t *ret_pid, struct err *err);
/* Creates the directory of the socket: with -S, tmux does not. */
int tmux_socket_make_dir(const char *socket_path, struct err *err);

/* Runs a script on a server. Its output goes to *out unless that is NULL. `what` is for the error:
 * "cannot <what>: ...". */
int tmux_run_script(const char *socket, const struct str *script, const char *what, struct str *out,
                    struct err *err);

/* Appends text as one word of a tmux script. The tmux parser expands nothing in it. */
/* Adds the command that shows a session's name in its status line in place of the one that it had,
 * unless a user has changed the line. "": no name. The names need no quotes. */
void tmux_add_name(const char *target, const char *was, const char *name, struct str *script);
void tmux_add_word(struct str *script, const char *text);

/* Sets the error MAS_TMUX, "cannot <what>: <first line of tmux's output>". Returns -1. */
int tmux_fail(const struct proc_result *result, const char *what, struct err *err);

/* Returns true if tmux reported that there is no server. */
bool tmux_said_gone(const struct proc_result *result);

/* Returns true if systemd-run reported that there is no such scope. */
bool tmux_said_no_scope(const struct proc_result *result);

/* Cuts off and returns the first line of tmux's output; continue with strtok_r(NULL, "\n", save).
 * NULL if there is none. */
char *tmux_first_line(struct proc_result *result, char **save);

/* Returns true if the text is a valid id of a session ($1), window (@1) or pane (%1), which is safe
 * to pass back to tmux as a target. */
bool tmux_is_target(const char *text, char sigil);

/* Formats of lists. */
extern const char tmux_list_format[], tmux_panes_format[];

/* Reads a line of tmux_panes_format, which it changes. Returns false if it is not a pane of an
 * agent of session `id`. */
bool tmux_read_pane(char *line, const char *id, struct tmux_pane *ret);

/* Parts of the script that makes the panes of a team. */
/* Appends "mas host <id> <agent>" as the pane's command: several words, so tmux uses no shell. */
void tmux_add_command(const struct tmux_team *team, size_t agent, struct str *script);
/* Names the agent of the pane `target`; if that is a window, of its active pane. Nothing in it
 * means anything to tmux. */
void tmux_add_agent(const struct tmux_team *team, size_t agent, const char *target,
                    struct str *script);
void tmux_add_window_options(const struct tmux_team *team, const char *target, struct str *script);

/* A list of the sessions and, behind the word TMUX_TEAM_SESSIONS, of the panes that were started
 * for one of them, which a filter says. */
enum { TMUX_FILTER_TEXT = ID_TEXT + 64, TMUX_TEAM_SESSIONS = 3 };
#define TMUX_TEAM_ARGS(filter)                                                                     \
    "list-sessions", "-F", tmux_list_format, ";", "list-panes", "-a", "-f", filter, "-F",          \
        tmux_panes_format
void tmux_team_say(const char *id, char ret[TMUX_FILTER_TEXT]);

/* What a client is told to print the screen of a pane with: */
struct tmux_capture_words {
    char pane[24];
    char is_ours[128]; /* a format: whether the pane is there, and of this session */
    char capture[192]; /* commands that print a mark, "<nonce> <i>.", and then the screen */
    char end[ID_TEXT]; /* the mark behind the last screen */
};
void tmux_capture_say(const char *pane, const char *id, const char *nonce, size_t i, int history,
                      struct tmux_capture_words *ret);
#define TMUX_CAPTURE_ARGS(words)                                                                   \
    "if-shell", "-F", "-t", (words)->pane, (words)->is_ours, (words)->capture, ";",                \
        "display-message", "-p", (words)->end

/* Extracts the agent from a pane's start command "... host <id> <agent>". Returns false if the
 * command is not an agent's. */
bool tmux_agent_of(const char *command, const char *id, char ret[TEAM_WORD_MAX + 1]);
