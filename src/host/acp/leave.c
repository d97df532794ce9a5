/*
 * When the context was cleared or the conversation changed, the agent gets a while to end a turn
 * that was cut off; what it still says there is dropped. Then its session is closed, and it gets
 * one for the present query. A process that would grow with each session is restarted.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/talk/turn.h"
#include "os/proc.h"

enum {
    UNCLOSED_MAX = 4, /* sessions left behind in a process that cannot close them */
    LEFT_MAX = 20, /* in a process that can */
    SERVERS_MAX = 4, /* programs of mas that still run for closed sessions: Codex keeps them */
};

/* Returns how many programs of mas run below the host: its supervisors, and `mas mcp` for each
 * session of the agent. */
static size_t count_own(void)
{
    struct proc_id *ids = NULL;
    size_t count = proc_descendants(NULL, 0, &ids);
    size_t own = 0;

    for (size_t i = 0; i < count; i++)
        own += proc_runs_same_program(ids[i].pid);
    free(ids);
    return own;
}

/* Returns true if the process would grow with each clear: it has sessions that it cannot close, or
 * keeps the programs of those that it closed. */
static bool is_littered(struct agent_link *link)
{
    size_t servers = count_own();

    if (link->left <= 1 || servers < link->servers)
        link->servers = servers;
    return link->unclosed >= UNCLOSED_MAX || link->left >= LEFT_MAX ||
           servers > link->servers + SERVERS_MAX;
}

void leave_turn_ended(struct host *host)
{
    struct agent_link *link = &host->conversation->link;

    opening_leave(host);
    if (is_littered(link)) {
        host_log(host, link->unclosed > 0
                           ? "the agent cannot close sessions and is restarted"
                           : "the agent keeps programs of closed sessions and is restarted");
        child_end(host, child_times(host), 0, true);
        return;
    }
    resume_begin(host);
}

void leave_session(struct host *host, int64_t turn, bool cleared)
{
    const struct conversation *conversation = host->conversation;
    struct agent_link *link = &host->conversation->link;

    if (cleared)
        link->cleared = conversation->talk.session != NULL;
    if (cleared && link->phase.now == PHASE_OPENS && conversation->resume.summary.len == 0)
        return; /* a session that is being opened knows nothing yet, and serves the new query */
    if (link->acp == NULL || host->child.phase != CHILD_RUNS ||
        link->phase.now == PHASE_INITIALIZES || link->phase.now == PHASE_STUCK)
        return; /* the next session is for the new query anyway */
    if (turn != 0)
        link_enter(host, PHASE_ENDS_TURN, turn, time_monotonic_ms() + TURN_CANCEL_MS);
    else if (link->phase.now != PHASE_ENDS_TURN)
        leave_turn_ended(host);
}
