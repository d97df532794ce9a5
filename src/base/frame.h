/*
 * Frames: how mas and its hosts talk over a stream socket.
 *
 * A frame is one line of JSON, an object, and, where that says "bytes": N, N bytes of any kind
 * behind the newline. Whoever reads one from a stranger is safe: sizes have limits, and what does
 * not fit the grammar ends the connection.
 *
 *     {"do":"send","enter":true,"bytes":5}\nhello
 */
#ifndef MAS_BASE_FRAME_H
#define MAS_BASE_FRAME_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

#include <stddef.h>

enum {
    FRAME_HEAD_MAX = 64 * 1024, /* bytes of the line */
    FRAME_BODY_MAX = 4 << 20, /* bytes behind it */
};

/* What has come in of one connection. Zero-initialised; released with frames_free(). */
struct frames {
    struct str in;
    size_t at; /* bytes of it that are taken */
    struct json *head; /* read, while its body is incomplete */
    size_t body; /* bytes that the head promises */
};

struct frame {
    struct json *head;
    char *body; /* NUL-terminated behind body_len; NULL: none */
    size_t body_len;
};

/* Appends what came in. */
void frames_feed(struct frames *frames, const char *bytes, size_t len);
/* The same without a copy: room for `len` bytes to read into, then how many of them came. */
char *frames_room(struct frames *frames, size_t len);
void frames_came(struct frames *frames, size_t len);
/* 1: *ret is the next frame, released with frame_free(); 0: it is not all there; -1: what is there
 * can be no frame (MAS_DAMAGED), the connection is of no more use. Called until it says 0 after
 * each frames_feed(), it keeps what waits within a frame and what was fed last. */
int frames_next(struct frames *frames, struct frame *ret, struct err *err);
void frames_free(struct frames *frames);
void frame_free(struct frame *frame);

/* Appends a frame: `head` is the text of an object without "bytes", which is put in where there is
 * a body. */
void frame_add(struct str *to, const struct str *head, const char *body, size_t body_len);

#endif
