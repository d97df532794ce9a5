/*
 * What is wrong with the root and with sessions together; doctor_session.c looks at each of them,
 * the other doctor_*.c at their parts. Leftovers of killed commands come first, then one survey,
 * which all checks read; it is taken again if a tmux server got its socket back. The index comes
 * last, when it is known whether a row is wrong. A check repairs with --fix only, and then tells
 * doctor_mend() what it found and how the repair went.
 */

#include "client/hosts.h"
#include "client/survey.h"
#include "code/setup.h"
#include "memory/starts.h"
#include "os/file.h"
#include "os/machine.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/archive.h"
#include "session/doctor/doctor_internal.h"
#include "session/life.h"
#include "session/retention.h"
#include "store/came_from.h"
#include "store/code_log.h"
#include "store/every.h"
#include "store/limits/login_limit.h"
#include "store/limits/turn_slots.h"
#include "store/limits/waiting.h"
#include "store/mark.h"
#include "store/shipped.h"
#include "store/snapshot.h"
#include "store/stage.h"
#include "store/usage.h"
#include "store/workspace.h"
#include "wall/probe.h"

enum { ROOM_MIN = 64 * 1024 }; /* a disk on which that finds no room is full */

static void add_stale(const char *name, void *arg)
{
    struct doctor *doctor = arg;
    doctor_mend(doctor, name, "a killed command left it behind", 0, NULL);
}

/* Returns true for the names that mas uses in sessions/. */
static bool is_known(const char *name)
{
    static const char *const known[] = {INDEX_FILE,         ROOT_LOCK,        SNAPSHOTS_DIR,
                                        MARK_SESSIONS,      CODE_LOG_FILE,    ".gitkeep",
                                        CODE_LOG_FILE ".1", INDEX_FILE ".new"};
    static const char *const beginnings[] = {
        WAITING_FILE,    CAME_FROM_FILE, SETUP_ANSWERS_FILE,
        WALL_PROBE_FILE, STARTS_FILE,    EVERY_NUMBERS}; /* and their locks */

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
        if (str_starts(name, beginnings[i]))
            return true;
    return id_is_valid(name) || str_starts(name, STAGING_PREFIX) ||
           str_starts(name, TRASH_PREFIX) || str_starts(name, ".memory.index") ||
           str_starts(name, ROOT_SERVE) || strcmp(name, LIMITS_DIR) == 0 ||
           strcmp(name, TURNS_DIR) == 0;
}

/* Reports shipped templates of another version of mas, which is not an error. */
static void check_templates(struct doctor *doctor)
{
    _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    if (shipped_open(doctor->root->fd, &shipped, &ignored) == -1 || shipped_is_root(&shipped) ||
        shipped_names(&shipped, &names, &ignored) == -1)
        return;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *subject = mem_printf("%s/%s", ROOT_TEMPLATES, *name);
        enum shipped_state state = shipped_look(&shipped, *name);
        if (state == SHIPPED_EARLIER)
            doctor_add(doctor, FINDING_NOTE, subject,
                       "it comes from an earlier version of mas; update it with: mas init");
        else if (state == SHIPPED_BEHIND)
            doctor_add(doctor, FINDING_NOTE, subject,
                       "you have changed it, and the shipped version has changed too; see: mas "
                       "template diff %s",
                       *name);
    }
}

/* Checks for parts in the root that an interrupted migration left. */
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
            doctor_add(doctor, FINDING_HAND, *name,
                       "it contains files of a session that disappeared while it was migrated");
    }
    return 0;
}

static void check_room(struct doctor *doctor)
{
    if (file_disk_is_full(doctor->root->sessions, ROOM_MIN))
        doctor_add(doctor, FINDING_HAND, doctor->root->path, "its disk is full");
}

/* The umask of who made it may have closed it to others. */
static void check_sessions_mode(struct doctor *doctor)
{
    struct stat st = {.st_mode = 0755};

    (void)fstat(doctor->root->sessions, &st);
    doctor_check_mode(doctor, ROOT_SESSIONS, doctor->root->fd, ROOT_SESSIONS,
                      S_IFDIR | S_IRWXU | (st.st_mode & 055));
}

/* Whoever writes there names programs that mas runs. A sticky directory is shared on purpose. */
static void check_open_to_all(struct doctor *doctor, const char *name, const char *subject)
{
    static const char what[] = "everybody on this machine may write to it";
    struct err why = ERR_INIT;
    struct stat st;

    if (fstatat(doctor->root->fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 || !S_ISDIR(st.st_mode) ||
        (st.st_mode & S_IWOTH) == 0)
        return;
    if (st.st_uid != geteuid() || (st.st_mode & S_ISVTX) != 0) {
        doctor_add(doctor, FINDING_HAND, subject, "%s; keep a root where only you may write", what);
        return;
    }
    int rc = 0;
    if (doctor->fix && fchmodat(doctor->root->fd, name, st.st_mode & 07775, 0) == -1)
        rc = err_errno(&why, "chmod");
    doctor_mend(doctor, subject, what, rc, &why);
}

/* Nothing is wrong with an old session, so all of them are one line. */
static void check_old(struct doctor *doctor, const struct survey *survey)
{
    enum { OLD = 30 * 24 * 60 * 60 }; /* seconds; where [retention] says nothing */
    _cleanup_free_ struct retention_candidate *old = NULL;
    struct retention options = {.statuses = RETENTION_STOPPED, .by_age = true, .age = OLD};
    struct retention_unknown unknown = {.count = 0};
    struct err ignored = ERR_INIT;

    bool is_set = retention_read(doctor->config, &options, &ignored) == 0;
    size_t count = retention_choose(doctor->root, survey, &options, time(NULL), &old, &unknown);
    if (count > 0)
        doctor_add(doctor, FINDING_NOTE, ROOT_SESSIONS, "%zu of its %zu sessions %s", count,
                   survey->count,
                   is_set ? "are to go, as [retention] says; remove them with: mas clean"
                          : "were last used more than 30 days ago; see which with: mas clean "
                            "--older-than 30d --dry-run");
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
            doctor_add(doctor, FINDING_NOTE, *name, "mas did not create it and leaves it alone");
    check_sessions_mode(doctor);
    doctor_check_mode(doctor, ROOT_SESSIONS, doctor->root->sessions, INDEX_FILE, S_IFREG | 0600);
    doctor_check_mode(doctor, ROOT_SESSIONS, doctor->root->sessions, ROOT_LOCK, S_IFREG | 0600);
    if (root_lock(doctor->root, &lock, &ignored) == 0) {
        doctor_check_left(doctor, ROOT_SESSIONS, doctor->root->sessions, INDEX_FILE ".new");
        doctor_check_left(doctor, ROOT_SESSIONS, doctor->root->sessions, EVERY_NUMBERS ".new");
    }
    return 0;
}

static void check_orphan(struct doctor *doctor, const struct view *view)
{
    const struct life life = {.root = doctor->root, .config = doctor->config};
    struct err why = ERR_INIT;

    if (view->live != NULL && view->live->running > 0) { /* the workspace may come back */
        doctor_add(doctor, FINDING_HAND, view->row.id,
                   "%zu of its agents run without a workspace, which is gone: bring that back, or "
                   "end them with: mas rm -f %s (their screens are saved in %s/)",
                   view->live->running, view->row.id, LIFE_LOST_DIR);
        return;
    }
    if (view->live != NULL) {
        int rc = doctor->fix ? life_end_orphan(&life, view->live_socket, view->row.id, &why) : 0;
        doctor_mend(doctor, view->row.id,
                    "its tmux session is left without a workspace; --fix saves its screens "
                    "in " LIFE_LOST_DIR "/ and ends it",
                    rc, &why);
    } else {
        doctor_mend(doctor, view->row.id, "it is in the index, but has no workspace", 0, NULL);
    }
    doctor->rows_wrong = true;
}

/* Checks for processes of stopped sessions, from a stop that was killed or a crash that did not end
 * them. Living hosts end their agents themselves, which may take as long as an agent needs. */
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
        _cleanup_close_ int dir = workspace_open(doctor->root, view->row.id);
        bool ending = false;
        if (dir != -1 && hosts_live(dir, &ending, &ignored) == 0 && ending) {
            doctor_add(doctor, FINDING_NOTE, view->row.id,
                       "its agents are ending; end them now with: mas stop %s", view->row.id);
            continue;
        }
        struct err why = ERR_INIT;
        int rc = doctor->fix ? life_end_leftovers(&life, view->row.id, &why) : 0;
        doctor_mend(doctor, view->row.id, "it does not run, but processes of its agents do", rc,
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
            doctor_add(doctor, FINDING_HAND, sorted[i]->row.id,
                       "it has the same name '%s' as %s; use their ids", name,
                       sorted[i - 1]->row.id);
    }
    free(sorted);
}

static void check_rows(struct doctor *doctor, const struct survey *survey)
{
    _cleanup_close_ int lock = -1;
    struct err why = ERR_INIT;
    size_t stale = 0;

    if (survey->index.broken != NULL)
        doctor_add(doctor, FINDING_MENDED, INDEX_FILE, "it was rebuilt from the workspaces: %s",
                   survey->index.broken);
    for (size_t i = 0; i < survey->count; i++) {
        const struct view *view = &survey->views[i];
        if (view->row.unlisted)
            doctor_mend(doctor, view->row.id, "it has a workspace, but is not in the index", 0,
                        NULL);
        else if (view->outdated)
            doctor_mend(doctor, view->row.id, "its row in the index is out of date", 0, NULL);
        else if (view->reason == NULL && !index_is_current(doctor->root, &view->row))
            stale++;
        doctor->rows_wrong |= view->row.unlisted || view->outdated;
    }
    if (stale > 0)
        doctor_add(doctor, doctor->fix ? FINDING_MENDED : FINDING_NOTE, INDEX_FILE,
                   "%zu of its %zu rows are not known to be current, so each command reads the "
                   "metadata of these sessions%s",
                   stale, survey->count, doctor->fix ? "" : "; repair it with: mas doctor --fix");
    doctor->rows_wrong |= stale > 0;
    if (!doctor->rows_wrong || !doctor->fix)
        return;
    if (root_lock(doctor->root, &lock, &why) == -1 || index_rebuild(doctor->root, &why) == -1)
        doctor_add(doctor, FINDING_HAND, INDEX_FILE, "it cannot be written: %s", why.text);
}

static void add_over(const char *subject, const char *what, void *arg)
{
    doctor_add(arg, FINDING_HAND, subject, "%s", what);
}

static void check_limits(struct doctor *doctor, const struct survey *survey)
{
    struct usage_options *options = mem_alloc((survey->count + 1) * sizeof *options);
    size_t count = 0;

    for (size_t i = 0; i < survey->count; i++)
        if (!survey->views[i].row.missing)
            options[count++] =
                (struct usage_options){survey->views[i].row.id, survey->views[i].row.mode};
    usage_find_over(doctor->root, doctor->config, options, count, add_over, doctor);
    free(options);
}

/* Reports sessions whose tmux server could not be asked: once per server, and once for all servers
 * with the same reason, such as a missing tmux. */
static void tell_unknown(struct doctor *doctor, const struct survey *survey, size_t at)
{
    const struct view *view = &survey->views[at];
    size_t count = 1;

    for (size_t i = 0; i < survey->count; i++) {
        const struct err *failure = survey->views[i].failure;
        if (i == at || failure == NULL || strcmp(failure->text, view->failure->text) != 0)
            continue;
        if (i < at)
            return; /* already reported there */
        count++;
    }
    if (count == 1)
        doctor_add(doctor, FINDING_HAND, view->row.id, "it was not checked: %s",
                   view->failure->text);
    else
        doctor_add(doctor, FINDING_HAND, "tmux", "%zu sessions were not checked: %s%s%s", count,
                   view->failure->text, view->failure->hint[0] != '\0' ? "; " : "",
                   view->failure->hint);
}

/* Finds servers whose sockets are gone, once each. Returns true if one was mended, so that the
 * survey has to be taken anew. */
static bool check_servers(struct doctor *doctor, const struct survey *survey)
{
    bool mended = false;

    for (size_t i = 0; i < survey->servers.count; i++) {
        const struct tmux_server *server = &survey->servers.list[i];
        struct err why = ERR_INIT;
        if (server->lost == 0)
            continue;
        int rc = doctor->fix ? tmux_make_socket(server->socket, server->lost, &why) : 0;
        doctor_mend(doctor, "tmux", server->failure.text, rc, &why);
        mended = mended || (doctor->fix && rc == 0);
    }
    return mended;
}

int doctor_run(const struct root *root, const struct config *config, bool fix, doctor_look *look,
               struct findings *ret, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    _cleanup_config_ struct config presets = CONFIG_INIT;
    struct err ignored = ERR_INIT;
    struct doctor doctor = {.root = root,
                            .config = config,
                            .fix = fix,
                            .look = look,
                            .memory = memory_available(),
                            .findings = ret};

    struct err why = ERR_INIT;
    if (root_check(root, &why) == -1) {
        doctor_add(&doctor, FINDING_HAND, ROOT_SESSIONS, "%s; nothing else was checked; %s",
                   why.text, why.hint);
        return 0;
    }
    if (config_load(root, true, &presets, NULL, &ignored) == 0)
        doctor.presets = &presets;
    for (size_t i = 0; i < config->wrong_remotes.count; i++)
        doctor_add(&doctor, FINDING_HAND, ROOT_SETTINGS, "line %d of %s: %s",
                   config->wrong_remotes.list[i].line, config->wrong_remotes.list[i].file,
                   config->wrong_remotes.list[i].text);
    (void)workspace_sweep(root, !fix, add_stale, &doctor);
    archive_sweep(root, config, !fix, add_stale, &doctor);
    if (survey_take(root, config, SURVEY_ALL, &survey, err) == -1)
        return -1;
    if (check_servers(&doctor, &survey)) {
        survey_free(&survey);
        if (survey_take(root, config, SURVEY_ALL, &survey, err) == -1)
            return -1;
    }
    if (check_root_dir(&doctor, err) == -1 || check_sessions_dir(&doctor, err) == -1)
        return -1;
    for (size_t i = 0; i < survey.count; i++) {
        const struct view *view = &survey.views[i];
        if (view->lost)
            continue; /* check_servers() has told it */
        if (view->unknown)
            tell_unknown(&doctor, &survey, i);
        else if (view->row.missing)
            check_orphan(&doctor, view);
        else
            doctor_check_session(&doctor, view);
    }
    doctor_check_machine(&doctor);
    doctor_check_every(&doctor);
    check_room(&doctor);
    check_open_to_all(&doctor, ".", root->path);
    check_open_to_all(&doctor, ROOT_TEMPLATES, ROOT_TEMPLATES);
    check_old(&doctor, &survey);
    check_templates(&doctor);
    check_names(&doctor, &survey);
    check_limits(&doctor, &survey);
    check_processes(&doctor, &survey);
    doctor_check_remains(&doctor, &survey);
    doctor_check_told(&doctor, &survey);
    check_rows(&doctor, &survey);
    return 0;
}
