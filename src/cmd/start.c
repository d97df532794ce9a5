#include "base/str.h"
#include "cmd/agents.h"
#include "cmd/several.h"
#include "core/roll.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opt opts[] = {
    {0, "crashed", NULL, "every session that was active before a crash or reboot", OFFER_NONE},
    {.name = NULL},
};

/* Tells of agents whose hosts were killed: the team runs, but not they. */
static void warn_hosts(const struct call *call, const char *id)
{
    _cleanup_roll_ struct roll roll = ROLL_INIT;
    _cleanup_str_ struct str names = STR_INIT;
    struct roll_team team;
    struct err ignored = ERR_INIT;
    size_t count = 0;

    if (roll_open(&call->root, id, &team, &ignored) == -1 ||
        roll_add(&roll, &team, NULL, &ignored) == -1)
        return;
    roll_ask(&roll, "{\"do\":\"status\"}", NULL, 0);
    roll_ask_coming(&roll, "{\"do\":\"status\"}", HOSTS_COME_MS);
    roll_finish(&roll, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roll.count; i++)
        if (roll.calls[i].answer == HOST_ABSENT)
            str_addf(&names, "%s%s", count++ > 0 ? "," : "", roll.agents[i].agent->id);
    if (count == 1)
        err_warn("an agent of session '%s' has no host; bring it back with: mas restart %s %s", id,
                 id, names.data);
    else if (count > 1)
        err_warn("%zu agents of session '%s' have no host; bring them back with: mas restart %s %s",
                 count, id, id, names.data);
}

static int start_one(struct call *call, const struct life *life, const char *id, struct err *err)
{
    _cleanup_str_ struct str waiting = STR_INIT;
    bool was = false;

    if (!call->quiet) /* the hosts take it at once */
        agents_add_waiting(&call->root, id, "; delivered now: ", &waiting);
    if (life_start(life, id, &was, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s %s%s\n", id, was ? "runs already" : "started", was ? "" : str_text(&waiting));
    if (was)
        warn_hosts(call, id);
    return 0;
}

static bool is_crashed(const struct view *view)
{
    return view->crashed || (view->unknown && view->row.status == STATUS_ACTIVE);
}

static int run_start(struct call *call, struct err *err)
{
    bool crashed = call_opt(call, "crashed") != NULL;

    if (!crashed && call->operand_count == 0 && call->session == NULL)
        call->session = getenv("MAS_SESSION_ID"); /* in a team: its own */
    return several_run(call, start_one, crashed ? is_crashed : NULL, err);
}

const struct cmd cmd_start = {
    .name = "start",
    .group = GROUP_SESSIONS,
    .operands = " SESSION...",
    .summary = "bring stopped sessions back",
    .examples = "mas start shop\n"
                "mas start --crashed",
    .details = "The agents get the environment of this command. --crashed brings back all sessions "
               "that were\n"
               "running when their tmux server or the machine went down.",
    .opts = opts,
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_SESSION,
    .rest = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_RUNS | CMD_NO_ROOT_OK | CMD_SESSIONS | CMD_PRESETS | CMD_QUIET,
    .run = run_start,
};
