/*
 * Context: what was said in a conversation and, kept apart from it, what was said elsewhere on the
 * same subject. The two parts come from two sources: the conversation from the session's own
 * memory.db alone, the relevant history from the search, so that no message of another session can
 * get into the first.
 */
#ifndef MAS_MEMORY_CONTEXT_H
#define MAS_MEMORY_CONTEXT_H

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "memory/store.h"
#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who asks, and what that one may see. A person sees all sessions but the private ones; an agent
 * its own session, and the others with [memory] share. A private session sees itself alone. */
struct context_asker {
    const char *session; /* of the agent; NULL: a person asks */
    bool share;
};
/* By MAS_AGENT_ID and MAS_SESSION_ID. */
struct context_asker context_asker(const struct config *config);
/* Whether the asker may see what was said in this session: MAS_FAILED with the rule. */
int context_may_see(const struct root *root, const struct context_asker *asker, const char *session,
                    bool *ret_private, struct err *err);

struct context_options {
    const char *session, *agent;
    bool team; /* all agents of the session */
    const char *text; /* what the history is to be relevant for; NULL: the newest prompt */
    int current, relevant; /* messages of each role in these lists */
    size_t all; /* characters in each list */
};

struct context_item {
    char session[ID_TEXT];
    int64_t number;
    char *agent;
    enum store_role role;
    char *text;
    size_t chars;
    int64_t trigger; /* 0 none */
    int64_t time_ms;
    bool is_relevant; /* it is there because it is relevant, with this: */
    double score;
};

struct context_list {
    struct context_item *items;
    size_t count;
};

struct context {
    struct context_list current; /* oldest first */
    struct context_list relevant; /* best first */
    struct context_list
        chat; /* both without doubles, oldest first; texts are those of the others */
    char *note; /* what a person should be told, see search_note(); NULL */
};

/* MAS_NOT_FOUND where the session has no memory is none: the lists are empty. */
int context_open(const struct root *root, const struct config *config,
                 const struct context_asker *asker, const struct context_options *options,
                 struct context *ret, struct err *err);
void context_free(struct context *context);
#define _cleanup_context_ __attribute__((cleanup(context_free)))

/* For the host: what is to go in front of the first prompt of a fresh query with [memory] recall;
 * "" where it is off or there is nothing. It is marked as what was said before elsewhere, and has
 * nothing of the conversation itself. What it takes from other sessions is said by [memory] share.
 * It waits at most a second for the index. */
struct recall_options {
    const char *session, *conversation;
    const char *text; /* the prompt */
};
int context_recall(const struct root *root, const struct config *config,
                   const struct recall_options *options, struct str *ret, struct err *err);

#endif
