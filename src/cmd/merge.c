#include "code/merge.h"
#include "cmd/code_record.h"
#include "cmd/each_session.h"
#include "cmd/targets.h"

#include <stdio.h>
#include <string.h>

static void print_result(const struct call *call, const struct repo *repo, const char *agent,
                         const struct merge_result *result)
{
    if (call->quiet)
        return;
    if (result->outcome == MERGE_NOTHING)
        printf("%s: nothing to merge\n", agent);
    else
        printf("%s: %zu commit%s merged into %s\n", agent, result->commits,
               result->commits == 1 ? "" : "s", repo->main + strlen("refs/heads/"));
}

static int fail_conflict(const struct repo *repo, const char *agent,
                         const struct merge_result *result, struct err *err)
{
    _cleanup_str_ struct str files = STR_INIT;

    for (char **file = result->files; file != NULL && *file != NULL; file++) {
        str_add(&files, files.len > 0 ? ", " : "");
        str_add(&files, *file);
    }
    (void)err_set(err, MAS_CONFLICT, "cannot merge agent '%s': it conflicts in %s", agent,
                  str_text(&files));
    return err_hint(err, "in its work tree: git fetch team && git merge team/main  (%s)",
                    repo->main + strlen("refs/heads/"));
}

static int merge_one(const struct call *call, const struct repo *repo, const char *agent,
                     struct err *err)
{
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;

    if (merge_agent(repo, agent, &result, err) == -1)
        return -1;
    code_record_merge(call, repo, agent, &result);
    if (result.view.code != MAS_OK)
        err_warn("%s", result.view.text);
    if (result.outcome == MERGE_CONFLICT)
        return fail_conflict(repo, agent, &result, err);
    print_result(call, repo, agent, &result);
    return 0;
}

static int run_merge(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;
    int rc = 0;

    if (targets_parse(call, TARGETS_AGENTS, &roster, err) == -1 ||
        repo_load(&call->root, roster.teams[0].id, &team, &repo, err) == -1 ||
        merge_lock(&repo, "merge", &lock, err) == -1)
        return -1;
    for (size_t i = 0; i < roster.count; i++) {
        struct err why = ERR_INIT;
        const struct agent *agent = roster.agents[i].agent;
        if (agent->code != AGENT_CODE_WORKTREE)
            continue;
        if (merge_one(call, &repo, agent->id, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    fd_closep(&lock);
    code_record_end(call, &repo);
    return rc;
}

const struct cmd cmd_merge = {
    .name = "merge",
    .group = GROUP_CODE,
    .operands = " [SESSION] AGENT...",
    .summary = "merge agents' branches into the integration branch",
    .examples = "mas merge login 21 22\n"
                "mas merge login workers",
    .details =
        "mas fetches the commits of each agent and merges them into the integration branch, "
        "which all agents can get with sync. What is not committed is not merged. A conflict "
        "changes nothing: mas names the files, goes on with the next agent, and exits with "
        "code 4.",
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_TARGET,
    .rest = OFFER_TARGET,
    .flags = CMD_ROOT | CMD_TARGET | CMD_QUIET,
    .run = run_merge,
};
