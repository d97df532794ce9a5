/*
 * Shared by the parts of host/supervisor.h: supervisor.c has the steps of an end and the orders of
 * the host, supervisor_tree.c the processes. All of it runs in the process of the supervisor.
 */
#pragma once

#include "host/pause.h"
#include "host/supervisor.h"
#include "wall/cgroup.h"

enum order_kind { ORDER_END, ORDER_PAUSE, ORDER_GO_ON };

/* What the host asks for. */
struct order {
    enum order_kind kind;
    struct supervisor_times times;
    pid_t spare;
};

/* The steps of an end, in order. */
enum step { STEP_NONE, STEP_HANGUP, STEP_TERMINATE, STEP_KILL };

/* The whole state of the supervisor's process. */
struct supervision {
    int host; /* -1: it is gone */
    bool piped;
    bool wall_tells; /* else its exit code is all there is */
    int told; /* what the wall around the agent tells; -1: nothing more */
    bool has_end; /* it has told how the agent ended: */
    int end;
    int signals;
    struct cgroup_part part; /* the cgroup of the tree */
    int client; /* of a job; -1: there is none */
    const struct supervisor_job *job; /* NULL: none */
    pid_t agent; /* 0: it has ended */
    struct supervisor_times times; /* for an end for which nobody gave others */
    struct order order;
    enum step step;
    int rounds;
    int64_t deadline;
    struct pause pause;
    struct lease_clock lease;
    bool guard_fell; /* a process that let connections through was killed */
    bool lost; /* the lease: the end is under way */
    struct supervisor_report report; /* counts and names, for SUPERVISOR_CLEAR */
};

void supervision_tell(struct supervision *self, const struct supervisor_report *report);

/* Lists the tree without the process that the host spares. What is below that one is of the tree: a
 * shell of the agent may have become it by exec. The caller frees *ret. */
size_t supervision_list(const struct supervision *self, struct proc_id **ret);
/* Sends a signal to the whole tree. Returns how many processes that was. */
size_t supervision_signal(struct supervision *self, int sig, bool with_names);
/* Kills the tree. Returns how many processes that was. */
size_t supervision_kill(struct supervision *self);

/* Reaps a process. Returns its id, 0: none has ended, or -1. Notes if it let the agent's
 * connections through and was killed. */
pid_t supervision_reap(struct supervision *self, int *ret_status);
/* Tells the host if nothing lets the agent's connections through any more. */
void supervision_look_for_guard(struct supervision *self);
