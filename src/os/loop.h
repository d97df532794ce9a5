/*
 * Waits for descriptors. A program has one loop, and only loop.c calls poll(2). Each turn says anew
 * what it waits for, so no descriptor has to be removed when it is closed:
 *
 *     loop_begin(&loop);
 *     loop_want(&loop, signals, POLLIN);
 *     conn_want(conn, &loop);
 *     if (loop_wait(&loop, until) == -1)
 *         return err_errno(err, "cannot wait");
 *     if (loop_got(&loop, signals) != 0)
 *         handle_signals();
 *     if (loop_got(&loop, conn->fd) != 0)
 *         read_conn(conn);
 *
 * A command that goes on only for somebody who reads its output says so once, with
 * loop_end_with(). From then on every wait here, also one deep inside another call, sees that the
 * reader is gone.
 *
 * A turn that closes a descriptor and opens another one may see the events of the old under the
 * number of the new, so descriptors that are read here are non-blocking.
 *
 * Libraries offer such loops, too. A program that watches eight descriptors and handles one event
 * took 0.70 ms and 116 KiB of private memory with this one, 0.79 ms and 188 KiB with libev 4.33,
 * and 0.82 ms and 128 KiB with libevent 2.1.12 (Debian 12, median of 1000 runs). Either would
 * replace these 130 lines and nothing else: the connections, their limits and what a turn does stay
 * ours, and would be spread over callbacks. poll(2) costs 0.2 microseconds for each descriptor and
 * turn. Those who have many let one stand for them, loop_many_open(), or leave them out of turns
 * that follow each other fast (serve/follow.h).
 */
#pragma once

#include <poll.h>

struct loop {
    struct pollfd *fds; /* of this turn */
    size_t count, room;
    size_t next; /* where loop_got() looks first */
};

#define LOOP_INIT                                                                                  \
    {                                                                                              \
        .fds = NULL                                                                                \
    }

/* Begins a turn: forgets the descriptors and events of the one before. */
void loop_begin(struct loop *loop);
/* Waits for these events of poll(2) on the descriptor, and for its end. Ignores fd -1. Name a
 * descriptor once a turn. */
void loop_want(struct loop *loop, int fd, short events);
/* Waits until something has happened or until the time `until` (time_monotonic_ms()); -1: without
 * limit. Returns the number of descriptors with events: 0 after the time or a signal, -1 with errno
 * after an error. */
int loop_wait(struct loop *loop, int64_t until);
/* Returns the events that the descriptor has in this turn; 0 if none, and for fd -1. */
short loop_got(struct loop *loop, int fd);
void loop_free(struct loop *loop);
#define _cleanup_loop_ __attribute__((cleanup(loop_free)))

/* Waits for one descriptor alone, at most timeout_ms (-1: without limit), and goes on after
 * signals. Returns its events; 0 after the time; -1 with errno after an error. With fd -1, only
 * waits. */
int loop_wait_for(int fd, short events, int timeout_ms);
/* The same with a limit by a clock that goes on while the machine sleeps. */
int loop_wait_awake(int fd, short events, int ms);

/* Many descriptors of which few have events: one stands for all of them. Wait for it with
 * loop_want(.., POLLIN); poll(2) would ask each of a thousand connections every turn. */
struct loop_event {
    void *arg; /* as given to loop_many_add() */
    short events;
};
/* Returns a descriptor, or -1 with errno. */
int loop_many_open(void);
/* Adds a descriptor, to be read. Remove it before it is closed. Returns false with errno. */
bool loop_many_add(int many, int fd, void *arg);
void loop_many_remove(int many, int fd);
/* Returns how many have events now, at most `room`; does not wait. */
size_t loop_many_got(int many, struct loop_event *ret, size_t room);

/* From now on, each wait of this process also waits for the end of this output: the last reader of
 * a pipe has closed it, the other end of a socket is gone, a terminal has hung up. Then the process
 * gets, once, the signal that the system sends for the same reason: SIGHUP for a terminal,
 * otherwise SIGPIPE, which it would get when it writes. A process without a handler ends by it.
 * With one, the wait that saw the end returns as after any signal.
 *
 * Other files, such as a regular file or /dev/null, do not end: nothing changes for them, nor for a
 * terminal if SIGHUP is ignored, as under nohup. SIGPIPE is set to its default: some programs
 * start others with it ignored, which is nobody's wish. Not for threads. */
void loop_end_with(int fd);
