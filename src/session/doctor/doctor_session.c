/*
 * The part of session/doctor/doctor.h that checks one session: under its lock, and only if it is
 * still as the survey has seen it. Modes and .session come first, because all others read that, and
 * what has merely aged comes last. A check that cannot read what another one checks says nothing
 * about it.
 */

#include "base/time.h"
#include "client/hosts.h"
#include "code/look.h"
#include "memory/store.h"
#include "os/file.h"
#include "os/path.h"
#include "session/doctor/doctor_internal.h"
#include "session/grow.h"
#include "session/places.h"
#include "store/every.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/reserve.h"
#include "store/snapshot.h"
#include "store/team_file.h"
#include "store/workspace.h"

static void check_config(struct doctor *doctor, int dir, const struct session *session)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct err why = ERR_INIT;

    if (team_file_load(dir, &team, &why) == 0)
        return;
    if (why.code != MAS_DAMAGED) {
        doctor_add(doctor, FINDING_HAND, session->id, "%s", why.text);
        return;
    }
    _cleanup_free_ char *what = mem_printf("%s; it can be created from the template", why.text);
    int rc = template_open(doctor->root, session->template, &tmpl, &why);
    if (rc == 0 && doctor->fix && (rc = doctor_put_aside(dir, WORKSPACE_CONFIG, &why)) == 0)
        rc = team_file_save(dir, &tmpl, &why);
    if (rc == -1)
        doctor_add(doctor, FINDING_HAND, session->id, "%s, but: %s", what, why.text);
    else
        doctor_mend(doctor, session->id, what, rc, &why);
}

/* Creates the missing units of a lazy session from the current template, because the snapshot is
 * missing. */
static int make_units(const struct doctor *doctor, int dir, const struct session *session,
                      const struct team *team, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;

    return template_open(doctor->root, session->template, &tmpl, err) == -1
               ? -1
               : snapshot_make_all(doctor->root, dir, team, &tmpl, err);
}

/* Checks a session whose agents get their directories when they first start: what a killed host
 * left, and whether the missing ones can be created. */
static void check_snapshot(struct doctor *doctor, int dir, const struct session *session)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err why = ERR_INIT;

    if (!snapshot_is_held(dir) || team_file_load(dir, &team, &why) == -1)
        return;
    for (size_t i = 0; i < team.agent_count; i++) {
        if (!snapshot_has_left(dir, team.agents[i].id))
            continue;
        _cleanup_free_ char *what = mem_printf(
            "a killed host left the directory of agent %s incomplete", team.agents[i].id);
        int rc = doctor->fix ? snapshot_clear_left(dir, team.agents[i].id, &why) : 0;
        doctor_mend(doctor, session->id, what, rc, &why);
    }
    enum snapshot_state state = snapshot_look(doctor->root, dir, &team);
    if (state == SNAPSHOT_IDLE) {
        int rc = doctor->fix ? snapshot_make_all(doctor->root, dir, &team, NULL, &why) : 0;
        doctor_mend(doctor, session->id, "it has a snapshot that it no longer needs", rc, &why);
    } else if (state == SNAPSHOT_GONE) {
        int rc = doctor->fix ? make_units(doctor, dir, session, &team, &why) : 0;
        doctor_mend(doctor, session->id,
                    "the snapshot for its agents' directories is missing; they can be created from "
                    "the current template",
                    rc, &why);
    }
}

/* Checks whether a killed command has left something of an agent that joined or left. */
static void check_growing(struct doctor *doctor, int dir, const struct session *session)
{
    struct err why = ERR_INIT;

    if (faccessat(dir, GROW_JOURNAL, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    int rc = doctor->fix ? grow_mend(doctor->root, dir, session->id, &why) : 0;
    doctor_mend(doctor, session->id, "a change of its team was interrupted", rc, &why);
}

/* Checks the directories that its agents start in. */
static void check_places(struct doctor *doctor, int dir, const struct session *session)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err why = ERR_INIT;

    if (session->migrating != MIGRATING_NO || team_file_load(dir, &team, &why) == -1)
        return;
    for (size_t i = 0; i < team.agent_count; i++)
        if (places_check_agent(doctor->root, dir, session, &team, &team.agents[i], &why) == -1)
            doctor_add(doctor, FINDING_HAND, session->id, "%s; %s", why.text, why.hint);
}

/* Returns true while a process holds it; a host's lock stands for what else the host has there. */
static bool is_held(int run, const char *name)
{
    const char *dot = strrchr(name, '.');

    if (dot == NULL ||
        (strcmp(dot, WORKSPACE_HOST_SOCKET) != 0 && strcmp(dot, WORKSPACE_HOST_AGENT) != 0 &&
         strcmp(dot, WORKSPACE_HOST_ROLE) != 0))
        return file_is_locked(run, name);
    _cleanup_free_ char *lock = mem_printf("%.*s" WORKSPACE_HOST_LOCK, (int)(dot - name), name);
    return file_is_locked(run, lock);
}

static bool is_host_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL &&
           (strcmp(dot, WORKSPACE_HOST_SOCKET) == 0 || strcmp(dot, WORKSPACE_HOST_AGENT) == 0 ||
            strcmp(dot, WORKSPACE_HOST_LOCK) == 0 || strcmp(dot, WORKSPACE_HOST_ROLE) == 0);
}

/* Checks run/ for files that a stopped session left, or that are too old for a running one. The
 * files of its hosts are one finding: a crash leaves two per agent. */
static void check_run(struct doctor *doctor, int dir, const struct view *view)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **names = NULL;
    _cleanup_free_ char *first = NULL;
    struct err why = ERR_INIT, host_why = ERR_INIT;
    struct stat st;
    size_t count = 0;
    bool held = false;
    int host_rc = 0;

    if (run == -1 || path_list(run, &names, &why) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        held = held || (str_ends(*name, WORKSPACE_HOST_LOCK) && file_is_locked(run, *name));
        /* the marks of an agent stay while its host does not run, and the reserve does no harm;
         * then is_held(), because an exiting host removes its files before it releases the lock */
        if (reserve_is_name(*name) || str_ends(*name, WORKSPACE_HOST_ASLEEP) ||
            str_ends(*name, WORKSPACE_HOST_LIMIT) || str_ends(*name, WORKSPACE_HOST_TRUSTED) ||
            str_ends(*name, WORKSPACE_ERRAND_LOCK) || is_held(run, *name) ||
            fstatat(run, *name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
            (S_ISDIR(st.st_mode) && !str_ends(*name, WORKSPACE_HOST_ROLE) &&
             !str_ends(*name, LOOK_ENDING)) ||
            (view->live != NULL && workspace_env_is_recent(st.st_mtime)))
            continue;
        int rc = doctor->fix ? tree_remove(run, *name, &why) : 0;
        if (is_host_file(*name)) {
            if (count++ == 0)
                first = mem_dup(*name);
            if (rc == -1) {
                host_rc = -1;
                host_why = why;
            }
            continue;
        }
        _cleanup_free_ char *what = mem_printf("%s/%s is left over", WORKSPACE_RUN, *name);
        doctor_mend(doctor, view->row.id, what, rc, &why);
    }
    if (doctor->fix && !held)
        reserve_drop(dir);
    if (count == 0)
        return;
    _cleanup_free_ char *what = count == 1 ? mem_printf("%s/%s is left over", WORKSPACE_RUN, first)
                                           : mem_printf("%s/%s and %zu more are left over",
                                                        WORKSPACE_RUN, first, count - 1);
    doctor_mend(doctor, view->row.id, what, host_rc, &host_why);
}

/* Checks for agents of a running team whose hosts were killed. */
static void check_hosts(struct doctor *doctor, int dir, const struct session *session,
                        const struct view *view)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err ignored = ERR_INIT;

    if (view->live == NULL || session->status == STATUS_STOPPED || run == -1 ||
        workspace_env_waits(dir) || team_file_load(dir, &team, &ignored) == -1)
        return;
    for (size_t i = 0; i < team.agent_count; i++) {
        _cleanup_free_ char *lock = mem_printf("%s" WORKSPACE_HOST_LOCK, team.agents[i].id);
        if (!file_is_locked(run, lock))
            doctor_add(doctor, FINDING_NOTE, view->row.id,
                       "agent %s has no host; start it again with: mas restart %s %s",
                       team.agents[i].id, view->row.id, team.agents[i].id);
    }
}

/* Checks for logs that are not written because they have other names too. */
static void check_logs(struct doctor *doctor, int dir, const char *id)
{
    _cleanup_close_ int logs = path_open_dir(dir, WORKSPACE_LOGS);
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (logs == -1 || path_list(logs, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++)
        if (fstatat(logs, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (!S_ISREG(st.st_mode) || st.st_nlink > 1))
            doctor_add(doctor, FINDING_HAND, id, "%s/%s is %s; mas does not write to it",
                       WORKSPACE_LOGS, *name,
                       S_ISREG(st.st_mode) ? "a file with several names"
                                           : path_type_name(st.st_mode));
}

/* Runs the check of a higher layer. */
static void check_more(struct doctor *doctor, int dir, const char *id)
{
    _cleanup_free_ char *what = NULL;
    struct err why = ERR_INIT;
    int rc = doctor->look(dir, id, doctor->fix, &what, &why);

    if (what != NULL)
        doctor_mend(doctor, id, what, rc == -1 ? -1 : 0, &why);
    else if (rc == -1)
        doctor_add(doctor, FINDING_HAND, id, "%s", why.text);
}

/* Checks for the socket of a per-session server that has exited. */
static void check_socket(struct doctor *doctor, const struct session *session)
{
    const char *base = strrchr(session->tmux_socket, '/') + 1;
    struct err why = ERR_INIT;
    struct stat st;
    pid_t pid;

    if (strcmp(base, session->tmux_name) != 0 || lstat(session->tmux_socket, &st) == -1 ||
        !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
        tmux_is_alive(session->tmux_socket, &pid, &why) != 0)
        return;
    int rc = doctor->fix ? unlink(session->tmux_socket) : 0;
    if (rc == -1)
        (void)err_errno(&why, "unlink");
    doctor_mend(doctor, session->id, "the socket of its tmux server is left over", rc, &why);
}

/* Returns true if a stop that could not reach tmux left the tmux session: nothing runs in it. */
static bool is_left_over(int dir, const struct session *session, const struct view *view)
{
    struct err ignored = ERR_INIT;
    bool hosts = true;
    return view->live != NULL && session->status == STATUS_STOPPED && view->live->running == 0 &&
           hosts_live(dir, &hosts, &ignored) == 0 && !hosts;
}

/* Checks metadata that is readable but outdated. */
static void check_facts(struct doctor *doctor, int dir, struct session *session,
                        const struct view *view)
{
    struct err why = ERR_INIT;
    _cleanup_str_ struct str what = STR_INIT;
    bool live = view->live != NULL;

    if (session->moved)
        str_add(&what, "its paths are those of another directory");
    if (session->strange != NULL)
        str_addf(&what, "%sits %s contains unknown keys: %s", what.len > 0 ? "; " : "",
                 WORKSPACE_SESSION, session->strange);
    if (live && strcmp(view->live->name, session->tmux_name) != 0) {
        str_addf(&what, "%sits tmux session is now called '%s'", what.len > 0 ? "; " : "",
                 view->live->name);
        free(session->tmux_name);
        session->tmux_name = mem_dup(view->live->name);
    }
    if (is_left_over(dir, session, view)) {
        int rc =
            doctor->fix ? tmux_kill(view->live_socket, view->live->target, session->id, &why) : 0;
        doctor_mend(doctor, session->id, "it is stopped, but its tmux session is left over", rc,
                    &why);
        return;
    }
    if (live && session->status == STATUS_STOPPED) {
        str_addf(&what, "%sit is running although its status is stopped", what.len > 0 ? "; " : "");
        session->status = STATUS_ACTIVE;
        session->stopped = 0;
    }
    if (what.len > 0) {
        int rc = doctor->fix ? session_save(doctor->root, dir, session, &why) : 0;
        doctor->rows_wrong = true;
        doctor_mend(doctor, session->id, what.data, rc, &why);
    }
    if (live && strcmp(view->live->root, doctor->root->path) != 0) {
        int rc = doctor->fix ? tmux_set_root(view->live_socket, view->live->target, doctor->root,
                                             session, &why)
                             : 0;
        doctor_mend(doctor, session->id, "its tmux session names the old root", rc, &why);
    }
    if (session->migrating != MIGRATING_NO)
        doctor_add(doctor, FINDING_NOTE, session->id,
                   "its migration was interrupted; continue with: mas migrate %s", session->id);
    if (view->crashed)
        doctor_add(doctor, FINDING_NOTE, session->id,
                   "it has crashed; start it again with: mas start %s", session->id);
}

/* Checks the root's directories, in which the agents of a session work; modes there are the user's
 * choice. */
static void check_shared(struct doctor *doctor, const char *id)
{
    static const char *const parts[] = {WORKSPACE_UNIT, WORKSPACE_WORKFLOWS};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct err why = ERR_INIT;
        struct stat st;
        char what[64];
        if (fstatat(doctor->root->fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!S_ISDIR(st.st_mode))
                doctor_add(doctor, FINDING_HAND, id, "the root's %s is %s", parts[i],
                           path_type_name(st.st_mode));
            continue;
        }
        (void)snprintf(what, sizeof what, "the root's %s is missing", parts[i]);
        int rc = 0;
        if (doctor->fix && mkdirat(doctor->root->fd, parts[i], 0755) == -1)
            rc = err_errno(&why, "mkdir");
        doctor_mend(doctor, id, what, rc, &why);
    }
}

static void check_modes(struct doctor *doctor, int dir, const char *id, bool is_shared)
{
    static const struct {
        const char *name;
        mode_t mode;
        bool needed;
        bool rebuilt; /* if its type is wrong it is damaged, which another check reports */
        bool placed; /* it may be in the root instead */
    } parts[] = {{WORKSPACE_SESSION, S_IFREG | 0600, false, true, false},
                 {WORKSPACE_LOCK, S_IFREG | 0600, false, false, false},
                 {WORKSPACE_CODE_LOCKS, S_IFDIR | 0700, false, false, false},
                 {WORKSPACE_CONFIG, S_IFREG | 0600, false, true, false},
                 {WORKSPACE_LIMITS, S_IFREG | 0600, false, false, false},
                 {EVERY_FILE, S_IFREG | 0600, false, false, false},
                 {EVERY_ENV, S_IFREG | 0600, false, false, false},
                 {WORKSPACE_MEMORY, S_IFREG | 0600, false, true, false},
                 {WORKSPACE_MEMORY "-wal", S_IFREG | 0600, false, true, false},
                 {WORKSPACE_MEMORY "-shm", S_IFREG | 0600, false, true, false},
                 {WORKSPACE_PICTURES, S_IFDIR | 0700, false, false, false},
                 {WORKSPACE_UNIT, S_IFDIR | 0755, true, false, true},
                 {WORKSPACE_WORKFLOWS, S_IFDIR | 0755, true, false, true},
                 {WORKSPACE_RUN, S_IFDIR | 0700, true, false, false},
                 {WORKSPACE_LOGS, S_IFDIR | 0700, true, false, false}};

    doctor_check_mode(doctor, id, dir, ".", S_IFDIR | 0700);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct err why = ERR_INIT;
        struct stat st;
        char what[64];
        if (parts[i].placed && is_shared)
            continue;
        if (fstatat(dir, parts[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!parts[i].rebuilt || ((st.st_mode ^ parts[i].mode) & S_IFMT) == 0)
                doctor_check_mode(doctor, id, dir, parts[i].name, parts[i].mode);
            continue;
        }
        if (!parts[i].needed)
            continue;
        (void)snprintf(what, sizeof what, "its directory '%s' is missing", parts[i].name);
        int rc = 0;
        if (doctor->fix && (mkdirat(dir, parts[i].name, 0700) == -1 ||
                            fchmodat(dir, parts[i].name, parts[i].mode & 07777, 0) == -1))
            rc = err_errno(&why, "mkdir");
        doctor_mend(doctor, id, what, rc, &why);
    }
}

/* Locks a workspace as the view saw it. Returns -1, and tells why it is not checked, if that is not
 * possible. */
static int lock_session(struct doctor *doctor, const struct view *view, int dir)
{
    const char *id = view->row.id;
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;
    struct stat st;
    const char *fault = workspace_lock_fault(dir);
    if (fault != NULL) {
        _cleanup_free_ char *what = mem_printf("%s is %s", WORKSPACE_LOCK, fault);
        int rc = doctor->fix ? workspace_clear_lock(doctor->root, dir, &why) : 0;
        doctor_mend(doctor, id, what, rc, &why);
        if (!doctor->fix || rc == -1)
            return -1;
    }
    if (owner_lock(doctor->root, dir, id, LOCK_TRY, "check", &lock, NULL, &why) == -1) {
        if (why.code == MAS_CONFLICT)
            doctor_add(doctor, FINDING_NOTE, id, "it is busy and was not checked: %s", why.text);
        else
            doctor_add(doctor, FINDING_HAND, id, "cannot lock it: %s", why.text);
        return -1;
    }
    if (fstatat(dir, WORKSPACE_SESSION, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino != view->metadata) {
        doctor_add(doctor, FINDING_NOTE, id, "it changed during the check and was left alone");
        return -1;
    }
    return TAKE_FD(lock);
}

/* Loads .session, which is written anew if it is damaged. Returns false, with a finding, if there
 * is none to be read. */
static bool load_session(struct doctor *doctor, const struct view *view, int dir,
                         struct session *ret)
{
    const char *id = view->row.id;
    _cleanup_str_ struct str what = STR_INIT;
    struct err why = ERR_INIT;
    struct err failed = ERR_INIT;

    if (session_load(doctor->root, dir, id, ret, &why) == 0)
        return true;
    if (why.code != MAS_DAMAGED) {
        doctor_add(doctor, FINDING_HAND, id, "%s", why.text);
        return false;
    }
    str_add(&what, why.text);
    int rc = doctor_rebuild_session(doctor, dir, view, &what, &failed);
    doctor->rows_wrong = true;
    doctor_mend(doctor, id, what.data, rc, &failed);
    return doctor->fix && rc == 0 && session_load(doctor->root, dir, id, ret, &why) == 0;
}

void doctor_check_session(struct doctor *doctor, const struct view *view)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err why = ERR_INIT;
    const char *id = view->row.id;
    _cleanup_close_ int dir = workspace_open(doctor->root, id);

    if (dir == -1) {
        (void)err_errno(&why, "its workspace cannot be opened");
        if (why.number != ENOENT)
            doctor_add(doctor, FINDING_HAND, id, "%s", why.text);
        return;
    }
    if (view->elsewhere) {
        doctor_add(doctor, FINDING_NOTE, id, "it belongs to %s and was not checked", view->machine);
        return;
    }
    _cleanup_close_ int lock = lock_session(doctor, view, dir);
    if (lock == -1)
        return;
    bool is_shared = placement_is_shared(view->row.mode);
    check_modes(doctor, dir, id, is_shared);
    if (is_shared && !view->migrating)
        check_shared(doctor, id);
    if (!load_session(doctor, view, dir, &session))
        return;
    doctor_check_left(doctor, id, dir, WORKSPACE_SESSION ".new");
    doctor_check_left(doctor, id, dir, WORKSPACE_CONFIG ".new");
    doctor_check_left(doctor, id, dir, EVERY_FILE ".new");
    doctor_check_left(doctor, id, dir, EVERY_ENV ".new");
    check_config(doctor, dir, &session);
    check_growing(doctor, dir, &session);
    check_snapshot(doctor, dir, &session);
    check_places(doctor, dir, &session);
    doctor_check_code(doctor, dir, id);
    doctor_check_wall(doctor, dir, id, view->live == NULL);
    check_hosts(doctor, dir, &session, view);
    check_run(doctor, dir, view);
    check_logs(doctor, dir, id);
    check_more(doctor, dir, id);
    _cleanup_free_ char *loss = store_loss(dir);
    if (loss != NULL)
        doctor_add(doctor, FINDING_NOTE, id, "%s", loss);
    if (view->live == NULL)
        check_socket(doctor, &session);
    check_facts(doctor, dir, &session, view);
}
