/*
 * The submodules in a work tree, each of which mas reads as a stranger's repository.
 *
 * mas has filled some of them: code.git/submodules/NAME/list has a line "<commit> <number> <path>"
 * for each in the work tree code/NAME. An agent may have added others, taken the repository of one
 * away, or left one behind in .git/modules.
 */
#pragma once

#include "code/stranger.h"

#define MODULES_DIR "submodules" /* in code.git */

struct module {
    char *path; /* below the work tree */
    char oid[GIT_OID_TEXT]; /* the commit */
    size_t number; /* of the index that mas keeps */
};

struct module_list {
    struct module *items;
    size_t count;
};
void module_list_free(struct module_list *list);
#define _cleanup_module_list_ __attribute__((cleanup(module_list_free)))

/* Reads which submodules of the work tree code/NAME mas has filled. */
int module_list_read(const struct repo *repo, const char *name, struct module_list *ret,
                     struct err *err);
void module_list_add(struct module_list *list, const char *path, const char *oid, size_t number);

/* Calls `each` for the submodules that the output of `git ls-tree -r -z` names. */
typedef int module_link(const char *path, const char *oid, void *arg, struct err *err);
int module_links(const struct git *git, const char *tree, module_link *each, void *arg,
                 struct err *err);

/* Returns false if the directory of a submodule has files. */
bool module_is_empty(int tree, const char *path);
/* Returns the path, in the work tree of `outer`, of the repository of a submodule whose directory
 * is open at `cwd`. *ret stays NULL if it has none. */
int module_find(const char *path, int cwd, char **ret, struct err *err);
/* Opens a submodule. *ret_there tells whether there is one: its directory may be missing or empty.
 * If it has no repository, its files are compared with those of the commit `head`; it fails if that
 * is NULL: git neither shows nor takes files there. */
int module_open(const struct stranger *outer, const char *path, const char *head,
                struct stranger *ret, bool *ret_there, struct err *err);

/* Calls `each` for every submodule of the work tree `outer`, also for those in others and for
 * repositories that are left in .git/modules, which have no files. What cannot be read becomes a
 * line of *faults, which the caller releases with strv_free(). */
typedef int module_visit(const struct stranger *module, void *arg, struct err *err);
int module_each(const struct stranger *outer, module_visit *each, void *arg, char ***faults,
                struct err *err);
