#include "client/look.h"

#include "client/roster.h"
#include "code/work.h"
#include "store/workspace.h"

/* Asks the hosts of all agents (NULL), or of one. */
static void ask(const struct root *root, const char *id, const char *agent, const char *head,
                const char *body, struct roster *roster)
{
    struct roster_team team;
    struct err ignored = ERR_INIT;

    if (roster_open(root, id, &team, &ignored) == -1 ||
        roster_add(roster, &team, agent, &ignored) == -1)
        return;
    roster_ask(roster, head, body, body != NULL ? strlen(body) : 0);
    roster_finish(roster, HOSTS_ANSWER_MS);
}

void look_at(const struct root *root, struct roster *roster, size_t i)
{
    struct roster_agent *one = &roster->agents[i];
    const struct roster_team *team = &roster->teams[one->team];
    _cleanup_repo_ struct repo repo = REPO_INIT;

    if (one->agent->code != AGENT_CODE_WORKTREE || team->team.project.path == NULL ||
        one->status.code.looked_ms != 0)
        return;
    repo_of(root, team->id, team->team.project.label, &repo);
    work_look(&repo, one->agent->id, &one->status.code);
}

void look_again(const struct root *root, const char *id)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;

    ask(root, id, NULL, "{\"do\":\"look\"}", NULL, &roster);
    for (size_t i = 0; i < roster.count; i++)
        if (roster.calls[i].answer == HOST_ABSENT)
            look_at(root, &roster, i);
}

void look_conflict(const struct root *root, const char *id, const char *agent, const char *files)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;

    ask(root, id, agent, "{\"do\":\"conflict\"}", files, &roster);
}
