/*
 * The steps of scope_make(): look whether a scope would end the agents earlier than they end now,
 * ask the manager for one (again, without the policy that earlier ones do not know), wait until the
 * kernel shows this process in it, because systemd moves it after it has said yes, and step down
 * into a group below. After a failure in between, the process is in the scope or where it was; it
 * can run in both.
 */

#include "wall/scope.h"

#include "base/time.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"
#include "wall/cgroup.h"

#include <pwd.h>

enum {
    BUSCTL_MS = 5000,
    MOVE_MS = 3000, /* for systemd to move the process after it has said yes */
    MOVE_LOOK_MS = 5,
    OUTPUT_MAX = 4096,
};

#define SYSTEMD_RUNS "/run/systemd/system" /* as sd_booted(3) finds out */
#define LINGER_DIR "/var/lib/systemd/linger"

bool scope_user_lingers(void)
{
    struct passwd entry;
    struct passwd *user = NULL;
    char buffer[4096];

    if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &user) != 0 || user == NULL)
        return false;
    _cleanup_free_ char *path = mem_printf(LINGER_DIR "/%s", user->pw_name);
    return access(path, F_OK) == 0;
}

/* Returns true if this process runs below the user's manager, and so ends with it anyway. */
static bool is_below_manager(void)
{
    _cleanup_free_ char *path = cgroup_own_path();
    _cleanup_free_ char *manager = mem_printf("/user@%ld.service/", (long)getuid());

    return path != NULL && strstr(path, manager) != NULL;
}

/* Runs busctl with these arguments. */
static int call_manager(const char *const *argv, const char *path, struct err *err)
{
    _cleanup_free_ char *busctl = path_find_program("busctl", path, -1);
    const struct proc_spec spec = {.file = busctl,
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = BUSCTL_MS,
                                   .bound = true};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str text = STR_INIT;

    if (busctl == NULL)
        return err_set(err, MAS_FAILED, "there is no busctl to ask systemd for a cgroup");
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    if (result.status == 0)
        return 0;
    const char *said = str_text(&result.err);
    str_add_visible(&text, said, strcspn(said, "\n"));
    return err_set(err, MAS_FAILED, "systemd gives no cgroup: %s", str_text(&text));
}

/* Asks a manager for the scope. */
static int ask(const char *bus, const char *unit, const char *words, const char *path, bool goes_on,
               struct err *err)
{
    char pid[16];

    (void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
    const char *argv[] = {"busctl",
                          bus,
                          "--quiet",
                          "--expect-reply=yes",
                          "call",
                          "org.freedesktop.systemd1",
                          "/org/freedesktop/systemd1",
                          "org.freedesktop.systemd1.Manager",
                          "StartTransientUnit",
                          "ssa(sv)a(sa(sv))",
                          unit,
                          "fail",
                          goes_on ? "5" : "4", /* properties */
                          "Description",
                          "s",
                          words,
                          "Delegate",
                          "b",
                          "true",
                          "CollectMode",
                          "s",
                          "inactive-or-failed",
                          "PIDs",
                          "au",
                          "1",
                          pid,
                          NULL,
                          NULL,
                          NULL,
                          NULL,
                          NULL};
    static const char *const policy[] = {"OOMPolicy", "s", "continue"};
    size_t n = 0;

    while (argv[n] != NULL)
        n++;
    for (size_t i = 0; goes_on && i < ARRAY_LEN(policy); i++)
        argv[n++] = policy[i];
    argv[n] = "0"; /* other units */
    return call_manager(argv, path, err);
}

/* Waits until this process is in the scope. */
static bool await_move(const char *unit)
{
    int64_t end = time_monotonic_ms() + MOVE_MS;

    for (;;) {
        _cleanup_free_ char *path = cgroup_own_path();
        const char *name = path != NULL ? strrchr(path, '/') : NULL;
        if (name != NULL && strcmp(name + 1, unit) == 0)
            return true;
        if (time_monotonic_ms() >= end)
            return false;
        (void)loop_wait_for(-1, 0, MOVE_LOOK_MS);
    }
}

unsigned scope_foresee(const char *setting, unsigned limits, struct err *ret_why)
{
    _cleanup_close_ int parent = -1;

    if (limits == 0)
        return 0;
    if (cgroup_find(setting, &parent, ret_why) == -1)
        return strcmp(setting, "auto") == 0 && access(SYSTEMD_RUNS, F_OK) == 0 ? 0 : limits;
    (void)err_set(ret_why, MAS_FAILED, "the cgroup has no controller for it");
    return limits & ~cgroup_offers(parent);
}

int scope_make(const char *unit, const char *words, const char *path, int *ret_parent,
               struct err *err)
{
    bool root = geteuid() == 0;

    if (!root && !is_below_manager() && !scope_user_lingers())
        return err_set(err, MAS_FAILED,
                       "systemd would end the agents at the logout; allow them to stay with: "
                       "loginctl enable-linger");
    const char *bus = root ? "--system" : "--user";
    struct err why = ERR_INIT;
    if (ask(bus, unit, words, path, true, &why) == -1 &&
        ask(bus, unit, words, path, false, err) == -1) /* before 253 there is no such policy */
        return -1;
    if (!await_move(unit))
        return err_set(err, MAS_FAILED, "systemd does not move mas into a cgroup");
    return cgroup_step_down(ret_parent, err);
}
