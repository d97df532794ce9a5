#include "cli/targets.h"
#include "cmd.h"
#include "editor/editor.h"
#include "store/session.h"

static const struct opt opts[] = {
    {0, "from", "AGENT", "the agent that sends the prompts; known in a team's pane"},
    {.name = NULL},
};

/* Returns the only agent, or the meta manager if no agent was named. NULL: neither. */
static const struct agent *choose(const struct roster *roster)
{
    const struct team *team = &roster->teams[0].team;

    if (roster->count == 1)
        return roster->agents[0].agent;
    for (size_t i = 0; roster->count == team->agent_count && i < roster->count; i++)
        if (roster->agents[i].agent->rank == RANK_META)
            return roster->agents[i].agent;
    return NULL;
}

static int find_cwd(const struct call *call, const struct roster_team *team, const char *agent,
                    char **ret, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_kv_ struct kv env = {.count = 0};

    if (session_load(&call->root, team->dir, team->id, &session, err) == -1)
        return err_wrap(err, "cannot reach agent '%s'", agent);
    session_env(&call->root, &session, &env);
    const char *unit = kv_get(&env, "UNIT_DIR");
    *ret = mem_printf("%s/%s", unit != NULL ? unit : "", agent);
    return 0;
}

static int run_acp(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    _cleanup_free_ char *cwd = NULL;
    const char *from = NULL;

    if (targets_parse(call, TARGETS_OPTIONAL, &roster, err) == -1 ||
        targets_sender(call, &roster, "prompt", &from, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const struct agent *agent = choose(&roster);
    if (agent == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run 'acp' for %zu agents: name one agent",
                      roster.count);
        return call_usage(call, err);
    }
    const struct roster_team *team = &roster.teams[0];
    if (find_cwd(call, team, agent->id, &cwd, err) == -1)
        return -1;
    const struct editor_spec spec = {
        .root = &call->root,
        .session = team->id,
        .agent = agent->id,
        .from = from,
        .cwd = cwd,
        .dir = team->dir,
        .run = team->run,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return editor_run(&spec, err);
}

const struct cmd cmd_acp = {
    .name = "acp",
    .group = GROUP_PROGRAMS,
    .operands = " [SESSION] [AGENT]",
    .summary = "act as an ACP agent on stdin and stdout, for editors",
    .examples = "mas acp shop lead",
    .details = "Editors that speak the Agent Client Protocol, such as Zed, Neovim or Emacs, "
               "start this command. Without AGENT, mas uses the meta manager, or the only "
               "agent. The editor, the pane and 'mas ask' share the same conversation. The "
               "command ends when its input ends.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .does = WAITS_LONG,
    .run = run_acp,
};
