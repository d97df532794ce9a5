/*
 * `mas new --host HOST` where Slurm places the session. Where ssh reaches the host, the command
 * runs there; see cli/remote/remote.h.
 */
#pragma once

#include "cli/new_options.h"
#include "cmd.h"
#include "session/life.h"

/* clang-format off */
#define NEW_JOB_OPTIONS                                                                            \
    {0, "host", "HOST", "run the session on this host of mas.ini"},                    \
    {0, "cpus", "N", "with --host on Slurm: the job's CPUs"},                          \
    {0, "mem", "SIZE", "likewise: its memory, such as 16G"},                           \
    {0, "gpus", "N", "likewise: its GPUs"},                                            \
    {0, "time", "TIME", "likewise: its time limit, such as 90m or 2d"},                \
    {0, "idle", "TIME", "likewise: end the job when all agents were idle for this time"},         \
    {0, "chain", "N", "likewise: at most N jobs follow each other, one time limit after the other"}
/* clang-format on */

/* Returns true if one of these options was given. */
bool new_job_wanted(const struct call *call);
/* Fails if an option was given that only a job of Slurm has. */
int new_job_refuse(const struct call *call, struct err *err);
/* Submits the session and prints its job. */
int new_job(struct call *call, const struct life_options *options, struct new_given *given,
            struct err *err);
