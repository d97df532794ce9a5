#include "client/roll.h"

#include "base/path.h"
#include "model/target.h"
#include "store/team_file.h"
#include "store/workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session_label roll_label(const struct roll_team *team)
{
    return session_label(team->root, team->id);
}

int roll_open(const struct root *root, const char *id, struct roll_team *ret, struct err *err)
{
    struct roll_team team = {
        .root = root, .dir = workspace_open(root, id), .run = -1, .team = TEAM_INIT};

    if (team.dir == -1 && errno == ENOENT) {
        (void)err_set(err, MAS_DAMAGED, "cannot read session '%s': its workspace is missing", id);
        return err_hint(err, "see what is wrong with: mas doctor");
    }
    if (team.dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (team_file_load(team.dir, &team.team, err) == -1) {
        (void)close(team.dir);
        (void)err_wrap(err, "cannot read session '%s'", session_label(root, id).text);
        return err_hint(err, "see what can be mended with: mas doctor");
    }
    team.run = path_open_dir(team.dir, WORKSPACE_RUN);
    memcpy(team.id, id, ID_TEXT);
    *ret = team;
    return 0;
}

void roll_close(struct roll_team *team)
{
    if (team->run != -1)
        (void)close(team->run);
    (void)close(team->dir);
    team_free(&team->team);
}

static void add_agent(struct roll *roll, const struct agent *agent)
{
    const struct roll_team *team = &roll->teams[roll->team_count - 1];

    roll->agents = mem_room(roll->agents, roll->count, sizeof *roll->agents);
    roll->calls = mem_room(roll->calls, roll->count, sizeof *roll->calls);
    roll->agents[roll->count] = (struct roll_agent){.agent = agent, .team = roll->team_count - 1};
    roll->calls[roll->count++] = (struct host_call){.run = team->run, .agent = agent->id, .fd = -1};
}

void roll_add_none(struct roll *roll, struct roll_team *team)
{
    roll->teams = mem_room(roll->teams, roll->team_count, sizeof *roll->teams);
    team->first = roll->count;
    team->count = 0;
    roll->teams[roll->team_count++] = *team;
}

int roll_add(struct roll *roll, struct roll_team *team, const char *target, struct err *err)
{
    _cleanup_free_ size_t *chosen = NULL;
    size_t count = team->team.agent_count;

    roll_add_none(roll, team);
    team = &roll->teams[roll->team_count - 1];
    const struct agent *from = roll->from != NULL ? team_agent(&team->team, roll->from) : NULL;
    if (target != NULL && target_resolve(&team->team, from, target, &chosen, &count, err) == -1)
        return -1;
    team->count = count;
    for (size_t i = 0; i < count; i++)
        add_agent(roll, &team->team.agents[chosen != NULL ? chosen[i] : i]);
    return 0;
}

void roll_free(struct roll *roll)
{
    hosts_end(roll->calls, roll->count);
    for (size_t i = 0; i < roll->count; i++)
        agent_status_free(&roll->agents[i].status);
    for (size_t i = 0; i < roll->team_count; i++)
        roll_close(&roll->teams[i]);
    free(roll->teams);
    free(roll->agents);
    free(roll->calls);
    *roll = (struct roll)ROLL_INIT;
}

void roll_ask(struct roll *roll, const char *head, const char *body, size_t body_len)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, head);
    hosts_start(roll->calls + roll->asked, roll->count - roll->asked, &text, body, body_len);
    roll->asked = roll->count;
}

void roll_ask_again(struct roll *roll, const char *head, const char *body, size_t body_len)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, head);
    for (size_t i = 0; i < roll->asked; i++) {
        struct host_call *call = &roll->calls[i];
        if (call->answer != HOST_ABSENT)
            continue;
        free(call->owned);
        call->owned = NULL;
        hosts_start(call, 1, &text, body, body_len);
    }
}

bool roll_keep_status(struct host_call *call, const struct frame *reply, void *arg)
{
    struct roll *roll = arg;
    struct roll_agent *agent = &roll->agents[call - roll->calls];
    struct agent_status status;

    if (hosts_reply_error(reply->head, &call->err) == -1 ||
        agent_status_parse(reply->head, &status, &call->err) == -1)
        return true;
    agent_status_free(&agent->status);
    agent->status = status;
    agent->told = true;
    return true;
}

void roll_finish(struct roll *roll, int timeout_ms)
{
    hosts_finish(roll->calls, roll->asked, timeout_ms, roll_keep_status, roll);
}

const char *roll_problem(const struct roll *roll, size_t i)
{
    static const char *const words[] = {
        [HOST_PENDING] = "no answer", [HOST_ABSENT] = "no host", [HOST_LATE] = "no answer"};
    const struct host_call *call = &roll->calls[i];

    return (size_t)call->answer < ARRAY_LEN(words) && words[call->answer] != NULL
               ? words[call->answer]
               : call->err.text;
}

int roll_failure(const struct roll *roll, size_t i, const char *what, struct err *err)
{
    const struct host_call *one = &roll->calls[i];

    if (one->answer == HOST_ANSWERED && one->err.code == MAS_OK)
        return 0;
    if (one->answer == HOST_ANSWERED || one->answer == HOST_BROKEN || one->answer == HOST_ENDED)
        *err = one->err;
    else
        (void)err_set(err, one->answer == HOST_ABSENT ? MAS_FAILED : MAS_TIMEOUT, "%s",
                      one->answer == HOST_ABSENT ? "its host is not there"
                                                 : "its host does not answer");
    if (!str_starts(err->text, "cannot "))
        (void)err_wrap(err, "cannot %s agent '%s'", what, one->agent);
    return -1;
}
