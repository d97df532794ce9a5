#include "archive/parent.h"

#include "base/time.h"

#include <sys/socket.h>

enum { PROGRESS_MS = 100, CHUNK = 4096 };

int parent_receive(struct parent *parent, const char *verb, struct frame *ret, struct err *err)
{
    char buf[CHUNK];
    int rc;

    while ((rc = frames_next(&parent->in, ret, err)) == 0) {
        ssize_t n = recv(parent->fd, buf, sizeof buf, 0);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot read from mas");
        if (n == 0)
            return err_set(err, MAS_FAILED, "mas has exited");
        frames_feed(&parent->in, buf, (size_t)n);
    }
    if (rc == -1)
        return -1;
    const char *is = json_get_text(ret->head, "do");
    if (is != NULL && (verb == NULL || strcmp(is, verb) == 0))
        return 0;
    frame_free(ret);
    return err_set(err, MAS_FAILED, "mas-archive does not understand a request of mas");
}

int parent_send(struct parent *parent, const struct str *head, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t done = 0;

    frame_add(&text, head, NULL, 0);
    while (parent->fd != -1 && done < text.len) {
        ssize_t n = send(parent->fd, text.data + done, text.len - done, MSG_NOSIGNAL);
        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return err_errno(err, "cannot write to mas");
        done += (size_t)n;
    }
    return 0;
}

void parent_progress(struct parent *parent, uint64_t files, uint64_t bytes)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    struct err ignored = ERR_INIT;
    int64_t now = time_monotonic_ms();

    if (now - parent->told < PROGRESS_MS)
        return;
    parent->told = now;
    json_put_all(&out, JO(NULL), JT("do", "progress"), JI("files", files), JI("size", bytes), JOE);
    (void)parent_send(parent, &head, &ignored);
}

/* Writes arbitrary text, with control characters made visible. */
static void put_text(struct json_out *out, const char *key, const char *text)
{
    _cleanup_str_ struct str safe = STR_INIT;
    str_add_visible(&safe, text, strlen(text));
    json_put(out, key, str_text(&safe));
}

void parent_warn(struct parent *parent, const char *fmt, ...)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    struct err ignored = ERR_INIT;
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_open(&out, NULL, '{');
    json_put(&out, "do", "warning");
    put_text(&out, "text", text);
    json_close(&out, '}');
    (void)parent_send(parent, &head, &ignored);
}

void parent_fail(struct parent *parent, const struct err *why)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out = {.to = &head};
    struct err ignored = ERR_INIT;

    json_open(&out, NULL, '{');
    json_put(&out, "do", "failed");
    json_put_int(&out, "code", why->code);
    put_text(&out, "text", why->text);
    put_text(&out, "hint", why->hint);
    json_close(&out, '}');
    (void)parent_send(parent, &head, &ignored);
}
