/*
 * mas's side of the helper program mas-archive; for archive*.c only.
 */
#pragma once

#include "base/frame.h"
#include "os/proc.h"
#include "session/life.h"

struct archive_helper {
    struct proc proc;
    int socket; /* -1: no helper runs */
    struct frames in;
    char **warnings; /* the warnings that it sent */
};

#define ARCHIVE_HELPER_INIT                                                                        \
    {                                                                                              \
        .socket = -1                                                                               \
    }

/* The files that the helper works on. */
struct archive_work {
    int file, dir, parts;
    int more; /* -1: none; "unpack": a lock, which it holds as long as it lives; "live": the spool
               */
    const struct str *order; /* the task, a JSON object */
};

/* Starts the helper and sends it the order. The caller ends it with archive_helper_end(), also
 * after a failure. */
int archive_helper_start(const struct archive_work *work, struct archive_helper *ret,
                         struct err *err);
/* Waits for a frame with `verb` and passes progress to life->tick meanwhile. The caller releases
 * *ret with frame_free(). */
int archive_helper_await(const struct life *life, struct archive_helper *helper, const char *verb,
                         struct frame *ret, struct err *err);
/* Sends the helper a frame. */
int archive_helper_say(struct archive_helper *helper, const char *text, struct err *err);
/* Ends the helper, whatever it is doing. */
void archive_helper_end(struct archive_helper *helper);
#define _cleanup_archive_helper_ __attribute__((cleanup(archive_helper_end)))
