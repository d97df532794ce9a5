/*
 * Starts a second thread for work that is large enough, and what threads need of each other.
 */
#pragma once

#include <pthread.h>

/* Starts a thread that blocks all signals: the handlers of the program run in its first thread.
 * Returns false if no thread can be started; then the caller does all the work itself. */
bool thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);

/* Calls `one` for each number below `count`, in as many threads as this process has processors, of
 * which the calling one is the first; at most THREADS_MAX. Returns when all calls have. */
enum { THREADS_MAX = 16 };
void thread_each(size_t count, void (*one)(size_t number, void *arg), void *arg);

/* In a thread: gives it a table of descriptors of its own, with all that are open now. Threads that
 * share one wait for each other at each open and close. */
void thread_own_descriptors(void);

/* A bell: any thread rings it, and a loop hears it, as a descriptor with something to read until it
 * is silenced. Returns the descriptor, which the caller closes, or -1 with errno. */
int bell_open(void);
void bell_ring(int bell);
void bell_silence(int bell);
