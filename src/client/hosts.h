/*
 * The client of the hosts (protocol/host.h); nothing else connects to their sockets.
 *
 * One connection, which lasts: requests, their answers in the same order, and events between them.
 *
 *     if (host_connection_open(&host, run, "10", &err) == HOST_PENDING)
 *         host_connection_ask(&host, 1, "{\"do\":\"listen\"}", NULL, 0);
 *     ... in each turn of the loop:
 *     conn_want(&host.conn, &loop);
 *     ...
 *     short events = loop_got(&loop, host.conn.fd);
 *     if (host_connection_turn(&host, events, on_frame, arg, &err) != HOST_PENDING)
 *         host_connection_close(&host);
 *
 * One request to any number of hosts, all at the same time. A host that does not answer in time
 * does not delay the others.
 *
 *     struct host_call calls[] = {{.run = run, .agent = "10"}, {.run = run, .agent = "11"}};
 *     hosts_start(calls, 2, head, NULL, 0);
 *     ... other work ...
 *     hosts_finish(calls, 2, HOSTS_ANSWER_MS, on_reply, arg);
 */
#pragma once

#include "base/json.h"
#include "os/conn.h"

enum {
    HOSTS_ANSWER_MS = 200,
    HOSTS_COME_MS = 1000, /* for hosts of a team that was just started */
    HOSTS_PLENTY_FDS = 16384, /* descriptors that are enough for all hosts of a root */
    HOST_ASKED_MAX = 256, /* requests without an answer on one connection */
};

enum host_answer {
    HOST_PENDING,
    HOST_ANSWERED, /* and on_reply() returned true */
    HOST_ABSENT, /* nobody listens: there is no host, or it was killed */
    HOST_LATE, /* no answer, or no last answer, in time; or no room to connect now */
    HOST_ENDED, /* nobody listens and nobody will, because the pane is dead; `err` says more */
    /* the host hung up or sent an invalid frame; `err` gives the reason, to follow "cannot ...
     * '<agent>': " */
    HOST_BROKEN,
};

/* ---- one connection */

struct host_connection {
    struct conn conn; /* wait for it with conn_want(); fd -1: not connected */
    int64_t *asked; /* the caller's numbers of the requests without an answer, oldest first */
    size_t asked_count;
};

#define HOST_CONNECTION_INIT                                                                       \
    {                                                                                              \
        .conn = CONN_INIT                                                                          \
    }

/* Called for each frame. `asked` is the number of the request that it answers; NULL: it is an
 * event, or a further answer to a request that gets several. Returns true if no frame is wanted any
 * more. */
typedef bool host_frame(const struct frame *frame, const int64_t *asked, void *arg);

/* Connects to the host of an agent through its socket in run/ (-1: none), without blocking. Returns
 * HOST_PENDING: connected; HOST_ABSENT; HOST_LATE: its queue is full, or no descriptor is free, so
 * try again later; HOST_BROKEN with *err. */
enum host_answer host_connection_open(struct host_connection *connection, int run,
                                      const char *agent, struct err *err);
/* Closes the connection and forgets the requests on it. It can be opened again. */
void host_connection_close(struct host_connection *connection);
/* Sends a request; `head` is the text of a JSON object. `asked` comes back with the answer. Returns
 * false if HOST_ASKED_MAX requests wait for an answer, or if the connection is gone. */
bool host_connection_ask(struct host_connection *connection, int64_t asked, const char *head,
                         const char *body, size_t body_len);
/* Writes and reads as the events of this turn say, and passes on each frame; on_frame may close the
 * connection. Returns HOST_PENDING; HOST_ANSWERED if on_frame returned true; or HOST_BROKEN with
 * *err if the connection is gone. The caller closes it. */
enum host_answer host_connection_turn(struct host_connection *connection, short events,
                                      host_frame *on_frame, void *arg, struct err *err);

/* Turns {"ok":false,"code":..,"why":..,"hint":..} into an error and returns -1; returns 0 if the
 * reply says ok. A code that is no exit code for errors becomes MAS_FAILED. */
int hosts_reply_error(const struct json *reply, struct err *err);

/* ---- one request to many */

struct host_call {
    int run; /* the session's run/, not owned; -1: none, so the host is absent */
    const char *agent; /* not owned */
    void *arg; /* the caller's own data */
    enum host_answer answer;
    struct err err; /* for HOST_ENDED and HOST_BROKEN, and what on_reply() sets */
    /* the rest belongs to hosts.c */
    struct host_connection connection; /* a pending call without a descriptor waits for one */
    struct host_request *request; /* its text, which all calls share; NULL: none */
};

/* Called for each frame. Returns true if the call is done, false if more frames follow. hosts.c
 * releases the frame afterwards. */
typedef bool hosts_reply(struct host_call *call, const struct frame *reply, void *arg);

/* Connects each call and sends the request as far as possible without blocking; `head` is the text
 * of a JSON object. The caller must end the calls with hosts_finish() or hosts_end(); until then
 * `run` and `agent` must stay valid. */
void hosts_start(struct host_call *calls, size_t count, const char *head, const char *body,
                 size_t body_len);
/* Receives answers until every call is done or timeout_ms have passed (-1: no limit), then calls
 * hosts_end(). If on_reply is NULL, the first frame of each host is enough; call->err is the error
 * in it. */
void hosts_finish(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);

/* For callers that do other work in between: waits once, at most timeout_ms (-1: no limit), and
 * handles what has arrived. Returns the number of pending calls. */
size_t hosts_step(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);
/* Closes the connections. Pending calls become HOST_LATE. */
void hosts_end(struct host_call *calls, size_t count);

/* ---- which hosts there are */

/* Returns the names of the agents that have a file with this ending in run/, whether their hosts
 * live or not; NULL if run/ is missing or unreadable. The caller frees the list with
 * strv_free(). */
char **hosts_list(int run, const char *ending);

/* Returns the process that listens for an agent's host in run/; 0: none, or it is unknown. */
pid_t hosts_pid(int run, const char *agent);

/* *ret tells whether a host of the session in the workspace `dir` lives: it holds its lock in run/.
 * A missing run/ means that none does. Fails if run/ cannot be read. */
int hosts_live(int dir, bool *ret, struct err *err);
