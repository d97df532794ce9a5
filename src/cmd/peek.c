#include "client/survey.h"
#include "cmd/print.h"
#include "cmd/targets.h"
#include "store/session.h"
#include "tmux/tmux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct opt opts[] = {
    {0, "history", "LINES", "also print up to this many lines that have scrolled off", OFFER_NONE},
    {.name = NULL},
};

/* Asks tmux for the panes, because a host did not report its pane. */
static int ask_tmux(const char *socket, struct roster *roster, struct tmux_screen *screens,
                    const struct call *call, struct err *err)
{
    const char *id = roster->teams[0].id;
    _cleanup_free_ struct tmux_pane *panes = NULL;
    struct tmux_session *live = NULL;
    size_t count = 0;

    if (survey_find_live(&call->root, socket, id, &live, err) == -1)
        return -1;
    if (live == NULL) {
        const struct session_label label = roster_label(&roster->teams[0]);
        (void)err_set(err, MAS_CONFLICT, "cannot peek at session '%s': it is not running",
                      label.text);
        return err_hint(err, "start it with: mas start %s", label.text);
    }
    int rc = tmux_panes(socket, live->target, id, &panes, &count, err);
    tmux_sessions_free(live, 1);
    for (size_t i = 0; rc == 0 && i < roster->count; i++)
        for (size_t j = 0; j < count; j++)
            if (strcmp(panes[j].agent, roster->agents[i].agent->id) == 0)
                (void)snprintf(screens[i].pane, sizeof screens[i].pane, "%s", panes[j].pane);
    return rc;
}

/* Finds the panes and captures their contents. */
static int look(struct call *call, struct roster *roster, int history, struct tmux_screen *screens,
                struct err *err)
{
    struct roster_team *team = &roster->teams[0];
    _cleanup_session_ struct session session = SESSION_INIT;
    bool all = true;

    roster_ask(roster, "{\"do\":\"status\"}", NULL, 0);
    if (session_load(&call->root, team->dir, team->id, &session, err) == -1)
        return err_wrap(err, "cannot peek at session '%s'", team->id);
    roster_finish(roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster->count; i++) {
        const struct roster_agent *agent = &roster->agents[i];
        (void)snprintf(screens[i].pane, sizeof screens[i].pane, "%s",
                       agent->told ? agent->status.pane : "");
        all = all && screens[i].pane[0] != '\0';
    }
    if (!all && ask_tmux(session.tmux_socket, roster, screens, call, err) == -1)
        return -1;
    return tmux_capture_panes(session.tmux_socket, team->id, history, screens, roster->count, err);
}

static void print_json(const struct roster *roster, const struct tmux_screen *screens)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", roster->teams[0].id);
    json_open(&out, "agents", '[');
    for (size_t i = 0; i < roster->count; i++) {
        json_open(&out, NULL, '{');
        json_put(&out, "id", roster->agents[i].agent->id);
        json_put(&out, "pane", screens[i].text != NULL ? screens[i].pane : NULL);
        json_put(&out, "text", screens[i].text);
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

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
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    int history = 0;
    int rc;

    if (parse_history(call, &history, err) == -1 ||
        targets_parse(call, TARGETS_AGENTS, &roster, err) == -1)
        return -1;
    struct tmux_screen *screens = mem_alloc(roster.count * sizeof *screens);
    rc = look(call, &roster, history, screens, err);
    if (rc == 0 && call->json)
        print_json(&roster, screens);
    for (size_t i = 0; rc == 0 && !call->json && i < roster.count; i++)
        print_screen(&roster, i, &screens[i]);
    for (size_t i = 0; i < roster.count; i++) {
        if (rc == 0 && screens[i].text == NULL)
            rc = err_set(err, MAS_NOT_FOUND, "cannot peek at agent '%s': its pane is gone",
                         roster.agents[i].agent->id);
        free(screens[i].text);
    }
    free(screens);
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
    .offer = OFFER_SESSION,
    .then = OFFER_TARGET,
    .rest = OFFER_TARGET,
    .flags = CMD_ROOT | CMD_CHANGES | CMD_NO_ROOT_OK | CMD_TARGET | CMD_JSON | CMD_AGENT,
    .run = run_peek,
};
