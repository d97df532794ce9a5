#include "code/sync.h"
#include "client/survey.h"
#include "cmd/code_record.h"
#include "cmd/each_session.h"
#include "cmd/targets.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
    {0, "project", NULL, "first merge what is new in the project's branch", OFFER_NONE},
    {.name = NULL},
};

static int sync_from_project(const struct call *call, const struct repo *repo,
                             const struct team_project *project, struct err *err)
{
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
    _cleanup_str_ struct str files = STR_INIT;

    if (sync_project(repo, project, &result, err) == -1)
        return -1;
    code_record_merge(call, repo, NULL, &result);
    if (result.view.code != MAS_OK)
        err_warn("%s", result.view.text);
    if (result.outcome == MERGE_CONFLICT) {
        for (char **file = result.files; file != NULL && *file != NULL; file++) {
            str_add(&files, files.len > 0 ? ", " : "");
            str_add(&files, *file);
        }
        return err_set(err, MAS_CONFLICT, "cannot merge project '%s': it conflicts in %s",
                       project->path, str_text(&files));
    }
    if (!call->quiet)
        printf("project: %zu new commit%s\n", result.commits, result.commits == 1 ? "" : "s");
    return 0;
}

static int sync_one(const struct call *call, const struct repo *repo, const char *agent,
                    struct err *err)
{
    enum sync_outcome outcome;
    const char *why = NULL;

    if (sync_agent(repo, agent, &outcome, &why, err) == -1)
        return -1;
    if (outcome == SYNC_MOVED)
        code_record_sync(call, repo, agent);
    if (call->quiet)
        return 0;
    if (outcome == SYNC_BEHIND)
        printf("%s: not updated, %s; in its work tree: git fetch team && git merge team/main\n",
               agent, why);
    else
        printf("%s: %s\n", agent, outcome == SYNC_MOVED ? "updated" : "has it all");
    return 0;
}

static int run_sync(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;
    int rc = 0;

    if (targets_parse(call, TARGETS_OPTIONAL, &roster, err) == -1 ||
        repo_load(&call->root, roster.teams[0].id, &team, &repo, err) == -1 ||
        merge_lock(&repo, "sync", &lock, err) == -1 ||
        (call_opt(call, "project") != NULL &&
         sync_from_project(call, &repo, &team.project, err) == -1))
        return -1;
    for (size_t i = 0; i < roster.count; i++) {
        struct err why = ERR_INIT;
        const struct agent *agent = roster.agents[i].agent;
        if (agent->code == AGENT_CODE_WORKTREE && sync_one(call, &repo, agent->id, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    fd_closep(&lock);
    code_record_end(call, &repo);
    return rc;
}

const struct cmd cmd_sync = {
    .name = "sync",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET]",
    .summary = "bring the integration branch to agents",
    .examples = "mas sync login\n"
                "mas sync login 21 --project",
    .details =
        "mas moves the branch and the work tree of each agent forward to the integration branch. "
        "An agent that has commits or changed files of its own stays as it is; mas prints "
        "why, and the command with which the agent merges by itself.",
    .opts = opts,
    .operands_max = 2,
    .offer = OFFER_SESSION,
    .then = OFFER_TARGET,
    .flags = CMD_ROOT | CMD_TARGET | CMD_QUIET,
    .run = run_sync,
};
