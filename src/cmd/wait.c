/*
 * All hosts are asked to watch; each answer replaces the status in the roster, and after each the
 * roster is judged. A host that was killed is gone before its agent: --for exit then also waits for
 * the process that it last told of, and for all that have the agent's environment.
 */

#include "base/time.h"
#include "cli/targets.h"
#include "os/loop.h"
#include "os/proc.h"
#include "session/life.h"

static const struct opt opts[] = {
    {0, "for", "STATE", "idle (the default), exit or waiting"},
    {0, "any", NULL, "wait until one of the agents is in that state"},
    {0, "timeout", "TIME", "give up after this time, such as 500ms, 30s or 5m"},
    {.name = NULL},
};

enum goal { GOAL_IDLE, GOAL_EXIT, GOAL_WAITING, GOAL_COUNT };

/* The values of --for, and the words in error messages. */
static const char *const goals[GOAL_COUNT] = {"idle", "exit", "waiting"};
static const char *const goal_words[GOAL_COUNT] = {"to be idle", "to exit",
                                                   "to wait for an answer"};

enum goal_state { NOT_YET, REACHED, NEVER };

/* Returns true if the agent has ended and will not be started again. */
static bool has_ended(const struct agent_status *status)
{
    return (status->state == AGENT_EXITED || status->state == AGENT_CRASHED) &&
           status->restart_ms == 0 && status->queued == 0;
}

static enum goal_state judge(const struct roster *roster, size_t i, enum goal goal)
{
    const struct roster_agent *agent = &roster->agents[i];
    enum host_answer answer = roster->calls[i].answer;
    bool asleep = agent->told && agent->status.state == AGENT_ASLEEP && agent->status.queued == 0;

    if (answer == HOST_BROKEN && !agent->told && roster_listens(roster, i))
        return NEVER; /* the host exists but cannot be asked; otherwise it was killed */
    if (answer == HOST_ABSENT || answer == HOST_ENDED || answer == HOST_BROKEN)
        return goal == GOAL_EXIT ? REACHED : NEVER;
    if (!agent->told)
        return NOT_YET;
    if (has_ended(&agent->status))
        return goal == GOAL_EXIT ? REACHED : NEVER;
    if (goal == GOAL_WAITING)
        return agent->status.state == AGENT_WAITING ? REACHED : NOT_YET;
    if (asleep)
        return REACHED;
    return goal == GOAL_IDLE && agent->status.state == AGENT_IDLE && agent->status.queued == 0
               ? REACHED
               : NOT_YET;
}

/* For --any: REACHED if one agent has reached the goal, NEVER if none can. *ret_which is the last
 * agent that cannot. */
static enum goal_state judge_any(const struct roster *roster, enum goal goal, size_t *ret_which)
{
    enum goal_state any = NEVER;
    for (size_t i = 0; i < roster->count && any != REACHED; i++) {
        enum goal_state one = judge(roster, i, goal);
        if (one == NEVER)
            *ret_which = i;
        else
            any = one;
    }
    return any;
}

/* REACHED if all agents have reached the goal, NEVER if one cannot. *ret_which is that agent. */
static enum goal_state judge_all(const struct roster *roster, enum goal goal, size_t *ret_which)
{
    enum goal_state all = REACHED;
    for (size_t i = 0; i < roster->count; i++) {
        enum goal_state one = judge(roster, i, goal);
        if (one == NEVER) {
            *ret_which = i;
            return NEVER;
        }
        if (one == NOT_YET)
            all = NOT_YET;
    }
    return all;
}

static int never(const struct roster *roster, size_t i, enum goal goal, struct err *err)
{
    const struct roster_agent *agent = &roster->agents[i];
    const char *id = agent->agent->id;

    if (!agent->told || roster->calls[i].answer != HOST_PENDING)
        (void)err_set(err, MAS_FAILED, "cannot wait for agent '%s' %s: %s", id, goal_words[goal],
                      roster_problem(roster, i));
    else
        (void)err_set(err, MAS_FAILED,
                      "cannot wait for agent '%s' %s: it has %s and does not start again", id,
                      goal_words[goal], agent_state_name(agent->status.state));
    return err_hint(err, "start it with: mas restart %s %s",
                    roster_label(&roster->teams[agent->team]).text, id);
}

static int timed_out(const struct roster *roster, enum goal goal, const char *timeout,
                     struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;

    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        if (judge(roster, i, goal) != NOT_YET)
            continue;
        str_addf(&names, "%s%s is %s", names.len > 0 ? ", " : "", agent->agent->id,
                 agent->told ? agent_state_name(agent->status.state) : "silent");
        if (agent->told && agent->status.permission[0] != '\0')
            str_addf(&names, " for a permission (%s)", agent->status.asks);
        if (agent->told && agent->status.queued > 0)
            str_addf(&names, " with %d message%s queued", agent->status.queued,
                     agent->status.queued == 1 ? "" : "s");
    }
    return err_set(err, MAS_TIMEOUT, "cannot wait for agents %s: after %s %s", goal_words[goal],
                   timeout, names.len > 0 ? str_text(&names) : "their processes are still running");
}

/* Keeps each status that the host reports; never ends the call. */
static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    (void)roster_keep_status(call, reply, arg);
    return false;
}

/* Without --for, *ret stays unchanged. */
static int parse_goal(struct call *call, enum goal *ret, struct err *err)
{
    const char *text = call_opt(call, "for");
    size_t i = 0;

    if (text == NULL)
        return 0;
    while (i < GOAL_COUNT && strcmp(text, goals[i]) != 0)
        i++;
    if (i == GOAL_COUNT) {
        (void)call_bad_value(call, "for", "idle, exit or waiting", err);
        return call_usage(call, err);
    }
    *ret = (enum goal)i;
    return 0;
}

/* Sends "watch" to all hosts, and again to hosts that are starting. */
static int ask(struct call *call, struct roster *roster, enum goal goal, struct err *err)
{
    const struct roster_request request = {.what = "wait for", .head = "{\"do\":\"watch\"}"};

    int rc = roster_ask_live(&call->root, roster, &request, err);
    if (rc == -1 && goal == GOAL_EXIT && err->code == MAS_CONFLICT) {
        *err = (struct err)ERR_INIT; /* the agents of a stopped session have ended */
        return 0;
    }
    return rc;
}

/* Returns the ms left until `end`; -1 if end is -1, which means no limit. */
static int left_of(int64_t end)
{
    int64_t left = end - time_monotonic_ms();
    return end < 0 ? -1 : left > 0 ? (int)left : 0;
}

/* A killed host is gone before its agent. Therefore waits until the process that the host last
 * reported, which may have dropped its environment, and all processes with the agent's environment
 * are gone. *ret is false if they are not gone in time. */
static int see_gone(struct call *call, const struct roster *roster, int64_t end, bool *ret,
                    struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};

    *ret = true;
    for (size_t i = 0; i < roster->count && *ret; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        struct proc_id id;
        if (roster->calls[i].answer == HOST_PENDING)
            continue; /* its host has seen it end */
        if (agent->told && proc_identify(agent->status.pid, &id))
            *ret = proc_wait_gone(&id, 1, left_of(end)) == 0;
        if (*ret && life_await_gone(&life, roster->teams[agent->team].id, agent->agent->id,
                                    left_of(end), ret, err) == -1)
            return -1;
    }
    return 0;
}

static int run_wait(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    const char *timeout = call_opt(call, "timeout");
    enum goal goal = GOAL_IDLE;
    enum goal_state verdict;
    size_t which = 0;
    int timeout_ms = -1;

    if (parse_goal(call, &goal, err) == -1)
        return -1;
    if (targets_timeout(call, &timeout_ms, err) == -1 ||
        targets_parse(call, TARGETS_OPTIONAL, &roster, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    int64_t end = timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms;
    loop_end_with(STDOUT_FILENO);
    if (ask(call, &roster, goal, err) == -1)
        return -1;
    bool any = call_opt(call, "any") != NULL;
    while ((verdict = (any ? judge_any : judge_all)(&roster, goal, &which)) == NOT_YET) {
        int left = left_of(end);
        if (left == 0)
            return timed_out(&roster, goal, timeout, err);
        (void)hosts_step(roster.calls, roster.count, left, on_reply, &roster);
    }
    bool gone = true;
    if (verdict == REACHED && goal == GOAL_EXIT && !any &&
        see_gone(call, &roster, end, &gone, err) == -1)
        return -1;
    if (!gone)
        return timed_out(&roster, goal, timeout, err);
    return verdict == REACHED ? 0 : never(&roster, which, goal, err);
}

const struct cmd cmd_wait = {
    .name = "wait",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] [TARGET]",
    .summary = "wait until agents are idle, have ended, or need an answer",
    .examples = "mas wait shop\n"
                "mas wait shop --any --for waiting --timeout 10m",
    .details = "Wait until all given agents are in the state at the same time. Without "
               "TARGET, wait for all agents of the session. An agent that is asleep counts "
               "as idle and as exited; with messages waiting, it counts as neither. The exit "
               "status is 7 if the time is up, and 1 if the state cannot be reached because "
               "an agent, or with --any every agent, has ended.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .does = WAITS_LONG,
    .run = run_wait,
};
