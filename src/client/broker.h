/*
 * The client of an agent's own socket (protocol/broker.h): has its host run a command of mas.
 */
#pragma once

/* Has the host at this socket run `mas` with these words, which begin with the verb, on the
 * standard files of this process, and waits for its end. *ret_code is its exit code; it has printed
 * its own errors. Fails if it was not run. If this process ends, so does the command. */
int broker_run(const char *path, char *const *argv, bool colour, int *ret_code, struct err *err);
