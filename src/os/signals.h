/*
 * Signals that come through a descriptor, for a program with a loop:
 *
 *     int signals = signals_open((const int[]){SIGTERM, SIGHUP, 0});
 *     ...
 *     for (int sig; (sig = signals_next(signals)) != 0;) ...
 */
#pragma once

/* Blocks these signals, the list ends with 0, and returns a non-blocking descriptor from which they
 * can be read; -1 with errno. It is closed with close(2); they stay blocked. */
int signals_open(const int *list);
/* Blocks them alone. */
void signals_block(const int *list);
/* Returns the next signal that has come, 0 if there is none. */
int signals_next(int fd);
