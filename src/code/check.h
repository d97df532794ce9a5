/*
 * Runs a person's command on a commit before a branch moves to it.
 */
#pragma once

#include "code/repo.h"

/* The command as it is about to be started. Nothing of it is owned. */
struct check_program {
    char *const *argv;
    char *const *env;
    const char *tree; /* path of the scratch work tree */
    int cwd; /* which is open */
    int log; /* the file for its output, open */
    int timeout_ms;
};

struct check {
    const char *command; /* words with the shell's quoting; "": no check */
    int timeout_ms;
    int lines; /* of its output that are kept, the last ones; 0: ten */
    /* Runs it behind the wall of the agent whose commit it runs on, because agents write what a
     * check runs, and ends all that it has started. *ret_status is its exit code, or 128 + signal.
     * Fails with MAS_TIMEOUT if it took longer than timeout_ms. */
    int (*run)(void *arg, const struct check_program *program, int *ret_status, struct err *err);
    void *arg;
};

struct check_result {
    bool passed;
    char *why; /* "it ended with exit code 1"; NULL: it passed */
    char *output; /* its last lines */
};
void check_result_free(struct check_result *result);

/* Checks out a commit of code.git in a scratch work tree, runs the command there, ends what it has
 * left running, and removes the tree. MAS_CODE_DIR is the tree and MAS_CODE_BRANCH the integration
 * branch. The output is in logs/check.log. The caller holds the lock of code.git and releases *ret
 * with check_result_free(). Fails if the command cannot be run. */
int check_run(const struct repo *repo, const struct check *check, const char *commit,
              struct check_result *ret, struct err *err);
