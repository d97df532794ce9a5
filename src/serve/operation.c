#include "serve/operation.h"

#include "base/json.h"
#include "base/proc.h"
#include "base/time.h"
#include "serve/body.h"
#include "serve/events.h"
#include "serve/request.h"
#include "serve/server.h"
#include "serve/verb.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum operation_state { WAITING, RUNNING, DONE, FAILED, CANCELLED };

struct operation {
    struct job job;
    struct operations *list;
    struct operation *next;
    char id[ID_TEXT];
    char session[ID_TEXT];
    char *agent; /* NULL: it is not about one */
    char **words;
    struct str input;
    const struct body_member *members;
    int64_t began_ms, ended_ms; /* since 1970; ended_ms 0: it has not ended */

    /* The worker writes these; the loop reads them after the end. */
    struct str output;
    struct err err;

    pthread_mutex_t mutex; /* protects these: */
    bool started, cancelled;
    int process; /* for proc_interrupt(); -1: none runs */
};

struct operations {
    struct server *server;
    struct pool *pool;
    struct operation *first; /* the oldest */
    size_t count;
};

static void operation_free(struct operation *operation)
{
    free(operation->agent);
    strv_free(operation->words);
    str_free(&operation->input);
    str_free(&operation->output);
    (void)pthread_mutex_destroy(&operation->mutex);
    free(operation);
}

int operations_make(struct server *server, struct operations **ret, struct err *err)
{
    struct pool *pool = NULL;

    if (pool_make(OPERATIONS_AT_ONCE, OPERATIONS_MAX, &pool, err) == -1)
        return -1;
    *ret = mem_alloc(sizeof **ret);
    **ret = (struct operations){.server = server, .pool = pool};
    return 0;
}

void operations_free(struct operations *operations)
{
    if (operations == NULL)
        return;
    pool_free(operations->pool);
    for (struct operation *next; operations->first != NULL; operations->first = next) {
        next = operations->first->next;
        operation_free(operations->first);
    }
    free(operations);
}

struct pool *operations_pool(const struct operations *operations)
{
    return operations->pool;
}

/* ---- on a worker */

/* Tells the loop which process it may interrupt. Returns false if that has been cancelled. */
static bool on_start(const struct proc *proc, void *arg)
{
    struct operation *operation = arg;

    (void)pthread_mutex_lock(&operation->mutex);
    bool go_on = !operation->cancelled;
    operation->started = true;
    if (go_on)
        operation->process = proc_handle(proc);
    (void)pthread_mutex_unlock(&operation->mutex);
    return go_on;
}

static void say_member(struct err *err, const char *option, const char *member)
{
    _cleanup_free_ char *used = mem_printf("use %s ", option);
    _cleanup_free_ char *use = mem_printf("use %s ", member);
    _cleanup_free_ char *other = mem_printf(" with %s", option);
    _cleanup_free_ char *with = mem_printf(" with %s", member);

    verb_reword(err, used, use);
    if (str_ends(err->text, other))
        verb_reword(err, other, with);
}

/* "cannot use --keep 'x'" is "cannot use the member keep 'x'" here, and "--squash" is a word of the
 * member how. */
static void say_members(struct operation *operation)
{
    const struct body_member *members = operation->members;

    for (size_t i = 0; i < BODY_MEMBERS && members[i].name != NULL; i++) {
        const char *name = members[i].name;
        _cleanup_strv_ char **words =
            members[i].kind == MEMBER_WORD ? body_words(&members[i]) : NULL;
        for (char **word = words; word != NULL && *word != NULL; word++) {
            _cleanup_free_ char *option = mem_printf("--%s", *word);
            _cleanup_free_ char *member = mem_printf("the word %s of %s", *word, name);
            say_member(&operation->err, option, member);
        }
        if (members[i].option == NULL || !str_starts(members[i].option, "--"))
            continue;
        _cleanup_free_ char *member = mem_printf("the member %s", name);
        say_member(&operation->err, members[i].option, member);
    }
}

static void run_operation(struct job *job)
{
    struct operation *operation =
        (struct operation *)(void *)((char *)job - offsetof(struct operation, job));
    const struct verb_watch watch = {.on_start = on_start, .arg = operation};

    (void)pthread_mutex_lock(&operation->mutex);
    bool go_on = !operation->cancelled;
    (void)pthread_mutex_unlock(&operation->mutex);
    if (go_on &&
        verb_run_watched(operation->list->server, (const char *const *)(void *)operation->words,
                         &operation->input, &watch, &operation->output, &operation->err) == -1)
        say_members(operation);
    (void)pthread_mutex_lock(&operation->mutex);
    fd_closep(&operation->process);
    (void)pthread_mutex_unlock(&operation->mutex);
}

/* ---- on the loop */

static enum operation_state state_of(const struct operation *operation)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)&operation->mutex;

    (void)pthread_mutex_lock(mutex);
    bool started = operation->started;
    bool cancelled = operation->cancelled;
    (void)pthread_mutex_unlock(mutex);
    if (operation->ended_ms == 0)
        return started ? RUNNING : WAITING;
    if (cancelled && (!started || operation->err.code != MAS_OK))
        return CANCELLED;
    return operation->err.code != MAS_OK ? FAILED : DONE;
}

static void on_end(struct job *job)
{
    struct operation *operation =
        (struct operation *)(void *)((char *)job - offsetof(struct operation, job));
    _cleanup_str_ struct str body = STR_INIT;

    operation->ended_ms = time_epoch_ms();
    str_clear(&operation->input);
    if (operation->output.len > OPERATION_OUTPUT_MAX) {
        operation->output.len =
            str_cut(operation->output.data, operation->output.len, OPERATION_OUTPUT_MAX);
        operation->output.data[operation->output.len] = '\0';
    }
    operation_put(operation, &body);
    events_add(operation->list->server->events, "operation", &body);
}

/* Forgets operations that ended long ago and, as long as there are too many, the oldest that has
 * ended. */
static void forget(struct operations *operations)
{
    int64_t now = time_epoch_ms();
    bool full = operations->count >= OPERATIONS_MAX;

    for (struct operation **at = &operations->first; *at != NULL;) {
        struct operation *operation = *at;
        bool ended = operation->ended_ms != 0;
        if (!ended || (!full && now - operation->ended_ms < OPERATION_KEPT_MS)) {
            at = &operation->next;
            continue;
        }
        *at = operation->next;
        operation_free(operation);
        operations->count--;
        full = operations->count >= OPERATIONS_MAX;
    }
}

const struct operation *operations_begin(struct operations *operations,
                                         const struct operation_wish *wish, struct err *err)
{
    struct operation **last = &operations->first;
    char id[ID_TEXT];

    forget(operations);
    if (operations->count >= OPERATIONS_MAX) {
        (void)err_set(err, MAS_FAILED, "%d operations have not ended", OPERATIONS_MAX);
        return NULL;
    }
    if (id_make(id, err) == -1)
        return NULL;
    struct operation *operation = mem_alloc(sizeof *operation);
    *operation = (struct operation){.job = {.run = run_operation, .done = on_end},
                                    .list = operations,
                                    .members = wish->members,
                                    .began_ms = time_epoch_ms(),
                                    .process = -1,
                                    .err = ERR_INIT};
    (void)pthread_mutex_init(&operation->mutex, NULL);
    memcpy(operation->id, id, sizeof id);
    (void)snprintf(operation->session, sizeof operation->session, "%s", wish->session);
    operation->agent = mem_dup(wish->agent);
    for (const char *const *word = wish->words; *word != NULL; word++)
        strv_push(&operation->words, *word);
    if (wish->input != NULL)
        str_add(&operation->input, wish->input);
    if (!pool_add(operations->pool, operation->session, &operation->job)) {
        operation_free(operation);
        (void)err_set(err, MAS_FAILED, "too many operations on this session have not ended");
        return NULL;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = operation;
    operations->count++;
    return operation;
}

struct operation *operations_find(struct operations *operations, const char *id)
{
    struct operation *operation = operations->first;

    while (operation != NULL && strcmp(operation->id, id) != 0)
        operation = operation->next;
    return operation;
}

bool operation_cancel(struct operation *operation)
{
    if (operation->ended_ms != 0)
        return false;
    (void)pthread_mutex_lock(&operation->mutex);
    operation->cancelled = true;
    if (operation->process != -1)
        proc_interrupt(operation->process);
    (void)pthread_mutex_unlock(&operation->mutex);
    return true;
}

static void put_time(struct json_out *out, const char *key, int64_t ms)
{
    char when[TIME_TEXT];

    if (ms != 0)
        time_format((time_t)(ms / 1000), when);
    json_put(out, key, ms != 0 ? when : NULL);
}

static void put(const struct operation *operation, struct json_out *out)
{
    static const char *const names[] = {
        [WAITING] = "waiting", [RUNNING] = "running",     [DONE] = "done",
        [FAILED] = "failed",   [CANCELLED] = "cancelled",
    };
    enum operation_state state = state_of(operation);
    bool ended = operation->ended_ms != 0;

    json_put(out, "operation", operation->id);
    json_put(out, "verb", operation->words[0]);
    json_put(out, "sessionId", operation->session[0] != '\0' ? operation->session : NULL);
    json_put(out, "agent", operation->agent);
    json_put(out, "state", names[state]);
    put_time(out, "began", operation->began_ms);
    put_time(out, "ended", operation->ended_ms);
    if (ended)
        json_put_fit(out, "output", str_text(&operation->output), OPERATION_OUTPUT_MAX);
    if (state == FAILED)
        answer_put_failure(&operation->err, operation->session, operation->agent, out);
}

void operation_put(const struct operation *operation, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    put(operation, &out);
    json_close(&out, '}');
}

void operations_put(const struct operations *operations, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_open(&out, "operations", '[');
    for (const struct operation *at = operations->first; at != NULL; at = at->next) {
        json_open(&out, NULL, '{');
        put(at, &out);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
}
