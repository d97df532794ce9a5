/*
 * The limits of the agent's provider. What is known of a login is all agents'
 * (store/limits/login_limit.h): when the wait is over, one of them tries, with the login's lock,
 * and the others hold their turns until its request was not refused. Which prompt was refused is
 * this agent's, in run/, with a mark once it is sent again: the next host then does not send it a
 * second time.
 */

#include "host/talk/limit.h"

#include "base/time.h"
#include "host/talk/login.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/unwritten.h"
#include "os/file.h"
#include "os/watch.h"
#include "store/limits/login_limit.h"
#include "store/workspace.h"

enum {
    LOOK_MS = 60000, /* a wait is looked at so often, as clocks are changed */
    OTHERS_MS = 5000, /* and so often while another agent tries: if the kernel tells no change */
    SOON_MS = 50, /* after a change: the kernel tells a close before it frees the lock */
    SOON_LOOKS = 3,
    SCREEN_MS = 10000, /* until a prompt that is typed begins its turn */
    TRIAL_MS = 60000, /* a request that is not refused for so long is not refused */
    FILE_MAX = 256, /* bytes */
};

/* ---- what is known of logins */

int limit_dir(struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;

    if (limit->dir == -1)
        limit->dir = login_limit_open(&host->root);
    return limit->dir;
}

/* The same without making it. */
static int known_dir(struct host *host)
{
    bool there =
        host->talk->limit.dir != -1 || faccessat(host->root.sessions, LIMITS_DIR, F_OK, 0) == 0;

    return there ? limit_dir(host) : -1;
}

/* ---- the prompt that was refused */

static char *file_name(const struct host *host)
{
    return mem_printf("%s" WORKSPACE_HOST_LIMIT, host->agent->id);
}

/* Writes the prompt, how often it was refused, and whether it was sent since. */
static void keep_prompt(struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;
    _cleanup_free_ char *name = file_name(host);
    struct err err = ERR_INIT;
    char text[FILE_MAX];
    int len = snprintf(text, sizeof text, "%" PRId64 " %d %" PRId64 " %" PRId64 " %d\n",
                       limit->prompt, limit->attempts, limit->until_ms, limit->due_ms, limit->sent);

    limit->unwritten = file_replace(host->run, name, text, (size_t)len, 0600, &err) == -1;
    if (limit->unwritten)
        unwritten_note(host, &err);
}

bool limit_keep_again(struct host *host)
{
    const struct agent_limit *limit = &host->talk->limit;

    if (limit->unwritten)
        keep_prompt(host);
    return !limit->unwritten;
}

static void forget_prompt(const struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;
    _cleanup_free_ char *name = file_name(host);

    if (limit->prompt == 0)
        return;
    limit->prompt = 0;
    limit->attempts = 0;
    limit->unwritten = false;
    (void)unlinkat(host->run, name, 0); /* the next host ignores it: that prompt has an end */
}

/* Puts a prompt in front of the queue again that had caused something before it was refused: so it
 * is none of those that wait in the store. */
static bool push_again(const struct store_item *item, void *arg)
{
    struct host *host = arg;
    struct talk *talk = host->talk;

    if (item->number != talk->limit.prompt || item->role != ROLE_USER || item->stop_reason != NULL)
        return false;
    queue_push(host, item->number, item->text, item->len, item->sender != NULL ? item->sender : "-",
               item->data, NULL);
    struct prompt prompt = queue_remove(talk, talk->queue.count - 1);
    prompt.query = item->query;
    prompt.asked_ms = item->time_ms;
    memcpy(prompt.conversation, item->conversation, sizeof prompt.conversation);
    queue_push_first(host, &prompt);
    return false;
}

void limit_open(struct host *host)
{
    struct talk *talk = host->talk;
    struct agent_limit *limit = &talk->limit;
    _cleanup_free_ char *name = file_name(host);
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;
    int sent = 0;

    limit->trial = limit->watch = limit->dir = -1;
    login_open(host, known_dir(host));
    if (file_read(host->run, name, FILE_MAX, &text, &len, &err) == -1)
        return;
    if (sscanf(text, "%" SCNd64 " %4d %" SCNd64 " %" SCNd64 " %1d", &limit->prompt,
               &limit->attempts, &limit->until_ms, &limit->due_ms, &sent) != 5 ||
        limit->prompt <= 0 || limit->attempts < 0)
        limit->prompt = limit->attempts = 0;
    if (limit->prompt != 0 && sent == 0 && talk->memory.store != NULL &&
        queue_find(talk, limit->prompt) == talk->queue.count) {
        const struct store_filter filter = {
            .agent = host->agent->id, .after = limit->prompt - 1, .limit = 1};
        (void)memory_kept(host, store_read(talk->memory.store, &filter, push_again, host, &err),
                          &err);
    }
    if (sent != 0 || queue_find(talk, limit->prompt) == talk->queue.count) {
        limit->prompt = limit->attempts = 0; /* it was sent, or is not there any more */
        (void)unlinkat(host->run, name, 0);
    }
}

void limit_free(struct agent_limit *limit)
{
    fd_closep(&limit->trial);
    fd_closep(&limit->watch);
    fd_closep(&limit->dir);
}

/* ---- words */

void limit_write_time(int64_t ms, char buf[LIMIT_TIME])
{
    enum { SOON_S = 12 * 3600 };
    time_t when = (time_t)(ms / 1000);
    struct tm tm;

    buf[0] = '\0';
    if (localtime_r(&when, &tm) != NULL)
        (void)strftime(buf, LIMIT_TIME, when - time(NULL) < SOON_S ? "%H:%M:%S" : "%Y-%m-%d %H:%M",
                       &tm);
}

static void write_note(struct agent_limit *limit)
{
    char when[LIMIT_TIME];

    limit_write_time(limit->due_ms, when);
    if (limit->until_ms > 0)
        (void)snprintf(limit->note, sizeof limit->note, "its provider takes no prompts until %s",
                       when);
    else
        (void)snprintf(limit->note, sizeof limit->note,
                       "its provider takes no prompts; retry at %s", when);
}

/* ---- waiting */

/* Has the kernel tell when something changes in sessions/.limits. Without that the timers are
 * enough. */
static void begin_watch(struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;

    if (limit->watch != -1 || limit_dir(host) == -1)
        return;
    limit->watch = watch_open();
    if (limit->watch != -1 &&
        watch_add(limit->watch, limit->dir, WATCH_CLOSED | WATCH_DELETED | WATCH_CAME) == -1)
        fd_closep(&limit->watch);
}

/* Holds the turns back until a time, or until another agent has tried. */
static bool hold(struct host *host, const struct login_limit *known, int64_t now_ms)
{
    struct agent_limit *limit = &host->talk->limit;
    int64_t wait = known->due_ms - now_ms;
    bool first = !limit->on;

    if (wait <= 0 && limit->soon > 0) {
        limit->soon--;
        wait = SOON_MS;
    } else if (wait <= 0) {
        wait = OTHERS_MS;
    }
    limit->look_at = time_monotonic_ms() + (wait < LOOK_MS ? wait : LOOK_MS);
    limit->on = true;
    limit->until_ms = known->until_ms;
    limit->due_ms = known->due_ms;
    write_note(limit);
    begin_watch(host);
    if (first)
        memory_say(host, true, "another agent with the same login was told to wait: %s",
                   limit->note);
    return true;
}

static void end_wait(struct agent_limit *limit)
{
    limit->on = limit->skip = false;
    limit->soon = 0;
    fd_closep(&limit->watch);
}

/* The login is limited: has the agent begin again with the next one, or holds the turns back. */
static bool hold_or_change(struct host *host, struct login_limit *known, int64_t now_ms)
{
    struct agent_limit *limit = &host->talk->limit;
    int trial = -1;

    if (!login_next(host, limit->dir, known, &trial))
        return hold(host, known, now_ms);
    const char *name = host->accounts.of[host->accounts.next]->name;
    end_wait(limit);
    fd_closep(&limit->trial);
    limit->trial = trial; /* until the turn begins in the next process */
    limit->look_at = time_monotonic_ms();
    limit->trial_until = limit->look_at + TRIAL_MS;
    host_log(host, "goes on with the next account");
    memory_say(host, true, "the agent begins again with account '%s'", name);
    return true;
}

bool limit_holds(struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;
    int64_t now = time_epoch_ms();

    if (login_changes(host) || (limit->on && !limit->skip && time_monotonic_ms() < limit->look_at))
        return true;
    struct login_limit known = login_limit_read(known_dir(host), limit->login);
    bool refused = limit->prompt != 0 || (limit->screen && limit->on);
    if (known.attempts == 0 && refused && limit->due_ms > now && limit->dir == -1)
        known = (struct login_limit){
            .attempts = 1, .until_ms = limit->until_ms, .due_ms = limit->due_ms};
    if (known.attempts == 0) { /* there was none, or another agent was not refused */
        end_wait(limit);
        return false;
    }
    if (known.due_ms > now && !limit->skip)
        return hold_or_change(host, &known, now);
    if (limit->trial == -1 && limit_dir(host) != -1) {
        limit->trial = login_limit_try(limit->dir, limit->login);
        if (limit->trial == -1)
            return hold_or_change(host, &known, now); /* another agent tries */
        known = login_limit_read(limit->dir, limit->login); /* it may have tried meanwhile */
        if (known.due_ms > now && !limit->skip) {
            fd_closep(&limit->trial);
            return hold_or_change(host, &known, now);
        }
        if (limit->screen)
            limit->trial_until = time_monotonic_ms() + SCREEN_MS;
    }
    end_wait(limit);
    return false;
}

void limit_gives_up(struct host *host)
{
    if (!host->talk->turn.on && !login_changes(host))
        fd_closep(&host->talk->limit.trial);
}

void limit_skip(struct host *host)
{
    host->talk->limit.skip = true;
}

/* ---- turns */

void limit_turn_begins(struct host *host)
{
    struct agent_limit *limit = &host->talk->limit;

    limit->began_ms = time_epoch_ms();
    limit->trial_until = time_monotonic_ms() + TRIAL_MS;
    limit->said[0] = '\0';
    limit->said_len = 0;
    if (limit->prompt != 0 && limit->prompt == host->talk->turn.prompt.number) {
        limit->sent = true;
        keep_prompt(host); /* a kill from now on cuts it off, as any other */
    } else {
        forget_prompt(host);
    }
}

void limit_said(struct host *host, const char *text, size_t len)
{
    struct agent_limit *limit = &host->talk->limit;
    size_t room = sizeof limit->said - 1 - limit->said_len;
    size_t n = len < room ? len : room;

    memcpy(limit->said + limit->said_len, text, n);
    limit->said_len += n;
    limit->said[limit->said_len] = '\0';
}

void limit_turn_ended(struct host *host, bool succeeded)
{
    struct agent_limit *limit = &host->talk->limit;

    forget_prompt(host);
    if (succeeded && !login_is_left(host) &&
        (limit->trial != -1 || (limit->screen && limit->dir != -1))) {
        login_limit_over(limit_dir(host), limit->login);
        limit->look_at = 0;
    }
    if (succeeded)
        limit->attempts = 0;
    fd_closep(&limit->trial);
}

/* Notes for the login, and for this agent, until when to wait. */
static void note_wait(struct host *host, const struct limit_refusal *told)
{
    struct agent_limit *limit = &host->talk->limit;
    int retry_ms = config_number(&host->config, SETTING_LIMIT_RETRY);
    struct login_limit news = {.until_ms = told->until_ms};
    struct login_limit known;
    struct err err = ERR_INIT;

    if (login_is_left(host))
        return; /* that login is known to be limited */
    /* a login's wait that cannot be written holds for this agent; the others are refused, too */
    if (news.until_ms <= time_epoch_ms()) /* Codex tells the minute in which the limit ends */
        news.until_ms = 0; /* at once, each agent of the login would be refused in turn */
    login_refused(host, limit_dir(host));
    if (limit_dir(host) == -1 || login_limit_note(limit->dir, limit->login, &news, limit->began_ms,
                                                  retry_ms, &known, &err) == -1)
        known = (struct login_limit){
            .until_ms = news.until_ms,
            .due_ms = news.until_ms > 0
                          ? news.until_ms
                          : login_limit_due(limit->attempts, retry_ms, time_epoch_ms())};
    limit->until_ms = known.until_ms;
    limit->due_ms = known.due_ms;
    limit->on = true;
    limit->look_at = 0;
}

void limit_refused(struct host *host, const struct limit_refusal *told)
{
    struct agent_limit *limit = &host->talk->limit;
    int64_t number = host->talk->turn.prompt.number;

    limit->attempts = limit->prompt == number ? limit->attempts + 1 : 1;
    limit->prompt = number;
    note_wait(host, told);
    limit->sent = false;
    keep_prompt(host);
}

void limit_refused_there(struct host *host, const struct limit_refusal *told)
{
    host->talk->limit.attempts++;
    note_wait(host, told);
}

void limit_tell(struct host *host, const struct limit_refusal *told)
{
    struct agent_limit *limit = &host->talk->limit;
    char when[LIMIT_TIME], often[32] = "";

    fd_closep(&limit->trial);
    write_note(limit);
    limit_write_time(limit->due_ms, when);
    host_log(host, limit->note);
    if (limit->attempts > 1)
        (void)snprintf(often, sizeof often, ", refused %d times", limit->attempts);
    memory_say(host, true, "%s%s: %.*s; %s %s %s",
               told->overloaded ? "the provider has too much load" : "a limit of the provider",
               often, (int)str_fit(told->why, LIMIT_WORDS_MAX), told->why,
               told->is_theirs ? "whoever typed the prompt asks it again, and mas sends others"
                               : "mas sends the prompt again",
               limit->until_ms > 0 ? "when the provider takes prompts again, at"
                                   : "by its own rule, at",
               when);
}

/* ---- the loop */

bool limit_is_on(const struct talk *talk)
{
    return talk->limit.on && !talk->turn.on && (talk->queue.count > 0 || talk->limit.screen);
}

void limit_want(const struct host *host, struct loop *loop)
{
    loop_want(loop, host->talk->limit.watch, POLLIN);
}

void limit_serve(struct host *host, struct loop *loop)
{
    struct agent_limit *limit = &host->talk->limit;

    if (loop_got(loop, limit->watch) == 0)
        return;
    (void)watch_read(limit->watch, NULL, NULL);
    limit->look_at = 0;
    limit->soon = SOON_LOOKS;
}

/* Returns true if the turn at work has brought more than a message of the provider could be. Some
 * agents say that their request was refused before they end the turn. */
static bool is_accepted(const struct talk *talk)
{
    return talk->turn.tools.count > 0 || talk->turn.employs ||
           talk->limit.said_len > LIMIT_WORDS_MAX;
}

/* Nothing waits in the queue of an agent with a screen of its own: looks whether the wait is over,
 * and whether what it was to try has begun no turn. */
static int64_t tick_screen(struct host *host, int64_t now)
{
    struct agent_limit *limit = &host->talk->limit;

    if (limit->on && host->talk->ops->is_at_rest(host) && !limit_holds(host))
        limit_gives_up(host);
    if (limit->trial != -1 && now >= limit->trial_until)
        fd_closep(&limit->trial);
    return limit->on ? limit->look_at : limit->trial != -1 ? limit->trial_until : -1;
}

/* Ends the program, which begins again with the other login. What a person does on its screen goes
 * first. */
static int64_t tick_change(struct host *host, int64_t now)
{
    const struct talk_ops *ops = host->talk->ops;

    if (ops->is_used != NULL && ops->is_used(host))
        return now + SCREEN_MS;
    child_end(host, child_times(host), 0, true);
    return -1;
}

int64_t limit_tick(struct host *host, int64_t now)
{
    struct talk *talk = host->talk;
    struct agent_limit *limit = &talk->limit;

    if (talk->turn.on) {
        if (limit->trial == -1 || login_is_left(host))
            return -1;
        if (!is_accepted(talk) && now < limit->trial_until)
            return limit->trial_until;
        login_limit_over(limit_dir(host), limit->login); /* the others may go on, too */
        fd_closep(&limit->trial);
        return -1;
    }
    if (limit->prompt != 0 && queue_find(talk, limit->prompt) == talk->queue.count)
        forget_prompt(host); /* cancelled, or cleared */
    if (login_changes(host))
        return tick_change(host, now);
    if (limit->screen)
        return tick_screen(host, now);
    if (talk->queue.count == 0) {
        end_wait(limit);
        fd_closep(&limit->trial);
    }
    return limit->on ? limit->look_at : -1;
}
