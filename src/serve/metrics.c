/*
 * Requests are counted as they end, by the row of their operation, on the event loop, so without a
 * lock. The rest is found when somebody asks, most of it in the list of sessions that requests
 * share; the request waits for that as GET /sessions does. Each add_*() appends a few metrics with
 * their heads.
 */

#include "serve/metrics.h"

#include "base/time.h"
#include "memory/starts.h"
#include "serve/api.h"
#include "serve/events.h"
#include "serve/http.h"
#include "serve/server.h"
#include "store/limits/login_quota.h"

enum { ROUTES_MAX = 128, BUCKETS = 8 };

/* Upper limits of the buckets, in microseconds. */
static const int64_t ends[BUCKETS] = {1000, 5000, 10000, 50000, 100000, 1000000, 5000000, 30000000};
static const char *const end_names[BUCKETS] = {"0.001", "0.005", "0.01", "0.05",
                                               "0.1",   "1",     "5",    "30"};
static const int statuses[] = {200, 201, 202, 304, 400, 401, 403, 404, 405,
                               409, 410, 413, 414, 422, 500, 503, 504, 507};

struct counter {
    uint64_t by_status[ARRAY_LEN(statuses)];
    uint64_t timed, buckets[BUCKETS], sum_us;
};

struct metrics {
    struct counter counters[ROUTES_MAX + 1]; /* the last one: requests without a route */
};

struct metrics *metrics_make(void)
{
    return mem_alloc(sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
    free(metrics);
}

void metrics_count(const struct request *request, int64_t took_us)
{
    size_t route =
        request->operation == NULL ? ROUTES_MAX : (size_t)(request->operation - operations);
    struct counter *counter = &request->server->metrics->counters[route];

    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        counter->by_status[i] += statuses[i] == request->answer.status;
    if (took_us < 0)
        return;
    counter->timed++;
    counter->sum_us += (uint64_t)took_us;
    for (size_t i = 0; i < BUCKETS; i++)
        counter->buckets[i] += took_us <= ends[i];
}

static void add_head(struct str *to, const char *name, const char *type, const char *help)
{
    str_addf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_labels(struct str *to, size_t i)
{
    if (i == ROUTES_MAX)
        str_add(to, "{route=\"other\",method=\"\"");
    else
        str_addf(to, "{route=\"%s\",method=\"%s\"", operations[i].path,
                 method_name(operations[i].method));
}

static void add_counts(const struct metrics *metrics, struct str *to)
{
    add_head(to, "mas_http_requests_total", "counter", "Requests answered.");
    for (size_t i = 0; i <= ROUTES_MAX; i++)
        for (size_t j = 0; j < ARRAY_LEN(statuses); j++) {
            uint64_t n = metrics->counters[i].by_status[j];
            if (n == 0)
                continue;
            str_add(to, "mas_http_requests_total");
            add_labels(to, i);
            str_addf(to, ",status=\"%d\"} %llu\n", statuses[j], (unsigned long long)n);
        }
}

static void add_times(const struct metrics *metrics, struct str *to)
{
    static const char name[] = "mas_http_request_seconds";

    add_head(to, name, "histogram", "Time until the answer, in seconds.");
    for (size_t i = 0; i <= ROUTES_MAX; i++) {
        const struct counter *counter = &metrics->counters[i];
        if (counter->timed == 0)
            continue;
        for (size_t j = 0; j < BUCKETS; j++) {
            str_addf(to, "%s_bucket", name);
            add_labels(to, i);
            str_addf(to, ",le=\"%s\"} %llu\n", end_names[j],
                     (unsigned long long)counter->buckets[j]);
        }
        str_addf(to, "%s_bucket", name);
        add_labels(to, i);
        str_addf(to, ",le=\"+Inf\"} %llu\n", (unsigned long long)counter->timed);
        str_addf(to, "%s_sum", name);
        add_labels(to, i);
        str_addf(to, "} %.6f\n", (double)counter->sum_us / 1e6);
        str_addf(to, "%s_count", name);
        add_labels(to, i);
        str_addf(to, "} %llu\n", (unsigned long long)counter->timed);
    }
}

static void add_sessions(const struct survey *survey, struct str *to)
{
    size_t by_status[STATUS_COUNT] = {0};
    size_t by_state[AGENT_STATE_COUNT] = {0};
    size_t crashed = 0;

    for (size_t i = 0; i < survey->count; i++) {
        by_status[survey->views[i].status]++;
        crashed += survey->views[i].crashed;
        for (size_t j = 0; j < AGENT_STATE_COUNT; j++)
            by_state[j] += view_counts(&survey->views[i])->states[j];
    }
    add_head(to, "mas_sessions", "gauge", "Sessions by status.");
    for (size_t i = 0; i < STATUS_COUNT; i++)
        str_addf(to, "mas_sessions{status=\"%s\"} %zu\n", status_name((enum status)i),
                 by_status[i]);
    add_head(to, "mas_sessions_crashed", "gauge", "Sessions that have crashed.");
    str_addf(to, "mas_sessions_crashed %zu\n", crashed);
    add_head(to, "mas_agents", "gauge", "Agents by state.");
    for (size_t i = 0; i < AGENT_STATE_COUNT; i++)
        str_addf(to, "mas_agents{state=\"%s\"} %zu\n", agent_state_name((enum agent_state)i),
                 by_state[i]);
}

static void add_starts(const struct root *root, struct str *to)
{
    uint64_t counts[OUTCOME_COUNT];

    starts_read(root, counts);
    add_head(to, "mas_agent_starts_total", "counter",
             "Starts of agents by what they came to: how they know what was said before.");
    for (size_t i = 0; i < OUTCOME_COUNT; i++)
        str_addf(to, "mas_agent_starts_total{outcome=\"%s\"} %llu\n",
                 store_outcome_name((enum store_outcome)i), (unsigned long long)counts[i]);
}

/* What the agents of running sessions have used, as far as they tell. */
static void add_used(const struct survey *survey, struct str *to)
{
    char cost[MONEY_TEXT];

    add_head(to, "mas_agent_tokens", "gauge", "Tokens that the agents of a session have used.");
    for (size_t i = 0; i < survey->count; i++)
        if (view_counts(&survey->views[i])->tokens > 0)
            str_addf(to, "mas_agent_tokens{session=\"%s\"} %lld\n", survey->views[i].row.id,
                     (long long)view_counts(&survey->views[i])->tokens);
    add_head(to, "mas_agent_cost", "gauge", "What the agents of a session have cost.");
    for (size_t i = 0; i < survey->count; i++)
        for (size_t j = 0; j < AGENT_COUNTS_CURRENCIES; j++) {
            const struct money *money = &view_counts(&survey->views[i])->costs[j];
            if (money->currency[0] == '\0')
                break;
            money_format_number(money->micro, cost);
            str_addf(to, "mas_agent_cost{session=\"%s\",currency=\"%s\"} %s\n",
                     survey->views[i].row.id, money->currency, cost);
        }
}

/* What the processes of the agents of running sessions use. */
static void add_resources(const struct survey *survey, struct str *to)
{
    add_head(to, "mas_agent_cpu_seconds", "gauge",
             "CPU time that the processes of a session's agents have used.");
    for (size_t i = 0; i < survey->count; i++)
        if (view_counts(&survey->views[i])->told > 0)
            str_addf(to, "mas_agent_cpu_seconds{session=\"%s\"} %.3f\n", survey->views[i].row.id,
                     (double)view_counts(&survey->views[i])->cpu_ms / 1e3);
    add_head(to, "mas_agent_memory_bytes", "gauge",
             "Memory of the processes of a session's agents.");
    for (size_t i = 0; i < survey->count; i++)
        if (view_counts(&survey->views[i])->told > 0)
            str_addf(to, "mas_agent_memory_bytes{session=\"%s\"} %lld\n", survey->views[i].row.id,
                     (long long)view_counts(&survey->views[i])->memory);
}

static void add_window(const struct login_quota *quota, void *arg)
{
    for (size_t i = 0; i < quota->count; i++)
        if (quota_holds_now(&quota->windows[i], time_epoch_ms()))
            str_addf(arg,
                     "mas_quota_used_ratio{preset=\"%s\",login=\"%s\",window=\"%s\"} %d.%02d\n",
                     quota->preset, quota->login, quota->windows[i].name,
                     quota->windows[i].percent / 100, quota->windows[i].percent % 100);
}

static void add_quota(const struct root *root, struct str *to)
{
    struct err ignored = ERR_INIT;

    add_head(to, "mas_quota_used_ratio", "gauge", "What is used of a provider's window, of 1.");
    (void)login_quota_each(root, add_window, to, &ignored);
}

void api_metrics_answer(struct request *request, const struct listing *listing)
{
    const struct survey *survey = &listing->survey;
    struct str body = STR_INIT;

    add_sessions(survey, &body);
    add_starts(&request->server->root, &body);
    add_used(survey, &body);
    add_quota(&request->server->root, &body);
    add_resources(survey, &body);
    add_counts(request->server->metrics, &body);
    add_times(request->server->metrics, &body);
    add_head(&body, "mas_http_connections", "gauge", "Open connections.");
    str_addf(&body, "mas_http_connections %zu\n", http_connections(request->server->http));
    add_head(&body, "mas_event_listeners", "gauge", "Clients that listen to events.");
    str_addf(&body, "mas_event_listeners %zu\n", http_streams(request->server->http));
    answer_json(request, 200, &body);
    request->answer.type = "text/plain; version=0.0.4";
}

enum handled api_metrics(struct request *request)
{
    struct listing *listing = list_get(&request->server->list, request, false);

    if (listing == NULL)
        return HANDLED_LATER;
    api_metrics_answer(request, listing);
    return HANDLED_NOW;
}

enum handled api_health(struct request *request)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_put_all(&out, JO(NULL), JT("status", request->server->ending ? "ending" : "ok"),
                 JT("version", MAS_VERSION), JOE);
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}
