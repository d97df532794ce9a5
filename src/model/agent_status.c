/*
 * A new member of the status is a row of a table, from which it is written in both forms: all of
 * it, with times as text, for people's programs, or short, between mas and its hosts. The parser
 * reads the short form and trusts nothing: numbers out of range count as not told, and texts are
 * cut.
 */

#include "model/agent_status.h"

#include "model/member.h"
#include "model/request_id.h"

static const char *const state_names[AGENT_STATE_COUNT + 1] = {
    [AGENT_ASLEEP] = "asleep", [AGENT_STARTING] = "starting", [AGENT_WORKING] = "working",
    [AGENT_IDLE] = "idle",     [AGENT_WAITING] = "waiting",   [AGENT_LIMITED] = "limited",
    [AGENT_PAUSED] = "paused", [AGENT_EXITED] = "exited",     [AGENT_CRASHED] = "crashed",
};

const char *agent_state_name(enum agent_state state)
{
    return state_names[state];
}

bool agent_state_parse(const char *text, enum agent_state *ret)
{
    int i = value_word(state_names, text);

    if (i != -1)
        *ret = (enum agent_state)i;
    return i != -1;
}

static const char *const turn_names[TURN_OUTCOME_COUNT + 1] = {
    [TURN_NONE] = "", [TURN_DONE] = "done", [TURN_FAILED] = "failed", [TURN_STOPPED] = "stopped"};

const char *turn_outcome_name(enum turn_outcome end)
{
    return end != TURN_NONE ? turn_names[end] : NULL;
}

bool agent_turn_is_bad(const struct agent_status *status)
{
    return (status->turn == TURN_FAILED || status->turn == TURN_STOPPED) &&
           status->state != AGENT_STARTING && status->state != AGENT_WORKING &&
           status->state != AGENT_WAITING;
}

void agent_turn_add(const struct agent_status *status, struct str *to)
{
    const char *why = status->turn_why;

    if (!agent_turn_is_bad(status))
        return;
    str_add(to, status->turn == TURN_FAILED ? "the turn failed" : "the turn was stopped");
    if (why != NULL && why[0] != '\0')
        str_addf(to, ": %s", why);
}

void agent_end_add(const struct agent_status *status, struct str *to)
{
    if (status->signal != 0)
        str_addf(to, "was killed by signal %d (%s)", status->signal, strsignal(status->signal));
    else if (status->exit_code != -1)
        str_addf(to, "exited with code %d", status->exit_code);
}

bool agent_state_is_live(enum agent_state state)
{
    return state == AGENT_STARTING || state == AGENT_WORKING || state == AGENT_IDLE ||
           state == AGENT_WAITING || state == AGENT_LIMITED || state == AGENT_PAUSED;
}

/* An agent's text is unlimited, but the answer that contains it is not. */
static const struct value_type state_type = {VALUE_WORD, .words = state_names};
static const struct value_type turn_type = {VALUE_WORD, .words = turn_names};
static const struct value_type count_type = {VALUE_NUMBER, .max = INT_MAX};
static const struct value_type code_type = {VALUE_NUMBER, .max = INT_MAX, .nothing = -1};
static const struct value_type large_type = {VALUE_NUMBER, .max = INT64_MAX};
static const struct value_type amount_type = {VALUE_NUMBER, .max = INT64_MAX, .nothing = -1};
static const struct value_type title_type = {VALUE_TEXT, .max = AGENT_TITLE_MAX};
static const struct value_type note_type = {VALUE_TEXT, .max = AGENT_NOTE_MAX};
static const struct value_type words_type = {VALUE_CHARS, .max = AGENT_TITLE_MAX - 1};

#define STATUS(key, type, member, how_)                                                            \
    {                                                                                              \
        MEMBER(key, type, struct agent_status, member), .how = (how_)                              \
    }

static const struct member members[] = {
    STATUS("state", state_type, state, 0),
    STATUS("sinceMs", value_ms, since_ms, MEMBER_SAID),
    STATUS("lastOutputMs", value_ms, output_ms, MEMBER_SAID),
    STATUS("restartAtMs", value_ms, restart_ms, MEMBER_SAID),
    STATUS("untilMs", value_ms, until_ms, MEMBER_SAID),
    STATUS("retryAtMs", value_ms, retry_ms, MEMBER_SAID),
    STATUS("doneMs", value_ms, done_ms, MEMBER_SAID),
    STATUS("seenMs", value_ms, seen_ms, MEMBER_SAID),
    STATUS("turnEnd", turn_type, turn, MEMBER_SAID),
    STATUS("turnWhy", note_type, turn_why, MEMBER_SAID),
    STATUS("pid", count_type, pid, MEMBER_SAID),
    STATUS("hostPid", count_type, host_pid, MEMBER_SAID),
    STATUS("pane", value_chars, pane, 0),
    STATUS("exitCode", code_type, exit_code, MEMBER_SAID),
    STATUS("signal", count_type, signal, MEMBER_SAID),
    STATUS("restarts", count_type, restarts, 0),
    STATUS("port", count_type, port, MEMBER_SAID),
    STATUS("queued", count_type, queued, 0),
    STATUS("logLost", large_type, log_lost, 0),
    STATUS("linesPassedOver", large_type, passed_over, MEMBER_SAID),
    STATUS("title", title_type, title, MEMBER_SAID | MEMBER_BLANK),
    STATUS("note", note_type, note, MEMBER_SAID | MEMBER_BLANK),
    STATUS("memory", note_type, memory, MEMBER_SAID),
    STATUS("account", title_type, account, MEMBER_SAID),
    MEMBER_END,
};

/* Only of an ACP agent. */
static const struct member acp_members[] = {
    STATUS("conversation", value_chars, conversation, MEMBER_SAID),
    STATUS("continuity", title_type, continuity, MEMBER_SAID),
    STATUS("permission", title_type, permission, MEMBER_SAID),
    STATUS("asks", title_type, asks, MEMBER_SAID),
    MEMBER_END,
};

static const struct member figure_members[] = {
    {MEMBER("lookedMs", value_ms, struct code_figures, looked_ms), .how = MEMBER_SAID},
    {MEMBER("branch", words_type, struct code_figures, branch), .how = MEMBER_SAID},
    {MEMBER("ahead", count_type, struct code_figures, ahead)},
    {MEMBER("behind", count_type, struct code_figures, behind)},
    {MEMBER("changed", count_type, struct code_figures, changed)},
    {MEMBER("problem", words_type, struct code_figures, problem), .how = MEMBER_SAID},
    MEMBER_END,
};

static const struct member usage_members[] = {
    {MEMBER("contextUsed", large_type, struct agent_usage, context_used), .how = MEMBER_SAID},
    {MEMBER("contextSize", large_type, struct agent_usage, context_size), .how = MEMBER_SAID},
    {MEMBER("tokens", large_type, struct agent_usage, tokens), .how = MEMBER_SAID},
    MEMBER_END,
};

static const struct member resource_members[] = {
    {MEMBER("cpuMs", amount_type, struct agent_resources, cpu_ms), .how = MEMBER_SAID},
    {MEMBER("memory", amount_type, struct agent_resources, memory), .how = MEMBER_SAID},
    {MEMBER("processes", amount_type, struct agent_resources, processes), .how = MEMBER_SAID},
    MEMBER_END,
};

void code_figures_put(const struct code_figures *figures, struct json_out *out)
{
    if (figures->looked_ms == 0) {
        json_put(out, "code", NULL);
        return;
    }
    json_open(out, "code", '{');
    members_put_all(figure_members, figures, out);
    json_close(out, '}');
}

void code_figures_tell(const struct code_figures *figures, struct json_out *out)
{
    members_put(figure_members, figures, out);
}

/* Writes the member "usage", with null for what is not known. */
static void agent_usage_put(const struct agent_usage *usage, struct json_out *out)
{
    json_open(out, "usage", '{');
    members_put_all(usage_members, usage, out);
    money_put(&usage->cost, out);
    json_close(out, '}');
}

void agent_resources_parse(const struct json *object, struct agent_resources *ret)
{
    members_guess(resource_members, object, ret);
}

void agent_pane_put(const struct agent_pane *pane, struct json_out *out)
{
    json_put_all(out, JO("tmux"), JI("server", pane->server), JT("session", pane->session),
                 JI("activityMs", pane->activity_ms), JI("agents", pane->agents), JOE);
}

void agent_pane_parse(const struct json *object, struct agent_pane *ret)
{
    const char *session = json_get_text(object, "session");
    int64_t server = json_int(json_get(object, "server"), 0);
    int64_t agents = json_int(json_get(object, "agents"), 0);

    *ret = (struct agent_pane){.server = 0};
    if (session == NULL || session[0] != '$' || strlen(session) >= sizeof ret->session ||
        server <= 0 || server > INT_MAX || agents <= 0 || agents > INT_MAX)
        return;
    *ret = (struct agent_pane){.server = (pid_t)server,
                               .activity_ms = json_int(json_get(object, "activityMs"), 0),
                               .agents = (int)agents};
    memcpy(ret->session, session, strlen(session) + 1);
}

static bool usage_is_known(const struct agent_usage *usage)
{
    return usage->context_used != 0 || usage->context_size != 0 || usage->tokens != 0 ||
           usage->cost.currency[0] != '\0';
}

void agent_resources_format(const struct agent_resources *resources, char cpu[AGENT_CPU_TEXT],
                            char memory[NUMBER_SIZE_TEXT])
{
    const long long seconds = resources->cpu_ms / 1000;

    cpu[0] = memory[0] = '\0';
    if (seconds >= 3600)
        (void)snprintf(cpu, AGENT_CPU_TEXT, "%lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
                       seconds % 60);
    else if (resources->cpu_ms >= 0)
        (void)snprintf(cpu, AGENT_CPU_TEXT, "%lld:%02lld", seconds / 60, seconds % 60);
    if (resources->memory >= 0)
        number_format_size((uint64_t)resources->memory, memory);
}

int agent_usage_percent(const struct agent_usage *usage)
{
    if (usage->context_size <= 0 || usage->context_used > usage->context_size)
        return -1;
    return (int)((double)usage->context_used * 100 / (double)usage->context_size);
}

static void put_members(const struct agent_status *status, bool all, struct json_out *out)
{
    void (*put)(const struct member *, const void *, struct json_out *) =
        all ? members_put_all : members_put;
    char request[REQUEST_ID_TEXT];

    put(members, status, out);
    json_open(out, "resources", '{');
    put(resource_members, &status->resources, out);
    json_close(out, '}');
    json_put(out, "protocol", status->acp ? "acp" : "tty");
    json_put(out, "states", status->tells ? "told" : "seen");
    json_put_bool(out, "talks", status->talks);
    if (!status->talks)
        return;
    put(acp_members, status, out);
    if (all) {
        request_id(status->permission, status->asks, request);
        json_put(out, "request", request[0] != '\0' ? request : NULL);
    }
    if (all || usage_is_known(&status->usage))
        agent_usage_put(&status->usage, out);
}

void agent_status_put(const struct agent_status *status, struct json_out *out)
{
    put_members(status, true, out);
    disk_put("disk", &status->disk, out);
    code_figures_put(&status->code, out);
    wall_report_put(&status->wall, out);
    limits_held_put(&status->limits, out);
}

void agent_status_tell(const struct agent_status *status, struct json_out *out)
{
    put_members(status, false, out);
    if (status->wall.level != WALL_UNSET)
        wall_report_put(&status->wall, out);
    if (limits_held_any(&status->limits))
        limits_held_put(&status->limits, out);
    if (status->disk.known)
        disk_put("disk", &status->disk, out);
    if (status->code.looked_ms == 0)
        return;
    json_open(out, "code", '{');
    code_figures_tell(&status->code, out);
    json_close(out, '}');
}

static void add_figure(struct str *to, size_t start, char sign, int64_t n)
{
    if (n > 0)
        str_addf(to, "%s%c%lld", to->len > start ? " " : "", sign, (long long)n);
}

void code_figures_format(int64_t ahead, int64_t behind, int64_t changed, struct str *to)
{
    size_t start = to->len;

    add_figure(to, start, '+', ahead);
    add_figure(to, start, '-', behind);
    add_figure(to, start, '~', changed);
    if (to->len == start)
        str_addc(to, '=');
}

void code_figures_parse(const struct json *object, struct code_figures *ret)
{
    *ret = (struct code_figures){.looked_ms = 0};
    members_guess(figure_members, object, ret);
}

bool code_figures_equal(const struct code_figures *a, const struct code_figures *b)
{
    return members_equal(figure_members, a, b);
}

void agent_usage_parse(const struct json *object, struct agent_usage *ret)
{
    members_guess(usage_members, object, ret);
    money_read(object, &ret->cost);
}

int agent_status_parse(const struct json *object, struct agent_status *ret, struct err *err)
{
    struct agent_status status = {.pane = ""};

    if (!agent_state_parse(json_get_text(object, "state"), &status.state))
        return err_set(err, MAS_DAMAGED, "its host reported an unknown state");
    members_guess(members, object, &status);
    members_guess(acp_members, object, &status);
    status.acp = strcmp(json_get_text_or(object, "protocol", ""), "acp") == 0;
    status.tells =
        strcmp(json_get_text_or(object, "states", status.acp ? "told" : ""), "told") == 0;
    status.talks = json_bool(json_get(object, "talks"), /* a host of an earlier mas has it not */
                             status.tells || status.conversation[0] != '\0');
    code_figures_parse(json_get(object, "code"), &status.code);
    agent_resources_parse(json_get(object, "resources"), &status.resources);
    wall_report_parse(json_get(object, "wall"), &status.wall);
    disk_read(json_get(object, "disk"), &status.disk);
    limits_held_parse(json_get(object, "limits"), &status.limits);
    agent_usage_parse(json_get(object, "usage"), &status.usage);
    *ret = status;
    return 0;
}

void agent_status_free(struct agent_status *status)
{
    members_free(members, status);
    members_free(acp_members, status);
}
