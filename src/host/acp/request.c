/*
 * A handler checks, calls the part that it is about, answers, and by wake() starts the agent or its
 * next turn if there is something to do. A client that waits stays, as a client of another kind.
 */

#include "host/acp/request.h"

#include "host/acp/agent_side.h"
#include "host/acp/conversation.h"
#include "host/acp/turn_side.h"
#include "host/picture.h"
#include "host/server.h"
#include "host/talk/budget.h"
#include "host/talk/queue.h"
#include "host/talk/request.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"
#include "host/talk/turn.h"

int acp_request_send(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    struct conversation *conversation = host->conversation;
    bool wait = json_bool(json_get(frame->head, "wait"), false) && client->kind == CLIENT_NEW;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    bool now = json_bool(json_get(frame->head, "now"), false);
    _cleanup_free_ char *data = NULL;
    int64_t number = 0;

    if (!json_bool(json_get(frame->head, "enter"), true)) {
        (void)err_set(err, MAS_USAGE, "it is an ACP agent, which takes only whole prompts");
        return err_hint(err, "send it without --no-enter");
    }
    if (talk_check_prompt(host, frame, err) == -1 || picture_request(host, frame, &data, err) == -1)
        return -1;
    if (wait && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many clients watch it");
    budget_look(host, true);
    bool at_once = turn_begins_at_once(host);
    const char *why = !now || at_once ? NULL
                      : data != NULL  ? "it takes no pictures in the middle of a turn"
                                      : steer_why_not(host);
    const struct new_prompt prompt = {.text = frame->body != NULL ? frame->body : "",
                                      .len = frame->body_len,
                                      .from = talk_asker(client),
                                      .data = data,
                                      .begins = at_once,
                                      .steers = now && !at_once && why == NULL};
    if (prompt.steers)
        said_close_text(host); /* what it says from now on comes after these words */
    if (queue_add(host, &prompt, &number, err) == -1)
        return -1;
    if (prompt.steers)
        steer_prompt(host, number);
    if (prompt.steers && client->kind == CLIENT_NEW) {
        client->kind = CLIENT_STEERS;
        client->prompt = number;
        client->stays = wait;
        return 0;
    }
    host->talk->ops->wake(host);
    bool there = turn_prompt(host->talk) == number ||
                 queue_find(host->talk, number) < conversation->talk.queue.count;
    if (!there && host->child.phase == CHILD_NONE) /* the agent could not be started */
        return err_set(err, MAS_FAILED, "%s", host->child.note);
    server_open_answer(host, &head, &out);
    json_put(&out, "outcome", at_once ? "delivered" : prompt.steers ? "steers" : "queued");
    if (why != NULL)
        json_put(&out, "why", why);
    if (wait) {
        client->kind = CLIENT_WATCHES;
        client->dirty = true;
    }
    server_close_answer(client, &head, &out);
    return 0;
}

int acp_request_login(struct host *host, struct client *client, const struct frame *frame,
                      struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    if (client->from != NULL)
        return err_set(err, MAS_FAILED, "only a person may log in");
    if (login_begin(host, json_get_text(frame->head, "method"), err) == -1)
        return -1;
    server_open_answer(host, &head, &out);
    server_close_answer(client, &head, &out);
    return 0;
}

int acp_request_mode(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    const char *mode = json_get_text(frame->head, "mode");

    if (mode == NULL || mode[0] == '\0' || strlen(mode) > ACP_ID_MAX)
        return err_set(err, MAS_USAGE, "the mode is missing");
    return settings_set_mode(host, client, mode, err);
}

int acp_request_set(struct host *host, struct client *client, const struct frame *frame,
                    struct err *err)
{
    const char *option = json_get_text(frame->head, "option");
    const char *value = json_get_text(frame->head, "value");

    if (option == NULL || value == NULL || strlen(option) > ACP_ID_MAX ||
        strlen(value) > ACP_ID_MAX)
        return err_set(err, MAS_USAGE, "the option or its value is missing");
    return settings_set_option(host, client, option, value, err);
}

int acp_request_kept(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    const char *id = json_get_text(frame->head, "session");
    bool all = json_bool(json_get(frame->head, "all"), false);

    if (host->child.stopped || host->leaving)
        return err_set(err, MAS_CONFLICT, "it was stopped");
    if (id != NULL && (all || strlen(id) > ACP_ID_MAX))
        return err_set(err, MAS_USAGE, "one session, or all");
    if (kept_add(host, client, id, all, err) == -1)
        return -1;
    host->talk->ops->wake(host);
    kept_run(host);
    return 0;
}
