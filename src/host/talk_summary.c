#include "host/talk.h"

#include "base/str.h"
#include "host/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIMES = 8, /* so many budgets of history are summed up at most */
    SUMMARY_MS = 120000,
    SUMMARY_SHARE = 4, /* a summary may take this part of the budget */
};

static const char ask_words[] = "Sum up the conversation above for yourself, as you will go on "
                                "with it: what is wanted, what was "
                                "decided and done, what is open, and all names, numbers and code "
                                "words. Answer with the summary "
                                "alone.";

/* What the budget leaves out; NULL where all of it fits. */
static char *read_long(struct host *host)
{
    struct talk *talk = host->talk;
    const struct store_budget budget = talk_budget(host);
    const struct store_budget larger = {
        .messages = budget.messages * TIMES, .each = budget.each, .all = budget.all * TIMES};
    _cleanup_str_ struct str some = STR_INIT;
    _cleanup_str_ struct str more = STR_INIT;
    int64_t before = talk->count > 0 ? talk->queue[0].number : INT64_MAX;
    struct err err = ERR_INIT;

    if (talk->store == NULL ||
        store_injection(talk->store, talk->place.query, before, &budget, &some, &err) == -1 ||
        store_injection(talk->store, talk->place.query, before, &larger, &more, &err) == -1)
        return NULL;
    return more.len > some.len ? str_steal(&more) : NULL;
}

bool talk_sum_up(struct host *host)
{
    struct talk *talk = host->talk;

    if (talk->summed || strcmp(config_text(&host->config, SETTING_MEMORY_SUMMARY), "agent") != 0)
        return false;
    talk->summed = true;
    _cleanup_free_ char *text = read_long(host);
    if (text == NULL)
        return false;
    const char *blocks[] = {text, ask_words, NULL};
    talk->phase = TALK_SUMS_UP;
    talk->serial = acp_prompt(talk->acp, talk->session, blocks, SUMMARY_MS);
    return true;
}

void talk_summed_up(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    size_t most = talk_budget(host).all / SUMMARY_SHARE;

    if (!answer->ok) {
        talk_say(host, true, "no summary could be made of what was said before: %s",
                 answer->message != NULL ? answer->message : "no answer");
        acp_cancel(talk->acp, talk->session);
        str_free(&talk->summary);
    }
    while (talk->summary.len > most || !str_is_utf8(str_text(&talk->summary), talk->summary.len)) {
        size_t cut = talk->summary.len > most ? most : talk->summary.len - 1;
        talk->summary.data[cut] = '\0';
        talk->summary.len = cut;
    }
    talk_leave_session(host);
    talk_open_session(host);
}

void talk_add_summary(const struct talk *talk, struct str *to)
{
    const char *text = str_text(&talk->summary);

    if (talk->summary.len == 0)
        return;
    str_add(to, "<summary_of_earlier_conversation>\n");
    for (; *text != '\0'; text++)
        if (*text == '<') /* nothing in it is to be taken for its end */
            str_add(to, "&lt;");
        else
            str_addc(to, *text);
    str_add(to, "\n</summary_of_earlier_conversation>\n");
}
