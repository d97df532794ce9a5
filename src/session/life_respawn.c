/* The part of session/life.h that restarts killed hosts. */
#include "base/path.h"
#include "client/survey.h"
#include "session/launch.h"
#include "session/life_internal.h"
#include "session/places.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

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
            return -1;
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

int life_respawn(const struct life *life, const char *id, const struct life_respawn *options,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ bool *wanted = mem_alloc(options->team->agent_count * sizeof *wanted);
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    const struct launch_env launch = {
        .config = life->config, .team = options->team, .wanted = wanted, .probe = &probe};
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct tmux_session *live = NULL;
    struct stage_of_team in = {.life = life, .session = &session};

    probe.cache = life->root->sessions;
    if (life_hold(life, id, LOCK_WAIT_MS, "restart", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "restart", &session, err) == -1 ||
        survey_find_team(life->root, session.tmux_socket, id, &live, &in.panes, &in.count, err) ==
            -1)
        return -1;
    if (live == NULL) {
        const struct session_label label = session_label(life->root, id);
        (void)err_set(err, MAS_CONFLICT, "cannot restart session '%s': it is not running",
                      label.text);
        return err_hint(err, "start it with: mas start %s", label.text);
    }
    in.live = live;
    in.dir = dir;
    for (size_t i = 0; i < options->count; i++)
        wanted[options->agents[i] - options->team->agents] = true;
    int rc = launch_check_begin(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = session_limits_read_sound(dir, &limits, err); /* its hosts tell of a damaged one */
    if (rc == 0)
        rc = launch_check_limits(life->config, options->team, wanted, &limits, err);
    if (rc == 0)
        rc = places_check(life->root, dir, &session, options->team, wanted, err);
    if (rc == 0)
        rc = launch_check_walls(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = life_lease_again(life, dir, &session, err);
    for (size_t i = 0; rc == 0 && i < options->count; i++)
        rc = life_end_agent(life, id, options->agents[i]->id, err);
    if (rc == 0)
        rc = respawn(&in, options, &launch, err);
    tmux_sessions_free(live, 1);
    free(in.panes);
    return rc;
}
