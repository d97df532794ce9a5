/*
 * Shared by the files of fleet/carry; for carry*.c only.
 */
#pragma once

#include "base/json.h"
#include "fleet/carry.h"
#include "fleet/reach.h"
#include "os/proc.h"

enum { CARRY_HASH_CHARS = 16 }; /* of a name in the names of files and directories */

/* ---- ways to the other machine */
int carry_fail_version(const struct carry *carry, struct err *err);
/* Runs `mas carried ...` there; *ret is the JSON object that it prints. Returns REACH_REFUSED, with
 * *err set, if it has failed there. */
int carry_ask(const struct carry *carry, char *const *words, struct json **ret, struct err *err);
/* Returns the address by which git talks to `mas carried STEP NAME [MORE]` there. */
char *carry_address(const struct carry *carry, const char *step, const char *name,
                    const char *more);
/* Makes what git calls such an address (git/git.h). */
int carry_alias(char ret[ID_TEXT + 1], struct err *err);
/* Runs git, which talks to the other machine. */
int carry_talk(const struct git *git, const char *const *args, struct err *err);
/* Adds a ref that gets a commit there, whatever it was. */
void carry_add_spec(struct carry_freight *freight, const char *from, const char *to);
/* Adds the commits of submodules that a commit names, as submodule_list() finds them. */
int carry_load_submodules(const struct project *project, const char *commit, char ***notes,
                          struct carry_freight *freight, struct err *err);
/* Pushes from the repository `dir`. `branch`: the one that is among what goes, in full; NULL: none.
 */
int carry_push(const struct carry *carry, const char *dir, const char *name, const char *branch,
               const struct carry_freight *freight, struct err *err);

/* ---- what is kept here */
char *carry_state(const struct carry *carry);
/* Makes a directory of the state that nobody else may read, and opens it. */
int carry_open_state(const char *path, struct err *err);
/* Returns the path that is recorded for a project; NULL: none was carried to that machine by this
 * name. The caller frees it. */
char *carry_read_place(const struct carry *carry, const char *name);
/* Returns the path of what says that a branch of a project went to that machine. */
char *carry_branch_path(const struct carry *carry, const char *name, const char *branch);
/* Records that a branch of a project goes there; NULL: only a commit does. Until the caller closes
 * *ret_lock nobody else takes anything of this project there: of two pushes git refuses one. */
int carry_record(const struct carry *carry, const char *name, const char *path, const char *branch,
                 int *ret_lock, struct err *err);

/* ---- what another machine reads */
/* A command there that reads what this machine sends. */
struct carry_stream {
    struct reach_command command;
    int in; /* its standard input */
    int out; /* and output; -1: it is dropped */
    int other; /* closed in the child: the other end of `in`; -1: none */
};
/* How it is run, however long that takes. The stream stays in place until it has ended. */
struct proc_spec carry_stream_spec(struct carry_stream *stream);
/* Sets the error of a command that has ended so. Returns -1. */
int carry_fail_stream(const struct proc_result *result, struct err *err);

/* ---- carry_big.c */
/* Takes what is big of a commit there before it is pushed. `refs` are those there, as
 * carried_refs() has them. The caller has the lock of the project. */
int carry_big(const struct carry *carry, const struct project *project, const char *name,
              const char *refs, struct err *err);
