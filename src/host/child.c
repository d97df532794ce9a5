#include "host/backend.h"
#include "host/state.h"

#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/time.h"
#include "session/env.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    STEADY_MS = 60000, /* a run so long forgives the failures before it */
    EARLY_LIMIT = 1, /* of one that ended before its first answer: those of a team that begin at
                        once may be in each other's way, as in a database that they share */
    AT_ONCE_MS = 5000, /* an end so soon is told with its last lines */
    RESTART_MAX_MS = 60000,
    PANE_ROOM = 1024, /* for what is said of an end */
};

/* For an agent on pipes this is the time that it has to go by itself, which its preset limits. */
static int limit_hangup(const struct host *host, int hangup_ms)
{
    return host->backend->piped && hangup_ms > host->preset->end_ms ? host->preset->end_ms
                                                                    : hangup_ms;
}

struct supervisor_times child_times(const struct host *host)
{
    int hangup_ms = config_ms(&host->config, SETTING_HANGUP);

    return (struct supervisor_times){.hangup_ms = limit_hangup(host, hangup_ms),
                                     .terminate_ms = config_ms(&host->config, SETTING_TERMINATE)};
}

void child_describe_end(const struct child *child, char *buf, size_t size)
{
    if (child->signal != 0)
        (void)snprintf(buf, size, "%s by signal %d (%s)",
                       child->rest == AGENT_CRASHED ? "was killed" : "ended", child->signal,
                       strsignal(child->signal));
    else if (child->exit_code >= 0)
        (void)snprintf(buf, size, "exited with code %d", child->exit_code);
    else
        (void)snprintf(buf, size, "could not be started");
}

static void fail_start(struct host *host, const char *why)
{
    struct child *child = &host->child;
    _cleanup_free_ char *words =
        mem_printf("agent %s could not be started: %s; Enter tries again", host->agent->id, why);

    fd_closep(&child->supervisor.fd);
    child->phase = CHILD_NONE;
    child->rest = AGENT_EXITED;
    child->exit_code = -1;
    child->signal = 0;
    (void)snprintf(child->note, sizeof child->note, "%s", why);
    host->backend->disconnect(host);
    host->backend->say(host, words);
    host->backend->fail_queue(host, why);
    child->again = false;
    request_started(host, why);
    request_ended(host);
}

void child_start(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    struct err err = ERR_INIT;
    int slave = -1;

    child->restart_at = -1;
    child->stopped = false;
    if (child->phase != CHILD_NONE) {
        child->again = child->phase == CHILD_ENDS;
        return;
    }
    child->again = false;
    child->restarts += child->rest != AGENT_ASLEEP;
    if (start_make_unit(host, &err) == -1) {
        fail_start(host, err.text);
        return;
    }
    _cleanup_free_ char *program =
        path_find_program(host->argv[0], env_get(host->env, "PATH"), AT_FDCWD);
    if (program == NULL) {
        _cleanup_free_ char *why = mem_printf("there is no program '%s'", host->argv[0]);
        fail_start(host, why);
        return;
    }
    struct supervisor_spec spec = {
        .program = program, .argv = host->argv, .env = host->env, .times = child_times(host)};
    spec.piped = host->backend->piped;
    spec.is_operator = host->is_operator;
    if (host->backend->connect(host, &spec, &slave, &err) == -1 ||
        supervisor_start(&spec, slave, &child->supervisor, &err) == -1) {
        fail_start(host, err.text);
        return;
    }
    watcher_free(&host->watcher);
    watcher_start(&host->watcher, host->preset, now);
    child->phase = CHILD_RUNS;
    child->pid = 0;
    child->started = now;
    child->asked = false;
    child->ended = false;
    child->cleared = false;
    child->delivered = false;
    child->note[0] = '\0';
}

void child_end(struct host *host, struct supervisor_times times, pid_t spare, bool again)
{
    struct child *child = &host->child;

    child->restart_at = -1;
    child->again = again;
    if (child->phase == CHILD_NONE)
        return;
    child->asked = true;
    child->phase = CHILD_ENDS;
    host->backend->hang_up(host);
    times.hangup_ms = limit_hangup(host, times.hangup_ms);
    supervisor_end(&child->supervisor, times, spare);
}

/* Says that an agent came to its end, and why, where that is not what somebody asked for. */
static void note_end(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    _cleanup_str_ struct str words = STR_INIT;

    if (!child->asked &&
        (child->signal != 0 || child->exit_code != 0 || now - child->started < AT_ONCE_MS))
        watcher_last_lines(&host->watcher, sizeof child->note - 1, &words);
    (void)snprintf(child->note, sizeof child->note, "%s", str_text(&words));
}

/* How many restarts in a row its end is worth; -1: it is not to come back. */
static int restart_limit(const struct host *host, bool early)
{
    const struct preset *preset = host->preset;
    bool crashed = host->child.rest == AGENT_CRASHED && preset->restart_on_crash;
    int limit = preset->restart_limit;

    if (host->backend->queued(host) > 0) /* somebody has written to it */
        return limit > host->backend->asked_limit ? host->backend->asked_limit : limit;
    if (crashed)
        return limit;
    if (!early)
        return -1;
    return limit > EARLY_LIMIT ? EARLY_LIMIT : limit;
}

/* Whether, and when, it is to come back by itself. `early`: it ended before its first answer. */
static void plan_restart(struct host *host, bool early, int64_t now)
{
    struct child *child = &host->child;
    const struct preset *preset = host->preset;

    if (now - child->started >= STEADY_MS || child->delivered)
        child->failures = 0;
    int limit = restart_limit(host, early);
    if (child->asked || host->leaving || limit == -1)
        return;
    if (host->backend->queued(host) > 0 && child->delivered) {
        child->restart_at = now; /* it took one message and ended; the next one starts it */
        return;
    }
    if (child->failures >= limit) {
        const char *trouble = host->backend->trouble(host);
        host->backend->fail_queue(
            host, trouble != NULL ? trouble : "the agent ends each time before it takes a message");
        return;
    }
    int64_t delay = preset->restart_delay_ms;
    for (int i = 0; i < child->failures && delay < RESTART_MAX_MS; i++)
        delay *= 2;
    child->failures++;
    child->restart_at = now + (delay < RESTART_MAX_MS ? delay : RESTART_MAX_MS);
}

/* The agent itself has ended; its tree may not have. */
static void handle_end(struct host *host, int status, int64_t now)
{
    struct child *child = &host->child;
    char how[96];

    child->phase = CHILD_ENDS;
    child->ended = true;
    child->pid = 0;
    child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    child->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool crashed = !child->asked && (child->signal != 0 ||
                                     (child->exit_code != 0 && host->preset->restart_on_crash));
    child->rest = crashed ? AGENT_CRASHED : AGENT_EXITED;
    child_describe_end(child, how, sizeof how);
    host_log(host, how);
    bool early = host->backend->ended(host, how);
    note_end(host, now); /* the backend has read the agent's last output by now */
    plan_restart(host, early, now);
}

/* Prints how it ended and what comes next. */
static void print_end(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    _cleanup_str_ struct str words = STR_INIT;
    char how[96];

    child_describe_end(child, how, sizeof how);
    str_addf(&words, "agent %s %s", host->agent->id, how);
    if (child->restart_at != -1)
        str_addf(&words, "; it starts again in %lld s, or with Enter",
                 (long long)(child->restart_at - now + 999) / 1000);
    else
        str_addf(&words, "; %s", host->backend->next_start);
    host->backend->say(host, words.data);
}

/* Nothing of it is left: its last output is taken, and the pane is itself again. */
static void finish(struct host *host, int64_t now)
{
    struct child *child = &host->child;

    child->phase = CHILD_NONE;
    child->pid = 0;
    if (host->backend->queued(host) > 0 && child->restart_at == -1 && !child->asked &&
        !host->leaving)
        child->restart_at = now; /* written to while its tree was being cleared */
    host->backend->disconnect(host);
    if (!child->again && !host->leaving)
        print_end(host, now);
    request_ended(host);
    if (child->again && !host->leaving)
        child_start(host, now);
}

bool child_retry(struct host *host, int64_t now)
{
    struct child *child = &host->child;

    if (child->failures >= EARLY_LIMIT || child->failures >= host->preset->restart_limit)
        return false;
    child_end(host, child_times(host), 0, false);
    child->failures++;
    child->restart_at = now + host->preset->restart_delay_ms;
    return true;
}

void child_news(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    struct supervisor_report report;

    for (;;) {
        supervisor_read(&child->supervisor, &report);
        switch (report.news) {
        case SUPERVISOR_NOTHING:
            return;
        case SUPERVISOR_RUNS:
            child->pid = report.pid;
            if (child->phase == CHILD_RUNS) { /* and is not to end at once */
                host->backend->begin(host);
                request_started(host, NULL);
            }
            break;
        case SUPERVISOR_FAILED:
            fail_start(host, strerror(report.status));
            break;
        case SUPERVISOR_ENDED:
            (void)host_drain(host); /* its last words, for the note */
            handle_end(host, report.status, now);
            break;
        case SUPERVISOR_CLEAR:
            child->clear = report;
            child->cleared = true;
            break;
        case SUPERVISOR_GONE:
        default:
            child->gone = true;
            return;
        }
    }
}

/* The supervisor has gone: finishes once the pane has taken all that the agent printed. */
static void tick_gone(struct host *host, int64_t now)
{
    enum { KILLED = SIGKILL }; /* a wait status: ended by this signal */
    struct child *child = &host->child;

    if (!child->cleared) { /* it was killed, and what it kept is ours now */
        supervisor_sweep();
        child->cleared = true;
    }
    if (!child->ended)
        handle_end(host, KILLED, now);
    if (!host_drain(host) || !terminal_has_room_for(&host->terminal.to_pane, PANE_ROOM))
        return;
    child->gone = false;
    finish(host, now);
}

int64_t child_tick(struct host *host, int64_t now)
{
    struct child *child = &host->child;

    if (child->gone)
        tick_gone(host, now);
    if (child->restart_at == -1 || child->phase != CHILD_NONE)
        return -1;
    if (now < child->restart_at)
        return child->restart_at;
    child_start(host, now);
    return -1;
}
