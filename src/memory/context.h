/*
 * Context: the messages of a conversation and, separately, messages from elsewhere on the same
 * subject. The two parts have different sources: the conversation comes only from the session's own
 * memory.db and the relevant history from the search, so no message of another session can get into
 * the first part.
 */
#pragma once

#include "base/id.h"
#include "memory/store.h"
#include "store/config.h"
#include "store/root.h"

/* Who asks, which determines what is visible. A person sees all sessions except private ones. An
 * agent sees its own session and, with [memory] share, the others. A private session sees only
 * itself. */
struct context_asker {
    const char *session; /* session of the agent; NULL: a person asks */
    bool share;
};
/* Determines the asker from MAS_AGENT_ID and MAS_SESSION_ID. */
struct context_asker context_asker(const struct config *config);
/* Checks whether the asker may see the messages of this session. Fails with MAS_FAILED; the text
 * names the rule. Sets *ret_private. */
int context_may_see(const struct root *root, const struct context_asker *asker, const char *session,
                    bool *ret_private, struct err *err);

struct context_options {
    const char *session, *agent;
    bool team; /* all agents of the session */
    const char *text; /* the subject of the history; NULL: the newest prompt */
    int current, relevant; /* maximum messages of each role in these lists */
    size_t all; /* maximum characters in each list */
};

struct context_item {
    char session[ID_TEXT];
    int64_t number;
    char *agent;
    enum store_role role;
    char *text;
    size_t chars;
    int64_t trigger; /* 0: none */
    int64_t time_ms;
    int64_t turn_ms; /* when its prompt was given; set where the order is that of time */
    bool is_semantic; /* found by vectors more than by words */
    bool is_relevant; /* included because it is relevant, with this score */
    double score;
};

struct context_list {
    struct context_item *items;
    size_t count;
};

struct context {
    struct context_list current; /* oldest first */
    struct context_list relevant; /* best first; nothing of `current` */
    struct context_list chat; /* both lists, oldest first; texts belong to them */
    char *note; /* a note for the user, see search_note(); or NULL */
};

/* Collects the context. A session without a memory is not an error: the lists are empty. The caller
 * releases *ret with context_free(). */
int context_open(const struct root *root, const struct config *config,
                 const struct context_asker *asker, const struct context_options *options,
                 struct context *ret, struct err *err);
void context_free(struct context *context);
void context_list_free(struct context_list *list);
#define _cleanup_context_ __attribute__((cleanup(context_free)))

/* For the host, with [memory] recall: collects the text that goes before a prompt and appends it to
 * *ret; nothing if recall is off or nothing is relevant. The text is marked as earlier messages
 * from elsewhere and contains nothing of the conversation itself, nor of *known, to which it adds
 * what it contains (without texts). It comes from other sessions of the project; without a project
 * from the session itself, with [memory] share also from others without one. Waits about 150 ms
 * for the index and uses no vectors. */
struct recall_options {
    const char *session, *conversation;
    const char *project; /* its path; NULL: the session has none */
    const char *text; /* the prompt */
    struct context_list *known;
};
int context_recall(const struct root *root, const struct config *config,
                   const struct recall_options *options, struct str *ret, struct err *err);
