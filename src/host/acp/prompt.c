/*
 * A prompt is sent with what the session does not know in front of it: role, summary and history or
 * recall, and the sender. Some agents also take one in the middle of a turn.
 */

#include "host/acp/conversation.h"

#include "base/base64.h"
#include "host/acp/turn_side.h"
#include "host/picture.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "memory/context.h"
#include "protocol/host.h"
#include "store/pictures.h"

enum {
    STEER_MS = 5000, /* time for the agent to say whether it takes a prompt */
    RECALL_EVERY = 10, /* prompts of a query, of which one at most recalls */
};

static void add_summary(const struct conversation *conversation, struct str *to)
{
    const struct str *summary = &conversation->resume.summary;
    const char *text = str_text(summary);

    if (summary->len == 0)
        return;
    str_add(to, "<summary_of_earlier_conversation>\n");
    for (; *text != '\0'; text++)
        if (*text == '<') /* no part of it is taken for its end */
            str_add(to, "&lt;");
        else
            str_addc(to, *text);
    str_add(to, "\n</summary_of_earlier_conversation>\n");
}

/* Appends what was said before the message `before`, for a session that does not know it: all of
 * it, or what came after the last turn that ended well. */
static void add_history(struct host *host, int64_t before, struct str *ret)
{
    struct conversation *conversation = host->conversation;
    const struct conversation_memory *memory = &conversation->talk.memory;
    struct store_budget budget = memory_budget(host);
    struct err err = ERR_INIT;

    if (!conversation->resume.prime)
        budget.since = conversation->resume.remind;
    if (conversation->resume.prime)
        add_summary(conversation, ret);
    if (memory->store != NULL)
        (void)memory_kept(
            host, store_injection(memory->store, memory->place.query, before, &budget, ret, &err),
            &err);
}

/* Tells in the history what was recalled. */
static void say_recalled(struct host *host, const struct context_list *known, size_t from)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (size_t i = from; i < known->count; i++)
        str_addf(&list, "%s %s:%" PRId64, i > from ? "," : "", known->items[i].session,
                 known->items[i].number);
    memory_say(host, true, "recalled from other conversations:%s", str_text(&list));
}

/* Where nobody has said it, a session recalls if it has a project: there others know of its work.
 */
static bool recalls(const struct host *host)
{
    return config_yes(&host->config, SETTING_MEMORY_RECALL) &&
           (host->team.project.path != NULL ||
            !config_is_built_in(&host->config, SETTING_MEMORY_RECALL));
}

/* Appends what was said on the prompt's subject in other conversations: for the first prompt of a
 * fresh query, and then not again for some prompts. */
static void add_recall(struct host *host, bool fresh, const char *text, struct str *ret)
{
    struct conversation *conversation = host->conversation;
    struct recall *recall = &conversation->recall;
    const struct recall_options options = {
        .session = host->session.id,
        .conversation = conversation->talk.memory.place.conversation,
        .project = host->team.project.path,
        .text = text,
        .known = &recall->known,
    };
    struct err err = ERR_INIT;

    if (fresh)
        context_list_free(&recall->known);
    if (!recalls(host) || (++recall->prompts < RECALL_EVERY && !fresh))
        return;
    size_t from = recall->known.count;
    if (context_recall(&host->root, &host->config, &options, ret, &err) == -1)
        host_log(host, err.text); /* the prompt goes without it */
    if (recall->known.count == from)
        return;
    recall->prompts = 0;
    say_recalled(host, &recall->known, from);
}

/* Returns words that tell a model which agent speaks to it, which the caller frees; NULL if a
 * person does. */
static char *name_sender(const struct host *host, const char *from)
{
    const struct agent *agent = from != NULL ? host_member(host, from) : NULL;

    if (agent == NULL)
        return NULL;
    _cleanup_str_ struct str role = STR_INIT;
    str_add_visible(&role, agent->role, strlen(agent->role));
    return mem_printf("[message from agent %s (%s) of your team]\n", agent->id, str_text(&role));
}

/* ---- pictures */

/* The pictures of a prompt in base64. */
struct sent_pictures {
    struct str pictures[PICTURES_MAX];
    const char *types[PICTURES_MAX];
    size_t count;
};

static void sent_free(struct sent_pictures *sent)
{
    for (size_t i = 0; i < sent->count; i++)
        str_free(&sent->pictures[i]);
}
#define _cleanup_sent_ __attribute__((cleanup(sent_free)))

static int read_pictures(const struct host *host, const char *data, struct sent_pictures *ret,
                         struct err *err)
{
    struct pictures pictures;

    pictures_of(data, &pictures);
    if (pictures.count > 0 && !prompt_takes_pictures(host))
        return picture_refuse(err);
    for (size_t i = 0; i < pictures.count; i++) {
        const struct picture *picture = &pictures.list[i];
        _cleanup_free_ char *bytes = NULL;
        size_t len = 0;
        if (pictures_load(host->dir, picture, &bytes, &len, err) == -1)
            return -1;
        ret->types[ret->count] = picture_type(picture->file);
        base64_add(&ret->pictures[ret->count++], bytes, len);
    }
    return 0;
}

bool prompt_takes_pictures(const struct host *host)
{
    const struct abilities *can = &host->conversation->offered.can;

    return can->pictures || !can->known;
}

/* ---- the prompt */

int prompt_send(struct host *host, const struct prompt_words *words, int64_t *ret, struct err *err)
{
    const struct conversation *conversation = host->conversation;
    const struct resume *resume = &conversation->resume;
    _cleanup_str_ struct str role = STR_INIT;
    _cleanup_str_ struct str history = STR_INIT;
    _cleanup_free_ char *sender = name_sender(host, words->from);
    _cleanup_sent_ struct sent_pictures sent = {.count = 0};
    _cleanup_str_ struct str loss = STR_INIT;
    struct acp_block blocks[6 + PICTURES_MAX] = {{.text = NULL}};
    size_t n = 0;

    if (read_pictures(host, words->data, &sent, err) == -1)
        return -1;
    if (resume->prime && !conversation->link.has_role)
        role_add(host, &role);
    if (role.len > 0)
        blocks[n++].text = role.data;
    if (resume->prime || resume->remind != 0)
        add_history(host, words->before, &history);
    if (history.len == 0 && words->recalls)
        add_recall(host, resume->prime, words->text, &history);
    if (history.len > 0)
        blocks[n++].text = history.data;
    if (words->recalls)
        memory_tell_loss(host, true, &loss);
    if (loss.len > 0)
        blocks[n++].text = loss.data;
    if (sender != NULL)
        blocks[n++].text = sender;
    for (size_t i = 0; i < sent.count; i++)
        blocks[n++] = (struct acp_block){str_text(&sent.pictures[i]), sent.types[i]};
    if (words->text[0] != '\0' || sent.count == 0)
        blocks[n++].text = words->text;
    *ret = acp_prompt(conversation->link.acp, words->session, blocks, -1);
    return 0;
}

void prompt_send_turn(struct host *host)
{
    struct conversation *conversation = host->conversation;
    const struct prompt *prompt = &conversation->talk.turn.prompt;
    const struct prompt_words words = {
        .session = conversation->talk.session,
        .from = prompt->from,
        .text = prompt->text,
        .data = prompt->data,
        .before = prompt->number,
        .recalls = true,
    };
    struct err err = ERR_INIT;

    if (prompt_send(host, &words, &conversation->talk.turn.serial, &err) == -1)
        turn_end(host, HOST_END_FAILED, 0, err.text);
}

/* ---- in the middle of a turn */

const char *steer_why_not(struct host *host)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;

    if (!conversation->talk.turn.on)
        return "it is not in a turn";
    if (conversation->talk.turn.cancelled || link->acp == NULL)
        return "its turn is ending";
    if (!acp_info(link->acp)->steer)
        return "it takes nothing in the middle of a turn";
    if (conversation->talk.spending.paused[0] != '\0')
        return "its budget is used up";
    if (conversation->talk.queue.count > 0 &&
        queue_is_elsewhere(host->talk, &conversation->talk.queue.prompts[0]))
        return "another conversation waits for its turn";
    return NULL;
}

void steer_prompt(struct host *host, int64_t number)
{
    struct conversation *conversation = host->conversation;
    struct prompt *prompt = &conversation->talk.queue.prompts[queue_find(host->talk, number)];
    _cleanup_free_ char *sender = name_sender(host, prompt->from);
    struct acp_block blocks[3] = {{.text = NULL}};
    size_t n = 0;

    if (sender != NULL)
        blocks[n++].text = sender;
    blocks[n++].text = prompt->text;
    prompt->steer = acp_steer(conversation->link.acp, conversation->talk.session, blocks, STEER_MS);
}

/* Lets a prompt wait for a turn of its own, also for the next host. */
static void let_wait(struct host *host, struct prompt *prompt, const char *why)
{
    prompt->steer = 0;
    memory_update(host, prompt->number, NULL, 0, NULL, MESSAGE_OPEN, SYNC_FULL);
    queue_tell_outcome(host, prompt->number, "queued", why);
}

void steer_answer(struct host *host, const struct acp_answer *answer)
{
    struct prompt_queue *queue = &host->talk->queue;
    char why[ERR_TEXT_MAX];
    size_t i = 0;

    while (i < queue->count && queue->prompts[i].steer != answer->serial)
        i++;
    if (i == queue->count)
        return;
    if (answer->ok && answer->steered)
        turn_take(host, i);
    else
        let_wait(host, &queue->prompts[i],
                 answer->ok ? "its turn has just ended" : acp_why(answer, why, sizeof why));
}

void steer_drop_all(struct host *host)
{
    struct prompt_queue *queue = &host->talk->queue;

    for (size_t i = 0; i < queue->count; i++)
        if (queue->prompts[i].steer != 0)
            let_wait(host, &queue->prompts[i], "its turn has ended");
}
