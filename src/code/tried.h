/*
 * Files of an agent in the checkout of a person, where `mas try` puts them, and what stood there.
 *
 * All of it is in the directory mas-try of what git keeps for that work tree alone, so that it can
 * be taken out again whatever became of the session:
 *
 *     journal     there while files move; what each is to become
 *     tried       the same when they have moved
 *     index       the person's index as it was
 *     new/PATH    files that are to come
 *     old/N       what stood in the place of file N
 *     out/N.K     what was taken from there later
 *
 * Files only move, by renames that replace nothing: in a round of `mas try` from the checkout to
 * old/, or to out/ if mas put them there, and from new/ to the checkout; tried_off() the other way.
 * So the names that exist tell after a kill how far each file has come, and tried_off() puts back
 * all, whether the round was whole (`tried`) or not (`journal`). A file in out/ that is neither as
 * mas had put it nor as the one that is back is a person's: it moves to mas-kept/TIME/ beside
 * mas-try, where it stays. The journal goes last, and with it the directory; a directory without
 * one is removed by whoever finds it.
 *
 * The index moves by a hard link index.lock, as of a git at work: a kill leaves a lock that is
 * mas-try/index, and is removed.
 */
#pragma once

#include "git/git.h"

/* What a file becomes in a round. */
enum tried_step {
    TRIED_REST = '=', /* what it is */
    TRIED_PUT = '+', /* new/PATH */
    TRIED_CLEAR = '-', /* nothing is there */
    TRIED_BACK = '<', /* what it was before all */
};

/* By what mas knows a file again. */
struct tried_stamp {
    int64_t mtime; /* ns; 0: there is none */
    int64_t size;
    unsigned mode;
    char oid[GIT_OID_TEXT];
};

struct tried_file {
    char *path; /* below the work tree */
    size_t slot; /* N */
    enum tried_step step;
    bool had; /* something stood there before all */
    bool fresh; /* this round is its first */
    bool unsure; /* what stands there is not known; not in the journal */
    struct tried_stamp is, was; /* what mas puts there, and what it had put there before */
};

/* Directories in which files are: of the work tree, and of mas-try. */
enum tried_where { TRIED_TOP, TRIED_NEW, TRIED_OLD, TRIED_OUT, TRIED_WHERES };

struct tried {
    int git, dir, top; /* what git keeps for the work tree, mas-try in it (-1: none), the tree */
    char *git_path, *common, *top_path;
    bool half; /* a command was killed */
    /* what is tried; NULL: nothing */
    char *workspace, *agent, *head, *tree, *since;
    char *was_top; /* the work tree then; a repository could name another one since */
    struct tried_file *files;
    size_t count, next_slot;
    struct tried_name { /* the first files by their paths, for tried_find(); NULL: not sorted yet */
        const char *path;
        size_t at;
    } * names;
    size_t name_count;
    char **dirs; /* that mas makes in the work tree */
    struct tried_above { /* the directory opened last, which is often the next one, too */
        char *path; /* NULL: none */
        int fd;
    } above[TRIED_WHERES];
};
#define TRIED_INIT                                                                                 \
    {                                                                                              \
        .git = -1, .dir = -1, .top = -1                                                            \
    }

/* Finds the checkout that a directory is in, and takes its lock, which is on what git keeps for it;
 * waits for another mas. Reads what is tried there. Fails with MAS_DAMAGED if that cannot be read,
 * and with MAS_CONFLICT if the work tree is another one than that of the repository: an agent, or
 * who has made a clone, may have had it name a directory of the person's.
 * The caller releases *ret with tried_free(). */
int tried_open(const char *path, struct tried *ret, struct err *err);
void tried_free(struct tried *tried);
#define _cleanup_tried_ __attribute__((cleanup(tried_free)))

/* Makes mas-try with new/ in it, which is empty. */
int tried_stage(struct tried *tried, struct err *err);
/* Adds a file; the caller fills the rest of it. */
struct tried_file *tried_add(struct tried *tried, const char *path);
struct tried_file *tried_find(struct tried *tried, const char *path);

/* What tried_move() and tried_off() have to tell. */
struct tried_notes {
    char **kept; /* paths of files that a person had changed */
    bool index_stays; /* the index was changed meanwhile, and is as it is */
    bool head_moved;
};
#define TRIED_NOTES_INIT                                                                           \
    {                                                                                              \
        .kept = NULL                                                                               \
    }
void tried_notes_free(struct tried_notes *notes);

/* Does the steps of all files. If one fails, puts back what stood there before all. */
int tried_move(struct tried *tried, struct tried_notes *notes, struct err *err);
/* Puts back all that stood there. What is tried is nothing then. Fails, and can be called again, if
 * a file cannot be moved. */
int tried_off(struct tried *tried, struct tried_notes *notes, struct err *err);
/* Removes what a round that has not begun to move files has prepared. */
void tried_drop_stage(struct tried *tried);

/* Opens the directory of a path below the work tree or mas-try, and follows no link; with `make`
 * makes what is missing of it. The descriptor is good until the next call for the same `where`;
 * -1 with errno. *ret_name is the last part of the path. */
int tried_above(struct tried *tried, enum tried_where where, const char *path, bool make,
                const char **ret_name);
/* Forgets directories of the work tree that are at or below `path`, as they move; NULL: all. */
void tried_forget_above(struct tried *tried, const char *path);
/* Tells whether something is there, and what. */
bool tried_stat(struct tried *tried, enum tried_where where, const char *path, struct stat *ret);

/* Computes the name that git would give a file, or a link, as it lies there. Returns false if it is
 * another thing, cannot be read, or is too large to be looked at. */
bool tried_hash(int dir, const char *path, bool sha256, char ret[GIT_OID_TEXT]);

/* ---- where the session remembers it, a hint */

#define TRIED_HINT "tried" /* in code.git */

struct tried_place {
    char *agent, *top, *since;
    bool half;
};
/* Tells where files of the session in the workspace open at `workspace` are tried. Returns false if
 * they are not. Starts no git. The caller releases *ret with tried_place_free(). */
bool tried_look(int workspace, struct tried_place *ret);
/* Returns the path of a checkout in which they were tried, and which is not there any more: moved,
 * or removed. NULL: there is none. The caller frees it. */
char *tried_moved(int workspace);
void tried_place_free(struct tried_place *place);

/* ---- for tried*.c */
#define TRIED_DIR "mas-try"
#define TRIED_JOURNAL "journal"
#define TRIED_WHOLE "tried"
int tried_write(const struct tried *tried, const char *name, struct err *err);
/* Writes that nothing moves any more, and what is there now. */
int tried_settle(struct tried *tried, struct err *err);
/* Removes all of it: nothing is tried. */
int tried_end(struct tried *tried, struct err *err);
int tried_keep_index(const struct tried *tried, struct err *err);
/* Puts the index back. *ret_stays: it says something else than it did. */
void tried_restore_index(const struct tried *tried, bool *ret_stays);
