/*
 * Tasks: operations of the kind OPERATION_LONG that run, or have run. Clients know them as the
 * operations of GET /operations. A request that begins one is answered with 202 and its id, by
 * which clients ask how it goes and cancel it; its end is an event, too. Each is a verb of mas in
 * its own process.
 *
 * The server keeps the newest TASKS_MAX tasks in memory, and forgets those that ended TASK_KEPT_MS
 * ago. If it is killed, their processes go on, and their ids are unknown.
 * Everything here belongs to the event loop.
 */
#pragma once

#include "base/id.h"
#include "serve/work.h"

enum {
    TASKS_MAX = 256,
    TASKS_AT_ONCE = 12, /* others wait; a session has its share, see work.h */
    TASK_OUTPUT_MAX = 256 << 10, /* bytes of its output that are kept */
    TASK_KEPT_MS = 3600 * 1000,
};

struct guest;
struct operation;
struct server;
struct task;
struct tasks;

/* Creates the list; release it with tasks_free(). `server` must outlive it. */
int tasks_make(struct server *server, struct tasks **ret, struct err *err);
void tasks_free(struct tasks *tasks);
/* Tasks end in jobs of this pool. It belongs to them. */
struct pool *tasks_pool(const struct tasks *tasks);

/* What a task does, and on what. Everything is copied except the operation. */
struct task_wish {
    const struct operation *operation;
    const char *session; /* an id; "": on none */
    const char *agent; /* NULL: on none */
    char *const *words; /* of the command line, ended by NULL */
    const char *input; /* its standard input; NULL: none */
};

/* Begins a task. Returns NULL if TASKS_MAX tasks, or as many as one session may have, have not
 * ended. The task belongs to the list. */
const struct task *tasks_begin(struct tasks *tasks, const struct task_wish *wish, struct err *err);
/* Returns the task with this id, if the guest may see it, or NULL. */
struct task *tasks_find(struct tasks *tasks, const struct guest *guest, const char *id);
/* Asks the process of a task to end, as Ctrl-C does; one that waits never starts. Returns false if
 * it has ended. */
bool task_cancel(struct task *task);
/* Write one task, or all that the guest may see as a list with the oldest first, as JSON. */
void task_put(const struct task *task, struct str *to);
void tasks_put(const struct tasks *tasks, const struct guest *guest, struct str *to);
