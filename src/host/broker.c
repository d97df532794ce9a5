/*
 * Runs the agent's own commands of mas: the agent, which may stand behind a wall, has a socket
 * (MAS_SOCKET), on which `mas send` and others hand over their words and their standard files. Who
 * connects there is the agent, whatever it says.
 *
 * The host only looks at how a request begins. What a hook of the agent's program tells, it reads
 * itself, for the agent's backend. Of a command it neither reads the connection nor touches the
 * descriptors that come with it, which may block: it makes a supervisor for each connection. That
 * one reads the request, runs `mas` outside, below itself, so that other hosts see by their peer
 * whose command it is, and answers with its exit code. When the client hangs up, or the host ends,
 * so does the command and all that it has started. The rules are in cli/brokered.h: `mas` itself
 * knows its options best.
 *
 * A command with OPENS_NO_DATABASE saves the start of a program: it goes on in the host's program
 * after the fork. So it must not open a database, since SQLite is not to be taken across a fork.
 */
#include "host/backend.h"
#include "host/state.h"

#include "base/time.h"
#include "os/path.h"
#include "os/sock.h"
#include "protocol/hook.h"
#include "session/env.h"
#include "store/workspace.h"

#include <sys/socket.h>

enum {
    REQUEST_MS = 5000, /* time for a client to send its request */
    SILENT_MS = 100, /* the same while too many have connected and said nothing */
    FULL_MS = 2000, /* how long clients wait for others to end before they are refused */
    TERMINATE_MS = 2000, /* time between SIGTERM and SIGKILL */
    CHUNK = 64 * 1024,
};

int broker_open(struct host *host, struct err *err)
{
    _cleanup_free_ char *name = mem_printf("%s" WORKSPACE_HOST_AGENT, host->agent->id);
    _cleanup_free_ char *part = mem_printf(WORKSPACE_RUN "/%s", name);
    _cleanup_free_ char *path = workspace_path(&host->root, host->session.id, part);

    host->broker.full_until = -1;
    env_drop(host->env, MAS_SOCKET_VARIABLE); /* of an agent that has started this team */
    if (host->is_operator)
        return 0;
    host->broker.listener = sock_listen(host->run, name, err);
    if (host->broker.listener == -1)
        return -1;
    env_put(&host->env, MAS_SOCKET_VARIABLE, path);
    return 0;
}

static void drop_arrival(struct host_broker *broker, size_t i)
{
    struct broker_arrival *arrival = &broker->arrivals[i];

    fd_closep(&arrival->fd);
    frames_free(&arrival->frames);
    *arrival = broker->arrivals[--broker->arrived];
}

void broker_close(struct host *host)
{
    struct host_broker *broker = &host->broker;

    while (broker->count > 0) /* the supervisors end what runs */
        fd_closep(&broker->jobs[--broker->count].fd);
    while (broker->arrived > 0)
        drop_arrival(broker, broker->arrived - 1);
    fd_closep(&broker->listener);
}

/* ---- in the process of a connection's supervisor */

static void send_answer(int client, const struct str *text)
{
    (void)!send(client, text->data, text->len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void refuse(int client, const struct err *why)
{
    _cleanup_str_ struct str text = STR_INIT;

    broker_put_refusal(why, &text);
    send_answer(client, &text);
}

static void answer(int client, int status, int error)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;

    if (error != 0) {
        errno = error;
        (void)err_errno(&err, "cannot run a command of mas");
        refuse(client, &err);
        return;
    }
    broker_put_exit(proc_exit_code(status), &text);
    send_answer(client, &text);
}

/* Reads the request and, with its first bytes, the descriptors. */
static int receive(int client, struct frames *frames, struct frame *ret, int fds[BROKER_FILES],
                   struct err *err)
{
    int64_t until = time_monotonic_ms() + REQUEST_MS;
    size_t count = 0;
    int rc = 0;

    while (rc == 0) {
        int64_t left = until - time_monotonic_ms();
        size_t came = 0;
        if (left <= 0 || loop_wait_for(client, POLLIN, (int)left) <= 0)
            return err_set(err, MAS_TIMEOUT, "cannot run a command: its request did not come");
        ssize_t n = sock_receive_files(client, frames_room(frames, CHUNK), CHUNK, fds + count,
                                       BROKER_FILES - count, &came);
        if (n == -1 && errno == EAGAIN)
            continue;
        count += came;
        if (n <= 0 || count != BROKER_FILES)
            return err_set(err, MAS_DAMAGED,
                           "cannot run a command: it needs its three standard files");
        frames_came(frames, (size_t)n);
        rc = frames_next(frames, ret, err);
    }
    return rc == 1 ? 0 : -1;
}

/* The environment is the host's for its agent, which no agent has changed, without what makes mas
 * start programs of the agent's choice. */
static char **make_environment(const struct host *host, bool colour)
{
    static const char *const dropped[] = {
        MAS_SOCKET_VARIABLE, "VISUAL", "EDITOR", "BASH_ENV", "ENV", "TMUX", "TMUX_PANE"};
    char **env = NULL;

    for (char **e = host->env; e != NULL && *e != NULL; e++)
        if (!str_starts(*e, "LD_") && !str_starts(*e, "GIT_"))
            strv_push(&env, *e);
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        env_drop(env, dropped[i]);
    env_put(&env, "PAGER", "cat");
    env_put(&env, "PWD", "/");
    if (!colour)
        env_put(&env, "NO_COLOR", "1");
    env_put(&env, MAS_BROKERED_VARIABLE, host->agent->id);
    return env;
}

static int prepare(struct supervisor_job *job, struct supervisor_spec *spec)
{
    const struct host *host = job->arg;
    struct frames frames = {.at = 0};
    struct frame request = {.head = NULL};
    struct err err = ERR_INIT;
    char **argv = NULL;
    bool colour = false;
    pid_t pid = 0;

    if (sock_peer(job->client, &pid) == -1 || chdir("/") == -1)
        return -1;
    if (peer_check_own(host, pid, &err) == -1) {
        (void)err_wrap(&err, "cannot run a command");
        refuse(job->client, &err);
        return -1;
    }
    if (receive(job->client, &frames, &request, spec->pipes, &err) == -1 ||
        broker_parse_request(&request, &argv, &colour, &err) == -1) {
        refuse(job->client, &err);
        return -1;
    }
    char **words = NULL;
    strv_push(&words, "mas");
    for (char **word = argv; *word != NULL; word++)
        strv_push(&words, *word);
    if (host->commands->has(words[1]))
        spec->run = host->commands->run;
    else
        spec->bounds = &host->resources.bounds; /* such as `merge`, whose check the agent wrote */
    spec->program = path_exe();
    spec->argv = words; /* this process needs them to its end */
    spec->env = make_environment(host, colour);
    return spec->program != NULL ? 0 : -1;
}

/* ---- in the host */

static void begin(struct host *host, int client)
{
    struct supervisor_job job = {
        .client = client, .arg = host, .prepare = prepare, .answer = answer};
    struct supervisor_spec spec = {.lease = &host->lease.clock,
                                   .times = {.terminate_ms = TERMINATE_MS},
                                   .piped = true,
                                   .pipes = {-1, -1, -1},
                                   .job = &job};
    struct supervisor supervisor;
    struct err err = ERR_INIT;

    if (supervisor_start(&spec, -1, &supervisor, &err) == -1)
        refuse(client, &err);
    else
        host->broker.jobs[host->broker.count++] = supervisor;
}

static void turn_away(int client)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_CONFLICT,
                  "cannot run a command: this agent runs %d commands of mas already",
                  BROKER_JOBS_MAX);
    (void)err_hint(&err, "end some of them, such as 'mas wait'");
    refuse(client, &err);
}

static void accept_one(struct host *host)
{
    struct host_broker *broker = &host->broker;
    pid_t pid = 0;
    int client = sock_accept(broker->listener, &pid);

    if (client == -1)
        return;
    struct broker_arrival *arrival = &broker->arrivals[broker->arrived++];
    *arrival = (struct broker_arrival){.fd = client, .until = time_monotonic_ms() + REQUEST_MS};
    (void)proc_identify(pid, &arrival->peer);
}

/* Reads what a hook tells. Returns true if it has been told, or cannot be. */
static bool hear(struct host *host, struct broker_arrival *arrival)
{
    static const char heard[] = "{\"ok\":true}\n";
    char chunk[CHUNK];
    struct frame frame = {.head = NULL};
    struct err err = ERR_INIT;
    ssize_t n = read(arrival->fd, chunk, sizeof chunk);

    if (n <= 0)
        return n == 0 || (errno != EAGAIN && errno != EINTR);
    frames_feed(&arrival->frames, chunk, (size_t)n);
    int rc = frames_next(&arrival->frames, &frame, &err);
    if (rc == 0) /* of what is longer than a hook tells, nobody waits for the rest */
        return arrival->frames.in.len > HOOK_SIZE_MAX + FRAME_HEAD_MAX;
    if (rc == 1) {
        if (host->backend->told != NULL)
            host->backend->told(host, &arrival->peer, &frame);
        frame_free(&frame);
        (void)send(arrival->fd, heard, strlen(heard), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return true;
}

/* Looks at how the request begins, or reads it. Returns true if the connection is done here. */
static bool serve_arrival(struct host *host, struct broker_arrival *arrival)
{
    char begin_of[sizeof BROKER_TELLS - 1];

    if (!arrival->tells) {
        ssize_t n = recv(arrival->fd, begin_of, sizeof begin_of, MSG_PEEK | MSG_DONTWAIT);
        if (n == -1 && (errno == EAGAIN || errno == EINTR))
            return false;
        arrival->tells =
            n == (ssize_t)sizeof begin_of && memcmp(begin_of, BROKER_TELLS, sizeof begin_of) == 0;
    }
    if (arrival->tells)
        return hear(host, arrival);
    if (host->broker.count == BROKER_JOBS_MAX)
        turn_away(arrival->fd);
    else
        begin(host, arrival->fd);
    return true;
}

/* Returns true while no more commands can run, and those that come may wait. */
static bool is_full(const struct host_broker *broker)
{
    return broker->count == BROKER_JOBS_MAX && time_monotonic_ms() < broker->full_until;
}

void broker_want(const struct host *host, struct loop *loop)
{
    const struct host_broker *broker = &host->broker;
    bool jobs_full = is_full(broker);

    if (!jobs_full && broker->arrived < BROKER_JOBS_MAX)
        loop_want(loop, broker->listener, POLLIN);
    for (size_t i = 0; i < broker->arrived; i++)
        if (broker->arrivals[i].tells || !jobs_full)
            loop_want(loop, broker->arrivals[i].fd, POLLIN);
    for (size_t i = 0; i < broker->count; i++)
        loop_want(loop, broker->jobs[i].fd, POLLIN);
}

/* Reads what a supervisor reports, which only its end is of interest of. */
static bool has_ended(struct supervisor *job)
{
    struct supervisor_report report;

    do
        supervisor_read(job, &report);
    while (report.news != SUPERVISOR_NOTHING && report.news != SUPERVISOR_GONE);
    return report.news == SUPERVISOR_GONE;
}

void broker_serve(struct host *host, struct loop *loop)
{
    struct host_broker *broker = &host->broker;

    for (size_t i = broker->count; i-- > 0;)
        if (loop_got(loop, broker->jobs[i].fd) != 0 && has_ended(&broker->jobs[i]))
            broker->jobs[i] = broker->jobs[--broker->count];
    for (size_t i = broker->arrived; i-- > 0;)
        if (loop_got(loop, broker->arrivals[i].fd) != 0 &&
            serve_arrival(host, &broker->arrivals[i]))
            drop_arrival(broker, i);
    if (loop_got(loop, broker->listener) != 0)
        accept_one(host);
}

int64_t broker_tick(struct host *host, int64_t now)
{
    struct host_broker *broker = &host->broker;

    if (broker->count < BROKER_JOBS_MAX)
        broker->full_until = -1;
    else if (broker->full_until == -1)
        broker->full_until = now + FULL_MS;
    int64_t next = broker->full_until > now ? broker->full_until : -1;
    /* while there is no room, those who say nothing are not waited for */
    int64_t sooner = broker->arrived == BROKER_JOBS_MAX ? REQUEST_MS - SILENT_MS : 0;
    for (size_t i = broker->arrived; i-- > 0;) {
        int64_t until = broker->arrivals[i].until - sooner;
        if (until <= now)
            drop_arrival(broker, i);
        else
            next = time_sooner(next, until);
    }
    return next;
}
