/*
 * JSON-RPC from any bytes: the same wherever they are cut; what is sent is one JSON object a line,
 * and the id of an answer is that of the request, to the digit.
 */
#include "protocol/rpc.h"

#include "base/time.h"
#include "fuzz.h"

enum { LINE_MAX_BYTES = 4096, OUT_MAX_BYTES = 1 << 20, ASKED = 5 };

struct heard {
    struct rpc *rpc;
    struct str notes;
    struct str open; /* tickets, each with its NUL */
};

/* Every third is refused, every third is answered later. */
static void on_request(void *arg, const struct rpc_request *request)
{
    struct heard *h = arg;
    struct json_out out = {.to = &h->notes};
    size_t way = strlen(request->method) % 3;

    str_addf(&h->notes, "%s ", request->ticket != NULL ? request->ticket : "-");
    json_put(&out, NULL, request->method);
    json_put_node(&out, NULL, request->params);
    if (request->ticket == NULL)
        return;
    if (way == 0)
        must(rpc_refuse(h->rpc, request->ticket, RPC_NO_METHOD, request->method));
    else if (way == 1)
        must(rpc_reply(h->rpc, request->ticket, "{}"));
    else
        str_addn(&h->open, request->ticket, strlen(request->ticket) + 1);
    if (way < 2)
        must(!rpc_reply(h->rpc, request->ticket, "{}"));
}

static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct heard *h = arg;
    struct json_out out = {.to = &h->notes};

    must(answer->serial > 0);
    str_addf(&h->notes, "=%lld %d %lld ", (long long)answer->serial, answer->ok,
             (long long)answer->code);
    json_put(&out, NULL, answer->message);
    json_put_node(&out, NULL, answer->ok ? answer->result : answer->data);
    if (answer->serial < ASKED + 3)
        (void)rpc_ask(h->rpc, "again", NULL, -1);
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct heard *h = arg;

    str_addf(&h->notes, "garbage %s ", why);
    str_addn(&h->notes, bytes, len);
}

static const struct rpc_spec spec = {.request = on_request,
                                     .answer = on_answer,
                                     .garbage = on_garbage,
                                     .line_max = LINE_MAX_BYTES,
                                     .out_max = OUT_MAX_BYTES};

/* What is sent, a JSON object a line; appended to the notes. */
static void take_out(struct heard *h)
{
    size_t len = 0;
    const char *out = rpc_out(h->rpc, &len);

    str_addn(&h->notes, out, len);
    must_be_messages(out, len);
    rpc_sent(h->rpc, len);
}

static void run(const char *bytes, size_t size, size_t step, struct str *notes)
{
    struct heard h = {.rpc = NULL};

    h.rpc = rpc_new(&spec, &h);
    for (int i = 0; i < ASKED; i++)
        (void)rpc_ask(h.rpc, "ask", "[1]", i * 1000000);
    for (size_t i = 0; i < size; i += step)
        rpc_feed(h.rpc, bytes + i, size - i < step ? size - i : step);
    take_out(&h);
    for (const char *at = h.open.data; at != NULL && at < h.open.data + h.open.len;
         at += strlen(at) + 1)
        must(rpc_reply(h.rpc, at, "[]"));
    take_out(&h);
    must(rpc_tick(h.rpc, time_monotonic_ms() + 100000000) == -1);
    rpc_free(h.rpc);
    str_free(&h.open);
    *notes = h.notes;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const size_t steps[] = {1, 7, 4096};
    _cleanup_str_ struct str first = STR_INIT;

    /* a copy without slack: what is read behind the end is noticed */
    char *bytes = malloc(size + 1);
    must(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        _cleanup_str_ struct str notes = STR_INIT;

        run(bytes, size, steps[i], &notes);
        if (i == 0)
            str_addn(&first, str_text(&notes), notes.len);
        must(notes.len == first.len && memcmp(str_text(&notes), str_text(&first), first.len) == 0);
    }
    free(bytes);
    return 0;
}
