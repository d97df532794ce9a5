/*
 * `mas merge` and `mas pick`: one lock of code.git for all agents that are named, then one agent
 * after the other, with a check of its own. A conflict or a check that fails concerns that agent
 * alone, and it is told if its merge conflicts. Upkeep comes last under the lock.
 */

#include "code/merge.h"
#include "cli/code.h"
#include "client/look.h"
#include "code/upkeep.h"
#include "code/work.h"

static const char *branch_of(const struct code_call *code)
{
    return code->repo.main + strlen("refs/heads/");
}

/* A merge brings commits only; who has made none is not one that has done nothing. */
static void warn_uncommitted(const struct code_call *code, const char *agent)
{
    struct code_figures now = {.looked_ms = 0};

    work_look(&code->repo, agent, &now);
    if (now.changed > 0)
        err_warn("agent '%s' has %d file%s that %s not committed", agent, now.changed,
                 now.changed == 1 ? "" : "s", now.changed == 1 ? "is" : "are");
}

static void print_result(const struct code_call *code, const char *agent,
                         const struct merge_result *result)
{
    if (code->call->quiet)
        return;
    if (result->outcome == MERGE_NOTHING) {
        printf("%s: nothing to %s\n", agent, code->call->cmd->name);
        if (code->call->cmd == &cmd_merge)
            warn_uncommitted(code, agent);
    } else
        printf("%s: %zu commit%s %s into %s\n", agent, result->commits,
               result->commits == 1 ? "" : "s", code->call->cmd == &cmd_pick ? "picked" : "merged",
               branch_of(code));
}

static int fail_conflict(const struct code_call *code, const char *agent,
                         const struct merge_result *result, struct err *err)
{
    _cleanup_str_ struct str files = STR_INIT;
    _cleanup_str_ struct str others = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;

    git_show_names(result->files, &files);
    conflict_show_others(result->others, &others);
    str_addf(&text,
             "Your branch was not merged: it conflicts with the team's, %s, in: %s%s. Run in your "
             "work tree: git fetch team && git merge team/main. Resolve the conflicts, commit, "
             "and run: mas merge %s",
             branch_of(code), files.data, str_text(&others), agent);
    code_tell(code, agent, &text);
    look_conflict(&code->call->root, code->roster.teams[0].id, agent, str_text(&files));
    (void)err_set(err, MAS_CONFLICT, "cannot merge agent '%s': it conflicts in %s%s", agent,
                  files.data, str_text(&others));
    return err_hint(err, "in its work tree: git fetch team && git merge team/main");
}

static int fail_check(const struct code_call *code, const char *agent,
                      const struct check_result *check, struct err *err)
{
    _cleanup_free_ char *what = mem_printf("%s agent '%s'", code->call->cmd->name, agent);

    return code_fail_check(&code->repo, &code->team, check, what, err);
}

static int fail_pick(const char *agent, const struct merge_result *result, struct err *err)
{
    _cleanup_str_ struct str files = STR_INIT;
    _cleanup_str_ struct str others = STR_INIT;

    git_show_names(result->files, &files);
    conflict_show_others(result->others, &others);
    (void)err_set(err, MAS_CONFLICT,
                  "cannot pick commit '%.12s' of agent '%s': it conflicts in %s%s", result->oid,
                  agent, files.data, str_text(&others));
    return err_hint(err, "pick what it builds on, too, or merge the branch: mas merge SESSION %s",
                    agent);
}

static int merge_one(const struct code_call *code, const char *agent, void *arg, struct err *err)
{
    char *const *commits = arg; /* to pick; NULL: all */
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
    struct walled_agent of;
    const struct check check = code_check(code, agent, &of);

    if ((commits != NULL ? merge_picked(&code->repo, agent, commits, &check, &result, err)
                         : merge_agent(&code->repo, agent, &check, &result, err)) == -1)
        return -1;
    code_record_merge(code->call, &code->repo, agent, &result);
    if (result.view.code != MAS_OK)
        err_warn("%s", result.view.text);
    if (result.outcome == MERGE_CONFLICT)
        return commits != NULL ? fail_pick(agent, &result, err)
                               : fail_conflict(code, agent, &result, err);
    if (result.outcome == MERGE_REFUSED)
        return fail_check(code, agent, &result.check, err);
    print_result(code, agent, &result);
    return 0;
}

static int run(struct call *call, enum targets_form form, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    char **commits = NULL;

    if (code_call_open(call, form, true, &code, err) == -1)
        return -1;
    if (form == TARGETS_AGENT_TEXT) {
        commits = call->operands;
        if (call->operand_count == 0) {
            (void)err_set(err, MAS_USAGE, "cannot run 'pick': it needs a COMMIT");
            return err_hint(err, "see them with: mas commits");
        }
    }
    int rc = code_call_each(&code, merge_one, commits, err);
    upkeep(&code.repo, &code.team);
    code_call_unlock(&code);
    code_record_end(call, &code.repo);
    return rc;
}

static int run_merge(struct call *call, struct err *err)
{
    return run(call, TARGETS_AGENTS, err);
}

static int run_pick(struct call *call, struct err *err)
{
    return run(call, TARGETS_AGENT_TEXT, err);
}

const struct cmd cmd_pick = {
    .name = "pick",
    .group = GROUP_CODE,
    .operands = " [SESSION] AGENT COMMIT...",
    .summary = "bring single commits of an agent into the integration branch",
    .examples = "mas pick login 21 3f2c1e\n"
                "mas pick login 21 3f2c1e 90ab12",
    .details = "mas puts the commits, by the first digits of their names, onto the integration "
               "branch, the oldest first, with their authors and messages. If [code] check is set, "
               "that command has to succeed on the new commit first. A conflict changes nothing. "
               "The branch of the agent stays as it is, and can be merged later. "
               "'mas commits' lists what there is.",
    .operands_min = 1,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_pick,
};

const struct cmd cmd_merge = {
    .name = "merge",
    .group = GROUP_CODE,
    .operands = " [SESSION] AGENT...",
    .summary = "merge agents' branches into the integration branch",
    .examples = "mas merge login 21 22\n"
                "mas merge login workers",
    .details = "mas fetches the commits of each agent and merges them into the integration "
               "branch, without a work tree. If [code] check is set, that command has to succeed "
               "on the new commit first. A conflict changes nothing: mas names the files, sends "
               "them to the agent, and exits with code 4. Inside a team's pane, omit SESSION; an "
               "agent that names nobody merges its own branch.",
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_merge,
};
