#include "base/id.h"
#include "client/roster.h"
#include "cmd.h"
#include "session/launch.h"
#include "store/session_limits.h"
#include "store/session_quota.h"
#include "store/usage.h"

#include <sys/resource.h>

/*
 * What a host runs to measure its session. It reads the limits anew, so that a change of mas.ini
 * counts, and tells each host of the session what concerns its agent.
 */

enum { NICE = 10 }; /* whoever waits for a command comes first */

static int64_t sooner(int64_t room, const struct disk_use *use)
{
    int64_t own = disk_room(use);
    return own < room ? own : room;
}

static void tell(struct roster *roster, const struct disk_use *session, bool held,
                 const struct disk_use *each, int64_t room)
{
    for (size_t i = 0; i < roster->count; i++) {
        _cleanup_str_ struct str head = STR_INIT;
        struct json_out out = {.to = &head};
        json_open(&out, NULL, '{');
        json_put(&out, "do", "disk");
        disk_put("session", session, &out);
        disk_put("agent", &each[i], &out);
        json_put_int(&out, "room", room);
        if (held)
            json_put_bool(&out, "held", true);
        json_close(&out, '}');
        roster->calls[i] = (struct host_call){.run = roster->teams[roster->agents[i].team].run,
                                              .agent = roster->agents[i].agent->id};
        hosts_start(&roster->calls[i], 1, str_text(&head), NULL, 0);
    }
    roster->asked = roster->count;
    hosts_finish(roster->calls, roster->count, HOSTS_ANSWER_MS, NULL, NULL);
}

/* Sets the limit of each agent. Returns true if one has any. */
static bool find_limits(const struct call *call, const struct session_limits *limits,
                        const struct roster *roster, struct disk_use *each)
{
    bool any = false;

    for (size_t i = 0; i < roster->count; i++) {
        const struct agent *agent = roster->agents[i].agent;
        const struct preset *preset =
            config_agent_preset(&call->config, &roster->teams[0].team, agent);
        each[i] = (struct disk_use){
            .limit =
                session_limits_hold(limits, &call->config, agent, preset).of[LIMIT_AGENT].amount};
        any = any || each[i].limit != 0;
    }
    return any;
}

/* Walks over the files of the session. */
static void walk(const struct call *call, const struct session *session,
                 const struct roster *roster, struct disk_use *all, struct disk_use *each)
{
    struct usage_agent *agents = mem_alloc((roster->count + 1) * sizeof *agents);
    uint64_t used = 0;

    for (size_t i = 0; i < roster->count; i++)
        agents[i].id = roster->agents[i].agent->id;
    usage_measure_agents(&call->root, roster->teams[0].dir, session->mode, agents, roster->count,
                         &used);
    all->used = (int64_t)used;
    for (size_t i = 0; i < roster->count; i++) {
        each[i].known = true;
        each[i].used = (int64_t)agents[i].used;
    }
    free(agents);
}

/* The kernel's count of the session, if it has one, replaces that of the walk, and saves it unless
 * an agent has a limit of its own. */
static void measure(const struct call *call, const struct session *session,
                    const struct session_limits *limits, struct roster *roster)
{
    struct disk_use *each = mem_alloc((roster->count + 1) * sizeof *each);
    struct disk_use all = {
        .known = true,
        .limit = session_limits_hold(limits, &call->config, NULL, NULL).of[LIMIT_SESSION].amount};
    struct session_quota quota = {.used = 0};
    bool has_quota = session_quota_use(roster->teams[0].dir, (uint64_t)all.limit, &quota);

    if (find_limits(call, limits, roster, each) || !has_quota)
        walk(call, session, roster, &all, each);
    if (has_quota)
        all.used = quota.used > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)quota.used;
    int64_t room = disk_room(&all);
    for (size_t i = 0; i < roster->count; i++)
        room = sooner(room, &each[i]);
    tell(roster, &all, quota.holds, each, room);
    free(each);
}

static int run_measure(struct call *call, struct err *err)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    const char *id = call->operands[0];
    struct roster_team team;

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot measure '%s': it is no session id", id);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (roster_open(&call->root, id, &team, err) == -1)
        return -1;
    if (session_load(&call->root, team.dir, id, &session, err) == -1 ||
        session_limits_read(team.dir, &limits, err) == -1) {
        roster_close(&team);
        return -1;
    }
    if (roster_add(&roster, &team, NULL, err) == -1)
        return -1;
    measure(call, &session, &limits, &roster);
    return 0;
}

const struct cmd cmd_measure = {
    .name = "measure",
    .operands = " ID",
    .summary = "measure the disk space of a session for its hosts",
    .operands_min = 1,
    .operands_max = 1,
    .flags = CMD_ROOT | CMD_HIDDEN | CMD_PRESETS,
    .run = run_measure,
};
