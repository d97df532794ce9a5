#include "base/frame.h"

char *frames_room(struct frames *frames, size_t len)
{
    if (frames->at > 0) {
        frames->in.len -= frames->at;
        memmove(frames->in.data, frames->in.data + frames->at, frames->in.len + 1);
        frames->at = 0;
    }
    str_reserve(&frames->in, len);
    return frames->in.data + frames->in.len;
}

void frames_came(struct frames *frames, size_t len)
{
    frames->in.len += len;
    frames->in.data[frames->in.len] = '\0';
}

void frames_feed(struct frames *frames, const char *bytes, size_t len)
{
    memcpy(frames_room(frames, len), bytes, len);
    frames_came(frames, len);
}

/* Reads the line if it is complete. Returns 1, 0 or -1 like frames_next(). */
static int parse_head(struct frames *frames, struct err *err)
{
    size_t have = frames->in.len - frames->at;
    const char *line = str_text(&frames->in) + frames->at;
    const char *end = memchr(line, '\n', have < FRAME_HEAD_MAX ? have : FRAME_HEAD_MAX);
    _cleanup_json_ struct json *head = NULL;

    if (end == NULL && have >= FRAME_HEAD_MAX)
        return err_set(err, MAS_DAMAGED, "a line is longer than %d bytes", FRAME_HEAD_MAX);
    if (end == NULL)
        return 0;
    if (json_parse(line, (size_t)(end - line), FRAME_HEAD_MAX, &head, err) == -1)
        return -1;
    const struct json *bytes = json_get(head, "bytes");
    int64_t body = bytes != NULL ? json_int(bytes, -1) : 0;
    if (!json_is_object(head))
        return err_set(err, MAS_DAMAGED, "a line is not a JSON object");
    if (body < 0 || body > FRAME_BODY_MAX)
        return err_set(err, MAS_DAMAGED, "\"bytes\" is not a number from 0 to %d", FRAME_BODY_MAX);
    frames->at += (size_t)(end - line) + 1;
    frames->head = head;
    frames->body = (size_t)body;
    head = NULL;
    return 1;
}

int frames_next(struct frames *frames, struct frame *ret, struct err *err)
{
    int rc = frames->head != NULL ? 1 : parse_head(frames, err);

    if (rc != 1)
        return rc;
    if (frames->in.len - frames->at < frames->body)
        return 0;
    *ret = (struct frame){.head = frames->head, .body_len = frames->body};
    if (json_get(frames->head, "bytes") != NULL)
        ret->body = mem_dupn(str_text(&frames->in) + frames->at, frames->body);
    frames->at += frames->body;
    frames->head = NULL;
    frames->body = 0;
    return 1;
}

void frames_free(struct frames *frames)
{
    str_free(&frames->in);
    json_free(frames->head);
    *frames = (struct frames){.head = NULL};
}

void frame_free(struct frame *frame)
{
    json_free(frame->head);
    free(frame->body);
    *frame = (struct frame){.head = NULL};
}

void frame_add(struct str *to, const struct str *head, const char *body, size_t body_len)
{
    if (body == NULL) {
        str_addn(to, str_text(head), head->len);
        str_addc(to, '\n');
        return;
    }
    size_t open = head->len - 1; /* without its closing bracket */
    str_reserve(to, head->len + 32 + body_len);
    str_addn(to, str_text(head), open);
    str_addf(to, "%s\"bytes\":%zu}\n", open > 1 ? "," : "", body_len);
    str_addn(to, body, body_len);
}
