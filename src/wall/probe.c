/*
 * One trial answers all: mas-wall, run in bubblewrap with each option that a wall needs, prints
 * what the kernel has. It is begun early and awaited late. Where bubblewrap does not work, mas-wall
 * is run without it, and the switches of the kernel say what to advise. probe_cache.c remembers
 * what has worked.
 */

#include "wall/probe.h"

#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "wall/probe_internal.h"
#include "wall/secrets.h"

enum { PROBE_MS = 10000, PROBE_OUTPUT_MAX = 4096, NUMBER_MAX = 64, LANDLOCK_MAX = 999 };

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

/* Starts a program with `fd` as its descriptor 3, unless that is -1. */
static int begin(const char *file, const char *const *argv, int fd, struct proc *ret,
                 struct err *err)
{
    _cleanup_strv_ char **env = NULL;
    struct proc_spec spec = {.file = file,
                             .argv = (char *const *)(uintptr_t)argv,
                             .cwd = -1,
                             .output_max = PROBE_OUTPUT_MAX,
                             .timeout_ms = PROBE_MS,
                             .bound = true,
                             .fds = &fd,
                             .fd_count = fd != -1};

    for (char **e = environ; *e != NULL; e++)
        if (!str_starts(*e, "MAS_SESSION_ID=")) /* who ends that session is not to end this */
            strv_push(&env, *e);
    spec.envp = env;
    return proc_start(&spec, ret, err);
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

/* Takes what mas-wall prints of the kernel. */
static void read_kernel(struct wall_probe *probe, const char *text)
{
    probe->landlock = (int)strtol(find_value(text, "landlock"), NULL, 10);
    probe->seccomp = str_starts(find_value(text, "seccomp"), "yes");
    probe->looked = true;
}

/* Asks mas-wall what the kernel has, where bubblewrap could not. It is asked again if it fails. */
static void ask_kernel(struct wall_probe *probe, const char *enter)
{
    const char *argv[] = {"mas-wall", "--probe", NULL};
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct proc proc;

    if (begin(enter, argv, -1, &proc, &ignored) == 0 &&
        proc_finish(&proc, &result, &ignored) == 0 && result.status == 0)
        read_kernel(probe, str_text(&result.out));
    proc_result_free(&result);
}

/* Starts mas-wall in bubblewrap, with everything that a wall needs of both. */
static int begin_bwrap(const char *file, const char *enter, struct proc *ret, struct err *err)
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
                          "--dev",
                          "/dev",
                          "--proc",
                          "/proc",
                          "--ro-bind", /* it may lie below /dev */
                          enter,
                          enter,
                          "--cap-drop",
                          "ALL",
                          "--ro-bind-fd",
                          "3",
                          "/dev/shm/x",
                          "--",
                          enter,
                          "--probe",
                          NULL};
    _cleanup_close_ int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return begin(file, argv, fd, ret, err);
}

static int fail_bwrap(struct err *err)
{
    (void)err_wrap(err, "bubblewrap does not work here");
    return err_hint(err, "see what this does: bwrap --ro-bind / / true");
}

/* Waits for what begin_bwrap() has started. */
static int finish_bwrap(struct wall_probe *probe, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (proc_finish(probe->trial, &result, err) == -1) {
        proc_result_free(&result);
        return fail_bwrap(err);
    }
    int status = result.status;
    if (status == 0) {
        read_kernel(probe, str_text(&result.out));
    } else {
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

static void drop_trial(struct wall_probe *probe)
{
    free(probe->trial);
    free(probe->tried);
    probe->trial = NULL;
    probe->tried = NULL;
}

void wall_probe_begin(struct wall_probe *probe, const char *search, const char *enter)
{
    if (probe->bwrap != NULL || probe->trial != NULL)
        return;
    probe->bwrap_lacks = (struct err)ERR_INIT;
    probe->tried = path_find_program("bwrap", search, AT_FDCWD);
    if (probe->tried == NULL) {
        (void)err_set(&probe->bwrap_lacks, MAS_FAILED, "there is no program 'bwrap'");
        (void)err_hint(&probe->bwrap_lacks, "install bubblewrap: apt install bubblewrap");
        return;
    }
    if (probe_recall(probe, enter)) {
        drop_trial(probe);
        return;
    }
    probe->trial = mem_alloc(sizeof *probe->trial);
    if (begin_bwrap(probe->tried, enter, probe->trial, &probe->bwrap_lacks) == 0)
        return;
    (void)fail_bwrap(&probe->bwrap_lacks);
    drop_trial(probe);
}

void wall_probe_look(struct wall_probe *probe, const char *search, const char *enter)
{
    wall_probe_begin(probe, search, enter);
    if (probe->trial != NULL) {
        if (finish_bwrap(probe, &probe->bwrap_lacks) == 0)
            probe->bwrap = TAKE_PTR(probe->tried);
        drop_trial(probe);
        probe_keep(probe, enter);
    }
    if (!probe->looked)
        ask_kernel(probe, enter);
}

void wall_probe_format(const struct wall_probe *probe, struct str *to)
{
    if (probe->bwrap != NULL && probe->looked && !str_has_control(probe->bwrap))
        str_addf(to, "%d %d %s", probe->landlock, probe->seccomp, probe->bwrap);
}

void wall_probe_forget(struct wall_probe *probe)
{
    free(probe->bwrap);
    probe->bwrap = NULL;
    probe->looked = false;
    if (probe->cache != -1)
        (void)unlinkat(probe->cache, WALL_PROBE_FILE, 0);
}

bool wall_probe_parse(const char *text, struct wall_probe *ret)
{
    _cleanup_strv_ char **secrets = NULL;
    char *end;
    long landlock = strtol(text, &end, 10);

    if (end == text || landlock < 0 || landlock > LANDLOCK_MAX || end[0] != ' ' ||
        (end[1] != '0' && end[1] != '1') || end[2] != ' ' || end[3] != '/' ||
        strcspn(end + 3, "\t") >= PATH_MAX)
        return false;
    size_t len = strcspn(end + 3, "\t");
    _cleanup_free_ char *bwrap = mem_dupn(end + 3, len);
    if (access(bwrap, X_OK) == -1 || !wall_secrets_parse(end + 3 + len, &secrets))
        return false;
    *ret = (struct wall_probe){.looked = true,
                               .landlock = (int)landlock,
                               .seccomp = end[1] == '1',
                               .bwrap = TAKE_PTR(bwrap),
                               .secrets = TAKE_PTR(secrets),
                               .cache = -1};
    return true;
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
    if (probe->trial != NULL)
        proc_abandon(probe->trial);
    drop_trial(probe);
    free(probe->bwrap);
    probe->bwrap = NULL;
    strv_free(probe->secrets);
    probe->secrets = NULL;
}
