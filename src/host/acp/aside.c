/*
 * Prompts to copies of the session: they are answered, and leave nothing in the conversation. An
 * aside waits until the agent is ready, has it copy the session, asks the copy once, and has it
 * deleted. The negative of its number leads to the client that asked; it ends with that client,
 * with the agent's process, or when too much is said. Only its tokens are stored.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/server.h"
#include "host/talk/budget.h"
#include "host/talk/event.h"
#include "host/talk/queue.h"
#include "host/talk/usage.h"

#define ID_PREFIX "aside:"

enum {
    PIECE_MAX = 1 << 20, /* bytes of the answer in an event */
    ASIDE_SAID_MAX = 16 << 20, /* bytes of an answer */
};

/* ---- those that are open */

static void drop(struct asides *asides, size_t index)
{
    struct aside *aside = &asides->open[index];

    free(aside->text);
    free(aside->session);
    asides->count--;
    memmove(aside, aside + 1, (asides->count - index) * sizeof *aside);
}

static void put_id(struct json_out *out, const char *key, const struct aside *aside)
{
    _cleanup_free_ char *id = mem_printf(ID_PREFIX "%lld", (long long)aside->number);

    json_put(out, key, id);
}

/* Tells the client the end, and forgets the copy. */
static void end(struct host *host, size_t index, const char *stop_reason, const char *error)
{
    struct asides *asides = &host->conversation->asides;
    const struct aside *aside = &asides->open[index];
    struct client *client = server_asker(host, -aside->number);
    struct client_event event;

    if (client != NULL) {
        event_open(&event, "end");
        put_id(&event.out, "prompt", aside);
        json_put(&event.out, "stopReason", stop_reason);
        if (error != NULL)
            json_put(&event.out, "error", error);
        event_tell_one(client, &event, NULL, 0);
        client->kind = CLIENT_LEAVES;
    }
    opening_close(host, aside->session, true);
    drop(asides, index);
}

static void cancel(struct host *host, size_t index)
{
    const struct aside *aside = &host->conversation->asides.open[index];
    struct acp *acp = host->conversation->link.acp;

    if (aside->session != NULL && acp != NULL)
        acp_cancel(acp, aside->session);
    end(host, index, "cancelled", NULL);
}

bool aside_cancel(struct host *host, const char *id)
{
    const struct asides *asides = &host->conversation->asides;

    for (size_t i = 0; i < asides->count && str_starts(id, ID_PREFIX); i++) {
        _cleanup_free_ char *own = mem_printf("%lld", (long long)asides->open[i].number);
        if (strcmp(own, id + strlen(ID_PREFIX)) != 0)
            continue;
        cancel(host, i);
        return true;
    }
    return false;
}

void aside_process_ended(struct host *host)
{
    const struct asides *asides = &host->conversation->asides;

    for (size_t i = asides->count; i-- > 0;)
        if (asides->open[i].serial != 0)
            end(host, i, HOST_END_FAILED, "the agent ended");
}

void aside_fail_all(struct host *host, const char *why)
{
    while (host->conversation->asides.count > 0)
        end(host, 0, HOST_END_FAILED, why);
}

bool aside_is_session(const struct host *host, const char *session)
{
    const struct asides *asides = &host->conversation->asides;

    for (size_t i = 0; i < asides->count; i++)
        if (asides->open[i].session != NULL && strcmp(asides->open[i].session, session) == 0)
            return true;
    return false;
}

/* ---- a new one */

static int fail_no_fork(const struct host *host, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "it cannot copy its session");
    return err_hint(err, "ask it in its conversation: mas ask %s %s TEXT",
                    session_label(&host->root, host->session.id).text, host->agent->id);
}

int aside_add(struct host *host, struct client *client, const char *text, size_t len,
              struct err *err)
{
    struct asides *asides = &host->conversation->asides;
    const struct agent_link *link = &host->conversation->link;
    const char *paused = host->talk->spending.paused;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    if (link->acp != NULL && link->phase.now >= PHASE_READY && link->phase.now != PHASE_STUCK &&
        !acp_info(link->acp)->fork)
        return fail_no_fork(host, err);
    if (asides->count == ASIDES_MAX)
        return err_set(err, MAS_CONFLICT, "%d copies of its session are being asked", ASIDES_MAX);
    budget_look(host, true);
    if (paused[0] != '\0')
        return err_set(err, MAS_CONFLICT, "it is paused: %s", paused);
    struct aside *aside = &asides->open[asides->count++];
    *aside = (struct aside){.number = ++asides->last, .text = mem_dupn(text, len)};
    (void)snprintf(aside->from, sizeof aside->from, "%s",
                   client->from != NULL ? client->from : "-");
    client->kind = CLIENT_ASKS;
    client->prompt = -aside->number;
    server_open_answer(host, &head, &out);
    json_put(&out, "outcome", "started");
    put_id(&out, "prompt", aside);
    server_close_answer(client, &head, &out);
    return 0;
}

/* Asks for the copy. A session that does not know the conversation yet is not copied: another one
 * is told the same. */
static void copy_session(struct host *host, struct aside *aside)
{
    const struct agent_link *link = &host->conversation->link;
    int ms = host->preset->initialize_ms;

    opening_set(host);
    aside->serial = host->conversation->resume.prime
                        ? acp_session_new(link->acp, link->cwd, NULL, ms)
                        : acp_session_fork(link->acp, host->talk->session, link->cwd, NULL, ms);
}

static void ask_copy(struct host *host, struct aside *aside)
{
    const struct prompt_words words = {
        .session = aside->session,
        .from = aside->from,
        .text = aside->text,
        .before = queue_first_number(host->talk),
    };

    struct err ignored = ERR_INIT; /* without pictures it cannot fail */

    (void)prompt_send(host, &words, &aside->serial, &ignored);
    free(aside->text);
    aside->text = NULL;
}

void aside_run(struct host *host)
{
    struct asides *asides = &host->conversation->asides;
    const struct agent_link *link = &host->conversation->link;

    for (size_t i = asides->count; i-- > 0;)
        if (server_asker(host, -asides->open[i].number) == NULL)
            cancel(host, i);
    if (link->phase.now != PHASE_READY || host->child.phase != CHILD_RUNS)
        return;
    for (size_t i = asides->count; i-- > 0;) {
        if (asides->open[i].serial != 0)
            continue;
        if (acp_info(link->acp)->fork)
            copy_session(host, &asides->open[i]);
        else
            end(host, i, HOST_END_FAILED, "it cannot copy its session");
    }
}

/* ---- what the agent says */

/* Returns true if the id of a copy is one: neither the session's own nor another copy's. */
static bool is_copy(const struct host *host, const char *session)
{
    const char *own = host->talk->session;

    return session != NULL && (own == NULL || strcmp(session, own) != 0) &&
           !aside_is_session(host, session);
}

bool aside_answer(struct host *host, const struct acp_answer *answer)
{
    struct asides *asides = &host->conversation->asides;
    char why[ERR_TEXT_MAX];
    size_t i = 0;

    while (i < asides->count && asides->open[i].serial != answer->serial)
        i++;
    if (answer->call == ACP_CALL_FORK && i == asides->count && answer->ok &&
        is_copy(host, answer->session))
        opening_close(host, answer->session, true); /* nobody waits for it any more */
    if (i == asides->count)
        return answer->call == ACP_CALL_FORK || answer->call == ACP_CALL_DELETE;
    if (answer->call == ACP_CALL_PROMPT)
        usage_tokens(host, answer->session, &answer->tokens);
    if (!answer->ok) {
        end(host, i, HOST_END_FAILED, acp_why(answer, why, sizeof why));
    } else if (answer->call == ACP_CALL_PROMPT) {
        end(host, i, answer->stop_reason, NULL);
    } else if (!is_copy(host, answer->session)) {
        end(host, i, HOST_END_FAILED, "the agent did not copy its session");
    } else {
        asides->open[i].session = mem_dup(answer->session);
        ask_copy(host, &asides->open[i]);
    }
    return true;
}

static void tell_text(struct client *client, struct aside *aside, const char *name,
                      const struct acp_update *update)
{
    for (size_t at = 0, n; at < update->len; at += n) {
        struct client_event event;

        n = str_fit(update->text + at, PIECE_MAX);
        event_open(&event, name);
        put_id(&event.out, "message", aside);
        json_put_int(&event.out, "at", (int64_t)aside->said);
        event_tell_one(client, &event, update->text + at, n);
        aside->said += n;
    }
}

bool aside_update(struct host *host, const struct acp_update *update)
{
    struct asides *asides = &host->conversation->asides;
    size_t i = 0;

    while (i < asides->count && (asides->open[i].session == NULL || update->session == NULL ||
                                 strcmp(asides->open[i].session, update->session) != 0))
        i++;
    if (i == asides->count)
        return false;
    struct aside *aside = &asides->open[i];
    struct client *client = server_asker(host, -aside->number);
    if (client == NULL || conn_unsent(&client->conn) > HOST_BACKLOG || aside->said > ASIDE_SAID_MAX)
        cancel(host, i);
    else if (update->kind == ACP_TEXT)
        tell_text(client, aside, "text", update);
    return true;
}
