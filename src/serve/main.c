/*
 * mas-serve: the HTTP API of a root. `mas serve` checks its options and executes this program:
 *
 *     mas-serve MAS ROOT SETTING=VALUE...
 */
#include "base/time.h"
#include "filter/filter.h"
#include "os/file.h"
#include "os/landlock.h"
#include "os/loop.h"
#include "os/proc.h"
#include "os/signals.h"
#include "os/sock.h"
#include "serve/api.h"
#include "serve/bind.h"
#include "serve/events.h"
#include "serve/http.h"
#include "serve/keys.h"
#include "serve/metrics.h"
#include "serve/server.h"
#include "serve/starter.h"
#include "serve/task.h"
#include "serve/transfer.h"
#include "store/pairing.h"

#include <malloc.h>

enum {
    PEM_MAX = 1 << 20, /* bytes of a certificate chain */
    ACCEPT_AT_ONCE = 64,
    ACCEPT_PAUSE_MS = 100, /* pause if no descriptors are free */
    LAST_MS = 5000, /* time limit for unsent answers at the end */
    LARGE_BLOCK = 64 * 1024, /* bytes; glibc returns blocks of this size when freed */
};

#define LOG_FILE ROOT_SERVE "log"

/* The server and what its loop waits for. */
struct service {
    struct server *server;
    struct bindings bindings;
    struct loop loop;
    int signals;
    int64_t swept_ms, paused_ms, ended_ms;
    bool paused; /* accepts no connections */
    bool at_once; /* it was told twice to end */
    bool lost_starter; /* the process that starts programs has ended */
};

static int parse_settings(struct config *config, char **words, struct err *err)
{
    char name[64];

    for (; *words != NULL; words++) {
        const char *equals = strchr(*words, '=');
        size_t len = equals == NULL ? 0 : (size_t)(equals - *words);
        enum setting i = SETTING_SERVE_LISTEN;
        while (i <= SETTING_SERVE_REMOTE &&
               (strncmp(setting_name(i, name), *words, len) != 0 || strlen(name) != len))
            i++;
        if (equals == NULL || i > SETTING_SERVE_REMOTE)
            return err_set(err, MAS_USAGE,
                           "cannot use '%s': mas-serve is part of mas; see: mas help serve",
                           *words);
        if (config_override(config, i, equals + 1, "mas serve", err) == -1)
            return -1;
    }
    return 0;
}

static int read_pem(const struct server *server, enum setting setting, char **ret, struct err *err)
{
    const char *path = config_text(&server->config, setting);
    size_t len;

    if (path[0] == '\0')
        return 0;
    _cleanup_close_ int fd = openat(server->root.fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd == -1)
        return err_errno(err, "cannot read '%s'", path);
    return file_read_stream(fd, path, PEM_MAX, ret, &len, err);
}

static int open_http(struct server *server, struct err *err)
{
    _cleanup_free_ char *cert = NULL;
    _cleanup_free_ char *key = NULL;

    if (read_pem(server, SETTING_SERVE_CERT, &cert, err) == -1 ||
        read_pem(server, SETTING_SERVE_KEY, &key, err) == -1)
        return -1;
    if ((cert == NULL) != (key == NULL))
        return err_set(err, MAS_USAGE, "cannot use TLS: it needs both a certificate and its key");
    return http_make(
        server,
        (struct http_handler){
            .begin = api_begin, .handle = api_handle, .end = api_end, .count = metrics_count},
        cert, key, &server->http, err);
}

static void wake_streams(struct server *server, bool beat)
{
    http_wake_streams(server->http, beat);
}

/* Writes for `mas serve pair` where the server listens. */
static int tell_addresses(const struct server *server, const struct bindings *bindings,
                          struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < bindings->count; i++)
        str_addf(&text, "%s\n", bindings->at[i].name);
    return file_replace(server->root.sessions, ADDRESSES_FILE, str_text(&text), text.len, 0600,
                        err);
}

static int open_server(struct server *server, char **argv, struct bindings *bindings,
                       struct err *err)
{
    if (root_open(argv[2], &server->root, err) == -1 ||
        starter_begin(&server->starter, argv[1], &server->root, err) == -1 ||
        config_load(&server->root, false, &server->config, NULL, err) == -1 ||
        parse_settings(&server->config, argv + 3, err) == -1)
        return -1;
    if (file_lock(server->root.sessions, SERVE_LOCK_FILE, LOCK_TRY, "serve", &server->lock, err) ==
        -1)
        return err_wrap(err, "cannot serve '%s'", server->root.path);
    if (bind_all(&server->root, &server->config, bindings, err) == -1 ||
        guard_make(&server->root, &server->config, bind_is_open(bindings), &server->guard, err) ==
            -1 ||
        log_open(&server->log, server->root.sessions, LOG_FILE, config_log_limits(&server->config),
                 false, err) == -1 ||
        pool_make(SERVER_WORKERS, SERVER_PLACES, &server->pool, err) == -1 ||
        tasks_make(server, &server->tasks, err) == -1 ||
        keys_open(&server->root, &server->keys, err) == -1 ||
        list_make(&server->root, &server->config, &server->list, err) == -1)
        return -1;
    if (tell_addresses(server, bindings, err) == -1)
        return -1;
    transfers_sweep(&server->root);
    server->events = events_make(server, wake_streams);
    server->mas = argv[1];
    server->shared = shared_make();
    server->metrics = metrics_make();
    server->list.changed = events_compare;
    server->list.ready = api_ready;
    server->list.arg = server->events;
    return open_http(server, err);
}

/* Gives up what the server does not need: to start programs, to open sockets other than Unix ones,
 * to write outside of the sessions. What it does then goes on, and so does its starter. */
static int restrict_self(const struct server *server, const struct bindings *bindings,
                         struct err *err)
{
    struct landlock_path paths[BIND_MAX + 2] = {
        {.access = ACCESS_READ, .path = "/"},
        {.access = ACCESS_WRITE, .fd = server->root.sessions}};
    struct landlock landlock = {.paths = paths, .path_count = 2, .tcp = true};
    char *dirs[BIND_MAX] = {NULL};

    for (size_t i = 0; i < bindings->count; i++) { /* bind_end() removes them */
        const char *path = bindings->at[i].path;
        if (path == NULL)
            continue;
        dirs[i] = mem_dupn(path, (size_t)(strrchr(path, '/') - path) + 1);
        paths[landlock.path_count++] =
            (struct landlock_path){.access = ACCESS_REMOVE, .path = dirs[i]};
    }
    proc_gain_nothing();
    int rc = landlock_enter(&landlock, err);
    for (size_t i = 0; i < BIND_MAX; i++)
        free(dirs[i]);
    return rc == -1 ? -1 : filter_program_load(FILTER_SERVE, err);
}

static void close_server(struct server *server)
{
    pool_free(server->pool);
    tasks_free(server->tasks);
    http_free(server->http);
    list_free(&server->list);
    events_free(server->events);
    metrics_free(server->metrics);
    keys_free(server->keys);
    shared_free(server->shared);
    guard_free(&server->guard);
    starter_end(&server->starter);
    log_close(&server->log);
    fd_closep(&server->lock);
    config_free(&server->config);
    root_close(&server->root);
}

/* ---- the loop */

static int catch_signals(struct service *service, struct err *err)
{
    (void)signal(SIGPIPE, SIG_IGN);
    service->signals = signals_open((const int[]){SIGTERM, SIGINT, SIGHUP, 0});
    return service->signals != -1 ? 0 : err_errno(err, "cannot catch signals");
}

static void accept_connections(struct service *service, const struct binding *binding)
{
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        struct sockaddr_storage from = {.ss_family = AF_UNIX};
        socklen_t len = sizeof(sa_family_t);
        pid_t peer;
        int fd;
        if (binding->local) {
            fd = sock_accept(binding->fd, &peer);
        } else {
            len = sizeof from;
            fd = accept4(binding->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        }
        if (fd != -1)
            http_add(service->server->http, fd, (const struct sockaddr *)&from, len);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            service->paused = true;
            service->paused_ms = time_monotonic_ms();
            return;
        } else if (errno != EPERM && errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

static void begin_to_end(struct service *service)
{
    service->server->ending = true;
    bind_end(&service->bindings); /* from now on, connections are refused at once */
    http_wake_streams(service->server->http, true);
}

static void handle_signal(struct service *service)
{
    while (signals_next(service->signals) != 0) {
        service->at_once = service->server->ending;
        if (!service->server->ending)
            begin_to_end(service);
    }
}

static bool has_ended(struct service *service)
{
    const struct server *server = service->server;
    int64_t now = time_monotonic_ms();

    if (!server->ending)
        return false;
    if (service->at_once)
        return true;
    bool busy = pool_busy(server->pool) > 0 || pool_busy(tasks_pool(server->tasks)) > 0;
    if (busy)
        service->ended_ms = 0;
    else if (service->ended_ms == 0)
        service->ended_ms = now;
    return !busy && server->list.waiting == NULL &&
           ((http_busy(server->http) == 0 && http_streams(server->http) == 0) ||
            now - service->ended_ms > LAST_MS);
}

/* Waits until there is something to do, or until the server has to look. */
static void wait_for_events(struct service *service)
{
    struct server *server = service->server;
    struct loop *loop = &service->loop;
    int timeout = http_timeout_ms(server->http);

    if (http_streams(server->http) > 0 && timeout > 100)
        timeout = 100;
    loop_begin(loop);
    for (size_t i = 0; !service->paused && i < service->bindings.count; i++)
        loop_want(loop, service->bindings.at[i].fd, POLLIN);
    loop_want(loop, service->signals, POLLIN);
    loop_want(loop, server->ending ? -1 : server->starter.process.socket, POLLIN);
    loop_want(loop, pool_fd(server->pool), POLLIN);
    loop_want(loop, pool_fd(server->list.pool), POLLIN);
    loop_want(loop, pool_fd(tasks_pool(server->tasks)), POLLIN);
    http_want(server->http, loop);
    int64_t until = events_want(server->events, loop);
    (void)loop_wait(loop, time_sooner(until, time_monotonic_ms() + timeout));
}

static void turn(struct service *service)
{
    struct server *server = service->server;
    struct loop *loop = &service->loop;

    wait_for_events(service);
    for (size_t i = 0; i < service->bindings.count; i++)
        if (loop_got(loop, service->bindings.at[i].fd) != 0)
            accept_connections(service, &service->bindings.at[i]);
    if (loop_got(loop, service->signals) != 0)
        handle_signal(service);
    if (!server->ending && loop_got(loop, server->starter.process.socket) != 0) {
        service->lost_starter = true;
        begin_to_end(service);
    }
    if (loop_got(loop, pool_fd(server->pool)) != 0)
        pool_collect(server->pool);
    if (loop_got(loop, pool_fd(server->list.pool)) != 0)
        pool_collect(server->list.pool);
    if (loop_got(loop, pool_fd(tasks_pool(server->tasks))) != 0)
        pool_collect(tasks_pool(server->tasks));
    events_turn(server->events, loop);
    events_tick(server->events);
    http_turn(server->http, loop);
    int64_t now = time_monotonic_ms();
    if (now - service->swept_ms >= 1000) {
        service->swept_ms = now;
        http_sweep(server->http);
    }
    if (now - service->paused_ms >= ACCEPT_PAUSE_MS)
        service->paused = false;
}

static int run(char **argv, struct err *err)
{
    struct server server = {.root = ROOT_INIT, .config = CONFIG_INIT, .log = LOG_INIT, .lock = -1};
    struct service service = {.server = &server, .loop = LOOP_INIT, .signals = -1};

    proc_raise_files(SIZE_MAX);
    int rc = open_server(&server, argv, &service.bindings, err);
    if (rc == 0)
        rc = catch_signals(&service, err);
    if (rc == 0)
        rc = restrict_self(&server, &service.bindings, err);
    for (size_t i = 0; rc == 0 && i < service.bindings.count; i++)
        printf("%s\n", service.bindings.at[i].name);
    if (rc == 0 && fflush(stdout) == EOF)
        rc = err_errno(err, "cannot write to standard output");
    while (rc == 0 && !has_ended(&service))
        turn(&service);
    if (service.lost_starter)
        rc = err_set(err, MAS_FAILED,
                     "cannot go on serving: the process that starts programs has ended");
    bind_end(&service.bindings);
    if (service.at_once)
        _exit(MAS_FAILED);
    close_server(&server);
    fd_closep(&service.signals);
    loop_free(&service.loop);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;

    (void)signal(SIGXFSZ, SIG_IGN); /* as in mas */
    /* Otherwise glibc raises the threshold when the first survey is freed, and keeps the next ones.
     */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    /* What a worker makes is freed by the loop: in an arena of its own it would stay there. */
    (void)mallopt(M_ARENA_MAX, 1);
    if (argc < 3) {
        (void)fputs("mas-serve: this program is part of mas; see: mas help serve\n", stderr);
        return MAS_USAGE;
    }
    if (run(argv, &err) == -1) {
        err_print(&err);
        return err.code;
    }
    return MAS_OK;
}
