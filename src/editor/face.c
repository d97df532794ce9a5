#include "editor/face_internal.h"

#include "base/number.h"
#include "base/time.h"
#include "client/hosts.h"
#include "client/survey.h"
#include "store/session.h"
#include "tmux/tmux.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 64 * 1024,
    WRITE_MAX = 4096, /* what a pipe that poll() says has room takes without waiting */
    JUDGE_MS = 1000, /* tmux is asked no more often than that */
    FLUSH_MS = 1000, /* for what waits to be written when the client has hung up */
};

static const struct acp_agent_self self = {.name = "mas", .title = "mas", .version = MAS_VERSION};

struct json *face_copy(const struct json *node)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct json *copy = NULL;
    struct err ignored = ERR_INIT;

    if (node == NULL)
        return NULL;
    json_put_node(&out, NULL, node);
    return json_parse(text.data, text.len, text.len, &copy, &ignored) == 0 ? copy : NULL;
}

void face_replace(char **to, const char *text)
{
    char *copy = mem_dup(text);

    free(*to);
    *to = copy;
}

int64_t face_number(const char *id)
{
    static const struct unit units[] = {{"", 1}};
    const char *colon = id != NULL ? strrchr(id, ':') : NULL;
    uint64_t number = 0;

    return colon != NULL && number_parse(colon + 1, units, 1, INT64_MAX, &number) ? (int64_t)number
                                                                                  : 0;
}

char *face_id(const struct face *face, int64_t number)
{
    return mem_printf("%s:%" PRId64, face->spec->session, number);
}

/* ---- the host */

static void listen_to_host(struct face *face)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};

    json_open(&out, NULL, '{');
    json_put(&out, "do", "listen");
    json_close(&out, '}');
    (void)host_link_ask(&face->link, (struct host_link_asked){.about = 0}, &head, NULL, 0);
}

static void drop_link(struct face *face, int64_t now)
{
    host_link_drop(&face->link);
    face->listens = false;
    face->retry_at = now + FACE_RETRY_MS;
    face_drop_permissions(face);
    face_lost(face);
}

/* Why nobody listens. MAS_OK: a host may be coming up. */
static void judge_absence(struct face *face, struct err *ret)
{
    const struct face_spec *spec = face->spec;
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

static void connect_to_host(struct face *face, int64_t now)
{
    struct err why = ERR_INIT;
    bool waited_for = face_waits(face);

    if (face->link.fd != -1 || now < face->retry_at || (!waited_for && face->session_count == 0))
        return;
    if (face->spec->run != -1 &&
        host_link_connect(&face->link, face->spec->run, face->spec->agent)) {
        listen_to_host(face);
        return;
    }
    face->retry_at = now + (waited_for ? FACE_RETRY_MS : FACE_IDLE_RETRY_MS);
    if (!waited_for || (face->judged_at != 0 && now < face->judged_at + JUDGE_MS))
        return;
    face->judged_at = now;
    judge_absence(face, &why);
    if (why.code != MAS_OK) {
        face->judged_at = 0;
        face_fail_waiting(face, &why);
    }
}

/* Sessions that are open are told what they have missed. */
static void catch_up(struct face *face)
{
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < face->session_count; i++)
        (void)face_show_past(face, face->sessions[i], &ignored);
}

static void take_answer(struct face *face, struct host_link_asked asked, const struct frame *frame)
{
    struct err why = ERR_INIT;

    if (asked.about != 0) {
        face_answered(face, asked, frame);
        return;
    }
    if (hosts_reply_error(frame->head, &why) == -1) { /* to `listen` */
        host_link_drop(&face->link);
        face->retry_at = time_monotonic_ms() + FACE_IDLE_RETRY_MS;
        face_fail_waiting(face, &why);
        return;
    }
    face->listens = true;
    face_take_listen(face, frame->head);
    catch_up(face);
    face_ask_permissions(face);
    face_go_on(face);
}

static void take_frames(struct face *face)
{
    struct host_link_asked asked = {.about = 0};
    struct frame frame;
    bool is_event = false;
    int rc = 0;

    while (face->link.fd != -1 &&
           (rc = host_link_take(&face->link, &frame, &is_event, &asked)) == 1) {
        const char *name = json_get_text(frame.head, "event");
        if (!is_event)
            take_answer(face, asked, &frame);
        else if (face->listens && name != NULL)
            face_event(face, name, &frame);
        frame_free(&frame);
    }
    if (rc == -1 && face->link.fd != -1)
        drop_link(face, time_monotonic_ms());
}

static void serve_host(struct face *face, short events)
{
    bool alive = true;

    if (face->link.fd == -1 || events == 0)
        return;
    if ((events & POLLOUT) != 0)
        alive = host_link_write(&face->link);
    if (alive && (events & (POLLIN | POLLHUP | POLLERR)) != 0)
        alive = host_link_read(&face->link);
    take_frames(face);
    if (!alive && face->link.fd != -1)
        drop_link(face, time_monotonic_ms());
}

/* ---- the client */

static void read_client(struct face *face)
{
    char chunk[CHUNK];
    ssize_t n = read(face->spec->in, chunk, sizeof chunk);

    if (n > 0)
        acp_agent_feed(face->acp, chunk, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        face->ends = true;
}

static void write_client(struct face *face)
{
    size_t len = 0;
    const char *out = acp_agent_out(face->acp, &len);
    ssize_t n = write(face->spec->out, out, len < WRITE_MAX ? len : WRITE_MAX);

    if (n > 0)
        acp_agent_sent(face->acp, (size_t)n);
    else if (n == -1 && errno != EINTR && errno != EAGAIN)
        face->ends = true;
}

/* What it asked for before it hung up may be read still. */
static void flush_client(struct face *face)
{
    int64_t end = time_monotonic_ms() + FLUSH_MS;
    size_t len = 0;

    face->ends = false;
    while (acp_agent_out(face->acp, &len) != NULL && len > 0 && !face->ends &&
           time_monotonic_ms() < end) {
        struct pollfd fd = {.fd = face->spec->out, .events = POLLOUT};
        if (poll(&fd, 1, FLUSH_MS) == 1)
            write_client(face);
    }
}

/* ---- the loop */

static int64_t sooner(int64_t a, int64_t b)
{
    return a == -1 ? b : b == -1 ? a : a < b ? a : b;
}

static int tick(struct face *face)
{
    int64_t now = time_monotonic_ms();

    connect_to_host(face, now);
    face_settle(face, now);
    int64_t next = face_errands_tick(face, now);
    if (face->link.fd == -1 && (face_waits(face) || face->session_count > 0))
        next = sooner(next, face->retry_at);
    now = time_monotonic_ms();
    return next == -1 ? -1 : next <= now ? 0 : (int)(next - now);
}

static void wait_and_serve(struct face *face)
{
    enum { IN, OUT, HOST, COUNT };
    int timeout = tick(face);
    size_t len = 0;

    (void)acp_agent_out(face->acp, &len);
    struct pollfd fds[COUNT] = {
        [IN] = {.fd = len < FACE_OUT_FULL ? face->spec->in : -1, .events = POLLIN},
        [OUT] = {.fd = face->spec->out, .events = len > 0 ? POLLOUT : 0},
        [HOST] = {.fd = face->link.fd,
                  .events = (short)((len < FACE_OUT_FULL ? POLLIN : 0) |
                                    (host_link_has_more(&face->link) ? POLLOUT : 0))},
    };
    if (fds[HOST].events == 0)
        fds[HOST].fd = -1;
    if (poll(fds, COUNT, timeout) <= 0)
        return;
    if ((fds[OUT].revents & POLLOUT) != 0)
        write_client(face);
    else if (fds[OUT].revents != 0)
        face->ends = true;
    if (fds[IN].revents != 0)
        read_client(face);
    serve_host(face, fds[HOST].revents);
}

static void face_free(struct face *face)
{
    host_link_drop(&face->link);
    face_drop_permissions(face);
    for (size_t i = 0; i < face->errand_count; i++)
        face_errand_free(face->errands[i]);
    for (size_t i = 0; i < face->session_count; i++)
        free(face->sessions[i]);
    for (size_t i = 0; i < FACE_OPEN_MAX; i++)
        free(face->tools[i].id);
    free(face->errands);
    free(face->sessions);
    free(face->permissions);
    free(face->state);
    free(face->mode);
    free(face->running);
    json_free(face->modes);
    json_free(face->options);
    json_free(face->commands);
    acp_agent_free(face->acp);
}

int face_run(const struct face_spec *spec, struct err *err)
{
    struct face face = {.spec = spec, .link = HOST_LINK_INIT};
    int rc = 0;

    face.acp = acp_agent_new(&face_ops, &face, &self);
    while (!face.ends && !acp_agent_is_stuck(face.acp))
        wait_and_serve(&face);
    if (acp_agent_is_stuck(face.acp))
        rc = err_set(err, MAS_FAILED, "cannot go on: the client does not read");
    else
        flush_client(&face);
    face_free(&face);
    return rc;
}
