/*
 * What `mas rm -f` keeps of the work of a session: an archive below lost/ in the root and, if the
 * project can be written, the commits as refs/mas/lost/ID/ there.
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
