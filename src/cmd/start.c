#include "cmd/several.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opt opts[] = {
    {0, "crashed", NULL, "every session that was active before a crash or reboot", OFFER_NONE},
    {.name = NULL},
};

static int start_one(struct call *call, const struct life *life, const char *id, struct err *err)
{
    bool was = false;

    if (life_start(life, id, &was, err) == -1)
        return -1;
    if (!call->quiet)
        printf("%s %s\n", id, was ? "runs already" : "started");
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
    .operands = " SESSION...",
    .summary = "bring stopped sessions back",
    .details = "The agents get the environment of this command. --crashed brings back all sessions "
               "that were\n"
               "running when their tmux server or the machine went down.",
    .opts = opts,
    .operands_max = -1,
    .offer = OFFER_SESSION,
    .then = OFFER_SESSION,
    .rest = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_SESSIONS | CMD_PRESETS | CMD_QUIET,
    .run = run_start,
};
