/*
 * One host, whole; for src/host/ only. host.c owns it and runs the loop; the other files each keep
 * one member and act on it when the loop says that something has happened:
 *
 *     start.c     what the agent is started with, read before the loop
 *     backend*.c  what differs between a program on a terminal and an ACP agent: backend.h
 *     child.c     the agent's process: its start, its end, and what comes after that
 *     delivery.c  messages that wait to be typed
 *     server.c    the socket: connections and their bytes
 *     peer.c      whose process is at a connection's other end
 *     request.c   what they ask, and the answers
 *     talk*.c     the conversation of an ACP agent: talk.h
 *
 * There are no threads and nothing waits but the loop: each of them says when time alone is to wake
 * it. Times are monotonic milliseconds unless a name says otherwise; -1 means never.
 */
#ifndef MAS_HOST_STATE_H
#define MAS_HOST_STATE_H

#include "base/conn.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/proc.h"
#include "host/supervisor.h"
#include "host/terminal.h"
#include "host/watcher.h"
#include "model/agent_status.h"
#include "model/preset.h"
#include "model/team.h"
#include "store/config.h"
#include "store/root.h"
#include "store/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum child_phase {
    CHILD_NONE, /* nothing runs */
    CHILD_RUNS,
    CHILD_ENDS, /* the agent has ended or was told to; its tree is not clear yet */
};

struct talk;

struct child {
    enum child_phase phase;
    struct supervisor supervisor;
    pid_t pid; /* of the agent, 0: none, or not told yet */
    int64_t started;
    bool ended; /* this run of the agent has, and that was taken in */
    bool cleared; /* so has its tree */
    bool gone; /* the supervisor has ended, the pane has not taken all output */
    bool asked; /* mas itself ends it */
    bool again; /* start a new one as soon as this one's tree is clear */
    bool stopped; /* by `mas stop`: nothing but a person starts it again */
    bool delivered; /* this run took a message */
    enum agent_state rest; /* its state while nothing runs */
    int exit_code, signal; /* of the last run; -1, 0: not so */
    int failures; /* ends in a row that count as such */
    int restarts;
    int64_t restart_at; /* -1: not by itself */
    struct supervisor_report clear; /* what the last end took */
    char note[AGENT_NOTE_MAX];
};

struct message {
    char *text;
    size_t len;
    bool enter;
    bool answers; /* a person sent it to an agent that was seen to wait */
    char from[TEAM_WORD_MAX + 1]; /* "-": a person */
    int64_t number; /* on disk; 0: it is not there */
    bool cut_off; /* found there as one whose typing had begun */
};

enum delivery_phase {
    DELIVERY_NONE,
    DELIVERY_TEXT, /* being written */
    DELIVERY_SETTLE, /* until the agent has read it, so that Enter comes by itself */
    DELIVERY_ENTER,
};

struct delivery {
    struct store *store; /* opened when something has to wait; NULL */
    struct message *queue; /* the first one is at work unless phase is NONE */
    size_t count, bytes;
    enum delivery_phase phase;
    struct str out; /* the first one as it is written */
    size_t sent;
    int64_t settle_from, settle_until;
    int64_t progress; /* when bytes were last taken */
    bool blocked; /* the terminal takes nothing now */
};

enum {
    SERVER_CLIENTS_MAX = 64,
    SERVER_WATCHERS_MAX = 48, /* of these: the other places are for those that ask and go */
};

enum client_kind {
    CLIENT_NEW, /* has not asked yet */
    CLIENT_WATCHES,
    CLIENT_RESTARTS, /* waits for the new process */
    CLIENT_STOPS, /* waits for the end */
    CLIENT_ASKS, /* gets the events of its prompt */
    CLIENT_LISTENS, /* gets all events, and may go on asking */
    CLIENT_LEAVES, /* once its answer is written */
};

/* Whose process is at the other end. */
enum peer_kind {
    PEER_NEW, /* nobody has looked yet */
    PEER_PERSON,
    PEER_AGENT, /* it descends from an agent of this team */
    PEER_STRANGER, /* or from one of another session */
    PEER_GONE, /* it has ended, or is in a PID namespace beside this one: nobody can tell */
};

struct backend;

struct client {
    struct conn conn;
    struct proc_id peer; /* without a start if it had ended when it was taken in */
    enum peer_kind whose;
    const struct agent *agent; /* of PEER_AGENT; of the team */
    char *stranger; /* of PEER_STRANGER: "agent '11' of session '...'" */
    const char *from; /* who makes the present request: an agent of the team, or NULL: a person */
    enum client_kind kind;
    bool done; /* it says nothing more, but may still listen */
    bool dirty; /* a watcher that is to be told, when it has read what it was told before */
    bool messages; /* a watcher that is told of messages too */
    int64_t prompt; /* of CLIENT_ASKS: its number */
    int64_t full_since; /* it has left too much unread since then; 0: it has not */
};

enum server_audience {
    SERVER_WATCHERS, /* with client.messages */
    SERVER_LISTENERS,
    SERVER_AUDIENCE_COUNT,
};

struct host_server {
    int listener;
    struct client clients[SERVER_CLIENTS_MAX];
    size_t count;
    int64_t early_until; /* 0: nothing is kept any more */
    struct str early[SERVER_AUDIENCE_COUNT]; /* frames told so far */
};

struct host {
    struct root root;
    struct config config;
    struct session session;
    struct team team;
    const struct agent *agent; /* of the team */
    const struct preset *preset; /* of the config */
    int dir, run, logs, lock;
    char **env, **argv;
    bool prompts; /* the agent is to be given the first message of its team */
    bool is_operator; /* the agent is a person's terminal */
    bool unit_waits; /* the agent's directory is made when it first starts */
    char pane[24];
    pid_t pid;
    int signals;
    bool leaving; /* the pane or the team ends: go when the child is clear */
    struct terminal terminal;
    struct child child;
    struct watcher watcher;
    struct delivery delivery;
    const struct backend *backend; /* by the preset's protocol */
    struct talk *talk; /* of an ACP agent; NULL */
    struct host_server server;
    struct log log;
    bool log_failed;
    int64_t output_ms; /* epoch, of the newest output */
    struct agent_status told; /* what watchers know: state, pid, ... */
};

/* ---- start.c */
/* Reads session, team, settings and preset, takes lock and socket, and the environment, for which
 * it waits until the team stands. */
int start_prepare(struct host *host, const char *id, const char *agent_id, struct err *err);
/* Makes and enters the agent's directory, where that is not done yet. */
int start_make_unit(struct host *host, struct err *err);
/* Releases all that and what is in run/. */
void start_release(struct host *host);

/* ---- host.c */
/* Takes what the agent has printed by now. false: the pane has no room for the rest. */
bool host_drain(struct host *host);
/* Keeps a copy of what the agent prints. */
void host_keep_log(struct host *host, const char *bytes, size_t len);
/* Sets the pane's title to the agent's id and role. */
void host_set_title(struct host *host);
/* Looks whether the state is another than watchers know, and tells them. */
void host_update(struct host *host);
void host_fill_status(const struct host *host, struct agent_status *ret);
/* A line of the session's log about this agent; one about a message to it. */
void host_log(const struct host *host, const char *words);
void host_log_message(const struct host *host, const char *from, size_t len, const char *outcome);

/* ---- child.c */
/* Starts the agent, or has it started once the one before is clear. Says in the pane and in
 * child.note why it could not. */
void child_start(struct host *host, int64_t now);
/* Ends it. `again`: to start it anew. */
void child_end(struct host *host, struct supervisor_times times, pid_t spare, bool again);
/* Ends one that has failed before it could be used, and starts it once more a little later; false:
 * it was. */
bool child_retry(struct host *host, int64_t now);
/* The supervisor has something to say. */
void child_news(struct host *host, int64_t now);
/* A restart that is due. Returns when to look again. */
int64_t child_tick(struct host *host, int64_t now);
/* How an end that nobody gave times for is done. */
struct supervisor_times child_times(const struct host *host);
/* "exited with code 3" */
void child_describe_end(const struct child *child, char *buf, size_t size);

/* ---- delivery.c */
enum { DELIVERY_COUNT_MAX = 256, DELIVERY_BYTES_MAX = 16 << 20 };
/* Takes a message that was checked; false where the queue is full. */
bool delivery_add(struct host *host, const char *text, size_t len, bool enter, const char *from);
/* Why a message cannot be typed at the terminal as it is now, or NULL. */
const char *delivery_refusal(const struct host *host, const char *text, size_t len);
/* Types what can be typed. Returns when to go on without news from the terminal. */
int64_t delivery_run(struct host *host, int64_t now);
/* The agent has ended: what was half typed begins anew with the next one. */
void delivery_interrupt(struct host *host);
/* Puts on disk what waits and is not there yet. On failure what has not begun to be typed is taken
 * back. */
int delivery_keep(struct host *host, struct err *err);
/* Takes what waited when the host before this one ended. Once, before any other. */
void delivery_read(struct host *host);
/* Gives up all that waits. */
void delivery_fail(struct host *host, const char *why);
/* The host ends: what waits stays on disk. */
void delivery_leave(struct host *host);
/* true while keys of the pane are to wait, so that they do not fall into a message. */
bool delivery_holds_keys(const struct host *host, int64_t now);
void delivery_free(struct delivery *delivery);

/* ---- server.c */
int server_open(struct host *host, struct err *err);
void server_close(struct host *host);
/* Waits for new connections and for what the clients say and read. */
void server_want(const struct host *host, struct loop *loop);
/* Handles what has come of that. */
void server_serve(struct host *host, struct loop *loop);
/* Appends a frame to what a client is to get. */
void server_answer(struct client *client, const struct str *head);
/* true if one more may watch; one that watches and does not read makes room. */
bool server_lets_watch(struct host *host);
/* Answers with an error, after which the connection ends. */
void server_refuse(struct client *client, const struct err *err);
/* It does not read: it is dropped. */
void server_hang_up(struct client *client);
/* Those who waited for this prompt have been told its end. */
void server_release_askers(struct host *host, int64_t prompt);
/* Tells watchers who want it that a message was taken; `from` NULL: from a person. One that has
 * left much unread is not told. */
void server_tell_message(struct host *host, const char *from, const char *text, size_t len);
/* Who watches hosts finds a new one a moment after it came up: what it tells in its first seconds
 * is kept, as far as there is room, and told to those who ask for that when they come. */
void server_keep_early(struct host *host, enum server_audience audience, const struct str *head,
                       const char *body, size_t len);
void server_tell_early(const struct host *host, struct client *client,
                       enum server_audience audience);
/* Forgets it in time. Returns when that is, -1: there is nothing. */
int64_t server_tick(struct host *host, int64_t now);
/* Writes what clients are to get, as far as they read; tells watchers that are due. */
void server_flush(struct host *host);

/* ---- peer.c */
/* Finds out who makes a request: the agent in whose tree the client's process is, whatever it says
 * and whatever its environment is; else whom it names in `from`; NULL, a person, where it names
 * none. Fails, without "cannot ...", if the team has no such agent, if it is one of another
 * session, or if the process has ended. */
int peer_sender(const struct host *host, struct client *client, const struct frame *frame,
                const struct agent **ret, struct err *err);

/* ---- request.c */
/* What an agent may ask of its own host. */
enum request_self { SELF_MAY, SELF_MAY_NOT };
/* Sets client->from, and checks what that one may ask of this agent. `what`: "cannot <what> agent".
 */
int request_judge(const struct host *host, struct client *client, const struct frame *frame,
                  const char *what, enum request_self self, struct err *err);
/* Fails if no more clients may watch this agent. */
int request_check_watch(struct host *host, struct err *err);
/* Answers one request. */
void request_handle(struct host *host, struct client *client, const struct frame *frame);
void request_put_status(const struct host *host, struct str *head);
/* Answer those who wait for a start (error NULL: it runs) or for an end. */
void request_started(struct host *host, const char *error);
void request_ended(struct host *host);

#endif
