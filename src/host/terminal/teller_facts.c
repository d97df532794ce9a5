/*
 * What the program tells becomes turns, words, and calls of tools. A prompt begins a turn, what
 * ends it ends the turn, and the state follows.
 */

#include "base/time.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"
#include "host/terminal/teller.h"
#include "host/terminal/terminal.h"
#include "protocol/host.h"

enum { WHY_MAX = 2000 }; /* bytes of the program's own words in an error */

/* ---- prompts */

/* What the program does with a prompt that it tells of. */
enum told_prompt {
    PROMPT_BEGINS, /* it begins a turn with it */
    PROMPT_KEPT, /* it takes it later */
    PROMPT_JOINS, /* it takes it into its turn, which it may tell twice */
};

/* Finds the prompt that the program tells of, which it was given, or adds it to the queue. Returns
 * its index; queue.count: nobody that the host knows of has asked it, or it cannot be stored. */
static size_t know_prompt(struct host *host, const char *text, enum told_prompt how)
{
    struct teller *teller = host->terminal->teller;
    const struct prompt_queue *queue = &host->talk->queue;
    struct typed asked = {.from = "-"};
    bool is_known = text != NULL && typed_by(host, text, &asked);
    _cleanup_free_ char *own = asked.text, *data = asked.data;
    struct new_prompt prompt = {.text = own != NULL ? own : text,
                                .from = asked.from,
                                .data = data,
                                .begins = how == PROMPT_BEGINS,
                                .steers = how != PROMPT_BEGINS,
                                .told = true};
    int64_t number = 0;
    struct err err = ERR_INIT;

    if (text != NULL && teller_gives(host) && !queue->prompts[0].later &&
        typed_is(queue->prompts[0].text, queue->prompts[0].data != NULL, text)) {
        queue->prompts[0].message = asked.message;
        return 0;
    }
    if (!is_known && (how == PROMPT_JOINS || !teller->heard) && text != NULL &&
        lines_was_asked(host, text))
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

bool teller_prompt_is_kept(const struct host *host, const char *text)
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
        index = know_prompt(host, text, PROMPT_BEGINS);
    if (index == queue->count)
        return;
    int64_t number = queue->prompts[index].number;
    turn_begin_told(host, index);
    lines_note(host, ROLE_USER, text, number);
}

/* Keeps a prompt that the program takes later, before those that it was not given. */
static void keep_prompt(struct host *host, const char *text)
{
    size_t index = know_prompt(host, text, PROMPT_KEPT);

    if (index == host->talk->queue.count)
        return;
    struct prompt prompt = queue_remove(host->talk, index);
    prompt.begun = prompt.given = prompt.later = true;
    queue_push_first(host, &prompt);
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

/* The program takes a prompt into its turn, which may have ended before the line that says so. */
static void join_turn(struct host *host, const char *text)
{
    const struct prompt_queue *queue = &host->talk->queue;
    size_t index = find_later(host, text);

    if (index == queue->count)
        index = know_prompt(host, text, PROMPT_JOINS);
    if (index == queue->count)
        return;
    if (!host->talk->turn.on)
        memory_join_turn(host, queue->prompts[index].number, host->terminal->teller->lines.prompt);
    turn_take(host, index);
}

static void take_prompt(struct host *host, const struct hook_told *told)
{
    struct teller *teller = host->terminal->teller;
    bool is_on = host->talk->turn.on;
    int64_t turn = told->turn != NULL ? lines_hash(told->turn) : 0;

    if (told->prompt != NULL && lines_have_told(host, ROLE_USER, told->prompt))
        return;
    if (is_on && turn != 0 && turn == teller->turn) {
        join_turn(host, told->prompt);
    } else if (is_on && told->json != NULL && tells_later(&host->preset->told)) {
        keep_prompt(host, told->prompt);
    } else {
        begin_turn(host, told->prompt);
        teller->turn = turn;
    }
}

static void take_joined(struct host *host, const struct hook_told *told)
{
    join_turn(host, told->prompt);
}

/* ---- the other facts */

static void take_start(struct host *host, const struct hook_told *told)
{
    (void)told;
    watcher_redraws(&host->terminal->watcher, time_monotonic_ms());
}

static void take_tool(struct host *host, const struct hook_told *told)
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

void teller_add_tool(struct host *host, const struct hook_told *told, int64_t trigger)
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

/* The next prompt was taken, which no line has told, and its turn ends: it begins first. */
static void begin_later(struct host *host)
{
    const struct prompt_queue *queue = &host->talk->queue;

    if (!host->talk->turn.on && queue->count > 0 && queue->prompts[0].later)
        begin_turn(host, queue->prompts[0].text);
}

static void take_done(struct host *host, const struct hook_told *told)
{
    begin_later(host);
    if (told->json != NULL) /* a line of its transcript does not say it */
        host->terminal->teller->behind = told->behind;
    tell_answer(host, told->answer);
    if (!teller_is_refused(host, told, true))
        turn_end(host, "end_turn", 0, NULL);
}

static void take_failed(struct host *host, const struct hook_told *told)
{
    begin_later(host);
    if (teller_is_refused(host, told, false))
        return;
    const char *why = why_of(told);
    _cleanup_free_ char *words =
        mem_printf("the agent tells of an error: %.*s", (int)str_fit(why, WHY_MAX), why);
    keep_words(host->terminal->teller->trouble, words);
    turn_end(host, HOST_END_FAILED, 0, words);
}

static void take_stopped(struct host *host, const struct hook_told *told)
{
    (void)told;
    if (host->talk->turn.on)
        line_comes_back(host); /* also if it was a person who has stopped it */
    turn_end(host, "cancelled", 0, NULL);
}

static void take_retry(struct host *host, const struct hook_told *told)
{
    keep_words(host->terminal->teller->trouble, why_of(told));
}

static const struct told_effect {
    enum agent_state state;
    bool late; /* it may come behind its turn, and leaves a program that rests at rest */
    bool keeps_trouble; /* it does not say that what has failed is over */
    void (*take)(struct host *host, const struct hook_told *told); /* NULL: the state is all */
} effects[TOLD_FACT_COUNT] = {
    [TOLD_STARTS] = {AGENT_IDLE, .take = take_start},
    [TOLD_PROMPT] = {AGENT_WORKING, .take = take_prompt},
    [TOLD_TOOL] = {AGENT_WORKING, .late = true, .keeps_trouble = true, .take = take_tool},
    [TOLD_ASKS] = {AGENT_WORKING, .keeps_trouble = true, .take = teller_ask},
    [TOLD_DONE] = {AGENT_IDLE, .take = take_done},
    [TOLD_FAILED] = {AGENT_IDLE, .take = take_failed},
    [TOLD_STOPPED] = {AGENT_IDLE, .take = take_stopped},
    [TOLD_WORKS] = {AGENT_WORKING},
    [TOLD_RESTS] = {AGENT_IDLE, .keeps_trouble = true},
    [TOLD_RETRIES] = {AGENT_WORKING, .late = true, .take = take_retry},
    [TOLD_JOINS] = {AGENT_WORKING, .late = true, .take = take_joined},
};

void teller_take(struct host *host, enum told_fact fact, const struct hook_told *told)
{
    const struct told_effect *effect = &effects[fact];
    struct teller *teller = host->terminal->teller;

    /* the process tells its end, which loses no session; a turn ends by facts of its own */
    if (fact == TOLD_ENDS || (fact == TOLD_RESTS && host->talk->turn.on))
        return;
    if (told->session != NULL)
        teller_change_session(host, told->session, fact == TOLD_STARTS ? told->source : "resume");
    /* a session is told again after a compaction in a turn */
    bool stays = fact == TOLD_STARTS
                     ? host->talk->turn.on
                     : effect->late && !host->talk->turn.on && teller->state == AGENT_IDLE;
    if (!stays)
        teller->state = effect->state;
    if (teller->clears)
        return; /* it is about what was cleared */
    if (fact < TOLD_WORKS)
        teller_asked(host, fact, told);
    teller->limited = fact == TOLD_RETRIES && teller_is_limit(host, told);
    if (!effect->keeps_trouble)
        teller->trouble[0] = '\0';
    if (effect->take != NULL)
        effect->take(host, told);
    host->output_ms = teller->told_ms = time_epoch_ms();
}
