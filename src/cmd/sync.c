#include "code/sync.h"
#include "cli/code.h"
#include "code/merge.h"
#include "code/upkeep.h"
#include "fleet/carry.h"

static const struct opt opts[] = {
    {0, "project", NULL, "first merge what is new in the project's branch"},
    {.name = NULL},
};

static int sync_from_project(const struct code_call *code, struct err *err)
{
    const struct team_project *project = &code->team.project;
    _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
    _cleanup_str_ struct str files = STR_INIT;

    if (sync_project(&code->repo, project, &result, err) == -1)
        return -1;
    code_record_merge(code->call, &code->repo, NULL, &result);
    if (result.view.code != MAS_OK)
        err_warn("%s", result.view.text);
    if (result.outcome == MERGE_CONFLICT) {
        git_show_names(result.files, &files);
        conflict_show_others(result.others, &files);
        (void)err_set(err, MAS_CONFLICT, "cannot merge project '%s': it conflicts in %s",
                      project->path, files.data);
        _cleanup_free_ char *path = mem_name(project->path);
        _cleanup_free_ char *branch = mem_name(project->onto[0] != '\0' ? project->onto : "HEAD");
        return err_hint(err, "let an agent merge it: git fetch %s %s && git merge FETCH_HEAD", path,
                        branch);
    }
    if (!code->call->quiet)
        printf("project: %zu new commit%s\n", result.commits, result.commits == 1 ? "" : "s");
    return 0;
}

static int sync_one(const struct code_call *code, const char *agent, void *arg, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    enum sync_outcome outcome;
    const char *why = NULL;

    (void)arg;
    if (sync_agent(&code->repo, agent, &outcome, &why, err) == -1)
        return -1;
    if (outcome == SYNC_MOVED)
        code_record_sync(code->call, &code->repo, agent);
    if (outcome == SYNC_BEHIND) {
        str_addf(&text,
                 "The team's branch, %s, has new commits that mas does not put into your work "
                 "tree: %s. When it suits you, run there: git fetch team && git merge team/main",
                 code->repo.main + strlen("refs/heads/"), why);
        code_tell(code, agent, &text);
    }
    if (code->call->quiet)
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
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;

    if (code_call_open(call, TARGETS_ALL, true, &code, err) == -1 ||
        (call_opt(call, "project") != NULL && sync_from_project(&code, err) == -1))
        return -1;
    int rc = code_call_each(&code, sync_one, NULL, err);
    upkeep(&code.repo, &code.team);
    code_call_unlock(&code);
    code_record_end(call, &code.repo);
    return rc;
}

/* What is new in a project of this machine goes there first. */
static int bring_branch(struct call *call, const struct carry *carry, const char *session,
                        bool *ret_done, struct err *err)
{
    _cleanup_carried_ struct carried_work work = CARRIED_WORK_INIT;

    *ret_done = false;
    if (call_opt(call, "project") == NULL)
        return 0;
    if (carry_look(carry, session, &work, err) == -1)
        return -1;
    if (work.path == NULL || work.project.onto[0] == '\0')
        return 0;
    return carry_branch(carry, &work, work.project.onto, err) == -1
               ? err_wrap(err, "cannot take project '%s' to host '%s'", work.path,
                          carry->remote->name)
               : 0;
}

const struct cmd cmd_sync = {
    .name = "sync",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET...]",
    .summary = "bring the integration branch to agents",
    .examples = "mas sync login\n"
                "mas sync login 21 22 --project",
    .details = "mas moves the branch and the work tree of each agent forward to the integration "
               "branch. An agent that has work of its own stays as it is and is told to merge. "
               "Inside a team's pane, omit SESSION; an agent that names nobody means itself. "
               "[code] check does not run: it is for the work of agents.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | WAITS_LONG,
    .from_here = bring_branch,
    .run = run_sync,
};
