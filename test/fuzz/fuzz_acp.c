/*
 * An agent that writes anything: the client tells only what is whole, answers each permission once,
 * and what it sends is JSON. The first byte says what the client does meanwhile.
 */
#include "protocol/acp.h"

#include "base/time.h"
#include "fuzz.h"
#include "model/preset.h"

enum { TICKETS = 8 };

struct client {
    struct acp *acp;
    unsigned char mood;
    char tickets[TICKETS][32]; /* of permissions, the newest ones */
    unsigned count;
    bool gone;
};

static void check_words(const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        must(words[i].id != NULL && words[i].name != NULL && words[i].description != NULL &&
             words[i].kind != NULL);
}

static void on_answer(void *arg, const struct acp_answer *answer)
{
    struct client *c = arg;
    const struct acp_block blocks[] = {{"more", NULL}, {NULL, NULL}};

    must(!c->gone && answer->serial > 0 && answer->message != NULL);
    check_words(answer->modes, answer->mode_count);
    if (answer->ok && answer->call == ACP_CALL_PROMPT)
        must(answer->stop_reason != NULL);
    if (answer->ok && answer->call == ACP_CALL_NEW)
        must(answer->session != NULL && strlen(answer->session) <= ACP_ID_MAX);
    if ((c->mood & 1) != 0 && answer->session != NULL && answer->serial < 30)
        (void)acp_prompt(c->acp, answer->session, blocks, 1000);
    if ((c->mood & 2) != 0 && answer->call == ACP_CALL_SET_OPTION) {
        c->gone = true;
        acp_free(c->acp);
    }
}

static void check_update(const struct acp_update *update)
{
    must(update->session != NULL && update->json != NULL);
    must(update->text == NULL || strlen(update->text) == update->len);
    must(update->kind != ACP_MODE || update->id != NULL);
    check_words(update->words, update->count);
}

static void on_update(void *arg, const struct acp_update *update)
{
    struct client *c = arg;

    must(!c->gone);
    check_update(update);
    must(update->kind != ACP_TOOL || update->id != NULL);
    if ((c->mood & 4) != 0)
        acp_cancel(c->acp, update->session);
}

static void on_permission(void *arg, const struct acp_permission *permission)
{
    struct client *c = arg;
    char *ticket = c->tickets[c->count++ % TICKETS];

    must(!c->gone && permission->count > 0);
    check_update(&permission->tool);
    check_words(permission->options, permission->count);
    (void)snprintf(ticket, sizeof c->tickets[0], "%s", permission->ticket);
    if ((c->mood & 8) != 0) {
        must(acp_permit(c->acp, ticket, permission->options[0].id));
        must(!acp_permit(c->acp, ticket, NULL));
    } else if ((c->mood & 16) != 0) {
        acp_cancel(c->acp, permission->session);
        must(!acp_permit(c->acp, ticket, NULL));
    }
}

static void on_withdrawn(void *arg, const char *ticket)
{
    struct client *c = arg;

    must(!c->gone && !acp_permit(c->acp, ticket, NULL));
}

static void on_request(void *arg, const struct acp_request *request)
{
    struct client *c = arg;

    must(!c->gone && request->session != NULL);
    if ((c->mood & 32) != 0)
        acp_answer_request(c->acp, request->ticket, "{\"content\":\"\"}");
    else if ((c->mood & 64) != 0)
        acp_refuse(c->acp, request->ticket, -32603, request->method);
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct client *c = arg;

    must(!c->gone && why != NULL && bytes != NULL && len <= 4096);
}

static const struct acp_ops ops = {
    .answer = on_answer,
    .update = on_update,
    .permission = on_permission,
    .withdrawn = on_withdrawn,
    .request = on_request,
    .garbage = on_garbage,
};

static void ask(struct acp *acp)
{
    static const struct acp_block blocks[] = {{"one", NULL}, {"two", NULL}, {NULL, NULL}};

    (void)acp_initialize(acp, OFFERS_ALL, -1); /* 1 */
    (void)acp_session_new(acp, "/w", NULL, 1000); /* 2 */
    (void)acp_session_load(acp, "S", "/w", "[]", 1000); /* 3 */
    (void)acp_session_resume(acp, "S", "/w", NULL, -1); /* 4 */
    (void)acp_prompt(acp, "S", blocks, -1); /* 5 */
    (void)acp_set_mode(acp, "S", "plan", -1); /* 6 */
    (void)acp_set_option(acp, "S", "model", "large", false, -1); /* 7 */
    (void)acp_session_list(acp, NULL, NULL, -1); /* 8 */
    (void)acp_session_close(acp, "S", -1); /* 9 */
}

/* What is sent is one JSON object a line. */
static void check_out(struct acp *acp)
{
    size_t len = 0;
    const char *out = acp_out(acp, &len);

    must_be_messages(out, len);
    acp_sent(acp, len);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct client c = {.mood = size > 0 ? data[0] : 0};
    char *bytes;

    if (size == 0)
        return 0;
    bytes = malloc(size);
    must(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    c.acp = acp_new(&ops, &c);
    ask(c.acp);
    acp_feed(c.acp, bytes, size - 1);
    if (!c.gone && (c.mood & 128) != 0)
        (void)acp_tick(c.acp, time_monotonic_ms() + 100000);
    for (unsigned i = 0; !c.gone && i < TICKETS; i++)
        (void)acp_permit(c.acp, c.tickets[i], NULL);
    if (!c.gone) {
        check_out(c.acp);
        acp_free(c.acp);
    }
    free(bytes);
    return 0;
}
