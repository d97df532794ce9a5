#include "client/agent_counts.h"

#include "base/path.h"
#include "store/workspace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_call(struct tallies *tallies, int run, const char *agent, size_t place)
{
    tallies->calls = mem_room(tallies->calls, tallies->count, sizeof *tallies->calls);
    tallies->places = mem_room(tallies->places, tallies->count, sizeof *tallies->places);
    tallies->calls[tallies->count] =
        (struct host_call){.run = run, .agent = agent, .connection = HOST_CONNECTION_INIT};
    tallies->places[tallies->count++] = place;
}

void tallies_ask(struct tallies *tallies, int dir, size_t place)
{
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    char **names = hosts_list(run, WORKSPACE_HOST_SOCKET);
    size_t first = tallies->count;

    if (names == NULL)
        return;
    tallies->names = mem_room(tallies->names, tallies->session_count, sizeof *tallies->names);
    tallies->names[tallies->session_count++] = names;
    for (char **name = names; *name != NULL; name++)
        add_call(tallies, run, *name, place);
    hosts_start(tallies->calls + first, tallies->count - first, "{\"do\":\"status\"}", NULL, 0);
    for (size_t i = first; i < tallies->count; i++)
        /* the caller closes it; calls without a descriptor are dropped */
        tallies->calls[i].run = -1;
}

static bool on_reply(struct host_call *call, const struct frame *reply, void *arg)
{
    struct tallies *tallies = arg;
    struct agent_counts *counts = &tallies->totals[tallies->places[call - tallies->calls]];
    enum agent_state state;

    if (agent_state_parse(json_get_text(reply->head, "state"), &state)) {
        counts->told++;
        counts->states[state]++;
    }
    return true;
}

void tallies_finish(struct tallies *tallies, int timeout_ms, struct agent_counts *totals)
{
    tallies->totals = totals;
    if (totals != NULL)
        hosts_finish(tallies->calls, tallies->count, timeout_ms, on_reply, tallies);
    else
        hosts_end(tallies->calls, tallies->count);
    for (size_t i = 0; i < tallies->session_count; i++)
        strv_free(tallies->names[i]);
    free(tallies->names);
    free(tallies->calls);
    free(tallies->places);
    *tallies = (struct tallies){.count = 0};
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
