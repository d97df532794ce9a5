/*
 * The session is asked as by `show --json`; of what it answers, names and ports are believed if
 * they can be such. Ten in a row are chosen for each agent before ssh starts, and nothing is
 * printed before ssh has them all: if another program takes one in between, ssh says so.
 */

#include "cli/remote/remote_forward.h"

#include "cli/print.h"
#include "cli/remote/remote.h"
#include "cli/table.h"
#include "fleet/reach.h"
#include "model/team/team.h"
#include "store/ports.h"

enum {
    SHOWN_MAX = 8 << 20, /* bytes of what `show` prints */
    PORT_LOWEST = 1024,
    PORT_HIGHEST = 65535,
};

struct forwarded {
    const char *agent;
    int here, there; /* the first of ten */
};

struct forwarding {
    const struct call *call;
    const struct remote *remote;
    struct json *shown;
    struct forwarded agents[TEAM_AGENTS_MAX];
    size_t count;
};

/* ---- what to forward */

static int find_remote(struct forwarding *forwarding, const char *word, struct err *err)
{
    const char *colon = strchr(word, ':');
    _cleanup_free_ char *name = mem_dupn(word, colon != NULL ? (size_t)(colon - word) : 0);

    if (colon == NULL || colon[1] == '\0')
        return err_set(err, MAS_USAGE, "cannot forward ports of '%s': it is not HOST:SESSION",
                       word);
    forwarding->remote = config_remote(&forwarding->call->config, name);
    if (forwarding->remote != NULL && forwarding->remote->via != REMOTE_SSH)
        return err_set(err, MAS_USAGE,
                       "cannot forward ports of host '%s': it is not reached over ssh", name);
    if (forwarding->remote != NULL)
        return 0;
    (void)err_set(err, MAS_NOT_FOUND, "cannot reach host '%s': there is no section [host %s]", name,
                  name);
    return err_hint(err, "list the hosts with: mas remote list");
}

/* Asks for the session there. */
static int ask(struct forwarding *forwarding, const char *session, struct err *err)
{
    char *words[] = {(char[]){"show"}, (char[]){"--json"}, (char[]){"--"},
                     (char *)(uintptr_t)session, NULL};
    const struct reach_ask ask = {.command = {.remote = forwarding->remote, .words = words},
                                  .output_max = SHOWN_MAX,
                                  .timeout_ms = REACH_LOGIN_MS + REACH_BEGIN_MS};
    const char *name = forwarding->remote->name;
    int rc = reach_ask_json(&ask, &forwarding->shown, err);

    if (rc == REACH_REFUSED)
        return err_wrap(err, "host '%s'", name);
    return rc == REACH_STRANGE
               ? err_set(err, MAS_DAMAGED, "cannot read what host '%s' answers", name)
               : rc;
}

static bool is_used(const struct forwarding *forwarding, int port)
{
    for (size_t i = 0; i < forwarding->count; i++)
        if (abs(forwarding->agents[i].here - port) < PORTS_EACH)
            return true;
    return false;
}

static int add(struct forwarding *forwarding, const char *agent, int there, struct err *err)
{
    int here = ports_spare(there);

    while (here != 0 && is_used(forwarding, here))
        here = ports_spare(here + PORTS_EACH);
    if (here == 0)
        return err_set(err, MAS_FAILED, "cannot forward the ports of agent '%s': no ten are free",
                       agent);
    forwarding->agents[forwarding->count++] = (struct forwarded){agent, here, there};
    return 0;
}

static int choose(struct forwarding *forwarding, const char *agent, struct err *err)
{
    const struct json *one = json_first(json_get(forwarding->shown, "agents"));
    bool found = false;

    for (; one != NULL && forwarding->count < TEAM_AGENTS_MAX; one = json_next(one)) {
        const char *id = json_get_text_or(one, "id", "");
        int64_t port = json_int(json_get(one, "port"), 0);
        if (!team_is_agent_id(id) || (agent != NULL && strcmp(id, agent) != 0))
            continue;
        found = true;
        if (port >= PORT_LOWEST && port + PORTS_EACH - 1 <= PORT_HIGHEST &&
            add(forwarding, id, (int)port, err) == -1)
            return -1;
    }
    if (agent != NULL && !found)
        return err_set(err, MAS_NOT_FOUND, "cannot find agent '%s': the team has no such agent",
                       agent);
    if (forwarding->count > 0)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot forward ports: no agent has any yet");
    return err_hint(err, "an agent gets its ports when it first starts");
}

/* ---- forwarding */

static void print_ready(void *arg)
{
    static const char *const heads[] = {"AGENT", "HERE", "THERE"};
    const struct forwarding *forwarding = arg;
    struct table table = {.columns = ARRAY_LEN(heads)};

    table_heads(&table, heads);
    for (size_t i = 0; i < forwarding->count; i++) {
        const struct forwarded *one = &forwarding->agents[i];
        _cleanup_free_ char *here =
            mem_printf("127.0.0.1:%d-%d", one->here, one->here + PORTS_EACH - 1);
        _cleanup_free_ char *there = mem_printf("%s:%d-%d", forwarding->remote->name, one->there,
                                                one->there + PORTS_EACH - 1);
        table_add(&table, one->agent, NULL);
        table_add(&table, here, NULL);
        table_add(&table, there, NULL);
    }
    table_print(&table);
    table_free(&table);
    (void)fflush(stdout);
}

static int forward(struct forwarding *forwarding, struct err *err)
{
    size_t count = forwarding->count * PORTS_EACH;
    _cleanup_free_ struct reach_port *ports = mem_alloc(count * sizeof *ports);

    for (size_t i = 0; i < count; i++) {
        const struct forwarded *one = &forwarding->agents[i / PORTS_EACH];
        int at = (int)(i % PORTS_EACH);
        ports[i] = (struct reach_port){one->here + at, one->there + at};
    }
    const struct reach_forward wanted = {.remote = forwarding->remote,
                                         .ports = ports,
                                         .count = count,
                                         .ready = print_ready,
                                         .arg = forwarding};
    int sig = 0;
    int rc = reach_forward(&wanted, &sig, err);
    if (rc == 0)
        remote_end_by(sig);
    return rc;
}

int remote_forward(const struct call *call, const char *session, const char *agent, struct err *err)
{
    struct forwarding forwarding = {.call = call};
    int rc = find_remote(&forwarding, session, err);

    if (rc == 0)
        rc = ask(&forwarding, strchr(session, ':') + 1, err);
    if (rc == 0)
        rc = choose(&forwarding, agent, err);
    if (rc == 0)
        rc = forward(&forwarding, err);
    json_free(forwarding.shown);
    return rc;
}
