/*
 * How mas-archive talks to the mas that started it: frames (base/frame.h) on a socket.
 *
 *     mas          {"do":"pack","level":3,"strict":false,"manifest":{...}}
 *     mas-archive  {"do":"progress","files":12,"size":34}   now and then
 *                  {"do":"warning","text":"..."}            any number
 *                  {"do":"packed","entries":..,"size":..,"written":..,"linksOut":..}
 *               or {"do":"failed","code":1,"text":"...","hint":"..."}
 *
 *     mas          {"do":"unpack","links":false}
 *     mas-archive  {"do":"manifest","manifest":{...}}
 *     mas          {"do":"go"}
 *     mas-archive  progress, warnings, then {"do":"unpacked"} or {"do":"failed",...}
 *
 * mas-archive gets its descriptors under the numbers below. It ends with mas, whatever happens to
 * that; what mas does about a mas-archive that was killed is to undo.
 */
#ifndef MAS_ARCHIVE_TALK_H
#define MAS_ARCHIVE_TALK_H

#include "base/err.h"
#include "base/frame.h"

#include <stdint.h>

enum {
    TALK_SOCKET = 3,
    TALK_FILE = 4, /* the archive */
    TALK_DIR = 5, /* the workspace, or where one is made */
    TALK_PARTS = 6, /* where unit/ and workflows/ are */
    /* 7, where it is there, is a lock that is held until mas-archive has ended, too */
};

struct talk {
    int fd; /* -1: nobody listens */
    struct frames in;
    int64_t told; /* when progress was told last; monotonic ms */
};

/* Waits for the next frame; one that does something else than `verb` (NULL: any) is an error. */
int talk_receive(struct talk *talk, const char *verb, struct frame *ret, struct err *err);
int talk_send(struct talk *talk, const struct str *head, struct err *err);

void talk_progress(struct talk *talk, uint64_t files, uint64_t bytes);
void talk_warn(struct talk *talk, const char *fmt, ...) PRINTF_LIKE(2, 3);
void talk_fail(struct talk *talk, const struct err *why);

#endif
