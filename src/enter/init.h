/*
 * The first process of a PID namespace: it adopts what programs leave behind, and ends with the
 * program that it was made for, and with it all others.
 *
 * Behind a wall this is mas-wall, between bubblewrap and the agent. It tells the supervisor who the
 * agent is, as the kernel sees it outside, and how it ended (wall/told.h), so PIDs, signals and
 * exit codes are those of the agent.
 */
#pragma once

/* Forks. Returns in the child, which is to become the program; the other process never returns: it
 * exits as the program does, with 128 + N after signal N. Both tell the socket `fd` of that, if it
 * is one: wall/told.h. */
int init_begin(int fd, struct err *err);
