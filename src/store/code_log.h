/*
 * Records what becomes of the code of sessions: a line in the session's log, for people, and one in
 * sessions/.sessions.events, which mas serve follows for its clients. An event there is a JSON
 * object. If it cannot be written, the command goes on without it.
 */
#pragma once

#include "os/log.h"
#include "store/config.h"
#include "store/root.h"

#define CODE_LOG_FILE ".sessions.events" /* in sessions/, as os/log.h keeps it */
enum { CODE_LOG_LINE_MAX = 64 * 1024 }; /* bytes of an event */

enum code_event_type {
    CODE_MERGED, /* the integration branch has new commits, of `agent` or of the project */
    CODE_CONFLICT, /* it has not, or the project has not: `files` conflict */
    CODE_LANDED, /* the project has new commits */
    CODE_EVENT_COUNT
};

struct code_event {
    enum code_event_type type;
    const char *session; /* id */
    const char *agent; /* whose commits they are; NULL: the project's, or the whole team's */
    const char *branch; /* that has the new commits, or would have them; without refs/heads/ */
    const char *commit; /* the newest of them; NULL: none */
    size_t commits; /* number of them */
    char *const *files; /* of CODE_CONFLICT; NULL: none */
};

/* Returns "merged", "conflict" or "landed"; the second function returns false for another word. */
const char *code_event_name(enum code_event_type type);
bool code_event_parse(const char *text, enum code_event_type *ret);
/* Records an event. */
void code_log_add(const struct root *root, const struct config *config,
                  const struct code_event *event);
