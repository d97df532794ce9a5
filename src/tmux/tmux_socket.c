/*
 * The part of tmux/tmux.h on sockets: where servers listen, and whether it is safe to connect.
 * Before a connection it is checked that nobody else can put a socket there, and after it, who
 * answers. A server that hangs takes no connections, so connect() has a limit. One whose file is
 * gone is found in the kernel's list, and makes the file again when told by SIGUSR1.
 */

#include "os/file.h"
#include "os/job.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/sock.h"
#include "store/tmux_place.h"
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

enum { CONNECT_S = 2, MAKE_TRIES = 300 }; /* a try takes 10 ms */

#define USE_OWN_SOCKET "name a socket in a directory of your own with MAS_TMUX_SOCKET=/..."

int tmux_shared_socket(const struct config *config, char **ret, struct err *err)
{
    return tmux_place(config_text(config, SETTING_SOCKET), ret, err);
}

/* Returns true if the settings give each session a server of its own. */
static bool is_per_session(const struct config *config)
{
    return config_number(config, SETTING_SERVER) == SERVER_PER_SESSION;
}

int tmux_configured_socket(const struct config *config, const char *tmux_name, char **ret,
                           struct err *err)
{
    return is_per_session(config) ? tmux_place(tmux_name, ret, err)
                                  : tmux_shared_socket(config, ret, err);
}

int tmux_socket(const struct config *config, const char *tmux_name, char **ret, struct err *err)
{
    char job[JOB_TEXT];

    if (!is_per_session(config) && job_inside(job)) {
        if (!config_is_of_env(config, SETTING_SERVER))
            return tmux_place(tmux_name, ret, err);
        (void)err_set(err, MAS_CONFLICT,
                      "cannot use a shared tmux server in job %s of Slurm: it would end with the "
                      "job, and with it the teams of all others",
                      job);
        return err_hint(err, "unset MAS_TMUX_SERVER; then each session has a server of its own");
    }
    return tmux_configured_socket(config, tmux_name, ret, err);
}

bool tmux_own_socket(const char *tmux_name, char **ret)
{
    struct err ignored = ERR_INIT;
    return str_is_word(tmux_name, TMUX_NAME_MAX) && tmux_place(tmux_name, ret, &ignored) == 0;
}

/* Sets the error: `why` after a message that names the path. */
static void refuse_place(const char *socket_path, const char *why, struct err *err)
{
    _cleanup_free_ char *named = mem_printf("'%s'", socket_path);
    bool itself = str_starts(why, named);
    const char *rest = itself ? why + strlen(named) : why;
    bool plain = itself && str_starts(rest, ": ");

    (void)err_set(err, MAS_TMUX, "cannot use tmux socket '%s': %s%s", socket_path,
                  itself && !plain ? "it" : "", plain ? rest + 2 : rest);
}

/* Checks that no other user can put a socket at this path. */
static int check_place(const char *socket_path, struct err *err)
{
    _cleanup_free_ char *own = NULL;
    struct err why = ERR_INIT;
    struct stat st;

    if (tmux_place_dir(&own, err) == -1)
        return -1;
    size_t len = strlen(own);
    if (path_check_owned(socket_path, &why) == -1) {
        refuse_place(socket_path, why.text, err);
        if (why.hint[0] != '\0')
            return err_hint(err, "change that with: %s", why.hint);
    } else if (strncmp(socket_path, own, len) == 0 && socket_path[len] == '/' &&
               lstat(own, &st) == 0 && (st.st_uid != geteuid() || (st.st_mode & 07) != 0)) {
        (void)err_set(
            err, MAS_TMUX,
            "cannot use tmux socket '%s': '%s' must belong to you and be closed to others",
            socket_path, own); /* tmux refuses that too */
    } else if (lstat(socket_path, &st) == 0 && st.st_uid != geteuid()) {
        (void)err_set(err, MAS_TMUX, "cannot use tmux socket '%s': it belongs to user %ld",
                      socket_path, (long)st.st_uid);
    } else {
        return 0;
    }
    return err_hint(err, USE_OWN_SOCKET);
}

int tmux_socket_peer(const char *socket_path, pid_t *ret_pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strlen(socket_path) >= sizeof addr.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(addr.sun_path, socket_path, strlen(socket_path) + 1);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return -1;
    /* a hanging server eventually accepts no more connections, and connect() would wait forever */
    const struct timeval limit = {.tv_sec = CONNECT_S};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == -1)
        return errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED ? 0 : -1;
    return sock_peer(fd, ret_pid) == 0 ? 1 : -1;
}

int tmux_socket_check(const char *socket_path, pid_t *ret_pid, struct err *err)
{
    if (check_place(socket_path, err) == -1)
        return -1;
    int alive = tmux_socket_peer(socket_path, ret_pid);
    if (alive != -1)
        return alive;
    bool stranger = errno == EPERM;
    if (stranger)
        (void)err_set(err, MAS_TMUX,
                      "cannot use tmux socket '%s': its server belongs to another user",
                      socket_path);
    else
        (void)err_errno(err, "cannot query tmux on '%s'", socket_path);
    err->code = MAS_TMUX;
    return stranger ? err_hint(err, USE_OWN_SOCKET) : -1;
}

bool tmux_socket_is_gone(const char *socket_path)
{
    struct stat st;

    return lstat(socket_path, &st) == -1 && (errno == ENOENT || errno == ENOTDIR);
}

int tmux_is_alive(const char *socket_path, pid_t *ret_pid, struct err *err)
{
    if (tmux_socket_is_gone(socket_path))
        return 0; /* the owner of the directory does not matter yet */
    return tmux_socket_check(socket_path, ret_pid, err);
}

int tmux_socket_make_dir(const char *socket_path, struct err *err)
{
    _cleanup_free_ char *dir = mem_dup(socket_path);
    _cleanup_free_ char *own = NULL;
    struct stat st;

    if (lstat(socket_path, &st) == 0 && !S_ISSOCK(st.st_mode)) /* tmux would replace it */
        return err_set(err, MAS_TMUX, "cannot use tmux socket '%s': it is %s", socket_path,
                       path_type_name(st.st_mode));
    if (tmux_place_dir(&own, err) == -1)
        return -1;
    *strrchr(dir, '/') = '\0';
    if (strcmp(dir, own) != 0)
        return 0;
    if (mkdir(dir, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot create '%s'", dir);
    return 0;
}

pid_t tmux_socket_server(const char *socket_path)
{
    pid_t pid;
    return tmux_socket_peer(socket_path, &pid) == 1 ? pid : 0;
}

/* A socket that is looked for. */
struct sought {
    const char *path;
    pid_t pid;
    bool found;
};

static void look_at_socket(const char *path, bool listens, ino_t inode, void *arg)
{
    struct sought *sought = arg;

    if (listens && strcmp(path, sought->path) == 0)
        sought->found = sought->found || proc_has_socket(sought->pid, inode);
}

bool tmux_listens(const char *socket_path, pid_t pid)
{
    struct sought sought = {.path = socket_path, .pid = pid};
    struct err ignored = ERR_INIT;

    return sock_each(look_at_socket, &sought, &ignored) == 0 && sought.found;
}

int tmux_make_socket(const char *socket_path, pid_t pid, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 10000000L};
    pid_t answers = 0;

    if (tmux_socket_make_dir(socket_path, err) == -1 || check_place(socket_path, err) == -1)
        return -1;
    if (kill(pid, SIGUSR1) == -1)
        return err_errno(err, "cannot tell the tmux server on '%s'", socket_path);
    for (int i = 0; i < MAKE_TRIES; i++) {
        int alive = tmux_is_alive(socket_path, &answers, err);
        if (alive != 0)
            return alive == 1 ? 0 : -1;
        (void)nanosleep(&pause, NULL);
    }
    (void)err_set(err, MAS_TMUX,
                  "cannot use tmux socket '%s': its server, process %ld, did not "
                  "make it again",
                  socket_path, (long)pid);
    return err_hint(err, "try: kill -USR1 %ld", (long)pid);
}
