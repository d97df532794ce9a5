#include "host/terminal/terminal.h"

#include "base/str.h"
#include "base/time.h"
#include "model/message.h"

static int check_message(const struct host *host, const struct frame *frame, struct err *err)
{
    const char *id = host->agent->id;
    const char *text = frame->body != NULL ? frame->body : "";
    const char *why = message_check(text, frame->body_len);

    if (why == NULL)
        why = delivery_refusal(host, text, frame->body_len);
    if (why != NULL)
        return err_set(err, MAS_FAILED, "cannot send to agent '%s': it %s", id, why);
    if (host->child.stopped || host->leaving) {
        (void)err_set(err, MAS_CONFLICT, "cannot send to agent '%s': it was stopped", id);
        return err_hint(err, "start it again with: mas restart %s %s",
                        session_label(&host->root, host->session.id).text, id);
    }
    return 0;
}

static void answer(struct host *host, struct client *client, bool delivered, bool wait)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    request_open_answer(host, &head, &out);
    json_put(&out, "outcome", delivered ? "delivered" : "queued");
    request_close_answer(client, &head, &out);
    client->kind = wait ? CLIENT_WATCHES : CLIENT_LEAVES;
    client->dirty = wait;
}

int terminal_send(struct host *host, struct client *client, const struct frame *frame,
                  struct err *err)
{
    bool enter = json_bool(json_get(frame->head, "enter"), true);
    bool wait = json_bool(json_get(frame->head, "wait"), false);
    const struct delivery *delivery = &host->terminal->delivery;
    const char *from = client->from;
    int64_t now = time_monotonic_ms();

    if (check_message(host, frame, err) == -1 || (wait && request_check_watch(host, err) == -1))
        return -1;
    if (!delivery_add(host, frame->body != NULL ? frame->body : "", frame->body_len, enter,
                      from != NULL ? from : "-"))
        return err_set(err, MAS_CONFLICT,
                       "cannot send to agent '%s': too many messages wait for it", host->agent->id);
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, now);
    size_t before = delivery->count;
    if (!host->disk.paused)
        (void)delivery_run(host, now);
    if (before ==
        0) { /* the agent could not be started, and the log says that the message failed */
        (void)err_set(err, MAS_FAILED, "cannot send to agent '%s': %s", host->agent->id,
                      host->child.note);
        server_refuse(client, err);
        return 0;
    }
    bool typed =
        delivery->count == 0 || (delivery->count == 1 && delivery->phase >= DELIVERY_SETTLE);
    if (!typed && delivery_keep(host, err) == -1)
        return err_wrap(err, "cannot send to agent '%s'", host->agent->id);
    answer(host, client, typed, wait);
    server_tell_message(host, from, frame->body, frame->body_len);
    return 0;
}
