/*
 * One entry of a tree, not a directory, copied in the cheapest way the file systems have. A part of
 * tree_copy() and of no use without it.
 */
#ifndef MAS_BASE_TREE_FILE_H
#define MAS_BASE_TREE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* What is copied of a mode, beside its kind. */
#define TREE_MODE_BITS (S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO)

/* What all threads of a copy share. */
struct tree_ways {
    atomic_bool no_clone; /* the file systems were asked once and cannot */
    atomic_bool no_range;
    atomic_bool no_link;
    bool link_readonly; /* see struct tree_choice */
    atomic_uint_fast64_t bytes; /* copied so far */
};

/* What each thread has to itself. */
struct tree_mover {
    struct tree_ways *ways;
    char *buffer; /* NULL until it is needed; the owner frees it */
    bool (*step)(size_t len, void *arg); /* called before each piece of content; true stops */
    void *arg;
};

/* Why an entry of this mode is not copied, or NULL. */
const char *tree_refusal(mode_t mode);

/* Copy the entry `name` of the directory open at `from` to `to`, where it must not exist. Of a file
 * that grows meanwhile the first part is copied, of one that shrinks what is left. They return -1
 * with errno set, or with *ret_why set where errno would not tell. */
int tree_file_copy(struct tree_mover *mover, int from, int to, const char *name,
                   const char **ret_why);
int tree_link_copy(int from, int to, const char *name);

#endif
