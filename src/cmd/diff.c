#include "cmd/each_session.h"
#include "cmd/targets.h"
#include "code/merge.h"
#include "code/work.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
    {0, "stat", NULL, "only list the files and how many lines changed", OFFER_NONE},
    {0, "base", NULL, "compare with the commit that the session began with", OFFER_NONE},
    {0, "integration", NULL, "compare with the integration branch", OFFER_NONE},
    {.name = NULL},
};

struct diff_job {
    const struct repo *repo;
    bool stat;
    const char *against; /* a ref; NULL: where the agent's branch left the integration branch */
    bool titled;
};

/* Prints git's output; other bytes than those of text are made visible. */
static void print_diff(const struct str *text)
{
    _cleanup_str_ struct str line = STR_INIT;

    for (size_t i = 0; i < text->len;) {
        size_t len = strcspn(text->data + i, "\n");
        str_clear(&line);
        str_add_visible(&line, text->data + i, len);
        printf("%s\n", str_text(&line));
        i += len + 1;
    }
}

static int diff_one(const struct diff_job *job, const char *agent, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;
    _cleanup_free_ char *from = NULL;
    struct proc_result result = PROC_RESULT_INIT;
    struct work_state state;

    if (stranger_open(job->repo, agent, &stranger, err) == -1 ||
        work_snapshot(&stranger, &tree, err) == -1 ||
        work_state(&stranger, &tree, &state, err) == -1)
        return -1;
    struct git git = stranger_git(&stranger, tree.index);
    git.write = tree.scratch;
    if (job->against != NULL)
        from = mem_dup(job->against);
    else if (git_text(&git, GIT_ARGS("merge-base", job->repo->main, stranger.head), &from, err) ==
             -1)
        return err_wrap(err, "cannot compare the branch of agent '%s'", agent);
    if (git_must(&git,
                 GIT_ARGS("diff", "--no-ext-diff", "--no-textconv", "--no-color",
                          job->stat ? "--stat=80" : "--patch", from, tree.oid),
                 NULL, &result, err) == -1)
        return -1;
    if (job->titled)
        printf("%s  %s  %zu ahead, %zu behind, %zu file%s not committed\n", agent,
               state.branch[0] != '\0' ? state.branch : "(no branch)", state.ahead, state.behind,
               state.changed, state.changed == 1 ? "" : "s");
    print_diff(&result.out);
    proc_result_free(&result);
    return 0;
}

static int run_diff(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_close_ int lock = -1;
    bool base = call_opt(call, "base") != NULL;
    bool integration = call_opt(call, "integration") != NULL;
    int rc = 0;

    if (base && integration)
        return err_set(err, MAS_USAGE, "cannot use --base with --integration");
    if (targets_parse(call, TARGETS_OPTIONAL, &roster, err) == -1 ||
        repo_load(&call->root, roster.teams[0].id, &team, &repo, err) == -1 ||
        merge_lock(&repo, "diff", &lock, err) == -1)
        return -1;
    const struct diff_job job = {.repo = &repo,
                                 .stat = call_opt(call, "stat") != NULL,
                                 .against = base          ? CODE_REF_BASE
                                            : integration ? repo.main
                                                          : NULL,
                                 .titled = roster.count > 1};
    for (size_t i = 0; i < roster.count; i++) {
        struct err why = ERR_INIT;
        const struct agent *agent = roster.agents[i].agent;
        if (agent->code == AGENT_CODE_WORKTREE && diff_one(&job, agent->id, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    return rc;
}

const struct cmd cmd_diff = {
    .name = "diff",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET]",
    .summary = "show what agents have changed in the project",
    .examples = "mas diff login --stat\n"
                "mas diff login 21\n"
                "mas diff login 21,22 --base",
    .details =
        "mas compares the files of each agent, also those that are not committed or new, with "
        "the commit at which the agent's branch left the integration branch. Agents without "
        "a repository of their own are left out. Unlike git in an agent's repository, this "
        "runs nothing that the agent has configured.",
    .opts = opts,
    .operands_max = 2,
    .offer = OFFER_SESSION,
    .then = OFFER_TARGET,
    .flags = CMD_ROOT | CMD_TARGET,
    .run = run_diff,
};
