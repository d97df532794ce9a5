/*
 * tmux: only files of tmux/ build tmux arguments. Plain fork and exec, one client process a call.
 *
 * Commands that change something travel on the client's standard input (`source-file -`), where
 * they run as one sequence that stops at the first error and have no limit of length; text in them
 * is quoted so that tmux expands nothing. A team's tmux session carries its id and root in the user
 * options @mas_id and @mas_root, and a pane is known by the command that it was started with
 * (`mas host <id> <agent>`) and addressed by its %id.
 */
#ifndef MAS_TMUX_TMUX_H
#define MAS_TMUX_TMUX_H

#include "base/err.h"
#include "base/id.h"
#include "base/proc.h"
#include "model/team.h"
#include "store/config.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* A client call is ended when for this long tmux neither answered nor did anything, or when it has
 * taken TMUX_CALL_MOST_MS in all: a busy machine is no reason to give up. */
enum { TMUX_CALL_MS = 10000, TMUX_CALL_MOST_MS = 300000 };

/* The path of tmux. MAS_TMUX where there is none. The caller frees. */
int tmux_program(char **ret, struct err *err);

/* The absolute socket path that the settings mean: the shared server's, or, where the setting is
 * per-session, that of `tmux_name`. The caller frees. */
int tmux_socket(const struct config *config, const char *tmux_name, char **ret, struct err *err);
/* The shared server's, whatever the setting says. */
int tmux_shared_socket(const struct config *config, char **ret, struct err *err);

/* That of a server of its own for a session of this tmux name; false where it can have none. */
bool tmux_own_socket(const char *tmux_name, char **ret);

/* 1 if a server of this user answers on the socket, *ret_pid is its process; 0 if there is none;
 * MAS_TMUX where that cannot be told, where another user's does, or could from one moment to the
 * next: who listens there reads and writes files as the client. */
int tmux_is_alive(const char *socket, pid_t *ret_pid, struct err *err);

/* MAS_TMUX if the server on the socket has no descriptors, or the system no ptys, for so many more
 * panes; costs no process. */
int tmux_check_room(const char *socket, size_t panes, struct err *err);
/* MAS_TMUX if a window of this size has no room for its agents in its layout. */
int tmux_check_size(const struct team *team, int columns, int rows, struct err *err);

/* What a new team needs. Nothing is owned. */
struct tmux_team {
    const struct root *root;
    const struct session *session; /* its tmux_name and tmux_socket */
    const struct team *team;
    const char *host; /* path of mas */
    int dir; /* the workspace */
    int columns, rows;
    bool plain; /* give a new server no systemd scope of its own */
};

/* Starts building a team's tmux session and returns while tmux works. */
int tmux_build_start(const struct tmux_team *team, struct proc *ret, struct err *err);

/* How a build can end. */
enum tmux_built {
    TMUX_BUILT,
    TMUX_NAME_TAKEN, /* another tmux session has that name */
    TMUX_SERVER_GONE, /* it was about to exit, or got no scope: worth a second, plain try */
    TMUX_BUILD_FAILED, /* *err says why */
};
/* Waits for the build; unless TMUX_BUILT, nothing of it is left in tmux. */
enum tmux_built tmux_build_finish(const struct tmux_team *team, struct proc *proc, struct err *err);

/* A tmux session that carries an id. */
struct tmux_session {
    char id[ID_TEXT]; /* @mas_id */
    char target[24]; /* "$3", valid on its server */
    char *name;
    char *root; /* @mas_root */
    int attached; /* clients */
    size_t running; /* panes of agents, alive */
    size_t ended; /* and dead */
    time_t activity; /* newest of its windows */
};

/* Starts asking a server for its sessions, and takes the answer; a server that is gone has none.
 * *ret is the caller's, with tmux_sessions_free(). */
int tmux_list_start(const char *socket, struct proc *ret, struct err *err);
int tmux_list_finish(struct proc *proc, struct tmux_session **ret, size_t *ret_count,
                     struct err *err);
void tmux_sessions_free(struct tmux_session *sessions, size_t count);

/* 1 if the server has a session of exactly this name, a word; ret gets its @mas_id, "" where it
 * carries none. 0 if not. */
int tmux_who_has(const char *socket, const char *name, char ret[ID_TEXT], struct err *err);

/* A pane that an agent was started in. */
struct tmux_pane {
    char agent[TEAM_WORD_MAX + 1];
    char pane[24]; /* "%12" */
    char window[24]; /* "@4" */
    char session[24]; /* "$3" */
    pid_t pid;
    bool dead;
    int exit_status; /* of a dead pane: code, or 128 + signal; -1: tmux does not know it yet */
};

/* The agents' panes of the tmux session `target`, which carries `id`; none where it is not there.
 */
int tmux_panes(const char *socket, const char *target, const char *id, struct tmux_pane **ret,
               size_t *ret_count, struct err *err);

/* Waits, at most timeout_ms, until the server on the socket has ended. */
void tmux_wait_exit(const char *socket, int timeout_ms);
/* Where the server on the socket is (or was) a session's own, by the name: waits for its end and
 * removes its socket, which tmux leaves behind. */
void tmux_drop_own_server(const char *socket, const char *tmux_name);

/* Ends the tmux session `target`, if it still carries this id. */
int tmux_kill(const char *socket, const char *target, const char *id, struct err *err);

/* Writes what the panes of `target` show, with their history, into *to. */
int tmux_capture(const char *socket, const char *target, struct str *to, struct err *err);

/* What a pane shows. */
enum { TMUX_HISTORY_MAX = 1000000 }; /* lines above the screen */
struct tmux_screen {
    char pane[24]; /* "%12"; "": not known */
    char *text; /* the caller's; NULL where the pane is not there (any more) */
};
/* Reads the screens of panes of the session with this id, with `history` lines above them, in one
 * call. Empty lines at their ends are dropped. */
int tmux_capture_panes(const char *socket, const char *id, int history, struct tmux_screen *screens,
                       size_t count, struct err *err);

/* Runs the commands of panes anew, in one call. */
int tmux_respawn(const char *socket, const struct tmux_pane *const *panes, size_t count,
                 struct err *err);

/* Sets @mas_root and the environment's paths of a session after its root has moved. */
int tmux_set_root(const char *socket, const char *target, const struct root *root,
                  const struct session *session, struct err *err);

/* Whether this process could become a client of the server on the socket: it has a terminal, whose
 * kind is known, outside of other tmux servers. */
int tmux_check_attach(const char *socket, struct err *err);

/* Becomes a tmux client on the session, at the pane where one is given. Inside tmux on the same
 * server the present client is switched instead. Returns only on failure. */
int tmux_attach(const char *socket, const char *target, const struct tmux_pane *pane,
                struct err *err);

#endif
