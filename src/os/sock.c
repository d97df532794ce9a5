/*
 * Each side asks the kernel who is at the other end (SO_PEERCRED) before a byte is sent or read. A
 * socket is connected to by a descriptor of its file, so a symbolic link in its place leads
 * nowhere. Of the descriptors that come with a message none stays open unless all had room.
 */

#include "os/sock.h"

#include "os/file.h"
#include "os/loop.h"

#include <netinet/in.h>
#include <stdalign.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    BACKLOG = 128,
    TABLE_MAX = 32 * 1024 * 1024, /* bytes; some 200,000 sockets */
    LISTENS = 0x10000, /* a flag in the table of sockets */
};

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

int sock_pair(int ret[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret);
}

ssize_t sock_receive_message(int fd, void *buf, size_t size, int flags)
{
    ssize_t n = recv(fd, buf, size, flags);

    return n == -1 && errno == ECONNRESET ? recv(fd, buf, size, flags) : n; /* it is said once */
}

int sock_send_files(int fd, const char *bytes, size_t len, const int *fds, size_t count)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SOCK_FILES_MAX * sizeof *fds)] = {0};
    struct iovec piece = {.iov_base = (char *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = CMSG_SPACE(count * sizeof *fds)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof *fds),
                             .cmsg_level = SOL_SOCKET,
                             .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), fds, count * sizeof *fds);
    while (piece.iov_len > 0) {
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n == -1 && errno == EAGAIN && loop_wait_for(fd, POLLOUT, -1) > 0)
            continue;
        if (n == -1 && errno != EINTR)
            return -1;
        if (n <= 0)
            continue;
        piece.iov_base = (char *)piece.iov_base + n;
        piece.iov_len -= (size_t)n;
        message.msg_control = NULL; /* they have gone */
        message.msg_controllen = 0;
    }
    return 0;
}

/* Takes the descriptors of one control message. Returns false if there is no room for all. */
static bool take_files(const struct cmsghdr *head, int *fds, size_t max, size_t *count)
{
    size_t came = (head->cmsg_len - CMSG_LEN(0)) / sizeof *fds;
    bool all = true;

    for (size_t i = 0; i < came; i++) {
        int fd = -1;
        memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
        if (*count < max) {
            fds[(*count)++] = fd;
        } else {
            (void)close(fd);
            all = false;
        }
    }
    return all;
}

ssize_t sock_receive_files(int fd, char *buf, size_t size, int *fds, size_t max, size_t *ret_count)
{
    alignas(struct cmsghdr) char control[CMSG_SPACE(SOCK_FILES_MAX * sizeof *fds)];
    struct iovec piece = {.iov_base = buf, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    bool all = true;
    ssize_t n;

    *ret_count = 0;
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n == -1 && errno == EINTR);
    if (n == -1)
        return -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head != NULL;
         head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            all = take_files(head, fds, max, ret_count) && all;
    if (all && (message.msg_flags & MSG_CTRUNC) == 0)
        return n;
    while (*ret_count > 0)
        (void)close(fds[--*ret_count]);
    errno = EMSGSIZE;
    return -1;
}

/* Reads "<address>: <references> <protocol> <flags> <type> <state> <inode> <path>". */
static void see_line(char *line, sock_seen *on_seen, void *arg)
{
    enum { FLAGS = 3, TYPE, STATE, INODE, FIELDS };
    unsigned long fields[FIELDS] = {0};
    char *at = line;

    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = strtoul(at, &at, i == INODE ? 10 : 16);
        at += strspn(at, ": ");
    }
    if (*at == '/' && fields[TYPE] == SOCK_STREAM)
        on_seen(at, (fields[FLAGS] & LISTENS) != 0, fields[INODE], arg);
}

int sock_each(sock_seen *on_seen, void *arg, struct err *err)
{
    static const char table[] = "/proc/net/unix";
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    char *save = NULL;

    _cleanup_close_ int fd = open(table, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return err_errno(err, "cannot read '%s'", table);
    if (file_read_stream(fd, table, TABLE_MAX, &text, &len, err) == -1)
        return -1;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        see_line(line, on_seen, arg);
    return 0;
}

bool sock_port_is_free(int port)
{
    const struct sockaddr_in6 any6 = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
    const struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int yes = 1;
    const int no = 0;
    int rc = -1;

    /* a socket of IPv6 has the port of IPv4, too; connections that are ending do not count */
    _cleanup_close_ int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (six != -1 && setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0 &&
        setsockopt(six, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0) {
        rc = bind(six, (const struct sockaddr *)&any6, sizeof any6);
        if (rc == 0 || errno == EADDRINUSE)
            return rc == 0;
    }
    _cleanup_close_ int four = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (four != -1 && setsockopt(four, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0)
        rc = bind(four, (const struct sockaddr *)&any4, sizeof any4);
    return rc == 0;
}

void sock_kernel_ports(int *ret_low, int *ret_high)
{
    char text[64] = "";
    char *end = NULL;
    _cleanup_close_ int fd =
        open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t len = fd != -1 ? read(fd, text, sizeof text - 1) : -1;

    *ret_low = 32768; /* the default */
    *ret_high = 60999;
    if (len <= 0)
        return;
    *ret_low = (int)strtol(text, &end, 10);
    *ret_high = (int)strtol(end, NULL, 10);
}
