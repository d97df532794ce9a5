/*
 * The tables of `--all-hosts`. A verb names the member of an answer that has its rows, a column the
 * member of a row and how it is shown; nothing else of an answer is looked at, and texts are cut,
 * as a machine is not believed. Jobs and machines with a problem become rows of the same table.
 * `top` puts the agents of all machines into one order.
 */

#include "base/number.h"
#include "base/time.h"
#include "cli/all_hosts.h"
#include "cli/print.h"
#include "cli/table.h"
#include "model/agent_status.h"

enum { CELL_MAX = 200 }; /* bytes of a text */

/* A row: an object of the answer's array, and for `status` one of its agents. */
struct fleet_row {
    const struct json *row, *agent;
    time_t now;
};

typedef void put_cell(const struct fleet_row *row, const char *member, struct str *to);

static void put_text(const struct json *from, const char *member, struct str *to)
{
    const char *text = json_get_text_or(from, member, "");
    str_addn(to, text, str_fit(text, CELL_MAX));
}

static void put_plain(const struct fleet_row *row, const char *member, struct str *to)
{
    put_text(row->row, member, to);
}

static void put_of_agent(const struct fleet_row *row, const char *member, struct str *to)
{
    put_text(row->agent, member, to);
}

static void put_since(const struct json *from, const char *member, time_t now, struct str *to)
{
    char age[24];
    time_t when = 0;

    if (time_parse(json_get_text_or(from, member, ""), &when) && when != 0) {
        time_age(when, now, age);
        str_add(to, age);
    }
}

static void put_age(const struct fleet_row *row, const char *member, struct str *to)
{
    put_since(row->row, member, row->now, to);
}

static void put_agent_age(const struct fleet_row *row, const char *member, struct str *to)
{
    put_since(row->agent, member, row->now, to);
}

static void put_number(const struct fleet_row *row, const char *member, struct str *to)
{
    int64_t n = json_int(json_get(row->row, member), -1);
    if (n >= 0)
        str_addf(to, "%" PRId64, n);
}

static void put_size(const struct fleet_row *row, const char *member, struct str *to)
{
    char text[NUMBER_SIZE_TEXT];
    int64_t n = json_int(json_get(row->row, member), -1);

    if (n < 0)
        return;
    number_format_size((uint64_t)n, text);
    str_add(to, text);
}

static void put_session(const struct fleet_row *row, const char *member, struct str *to)
{
    put_text(row->row, json_get_text_or(row->row, member, "")[0] != '\0' ? member : "tmuxSession",
             to);
}

static void put_agents(const struct fleet_row *row, const char *member, struct str *to)
{
    int64_t running = json_int(json_get(row->row, member), 0);
    int64_t ended = json_int(json_get(row->row, "agentsEnded"), 0);
    const char *lead = ", ";

    if (running + ended == 0)
        return;
    str_addf(to, "%" PRId64 "/%" PRId64, running, running + ended);
    static const char *const worth[] = {"waiting", "crashed", "paused", "limited", "asleep"};
    for (size_t i = 0; i < ARRAY_LEN(worth); i++) {
        int64_t n = json_int(json_get(json_get(row->row, "agentStates"), worth[i]), 0);
        if (n > 0)
            str_addf(to, "%s%" PRId64 " %s", lead, n, worth[i]);
    }
}

static void put_code(const struct fleet_row *row, const char *member, struct str *to)
{
    const struct json *code = json_get(row->row, member);

    if (code != NULL)
        code_figures_format(json_int(json_get(code, "ahead"), 0),
                            json_int(json_get(code, "behind"), 0),
                            json_int(json_get(code, "changed"), 0), to);
}

static void put_if(const struct json *row, const char *member, const char *text, struct str *to)
{
    if (json_bool(json_get(row, member), false))
        str_add(to, text);
}

/* In the words of print_status(). */
static void put_status(const struct fleet_row *row, const char *member, struct str *to)
{
    const char *reason = json_get_text(row->row, "reason");

    put_text(row->row, member, to);
    if (json_bool(json_get(row->row, "elsewhere"), false)) {
        str_add(to, " on ");
        put_text(row->row, "machine", to);
    }
    put_if(row->row, "crashed", " (crashed)", to);
    put_if(row->row, "migrating", " (migrating)", to);
    put_if(row->row, "leaseLost", " (lease lost)", to);
    if (json_get_text(row->row, "movedTo") != NULL) {
        str_add(to, " (moved to ");
        put_text(row->row, "movedTo", to);
        str_add(to, ")");
    }
    put_if(row->row, "private", " (private)", to);
    if (reason != NULL)
        str_addf(to, ": %.*s", (int)str_fit(reason, CELL_MAX), reason);
}

/* What the lines of `usage` are about: whichever members they have. */
static void put_usage_key(const struct fleet_row *row, const char *member, struct str *to)
{
    static const char *const members[] = {"agent", "day", "model", "account"};

    str_addn(to, json_get_text_or(row->row, member, ""),
             str_fit(json_get_text_or(row->row, member, ""), 8));
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (json_get_text(row->row, members[i]) == NULL)
            continue;
        str_add(to, to->len > 0 ? " " : "");
        put_text(row->row, members[i], to);
    }
}

static void put_tokens(const struct fleet_row *row, const char *member, struct str *to)
{
    int64_t n = json_int(json_get(json_get(row->row, "tokens"), member), -1);
    if (n >= 0)
        str_addf(to, "%" PRId64, n);
}

static void put_costs(const struct fleet_row *row, const char *member, struct str *to)
{
    for (const struct json *cost = json_first(json_get(row->row, member)); cost != NULL;
         cost = json_next(cost))
        if (json_is_number(json_get(cost, "cost")))
            str_addf(to, "%s%.2f %.8s", to->len > 0 ? ", " : "",
                     json_number(json_get(cost, "cost"), 0),
                     json_get_text_or(cost, "currency", ""));
}

struct fleet_column {
    const char *head, *member;
    put_cell *put;
};

static const struct fleet_column list_columns[] = {
    {"SESSION", "tmuxSession", put_plain},
    {"NAME", "name", put_plain},
    {"TEMPLATE", "template", put_plain},
    {"MODE", "mode", put_plain},
    {"AGE", "createdAt", put_age},
    {"ACTIVE", "lastActivity", put_age},
    {"CODE", "code", put_code},
    {"AGENTS", "agentsRunning", put_agents},
    {"STATUS", "status", put_status},
    {NULL, NULL, NULL},
};
static const struct fleet_column status_columns[] = {
    {"SESSION", "name", put_session},
    {"AGENT", "id", put_of_agent},
    {"ROLE", "role", put_of_agent},
    {"STATE", "state", put_of_agent},
    {"SINCE", "since", put_agent_age},
    {"NOTE", "note", put_of_agent},
    {NULL, NULL, NULL},
};
static const struct fleet_column search_columns[] = {
    {"SESSION", "sessionId", put_plain}, {"AGENT", "agent", put_plain},
    {"ROLE", "role", put_plain},         {"TIME", "time", put_plain},
    {"TEXT", "snippet", put_plain},      {NULL, NULL, NULL},
};
static const struct fleet_column usage_columns[] = {
    {"OF", "sessionId", put_usage_key},
    {"TURNS", "turns", put_number},
    {"TOKENS", "all", put_tokens},
    {"COST", "costs", put_costs},
    {NULL, NULL, NULL},
};
static const struct fleet_column du_columns[] = {
    {"SESSION", "sessionId", put_plain},
    {"NAME", "name", put_plain},
    {"STATUS", "status", put_plain},
    {"FILES", "files", put_number},
    {"APPARENT", "apparent", put_size},
    {"REAL", "real", put_size},
    {"OWN", "own", put_size},
    {NULL, NULL, NULL},
};

static const struct fleet_column doctor_columns[] = {
    {"STATE", "state", put_plain},
    {"SUBJECT", "subject", put_plain},
    {"WHAT", "what", put_plain},
    {NULL, NULL, NULL},
};

static const struct fleet_verb {
    const char *verb, *array;
    const struct fleet_column *columns;
} verbs[] = {
    {"list", "sessions", list_columns},     {"status", "sessions", status_columns},
    {"search", "messages", search_columns}, {"usage", "usage", usage_columns},
    {"du", "sessions", du_columns},         {"doctor", "findings", doctor_columns},
};

/* The columns to omit on a narrow terminal, in this order. */
static const char *const spare[] = {"MODE",   "TEMPLATE", "ROLE", "APPARENT",
                                    "ACTIVE", "AGE",      "CODE", NULL};

static const struct fleet_verb *find_verb(const char *verb)
{
    size_t i = 0;
    while (strcmp(verbs[i].verb, verb) != 0)
        i++;
    return &verbs[i];
}

const char *all_hosts_array(const char *verb)
{
    return find_verb(verb)->array;
}

const struct json *all_hosts_rows(const char *verb, const struct json *answer)
{
    const struct json *rows = json_get(answer, find_verb(verb)->array);
    return json_is_array(rows) ? rows : NULL;
}

const struct json *all_hosts_jobs(const char *verb, const struct json *answer)
{
    const struct json *jobs = strcmp(verb, "list") == 0 ? json_get(answer, "jobs") : NULL;
    return json_is_array(jobs) ? jobs : NULL;
}

bool all_hosts_is_new_job(const struct fleet_answers *answers, size_t at, const struct json *job)
{
    const char *id = json_get_text_or(job, "sessionId", "");

    for (size_t i = 0; i < at; i++)
        for (const struct json *other =
                 json_first(all_hosts_jobs(answers->verb, answers->list[i].json));
             other != NULL; other = json_next(other))
            if (strcmp(json_get_text_or(other, "sessionId", ""), id) == 0)
                return false;
    return json_is_object(job);
}

static void add_cell(struct table *table, const struct str *text, const char *colour_text)
{
    table_add(table, text->len > 0 ? text->data : "-", colour_text);
}

static void add_row(struct table *table, const struct fleet_verb *verb, const char *host,
                    const struct fleet_row *row)
{
    table_add(table, host != NULL ? host : "-", NULL);
    for (const struct fleet_column *column = verb->columns; column->head != NULL; column++) {
        _cleanup_str_ struct str text = STR_INIT;
        column->put(row, column->member, &text);
        add_cell(table, &text, NULL);
    }
}

static void add_rows(struct table *table, const struct fleet_verb *verb,
                     const struct fleet_answer *answer, time_t now)
{
    const struct json *rows = all_hosts_rows(verb->verb, answer->json);

    for (const struct json *at = json_first(rows); at != NULL; at = json_next(at)) {
        struct fleet_row row = {.row = at, .now = now};
        if (verb->columns != status_columns) {
            add_row(table, verb, answer->host, &row);
            continue;
        }
        for (row.agent = json_first(json_get(at, "agents")); row.agent != NULL;
             row.agent = json_next(row.agent))
            add_row(table, verb, answer->host, &row);
    }
}

/* What Slurm says of a job. */
static void put_job_state(const struct json *job, struct str *to)
{
    const char *reason = json_get_text(job, "reason");

    str_add(to, "job ");
    put_text(job, "state", to);
    if (reason != NULL)
        str_addf(to, ": %.*s", (int)str_fit(reason, CELL_MAX), reason);
}

/* The columns of a job; the others are blank. */
static void put_job_cell(const struct fleet_row *row, const char *head, struct str *to)
{
    const char *id = json_get_text_or(row->row, "sessionId", "");

    if (strcmp(head, "SESSION") == 0)
        str_addf(to, "mas-%.*s", (int)str_fit(id, 8), id);
    else if (strcmp(head, "NAME") == 0)
        put_text(row->row, "name", to);
    else if (strcmp(head, "TEMPLATE") == 0)
        put_text(row->row, "template", to);
    else if (strcmp(head, "AGE") == 0)
        put_since(row->row, "submittedAt", row->now, to);
    else if (strcmp(head, "STATUS") == 0)
        put_job_state(row->row, to);
}

static void add_jobs(struct table *table, const struct fleet_answers *answers, size_t at,
                     time_t now)
{
    const struct fleet_answer *answer = &answers->list[at];
    const struct json *job = json_first(all_hosts_jobs(answers->verb, answer->json));

    for (; job != NULL; job = json_next(job)) {
        const struct fleet_row row = {.row = job, .now = now};
        _cleanup_str_ struct str host = STR_INIT;
        if (!all_hosts_is_new_job(answers, at, job))
            continue;
        str_addf(&host, "%s%s", answer->host != NULL ? answer->host : "",
                 answer->host != NULL ? ":" : "");
        put_text(job, "host", &host);
        table_add(table, host.data, NULL);
        for (const struct fleet_column *column = list_columns; column->head != NULL; column++) {
            _cleanup_str_ struct str text = STR_INIT;
            put_job_cell(&row, column->head, &text);
            add_cell(table, &text, NULL);
        }
    }
}

/* Adds the row of a machine with a problem: its last column says what is wrong. */
static void add_problem(struct table *table, const struct fleet_answer *answer, time_t now)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str host = STR_INIT;

    str_addn(&text, answer->problem, str_fit(answer->problem, 2 * CELL_MAX));
    if (!answer->reached && answer->known.when != 0) {
        char age[24];
        time_age(answer->known.when, now, age);
        str_addf(&text, "; %s ago it had %" PRId64 " session%s, %" PRId64 " active", age,
                 answer->known.sessions, answer->known.sessions == 1 ? "" : "s",
                 answer->known.active);
    }
    str_addf(&host, "%s%s%s", answer->host != NULL ? answer->host : "-",
             answer->label != NULL ? ":" : "", answer->label != NULL ? answer->label : "");
    table_add(table, host.data, colour(TINT_HELD));
    for (size_t i = 2; i < table->columns; i++)
        table_add(table, "-", NULL);
    add_cell(table, &text, colour(TINT_HELD));
}

static bool has_summary(const struct fleet_answer *answer)
{
    return answer->is_slurm ? answer->reached : answer->greeting.version[0] != '\0';
}

/* `doctor`: adds a row with what a machine says of itself. */
static void add_summary(struct table *table, const struct fleet_answer *answer)
{
    const struct greeting *greeting = &answer->greeting;
    _cleanup_str_ struct str text = STR_INIT;
    char size[NUMBER_SIZE_TEXT];

    if (answer->is_slurm)
        str_add(&text,
                greeting->store_free >= 0 ? "Slurm answers" : "its store does not exist yet");
    else
        str_addf(&text, "mas %s, tmux %s, clock %+.1f s", greeting->version,
                 greeting->tmux[0] != '\0' ? greeting->tmux : GREETING_NONE,
                 (double)answer->clock_ms / 1000);
    if (greeting->free >= 0) {
        number_format_size((uint64_t)greeting->free, size);
        str_addf(&text, ", %s free", size);
    }
    if (greeting->store_free >= 0) {
        number_format_size((uint64_t)greeting->store_free, size);
        str_addf(&text, ", %s free in the store", size);
    }
    table_add(table, answer->host != NULL ? answer->host : "-", NULL);
    table_add(table, "note", NULL);
    table_add(table, "machine", NULL);
    table_add(table, text.data, NULL);
}

void all_hosts_table(const struct fleet_answers *answers)
{
    const struct fleet_verb *verb = find_verb(answers->verb);
    struct table table = {.spare = spare, .whole_last = true};
    time_t now = time(NULL);

    table_add(&table, "HOST", colour_dim());
    for (const struct fleet_column *column = verb->columns; column->head != NULL; column++)
        table_add(&table, column->head, colour_dim());
    table.columns = table.count;
    for (size_t i = 0; i < answers->count; i++)
        if (verb->columns == doctor_columns && has_summary(&answers->list[i]))
            add_summary(&table, &answers->list[i]);
    for (size_t i = 0; i < answers->count; i++) {
        add_rows(&table, verb, &answers->list[i], now);
        add_jobs(&table, answers, i, now);
    }
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].problem != NULL)
            add_problem(&table, &answers->list[i], now);
    table_print(&table);
    table_free(&table);
}

/* ---- top */

/* What an agent does, the most urgent first; another word comes last. */
static const char *const urgent[] = {"waiting",  "crashed", "no host", "silent",
                                     "paused",   "limited", "working", "running",
                                     "starting", "idle",    "asleep"};

struct ranked_row {
    const struct fleet_answer *answer;
    struct fleet_row row;
    size_t rank;
    int64_t since_ms;
    size_t place; /* in the answers */
};

static size_t rank_of(const struct json *agent)
{
    const char *state = json_get_text_or(agent, "state", "");
    size_t i = 0;

    while (i < ARRAY_LEN(urgent) && strcmp(urgent[i], state) != 0)
        i++;
    return i;
}

/* Of two that do the same, the one that has done so for longer comes first; qsort() alone keeps no
 * order of those that began at once. */
static int compare_rows(const void *one, const void *other)
{
    const struct ranked_row *a = one;
    const struct ranked_row *b = other;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->since_ms != b->since_ms)
        return a->since_ms < b->since_ms ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static struct ranked_row *collect(const struct fleet_answers *answers, time_t now,
                                  size_t *ret_count)
{
    struct ranked_row *rows = NULL;
    size_t count = 0;

    for (size_t i = 0; i < answers->count; i++) {
        const struct fleet_answer *answer = &answers->list[i];
        const struct json *team = json_first(all_hosts_rows(answers->verb, answer->json));
        for (; team != NULL; team = json_next(team)) {
            const struct json *agent = json_first(json_get(team, "agents"));
            for (; agent != NULL; agent = json_next(agent)) {
                rows = mem_room(rows, count, sizeof *rows);
                rows[count] =
                    (struct ranked_row){.answer = answer,
                                        .row = {.row = team, .agent = agent, .now = now},
                                        .rank = rank_of(agent),
                                        .since_ms = json_int(json_get(agent, "sinceMs"), 0),
                                        .place = count};
                count++;
            }
        }
    }
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_rows);
    *ret_count = count;
    return rows;
}

void all_hosts_top_table(const struct fleet_answers *answers, size_t rows)
{
    const struct fleet_verb *verb = find_verb(answers->verb);
    struct table table = {.spare = spare, .whole_last = rows == 0};
    time_t now = time(NULL);
    size_t count = 0;
    struct ranked_row *list = collect(answers, now, &count);
    size_t used = 1;
    size_t shown = 0;

    table_add(&table, "HOST", colour_dim());
    for (const struct fleet_column *column = verb->columns; column->head != NULL; column++)
        table_add(&table, column->head, colour_dim());
    table.columns = table.count;
    for (size_t i = 0; i < answers->count; i++)
        if (answers->list[i].problem != NULL && (rows == 0 || used + 1 < rows)) {
            add_problem(&table, &answers->list[i], now);
            used++;
        }
    for (; shown < count && (rows == 0 || used + (shown + 1 < count) < rows); shown++, used++)
        add_row(&table, verb, list[shown].answer->host, &list[shown].row);
    table_print(&table);
    if (shown < count)
        printf("... and %zu more\n", count - shown);
    table_free(&table);
    free(list);
}
