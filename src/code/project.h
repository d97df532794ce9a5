/*
 * The git repository that a person names with --project. mas reads it here; only code/land.c and
 * code/keep.c write to it.
 */
#ifndef MAS_CODE_PROJECT_H
#define MAS_CODE_PROJECT_H

#include "base/err.h"
#include "code/git.h"

#include <stdbool.h>

struct project {
    char *path; /* the directory that was named, absolute and without links */
    char *dir; /* its repository, which work trees share; absolute */
    char *top; /* its work tree; NULL: it is bare */
    char *onto; /* the branch to land on, "refs/heads/..."; "" if REF is no branch */
    char *base; /* the commit to begin with */
    char *format; /* "sha1" or "sha256" */
    char *user_name, *user_email; /* who commits there; a name of mas if nobody is configured */
    bool shallow;
};

#define PROJECT_INIT                                                                               \
    {                                                                                              \
        .path = NULL                                                                               \
    }

/* Opens DIR or DIR@REF; REF is a branch, a tag or a commit, and HEAD if it is missing. Fails with
 * MAS_USAGE if it cannot be used: no repository, no commit yet, another user's, a partial clone,
 * an unknown or invalid REF. The caller releases *ret with project_free(). */
int project_open(const char *spec, struct project *ret, struct err *err);
/* Fails with MAS_USAGE if the commit to begin with has files of git-lfs: their contents are not in
 * the repository, and mas runs no filter. */
int project_check_lfs(const struct project *project, struct err *err);
/* Opens the project of a session, which was opened before as DIR. Fails with MAS_NOT_FOUND if it
 * was moved or removed. */
int project_reopen(const char *dir, struct project *ret, struct err *err);
void project_free(struct project *project);
#define _cleanup_project_ __attribute__((cleanup(project_free)))

#endif
