#include "host/talk.h"

#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "memory/context.h"
#include "model/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REASON_MAX = 64, /* bytes of a stop reason */
    WHY_MAX = 2000, /* of an agent's own words in an error */
};

void talk_prompt_free(struct talk_prompt *prompt)
{
    free(prompt->text);
    strv_free(prompt->tags);
    *prompt = (struct talk_prompt){.number = 0};
}

int64_t talk_turn_prompt(const struct talk *talk)
{
    return talk->turn.on ? talk->turn.prompt.number : 0;
}

int64_t talk_next_prompt(const struct talk *talk)
{
    return talk->turn.on || talk->count == 0 ? talk_turn_prompt(talk) : talk->queue[0].number;
}

/* ---- the queue */

void talk_push_prompt(struct host *host, int64_t number, const char *text, size_t len,
                      const char *from, char *const *tags)
{
    struct talk *talk = host->talk;

    talk->queue = mem_room(talk->queue, talk->count, sizeof *talk->queue);
    struct talk_prompt *prompt = &talk->queue[talk->count++];
    *prompt = (struct talk_prompt){.number = number, .text = mem_dupn(text, len), .len = len};
    (void)snprintf(prompt->from, sizeof prompt->from, "%s", from);
    for (char *const *tag = tags; tag != NULL && *tag != NULL; tag++)
        strv_push(&prompt->tags, *tag);
}

/* What a conversation's tags are as they were given: without those that mas puts on. */
static char **own_tags(const char *text)
{
    _cleanup_json_ struct json *tags = NULL;
    struct err ignored = ERR_INIT;
    char **own = NULL;

    if (json_parse(text, strlen(text), STORE_TEXT_MAX, &tags, &ignored) == -1)
        return NULL;
    for (const struct json *tag = json_first(tags); tag != NULL; tag = json_next(tag)) {
        const char *word = json_text(tag);
        if (word != NULL && !str_starts(word, "session:") && !str_starts(word, "agent:"))
            strv_push(&own, word);
    }
    return own;
}

static bool push_waiting(const struct store_item *item, void *arg)
{
    struct host *host = arg;
    _cleanup_strv_ char **tags = own_tags(item->tags);
    const char *from = item->sender != NULL ? item->sender : "-";

    talk_push_prompt(host, item->number, item->text, item->len, from, tags);
    struct talk_prompt *prompt = &host->talk->queue[host->talk->count - 1];
    prompt->query = item->query;
    memcpy(prompt->conversation, item->conversation, sizeof prompt->conversation);
    return true;
}

int talk_read_queue(struct host *host, struct err *err)
{
    struct talk *talk = host->talk;
    const struct store_filter filter = {
        .agent = host->agent->id, .waiting = true, .limit = TALK_QUEUE_MAX};

    if (talk->queue_read)
        return 0;
    size_t before = talk->count;
    if (store_read(talk->store, &filter, push_waiting, host, err) == -1) {
        while (talk->count > before)
            talk_prompt_free(&talk->queue[--talk->count]);
        return -1;
    }
    talk->queue_read = true;
    if (talk->count == 0)
        return 0;
    _cleanup_free_ char *words =
        mem_printf("%zu prompt%s that waited %s asked now", talk->count,
                   talk->count == 1 ? "" : "s", talk->count == 1 ? "is" : "are");
    host_log(host, words);
    talk_say(host, false, "%s", words);
    return 0;
}

/* Where a prompt that comes now is kept: in a conversation of its own, else in that of those before
 * it. */
static int find_place(struct talk *talk, const struct talk_new_prompt *prompt,
                      struct talk_prompt *ret, struct err *err)
{
    const struct talk_prompt *last = talk->count > 0 ? &talk->queue[talk->count - 1] : NULL;
    struct store_place place = {.query = 0};

    *ret = (struct talk_prompt){.query = talk->place.query};
    if (prompt->choice != CHOICE_CURRENT) {
        if (store_prepare(talk->store, prompt->choice, prompt->id, &place, err) == -1)
            return -1;
        ret->query = place.query;
        memcpy(ret->conversation, place.conversation, sizeof ret->conversation);
        store_place_free(&place);
    } else if (last != NULL && last->conversation[0] != '\0') {
        ret->query = last->query;
        memcpy(ret->conversation, last->conversation, sizeof ret->conversation);
    }
    return 0;
}

static int add_prompt(struct host *host, const struct talk_new_prompt *prompt, int64_t *ret,
                      struct err *err)
{
    struct talk *talk = host->talk;
    struct talk_prompt where;
    size_t bytes = prompt->len;

    for (size_t i = 0; i < talk->count; i++)
        bytes += talk->queue[i].len;
    if (talk->count >= TALK_QUEUE_MAX || (talk->count > 0 && bytes > TALK_QUEUE_BYTES))
        return err_set(err, MAS_CONFLICT, "too many prompts wait for it");
    if (talk_need_store(host, err) == -1 || find_place(talk, prompt, &where, err) == -1)
        return -1;
    bool at_once = talk->phase == TALK_READY && !talk->turn.on && talk->count == 0;
    const struct store_message message = {
        .role = ROLE_USER,
        .state = at_once ? MESSAGE_DONE : MESSAGE_OPEN,
        .text = prompt->text,
        .len = prompt->len,
        .sender = strcmp(prompt->from, "-") != 0 ? prompt->from : NULL,
        .tags = prompt->tags,
    };
    if (store_add(talk->store, where.query, &message, SYNC_FULL, ret, err) == -1)
        return -1;
    talk_push_prompt(host, *ret, prompt->text, prompt->len, prompt->from, prompt->tags);
    struct talk_prompt *added = &talk->queue[talk->count - 1];
    added->begun = at_once;
    added->query = where.query;
    memcpy(added->conversation, where.conversation, sizeof added->conversation);
    return 0;
}

int talk_add_prompt(struct host *host, const struct talk_new_prompt *prompt, int64_t *ret,
                    struct err *err)
{
    int rc = add_prompt(host, prompt, ret, err);

    return rc == -1 && talk_renew_store(host, err) ? add_prompt(host, prompt, ret, err) : rc;
}

static struct talk_prompt pop_first(struct talk *talk)
{
    struct talk_prompt first = talk->queue[0];

    talk->count--;
    memmove(talk->queue, talk->queue + 1, talk->count * sizeof *talk->queue);
    return first;
}

/* ---- the turn */

static void tell_prompt(struct host *host, const struct talk_prompt *prompt)
{
    struct talk_event event;
    char id[TALK_ID_MAX];

    talk_event(&event, "prompt");
    json_put(&event.out, "prompt", talk_id(host, prompt->number, id));
    json_put(&event.out, "from", strcmp(prompt->from, "-") != 0 ? prompt->from : NULL);
    json_open(&event.out, "tags", '[');
    for (char **tag = prompt->tags; tag != NULL && *tag != NULL; tag++)
        json_put(&event.out, NULL, *tag);
    json_close(&event.out, ']');
    talk_tell(host, &event, prompt->text, prompt->len, prompt->number);
    talk_pane_print(host, "prompt", prompt->text, prompt->len);
}

/* What goes in front of the first prompt of a session that knows nothing: the agent's system text,
 * then what was said before. */
static void add_history(struct host *host, struct str *ret)
{
    struct talk *talk = host->talk;
    struct store_budget budget = talk_budget(host);
    struct err err = ERR_INIT;

    if (!talk->prime) /* it knows what was said before the turn that was cut off */
        budget.since = talk->remind;
    if (talk->prime)
        talk_add_summary(talk, ret);
    if (talk->store != NULL)
        (void)talk_kept(host,
                        store_injection(talk->store, talk->place.query, talk->turn.prompt.number,
                                        &budget, ret, &err),
                        &err);
}

/* Of a fresh query: what was said on its subject elsewhere. */
static void add_recall(struct host *host, struct str *ret)
{
    const struct recall_options options = {.session = host->session.id,
                                           .conversation = host->talk->place.conversation,
                                           .text = host->talk->turn.prompt.text};
    struct err err = ERR_INIT;

    if (config_yes(&host->config, SETTING_MEMORY_RECALL) &&
        context_recall(&host->root, &host->config, &options, ret, &err) == -1)
        host_log(host, err.text); /* it helps, and is not needed */
}

/* What tells a model that an agent speaks to it, and which; NULL: a person does. The caller frees.
 */
static char *name_sender(const struct host *host, const char *from)
{
    const struct agent *agent = team_agent(&host->team, from);

    if (agent == NULL)
        return NULL;
    _cleanup_str_ struct str role = STR_INIT;
    str_add_visible(&role, agent->role, strlen(agent->role));
    return mem_printf("[message from agent %s (%s) of your team]\n", agent->id, str_text(&role));
}

static void send_prompt(struct host *host)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    _cleanup_str_ struct str history = STR_INIT;
    _cleanup_free_ char *sender = name_sender(host, turn->prompt.from);
    const char *blocks[6] = {NULL};
    size_t n = 0;

    if (talk->prime && host->agent->system[0] != '\0')
        blocks[n++] = host->agent->system;
    if (talk->prime || talk->remind != 0)
        add_history(host, &history);
    if (talk->prime && history.len == 0)
        add_recall(host, &history);
    if (history.len > 0)
        blocks[n++] = history.data;
    if (sender != NULL)
        blocks[n++] = sender;
    blocks[n++] = turn->prompt.text;
    turn->primed = talk->prime;
    turn->serial = acp_prompt(talk->acp, talk->session, blocks, -1);
}

static void turn_free(struct talk_turn *turn)
{
    talk_prompt_free(&turn->prompt);
    for (size_t i = 0; i < turn->tool_count; i++)
        talk_tool_free(&turn->tools[i]);
    free(turn->tools);
    free(turn->plan_text);
    *turn = (struct talk_turn){.cancel_until = -1};
}

static void begin_turn(struct host *host)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    talk_close_text(host); /* of what came by itself */
    turn_free(&talk->turn);
    talk->turn = (struct talk_turn){.on = true, .cancel_until = -1, .prompt = pop_first(talk)};
    /* before it is sent: neither a kill nor the loss of power has it asked twice */
    if (talk->store != NULL && !talk->turn.prompt.begun)
        (void)talk_kept(host,
                        store_update(talk->store, talk->turn.prompt.number, NULL, 0, NULL,
                                     MESSAGE_DONE, SYNC_FULL, &err),
                        &err);
    if (!talk->turn.prompt.told)
        tell_prompt(host, &talk->turn.prompt);
    send_prompt(host);
}

void talk_put_back(struct host *host)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    talk_drop_permissions(host);
    talk->queue = mem_room(talk->queue, talk->count, sizeof *talk->queue);
    memmove(talk->queue + 1, talk->queue, talk->count * sizeof *talk->queue);
    talk->queue[0] = talk->turn.prompt;
    talk->queue[0].begun = false;
    talk->queue[0].told = true;
    talk->count++;
    if (talk->store != NULL) /* it waits again, also for the host after this one */
        (void)talk_kept(host,
                        store_update(talk->store, talk->queue[0].number, NULL, 0, NULL,
                                     MESSAGE_OPEN, SYNC_FULL, &err),
                        &err);
    talk->turn.prompt = (struct talk_prompt){.number = 0};
    turn_free(&talk->turn);
}

/* `end` of a prompt, for those who wait for it. */
static void tell_end(struct host *host, int64_t number, const char *stop_reason, int64_t code,
                     const char *error)
{
    struct talk_event event;
    char id[TALK_ID_MAX];

    talk_event(&event, "end");
    json_put(&event.out, "prompt", talk_id(host, number, id));
    json_put(&event.out, "stopReason", stop_reason);
    if (error != NULL) {
        json_put_int(&event.out, "code", code);
        json_put(&event.out, "error", error);
    }
    talk_tell(host, &event, NULL, 0, number);
    _cleanup_free_ char *line =
        mem_printf("%s%s%s", stop_reason, error != NULL ? ": " : "", error != NULL ? error : "");
    talk_pane_print(host, "end", line, strlen(line));
    server_release_askers(host, number);
}

/* How what is open of a turn is marked that ended so. */
static enum store_state state_of_end(const char *stop_reason)
{
    if (strcmp(stop_reason, TALK_END_FAILED) == 0)
        return MESSAGE_FAILED;
    return strcmp(stop_reason, "cancelled") == 0 || strcmp(stop_reason, TALK_END_STOPPED) == 0 ||
                   strcmp(stop_reason, TALK_END_CLEARED) == 0
               ? MESSAGE_INTERRUPTED
               : MESSAGE_DONE;
}

/* true if a prompt that waits is kept in another conversation than the present one. */
static bool is_elsewhere(const struct talk *talk, const struct talk_prompt *prompt)
{
    return prompt->conversation[0] != '\0' &&
           strcmp(prompt->conversation, talk->place.conversation) != 0;
}

/* A prompt ends without a turn; `kept`: its end is in the store already. */
static void drop_prompt(struct host *host, struct talk_prompt *prompt, bool kept,
                        const char *stop_reason, const char *error)
{
    struct talk *talk = host->talk;
    struct err err = ERR_INIT;

    if (talk->store != NULL && !kept)
        (void)talk_kept(host,
                        store_end_turn(talk->store, talk->place.query, prompt->number, stop_reason,
                                       state_of_end(stop_reason), false, &err),
                        &err);
    _cleanup_free_ char *outcome =
        error != NULL ? mem_printf("%s: %s", stop_reason, error) : mem_dup(stop_reason);
    host_log_message(host, prompt->from, prompt->len, outcome);
    tell_end(host, prompt->number, stop_reason, 0, error);
    talk_prompt_free(prompt);
}

void talk_run(struct host *host)
{
    struct talk *talk = host->talk;

    /* a process that ends takes nothing more: its prompts are for the next one */
    while (talk->phase == TALK_READY && host->child.phase == CHILD_RUNS && !talk->turn.on &&
           talk->count > 0) {
        struct err err = ERR_INIT;
        if (!is_elsewhere(talk, &talk->queue[0])) {
            begin_turn(host);
            return;
        }
        if (talk_enter_conversation(host, CHOICE_NAMED, talk->queue[0].conversation, &err) == 0)
            continue; /* a session of it is opened first */
        struct talk_prompt prompt = pop_first(talk);
        drop_prompt(host, &prompt, false, TALK_END_FAILED, err.text);
    }
}

void talk_end_turn(struct host *host, const char *stop_reason, int64_t code, const char *error)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;
    struct err err = ERR_INIT;
    enum store_state state = state_of_end(stop_reason);
    bool succeeded = state == MESSAGE_DONE;

    if (!turn->on)
        return;
    talk_drop_permissions(host);
    if (error != NULL)
        talk_say(host, true, "%s", error);
    if (succeeded)
        talk_prove(host);
    if (talk->store != NULL)
        (void)talk_kept(host,
                        store_end_turn(talk->store, talk->place.query, turn->prompt.number,
                                       stop_reason, state, succeeded, &err),
                        &err);
    if (succeeded) {
        talk->prime = false;
        talk->remind = 0;
        talk->settled = true;
        talk->place.injected = true;
        talk->place.is_new = false;
        host->child.delivered = true;
    }
    int64_t number = turn->prompt.number;
    host_log_message(host, turn->prompt.from, turn->prompt.len, stop_reason);
    tell_end(host, number, stop_reason, code, error);
    turn_free(turn);
}

void talk_fail_queue(struct host *host, const char *stop_reason, const char *error)
{
    struct talk *talk = host->talk;

    while (talk->count > 0) {
        struct talk_prompt prompt = pop_first(talk);
        bool kept = strcmp(stop_reason, TALK_END_CLEARED) == 0;
        drop_prompt(host, &prompt, kept, stop_reason, error);
    }
}

void talk_keep_queue(struct host *host, const char *why)
{
    struct talk *talk = host->talk;
    _cleanup_free_ char *words = mem_printf("%s before its turn began; " TALK_WAITS, why);

    for (size_t i = 0; i < talk->count; i++) {
        struct talk_prompt *prompt = &talk->queue[i];
        if (prompt->kept)
            continue;
        prompt->kept = true;
        host_log_message(host, prompt->from, prompt->len, "kept");
        tell_end(host, prompt->number, TALK_END_STOPPED, 0, words);
    }
}

bool talk_cancel(struct host *host)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;

    if (turn->on) {
        if (turn->cancelled)
            return true;
        turn->cancelled = true;
        turn->cancel_until = time_monotonic_ms() + TALK_CANCEL_MS;
        talk_drop_permissions(host);
        acp_cancel(talk->acp, talk->session);
        return true;
    }
    /* its turn has not begun: the agent starts */
    return talk->count > 0 && talk_cancel_prompt(host, talk->queue[0].number);
}

bool talk_cancel_prompt(struct host *host, int64_t number)
{
    struct talk *talk = host->talk;
    size_t i = 0;

    if (talk->turn.on && talk->turn.prompt.number == number)
        return talk_cancel(host);
    while (i < talk->count && talk->queue[i].number != number)
        i++;
    if (i == talk->count)
        return false;
    struct talk_prompt prompt = talk->queue[i];
    talk->count--;
    memmove(talk->queue + i, talk->queue + i + 1, (talk->count - i) * sizeof *talk->queue);
    drop_prompt(host, &prompt, false, "cancelled", NULL);
    return true;
}

void talk_prompt_answer(struct host *host, const struct acp_answer *answer)
{
    struct talk *talk = host->talk;
    struct talk_turn *turn = &talk->turn;

    if (talk->phase == TALK_SUMS_UP && answer->serial == talk->serial) {
        talk_summed_up(host, answer);
        return;
    }
    if (talk->phase == TALK_ENDS_TURN) {
        if (answer->serial == talk->serial)
            talk_turn_is_gone(host);
        return;
    }
    if (!turn->on || answer->serial != turn->serial)
        return;
    if (answer->ok) {
        const char *stop = answer->stop_reason != NULL ? answer->stop_reason : "end_turn";
        _cleanup_free_ char *reason = mem_dupn(stop, str_fit(stop, REASON_MAX));
        talk_end_turn(host, reason, 0, NULL);
        return;
    }
    if (turn->cancelled || answer->code == ACP_CANCELLED) {
        talk_end_turn(host, "cancelled", 0, NULL);
        return;
    }
    const char *why = answer->message != NULL && answer->message[0] != '\0' ? answer->message
                                                                            : "no reason was given";
    _cleanup_free_ char *error =
        mem_printf("the agent answered with an error: %.*s (%lld)", (int)str_fit(why, WHY_MAX), why,
                   (long long)answer->code);
    if (answer->code == ACP_NEEDS_LOGIN) {
        talk_trouble(host, true, why);
        return;
    }
    if (talk_fall(host, error))
        return;
    bool nothing = !turn->heard;
    talk_end_turn(host, TALK_END_FAILED, answer->code, error);
    if (nothing)
        talk_resume_again(host);
}
