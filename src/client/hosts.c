#include "client/hosts.h"

#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/sock.h"
#include "base/time.h"
#include "model/team.h"
#include "store/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    PLENTY_FDS = 16384, /* enough descriptors: raise no limit */
    RETRY_MS = 10, /* a full queue of a host or a lack of descriptors ends without an event */
};

char **hosts_list(int run, const char *ending)
{
    struct err ignored = ERR_INIT;
    char **names = NULL;
    size_t kept = 0;

    if (run == -1 || path_list(run, &names, &ignored) == -1)
        return NULL;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        size_t len = strlen(names[i]);
        size_t stem = len > strlen(ending) ? len - strlen(ending) : 0;
        if (stem > 0 && names[i][0] != '.' && strcmp(names[i] + stem, ending) == 0) {
            names[i][stem] = '\0';
            names[kept++] = names[i];
        } else {
            free(names[i]);
        }
    }
    if (names != NULL)
        names[kept] = NULL;
    return names;
}

int hosts_live(int dir, bool *ret, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    bool live = false;

    if (path_list_in(dir, WORKSPACE_RUN, &names, &why) == -1 && !file_is_wrong(&why) &&
        why.number != ENOTDIR) {
        *err = why;
        return -1;
    }
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    for (char **name = names; !live && name != NULL && *name != NULL; name++) {
        const char *dot = strrchr(*name, '.');
        live = dot != NULL && strcmp(dot, WORKSPACE_HOST_LOCK) == 0 && file_is_locked(run, *name);
    }
    *ret = live;
    return 0;
}

/* Raises the limit of descriptors as far as allowed; calls without a descriptor wait. */
static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur >= PLENTY_FDS ||
        limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void done(struct host_call *call, enum host_answer answer)
{
    call->answer = answer;
    conn_close(&call->conn);
}

static void broken(struct host_call *call, const char *why)
{
    (void)err_set(&call->err, MAS_FAILED, "its host %s", why);
    done(call, HOST_BROKEN);
}

/* Sends without blocking. If the host refuses more, it may have said why, and its answer is
 * read. */
static void push(struct host_call *call)
{
    ssize_t n =
        send(call->conn.fd, call->out + call->sent, call->out_len - call->sent, MSG_NOSIGNAL);
    if (n >= 0)
        call->sent += (size_t)n;
    else if (errno != EAGAIN && errno != EINTR)
        call->sent = call->out_len;
}

int hosts_connect(int run, const char *agent)
{
    char name[TEAM_WORD_MAX + sizeof WORKSPACE_HOST_SOCKET];

    (void)snprintf(name, sizeof name, "%s" WORKSPACE_HOST_SOCKET, agent);
    return sock_connect(run, name);
}

static void try_connect(struct host_call *call)
{
    call->conn = (struct conn)CONN_INIT;
    if (call->run == -1) {
        done(call, HOST_ABSENT);
        return;
    }
    call->conn.fd = hosts_connect(call->run, call->agent);
    if (call->conn.fd != -1) {
        push(call);
    } else if (errno == ENOENT || errno == ECONNREFUSED) {
        done(call, HOST_ABSENT);
    } else if (errno != EAGAIN && errno != EMFILE && errno != ENFILE) {
        (void)err_errno(&call->err, "its host cannot be reached");
        done(call, HOST_BROKEN);
    }
}

void hosts_start(struct host_call *calls, size_t count, const struct str *head, const char *body,
                 size_t body_len)
{
    struct str text = STR_INIT;

    if (count == 0)
        return;
    raise_limit();
    frame_add(&text, head, body, body_len);
    size_t len = text.len;
    calls[0].owned = str_steal(&text);
    for (size_t i = 0; i < count; i++) {
        calls[i].out = calls[0].owned;
        calls[i].out_len = len;
        calls[i].sent = 0;
        calls[i].answer = HOST_PENDING;
        try_connect(&calls[i]);
    }
}

/* Handles the complete frames. */
static void read_frames(struct host_call *call, hosts_reply *on_reply, void *arg)
{
    struct frame frame;
    int rc = 0;

    while ((rc = conn_next(&call->conn, &frame, &call->err)) == 1) {
        bool enough = on_reply == NULL || on_reply(call, &frame, arg);
        frame_free(&frame);
        if (enough) {
            done(call, HOST_ANSWERED);
            return;
        }
    }
    if (rc == -1)
        broken(call, "does not speak as it should");
}

static void pull(struct host_call *call, hosts_reply *on_reply, void *arg)
{
    enum conn_read came = conn_read(&call->conn);

    if (came == CONN_DATA)
        read_frames(call, on_reply, arg);
    else if (came != CONN_NOTHING && call->err.text[0] != '\0') /* the host said why */
        done(call, HOST_BROKEN);
    else if (came != CONN_NOTHING)
        broken(call, "hung up");
}

size_t hosts_step(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    size_t pending = 0;

    for (size_t i = 0; i < count; i++) {
        struct host_call *call = &calls[i];
        if (call->answer == HOST_PENDING && call->conn.fd == -1)
            try_connect(call);
        if (call->answer != HOST_PENDING)
            continue;
        pending++;
        loop_want(&loop, call->conn.fd, call->sent < call->out_len ? POLLIN | POLLOUT : POLLIN);
    }
    if (loop.count < pending && (timeout_ms < 0 || timeout_ms > RETRY_MS))
        timeout_ms = RETRY_MS;
    if (pending == 0 ||
        loop_wait(&loop, timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms) <= 0)
        return pending;
    for (size_t i = 0; i < count; i++) {
        struct host_call *call = &calls[i];
        if (call->answer != HOST_PENDING)
            continue;
        short events = loop_got(&loop, call->conn.fd);
        if ((events & POLLOUT) != 0)
            push(call);
        if ((events & ~POLLOUT) != 0)
            pull(call, on_reply, arg);
        pending -= call->answer != HOST_PENDING;
    }
    return pending;
}

void hosts_end(struct host_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i].answer == HOST_PENDING)
            done(&calls[i], HOST_LATE);
        free(calls[i].owned);
        calls[i].owned = NULL;
    }
}

/* With many calls, each answer would wake this process and take time from the hosts that have not
 * answered yet. So it first waits for the last host, which probably answers last. */
static void let_most_answer(const struct host_call *calls, size_t count, int timeout_ms)
{
    enum { MANY = 32, AT_MOST_MS = 10 };

    if (count < MANY || calls[count - 1].answer != HOST_PENDING || calls[count - 1].conn.fd == -1)
        return;
    (void)loop_wait_for(calls[count - 1].conn.fd, POLLIN,
                        timeout_ms >= 0 && timeout_ms < AT_MOST_MS ? timeout_ms : AT_MOST_MS);
}

void hosts_finish(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg)
{
    int64_t end = time_monotonic_ms() + timeout_ms;
    int64_t left = timeout_ms;

    let_most_answer(calls, count, timeout_ms);
    while (hosts_step(calls, count, (int)left, on_reply, arg) > 0) {
        if (timeout_ms < 0)
            continue;
        left = end - time_monotonic_ms();
        if (left <= 0)
            break;
    }
    hosts_end(calls, count);
}

int hosts_reply_error(const struct json *reply, struct err *err)
{
    const char *why = json_get_text(reply, "why");
    const char *hint = json_get_text(reply, "hint");
    int64_t code = json_int(json_get(reply, "code"), MAS_FAILED);

    if (json_bool(json_get(reply, "ok"), false))
        return 0;
    if (code < MAS_FAILED || code > MAS_TIMEOUT)
        code = MAS_FAILED;
    (void)err_set(err, (int)code, "%s", why != NULL ? why : "its host refused without a reason");
    return hint != NULL ? err_hint(err, "%s", hint) : -1;
}
