/*
 * Copies one entry of a tree that is not a directory, in the cheapest way that the file systems
 * support. Part of tree_copy(), and for git/index.c, which knows which files it wants.
 */
#pragma once

#include <stdatomic.h>

/* The mode bits that are copied, besides the type. */
#define TREE_MODE_BITS (S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO)

/* State that all threads of a copy share. */
struct tree_ways {
    atomic_bool no_clone; /* one file said that its file system cannot */
    atomic_bool no_range;
    atomic_bool no_link;
    bool link_readonly; /* see struct tree_choice */
    mode_t without;
    atomic_uint_fast64_t bytes; /* copied so far */
};

/* State of one thread. */
struct tree_mover {
    struct tree_ways *ways;
    char *buffer; /* NULL until it is needed; the caller frees it */
    size_t held; /* bytes of the present file's beginning in the buffer */
    /* called before each piece of content; true stops the copy */
    bool (*step)(size_t len, void *arg);
    void *arg;
};

/* Returns why an entry of this mode is not copied, or NULL if it is. */
const char *tree_refusal(mode_t mode);

/* A file in the directory open at `dir`. */
struct tree_source {
    int dir;
    const char *name;
};

/* Copies a file to each of the directories open at `to`, where no such name may exist. If it grows
 * meanwhile, only its first part is copied; if it shrinks, the rest that is left. Returns -1 with
 * errno set, or with *ret_why set if errno cannot express the reason. */
int tree_file_copy(struct tree_mover *mover, const struct tree_source *source, const int *to,
                   size_t copies, const char **ret_why);
/* Copies a symbolic link. */
int tree_link_copy(int from, int to, const char *name);
