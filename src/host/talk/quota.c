#include "host/talk/quota.h"

#include "base/time.h"
#include "host/talk/limit.h"
#include "host/talk/login.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "store/every.h"
#include "store/limits/login_quota.h"

enum { LOOK_MS = 5000 }; /* another agent with the same login may have been told meanwhile */

/* ---- what is told */

void quota_told(struct host *host, const struct line_rule *rule, const struct line_told *line)
{
    struct quota_window window = {.percent = line->quota.percent,
                                  .resets_ms = line->quota.resets_ms,
                                  .told_ms = time_epoch_ms()};
    struct err ignored = ERR_INIT; /* it is told again with the next request */
    int dir = limit_dir(host);

    if (window.percent == -1 || dir == -1 || login_is_left(host))
        return;
    quota_name(line->quota.minutes, rule->name, window.name);
    (void)login_quota_note(dir, host->talk->limit.login, host->preset->name, host_account(host),
                           &window, &ignored);
}

/* ---- what it holds back */

/* Writes the window of which at least so much is used; "" if there is none. */
static void find_used(struct host *host, int most, char *ret, size_t size)
{
    int64_t now = time_epoch_ms();
    int dir = limit_dir(host);
    char when[LIMIT_TIME];

    ret[0] = '\0';
    if (dir == -1)
        return;
    const struct login_quota quota = login_quota_read(dir, host->talk->limit.login);
    for (size_t i = 0; i < quota.count && ret[0] == '\0'; i++) {
        const struct quota_window *window = &quota.windows[i];
        if (window->percent < most || !quota_holds_now(window, now))
            continue;
        limit_write_time(window->resets_ms, when);
        (void)snprintf(ret, size, "%d %% of its %s is used (quota = %d%%)%s%s", window->percent,
                       window->name, most, window->resets_ms != 0 ? ", until " : "",
                       window->resets_ms != 0 ? when : "");
    }
}

/* A prompt at a set time is a person's who is not there. */
static bool is_persons(const struct prompt *prompt)
{
    bool planned = prompt->tags != NULL && str_starts(prompt->tags[0], EVERY_TAG);

    return strcmp(prompt->from, "-") == 0 && !planned;
}

/* Moves the first prompt of a person to the front, if it is not there. Returns false if there is
 * none. */
static bool let_person_pass(struct host *host)
{
    struct talk *talk = host->talk;
    size_t i = 0;

    while (i < talk->queue.count && !is_persons(&talk->queue.prompts[i]))
        i++;
    if (i == talk->queue.count)
        return false;
    struct prompt prompt = queue_remove(talk, i);
    queue_push_first(host, &prompt);
    return true;
}

bool quota_holds(struct host *host)
{
    struct talk *talk = host->talk;
    struct agent_quota *quota = &talk->quota;
    int most = config_number(&host->config, SETTING_LIMIT_QUOTA);
    bool was_on = quota->note[0] != '\0';

    if (most == 0)
        return false;
    if (!was_on || time_monotonic_ms() >= quota->look_at) {
        find_used(host, most, quota->note, sizeof quota->note);
        quota->look_at = time_monotonic_ms() + LOOK_MS;
    }
    if (quota->note[0] == '\0')
        return false;
    if (let_person_pass(host)) {
        /* another conversation is entered first, in the next turn of the loop */
        quota->passes = queue_is_elsewhere(talk, &talk->queue.prompts[0]);
        return quota->passes;
    }
    if (!was_on)
        memory_say(host, true, "what no person has sent waits: %s", quota->note);
    return true;
}

bool quota_is_on(const struct talk *talk)
{
    return talk->quota.note[0] != '\0' && !talk->turn.on && talk->queue.count > 0 &&
           !is_persons(&talk->queue.prompts[0]);
}

int64_t quota_tick(struct host *host, int64_t now)
{
    struct agent_quota *quota = &host->talk->quota;

    if (!quota_is_on(host->talk)) {
        bool passes = quota->passes;
        quota->note[0] = '\0';
        quota->passes = false;
        return passes ? now : -1;
    }
    return now < quota->look_at ? quota->look_at : now;
}
