/*
 * `mas add` and `mas remove`; the steps are in session/grow.h. Whoever adds is a person, or an
 * agent by way of its host, and then grow_add() asks what the template lets it do; any other
 * process of an agent is refused. `remove` goes on with the next agent after a failure, but refuses
 * all of them at once.
 */

#include "cli/brokered.h"
#include "cli/each_session.h"
#include "cli/person.h"
#include "cli/print.h"
#include "cli/targets.h"
#include "session/grow.h"

static const struct opt add_opts[] = {
    {0, "agent", "PRESET", "how the agent runs"},
    {0, "as", "NAME", "its id (default: the name of the preset)"},
    {0, "unit", "UNIT", "its unit; needed if the team has several"},
    {0, "role", "TEXT", "its role, in a few words"},
    {0, "model", "MODEL", "its model"},
    {.name = NULL},
};

static const struct opt remove_opts[] = {
    {'f', "force", NULL, "also at work; keep first what would be lost"},
    {.name = NULL},
};

static void print_grown(const struct call *call, const char *id, const struct grown *grown)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (call->json) {
        json_put_all(&out, JO(NULL), JT("sessionId", id), JT("agent", grown->agent),
                     JT("branch", grown->branch), JB("runs", grown->runs), JOE);
        print_line(&text);
    } else if (call->quiet) {
        puts(grown->agent);
    } else {
        printf("%s added%s%s%s\n", grown->agent, grown->branch != NULL ? ", on branch " : "",
               grown->branch != NULL ? grown->branch : "",
               grown->runs ? "" : "; it starts with the session");
    }
}

static int run_add(struct call *call, struct err *err)
{
    _cleanup_strv_ char **notes = NULL;
    struct life life = {.root = &call->root, .config = &call->config, .notes = &notes};
    struct grow_wish wish = {.preset = call_opt(call, "agent"),
                             .as = call_opt(call, "as"),
                             .unit = call_opt(call, "unit"),
                             .role = call_opt(call, "role"),
                             .model = call_opt(call, "model")};
    struct grown grown = {.branch = NULL};
    char id[ID_TEXT];

    if (wish.preset == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run 'add': it needs --agent PRESET");
        return call_usage(call, err);
    }
    if (brokered_is_agent())
        wish.by = getenv("MAS_AGENT_ID");
    else if (person_check_root(call->root.path, "add an agent", err) == -1)
        return -1;
    if (call_select(call, call->session, id, err) == -1)
        return -1;
    progress_begin(&life, "copying", call->quiet);
    int rc = grow_add(&life, id, &wish, &grown, err);
    progress_end();
    warn_each(notes);
    if (rc == 0)
        print_grown(call, id, &grown);
    free(grown.branch);
    return rc;
}

static void print_shrunk(const struct call *call, const char *agent, const struct shrunk *shrunk)
{
    if (call->quiet)
        return;
    printf("%s removed", agent);
    if (shrunk->waiting > 0)
        printf(", with %lld message%s that waited for it", (long long)shrunk->waiting,
               shrunk->waiting == 1 ? "" : "s");
    printf("\n");
    if (shrunk->kept == NULL)
        return;
    _cleanup_str_ struct str line = STR_INIT;
    err_add_commands(&line,
                     "its work is kept; bring it back with: mas restore --new-id --name NAME %s",
                     shrunk->kept);
    print_line(&line);
}

static int remove_one(const struct call *call, const char *id, const char *agent, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};
    struct shrunk shrunk = {.kept = NULL};
    int rc = grow_remove(&life, id, agent, call_opt(call, "force") != NULL, &shrunk, err);

    if (rc == 0)
        print_shrunk(call, agent, &shrunk);
    if (rc == 0 && shrunk.untold.code != MAS_OK)
        err_warn("the project did not get the commits of '%s': %s", agent, shrunk.untold.text);
    if (rc == -1 && shrunk.kept != NULL)
        err_warn("the work of '%s' was kept in '%s'", agent, shrunk.kept);
    free(shrunk.kept);
    return rc;
}

static int run_remove(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    int rc = 0;

    if (targets_parse(call, TARGETS_MANY, &roster, err) == -1)
        return -1;
    if (roster.count > 1 && roster.count == roster.teams[0].team.agent_count) {
        (void)err_set(err, MAS_USAGE, "cannot remove all agents of session '%s'",
                      roster_label(&roster.teams[0]).text);
        return err_hint(err, "remove the session with: mas rm %s",
                        roster_label(&roster.teams[0]).text);
    }
    for (size_t i = 0; i < roster.count; i++) {
        struct err why = ERR_INIT;
        if (remove_one(call, roster.teams[0].id, roster.agents[i].agent->id, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    return rc;
}

const struct cmd cmd_add = {
    .name = "add",
    .group = GROUP_TEAMS,
    .operands = " [SESSION]",
    .summary = "add an agent to a team",
    .examples = "mas add shop --agent codex --as rev\n"
                "mas add shop --agent claude --unit development --role 'security reviewer'",
    .details = "The agent is a worker of its unit, with a directory, a branch and rules like the "
               "others there. If the session runs, it starts at once, in a pane beside them. A "
               "manager may add agents itself as far as the template of the team says so (grow).",
    .opts = add_opts,
    .operands_max = 0,
    .root = ROOT_NEEDED,
    .on = ON_SESSION,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | CHANGES_SESSIONS,
    .run = run_add,
};

const struct cmd cmd_remove = {
    .name = "remove",
    .group = GROUP_TEAMS,
    .operands = " [SESSION] TARGET...",
    .summary = "remove agents from a team, with their files",
    .examples = "mas remove shop rev\n"
                "mas remove -f shop rev",
    .details = "mas refuses to remove an agent that is at work, or whose work would be lost. With "
               "-f, it ends the agent, and first keeps such work: as an archive in lost/, and as "
               "refs/mas/lost in the project. What was said with the agent stays in the history.",
    .opts = remove_opts,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | CHANGES_SESSIONS | WAITS_LONG,
    .run = run_remove,
};
