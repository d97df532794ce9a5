/*
 * The process knows nothing that the entry does not say, and reads that anew in each turn: so --off
 * and a pause count at once, and a kill loses nothing. Before each step, find_given() records a
 * prompt that was given just before a kill; the store has it by its tag. A step that fails says so
 * in the entry and is taken again. The process of an errand is found by its environment, whoever
 * began it.
 */

#include "session/errand/errand.h"

#include "base/env.h"
#include "base/time.h"
#include "memory/store.h"
#include "model/notice.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/env.h"
#include "session/notice.h"
#include "store/workspace.h"

enum {
    AGAIN_MS = 60000, /* after a step that failed */
    END_MS = 5000, /* for a process to end */
};

#define MARK "MAS_ERRAND" /* the variable with its number */
#define LATE "its time is up"

static char *lock_name(int64_t number)
{
    return mem_printf("%" PRId64 WORKSPACE_ERRAND_LOCK, number);
}

/* ---- the agent */

static bool on_status(struct host_call *call, const struct frame *reply, void *arg)
{
    (void)roster_keep_status(call, reply, arg);
    return false;
}

/* Waits for a change of the agent, at most wait_ms (-1: any time). */
static void await(struct due *due, int wait_ms)
{
    if (due->roster.count == 0)
        (void)loop_wait_for(-1, 0, wait_ms);
    else
        (void)hosts_step(due->roster.calls, 1, wait_ms, on_status, &due->roster);
}

/* Follows the agent that the entry names. Returns 1, or 0 if it has no host. */
static int meet(struct due *due, struct err *err)
{
    struct roster *roster = &due->roster;
    int64_t end = time_monotonic_ms() + DUE_MS, left = 0;

    if (roster->count == 1 && roster->calls[0].answer == HOST_PENDING && roster->agents[0].told &&
        strcmp(roster->agents[0].agent->id, due->entry->agent) == 0)
        return 1;
    if (due_ask(due, "{\"do\":\"watch\"}", true, err) == -1)
        return -1;
    while (roster->calls[0].answer == HOST_PENDING && !roster->agents[0].told &&
           (left = end - time_monotonic_ms()) > 0)
        await(due, (int)left);
    if (roster->agents[0].told || !roster_listens(roster, 0))
        return roster->agents[0].told;
    return roster_failure(roster, 0, "follow", err);
}

/* ---- for a step */

int errand_goes(const struct errand *errand, struct err *err)
{
    return due_goes(&errand->due, err);
}

int errand_keep(struct errand *errand, struct err *err)
{
    return due_keep(&errand->due, false, err);
}

/* Records a round whose prompt the agent has. */
static int record(struct errand *errand, struct err *err)
{
    struct every_entry *entry = errand->due.entry;

    entry->ran_ms = entry->given_ms;
    entry->given_ms = 0;
    entry->runs++;
    due_set_why(entry, "");
    if (errand_keep(errand, err) == -1)
        return -1;
    _cleanup_free_ char *what = mem_printf("given round=%" PRId64, entry->runs);
    due_note(&errand->due, what);
    return 0;
}

static bool take_number(const struct store_item *item, void *arg)
{
    *(int64_t *)arg = item->number;
    return false;
}

/* Records a prompt that was given before a kill could be. */
static int find_given(struct errand *errand, struct err *err)
{
    const struct due *due = &errand->due;
    _cleanup_free_ char *tag = due_tag(due->entry);
    const struct store_filter filter = {.agent = due->entry->agent, .tag = tag, .limit = 1};
    _cleanup_store_ struct store *store = NULL;
    int64_t number = 0;

    if (due->entry->given_ms == 0 || !store_had_talks(due->dir, NULL))
        return 0;
    if (store_open(due->dir, due->id, NULL, false, &store, err) == -1 ||
        store_read(store, &filter, take_number, &number, err) == -1)
        return -1;
    if (number == 0)
        return 0;
    due->entry->prompt = number;
    return record(errand, err);
}

static bool is_late(const struct every_entry *entry)
{
    return entry->until_ms != 0 && time_epoch_ms() >= entry->until_ms;
}

int errand_give(struct errand *errand, const char *text, struct err *err)
{
    struct every_entry *entry = errand->due.entry;
    bool unknown = false;

    if (is_late(entry))
        return errand_over(errand, "time", false, LATE, err);
    if (entry->given_ms == 0)
        entry->given_ms = time_epoch_ms();
    if (errand_keep(errand, err) == -1)
        return -1;
    int runs = meet(&errand->due, err);
    if (runs == 0)
        return err_set(err, MAS_CONFLICT, "agent '%s' has no host", entry->agent);
    return runs == -1 || due_give(&errand->due, text, &unknown, err) == -1 ? -1
                                                                           : record(errand, err);
}

void errand_tell(const struct errand *errand, bool well, const char *what)
{
    const struct due *due = &errand->due;
    _cleanup_free_ char *text =
        mem_printf("%s %" PRId64 ": %s", every_kind_name(due->entry), due->entry->number, what);
    _cleanup_str_ struct str line = STR_INIT;
    struct json_out out = {.to = &line};
    struct err ignored = ERR_INIT;
    struct notice notice;

    due_note(due, what);
    notice_fill(well ? NOTICE_DONE : NOTICE_FAILED, time_epoch_ms(), text, &notice);
    notice_put(&notice, &out);
    str_addc(&line, '\n');
    (void)notice_deliver(due->tick->root, due->tick->config, due->id, due->entry->agent, "",
                         str_text(&line), &ignored);
}

int errand_over(struct errand *errand, const char *word, bool well, const char *why,
                struct err *err)
{
    struct every_entry *entry = errand->due.entry;
    _cleanup_free_ char *what = mem_printf("over %s%s%s", word, why[0] != '\0' ? ": " : "", why);

    free(entry->over);
    entry->over = mem_dup(word);
    entry->given_ms = 0;
    due_set_why(entry, why);
    if (errand_keep(errand, err) == -1)
        return -1;
    errand_tell(errand, well, what);
    return 0;
}

/* ---- the process */

/* Reads the entry anew. Returns 1 if the errand goes on. */
static int load(struct errand *errand, int64_t number, struct err *err)
{
    every_free(&errand->every);
    errand->due.entry = NULL;
    if (every_read(errand->due.dir, &errand->every, err) == -1)
        return -1;
    errand->due.entry = every_find(&errand->every, number);
    return errand->due.entry != NULL && every_goes_on(errand->due.entry);
}

static int step(struct errand *errand, const struct errand_kind *kinds, size_t count, int *ret_wait,
                struct err *err)
{
    const struct every_entry *entry = errand->due.entry;

    errand->due.now_ms = time_epoch_ms();
    if (find_given(errand, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (kinds[i].kind == entry->kind)
            return kinds[i].step(errand, ret_wait, err);
    return err_set(err, MAS_FAILED, "this mas does not know this kind of errand");
}

/* Returns true if it goes on. */
static bool turn(struct errand *errand, int64_t number, const struct errand_kind *kinds,
                 size_t count)
{
    struct err why = ERR_INIT;
    int wait_ms = -1;

    int rc = load(errand, number, &why);
    if (rc == 1 && is_late(errand->due.entry))
        rc = errand_over(errand, "time", false, LATE, &why);
    else if (rc == 1)
        rc = meet(&errand->due, &why);
    if (rc == 0)
        return false;
    if (rc == -1 || step(errand, kinds, count, &wait_ms, &why) == -1) {
        if (errand->due.entry != NULL)
            due_failed(&errand->due, why.text);
        if (rc == -1) /* await() would not wait for a host that has hung up */
            roster_free(&errand->due.roster);
        wait_ms = AGAIN_MS;
    } else if (errand->due.entry->kind == EVERY_GOAL && errand->due.entry->over[0] == '\0' &&
               errand->due.entry->why[0] != '\0') {
        due_set_why(errand->due.entry, ""); /* what has failed before works again */
        (void)due_keep(&errand->due, false, &why);
    }
    int64_t until = errand->due.entry != NULL ? errand->due.entry->until_ms : 0;
    int64_t left = until - time_epoch_ms();
    if (until != 0 && left <= 0)
        wait_ms = rc == 1 ? 0 : AGAIN_MS;
    else if (until != 0 && (wait_ms < 0 || left < wait_ms))
        wait_ms = left < INT_MAX ? (int)left : INT_MAX;
    await(&errand->due, wait_ms);
    return true;
}

int errand_run(const struct tick *tick, const char *id, int64_t number,
               const struct errand_kind *kinds, size_t count, struct err *err)
{
    _cleanup_close_ int dir = workspace_open(tick->root, id);
    _cleanup_close_ int run = dir == -1 ? -1 : path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_free_ char *name = lock_name(number);
    _cleanup_close_ int lock = -1;
    struct errand errand = {.due = {.tick = tick, .roster = ROSTER_INIT, .dir = dir, .id = id},
                            .every = EVERY_INIT};

    if (run == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (file_lock(run, name, LOCK_TRY, "errand", &lock, err) == -1)
        return err->code == MAS_CONFLICT ? 0 : -1;
    while (turn(&errand, number, kinds, count))
        ;
    if (errand.due.entry == NULL || !every_goes_on(errand.due.entry))
        (void)unlinkat(run, name, 0);
    roster_free(&errand.due.roster);
    every_free(&errand.every);
    return 0;
}

/* ---- for commands */

/* Returns the environment of the process. The caller releases it. */
static char **make_env(const struct tick *tick, int dir, const char *id,
                       const struct every_entry *entry)
{
    _cleanup_free_ char *place = workspace_path(tick->root, id, NULL);
    _cleanup_free_ char *number = mem_printf("%" PRId64, entry->number);
    struct err ignored = ERR_INIT;
    char **env = NULL;

    if (every_env(dir, &env, &ignored) == -1 || env == NULL)
        env = env_handed_on(tick->config);
    env_put(&env, "MAS_ROOT", tick->root->path);
    env_put(&env, "MAS_SESSION_ID", id);
    env_put(&env, "MAS_SESSION_DIR", place);
    env_put(&env, "MAS_AGENT_ID", entry->agent);
    env_put(&env, MARK, number);
    return env;
}

int errand_begin(const struct tick *tick, int dir, const char *id, const struct every_entry *entry,
                 struct err *err)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    _cleanup_free_ char *name = lock_name(entry->number);
    _cleanup_free_ char *number = mem_printf("%" PRId64, entry->number);
    _cleanup_strv_ char **env = make_env(tick, dir, id, entry);
    const char *const argv[] = {"mas", "--root", tick->root->path, "errand", id, number, NULL};
    const int fds[] = {null, null, null};

    if (run != -1 && file_is_locked(run, name))
        return 0;
    const struct proc_session spec = {.fds = fds,
                                      .fd_count = ARRAY_LEN(fds),
                                      .file = tick->exe,
                                      .argv = (char *const *)(uintptr_t)argv,
                                      .envp = env};
    if (null == -1 || proc_start_session(&spec) == -1)
        return err_errno(err, "cannot start '%s'", tick->exe);
    return 0;
}

int errand_begin_all(const struct root *root, const struct config *config, const char *id,
                     struct err *err)
{
    _cleanup_every_ struct every every = EVERY_INIT;
    _cleanup_close_ int dir = workspace_open(root, id);
    _cleanup_free_ char *exe = path_exe();
    const struct tick tick = {.root = root, .config = config, .exe = exe};

    if (dir == -1 || exe == NULL)
        return err_errno(err, "cannot begin its errands");
    if (every_read(dir, &every, err) == -1)
        return -1;
    for (size_t i = 0; i < every.count; i++)
        if (every_goes_on(&every.at[i]) && errand_begin(&tick, dir, id, &every.at[i], err) == -1)
            return -1;
    return 0;
}

int errand_tick(struct due *due, bool now, struct err *err)
{
    struct every_entry *entry = due->entry;
    bool live = false;

    if (now && entry->over[0] != '\0')
        return err_set(err, MAS_CONFLICT, "it is over: %s", entry->over);
    if (now && entry->paused) {
        entry->paused = false;
        if (due_keep(due, false, err) == -1)
            return -1;
    }
    if (!every_goes_on(entry))
        return 0;
    /* the next one acts at once */
    if (now && (entry->kind == EVERY_WATCH || every_has_failed(entry)))
        errand_end(due->tick->root, entry->number);
    if (hosts_live(due->dir, &live, err) == -1)
        return -1;
    if (live)
        return errand_begin(due->tick, due->dir, due->id, entry, err);
    return now ? err_set(err, MAS_CONFLICT, "the session does not run") : 0;
}

static bool is_same(const char *value, void *arg)
{
    return strcmp(value, arg) == 0;
}

void errand_end(const struct root *root, int64_t number)
{
    _cleanup_free_ char *entry = mem_printf(MARK "=%" PRId64, number);
    const struct proc_query query = {
        .entry = entry, .key = "MAS_ROOT", .accepts = is_same, .arg = root->path};
    _cleanup_free_ struct proc_id *ids = NULL;
    struct err ignored = ERR_INIT;
    size_t count = 0;

    if (proc_find_by_env(&query, &ids, &count, &ignored) == -1)
        return;
    for (size_t i = 0; i < count; i++)
        proc_signal(&ids[i], SIGTERM);
    (void)proc_wait_gone(ids, count, END_MS);
}
