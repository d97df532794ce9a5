/*
 * who_waits() finds where to go. Inside tmux the client is moved: within its server by one call, to
 * another server by having it run `mas attach` in its place; elsewhere this process becomes that.
 * Only a client that has been moved is noted for --back, which forgets places that are gone as it
 * meets them.
 */

#include "base/time.h"
#include "cli/print.h"
#include "client/who_waits.h"
#include "cmd.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/came_from.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* Where the person is. */
struct here {
    char *socket; /* of the tmux server; NULL: this terminal is in none */
    struct tmux_place place;
};

static int find_here(const struct call *call, struct here *ret, struct err *err)
{
    const char *client = call_opt(call, "client");

    ret->socket = tmux_inside();
    if (ret->socket == NULL && client != NULL)
        return err_set(err, MAS_USAGE, "cannot use --client '%s': this is not inside tmux", client);
    return ret->socket != NULL ? tmux_client_place(ret->socket, client, &ret->place, err) : 0;
}

/* Appends the command that attaches a terminal to an agent, as a line for a shell. */
static int add_attach(const struct call *call, const struct waiter *to, struct str *line,
                      struct err *err)
{
    _cleanup_free_ char *exe = path_exe();

    if (exe == NULL)
        return err_errno(err, "cannot find the program that this is");
    str_add(line, "exec ");
    str_add_shell(line, exe, false);
    str_add(line, " --root ");
    str_add_shell(line, call->root.path, false);
    str_addf(line, " attach -s %s %s", to->session, to->agent);
    return 0;
}

/* Remembers where the person was. Without that `--back` finds less, which is no reason to stay. */
static void remember(const struct call *call, const struct here *here)
{
    struct came_from from = {.terminal = ""};
    struct err ignored = ERR_INIT;

    if (strlen(here->socket) >= sizeof from.socket)
        return;
    (void)snprintf(from.terminal, sizeof from.terminal, "%s", here->place.client);
    (void)snprintf(from.session, sizeof from.session, "%s", here->place.session);
    (void)snprintf(from.window, sizeof from.window, "%s", here->place.window);
    (void)snprintf(from.pane, sizeof from.pane, "%s", here->place.pane);
    (void)snprintf(from.socket, sizeof from.socket, "%s", here->socket);
    (void)came_from_push(&call->root, &from, &ignored);
}

/* Becomes a client of the agent's session. Returns only on failure. */
static int attach_here(const struct call *call, const struct waiter *to, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    const char *argv[] = {"mas", "--root",    call->root.path, "attach",
                          "-s",  to->session, to->agent,       NULL};

    if (exe == NULL)
        return err_errno(err, "cannot find the program that this is");
    return proc_exec(exe, (char *const *)(uintptr_t)argv, NULL, err);
}

static int go(const struct call *call, const struct here *here, const struct waiter *to,
              struct err *err)
{
    _cleanup_close_ int dir = workspace_open(&call->root, to->session);
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_str_ struct str line = STR_INIT;
    int rc;

    if (here->socket == NULL)
        return attach_here(call, to, err);
    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", to->session);
    if (session_load(&call->root, dir, to->session, &session, err) == -1)
        return -1;
    if (tmux_same_socket(here->socket, session.tmux_socket))
        rc = tmux_client_go(here->socket, here->place.client, to->pane, to->session, err);
    else
        rc = add_attach(call, to, &line, err) == -1 ||
                     tmux_client_hand_over(here->socket, here->place.client, str_text(&line),
                                           err) == -1
                 ? -1
                 : 0;
    if (rc == 0)
        remember(call, here);
    return rc;
}

static void print_waiter(const struct call *call, const struct waiter *waiter)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    char since[TIME_TEXT];

    if (!call->json) {
        printf("%s %s %s\n", session_label(&call->root, waiter->session).text, waiter->agent,
               waiter->turn != TURN_NONE ? turn_outcome_name(waiter->turn)
                                         : agent_state_name(waiter->state));
        return;
    }
    time_format((time_t)(waiter->since_ms / 1000), since);
    json_put_all(&out, JO(NULL), JT("session", waiter->session), JT("agent", waiter->agent),
                 JT("state", agent_state_name(waiter->state)),
                 JT("turnEnd", waiter->turn != TURN_NONE ? turn_outcome_name(waiter->turn) : NULL),
                 JT("since", since), JI("sinceMs", waiter->since_ms), JT("pane", waiter->pane),
                 JOE);
    print_line(&text);
}

static int next(struct call *call, const struct here *here, struct err *err)
{
    struct waiter waiter;
    bool only_say = call->json || call_opt(call, "dry-run") != NULL;
    int found =
        who_waits(&call->root, &call->config, here->place.id, here->place.pane, &waiter, err);

    if (found == -1)
        return -1;
    if (found == 0)
        return err_set(err, MAS_NOT_FOUND, "cannot go to the next agent: nobody waits for you");
    if (only_say) {
        print_waiter(call, &waiter);
        return 0;
    }
    who_tell_seen(&call->root, waiter.session, waiter.agent);
    return go(call, here, &waiter, err);
}

/* Goes to one place; fails with MAS_NOT_FOUND if it is gone. */
static int go_back(const struct here *here, const struct came_from *from, struct err *err)
{
    struct tmux_place place = {.client = ""};
    _cleanup_str_ struct str line = STR_INIT;
    pid_t pid;

    (void)snprintf(place.session, sizeof place.session, "%s", from->session);
    (void)snprintf(place.window, sizeof place.window, "%s", from->window);
    (void)snprintf(place.pane, sizeof place.pane, "%s", from->pane);
    if (tmux_same_socket(here->socket, from->socket))
        return tmux_client_go(here->socket, here->place.client, from->pane, NULL, err);
    if (tmux_is_alive(from->socket, &pid, err) != 1)
        return err_set(err, MAS_NOT_FOUND, "cannot go back to '%s': its tmux server is gone",
                       from->socket);
    str_add(&line, "exec ");
    if (tmux_add_attach(from->socket, &place, &line, err) == -1)
        return -1;
    return tmux_client_hand_over(here->socket, here->place.client, str_text(&line), err);
}

static int back(struct call *call, const struct here *here, struct err *err)
{
    struct came_from from;
    int found;

    if (here->socket == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot go back: this terminal is not inside tmux");
    while ((found = came_from_pop(&call->root, here->place.client, &from, err)) == 1) {
        struct err why = ERR_INIT;
        if (go_back(here, &from, &why) == 0)
            return 0;
        if (why.code != MAS_NOT_FOUND) {
            *err = why;
            return -1;
        }
    }
    if (found == -1)
        return -1;
    return err_set(err, MAS_NOT_FOUND, "cannot go back: this terminal came from nowhere");
}

static int run_next(struct call *call, struct err *err)
{
    const char *client = call_opt(call, "client");
    struct here here = {.socket = NULL};
    bool only_say = call->json || call_opt(call, "dry-run") != NULL;

    int rc = only_say && client == NULL ? 0 : find_here(call, &here, err);
    if (rc == 0)
        rc = call_opt(call, "back") != NULL ? back(call, &here, err) : next(call, &here, err);
    if (rc == -1 && client != NULL && here.place.client[0] != '\0') {
        /* the key binding has no other place for it */
        tmux_client_say(here.socket, client, err->text);
        *err = (struct err)ERR_INIT;
        rc = 0;
    }
    free(here.socket);
    return rc;
}

static const struct opt opts[] = {
    {0, "back", NULL, "go back to where this terminal was before"},
    {'n', "dry-run", NULL, "only print who waits"},
    {0, "client", "CLIENT", "the tmux client that moves, for key bindings"},
    {.name = NULL},
};

const struct cmd cmd_next = {
    .name = "next",
    .group = GROUP_AGENTS,
    .operands = "",
    .summary = "go to the agent that has waited longest for you",
    .examples = "mas next\n"
                "mas next --back",
    .details = "Agents wait for a permission or an answer, have crashed, or are paused. At the "
               "pane of an agent that waits, mas goes to the one after it. Inside tmux, only "
               "this client moves, also to another tmux server; elsewhere this terminal attaches. "
               "Exit status 3: nobody waits, or there is nowhere to go back to.",
    .opts = opts,
    .operands_max = 0,
    .root = ROOT_NEEDED,
    .takes = TAKES_JSON,
    .does = WAITS_LONG | USES_TERMINAL,
    .run = run_next,
};
