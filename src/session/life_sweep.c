/* The part of session/life.h that ends the remaining processes of a team. */
#include "base/proc.h"
#include "base/time.h"
#include "session/life_internal.h"
#include "store/workspace.h"

enum { KILL_WAIT_MS = 5000 };

/* MAS_ROOT of a process with a session's id: another root may have a session with that id. */
struct process_claim {
    const struct root *root;
    const char *id;
};

static bool is_ours(const char *claimed, void *arg)
{
    const struct process_claim *claim = arg;
    return workspace_is_ours(claim->root, claim->id, claimed);
}

static bool is_same(const char *value, void *arg)
{
    return strcmp(value, arg) == 0;
}

/* Lists the selected processes. */
static int find_processes(const struct life *life, const struct life_hunt *hunt,
                          struct proc_id **ret, size_t *ret_count, struct err *err)
{
    _cleanup_free_ char *entry = hunt->agent != NULL ? mem_printf("MAS_AGENT_ID=%s", hunt->agent)
                                                     : mem_printf("MAS_SESSION_ID=%s", hunt->id);
    _cleanup_free_ char *dir = workspace_path(life->root, hunt->id, NULL);
    struct process_claim claim = {.root = life->root, .id = hunt->id};
    struct proc_query query = {.entry = entry,
                               .with_ancestors = hunt->inside,
                               .key = "MAS_ROOT",
                               .accepts = is_ours,
                               .arg = &claim};
    if (hunt->agent != NULL) {
        query.key = "MAS_SESSION_DIR";
        query.accepts = is_same;
        query.arg = dir;
    }
    return proc_find_by_env(&query, ret, ret_count, err);
}

bool life_has_leftovers(const struct life *life, const char *id)
{
    const struct life_hunt hunt = {.id = id};
    struct proc_id *ids = NULL;
    size_t count = 0;
    struct err ignored = ERR_INIT;

    (void)find_processes(life, &hunt, &ids, &count, &ignored);
    free(ids);
    return count > 0;
}

int life_await_gone(const struct life *life, const char *id, const char *agent, int timeout_ms,
                    bool *ret_gone, struct err *err)
{
    const struct life_hunt hunt = {.id = id, .agent = agent};
    int64_t end = time_monotonic_ms() + timeout_ms;
    int left;

    do { /* the next round waits for processes forked meanwhile */
        struct proc_id *ids = NULL;
        size_t count = 0;
        if (find_processes(life, &hunt, &ids, &count, err) == -1)
            return -1;
        int64_t ms = end - time_monotonic_ms();
        left = timeout_ms < 0 ? -1 : ms > 0 ? (int)ms : 0;
        *ret_gone = count == 0;
        if (count > 0)
            (void)proc_wait_gone(ids, count, left);
        free(ids);
    } while (!*ret_gone && left != 0);
    return 0;
}

int life_hunt_down(const struct life *life, const struct life_hunt *hunt, int hangup_ms,
                   struct life_end *end, struct err *err)
{
    const struct {
        int sig; /* 0: only wait */
        int wait_ms;
    } steps[] = {{0, hangup_ms},
                 {SIGTERM, config_number(life->config, SETTING_TERMINATE)},
                 {SIGKILL, KILL_WAIT_MS},
                 {SIGKILL, KILL_WAIT_MS}, /* processes forked while the others were killed */
                 {SIGKILL, KILL_WAIT_MS}};

    for (size_t i = 0;; i++) {
        struct proc_id *ids = NULL;
        size_t count = 0;
        if (find_processes(life, hunt, &ids, &count, err) == -1)
            return -1;
        bool last = i == ARRAY_LEN(steps);
        for (size_t j = 0; !last && steps[i].sig != 0 && j < count; j++)
            proc_signal(&ids[j], steps[i].sig);
        if (!last && count > 0)
            (void)proc_wait_gone(ids, count, steps[i].wait_ms);
        free(ids);
        if (count == 0)
            return 0;
        if (last)
            return err_set(err, MAS_FAILED,
                           "cannot end session '%s': %zu of its processes survive SIGKILL",
                           session_label(life->root, hunt->id).text, count);
        if (steps[i].sig == SIGTERM)
            end->terminated += count;
        if (steps[i].sig == SIGKILL)
            end->killed += count;
    }
}

int life_sweep(const struct life *life, const char *id, struct err *err)
{
    const struct life_hunt hunt = {.id = id};
    struct life_end end = {.was = false};
    return life_hunt_down(life, &hunt, 0, &end, err);
}

int life_end_agent(const struct life *life, const char *id, const char *agent, struct err *err)
{
    const struct life_hunt hunt = {.id = id, .agent = agent};
    struct life_end end = {.was = false};
    return life_hunt_down(life, &hunt, 0, &end, err);
}
