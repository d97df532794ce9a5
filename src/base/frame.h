/*
 * Frames: the messages that mas and its hosts exchange on a stream socket.
 *
 * A frame is one line with a JSON object. If the object has a member "bytes": N, a body of N
 * arbitrary bytes follows the newline. Frames from an untrusted peer are safe to read: sizes are
 * limited, and input that does not fit the grammar ends the connection.
 *
 *     {"do":"send","enter":true,"bytes":5}\nhello
 */
#pragma once

#include "base/json.h"

enum {
    FRAME_HEAD_MAX = 64 * 1024, /* bytes of the line */
    FRAME_BODY_MAX = 4 << 20, /* bytes of the body */
};

/* Received bytes of one connection. Zero-initialised; release it with frames_free(). */
struct frames {
    struct str in;
    size_t at; /* bytes of `in` that are already consumed */
    struct json *head; /* already parsed, while its body is incomplete */
    size_t body; /* bytes of body that the head announces */
};

struct frame {
    struct json *head;
    char *body; /* NUL-terminated after body_len bytes; NULL: no body */
    size_t body_len;
};

/* Appends bytes that were read from the socket. */
void frames_feed(struct frames *frames, const char *bytes, size_t len);
/* The same without a copy: room for `len` bytes to read into, then how many of them came. */
char *frames_room(struct frames *frames, size_t len);
void frames_came(struct frames *frames, size_t len);
/* Takes the next frame. Returns 1 and sets *ret, which the caller releases with frame_free(); 0 if
 * the frame is incomplete; -1 (MAS_DAMAGED) if the input is not a frame, after which the connection
 * is useless. Call it until it returns 0 after each frames_feed(); then only an incomplete frame
 * stays in memory. */
int frames_next(struct frames *frames, struct frame *ret, struct err *err);
void frames_free(struct frames *frames);
void frame_free(struct frame *frame);

/* Appends a frame to `to`. `head` is the text of an object without "bytes". If `body` is not NULL,
 * the function adds "bytes" to the object and appends the body. */
void frame_add(struct str *to, const struct str *head, const char *body, size_t body_len);
