/*
 * A project of this machine on another one, and the work on its way home.
 *
 *     mas --host n1 new --project .    here                          there
 *     1. a record: where it is here
 *     2. a repository for it                                   ==>   mas carried make
 *     3. git push: HEAD, its branch, commits of submodules     ==>   mas carried receive
 *     4. what .worktreeinclude names, after a yes              ==>   mas carried put
 *     5. the session                                           ==>   mas new --project=THAT@BRANCH
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
 *     NAME            the path here of a project, NAME being as in code/land/carried.h; it stays
 *     .NAME-HASH      a branch of it that went there, HASH being that of the branch
 *     .NAME.lock      has who takes something of it there
 *     ID/seen         the commit of the integration branch that a person saw last
 *     ID/code.git     what was fetched; it borrows the project's objects
 *     ID/code.locks   the lock of that
 *
 * code.git also has the journal of the landing (code/land/land.h), and is made anew unless that was
 * killed.
 *
 * A kill before the last step of a new session, or before 4 of a landing, leaves nothing that the
 * next run does not take or replace, and nothing there of what git ignores. After 3 of a landing
 * the branch has the work here, and the machine there does not know: the work counts as not landed
 * there until `mas land` runs again, which finds nothing to land and goes on with 4.
 */
#pragma once

#include "code/land/parcel.h"
#include "code/project.h"
#include "code/repo.h"
#include "model/remote.h"
#include "session/life.h"

/* The other machine. */
struct carry {
    const struct remote *remote;
    const char *root; /* that has its section [host], for --root; NULL: the user's mas.ini has it */
};

/* What is pushed at once. */
struct carry_freight {
    char **specs; /* of git push */
    char **lenders; /* directories with objects of submodules */
};
void carry_freight_free(struct carry_freight *freight);
#define _cleanup_freight_ __attribute__((cleanup(carry_freight_free)))

/* A project on its way there. */
struct carried_project {
    struct project project;
    struct carry_freight freight;
    char **notes; /* what stays here */
    struct str text; /* the parcel of what .worktreeinclude names */
    struct parcel files; /* what is in it */
};
#define CARRIED_PROJECT_INIT                                                                       \
    {                                                                                              \
        .project = PROJECT_INIT                                                                    \
    }
void carried_project_free(struct carried_project *going);
#define _cleanup_going_ __attribute__((cleanup(carried_project_free)))

/* Opens a project, DIR[@REF]. Fails with MAS_USAGE if it cannot be taken there. The caller releases
 * *ret. */
int carry_prepare(const char *spec, struct carried_project *ret, struct err *err);
/* Takes it there. *ret is what --project has to be there; the caller frees it. */
int carry_send(const struct carry *carry, struct carried_project *going, char **ret,
               struct err *err);
/* Takes its parcel there, for `mas new --with-included --id=ID`. It stays until that has taken it,
 * or this process ends. */
int carry_put(const struct carry *carry, const struct carried_project *going, const char *id,
              struct err *err);

/* A session there that works on a project of this machine. */
struct carried_work {
    char id[ID_TEXT];
    char *path; /* of the project here; NULL: it is none of this machine, and nothing else is set */
    char *name; /* as in code/land/carried.h */
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
/* Remembers that a person has seen the integration branch at this commit. `workspace` is that of
 * struct carried_work. */
int carry_note_seen(const char *workspace, const char *commit, struct err *err);

/* For a machine that does not answer: finishes here what a killed landing has left of a session,
 * which is given by its name or the beginning of its id. *ret tells whether there was something. */
int carry_finish(const struct carry *carry, const char *session, bool *ret, struct err *err);

/* Fetches the integration branch. The caller releases *ret with repo_free() and closes *ret_lock,
 * the lock of its repository here, after landing. Fails with MAS_CONFLICT if the branch is not what
 * a person saw last. */
int carry_fetch(const struct carry *carry, const struct carried_work *work, struct repo *ret,
                int *ret_lock, struct err *err);

/* Brings a branch ("refs/heads/...") of the project there as it is here. */
int carry_branch(const struct carry *carry, const struct carried_work *work, const char *branch,
                 struct err *err);
/* For a session that comes here from there (fleet/pull.h). Fails with MAS_CONFLICT if a landing of
 * it was killed, which only finds the rest there. */
int carry_check_landing(const struct carry *carry, const char *id, struct err *err);
/* Has an arriving session work on the project here, if it works on one that went to another
 * machine, also if that is not at its place any more. */
int carry_come_home(const struct life *life, const char *id, struct err *err);
/* Forgets what was kept here of it. */
void carry_forget(const struct carry *carry, const char *id);

/* Tells the other machine that the work has landed on a branch here, and removes what was
 * fetched. */
int carry_confirm(const struct carry *carry, const struct carried_work *work,
                  const struct repo *repo, const char *branch, struct err *err);
