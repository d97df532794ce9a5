#include "os/job.h"

#include "os/file.h"
#include "os/loop.h"

#include <sys/ioctl.h>

/* Copies a number that ends at one of `ends`, or at the end of the text. */
static bool copy_number(const char *text, const char *ends, char ret[JOB_TEXT])
{
    size_t len = strspn(text, "0123456789");

    if (len == 0 || len >= JOB_TEXT || (text[len] != '\0' && strchr(ends, text[len]) == NULL))
        return false;
    memcpy(ret, text, len);
    ret[len] = '\0';
    return true;
}

bool job_of_cgroup(const char *text, char ret[JOB_TEXT])
{
    static const char mark[] = "/job_";

    for (const char *at = text; (at = strstr(at, mark)) != NULL; at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        const char *slurm = strstr(line, "slurm"); /* /slurm/uid_1/job_7, slurmstepd.scope/job_7 */
        if (slurm != NULL && slurm < at && copy_number(at + strlen(mark), "/\n", ret))
            return true;
    }
    return false;
}

/* Returns the cgroups of this process as they were when it was first asked for; "" if they cannot
 * be read. */
static const char *own_cgroup(void)
{
    enum { CGROUP_MAX = 65536 };
    static const char path[] = "/proc/self/cgroup";
    static char *text;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (text != NULL)
        return text;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1 || file_read_stream(fd, path, CGROUP_MAX, &text, &len, &ignored) == -1)
        text = mem_dup("");
    return text;
}

bool job_inside(char ret[JOB_TEXT])
{
    const char *id = getenv("SLURM_JOB_ID");

    return (id != NULL && copy_number(id, "", ret)) || job_of_cgroup(own_cgroup(), ret);
}

static void drain(int fd)
{
    struct stat st;
    int left = 0;

    if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode))
        return;
    while (ioctl(fd, FIONREAD, &left) == 0 && left > 0 && loop_wait_for(fd, 0, 1) == 0)
        continue; /* not so after POLLERR: the reader has gone */
}

bool job_is_step(void)
{
    return getenv("SLURM_STEP_ID") != NULL;
}

void job_drain_output(void)
{
    if (!job_is_step())
        return;
    drain(STDOUT_FILENO);
    drain(STDERR_FILENO);
}
