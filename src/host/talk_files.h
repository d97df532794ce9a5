/*
 * What an agent asks of the files of its workspace: fs/read_text_file and fs/write_text_file.
 *
 * Paths are absolute and must lie below one of the place's roots; no symbolic link is followed.
 * Only regular files of at most TALK_FILE_MAX bytes of UTF-8 are read and written. A file is
 * written whole: beside the workspace's own files (in run/), then renamed, with the mode that it
 * had; directories that are missing are made. What mas itself keeps in a workspace is not written.
 */
#ifndef MAS_HOST_TALK_FILES_H
#define MAS_HOST_TALK_FILES_H

#include "protocol/acp.h"

#include <stdbool.h>
#include <stddef.h>

enum { TALK_FILE_MAX = 16 << 20 };

/* A directory that an agent works in. */
struct talk_root {
    const char *path; /* absolute; as agents are told it */
    int dir; /* it, open */
    bool workspace; /* it is that of a session: files of mas are in it */
};

/* Where it may read and write, and run programs. */
struct talk_place {
    const struct talk_root *roots;
    size_t count;
    int run; /* directory for files that are being written, emptied when the session stops */
    const char *agent; /* its id, for their names */
};

/* The path below a root, "." for the root itself, and *ret_root; NULL where it lies in none. */
const char *talk_place_find(const struct talk_place *place, const char *path,
                            const struct talk_root **ret_root);

/* Answers or refuses a request; false, and nothing is done, if it is another one's. */
bool talk_files_serve(const struct talk_place *place, struct acp *acp,
                      const struct acp_request *request);

#endif
