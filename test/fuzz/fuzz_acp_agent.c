/*
 * A client that writes anything: the agent's side tells only what is whole, each request can be
 * answered once, and what it sends is JSON, a message a line. The first byte says what the face
 * does meanwhile.
 */
#include "protocol/acp_agent.h"

#include "fuzz.h"

enum { KEPT = 8 };

struct editor {
    struct acp_agent *agent;
    unsigned char mood;
    char tickets[KEPT][32];
    unsigned count;
    int64_t permission;
};

static void tell(struct editor *editor, const char *session, const char *text, size_t len)
{
    const struct acp_agent_tool tool = {
        .id = "t", .title = text, .kind = text, .status = text, .text = text, .len = len};
    const struct word word = {.id = (char *)session,
                              .name = (char *)session,
                              .description = (char *)"",
                              .kind = (char *)session};

    acp_agent_chunk(editor->agent, session, ACP_USER, session, text, len);
    acp_agent_tool(editor->agent, session, &tool);
    acp_agent_commands(editor->agent, session, &word, 1);
    acp_agent_mode(editor->agent, session, text);
    if (editor->permission != 0)
        acp_agent_withdraw(editor->agent, editor->permission);
    editor->permission = acp_agent_ask_permission(editor->agent, session, &tool, &word, 1);
}

static void on_request(void *arg, const struct editor_request *request)
{
    struct editor *editor = arg;
    bool names = request->call != ACP_CALL_NEW && request->call != ACP_CALL_LIST;
    bool opens = request->call == ACP_CALL_NEW || request->call == ACP_CALL_LOAD ||
                 request->call == ACP_CALL_RESUME;

    must(request->ticket != NULL && request->ticket[0] != '\0');
    must(names == (request->session != NULL));
    must(!names || (request->session[0] != '\0' && strlen(request->session) <= ACP_ID_MAX));
    must(!opens || request->cwd[0] == '/');
    must(request->call != ACP_CALL_SET_MODE || request->mode != NULL);
    must(request->call != ACP_CALL_SET_OPTION ||
         (request->option != NULL && request->value != NULL));
    if (request->call == ACP_CALL_PROMPT) {
        must(request->len > 0 && request->len <= ACP_AGENT_PROMPT_MAX);
        must(strlen(request->text) == request->len);
        tell(editor, request->session, request->text, request->len);
    }
    if ((editor->mood & 1) != 0) {
        must(acp_agent_answer(editor->agent, request->ticket, NULL));
        must(!acp_agent_refuse(editor->agent, request->ticket, 1, "twice"));
        return;
    }
    (void)snprintf(editor->tickets[editor->count++ % KEPT], sizeof editor->tickets[0], "%s",
                   request->ticket);
}

static void on_cancel(void *arg, const char *session)
{
    must(arg != NULL && session != NULL);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct editor *editor = arg;
    char copy[32];

    (void)snprintf(copy, sizeof copy, "%s", ticket);
    if ((editor->mood & 2) != 0)
        must(acp_agent_refuse(editor->agent, copy, ACP_CANCELLED, "taken back"));
}

static void on_permitted(void *arg, int64_t serial, const char *option, const struct json *answers)
{
    struct editor *editor = arg;

    must(serial == editor->permission);
    editor->permission = 0;
    (void)option;
    (void)answers;
}

static void check_out(struct acp_agent *agent)
{
    size_t len = 0;
    const char *out = acp_agent_out(agent, &len);

    must_be_messages(out, len);
    acp_agent_sent(agent, len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const struct acp_agent_ops ops = {.request = on_request,
                                             .cancel = on_cancel,
                                             .withdrawn = on_withdrawn,
                                             .permitted = on_permitted};
    static const struct acp_agent_self self = {.name = "mas", .title = "mas", .version = "1"};
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                "\"params\":{\"protocolVersion\":1}}\n";
    struct editor editor = {.mood = size > 0 ? data[0] : 0};

    if (size == 0)
        return 0;
    editor.agent = acp_agent_new(&ops, &editor, &self);
    if ((editor.mood & 4) == 0)
        acp_agent_feed(editor.agent, hello, sizeof hello - 1);
    size_t half = (editor.mood & 8) != 0 ? size / 2 : size;
    acp_agent_feed(editor.agent, (const char *)data + 1, half > 0 ? half - 1 : 0);
    if (half < size)
        acp_agent_feed(editor.agent, (const char *)data + (half > 0 ? half : 1),
                       size - (half > 0 ? half : 1));
    for (unsigned i = 0; i < KEPT && i < editor.count; i++)
        (void)acp_agent_answer(editor.agent, editor.tickets[i], "{\"x\":1}");
    check_out(editor.agent);
    acp_agent_free(editor.agent);
    return 0;
}
