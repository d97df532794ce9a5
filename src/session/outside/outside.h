/*
 * The sessions that agents' programs keep for the user: files below the home, or below what a
 * variable says, at which the presets' told.kept point. Most of them began without mas.
 *
 *     _cleanup_outside_ struct outside_list list = OUTSIDE_LIST_INIT;
 *     outside_find(&config, NULL, &list);       the newest first
 *     outside_read(&list);                      directory and first words
 *
 * Of a program that keeps them all in a database (told.database) the rows are looked at instead:
 * session/outside/outside_rows.h.
 *
 * A file is looked at, never written. What it says is hostile until parsed, and believed about
 * itself alone. No link is followed below the first names of a pattern, which the user may have
 * moved elsewhere.
 */
#pragma once

#include "model/path_pattern.h"
#include "store/config.h"

enum {
    OUTSIDE_FILES_MAX = 50000, /* names that a look comes across */
    OUTSIDE_LISTED_MAX = 500, /* sessions that are read */
    OUTSIDE_HEAD_MAX = 256 << 10, /* bytes that are read of one */
    OUTSIDE_LOOK_MS = 4000, /* for each of the two */
    OUTSIDE_WORDS_MAX = 200, /* bytes */
};

struct outside_session {
    const struct preset *preset; /* the first one that names the file */
    char *path, *id;
    bool in_database; /* the path is that of all of them, and `size` 0 */
    int64_t size;
    time_t changed;
    char *directory, *words; /* NULL: not known */
};

struct outside_list {
    struct outside_session *sessions;
    size_t count;
    bool cut; /* there may be more: of files, or of time */
};

#define OUTSIDE_LIST_INIT                                                                          \
    {                                                                                              \
        .sessions = NULL                                                                           \
    }

/* Finds the sessions of a preset; NULL: of all. */
void outside_find(const struct config *config, const struct preset *preset,
                  struct outside_list *ret);
/* Takes out the sessions with one of these ids. */
void outside_leave_out(struct outside_list *list, char *const *ids);
/* Takes out those that are not wanted. */
void outside_keep_if(struct outside_list *list, bool (*wanted)(struct outside_session *, void *arg),
                     void *arg);
/* Reads the first words of the newest ones. Files that turn out to be no session, and those past
 * OUTSIDE_LISTED_MAX, are taken out. */
void outside_read(struct outside_list *list);
/* Takes a file by its name in a directory, with how a pattern stands for it. */
typedef void outside_each(int dir, const char *name, const struct path_found *found, void *arg);
/* Looks for the first file of one session: in the home `own` of an agent behind its wall, in which
 * no link is followed, or, if that is -1, in the user's. Returns false if there is none. */
bool outside_look_for(int own, char *const *patterns, const char *id, outside_each *each,
                      void *arg);
/* Returns a process that has the session open, by its files told.alive or by the descriptors of the
 * user's processes; 0: none is known. */
pid_t outside_opened_by(const struct outside_session *session);
void outside_free(struct outside_list *list);
#define _cleanup_outside_ __attribute__((cleanup(outside_free)))

/* Reads the ids of all agent sessions that mas knows in the root. The caller releases the vector.
 * A session whose memory.db cannot be read has none. */
char **outside_known(const struct root *root);
