/*
 * What an agent has printed or said last, kept for agents on the screen: the last line and the tool
 * that runs, and for the chosen agent a preview of lines. tails.h fills it.
 */
#pragma once

#include "client/hosts.h"
#include "protocol/host_event.h"
#include "top/canvas.h"

enum {
    TAIL_LINES = 200,
    TAIL_LINE_MAX = 4096, /* bytes */
    TAIL_PERMISSIONS = 8,
};

struct tail_line {
    enum paint paint;
    char *text;
};

struct agent_tail {
    bool tells;
    bool full; /* it belongs to the chosen agent: keep lines */
    bool greeted; /* the host of an agent that tells has answered */
    bool loaded; /* what was said before is known */
    int64_t known; /* the newest message that was known then, and its length */
    size_t known_len;
    int64_t unbegun; /* the first prompt that waited then; 0: none did */
    bool visible; /* for tails.c */
    struct str last; /* the last line */
    char *tool, *tool_id; /* the tool that runs; NULL: none */
    struct tail_line *lines; /* oldest first */
    size_t count;
    bool open; /* the newest line is not over */
    struct host_permission permissions[TAIL_PERMISSIONS]; /* open ones, oldest first */
    size_t permission_count;
    /* for tails.c */
    struct host_connection host; /* of an ACP agent: listens */
    int64_t next_ms; /* when to connect or to read; monotonic */
    ino_t log;
    off_t log_size;
};

struct agent_tail *tail_new(bool tells);
/* `tail` may be NULL, as in the next two. */
void tail_free(struct agent_tail *tail);
/* Returns the title of the tool that runs, NULL if none is known. */
const char *tail_tool(const struct agent_tail *tail);
/* Returns its last line; or "". */
const char *tail_last(const struct agent_tail *tail);
/* Returns the oldest open permission, NULL if none is known. */
const struct host_permission *tail_permission(const struct agent_tail *tail);

/* Forgets the lines. */
void tail_clear(struct agent_tail *tail);
/* Adds a text of one or more lines, each in this colour. */
void tail_add(struct agent_tail *tail, enum paint paint, const char *text, size_t len);
/* Adds a piece of a text, which continues the one before it while `open` is set. */
void tail_piece(struct agent_tail *tail, enum paint paint, const char *text, size_t len);
/* Applies an event of the host. */
void tail_event(struct agent_tail *tail, const struct host_event *event);
/* Reads the host's answer to `listen`. */
void tail_greet(struct agent_tail *tail, const struct json *head);
/* Adds the details of a tool to the permissions that ask for it and have none. */
void tail_detail(struct agent_tail *tail, const char *tool, const char *text, size_t len);
