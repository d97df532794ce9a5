/*
 * An event names a fact by the preset's table; what came with it is parsed by protocol/hook.h. Only
 * the process that told first in this run is heard: a program of the same kind that the agent runs
 * in turn, such as `claude -p`, inherits the hooks.
 */

#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"

#include "base/time.h"
#include "host/talk/budget.h"
#include "host/talk/doing.h"
#include "host/talk/event.h"
#include "host/talk/limit.h"
#include "host/talk/parts.h"
#include "host/talk/quota.h"
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
        teller_take(host, fact, &told);
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
        teller_take(host, rests && host->terminal->teller->lines.done ? TOLD_DONE : TOLD_STOPPED,
                    &(struct hook_told){.json = NULL});
    if (has_ended_unsaid(host, now))
        teller_take(host, TOLD_DONE, &(struct hook_told){.json = NULL});
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
    teller->lines.take = teller_take;
    teller->lines.add_tool = teller_add_tool;
    teller->lines.is_kept = teller_prompt_is_kept;
    if (machine_identity(&teller->machine, &err) == -1)
        teller->machine = mem_dup(""); /* then it is told what was said, as on another machine */
    host->terminal->teller = teller;
    host->talk = &teller->talk;
    parts_open(host);
    teller->talk.limit.screen = true;
}
