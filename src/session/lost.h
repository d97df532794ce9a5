/*
 * What `mas rm -f` keeps of the work of a session: an archive below lost/ in the root and, if the
 * project can be written, the commits as refs/mas/lost/ID/ there.
 *
 * Steps, in step 1 of rm (session/life.h), after the stop:
 *
 * 1. Find the work (keep_find()), under the lock of code.git. Without any, go on with rm.
 * 2. Write an archive to lost/, by the steps of session/archive.h. If this fails, the session
 *    stays.
 * 3. Copy the integration branch and what agents made in the view, then for each agent its commit
 *    with a commit of its files on top, what is staged, stashes and other refs, into the project,
 *    one pack each, and set refs below refs/mas/lost/ID/ (keep_save()). A failure is a warning: the
 *    archive has it all.
 *
 * Killed in 2, the session is still there. Killed later, it is there as well, and the archive and
 * refs are copies that the next `rm -f` makes again under another name, or sets again.
 */
#pragma once

#include "session/life.h"

struct lost {
    char *file; /* the archive; NULL: nothing would have been lost */
    struct err untold; /* why the project did not get the commits; MAS_OK: it did */
};
void lost_free(struct lost *lost);

/* For struct life_removal: keeps the work of a session if it has any that is not in its project,
 * or if that cannot be told.
 * `arg` is a zeroed struct lost, which the caller releases with lost_free(). */
int lost_keep(const struct life *life, int dir, const struct session *session, void *arg,
              struct err *err);
