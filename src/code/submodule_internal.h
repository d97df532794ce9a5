/*
 * Shared by the files that find, fill and follow submodules; for submodule*.c only.
 *
 * In code.git, submodules/TREE/list has a line "<commit> <number> <path>" for each submodule of a
 * work tree that was filled, and submodules/TREE/NUMBER is its index.
 */
#ifndef MAS_CODE_SUBMODULE_INTERNAL_H
#define MAS_CODE_SUBMODULE_INTERNAL_H

#include "code/submodule.h"

#define SUBMODULES_DIR "submodules"

/* One submodule, and those in it. */
struct submodule {
    char *path; /* below the work tree */
    char *objects; /* of the person's checkout */
    char oid[GIT_OID_TEXT]; /* "": an earlier version did not record it */
    size_t number; /* of its index */
};

struct submodules {
    struct submodule *items;
    size_t count;
    bool is_sparse; /* the checkout may lack some */
    /* for submodules_find(): */
    const struct submodules *filled; /* these have to be found; NULL: none */
    char ***notes; /* gets a line for each that the person has not checked out; NULL: nobody asks */
};
void submodules_free(struct submodules *all);
#define _cleanup_submodules_ __attribute__((cleanup(submodules_free)))

struct submodule *submodules_add(struct submodules *list, const char *path, const char *oid,
                                 size_t number);

/* ---- submodule_find.c */
/* Adds the submodules of a tree of `git`, and those in them, with the objects of the checkouts in
 * the project. As git does, it leaves out those that are not checked out there. `below` is the path
 * of the tree, "" or with a slash at its end. */
int submodules_find(const struct project *project, const struct git *git, const char *tree,
                    const char *below, int depth, struct submodules *ret, struct err *err);

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

int submodules_read(const struct submodule_place *place, struct submodules *ret, struct err *err);
int submodules_write(const struct submodule_place *place, const struct submodules *list,
                     struct err *err);
/* Returns git on a submodule that has no repository: the one of the objects is code.git. */
struct git submodule_git(const struct repo *repo, const char *tree, const char *index,
                         const char *objects, int cwd);
/* Fills the directory of one submodule, which git made when it checked out the tree around it.
 * *ret tells whether there is one. */
int submodule_fill(const struct submodule_place *place, const struct submodule *item, bool *ret,
                   struct err *err);
/* Appends what was changed in one submodule. */
int submodule_check(const struct submodule_place *place, const struct submodule *item,
                    struct str *ret, struct err *err);

#endif
