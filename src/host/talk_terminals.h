/*
 * Programs that an agent has the host run: terminal/create, output, wait_for_exit, kill, release.
 *
 * Each runs under a supervisor of its own, in a session of its own, with nothing to read and its
 * output in a pipe, in a directory of the place (by default the host's own, which is the agent's).
 * Its whole tree ends with it, when it is killed or released, when talk_terminals_end() is called,
 * and with the host however that ends. The newest output is kept, outputByteLimit bytes (1 MiB
 * where the agent says none, 4 MiB at most), cut at a character.
 *
 * A command without arguments that names no program is a line for `sh -c`: some agents ask so.
 * Nothing waits here: the loop does.
 */
#ifndef MAS_HOST_TALK_TERMINALS_H
#define MAS_HOST_TALK_TERMINALS_H

#include "base/loop.h"
#include "host/supervisor.h"
#include "host/talk_files.h"
#include "protocol/acp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALK_TERMINALS_MAX = 64 }; /* that are not released, or have not ended yet */

struct talk_terminals;

/* What it is given stays the caller's and has to outlive it. `times`: how they are ended. */
struct talk_terminals *talk_terminals_new(const struct talk_place *place, char *const *env,
                                          struct supervisor_times times);
/* Ends them all; their supervisors see to it. */
void talk_terminals_free(struct talk_terminals *terminals);

/* Answers or refuses a request, at once or later; false if it is another one's. */
bool talk_terminals_request(struct talk_terminals *terminals, struct acp *acp,
                            const struct acp_request *request);
/* Kills and forgets those of a session of the agent; NULL: all. Requests that wait stay unanswered
 * (the agent or its session is gone). */
void talk_terminals_end(struct talk_terminals *terminals, const char *session);

/* Waits for the output and the ends of the programs. */
void talk_terminals_want(const struct talk_terminals *terminals, struct loop *loop);
/* Handles what has come of that, and returns false if nothing has. `acp` NULL: the agent is gone.
 */
bool talk_terminals_serve(struct talk_terminals *terminals, struct loop *loop, struct acp *acp);

/* Its output by now, for those who show it; NULL: there is none of that id. It holds no NUL. Of the
 * newest that were released the last TALK_TERMINALS_TAIL bytes are kept for that. */
enum { TALK_TERMINALS_KEPT = 32, TALK_TERMINALS_TAIL = 32 * 1024 };
const char *talk_terminals_output(const struct talk_terminals *terminals, const char *id);
/* How many have ended or were released so far: their output is whole. */
int64_t talk_terminals_ended(const struct talk_terminals *terminals);

#endif
