/*
 * A refusal of the provider ends the turn. A message that mas had typed is typed again when the
 * provider takes prompts, as the next prompt of the program; what a person had typed in the pane is
 * left to the person, whose screen shows it.
 */

#include "base/time.h"
#include "host/talk/limit.h"
#include "host/talk/turn.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "protocol/acp_limit.h"
#include "protocol/host.h"

static void refused(struct host *host, const struct limit_refusal *refusal)
{
    const char *why = refusal->why;
    _cleanup_free_ char *words =
        mem_printf("the provider takes no prompts: %.*s", (int)str_fit(why, LIMIT_WORDS_MAX), why);

    if (!refusal->is_theirs)
        /* before the turn ends: a kill between leaves it cut off, and waiting */
        host->terminal->teller->put_back(host, &host->talk->turn.prompt);
    limit_refused_there(host, refusal);
    turn_end(host, refusal->is_theirs ? HOST_END_FAILED : HOST_END_STOPPED, 0, words);
    limit_tell(host, refusal);
}

static const char *words_of(const char *told)
{
    return told != NULL ? told : "";
}

static bool find_limit(const struct host *host, const struct hook_told *told, bool done,
                       struct acp_limit *ret)
{
    const char *answer = words_of(told->answer);
    _cleanup_free_ char *limited = config_limited(&host->config);
    _cleanup_free_ char *both = mem_printf("%s: %s", words_of(told->error), answer);
    int64_t now = time_epoch_ms();

    return done
               ? host->talk->turn.tools.count == 0 && acp_limit_of_answer(answer, limited, now, ret)
               : acp_limit_of_error(0, both, NULL, limited, now, ret);
}

bool teller_is_limit(const struct host *host, const struct hook_told *told)
{
    struct acp_limit is = {.until_ms = 0};

    return find_limit(host, told, false, &is);
}

bool teller_is_refused(struct host *host, const struct hook_told *told, bool done)
{
    const struct turn *turn = &host->talk->turn;
    struct acp_limit is = {.until_ms = 0};

    if (!find_limit(host, told, done, &is))
        return false;
    const char *answer = words_of(told->answer);
    const struct limit_refusal refusal = {
        .is_theirs = !turn->on || !turn->prompt.message,
        .overloaded = is.overloaded,
        .until_ms = is.until_ms,
        .why = answer[0] != '\0' ? answer : words_of(told->error),
    };
    refused(host, &refusal);
    return true;
}

int64_t teller_limited_until(struct host *host)
{
    return host->talk != NULL && limit_holds(host) ? host->talk->limit.look_at : 0;
}

const char *teller_paused(const struct host *host)
{
    return host->talk != NULL && host->talk->spending.paused[0] != '\0'
               ? host->talk->spending.paused
               : NULL;
}
