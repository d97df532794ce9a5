/*
 * The messages between mas-archive and the mas that started it: frames (base/frame.h) on a socket.
 *
 *     mas          {"do":"pack","level":3,"strict":false,"manifest":{...}}
 *                  of a session that runs also "live":true,"memory":BYTES, see archive/listing.h
 *     mas-archive  {"do":"progress","files":12,"size":34}   at most one per 100 ms
 *                  {"do":"warning","text":"..."}            any number
 *                  {"do":"packed","entries":..,"size":..,"written":..,"linksOut":..,
 *                   "digest":".."}
 *               or {"do":"failed","code":1,"text":"...","hint":"..."}
 *
 *     mas          {"do":"unpack","links":false}
 *     mas-archive  {"do":"manifest","manifest":{...}}
 *     mas          {"do":"go"}
 *     mas-archive  progress, warnings, then {"do":"unpacked","digest":".."} or {"do":"failed",...}
 *
 * mas-archive receives its descriptors under the numbers below. It is killed if mas ends for any
 * reason. If mas-archive is killed, mas undoes its work.
 */
#pragma once

#include "base/frame.h"

enum {
    PARENT_SOCKET = 3,
    PARENT_FILE = 4, /* the archive */
    PARENT_DIR = 5, /* the workspace, or the directory for a new one */
    PARENT_PARTS = 6, /* the directory of unit/ and workflows/ */
    /* for "unpack", a lock that stays held until mas-archive has ended; for "live", the spool */
    PARENT_SPOOL = 7,
};

struct parent {
    int fd; /* -1: do not send */
    struct frames in;
    int64_t told; /* when progress was last sent; monotonic ms */
};

/* Waits for the next frame, without a time limit. The caller releases *ret with frame_free(). Fails
 * if its "do" is not `verb` (NULL: any). */
int parent_receive(struct parent *parent, const char *verb, struct frame *ret, struct err *err);
/* Sends a frame; `head` is the text of a JSON object. Blocks until it is sent. */
int parent_send(struct parent *parent, const struct str *head, struct err *err);

/* Send the progress (not more often than every 100 ms), a warning, or the error that ended the
 * work. A failure to send is ignored. */
void parent_progress(struct parent *parent, uint64_t files, uint64_t bytes);
void parent_warn(struct parent *parent, const char *fmt, ...) PRINTF_LIKE(2, 3);
void parent_fail(struct parent *parent, const struct err *why);
