/*
 * A client that writes anything: the agent's side tells only what is whole, each wish can be
 * answered once, and what it sends is JSON, a message a line. The first byte says what the face
 * does meanwhile.
 */
#include "protocol/acp_agent.h"

#include "base/str.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 8 };

struct face {
    struct acp_agent *agent;
    unsigned char mood;
    char tickets[KEPT][32];
    unsigned count;
    int64_t permission;
};

static void tell(struct face *face, const char *session, const char *text, size_t len)
{
    const struct acp_agent_tool tool = {
        .id = "t", .title = text, .kind = text, .status = text, .text = text, .len = len};
    const struct acp_word word = {.id = (char *)session,
                                  .name = (char *)session,
                                  .description = (char *)"",
                                  .kind = (char *)session};

    acp_agent_chunk(face->agent, session, ACP_USER, session, text, len);
    acp_agent_tool(face->agent, session, &tool);
    acp_agent_commands(face->agent, session, &word, 1);
    acp_agent_mode(face->agent, session, text);
    if (face->permission != 0)
        acp_agent_withdraw(face->agent, face->permission);
    face->permission = acp_agent_ask_permission(face->agent, session, &tool, &word, 1);
}

static void on_wish(void *arg, const struct acp_wish *wish)
{
    struct face *face = arg;
    bool names = wish->call != ACP_CALL_NEW && wish->call != ACP_CALL_LIST;
    bool opens =
        wish->call == ACP_CALL_NEW || wish->call == ACP_CALL_LOAD || wish->call == ACP_CALL_RESUME;

    must(wish->ticket != NULL && wish->ticket[0] != '\0');
    must(names == (wish->session != NULL));
    must(!names || (wish->session[0] != '\0' && strlen(wish->session) <= ACP_ID_MAX));
    must(!opens || wish->cwd[0] == '/');
    must(wish->call != ACP_CALL_SET_MODE || wish->mode != NULL);
    must(wish->call != ACP_CALL_SET_OPTION || (wish->option != NULL && wish->value != NULL));
    if (wish->call == ACP_CALL_PROMPT) {
        must(wish->len > 0 && wish->len <= ACP_AGENT_PROMPT_MAX);
        must(strlen(wish->text) == wish->len);
        tell(face, wish->session, wish->text, wish->len);
    }
    if ((face->mood & 1) != 0) {
        must(acp_agent_answer(face->agent, wish->ticket, NULL));
        must(!acp_agent_refuse(face->agent, wish->ticket, 1, "twice"));
        return;
    }
    (void)snprintf(face->tickets[face->count++ % KEPT], sizeof face->tickets[0], "%s",
                   wish->ticket);
}

static void on_cancel(void *arg, const char *session)
{
    must(arg != NULL && session != NULL);
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct face *face = arg;
    char copy[32];

    (void)snprintf(copy, sizeof copy, "%s", ticket);
    if ((face->mood & 2) != 0)
        must(acp_agent_refuse(face->agent, copy, ACP_CANCELLED, "taken back"));
}

static void on_permitted(void *arg, int64_t serial, const char *option)
{
    struct face *face = arg;

    must(serial == face->permission);
    face->permission = 0;
    (void)option;
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
    static const struct acp_agent_ops ops = {
        .wish = on_wish, .cancel = on_cancel, .withdrawn = on_withdrawn, .permitted = on_permitted};
    static const struct acp_agent_self self = {.name = "mas", .title = "mas", .version = "1"};
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                "\"params\":{\"protocolVersion\":1}}\n";
    struct face face = {.mood = size > 0 ? data[0] : 0};

    if (size == 0)
        return 0;
    face.agent = acp_agent_new(&ops, &face, &self);
    if ((face.mood & 4) == 0)
        acp_agent_feed(face.agent, hello, sizeof hello - 1);
    size_t half = (face.mood & 8) != 0 ? size / 2 : size;
    acp_agent_feed(face.agent, (const char *)data + 1, half > 0 ? half - 1 : 0);
    if (half < size)
        acp_agent_feed(face.agent, (const char *)data + (half > 0 ? half : 1),
                       size - (half > 0 ? half : 1));
    for (unsigned i = 0; i < KEPT && i < face.count; i++)
        (void)acp_agent_answer(face.agent, face.tickets[i], "{\"x\":1}");
    check_out(face.agent);
    acp_agent_free(face.agent);
    return 0;
}
