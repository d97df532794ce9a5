/*
 * put_members() writes both forms, of which struct writer says which: all members, with times as
 * text, for people's programs, or short, between mas and its hosts. The parser reads the short form
 * and trusts nothing: numbers out of range count as not told, and texts are cut. A new member of
 * the status is written there, and read and freed at the end of this file.
 */

#include "model/agent_status.h"

#include "base/time.h"
#include "model/request_id.h"

static const char *const state_names[AGENT_STATE_COUNT] = {
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
    for (size_t i = 0; text != NULL && i < AGENT_STATE_COUNT; i++) {
        if (strcmp(text, state_names[i]) != 0)
            continue;
        *ret = (enum agent_state)i;
        return true;
    }
    return false;
}

static const char *const turn_names[TURN_OUTCOME_COUNT] = {
    [TURN_DONE] = "done", [TURN_FAILED] = "failed", [TURN_STOPPED] = "stopped"};

const char *turn_outcome_name(enum turn_outcome end)
{
    return turn_names[end];
}

static enum turn_outcome parse_turn(const char *text)
{
    for (unsigned i = 0; text != NULL && i < TURN_OUTCOME_COUNT; i++)
        if (turn_names[i] != NULL && strcmp(text, turn_names[i]) == 0)
            return (enum turn_outcome)i;
    return TURN_NONE;
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

/* Where the members go, and whether members without information are written too, as null. */
struct writer {
    struct json_out *out;
    bool all;
};

static void put_number(const struct writer *to, const char *key, int64_t n, int64_t nothing)
{
    if (n != nothing)
        json_put_int(to->out, key, n);
    else if (to->all)
        json_put(to->out, key, NULL);
}

/* An agent's text is unlimited, but the answer that contains it is not. */
static void put_text(const struct writer *to, const char *key, const char *text, size_t max,
                     const char *nothing)
{
    bool says = text != NULL && text[0] != '\0';
    if (says || to->all)
        json_put_fit(to->out, key, says ? text : nothing, max);
}

/* Writes a time in ms under `key_ms` and, for readers of text, also under `key`. */
static void put_time(const struct writer *to, const char *key, const char *key_ms, int64_t ms)
{
    char text[TIME_TEXT];

    if (to->all && ms != 0)
        time_format((time_t)(ms / 1000), text);
    if (to->all)
        json_put(to->out, key, ms != 0 ? text : NULL);
    put_number(to, key_ms, ms, 0);
}

static void put_figures(const struct code_figures *figures, const struct writer *to)
{
    put_time(to, "looked", "lookedMs", figures->looked_ms);
    put_text(to, "branch", figures->branch, AGENT_TITLE_MAX, NULL);
    json_put_all(to->out, JI("ahead", figures->ahead), JI("behind", figures->behind),
                 JI("changed", figures->changed));
    put_text(to, "problem", figures->problem, AGENT_TITLE_MAX, NULL);
}

void code_figures_put(const struct code_figures *figures, struct json_out *out)
{
    if (figures->looked_ms == 0) {
        json_put(out, "code", NULL);
        return;
    }
    json_open(out, "code", '{');
    put_figures(figures, &(struct writer){.out = out, .all = true});
    json_close(out, '}');
}

void code_figures_tell(const struct code_figures *figures, struct json_out *out)
{
    put_figures(figures, &(struct writer){.out = out});
}

void agent_usage_put(const struct agent_usage *usage, struct json_out *out)
{
    const struct writer to = {.out = out, .all = true};

    json_open(out, "usage", '{');
    put_number(&to, "contextUsed", usage->context_used, 0);
    put_number(&to, "contextSize", usage->context_size, 0);
    put_number(&to, "tokens", usage->tokens, 0);
    money_put(&usage->cost, out);
    json_close(out, '}');
}

static void put_resources(const struct agent_resources *resources, const struct writer *to)
{
    json_open(to->out, "resources", '{');
    put_number(to, "cpuMs", resources->cpu_ms, -1);
    put_number(to, "memory", resources->memory, -1);
    put_number(to, "processes", resources->processes, -1);
    json_close(to->out, '}');
}

void agent_resources_parse(const struct json *object, struct agent_resources *ret)
{
    *ret = (struct agent_resources){.cpu_ms = json_int(json_get(object, "cpuMs"), -1),
                                    .memory = json_int(json_get(object, "memory"), -1),
                                    .processes = json_int(json_get(object, "processes"), -1)};
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

static void put_members(const struct agent_status *status, const struct writer *to)
{
    char request[REQUEST_ID_TEXT];

    json_put(to->out, "state", agent_state_name(status->state));
    put_time(to, "since", "sinceMs", status->since_ms);
    put_time(to, "lastOutput", "lastOutputMs", status->output_ms);
    put_time(to, "restartAt", "restartAtMs", status->restart_ms);
    put_time(to, "until", "untilMs", status->until_ms);
    put_time(to, "retryAt", "retryAtMs", status->retry_ms);
    put_time(to, "done", "doneMs", status->done_ms);
    put_time(to, "seen", "seenMs", status->seen_ms);
    put_text(to, "turnEnd", turn_outcome_name(status->turn), AGENT_TITLE_MAX, NULL);
    put_text(to, "turnWhy", status->turn_why, AGENT_NOTE_MAX, NULL);
    put_number(to, "pid", status->pid, 0);
    put_number(to, "hostPid", status->host_pid, 0);
    json_put(to->out, "pane", status->pane);
    put_number(to, "exitCode", status->exit_code, -1);
    put_number(to, "signal", status->signal, 0);
    json_put_all(to->out, JI("restarts", status->restarts), JI("queued", status->queued),
                 JI("logLost", status->log_lost));
    put_text(to, "title", status->title, AGENT_TITLE_MAX, "");
    put_text(to, "note", status->note, AGENT_NOTE_MAX, "");
    put_text(to, "memory", status->memory, AGENT_NOTE_MAX, NULL);
    put_resources(&status->resources, to);
    json_put(to->out, "protocol", status->acp ? "acp" : "tty");
    if (!status->acp)
        return;
    put_text(to, "conversation", status->conversation, AGENT_TITLE_MAX, NULL);
    put_text(to, "continuity", status->continuity, AGENT_TITLE_MAX, NULL);
    put_text(to, "permission", status->permission, AGENT_TITLE_MAX, NULL);
    if (to->all) {
        request_id(status->permission, status->asks, request);
        json_put(to->out, "request", request[0] != '\0' ? request : NULL);
    }
    put_text(to, "asks", status->asks, AGENT_TITLE_MAX, NULL);
    if (to->all || usage_is_known(&status->usage))
        agent_usage_put(&status->usage, to->out);
}

void agent_status_put(const struct agent_status *status, struct json_out *out)
{
    put_members(status, &(struct writer){.out = out, .all = true});
    disk_put("disk", &status->disk, out);
    code_figures_put(&status->code, out);
    wall_report_put(&status->wall, out);
    limits_held_put(&status->limits, out);
}

void agent_status_tell(const struct agent_status *status, struct json_out *out)
{
    put_members(status, &(struct writer){.out = out});
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

static int read_int(const struct json *object, const char *key, int fallback)
{
    int64_t n = json_int(json_get(object, key), fallback);
    return n >= 0 && n <= INT_MAX ? (int)n : fallback;
}

/* Reads a time or a count; 0: it is not told. */
static int64_t read_time(const struct json *object, const char *key)
{
    int64_t ms = json_int(json_get(object, key), 0);
    return ms > 0 ? ms : 0;
}

static char *read_text(const struct json *object, const char *key, size_t max)
{
    const char *text = json_get_text(object, key);
    return text != NULL ? mem_dupn(text, str_fit(text, max)) : mem_dup("");
}

static void read_words(const struct json *object, const char *key, char buf[AGENT_TITLE_MAX])
{
    const char *text = json_get_text(object, key);
    size_t len = text != NULL ? str_fit(text, AGENT_TITLE_MAX - 1) : 0;

    memcpy(buf, text != NULL ? text : "", len);
    buf[len] = '\0';
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
    *ret = (struct code_figures){.looked_ms = read_time(object, "lookedMs")};
    ret->ahead = read_int(object, "ahead", 0);
    ret->behind = read_int(object, "behind", 0);
    ret->changed = read_int(object, "changed", 0);
    read_words(object, "branch", ret->branch);
    read_words(object, "problem", ret->problem);
}

bool code_figures_equal(const struct code_figures *a, const struct code_figures *b)
{
    return a->ahead == b->ahead && a->behind == b->behind && a->changed == b->changed &&
           strcmp(a->branch, b->branch) == 0 && strcmp(a->problem, b->problem) == 0;
}

void agent_usage_parse(const struct json *object, struct agent_usage *ret)
{
    *ret = (struct agent_usage){.context_used = read_time(object, "contextUsed"),
                                .context_size = read_time(object, "contextSize"),
                                .tokens = read_time(object, "tokens")};
    money_read(object, &ret->cost);
}

int agent_status_parse(const struct json *object, struct agent_status *ret, struct err *err)
{
    struct agent_status status = {.pane = ""};
    const char *pane = json_get_text(object, "pane");
    const char *protocol = json_get_text(object, "protocol");
    const char *conversation = json_get_text(object, "conversation");

    if (!agent_state_parse(json_get_text(object, "state"), &status.state))
        return err_set(err, MAS_DAMAGED, "its host reported an unknown state");
    status.since_ms = read_time(object, "sinceMs");
    status.output_ms = read_time(object, "lastOutputMs");
    status.restart_ms = read_time(object, "restartAtMs");
    status.until_ms = read_time(object, "untilMs");
    status.retry_ms = read_time(object, "retryAtMs");
    status.done_ms = read_time(object, "doneMs");
    status.seen_ms = read_time(object, "seenMs");
    status.turn = parse_turn(json_get_text(object, "turnEnd"));
    status.turn_why = read_text(object, "turnWhy", AGENT_NOTE_MAX);
    status.pid = read_int(object, "pid", 0);
    status.host_pid = read_int(object, "hostPid", 0);
    status.exit_code = read_int(object, "exitCode", -1);
    status.signal = read_int(object, "signal", 0);
    status.restarts = read_int(object, "restarts", 0);
    status.queued = read_int(object, "queued", 0);
    status.log_lost = read_time(object, "logLost");
    if (pane != NULL && strlen(pane) < sizeof status.pane)
        memcpy(status.pane, pane, strlen(pane) + 1);
    code_figures_parse(json_get(object, "code"), &status.code);
    agent_resources_parse(json_get(object, "resources"), &status.resources);
    wall_report_parse(json_get(object, "wall"), &status.wall);
    disk_read(json_get(object, "disk"), &status.disk);
    limits_held_parse(json_get(object, "limits"), &status.limits);
    status.title = read_text(object, "title", AGENT_TITLE_MAX);
    status.note = read_text(object, "note", AGENT_NOTE_MAX);
    status.memory = read_text(object, "memory", AGENT_NOTE_MAX);
    status.acp = protocol != NULL && strcmp(protocol, "acp") == 0;
    if (conversation != NULL && strlen(conversation) < sizeof status.conversation)
        memcpy(status.conversation, conversation, strlen(conversation) + 1);
    status.continuity = read_text(object, "continuity", AGENT_TITLE_MAX);
    status.permission = read_text(object, "permission", AGENT_TITLE_MAX);
    status.asks = read_text(object, "asks", AGENT_TITLE_MAX);
    agent_usage_parse(json_get(object, "usage"), &status.usage);
    *ret = status;
    return 0;
}

void agent_status_free(struct agent_status *status)
{
    free(status->title);
    free(status->turn_why);
    free(status->memory);
    free(status->note);
    free(status->continuity);
    free(status->permission);
    free(status->asks);
    status->title = status->turn_why = status->memory = status->note = NULL;
    status->continuity = status->permission = status->asks = NULL;
}
