/*
 * The part of wall/plan.h for the network. src/network/network.h says how a list of hosts is held.
 */
#include "base/env.h"
#include "model/network.h"
#include "os/path.h"
#include "store/workspace.h"
#include "wall/plan_internal.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

/* Finds mas-network, which is beside mas-wall, and tinyproxy. */
static int find_way(const char *enter, char *const *env, struct wall_way *way, struct err *err)
{
    const char *search = env_get(env, "PATH");

    way->program = plan_beside(enter, "mas-network");
    if (access(way->program, X_OK) == -1)
        return err_errno(err, "cannot let hosts through: cannot run '%s'", way->program);
    way->tinyproxy = path_find_program("tinyproxy", SYSTEM_PATH, -1);
    if (way->tinyproxy == NULL && search != NULL)
        way->tinyproxy = path_find_program("tinyproxy", search, -1);
    if (way->tinyproxy != NULL)
        return 0;
    (void)err_set(err, MAS_FAILED, "cannot let hosts through: there is no program 'tinyproxy'");
    return err_hint(err, "install tinyproxy: apt install tinyproxy-bin");
}

static int read_network(const struct config *config, const struct preset *preset,
                        struct network *ret, struct err *err)
{
    const char *value = preset->wall.network;

    if (value == NULL || value[0] == '\0')
        value = config_text(config, SETTING_WALL_NETWORK);
    return network_parse(value, ret, err) == 0 ? 0 : err_wrap(err, "cannot read wall.network");
}

int wall_network_check(const struct config *config, const struct agent *agent,
                       const struct preset *preset, const char *enter, char *const *env,
                       struct err *err)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct wall_plan plan = WALL_PLAN_INIT;

    int rc = read_network(config, preset, &network, err);
    if (rc == 0 && network.kind == NETWORK_LIST)
        rc = find_way(enter, env, &plan.way, err);
    plan_free_network(&plan);
    return rc == 0 ? 0 : err_wrap(err, "cannot put up the wall of agent '%s'", agent->id);
}

int plan_network(struct wall_plan *plan, const struct wall_subject *subject, struct err *err)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err why = ERR_INIT;

    if (read_network(subject->config, subject->preset, &network, err) == -1)
        return -1;
    if (network.kind == NETWORK_OPEN)
        return 0;
    plan->report.asked[WALL_NETWORK] = true;
    plan->cut = true;
    wall_report_hold(&plan->report, WALL_NETWORK, plan->alone ? "seccomp" : "namespace");
    if (network.kind == NETWORK_NONE)
        return 0;
    if (plan->alone) { /* without a namespace there is no way out */
        plan_lack_too(plan, "no host of wall.network is reached");
        return 0;
    }
    if (find_way(subject->enter, subject->env, &plan->way, &why) == -1) {
        plan_free_network(plan);
        if (plan->report.level == WALL_REQUIRE) {
            *err = why;
            return -1;
        }
        plan_lack(plan, &why); /* it reaches nothing then: that is less than was asked for */
        return 0;
    }
    _cleanup_str_ struct str hosts = STR_INIT;
    network_format(&network, &hosts);
    plan->way.hosts = str_steal(&hosts);
    _cleanup_free_ char *logs = workspace_path(subject->root, subject->id, WORKSPACE_LOGS);
    plan->way.log = mem_printf("%s/network-%s.log", logs, subject->agent->id);
    wall_report_hold(&plan->report, WALL_NETWORK, "namespace and tinyproxy");
    return 0;
}

void plan_free_network(struct wall_plan *plan)
{
    free(plan->way.program);
    free(plan->way.tinyproxy);
    free(plan->way.hosts);
    free(plan->way.log);
    plan->way = (struct wall_way){.program = NULL};
}
