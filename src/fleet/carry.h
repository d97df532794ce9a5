/*
 * A project of this machine on another one, and the work on its way home.
 *
 *     mas --host n1 new --project .    here                          there
 *     1. a record: where it is here
 *     2. a repository for it                                   ==>   mas carried make
 *     3. git push: HEAD and its branch                         ==>   mas carried receive
 *     4. the session                                           ==>   mas new --project=THAT@BRANCH
 *
 *     mas land n1:fix
 *     1. what the session is of                                ==>   mas carried show
 *     2. git fetch: the integration branch                     <==   mas carried send
 *     3. compare it with what was shown last; land() as ever
 *     4. git push: the branch, which has it now                ==>   mas carried receive
 *     5. refs/mas/landed                                       ==>   mas carried landed
 *     6. remove what 2 has made
 *
 * git runs each of these commands as `mas --host NAME carried ...` (its transport ext::), so they
 * go the way of all others: one connection, one place that quotes words, and no shell here. It
 * checks the objects at either end.
 *
 * Here all lies in ${XDG_STATE_HOME:-~/.local/state}/mas/home/HOST/, as no root here need have
 * anything of it. A machine can only name projects that were carried there:
 *
 *     NAME            the path here of a project, NAME being as in code/carried.h; it stays
 *     .NAME-HASH      a branch of it that went there, HASH being that of the branch
 *     .NAME.lock      has who takes something of it there
 *     ID/seen         the commit of the integration branch that a person saw last
 *     ID/code.git     what was fetched; it borrows the project's objects
 *     ID/code.locks   the lock of that
 *
 * code.git also has the journal of the landing (code/land.h), and is made anew unless that was
 * killed.
 *
 * A kill before 4 of either leaves nothing that the next run does not take or replace. After 3 of a
 * landing the branch has the work here, and the machine there does not know: the work counts as not
 * landed there until `mas land` runs again, which finds nothing to land and goes on with 4.
 */
#pragma once

#include "code/project.h"
#include "code/repo.h"
#include "model/remote.h"

/* The other machine. */
struct carry {
    const struct remote *remote;
    const char *root; /* that has its section [host], for --root; NULL: the user's mas.ini has it */
};

/* Takes a project, DIR[@REF], there. *ret is what --project has to be there; the caller frees it.
 * What stays here is told in *notes. Fails with MAS_USAGE if it cannot be taken. */
int carry_send(const struct carry *carry, const char *spec, char **ret, char ***notes,
               struct err *err);

/* A session there that works on a project of this machine. */
struct carried_work {
    char id[ID_TEXT];
    char *path; /* of the project here; NULL: it is none of this machine, and nothing else is set */
    char *name; /* as in code/carried.h */
    struct team_project project; /* here */
    char *workspace; /* what is kept here of it */
    char main[GIT_OID_TEXT]; /* its integration branch */
};
#define CARRIED_WORK_INIT                                                                          \
    {                                                                                              \
        .path = NULL                                                                               \
    }
void carried_work_free(struct carried_work *work);
#define _cleanup_carried_ __attribute__((cleanup(carried_work_free)))

/* Asks what a session there works on. One that is not there, or has no project, works on none of
 * this machine: the command that asks fails there, and says why. */
int carry_look(const struct carry *carry, const char *session, struct carried_work *ret,
               struct err *err);
/* Returns true if the branch at which the session began, as the other machine says, went there. It
 * could name any other one here. */
bool carry_took(const struct carry *carry, const struct carried_work *work);
/* Remembers that a person sees the integration branch as it is. */
int carry_note_seen(const struct carried_work *work, struct err *err);

/* Fetches the integration branch. The caller releases *ret with repo_free() and closes *ret_lock,
 * the lock of its repository here, after landing. Fails with MAS_CONFLICT if the branch is not what
 * a person saw last. */
int carry_fetch(const struct carry *carry, const struct carried_work *work, struct repo *ret,
                int *ret_lock, struct err *err);

/* Brings a branch ("refs/heads/...") of the project there as it is here. */
int carry_branch(const struct carry *carry, const struct carried_work *work, const char *branch,
                 struct err *err);
/* Tells the other machine that the work has landed on a branch here, and removes what was
 * fetched. */
int carry_confirm(const struct carry *carry, const struct carried_work *work,
                  const struct repo *repo, const char *branch, struct err *err);
