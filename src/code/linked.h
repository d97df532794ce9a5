/*
 * Linked work trees, which `git worktree add` makes: of the repositories of agents, and of
 * code.git, where an agent makes them that works in the view. That of mas itself, the view, is none
 * here.
 *
 * The repository lists them in worktrees/NAME/, with a HEAD, an index and refs for each; the file
 * .git in the work tree names that directory. The list has absolute paths, which are those of
 * earlier once the session has moved. So mas also looks for work trees everywhere in the session;
 * for those of one agent, elsewhere than in its own directories only if one is not where it should
 * be.
 */
#pragma once

#include "code/repo.h"

struct linked {
    const char *agent; /* whose repository has it; CODE_VIEW: code.git */
    char *name; /* in worktrees/ there */
    char *tree; /* absolute path; NULL: its files are gone */
    char *who; /* for messages: "x, work tree 'code/wt'" */
};

struct linked_list {
    struct linked *items;
    size_t count;
    char **faults; /* what cannot be looked at, a sentence each */
};
#define LINKED_LIST_INIT                                                                           \
    {                                                                                              \
        .items = NULL                                                                              \
    }

/* Finds the linked work trees of a session, or of the agent `one` alone; then only faults of that
 * and of its directories count. `team` has to live as long as *ret, which the caller releases with
 * linked_free(). */
void linked_find(const struct repo *repo, const struct team *team, const char *one,
                 struct linked_list *ret);
void linked_free(struct linked_list *list);
#define _cleanup_linked_ __attribute__((cleanup(linked_free)))
