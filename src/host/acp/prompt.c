/*
 * A prompt is sent with what the session does not know in front of it: role, summary and history or
 * recall, and the sender.
 */

#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"
#include "host/talk/memory.h"
#include "memory/context.h"

static void add_summary(const struct conversation *conversation, struct str *to)
{
    const struct str *summary = &conversation->resume.summary;
    const char *text = str_text(summary);

    if (summary->len == 0)
        return;
    str_add(to, "<summary_of_earlier_conversation>\n");
    for (; *text != '\0'; text++)
        if (*text == '<') /* no part of it is taken for its end */
            str_add(to, "&lt;");
        else
            str_addc(to, *text);
    str_add(to, "\n</summary_of_earlier_conversation>\n");
}

/* Appends what was said before the message `before`, for a session that does not know it: all of
 * it, or what came after the last turn that ended well. */
static void add_history(struct host *host, int64_t before, struct str *ret)
{
    struct conversation *conversation = host->conversation;
    const struct conversation_memory *memory = &conversation->talk.memory;
    struct store_budget budget = memory_budget(host);
    struct err err = ERR_INIT;

    if (!conversation->resume.prime)
        budget.since = conversation->resume.remind;
    if (conversation->resume.prime)
        add_summary(conversation, ret);
    if (memory->store != NULL)
        (void)memory_kept(
            host, store_injection(memory->store, memory->place.query, before, &budget, ret, &err),
            &err);
}

/* Appends what was said on the prompt's subject in other conversations. */
static void add_recall(struct host *host, const char *text, struct str *ret)
{
    const struct conversation *conversation = host->conversation;
    const struct recall_options options = {
        .session = host->session.id,
        .conversation = conversation->talk.memory.place.conversation,
        .text = text,
    };
    struct err err = ERR_INIT;

    if (config_yes(&host->config, SETTING_MEMORY_RECALL) &&
        context_recall(&host->root, &host->config, &options, ret, &err) == -1)
        host_log(host, err.text); /* the prompt goes without it */
}

char *prompt_name_sender(const struct host *host, const char *from)
{
    const struct agent *agent = team_agent(&host->team, from);

    if (agent == NULL)
        return NULL;
    _cleanup_str_ struct str role = STR_INIT;
    str_add_visible(&role, agent->role, strlen(agent->role));
    return mem_printf("[message from agent %s (%s) of your team]\n", agent->id, str_text(&role));
}

int64_t prompt_send(struct host *host, const struct prompt_words *words)
{
    const struct conversation *conversation = host->conversation;
    const struct resume *resume = &conversation->resume;
    _cleanup_str_ struct str role = STR_INIT;
    _cleanup_str_ struct str history = STR_INIT;
    _cleanup_free_ char *sender = prompt_name_sender(host, words->from);
    const char *blocks[5] = {NULL};
    size_t n = 0;

    if (resume->prime && !conversation->link.has_role)
        role_add(host, &role);
    if (role.len > 0)
        blocks[n++] = role.data;
    if (resume->prime || resume->remind != 0)
        add_history(host, words->before, &history);
    if (resume->prime && history.len == 0 && words->recalls)
        add_recall(host, words->text, &history);
    if (history.len > 0)
        blocks[n++] = history.data;
    if (sender != NULL)
        blocks[n++] = sender;
    blocks[n++] = words->text;
    return acp_prompt(conversation->link.acp, words->session, blocks, -1);
}

void prompt_send_turn(struct host *host)
{
    struct conversation *conversation = host->conversation;
    const struct prompt *prompt = &conversation->talk.turn.prompt;
    const struct prompt_words words = {
        .session = conversation->talk.session,
        .from = prompt->from,
        .text = prompt->text,
        .before = prompt->number,
        .recalls = true,
    };

    conversation->talk.turn.serial = prompt_send(host, &words);
}
