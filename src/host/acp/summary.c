#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"

enum {
    TIMES = 8, /* budgets of history that are summed up at most */
    SUMMARY_MS = 120000,
    SUMMARY_SHARE = 4, /* a summary may take this part of the budget */
};

static const char ask_words[] =
    "Summarize the conversation above for yourself, because you will continue it: what the user "
    "wants, what was decided and done, what is still open, and all names, numbers and code words. "
    "Answer with the summary only.";

/* Returns the history, which the caller frees; NULL if all of it fits into the budget. */
static char *read_long(struct host *host)
{
    const struct conversation_memory *memory = &host->talk->memory;
    const struct store_budget budget = memory_budget(host);
    const struct store_budget larger = {
        .messages = budget.messages * TIMES, .each = budget.each, .all = budget.all * TIMES};
    int64_t query = memory->place.query;
    int64_t before = queue_first_number(host->talk);
    _cleanup_str_ struct str some = STR_INIT;
    _cleanup_str_ struct str more = STR_INIT;
    struct err err = ERR_INIT;

    if (memory->store == NULL ||
        store_injection(memory->store, query, before, &budget, &some, &err) == -1 ||
        store_injection(memory->store, query, before, &larger, &more, &err) == -1)
        return NULL;
    return more.len > some.len ? str_steal(&more) : NULL;
}

/* Asks the present session, which is told what was said first. */
static bool ask_session(struct host *host)
{
    const struct agent_link *link = &host->conversation->link;
    _cleanup_free_ char *text = read_long(host);

    if (text == NULL)
        return false;
    const struct acp_block blocks[] = {{text, NULL}, {ask_words, NULL}, {NULL, NULL}};
    int64_t serial = acp_prompt(link->acp, host->talk->session, blocks, SUMMARY_MS);
    link_enter(host, PHASE_SUMS_UP, serial, -1);
    return true;
}

/* Asks a copy of the session that did not come back: it knows more than mas has kept. */
void summary_copied(struct host *host, const struct acp_answer *answer)
{
    const struct agent_link *link = &host->conversation->link;
    struct resume *resume = &host->conversation->resume;
    const struct acp_block blocks[] = {{ask_words, NULL}, {NULL, NULL}};

    if (!answer->ok || strcmp(answer->session, host->talk->session) == 0 ||
        strcmp(answer->session, resume->lost) == 0) {
        if (!ask_session(host))
            summary_end(host, answer);
        return;
    }
    resume->copy = mem_dup(answer->session);
    int64_t serial = acp_prompt(link->acp, resume->copy, blocks, SUMMARY_MS);
    link_enter(host, PHASE_SUMS_UP, serial, -1);
}

void summary_forget(struct host *host)
{
    struct resume *resume = &host->conversation->resume;

    if (resume->copy != NULL)
        opening_close(host, resume->copy, true);
    free(resume->copy);
    free(resume->lost);
    resume->copy = resume->lost = NULL;
}

bool summary_begin(struct host *host)
{
    struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;

    if (conversation->resume.summed || !config_yes(&host->config, SETTING_MEMORY_SUMMARY))
        return false;
    conversation->resume.summed = true;
    _cleanup_free_ char *text = read_long(host);
    const char *lost = conversation->resume.lost;
    if (text == NULL)
        return false;
    if (lost == NULL)
        return ask_session(host);
    int64_t serial = acp_session_fork(link->acp, lost, link->cwd, NULL, host->preset->resume_ms);
    link_enter(host, PHASE_SUMS_UP, serial, -1);
    return true;
}

void summary_end(struct host *host, const struct acp_answer *answer)
{
    struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;
    struct str *summary = &conversation->resume.summary;
    size_t most = memory_budget(host).all / SUMMARY_SHARE;

    if (!answer->ok) {
        memory_say(host, true, "the agent made no summary of the earlier messages: %s",
                   answer->message != NULL ? answer->message : "no answer");
        acp_cancel(link->acp, conversation->resume.copy != NULL ? conversation->resume.copy
                                                                : host->talk->session);
        str_free(summary);
    }
    summary_forget(host);
    while (summary->len > most || !str_is_utf8(str_text(summary), summary->len)) {
        summary->len = summary->len > most ? most : summary->len - 1;
        summary->data[summary->len] = '\0';
    }
    opening_leave(host);
    opening_ask(host);
}
