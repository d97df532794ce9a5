/*
 * A task is one job of its own pool, so that long ones leave the threads of short requests alone.
 * The loop owns the list; the worker owns the output and the error until the end, and a mutex
 * protects what both need: whether it has started or is cancelled, and the process. A cancel before
 * the start only sets a flag, which the worker asks for once more when the process is there.
 */

#include "serve/task.h"

#include "base/json.h"
#include "base/time.h"
#include "os/proc.h"
#include "serve/events.h"
#include "serve/request.h"
#include "serve/server.h"
#include "serve/verb.h"

#include <pthread.h>

enum task_state { WAITING, RUNNING, DONE, FAILED, CANCELLED };

struct task {
    struct job job;
    const struct operation *operation;
    struct tasks *list;
    struct task *next;
    char id[ID_TEXT];
    char session[ID_TEXT];
    char *agent; /* NULL: it is not about one */
    char **words;
    struct str input;
    const struct param *params;
    int64_t began_ms, ended_ms; /* since 1970; ended_ms 0: it has not ended */

    /* The worker writes these; the loop reads them after the end. */
    struct str output;
    struct err err;

    pthread_mutex_t mutex; /* protects these: */
    bool started, cancelled;
    int process; /* for proc_interrupt(); -1: none runs */
};

struct tasks {
    struct server *server;
    struct pool *pool;
    struct task *first; /* the oldest */
    size_t count;
};

static void task_free(struct task *task)
{
    free(task->agent);
    strv_free(task->words);
    str_free(&task->input);
    str_free(&task->output);
    (void)pthread_mutex_destroy(&task->mutex);
    free(task);
}

int tasks_make(struct server *server, struct tasks **ret, struct err *err)
{
    struct pool *pool = NULL;

    if (pool_make(TASKS_AT_ONCE, TASKS_MAX, &pool, err) == -1)
        return -1;
    *ret = mem_alloc(sizeof **ret);
    **ret = (struct tasks){.server = server, .pool = pool};
    return 0;
}

void tasks_free(struct tasks *tasks)
{
    if (tasks == NULL)
        return;
    pool_free(tasks->pool);
    for (struct task *next; tasks->first != NULL; tasks->first = next) {
        next = tasks->first->next;
        task_free(tasks->first);
    }
    free(tasks);
}

struct pool *tasks_pool(const struct tasks *tasks)
{
    return tasks->pool;
}

/* ---- on a worker */

/* Tells the loop which process it may interrupt. Returns false if that has been cancelled. */
static bool on_start(const struct proc *proc, void *arg)
{
    struct task *task = arg;

    (void)pthread_mutex_lock(&task->mutex);
    bool go_on = !task->cancelled;
    task->started = true;
    if (go_on)
        task->process = proc_handle(proc);
    (void)pthread_mutex_unlock(&task->mutex);
    return go_on;
}

static void run_task(struct job *job)
{
    struct task *task = (struct task *)(void *)((char *)job - offsetof(struct task, job));
    const struct verb_watch watch = {.on_start = on_start, .arg = task};

    (void)pthread_mutex_lock(&task->mutex);
    bool go_on = !task->cancelled;
    (void)pthread_mutex_unlock(&task->mutex);
    if (go_on && verb_run_watched(task->list->server, task->words, &task->input, &watch,
                                  &task->output, &task->err) == -1)
        verb_say_params(task->operation, &task->err);
    (void)pthread_mutex_lock(&task->mutex);
    fd_closep(&task->process);
    (void)pthread_mutex_unlock(&task->mutex);
}

/* ---- on the loop */

static enum task_state state_of(const struct task *task)
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)(uintptr_t)&task->mutex;

    (void)pthread_mutex_lock(mutex);
    bool started = task->started;
    bool cancelled = task->cancelled;
    (void)pthread_mutex_unlock(mutex);
    if (task->ended_ms == 0)
        return started ? RUNNING : WAITING;
    if (cancelled && (!started || task->err.code != MAS_OK))
        return CANCELLED;
    return task->err.code != MAS_OK ? FAILED : DONE;
}

/* Returns what the task is about. */
static struct event_subject subject_of(const struct task *task)
{
    return (struct event_subject){.session = task->session[0] != '\0' ? task->session : NULL,
                                  .agent = task->agent != NULL ? task->agent : ""};
}

static void on_end(struct job *job)
{
    struct task *task = (struct task *)(void *)((char *)job - offsetof(struct task, job));
    _cleanup_str_ struct str body = STR_INIT;

    task->ended_ms = time_epoch_ms();
    str_clear(&task->input);
    if (task->output.len > TASK_OUTPUT_MAX) {
        task->output.len = str_cut(task->output.data, task->output.len, TASK_OUTPUT_MAX);
        task->output.data[task->output.len] = '\0';
    }
    task_put(task, &body);
    const struct event_subject subject = subject_of(task);
    events_add(task->list->server->events, "operation", &body, &subject);
}

/* Forgets tasks that ended long ago and, as long as there are too many, the oldest that has
 * ended. */
static void forget(struct tasks *tasks)
{
    int64_t now = time_epoch_ms();
    bool full = tasks->count >= TASKS_MAX;

    for (struct task **at = &tasks->first; *at != NULL;) {
        struct task *task = *at;
        bool ended = task->ended_ms != 0;
        if (!ended || (!full && now - task->ended_ms < TASK_KEPT_MS)) {
            at = &task->next;
            continue;
        }
        *at = task->next;
        task_free(task);
        tasks->count--;
        full = tasks->count >= TASKS_MAX;
    }
}

const struct task *tasks_begin(struct tasks *tasks, const struct task_wish *wish, struct err *err)
{
    struct task **last = &tasks->first;
    char id[ID_TEXT];

    forget(tasks);
    if (tasks->count >= TASKS_MAX) {
        (void)err_set(err, MAS_FAILED, "%d operations have not ended", TASKS_MAX);
        return NULL;
    }
    if (id_make(id, err) == -1)
        return NULL;
    struct task *task = mem_alloc(sizeof *task);
    *task = (struct task){.job = {.run = run_task, .done = on_end},
                          .list = tasks,
                          .operation = wish->operation,
                          .began_ms = time_epoch_ms(),
                          .process = -1,
                          .err = ERR_INIT};
    (void)pthread_mutex_init(&task->mutex, NULL);
    memcpy(task->id, id, sizeof id);
    (void)snprintf(task->session, sizeof task->session, "%s", wish->session);
    task->agent = mem_dup(wish->agent);
    for (char *const *word = wish->words; *word != NULL; word++)
        strv_push(&task->words, *word);
    if (wish->input != NULL)
        str_add(&task->input, wish->input);
    if (!pool_add(tasks->pool, task->session, &task->job)) {
        task_free(task);
        (void)err_set(err, MAS_FAILED, "too many operations on this session have not ended");
        return NULL;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = task;
    tasks->count++;
    return task;
}

static bool is_for(const struct task *task, const struct guest *guest)
{
    struct event_subject subject = subject_of(task);

    return guest_sees(guest, subject.session, subject.agent);
}

struct task *tasks_find(struct tasks *tasks, const struct guest *guest, const char *id)
{
    struct task *task = tasks->first;

    while (task != NULL && (strcmp(task->id, id) != 0 || !is_for(task, guest)))
        task = task->next;
    return task;
}

bool task_cancel(struct task *task)
{
    if (task->ended_ms != 0)
        return false;
    (void)pthread_mutex_lock(&task->mutex);
    task->cancelled = true;
    if (task->process != -1)
        proc_interrupt(task->process);
    (void)pthread_mutex_unlock(&task->mutex);
    return true;
}

static void put(const struct task *task, struct json_out *out)
{
    static const char *const names[] = {
        [WAITING] = "waiting", [RUNNING] = "running",     [DONE] = "done",
        [FAILED] = "failed",   [CANCELLED] = "cancelled",
    };
    enum task_state state = state_of(task);
    bool ended = task->ended_ms != 0;

    json_put_all(out, JT("operation", task->id), JT("verb", task->words[0]),
                 JT("sessionId", task->session[0] != '\0' ? task->session : NULL),
                 JT("agent", task->agent), JT("state", names[state]));
    json_put_time(out, "began", task->began_ms);
    json_put_time(out, "ended", task->ended_ms);
    if (ended)
        json_put_fit(out, "output", str_text(&task->output), TASK_OUTPUT_MAX);
    if (state == FAILED)
        answer_put_failure(&task->err, task->session, task->agent, out);
}

void task_put(const struct task *task, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    put(task, &out);
    json_close(&out, '}');
}

void tasks_put(const struct tasks *tasks, const struct guest *guest, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_open(&out, "operations", '[');
    for (const struct task *at = tasks->first; at != NULL; at = at->next) {
        if (!is_for(at, guest))
            continue;
        json_open(&out, NULL, '{');
        put(at, &out);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
}
