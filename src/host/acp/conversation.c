/*
 * The table at the end is what a host knows of ACP agents; its functions have each part of the
 * conversation do its share. At the end, the turn ends first and the queue is kept, then the
 * process is forgotten, then the parts go.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/backend.h"
#include "host/talk/budget.h"
#include "host/talk/doing.h"
#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/parts.h"
#include "host/talk/queue.h"
#include "host/talk/quota.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"
#include "host/talk/turns.h"
#include "host/talk/usage.h"
#include "host/unwritten.h"
#include "os/machine.h"

enum {
    ASKED_LIMIT = 2, /* restarts in a row for a prompt, whose sender waits */
};

/* ---- what its parts ask of the agent */

static bool is_ready(const struct host *host)
{
    return host->conversation->link.phase.now == PHASE_READY && host->child.phase == CHILD_RUNS;
}

static bool cancel(struct host *host)
{
    const struct conversation *conversation = host->conversation;

    if (!conversation->talk.turn.on)
        return tasks_cancel(host);
    acp_cancel(conversation->link.acp, conversation->talk.session);
    return true;
}

/* Returns the name of the model, as far as it is known. */
static const char *model(const struct host *host)
{
    const struct offered *offered = &host->conversation->offered;
    const char *set = host->talk->memory.place.model;

    for (size_t i = 0; i < offered->option_count; i++) {
        const struct config_option *option = &offered->option_list[i];
        if (option->category != NULL && option->value != NULL &&
            strcmp(option->category, "model") == 0)
            return option->value;
    }
    return set != NULL && set[0] != '\0' ? set : host->agent->model;
}

static enum agent_state unready(const struct host *host)
{
    const struct agent_link *link = &host->conversation->link;

    return link->needs_login                    ? AGENT_WAITING
           : link->phase.now == PHASE_ENDS_TURN ? AGENT_WORKING
           : link->phase.now == PHASE_STUCK     ? AGENT_IDLE
                                                : AGENT_STARTING;
}

static const char *note(const struct host *host)
{
    struct conversation *conversation = host->conversation;
    struct str *tasks = &conversation->tasks.note;

    str_free(tasks);
    if (tasks_go_on(conversation) && tasks_add_note(conversation, false, tasks))
        return tasks->data;
    return conversation->link.trouble;
}

static void cut_off(struct host *host)
{
    const struct turn *turn = &host->talk->turn;
    const struct agent_link *link = &host->conversation->link;

    steer_drop_all(host);
    if (turn->on && !turn->cancelled && link->acp != NULL && host->talk->session != NULL)
        acp_cancel(link->acp, host->talk->session);
}

static bool is_at_rest(const struct host *host)
{
    return is_ready(host) && !tasks_go_on(host->conversation);
}

static bool is_kept_awake(const struct host *host, struct str *why)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;

    if (link->phase.now == PHASE_ENDS_TURN)
        str_add(why, "it is working");
    else if (tasks_add_note(conversation, true, why))
        return true;
    else if (conversation->asides.count > 0)
        str_add(why, "a copy of its session is being asked");
    else if (link->phase.now != PHASE_READY)
        str_add(why, link->phase.now != PHASE_STUCK ? "it is starting"
                     : link->needs_login            ? "it waits for a login"
                                                    : "it cannot be used");
    else if (terminals_count(conversation->work.terminals) > 0)
        str_add(why, "a program that it has asked mas for runs, or is not released");
    else
        return false;
    return true;
}

static void forget_numbers(struct host *host)
{
    tasks_forget_numbers(&host->conversation->tasks);
}

static void wake(struct host *host)
{
    struct conversation *conversation = host->conversation;

    if (conversation->talk.queue.count == 0 && conversation->asides.count == 0 &&
        !kept_waits(conversation))
        return;
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, time_monotonic_ms());
    else if (host->child.phase == CHILD_ENDS)
        host->child.again = true;
    else if (host->child.phase == CHILD_RUNS && conversation->link.phase.now == PHASE_STUCK)
        child_end(host, child_times(host), 0, true); /* a person may have logged in meanwhile */
    turn_run(host);
}

static void put_offers(const struct host *host, struct json_out *out)
{
    abilities_put(&host->conversation->offered.can, out);
    offered_put_modes(host->conversation, out);
    offered_put_commands(host->conversation, out);
}

static const char *options(const struct host *host)
{
    const struct str *options = &host->conversation->offered.options;

    return options->len > 0 ? options->data : NULL;
}

static bool knows_modes(const struct host *host)
{
    return settings_knows_modes(host->conversation);
}

static int ask_aside(struct host *host, struct client *client, const char *text, size_t len,
                     struct err *err)
{
    if (aside_add(host, client, text, len, err) == -1)
        return -1;
    wake(host);
    aside_run(host);
    return 0;
}

static const struct talk_ops ops = {
    .show = chat_print,
    .is_ready = is_ready,
    .send = prompt_send_turn,
    .succeeds = resume_prove,
    .cancel = cancel,
    .model = model,
    .wake = wake,
    .put_offers = put_offers,
    .options = options,
    .knows_modes = knows_modes,
    .ask_aside = ask_aside,
    .cancel_aside = aside_cancel,
    .permit = ask_permit,
    .refuse = ask_refuse,
    .unready = unready,
    .note = note,
    .check_mode = settings_check_mode,
    .cut_off = cut_off,
    .leave = leave_session,
    .is_at_rest = is_at_rest,
    .is_kept_awake = is_kept_awake,
    .keep_session = resume_keep_session,
    .forget_numbers = forget_numbers,
};

/* ---- its life */

static void make(struct host *host)
{
    struct conversation *conversation = mem_alloc(sizeof *conversation);
    struct agent_link *link = &conversation->link;
    struct err err = ERR_INIT;

    conversation->talk.ops = &ops;
    link->in = link->out = link->err = -1;
    link->phase.until = conversation->chat.start_at = -1;
    link->program = mem_dup("");
    link->tools = opening_servers(host);
    if (machine_identity(&link->machine, &err) == -1)
        link->machine = mem_dup(""); /* then it is told what was said, as on another machine */
    conversation->offered.mode = mem_dup("");
    host->conversation = conversation;
    host->talk = &conversation->talk;
    parts_open(host);
}

static int open_conversation(struct host *host, struct err *err)
{
    static const int keys[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};

    if (pane_check(err) == -1)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) /* those of the pane are for mas-chat */
        (void)signal(keys[i], SIG_IGN);
    host_set_title(host);
    make(host);
    chat_open(host);
    queue_open(host);
    return 0;
}

static void keep_queue(struct host *host, const char *why);

static void close_conversation(struct host *host)
{
    struct conversation *conversation = host->conversation;

    if (conversation == NULL)
        return;
    turn_end(host, HOST_END_STOPPED, 0, NULL);
    keep_queue(host, "its host has ended");
    process_disconnect(host); /* still looks at the queue */
    chat_close(host);
    parts_close(host);
    link_free(&conversation->link);
    offered_free(&conversation->offered);
    settings_free(&conversation->settings);
    compact_free(&conversation->compaction);
    kept_free(&conversation->kept);
    context_list_free(&conversation->recall.known);
    str_free(&conversation->tasks.note);
    free(conversation);
    host->conversation = NULL;
}

/* ---- its state */

/* Returns how the present session learned what was said before; "" without a session. */
static const char *continuity(const struct conversation *conversation)
{
    enum phase phase = conversation->link.phase.now;

    return phase == PHASE_SETS || phase == PHASE_READY
               ? store_outcome_name(conversation->resume.outcome)
               : "";
}

static void fill_status(const struct host *host, struct agent_status *ret)
{
    const struct conversation *conversation = host->conversation;
    const char *title = conversation->offered.title;

    ret->acp = ret->tells = ret->talks = true;
    ret->continuity = (char *)(uintptr_t)continuity(conversation);
    ret->title = (char *)(uintptr_t)(title != NULL ? title : "");
    if (host->child.phase == CHILD_RUNS)
        ret->note = (char *)(uintptr_t)conversation->link.printed.notice;
    doing_fill(host, ret);
}

/* ---- the process */

static int connect_agent(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                         struct err *err)
{
    (void)ret_slave;
    sleep_process_starts(host);
    return process_connect(host, spec->pipes, err);
}

static void launched(struct host *host, int64_t now)
{
    watcher_free(&host->conversation->link.printed);
    watcher_start(&host->conversation->link.printed, host->preset, now);
}

static void ended(struct host *host, const char *how, struct agent_end *ret)
{
    const struct agent_link *link = &host->conversation->link;

    ret->early = link->phase.now == PHASE_INITIALIZES;
    process_ended(host, how);
    ret->why = link->trouble[0] != '\0' ? link->trouble : NULL;
}

static void last_lines(const struct host *host, size_t max, struct str *to)
{
    watcher_last_lines(&host->conversation->link.printed, max, to);
}

/* ---- prompts */

static size_t queued(const struct host *host)
{
    return host->talk->queue.count;
}

static void fail_queue(struct host *host, const char *why)
{
    aside_fail_all(host, why);
    kept_fail(host, why);
    queue_fail(host, HOST_END_FAILED, why);
}

static void keep_queue(struct host *host, const char *why)
{
    aside_fail_all(host, why);
    kept_fail(host, why);
    queue_keep(host, why);
}

/* ---- the pane */

static void say(struct host *host, const char *words)
{
    if (host->conversation->chat.plain)
        pane_print(&host->pane, words);
    else
        memory_say(host, false, "%s", words);
}

static void note_in_history(struct host *host, const char *words)
{
    memory_say(host, true, "%s", words);
}

/* While the agent is stopped it cannot answer: its time limits move. */
static void pause_agent(struct host *host, bool on, int64_t lasted)
{
    struct conversation *conversation = host->conversation;

    if (conversation->work.terminals != NULL)
        terminals_pause(conversation->work.terminals, on);
    if (on)
        return;
    watcher_skip(&conversation->link.printed, lasted);
    if (conversation->link.acp != NULL)
        acp_delay(conversation->link.acp, lasted);
    if (conversation->link.phase.until != -1)
        conversation->link.phase.until += lasted;
    if (conversation->talk.turn.cancel_until != -1)
        conversation->talk.turn.cancel_until += lasted;
    conversation->resume.quiet_since += lasted;
}

static bool reads_keys(const struct host *host, int64_t now)
{
    (void)now;
    return host->conversation->chat.plain;
}

/* Drops keys: a pane without mas-chat takes no prompts. */
static void handle_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    (void)keys;
    (void)len;
    (void)now;
    pane_drop_keys(&host->pane);
}

/* ---- the loop */

static void want(const struct host *host, struct loop *loop, int64_t now)
{
    (void)now;
    link_want(host, loop);
    limit_want(host, loop);
    turns_want(host, loop);
    work_want(host, loop);
}

static void serve(struct host *host, struct loop *loop)
{
    if (work_serve(host, loop))
        tool_show_programs(host);
    limit_serve(host, loop);
    turns_serve(host, loop);
    link_serve(host, loop);
}

/* Ends an agent that goes on with a turn that it was told to end, and starts it again. */
static void end_stubborn(struct host *host)
{
    host_log(host, "the agent did not end its turn when told to; it is restarted");
    memory_say(host, true, "the agent did not end its turn when told to; it is restarted");
    turn_end(host, "cancelled", 0, NULL);
    child_end(host, child_times(host), 0, true);
}

/* Ends an agent that does not end its turn in time. Returns when to call again. */
static int64_t tick_cancelled(struct host *host, int64_t now)
{
    const struct conversation *conversation = host->conversation;
    const struct turn *turn = &conversation->talk.turn;
    int64_t until = -1;

    if (turn->on && turn->cancel_until != -1)
        until = turn->cancel_until;
    else if (conversation->link.phase.now == PHASE_ENDS_TURN)
        until = conversation->link.phase.until;
    if (until == -1 || now < until)
        return until;
    if (host->child.phase == CHILD_RUNS)
        end_stubborn(host);
    return -1;
}

static void abandoned(struct host *host, int64_t prompt)
{
    (void)turn_cancel_prompt(host, prompt);
}

static int64_t tick(struct host *host, int64_t now)
{
    static unwritten_try *const tries[] = {parts_keep_again};
    const struct conversation *conversation = host->conversation;
    int64_t next = time_sooner(chat_tick(host, now), event_tick_listeners(host, now));

    next = time_sooner(next, unwritten_tick(host, tries, ARRAY_LEN(tries), now));

    if (conversation->link.acp == NULL)
        return next;
    if (host->disk.paused) { /* it cannot answer, and gets nothing new */
        next = time_sooner(next, usage_tick(host, now));
        process_flush(host);
        return next;
    }
    next = time_sooner(next, acp_tick(conversation->link.acp, now));
    next = time_sooner(next, resume_tick(host, now));
    next = time_sooner(next, tick_cancelled(host, now));
    next = time_sooner(next, usage_tick(host, now));
    next = time_sooner(next, budget_tick(host, now));
    if (host->child.phase == CHILD_RUNS)
        turn_run(host);
    aside_run(host);
    kept_run(host);
    next = time_sooner(next, limit_tick(host, now));
    next = time_sooner(next, quota_tick(host, now));
    next = time_sooner(next, turns_tick(host, now));
    next = time_sooner(next, sleep_tick(host, now));
    if (conversation->link.acp != NULL) /* again: requests made meanwhile have limits, too */
        next = time_sooner(next, acp_tick(conversation->link.acp, now));
    process_flush(host);
    return next;
}

const struct backend backend_acp = {
    .kind = BACKEND_ACP,
    .piped = true,
    .asked_limit = ASKED_LIMIT,
    .next_start = "the next prompt starts it again",
    .open = open_conversation,
    .close = close_conversation,
    .connect = connect_agent,
    .launched = launched,
    .disconnect = process_disconnect,
    .last_lines = last_lines,
    .queued = queued,
    .takes_pictures = prompt_takes_pictures,
    .fail_queue = fail_queue,
    .state = doing_state,
    .fill_status = fill_status,
    .say = say,
    .note = note_in_history,
    .pause = pause_agent,
    .reads_keys = reads_keys,
    .handle_keys = handle_keys,
    .want = want,
    .serve = serve,
    .tick = tick,
    .abandoned = abandoned,
    .begin = process_begin,
    .hang_up = process_hang_up,
    .ended = ended,
    .reap = chat_reap,
    .login_ended = login_ended,
    .keep_queue = keep_queue,
    .tell_status = event_tell_state,
};
