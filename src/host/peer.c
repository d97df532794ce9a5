/*
 * Finds out who makes a request. The socket says which process has connected. What the process says
 * of itself proves nothing, and neither does its environment. Whatever an agent starts stays below
 * the agent's supervisor, which is a subreaper. That includes daemons and tmux servers.
 *
 * So if the ancestors of a client include a supervisor, the client is the agent of that supervisor,
 * for every host of the user. The supervisor of a shell has another name (mas-superv-op) and does
 * not count. Therefore the tests, whose clients act as persons, cannot run below an agent.
 */
#include "host/state.h"

#include "store/workspace.h"

/* Reads whose supervisor a process is. It is a fork of a host, so it has the host's arguments, "mas
 * host ID AGENT", and environment. */
static void read_supervisor(const struct host *host, pid_t supervisor, struct client *client)
{
    _cleanup_free_ char *root = mem_printf("MAS_ROOT=%s", host->root.path);
    _cleanup_free_ char *session = proc_argument(supervisor, 2);
    _cleanup_free_ char *agent = proc_argument(supervisor, 3);
    const struct agent *known = agent != NULL ? host_member(host, agent) : NULL;
    bool here = proc_has_entry(supervisor, root);

    if (known != NULL && session != NULL && strcmp(session, host->session.id) == 0 && here) {
        client->whose = PEER_AGENT;
        client->agent = known;
        return;
    }
    client->whose = PEER_STRANGER;
    client->elsewhere = !here;
    client->stranger = mem_printf("agent '%s' of session '%s'", agent != NULL ? agent : "?",
                                  session != NULL ? session : "?");
}

/* Looks at the client, which may be a supervisor that does a job itself, and its ancestors. The
 * nearest supervisor counts. An operator's supervisor does not, because a person types there, or an
 * agent further up. A process whose supervisor was killed is a child of the host. */
static void look(const struct host *host, struct client *client)
{
    _cleanup_free_ struct proc_above *line = NULL;
    size_t count = 0;

    if ((host->pane_program != 0 && client->peer.pid == host->pane_program) ||
        (host->disk.runs && client->peer.pid == host->disk.proc.pid)) {
        client->whose = PEER_PERSON;
        return;
    }
    if (proc_lineage(&client->peer, &line, &count) == -1) {
        client->whose = PEER_GONE;
        return;
    }
    client->whose = PEER_PERSON;
    for (size_t i = 0; i < count && client->whose == PEER_PERSON; i++) {
        if (strcmp(line[i].name, SUPERVISOR_NAME) == 0) {
            read_supervisor(host, line[i].pid, client);
        } else if (line[i].pid == host->pid && !host->is_operator) {
            client->whose = PEER_AGENT;
            client->agent = host->agent;
        }
    }
}

static int fail_gone(struct err *err)
{
    return err_set(err, MAS_FAILED,
                   "the requesting process cannot be identified: it has ended, or is outside of "
                   "this PID namespace");
}

int peer_sender(const struct host *host, struct client *client, const struct frame *frame,
                const struct agent **ret, struct err *err)
{
    const char *from = json_get_text(frame->head, "from");
    const struct agent *named = from != NULL ? host_member(host, from) : NULL;

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
        return fail_gone(err);
    case PEER_NEW:
    case PEER_PERSON:
    default:
        if (from != NULL && named == NULL)
            return err_set(err, MAS_NOT_FOUND, "the team has no agent '%s'", from);
        *ret = named;
        return 0;
    }
}

int peer_check_person(const struct host *host, struct client *client, bool elsewhere,
                      struct err *err)
{
    if (client->whose == PEER_NEW)
        look(host, client);
    if (client->whose == PEER_GONE)
        return fail_gone(err);
    if (client->whose == PEER_PERSON || (client->elsewhere && elsewhere))
        return 0;
    if (client->whose == PEER_AGENT && client->agent == host->agent)
        return err_set(err, MAS_FAILED, "an agent may not decide this for itself");
    (void)err_set(err, MAS_FAILED, "only a person may decide this");
    return err_hint(err, "the requesting process was started by %s%s",
                    client->whose == PEER_AGENT ? "agent " : "",
                    client->whose == PEER_AGENT ? client->agent->id : client->stranger);
}

bool peer_is_person(const struct host *host, struct client *client)
{
    if (client->whose == PEER_NEW)
        look(host, client);
    return client->whose == PEER_PERSON;
}

int peer_check_own(const struct host *host, pid_t pid, struct err *err)
{
    struct client client = {.whose = PEER_NEW, .peer = {.pid = pid}};

    (void)proc_identify(pid, &client.peer);
    look(host, &client);
    _cleanup_free_ char *stranger = client.stranger;
    if (client.whose == PEER_PERSON || (client.whose == PEER_AGENT && client.agent == host->agent))
        return 0;
    return err_set(err, MAS_FAILED, "%s is not the socket of %s%s", MAS_SOCKET_VARIABLE,
                   client.whose == PEER_AGENT ? "agent " : "",
                   client.whose == PEER_AGENT ? client.agent->id
                   : stranger != NULL         ? stranger
                                              : "a process that has ended");
}
