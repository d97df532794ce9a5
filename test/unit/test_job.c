#include "unit.h"

#include "os/job.h"

TEST(finds_the_job_of_a_cgroup)
{
    static const struct {
        const char *text, *job; /* NULL: none */
    } cases[] = {
        {"", NULL},
        {"0::/\n", NULL},
        {"0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0\n", "7"},
        {"12:pids:/\n9:memory:/slurm/uid_4242/job_123456/step_0\n0::/\n", "123456"},
        {"9:memory:/slurm_n1/uid_0/job_8\n", "8"},
        {"0::/slurm/uid_0/job_8", "8"},
        {"0::/user.slice/job_7\n", NULL}, /* somebody else's */
        {"0::/user.slice/job_7\n1:x:/slurm\n", NULL},
        {"0::/slurm/job_\n", NULL},
        {"0::/slurm/job_7x/\n", NULL},
        {"0::/slurm/job_-7/\n", NULL},
        {"0::/slurm/job_x/job_9\n", "9"},
        {"0::/slurm/job_123456789012345678901234\n", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char job[JOB_TEXT] = "";
        CHECK_INT(job_of_cgroup(cases[i].text, job), cases[i].job != NULL);
        CHECK_STR(job, cases[i].job != NULL ? cases[i].job : "");
    }
}
