/*
 * tmux. Only the files of tmux/ build tmux arguments. Each call runs one client process with plain
 * fork and exec.
 *
 * Commands that change something go to the client's standard input (`source-file -`). There they
 * run as one sequence without a length limit that stops at the first error, and text in them is
 * quoted so that tmux expands nothing. The tmux session of a team carries its id and root in the
 * user options @mas_id and @mas_root. mas recognises a pane by the command that it was started with
 * (`mas host <id> <agent>`) and addresses it by its %id.
 */
#pragma once

#include "base/id.h"
#include "model/team/team.h"
#include "os/proc.h"
#include "store/config.h"
#include "store/session.h"

/* Time limits of a client call: it fails if tmux neither answers nor does anything for
 * TMUX_CALL_MS, or takes TMUX_CALL_MOST_MS in total. A busy machine alone is no reason to give
 * up. */
enum { TMUX_CALL_MS = 10000, TMUX_CALL_MOST_MS = 300000 };

/* Returns the path of tmux in *ret, which the caller frees. Fails with MAS_TMUX if tmux is
 * missing. */
int tmux_program(char **ret, struct err *err);

enum { TMUX_VERSION_MAX = 32 }; /* bytes, with the NUL */
/* The oldest version that will do. What differs since, as tried up to 3.7c: a server hangs up on a
 * client of 3.3 (tmux_finish() tells that from one that has exited); names of sessions take no
 * control characters, and no "#("; paste-buffer makes text fit for a terminal, unless it gets -S;
 * list-keys shows no single key; and lines keep other blanks at their ends. */
#define TMUX_FIRST "3.3"

/* Asks tmux for its version, such as "3.3a". */
int tmux_version(char ret[TMUX_VERSION_MAX], struct err *err);
/* Returns true if mas cannot work with this version. */
bool tmux_version_is_old(const char *version);

/* Returns the absolute socket path that the settings imply: that of the shared server or, if the
 * setting is per-session, that of the server for `tmux_name`. The caller frees *ret. */
int tmux_configured_socket(const struct config *config, const char *tmux_name, char **ret,
                           struct err *err);
/* The same for a session that starts now: in a job of Slurm that is no shared server, which would
 * end with the job. */
int tmux_socket(const struct config *config, const char *tmux_name, char **ret, struct err *err);
/* Returns the socket path of the shared server, whatever the setting says. The caller frees
 * *ret. */
int tmux_shared_socket(const struct config *config, char **ret, struct err *err);

/* Returns the socket path of a per-session server for this tmux name. The caller frees *ret.
 * Returns false if the name cannot have one. */
bool tmux_own_socket(const char *tmux_name, char **ret);

/* Checks the server on the socket. Returns 1 and sets *ret_pid if a server of this user answers, 0
 * if there is none. Fails with MAS_TMUX if that cannot be determined, or if a server of another
 * user answers or could do so at any moment: a server reads and writes files as the client. */
int tmux_is_alive(const char *socket, pid_t *ret_pid, struct err *err);

/* Fails with MAS_TMUX if the server on the socket lacks descriptors, or the system lacks ptys, for
 * this many more panes. Starts no process. */
int tmux_check_room(const char *socket, size_t panes, struct err *err);
/* Fails with MAS_TMUX if the agents of a window do not fit into this size in their layout. */
int tmux_check_size(const struct team *team, int columns, int rows, struct err *err);

/* The scope of systemd that a new server gets, where a user manager runs: so it outlives the login.
 * A manager from systemd 253 on would end the whole scope when the kernel ends one process in it
 * for memory, unless told otherwise; an earlier one knows no such policy, and refuses it. */
enum tmux_scope { TMUX_SCOPE_GOES_ON, TMUX_SCOPE_PLAIN, TMUX_SCOPE_NONE };

/* Tries whether a new server would get the first of these. Returns false, with systemd's words in
 * *ret, which the caller frees, if not; true also if no user manager runs. */
bool tmux_scope_goes_on(char **ret);

/* Parameters of a new team. Owns nothing. */
struct tmux_team {
    const struct root *root;
    const struct session *session; /* provides tmux_name and tmux_socket */
    const struct team *team;
    const char *host; /* path of mas */
    int dir; /* the workspace, open */
    int columns, rows;
    bool status; /* the status line and the pane borders say who waits */
    enum tmux_scope scope; /* of a new server */
};

/* Starts to build the tmux session of a team and returns while tmux works. */
int tmux_build_start(const struct tmux_team *team, struct proc *ret, struct err *err);

/* How a build can end. */
enum tmux_built {
    TMUX_BUILT,
    TMUX_NAME_TAKEN, /* another tmux session has the name */
    TMUX_SERVER_GONE, /* the server was exiting: try again, without a scope */
    TMUX_NO_SCOPE, /* try the next one */
    TMUX_BUILD_FAILED, /* *err says why */
};
/* Waits for the end of the build. Unless it returns TMUX_BUILT, nothing of the build remains in
 * tmux. */
enum tmux_built tmux_build_finish(const struct tmux_team *team, struct proc *proc, struct err *err);

/* A tmux session with an id of mas. */
struct tmux_session {
    char id[ID_TEXT]; /* @mas_id */
    char target[24]; /* "$3", valid on its server */
    char *name;
    char *root; /* @mas_root */
    int attached; /* number of clients */
    size_t running; /* live panes of agents */
    size_t ended; /* dead panes of agents */
    time_t activity; /* the newest among its windows */
};

/* Returns true if these are the arguments of a client that only lists sessions or panes, or reads
 * the screen of one agent, exactly as the functions below start it: a format of a caller's own
 * could run a shell. */
bool tmux_only_reads(char *const *argv);
/* Returns the environment for tmux: that of this process without what is secret. The caller frees
 * it with strv_free(). */
char **tmux_environment(void);

/* The panes of the agents of one session, to be listed with the sessions. The caller frees them. */
struct tmux_panes_of {
    const char *id; /* of the session */
    struct tmux_pane *panes; /* those started for it; `session` of each says where it is */
    size_t count;
};

/* Ask a server for its sessions and, unless `of` is NULL, for panes: tmux_list_start() sends the
 * request, tmux_list_finish() reads the answer. `server` is its process, as tmux_is_alive() has
 * just told. A server that has exited has no sessions. The caller releases *ret with
 * tmux_sessions_free(). */
int tmux_list_start(const char *socket, pid_t server, const struct tmux_panes_of *of,
                    struct proc *ret, struct err *err);
int tmux_list_finish(struct proc *proc, struct tmux_panes_of *of, struct tmux_session **ret,
                     size_t *ret_count, struct err *err);
void tmux_sessions_free(struct tmux_session *sessions, size_t count);

/* Returns 1 if the server has a session with exactly this name, a word, and 0 if not. `ret`
 * receives its @mas_id, or "" if it has none. */
int tmux_who_has(const char *socket, const char *name, char ret[ID_TEXT], struct err *err);

/* The pane of an agent. */
struct tmux_pane {
    char agent[TEAM_WORD_MAX + 1];
    char pane[24]; /* "%12" */
    char window[24]; /* "@4" */
    char session[24]; /* "$3" */
    pid_t pid;
    bool dead;
    int index; /* in its window */
    int columns, rows; /* of its window */
    int exit_status; /* of a dead pane: code, or 128 + signal; -1: not known to tmux yet */
};

/* Lists the agents' panes of the tmux session `target`, which carries `id`; none if the session
 * does not exist. The caller frees *ret. */
int tmux_panes(const char *socket, const char *target, const char *id, struct tmux_pane **ret,
               size_t *ret_count, struct err *err);

/* What a host tells the server of its pane, and asks it. */
struct tmux_show {
    const char *state; /* a word for the border of the pane; NULL: do not tell */
    bool waits; /* told with it: the status line of the session lists the agent */
};
/* Tells the server of `pane`, in which this process runs, and asks whether a person sees the pane:
 * it is the active one of a window that a client shows. tmux_show_start() returns at once. Call
 * tmux_show_finish() once the process has ended, or proc_abandon(). A pane that tmux does not know,
 * or cannot tell of, is not seen. */
int tmux_show_start(const char *socket, const char *pane, const struct tmux_show *show,
                    struct proc *ret, struct err *err);
bool tmux_show_finish(struct proc *proc, const char *pane);
/* A client of a server: a terminal at which somebody sits. */
struct tmux_client {
    char tty[64]; /* "/dev/pts/3" */
    char pane[24]; /* "%12", which it shows and which its keys go to */
};
/* Lists the clients on terminals. The caller frees *ret. A server that has exited has none. */
int tmux_clients(const char *socket, struct tmux_client **ret, size_t *ret_count, struct err *err);

/* Returns true if there is no file at the path of a socket. */
bool tmux_socket_is_gone(const char *socket);
/* Returns true if process `pid` listens on this socket, though its file may be gone. */
bool tmux_listens(const char *socket, pid_t pid);
/* Lets the server `pid`, which tmux_listens() has found, make the file of its socket again. */
int tmux_make_socket(const char *socket, pid_t pid, struct err *err);

/* Waits at most timeout_ms until the server on the socket has exited. */
void tmux_wait_exit(const char *socket, int timeout_ms);
/* If the socket name shows that the server is or was a per-session one, waits for its exit and
 * removes the socket, which tmux leaves behind. */
void tmux_drop_own_server(const char *socket, const char *tmux_name);

/* Ends the tmux session `target` if it still carries this id. Succeeds if the session or its server
 * does not exist. */
int tmux_kill(const char *socket, const char *target, const char *id, struct err *err);

/* Appends the contents of the panes of `target`, with their history, to *to. */
int tmux_capture(const char *socket, const char *target, struct str *to, struct err *err);

/* The contents of a pane. */
enum { TMUX_HISTORY_MAX = 1000000 }; /* lines above the screen */
struct tmux_screen {
    char pane[24]; /* "%12"; "": unknown */
    char *text; /* the caller frees it; NULL if the pane does not exist */
};
/* Reads the screens of several panes of the session with this id, with `history` lines above them,
 * in one call. Drops empty lines at the end of each. The call for a single one is one that
 * tmux_only_reads() accepts. */
int tmux_capture_panes(const char *socket, const char *id, int history, struct tmux_screen *screens,
                       size_t count, struct err *err);

/* Runs the commands of these panes again, in one call. */
int tmux_respawn(const char *socket, const struct tmux_pane *const *panes, size_t count,
                 struct err *err);

/* Makes the pane of an agent that has none, where the team has it: in its window beside the agents
 * next to it, else in a new window between those next to that. `live` is the session's. The pane is
 * appended to *panes, which has those of the session's other agents. */
int tmux_make_pane(const struct tmux_team *team, const struct tmux_session *live, size_t agent,
                   struct tmux_pane **panes, size_t *count, struct err *err);

/* Ends the pane of an agent that the team has no longer, and arranges its window, by the name that
 * this had in the team. */
int tmux_drop_pane(const struct tmux_team *team, const struct tmux_session *live,
                   const char *window, const struct tmux_pane *pane, struct err *err);

/* Updates @mas_root and the paths in the session's environment after its root has moved. */
int tmux_set_root(const char *socket, const char *target, const struct root *root,
                  const struct session *session, struct err *err);

/* Shows the session's new name in its status line, unless a user has changed that. "": none. */
int tmux_set_name(const char *socket, const char *target, const char *was, const char *name,
                  struct err *err);

/* Where a tmux client is. */
enum { TMUX_CLIENT_MAX = 64 }; /* bytes of the name of a client, with the NUL */
struct tmux_place {
    char client[TMUX_CLIENT_MAX]; /* its name, the path of its terminal */
    char session[24], window[24], pane[24]; /* "$3", "@4", "%12" */
    char id[ID_TEXT]; /* @mas_id of the session; "": it is not one of mas */
};

/* Returns the socket of the tmux server in which this process runs; NULL: in none. The caller
 * frees it. */
char *tmux_inside(void);
/* Writes the target of the tmux session in which the pane of this process was made, such as "$3".
 * Returns false if it is in none. */
bool tmux_inside_session(char ret[24]);
/* Returns true if both paths are the same socket. */
bool tmux_same_socket(const char *a, const char *b);
/* Finds a client of the server: the one with this name or, if it is NULL, the one in whose pane
 * this process runs; if several show that pane, or none does, the one that was used last. Fails
 * with MAS_NOT_FOUND if there is none. */
int tmux_client_place(const char *socket, const char *client, struct tmux_place *ret,
                      struct err *err);
/* Makes this client show a pane, and no other client, except that those of the same session share
 * its current window. If `id` is not NULL, the pane must belong to the session with this @mas_id.
 * Fails with MAS_NOT_FOUND if there is no such pane. */
int tmux_client_go(const char *socket, const char *client, const char *pane, const char *id,
                   struct err *err);
/* Ends this client; its terminal continues with `command`, which its shell runs. */
int tmux_client_hand_over(const char *socket, const char *client, const char *command,
                          struct err *err);
/* Shows a message to this client for a moment; only printable text, without # and %. Ignores
 * errors. */
void tmux_client_say(const char *socket, const char *client, const char *text);
/* Appends a binding for a tmux.conf: after tmux's prefix, the key runs a line of a shell, which is
 * `program` and `args`; with `popup` in a popup as large as the client, which ends with it. Formats
 * are expanded in `args` only, and not in that of a popup. */
void tmux_add_key(const char *key, const char *program, const char *args, bool popup,
                  struct str *to);
/* Appends the command by which a terminal becomes a client at this place, as a line for a shell. */
int tmux_add_attach(const char *socket, const struct tmux_place *place, struct str *to,
                    struct err *err);

/* Checks whether this process can become a client of the server on the socket. Fails with
 * MAS_FAILED if it has no terminal of a known type, and with MAS_TMUX if it runs inside another
 * tmux server. */
int tmux_check_attach(const char *socket, struct err *err);

/* Becomes a tmux client of the session, at `pane` unless that is NULL. Inside tmux on the same
 * server it switches the current client instead. Returns only on failure, with MAS_TMUX. */
int tmux_attach(const char *socket, const char *target, const struct tmux_pane *pane,
                struct err *err);
