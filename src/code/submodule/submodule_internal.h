/*
 * Shared by the files that find, fill and follow submodules; for submodule*.c only.
 *
 * In code.git, submodules/TREE/NUMBER is the index of a submodule of a work tree that was filled.
 */
#pragma once

#include "code/submodule/module.h"
#include "code/submodule/submodule.h"

/* One submodule, and those in it. */
struct submodule {
    char *path; /* below the work tree */
    char *checkout; /* the repository of the person's checkout */
    char *module; /* its repository in a work tree, below .git; NULL: .gitmodules has no name */
    size_t
        name_at; /* where its name begins in `module`, behind the "modules/" of what is around it */
    char *url; /* as .gitmodules has it, if that is absolute; NULL: unknown */
    char oid[GIT_OID_TEXT]; /* the commit */
    size_t number; /* of its index */
};

struct submodules {
    struct submodule *items;
    size_t count;
    bool is_sparse; /* the checkout may lack some */
    /* for submodules_find(): */
    const struct module_list *filled; /* these have to be found; NULL: none */
    char ***notes; /* gets a line for each that the person has not checked out; NULL: nobody asks */
};
void submodules_free(struct submodules *all);
#define _cleanup_submodules_ __attribute__((cleanup(submodules_free)))

/* ---- submodule_find.c */
/* Adds the submodules of a tree of code.git, and those in `outer`, NULL for those of the project,
 * and brings their commits there from the checkouts in the project. As git does, it leaves out
 * those that are not checked out there. */
int submodules_find(const struct repo *repo, const struct project *project, const char *tree,
                    const struct submodule *outer, int depth, struct submodules *ret,
                    struct err *err);
int submodule_has_commit(const char *dir, const char *oid, bool *ret, struct err *err);

/* ---- submodule_bring.c */
/* Tells whether a commit was brought into code.git as one of a submodule: it also has those of the
 * project. */
int submodule_is_known(const struct repo *repo, const char *oid, bool *ret, struct err *err);
/* Brings a commit into code.git from the checkout of a person, whose objects are taken as they are,
 * as those of the project were. */
int submodule_bring_checkout(const struct repo *repo, const char *checkout, const char *oid,
                             struct err *err);

/* ---- submodule_repo.c */
struct submodule_place;
/* Gives a submodule that was filled its repository, or has an existing one follow: its HEAD is the
 * commit, its index that of mas. Does nothing in the view, whose agents only read. */
int submodule_repo_set(const struct submodule_place *place, const struct submodule *item, int cwd,
                       struct err *err);

/* ---- submodule.c */
/* The submodules of one work tree. */
struct submodule_place {
    const struct repo *repo;
    const char *name; /* of the work tree */
    char *top; /* its path */
    int tree; /* itself, open */
    int dir; /* code.git/submodules/NAME; -1: it has none */
    char *path; /* of that */
};
#define SUBMODULE_PLACE_INIT                                                                       \
    {                                                                                              \
        .tree = -1, .dir = -1                                                                      \
    }
/* With `make`, makes the directory in code.git. */
int submodule_place_open(const struct repo *repo, const char *name, bool make,
                         struct submodule_place *ret, struct err *err);
void submodule_place_free(struct submodule_place *place);
#define _cleanup_submodule_place_ __attribute__((cleanup(submodule_place_free)))

/* Writes which submodules mas has filled. */
int submodule_list_write(const struct submodule_place *place, const struct module_list *list,
                         struct err *err);
/* Returns git on a submodule's files. The repository in it is the agent's: this one is code.git,
 * which has the objects. */
struct git submodule_git(const struct repo *repo, const char *tree, const char *index, int cwd);
/* Fills the directory of one submodule, which git made when it checked out the tree around it.
 * *ret tells whether there is one. */
int submodule_fill(const struct submodule_place *place, const struct submodule *item, bool *ret,
                   struct err *err);
