/*
 * What mas-wall, as the first process behind a wall (src/enter/init.h), tells the supervisor
 * outside: who the program is, and how it has ended, which an exit code does not tell. Messages on
 * a SOCK_SEQPACKET socket, of which programs behind the wall have no end.
 */
#pragma once

enum wall_news {
    WALL_STARTS, /* from the process that becomes the program */
    WALL_ENDED, /* status: as from waitpid() */
};

struct wall_told {
    enum wall_news news;
    int status;
    pid_t pid; /* of the sender, as the receiver sees it; set by the kernel */
};

/* Makes a pair: *ret_from for the receiver, *ret_to for mas-wall. Returns false with errno. */
bool told_open(int *ret_from, int *ret_to);
/* Does nothing if `fd` is no such socket. */
void told_send(int fd, enum wall_news news, int status);
/* Reads the next message, without waiting; false if there is none. Closes *fd, if it is not -1,
 * once nothing more can come. */
bool told_read(int *fd, struct wall_told *ret);
