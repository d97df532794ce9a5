/*
 * The log of an agent, or of a session, as the body of an answer: all of it, a range, or a range
 * that goes on with what is written later. Byte 0 is the oldest that is kept; the entity tag
 * changes when older parts of the log are removed, and other bytes get its number.
 */
#pragma once

#include "os/log_read.h"
#include "os/loop.h"

enum { LOG_FOLLOWERS_MAX = 64 };

struct log_stream;

enum log_range { LOG_WHOLE, LOG_PART, LOG_NO_PART /* nothing of it is there */ };

/* Opens the log `name` in logs/ of the workspace open at `dir`, which the caller keeps. With
 * `follows`, the stream goes on at the end of the log. Release *ret with log_stream_free(). */
int log_stream_open(int dir, const char *name, bool follows, struct log_stream **ret,
                    struct err *err);
void log_stream_free(struct log_stream *stream);

/* Returns a number that stands for what byte 0 is. */
uint64_t log_stream_tag(const struct log_stream *stream);
/* Bytes in the log when it was opened. */
off_t log_stream_size(const struct log_stream *stream);
/* Restricts the stream to the range that a header Range names (NULL: none). One of another form is
 * ignored, as HTTP says. *ret_first and *ret_last are its first and last byte; of one that goes on,
 * LOG_RANGE_END is the last. */
enum log_range log_stream_cut(struct log_stream *stream, const char *range, off_t *ret_first,
                              off_t *ret_last);
#define LOG_RANGE_END ((off_t)9007199254740991) /* RFC 8673 */
/* How many bytes the stream has; -1: that is not known yet. */
off_t log_stream_length(const struct log_stream *stream);

/* Reads what comes next. Returns 0 if there is nothing more now, -1 if there never will be. */
ssize_t log_stream_read(struct log_stream *stream, char *buf, size_t max);

/* Waits in this turn for a change of the log, and for the end of the client at `client`. */
void log_stream_want(const struct log_stream *stream, int client, struct loop *loop);
/* Returns true if something has happened; the stream has to be read again. */
bool log_stream_turn(struct log_stream *stream, int client, struct loop *loop);
