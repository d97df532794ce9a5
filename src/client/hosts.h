/*
 * Requests to hosts: one request to any number of hosts, all at the same time.
 *
 *     struct host_call calls[] = {{.run = run, .agent = "10"}, {.run = run, .agent = "11"}};
 *     hosts_start(calls, 2, &head, NULL, 0);
 *     ... other work ...
 *     hosts_finish(calls, 2, HOSTS_ANSWER_MS, on_reply, arg);
 *
 * A host that does not answer in time does not delay the others.
 */
#ifndef MAS_CLIENT_HOSTS_H
#define MAS_CLIENT_HOSTS_H

#include "base/conn.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    HOSTS_ANSWER_MS = 200,
    HOSTS_COME_MS = 1000, /* for hosts of a team that was just started */
};

enum host_answer {
    HOST_PENDING,
    HOST_ANSWERED, /* and on_reply() returned true */
    HOST_ABSENT, /* nobody listens: there is no host, or it was killed */
    HOST_LATE, /* no answer, or no last answer, in time */
    HOST_ENDED, /* nobody listens and nobody will, because the pane is dead; `err` says more */
    /* the host hung up or sent an invalid frame; `err` gives the reason, to follow "cannot ...
     * '<agent>': " */
    HOST_BROKEN,
};

struct host_call {
    int run; /* the session's run/, not owned; -1: none, so the host is absent */
    const char *agent; /* not owned */
    void *arg; /* the caller's own data */
    enum host_answer answer;
    struct err err; /* for HOST_ENDED and HOST_BROKEN */
    /* the rest belongs to hosts.c; a pending call without a descriptor waits for one */
    struct conn conn;
    const char *out; /* the request; it is shared by all calls and therefore not in `conn` */
    size_t out_len, sent;
    char *owned; /* set in one of the calls: the memory of `out` */
};

/* Called for each frame. Returns true if the call is done, false if more frames follow. hosts.c
 * releases the frame afterwards. */
typedef bool hosts_reply(struct host_call *call, const struct frame *reply, void *arg);

/* Returns the names of the agents that have a file with this ending in run/, whether their hosts
 * live or not; NULL if run/ is missing or unreadable. The caller frees the list with
 * strv_free(). */
char **hosts_list(int run, const char *ending);

/* *ret tells whether a host of the session in the workspace `dir` lives: it holds its lock in run/.
 * A missing run/ means that none does. Fails if run/ cannot be read. */
int hosts_live(int dir, bool *ret, struct err *err);

/* Connects to the host of an agent through its socket in run/, without blocking. Returns the
 * descriptor, which the caller closes, or -1 with errno: ENOENT or ECONNREFUSED if nobody listens;
 * for others see sock_connect(). */
int hosts_connect(int run, const char *agent);

/* Connects each call and sends the request as far as possible without blocking. The caller must end
 * the calls with hosts_finish() or hosts_end(); until then `run` and `agent` must stay valid. */
void hosts_start(struct host_call *calls, size_t count, const struct str *head, const char *body,
                 size_t body_len);
/* Receives answers until every call is done or timeout_ms have passed (-1: no limit), then calls
 * hosts_end(). If on_reply is NULL, the first frame of each host is enough. */
void hosts_finish(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);

/* For callers that do other work in between: waits once, at most timeout_ms (-1: no limit), and
 * handles what has arrived. Returns the number of pending calls. */
size_t hosts_step(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);
/* Closes the connections and frees the request. Pending calls become HOST_LATE. */
void hosts_end(struct host_call *calls, size_t count);

/* Turns {"ok":false,"code":..,"why":..,"hint":..} into an error and returns -1; returns 0 if the
 * reply says ok. A code that is no exit code for errors becomes MAS_FAILED. */
int hosts_reply_error(const struct json *reply, struct err *err);

#endif
