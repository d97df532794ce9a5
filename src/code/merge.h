/*
 * Merges agents' branches into the integration branch of code.git, without a work tree.
 *
 * Steps for each agent, under the lock of code.git:
 *
 * 1. Read the agent's HEAD and branch as a stranger's (stranger_open()). This writes nothing.
 * 2. Empty incoming/. Pack there what code.git lacks, let `git index-pack --strict` check each
 *    object, and rename the pack into objects/pack, the index last, because git sees a pack by its
 *    index (pack_copy()).
 * 3. Set refs/mas/agents/AGENT. Copy the objects of git-lfs (lfs_from_agent()).
 * 4. Merge without a work tree (merge_trees()), and make the commit. A conflict ends it here.
 * 5. Move the integration branch with `git update-ref`, which compares the old value.
 * 6. Move the view.
 *
 * Killed before 5, code.git has at most objects and a ref that the next merge makes again. Killed
 * after 5, the branch is merged and the view lags; the next merge moves it from the commit that its
 * HEAD still names.
 */
#pragma once

#include "code/check.h"
#include "code/repo.h"

enum merge_outcome {
    MERGE_NOTHING, /* the branch has nothing that the integration branch lacks */
    MERGE_FORWARD, /* the integration branch was an ancestor: it is the agent's commit now */
    MERGE_MADE, /* a merge commit was made */
    MERGE_CONFLICT, /* nothing was changed; `files` are those that conflict */
    MERGE_REFUSED, /* nothing was changed; `check` says why */
};

struct merge_result {
    enum merge_outcome outcome;
    char oid[GIT_OID_TEXT]; /* the agent's commit */
    size_t commits; /* how many of them are new */
    char **files; /* of MERGE_CONFLICT; NULL-terminated */
    char **others; /* of MERGE_CONFLICT: what conflict_others() says of the integration branch */
    struct check_result check; /* of the command that a person wants to succeed first */
    struct err view; /* why the view did not follow; MAS_OK: it did */
};
#define MERGE_RESULT_INIT                                                                          \
    {                                                                                              \
        .outcome = MERGE_NOTHING                                                                   \
    }
void merge_result_free(struct merge_result *result);
#define _cleanup_merge_ __attribute__((cleanup(merge_result_free)))

/* Takes the lock of code.git; waits for other commands. The caller closes *ret_fd. */
int merge_lock(const struct repo *repo, const char *who, int *ret_fd, struct err *err);
/* Takes the lock alone, and leaves what killed commands left to the caller. */
int merge_hold(const struct repo *repo, const char *who, int *ret_fd, struct err *err);

/* Fetches an agent's branch and merges it. The caller holds the lock. *ret must be
 * MERGE_RESULT_INIT. The branch moves in one step, or not at all; if `check` is not NULL, only
 * after its command has succeeded on the new commit. */
int merge_agent(const struct repo *repo, const char *agent, const struct check *check,
                struct merge_result *ret, struct err *err);

/* Likewise for some commits of the branch, by the first digits of their names: each is put onto the
 * integration branch, the oldest first, with its author and message. Either all of them count or
 * none. `oid` of a conflict is the commit that conflicts. Fails with MAS_USAGE for a merge, and as
 * commits_find() does. */
int merge_picked(const struct repo *repo, const char *agent, char *const *names,
                 const struct check *check, struct merge_result *ret, struct err *err);

/* Likewise for a commit that code.git has. `name` says in the message of the commit what it is. */
int merge_commit(const struct repo *repo, const char *oid, const char *name,
                 const struct check *check, struct merge_result *ret, struct err *err);

/* Tells who is on the other side of a conflict: lists the newest commits that `other` has, `mine`
 * lacks, and that changed the files in conflict: "1a2b3c4d5e6f (agent 21) Subject", shown as
 * git_show_names() shows names. `git` is on code.git. Returns NULL if that cannot be told; the
 * caller releases it with strv_free(). */
char **conflict_others(const struct repo *repo, const struct git *git, const char *mine,
                       const char *other, char *const *files);

/* Returns the agent whose commit, of those that `main` has and `base` lacks, was the last to change
 * one of the files; "" if that cannot be told, NULL if there is no such commit. The caller frees
 * it.
 */
char *merge_author(const struct repo *repo, const char *base, const char *main, char *const *files);

/* Appends "; there it was changed by: A; B", or nothing. */
void conflict_show_others(char *const *others, struct str *to);
