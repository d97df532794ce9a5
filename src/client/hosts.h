/*
 * Talking to hosts: one request to any number of them, all at the same time.
 *
 *     struct host_call calls[] = {{.run = run, .agent = "10"}, {.run = run, .agent = "11"}};
 *     hosts_start(calls, 2, &head, NULL, 0);
 *     ... other work ...
 *     hosts_finish(calls, 2, HOSTS_ANSWER_MS, on_reply, arg);
 *
 * A host that does not answer in time delays nobody.
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
    HOSTS_COME_MS = 1000, /* for those of a team that has just been started */
};

enum host_answer {
    HOST_PENDING,
    HOST_ANSWERED, /* and on_reply() had enough */
    HOST_ABSENT, /* nobody listens: no host, or one that was killed */
    HOST_LATE, /* no (last) answer in time */
    HOST_ENDED, /* nobody listens, and nobody will: its pane is dead; err says more */
    HOST_BROKEN, /* it hung up, or said what is no frame; err says more, to be put behind
                    "cannot ... '<agent>': " */
};

struct host_call {
    int run; /* the session's run/, not owned; -1: there is none, the host is absent */
    const char *agent; /* not owned */
    void *arg; /* the caller's own */
    enum host_answer answer;
    struct err err; /* of HOST_ENDED, HOST_BROKEN */
    struct conn conn; /* these belong to hosts.c; no descriptor and pending: it waits for a place */
    const char *out; /* the request, the same for all, which is why it is not in conn */
    size_t out_len, sent;
    char *owned; /* in one of them: what `out` points into */
};

/* One frame has come: true if the call is done, false if more are to come. */
typedef bool hosts_reply(struct host_call *call, const struct frame *reply, void *arg);

/* The agents whose hosts have such a file in run/, alive or not; NULL: none. Released with
 * strv_free(). */
char **hosts_list(int run, const char *ending);

/* Tells whether a host of the session in this directory lives. Fails where that cannot be told. */
int hosts_live(int dir, bool *ret, struct err *err);

/* Connects to the host of an agent, by its socket in run/, without blocking. Returns the
 * descriptor, or -1 with errno (ENOENT, ECONNREFUSED: nobody listens; others: sock_connect()). */
int hosts_connect(int run, const char *agent);

/* Connects and sends the request as far as that does not block. */
void hosts_start(struct host_call *calls, size_t count, const struct str *head, const char *body,
                 size_t body_len);
/* Takes the answers until each call is done or timeout_ms have passed (-1: no limit); closes.
 * on_reply NULL: the first frame is enough. */
void hosts_finish(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);

/* For those who do something in between: waits once, at most timeout_ms, and takes what has come.
 * Returns how many calls are pending. */
size_t hosts_step(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg);
/* Closes; calls that are pending become HOST_LATE. */
void hosts_end(struct host_call *calls, size_t count);

/* {"ok":false,"code":..,"why":..,"hint":..} as an error; 0 where the reply says ok. */
int hosts_reply_error(const struct json *reply, struct err *err);

#endif
