/*
 * While the agent runs, its state is what the watcher derives; else that of its last run. tick()
 * writes what could not be written before, lets the watcher judge, types messages, and passes on a
 * person's keys last, unless a message is on its way. When a run ends, a message that is half typed
 * is whole again for the next one, and the pane gets its modes back.
 */

#include "host/backend.h"

#include "base/time.h"
#include "host/picture.h"
#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "os/proc.h"
#include "protocol/host.h"

/* Queues the messages that waited, and the first message of a new team: mas hands that out once, so
 * it has to outlive this host as they do. */
static void load_first_messages(struct host *host)
{
    if (host->prompts)
        (void)delivery_add(host, &(struct store_input){.enter = true,
                                                       .text = host->agent->prompt,
                                                       .len = strlen(host->agent->prompt)});
    delivery_read(host);
    delivery_keep_first(host);
}

static int open_terminal(struct host *host, struct err *err)
{
    host->terminal = mem_alloc(sizeof *host->terminal);
    host->terminal->tty = (struct tty)TTY_INIT;
    if (pane_open(&host->pane, err) == -1)
        return -1;
    if (preset_tells(host->preset)) {
        teller_open(host);
        host->terminal->teller->put_back = delivery_put_back;
    } else {
        sleep_forget(host); /* of an agent that was of another kind */
    }
    load_first_messages(host);
    return 0;
}

static void close_terminal(struct host *host)
{
    struct terminal *terminal = host->terminal;

    if (terminal == NULL)
        return;
    teller_close(host);
    delivery_leave(host);
    tty_disconnect(&terminal->tty);
    watcher_free(&terminal->watcher);
    draft_free(&terminal->draft);
    str_free(&terminal->aside);
    early_free(&terminal->early);
    str_free(&terminal->press.names);
    delivery_free(&terminal->delivery);
    free(terminal);
    host->terminal = NULL;
}

/* Tells the program its role, and how to tell what it does. */
static int tell(struct host *host, char ***argv, char ***env, struct err *err)
{
    _cleanup_str_ struct str history = STR_INIT;

    role_drop(host);
    if (picture_open_dir(host, err) == -1)
        return -1;
    if (host->terminal->teller != NULL) {
        if (teller_write_hooks(host, argv, env, err) == -1)
            return -1;
        early_begins(host);
        sleep_process_starts(host);
        teller_choose_session(host, argv, &history);
        memory_tell_loss(host, false, &history);
    }
    return role_tell(host, str_text(&history), argv, env, err);
}

static int connect_agent(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                         struct err *err)
{
    (void)spec;
    if (tty_connect(&host->terminal->tty, &host->pane.was, ret_slave, err) == -1)
        return -1;
    host_set_title(host); /* until the agent sets its own */
    return 0;
}

static void launched(struct host *host, int64_t now)
{
    watcher_free(&host->terminal->watcher);
    watcher_start(&host->terminal->watcher, host->preset, now);
    draft_reset(&host->terminal->draft);
    host->terminal->draft_screens = 0;
    if (host->terminal->teller != NULL)
        teller_begins(host);
}

static void ended(struct host *host, const char *how, struct agent_end *ret)
{
    if (host->terminal->teller != NULL)
        teller_ended(host, how, ret);
}

static void disconnect(struct host *host)
{
    delivery_interrupt(host);
    press_drop(host);
    if (host->terminal->tty.master == -1)
        return;
    tty_disconnect(&host->terminal->tty);
    pane_drop_keys(&host->pane);
    pane_reset(&host->pane, host->terminal->watcher.origin);
    host_set_title(host);
    if (host->child.sleeps)
        pane_print(&host->pane, SLEEP_WORDS);
}

static void last_lines(const struct host *host, size_t max, struct str *to)
{
    watcher_last_lines(&host->terminal->watcher, max, to);
}

static bool takes_pictures(const struct host *host)
{
    return host->preset->picture[0] != '\0';
}

static size_t queued(const struct host *host)
{
    size_t typed = host->terminal->delivery.count;

    return host->talk == NULL
               ? typed
               : typed + host->talk->queue.count -
                     (typed > 0 && teller_gives(host) && !host->talk->queue.prompts[0].later);
}

static void fail_queue(struct host *host, const char *why)
{
    if (host->talk != NULL)
        queue_fail(host, HOST_END_FAILED, why);
    delivery_fail(host, why);
}

static void keep_queue(struct host *host, const char *why)
{
    if (host->talk != NULL)
        queue_keep(host, why);
}

static enum agent_state state(const struct host *host)
{
    return host->child.phase == CHILD_RUNS ? teller_state(host, host->terminal->watcher.state)
                                           : host->child.rest;
}

static const char held_note[] = "a message waits, as a person has typed on the line";

static void fill_status(const struct host *host, struct agent_status *ret)
{
    const struct watcher *watcher = &host->terminal->watcher;

    ret->title = (char *)(uintptr_t)watcher->title;
    if (host->terminal->teller != NULL)
        teller_fill_status(host, ret);
    if (host->terminal->delivery.held || teller_holds(host))
        ret->note = (char *)(uintptr_t)held_note;
    else if (host->child.phase == CHILD_RUNS && (ret->note == NULL || ret->note[0] == '\0'))
        ret->note = (char *)(uintptr_t)watcher->notice;
}

static void say(struct host *host, const char *words)
{
    pane_print(&host->pane, words);
}

/* What it was silent for while it was stopped does not count. */
static void pause_terminal(struct host *host, bool on, int64_t lasted)
{
    if (!on)
        watcher_skip(&host->terminal->watcher, lasted);
}

static bool reads_keys(const struct host *host, int64_t now)
{
    return !delivery_holds_keys(host, now);
}

static void handle_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    if (!early_is_over(host)) {
        early_keys(host, keys, len, now);
        pane_drop_keys(&host->pane);
        return;
    }
    teller_keys(host, keys, len, now); /* looks at the line before Enter empties it */
    line_keys(host, keys, len, now);
    watcher_keys(&host->terminal->watcher, keys, len, now);
}

/* Returns true if the agent waits in a read of its terminal, though it has printed nothing. */
static bool reads_unasked(struct host *host)
{
    const struct watcher *watcher = &host->terminal->watcher;

    if (watcher->ready || watcher->printed || host->child.pid == 0 ||
        !proc_is_reading(host->child.pid))
        return false;
    (void)relay_drain(host); /* it may have asked something before it read */
    return !watcher->printed;
}

static int64_t tick(struct host *host, int64_t now)
{
    struct watcher *watcher = &host->terminal->watcher;
    int64_t next = stored_tick(host, now);

    if (host->child.phase == CHILD_RUNS && !host->disk.paused) {
        if (reads_unasked(host))
            watcher_reads(watcher);
        next = time_sooner(next, watcher_tick(watcher, now));
        (void)early_is_over(host);
    }
    int64_t due = host->disk.paused ? -1 : delivery_run(host, now);
    bool ignored = false; /* the supervisor tells the end of the agent */
    if (!delivery_holds_keys(host, now) && host->terminal->tty.master != -1)
        pane_buffer_write(&host->pane.keys, host->terminal->tty.master, &ignored);
    next = time_sooner(time_sooner(next, due), teller_tick(host, now));
    return time_sooner(next, press_tick(host, now));
}

/* A client that holds its prompt has gone. */
static void abandoned(struct host *host, int64_t prompt)
{
    if (host->talk != NULL)
        (void)turn_cancel_prompt(host, prompt);
}

static void tell_status(struct host *host, const struct agent_status *now)
{
    if (host->talk != NULL)
        event_tell_state(host, now);
}

static void want(const struct host *host, struct loop *loop, int64_t now)
{
    relay_want(host, loop, now);
    if (host->talk != NULL)
        limit_want(host, loop);
}

static void serve(struct host *host, struct loop *loop)
{
    relay_serve(host, loop);
    if (host->talk != NULL)
        limit_serve(host, loop);
}

static void resize(struct host *host)
{
    tty_resize(&host->terminal->tty);
}

const struct backend backend_terminal = {
    .kind = BACKEND_TERMINAL,
    .logs_refusals = true,
    .asked_limit = INT_MAX,
    .next_start = "Enter starts it again",
    .open = open_terminal,
    .close = close_terminal,
    .tell = tell,
    .connect = connect_agent,
    .launched = launched,
    .disconnect = disconnect,
    .last_lines = last_lines,
    .queued = queued,
    .takes_pictures = takes_pictures,
    .fail_queue = fail_queue,
    .state = state,
    .fill_status = fill_status,
    .say = say,
    .note = say,
    .pause = pause_terminal,
    .reads_keys = reads_keys,
    .handle_keys = handle_keys,
    .wake_keys = early_keys,
    .want = want,
    .serve = serve,
    .tick = tick,
    .abandoned = abandoned,
    .ended = ended,
    .told = teller_event,
    .drain = relay_drain,
    .resize = resize,
    .keep_queue = keep_queue,
    .tell_status = tell_status,
};
