/*
 * The helper program mas-archive, as mas sees it; for archive*.c only.
 */
#ifndef MAS_SESSION_ARCHIVE_HELPER_H
#define MAS_SESSION_ARCHIVE_HELPER_H

#include "base/frame.h"
#include "base/proc.h"
#include "session/life.h"

struct archive_helper {
    struct proc proc;
    int socket; /* -1: none runs */
    struct frames in;
    char **warnings; /* that it gave */
};

#define ARCHIVE_HELPER_INIT                                                                        \
    {                                                                                              \
        .socket = -1                                                                               \
    }

/* What it works with; `lock` may be -1, and is held as long as it lives. */
struct archive_work {
    int file, dir, parts, lock;
    const struct str *order; /* what it is to do, an object */
};

int archive_helper_start(const struct archive_work *work, struct archive_helper *ret,
                         struct err *err);
/* Waits for a frame that does `verb`, and tells life->tick of progress meanwhile. */
int archive_helper_await(const struct life *life, struct archive_helper *helper, const char *verb,
                         struct frame *ret, struct err *err);
int archive_helper_say(struct archive_helper *helper, const char *text, struct err *err);
/* Ends it, whatever it does. */
void archive_helper_end(struct archive_helper *helper);
#define _cleanup_archive_helper_ __attribute__((cleanup(archive_helper_end)))

#endif
