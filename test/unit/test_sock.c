#include "os/sock.h"
#include "unit.h"

#include <sys/socket.h>

/* The other end sends, and is closed with a message unread. */
TEST(gets_what_was_sent_before_the_end)
{
    int pair[2];
    char buf[8];

    CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    CHECK_INT(sock_receive_message(pair[0], buf, sizeof buf, 0), -1);
    CHECK_INT(errno, EAGAIN);
    CHECK_INT(send(pair[0], "order", 5, 0), 5);
    CHECK_INT(send(pair[1], "one", 3, 0), 3);
    CHECK_INT(send(pair[1], "two!", 4, 0), 4);
    close(pair[1]);
    CHECK_INT(sock_receive_message(pair[0], buf, sizeof buf, 0), 3);
    CHECK_INT(sock_receive_message(pair[0], buf, sizeof buf, 0), 4);
    CHECK_INT(sock_receive_message(pair[0], buf, sizeof buf, 0), 0);
    close(pair[0]);
}
