#include "core/doctor.h"

#include "base/file.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/time.h"
#include "core/hosts.h"
#include "core/life.h"
#include "core/snapshot.h"
#include "core/survey.h"
#include "core/usage.h"
#include "core/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOST_DIR "lost"

enum { LEFT_AFTER_S = 60 }; /* hosts of a running team take run/env long before */

struct doctor {
    const struct root *root;
    const struct config *config;
    bool fix;
    struct findings *findings;
    bool rows_wrong; /* the index has to be written anew */
};

static void add(struct doctor *doctor, enum finding_state state, const char *subject,
                const char *fmt, ...) PRINTF_LIKE(4, 5);

static void add(struct doctor *doctor, enum finding_state state, const char *subject,
                const char *fmt, ...)
{
    struct findings *all = doctor->findings;
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    all->items = mem_grow(all->items, all->count + 1, sizeof *all->items);
    all->items[all->count++] =
        (struct finding){.subject = mem_dup(subject), .what = mem_dup(text), .state = state};
}

/* Reports something that --fix mends; `mended` says how trying went: 0, or -1 with *why. */
static void add_mended(struct doctor *doctor, const char *subject, const char *what, int mended,
                       const struct err *why)
{
    if (!doctor->fix)
        add(doctor, FINDING_OPEN, subject, "%s", what);
    else if (mended == 0)
        add(doctor, FINDING_MENDED, subject, "%s", what);
    else
        add(doctor, FINDING_HAND, subject, "%s (cannot mend it: %s)", what, why->text);
}

/* Checks one entry's type, and its mode, which it sets. */
static void check_mode(struct doctor *doctor, const char *subject, int dir, const char *name,
                       mode_t want)
{
    struct stat st;
    struct err why = ERR_INIT;
    char what[128];

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if ((st.st_mode & S_IFMT) != (want & S_IFMT)) {
        add(doctor, FINDING_HAND, subject, "%s is %s", name, path_type_name(st.st_mode));
        return;
    }
    if ((st.st_mode & 07777) == (want & 07777))
        return;
    (void)snprintf(what, sizeof what, "%s has mode %03o instead of %03o", name,
                   (unsigned)(st.st_mode & 07777), (unsigned)(want & 07777));
    int rc = 0;
    if (doctor->fix && fchmodat(dir, name, want & 07777, 0) == -1)
        rc = err_errno(&why, "chmod");
    add_mended(doctor, subject, what, rc, &why);
}

static void add_stale(const char *name, void *arg)
{
    struct doctor *doctor = arg;
    add_mended(doctor, name, "left behind by a command that was killed", 0, NULL);
}

/* A file that an interrupted write left; nobody writes it now, since the lock is held. */
static void check_left_file(struct doctor *doctor, const char *subject, int dir, const char *name)
{
    struct err why = ERR_INIT;
    char what[160];
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    (void)snprintf(what, sizeof what, "%s is left from a write that was interrupted", name);
    int rc = doctor->fix ? unlinkat(dir, name, 0) : 0;
    if (rc == -1)
        (void)err_errno(&why, "unlink");
    add_mended(doctor, subject, what, rc, &why);
}

/* true for the names that mas gives in sessions/. */
static bool is_known(const char *name)
{
    static const char *const known[] = {INDEX_FILE, ROOT_LOCK, SNAPSHOTS_DIR, ".gitkeep",
                                        INDEX_FILE ".new"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return id_is_valid(name) || str_starts(name, STAGING_PREFIX) ||
           str_starts(name, TRASH_PREFIX) || str_starts(name, ".memory.index") ||
           str_starts(name, ROOT_SERVE);
}

/* What a migration left on its way, in the root. */
static int check_root_dir(struct doctor *doctor, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    struct stat st;

    if (path_list(doctor->root->fd, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        const char *id = *name + strlen(MIGRATE_PREFIX);
        if (str_starts(*name, MIGRATE_PREFIX) && id_is_valid(id) &&
            fstatat(doctor->root->sessions, id, &st, AT_SYMLINK_NOFOLLOW) == -1)
            add(doctor, FINDING_HAND, *name,
                "holds files of a session that was being migrated and is gone");
    }
    return 0;
}

static int check_sessions_dir(struct doctor *doctor, struct err *err)
{
    _cleanup_close_ int lock = -1;
    struct err ignored = ERR_INIT;
    _cleanup_strv_ char **names = NULL;

    if (path_list(doctor->root->sessions, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++)
        if (!is_known(*name))
            add(doctor, FINDING_NOTE, *name, "not made by mas, left alone");
    check_mode(doctor, ROOT_SESSIONS, doctor->root->fd, ROOT_SESSIONS, S_IFDIR | 0755);
    check_mode(doctor, ROOT_SESSIONS, doctor->root->sessions, INDEX_FILE, S_IFREG | 0600);
    check_mode(doctor, ROOT_SESSIONS, doctor->root->sessions, ROOT_LOCK, S_IFREG | 0600);
    if (root_lock(doctor->root, &lock, &ignored) == 0)
        check_left_file(doctor, ROOT_SESSIONS, doctor->root->sessions, INDEX_FILE ".new");
    return 0;
}

/* Keeps a damaged file under another name. */
static int put_aside(int dir, const char *name, struct err *err)
{
    _cleanup_free_ char *aside = mem_printf("%s.broken-%ld", name, (long)time(NULL));
    if (renameat2(dir, name, dir, aside, RENAME_NOREPLACE) == -1 && errno != ENOENT)
        return err_errno(err, "cannot rename '%s'", name);
    return 0;
}

/* Writes metadata anew from what else is known of the session. */
static int rebuild_session(const struct doctor *doctor, int dir, const struct view *view,
                           struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ char *template = workspace_template_name(dir);
    bool named = view->row.name[0] != '\0' && session_check_name(view->row.name) == NULL;

    memcpy(session.id, view->row.id, ID_TEXT);
    session.tmux_name =
        view->live != NULL ? mem_dup(view->live->name) : session_tmux_name(session.id, 8);
    session.name = mem_dup(named ? view->row.name : "");
    session.template = mem_dup(template != NULL ? template : "");
    session.error = mem_dup("");
    session.mode = view->row.mode;
    session.private = true; /* not known any more: the careful side */
    session.prompted = true; /* likewise: nobody is told twice */
    session.status = view->live != NULL ? STATUS_ACTIVE : STATUS_STOPPED;
    (void)time_parse(view->row.created, &session.created);
    session.activity = time(NULL);
    session.stopped = view->live != NULL ? 0 : session.activity;
    if (view->live_socket != NULL)
        session.tmux_socket = mem_dup(view->live_socket);
    else if (tmux_socket(doctor->config, session.tmux_name, &session.tmux_socket, err) == -1)
        return -1;
    if (put_aside(dir, WORKSPACE_SESSION, err) == -1)
        return -1;
    return session_save(doctor->root, dir, &session, err);
}

static void check_config(struct doctor *doctor, int dir, const struct session *session)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct err why = ERR_INIT;

    if (workspace_load_team(dir, &team, &why) == 0)
        return;
    if (why.code != MAS_DAMAGED) {
        add(doctor, FINDING_HAND, session->id, "%s", why.text);
        return;
    }
    _cleanup_free_ char *what = mem_printf("%s; it can be made from the template", why.text);
    int rc = template_open(doctor->root, session->template, &tmpl, &why);
    if (rc == 0 && doctor->fix && (rc = put_aside(dir, WORKSPACE_CONFIG, &why)) == 0)
        rc = workspace_save_config(dir, &tmpl, &why);
    if (rc == -1)
        add(doctor, FINDING_HAND, session->id, "%s, but: %s", what, why.text);
    else
        add_mended(doctor, session->id, what, rc, &why);
}

/* Makes what a lazy session lacks from the template as it is now, for want of the snapshot. */
static int make_units(const struct doctor *doctor, int dir, const struct session *session,
                      const struct team *team, struct err *err)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;

    return template_open(doctor->root, session->template, &tmpl, err) == -1
               ? -1
               : snapshot_make_all(doctor->root, dir, team, &tmpl, err);
}

/* Of a session whose agents get their directories when they first start: what a host that was
 * killed has left, and whether the others can be made. */
static void check_snapshot(struct doctor *doctor, int dir, const struct session *session)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    struct err why = ERR_INIT;

    if (!snapshot_is_held(dir) || workspace_load_team(dir, &team, &why) == -1)
        return;
    for (size_t i = 0; i < team.agent_count; i++) {
        if (!snapshot_has_left(dir, team.agents[i].id))
            continue;
        _cleanup_free_ char *what =
            mem_printf("the directory of agent %s is left half made", team.agents[i].id);
        int rc = doctor->fix ? snapshot_clear_left(dir, team.agents[i].id, &why) : 0;
        add_mended(doctor, session->id, what, rc, &why);
    }
    enum snapshot_state state = snapshot_look(doctor->root, dir, &team);
    if (state == SNAPSHOT_IDLE) {
        int rc = doctor->fix ? snapshot_make_all(doctor->root, dir, &team, NULL, &why) : 0;
        add_mended(doctor, session->id, "it holds a snapshot that it does not need any more", rc,
                   &why);
    } else if (state == SNAPSHOT_GONE) {
        int rc = doctor->fix ? make_units(doctor, dir, session, &team, &why) : 0;
        add_mended(doctor, session->id,
                   "what directories of its agents are made from is gone; they can be made from "
                   "the template as it is now",
                   rc, &why);
    }
}

/* true while a process has it; a host's socket is held by the lock beside it. */
static bool is_held(int run, const char *name)
{
    const char *dot = strrchr(name, '.');

    if (dot == NULL || strcmp(dot, HOSTS_SOCKET) != 0)
        return file_is_locked(run, name);
    _cleanup_free_ char *lock = mem_printf("%.*s" HOSTS_LOCK, (int)(dot - name), name);
    return file_is_locked(run, lock);
}

/* What a session that is down has left in run/, or a running one too long. */
static void check_run(struct doctor *doctor, int dir, const struct view *view)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    struct stat st;

    if (run == -1 || path_list(run, &names, &why) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        if (fstatat(run, *name, &st, AT_SYMLINK_NOFOLLOW) == -1 || S_ISDIR(st.st_mode) ||
            is_held(run, *name) || (view->live != NULL && time(NULL) - st.st_mtime < LEFT_AFTER_S))
            continue;
        _cleanup_free_ char *what = mem_printf("%s/%s is left over", WORKSPACE_RUN, *name);
        int rc = doctor->fix ? unlinkat(run, *name, 0) : 0;
        if (rc == -1)
            (void)err_errno(&why, "unlink");
        add_mended(doctor, view->row.id, what, rc, &why);
    }
}

/* The socket of a server of its own that is gone. */
static void check_socket(struct doctor *doctor, const struct session *session)
{
    const char *base = strrchr(session->tmux_socket, '/') + 1;
    struct err why = ERR_INIT;
    struct stat st;
    pid_t pid;

    if (strcmp(base, session->tmux_name) != 0 || lstat(session->tmux_socket, &st) == -1 ||
        !S_ISSOCK(st.st_mode) || st.st_uid != geteuid() ||
        tmux_is_alive(session->tmux_socket, &pid) != 0)
        return;
    int rc = doctor->fix ? unlink(session->tmux_socket) : 0;
    if (rc == -1)
        (void)err_errno(&why, "unlink");
    add_mended(doctor, session->id, "the socket of its tmux server is left over", rc, &why);
}

/* Metadata that can be read, but says what is no longer so. */
static void check_facts(struct doctor *doctor, int dir, struct session *session,
                        const struct view *view)
{
    struct err why = ERR_INIT;
    _cleanup_str_ struct str what = STR_INIT;
    bool live = view->live != NULL;

    if (session->moved)
        str_add(&what, "its paths are those of another place");
    if (live && strcmp(view->live->name, session->tmux_name) != 0) {
        str_addf(&what, "%sits tmux session is now called '%s'", what.len > 0 ? "; " : "",
                 view->live->name);
        free(session->tmux_name);
        session->tmux_name = mem_dup(view->live->name);
    }
    if (live && session->status == STATUS_STOPPED) {
        str_addf(&what, "%sit runs although it was to be stopped", what.len > 0 ? "; " : "");
        session->status = STATUS_ACTIVE;
        session->stopped = 0;
    }
    if (what.len > 0) {
        int rc = doctor->fix ? session_save(doctor->root, dir, session, &why) : 0;
        doctor->rows_wrong = true;
        add_mended(doctor, session->id, what.data, rc, &why);
    }
    if (live && strcmp(view->live->root, doctor->root->path) != 0) {
        int rc = doctor->fix ? tmux_set_root(view->live_socket, view->live->target, doctor->root,
                                             session, &why)
                             : 0;
        add_mended(doctor, session->id, "its tmux session names the old root", rc, &why);
    }
    if (session->migrating != MIGRATING_NO)
        add(doctor, FINDING_NOTE, session->id,
            "a migration of it was interrupted; go on with: mas migrate %s", session->id);
    if (view->crashed)
        add(doctor, FINDING_NOTE, session->id, "crashed; bring it back with: mas start %s",
            session->id);
}

/* A legacy session's agents work in the root; what modes are there is the user's affair. */
static void check_shared(struct doctor *doctor, const char *id)
{
    static const char *const parts[] = {WORKSPACE_UNIT, WORKSPACE_WORKFLOWS};

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct err why = ERR_INIT;
        struct stat st;
        char what[64];
        if (fstatat(doctor->root->fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!S_ISDIR(st.st_mode))
                add(doctor, FINDING_HAND, id, "the root's %s is %s", parts[i],
                    path_type_name(st.st_mode));
            continue;
        }
        (void)snprintf(what, sizeof what, "the root's %s is missing", parts[i]);
        int rc = 0;
        if (doctor->fix && mkdirat(doctor->root->fd, parts[i], 0755) == -1)
            rc = err_errno(&why, "mkdir");
        add_mended(doctor, id, what, rc, &why);
    }
}

static void check_modes(struct doctor *doctor, int dir, const char *id, enum mode mode)
{
    static const struct {
        const char *name;
        mode_t mode;
        bool needed;
        bool rebuilt; /* of another type it is damaged, which is checked elsewhere */
        bool own; /* a legacy session has it in the root */
    } parts[] = {{WORKSPACE_SESSION, S_IFREG | 0600, false, true, false},
                 {WORKSPACE_LOCK, S_IFREG | 0600, false, false, false},
                 {WORKSPACE_CONFIG, S_IFREG | 0600, false, true, false},
                 {WORKSPACE_UNIT, S_IFDIR | 0755, true, false, true},
                 {WORKSPACE_WORKFLOWS, S_IFDIR | 0755, true, false, true},
                 {WORKSPACE_RUN, S_IFDIR | 0700, true, false, false},
                 {WORKSPACE_LOGS, S_IFDIR | 0700, true, false, false}};

    check_mode(doctor, id, dir, ".", S_IFDIR | 0700);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct err why = ERR_INIT;
        struct stat st;
        char what[64];
        if (parts[i].own && mode == MODE_LEGACY)
            continue;
        if (fstatat(dir, parts[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            if (!parts[i].rebuilt || ((st.st_mode ^ parts[i].mode) & S_IFMT) == 0)
                check_mode(doctor, id, dir, parts[i].name, parts[i].mode);
            continue;
        }
        if (!parts[i].needed)
            continue;
        (void)snprintf(what, sizeof what, "its %s is missing", parts[i].name);
        int rc = 0;
        if (doctor->fix && (mkdirat(dir, parts[i].name, 0700) == -1 ||
                            fchmodat(dir, parts[i].name, parts[i].mode & 07777, 0) == -1))
            rc = err_errno(&why, "mkdir");
        add_mended(doctor, id, what, rc, &why);
    }
}

static void check_session(struct doctor *doctor, const struct view *view)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err why = ERR_INIT;
    _cleanup_close_ int lock = -1;
    struct stat st;
    const char *id = view->row.id;
    _cleanup_close_ int dir = workspace_open(doctor->root, id);

    if (dir == -1) {
        (void)err_errno(&why, "its workspace cannot be opened");
        if (errno != ENOENT)
            add(doctor, FINDING_HAND, id, "%s", why.text);
        return;
    }
    if (workspace_lock(dir, id, LOCK_TRY, "doctor", &lock, &why) == -1) {
        if (why.code == MAS_CONFLICT)
            add(doctor, FINDING_NOTE, id, "busy, not looked at: %s", why.text);
        else
            add(doctor, FINDING_HAND, id, "%s", why.text);
        return;
    }
    if (fstatat(dir, WORKSPACE_SESSION, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino != view->metadata) {
        add(doctor, FINDING_NOTE, id, "changed while it was looked at, left alone");
        return;
    }
    check_modes(doctor, dir, id, view->row.mode);
    if (view->row.mode == MODE_LEGACY && !view->migrating)
        check_shared(doctor, id);
    if (session_load(doctor->root, dir, id, &session, &why) == -1) {
        if (why.code != MAS_DAMAGED) {
            add(doctor, FINDING_HAND, id, "%s", why.text);
            return;
        }
        struct err failed = ERR_INIT;
        int rc = doctor->fix ? rebuild_session(doctor, dir, view, &failed) : 0;
        doctor->rows_wrong = true;
        add_mended(doctor, id, why.text, rc, &failed);
        if (!doctor->fix || rc == -1 || session_load(doctor->root, dir, id, &session, &why) == -1)
            return;
    }
    check_left_file(doctor, id, dir, WORKSPACE_SESSION ".new");
    check_left_file(doctor, id, dir, WORKSPACE_CONFIG ".new");
    check_config(doctor, dir, &session);
    check_snapshot(doctor, dir, &session);
    check_run(doctor, dir, view);
    if (view->live == NULL)
        check_socket(doctor, &session);
    check_facts(doctor, dir, &session, view);
}

/* Saves what an orphan's panes show, then ends it. */
static int end_orphan(const struct doctor *doctor, const struct view *view, struct err *err)
{
    const struct life life = {.root = doctor->root, .config = doctor->config};
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *name = mem_printf("%s-%ld.txt", view->row.id, (long)time(NULL));

    if (tmux_capture(view->live_socket, view->live->target, &text, err) == -1)
        return -1;
    if (mkdirat(doctor->root->fd, LOST_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s'", LOST_DIR);
    _cleanup_close_ int lost = path_open_dir(doctor->root->fd, LOST_DIR);
    if (lost == -1)
        return err_errno(err, "cannot open '%s'", LOST_DIR);
    if (file_replace(lost, name, str_text(&text), text.len, 0600, err) == -1)
        return -1;
    return life_end_orphan(&life, view->live_socket, view->row.id, err);
}

static void check_orphan(struct doctor *doctor, const struct view *view)
{
    struct err why = ERR_INIT;
    if (view->live != NULL) {
        int rc = doctor->fix ? end_orphan(doctor, view, &why) : 0;
        add_mended(doctor, view->row.id,
                   "its tmux session runs without a workspace; what it shows is saved in lost/ "
                   "and it is ended",
                   rc, &why);
    } else {
        add_mended(doctor, view->row.id, "in the index, but without a workspace", 0, NULL);
    }
    doctor->rows_wrong = true;
}

/* Processes of sessions that do not run: a stop that was killed, a crash that did not end them. */
static void check_processes(struct doctor *doctor, const struct survey *survey)
{
    const struct life life = {.root = doctor->root, .config = doctor->config};
    _cleanup_strv_ char **ids = NULL;
    struct err ignored = ERR_INIT;

    (void)proc_env_values("MAS_SESSION_ID", &ids, &ignored);
    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        size_t j = 0;
        while (ids != NULL && ids[j] != NULL && strcmp(ids[j], view->row.id) != 0)
            j++;
        if (ids == NULL || ids[j] == NULL || view->live != NULL || view->row.missing ||
            view->unknown || !life_has_leftovers(&life, view->row.id))
            continue;
        struct err why = ERR_INIT;
        int rc = doctor->fix ? life_end_leftovers(&life, view->row.id, &why) : 0;
        add_mended(doctor, view->row.id, "it does not run, but processes of its agents do", rc,
                   &why);
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct view *const *x = a;
    const struct view *const *y = b;
    return strcmp(view_name(*x), view_name(*y));
}

static void check_names(struct doctor *doctor, const struct survey *survey)
{
    const struct view **sorted = mem_alloc((survey->count + 1) * sizeof *sorted);
    for (size_t i = 0; i < survey->count; i++)
        sorted[i] = &survey->views[i];
    qsort(sorted, survey->count, sizeof(const struct view *), compare_names);
    for (size_t i = 1; i < survey->count; i++) {
        const char *name = view_name(sorted[i]);
        if (name[0] != '\0' && strcmp(name, view_name(sorted[i - 1])) == 0)
            add(doctor, FINDING_HAND, sorted[i]->row.id,
                "has the same name '%s' as %s; use their ids", name, sorted[i - 1]->row.id);
    }
    free(sorted);
}

static void check_rows(struct doctor *doctor, const struct survey *survey)
{
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;

    if (survey->index.broken != NULL)
        add(doctor, FINDING_MENDED, INDEX_FILE, "made anew from the workspaces: %s",
            survey->index.broken);
    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        if (view->row.unlisted)
            add_mended(doctor, view->row.id, "has a workspace, but is not in the index", 0, NULL);
        else if (view->outdated)
            add_mended(doctor, view->row.id, "its row in the index is out of date", 0, NULL);
        doctor->rows_wrong |= view->row.unlisted || view->outdated;
    }
    if (!doctor->rows_wrong || !doctor->fix)
        return;
    if (root_lock(doctor->root, &lock, &why) == -1 || index_rebuild(doctor->root, &why) == -1)
        add(doctor, FINDING_HAND, INDEX_FILE, "cannot be written: %s", why.text);
}

static void add_over(const char *subject, const char *what, void *arg)
{
    add(arg, FINDING_HAND, subject, "%s", what);
}

static void check_limits(struct doctor *doctor, const struct survey *survey)
{
    struct usage_wish *wishes = mem_alloc((survey->count + 1) * sizeof *wishes);
    size_t count = 0;

    for (size_t i = 0; i < survey->count; i++)
        if (!survey->views[i].row.missing)
            wishes[count++] =
                (struct usage_wish){survey->views[i].row.id, survey->views[i].row.mode};
    usage_find_over(doctor->root, doctor->config, wishes, count, add_over, doctor);
    free(wishes);
}

int doctor_run(const struct root *root, const struct config *config, bool fix, struct findings *ret,
               struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    struct doctor doctor = {.root = root, .config = config, .fix = fix, .findings = ret};

    (void)workspace_sweep(root, !fix, add_stale, &doctor);
    if (survey_take(root, config, SURVEY_ALL, &survey, err) == -1)
        return -1;
    if (check_root_dir(&doctor, err) == -1 || check_sessions_dir(&doctor, err) == -1)
        return -1;
    for (size_t i = 0; i < survey.count; i++) {
        const struct view *view = &survey.views[i];
        if (view->unknown)
            add(&doctor, FINDING_HAND, view->row.id, "not looked at: tmux could not be asked");
        else if (view->row.missing)
            check_orphan(&doctor, view);
        else
            check_session(&doctor, view);
    }
    check_names(&doctor, &survey);
    check_limits(&doctor, &survey);
    check_processes(&doctor, &survey);
    check_rows(&doctor, &survey);
    return 0;
}

void findings_free(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].subject);
        free(findings->items[i].what);
    }
    free(findings->items);
    *findings = (struct findings){.items = NULL};
}

const char *finding_state_name(enum finding_state state)
{
    static const char *const names[] = {"note", "open", "by hand", "mended"};
    return names[state];
}
