/* The part of session/life.h that restarts killed hosts. */
#include "base/str.h"
#include "client/survey.h"
#include "session/launch.h"
#include "session/life_internal.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the panes of the agents, in the agents' order. */
static int pick_panes(const struct life_respawn *options, const struct tmux_pane *panes,
                      size_t count, const struct tmux_pane **picked, struct err *err)
{
    for (size_t i = 0; i < options->count; i++) {
        const char *id = options->agents[i]->id;
        for (size_t j = 0; j < count && picked[i] == NULL; j++)
            if (strcmp(panes[j].agent, id) == 0)
                picked[i] = &panes[j];
        if (picked[i] == NULL) {
            (void)err_set(err, MAS_NOT_FOUND,
                          "cannot restart agent '%s': its host has ended and its pane is gone", id);
            return err_hint(err, "stop the session and start it again");
        }
    }
    return 0;
}

/* Gives the new hosts their environment and starts them. */
static int respawn(const struct life_respawn *options, int dir, const char *socket,
                   const struct tmux_pane *const *picked, const struct launch_env *launch,
                   struct err *err)
{
    _cleanup_close_ int env = -1;

    if (launch_write_env(dir, launch, &env, err) == -1)
        return -1;
    if (tmux_respawn(socket, picked, options->count, err) == 0)
        return 0;
    launch_drop_env(dir);
    return -1;
}

int life_respawn(const struct life *life, const char *id, const struct life_respawn *options,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_free_ struct tmux_pane *panes = NULL;
    _cleanup_free_ bool *wanted = mem_alloc(options->team->agent_count * sizeof *wanted);
    _cleanup_wall_probe_ struct wall_probe probe = WALL_PROBE_INIT;
    const struct launch_env launch = {
        .config = life->config, .team = options->team, .wanted = wanted, .probe = &probe};
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_close_ int dir = -1;
    _cleanup_close_ int lock = -1;
    struct tmux_session *live = NULL;
    size_t count = 0;

    probe.cache = life->root->sessions;
    if (life_hold(life, id, LOCK_WAIT_MS, "restart", &dir, &lock, err) == -1 ||
        life_load(life, dir, id, "restart", &session, err) == -1 ||
        survey_find_team(life->root, session.tmux_socket, id, &live, &panes, &count, err) == -1)
        return -1;
    if (live == NULL) {
        const struct session_label label = session_label(life->root, id);
        (void)err_set(err, MAS_CONFLICT, "cannot restart session '%s': it is not running",
                      label.text);
        return err_hint(err, "start it with: mas start %s", label.text);
    }
    tmux_sessions_free(live, 1);
    const struct tmux_pane **picked = mem_alloc((options->count + 1) * sizeof *picked);
    int rc = pick_panes(options, panes, count, picked, err);
    for (size_t i = 0; i < options->count; i++)
        wanted[options->agents[i] - options->team->agents] = true;
    if (rc == 0)
        rc = launch_check_begin(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = session_limits_read_sound(dir, &limits, err); /* its hosts tell of a damaged one */
    if (rc == 0)
        rc = launch_check_limits(life->config, options->team, wanted, &limits, err);
    if (rc == 0)
        rc = launch_check_walls(life->config, options->team, wanted, &probe, err);
    if (rc == 0)
        rc = life_lease_again(life, dir, &session, err);
    for (size_t i = 0; rc == 0 && i < options->count; i++)
        rc = life_end_agent(life, id, options->agents[i]->id, err);
    if (rc == 0)
        rc = respawn(options, dir, session.tmux_socket, picked, &launch, err);
    free(picked);
    return rc;
}
