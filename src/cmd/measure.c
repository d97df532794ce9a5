#include "base/id.h"
#include "base/str.h"
#include "client/roster.h"
#include "cmd.h"
#include "store/disk_limits.h"
#include "store/usage.h"

#include <stdlib.h>
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

static void tell(struct roster *roster, const struct disk_use *session, const struct disk_use *each,
                 int64_t room)
{
    for (size_t i = 0; i < roster->count; i++) {
        _cleanup_str_ struct str head = STR_INIT;
        struct json_out out = {.to = &head};
        json_open(&out, NULL, '{');
        json_put(&out, "do", "disk");
        disk_put("session", session, &out);
        disk_put("agent", &each[i], &out);
        json_put_int(&out, "room", room);
        json_close(&out, '}');
        roster->calls[i] = (struct host_call){.run = roster->teams[roster->agents[i].team].run,
                                              .agent = roster->agents[i].agent->id};
        hosts_start(&roster->calls[i], 1, str_text(&head), NULL, 0);
    }
    roster->asked = roster->count;
    hosts_finish(roster->calls, roster->count, HOSTS_ANSWER_MS, NULL, NULL);
}

static void measure(const struct call *call, const struct session *session,
                    const struct disk_limits *limits, struct roster *roster)
{
    struct usage_agent *agents = mem_alloc((roster->count + 1) * sizeof *agents);
    struct disk_use *each = mem_alloc((roster->count + 1) * sizeof *each);
    struct disk_use all = {.known = true};
    uint64_t used = 0;

    for (size_t i = 0; i < roster->count; i++)
        agents[i].id = roster->agents[i].agent->id;
    usage_measure_agents(&call->root, roster->teams[0].dir, session->mode, agents, roster->count,
                         &used);
    all.used = (int64_t)used;
    all.limit = disk_limits_of(limits, &call->config, DISK_SESSION, NULL);
    int64_t room = disk_room(&all);
    for (size_t i = 0; i < roster->count; i++) {
        each[i] = (struct disk_use){
            .known = true,
            .used = (int64_t)agents[i].used,
            .limit = disk_limits_of(limits, &call->config, DISK_AGENT, agents[i].id)};
        room = sooner(room, &each[i]);
    }
    tell(roster, &all, each, room);
    free(agents);
    free(each);
}

static int run_measure(struct call *call, struct err *err)
{
    _cleanup_disk_limits_ struct disk_limits limits = DISK_LIMITS_INIT;
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
        disk_limits_read(team.dir, &limits, err) == -1) {
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
    .flags = CMD_ROOT | CMD_HIDDEN,
    .run = run_measure,
};
