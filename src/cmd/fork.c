#include "cli/print.h"
#include "cli/targets.h"
#include "session/grow.h"

static const struct opt opts[] = {
    {0, "as", "NAME", "the id of the new agent (default: that of the other one, with a number)"},
    {.name = NULL},
};

/* What each continuity says to a person. */
static const struct {
    const char *name, *says;
} continuities[] = {
    {"copied", "it goes on with a copy of the conversation"},
    {"injected", "its first prompt tells it what was said"},
    {"fresh", "nothing was said that it could be told"},
};

static void print(const struct call *call, const char *id, const struct grown *grown)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    size_t i = 0;

    while (strcmp(continuities[i].name, grown->continuity) != 0)
        i++;
    if (call->json) {
        json_put_all(&out, JO(NULL), JT("sessionId", id), JT("agent", grown->agent),
                     JT("branch", grown->branch), JB("runs", grown->runs),
                     JT("continuity", grown->continuity), JOE);
        print_line(&text);
    } else if (call->quiet) {
        puts(grown->agent);
    } else {
        printf("%s added%s%s; %s\n", grown->agent, grown->branch != NULL ? ", on branch " : "",
               grown->branch != NULL ? grown->branch : "", continuities[i].says);
    }
}

static int run_fork(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_strv_ char **notes = NULL;
    struct life life = {.root = &call->root, .config = &call->config, .notes = &notes};
    struct grown grown = {.branch = NULL};

    if (targets_parse(call, TARGETS_AGENT, &roster, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const char *id = roster.teams[0].id;
    const struct grow_wish wish = {.fork = roster.agents[0].agent->id, .as = call_opt(call, "as")};
    progress_begin(&life, "copying", call->quiet);
    int rc = grow_add(&life, id, &wish, &grown, err);
    progress_end();
    warn_each(notes);
    if (rc == 0)
        print(call, id, &grown);
    free(grown.branch);
    return rc;
}

const struct cmd cmd_fork = {
    .name = "fork",
    .group = GROUP_TEAMS,
    .operands = " [SESSION] AGENT",
    .summary = "add an agent that goes on from where another one is",
    .examples = "mas fork shop lead --as second",
    .details = "The new agent is like the other one, in its unit. It begins with the same commit "
               "on a branch of its own, with its files, and with what was said so far, of which it "
               "is told with its first prompt. The other one goes on, and notices nothing.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | CHANGES_SESSIONS,
    .run = run_fork,
};
