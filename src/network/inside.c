/*
 * Inside of the namespace: the socket that the gate listens on, tinyproxy, and the variables.
 */
#include "network/network.h"

#include "base/time.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
    READY_MS = 10 * 1000, /* for tinyproxy to listen */
    LOOK_MS = 1,
    CLIENTS_MAX = 128, /* of tinyproxy, at once */
    IDLE_S = 3600, /* an agent may wait long for a model */
    EXIT_MISSING = 127, /* as of a shell */
    FD_CONFIG = 3, /* descriptors of tinyproxy */
    FD_FILTER = 4,
    FD_PAGE = 5,
};

/* The process that keeps tinyproxy running. */
struct keeper {
    const char *tinyproxy;
    int config, filter, page; /* files in memory: nobody can change them, nothing is left of them */
    int out; /* where tinyproxy logs to: the guard */
    int ready; /* pipe: gets a byte once tinyproxy listens */
};

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
}

static int listen_at(uint16_t port, struct err *err)
{
    struct sockaddr_in at = loopback(port);
    int on = 1;
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == -1 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) == -1 || listen(fd, NETWORK_BACKLOG) == -1)
        return err_errno(err, "cannot listen at 127.0.0.1:%u in the network namespace",
                         (unsigned)port);
    return TAKE_FD(fd);
}

static int send_listener(int to, int listener, struct err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    char byte = 'L';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &listener, sizeof listener);
    if (sendmsg(to, &message, MSG_NOSIGNAL) != 1)
        return err_errno(err, "cannot send the socket of the network namespace");
    return 0;
}

/* Returns a file in memory with this text, which cannot change any more, or -1. */
static int memory_file(const char *name, const char *text)
{
    _cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd == -1 || file_write_all(fd, text, strlen(text)) == -1 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == -1)
        return -1;
    return TAKE_FD(fd);
}

/* Writes the configuration of tinyproxy. */
static void add_config(const struct network *network, struct str *to)
{
    _cleanup_free_ uint16_t *ports = NULL;
    size_t count = network_ports(network, &ports);

    str_addf(to, "Listen 127.0.0.1\nPort %d\nTimeout %d\nMaxClients %d\nLogLevel Info\n",
             NETWORK_HTTP_PORT, IDLE_S, CLIENTS_MAX);
    str_addf(to, "DisableViaHeader Yes\nUpstream socks5 127.0.0.1:%d\n", NETWORK_SOCKS_PORT);
    str_addf(to, "Filter \"/proc/self/fd/%d\"\nFilterDefaultDeny Yes\n", FD_FILTER);
    str_addf(to, "ErrorFile 403 \"/proc/self/fd/%d\"\n", FD_PAGE);
    for (size_t i = 0; i < count; i++)
        str_addf(to, "ConnectPort %u\n", (unsigned)ports[i]);
}

static int make_files(const struct network *network, struct keeper *keeper)
{
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_str_ struct str filter = STR_INIT;
    _cleanup_str_ struct str page = STR_INIT;

    add_config(network, &config);
    network_add_filter(network, &filter);
    str_add(&page, "mas: the wall of this agent does not let it reach that. wall.network = ");
    network_format(network, &page);
    str_addc(&page, '\n');
    keeper->config = memory_file("config", str_text(&config));
    keeper->filter = memory_file("filter", str_text(&filter));
    keeper->page = memory_file("page", str_text(&page));
    return keeper->config == -1 || keeper->filter == -1 || keeper->page == -1 ? -1 : 0;
}

static bool listens(uint16_t port)
{
    struct sockaddr_in at = loopback(port);
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd != -1 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
}

/* Starts tinyproxy with its files as the descriptors that the configuration names. */
static pid_t start_tinyproxy(const struct keeper *keeper)
{
    char config[32];
    char *argv[] = {(char *)keeper->tinyproxy, (char *)"-d", (char *)"-c", config, NULL};
    char *env[] = {NULL};
    const int fds[] = {0, keeper->out, keeper->out, keeper->config, keeper->filter, keeper->page};

    (void)snprintf(config, sizeof config, "/proc/self/fd/%d", FD_CONFIG);
    return proc_start_session(&(struct proc_session){.fds = fds,
                                                     .fd_count = ARRAY_LEN(fds),
                                                     .file = keeper->tinyproxy,
                                                     .argv = argv,
                                                     .envp = env});
}

/* Runs tinyproxy once, to its end. Returns false if it cannot be started. */
static bool run_tinyproxy(struct keeper *keeper)
{
    int64_t until = time_monotonic_ms() + READY_MS;
    pid_t pid = start_tinyproxy(keeper);

    while (pid != -1 && keeper->ready != -1 && time_monotonic_ms() < until) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return false;
        if (listens(NETWORK_HTTP_PORT)) {
            (void)!write(keeper->ready, "r", 1);
            fd_closep(&keeper->ready);
        } else {
            (void)loop_wait_for(-1, 0, LOOK_MS);
        }
    }
    if (pid != -1 && keeper->ready != -1)
        (void)kill(pid, SIGKILL); /* it has had its time */
    return pid != -1 && proc_await(pid, NULL) == 0;
}

__attribute__((noreturn)) static void run_keeper(const struct network *network,
                                                 struct keeper *keeper)
{
    network_detach("mas-net-inside", (int *[]){&keeper->out, &keeper->ready}, 2);
    if (make_files(network, keeper) == -1)
        _exit(1);
    do {
        if (!run_tinyproxy(keeper) && keeper->ready != -1)
            _exit(1);
        (void)loop_wait_for(-1, 0, NETWORK_PAUSE_MS);
    } while (true);
}

/* Starts the keeper as a child of the first process of the namespace, so that the agent's program
 * has no child that it does not know. Waits until tinyproxy listens. */
static int start_keeper(const struct network *network, struct keeper *keeper, struct err *err)
{
    int ready[2];
    char byte;
    ssize_t n;

    if (pipe2(ready, O_CLOEXEC) == -1)
        return err_errno(err, "cannot create a pipe");
    keeper->ready = ready[1];
    pid_t between = proc_fork();
    if (between == 0) {
        pid_t pid = proc_fork();
        if (pid == 0)
            run_keeper(network, keeper);
        _exit(pid == -1);
    }
    (void)close(ready[1]);
    if (between != -1)
        (void)proc_await(between, NULL);
    while ((n = read(ready[0], &byte, 1)) == -1 && errno == EINTR)
        ;
    (void)close(ready[0]);
    if (n == 1)
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot start the proxy '%s' inside of the wall",
                  keeper->tinyproxy);
    return err_hint(err, "install tinyproxy-bin, or choose another wall.network");
}

/* Sets what programs look for in their environment. */
static void set_variables(const struct network *network)
{
    static const char *const proxies[] = {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"};
    static const char *const others[] = {"ALL_PROXY", "all_proxy", "FTP_PROXY", "ftp_proxy"};
    char url[64];

    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", NETWORK_HTTP_PORT);
    for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
        (void)setenv(proxies[i], url, 1);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        (void)unsetenv(others[i]);
    /* The loopback is the namespace's own, with the servers that the agent starts. */
    const char *direct = network_names_loopback(network) ? "" : "localhost,127.0.0.1,::1";
    (void)setenv("NO_PROXY", direct, 1);
    (void)setenv("no_proxy", direct, 1);
    (void)setenv("NODE_USE_ENV_PROXY", "1", 1); /* fetch() of node 24 looks only then */
}

int network_inside(const struct network *network, const char *tinyproxy, char *const *program,
                   struct err *err)
{
    struct keeper keeper = {.tinyproxy = tinyproxy, .out = NETWORK_FD};
    int kind = 0;
    socklen_t len = sizeof kind;

    if (getsockopt(NETWORK_FD, SOL_SOCKET, SO_DOMAIN, &kind, &len) == -1 || kind != AF_UNIX)
        return err_errno(err, "cannot find the socket of `mas-network outside`");
    int listener = listen_at(NETWORK_SOCKS_PORT, err);
    if (listener == -1)
        return -1;
    int rc = send_listener(NETWORK_FD, listener, err);
    (void)close(listener);
    if (rc == 0)
        rc = start_keeper(network, &keeper, err);
    (void)close(NETWORK_FD);
    if (rc == -1)
        return -1;
    set_variables(network);
    _cleanup_free_ char *path = path_find_program(program[0], getenv("PATH"), AT_FDCWD);
    if (path == NULL) {
        return err_set(err, EXIT_MISSING, "cannot find the program '%s'", program[0]);
    }
    return proc_exec(path, program, NULL, err);
}
