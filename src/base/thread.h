/*
 * A second thread, for work that is worth one.
 */
#ifndef MAS_BASE_THREAD_H
#define MAS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes no signals: the program's handlers expect its first one. false where
 * there can be none; then the caller does the work alone. */
bool thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);

#endif
