/*
 * Reads the repository of an agent as a stranger's. The agent owns it and may have put anything
 * there, so mas runs no git in it and reads none of its configuration. It reads HEAD and the refs
 * itself, checks that objects come from nowhere else, and gives git their directory as one more
 * place to read objects from.
 */
#pragma once

#include "code/linked.h"
#include "code/repo.h"
#include "git/git.h"

struct stranger {
    const struct repo *repo;
    const char *agent; /* not owned */
    char *subject; /* for errors: "the repository of agent 'x'" */
    char *key; /* what mas keeps for it in code.git has this name: AGENT, AGENT@NAME (a linked work
                  tree) or AGENT%PATH (a submodule) */
    char *path; /* of a submodule, below the work tree of the agent; NULL: it is none */
    char *tree; /* path of the work tree; NULL: that of a linked one, which is gone */
    char *objects; /* path of its objects; NULL: they are in code.git */
    char *modules; /* where the repositories of submodules in this one may be; NULL: in it */
    int fd; /* of .git */
    int own; /* of the directory with HEAD and index: .git, or that of a linked work tree in it */
    int cwd; /* of the work tree */
    char *branch; /* full name of the branch that is checked out; "" if none is */
    char head[GIT_OID_TEXT]; /* the commit that is checked out */
    bool is_detached; /* no branch is checked out, or another one than mas gave the agent */
};

#define STRANGER_INIT                                                                              \
    {                                                                                              \
        .fd = -1, .own = -1, .cwd = -1                                                             \
    }

/* Opens the repository of an agent that has one. Fails with MAS_DAMAGED if it is no repository as
 * mas made it: .git or a part of it is a link or no directory, it borrows objects from elsewhere,
 * HEAD cannot be read. The caller releases *ret with stranger_free(). */
int stranger_open(const struct repo *repo, const char *agent, struct stranger *ret,
                  struct err *err);
/* Likewise for a linked work tree. */
int stranger_open_linked(const struct repo *repo, const struct linked *linked, struct stranger *ret,
                         struct err *err);
/* Opens the view, which has files and no repository: for the submodules in it. */
int stranger_open_view(const struct repo *repo, struct stranger *ret, struct err *err);
/* Opens a submodule in the work tree of `outer` by its path there and that of its repository, which
 * has no "..". NULL: it has none, and its files are those of the commit `head`. Equal paths: only
 * the repository is left. */
int stranger_open_module(const struct stranger *outer, const char *path, const char *git_dir,
                         const char *head, struct stranger *ret, struct err *err);
/* Returns what objects/info/alternates holds in a repository, by its path in a work tree. The
 * caller frees it. */
char *stranger_borrowed(const char *git_dir);
void stranger_free(struct stranger *stranger);
bool stranger_is_linked(const struct stranger *stranger);
#define _cleanup_stranger_ __attribute__((cleanup(stranger_free)))

/* Returns true if it still borrows the objects of code.git; an agent may have copied them all. */
bool stranger_borrows(const struct stranger *stranger);

/* Reads a ref by its full name; *ret is "" if it does not exist. Fails with MAS_DAMAGED if it is a
 * link, names another ref or no object. */
int stranger_ref(const struct stranger *stranger, const char *name, char ret[GIT_OID_TEXT],
                 struct err *err);

/* Called for each ref, and for each entry of the stash; what an operation in progress has stashed
 * counts as one. A linked work tree has few refs of its own: the others are the repository's. */
typedef int stranger_each(const char *name, const char *oid, void *arg, struct err *err);
int stranger_refs(const struct stranger *stranger, stranger_each *each, void *arg, struct err *err);

/* Returns what is in progress there, as git_progress() does. */
const char *stranger_progress(const struct stranger *stranger);

/* Copies the index into a file of mas, which replaces an older one. Without an index there is no
 * copy. */
int stranger_copy_index(const struct stranger *stranger, const char *to, struct err *err);

/* What mas knows of the index that it keeps for a work tree. */
enum stranger_index {
    INDEX_OTHER, /* nothing */
    INDEX_OF_HEAD, /* it holds what the commit does that is checked out, and nothing else */
    INDEX_PLAIN, /* likewise, and that commit names no submodule */
};
/* Reads what was noted of the index as it is now. */
enum stranger_index stranger_index(const struct stranger *stranger);
void stranger_note_index(const struct stranger *stranger, enum stranger_index what);

/* Returns git on code.git that also sees the agent's objects, its work tree, and an index that mas
 * keeps for it. */
struct git stranger_git(const struct stranger *stranger, const char *index);
