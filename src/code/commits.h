/*
 * The commits of an agent's branch that the integration branch lacks.
 */
#pragma once

#include "code/stranger.h"

enum { COMMITS_MAX = 1000 };

struct commit {
    char oid[GIT_OID_TEXT];
    bool is_merge;
    time_t at; /* the author's */
    char *author, *subject; /* of the agent's writing, as str_add_visible() shows it */
};

struct commits {
    char main[GIT_OID_TEXT]; /* the integration branch */
    char tip[GIT_OID_TEXT]; /* the agent's */
    struct commit *list; /* newest first */
    size_t count;
    bool more; /* than COMMITS_MAX */
};
#define COMMITS_INIT                                                                               \
    {                                                                                              \
        .list = NULL                                                                               \
    }
void commits_free(struct commits *commits);
#define _cleanup_commits_ __attribute__((cleanup(commits_free)))

/* Reads them where the agent has them. Fails with MAS_DAMAGED if its branch is gone. The caller
 * releases *ret with commits_free(). */
int commits_read(const struct stranger *stranger, struct commits *ret, struct err *err);

/* Finds the commits that `names` mean, which are the first digits of theirs, and sets found[] where
 * they are in the list. Fails with MAS_NOT_FOUND if a name means none or several. */
int commits_find(const struct commits *commits, char *const *names, bool *found, struct err *err);
