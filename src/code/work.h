/*
 * What an agent has done in its repository: its commits, and what is not committed yet.
 */
#pragma once

#include "code/stranger.h"
#include "model/agent_status.h"

/* Copies the commit `oid` of an agent, and all that it needs, into code.git, and checks each object
 * on the way. Then sets the ref `under`AGENT to it. The caller holds the lock of code.git. Fails
 * with MAS_DAMAGED if an object is damaged, missing or not what its name says, and with MAS_FAILED
 * if a file is larger than 1 GiB. */
int work_fetch(const struct stranger *stranger, const char *oid, const char *under,
               struct err *err);

/* The files of a work tree as they are now, without those that .gitignore names. */
struct snapshot_tree {
    int dir; /* code.git */
    char *scratch; /* directory with the objects that only it needs; removed by work_free() */
    char *index; /* the index that mas keeps for this work tree */
    char oid[GIT_OID_TEXT]; /* the tree, or the commit that is checked out, if it has the same */
};
#define SNAPSHOT_TREE_INIT                                                                         \
    {                                                                                              \
        .dir = -1                                                                                  \
    }
/* Fetches the commit that is checked out and reads the work tree. The caller holds the lock of
 * code.git and releases *ret with work_free(). */
int work_snapshot(const struct stranger *stranger, struct snapshot_tree *ret, struct err *err);
/* Likewise for a submodule in that work tree. Its objects are with those of the snapshot. */
int work_snapshot_module(const struct snapshot_tree *outer, const struct stranger *module,
                         char ret[GIT_OID_TEXT], struct err *err);
void work_free(struct snapshot_tree *tree);
/* Removes the index that mas keeps, so that the next snapshot reads each file, whatever its times
 * are. The caller holds the lock of code.git. */
void work_forget(const struct stranger *stranger);
/* Returns git on code.git that also sees the objects of the snapshot, its index and work tree. What
 * the agent has in its own repository is not read. */
struct git work_git(const struct stranger *stranger, const struct snapshot_tree *tree);
/* Moves the objects of a snapshot into code.git, so that a ref can keep its tree. */
int work_keep(const struct snapshot_tree *tree, struct err *err);
/* Moves objects, loose and packed, from an open directory to those in another one. */
int work_keep_objects(int scratch, int objects, struct err *err);
#define _cleanup_work_ __attribute__((cleanup(work_free)))

/* How a branch stands to the integration branch, and how many files differ from its commit. */
struct work_state {
    char branch[AGENT_TITLE_MAX]; /* without refs/heads/; "" no branch is checked out */
    size_t ahead, behind; /* commits */
    size_t changed; /* files that are not committed, also in submodules */
};
/* Takes a snapshot's counts. `tree` may be NULL: then `changed` stays 0. */
int work_state(const struct stranger *stranger, const struct snapshot_tree *tree,
               struct work_state *ret, struct err *err);
/* Appends the files, each ended with NUL, that differ from the commit that is checked out: with
 * `ignored` also those that .gitignore names. It trusts the times of files, so that it reads only
 * those that may have changed. Needs no lock: it writes only an index of its own. */
int work_changed(const struct stranger *stranger, bool ignored, struct str *ret, struct err *err);
/* Counts the same without a snapshot, as work_changed() does. It writes what it has found, for
 * work_looked(). An error becomes figures->problem. */
void work_look(const struct repo *repo, const char *agent, struct code_figures *ret);

/* Reads what work_look() found last of the agents of the session in the workspace open at
 * `workspace`. *ret_count is 0 if it never looked. The caller frees *ret. */
void work_looked(int workspace, struct code_figures **ret, size_t *ret_count);
