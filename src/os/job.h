/*
 * Whether this process is in a job of Slurm, and how a step of one ends.
 */
#pragma once

enum { JOB_TEXT = 24 };

/* Returns true if SLURM_JOB_ID says so, or the name of this process's cgroup: a shell that has lost
 * its environment still ends with the job. `ret` receives the job's number. */
bool job_inside(char ret[JOB_TEXT]);

/* The same for the text of /proc/PID/cgroup. */
bool job_of_cgroup(const char *text, char ret[JOB_TEXT]);

/* Returns true in a step that srun started. */
bool job_is_step(void);

/* Waits, in such a step, until the pipes of standard output and error are empty or
 * nobody reads them any more. slurmstepd drops what is still in them when the process ends:
 * measured with 22.05, 5 of 100 outputs of 60 kB lost their end. Nobody is told of that pipe
 * becoming empty, so it is looked at once a millisecond. Call it last. */
void job_drain_output(void);
