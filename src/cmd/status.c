/*
 * The hosts are asked as the sessions are found, and disks are measured while they answer. --watch
 * has the same hosts answer until they end; each answer replaces what is known of its agent. A
 * terminal is redrawn when something has changed, and each second for the ages, in the order of
 * urgency; elsewhere each change is a line.
 */

#include "base/time.h"
#include "cli/agents.h"
#include "cli/each_session.h"
#include "cli/print.h"
#include "cli/roots.h"
#include "cli/table.h"
#include "client/look.h"
#include "client/roster.h"
#include "cmd.h"
#include "code/repo.h"
#include "model/attention.h"
#include "os/loop.h"
#include "os/machine.h"
#include "store/index.h"
#include "store/lease_clock.h"
#include "store/limits/session_limits.h"
#include "store/owner.h"
#include "store/session.h"
#include "store/usage.h"

enum {
    TICK_MS = 1000, /* interval at which the table is redrawn for the ages */
    TOGETHER_MS = 20,
};

static const struct opt opts[] = {
    {0, "watch", NULL, "continue, and show each change"},
    {.name = NULL},
};

/* The sessions to show, and the state of the display. */
struct look {
    struct roster roster;
    struct session *sessions; /* one per team of the roster */
    char **away; /* one per team: "on n2" if another machine has it; else NULL */
    struct usage *usages; /* one per team; NULL if there is no limit */
    uint64_t *limits; /* likewise; 0: it has none */
    size_t *unlanded; /* one per team: commits of its integration branch; NULL: not looked yet */
    struct owner self;
    bool watch, json;
    bool has_code; /* an agent has a work tree: the table has columns for it */
    bool *gone; /* one per agent: the end of its host was shown */
    bool changed;
};

static void look_free(struct look *look)
{
    for (size_t i = 0; i < look->roster.team_count; i++) {
        session_free(&look->sessions[i]);
        free(look->away[i]);
        if (look->usages != NULL)
            usage_free(&look->usages[i]);
    }
    free(look->sessions);
    free(look->unlanded);
    free(look->away);
    free(look->usages);
    free(look->limits);
    free(look->gone);
    owner_free(&look->self);
    roster_free(&look->roster);
}
#define _cleanup_look_ __attribute__((cleanup(look_free)))

static const char *question(const struct look *look)
{
    return look->watch ? "{\"do\":\"watch\"}" : "{\"do\":\"status\"}";
}

/* Adds a session and sends the requests to its hosts. */
static int add_session(const struct call *call, const char *id, void *arg, struct err *err)
{
    struct look *look = arg;
    struct roster_team team;
    struct session session = SESSION_INIT;
    bool here = true;

    if (roster_open(&call->root, id, &team, err) == -1)
        return -1;
    if (session_load(&call->root, team.dir, id, &session, err) == -1) {
        roster_close(&team);
        return err_wrap(err, "cannot read session '%s'", id);
    }
    if (owner_has(&look->self, &session, &here, err) == -1) {
        session_free(&session);
        roster_close(&team);
        return -1;
    }
    look->sessions = mem_room(look->sessions, look->roster.team_count, sizeof *look->sessions);
    look->sessions[look->roster.team_count] = session;
    look->away = mem_room(look->away, look->roster.team_count, sizeof *look->away);
    look->away[look->roster.team_count] =
        here ? NULL : mem_printf("on %s", machine_host(session.machine));
    (void)roster_add(&look->roster, &team, NULL, err);
    roster_ask(&look->roster, question(look), NULL, 0);
    return 0;
}

/* Adds all sessions that are meant to run. Warns about damaged ones and leaves them out. */
static int add_running(const struct call *call, struct look *look, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;

    if (!call->has_root)
        return 0;
    if (index_read(&call->root, false, &index, err) == -1)
        return -1;
    for (size_t i = 0; i < index.count; i++) {
        struct err why = ERR_INIT;
        if (index.rows[i].status == STATUS_ACTIVE && !index.rows[i].missing &&
            add_session(call, index.rows[i].id, look, &why) == -1)
            err_warn("%s", why.text);
    }
    return 0;
}

/* Adds the named sessions, or the session of this pane, or all. */
static int add_sessions(const struct call *call, struct look *look, struct err *err)
{
    return each_session_means_all(call) ? add_running(call, look, err)
                                        : each_session_look(call, add_session, look, err);
}

/* Measures the disk use of the sessions that have a limit. */
static void measure(const struct call *call, struct look *look)
{
    size_t count = look->roster.team_count;

    look->limits = mem_alloc((count + 1) * sizeof *look->limits);
    look->usages = mem_alloc((count + 1) * sizeof *look->usages);
    for (size_t i = 0; i < count; i++) {
        const struct roster_team *team = &look->roster.teams[i];
        const struct usage_options options = {team->id, look->sessions[i].mode};
        look->usages[i] = (struct usage)USAGE_INIT;
        look->limits[i] = (uint64_t)session_limits_look(team->dir, &call->config, NULL, NULL)
                              .of[LIMIT_SESSION]
                              .amount;
        if (look->limits[i] != 0)
            usage_measure(&call->root, &options, 1, &look->usages[i], NULL);
    }
}

/* Looks at the integration branches, and at the code of agents without a host. */
static void look_at_code(const struct call *call, struct look *look)
{
    struct err ignored = ERR_INIT;

    look->unlanded = mem_alloc((look->roster.team_count + 1) * sizeof *look->unlanded);
    for (size_t i = 0; i < look->roster.team_count; i++) {
        const struct roster_team *team = &look->roster.teams[i];
        if (team->team.project.path == NULL || look->away[i] != NULL)
            continue;
        _cleanup_repo_ struct repo repo = REPO_INIT;
        repo_of(&call->root, team->id, team->team.project.label, &repo);
        if (repo_count_unlanded(&repo, &look->unlanded[i], &ignored) == -1)
            look->unlanded[i] = 0; /* show and doctor say why */
    }
    for (size_t i = 0; i < look->roster.count; i++)
        if (look->roster.calls[i].answer == HOST_ABSENT &&
            look->away[look->roster.agents[i].team] == NULL)
            look_at(&call->root, &look->roster, i);
}

static const char *label(const struct session *session)
{
    return session->name[0] != '\0' ? session->name : session->tmux_name;
}

/* Returns the word for an agent's state; "stopped" if it has no host because its session is
 * stopped. */
static const char *state_word(const struct look *look, size_t i)
{
    const struct session *session = &look->sessions[look->roster.agents[i].team];
    const char *away = look->away[look->roster.agents[i].team];
    if (away != NULL)
        return away;
    bool stopped = look->roster.calls[i].answer == HOST_ABSENT && session->status == STATUS_STOPPED;
    return stopped ? "stopped" : agent_word(&look->roster, i);
}

/* Appends the command that brings back an agent without a host; `mas start` if the whole team has
 * none. */
static void add_way_back(const struct look *look, size_t i, struct str *to)
{
    const struct roster_agent *one = &look->roster.agents[i];
    const struct roster_team *team = &look->roster.teams[one->team];
    const struct session *session = &look->sessions[one->team];
    bool alone = true;

    if (look->roster.calls[i].answer != HOST_ABSENT || session->status == STATUS_STOPPED ||
        look->away[one->team] != NULL)
        return;
    for (size_t j = team->first; j < team->first + team->count; j++)
        alone = alone && look->roster.calls[j].answer == HOST_ABSENT;
    str_add(to, to->len > 0 ? " " : "");
    if (lease_clock_is_lost(session->lease))
        str_add(to, "the session's lease was lost ");
    if (alone)
        err_add_commands(to, "(mas start %s)", label(session));
    else
        err_add_commands(to, "(mas restart %s %s)", label(session), one->agent->id);
}

/* Which columns the table has because an agent tells something for them. */
struct told_columns {
    bool context, cost, account, resources;
};

static struct told_columns find_columns(const struct look *look)
{
    struct told_columns columns = {.context = false};

    for (size_t i = 0; i < look->roster.count; i++) {
        const struct roster_agent *one = &look->roster.agents[i];
        if (!one->told)
            continue;
        columns.account = columns.account || one->status.account[0] != '\0';
        columns.resources = columns.resources || one->status.resources.memory != -1;
        if (!one->status.talks)
            continue;
        columns.context = columns.context || agent_usage_percent(&one->status.usage) != -1;
        columns.cost = columns.cost || one->status.usage.cost.currency[0] != '\0';
    }
    return columns;
}

/* Adds the cells of these columns, blank for what is not known. */
static void add_usage_cells(const struct roster_agent *one, const struct told_columns *columns,
                            struct table *table)
{
    int percent = one->told ? agent_usage_percent(&one->status.usage) : -1;
    char context[24] = "";
    char cost[MONEY_TEXT] = "";
    char cpu[AGENT_CPU_TEXT] = "";
    char memory[NUMBER_SIZE_TEXT] = "";

    if (one->told)
        agent_resources_format(&one->status.resources, cpu, memory);
    if (percent != -1)
        (void)snprintf(context, sizeof context, "%d%%", percent);
    if (one->told && one->status.usage.cost.currency[0] != '\0')
        money_format(&one->status.usage.cost, cost);
    if (columns->context)
        table_add(table, context, NULL);
    if (columns->cost)
        table_add(table, cost, NULL);
    if (columns->account)
        table_add(table, one->told ? one->status.account : "", NULL);
    if (columns->resources) {
        table_add(table, cpu, NULL);
        table_add(table, memory, NULL);
    }
}

static void add_row(const struct look *look, struct table *table, size_t i,
                    const struct told_columns *columns, int64_t now)
{
    const struct roster_agent *one = &look->roster.agents[i];
    _cleanup_str_ struct str note = STR_INIT;
    char age[24];
    char pid[24] = "-";
    char restarts[24] = "-";

    agent_age(&look->roster, i, now, age);
    agent_add_note(&look->roster, i, now, &note);
    add_way_back(look, i, &note);
    if (one->told && one->status.pid != 0)
        (void)snprintf(pid, sizeof pid, "%ld", (long)one->status.pid);
    if (one->told)
        (void)snprintf(restarts, sizeof restarts, "%d", one->status.restarts);
    if (look->roster.team_count > 1)
        table_add(table, label(&look->sessions[one->team]), NULL);
    table_add(table, one->agent->id, NULL);
    table_add(table, one->agent->role, NULL);
    table_add(table, state_word(look, i), agent_colour(&look->roster, i));
    table_add(table, age, NULL);
    if (look->has_code)
        agent_add_code_cells(&look->roster, i, now, table);
    add_usage_cells(one, columns, table);
    table_add(table, pid, NULL);
    table_add(table, restarts, NULL);
    table_add(table, str_text(&note), NULL);
}

/* Sort key: agents that wait for an answer first, then crashed ones, then those whose turn failed,
 * then the others. */
static int urgency(const struct look *look, size_t i)
{
    const struct roster_agent *one = &look->roster.agents[i];
    if (!one->told)
        return 3;
    return one->status.state == AGENT_WAITING               ? 0
           : one->status.state == AGENT_CRASHED             ? 1
           : attention_of(&one->status) == ATTENTION_FAILED ? 2
                                                            : 3;
}

/* Returns the numbers of the agents in the order of --watch. The caller frees the list. */
static size_t *sort_by_urgency(const struct look *look)
{
    size_t *order = mem_alloc((look->roster.count + 1) * sizeof *order);
    size_t count = 0;

    for (int level = 0; level <= 3; level++)
        for (size_t i = 0; i < look->roster.count; i++)
            if (urgency(look, i) == level)
                order[count++] = i;
    return order;
}

/* Prints a summary of the agents that do not fit: "+9 more: 7 idle, 2 working". */
static void print_rest(const struct look *look, const size_t *order, size_t from)
{
    _cleanup_str_ struct str line = STR_INIT;
    size_t count = look->roster.count;
    bool *counted = mem_alloc(count * sizeof *counted);
    const char *lead = ": ";

    str_addf(&line, "+%zu more", count - from);
    for (size_t i = from; i < count; i++) {
        const char *word = state_word(look, order[i]);
        size_t same = 0;
        for (size_t j = i; j < count; j++) {
            bool is = !counted[j] && strcmp(state_word(look, order[j]), word) == 0;
            counted[j] = counted[j] || is;
            same += is;
        }
        if (same > 0)
            str_addf(&line, "%s%zu %s", lead, same, word);
        lead = same > 0 ? ", " : lead;
    }
    free(counted);
    size_t columns = screen_size().columns;
    if (columns > 0 && line.len > columns)
        line.data[line.len = columns] = '\0';
    print_line(&line);
}

static bool has_column(const struct look *look, const struct told_columns *columns,
                       const char *head)
{
    if (strcmp(head, "SESSION") == 0)
        return look->roster.team_count > 1;
    if (strcmp(head, "CONTEXT") == 0)
        return columns->context;
    if (strcmp(head, "COST") == 0)
        return columns->cost;
    if (strcmp(head, "ACCOUNT") == 0)
        return columns->account;
    if (strcmp(head, "CPU") == 0 || strcmp(head, "MEM") == 0)
        return columns->resources;
    return look->has_code || (strcmp(head, "BRANCH") != 0 && strcmp(head, "CODE") != 0);
}

/* Prints the table of the agents in at most `rows` rows. `order` may be NULL. */
static void print_table(const struct look *look, const size_t *order, size_t rows)
{
    static const char *const heads[] = {"SESSION", "AGENT", "ROLE",    "STATE",    "SINCE",
                                        "BRANCH",  "CODE",  "CONTEXT", "COST",     "ACCOUNT",
                                        "CPU",     "MEM",   "PID",     "RESTARTS", "NOTE"};
    static const char *const spare[] = {"MEM",    "CPU",   "PID",     "RESTARTS", "ROLE",
                                        "BRANCH", "SINCE", "CONTEXT", "ACCOUNT",  NULL};
    const struct told_columns columns = find_columns(look);
    struct table table = {.spare = spare, .whole_last = !look->watch};
    int64_t now = time_epoch_ms();
    size_t count = look->roster.count;

    if (count + 1 > rows) /* the headings and the summary of the rest take one row each */
        count = rows > 3 ? rows - 2 : 1;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        if (has_column(look, &columns, heads[i]))
            table_add(&table, heads[i], colour_dim());
    table.columns = table.count;
    for (size_t i = 0; i < count; i++)
        add_row(look, &table, order != NULL ? order[i] : i, &columns, now);
    if (look->roster.count > 0)
        table_print(&table);
    if (count < look->roster.count)
        print_rest(look, order, count);
    table_free(&table);
}

/* Prints a line for each session over its limit. */
static void print_over(const struct look *look)
{
    for (size_t i = 0; look->usages != NULL && i < look->roster.team_count; i++) {
        const char *name = label(&look->sessions[i]);
        _cleanup_str_ struct str line = STR_INIT;
        _cleanup_free_ char *what = usage_over(look->limits[i], &look->usages[i]);
        if (look->limits[i] == 0 || what == NULL)
            continue;
        str_add_visible(&line, name, strlen(name));
        str_addf(&line, " %s", what);
        print_line(&line);
    }
}

/* Says what a landing would bring home. */
static void print_unlanded(const struct look *look)
{
    for (size_t i = 0; i < look->roster.team_count; i++) {
        const char *name = label(&look->sessions[i]);
        _cleanup_str_ struct str line = STR_INIT;
        if (look->unlanded[i] == 0)
            continue;
        str_add_visible(&line, name, strlen(name));
        str_addf(&line, " has %zu commit%s to land", look->unlanded[i],
                 look->unlanded[i] == 1 ? "" : "s");
        err_add_commands(&line, "; see: mas diff %s main", name);
        print_line(&line);
    }
}

static void print_json(const struct look *look)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "sessions", '[');
    for (size_t i = 0; i < look->roster.team_count; i++) {
        const struct roster_team *team = &look->roster.teams[i];
        json_open(&out, NULL, '{');
        json_put_all(&out, JT("sessionId", team->id),
                     JT("tmuxSession", look->sessions[i].tmux_name),
                     JT("name", look->sessions[i].name));
        if (look->sessions[i].machine[0] != '\0')
            json_put(&out, "machine", machine_host(look->sessions[i].machine));
        if (look->away[i] != NULL)
            json_put_bool(&out, "elsewhere", true);
        if (look->limits[i] != 0) {
            json_put_int(&out, "diskUsed", (int64_t)look->usages[i].all.real);
            json_put_int(&out, "diskLimit", (int64_t)look->limits[i]);
        }
        if (team->team.project.path != NULL && look->away[i] == NULL)
            json_put_int(&out, "unlanded", (int64_t)look->unlanded[i]);
        json_open(&out, "agents", '[');
        for (size_t j = team->first; j < team->first + team->count; j++) {
            json_open(&out, NULL, '{');
            agent_put_json(&look->roster, j, &out);
            json_close(&out, '}');
        }
        json_close(&out, ']');
        json_close(&out, '}');
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

/* Prints the current state of one agent on one line. */
static void print_change(const struct look *look, size_t i)
{
    const struct roster_agent *one = &look->roster.agents[i];
    _cleanup_str_ struct str text = STR_INIT;

    if (look->json) {
        struct json_out out = {.to = &text};
        json_open(&out, NULL, '{');
        json_put(&out, "sessionId", look->roster.teams[one->team].id);
        agent_put_json(&look->roster, i, &out);
        json_close(&out, '}');
    } else {
        _cleanup_str_ struct str note = STR_INIT;
        char now[TIME_TEXT];
        time_format(time(NULL), now);
        agent_add_note(&look->roster, i, time_epoch_ms(), &note);
        str_addf(&text, "%s  %s  %s  %s", now, label(&look->sessions[one->team]), one->agent->id,
                 state_word(look, i));
        if (one->status.code.looked_ms != 0) {
            str_add(&text, "  ");
            agent_add_code(&look->roster, i, time_epoch_ms(), &text);
        }
        if (note.len > 0) {
            str_add(&text, "  ");
            str_add_visible(&text, note.data, note.len);
        }
    }
    print_line(&text);
    (void)fflush(stdout);
}

/* Draws the table from the top of the screen; leaves the last row for the cursor. */
static void draw(const struct look *look)
{
    size_t rows = screen_size().rows;
    _cleanup_free_ size_t *order = sort_by_urgency(look);

    (void)fputs("\033[H\033[J", stdout);
    print_table(look, order, rows > 1 ? rows - 1 : SIZE_MAX);
    (void)fflush(stdout);
}

static bool on_change(struct host_call *call, const struct frame *reply, void *arg)
{
    struct look *look = arg;
    (void)roster_keep_status(call, reply, &look->roster);
    look->changed = true;
    if (look->json || isatty(STDOUT_FILENO) == 0)
        print_change(look, (size_t)(call - look->roster.calls));
    return false;
}

/* Drops the status of agents whose hosts are gone. With `lines`, prints a line for each. */
static void note_gone(struct look *look, bool lines)
{
    for (size_t i = 0; i < look->roster.count; i++) {
        if (look->gone[i] || look->roster.calls[i].answer == HOST_PENDING)
            continue;
        look->gone[i] = true;
        look->roster.agents[i].told = false;
        look->changed = true;
        if (lines)
            print_change(look, i);
    }
}

/* Shows changes until all hosts are gone. */
static void watch(struct look *look)
{
    struct roster *roster = &look->roster;
    bool lines = look->json || isatty(STDOUT_FILENO) == 0;
    int64_t drawn = time_monotonic_ms();
    size_t pending = roster->count;

    look->gone = mem_alloc((roster->count + 1) * sizeof *look->gone);
    while (pending > 0) {
        int64_t now = time_monotonic_ms();
        look->changed = false;
        note_gone(look, lines);
        pending = hosts_step(roster->calls, roster->count, lines ? -1 : TICK_MS, on_change, look);
        if (!lines && look->changed) /* combine simultaneous changes in one redraw */
            pending = hosts_step(roster->calls, roster->count, TOGETHER_MS, on_change, look);
        if (!lines && (look->changed || now - drawn >= TICK_MS)) {
            draw(look);
            drawn = now;
        }
    }
    note_gone(look, lines);
    if (!lines)
        draw(look);
}

static int run_status(struct call *call, struct err *err)
{
    _cleanup_look_ struct look look = {.roster = ROSTER_INIT, .json = call->json};

    look.watch = call_opt(call, "watch") != NULL;
    int rc = add_sessions(call, &look, err);
    if (look.roster.team_count == 0 && rc == -1)
        return -1;
    look.has_code = agents_have_code(&look.roster);
    roster_ask_coming(&look.roster, question(&look), HOSTS_COME_MS);
    if (look.watch) {
        loop_end_with(STDOUT_FILENO);
        watch(&look);
        return rc;
    }
    measure(call, &look); /* while the hosts answer */
    roster_finish(&look.roster, HOSTS_ANSWER_MS);
    look_at_code(call, &look);
    agents_read_waiting(&look.roster);
    if (call->json)
        print_json(&look);
    else if (look.roster.count > 0)
        print_table(&look, NULL, SIZE_MAX);
    else
        roots_say_none(call, "no session is running");
    if (!call->json) {
        print_over(&look);
        print_unlanded(&look);
    }
    return rc;
}

const struct cmd cmd_status = {
    .name = "status",
    .group = GROUP_AGENTS,
    .operands = " [SESSION...]",
    .summary = "show what each agent is doing",
    .examples = "mas status\n"
                "mas status shop --watch",
    .details = "mas asks all hosts at the same time; a host that does not answer within 200 ms is "
               "shown as 'no answer'. Without SESSION, show the team in whose pane the command "
               "runs; elsewhere show every session that is meant to run. --watch continues until "
               "all hosts are gone: on a terminal, agents that wait for an answer come first, and "
               "the last line counts the agents that do not fit; elsewhere, mas prints a line for "
               "each change.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_SESSIONS,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON | TAKES_ALL_HOSTS,
    .run = run_status,
};
