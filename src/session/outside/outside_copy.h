/*
 * A copy of a session that an agent's program keeps (told.kept), with an id of its own in place of
 * the old one. It is a session, too, if the preset says so (told.copies).
 *
 * A kill may leave a copy that nothing names, as one that a person has made. The file that is
 * copied is only read.
 */
#pragma once

#include "base/id.h"
#include "model/path_pattern.h"
#include "model/preset.h"

enum { OUTSIDE_COPIED_MAX = 64 << 20 }; /* bytes of a file, and of its copy */

/* Where the program of an agent keeps its sessions. */
struct outside_home {
    int own; /* behind a wall, the agent's own home, where no link is followed; -1: the user's */
    char *const *env; /* which says where that is */
};

struct outside_copied {
    char id[ID_TEXT];
    int place; /* the directory that it is in; -1: there is no copy */
    char *path;
    const char *name; /* of the file; points into `path` */
    int64_t offset, tail; /* what a reader has read who has read it all: os/transcript.h */
};

#define OUTSIDE_COPIED_INIT                                                                        \
    {                                                                                              \
        .place = -1                                                                                \
    }

/* Writes the text as a session of the program, where `found` says that the old one was. */
int outside_copy(const struct outside_home *home, const struct preset_told *told,
                 const struct path_found *found, const char *id, const char *text, size_t len,
                 struct outside_copied *ret, struct err *err);
/* Copies the whole turns of the session `id`. Fails with MAS_NOT_FOUND if it has none, or the
 * program does not keep it, or not there. */
int outside_copy_session(const struct outside_home *from, const struct outside_home *to,
                         const struct preset_told *told, const char *id, struct outside_copied *ret,
                         struct err *err);
void outside_uncopy(const struct outside_copied *copied);
void outside_copied_free(struct outside_copied *copied);
#define _cleanup_copied_ __attribute__((cleanup(outside_copied_free)))
