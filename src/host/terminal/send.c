#include "host/terminal/terminal.h"

#include "base/time.h"
#include "host/picture.h"
#include "host/server.h"
#include "model/message.h"

/* `shown`: mas shows the text instead of typing it. */
static int check_message(const struct host *host, const struct store_input *input, bool shown,
                         struct err *err)
{
    const char *id = host->agent->id;
    const char *why = message_check(input->text, input->len);

    if (why == NULL && !shown)
        why = delivery_refusal(host, input->text, input->len);
    if (why != NULL)
        return err_set(err, MAS_FAILED, "cannot send to agent '%s': it %s", id, why);
    if (!shown && (host->child.stopped || host->leaving)) {
        (void)err_set(err, MAS_CONFLICT, "cannot send to agent '%s': it was stopped", id);
        return err_hint(err, "start it again with: mas restart %s %s",
                        session_label(&host->root, host->session.id).text, id);
    }
    return 0;
}

/* Types the message, or queues it. Returns what became of it; NULL: *err says why it failed. The
 * caller frees *ret_why. */
static const char *type(struct host *host, const struct store_input *input, char **ret_why,
                        struct err *err)
{
    const struct delivery *delivery = &host->terminal->delivery;
    int64_t now = time_monotonic_ms();

    if (!delivery_add(host, input)) {
        (void)err_set(err, MAS_CONFLICT, "cannot send to agent '%s': too many messages wait for it",
                      host->agent->id);
        return NULL;
    }
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, now);
    else
        child_wake(host); /* it may be falling asleep */
    size_t before = delivery->count;
    if (!host->disk.paused)
        (void)delivery_run(host, now);
    if (before == 0) { /* it could not be started, and the log says that the message failed */
        (void)err_set(err, MAS_FAILED, "cannot send to agent '%s': %s", host->agent->id,
                      host->child.note);
        return NULL;
    }
    if (delivery->count == 0 || (delivery->count == 1 && delivery->phase >= DELIVERY_SETTLE))
        return "delivered";
    if (delivery_keep(host, err) == 0)
        return (*ret_why = line_held_why(host)) != NULL ? "held" : "queued";
    (void)err_wrap(err, "cannot send to agent '%s'", host->agent->id);
    return NULL;
}

int terminal_send(struct host *host, struct client *client, const struct frame *frame,
                  struct err *err)
{
    bool wait = json_bool(json_get(frame->head, "wait"), false);
    _cleanup_free_ char *data = NULL;
    struct store_input input = {
        .sender = client->from,
        .enter = json_bool(json_get(frame->head, "enter"), true),
        .note = json_bool(json_get(frame->head, "note"), false),
        .text = frame->body != NULL ? frame->body : "",
        .len = frame->body_len,
    };
    bool shown = input.note && preset_executes(host->preset);
    _cleanup_free_ char *why = NULL;
    const char *outcome = "shown";

    if (check_message(host, &input, shown, err) == -1 ||
        picture_request(host, frame, &data, err) == -1 ||
        (wait && request_check_watch(host, err) == -1))
        return -1;
    input.data = data;
    if (shown)
        terminal_show(host, input.text, input.len, input.sender);
    else
        outcome = type(host, &input, &why, err);
    if (outcome == NULL)
        return -1;
    server_answer_outcome(host, client, outcome, why, wait);
    server_tell_message(host, input.sender, input.text, input.len);
    return 0;
}
