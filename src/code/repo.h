/* clang-format off */
/*
 * The repositories of a session: code.git and those of its agents.
 *
 * code.git is a bare repository with all objects of the project. It belongs to mas. Its refs:
 *
 *     refs/heads/mas/LABEL/main   the integration branch
 *     refs/mas/base               the commit of the project that the session began with
 *     refs/mas/agents/AGENT       the agent's branch, as mas last fetched it
 *     refs/mas/changes            what was not committed in the project then, as a commit
 *     refs/mas/heads/AGENT        the commit that the agent had checked out when mas last looked, unless
 *                                 it was that of the base or of the integration branch;
 *                                 AGENT@NAME: that of a linked work tree, AGENT%PATH: that of a
 *                                 submodule
 *     refs/mas/looks/AGENT        the files of the agent when a person last saw them, a tree, or the
 *                                 commit that they did not differ from
 *     refs/mas/submodules/COMMIT/FROM   a commit of a submodule; FROM: "project" or a submodule,
 *                                 AGENT%PATH
 *     refs/mas/landed             the commit of the integration branch that was landed last
 *
 * Each agent that writes has code/AGENT/ with a repository of its own in .git, which borrows the
 * objects of code.git through a relative path, so the session can be moved. It belongs to the
 * agent: code/stranger.h reads it. code/view/ is a work tree of the integration branch without a
 * branch of its own, for agents that only read.
 *
 * All of this is made in the workspace's stage, so it exists whole or not at all. Later it is
 * written by
 *
 *     objects, refs           merge_commit(), work_fetch(), land()
 *     indexes/                work_snapshot(), for the work tree of each agent and submodule, with
 *                             AGENT.head, which commit the index is of; a cache
 *     indexes/AGENT.look      work_look(), with AGENT.figures, which is what it found; under the lock
 *                             code.locks/AGENT.look
 *     lfs/                    lfs_bring(): at `new`, and before a branch moves; each object is written
 *                             to lfs/tmp/ and renamed
 *     submodules/             submodule_make(), submodule_follow(): those that mas has filled in each
 *                             work tree, and their indexes; read by module_list_read()
 *     setup/                  life_make_code(), `mas setup` (code/setup.h)
 *     placed/                 life_make_code(): ignored files that mas copied to each agent, by hash
 *     info/sparse-checkout    sparse_inherit()
 *     landing                 land(), land_finish(): the journal of a landing (code/land/land.h)
 *     tried                   try_agent(), tried_off(): where an agent's files are tried (code/tried.h)
 *     ../code/view/           repo_move_view()
 *     ../code/AGENT/          the agent, which mas does not believe; sync_agent(), under git's locks
 *     ../code/AGENT/.git/modules/  the agent; submodule_repo_set() moves the HEADs there
 *     the project             land(), land_finish(), keep_save() (refs/mas/lost/), under git's locks;
 *                             its checkout: try_agent(), tried_off(), under a lock on what git keeps
 *                             for it, taken after that of code.git
 *
 * where nothing else is said under the lock of code.git, which is ../code.locks/mas.lock
 * (merge_lock()). Agents can read code.git, and whoever can open a file can lock it, so no lock is
 * in a place that the wall of an agent leaves open.
 */
/* clang-format on */
#pragma once

#include "base/kv.h"
#include "code/project.h"
#include "git/git.h"
#include "model/team/team.h"
#include "os/tree.h"
#include "store/root.h"
#include "store/workspace.h"

#define CODE_GIT WORKSPACE_CODE_GIT
#define CODE_DIR WORKSPACE_CODE /* the agents' work trees */
#define CODE_LOCKS WORKSPACE_CODE_LOCKS
#define CODE_LOCK "mas.lock" /* in there: for all that mas does with the repositories */
#define CODE_INDEXES "indexes" /* in code.git */
#define CODE_VIEW "view"
#define CODE_VIEW_GIT "worktrees/" CODE_VIEW /* in code.git: what belongs to the view alone */
#define CODE_REF_BASE "refs/mas/base"
#define CODE_REF_CHANGES "refs/mas/changes"
#define CODE_REF_LANDED "refs/mas/landed"
#define CODE_REF_AGENTS "refs/mas/agents/"
#define CODE_REF_HEADS "refs/mas/heads/"
#define CODE_REF_LOOKS "refs/mas/looks/"
#define CODE_REF_SUBMODULES "refs/mas/submodules/"
#define CODE_FROM_PROJECT "project"

/* Paths in the workspace of a session with a project. */
struct repo {
    char *workspace; /* absolute */
    char *git; /* code.git */
    char *label; /* the part of branch names that tells sessions apart: its name or 8 digits */
    char *main; /* "refs/heads/mas/LABEL/main" */
};

#define REPO_INIT                                                                                  \
    {                                                                                              \
        .workspace = NULL                                                                          \
    }

/* Fills *ret for a workspace. The caller releases it with repo_free(). */
void repo_open(const char *workspace, const char *label, struct repo *ret);
/* The same for the workspace of session `id`. */
void repo_of(const struct root *root, const char *id, const char *label, struct repo *ret);
void repo_free(struct repo *repo);
#define _cleanup_repo_ __attribute__((cleanup(repo_free)))

/* Opens the repositories of session `id`. Fails with MAS_CONFLICT if it has no project. The caller
 * releases *ret_team with team_free() and *ret with repo_free(). */
int repo_load(const struct root *root, const char *id, struct team *ret_team, struct repo *ret,
              struct err *err);

/* Returns "refs/heads/mas/LABEL/AGENT". The caller frees it. */
char *repo_branch(const struct repo *repo, const char *agent);
/* Returns the absolute path of an agent's work tree. The caller frees it. */
char *repo_tree(const struct repo *repo, const char *agent);
/* Returns the name of the directory below code/ that an agent works in or reads: its id or "view";
 * NULL if it has none, or if the team has no project. */
const char *repo_dir_of(const struct team *team, const struct agent *agent);
/* Adds MAS_PROJECT and, for an agent that has code, MAS_CODE_DIR and MAS_CODE_BRANCH. *to is a
 * struct kv; the caller frees it. */
void repo_env(const struct repo *repo, const struct team *team, const struct agent *agent,
              struct kv *to);
/* Returns git on code.git. */
struct git repo_git(const struct repo *repo);

/* Takes a lock of the repositories, as file_lock() does. An agent may read code.git, and so take
 * any lock that lies there: this one is beside it. */
int repo_lock(const struct repo *repo, const char *name, int wait_ms, const char *who, int *ret_fd,
              struct err *err);

/* Reads a ref of code.git, without git if it is a file of its own. Fails if there is no such ref.
 */
int repo_ref(const struct repo *repo, const char *name, char ret[GIT_OID_TEXT], struct err *err);

/* Writes a file of a cache in an open directory: one that a crash of the machine leaves empty is
 * none. merge_lock() removes what a kill leaves. */
void repo_keep_note(int dir, const char *name, const char *text, size_t len);

/* Counts the commits of the integration branch that were neither in the project when the session
 * began nor landed. */
int repo_count_unlanded(const struct repo *repo, size_t *ret, struct err *err);

/* Checks that a team can work on a project: no writer is called "main" or "view". */
int repo_check_team(const struct team *team, struct err *err);
