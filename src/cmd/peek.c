#include "cli/print.h"
#include "cli/targets.h"
#include "client/screens.h"

static const struct opt opts[] = {
    {0, "history", "LINES", "also print up to this many lines that have scrolled off"},
    {.name = NULL},
};

static void print_screen(const struct roster *roster, size_t i, const struct tmux_screen *screen)
{
    const struct agent *agent = roster->agents[i].agent;
    const char *dim = colour_dim();

    if (roster->count > 1) {
        _cleanup_str_ struct str head = STR_INIT;
        str_addf(&head, "%s%s=== %s ", i > 0 ? "\n" : "", dim != NULL ? dim : "", agent->id);
        str_add_visible(&head, agent->role, strlen(agent->role));
        str_addf(&head, " ===%s", dim != NULL ? "\033[0m" : "");
        print_line(&head);
    }
    for (const char *line = screen->text; line != NULL && *line != '\0';) {
        _cleanup_str_ struct str shown = STR_INIT;
        size_t len = strcspn(line, "\n");
        str_add_visible(&shown, line, len);
        print_line(&shown);
        line += len + (line[len] == '\n');
    }
}

static int parse_history(const struct call *call, int *ret, struct err *err)
{
    const char *text = call_opt(call, "history");
    char *end = NULL;
    long n = text != NULL ? strtol(text, &end, 10) : 0;

    if (text != NULL && (end == text || *end != '\0' || n < 0 || n > TMUX_HISTORY_MAX)) {
        _cleanup_free_ char *want = mem_printf("a number from 0 to %d", TMUX_HISTORY_MAX);
        return call_bad_value(call, "history", want, err);
    }
    *ret = (int)n;
    return 0;
}

static int run_peek(struct call *call, struct err *err)
{
    _cleanup_screens_ struct screens screens = SCREENS_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    int history = 0;
    int rc = 0;

    if (parse_history(call, &history, err) == -1 ||
        targets_parse(call, TARGETS_AGENTS, &screens.roster, err) == -1 ||
        screens_look(&call->root, &screens, history, err) == -1)
        return -1;
    screens_put(&screens, &text);
    if (call->json)
        print_line(&text);
    for (size_t i = 0; !call->json && i < screens.roster.count; i++)
        print_screen(&screens.roster, i, &screens.shown[i]);
    for (size_t i = 0; rc == 0 && i < screens.roster.count; i++)
        rc = screens_failure(&screens, i, err);
    return rc;
}

const struct cmd cmd_peek = {
    .name = "peek",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] TARGET...",
    .summary = "print the current screens of agents as text",
    .examples = "mas peek shop lead\n"
                "mas peek shop all --history 100",
    .details = "mas calls tmux once for any number of agents. Inside a team's pane, omit "
               "SESSION.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS,
    .run = run_peek,
};
