/*
 * Programs that the host runs for an agent: terminal/create, output, wait_for_exit, kill, release.
 *
 * Each program has its own supervisor and session, an empty standard input, and a pipe for its
 * output. It runs in a directory of the place, by default the host's own, which is the agent's. Its
 * whole tree ends when the program ends, when it is killed or released, when terminals_end() is
 * called, and when the host ends in whatever way. The host keeps the newest outputByteLimit bytes
 * of the output (1 MiB by default, 4 MiB at most), cut at a character.
 *
 * A command without arguments that names no program is a line for `sh -c`, because some agents ask
 * so. The owner calls terminals_want() and terminals_serve() in each turn of its loop.
 */
#pragma once

#include "host/acp/files.h"
#include "host/supervisor.h"
#include "os/loop.h"
#include "protocol/acp.h"

enum { TERMINALS_MAX = 64 }; /* programs that are not released, or have not ended yet */

struct terminals;

struct host;

/* Returns an empty set. The caller owns what it passes, which has to outlive the set. `times`: how
 * programs are ended; `bounds`: what holds their resources; `host`: whose walls are around them,
 * NULL: none are. */
struct terminals *terminals_new(const struct work_place *place, char *const *env,
                                struct supervisor_times times, const struct proc_bounds *bounds,
                                struct host *host);
/* Ends all programs, through their supervisors. */
void terminals_free(struct terminals *terminals);

/* Answers or refuses a request, at once or later. Returns false if the request is not for programs.
 */
bool terminals_request(struct terminals *terminals, struct acp *acp,
                       const struct acp_request *request);
/* Kills and forgets the programs of a session of the agent; NULL: all. Leaves requests that wait
 * unanswered, because the agent or its session is gone. */
void terminals_end(struct terminals *terminals, const char *session);

/* Waits for the output and the ends of the programs. */
void terminals_want(const struct terminals *terminals, struct loop *loop);
/* Handles what has come of that, and returns false if nothing has. `acp` NULL: the agent is gone.
 */
bool terminals_serve(struct terminals *terminals, struct loop *loop, struct acp *acp);

/* Stops all programs, also those that are started later, or lets them go on. */
void terminals_pause(struct terminals *terminals, bool on);
/* Returns how many programs run, or are not released yet. */
size_t terminals_count(const struct terminals *terminals);
/* Returns the output of a program by now, without NUL; NULL: there is no program of that id. Of the
 * programs that were released last, the last TERMINALS_TAIL bytes are kept. */
enum { TERMINALS_KEPT = 32, TERMINALS_TAIL = 32 * 1024 };
const char *terminals_output(const struct terminals *terminals, const char *id);
/* Returns how many programs have ended or were released, so that their output is complete. */
int64_t terminals_ended(const struct terminals *terminals);
