/*
 * Verbs on other machines: `mas --host NAME VERB...`, and sessions that are named NAME:SESSION.
 *
 * The machines are in mas.ini, in that of the root only if the user made or accepted it. Agents may
 * not reach them. The words behind the verb pass unchanged, and so do standard files and the exit
 * code; MAS_UNREACHED is added. A signal that is to end this process ends it once the connection is
 * closed, which ends the verb there.
 *
 * A call with sessions NAME:SESSION becomes one with --host for each machine, in the order in which
 * they are named: the options as they were parsed, without --root, which names a root here, and the
 * operands. Any verb that takes a SESSION has this by call_go_elsewhere() (cmd.h), which the parser
 * calls before it opens the root. So has a verb with an option that takes a HOST, such as `mas
 * new --host`, unless Slurm is to place the session.
 */
#pragma once

#include "cmd.h"

/* Runs a verb on another machine. `words`: the verb as it was typed, and its arguments,
 * NULL-terminated. `root`: --root here, where mas.ini is, or NULL. *ret_code is its exit code. */
int remote_run(const char *name, const struct cmd *cmd, char *const *words, const char *root,
               int *ret_code, struct err *err);

/* Where a word has been found to be no session: makes the error one about the host, if the word is
 * NAME:SESSION and mas.ini has no such host. Returns -1. */
int remote_hint_host(const struct call *call, const char *word, struct err *err);

/* Ends this process by a signal that was to end it while something ran there. */
void remote_end_by(int sig);
