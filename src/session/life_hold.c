/*
 * What the other life_*.c begin and end with: the lock of a session and its metadata; its hosts,
 * which are found through run/, because the team may be damaged; the machine that has it, and its
 * lease.
 */
#include "base/time.h"
#include "client/hosts.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/machine.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/tree.h"
#include "session/life_internal.h"
#include "store/index.h"
#include "store/lease.h"
#include "store/lease_clock.h"
#include "store/owner.h"
#include "store/reserve.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* ---- lock and metadata */

int life_lock(const struct life *life, int dir, const char *id, int wait_ms, const char *who,
              int *ret_lock, struct err *err)
{
    bool elsewhere = false;
    int rc = life->takeover == LIFE_TAKEOVER_NO
                 ? owner_lock(life->root, dir, id, wait_ms, who, ret_lock, &elsewhere, err)
                 : workspace_lock(dir, wait_ms, who, ret_lock, err);
    bool may_be_gone = rc == 0 || err->code == MAS_FAILED;

    if (may_be_gone && !file_is_named(life->root->sessions, id, dir, NULL)) {
        if (rc == 0)
            fd_closep(ret_lock);
        return err_set(err, MAS_NOT_FOUND,
                       "cannot %s session '%s': another command has just removed it", who, id);
    }
    return rc == 0 || elsewhere
               ? rc
               : err_wrap(err, "cannot lock session '%s'", session_label(life->root, id).text);
}

int life_hold(const struct life *life, const char *id, int wait_ms, const char *who, int *ret_dir,
              int *ret_lock, struct err *err)
{
    int dir = workspace_open(life->root, id);
    if (dir == -1) {
        if (errno != ENOENT)
            return err_errno(err, "cannot open session '%s'", id);
        (void)err_set(err, MAS_DAMAGED, "cannot %s session '%s': its workspace is missing", who,
                      id);
        return err_hint(err, "check it with: mas doctor");
    }
    if (life_lock(life, dir, id, wait_ms, who, ret_lock, err) == -1) {
        (void)close(dir);
        return -1;
    }
    *ret_dir = dir;
    return 0;
}

int life_load(const struct life *life, int dir, const char *id, const char *what,
              struct session *ret, struct err *err)
{
    if (session_load(life->root, dir, id, ret, err) == 0)
        return 0;
    (void)err_wrap(err, "cannot %s session '%s'", what, session_label(life->root, id).text);
    return err_hint(err, "check it with: mas doctor");
}

static int record(const struct life *life, int dir, const struct session *session, struct err *err)
{
    _cleanup_close_ int lock = -1;
    if (session_save(life->root, dir, session, err) == -1 ||
        root_lock(life->root, &lock, err) == -1)
        return -1;
    return index_update(life->root, session->id, session, err);
}

int life_record(const struct life *life, int dir, const struct session *session, struct err *err)
{
    struct err why = ERR_INIT;

    if (record(life, dir, session, &why) == 0)
        return 0;
    if (reserve_give(dir, RESERVE_RECORD, &why))
        return record(life, dir, session, err);
    *err = why;
    return -1;
}

void life_undo_record(const struct life *life, int dir, const char *id, const struct str *before)
{
    _cleanup_session_ struct session old = SESSION_INIT;
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;

    if (file_replace(dir, WORKSPACE_SESSION, before->data, before->len, 0600, &ignored) == 0 &&
        session_load(life->root, dir, id, &old, &ignored) == 0 &&
        root_lock(life->root, &lock, &ignored) == 0)
        (void)index_update(life->root, id, &old, &ignored);
}

/* ---- its hosts */

enum {
    MARGIN_MS = 7000, /* for the last signal and the answer */
    GONE_MS = 2000, /* a host may exit this much later than its agent */
};

/* Receives how the process tree of an agent ended. */
static bool on_end(struct host_call *call, const struct frame *reply, void *arg)
{
    struct life_end *end = arg;
    const char *names = json_get_text(reply->head, "names");
    int64_t terminated = json_int(json_get(reply->head, "terminated"), 0);
    int64_t killed = json_int(json_get(reply->head, "killed"), 0);
    size_t len = strlen(end->names);

    (void)call;
    end->terminated += terminated > 0 ? (size_t)terminated : 0;
    end->killed += killed > 0 ? (size_t)killed : 0;
    if (names != NULL && names[0] != '\0')
        (void)snprintf(end->names + len, sizeof end->names - len, "%s%s", len > 0 ? " " : "",
                       names);
    return true;
}

void life_stop_hosts(const struct life *life, const char *id, const char *agent,
                     struct life_end *end)
{
    _cleanup_close_ int dir = workspace_open(life->root, id);
    _cleanup_close_ int run = dir != -1 ? path_open_dir(dir, WORKSPACE_RUN) : -1;
    _cleanup_strv_ char **names = hosts_list(run, WORKSPACE_HOST_SOCKET);
    _cleanup_str_ struct str head = STR_INIT;
    int hangup = config_number(life->config, SETTING_HANGUP);
    int terminate = config_number(life->config, SETTING_TERMINATE);
    size_t count = strv_len(names);
    struct host_call *calls = mem_alloc((count + 1) * sizeof *calls);

    size_t asked = 0;
    for (size_t i = 0; i < count; i++)
        if (agent == NULL || strcmp(agent, names[i]) == 0)
            calls[asked++] = (struct host_call){.run = run, .agent = names[i]};
    /* otherwise one that does not answer now would cost all of them the time */
    hosts_start(calls, asked, "{\"do\":\"status\"}", NULL, 0);
    hosts_finish(calls, asked, HOSTS_ANSWER_MS, NULL, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < asked; i++)
        if (calls[i].answer == HOST_ANSWERED)
            calls[kept++] = (struct host_call){.run = run, .agent = calls[i].agent};
    str_addf(&head, "{\"do\":\"stop\",\"hangup\":%d,\"terminate\":%d}", hangup, terminate);
    hosts_start(calls, kept, head.data, NULL, 0);
    hosts_finish(calls, kept, hangup + terminate + MARGIN_MS, on_end, end);
    free(calls);
}

void life_clean_run(int dir)
{
    static const char *const endings[] = {WORKSPACE_HOST_SOCKET, WORKSPACE_HOST_AGENT,
                                          WORKSPACE_HOST_LOCK, WORKSPACE_HOST_ROLE,
                                          WORKSPACE_ERRAND_LOCK};
    struct err ignored = ERR_INIT;
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        _cleanup_strv_ char **names = hosts_list(run, endings[i]);
        for (char **agent = names; agent != NULL && *agent != NULL; agent++) {
            _cleanup_free_ char *name = mem_printf("%s%s", *agent, endings[i]);
            (void)tree_remove(run, name, &ignored);
        }
    }
}

int life_await_hosts(const struct life *life, int dir, const char *id, const char *what,
                     struct err *err)
{
    int64_t end = time_monotonic_ms() + GONE_MS + config_number(life->config, SETTING_HANGUP) +
                  config_number(life->config, SETTING_TERMINATE);
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **names = hosts_list(run, WORKSPACE_HOST_LOCK);

    for (char **agent = names; agent != NULL && *agent != NULL; agent++) {
        _cleanup_free_ char *name = mem_printf("%s%s", *agent, WORKSPACE_HOST_LOCK);
        struct err why = ERR_INIT;
        _cleanup_close_ int lock = -1;
        int64_t left = end - time_monotonic_ms();
        if (file_lock(run, name, left > 0 ? (int)left : LOCK_TRY, "", &lock, &why) == 0 ||
            (why.code != MAS_CONFLICT && why.code != MAS_TIMEOUT))
            continue;
        (void)err_set(err, MAS_CONFLICT,
                      "cannot %s session '%s': the host of its agent '%s' is still running", what,
                      session_label(life->root, id).text, *agent);
        return err_hint(err, "end it with: mas stop %s", session_label(life->root, id).text);
    }
    life_clean_run(dir); /* also a lock that waiting for an exiting host recreated */
    reserve_drop(dir);
    return 0;
}

/* ---- owner and lease */

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
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
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
        if (loop_wait_for(proc.end_fd, POLLIN, GIVE_BACK_MS) > 0)
            (void)proc_finish(&proc, &result, &ignored);
        else
            proc_leave(&proc);
    }
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
