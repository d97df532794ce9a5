/*
 * The machine that pulls a session from here, as `mas leave` sees it: it runs that over ssh, and
 * takes the part that `mas receive` over ssh has in other moves. fleet/pull.h is the other end.
 *
 * Each question is a frame (base/frame.h) on standard output, its answer one on standard input:
 *
 *     {"do":"receive","words":["look","ID"]}   any step of `mas receive`
 *     {"code":0,"bytes":N}                     what it printed, or after another code its error
 *     {"do":"piece","bytes":N} ... {"do":"end"}   after "hold": the archive; an answer may come
 *                                              before the end, which says that no more is wanted
 *     {"do":"done",...}                        the last one: struct move_report and the session
 */
#pragma once

#include "base/frame.h"
#include "model/remote.h"

/* Of DESK:HASH. */
#define PULLED_DESK_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
enum { PULLED_DESK_MAX = 64, PULLED_HASH_CHARS = 16 };

struct pulled {
    struct remote remote; /* its name for MOVED_TO; place: what people call it */
    int in, out;
    struct frames frames;
};

#define PULLED_INIT                                                                                \
    {                                                                                              \
        .in = -1, .out = -1                                                                        \
    }

/* Takes the standard files. `name`: DESK:HASH, as MOVED_TO is to have it. Fails with MAS_USAGE if
 * it is none. The caller releases *ret with pulled_free(). */
int pulled_open(const char *name, struct pulled *ret, struct err *err);
void pulled_free(struct pulled *pulled);
#define _cleanup_pulled_ __attribute__((cleanup(pulled_free)))

/* Has `mas receive` of these words ("receive", "look", ...) run there. Returns and sets what
 * reach_ask_json() does. */
int pulled_ask(struct pulled *pulled, char *const *words, int timeout_ms, struct json **ret,
               struct err *err);
/* In a child: sends what comes from the descriptor as the archive of a session, then prints the
 * answer as `mas receive` would. Returns its exit code. */
int pulled_send(struct pulled *pulled, const char *id, int from);
/* Sends the last frame. */
int pulled_end(struct pulled *pulled, const struct str *head, struct err *err);
