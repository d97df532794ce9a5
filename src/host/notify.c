/*
 * Notices of changes that a person wants to be told of. A child process, `mas notify`, delivers
 * them, because the host waits for no program and no network. It gets all notices that have come
 * since the one before it began, so that one that hangs delays the next ones, never the host.
 */

#include "base/json.h"
#include "base/time.h"
#include "host/state.h"
#include "model/setting.h"

enum {
    WAITING_MAX = 1000, /* notices that wait; what comes beyond is counted and dropped */
    DELIVERY_MS = 10 * 60 * 1000, /* `mas notify` has shorter limits for each of its programs */
};

static bool has_way(const struct config *config)
{
    return config_yes(config, SETTING_NOTIFY_TERMINAL) ||
           config_yes(config, SETTING_NOTIFY_DESKTOP) ||
           config_text(config, SETTING_NOTIFY_COMMAND)[0] != '\0' ||
           config_text(config, SETTING_NOTIFY_WEBHOOK)[0] != '\0';
}

void notify_open(struct host *host)
{
    struct host_notify *notify = &host->notify;

    if (has_way(&host->config))
        notify->kinds = (unsigned)config_number(&host->config, SETTING_NOTIFY_ON);
    notify->done_ms = config_number(&host->config, SETTING_NOTIFY_DONE_AFTER);
}

void notify_close(struct host *host)
{
    if (host->notify.runs)
        proc_abandon(&host->notify.proc);
    host->notify.runs = false;
    str_free(&host->notify.waiting);
}

void notify_add(struct host *host, const struct notice *notice)
{
    struct host_notify *notify = &host->notify;
    struct json_out out = {.to = &notify->waiting};

    if ((notify->kinds & 1U << notice->kind) == 0)
        return;
    if (notify->count == WAITING_MAX) {
        if (notify->dropped++ == 0)
            host_log(host, "too many notifications wait; the next ones are dropped");
        return;
    }
    notify->count++;
    json_open(&out, NULL, '{');
    notice_put(notice, &out);
    json_close(&out, '}');
    str_addc(&notify->waiting, '\n');
}

void notify_changed(struct host *host, const struct agent_status *now, bool told)
{
    struct notice notice;

    if (host->notify.kinds == 0 || host->leaving)
        return;
    bool asked_end = host->child.asked && now->state == AGENT_EXITED;
    if (notice_of_change(&host->notify.before, now, time_epoch_ms(), host->notify.done_ms,
                         &notice) &&
        !asked_end && !told)
        notify_add(host, &notice);
}

void notify_failed(struct host *host, const char *why)
{
    struct notice notice;
    bool crashed = host->child.ended && host->child.rest == AGENT_CRASHED;

    if (host->leaving || (crashed && (host->notify.kinds & 1U << NOTICE_CRASHED) != 0))
        return;
    notice_fill(NOTICE_FAILED, time_epoch_ms(), why, &notice);
    notify_add(host, &notice);
}

/* The agent's environment without what marks its processes: they end with it, and what they ask of
 * mas is asked as the agent. */
static char **make_env(const struct host *host)
{
    static const char *const marks[] = {"MAS_SESSION_ID=", "MAS_AGENT_ID="};
    char **env = NULL;

    for (char **e = host->env; *e != NULL; e++) {
        bool marked = false;
        for (size_t i = 0; i < ARRAY_LEN(marks); i++)
            marked = marked || str_starts(*e, marks[i]);
        if (!marked)
            strv_push(&env, *e);
    }
    return env;
}

static void begin(struct host *host)
{
    struct host_notify *notify = &host->notify;
    _cleanup_strv_ char **env = make_env(host);
    const char *argv[] = {"mas", "notify", host->session.id, host->agent->id, host->pane_id, NULL};
    struct err err = ERR_INIT;
    const struct proc_spec spec = {
        .envp = env,
        .input = notify->waiting.data,
        .input_len = notify->waiting.len,
        .timeout_ms = DELIVERY_MS,
    };

    notify->runs = host_start_own("mas notify", argv, &spec, &notify->proc, &err) == 0;
    if (!notify->runs)
        host_log(host, err.text);
    str_clear(&notify->waiting);
    notify->count = 0;
    notify->dropped = 0;
}

int64_t notify_tick(struct host *host, int64_t now)
{
    struct host_notify *notify = &host->notify;

    if (notify->runs && now >= notify->proc.deadline) {
        proc_abandon(&notify->proc);
        notify->runs = false;
        host_log(host, "notifications take too long; mas gave up");
    }
    if (!notify->runs && notify->count > 0)
        begin(host);
    return notify->runs ? notify->proc.deadline : -1;
}

void notify_want(const struct host *host, struct loop *loop)
{
    if (host->notify.runs)
        loop_want(loop, host->notify.proc.end_fd, POLLIN);
}

void notify_serve(struct host *host, struct loop *loop)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err err = ERR_INIT;

    if (!host->notify.runs || loop_got(loop, host->notify.proc.end_fd) == 0)
        return;
    host->notify.runs = false;
    if (host_finish_own(&host->notify.proc, &result, &err) == -1)
        host_log(host, err.text);
}
