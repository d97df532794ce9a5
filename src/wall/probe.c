#include "wall/probe.h"

#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBE_MS = 10000, PROBE_OUTPUT_MAX = 4096, NUMBER_MAX = 64 };

/* Returns the number in a file of /proc/sys, whose size is said to be 0; -1: there is none. */
static long read_number(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (fd == -1 || file_read_stream(fd, path, NUMBER_MAX, &text, &len, &ignored) == -1)
        return -1;
    return strtol(text, NULL, 10);
}

/* Says how to get user namespaces, if that is what is missing. */
static int hint_namespaces(struct err *err)
{
    if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") > 0)
        return err_hint(err, "this system lets only programs with an AppArmor profile make user "
                             "namespaces; as root: apt install apparmor-profiles && ln -s "
                             "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
                             "/etc/apparmor.d/ && systemctl reload apparmor");
    if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return err_hint(err, "user namespaces are switched off; as root: "
                             "sysctl -w kernel.unprivileged_userns_clone=1");
    if (read_number("/proc/sys/user/max_user_namespaces") == 0)
        return err_hint(err, "user namespaces are switched off; as root: "
                             "sysctl -w user.max_user_namespaces=15000");
    return err_hint(err, "bubblewrap needs to make namespaces, which a container may forbid; try: "
                         "bwrap --ro-bind / / true");
}

/* Runs a program to its end. */
static int run(const char *file, const char *const *argv, int fd, struct proc_result *ret,
               struct err *err)
{
    struct proc_spec spec = {.file = file,
                             .argv = (char *const *)(uintptr_t)argv,
                             .cwd = -1,
                             .output_max = PROBE_OUTPUT_MAX,
                             .timeout_ms = PROBE_MS,
                             .bound = true,
                             .fds = &fd,
                             .fd_count = fd != -1};
    struct proc proc;

    return proc_start(&spec, &proc, err) == -1 ? -1 : proc_finish(&proc, ret, err);
}

/* Returns the value of a line KEY=VALUE, or "". */
static const char *find_value(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (; text != NULL; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (strncmp(text, key, len) == 0 && text[len] == '=')
            return text + len + 1;
    }
    return "";
}

/* Asks mas-wall what the kernel has. */
static void ask_kernel(struct wall_probe *probe, const char *enter)
{
    const char *argv[] = {"mas-wall", "--probe", NULL};
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    if (run(enter, argv, -1, &result, &ignored) == 0 && result.status == 0) {
        probe->landlock = (int)strtol(find_value(str_text(&result.out), "landlock"), NULL, 10);
        probe->seccomp = str_starts(find_value(str_text(&result.out), "seccomp"), "yes");
    }
    proc_result_free(&result);
    probe->looked = true;
}

/* Runs bubblewrap with everything that a wall needs of it. */
static int try_bwrap(const char *file, struct err *err)
{
    const char *argv[] = {"bwrap",
                          "--unshare-pid",
                          "--unshare-ipc",
                          "--unshare-uts",
                          "--unshare-user-try",
                          "--unshare-cgroup-try",
                          "--die-with-parent",
                          "--ro-bind",
                          "/",
                          "/",
                          "--tmpfs",
                          "/tmp",
                          "--dev",
                          "/dev",
                          "--proc",
                          "/proc",
                          "--cap-drop",
                          "ALL",
                          "--ro-bind-fd",
                          "3",
                          "/tmp/x",
                          "--",
                          "true",
                          NULL};
    _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct proc_result result = PROC_RESULT_INIT;

    if (run(file, argv, fd, &result, err) == -1) {
        proc_result_free(&result);
        (void)err_wrap(err, "bubblewrap does not work here");
        return err_hint(err, "see what this does: bwrap --ro-bind / / true");
    }
    int status = result.status;
    if (status != 0) {
        const char *text = str_text(&result.err);
        bool is_old = strstr(text, "-bind-fd") != NULL;
        (void)err_set(err, MAS_FAILED, "bubblewrap does not work here: %.*s",
                      (int)strcspn(text, "\n"), text[0] != '\0' ? text : "it failed");
        (void)(is_old ? err_hint(err, "update bubblewrap: it lacks --bind-fd, which version 0.8.0-2"
                                      "+deb12u1 of Debian has")
                      : hint_namespaces(err));
    }
    proc_result_free(&result);
    return status == 0 ? 0 : -1;
}

void wall_probe_look(struct wall_probe *probe, const char *search, const char *enter)
{
    if (!probe->looked)
        ask_kernel(probe, enter);
    if (probe->bwrap != NULL)
        return;
    probe->bwrap_lacks = (struct err)ERR_INIT;
    _cleanup_free_ char *file = path_find_program("bwrap", search, AT_FDCWD);
    if (file == NULL) {
        (void)err_set(&probe->bwrap_lacks, MAS_FAILED, "there is no program 'bwrap'");
        (void)err_hint(&probe->bwrap_lacks, "install bubblewrap: apt install bubblewrap");
        return;
    }
    if (try_bwrap(file, &probe->bwrap_lacks) == 0)
        probe->bwrap = TAKE_PTR(file);
}

int wall_probe_lacks(const struct wall_probe *probe, struct err *err)
{
    if (probe->bwrap == NULL) {
        *err = probe->bwrap_lacks;
        return -1;
    }
    if (probe->landlock == 0) {
        (void)err_set(err, MAS_FAILED, "the kernel has no Landlock, or it is switched off");
        return err_hint(err, "boot Linux 5.13 or newer with 'landlock' in its parameter lsm=");
    }
    if (!probe->seccomp) {
        (void)err_set(err, MAS_FAILED, "the kernel has no seccomp");
        return err_hint(err, "boot a kernel with CONFIG_SECCOMP_FILTER");
    }
    return 0;
}

int wall_probe_check(const struct wall_probe *probe, const char *agent, struct err *err)
{
    return wall_probe_lacks(probe, err) == 0
               ? 0
               : err_wrap(err, "cannot put up the wall of agent '%s'", agent);
}

void wall_probe_free(struct wall_probe *probe)
{
    free(probe->bwrap);
    probe->bwrap = NULL;
}
