/*
 * One list of calls for all sessions, so that the slowest host sets the time and not their sum;
 * places[] tells whose answer it is. The descriptor of run/ is used only while the calls start,
 * which is why the caller may close it. An answer that is wrong or does not come counts nowhere.
 */

#include "client/agent_counts.h"

#include "code/work.h"
#include "os/path.h"
#include "store/workspace.h"

static void add_call(struct agent_counting *counting, int run, const char *agent, size_t place)
{
    counting->calls = mem_room(counting->calls, counting->count, sizeof *counting->calls);
    counting->places = mem_room(counting->places, counting->count, sizeof *counting->places);
    counting->calls[counting->count] =
        (struct host_call){.run = run, .agent = agent, .connection = HOST_CONNECTION_INIT};
    counting->places[counting->count++] = place;
}

void agent_counts_ask(struct agent_counting *counting, int dir, size_t place)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    char **names = hosts_list(run, WORKSPACE_HOST_SOCKET);
    size_t first = counting->count;

    if (names == NULL)
        return;
    counting->names = mem_room(counting->names, counting->session_count, sizeof *counting->names);
    counting->names[counting->session_count++] = names;
    for (char **name = names; *name != NULL; name++)
        add_call(counting, run, *name, place);
    hosts_start(counting->calls + first, counting->count - first, "{\"do\":\"status\"}", NULL, 0);
    for (size_t i = first; i < counting->count; i++)
        /* the caller closes it; calls without a descriptor are dropped */
        counting->calls[i].run = -1;
}

/* Adds a cost to those in its currency. Those in too many currencies are left out. */
static void add_cost(struct agent_counts *counts, const struct money *cost)
{
    size_t i = 0;

    while (i < AGENT_COUNTS_CURRENCIES && counts->costs[i].currency[0] != '\0' &&
           strcmp(counts->costs[i].currency, cost->currency) != 0)
        i++;
    if (i == AGENT_COUNTS_CURRENCIES || cost->currency[0] == '\0')
        return;
    memcpy(counts->costs[i].currency, cost->currency, strlen(cost->currency));
    counts->costs[i].micro = money_sum(counts->costs[i].micro, cost->micro);
}

static void add_code(struct code_counts *counts, const struct code_figures *code)
{
    if (code->looked_ms == 0 || code->problem[0] != '\0')
        return;
    counts->looked_ms = counts->agents == 0 || code->looked_ms < counts->looked_ms
                            ? code->looked_ms
                            : counts->looked_ms;
    counts->agents++;
    counts->ahead += code->ahead;
    counts->behind += code->behind;
    counts->changed += code->changed;
}

void agent_counts_add(struct agent_counts *counts, enum agent_state state,
                      const struct agent_usage *usage, const struct code_figures *code,
                      const struct agent_resources *resources)
{
    counts->told++;
    counts->states[state]++;
    counts->tokens += usage->tokens;
    add_cost(counts, &usage->cost);
    add_code(&counts->code, code);
    counts->cpu_ms += resources->cpu_ms > 0 ? resources->cpu_ms : 0;
    counts->memory += resources->memory > 0 ? resources->memory : 0;
}

void agent_counts_add_looked(struct agent_counts *counts, int workspace)
{
    struct code_figures *figures = NULL;
    size_t count = 0;

    work_looked(workspace, &figures, &count);
    for (size_t i = 0; i < count; i++)
        add_code(&counts->code, &figures[i]);
    free(figures);
}

void agent_counts_add_pane(struct agent_counts *counts, const struct json *object)
{
    struct agent_pane *known = &counts->pane;
    struct agent_pane pane;

    agent_pane_parse(object, &pane);
    if (counts->told == 1)
        *known = pane;
    if (pane.server != known->server || pane.agents != known->agents ||
        strcmp(pane.session, known->session) != 0)
        known->server = 0;
    if (pane.activity_ms > known->activity_ms)
        known->activity_ms = pane.activity_ms;
}

static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct agent_counting *counting = arg;
    struct agent_usage usage;
    struct code_figures code;
    struct agent_resources resources;
    enum agent_state state;

    if (agent_state_parse(json_get_text(reply->head, "state"), &state)) {
        agent_usage_parse(json_get(reply->head, "usage"), &usage);
        code_figures_parse(json_get(reply->head, "code"), &code);
        agent_resources_parse(json_get(reply->head, "resources"), &resources);
        struct agent_counts *counts = &counting->totals[counting->places[call - counting->calls]];
        agent_counts_add(counts, state, &usage, &code, &resources);
        agent_counts_add_pane(counts, json_get(reply->head, "tmux"));
    }
    return true;
}

void agent_counts_finish(struct agent_counting *counting, int timeout_ms,
                         struct agent_counts *totals)
{
    counting->totals = totals;
    if (totals != NULL)
        hosts_finish(counting->calls, counting->count, timeout_ms, on_reply, counting);
    else
        hosts_end(counting->calls, counting->count);
    for (size_t i = 0; i < counting->session_count; i++)
        strv_free(counting->names[i]);
    free(counting->names);
    free(counting->calls);
    free(counting->places);
    *counting = (struct agent_counting){.count = 0};
}

size_t agent_counts_live(const struct agent_counts *counts)
{
    size_t live = 0;
    for (size_t i = 0; i < AGENT_STATE_COUNT; i++)
        live += agent_state_is_live((enum agent_state)i) ? counts->states[i] : 0;
    return live;
}

size_t agent_counts_ended(const struct agent_counts *counts)
{
    return counts->states[AGENT_EXITED] + counts->states[AGENT_CRASHED];
}

bool agent_counts_equal(const struct agent_counts *a, const struct agent_counts *b)
{
    bool equal = a->told == b->told && a->tokens == b->tokens &&
                 memcmp(a->states, b->states, sizeof a->states) == 0 &&
                 a->code.agents == b->code.agents && a->code.ahead == b->code.ahead &&
                 a->code.behind == b->code.behind && a->code.changed == b->code.changed;

    for (size_t i = 0; i < AGENT_COUNTS_CURRENCIES && equal; i++) {
        equal = a->costs[i].micro == b->costs[i].micro &&
                strcmp(a->costs[i].currency, b->costs[i].currency) == 0;
    }
    return equal;
}
