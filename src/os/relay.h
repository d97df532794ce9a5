/*
 * Runs a program on a pseudo-terminal of its own, of which the terminal of this process is a
 * window: keys, output and size are passed on unchanged. So a program that cannot have that
 * terminal itself, because it leads a session of its own, still has one, with job control and
 * Ctrl-C.
 */
#pragma once

#include "os/proc.h"

/* Starts spec->file as proc_start_session() does, with the new terminal as descriptors 0, 1 and 2
 * in place of those in `spec`, and returns when it has ended. *ret_status is its exit code, or 128
 * + signal. If this process is to end, the program is killed. */
int relay_run(const struct proc_session *spec, int *ret_status, struct err *err);
