/*
 * Brings the files of an agent, as they are, into the checkout of the project.
 *
 * Steps, under the lock of code.git and that of the checkout (tried_open()):
 *
 * 1. Put back what a killed command has left half tried, or what another session has there.
 * 2. Take a snapshot of the agent's files (work_snapshot()), which goes into code.git, with the
 *    objects of git-lfs.
 * 3. Compare it with the checkout, as its index says; a second try of the same session compares
 * with what it had tried. What is held back (code/held.h), submodules, and what is the same are
 * left out. Of what the agent has removed only what HEAD has goes.
 * 4. Have git write the files that come to mas-try/new (code/tried.h), as the person's settings
 * say. Nothing but mas-try is written until now.
 * 5. Write code.git/tried, and move the files (tried_move()).
 *
 * Killed before 5, nothing is tried, and the next command in that checkout removes mas-try. Killed
 * in it, `mas try --off`, the next `mas try` and `mas doctor --fix` put everything back.
 */
#pragma once

#include "code/repo.h"
#include "code/tried.h"

struct try_result {
    size_t came, went; /* files that the agent has otherwise, and has not */
    bool same; /* it was tried already, and is as it was */
    char *top; /* the checkout */
    char **held; /* files of the agent's that were held back */
    char **modules; /* submodules of which the agent has another commit */
    struct tried_notes notes;
};
#define TRY_RESULT_INIT                                                                            \
    {                                                                                              \
        .notes = TRIED_NOTES_INIT                                                                  \
    }
void try_result_free(struct try_result *result);
#define _cleanup_try_ __attribute__((cleanup(try_result_free)))

/* Tries an agent. The caller holds the lock of code.git; *ret must be TRY_RESULT_INIT. Fails with
 * MAS_CONFLICT, and changes nothing, if the checkout cannot take the files: it is bare, an
 * operation of git is in progress there, a link leads out of it. With `only_again`, fails with
 * MAS_NOT_FOUND unless this agent is tried there already. */
int try_agent(const struct repo *repo, const char *agent, const struct team_project *project,
              bool only_again, struct try_result *ret, struct err *err);

/* Fails with MAS_CONFLICT if files of an agent are in the work tree `top`; NULL: never. `what` is
 * what the caller does not do: "land onto 'main'". */
int try_refuse(const char *top, const char *what, struct err *err);
