/*
 * A client that writes anything: only calls that fit their tool's row are told, and what is sent is
 * JSON, a message a line. The first byte says how calls are ended.
 */
#include "protocol/mcp.h"

#include "fuzz.h"

static const struct model_tool one = {
    "one",
    "One",
    "A tool",
    .params = PARAMS({"text", PARAM_LONG, true, .max = 10}, {"n", PARAM_NUMBER, .min = 1, .max = 5},
                     {"word", PARAM_WORD, .words = "idle, exit"}),
};
static const struct model_tool two = {"two", "Two", "Another", .reads = true};
static const struct model_tool *const tools[] = {&one, &two};

struct server {
    struct mcp *mcp;
    unsigned char mood;
};

static void on_call(void *arg, const char *ticket, const struct model_tool *tool,
                    const struct json *arguments)
{
    struct server *server = arg;

    must(tool == &one || tool == &two);
    if (tool == &one) {
        const char *text = json_get_text(arguments, "text");
        const char *word = json_get_text(arguments, "word");
        int64_t n = json_int(json_get(arguments, "n"), 1);
        must(text != NULL && strlen(text) >= 1 && strlen(text) <= 10);
        must(n >= 1 && n <= 5);
        must(word == NULL || strcmp(word, "idle") == 0 || strcmp(word, "exit") == 0);
    } else {
        must(json_first(arguments) == NULL);
    }
    if ((server->mood & 1) != 0)
        mcp_result(server->mcp, ticket, "done", (server->mood & 2) != 0 ? "{}" : NULL,
                   (server->mood & 4) != 0);
}

static void on_cancelled(void *arg, const char *ticket)
{
    must(arg != NULL && ticket[0] != '\0');
}

static void check_out(struct mcp *mcp)
{
    size_t len = 0;
    const char *out = mcp_out(mcp, &len);

    must_be_messages(out, len);
    mcp_sent(mcp, len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const struct mcp_ops ops = {.call = on_call, .cancelled = on_cancelled};
    static const struct mcp_self self = {"mas", "mas", "1", "words"};
    static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                "\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n";
    struct server server = {.mood = size > 0 ? data[0] : 0};

    if (size == 0)
        return 0;
    server.mcp = mcp_new(&ops, &server, &self, tools, ARRAY_LEN(tools));
    if ((server.mood & 8) == 0)
        mcp_feed(server.mcp, hello, sizeof hello - 1);
    mcp_feed(server.mcp, (const char *)data + 1, size - 1);
    check_out(server.mcp);
    mcp_free(server.mcp);
    return 0;
}
