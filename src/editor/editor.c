/*
 * The loop. Each turn connects to the host if somebody waits for it, answers what has settled,
 * waits, and then writes and reads. As long as the client leaves too much unread, neither its
 * requests nor the events of the host are read. Why there is no host is asked of tmux at most once
 * a second, and only for a request that waits.
 */

#include "editor/editor_internal.h"

#include "base/number.h"
#include "base/time.h"
#include "client/survey.h"
#include "os/loop.h"
#include "store/session.h"
#include "tmux/tmux.h"

enum {
    LISTEN = 0, /* the number of the request to listen; others have that of a pending request */
    CHUNK = 64 * 1024,
    WRITE_MAX = 4096, /* bytes that a pipe accepts without blocking when the loop reports room */
    JUDGE_MS = 1000, /* minimum interval between queries of tmux */
    FLUSH_MS = 1000, /* time to write the remaining output after the client has hung up */
};

static const struct acp_agent_self self = {.name = "mas", .title = "mas", .version = MAS_VERSION};

/* ---- the host */

static void drop_host(struct editor *editor, int64_t now)
{
    host_connection_close(&editor->host);
    editor->listens = false;
    editor->retry_at = now + EDITOR_RETRY_MS;
    editor_drop_permissions(editor);
    editor_lost(editor);
}

/* Finds out why no host listens. Leaves MAS_OK if a host may be starting. */
static void judge_absence(struct editor *editor, struct err *ret)
{
    const struct editor_spec *spec = editor->spec;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct tmux_session *live = NULL;

    if (session_load(spec->root, spec->dir, spec->session, &session, ret) == -1 ||
        survey_find_live(spec->root, session.tmux_socket, spec->session, &live, ret) == -1) {
        (void)err_wrap(ret, "cannot reach agent '%s'", spec->agent);
        return;
    }
    if (live == NULL) {
        (void)err_set(ret, MAS_CONFLICT, "cannot reach agent '%s': session '%s' is not running",
                      spec->agent, spec->session);
        (void)err_hint(ret, "start it with: mas start %s", spec->session);
        return;
    }
    tmux_sessions_free(live, 1);
}

static void connect_to_host(struct editor *editor, int64_t now)
{
    struct err why = ERR_INIT;
    struct err ignored = ERR_INIT;
    bool waited_for = editor_waits(editor);

    if (editor->host.conn.fd != -1 || now < editor->retry_at ||
        (!waited_for && editor->session_count == 0))
        return;
    if (host_connection_open(&editor->host, editor->spec->run, editor->spec->agent, &ignored) ==
        HOST_PENDING) {
        (void)host_connection_ask(&editor->host, LISTEN, "{\"do\":\"listen\"}", NULL, 0);
        return;
    }
    editor->retry_at = now + (waited_for ? EDITOR_RETRY_MS : EDITOR_IDLE_RETRY_MS);
    if (!waited_for || (editor->judged_at != 0 && now < editor->judged_at + JUDGE_MS))
        return;
    editor->judged_at = now;
    judge_absence(editor, &why);
    if (why.code != MAS_OK) {
        editor->judged_at = 0;
        editor_fail_waiting(editor, &why);
    }
}

/* Sends to each open session the messages that it has missed. */
static void catch_up(struct editor *editor)
{
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < editor->session_count; i++)
        (void)editor_show_past(editor, editor->sessions[i], &ignored);
}

static void handle_answer(struct editor *editor, int64_t asked, const struct frame *frame)
{
    struct err why = ERR_INIT;

    if (asked != LISTEN) {
        editor_answered(editor, asked, frame);
        return;
    }
    if (hosts_reply_error(frame->head, &why) == -1) { /* the answer to `listen` */
        host_connection_close(&editor->host);
        editor->retry_at = time_monotonic_ms() + EDITOR_IDLE_RETRY_MS;
        editor_fail_waiting(editor, &why);
        return;
    }
    editor->listens = true;
    editor_handle_listen(editor, frame->head);
    catch_up(editor);
    editor_ask_permissions(editor);
    editor_go_on(editor);
}

static bool on_frame(const struct frame *frame, const int64_t *asked, void *arg)
{
    struct editor *editor = arg;

    if (asked != NULL)
        handle_answer(editor, *asked, frame);
    else if (editor->listens)
        editor_event(editor, frame);
    return editor->host.conn.fd == -1;
}

static void serve_host(struct editor *editor, short events)
{
    struct err ignored = ERR_INIT;

    if (editor->host.conn.fd != -1 &&
        host_connection_turn(&editor->host, events, on_frame, editor, &ignored) == HOST_BROKEN)
        drop_host(editor, time_monotonic_ms());
}

/* ---- the client */

static void read_client(struct editor *editor)
{
    char chunk[CHUNK];
    ssize_t n = read(editor->spec->in, chunk, sizeof chunk);

    if (n > 0)
        acp_agent_feed(editor->acp, chunk, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        editor->ends = true;
}

static void write_client(struct editor *editor)
{
    size_t len = 0;
    const char *out = acp_agent_out(editor->acp, &len);
    ssize_t n = write(editor->spec->out, out, len < WRITE_MAX ? len : WRITE_MAX);

    if (n > 0)
        acp_agent_sent(editor->acp, (size_t)n);
    else if (n == -1 && errno != EINTR && errno != EAGAIN)
        editor->ends = true;
}

/* Writes the remaining output, which the client may still read after it has closed its end. */
static void flush_client(struct editor *editor)
{
    int64_t end = time_monotonic_ms() + FLUSH_MS;
    size_t len = 0;

    editor->ends = false;
    while (acp_agent_out(editor->acp, &len) != NULL && len > 0 && !editor->ends &&
           time_monotonic_ms() < end) {
        if (loop_wait_for(editor->spec->out, POLLOUT, FLUSH_MS) > 0)
            write_client(editor);
    }
}

/* ---- the loop */

/* Does what it is time for. Returns when it is time again; monotonic ms; -1: never. */
static int64_t tick(struct editor *editor)
{
    int64_t now = time_monotonic_ms();

    connect_to_host(editor, now);
    editor_settle(editor, now);
    int64_t next = editor_pending_tick(editor, now);
    if (editor->host.conn.fd == -1 && (editor_waits(editor) || editor->session_count > 0))
        next = time_sooner(next, editor->retry_at);
    return next;
}

static void wait_and_serve(struct editor *editor)
{
    struct loop *loop = &editor->loop;
    int64_t until = tick(editor);
    size_t len = 0;

    (void)acp_agent_out(editor->acp, &len);
    loop_begin(loop);
    loop_want(loop, editor->spec->out, len > 0 ? POLLOUT : 0);
    if (len < EDITOR_OUT_FULL) {
        loop_want(loop, editor->spec->in, POLLIN);
        conn_want(&editor->host.conn, loop);
    } else if (conn_unsent(&editor->host.conn) > 0) {
        loop_want(loop, editor->host.conn.fd, POLLOUT);
    }
    if (loop_wait(loop, until) <= 0)
        return;
    short out = loop_got(loop, editor->spec->out);
    short in = loop_got(loop, editor->spec->in);
    short host = loop_got(loop, editor->host.conn.fd);
    if ((out & POLLOUT) != 0)
        write_client(editor);
    else if (out != 0)
        editor->ends = true;
    if (in != 0)
        read_client(editor);
    serve_host(editor, host);
}

static void editor_free(struct editor *editor)
{
    host_connection_close(&editor->host);
    loop_free(&editor->loop);
    editor_drop_permissions(editor);
    for (size_t i = 0; i < editor->pending_count; i++)
        editor_pending_free(editor->pending[i]);
    for (size_t i = 0; i < editor->session_count; i++)
        free(editor->sessions[i]);
    for (size_t i = 0; i < EDITOR_OPEN_MAX; i++)
        free(editor->tools[i].id);
    free(editor->pending);
    free(editor->sessions);
    free(editor->permissions);
    free(editor->state);
    free(editor->mode);
    free(editor->running);
    json_free(editor->modes);
    json_free(editor->options);
    json_free(editor->commands);
    acp_agent_free(editor->acp);
}

int editor_run(const struct editor_spec *spec, struct err *err)
{
    struct editor editor = {.spec = spec, .host = HOST_CONNECTION_INIT, .loop = LOOP_INIT};
    int rc = 0;

    editor.acp = acp_agent_new(&editor_ops, &editor, &self);
    while (!editor.ends && !acp_agent_is_stuck(editor.acp))
        wait_and_serve(&editor);
    if (acp_agent_is_stuck(editor.acp))
        rc = err_set(err, MAS_FAILED, "cannot continue: the client does not read");
    else
        flush_client(&editor);
    editor_free(&editor);
    return rc;
}
