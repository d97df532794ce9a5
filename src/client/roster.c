/*
 * The calls are a parallel array of the agents, grown as teams are added; `asked` divides those
 * that have been sent a request from those that came later. Agents point into the teams, which the
 * roster owns and closes at its end. Waiting for hosts that start is in roster_wait.c.
 */

#include "client/roster.h"

#include "model/target.h"
#include "os/path.h"
#include "store/team_file.h"
#include "store/workspace.h"

struct session_label roster_label(const struct roster_team *team)
{
    return session_label(team->root, team->id);
}

int roster_open(const struct root *root, const char *id, struct roster_team *ret, struct err *err)
{
    struct roster_team team = {
        .root = root, .dir = workspace_open(root, id), .run = -1, .team = TEAM_INIT};

    if (team.dir == -1 && errno == ENOENT) {
        (void)err_set(err, MAS_DAMAGED, "cannot read session '%s': its workspace is missing", id);
        return err_hint(err, "check it with: mas doctor");
    }
    if (team.dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (team_file_load(team.dir, &team.team, err) == -1) {
        (void)close(team.dir);
        (void)err_wrap(err, "cannot read session '%s'", session_label(root, id).text);
        return err_hint(err, "check it with: mas doctor");
    }
    team.run = path_open_dir(team.dir, WORKSPACE_RUN);
    memcpy(team.id, id, ID_TEXT);
    *ret = team;
    return 0;
}

void roster_close(struct roster_team *team)
{
    if (team->run != -1)
        (void)close(team->run);
    (void)close(team->dir);
    team_free(&team->team);
}

static void add_agent(struct roster *roster, const struct agent *agent)
{
    const struct roster_team *team = &roster->teams[roster->team_count - 1];

    roster->agents = mem_room(roster->agents, roster->count, sizeof *roster->agents);
    roster->calls = mem_room(roster->calls, roster->count, sizeof *roster->calls);
    roster->agents[roster->count] =
        (struct roster_agent){.agent = agent, .team = roster->team_count - 1};
    roster->calls[roster->count++] = (struct host_call){
        .run = team->run, .agent = agent->id, .connection = HOST_CONNECTION_INIT};
}

void roster_add_none(struct roster *roster, struct roster_team *team)
{
    roster->teams = mem_room(roster->teams, roster->team_count, sizeof *roster->teams);
    team->first = roster->count;
    team->count = 0;
    roster->teams[roster->team_count++] = *team;
}

int roster_add(struct roster *roster, struct roster_team *team, const char *target, struct err *err)
{
    _cleanup_free_ size_t *chosen = NULL;
    size_t count = team->team.agent_count;

    roster_add_none(roster, team);
    team = &roster->teams[roster->team_count - 1];
    const struct agent *from = roster->from != NULL ? team_agent(&team->team, roster->from) : NULL;
    if (target != NULL && target_resolve(&team->team, from, target, &chosen, &count, err) == -1)
        return -1;
    team->count = count;
    for (size_t i = 0; i < count; i++)
        add_agent(roster, &team->team.agents[chosen != NULL ? chosen[i] : i]);
    return 0;
}

void roster_free(struct roster *roster)
{
    hosts_end(roster->calls, roster->count);
    for (size_t i = 0; i < roster->count; i++)
        agent_status_free(&roster->agents[i].status);
    for (size_t i = 0; i < roster->team_count; i++)
        roster_close(&roster->teams[i]);
    free(roster->teams);
    free(roster->agents);
    free(roster->calls);
    *roster = (struct roster)ROSTER_INIT;
}

void roster_ask(struct roster *roster, const char *head, const char *body, size_t body_len)
{
    hosts_start(roster->calls + roster->asked, roster->count - roster->asked, head, body, body_len);
    roster->asked = roster->count;
}

void roster_ask_again(struct roster *roster, const char *head, const char *body, size_t body_len)
{
    for (size_t i = 0; i < roster->asked; i++) {
        struct host_call *call = &roster->calls[i];
        if (call->answer == HOST_ABSENT)
            hosts_start(call, 1, head, body, body_len);
    }
}

bool roster_keep_status(struct host_call *call, const struct frame *reply, void *arg)
{
    struct roster *roster = arg;
    struct roster_agent *agent = &roster->agents[call - roster->calls];
    struct agent_status status;

    if (hosts_reply_error(reply->head, &call->err) == -1 ||
        agent_status_parse(reply->head, &status, &call->err) == -1)
        return true;
    agent_status_free(&agent->status);
    agent->status = status;
    agent->told = true;
    return true;
}

void roster_finish(struct roster *roster, int timeout_ms)
{
    hosts_finish(roster->calls, roster->asked, timeout_ms, roster_keep_status, roster);
}

const char *roster_problem(const struct roster *roster, size_t i)
{
    static const char *const words[] = {
        [HOST_PENDING] = "no answer", [HOST_ABSENT] = "no host", [HOST_LATE] = "no answer"};
    const struct host_call *call = &roster->calls[i];

    return (size_t)call->answer < ARRAY_LEN(words) && words[call->answer] != NULL
               ? words[call->answer]
               : call->err.text;
}

bool roster_lost_host(const struct roster *roster, size_t i)
{
    enum host_answer answer = roster->calls[i].answer;

    return answer == HOST_ABSENT || answer == HOST_ENDED || answer == HOST_BROKEN;
}

int roster_failure(const struct roster *roster, size_t i, const char *what, struct err *err)
{
    const struct host_call *one = &roster->calls[i];

    if (one->answer == HOST_ANSWERED && one->err.code == MAS_OK)
        return 0;
    if (one->answer == HOST_ANSWERED || one->answer == HOST_BROKEN || one->answer == HOST_ENDED)
        *err = one->err;
    else
        (void)err_set(err, one->answer == HOST_ABSENT ? MAS_FAILED : MAS_TIMEOUT, "%s",
                      one->answer == HOST_ABSENT ? "its host is not running"
                                                 : "its host does not answer");
    if (!str_starts(err->text, "cannot "))
        (void)err_wrap(err, "cannot %s agent '%s'", what, one->agent);
    return -1;
}
