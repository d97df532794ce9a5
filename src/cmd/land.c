/*
 * Landing here, asking for a pull request, and landing what another machine made share their
 * options, their words and their errors. The lock of code.git is held to the end, or until a watch
 * has begun; a dry run takes none. The other machine is told last (bring_home()); if that fails,
 * the next `mas land` makes up for it.
 */

#include "code/land/land.h"
#include "cli/code.h"
#include "cli/errand/pr_watch.h"
#include "cli/person.h"
#include "cli/print.h"
#include "client/survey.h"
#include "code/land/carried.h"
#include "code/merge.h"
#include "fleet/carry.h"

static const struct opt opts[] = {
    {0, "onto", "BRANCH", "land on this branch instead of the one the session began with"},
    {0, "merge", NULL, "make a merge commit even if none is needed"},
    {0, "squash", NULL, "make one commit of all"},
    {0, "rebase", NULL, "put each commit onto the branch, without merges"},
    {0, "push", NULL, "then push the branch, as 'git push' does"},
    {0, "pr", NULL, "open a pull request instead of landing"},
    {0, "watch", NULL, "then give agents what its checks and reviews ask for"},
    {0, "rounds", "N", "at most so many times; 3 without it"},
    {0, "wait", NULL, "wait until it is green, merged or given up"},
    {0, "check", NULL, "run the check first, and land only if it succeeds"},
    {0, "dry-run", NULL, "say what would land, and change nothing"},
    {'m', "message", "TEXT", "the message of the commit"},
    {.name = NULL},
};

static int fail_conflict(const struct land_result *result, const char *session, struct err *err)
{
    _cleanup_str_ struct str files = STR_INIT;

    git_show_names(result->files, &files);
    conflict_show_others(result->others, &files);
    if (result->at[0] != '\0') {
        (void)err_set(err, MAS_CONFLICT, "cannot land session '%s': commit %.12s conflicts in %s",
                      session, result->at, files.data);
        return err_hint(err, "land with --merge or --squash");
    }
    (void)err_set(err, MAS_CONFLICT, "cannot land session '%s': it conflicts in %s", session,
                  files.data);
    return err_hint(err, "bring the branch to the agents with: mas sync --project %s", session);
}

/* Fails if options contradict each other. */
static int parse_way(const struct call *call, enum land_way *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum land_way way;
    } ways[] = {{"merge", LAND_MERGE}, {"squash", LAND_SQUASH}, {"rebase", LAND_REBASE}};
    static const char *const others[] = {"push", "check", "dry-run"};
    const char *given = NULL;

    *ret = LAND_AUTO;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (call_opt(call, ways[i].name) == NULL)
            continue;
        if (given != NULL)
            return err_set(err, MAS_USAGE, "cannot use --%s with --%s", given, ways[i].name);
        given = ways[i].name;
        *ret = ways[i].way;
    }
    for (size_t i = 0; call_opt(call, "dry-run") != NULL && i < ARRAY_LEN(others) - 1; i++)
        if (call_opt(call, others[i]) != NULL)
            return err_set(err, MAS_USAGE, "cannot use --dry-run with --%s", others[i]);
    static const char *const watching[] = {"rounds", "wait", "watch"};
    for (size_t i = 0; i < ARRAY_LEN(watching); i++)
        if (call_opt(call, watching[i]) != NULL && call_opt(call, i < 2 ? "watch" : "pr") == NULL)
            return err_set(err, MAS_USAGE, "cannot use --%s without --%s", watching[i],
                           i < 2 ? "watch" : "pr");
    if (call_opt(call, "pr") == NULL)
        return *ret == LAND_REBASE && call_opt(call, "message") != NULL
                   ? err_set(err, MAS_USAGE, "cannot use --rebase with --message")
                   : 0;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (call_opt(call, others[i]) != NULL)
            given = others[i];
    return given != NULL ? err_set(err, MAS_USAGE, "cannot use --pr with --%s", given) : 0;
}

/* Agents may have more, which is not merged. */
static void print_nothing(const struct team_project *of, const struct land_result *result)
{
    _cleanup_free_ char *onto = mem_name(result->onto + strlen("refs/heads/"));

    printf("nothing to land: %s has all of mas/%s/main\n", onto, of->label);
}

/* Says what would be done. */
static void print_dry(const struct team_project *of, const struct land_options *options,
                      const struct land_result *result)
{
    static const char *const ways[] = {[LAND_AUTO] = "by a merge",
                                       [LAND_MERGE] = "by a merge",
                                       [LAND_SQUASH] = "as one commit",
                                       [LAND_REBASE] = "one by one"};
    _cleanup_free_ char *onto = mem_name(result->onto + strlen("refs/heads/"));
    _cleanup_free_ char *project = mem_name(of->path);

    if (result->commits == 0)
        print_nothing(of, result);
    else
        printf("%zu commit%s would land on %s of %s: %s\n", result->commits,
               result->commits == 1 ? "" : "s", onto, project,
               result->forward ? "forward" : ways[options->way]);
}

/* Opens a pull request, or says how. */
static int ask(const struct pr_forge *forge, const struct repo *repo, const struct team_project *of,
               const struct land_options *options, struct land_asking *asking, struct err *err)
{
    _cleanup_str_ struct str page = STR_INIT;

    if (land_request(repo, of, options, forge, asking, err) == -1)
        return -1;
    if (asking->push != NULL) {
        err_warn("%s is not in PATH, so this is left to you: push the branch, then open the page",
                 forge->name);
        printf("%s\n", asking->push);
    }
    if (asking->page != NULL) {
        str_add_visible(&page, asking->page, strlen(asking->page));
        printf("%s\n", str_text(&page));
    }
    return 0;
}

/* Opens a pull request, and watches it. `lock` is that of code.git. */
static int ask_and_watch(struct call *call, const char *id, const struct team *team,
                         const struct repo *repo, const struct land_options *options, int *lock,
                         struct err *err)
{
    _cleanup_forge_ struct pr_forge forge = PR_FORGE_INIT;
    _cleanup_every_entry_ struct every_entry entry = {.number = 0};
    _cleanup_asking_ struct land_asking asking = {.push = NULL};
    const char *onto = land_base(&team->project, options->onto);
    _cleanup_free_ char *url = land_url(&team->project, options->onto);
    bool watch = call_opt(call, "watch") != NULL;

    if (pr_find_forge(&call->config, team->project.path, url, &forge, err) == -1)
        return -1;
    if (watch && forge.file == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot watch: %s is not in PATH", forge.name);
    if ((watch && pr_watch_plan(call, id, team, &entry, err) == -1) ||
        ask(&forge, repo, &team->project, options, &asking, err) == -1)
        return -1;
    if (!watch)
        return 0;
    if (pr_watch_begin(call, id, repo, &forge, asking.head, onto, &entry, err) == -1)
        return err_wrap(err, "cannot watch the pull request");
    fd_closep(lock);
    return call_opt(call, "wait") == NULL ? 0 : pr_watch_wait(call, id, entry.number, err);
}

/* Finds the check, which runs behind the wall of the first agent that writes. */
static int find_check(const struct call *call, const char *id, const struct team *team,
                      struct check *ret, struct walled_agent *of, struct err *err)
{
    const struct agent *agent = &team->agents[0];

    for (size_t i = 0; i < team->agent_count && agent->code != AGENT_CODE_WORKTREE; i++)
        agent = &team->agents[i];
    *ret = code_check_of(call, id, team, agent, of);
    if (ret->command[0] != '\0')
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot use --check: there is no check");
    return err_hint(err, "set one in mas.ini: [code] check = COMMAND");
}

static void print_landed(const struct call *call, const struct team_project *of,
                         const struct land_result *result)
{
    if (call->quiet)
        return;
    if (result->commits == 0) {
        print_nothing(of, result);
    } else {
        _cleanup_free_ char *onto = mem_name(result->onto + strlen("refs/heads/"));
        _cleanup_free_ char *project = mem_name(of->path);
        printf("%zu commit%s landed on %s of %s: %.12s\n", result->commits,
               result->commits == 1 ? "" : "s", onto, project, result->oid);
        if (result->lags)
            printf("submodules are at other commits; get their files with: "
                   "git -C %s submodule update\n",
                   project);
    }
    (void)fflush(stdout); /* before git prints */
}

/* A dry run has something to remove also if it is stopped. */
static int land_dry(const struct repo *repo, const struct team_project *project,
                    const struct land_options *options, struct land_result *result, struct err *err)
{
    struct life ticking = {.root = NULL};

    progress_begin(&ticking, "landing", true);
    int rc = land(repo, project, options, result, err);
    progress_end();
    return rc;
}

/* Tells what has landed, or would, and pushes it. */
static int finish(const struct call *call, const struct team_project *of,
                  const struct land_options *options, const struct land_result *result,
                  const char *session, struct err *err)
{
    if (result->files != NULL)
        return fail_conflict(result, session, err);
    if (options->dry_run)
        print_dry(of, options, result);
    else
        print_landed(call, of, result);
    if (call_opt(call, "push") == NULL)
        return 0;
    if (land_push(of, result->onto, err) == -1) {
        _cleanup_free_ char *project = mem_name(of->path);
        (void)err_hint(err, "the branch has landed; push it with: git -C %s push", project);
        return -1;
    }
    return 0;
}

/* What lands here would not be at home. */
static int check_home(const struct call *call, const struct team *team, const char *id,
                      struct err *err)
{
    _cleanup_free_ char *name = carried_name(&call->root, team->project.path);

    if (name == NULL)
        return 0;
    _cleanup_free_ char *place = carried_place(team->project.path);
    const struct session_label label = session_label(&call->root, id);
    (void)err_set(err, MAS_CONFLICT,
                  "cannot land session '%s': its project is on another machine, %s", label.text,
                  place);
    return err_hint(err, "land it from there, where this machine is a host");
}

static int read_options(const struct call *call, struct land_options *ret, struct err *err)
{
    *ret = (struct land_options){
        .onto = call_opt(call, "onto"),
        .message = call_opt(call, "message"),
        .dry_run = call_opt(call, "dry-run") != NULL,
    };
    return parse_way(call, &ret->way, err) == -1 ? -1 : person_check("land", err);
}

static int run_land(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_land_ struct land_result result = LAND_RESULT_INIT;
    _cleanup_close_ int lock = -1;
    struct land_options options;
    struct walled_agent of;
    struct check check;
    char id[ID_TEXT];

    if (read_options(call, &options, err) == -1 ||
        call_select(call, call->session, id, err) == -1 ||
        repo_load(&call->root, id, &team, &repo, err) == -1 ||
        check_home(call, &team, id, err) == -1 ||
        (call_opt(call, "check") != NULL && find_check(call, id, &team, &check, &of, err) == -1) ||
        (!options.dry_run && merge_lock(&repo, "land", &lock, err) == -1))
        return -1;
    if (call_opt(call, "check") != NULL)
        options.check = &check;
    if (call_opt(call, "pr") != NULL)
        return ask_and_watch(call, id, &team, &repo, &options, &lock, err);
    if ((options.dry_run ? land_dry : land)(&repo, &team.project, &options, &result, err) == -1)
        return -1;
    if (result.check.why != NULL)
        return code_fail_check(&repo, &team, &result.check, "land", err);
    if (!options.dry_run)
        code_record_land(call, &repo, &result);
    return finish(call, &team.project, &options, &result, session_label(&call->root, id).text, err);
}

/* ---- the work of another machine */

/* Tells the other machine what has landed, or brings it what its team conflicts with. It can be
 * told later, too. */
static void tell_there(const struct carry *carry, const struct carried_work *work,
                       const struct repo *repo, const struct land_result *result)
{
    struct err why = ERR_INIT;

    if (result->files != NULL) {
        if (carry_branch(carry, work, result->onto, &why) == -1)
            err_warn("host '%s' does not have that branch as it is here: %s", carry->remote->name,
                     why.text);
    } else if (carry_confirm(carry, work, repo, result->onto, &why) == -1) {
        err_warn("it has landed, but host '%s' does not know: %s", carry->remote->name, why.text);
        err_warn("until then 'mas rm' refuses there; tell it with: mas land %s:%s",
                 carry->remote->name, work->project.label);
    }
}

static int check_branch(const struct carry *carry, const struct carried_work *work,
                        const struct land_options *options, struct err *err)
{
    const char *onto = work->project.onto;

    if (options->onto != NULL || onto[0] == '\0' || carry_took(carry, work))
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot land session '%s:%s': host '%s' says that it began at branch '%s', which "
                  "never went there",
                  carry->remote->name, work->project.label, carry->remote->name,
                  onto + strlen("refs/heads/"));
    return err_hint(err, "name the branch with --onto BRANCH");
}

/* The machine does not answer: at least no work tree here is to lag behind its branch. */
static void finish_here(const struct call *call, const struct carry *carry, const char *session)
{
    struct err why = ERR_INIT;
    bool done = false;

    if (call_opt(call, "dry-run") != NULL || person_check("land", &why) == -1)
        return;
    if (carry_finish(carry, session, &done, &why) == -1)
        err_warn("the landing that was killed cannot be finished: %s", why.text);
    else if (done)
        err_warn("the landing that was killed is finished here; host '%s' does not know",
                 carry->remote->name);
}

/* Lands here what a session on another machine made of a project that is here. */
static int bring_home(struct call *call, const struct carry *carry, const char *session,
                      bool *ret_done, struct err *err)
{
    _cleanup_carried_ struct carried_work work = CARRIED_WORK_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    static const char *const theirs[][2] = {{"check", "the check"}, {"watch", "the team"}};
    _cleanup_land_ struct land_result result = LAND_RESULT_INIT;
    _cleanup_forge_ struct pr_forge forge = PR_FORGE_INIT;
    _cleanup_asking_ struct land_asking asking = {.push = NULL};
    _cleanup_close_ int lock = -1;
    struct land_options options;

    *ret_done = false;
    if (carry_look(carry, session, &work, err) == -1) {
        if (err->code == MAS_UNREACHED)
            finish_here(call, carry, session);
        return -1;
    }
    if (work.path == NULL)
        return 0;
    *ret_done = true;
    for (size_t i = 0; i < ARRAY_LEN(theirs); i++)
        if (call_opt(call, theirs[i][0]) != NULL)
            return err_set(err, MAS_USAGE,
                           "cannot use --%s: %s of session '%s:%s' is on its machine", theirs[i][0],
                           theirs[i][1], carry->remote->name, session);
    if (read_options(call, &options, err) == -1 ||
        check_branch(carry, &work, &options, err) == -1 ||
        carry_fetch(carry, &work, &repo, &lock, err) == -1)
        return -1;
    if (call_opt(call, "pr") != NULL) {
        _cleanup_free_ char *url = land_url(&work.project, options.onto);
        return pr_find_forge(&call->config, work.project.path, url, &forge, err) == -1
                   ? -1
                   : ask(&forge, &repo, &work.project, &options, &asking, err);
    }
    if ((options.dry_run ? land_dry : land)(&repo, &work.project, &options, &result, err) == -1)
        return -1;
    if (!options.dry_run)
        tell_there(carry, &work, &repo, &result);
    _cleanup_free_ char *label = mem_printf("%s:%s", carry->remote->name, session);
    return finish(call, &work.project, &options, &result, label, err);
}

const struct cmd cmd_land = {
    .name = "land",
    .group = GROUP_CODE,
    .operands = " [SESSION]",
    .summary = "bring the integration branch into the project",
    .examples = "mas land login\n"
                "mas land login --squash -m 'Reset passwords by mail'",
    .details =
        "mas brings the integration branch into the project's branch: forward if that is possible, "
        "otherwise by a merge. If the branch is checked out, its work tree follows; changes that "
        "this would overwrite are named, and nothing is landed. -m makes a commit even if the "
        "branch could go forward. --rebase drops merges and commits that the branch has already. "
        "--push uses your own git configuration and never forces; if it fails, the branch has "
        "landed all the same. --pr lands nothing: it pushes the team's branch to the remote as "
        "mas/LABEL and opens a pull request for BRANCH; without gh or glab it prints the command "
        "and the page for that. --watch goes on with it: what its checks and reviews ask for goes, "
        "as data, to the agent whose commits it is about, and what that commits is pushed. --check "
        "runs the check of merges on the commit that would land.",
    .opts = opts,
    .operands_max = 0,
    .root = ROOT_NEEDED,
    .on = ON_SESSION,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | WAITS_LONG,
    .from_here = bring_home,
    .run = run_land,
};
