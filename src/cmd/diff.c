/*
 * All text is made while the lock of code.git is held, and shown once it is given back, since a
 * pager may wait for a person. The agents are read beside each other, one by each thread, and what
 * is shown of them is put together in their order. That the changes were seen is remembered agent
 * by agent, and only if a person sees all of them: not for --stat, --json, or an agent that asks.
 */
#include "base/json.h"
#include "cli/code.h"
#include "cli/diff_print.h"
#include "cli/each_session.h"
#include "cli/print.h"
#include "code/comparison.h"
#include "fleet/carry.h"
#include "os/pager.h"
#include "os/thread.h"
#include "store/session.h"

/* Appends an object for one agent. `diff` is of COMPARE_RAW; `hunks` says whether the lines are
 * part of it. */
static int diff_put_json(const struct comparison *changes, const struct str *diff, bool hunks,
                         struct json_out *out, struct err *err)
{
    const struct work_state *state = &changes->state;

    json_open(out, NULL, '{');
    json_put_all(out, JT("id", changes->agent),
                 JT("branch", state->branch[0] != '\0' ? state->branch : NULL),
                 JT("from", changes->from), JI("ahead", state->ahead), JI("behind", state->behind),
                 JI("changedFiles", state->changed));
    int rc = diff_put_files(diff, hunks, out, err);
    json_close(out, '}');
    return rc;
}

/* ---- the verb */

static const struct opt opts[] = {
    {0, "stat", NULL, "only list the files and how many lines changed"},
    {0, "since-look", NULL, "only what changed since your last 'mas diff' of the agent"},
    {0, "base", NULL, "compare with the commit that the session began with"},
    {0, "integration", NULL, "compare with the integration branch"},
    {.name = NULL},
};

struct diff_job {
    const struct code_call *code;
    enum comparison_since since;
    bool stat;
    bool looks; /* a person sees all of it: remember that */
    bool titled;
    struct diff_part *parts; /* one for each agent of the roster, or for the integration branch */
    struct str text; /* what will be printed */
    struct json_out json;
};

/* What is said of one agent. */
struct diff_part {
    struct str text, json;
    char **faults;
    struct err err;
};

static int diff_one(const struct diff_job *job, const char *agent, struct diff_part *part,
                    struct err *err)
{
    const struct code_call *code = job->code;
    _cleanup_comparison_ struct comparison changes = COMPARE_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    bool json = code->call->json;
    enum comparison_form form = json ? COMPARE_RAW : job->stat ? COMPARE_STAT : COMPARE_PATCH;

    if (comparison_open(&code->repo, agent, job->since, &changes, err) == -1 ||
        comparison_diff(&changes, form, &text, err) == -1)
        return -1;
    const struct work_state *state = &changes.state;
    int rc = 0;
    for (char **fault = changes.faults; fault != NULL && *fault != NULL; fault++)
        strv_push(&part->faults, *fault);
    if (json) {
        rc = diff_put_json(&changes, &text, !job->stat, &(struct json_out){.to = &part->json}, err);
    } else {
        if (job->titled)
            str_addf(&part->text, "%s  %s  %zu ahead, %zu behind, %zu file%s not committed\n",
                     agent, state->branch[0] != '\0' ? state->branch : "(no branch)", state->ahead,
                     state->behind, state->changed, state->changed == 1 ? "" : "s");
        diff_add_text(&text, job->stat, &part->text);
    }
    return rc == 0 && job->looks ? comparison_look(&changes, err) : rc;
}

static void diff_number(size_t number, void *arg)
{
    const struct diff_job *job = arg;
    const struct roster *roster = &job->code->roster;
    const struct agent *agent = roster->count > 0 ? roster->agents[number].agent : NULL;
    struct diff_part *part = &job->parts[number];

    if (agent == NULL || agent->code == AGENT_CODE_WORKTREE)
        (void)diff_one(job, agent != NULL ? agent->id : COMPARE_MAIN, part, &part->err);
}

/* Moves what is said of one agent to the end of all that is said. */
static void take_part(struct diff_job *job, struct diff_part *part, int *rc, struct err *err)
{
    warn_each(part->faults);
    str_addn(&job->text, str_text(&part->text), part->text.len);
    if (part->json.len > 0 && part->err.code == MAS_OK)
        json_put_raw(&job->json, NULL, part->json.data);
    if (part->err.code != MAS_OK)
        each_session_fail(&part->err, rc, err);
    strv_free(part->faults);
    str_free(&part->text);
    str_free(&part->json);
}

static int diff_all(struct diff_job *job, struct err *err)
{
    size_t count = job->code->roster.count > 0 ? job->code->roster.count : 1;
    int rc = 0;

    job->parts = mem_alloc(count * sizeof *job->parts);
    thread_each(count, diff_number, job);
    for (size_t i = 0; i < count; i++)
        take_part(job, &job->parts[i], &rc, err);
    free(job->parts);
    return rc;
}

/* Removes the operand "main", which stands for the integration branch, from the end of the command
 * line. Alone, it is the name of a session. */
static bool pop_main(struct call *call)
{
    bool has_session = call->session != NULL || getenv("MAS_SESSION_ID") != NULL;
    int count = call->operand_count;

    if (count == 0 || strcmp(call->operands[count - 1], COMPARE_MAIN) != 0 ||
        (count == 1 && !has_session))
        return false;
    call->operand_count--;
    return true;
}

static int parse_since(const struct call *call, enum comparison_since *ret, struct err *err)
{
    bool base = call_opt(call, "base") != NULL;
    bool integration = call_opt(call, "integration") != NULL;
    bool look = call_opt(call, "since-look") != NULL;

    if (base + integration + look > 1)
        return err_set(err, MAS_USAGE,
                       "cannot use more than one of --base, --integration and "
                       "--since-look");
    *ret = base          ? COMPARE_BASE
           : integration ? COMPARE_INTEGRATION
           : look        ? COMPARE_LOOK
                         : COMPARE_BRANCHED;
    return 0;
}

/* Ends the list with what `mas land` would bring. */
static int add_landing(const struct code_call *code, struct diff_job *job, struct err *err)
{
    struct comparison_landing landing;
    const struct comparison_lines *lines = &landing.lines;

    if (comparison_landing(&code->repo, &landing, err) == -1)
        return -1;
    if (landing.commits > 0)
        err_add_commands(&job->text,
                         COMPARE_MAIN
                         ": %zu file%s, +%zu -%zu, not landed; see: mas diff %s " COMPARE_MAIN "\n",
                         lines->files, lines->files == 1 ? "" : "s", lines->added, lines->removed,
                         session_label(&code->call->root, code->roster.teams[0].id).text);
    return 0;
}

/* Asks what a person will be shown of work that will land here: what comes meanwhile counts as not
 * shown. */
static int ask_main(struct call *call, const struct carry *carry, const char *session,
                    bool *ret_done, struct err *err)
{
    _cleanup_carried_ struct carried_work work = CARRIED_WORK_INIT;
    int count = call->operand_count;

    *ret_done = false;
    if (count == 0 || strcmp(call->operands[count - 1], COMPARE_MAIN) != 0 || call->json ||
        call_opt(call, "stat") != NULL)
        return 0;
    if (carry_look(carry, session, &work, err) == -1)
        return -1;
    if (work.path != NULL) {
        strv_push(&call->texts, work.workspace);
        strv_push(&call->texts, work.main);
    }
    return 0;
}

/* It was shown. */
static int note_seen(struct call *call, struct err *err)
{
    size_t count = strv_len(call->texts);

    return count < 2 ? 0 : carry_note_seen(call->texts[count - 2], call->texts[count - 1], err);
}

static int run_diff(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_str_ struct str json = STR_INIT;
    struct diff_job job = {.code = &code, .text = STR_INIT, .json = {.to = &json}};
    bool is_main = pop_main(call);
    const char *agent = getenv("MAS_AGENT_ID");

    if (parse_since(call, &job.since, err) == -1 ||
        code_call_open(call, is_main ? TARGETS_NONE : TARGETS_OPTIONAL, false, &code, err) == -1)
        return -1;
    job.stat = call_opt(call, "stat") != NULL;
    job.looks = !job.stat && !call->json && (agent == NULL || agent[0] == '\0');
    job.titled = code.roster.count > 1;
    json_open(&job.json, NULL, '{');
    json_put(&job.json, "sessionId", code.roster.teams[0].id);
    json_open(&job.json, "agents", '[');
    int rc = diff_all(&job, err);
    if (rc == 0 && job.stat && !call->json && code.roster.count == code.team.agent_count)
        rc = add_landing(&code, &job, err);
    json_close(&job.json, ']');
    json_close(&job.json, '}');
    code_call_unlock(&code); /* a pager may wait for a person */
    if (call->json)
        print_line(&json);
    else
        (void)pager_show(&job.text);
    str_free(&job.text);
    return rc;
}

const struct cmd cmd_diff = {
    .name = "diff",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET]",
    .summary = "show what agents have changed in the project",
    .examples = "mas diff login --stat\n"
                "mas diff login 21\n"
                "mas diff login main",
    .details = "mas compares the files of each agent, also those that are not committed, with "
               "the commit at which the agent's branch left the integration branch. The TARGET "
               "'main' is the integration branch itself, compared with the commit that the "
               "session began with. On a terminal the output goes through $PAGER (less, if it is "
               "installed). --stat and --json do not count as a look for --since-look.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .from_here = ask_main,
    .back_here = note_seen,
    .run = run_diff,
};
