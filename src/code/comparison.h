/*
 * What an agent has changed, committed or not, or what the whole team has.
 */
#pragma once

#include "code/work.h"

#define COMPARE_MAIN "main" /* in place of an agent: the integration branch */

enum comparison_since {
    COMPARE_BRANCHED, /* the commit at which the branch left the integration branch */
    COMPARE_BASE, /* the commit that the session began with */
    COMPARE_INTEGRATION, /* the integration branch as it is now */
    COMPARE_LOOK, /* what comparison_look() was last called for; else as COMPARE_BRANCHED */
};

/* A submodule in which something differs: trees that hold nothing but its files, with their paths
 * in the work tree. */
struct comparison_module {
    char *key; /* what it was seen as is kept under this name; NULL: no agent's */
    char files[GIT_OID_TEXT]; /* the tree of the submodule itself, as it is now */
    char from[GIT_OID_TEXT], to[GIT_OID_TEXT];
};

struct comparison {
    struct stranger stranger;
    struct snapshot_tree tree;
    struct work_state state;
    struct git git; /* sees both sides */
    char *agent;
    char from[GIT_OID_TEXT], to[GIT_OID_TEXT]; /* trees or commits */
    struct comparison_module *modules;
    size_t module_count;
    char **faults; /* submodules that cannot be read, a sentence each */
};
#define COMPARE_INIT                                                                               \
    {                                                                                              \
        .stranger = STRANGER_INIT, .tree = SNAPSHOT_TREE_INIT                                      \
    }

/* Reads the work tree of an agent as it is now. The integration branch is compared with the commit
 * that the session began with. The caller holds the lock of code.git; *ret must be COMPARE_INIT,
 * and stays in place until comparison_free(). */
int comparison_open(const struct repo *repo, const char *agent, enum comparison_since since,
                    struct comparison *ret, struct err *err);
void comparison_free(struct comparison *changes);
#define _cleanup_comparison_ __attribute__((cleanup(comparison_free)))

/* Runs git diff on both sides, and on each submodule; `form` is "--patch", "--stat=80" or "--raw"
 * with a patch. */
enum comparison_form { COMPARE_PATCH, COMPARE_STAT, COMPARE_RAW };
int comparison_diff(const struct comparison *changes, enum comparison_form form, struct str *ret,
                    struct err *err);

/* Reads a file as it is now, by its path in the work tree. Returns NULL if there is none. The
 * caller frees it. */
char *comparison_read(const struct comparison *changes, const char *path, size_t *ret_len);

/* How much differs; a renamed file counts twice, and of a binary one no lines. */
struct comparison_lines {
    size_t files, added, removed;
};
int comparison_count(const struct comparison *changes, struct comparison_lines *ret,
                     struct err *err);
/* Compares an agent's files with those of another agent from now on; of submodules only which
 * commit they are at. Both were opened with the same lock. */
int comparison_against(struct comparison *changes, const struct comparison *other, struct err *err);

/* What `mas land` would bring: the integration branch compared with what of it has landed. */
struct comparison_landing {
    size_t commits;
    struct comparison_lines lines;
};
int comparison_landing(const struct repo *repo, struct comparison_landing *ret, struct err *err);

/* Remembers that a person has seen the changes of an agent as they are. */
int comparison_look(const struct comparison *changes, struct err *err);
