/*
 * `mas mcp`. Each tool runs a command of mas as a child process. So the rules, messages and limits
 * are those of the command line, and cancelling a call means killing the child. One loop reads the
 * client, writes to it without blocking, and collects the children; when the client hangs up,
 * running calls are still answered, except those that only wait.
 */

#include "protocol/mcp.h"
#include "base/time.h"
#include "client/roster.h"
#include "cmd.h"
#include "model/operation.h"
#include "model/target.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"

enum {
    TOOLS_MAX = 32,
    CALLS_MAX = 32, /* at the same time */
    OUTPUT_MAX = 16 << 20, /* bytes of a command's output */
    QUICK_MS = 60 * 1000, /* time limit of a command that does not wait */
    WAIT_MAX = 3600, /* seconds */
    WAIT_DEFAULT = 60,
    CHUNK = 64 * 1024,
    WRITE_MAX = 4096, /* bytes that a pipe accepts without blocking when the loop reports room */
    PRINTED_MAX = 256 * 1024, /* bytes of a command's words, for the model */
};

/* A call that is running. */
struct running {
    char *ticket;
    const struct model_tool *tool;
    struct proc proc;
};

struct mcp_server {
    const char *session;
    const char *me; /* the agent that calls; NULL: a person */
    char *exe;
    const struct root *root;
    struct mcp *mcp;
    struct running calls[CALLS_MAX];
    size_t count;
    struct loop loop;
    bool ends;
};

/* ---- commands */

/* Arguments from the agent follow "--" or the name of an option. Texts go to standard input,
 * because every user of the machine can read a command line. */
static void on_call(void *arg, const char *ticket, const struct model_tool *tool,
                    const struct json *arguments)
{
    struct mcp_server *server = arg;
    const struct operation_values values = {
        .id = server->session, .agent = server->me, .params = arguments};
    _cleanup_strv_ char **words = NULL;
    struct err err = ERR_INIT;

    if (server->count == CALLS_MAX) {
        mcp_result(server->mcp, ticket, "too many calls are running", NULL, true);
        return;
    }
    strv_push(&words, "mas");
    const char *input = operation_words(tool->command, tool->params, &values, &words);
    const struct proc_spec spec = {
        .file = server->exe,
        .argv = words,
        .cwd = -1,
        .input = input,
        .input_len = input != NULL ? strlen(input) : 0,
        .output_max = OUTPUT_MAX,
        .timeout_ms = tool->waits ? (WAIT_MAX + WAIT_DEFAULT) * 1000 : QUICK_MS,
    };
    struct running *call = &server->calls[server->count];
    if (proc_start(&spec, &call->proc, &err) == -1) {
        mcp_result(server->mcp, ticket, err.text, NULL, true);
        return;
    }
    call->ticket = mem_dup(ticket);
    call->tool = tool;
    server->count++;
}

/* ---- results */

static bool is_tool(const struct model_tool *tool, const char *name)
{
    return strcmp(tool->name, name) == 0;
}

/* Returns true if the caller may write to an agent of this team. */
static bool may_write(const struct roster_team *team, const char *me, const char *agent)
{
    const struct agent *to = agent != NULL ? team_agent(&team->team, agent) : NULL;
    const struct agent *from = me != NULL ? team_agent(&team->team, me) : NULL;
    struct err ignored = ERR_INIT;

    return to != NULL && to != from && target_check_rule(&team->team, from, to, &ignored) == 0;
}

static void put_members(struct json_out *out, const struct json *node, const char *const *keys)
{
    json_open(out, NULL, '{');
    for (size_t i = 0; keys[i] != NULL; i++)
        if (json_get(node, keys[i]) != NULL && !json_is_null(json_get(node, keys[i])))
            json_put_node(out, keys[i], json_get(node, keys[i]));
}

static void put_agents(const struct mcp_server *server, const struct json *answer,
                       struct json_out *out)
{
    static const char *const keys[] = {"id",    "role", "rank",       "group", "state",
                                       "since", "note", "permission", "asks",  NULL};
    const struct json *session = json_first(json_get(answer, "sessions"));
    struct roster_team team = {.dir = -1};
    struct err ignored = ERR_INIT;
    bool is_open = roster_open(server->root, server->session, &team, &ignored) == 0;

    if (server->me != NULL)
        json_put(out, "you", server->me);
    json_open(out, "agents", '[');
    for (const struct json *node = json_first(json_get(session, "agents")); node != NULL;
         node = json_next(node)) {
        put_members(out, node, keys);
        json_put_bool(out, "mayWrite",
                      is_open && may_write(&team, server->me, json_get_text(node, "id")));
        json_close(out, '}');
    }
    json_close(out, ']');
    if (is_open)
        roster_close(&team);
}

static void put_messages(const struct json *answer, struct json_out *out)
{
    static const char *const keys[] = {"id",   "sessionId", "agent",      "role", "state",
                                       "time", "sender",    "stopReason", "text", NULL};

    json_open(out, "messages", '[');
    for (const struct json *node = json_first(json_get(answer, "messages")); node != NULL;
         node = json_next(node)) {
        put_members(out, node, keys);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_put_int(out, "total", json_int(json_get(answer, "total"), 0));
}

/* Writes what a command has printed, at most PRINTED_MAX bytes. */
static void put_printed(const struct proc_result *result, struct json_out *out)
{
    const char *text = str_text(&result->out);
    size_t len = str_fit(text, PRINTED_MAX);

    json_put_fit(out, "text", text, PRINTED_MAX);
    if (text[len] != '\0')
        json_put_int(out, "more", (int64_t)strlen(text + len)); /* bytes that are left out */
}

/* Writes the parts of a command's output that a model needs. */
static int put_answer(const struct mcp_server *server, const struct model_tool *tool,
                      const struct proc_result *result, struct str *to, struct err *err)
{
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = to};

    if (tool->json &&
        json_parse(str_text(&result->out), result->out.len, OUTPUT_MAX, &answer, err) == -1)
        return -1;
    json_open(&out, NULL, '{');
    if (is_tool(tool, "wait_for"))
        json_put_bool(&out, "reached", result->status == MAS_OK);
    else if (!tool->json)
        put_printed(result, &out);
    else if (is_tool(tool, "list_agents"))
        put_agents(server, answer, &out);
    else if (tool->reads && json_get(answer, "messages") != NULL)
        put_messages(answer, &out);
    else
        for (const struct json *node = json_first(answer); node != NULL; node = json_next(node))
            if (strcmp(json_key(node), "sessionId") != 0)
                json_put_node(&out, json_key(node), node);
    json_close(&out, '}');
    return 0;
}

/* Returns the command's error message without the name of the program. The caller frees it. */
static char *words_of_error(const struct proc_result *result)
{
    const char *text = str_text(&result->err);
    size_t len = strlen(text);

    if (str_starts(text, "mas: ")) {
        text += strlen("mas: ");
        len -= strlen("mas: ");
    }
    while (len > 0 && text[len - 1] == '\n')
        len--;
    return len > 0 ? mem_dupn(text, len)
                   : mem_printf("the command exited with code %d", result->status);
}

static void handle_result(struct mcp_server *server, struct running *call)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = ERR_INIT;
    int rc = proc_finish(&call->proc, &result, &err);
    bool done = rc == 0 && (result.status == MAS_OK ||
                            (is_tool(call->tool, "wait_for") && result.status == MAS_TIMEOUT));

    if (done && put_answer(server, call->tool, &result, &text, &err) == 0) {
        mcp_result(server->mcp, call->ticket, text.data, text.data, false);
    } else {
        _cleanup_free_ char *words = rc == 0 && !done ? words_of_error(&result) : mem_dup(err.text);
        mcp_result(server->mcp, call->ticket, words, NULL, true);
    }
}

static void forget(struct mcp_server *server, size_t i)
{
    free(server->calls[i].ticket);
    server->calls[i] = server->calls[--server->count];
}

static void on_cancelled(void *arg, const char *ticket)
{
    struct mcp_server *server = arg;

    for (size_t i = 0; i < server->count; i++) {
        if (strcmp(server->calls[i].ticket, ticket) != 0)
            continue;
        proc_abandon(&server->calls[i].proc);
        forget(server, i);
        return;
    }
}

/* ---- the loop */

static void read_client(struct mcp_server *server)
{
    char chunk[CHUNK];
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);

    if (n > 0)
        mcp_feed(server->mcp, chunk, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        server->ends = true;
}

static void write_client(struct mcp_server *server)
{
    size_t len = 0;
    const char *out = mcp_out(server->mcp, &len);
    ssize_t n = write(STDOUT_FILENO, out, len < WRITE_MAX ? len : WRITE_MAX);

    if (n > 0)
        mcp_sent(server->mcp, (size_t)n);
    else if (n == -1 && errno != EINTR && errno != EAGAIN)
        server->ends = true;
}

/* Handles finished commands. A command prints at its end, so output or an exit shows the end. */
static void handle_results(struct mcp_server *server)
{
    for (size_t i = server->count; i-- > 0;) {
        struct running *call = &server->calls[i];
        if (loop_got(&server->loop, call->proc.out) == 0 &&
            loop_got(&server->loop, call->proc.end_fd) == 0)
            continue;
        handle_result(server, call);
        forget(server, i);
    }
}

/* Waits for events and handles them. `last`: the client has hung up; only running calls remain. */
static void wait_and_serve(struct mcp_server *server, bool last)
{
    struct loop *loop = &server->loop;
    size_t len = 0;

    (void)mcp_out(server->mcp, &len);
    loop_begin(loop);
    if (!last && len <= MCP_LINE_MAX)
        loop_want(loop, STDIN_FILENO, POLLIN);
    loop_want(loop, STDOUT_FILENO, len > 0 ? POLLOUT : 0);
    for (size_t i = 0; i < server->count; i++) {
        loop_want(loop, server->calls[i].proc.out, POLLIN);
        loop_want(loop, server->calls[i].proc.end_fd, POLLIN);
    }
    if (loop_wait(loop, -1) <= 0)
        return;
    short in = loop_got(loop, STDIN_FILENO);
    short out = loop_got(loop, STDOUT_FILENO);
    handle_results(server);
    if ((out & POLLOUT) != 0)
        write_client(server);
    else if (out != 0)
        server->ends = true;
    if (in != 0)
        read_client(server);
}

/* After the end of input: answers the running calls except wait_for, which are cancelled. */
static void finish(struct mcp_server *server)
{
    size_t len = 0;

    for (size_t i = server->count; i-- > 0;) {
        if (!is_tool(server->calls[i].tool, "wait_for"))
            continue;
        proc_abandon(&server->calls[i].proc);
        forget(server, i);
    }
    server->ends = false;
    while (!server->ends && (server->count > 0 || (mcp_out(server->mcp, &len) != NULL && len > 0)))
        wait_and_serve(server, true);
    while (server->count > 0) {
        proc_abandon(&server->calls[0].proc);
        forget(server, 0);
    }
}

static const struct mcp_ops ops = {.call = on_call, .cancelled = on_cancelled};

static const struct mcp_self self = {
    .name = "mas",
    .title = "mas team",
    .version = MAS_VERSION,
    .instructions =
        "You are an agent of a team. list_agents says who is in the team and to whom you may "
        "write. send_message gives an agent work. wait_for waits until the work is done. "
        "read_messages reads the result. search_history finds earlier messages. If the team works "
        "on a project, commit in your work tree with git: sync brings you the team's commits, "
        "merge gives the team yours, diff shows changes, compare all agents'. A manager may add "
        "agents with "
        "add_agent if the template allows it.",
};

static int run_mcp(struct call *call, struct err *err)
{
    const struct model_tool *tools[TOOLS_MAX];
    size_t count = 0;
    char id[ID_TEXT];
    const char *agent = getenv("MAS_AGENT_ID");
    const char *own = getenv("MAS_SESSION_ID");

    if (call_select(call, call->session, id, err) == -1)
        return -1;
    struct mcp_server server = {
        .session = id,
        .me = agent != NULL && own != NULL && strcmp(own, id) == 0 ? agent : NULL,
        .exe = path_exe(),
        .root = &call->root,
        .loop = LOOP_INIT,
    };
    if (server.exe == NULL)
        return err_errno(err, "cannot find the mas program");
    for (size_t i = 0; i < operation_count; i++)
        if (operations[i].tool != NULL)
            tools[count++] = operations[i].tool;
    (void)signal(SIGPIPE, SIG_IGN);
    server.mcp = mcp_new(&ops, &server, &self, tools, count);
    while (!server.ends && !mcp_is_stuck(server.mcp))
        wait_and_serve(&server, false);
    if (!mcp_is_stuck(server.mcp))
        finish(&server);
    mcp_free(server.mcp);
    loop_free(&server.loop);
    free(server.exe);
    return 0;
}

const struct cmd cmd_mcp = {
    .name = "mcp",
    .group = GROUP_PROGRAMS,
    .operands = " [SESSION]",
    .summary = "give a model the tools of a team, on stdin and stdout",
    .examples = "mas mcp shop",
    .details = "A server of the Model Context Protocol with the tools send_message, "
               "list_agents, read_messages, search_history, wait_for, add_agent, merge, sync, "
               "diff and compare. The ACP agents of a team get this server automatically. The "
               "command ends "
               "when its input ends.",
    .operands_max = 0,
    .root = ROOT_NEEDED,
    .on = ON_SESSION,
    .who = WHO_AGENTS,
    .does = WAITS_LONG,
    .run = run_mcp,
};
