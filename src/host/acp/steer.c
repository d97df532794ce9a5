/* Prompts that the agent takes in the middle of a turn. */
#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"
#include "host/talk/memory.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"

enum { STEER_MS = 5000 }; /* time for the agent to say whether it takes a prompt */

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
    _cleanup_free_ char *sender = prompt_name_sender(host, prompt->from);
    const char *blocks[3] = {NULL};
    size_t n = 0;

    if (sender != NULL)
        blocks[n++] = sender;
    blocks[n++] = prompt->text;
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
