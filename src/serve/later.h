/*
 * Answers that come later, from a worker. If too many requests wait, in all or for the session of
 * the path, the answer is a 503.
 *
 * Requests can share one. Many browsers look at the same agent and ask the same at the same
 * time; what costs a process is found once for all of them. So no question is worked on twice at
 * once, and however many ask it, one process follows the other.
 *
 * A request gets only what was found after it came: one that comes while the same question is
 * worked on waits for the next time, together with all others that came meanwhile. It has a place
 * in the pool until it is answered, as if it had a job of its own.
 */
#pragma once

#include "serve/request.h"

/* Lets a worker execute `run`, and then sends the answer. */
enum handled answer_later(struct request *request, void (*run)(struct job *job));
/* Likewise, but `done` gets the request then, on the loop, and sends the answer by
 * http_answered(). */
enum handled answer_after(struct request *request, void (*run)(struct job *job),
                          void (*done)(struct job *job));
/* Returns the request of such a job. */
struct request *later_request(struct job *job);

struct shared;

/* Release it with shared_free() once no worker runs. */
struct shared *shared_make(void);
void shared_free(struct shared *shared);

/* Finds the answer, JSON with status 200, on a worker. The request may be another one with the same
 * path and queries. */
typedef int shared_find(const struct request *request, struct str *ret, struct err *err);

/* Answers with what `find` finds, and a tag of it. Two requests with the same path and the same
 * queries ask the same. `conflict` is the status of a MAS_CONFLICT. */
enum handled answer_shared(struct request *request, shared_find *find, int conflict);
