/*
 * An event names a fact by the preset's table; what came with it is parsed by protocol/hook.h.
 * A prompt begins a turn, what ends it ends the turn, and the state follows. Only the process that
 * told first in this run is heard: a program of the same kind that the agent runs in turn, such as
 * `claude -p`, inherits the hooks.
 */

#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"
#include "host/talk/budget.h"
#include "host/talk/doing.h"
#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/memory.h"
#include "host/talk/parts.h"
#include "host/talk/queue.h"
#include "host/talk/quota.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"
#include "host/talk/usage.h"
#include "host/unwritten.h"
#include "os/machine.h"
#include "protocol/host.h"

enum {
    RESUMED_MS = 60000, /* ending so soon, or before it is ready, it has not found its session */
    APPLY_MS = 10000, /* so long a program may take to apply what it was told of trust */
    UNSAID_MS = 1000, /* so long behind its last line, a program that rests has ended its turn */
    WHY_MAX = 2000, /* bytes of the program's own words in an error */
};

/* ---- what talk asks of the agent */

static void show(struct host *host, const char *event, const char *text, size_t len)
{
    if (strcmp(event, "note") != 0 || host->child.phase == CHILD_RUNS)
        return; /* the screen is the program's */
    _cleanup_free_ char *words = mem_dupn(text, len);
    pane_print(&host->pane, words);
}

static void do_nothing(struct host *host)
{
    (void)host;
}

static enum agent_state unready(const struct host *host)
{
    return host->terminal->teller->state;
}

/* Returns how its turn has failed; "". */
static const char *note(const struct host *host)
{
    return host->child.phase == CHILD_RUNS ? host->terminal->teller->trouble : "";
}

static int check_mode(const struct host *host, const char *mode, struct err *err)
{
    (void)mode;
    (void)host;
    return err_set(err, MAS_CONFLICT, "its program takes a mode on its own screen alone");
}

static const char *model(const struct host *host)
{
    const char *told = host->terminal->teller->lines.model;

    return told != NULL ? told : host->agent->model;
}

/* It is not asked any more by what the program has told. */
static void refuse(struct host *host, const struct asked_permission *permission)
{
    (void)host;
    (void)permission;
}

static void wake(struct host *host)
{
    if (host->talk->queue.count == 0)
        return;
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, time_monotonic_ms());
    turn_run(host);
}

/* What is sent is typed at once, and the program takes it when it likes. */
static void put_offers(const struct host *host, struct json_out *out)
{
    abilities_put(&(struct abilities){.known = true,
                                      .now = true,
                                      .pictures = host->backend->takes_pictures(host)},
                  out);
}

static const char *options(const struct host *host)
{
    (void)host;
    return NULL;
}

static bool knows_modes(const struct host *host)
{
    (void)host;
    return true; /* that it takes none */
}

static int ask_aside(struct host *host, struct client *client, const char *text, size_t len,
                     struct err *err)
{
    (void)client;
    (void)text;
    (void)len;
    (void)err_set(err, MAS_CONFLICT,
                  "the program on its terminal has one session, and no copy of it can be asked");
    return err_hint(err, "ask it in its conversation: mas ask %s %s TEXT",
                    session_label(&host->root, host->session.id).text, host->agent->id);
}

static bool cancel_aside(struct host *host, const char *id)
{
    (void)host;
    (void)id;
    return false;
}

static const struct talk_ops ops = {
    .show = show,
    .is_ready = teller_is_ready,
    .give = teller_give,
    .succeeds = do_nothing,
    .cancel = teller_cancel,
    .take_back = teller_take_back,
    .model = model,
    .wake = wake,
    .put_offers = put_offers,
    .options = options,
    .knows_modes = knows_modes,
    .ask_aside = ask_aside,
    .cancel_aside = cancel_aside,
    .permit = teller_permit,
    .refuse = refuse,
    .unready = unready,
    .note = note,
    .check_mode = check_mode,
    .cut_off = teller_cut_off,
    .leave = teller_leave,
    .is_at_rest = teller_is_at_rest,
    .is_used = teller_is_used,
    .is_kept_awake = teller_is_kept_awake,
    .keep_session = teller_keep_session,
    .forget_numbers = do_nothing,
};

/* ---- its life */

void teller_close(struct host *host)
{
    struct teller *teller = host->terminal->teller;

    if (teller == NULL)
        return;
    turn_end(host, HOST_END_STOPPED, 0, NULL);
    permission_drop_all(host);
    teller_ask_forget(teller);
    parts_close(host);
    typed_forget(teller);
    strv_free(teller->held);
    lines_free(&teller->lines);
    free(teller->talk.session);
    free(teller->machine);
    free(teller);
    host->terminal->teller = NULL;
}

void teller_begins(struct host *host)
{
    struct teller *teller = host->terminal->teller;

    teller->heard = teller->behind = teller->asked_trust = false;
    teller->entered = teller->enter_at = teller->trusted_at = teller->unwanted_until = 0;
    teller->process = (struct proc_id){.pid = 0};
    teller->state = AGENT_STARTING;
    teller->trouble[0] = '\0';
    typed_forget(teller);
}

/* Returns true if a person has said yes to that question in this run, and the program starts
 * itself anew to apply it. */
static bool applies_trust(const struct host *host)
{
    return host->terminal->teller->trusted_at != 0 && host->preset->told.renews;
}

void teller_ended(struct host *host, const char *how, struct agent_end *ret)
{
    struct teller *teller = host->terminal->teller;
    const struct child *child = &host->child;

    lines_look(host);
    turn_end(host, HOST_END_STOPPED, 0, how);
    teller_given_ended(host, how);
    permission_drop_all(host);
    teller_ask_forget(teller);
    sleep_process_ended(host);
    /* what it says of a session that it does not find is no event, and SessionEnd none of it; one
     * that starts itself anew to apply what it was told of trust may find its own id taken */
    bool renews = teller->asked_trust && applies_trust(host);
    bool refused = teller->asked_trust && teller->trusted_at == 0;
    int64_t since = renews ? teller->trusted_at : child->started;
    if (refused ||
        (!renews && (teller->outcome != OUTCOME_RESUMED || teller->state != AGENT_STARTING)) ||
        child->asked || child->exit_code <= 0 ||
        (host->terminal->watcher.ready && time_monotonic_ms() - since > RESUMED_MS))
        return;
    teller->lost = true;
    ret->early = true; /* it starts once more, with a new session */
}

/* ---- prompts */

void teller_keys(struct host *host, const char *keys, size_t len, int64_t now)
{
    struct teller *teller = host->terminal->teller;
    const struct draft *draft = &host->terminal->draft;

    if (teller == NULL)
        return;
    sleep_keys(host);
    teller_ask_keys(host, keys, len);
    if (memchr(keys, '\r', len) == NULL)
        return;
    teller_enters(host, now);
    if (len == 1 && draft->state == DRAFT_KNOWN)
        typed_add(host, str_text(&draft->text), draft->text.len, NULL, "-", false);
    else if (len > 1 || draft->state == DRAFT_UNKNOWN)
        teller->entered = now;
}

/* Finds the prompt that the program tells of, which it was given, or adds it to the queue. Returns
 * its index; queue.count: nobody that the host knows of has asked it, or it cannot be stored.
 * `later`: its turn does not begin now. */
static size_t know_prompt(struct host *host, const char *text, bool later)
{
    struct teller *teller = host->terminal->teller;
    const struct prompt_queue *queue = &host->talk->queue;
    struct typed asked = {.from = "-"};
    bool is_known = text != NULL && typed_by(host, text, &asked);
    _cleanup_free_ char *own = asked.text, *data = asked.data;
    struct new_prompt prompt = {.text = own != NULL ? own : text,
                                .from = asked.from,
                                .data = data,
                                .begins = !later,
                                .steers = later,
                                .told = true};
    int64_t number = 0;
    struct err err = ERR_INIT;

    if (text != NULL && teller_gives(host) && !queue->prompts[0].later &&
        typed_is(queue->prompts[0].text, queue->prompts[0].data != NULL, text)) {
        queue->prompts[0].message = asked.message;
        return 0;
    }
    if (!is_known && !teller->heard && text != NULL && lines_was_asked(host, text))
        return queue->count;
    if (!is_known) {
        const char *words = text != NULL ? text : "something that cannot be read";
        memory_say(host, true, "the program says that it was asked: %.*s",
                   (int)str_fit(words, WHY_MAX), words);
        return queue->count;
    }
    prompt.len = strlen(prompt.text);
    if (queue_add(host, &prompt, &number, &err) == -1) {
        host_log(host, err.text);
        return queue->count;
    }
    struct prompt *added = &queue->prompts[queue->count - 1];
    added->message = asked.message;
    added->unwanted = time_monotonic_ms() < teller->unwanted_until;
    teller->unwanted_until = 0;
    return queue->count - 1;
}

/* Finds what the program has told in the middle of a turn, and not taken yet; queue.count: there is
 * none with this text. */
static size_t find_later(const struct host *host, const char *text)
{
    const struct prompt_queue *queue = &host->talk->queue;
    size_t i = 0;

    while (i < queue->count &&
           (text == NULL || !queue->prompts[i].later ||
            !typed_is(queue->prompts[i].text, queue->prompts[i].data != NULL, text)))
        i++;
    return i;
}

static bool is_kept(const struct host *host, const char *text)
{
    return find_later(host, text) < host->talk->queue.count;
}

static void begin_turn(struct host *host, const char *text)
{
    struct teller *teller = host->terminal->teller;
    const struct prompt_queue *queue = &host->talk->queue;
    struct err err = ERR_INIT;

    teller->untold = false;
    if (host->talk->turn.on) /* its end was not told */
        turn_end(host, "end_turn", 0, NULL);
    sleep_turn_begins(host); /* also one that nobody has asked for */
    if (host->talk->memory.store == NULL)
        (void)memory_need(host, &err);
    if (host->talk->session == NULL && teller->id[0] != '\0') {
        host->talk->session = mem_dup(teller->id);
        teller_keep_session(host, NULL);
    }
    size_t index = find_later(host, text);
    if (index == queue->count)
        index = know_prompt(host, text, false);
    if (index == queue->count)
        return;
    int64_t number = queue->prompts[index].number;
    turn_begin_told(host, index);
    lines_note(host, ROLE_USER, text, number);
}

/* Keeps a prompt that the program takes later, before those that it was not given. */
static void keep_prompt(struct host *host, const char *text)
{
    size_t index = know_prompt(host, text, true);

    if (index == host->talk->queue.count)
        return;
    struct prompt prompt = queue_remove(host->talk, index);
    prompt.begun = prompt.given = prompt.later = true;
    queue_push_first(host, &prompt);
}

/* The program takes a prompt into its turn. */
static void join_turn(struct host *host, const char *text)
{
    size_t index = find_later(host, text);

    if (index == host->talk->queue.count && !host->terminal->teller->heard)
        index = know_prompt(host, text, true);
    if (index < host->talk->queue.count)
        turn_take(host, index);
}

/* Returns true if the program tells a prompt of the middle of a turn at once, and by a line when it
 * takes it. */
static bool tells_later(const struct preset_told *told)
{
    size_t i = 0;

    while (i < told->line_count && told->lines[i].fact != TOLD_JOINS)
        i++;
    return i < told->line_count;
}

/* ---- the other facts */

static void tell_tool(struct host *host, const struct hook_told *told)
{
    if (told->tool == NULL)
        return;
    /* without an id each is another call */
    _cleanup_free_ char *id = told->tool_id != NULL
                                  ? mem_dup(told->tool_id)
                                  : mem_printf("mas-%u", ++host->terminal->teller->calls);
    struct tool_call *tool = said_know_tool(&host->talk->turn.tools, id);
    if (tool->number == 0)
        said_close_text(host);
    free(tool->title);
    tool->title = teller_describe(host, told);
    free(tool->status);
    tool->status = mem_dup("completed");
    said_tell_tool(host, tool, "");
    code_changed(host);
}

char *teller_describe_tool(const struct host *host, const struct hook_told *told, struct str *data)
{
    char *line = teller_describe(host, told);
    struct json_out out = {.to = data};

    json_put_all(&out, JO(NULL), JT("id", told->tool_id), JT("title", line), JT("kind", "other"),
                 JT("status", "completed"), JOE);
    return line;
}

static void add_tool(struct host *host, const struct hook_told *told, int64_t trigger)
{
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_free_ char *line = teller_describe_tool(host, told, &data);
    const struct store_message message = {.role = ROLE_TOOL,
                                          .state = MESSAGE_DONE,
                                          .text = line,
                                          .len = strlen(line),
                                          .data = data.data,
                                          .key = told->tool_id,
                                          .trigger = trigger};
    (void)memory_add(host, &message);
}

static void tell_answer(struct host *host, const char *answer)
{
    if (answer != NULL && answer[0] != '\0' && !lines_have_told(host, ROLE_AGENT, answer)) {
        said_text(host, ROLE_AGENT, answer, strlen(answer));
        lines_note(host, ROLE_AGENT, answer, host->talk->turn.answer);
    }
    said_close_text(host);
}

/* Keeps words for the status, as much of them as fits. */
static void keep_words(char to[TOLD_WORDS_MAX], const char *words)
{
    (void)snprintf(to, TOLD_WORDS_MAX, "%.*s", (int)str_fit(words, TOLD_WORDS_MAX - 1), words);
}

static const char *why_of(const struct hook_told *told)
{
    return told->answer != NULL && told->answer[0] != '\0' ? told->answer
           : told->error != NULL                           ? told->error
                                                           : "no reason was given";
}

static void fail_turn(struct host *host, const struct hook_told *told)
{
    const char *why = why_of(told);
    _cleanup_free_ char *words =
        mem_printf("the agent tells of an error: %.*s", (int)str_fit(why, WHY_MAX), why);

    keep_words(host->terminal->teller->trouble, words);
    turn_end(host, HOST_END_FAILED, 0, words);
}

static void take_fact(struct host *host, enum told_fact fact, const struct hook_told *told)
{
    static const enum agent_state states[TOLD_FACT_COUNT] = {
        [TOLD_STARTS] = AGENT_IDLE,     [TOLD_PROMPT] = AGENT_WORKING, [TOLD_TOOL] = AGENT_WORKING,
        [TOLD_ASKS] = AGENT_WORKING,    [TOLD_DONE] = AGENT_IDLE,      [TOLD_FAILED] = AGENT_IDLE,
        [TOLD_STOPPED] = AGENT_IDLE,    [TOLD_WORKS] = AGENT_WORKING,  [TOLD_RESTS] = AGENT_IDLE,
        [TOLD_RETRIES] = AGENT_WORKING, [TOLD_JOINS] = AGENT_WORKING,
    };
    struct teller *teller = host->terminal->teller;

    /* the process tells its end, and a session is not lost by it; a turn ends by facts of its own
     */
    if (fact == TOLD_ENDS || (fact == TOLD_RESTS && host->talk->turn.on))
        return;
    if (told->session != NULL)
        teller_change_session(host, told->session, fact == TOLD_STARTS ? told->source : "resume");
    /* a tool may end behind its turn, and a session is told again after a compaction in a turn */
    bool stays = fact == TOLD_TOOL || fact == TOLD_RETRIES || fact == TOLD_JOINS
                     ? !host->talk->turn.on && teller->state == AGENT_IDLE
                     : fact == TOLD_STARTS && host->talk->turn.on;
    if (!stays)
        teller->state = states[fact];
    if (teller->clears)
        return; /* it is about what was cleared */
    if (fact < TOLD_WORKS)
        teller_asked(host, fact, told);
    teller->limited = fact == TOLD_RETRIES && teller_is_limit(host, told);
    if (fact != TOLD_TOOL && fact != TOLD_ASKS && fact != TOLD_RESTS)
        teller->trouble[0] = '\0';
    const struct prompt_queue *queue = &host->talk->queue;
    if ((fact == TOLD_DONE || fact == TOLD_FAILED) && !host->talk->turn.on && queue->count > 0 &&
        queue->prompts[0].later)
        begin_turn(host, queue->prompts[0].text); /* no line has told that it was taken */
    switch (fact) {
    case TOLD_PROMPT:
        if (told->prompt != NULL && lines_have_told(host, ROLE_USER, told->prompt))
            break;
        if (told->json != NULL && host->talk->turn.on && tells_later(&host->preset->told))
            keep_prompt(host, told->prompt);
        else
            begin_turn(host, told->prompt);
        break;
    case TOLD_JOINS:
        join_turn(host, told->prompt);
        break;
    case TOLD_TOOL:
        tell_tool(host, told);
        break;
    case TOLD_ASKS:
        teller_ask(host, told);
        break;
    case TOLD_DONE:
        if (told->json != NULL) /* a line of its transcript does not say it */
            teller->behind = told->behind;
        tell_answer(host, told->answer);
        if (!teller_is_refused(host, told, true))
            turn_end(host, "end_turn", 0, NULL);
        break;
    case TOLD_FAILED:
        if (!teller_is_refused(host, told, false))
            fail_turn(host, told);
        break;
    case TOLD_STOPPED:
        if (host->talk->turn.on)
            line_comes_back(host); /* also if it was a person who has stopped it */
        turn_end(host, "cancelled", 0, NULL);
        break;
    case TOLD_RETRIES:
        keep_words(teller->trouble, why_of(told));
        break;
    case TOLD_STARTS:
        watcher_redraws(&host->terminal->watcher, time_monotonic_ms());
        break;
    default:
        break;
    }
    host->output_ms = teller->told_ms = time_epoch_ms();
}

/* ---- who tells */

/* Returns the process that has run the hook: the nearest one above it that is no shell. */
static bool find_teller(const struct proc_id *peer, struct proc_id *ret)
{
    static const char *const shells[] = {"sh", "dash", "bash", "zsh", "busybox", "fish"};
    _cleanup_free_ struct proc_above *line = NULL;
    size_t count = 0;

    if (proc_lineage(peer, &line, &count) == -1)
        return false;
    for (size_t i = 1; i < count; i++) {
        bool is_shell = false;
        for (size_t k = 0; k < ARRAY_LEN(shells) && !is_shell; k++)
            is_shell = strcmp(line[i].name, shells[k]) == 0;
        if (!is_shell)
            return proc_identify(line[i].pid, ret);
    }
    return false;
}

/* Returns true if the agent's program itself tells. */
static bool is_heard(struct host *host, const struct proc_id *peer)
{
    struct teller *teller = host->terminal->teller;
    struct proc_id process = {.pid = 0};
    struct err err = ERR_INIT;

    if (host->child.phase != CHILD_RUNS || peer_check_own(host, peer->pid, &err) == -1 ||
        !find_teller(peer, &process))
        return false;
    struct proc_id now = {.pid = 0};
    bool lives = teller->process.pid != 0 && proc_identify(teller->process.pid, &now) &&
                 now.start == teller->process.start;
    if (!lives) /* the first one, or one that a wrapper has started again */
        teller->process = process;
    return process.pid == teller->process.pid && process.start == teller->process.start;
}

void teller_event(struct host *host, const struct proc_id *peer, const struct frame *frame)
{
    const char *event = json_get_text(frame->head, "event");
    const char *name = event != NULL && host->terminal->teller != NULL
                           ? kv_get(&host->preset->told.events, event)
                           : NULL;
    struct err err = ERR_INIT;
    _cleanup_hook_ struct hook_told told = {.json = NULL};

    if (name == NULL || !is_heard(host, peer))
        return;
    if (frame->body != NULL && frame->body_len > 0 &&
        hook_parse(frame->body, frame->body_len, &told, &err) == -1) {
        _cleanup_free_ char *words = mem_printf("cannot read what its program told: %s", err.text);
        host_log(host, words);
    }
    if (unwritten_is_full(host)) { /* the fact alone: what is said could not be kept */
        told.prompt = told.answer = told.tool = NULL;
    }
    host->terminal->teller->heard = true;
    lines_look(host); /* what it has written before */
    enum told_fact fact = (enum told_fact)value_word(told_facts, name);
    if (fact != TOLD_LINE)
        take_fact(host, fact, &told);
    else if (frame->body != NULL && !unwritten_is_full(host))
        lines_take(host, frame->body, frame->body_len);
}

/* ---- its state */

/* Returns true if a program that tells by its transcript alone has ended its turn, as its screen
 * shows. */
static bool has_ended_unsaid(const struct host *host, int64_t now)
{
    const struct teller *teller = host->terminal->teller;

    return !teller->heard && host->talk->turn.on && now - teller->lines.moved > UNSAID_MS &&
           host->terminal->watcher.state == AGENT_IDLE;
}

enum agent_state teller_state(const struct host *host, enum agent_state seen)
{
    const struct teller *teller = host->terminal->teller;

    if (teller == NULL)
        return seen;
    if (time_monotonic_ms() < teller->unwanted_until)
        return AGENT_WORKING; /* a turn begins, and is stopped */
    if (limit_is_on(host->talk) && (teller->heard ? teller->state : seen) == AGENT_IDLE)
        return AGENT_LIMITED;
    bool applies = applies_trust(host) && time_monotonic_ms() < teller->trusted_at + APPLY_MS;
    if ((teller->heard ? teller->state : seen) == AGENT_IDLE &&
        (applies || (teller->heard && !host->terminal->watcher.ready))) /* it takes no keys yet */
        return watcher_asks(&host->terminal->watcher) ? AGENT_WAITING : AGENT_STARTING;
    if (!teller->heard)
        return teller_asks(host) ? AGENT_WAITING : seen;
    if (teller->state == AGENT_WORKING && teller->limited)
        return AGENT_LIMITED;
    if (teller->state == AGENT_IDLE && teller_paused(host) != NULL)
        return AGENT_PAUSED;
    if (teller->state == AGENT_IDLE && (teller_gives(host) || teller->clear_typed))
        return AGENT_WORKING;
    return teller->state == AGENT_WORKING &&
                   (teller_asks(host) || watcher_asks(&host->terminal->watcher))
               ? AGENT_WAITING /* the screen shows also what no event tells */
               : teller->state;
}

void teller_fill_status(const struct host *host, struct agent_status *ret)
{
    ret->tells = host->terminal->teller->heard;
    ret->talks = true;
    ret->passed_over = lines_passed_over(host);
    ret->continuity = (char *)(uintptr_t)store_outcome_name(host->terminal->teller->outcome);
    doing_fill(host, ret);
}

int64_t teller_tick(struct host *host, int64_t now)
{
    if (host->terminal->teller == NULL || host->disk.paused)
        return -1;
    bool rests = false, stopped = false;
    int64_t next = time_sooner(teller_look(host, now, &rests), teller_follow(host, now));
    next = time_sooner(next, teller_cancel_tick(host, now, &stopped));
    if (rests)
        lines_look(host); /* a busy machine may lose the event of an end */
    if (rests || stopped) /* else a person has stopped the turn, or refused what was asked */
        take_fact(host, rests && host->terminal->teller->lines.done ? TOLD_DONE : TOLD_STOPPED,
                  &(struct hook_told){.json = NULL});
    if (has_ended_unsaid(host, now))
        take_fact(host, TOLD_DONE, &(struct hook_told){.json = NULL});
    next = time_sooner(time_sooner(next, lines_tick(host, now)), usage_tick(host, now));
    if (host->child.phase == CHILD_RUNS)
        next =
            time_sooner(next, time_sooner(teller_ask_tick(host, now), teller_turn_tick(host, now)));
    next = time_sooner(next, event_tick_listeners(host, now));
    next = time_sooner(next, limit_tick(host, now));
    next = time_sooner(next, quota_tick(host, now));
    next = time_sooner(next, budget_tick(host, now));
    return time_sooner(next, sleep_tick(host, now));
}

/* ---- its begin */

void teller_open(struct host *host)
{
    struct teller *teller = mem_alloc(sizeof *teller);
    struct err err = ERR_INIT;

    teller->talk.ops = &ops;
    teller->lines.take = take_fact;
    teller->lines.add_tool = add_tool;
    teller->lines.is_kept = is_kept;
    if (machine_identity(&teller->machine, &err) == -1)
        teller->machine = mem_dup(""); /* then it is told what was said, as on another machine */
    host->terminal->teller = teller;
    host->talk = &teller->talk;
    parts_open(host);
    teller->talk.limit.screen = true;
}
