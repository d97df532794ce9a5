/*
 * The agent's process goes from CHILD_NONE over the setup of its work tree, if that is due, to
 * CHILD_RUNS and CHILD_ENDS and back, as its supervisor reports. A run is over once the supervisor
 * has ended and the pane has taken all output; then the agent starts again if somebody asked for
 * that, or as plan_restart() says, after longer and longer waits.
 */

#include "host/backend.h"
#include "host/state.h"
#include "host/wall.h"

#include "base/time.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/env.h"

enum {
    STEADY_MS = 60000, /* a run this long forgives the failures before it */
    /* restarts after an end before the first answer: agents of a team that start at the same time
     * may be in each other's way, as in a database that they share */
    EARLY_LIMIT = 1,
    AT_ONCE_MS = 5000, /* the note of an end this soon has the last lines */
    RESTART_MAX_MS = 60000,
    PANE_ROOM = 1024, /* bytes for the message about an end */
};

/* Limits the time for which an agent on pipes is waited for after its input was closed, as its
 * preset says. */
static int limit_hangup(const struct host *host, int hangup_ms)
{
    return host->backend->piped && hangup_ms > host->preset->end_ms ? host->preset->end_ms
                                                                    : hangup_ms;
}

struct supervisor_times child_times(const struct host *host)
{
    int hangup_ms = config_number(&host->config, SETTING_HANGUP);

    return (struct supervisor_times){.hangup_ms = limit_hangup(host, hangup_ms),
                                     .terminate_ms =
                                         config_number(&host->config, SETTING_TERMINATE)};
}

void child_describe_end(const struct child *child, char *buf, size_t size)
{
    if (child->overused[0] != '\0')
        (void)snprintf(buf, size, "ended: %s", child->overused);
    else if (child->signal != 0)
        (void)snprintf(buf, size, "%s by signal %d (%s)",
                       child->rest == AGENT_CRASHED ? "was killed" : "ended", child->signal,
                       strsignal(child->signal));
    else if (child->exit_code >= 0)
        (void)snprintf(buf, size, "exited with code %d", child->exit_code);
    else
        (void)snprintf(buf, size, "could not be started");
}

/* Ends a start that has failed, for the pane, the queue and the clients that wait for it. */
static void fail_start(struct host *host, const char *why)
{
    struct child *child = &host->child;
    _cleanup_free_ char *words =
        mem_printf("agent %s could not be started: %s; Enter tries again", host->agent->id, why);

    if (host->setup.runs)
        free(setup_finish(host));

    fd_closep(&child->supervisor.fd);
    child->phase = CHILD_NONE;
    child->rest = AGENT_EXITED;
    child->sleeps = false;
    child->exit_code = -1;
    child->signal = 0;
    (void)snprintf(child->note, sizeof child->note, "%s", why);
    host->backend->disconnect(host);
    host->backend->say(host, words);
    host->backend->fail_queue(host, why);
    child->again = false;
    status_started(host, why);
    status_ended(host);
}

static void copy_words(char *const *words, char ***to)
{
    for (char *const *word = words; word != NULL && *word != NULL; word++)
        strv_push(to, *word);
}

/* Adds the login, which no other program of the agent gets. */
static void give_login(struct host *host, char ***env)
{
    struct host_accounts *accounts = &host->accounts;

    accounts->given = accounts->next;
    if (accounts->count == 0)
        return;
    const struct kv *values = &accounts->of[accounts->given]->env;
    for (size_t i = 0; i < values->count; i++) {
        if (values->pairs[i].value[0] != '\0')
            env_put(env, values->pairs[i].key, values->pairs[i].value);
        else
            env_drop(*env, values->pairs[i].key);
    }
}

/* Makes what the agent is started with. The caller releases both vectors. */
static int prepare(struct host *host, char ***argv, char ***env, struct err *err)
{
    copy_words(host->argv, argv);
    copy_words(host->env, env);
    give_login(host, env);
    return host->backend->tell == NULL ? 0 : host->backend->tell(host, argv, env, err);
}

/* Notes that something was started in the present phase. */
static void note_start(struct child *child, int64_t now)
{
    child->pid = 0;
    child->started = now;
    child->asked = false;
    child->ended = false;
    child->cleared = false;
    child->sleeps = false;
    child->delivered = false;
    child->note[0] = '\0';
    child->overused[0] = '\0';
}

/* Starts the agent itself. */
static void launch(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    _cleanup_strv_ char **argv = NULL, **env = NULL;
    struct err err = ERR_INIT;
    int slave = -1;

    if (prepare(host, &argv, &env, &err) == -1) {
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
    struct supervisor_spec spec = {.program = program,
                                   .lease = &host->lease.clock,
                                   .argv = argv,
                                   .env = env,
                                   .times = child_times(host),
                                   .bounds = &host->resources.bounds,
                                   .is_operator = host->is_operator,
                                   .piped = host->backend->piped,
                                   .paused = host->disk.paused};
    _cleanup_walled_ struct walled walled = WALLED_INIT;
    if (host_wall_around(host, true, &spec, &walled, &err) == -1 ||
        host->backend->connect(host, &spec, &slave, &err) == -1 ||
        supervisor_start(&spec, slave, &child->supervisor, &err) == -1) {
        _cleanup_free_ char *why =
            mem_printf("%s%s%s", err.text, err.hint[0] != '\0' ? "; " : "", err.hint);
        fail_start(host, why);
        return;
    }
    host->backend->launched(host, now);
    host->wall.rises = spec.wall_tells;
    child->phase = CHILD_RUNS;
    child->rest = AGENT_EXITED; /* while it ends, it is not what the run before it was */
    note_start(child, now);
    disk_child_starts(host);
}

void child_start(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    struct err err = ERR_INIT;
    bool sets_up = false;

    child->restart_at = -1;
    child->stopped = false;
    if (child->phase != CHILD_NONE) {
        child->again = child->phase == CHILD_ENDS;
        return;
    }
    child->again = false;
    resources_begin(host);
    child->restarts += child->rest != AGENT_ASLEEP;
    if (start_make_unit(host, &err) == -1 ||
        setup_begin(host, child_times(host), now, &sets_up, &err) == -1) {
        fail_start(host, err.text);
        return;
    }
    if (!sets_up) {
        launch(host, now);
        return;
    }
    child->phase = CHILD_SETS_UP;
    note_start(child, now);
    child->rest = AGENT_STARTING;
    (void)snprintf(child->note, sizeof child->note, "runs the setup of its work tree");
}

/* Handles the end of the whole tree of a setup. */
static void finish_setup(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    _cleanup_free_ char *why = setup_finish(host);
    bool again = child->asked && child->again;

    child->phase = CHILD_NONE;
    child->again = false;
    child->pid = 0;
    child->rest = AGENT_EXITED;
    child->note[0] = '\0';
    status_ended(host);
    if (host->leaving)
        return;
    if (again)
        child_start(host, now);
    else if (child->asked)
        host->backend->say(host, "the setup of its work tree was stopped; Enter starts it again");
    else if (why != NULL)
        fail_start(host, why);
    else
        launch(host, now);
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
    if (host->backend->hang_up != NULL && !host->setup.runs)
        host->backend->hang_up(host);
    times.hangup_ms = limit_hangup(host, times.hangup_ms);
    if (host->setup.runs)
        times.hangup_ms = 0; /* it has no input whose end could tell it */
    supervisor_end(&child->supervisor, times, spare);
}

void child_sleep(struct host *host)
{
    host->child.sleeps = true;
    host->child.rest = AGENT_ASLEEP;
    child_end(host, child_times(host), 0, false);
}

void child_wake(struct host *host)
{
    struct child *child = &host->child;

    if (child->rest == AGENT_ASLEEP && child->phase != CHILD_RUNS)
        child_start(host, time_monotonic_ms());
}

/* Puts the last lines of an agent into its note, if nobody asked for its end. */
static void note_end(struct host *host, int64_t now)
{
    struct child *child = &host->child;
    _cleanup_str_ struct str words = STR_INIT;

    str_add(&words, child->overused);
    if (child->overused[0] == '\0' && !child->asked &&
        (child->signal != 0 || child->exit_code != 0 || now - child->started < AT_ONCE_MS))
        host->backend->last_lines(host, sizeof child->note - 1, &words);
    (void)snprintf(child->note, sizeof child->note, "%s", str_text(&words));
}

/* Returns how many restarts in a row the agent may have; -1: it does not start by itself. */
static int restart_limit(const struct host *host, bool early)
{
    const struct preset *preset = host->preset;
    bool crashed = host->child.rest == AGENT_CRASHED && preset->restart_on_crash;
    int limit = preset->restart_limit;

    if (host->backend->queued(host) > 0) /* somebody waits for it */
        return limit > host->backend->asked_limit ? host->backend->asked_limit : limit;
    if (crashed)
        return limit;
    if (!early)
        return -1;
    return limit > EARLY_LIMIT ? EARLY_LIMIT : limit;
}

/* Decides whether the agent starts again by itself, and when. */
static void plan_restart(struct host *host, const struct agent_end *end, int64_t now)
{
    struct child *child = &host->child;
    const struct preset *preset = host->preset;

    if (now - child->started >= STEADY_MS || child->delivered)
        child->failures = 0;
    int limit = restart_limit(host, end->early);
    if (child->asked || host->leaving || limit == -1)
        return;
    if (host->backend->queued(host) > 0 && child->delivered) {
        child->restart_at = now; /* it ends after each message, and the next one starts it */
        return;
    }
    if (child->failures >= limit) {
        host->backend->fail_queue(
            host, end->why != NULL ? end->why : "the agent keeps ending before it takes a message");
        return;
    }
    int64_t delay = preset->restart_delay_ms;
    for (int i = 0; i < child->failures && delay < RESTART_MAX_MS; i++)
        delay *= 2;
    child->failures++;
    child->restart_at = now + (delay < RESTART_MAX_MS ? delay : RESTART_MAX_MS);
}

/* Handles the end of the agent itself. Some of its tree may still run. */
static void handle_end(struct host *host, int status, int64_t now)
{
    struct child *child = &host->child;
    struct agent_end end = {.early = false};
    char how[96];

    child->phase = CHILD_ENDS;
    child->ended = true;
    child->pid = 0;
    if (host->setup.runs) {
        host->setup.status = status;
        return;
    }
    if (host->wall.rises && !child->asked)
        host_wall_fell(host);
    host->wall.rises = false;
    child->signal = proc_end_signal(status);
    child->exit_code = child->signal == 0 ? proc_exit_code(status) : -1;
    if (child->signal == 0 ||
        !resources_describe_end(host, child->overused, sizeof child->overused))
        child->overused[0] = '\0';
    bool crashed = !child->asked && (child->signal != 0 ||
                                     (child->exit_code != 0 && host->preset->restart_on_crash));
    child->rest = crashed ? AGENT_CRASHED : child->sleeps ? AGENT_ASLEEP : AGENT_EXITED;
    child_describe_end(child, how, sizeof how);
    host_log(host, how);
    if (child->sleeps) { /* the status tells nothing of an end that is none */
        child->signal = 0;
        child->exit_code = -1;
    }
    if (host->backend->ended != NULL)
        host->backend->ended(host, how, &end);
    note_end(host, now); /* the backend has read the agent's last output by now */
    plan_restart(host, &end, now);
}

/* Prints how the agent ended and what comes next. */
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

/* Ends a run: the whole tree has ended and all output is read. */
static void finish(struct host *host, int64_t now)
{
    struct child *child = &host->child;

    child->phase = CHILD_NONE;
    child->pid = 0;
    if (host->backend->queued(host) > 0 && child->restart_at == -1 && !child->asked &&
        !host->leaving)
        child->restart_at = now; /* a message came while the tree was ending */
    host->backend->disconnect(host);
    if (!child->again && !host->leaving && !child->sleeps)
        print_end(host, now);
    status_ended(host);
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

static bool drain(struct host *host)
{
    return host->setup.runs || host->backend->drain == NULL || host->backend->drain(host);
}

void child_serve(struct host *host, int64_t now)
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
            resources_started(host, report.status);
            if (child->phase == CHILD_SETS_UP)
                status_started(host, NULL);
            if (child->phase == CHILD_RUNS) { /* nobody has ended it meanwhile */
                if (host->backend->begin != NULL)
                    host->backend->begin(host);
                status_started(host, NULL);
            }
            break;
        case SUPERVISOR_PROGRAM:
            host->wall.rises = false;
            child->pid = child->ended ? 0 : report.pid;
            break;
        case SUPERVISOR_NETWORK_LOST:
            host_wall_lost_network(host);
            break;
        case SUPERVISOR_FAILED:
            fail_start(host, strerror(report.status));
            break;
        case SUPERVISOR_ENDED:
            (void)drain(host); /* the note of its end needs its last lines */
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

/* Ends the run after the supervisor has ended, once the pane has taken all that the agent printed.
 */
static void tick_gone(struct host *host, int64_t now)
{
    enum { KILLED = SIGKILL }; /* as a wait status: ended by this signal */
    struct child *child = &host->child;

    if (!child->cleared) { /* it was killed, and its children are this process's now */
        host_sweep(host);
        child->cleared = true;
    }
    if (!child->ended) {
        handle_end(host, KILLED, now);
        if (!child->again) /* who waits for a start that never came */
            status_started(host, "its supervisor was killed");
    }
    if (!drain(host) || !pane_has_room(&host->pane.out, PANE_ROOM))
        return;
    child->gone = false;
    if (host->setup.runs)
        finish_setup(host, now);
    else
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
