/*
 * run() finds the session, or makes one for a unit/ that has none, and lists the steps; a dry run
 * ends there. execute() follows the list: MIGRATING is recorded, the team is stopped, the parts
 * move, the metadata and then the row become isolated, the team starts again, and MIGRATING goes.
 * What has been done follows from .session and from where the directories are, so after a kill the
 * next run plans what is left. A failure is undone as long as the mode is still legacy.
 */

#include "session/migrate.h"

#include "client/survey.h"
#include "os/file.h"
#include "session/launch.h"
#include "session/legacy.h"
#include "session/life_internal.h"
#include "store/placement_stage.h"
#include "store/stage.h"
#include "store/team_file.h"

#define NEW_ID "<id>" /* shown in the plan for a session that does not exist yet */

/* The state of one run. */
struct work {
    const struct life *life;
    const struct migrate_options *options;
    struct migration *plan;
    struct session session;
    struct stage stage; /* its directory and lock */
    bool live;
};

static void add_step(struct migration *plan, enum migrate_act act, const char *what, const char *to)
{
    plan->steps = mem_grow(plan->steps, plan->count + 1, sizeof *plan->steps);
    plan->steps[plan->count++] =
        (struct migrate_step){.act = act, .what = mem_dup(what), .to = mem_dup(to)};
}

void migration_free(struct migration *migration)
{
    for (size_t i = 0; i < migration->count; i++) {
        free(migration->steps[i].what);
        free(migration->steps[i].to);
    }
    free(migration->steps);
    *migration = (struct migration){.steps = NULL};
}

/* Interrupted migrations come before new ones. */
static int rank_of(const struct view *view)
{
    bool legacy = view->row.mode == MODE_LEGACY && !view->row.missing;
    return view->migrating ? 2 : legacy ? 1 : 0;
}

/* Finds the session to migrate: returns 1, or 0 if there is none. */
static int find_session(const struct work *work, char ret[ID_TEXT], struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    int best = 0;

    if (work->options->id != NULL) {
        memcpy(ret, work->options->id, ID_TEXT);
        return 1;
    }
    if (survey_take(work->life->root, work->life->config, SURVEY_ALL, &survey, err) == -1)
        return -1;
    for (size_t i = 0; i < survey.count; i++) {
        const struct view *view = &survey.views[i];
        if (rank_of(view) <= best)
            continue;
        best = rank_of(view);
        memcpy(ret, view->row.id, ID_TEXT);
    }
    return best > 0;
}

/* The program that mas replaced may still run its team in these directories. */
static int refuse_foreign(const char *socket, const char *name, struct err *err)
{
    char id[ID_TEXT] = "";
    int there = tmux_who_has(socket, name, id, err);

    if (there != 1 || id[0] != '\0')
        return there == -1 ? -1 : 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot migrate: the tmux session '%s' is running and does not belong to mas",
                  name);
    _cleanup_free_ char *server = mem_name(socket);
    _cleanup_free_ char *exact = mem_printf("=%s", name);
    _cleanup_free_ char *session = mem_name(exact);
    return err_hint(err, "end it first: tmux -S %s kill-session -t %s", server, session);
}

/* Determines its tmux name, and checks that a new name is free. */
static int choose_names(const struct work *work, const char *id, char **ret_tmux, struct err *err)
{
    const char *name = work->options->name;
    _cleanup_session_ struct session probe = {.mode = MODE_ISOLATED};
    _cleanup_close_ int lock = -1;
    struct index_facts facts;

    memcpy(probe.id, id, strlen(id) + 1);
    probe.name = mem_dup(name != NULL ? name : "");
    if (name != NULL && session_check_name(name) != NULL)
        return err_set(err, MAS_USAGE, "cannot use name '%s': %s", name, session_check_name(name));
    if (root_lock(work->life->root, &lock, err) == -1 ||
        life_choose_name(work->life, &probe, 0, 0, &facts, err) == -1)
        return -1;
    const char *was = work->session.name;
    if (name != NULL && facts.name_taken && (was == NULL || strcmp(was, name) != 0))
        return life_name_conflict(name, err);
    *ret_tmux = TAKE_PTR(probe.tmux_name);
    return 0;
}

static void plan_move(struct work *work, const char *id, const char *part)
{
    const struct root *root = work->life->root;
    _cleanup_free_ char *from = mem_printf("%s/%s", root->path, part);
    _cleanup_free_ char *to = workspace_path(root, id, part);
    add_step(work->plan, MIGRATE_MOVE, from, to);
}

/* Plans the steps for a unit/ without a session. */
static int plan_new(struct work *work, struct err *err)
{
    const struct life *life = work->life;
    const struct root *root = life->root;
    const char *template = config_text(life->config, SETTING_TEMPLATE);
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_free_ char *name = NULL;
    _cleanup_free_ char *socket = NULL;
    _cleanup_free_ char *unit = mem_printf("%s/%s", root->path, WORKSPACE_UNIT);
    _cleanup_free_ char *ignored = NULL;
    _cleanup_strv_ char **missing = NULL;

    if (legacy_tmux_name(&name, err) == -1 || tmux_socket(life->config, name, &socket, err) == -1 ||
        refuse_foreign(socket, name, err) == -1 ||
        template_open(root, template, &tmpl, err) == -1 ||
        choose_names(work, NEW_ID, &ignored, err) == -1)
        return -1;
    add_step(work->plan, MIGRATE_MAKE, unit, template);
    if (placement_missing(root, MODE_LEGACY, &tmpl.team, &missing, err) == -1)
        return -1;
    for (char **part = missing; part != NULL && *part != NULL; part++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", root->path, *part);
        add_step(work->plan, MIGRATE_ADD, path, template);
    }
    return 0;
}

/* Creates the metadata of a stopped legacy session for unit/, which is then migrated like any
 * other. */
static int make_session(struct work *work, struct err *err)
{
    const struct life_options options = {.name = work->options->name, .migrating = true};

    if (plan_new(work, err) == -1)
        return -1;
    if (!work->options->dry)
        return life_make(work->life, &options, &work->session, &work->stage, err);
    for (size_t i = 0; i < PARTS; i++)
        plan_move(work, NEW_ID, life_part_names[i]);
    add_step(work->plan, MIGRATE_TURN, NEW_ID, NULL);
    return 0;
}

/* Opens and reads the session; holds its lock from here on, unless it is a dry run. */
static int open_session(struct work *work, const char *id, struct err *err)
{
    const struct life *life = work->life;
    struct tmux_session *live = NULL;

    memcpy(work->plan->id, id, ID_TEXT);
    if (life_hold(life, id, LOCK_TRY, "migrate", &work->stage.dir, &work->stage.lock, err) == -1 ||
        life_load(life, work->stage.dir, id, "migrate", &work->session, err) == -1 ||
        survey_find_live(life->root, work->session.tmux_socket, id, &live, err) == -1)
        return -1;
    work->live = live != NULL;
    tmux_sessions_free(live, live != NULL);
    return 0;
}

/* Checks that a team can be started again before it is stopped. */
static int check_team(const struct work *work, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;

    if (team_file_load(work->stage.dir, &team, err) == -1 ||
        launch_check(work->life->config, &team, NULL, err) == -1)
        return err_wrap(err, "cannot migrate session '%s'",
                        session_label(work->life->root, work->session.id).text);
    return 0;
}

static int plan_session(struct work *work, struct err *err)
{
    const struct session *session = &work->session;
    struct life_part parts[PARTS];
    _cleanup_free_ char *name = NULL;
    bool again = work->live || session->migrating == MIGRATING_ACTIVE;

    if (session->mode != MODE_LEGACY && session->migrating == MIGRATING_NO)
        return 0;
    if ((!work->live && session->mode == MODE_LEGACY &&
         refuse_foreign(session->tmux_socket, session->tmux_name, err) == -1) ||
        choose_names(work, session->id, &name, err) == -1 || (again && check_team(work, err) == -1))
        return -1;
    if (session->mode == MODE_LEGACY) {
        if (life_find_parts(work->life, work->stage.dir, session->id, parts, err) == -1)
            return -1;
        if (work->live)
            add_step(work->plan, MIGRATE_STOP, session->id, session->tmux_name);
        for (size_t i = 0; i < PARTS; i++)
            if (parts[i].there)
                plan_move(work, session->id, life_part_names[i]);
    }
    bool turned = session->mode != MODE_LEGACY;
    add_step(work->plan, MIGRATE_TURN, session->id, turned ? session->tmux_name : name);
    if (again && (session->mode == MODE_LEGACY || !work->live))
        add_step(work->plan, MIGRATE_START, session->id, NULL);
    return 0;
}

/* Records the migration on disk, then ends the team and what a crash left of it. */
static int bring_down(struct work *work, struct err *err)
{
    const struct life *life = work->life;
    struct session *session = &work->session;
    struct life_end end = {.was = false};

    if (session->migrating == MIGRATING_NO) {
        session->migrating = work->live ? MIGRATING_ACTIVE : MIGRATING_STOPPED;
        if (session_save(life->root, work->stage.dir, session, err) == -1)
            return -1;
    }
    if (work->live) {
        if (life_stop_held(life, work->stage.dir, session, &end, err) == -1)
            return -1;
        if (end.untold.code != MAS_OK || end.unwritten.code != MAS_OK) {
            *err = end.untold.code != MAS_OK ? end.untold : end.unwritten;
            return -1;
        }
        work->live = false;
        return 0;
    }
    if (life_await_hosts(life, work->stage.dir, session->id, "migrate", err) == -1 ||
        life_sweep(life, session->id, err) == -1)
        return -1;
    return 0;
}

/* Renames the session in tmux, on its current server. */
static int name_in_tmux(const struct life *life, struct session *session, struct err *err)
{
    const char *base = strrchr(session->tmux_socket, '/');
    bool own_server = base != NULL && strcmp(base + 1, session->tmux_name) == 0;
    char *socket = mem_dup(session->tmux_socket);
    struct index_facts facts;

    if (life_choose_name(life, session, 0, 0, &facts, err) == -1) {
        free(socket);
        return -1;
    }
    if (own_server) {
        free(socket);
        return 0;
    }
    free(session->tmux_socket);
    session->tmux_socket = socket;
    return 0;
}

/* Makes the session isolated: first its metadata, then its row; repeated after an interruption. */
static int turn(struct work *work, struct err *err)
{
    const struct life *life = work->life;
    struct session *session = &work->session;
    bool was = session->mode == MODE_ISOLATED;
    _cleanup_close_ int lock = -1;

    session->mode = MODE_ISOLATED;
    if (root_lock(life->root, &lock, err) == -1 ||
        (work->options->name != NULL &&
         life_give_name(life, session, work->options->name, err) == -1) ||
        (!was && name_in_tmux(life, session, err) == -1) ||
        session_save(life->root, work->stage.dir, session, err) == -1)
        return -1;
    return index_update(life->root, session->id, session, err);
}

/* After a failure: if everything is back in its old place, restores the session as it was. Returns
 * false if that failed. */
static bool undo(struct work *work)
{
    const struct life *life = work->life;
    int dir = work->stage.dir;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct tmux_session *live = NULL;
    struct err ignored = ERR_INIT;

    if (session_load(life->root, dir, work->session.id, &session, &ignored) == -1 ||
        session.mode != MODE_LEGACY)
        return false;
    life_move_back(life, dir);
    if (life_is_half_moved(life, dir, &session) ||
        survey_find_live(life->root, session.tmux_socket, session.id, &live, &ignored) == -1)
        return false;
    bool again = session.migrating == MIGRATING_ACTIVE && live == NULL;
    tmux_sessions_free(live, live != NULL);
    session.migrating = MIGRATING_NO;
    return (again ? life_start_held(life, dir, &session, &ignored)
                  : session_save(life->root, dir, &session, &ignored)) == 0;
}

/* Runs all steps until the session is isolated. */
static int isolate(struct work *work, struct err *err)
{
    if (work->session.mode != MODE_LEGACY)
        return turn(work, err);
    if (bring_down(work, err) == 0 &&
        life_move_parts(work->life, work->stage.dir, work->session.id, err) == 0 &&
        turn(work, err) == 0)
        return 0;
    if (!undo(work) && err->hint[0] == '\0')
        (void)err_hint(err, "continue it with: mas migrate %s",
                       session_label(work->life->root, work->session.id).text);
    return -1;
}

static int execute(struct work *work, struct err *err)
{
    const struct life *life = work->life;
    struct session *session = &work->session;
    int dir = work->stage.dir;

    if (isolate(work, err) == -1 || (session->migrating == MIGRATING_ACTIVE && !work->live &&
                                     life_start_held(life, dir, session, err) == -1))
        return -1;
    session->migrating = MIGRATING_NO;
    if (session_save(life->root, dir, session, err) == -1)
        return -1;
    workspace_log(dir, config_log_limits(life->config), "migrate tmux=%s", session->tmux_name);
    return 0;
}

static int run(struct work *work, struct err *err)
{
    char id[ID_TEXT];
    int found = find_session(work, id, err);

    if (found == -1)
        return -1;
    if (found == 0) {
        int there = placement_root_has(work->life->root, WORKSPACE_UNIT, err);
        if (there != 1)
            return there;
        if (make_session(work, err) == -1)
            return -1;
        if (work->options->dry)
            return 0;
        memcpy(work->plan->id, work->session.id, ID_TEXT);
    } else if (open_session(work, id, err) == -1) {
        return -1;
    }
    if (plan_session(work, err) == -1)
        return -1;
    return work->options->dry || work->plan->count == 0 ? 0 : execute(work, err);
}

int migrate_run(const struct life *life, const struct migrate_options *options,
                struct migration *ret, struct err *err)
{
    struct work work = {.life = life,
                        .options = options,
                        .plan = ret,
                        .session = SESSION_INIT,
                        .stage = STAGE_INIT};
    int rc = run(&work, err);

    workspace_release(&work.stage);
    session_free(&work.session);
    return rc;
}
