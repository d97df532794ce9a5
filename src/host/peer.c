/*
 * Finds out who makes a request. The socket says which process has connected. What the process says
 * of itself proves nothing, and neither does its environment. Whatever an agent starts stays below
 * the agent's supervisor, which is a subreaper. That includes daemons and tmux servers.
 */
#include "host/state.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Reads whose supervisor a process is. It is a fork of a host, so it has the host's arguments, "mas
 * host ID AGENT", and environment. */
static void read_supervisor(const struct host *host, pid_t supervisor, struct client *client)
{
    _cleanup_free_ char *root = mem_printf("MAS_ROOT=%s", host->root.path);
    _cleanup_free_ char *session = proc_argument(supervisor, 2);
    _cleanup_free_ char *agent = proc_argument(supervisor, 3);
    const struct agent *known = agent != NULL ? team_agent(&host->team, agent) : NULL;

    if (known != NULL && session != NULL && strcmp(session, host->session.id) == 0 &&
        proc_has_entry(supervisor, root)) {
        client->whose = PEER_AGENT;
        client->agent = known;
        return;
    }
    client->whose = PEER_STRANGER;
    client->stranger = mem_printf("agent '%s' of session '%s'", agent != NULL ? agent : "?",
                                  session != NULL ? session : "?");
}

static bool is_supervisor(const char *name)
{
    return strcmp(name, SUPERVISOR_NAME) == 0 || strcmp(name, SUPERVISOR_NAME_BEFORE) == 0;
}

/* Looks at the client's ancestors. The nearest supervisor counts. An operator's supervisor does
 * not, because a person types there, or an agent further up. A process whose supervisor was killed
 * is a child of the host. */
static void look(const struct host *host, struct client *client)
{
    _cleanup_free_ struct proc_above *line = NULL;
    size_t count = 0;

    if (host->pane_program != 0 && client->peer.pid == host->pane_program) {
        client->whose = PEER_PERSON;
        return;
    }
    if (proc_lineage(&client->peer, &line, &count) == -1) {
        client->whose = PEER_GONE;
        return;
    }
    client->whose = PEER_PERSON;
    for (size_t i = 1; i < count && client->whose == PEER_PERSON; i++) {
        if (is_supervisor(line[i].name)) {
            read_supervisor(host, line[i].pid, client);
        } else if (line[i].pid == host->pid && !host->is_operator) {
            client->whose = PEER_AGENT;
            client->agent = host->agent;
        }
    }
}

int peer_sender(const struct host *host, struct client *client, const struct frame *frame,
                const struct agent **ret, struct err *err)
{
    const char *from = json_get_text(frame->head, "from");
    const struct agent *named = from != NULL ? team_agent(&host->team, from) : NULL;

    if (client->whose == PEER_NEW)
        look(host, client);
    switch (client->whose) {
    case PEER_AGENT:
        *ret = client->agent;
        return 0;
    case PEER_STRANGER:
        (void)err_set(err, MAS_FAILED, "an agent may write only to its own team");
        return err_hint(err, "the requesting process was started by %s", client->stranger);
    case PEER_GONE:
        return err_set(err, MAS_FAILED,
                       "the requesting process cannot be identified: it has ended, or is outside "
                       "of this PID namespace");
    case PEER_NEW:
    case PEER_PERSON:
    default:
        if (from != NULL && named == NULL)
            return err_set(err, MAS_NOT_FOUND, "the team has no agent '%s'", from);
        *ret = named;
        return 0;
    }
}

bool peer_is_person(const struct host *host, struct client *client)
{
    if (client->whose == PEER_NEW)
        look(host, client);
    return client->whose == PEER_PERSON;
}
