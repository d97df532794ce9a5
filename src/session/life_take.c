/* The part of session/life.h that takes a session from the machine that has it, and its lease. */
#include "base/file.h"
#include "base/loop.h"
#include "base/machine.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/time.h"
#include "session/life_internal.h"
#include "store/lease.h"
#include "store/lease_clock.h"
#include "store/owner.h"
#include "tmux/tmux.h"

enum { GIVE_BACK_MS = 2000, OUTPUT_MAX = 4096 };

/* ---- the lease */

static bool ask_tick(const char *machine, int64_t left_ms, void *arg)
{
    const struct life *life = arg;

    if (life->waits != NULL)
        life->waits(machine, left_ms, life->waits_arg);
    return life->tick != NULL && life->tick(0, 0, life->tick_arg);
}

/* Takes the lease of a session in `store`. `own`: this machine has the session. */
static int take(const struct life *life, struct session *session, const char *store, bool own,
                struct err *err)
{
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    _cleanup_close_ int dir = lease_open(store, session->id, true, err);
    int64_t begun = 0;
    const struct lease_wish wish = {.id = session->id,
                                    .epoch = session->epoch,
                                    .token = session->lease != NULL ? session->lease : "",
                                    .own = own,
                                    .takeover = life->takeover != LIFE_TAKEOVER_NO,
                                    .fenced = life->takeover == LIFE_TAKEOVER_FENCED,
                                    .tick = ask_tick,
                                    .arg = (void *)(uintptr_t)life};

    if (dir == -1)
        return -1;
    if (lease_take(dir, &wish, &lease, &begun, err) == -1) {
        (void)err_wrap(err, "cannot start session '%s'",
                       session_label(life->root, session->id).text);
        return err->code == MAS_CONFLICT ? err_hint(err, "its store is '%s'", store) : -1;
    }
    if (lease_clock_open(lease.token, true, &clock, err) == -1)
        return -1;
    lease_clock_belongs(&clock, life->root->sessions);
    lease_clock_set(&clock, begun);
    lease_clock_say(&clock, LEASE_RUNS);
    if (own && wish.token[0] != '\0' && strcmp(wish.token, lease.token) != 0)
        lease_clock_remove(wish.token); /* of a run that has crashed */
    lease_clock_drop_old();
    session->epoch = lease.epoch;
    char *kept = mem_dup(store); /* may be that of the session */
    free(session->store);
    free(session->lease);
    session->store = kept;
    session->lease = mem_dup(lease.token);
    return 0;
}

static bool has_lease(const struct session *session)
{
    return session->store != NULL && session->store[0] != '\0' && session->lease != NULL &&
           session->lease[0] != '\0';
}

/* Fails if the store of the last start, which this one does not name, knows that another machine
 * has gone on with the session. A store that is gone says nothing. */
static int check_last_store(const struct life *life, const struct session *session, struct err *err)
{
    struct err ignored = ERR_INIT;

    if (!has_lease(session) || life->takeover != LIFE_TAKEOVER_NO)
        return 0;
    _cleanup_close_ int dir = lease_open(session->store, session->id, false, &ignored);
    if (dir == -1 || lease_check_epoch(dir, session->epoch, &ignored) == 0 ||
        ignored.code != MAS_CONFLICT)
        return 0;
    const struct session_label label = session_label(life->root, session->id);
    *err = ignored;
    (void)err_wrap(err, "cannot start session '%s'", label.text);
    return err_hint(err,
                    "its store '%s' has what came of it; this copy is started by: mas start "
                    "--takeover %s",
                    session->store, label.text);
}

int life_lease_take(const struct life *life, struct session *session, struct err *err)
{
    const char *store = config_text(life->config, SETTING_FLEET_STORE);

    if (store[0] != '\0')
        return take(life, session, store, true, err);
    if (check_last_store(life, session, err) == -1)
        return -1;
    free(session->store);
    session->store = mem_dup("");
    return 0;
}

int life_lease_refresh(const struct life *life, const struct session *session, struct err *err)
{
    if (!has_lease(session))
        return 0;
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    if (lease_clock_open(session->lease, false, &clock, err) == -1)
        return -1;
    int64_t next = 0;
    if (lease_clock_look(&clock, &next) == LEASE_VALID &&
        next - time_monotonic_ms() > LEASE_LOST_MS - LEASE_RENEW_MS)
        return 0;
    _cleanup_close_ int dir = lease_open(session->store, session->id, false, err);
    _cleanup_lease_ struct lease lease = LEASE_INIT;
    int64_t begun = 0;
    if (dir == -1 || lease_hold(session->epoch, session->lease, &lease, err) == -1 ||
        lease_renew(dir, &lease, &begun, err) == -1)
        return err_wrap(err, "cannot start session '%s'",
                        session_label(life->root, session->id).text);
    lease_clock_set(&clock, begun);
    return 0;
}

/* Lets a program of its own do something to the lease, which is given up if the store does not
 * answer. */
static void tell_store(const struct session *session, const char *option)
{
    _cleanup_free_ char *exe = path_exe();
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    struct proc proc;
    _cleanup_free_ char *epoch = mem_printf("%ju", (uintmax_t)session->epoch);
    const char *const argv[] = {"mas",       "lease", option,         session->store,
                                session->id, epoch,   session->lease, NULL};
    const struct proc_spec spec = {.file = exe,
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = OUTPUT_MAX,
                                   .timeout_ms = 2 * GIVE_BACK_MS};

    if (exe != NULL && proc_start(&spec, &proc, &ignored) == 0) {
        if (loop_wait_for(proc.pidfd, POLLIN, GIVE_BACK_MS) > 0)
            (void)proc_finish(&proc, &result, &ignored);
        else
            proc_leave(&proc);
    }
    proc_result_free(&result);
}

void life_lease_give_back(const struct session *session)
{
    _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
    struct err ignored = ERR_INIT;

    if (!has_lease(session) || lease_clock_open(session->lease, false, &clock, &ignored) == -1)
        return;
    lease_clock_say(&clock, LEASE_STOPS);
    tell_store(session, "--give-back");
    lease_clock_remove(session->lease);
}

void life_lease_forget(const struct session *session)
{
    if (has_lease(session))
        tell_store(session, "--forget");
}

int life_lease_again(const struct life *life, int dir, struct session *session, struct err *err)
{
    struct err ignored = ERR_INIT;
    bool valid = false;

    if (!has_lease(session))
        return 0;
    {
        _cleanup_lease_clock_ struct lease_clock clock = LEASE_CLOCK_INIT;
        if (lease_clock_open(session->lease, false, &clock, &ignored) == 0)
            valid = lease_clock_word(&clock) == LEASE_RUNS &&
                    lease_clock_look(&clock, NULL) == LEASE_VALID;
    }
    if (valid)
        return 0;
    _cleanup_free_ char *store = mem_dup(session->store);
    return take(life, session, store, true, err) == -1 ? -1 : life_record(life, dir, session, err);
}

/* ---- another machine's session */

/* Without a lease nothing shows whether the other machine still runs the session. */
static int refuse(const struct life *life, const struct session *session, struct err *err)
{
    const struct session_label label = session_label(life->root, session->id);
    const char *host = machine_host(session->machine);

    (void)err_set(err, MAS_CONFLICT,
                  "cannot take over session '%s': it has no store whose lease would show that it "
                  "has ended on %s",
                  label.text, host);
    return err_hint(err,
                    "make sure that %s is off or its agents have ended, then: mas start --takeover "
                    "--fenced %s",
                    host, label.text);
}

int life_take_over(const struct life *life, int dir, struct session *session, struct err *err)
{
    _cleanup_owner_ struct owner self = OWNER_INIT;
    char *socket = NULL;
    bool has = true;

    if (life->takeover == LIFE_TAKEOVER_NO)
        return 0;
    if (owner_has(&self, session, &has, err) == -1)
        return -1;
    if (has)
        return 0;
    if (session->store[0] == '\0' && life->takeover != LIFE_TAKEOVER_FENCED)
        return refuse(life, session, err);
    _cleanup_free_ char *store = mem_dup(session->store);
    if (store[0] != '\0' && take(life, session, store, false, err) == -1)
        return -1;
    /* the name of its tmux server is that of the other machine */
    if (tmux_socket(life->config, session->tmux_name, &socket, err) == -1)
        return -1;
    free(session->tmux_socket);
    session->tmux_socket = socket;
    _cleanup_free_ char *from = mem_dup(machine_host(session->machine));
    uint64_t epoch = session->epoch;
    if (owner_take(session, false, err) == -1)
        return -1;
    if (store[0] != '\0')
        session->epoch = epoch; /* that of the lease, which is the next one already */
    /* before anything starts: killed from here on, the session has crashed on this machine */
    if (life_record(life, dir, session, err) == -1)
        return -1;
    /* what still has its locks, stopped or cut off, ends without touching a file: host/lease.c */
    if (store[0] != '\0')
        life_clean_run(dir);
    workspace_log(dir, config_log_limits(life->config), "takeover from=%s epoch=%ju", from,
                  (uintmax_t)session->epoch);
    return 0;
}
