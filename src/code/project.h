/*
 * The git repository that a person names with --project. mas reads it here; only code/land/land.c
 * and code/keep.c write to it.
 */
#pragma once

#include "git/git.h"

#define PROJECT_REF_LANDED "refs/mas/landed/" /* commits of submodules, see submodule_land() */

struct project {
    char *path; /* the directory that was named, absolute and without links */
    char *dir; /* its repository, which work trees share; absolute */
    char *top; /* its work tree; NULL: it is bare */
    char *onto; /* the branch to land on, "refs/heads/..."; "" if REF is no branch */
    char *base; /* the commit to begin with */
    char *format; /* "sha1" or "sha256" */
    char *user_name, *user_email; /* who commits there; set by project_find_person() */
    bool shallow;
    bool lfs; /* set by project_check_lfs() */
};

#define PROJECT_INIT                                                                               \
    {                                                                                              \
        .path = NULL                                                                               \
    }

/* Opens DIR or DIR@REF; REF is a branch, a tag or a commit, and HEAD if it is missing. Fails with
 * MAS_USAGE if it cannot be used: no repository, no commit yet, another user's, a partial clone,
 * an unknown or invalid REF. The caller releases *ret with project_free(). */
int project_open(const char *spec, struct project *ret, struct err *err);
/* Finds out who commits there. Fails with MAS_USAGE if git does not know it and would refuse. */
int project_find_person(struct project *project, struct err *err);
/* Finds out whether the commit to begin with keeps files with git-lfs. Fails with MAS_USAGE if it
 * does and the agents could not: there is no git-lfs. */
int project_check_lfs(struct project *project, struct err *err);
/* Opens the project of a session, which was opened before as DIR. Fails with MAS_NOT_FOUND if it
 * was moved or removed. */
int project_reopen(const char *dir, struct project *ret, struct err *err);
enum project_kind {
    PROJECT_SAME,
    PROJECT_GONE, /* there is nothing at the path */
    PROJECT_OTHER, /* no repository, or one with no commit in common with the session's */
    PROJECT_UNKNOWN, /* something is there, and git was not asked */
};
/* Finds out what is at the path of a session's project. `own` is git on code.git, `base` the commit
 * that the session began with. Without `own` starts no git. */
enum project_kind project_look(const struct git *own, const char *path, const char *base);
/* Like project_reopen(), and fails with MAS_CONFLICT if it is another repository now. */
int project_reopen_same(const struct git *own, const char *path, const char *base,
                        struct project *ret, struct err *err);
/* Finds the repository of a submodule, by its path below the work tree `top`, which may be NULL.
 * *ret stays NULL if it is not checked out. */
void project_find_submodule(const char *top, const char *path, char **ret);
void project_free(struct project *project);
#define _cleanup_project_ __attribute__((cleanup(project_free)))
