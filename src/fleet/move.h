/*
 * Moving a session to another machine. The machine that has it (here) does all of it; the other
 * (there) runs `mas receive`, over ssh.
 *
 *     here                                       there
 *     1. lock the session, stop it
 *     2. archive it                      ==>     restore it as `arriving`
 *     3. compare the digests and epochs
 *     4. MOVED_TO=NAME
 *     5. release                         ==>     MOVED_TO= (from here on it is there)
 *     6. remove the session
 *     7. start                           ==>     start it, if it ran
 *
 * The archive is a stream: neither machine keeps a copy of it. Killed before 4, the session is
 * here, and an arriving copy there is dropped by the next move. From 4 on only the other machine
 * knows whether it was released. So whoever wants to start the session here asks it
 * (move_settle()): if it was released, it is there; if not, MOVED_TO=NAME? first records that the
 * move is given up, then the copy there is dropped, then the session is here again. Each of these
 * is one atomic change of one .session under that session's lock, so at any moment exactly one of
 * the two can be started. If the other machine cannot be reached, none is started, except by a
 * person who knows better (start --takeover --fenced). A second move goes on from any of these
 * states.
 */
#pragma once

#include "base/sha.h"
#include "session/life.h"

struct move_report {
    uint64_t bytes; /* of the archive; 0: an earlier move has sent it */
    char digest[SHA256_TEXT]; /* of its list of checksums; "": likewise */
    char *lacks; /* the project's directory if the other machine lacks it; NULL: nothing */
    char **warnings; /* about files; NULL: none */
    bool ran; /* it ran here, or was to */
    bool started;
    struct err start; /* why it could not be started there; MAS_OK: it was not tried or runs */
};
void move_report_free(struct move_report *report);

/* Moves a session to the machine that pulls it, or finishes such a move. It stays stopped there. */
struct pulled;
int move_home(const struct life *life, const char *id, struct pulled *home, struct move_report *ret,
              struct err *err);

/* Moves a session to the host with this name, or finishes a move there that was killed. `start`: if
 * it ran here, it runs there afterwards; a failure to start it is no failure of the move. */
int move_session(const struct life *life, const char *id, const char *host, bool start,
                 struct move_report *ret, struct err *err);

/* For the start of a session whose move was killed: finds out where it is. Returns 0 if it is here
 * and can be started, or if there is nothing to find out. Fails with MAS_CONFLICT if it is there,
 * and with MAS_UNREACHED if the other machine does not say. */
int move_settle(const struct life *life, const char *id, struct err *err);
