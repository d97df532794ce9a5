/*
 * A session of another machine comes to this one: `mas move n1:fix .`. The other machine need not
 * reach this one, so the move of fleet/move.h runs there, as `mas leave` over ssh. All that it asks
 * of the machine where the session arrives comes back over that connection (fleet/pulled.h), and
 * this end runs `mas receive` for it:
 *
 *     here                                       there
 *     1. mas --host n1 leave fix DESK:HASH ==>   lock the session; is it here already?
 *     2. mas receive look                  <==
 *     3. mas receive hold                  <==   stop it, archive it
 *     4.                                         compare the digests and epochs
 *     5.                                         MOVED_TO=DESK:HASH
 *     6. mas receive release               <==   (from here on it is here)
 *     7.                                         remove the session
 *
 * So what fleet/move.h says of a kill holds with the sides exchanged. DESK is the host name of this
 * machine, HASH is of its identity and of the root, for which alone the session there is given up:
 * from 5 to 6 no other can go on with the move, and none of the two ends can start the session.
 *
 * The other machine is believed as little as an archive is. It may ask only about the session that
 * it named first, only these steps, and a session that is here or moves elsewhere is refused
 * (arrive_check()). What has come is stopped: starting it runs what its config.json names.
 */
#pragma once

#include "fleet/carry.h"
#include "fleet/move.h"

struct pull {
    const struct carry *carry; /* the machine, and the root here */
    const char *session; /* as a person names it there */
    bool links; /* also with symbolic links that lead out of it */
};

struct pull_report {
    char id[ID_TEXT];
    char *label; /* hostile */
    struct move_report move; /* its warnings are hostile */
};
void pull_report_free(struct pull_report *report);
#define _cleanup_pull_ __attribute__((cleanup(pull_report_free)))

/* Moves the session here, or finishes such a move that was killed. The caller releases *ret with
 * pull_report_free(). */
int pull_session(const struct pull *pull, struct pull_report *ret, struct err *err);

/* The frame by which a pulled session's report comes, see fleet/pulled.h. */
void pull_format(const char *id, const char *label, const struct move_report *report,
                 struct str *to);
