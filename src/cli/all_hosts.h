/*
 * `--all-hosts`: a verb that lists, on this machine and on all of mas.ini, at the same time.
 *
 * Each machine runs the verb with --json and --greet (fleet/greeting.h), within `[fleet] answer`,
 * and so does each session that is a running job (all_hosts_jobs.h).
 * What it answers is hostile: bounded, parsed strictly, and only members that a table knows are
 * shown. A machine that was not reached, or of which something is wrong, is a row that says so.
 */
#pragma once

#include "base/json.h"
#include "cmd.h"
#include "fleet/greeting.h"
#include "fleet/last_known.h"

enum {
    ALL_HOSTS_TOP_MS = 2000, /* between two looks of `top` */
    ALL_HOSTS_DOCTOR = 5, /* times as long for `doctor`, which looks at every workspace */
    ALL_HOSTS_HERE_MS = 60000, /* for this machine, whose verb has no limit otherwise */
    ALL_HOSTS_ANSWER_MAX = 8 << 20, /* bytes of an answer */
    ALL_HOSTS_CLOCK_MS = 60000, /* a clock that differs by more is wrong */
    ALL_HOSTS_FULL = 16 << 20, /* bytes: a disk with less free space is full */
};

/* What a machine has answered, or a session that is a job: each of these is asked on its node but
 * by `list` and `doctor`. A partition of Slurm has its jobs in this machine's own answer: it only
 * says whether Slurm answers, which jobs were not asked, and for `doctor` of its store. */
struct fleet_answer {
    const char *host; /* its name; NULL: this machine */
    const char *session, *label; /* of a job: its id; how to name it; NULL: it is none */
    bool is_slurm; /* a partition */
    int code; /* what the command ends with for this one */
    bool reached; /* it has answered */
    struct json *json; /* the answer; NULL: none */
    struct greeting greeting; /* version "": none */
    int64_t clock_ms; /* how far its clock is ahead */
    char *problem; /* NULL: none */
    struct last_known known; /* of one that was not reached */
};

struct fleet_answers {
    const char *verb;
    struct fleet_answer *list;
    size_t count;
};

struct reach_ask;
/* Makes an answer of what a machine has printed, which was asked between `from` and `to` by the
 * clock here, and says what is wrong with the machine. */
void all_hosts_take(const char *verb, const struct reach_ask *ask, int64_t from, int64_t to,
                    struct fleet_answer *answer);
/* Says of a partition whether Slurm answers, and looks at its store. `now`: an answer that Slurm
 * gave a while ago is none. */
void all_hosts_take_slurm(const struct config *config, const struct remote *remote, bool now,
                          struct fleet_answer *answer);
void fleet_answer_free(struct fleet_answer *answer);

/* Returns the rows of an answer, NULL if it has none. */
const struct json *all_hosts_rows(const char *verb, const struct json *answer);
/* Returns the jobs that an answer has beside them; NULL if it has none. */
const struct json *all_hosts_jobs(const char *verb, const struct json *answer);
/* Returns true if none of the answers before `at` has the same job: machines may share a store. */
bool all_hosts_is_new_job(const struct fleet_answers *answers, size_t at, const struct json *job);
/* Returns the name of the member that holds the rows of a verb. */
const char *all_hosts_array(const char *verb);
/* Prints the rows of all answers as JSON, with the machines and what is wrong with them. */
void all_hosts_print_json(const struct fleet_answers *answers);
/* Prints the ids, as NAME:SESSION where they are elsewhere, and warns of what is wrong. */
void all_hosts_print_ids(const struct fleet_answers *answers);
/* Prints the table of a verb: its rows, then one for each machine with a problem. */
void all_hosts_table(const struct fleet_answers *answers);
/* Prints the table of `top`: the agents that `status` has found, in the order in which a person
 * looks at them, below the machines with a problem. `rows`: it has at most so many lines, of which
 * the last may say how many are missing; 0: all. */
void all_hosts_top_table(const struct fleet_answers *answers, size_t rows);

/* Calls `draw` every ALL_HOSTS_TOP_MS with the lines that there is room for, on a screen of its
 * own, until q is pressed or the terminal is gone. Leaves the terminal as it was, whatever ends it.
 */
int all_hosts_screen(void (*draw)(size_t rows, void *arg), void *arg, struct err *err);
