#include "code/commits.h"

#include "base/time.h"
#include "cli/code.h"
#include "cli/print.h"
#include "cli/table.h"

enum { NAME_SHOWN = 12 }; /* digits of a commit, as in other output */

struct commits_job {
    struct table table;
    struct json_out json;
};

static void add_row(struct table *table, const char *agent, const struct commit *commit, time_t now)
{
    _cleanup_free_ char *name = mem_dupn(commit->oid, NAME_SHOWN);
    char age[24];

    time_age(commit->at, now, age);
    table_add(table, agent, NULL);
    table_add(table, name, NULL);
    table_add(table, age, NULL);
    table_add(table, commit->author, NULL);
    table_add(table, commit->subject, commit->is_merge ? colour_dim() : NULL);
}

static void put_commits(const struct commits *commits, const char *agent, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "agent", agent);
    json_open(out, "commits", '[');
    for (size_t i = 0; i < commits->count; i++) {
        const struct commit *commit = &commits->list[i];
        char at[TIME_TEXT];
        time_format(commit->at, at);
        json_put_all(out, JO(NULL), JT("commit", commit->oid), JT("time", at),
                     JT("author", commit->author), JT("subject", commit->subject),
                     JB("merge", commit->is_merge), JOE);
    }
    json_close(out, ']');
    json_put_bool(out, "more", commits->more);
    json_close(out, '}');
}

static int add_agent(const struct code_call *code, const char *agent, void *arg, struct err *err)
{
    struct commits_job *job = arg;
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_commits_ struct commits commits = COMMITS_INIT;
    time_t now = time(NULL);

    if (stranger_open(&code->repo, agent, &stranger, err) == -1 ||
        commits_read(&stranger, &commits, err) == -1)
        return -1;
    if (code->call->json)
        put_commits(&commits, agent, &job->json);
    for (size_t i = 0; i < commits.count && !code->call->json; i++)
        add_row(&job->table, agent, &commits.list[i], now);
    if (commits.more && !code->call->json)
        err_warn("agent '%s' has more commits, which are not shown", agent);
    return 0;
}

static int run_commits(struct call *call, struct err *err)
{
    static const char *const headings[] = {"AGENT", "COMMIT", "AGE", "AUTHOR", "SUBJECT"};
    static const char *const spare[] = {"AUTHOR", "AGE", NULL};
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_str_ struct str json = STR_INIT;
    struct commits_job job = {.table = {.columns = ARRAY_LEN(headings), .spare = spare},
                              .json = {.to = &json}};

    if (code_call_open(call, TARGETS_OPTIONAL, false, &code, err) == -1)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(headings); i++)
        table_add(&job.table, headings[i], colour_dim());
    json_open(&job.json, NULL, '{');
    json_put(&job.json, "sessionId", code.roster.teams[0].id);
    json_open(&job.json, "agents", '[');
    int rc = code_call_each(&code, add_agent, &job, err);
    json_close(&job.json, ']');
    json_close(&job.json, '}');
    code_call_unlock(&code);
    if (call->json)
        print_line(&json);
    else if (job.table.count > job.table.columns)
        table_print(&job.table);
    else if (rc == 0)
        (void)fprintf(stderr, "nothing is committed that the integration branch lacks\n");
    table_free(&job.table);
    return rc;
}

const struct cmd cmd_commits = {
    .name = "commits",
    .group = GROUP_CODE,
    .operands = " [SESSION] [TARGET]",
    .summary = "list commits of agents that are not merged",
    .examples = "mas commits login\n"
                "mas commits login 21",
    .details = "mas lists what each agent has committed on its branch and the integration branch "
               "lacks, newest first. 'mas merge' brings all of it there, 'mas pick' some of it.",
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .run = run_commits,
};
