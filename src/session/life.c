/*
 * `new`, `start` and `restart`; life_plan.c says what will be made, and the other life_*.c have the
 * rest. First come the plan and all checks, the lease, and run/env. Then a .session that says
 * ACTIVE gets its place, then tmux builds the team, whose hosts wait at run/env, the lock of which
 * is released last. A failure removes run/env first, so that these hosts exit, and undoes the rest
 * then. After a kill the session is as it was before (a new one is not there), or it runs, or it
 * appears as crashed.
 */
#include "session/life.h"
#include "client/lost_server.h"
#include "client/survey.h"
#include "code/project.h"
#include "os/file.h"
#include "os/job.h"
#include "os/path.h"
#include "session/launch.h"
#include "session/life_internal.h"
#include "session/places.h"
#include "store/index.h"
#include "store/limits/session_quota.h"
#include "store/owner.h"
#include "store/placement.h"
#include "store/placement_stage.h"
#include "store/stage.h"
#include "store/team_file.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

enum { SERVER_EXIT_MS = 2000 };

static bool interrupted(const struct life *life)
{
    return life->tick != NULL && life->tick(0, 0, life->tick_arg);
}

/* Tries to end the tmux session of a team that is given up. */
static void end_in_tmux(const struct life *life, const struct session *session)
{
    struct tmux_session *live = NULL;
    struct err ignored = ERR_INIT;

    if (survey_find_live(life->root, session->tmux_socket, session->id, &live, &ignored) == 0 &&
        live != NULL)
        (void)tmux_kill(session->tmux_socket, live->target, live->id, &ignored);
    tmux_sessions_free(live, live != NULL);
}

/* The arguments of bring_up(). */
struct start_job {
    struct session *session;
    const struct team *team;
    int dir;
    enum tmux_scope scope;
    bool again; /* the server was exiting at the first attempt */
    int *metadata_lock; /* held while tmux starts, released when the row is written; may be NULL */
};

struct tmux_team life_tmux_team(const struct life *life, const struct session *session,
                                const struct team *team, int dir)
{
    const union setting_value *size = config_value(life->config, SETTING_SIZE);

    return (struct tmux_team){.root = life->root,
                              .session = session,
                              .team = team,
                              .dir = dir,
                              .status = config_yes(life->config, SETTING_STATUS),
                              .columns = size->size.columns,
                              .rows = size->size.rows};
}

/* Builds once; writes the row while tmux works. */
static enum tmux_built build_once(const struct life *life, struct start_job *start_job,
                                  struct err *err)
{
    _cleanup_free_ char *host = path_exe();
    struct tmux_team options =
        life_tmux_team(life, start_job->session, start_job->team, start_job->dir);
    struct proc proc;

    options.host = host;
    options.scope = start_job->scope;
    if (host == NULL) {
        (void)err_errno(err, "cannot find the mas program");
        return TMUX_BUILD_FAILED;
    }
    if (tmux_build_start(&options, &proc, err) == -1)
        return TMUX_BUILD_FAILED;
    int recorded = 0;
    struct err why = ERR_INIT;
    if (start_job->metadata_lock != NULL && *start_job->metadata_lock != -1) {
        recorded = index_update(life->root, start_job->session->id, start_job->session, &why);
        fd_closep(start_job->metadata_lock);
    }
    enum tmux_built built = tmux_build_finish(&options, &proc, err);
    if (built == TMUX_BUILT && recorded == -1) {
        end_in_tmux(life, start_job->session);
        *err = why;
        return TMUX_BUILD_FAILED;
    }
    return built;
}

/* Builds the team: tries another name if tmux has a session with that name, and once more if the
 * server was exiting. The caller has written and locked the environment file. */
static int bring_up(const struct life *life, struct start_job *start_job, struct err *err)
{
    struct session *session = start_job->session;

    for (size_t taken = 1;;) {
        switch (build_once(life, start_job, err)) {
        case TMUX_BUILT:
            return 0;
        case TMUX_NAME_TAKEN:
            if (life_rename(life, start_job->dir, session, taken++, err) == -1)
                return -1;
            break;
        case TMUX_SERVER_GONE:
            if (start_job->again)
                return -1;
            start_job->again = true;
            start_job->scope = TMUX_SCOPE_NONE;
            tmux_wait_exit(session->tmux_socket, SERVER_EXIT_MS);
            break;
        case TMUX_NO_SCOPE:
            if (start_job->scope == TMUX_SCOPE_NONE)
                return -1;
            start_job->scope++;
            break;
        case TMUX_BUILD_FAILED:
        default:
            return -1;
        }
    }
}

/* Under the metadata lock: checks that the name is still free and moves the workspace into
 * place. */
int life_settle(const struct life *life, struct session *session, struct stage *stage,
                struct err *err)
{
    struct index_facts facts;
    _cleanup_free_ char *was = mem_dup(session->tmux_name);

    if (life_choose_name(life, session, 0, 1, &facts, err) == -1)
        return -1;
    if (facts.name_taken)
        return life_name_conflict(session->name, err);
    if (placement_stage_check(life->root, session, &stage->parts, err) == -1)
        return -1;
    /* the root may hold stale entries too */
    stage->others = facts.others || placement_is_shared(session->mode);
    if (strcmp(was, session->tmux_name) != 0 &&
        session_save(life->root, stage->dir, session, err) == -1)
        return -1;
    return workspace_place(life->root, stage, err);
}

/* Undoes a failed `new`. The lock on run/env is still held: waiting hosts then find the file gone
 * and give up. */
void life_undo_new(const struct life *life, const struct session *session, struct stage *stage,
                   int *metadata_lock)
{
    struct err ignored = ERR_INIT;

    launch_drop_env(stage->dir);
    if (!stage->placed) {
        fd_closep(metadata_lock); /* deleting takes long and needs no lock */
        workspace_discard(life->root, stage);
        return;
    }
    (void)life_sweep(life, stage->id, &ignored);
    placement_stage_undo(&stage->parts);
    tmux_drop_own_server(session->tmux_socket, session->tmux_name);
    if (*metadata_lock != -1 || root_lock(life->root, metadata_lock, &ignored) == 0)
        (void)index_update(life->root, stage->id, NULL, &ignored);
    int rc = workspace_trash(life->root, stage->id, &ignored);
    fd_closep(metadata_lock);
    if (rc != -1)
        (void)workspace_empty_trash(life->root, stage->id, &ignored);
}

/* Continues from the staged workspace to the running team. */
static int finish_new(const struct life *life, struct session *session,
                      const struct launch_env *launch, struct stage *stage, int *lock, int *env,
                      struct err *err)
{
    bool start = session->status == STATUS_ACTIVE;

    if (start && launch_write_env(stage->dir, launch, env, err) == -1)
        return -1;
    if (root_lock(life->root, lock, err) == -1 || life_settle(life, session, stage, err) == -1)
        return -1;
    if (!start)
        return index_update(life->root, session->id, session, err);
    struct start_job start_job = {
        .session = session, .team = launch->team, .dir = stage->dir, .metadata_lock = lock};
    if (bring_up(life, &start_job, err) == -1)
        return -1;
    if (!interrupted(life))
        return 0;
    launch_drop_env(stage->dir); /* no agent starts from now on */
    end_in_tmux(life, session);
    return err_set(err, MAS_FAILED, "cannot create a session: interrupted");
}

/* Keeps the limits in the workspace that is being made. */
static int keep_limits(const struct session_limits *limits, const struct stage *stage,
                       struct err *err)
{
    if (limits == NULL || !session_limits_any(limits))
        return 0;
    return session_limits_write(stage->dir, limits, err);
}

/* For a session that does not come to be. */
static void lose_lease(const struct session *session)
{
    life_lease_give_back(session);
    life_lease_forget(session);
}

int life_make(const struct life *life, const struct life_options *options, struct session *ret,
              struct stage *stage, struct err *err)
{
    _cleanup_life_plan_ struct life_plan plan = LIFE_PLAN_INIT;
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int env = -1;

    if (life_plan(life, options, &plan, err) == -1 ||
        (options->start && life_lease_take(life, &plan.session, err) == -1))
        return -1;
    struct session *session = &plan.session;
    const struct team *team = &plan.template.team;
    if (workspace_stage(life->root, life->config, session, &plan.template, SESSION_QUOTA_OWN,
                        life->tick, life->tick_arg, stage, err) == -1) {
        lose_lease(session);
        return -1;
    }
    const struct launch_env launch = {
        .config = life->config, .team = team, .prompts = session->prompted, .probe = &plan.probe};
    if (keep_limits(options->limits, stage, err) == -1 ||
        life_make_code(life, options, &plan.project, team, stage, err) == -1 ||
        finish_new(life, session, &launch, stage, &lock, &env, err) == -1 ||
        life_lease_refresh(life, session, err) == -1) {
        life_undo_new(life, session, stage, &lock);
        lose_lease(session);
        return -1;
    }
    fd_closep(&env); /* the team is built: its hosts may continue */
    fd_closep(&lock); /* the sweep takes it itself */
    if (stage->others)
        (void)workspace_sweep(life->root, false, NULL, NULL);
    workspace_log(stage->dir, config_log_limits(life->config), "new template=%s agents=%zu%s",
                  session->template, team->agent_count, options->start ? " started" : "");
    *ret = *session;
    *session = (struct session)SESSION_INIT;
    return 0;
}

int life_new(const struct life *life, const struct life_options *options, struct session *ret,
             struct err *err)
{
    _cleanup_stage_ struct stage stage = STAGE_INIT;
    return life_make(life, options, ret, &stage, err);
}

/* Keeps what --wall says. */
static int set_wall(const struct life *life, int dir, struct team *team, struct err *err)
{
    if (team->wall == *life->wall)
        return 0;
    team->wall = *life->wall;
    return team_file_change(dir, team, err);
}

/* In a job of Slurm, a session has a tmux server of its own: see tmux_socket(). */
static int leave_shared_server(const struct life *life, struct session *session, struct err *err)
{
    char job[JOB_TEXT];
    char *socket = NULL;

    if (!job_inside(job))
        return 0;
    if (tmux_socket(life->config, session->tmux_name, &socket, err) == -1)
        return -1;
    free(session->tmux_socket);
    session->tmux_socket = socket;
    return 0;
}

int life_start_held(const struct life *life, int dir, struct session *session, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_str_ struct str before = STR_INIT;
    _cleanup_close_ int env = -1;
    struct err ignored = ERR_INIT;

    if (team_file_load(dir, &team, err) == -1) {
        (void)err_wrap(err, "cannot start session '%s'",
                       session_label(life->root, session->id).text);
        return err_hint(err, "check it with: mas doctor");
    }
    if (life->wall != NULL && set_wall(life, dir, &team, err) == -1)
        return -1;
    struct launch_env options = {.config = life->config,
                                 .team = &team,
                                 .prompts = !session->prompted && team_has_prompts(&team),
                                 .probe = &probe};
    if (session_limits_read_sound(dir, &limits, err) == -1 || /* its hosts tell of a damaged one */
        life_check_start(life, &team, &limits, options.prompts, &probe, err) == -1)
        return err_wrap(err, "cannot start session '%s'",
                        session_label(life->root, session->id).text);
    if (places_check(life->root, dir, session, &team, NULL, err) == -1 ||
        tmux_check_room(session->tmux_socket, team.agent_count, err) == -1)
        return -1;
    if (life_await_hosts(life, dir, session->id, "start", err) == -1 ||
        life_sweep(life, session->id, err) == -1) /* no agent may run twice */
        return -1;
    if (launch_check_walls(life->config, &team, NULL, &probe, err) == -1)
        return err_wrap(err, "cannot start session '%s'",
                        session_label(life->root, session->id).text);
    life_normalise_name(session);
    if (owner_take(session, false, err) == -1 || leave_shared_server(life, session, err) == -1)
        return -1;
    if (life_lease_take(life, session, err) == -1)
        return -1;
    session_format(life->root, session, &before);
    session->status = STATUS_ACTIVE;
    session->activity = time(NULL);
    session->stopped = 0;
    session->prompted = session->prompted || options.prompts;
    struct start_job start_job = {.session = session, .team = &team, .dir = dir};
    if (launch_write_env(dir, &options, &env, err) == 0 &&
        life_record(life, dir, session, err) == 0 && bring_up(life, &start_job, err) == 0 &&
        life_lease_refresh(life, session, err) == 0) {
        workspace_log(dir, config_log_limits(life->config), "start agents=%zu", team.agent_count);
        return 0;
    }
    launch_drop_env(dir);
    fd_closep(&env); /* waiting hosts exit */
    (void)life_await_hosts(life, dir, session->id, "start", &ignored);
    tmux_drop_own_server(session->tmux_socket, session->tmux_name);
    life_undo_record(life, dir, session->id, &before);
    life_lease_give_back(session);
    return -1;
}

/* Fails if the session has gone to another machine with all its files. */
static int check_moved(const struct life *life, struct session *session, struct err *err)
{
    if (session->moved_to[0] == '\0')
        return 0;
    const struct session_label label = session_label(life->root, session->id);
    if (life->takeover == LIFE_TAKEOVER_FENCED) { /* a copy elsewhere is older from now on */
        session->moved_to[0] = '\0';
        session->epoch++;
        return owner_take(session, true, err);
    }
    if (session_arrives(session->moved_to)) {
        size_t before = strlen(MOVED_ARRIVING_FROM);
        (void)err_set(err, MAS_CONFLICT,
                      "cannot start session '%s': its move to here has not ended", label.text);
        if (!str_starts(session->moved_to, MOVED_ARRIVING_FROM))
            return err_hint(err, "finish it where the session comes from: mas move %s HOST",
                            label.text);
        return err_hint(err, "finish it with: mas move %.*s:%s .",
                        (int)strcspn(session->moved_to + before, ")"), session->moved_to + before,
                        label.text);
    }
    (void)err_set(err, MAS_CONFLICT, "cannot start session '%s': it has moved to %s", label.text,
                  session->moved_to);
    return err_hint(err, "start it there");
}

int life_start(const struct life *life, const char *id, bool *ret_was, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct tmux_session *live = NULL;

    if (life_hold(life, id, LOCK_TRY, "start", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "start", &session, err) == -1 ||
        check_moved(life, &session, err) == -1 || life_take_over(life, dir, &session, err) == -1 ||
        lost_server_mend(dir, session.tmux_socket, err) == -1 ||
        survey_find_live(life->root, session.tmux_socket, id, &live, err) == -1)
        return -1;
    *ret_was = live != NULL;
    tmux_sessions_free(live, live != NULL);
    if (!*ret_was && life_is_half_moved(life, dir, &session))
        return life_migrate_first(life, "start", id, err);
    if (!*ret_was) {
        if (life_start_held(life, dir, &session, err) == -1)
            return -1;
        if (session.migrating == MIGRATING_NO)
            return 0;
        session.migrating = MIGRATING_NO; /* nothing else was left to do */
        return session_save(life->root, dir, &session, err);
    }
    if (life->wall != NULL) {
        (void)err_set(err, MAS_CONFLICT, "cannot use --wall: session '%s' is running",
                      session_label(life->root, id).text);
        return err_hint(err, "stop it first: mas stop %s", session_label(life->root, id).text);
    }
    if (session.status == STATUS_ACTIVE && session.machine[0] != '\0')
        return 0;
    if (owner_take(&session, false, err) == -1) /* a script made it */
        return -1;
    session.status = STATUS_ACTIVE; /* an interrupted stop */
    session.stopped = 0;
    return life_record(life, dir, &session, err);
}

/* ---- hosts that were killed */

/* Returns the panes of the agents, in the agents' order; NULL where it is gone. */
static void pick_panes(const struct life_respawn *options, const struct tmux_pane *panes,
                       size_t count, const struct tmux_pane **picked)
{
    for (size_t i = 0; i < options->count; i++)
        for (size_t j = 0; j < count && picked[i] == NULL; j++)
            if (strcmp(panes[j].agent, options->agents[i]->id) == 0)
                picked[i] = &panes[j];
}

/* What the hosts of a running session are started in. */
struct stage_of_team {
    const struct life *life;
    const struct session *session;
    const struct tmux_session *live;
    struct tmux_pane *panes;
    size_t count;
    int dir;
};

/* Starts the hosts: those that have a pane there, then the others in panes of their own. */
static int start_hosts(struct stage_of_team *in, const struct life_respawn *options,
                       struct err *err)
{
    _cleanup_free_ char *host = path_exe();
    _cleanup_free_ const struct tmux_pane **picked =
        mem_alloc((options->count + 1) * sizeof *picked);
    _cleanup_free_ const struct tmux_pane **there = mem_alloc((options->count + 1) * sizeof *there);
    struct tmux_team team = life_tmux_team(in->life, in->session, options->team, in->dir);
    size_t count = 0;

    if (host == NULL)
        return err_errno(err, "cannot find the mas program");
    team.host = host;
    pick_panes(options, in->panes, in->count, picked);
    for (size_t i = 0; i < options->count; i++)
        if (picked[i] != NULL)
            there[count++] = picked[i];
    size_t gone = options->count - count;
    if (gone > 0 && tmux_check_room(in->session->tmux_socket, gone, err) == -1)
        return -1;
    if (count > 0 && tmux_respawn(in->session->tmux_socket, there, count, err) == -1)
        return -1;
    for (size_t i = 0; i < options->count; i++) /* `picked` is compared with NULL only from here */
        if (picked[i] == NULL &&
            tmux_make_pane(&team, in->live, (size_t)(options->agents[i] - options->team->agents),
                           &in->panes, &in->count, err) == -1)
            return err_wrap(err, "cannot start agent '%s'", options->agents[i]->id);
    return 0;
}

/* Gives the new hosts their environment and starts them. */
static int respawn(struct stage_of_team *in, const struct life_respawn *options,
                   const struct launch_env *launch, struct err *err)
{
    _cleanup_close_ int env = -1;

    if (launch_write_env(in->dir, launch, &env, err) == -1)
        return -1;
    if (start_hosts(in, options, err) == 0)
        return 0;
    launch_drop_env(in->dir);
    return -1;
}

int life_respawn_held(const struct life *life, int dir, struct session *session,
                      const struct life_respawn *options, bool *ret_runs, struct err *err)
{
    _cleanup_free_ bool *wanted = mem_alloc(options->team->agent_count * sizeof *wanted);
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    const struct launch_env launch = {
        .config = life->config, .team = options->team, .wanted = wanted, .probe = &probe};
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    const char *id = session->id;
    struct tmux_session *live = NULL;
    struct stage_of_team in = {.life = life, .session = session, .dir = dir};

    probe.cache = life->root->sessions;
    if (survey_find_team(life->root, session->tmux_socket, id, &live, &in.panes, &in.count, err) ==
        -1)
        return -1;
    *ret_runs = live != NULL;
    if (live == NULL)
        return 0;
    in.live = live;
    for (size_t i = 0; i < options->count; i++)
        wanted[options->agents[i] - options->team->agents] = true;
    int rc = launch_check_begin(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = session_limits_read_sound(dir, &limits, err); /* its hosts tell of a damaged one */
    if (rc == 0)
        rc = launch_check_limits(life->config, options->team, wanted, &limits, err);
    if (rc == 0)
        rc = places_check(life->root, dir, session, options->team, wanted, err);
    if (rc == 0)
        rc = launch_check_walls(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = life_lease_again(life, dir, session, err);
    for (size_t i = 0; rc == 0 && !options->fresh && i < options->count; i++)
        rc = life_end_agent(life, id, options->agents[i]->id, err);
    if (rc == 0)
        rc = respawn(&in, options, &launch, err);
    tmux_sessions_free(live, 1);
    free(in.panes);
    return rc;
}

int life_respawn(const struct life *life, const char *id, const struct life_respawn *options,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    bool runs = false;

    if (life_hold(life, id, LOCK_WAIT_MS, "restart", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "restart", &session, err) == -1 ||
        life_respawn_held(life, dir, &session, options, &runs, err) == -1)
        return -1;
    if (runs)
        return 0;
    const struct session_label label = session_label(life->root, id);
    (void)err_set(err, MAS_CONFLICT, "cannot restart session '%s': it is not running", label.text);
    return err_hint(err, "start it with: mas start %s", label.text);
}
