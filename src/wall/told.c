#include "wall/told.h"

#include <sys/socket.h>

bool told_open(int *ret_from, int *ret_to)
{
    int pair[2] = {-1, -1};
    int on = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
        return false;
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == -1) {
        fd_closep(&pair[0]);
        fd_closep(&pair[1]);
        return false;
    }
    *ret_from = pair[0];
    *ret_to = pair[1];
    return true;
}

void told_send(int fd, enum wall_news news, int status)
{
    const struct wall_told told = {.news = news, .status = status};

    (void)!send(fd, &told, sizeof told, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool told_read(int *fd, struct wall_told *ret)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = ret, .iov_len = sizeof *ret};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct ucred sender;

    if (*fd == -1)
        return false;
    ssize_t n = recvmsg(*fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n == -1 && (errno == EAGAIN || errno == EINTR))
        return false;
    const struct cmsghdr *head = n == (ssize_t)sizeof *ret ? CMSG_FIRSTHDR(&message) : NULL;
    if (head == NULL || head->cmsg_type != SCM_CREDENTIALS) {
        fd_closep(fd);
        return false;
    }
    memcpy(&sender, CMSG_DATA(head), sizeof sender);
    ret->pid = sender.pid;
    return true;
}
