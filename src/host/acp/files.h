/*
 * Serves an agent's requests for the files of its workspace: fs/read_text_file, fs/write_text_file.
 *
 * A path is absolute and lies below one of the place's roots; mas follows no symbolic link. It
 * reads and writes only regular files of at most AGENT_FILE_MAX bytes of UTF-8. It writes a new
 * file in run/ and renames it into place with the mode of the old one. It makes missing
 * directories. It does not write the files that mas itself keeps in a workspace, nor, in a session
 * with a project, to any repository but the agent's own.
 */
#pragma once

#include "protocol/acp.h"

enum { AGENT_FILE_MAX = 16 << 20 };

/* A directory that an agent works in. */
struct work_root {
    const char *path; /* absolute, as agents know it */
    int dir; /* its descriptor */
    bool workspace; /* it is a session's workspace, with files of mas in it */
    bool read_only;
};

/* Where an agent may read, write and run programs. */
struct work_place {
    const struct work_root *roots;
    size_t count;
    int run; /* directory for files that are being written; mas empties it when the session stops */
    const char *agent; /* its id, for their names */
    bool project; /* the session has repositories */
    bool writer; /* and one is the agent's */
};

/* Returns the path below its root, which is *ret_root; "." for the root itself; NULL if the path is
 * below no root. */
const char *work_place_find(const struct work_place *place, const char *path,
                            const struct work_root **ret_root);

/* Answers or refuses a request. Returns false if the request is not for files. */
bool files_serve(const struct work_place *place, struct acp *acp,
                 const struct acp_request *request);
