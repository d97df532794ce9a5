#include "base/sock.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Binds a socket to a name. Returns -1 with errno. */
static int bind_name(int fd, int dir, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dir, name);

    if (n < 0 || (size_t)n >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return bind(fd, (const struct sockaddr *)&address, sizeof address);
}

int sock_listen(int dir, const char *name, struct err *err)
{
    _cleanup_free_ char *fresh = mem_printf(".%s", name);
    _cleanup_close_ int fd = open_socket();

    /* set the mode before the name appears, and listen before that too: nobody else can ever
     * connect, and everyone who sees the name can connect */
    if (fd == -1 || fchmod(fd, 0600) == -1 || (unlinkat(dir, fresh, 0) == -1 && errno != ENOENT) ||
        bind_name(fd, dir, fresh) == -1 || fchmodat(dir, fresh, 0600, 0) == -1 ||
        listen(fd, BACKLOG) == -1 || renameat(dir, fresh, dir, name) == -1)
        return err_errno(err, "cannot listen at '%s'", name);
    return TAKE_FD(fd);
}

int sock_peer(int fd, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t len = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
        return -1;
    if (peer.uid != geteuid()) {
        errno = EPERM;
        return -1;
    }
    *ret_pid = peer.pid;
    return 0;
}

int sock_connect(int dir, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pid_t peer;

    /* by descriptor: a symbolic link in its place is not followed */
    _cleanup_close_ int at = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (at == -1)
        return -1;
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", at);
    _cleanup_close_ int fd = open_socket();
    if (fd == -1 || connect(fd, (const struct sockaddr *)&address, sizeof address) == -1 ||
        sock_peer(fd, &peer) == -1)
        return -1;
    return TAKE_FD(fd);
}

int sock_accept(int listener, pid_t *ret_peer)
{
    _cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd == -1 || sock_peer(fd, ret_peer) == -1)
        return -1;
    return TAKE_FD(fd);
}
