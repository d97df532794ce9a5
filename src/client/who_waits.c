/*
 * The register is a cache: who_waits() names nobody whose host has not confirmed it just now. Hosts
 * are asked in batches, from the longest wait on, and no more of them than the search needs; turns
 * that have failed come after all that wait. What is wrong is taken out of the register at the end,
 * in one write; if that fails, the next search asks again.
 */

#include "client/who_waits.h"

#include "client/hosts.h"
#include "client/survey.h"
#include "model/attention.h"
#include "os/path.h"
#include "store/limits/waiting.h"
#include "store/workspace.h"

enum { BATCH = 16 }; /* hosts that are asked at the same time */

static const char ask_status[] = "{\"do\":\"status\"}";

static int open_run(const struct root *root, const char *session)
{
    _cleanup_close_ int dir = workspace_open(root, session);

    return dir != -1 ? path_open_dir(dir, WORKSPACE_RUN) : -1;
}

void who_tell_seen(const struct root *root, const char *session, const char *agent)
{
    _cleanup_close_ int run = open_run(root, session);
    struct host_call call = {.run = run, .agent = agent, .connection = HOST_CONNECTION_INIT};

    hosts_start(&call, 1, "{\"do\":\"seen\"}", NULL, 0);
    hosts_finish(&call, 1, HOSTS_ANSWER_MS, NULL, NULL);
}

/* Keeps the status in call->arg, a struct waiter whose since_ms stays 0 if nobody is needed. */
static bool on_status(struct host_call *call, const struct frame *reply, void *arg)
{
    struct waiter *waiter = call->arg;
    struct agent_status status;

    (void)arg;
    if (agent_status_parse(reply->head, &status, &call->err) == -1)
        return true;
    if (attention_needs_person(&status)) {
        waiter->state = status.state;
        waiter->turn = attention_of(&status) == ATTENTION_FAILED ? status.turn : TURN_NONE;
        waiter->since_ms = attention_since(&status);
        memcpy(waiter->pane, status.pane, sizeof waiter->pane);
    }
    agent_status_free(&status);
    return true;
}

/* Asks the hosts of some entries. Appends the entries that are wrong to *gone. */
static void check(const struct root *root, const struct waiting *entries, size_t count,
                  struct waiter *waiters, struct waiting_list *gone)
{
    struct host_call calls[BATCH];
    int runs[BATCH];

    for (size_t i = 0; i < count; i++) {
        waiters[i] = (struct waiter){.since_ms = 0};
        memcpy(waiters[i].session, entries[i].session, sizeof waiters[i].session);
        memcpy(waiters[i].agent, entries[i].agent, sizeof waiters[i].agent);
        runs[i] = open_run(root, entries[i].session);
        calls[i] = (struct host_call){.run = runs[i],
                                      .agent = waiters[i].agent,
                                      .arg = &waiters[i],
                                      .connection = HOST_CONNECTION_INIT};
    }
    hosts_start(calls, count, ask_status, NULL, 0);
    hosts_finish(calls, count, HOSTS_ANSWER_MS, on_status, NULL);
    for (size_t i = 0; i < count; i++) {
        if (waiters[i].since_ms == 0 && calls[i].answer != HOST_LATE)
            waiting_add(gone, entries[i].session, entries[i].agent, entries[i].since_ms);
        if (runs[i] != -1)
            (void)close(runs[i]);
    }
}

/* Everything that is known of the search. */
struct who_search {
    const char *here_id, *here;
    struct waiter first, next; /* since_ms 0: none yet */
    bool passed; /* the agent in `here` waits, and has been found */
};

static bool is_here(const struct who_search *search, const struct waiter *waiter)
{
    return waiter->pane[0] != '\0' && strcmp(waiter->pane, search->here) == 0 &&
           strcmp(waiter->session, search->here_id) == 0;
}

/* Looks at the next agent in order. Returns true once nothing that follows matters. */
static bool consider(struct who_search *search, const struct waiter *waiter)
{
    if (waiter->since_ms == 0)
        return false;
    if (is_here(search, waiter)) {
        search->passed = true;
    } else if (search->passed) {
        search->next = *waiter;
        return true;
    }
    if (search->first.since_ms == 0 || is_here(search, &search->first))
        search->first = *waiter;
    return false;
}

/* Goes through the register from the agent that has waited longest. Those whose turn has failed
 * come after all who wait. */
static void go_through(const struct root *root, const struct waiting_list *list,
                       struct who_search *search, struct waiting_list *gone)
{
    struct waiter waiters[BATCH];
    _cleanup_free_ struct waiter *failed = mem_alloc((list->count + 1) * sizeof *failed);
    size_t failed_count = 0;
    bool away = search->here[0] == '\0' || search->here_id[0] == '\0';

    for (size_t at = 0; at < list->count; at += BATCH) {
        size_t count = list->count - at < BATCH ? list->count - at : BATCH;
        check(root, list->entries + at, count, waiters, gone);
        for (size_t i = 0; i < count; i++)
            if (waiters[i].turn != TURN_NONE)
                failed[failed_count++] = waiters[i];
            else if (consider(search, &waiters[i]) || (away && search->first.since_ms != 0))
                return;
    }
    for (size_t i = 0; i < failed_count; i++)
        if (consider(search, &failed[i]))
            return;
}

/* Asks the hosts of all running sessions, and makes the register again. */
static int rebuild(const struct root *root, const struct config *config, struct waiting_list *ret,
                   struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_waiting_ struct waiting_list all = {.count = 0};
    struct waiting_list none = {.count = 0};
    struct waiter waiters[BATCH];
    struct err ignored = ERR_INIT;

    if (survey_take(root, config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    for (size_t i = 0; i < survey.count; i++) {
        if (survey.views[i].status != STATUS_ACTIVE)
            continue;
        _cleanup_close_ int run = open_run(root, survey.views[i].row.id);
        _cleanup_strv_ char **names = hosts_list(run, WORKSPACE_HOST_SOCKET);
        for (char **name = names; name != NULL && *name != NULL; name++)
            if (str_is_word(*name, TEAM_WORD_MAX))
                waiting_add(&all, survey.views[i].row.id, *name, 1);
    }
    for (size_t at = 0; at < all.count; at += BATCH) {
        _cleanup_waiting_ struct waiting_list unused = {.count = 0};
        size_t count = all.count - at < BATCH ? all.count - at : BATCH;
        check(root, all.entries + at, count, waiters, &unused);
        for (size_t i = 0; i < count; i++)
            if (waiters[i].since_ms != 0)
                waiting_add(ret, waiters[i].session, waiters[i].agent, waiters[i].since_ms);
    }
    waiting_sort(ret);
    (void)waiting_update(root, &none, ret, true, &ignored); /* a cache */
    return 0;
}

int who_wait(const struct root *root, const struct config *config, struct waiting_list *ret,
             struct err *err)
{
    waiting_read(root, ret);
    if (ret->complete)
        return 0;
    waiting_free(ret);
    return rebuild(root, config, ret, err);
}

int who_waits(const struct root *root, const struct config *config, const char *here_id,
              const char *here, struct waiter *ret, struct err *err)
{
    _cleanup_waiting_ struct waiting_list list = {.count = 0};
    _cleanup_waiting_ struct waiting_list gone = {.count = 0};
    struct waiting_list none = {.count = 0};
    struct who_search search = {.here_id = here_id, .here = here};
    struct err ignored = ERR_INIT;

    if (who_wait(root, config, &list, err) == -1)
        return -1;
    go_through(root, &list, &search, &gone);
    if (gone.count > 0)
        (void)waiting_update(root, &gone, &none, false, &ignored);
    const struct waiter *found = search.next.since_ms != 0 ? &search.next : &search.first;
    if (found->since_ms == 0)
        return 0;
    *ret = *found;
    return 1;
}
