/*
 * A connection is a conn and a queue of the requests whose answers are due. A call is such a
 * connection for one request, whose text all calls share and the last one frees. step() is one turn
 * of the loop for all calls: it connects those that had no descriptor or met a full queue, then
 * writes and reads. hosts_step() takes one such turn, hosts_finish() takes them until all is
 * answered or the time is up.
 */

#include "client/hosts.h"

#include "base/time.h"
#include "model/team/team.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/sock.h"
#include "store/workspace.h"

#include <sys/socket.h>

enum { RETRY_MS = 10 }; /* a full queue of a host or a lack of descriptors ends without an event */

/* ---- one connection */

static enum host_answer broken(struct err *err, const char *why)
{
    (void)err_set(err, MAS_FAILED, "its host %s", why);
    return HOST_BROKEN;
}

enum host_answer host_connection_open(struct host_connection *connection, int run,
                                      const char *agent, struct err *err)
{
    char name[TEAM_WORD_MAX + sizeof WORKSPACE_HOST_SOCKET];

    if (run == -1)
        return HOST_ABSENT;
    (void)snprintf(name, sizeof name, "%s" WORKSPACE_HOST_SOCKET, agent);
    connection->conn.fd = sock_connect(run, name);
    if (connection->conn.fd != -1)
        return HOST_PENDING;
    if (errno == ENOENT || errno == ECONNREFUSED)
        return HOST_ABSENT;
    if (errno == EAGAIN || errno == EMFILE || errno == ENFILE)
        return HOST_LATE;
    (void)err_errno(err, "its host cannot be reached");
    return HOST_BROKEN;
}

void host_connection_close(struct host_connection *connection)
{
    conn_close(&connection->conn);
    free(connection->asked);
    *connection = (struct host_connection)HOST_CONNECTION_INIT;
}

bool host_connection_ask(struct host_connection *connection, int64_t asked, const char *head,
                         const char *body, size_t body_len)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (connection->conn.fd == -1 || connection->asked_count == HOST_ASKED_MAX)
        return false;
    str_add(&text, head);
    conn_add(&connection->conn, &text, body, body_len);
    connection->asked =
        mem_room(connection->asked, connection->asked_count, sizeof *connection->asked);
    connection->asked[connection->asked_count++] = asked;
    return conn_write(&connection->conn);
}

/* Writes without blocking. If the host accepts no more, it may have said why, so what it has sent
 * is still read. */
static void push(struct host_connection *connection)
{
    if (!conn_write(&connection->conn))
        conn_discard(&connection->conn);
}

/* Passes on a frame, with the request that it answers. */
static bool pass(struct host_connection *connection, const struct frame *frame,
                 host_frame *on_frame, void *arg)
{
    if (connection->asked_count == 0 || json_get(frame->head, "event") != NULL)
        return on_frame(frame, NULL, arg);
    int64_t asked = connection->asked[0];
    connection->asked_count--;
    memmove(connection->asked, connection->asked + 1,
            connection->asked_count * sizeof *connection->asked);
    return on_frame(frame, &asked, arg);
}

enum host_answer host_connection_turn(struct host_connection *connection, short events,
                                      host_frame *on_frame, void *arg, struct err *err)
{
    struct err bad = ERR_INIT;
    struct frame frame;
    int rc = 0;

    if ((events & POLLOUT) != 0)
        push(connection);
    if ((events & ~POLLOUT) == 0)
        return HOST_PENDING;
    enum conn_read came = conn_read(&connection->conn);
    if (came == CONN_END || came == CONN_GONE)
        return broken(err, "closed the connection");
    while (connection->conn.fd != -1 && (rc = conn_next(&connection->conn, &frame, &bad)) == 1) {
        bool enough = pass(connection, &frame, on_frame, arg);
        frame_free(&frame);
        if (enough)
            return HOST_ANSWERED;
    }
    return rc == -1 ? broken(err, "sent an invalid answer") : HOST_PENDING;
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
    (void)err_set(err, (int)code, "%s",
                  why != NULL ? why : "its host refused the request without a reason");
    return hint != NULL ? err_hint(err, "%s", hint) : -1;
}

/* ---- one request to many */

/* The text of a request, and how many pending calls have to send it. */
struct host_request {
    struct str text;
    size_t calls;
};

static void done(struct host_call *call, enum host_answer answer)
{
    call->answer = answer;
    host_connection_close(&call->connection);
    if (call->request != NULL && --call->request->calls == 0) {
        str_free(&call->request->text);
        free(call->request);
    }
    call->request = NULL;
}

static void try_connect(struct host_call *call)
{
    enum host_answer answer =
        host_connection_open(&call->connection, call->run, call->agent, &call->err);

    if (answer == HOST_PENDING)
        push(&call->connection);
    else if (answer != HOST_LATE)
        done(call, answer);
}

void hosts_start(struct host_call *calls, size_t count, const char *head, const char *body,
                 size_t body_len)
{
    _cleanup_str_ struct str line = STR_INIT;

    if (count == 0)
        return;
    proc_raise_files(HOSTS_PLENTY_FDS); /* calls without a descriptor wait */
    struct host_request *request = mem_alloc(sizeof *request);
    request->calls = count;
    str_add(&line, head);
    frame_add(&request->text, &line, body, body_len);
    for (size_t i = 0; i < count; i++) {
        calls[i].connection = (struct host_connection)HOST_CONNECTION_INIT;
        calls[i].answer = HOST_PENDING;
        calls[i].request = request;
        conn_share(&calls[i].connection.conn, request->text.data, request->text.len);
    }
    for (size_t i = 0; i < count; i++)
        try_connect(&calls[i]);
}

/* A call and what its caller wants to hear of it. */
struct replying {
    struct host_call *call;
    hosts_reply *on_reply;
    void *arg;
};

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    const struct replying *to = arg;

    (void)asked;
    if (to->on_reply != NULL)
        return to->on_reply(to->call, frame, to->arg);
    (void)hosts_reply_error(frame->head, &to->call->err);
    return true;
}

static void serve(struct replying *to, short events)
{
    struct host_call *call = to->call;
    struct err why = ERR_INIT;
    enum host_answer answer = host_connection_turn(&call->connection, events, on_frame, to, &why);

    if (answer == HOST_PENDING)
        return;
    if (answer == HOST_BROKEN && call->err.code == MAS_OK) /* otherwise the host said why */
        call->err = why;
    done(call, answer);
}

static size_t step(struct host_call *calls, size_t count, int64_t until, hosts_reply *on_reply,
                   void *arg)
{
    _cleanup_loop_ struct loop loop = LOOP_INIT;
    size_t pending = 0;

    for (size_t i = 0; i < count; i++) {
        if (calls[i].answer == HOST_PENDING && calls[i].connection.conn.fd == -1)
            try_connect(&calls[i]);
        if (calls[i].answer != HOST_PENDING)
            continue;
        pending++;
        conn_want(&calls[i].connection.conn, &loop);
    }
    if (loop.count < pending)
        until = time_sooner(until, time_monotonic_ms() + RETRY_MS);
    if (pending == 0 || loop_wait(&loop, until) <= 0)
        return pending;
    for (size_t i = 0; i < count; i++) {
        struct replying to = {.call = &calls[i], .on_reply = on_reply, .arg = arg};
        if (calls[i].answer != HOST_PENDING)
            continue;
        serve(&to, loop_got(&loop, calls[i].connection.conn.fd));
        pending -= calls[i].answer != HOST_PENDING;
    }
    return pending;
}

static int64_t end_of(int timeout_ms)
{
    return timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms;
}

size_t hosts_step(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg)
{
    return step(calls, count, end_of(timeout_ms), on_reply, arg);
}

void hosts_end(struct host_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].answer == HOST_PENDING)
            done(&calls[i], HOST_LATE);
}

/* With many calls, each answer would wake this process, to look at all of them, and take time from
 * the hosts that have not answered yet. So it first waits for the last host that is pending, which
 * probably answers last. */
static void let_most_answer(const struct host_call *calls, size_t count, int64_t until)
{
    enum { AT_MOST_MS = 10 };
    int64_t end = time_sooner(until, time_monotonic_ms() + AT_MOST_MS);

    while (count > 0 &&
           (calls[count - 1].answer != HOST_PENDING || calls[count - 1].connection.conn.fd == -1))
        count--;
    int64_t left = end - time_monotonic_ms();
    if (count > 0 && left > 0)
        (void)loop_wait_for(calls[count - 1].connection.conn.fd, POLLIN, (int)left);
}

void hosts_finish(struct host_call *calls, size_t count, int timeout_ms, hosts_reply *on_reply,
                  void *arg)
{
    enum { MANY = 32 };
    int64_t until = end_of(timeout_ms);
    size_t pending = count;

    do {
        if (pending >= MANY)
            let_most_answer(calls, count, until);
        pending = step(calls, count, until, on_reply, arg);
    } while (pending > 0 && (until == -1 || time_monotonic_ms() < until));
    hosts_end(calls, count);
}

/* ---- which hosts there are */

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

pid_t hosts_pid(int run, const char *agent)
{
    struct host_connection connection = HOST_CONNECTION_INIT;
    struct err ignored = ERR_INIT;
    pid_t pid = 0;

    if (host_connection_open(&connection, run, agent, &ignored) == HOST_PENDING &&
        sock_peer(connection.conn.fd, &pid) == -1)
        pid = 0;
    host_connection_close(&connection);
    return pid;
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
