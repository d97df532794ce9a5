/*
 * One trial answers all: mas-wall, run in bubblewrap with each option that a wall needs, prints
 * what the kernel has. It is begun early and awaited late. Where bubblewrap does not work, mas-wall
 * is run without it, and the switches of the kernel say what to advise. What has worked is cached
 * in a file.
 */

#include "wall/probe.h"

#include "base/env.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "wall/secrets.h"

#define FRESH WALL_PROBE_FILE ".new"

enum {
    PROBE_MS = 10000,
    PROBE_OUTPUT_MAX = 4096,
    NUMBER_MAX = 64,
    LANDLOCK_MAX = 999,
    FILE_MAX = 16 << 10,
    FACT_MAX = 8 << 10,
};

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
    _cleanup_strv_ char **env = env_load_nothing_here(environ);
    struct proc_spec spec = {.file = file,
                             .argv = (char *const *)(uintptr_t)argv,
                             .cwd = -1,
                             .output_max = PROBE_OUTPUT_MAX,
                             .timeout_ms = PROBE_MS,
                             .bound = true,
                             .fds = &fd,
                             .fd_count = fd != -1};

    env_drop(env, "MAS_SESSION_ID"); /* who ends that session is not to end this */
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
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct proc proc;

    if (begin(enter, argv, -1, &proc, &ignored) == 0 &&
        proc_finish(&proc, &result, &ignored) == 0 && result.status == 0)
        read_kernel(probe, str_text(&result.out));
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
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (proc_finish(probe->trial, &result, err) == -1)
        return fail_bwrap(err);
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
    return status == 0 ? 0 : -1;
}

static void drop_trial(struct wall_probe *probe)
{
    free(probe->trial);
    free(probe->tried);
    probe->trial = NULL;
    probe->tried = NULL;
}

/* ---- the cache of what has worked */

/* Appends the text of a file of /proc; nothing if it is missing. */
static bool add_fact(struct str *to, const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    str_addc(to, ' ');
    if (fd == -1)
        return false;
    if (file_read_stream(fd, path, FACT_MAX, &text, &len, &ignored) == -1)
        return false;
    str_addn(to, text, strcspn(text, "\n"));
    return true;
}

static bool add_program(struct str *to, const char *path)
{
    struct stat st;

    if (stat(path, &st) == -1)
        return false;
    str_addf(to, " %s %ju:%ju:%jd:%o:%u:%jd.%09ld:%jd.%09ld", path, (uintmax_t)st.st_dev,
             (uintmax_t)st.st_ino, (intmax_t)st.st_size, (unsigned)st.st_mode, (unsigned)st.st_uid,
             (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec,
             st.st_ctim.tv_nsec);
    return true;
}

static void add_namespace(struct str *to, const char *name)
{
    char target[64];
    ssize_t len = readlink(name, target, sizeof target);

    str_addc(to, ' ');
    str_addn(to, target, len > 0 ? (size_t)len : 0);
}

/* What a process may do: its capabilities, no_new_privs and filters of system calls. */
static bool add_rights(struct str *to)
{
    static const char *const keys[] = {"Uid:", "Cap", "NoNewPrivs:", "Seccomp"};
    static const char path[] = "/proc/thread-self/status";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;
    char *save = NULL;

    if (fd == -1 || file_read_stream(fd, path, FACT_MAX, &text, &len, &ignored) == -1)
        return false;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            if (str_starts(line, keys[i]))
                str_addf(to, " %s", line);
    return true;
}

/* Appends what decides whether bubblewrap works here, as a line. Returns false if that is not all
 * known: then nothing is cached. */
static bool add_key(struct str *to, const char *bwrap, const char *enter)
{
    static const char *const facts[] = {
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "/proc/sys/kernel/unprivileged_userns_clone",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/user/max_pid_namespaces",
        "/proc/sys/user/max_mnt_namespaces",
        "/proc/self/attr/current",
    };
    static const char *const namespaces[] = {"/proc/self/ns/user", "/proc/self/ns/pid",
                                             "/proc/self/ns/mnt"};

    str_add(to, "1");
    if (!add_fact(to, "/proc/sys/kernel/random/boot_id") || !add_rights(to) ||
        !add_program(to, bwrap) || !add_program(to, enter))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(facts); i++)
        (void)add_fact(to, facts[i]);
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        add_namespace(to, namespaces[i]);
    bool one_line = memchr(to->data, '\n', to->len) == NULL;
    str_addc(to, '\n');
    return one_line;
}

/* Takes from the cache that probe->tried works with mas-wall, at the path `enter`. Returns false if
 * it does not say so, or says it of something else. */
static bool recall(struct wall_probe *probe, const char *enter)
{
    struct wall_probe told = WALL_PROBE_INIT;
    _cleanup_str_ struct str key = STR_INIT;
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (probe->cache == -1 ||
        file_read(probe->cache, WALL_PROBE_FILE, FILE_MAX, &text, &len, &ignored) == -1 ||
        !add_key(&key, probe->tried, enter) || !str_starts(text, str_text(&key)))
        return false;
    char *end = text + key.len + strcspn(text + key.len, "\n");
    if (strcmp(end, "\n") != 0)
        return false;
    *end = '\0';
    if (!wall_probe_parse(text + key.len, &told))
        return false;
    bool same = strcmp(told.bwrap, probe->tried) == 0;
    if (same) {
        probe->bwrap = TAKE_PTR(told.bwrap);
        probe->landlock = told.landlock;
        probe->seccomp = told.seccomp;
        probe->looked = true;
    }
    wall_probe_free(&told);
    return same;
}

/* Writes what has worked to the cache, if there is one. That it cannot is no error. */
static void keep(const struct wall_probe *probe, const char *enter)
{
    _cleanup_str_ struct str text = STR_INIT;

    if (probe->cache == -1 || probe->bwrap == NULL || !add_key(&text, probe->bwrap, enter))
        return;
    size_t before = text.len;
    wall_probe_format(probe, &text);
    if (text.len == before)
        return;
    str_addc(&text, '\n');
    (void)unlinkat(probe->cache, FRESH, 0);
    _cleanup_close_ int fd =
        openat(probe->cache, FRESH, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd == -1 || file_write_all(fd, text.data, text.len) == -1 ||
        renameat(probe->cache, FRESH, probe->cache, WALL_PROBE_FILE) == -1)
        (void)unlinkat(probe->cache, FRESH, 0);
}

/* ---- the whole */

void wall_probe_begin(struct wall_probe *probe, const char *search, const char *enter)
{
    if (probe->bwrap != NULL || probe->trial != NULL)
        return;
    probe->bwrap_lacks = (struct err)ERR_INIT;
    probe->tried = path_find_program("bwrap", search, -1);
    if (probe->tried == NULL) {
        (void)err_set(&probe->bwrap_lacks, MAS_FAILED, "there is no program 'bwrap'");
        (void)err_hint(&probe->bwrap_lacks, "install bubblewrap: apt install bubblewrap");
        return;
    }
    if (recall(probe, enter)) {
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
        keep(probe, enter);
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
    struct err ignored = ERR_INIT;

    /* Killed before it tells its child to go on, bubblewrap leaves it waiting for ever. */
    if (probe->trial != NULL)
        (void)finish_bwrap(probe, &ignored);
    drop_trial(probe);
    free(probe->bwrap);
    probe->bwrap = NULL;
    strv_free(probe->secrets);
    probe->secrets = NULL;
}
