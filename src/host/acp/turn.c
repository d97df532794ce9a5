/*
 * A turn is stored as begun, with SYNC_FULL, before its prompt is sent: after a kill it counts as
 * cut off, and nothing is asked twice. What the session does not know goes in front of the prompt:
 * role, history or recall, and the sender. All turns end in turn_end(), which stores the end and
 * then tells it, except those that turn_put_back() has begin again, in another session.
 */

#include "host/acp/conversation.h"

#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "memory/context.h"

/* Returns true if the agent takes prompts. One that ends takes nothing more: its prompts are for
 * the next process. */
static bool takes_prompts(const struct host *host)
{
    const struct conversation *conversation = host->conversation;

    return conversation->link.phase.now == PHASE_READY && host->child.phase == CHILD_RUNS &&
           !conversation->turn.on;
}

bool turn_begins_at_once(struct host *host)
{
    return takes_prompts(host) && host->conversation->queue.count == 0 && !gate_holds(host, false);
}

/* ---- its beginning */

/* Appends what was said before the message `before`, for a session that does not know it: all of
 * it, or what came after the last turn that ended well. */
static void add_history(struct host *host, int64_t before, struct str *ret)
{
    struct conversation *conversation = host->conversation;
    const struct conversation_memory *memory = &conversation->memory;
    struct store_budget budget = memory_budget(host);
    struct err err = ERR_INIT;

    if (!conversation->resume.prime)
        budget.since = conversation->resume.remind;
    if (conversation->resume.prime)
        summary_add(conversation, ret);
    if (memory->store != NULL)
        (void)memory_kept(
            host, store_injection(memory->store, memory->place.query, before, &budget, ret, &err),
            &err);
}

/* Appends what was said on the prompt's subject in other conversations. */
static void add_recall(struct host *host, const char *text, struct str *ret)
{
    const struct conversation *conversation = host->conversation;
    const struct recall_options options = {
        .session = host->session.id,
        .conversation = conversation->memory.place.conversation,
        .text = text,
    };
    struct err err = ERR_INIT;

    if (config_yes(&host->config, SETTING_MEMORY_RECALL) &&
        context_recall(&host->root, &host->config, &options, ret, &err) == -1)
        host_log(host, err.text); /* the prompt goes without it */
}

char *turn_name_sender(const struct host *host, const char *from)
{
    const struct agent *agent = team_agent(&host->team, from);

    if (agent == NULL)
        return NULL;
    _cleanup_str_ struct str role = STR_INIT;
    str_add_visible(&role, agent->role, strlen(agent->role));
    return mem_printf("[message from agent %s (%s) of your team]\n", agent->id, str_text(&role));
}

int64_t turn_send(struct host *host, const struct turn_words *words)
{
    const struct conversation *conversation = host->conversation;
    const struct resume *resume = &conversation->resume;
    _cleanup_str_ struct str role = STR_INIT;
    _cleanup_str_ struct str history = STR_INIT;
    _cleanup_free_ char *sender = turn_name_sender(host, words->from);
    const char *blocks[5] = {NULL};
    size_t n = 0;

    if (resume->prime && !conversation->link.has_role)
        role_add(host, &role);
    if (role.len > 0)
        blocks[n++] = role.data;
    if (resume->prime || resume->remind != 0)
        add_history(host, words->before, &history);
    if (resume->prime && history.len == 0 && words->recalls)
        add_recall(host, words->text, &history);
    if (history.len > 0)
        blocks[n++] = history.data;
    if (sender != NULL)
        blocks[n++] = sender;
    blocks[n++] = words->text;
    return acp_prompt(conversation->link.acp, words->session, blocks, -1);
}

static void send_prompt(struct host *host)
{
    struct conversation *conversation = host->conversation;
    const struct prompt *prompt = &conversation->turn.prompt;
    const struct turn_words words = {
        .session = conversation->link.session,
        .from = prompt->from,
        .text = prompt->text,
        .before = prompt->number,
        .recalls = true,
    };

    conversation->turn.serial = turn_send(host, &words);
}

static void turn_free(struct turn *turn)
{
    queue_free_prompt(&turn->prompt);
    said_free_tools(&turn->tools);
    free(turn->plan_text);
    steer_free(turn);
    *turn = (struct turn){.cancel_until = -1};
}

/* Stores that the turn of the first prompt begins, before it is sent, so that neither a kill nor a
 * loss of power asks it twice. Returns false if that is not possible now. */
static bool store_begin(struct host *host)
{
    int64_t number = host->conversation->queue.prompts[0].number;

    if (host->conversation->queue.prompts[0].begun)
        return true;
    memory_update(host, number, NULL, 0, NULL, MESSAGE_DONE, SYNC_FULL);
    if (!unwritten_holds(host))
        return true;
    memory_update(host, number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    return false;
}

static void begin_turn(struct host *host)
{
    struct conversation *conversation = host->conversation;
    struct turn *turn = &conversation->turn;

    said_close_text(host); /* what the agent said by itself */
    if (!store_begin(host))
        return;
    turn_free(turn);
    turn->on = true;
    turn->prompt = queue_remove(conversation, 0);
    limit_turn_begins(host);
    if (!turn->prompt.told)
        event_tell_prompt(host, &turn->prompt, false);
    sleep_turn_begins(host);
    send_prompt(host);
}

/* Returns true if a prompt that waits is kept in another conversation than the present one. */
static bool is_elsewhere(const struct conversation *conversation, const struct prompt *prompt)
{
    return prompt->conversation[0] != '\0' &&
           strcmp(prompt->conversation, conversation->memory.place.conversation) != 0;
}

void turn_run(struct host *host)
{
    struct conversation *conversation = host->conversation;

    while (takes_prompts(host) && conversation->queue.count > 0) {
        const struct prompt *next = &conversation->queue.prompts[0];
        struct err err = ERR_INIT;
        if (next->steer != 0)
            return; /* the agent may have taken it already */
        if (!is_elsewhere(conversation, next)) {
            if (!gate_holds(host, true))
                begin_turn(host);
            return;
        }
        if (clear_enter_conversation(host, CHOICE_NAMED, next->conversation, &err) == 0)
            continue; /* the host gets a session for it first */
        struct prompt prompt = queue_remove(conversation, 0);
        queue_drop(host, &prompt, false, HOST_END_FAILED, err.text);
    }
}

/* ---- its end */

void turn_put_back(struct host *host)
{
    struct turn *turn = &host->conversation->turn;

    permission_drop_of(host, NULL);
    steer_put_back(host);
    turn->prompt.begun = false;
    turn->prompt.told = true;
    queue_push_first(host, &turn->prompt);
    /* it waits again, also for the next host */
    memory_update(host, turn->prompt.number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    turn->prompt = (struct prompt){.number = 0};
    turn_free(turn);
    turns_ended(host);
}

static enum turn_outcome outcome_of(const char *stop_reason)
{
    return strcmp(stop_reason, HOST_END_FAILED) == 0    ? TURN_FAILED
           : strcmp(stop_reason, HOST_END_STOPPED) == 0 ? TURN_STOPPED
                                                        : TURN_DONE;
}

/* Notes that the agent knows the history, because the turn has ended well. */
static void note_success(struct host *host)
{
    struct conversation *conversation = host->conversation;

    conversation->resume.prime = false;
    conversation->resume.remind = 0;
    conversation->resume.ignores = false;
    conversation->memory.place.injected = true;
    conversation->memory.place.is_new = false;
    host->child.delivered = true;
}

void turn_end(struct host *host, const char *stop_reason, int64_t code, const char *error)
{
    struct turn *turn = &host->conversation->turn;
    bool succeeded = memory_end_state(stop_reason) == MESSAGE_DONE;

    if (!turn->on)
        return;
    permission_drop_of(host, NULL); /* its subagents may work on */
    if (succeeded)
        resume_prove(host);
    usage_end(host, turn->prompt.number);
    memory_end_prompt(host, turn->prompt.number, stop_reason, error);
    limit_turn_ended(host, succeeded);
    turns_ended(host);
    if (succeeded) {
        note_success(host);
        sleep_turn_ended(host);
    }
    host_log_message(host, turn->prompt.from, turn->prompt.len, stop_reason);
    attention_turn_ended(host, outcome_of(stop_reason), error);
    event_tell_end(host, turn->prompt.number, stop_reason, code, error);
    steer_end(host, stop_reason);
    turn_free(turn);
    budget_turn_ended(host);
}

/* ---- cancel */

bool turn_cancel(struct host *host)
{
    struct conversation *conversation = host->conversation;
    struct turn *turn = &conversation->turn;

    if (!turn->on && conversation->queue.count > 0) /* the agent starts, and no turn has begun */
        return turn_cancel_prompt(host, conversation->queue.prompts[0].number);
    if (!turn->on)
        return tasks_cancel(host);
    if (turn->cancelled)
        return true;
    turn->cancelled = true;
    turn->cancel_until = time_monotonic_ms() + TURN_CANCEL_MS;
    permission_drop_all(host);
    acp_cancel(conversation->link.acp, conversation->link.session);
    return true;
}

bool turn_cancel_prompt(struct host *host, int64_t number)
{
    struct conversation *conversation = host->conversation;

    if (conversation->turn.on && conversation->turn.prompt.number == number)
        return turn_cancel(host);
    size_t index = queue_find(conversation, number);
    if (index == conversation->queue.count)
        return false;
    struct prompt prompt = queue_remove(conversation, index);
    queue_drop(host, &prompt, false, "cancelled", NULL);
    return true;
}

/* ---- the agent's answer */

