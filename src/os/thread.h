/*
 * Starts a second thread for work that is large enough.
 */
#pragma once

#include <pthread.h>

/* Starts a thread that blocks all signals: the handlers of the program run in its first thread.
 * Returns false if no thread can be started; then the caller does all the work itself. */
bool thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
