/*
 * One order goes out, then frames come in until the one that is awaited: progress and warnings on
 * the way are taken here, "failed" carries the error. mas-archive has no time limit; instead each
 * wait for it is short, and life->tick can end it after any. If mas-archive ends without a word,
 * its exit code and standard error are the reason. Ending it closes the socket and abandons the
 * process.
 */

#include "session/archive_helper.h"

#include "os/loop.h"
#include "session/helper.h"

#include <sys/socket.h>

#define HELPER HELPER_ARCHIVE

enum { TICK_MS = 100, CHUNK = 4096, WARNINGS_MAX = 100 };

int archive_helper_start(const struct archive_work *work, struct archive_helper *ret,
                         struct err *err)
{
    int pair[2];
    _cleanup_free_ char *file = helper_find(HELPER, err);
    _cleanup_str_ struct str order = STR_INIT;

    if (file == NULL)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
        return err_errno(err, "cannot create a socket");
    const int fds[] = {pair[1], work->file, work->dir, work->parts, work->more};
    const struct proc_spec spec = {.file = file,
                                   .argv = (char *[]){(char[]){HELPER}, NULL},
                                   .cwd = -1,
                                   /* no limit as long as there is progress */
                                   .timeout_ms = INT_MAX,
                                   .fds = fds,
                                   .fd_count = ARRAY_LEN(fds) - (work->more == -1)};
    int rc = proc_start(&spec, &ret->proc, err);
    (void)close(pair[1]);
    if (rc == -1) {
        (void)close(pair[0]);
        return -1;
    }
    ret->socket = pair[0];
    ret->proc.file = HELPER;
    frame_add(&order, work->order, NULL, 0);
    return archive_helper_say(ret, order.data, err);
}

int archive_helper_say(struct archive_helper *helper, const char *text, struct err *err)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t n = send(helper->socket, text, len, MSG_NOSIGNAL);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && (errno == EPIPE || errno == ECONNRESET))
            return 0; /* it sent a message, or its exit tells more */
        if (n == -1)
            return err_errno(err, "cannot write to '%s'", HELPER);
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

static bool interrupted(const struct life *life, uint64_t files, uint64_t bytes)
{
    return life->tick != NULL && life->tick(files, bytes, life->tick_arg);
}

/* The helper closed the connection without a result. */
static int has_ended(const struct life *life, struct archive_helper *helper, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    fd_closep(&helper->socket);
    int rc = proc_finish(&helper->proc, &result, err);
    if (rc == 0 && interrupted(life, 0, 0)) /* the terminal's signal was for both processes */
        (void)err_set(err, MAS_FAILED, "interrupted");
    else if (rc == 0)
        (void)err_set(err, MAS_FAILED, "'%s' exited with code %d%s%.*s", HELPER, result.status,
                      result.err.len > 0 ? ": " : "", (int)strcspn(str_text(&result.err), "\n"),
                      str_text(&result.err));
    return -1;
}

/* Reads what has arrived; 0: the connection is closed. */
static int hear(const struct life *life, struct archive_helper *helper, struct err *err)
{
    char buf[CHUNK];
    int ready = loop_wait_for(helper->socket, POLLIN, TICK_MS);

    if (interrupted(life, 0, 0))
        return err_set(err, MAS_FAILED, "interrupted");
    if (ready == -1)
        return err_errno(err, "cannot wait for '%s'", HELPER);
    if (ready == 0)
        return 1;
    ssize_t n = recv(helper->socket, buf, sizeof buf, 0);
    if (n == -1 && errno == EINTR)
        return 1;
    if (n == -1 && errno != ECONNRESET)
        return err_errno(err, "cannot read from '%s'", HELPER);
    if (n <= 0)
        return 0;
    frames_feed(&helper->in, buf, (size_t)n);
    return 1;
}

/* Takes an error that the helper reports; the helper made its text safe to print. */
static int parse_failure(const struct frame *frame, struct err *err)
{
    const char *text = json_get_text(frame->head, "text");
    const char *hint = json_get_text(frame->head, "hint");
    int64_t code = json_int(json_get(frame->head, "code"), MAS_FAILED);

    (void)err_set(err, code == MAS_DAMAGED || code == MAS_CONFLICT ? (int)code : MAS_FAILED, "%s",
                  text != NULL ? text : "for an unknown reason");
    return hint != NULL && hint[0] != '\0' ? err_hint(err, "%s", hint) : -1;
}

/* Returns 1 if this is the expected frame. */
static int handle_frame(const struct life *life, struct archive_helper *helper, const char *verb,
                        const struct frame *frame, struct err *err)
{
    const char *is = json_get_text(frame->head, "do");

    if (is != NULL && strcmp(is, "progress") == 0)
        return interrupted(life, (uint64_t)json_int(json_get(frame->head, "files"), 0),
                           (uint64_t)json_int(json_get(frame->head, "size"), 0))
                   ? err_set(err, MAS_FAILED, "interrupted")
                   : 0;
    if (is != NULL && strcmp(is, "warning") == 0) {
        const char *text = json_get_text(frame->head, "text");
        if (strv_len(helper->warnings) < WARNINGS_MAX)
            strv_push(&helper->warnings, text != NULL ? text : "");
        return 0;
    }
    if (is != NULL && strcmp(is, "failed") == 0)
        return parse_failure(frame, err);
    if (is != NULL && strcmp(is, verb) == 0)
        return 1;
    return err_set(err, MAS_FAILED, "'%s' belongs to another version of mas", HELPER);
}

int archive_helper_await(const struct life *life, struct archive_helper *helper, const char *verb,
                         struct frame *ret, struct err *err)
{
    for (;;) {
        struct frame frame = {.head = NULL};
        int rc = frames_next(&helper->in, &frame, err);
        if (rc == 1) {
            rc = handle_frame(life, helper, verb, &frame, err);
            if (rc == 1) {
                *ret = frame;
                return 0;
            }
            frame_free(&frame);
        } else if (rc == 0) {
            rc = hear(life, helper, err);
            if (rc == 0)
                return has_ended(life, helper, err);
        }
        if (rc == -1)
            return -1;
    }
}

void archive_helper_end(struct archive_helper *helper)
{
    if (helper->socket != -1) {
        (void)close(helper->socket);
        proc_abandon(&helper->proc);
    }
    frames_free(&helper->in);
    strv_free(helper->warnings);
    *helper = (struct archive_helper)ARCHIVE_HELPER_INIT;
}
