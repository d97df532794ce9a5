/*
 * A handler checks, calls the part that it is about, answers, and by wake() starts the agent or its
 * next turn if there is something to do. A client that waits for a prompt stays, as a client of
 * another kind, and gets events until the end; `ask` answers before wake(), so that its answer
 * comes before these.
 */

#include "host/talk/request.h"

#include "host/picture.h"
#include "host/server.h"
#include "host/talk/budget.h"
#include "host/talk/clear.h"
#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/permission.h"
#include "host/talk/query.h"
#include "host/talk/queue.h"
#include "host/talk/turn.h"
#include "model/message.h"

enum { DETAILS_SHOWN = 4096 }; /* bytes that a listener is told of what a permission is about */

const char *talk_asker(const struct client *client)
{
    return client->from != NULL ? client->from : "-";
}

/* Reads the tags into a vector, which the caller releases with strv_free(). */
static int read_tags(const struct frame *frame, char ***ret, struct err *err)
{
    _cleanup_strv_ char **tags = NULL;
    const struct json *list = json_get(frame->head, "tags");

    for (const struct json *tag = json_first(list); tag != NULL; tag = json_next(tag))
        strv_push(&tags, json_is_string(tag) ? json_text(tag) : "");
    if (store_check_tags(tags, err) == -1)
        return -1;
    *ret = TAKE_PTR(tags);
    return 0;
}

int talk_check_prompt(const struct host *host, const struct frame *frame, struct err *err)
{
    const char *text = frame->body != NULL ? frame->body : "";
    const char *why = message_check(text, frame->body_len);

    if (why == NULL && message_is_blank(text, frame->body_len) &&
        json_get(frame->head, "pictures") == NULL)
        why = "is empty";
    if (why != NULL)
        return err_set(err, MAS_USAGE, "the prompt %s", why);
    if (host->child.stopped || host->leaving) {
        (void)err_set(err, MAS_CONFLICT, "it was stopped");
        return err_hint(err, "start it again with: mas restart %s %s",
                        session_label(&host->root, host->session.id).text, host->agent->id);
    }
    return 0;
}

/* Reads which conversation is asked for. */
static enum conversation_choice choice_of(const struct frame *frame, const char **ret_id)
{
    *ret_id = json_get_text(frame->head, "conversation");
    if (json_bool(json_get(frame->head, "new"), false))
        return CHOICE_NEW;
    return *ret_id != NULL ? CHOICE_NAMED : CHOICE_CURRENT;
}

/* Changes the conversation before a request that names another one. */
static int change_first(struct host *host, const struct frame *frame, struct err *err)
{
    const char *id = NULL;
    enum conversation_choice choice = choice_of(frame, &id);

    if (choice == CHOICE_CURRENT || query_change(host, choice, id, err) == 0)
        return 0;
    return err->code == MAS_NOT_FOUND
               ? err_hint(err, "list them with: mas history --queries %s %s",
                          session_label(&host->root, host->session.id).text, host->agent->id)
               : -1;
}

static int ask_aside(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    if (client->kind != CLIENT_NEW || !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many clients listen to it");
    return host->talk->ops->ask_aside(host, client, frame->body, frame->body_len, err);
}

static bool keep_number(const struct store_item *item, void *arg)
{
    if (item->sender != NULL)
        return true;
    *(int64_t *)arg = item->number;
    return false;
}

/* Finds the prompt of a person that has this tag; *ret is 0 if there is none. */
static int find_tagged(struct host *host, const char *tag, int64_t *ret, struct err *err)
{
    const struct store_filter filter = {
        .agent = host->agent->id, .roles = 1U << ROLE_USER, .tag = tag};

    *ret = 0;
    return memory_need(host, err) == -1
               ? -1
               : store_read(host->talk->memory.store, &filter, keep_number, ret, err);
}

/* Answers a request for a prompt that the agent has had already. */
static void answer_again(struct host *host, struct client *client, int64_t number)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    char id[EVENT_ID_MAX];

    server_open_answer(host, &head, &out);
    json_put_all(&out, JT("outcome", "queued"), JT("prompt", event_id(host, number, id)));
    server_close_answer(client, &head, &out);
}

int talk_request_ask(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    struct talk *talk = host->talk;
    bool wait = json_bool(json_get(frame->head, "wait"), false) && client->kind == CLIENT_NEW;
    _cleanup_strv_ char **tags = NULL;
    _cleanup_free_ char *data = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    char id[EVENT_ID_MAX];
    int64_t number = 0;

    if (talk_check_prompt(host, frame, err) == -1 || read_tags(frame, &tags, err) == -1 ||
        picture_request(host, frame, &data, err) == -1)
        return -1;
    if (tags != NULL && json_bool(json_get(frame->head, "once"), false)) {
        if (find_tagged(host, tags[0], &number, err) == -1)
            return -1;
        if (number != 0) {
            answer_again(host, client, number);
            return 0;
        }
    }
    if (json_bool(json_get(frame->head, "aside"), false))
        return data == NULL ? ask_aside(host, client, frame, err)
                            : err_set(err, MAS_USAGE, "a copy of its session gets no pictures");
    if (wait && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many clients listen to it");
    struct new_prompt prompt = {.text = frame->body != NULL ? frame->body : "",
                                .len = frame->body_len,
                                .from = talk_asker(client),
                                .tags = tags,
                                .data = data};
    if (talk->turn.on || talk->queue.count > 0) /* the conversation changes when its turn comes */
        prompt.choice = choice_of(frame, &prompt.id);
    else if (change_first(host, frame, err) == -1)
        return -1;
    budget_look(host, true);
    bool at_once = prompt.begins = turn_begins_at_once(host);
    int64_t ahead = (int64_t)talk->queue.count + (talk->turn.on ? 1 : 0);
    if (queue_add(host, &prompt, &number, err) == -1)
        return -1;
    server_open_answer(host, &head, &out);
    json_put_all(&out, JT("outcome", at_once ? "started" : "queued"),
                 JT("prompt", event_id(host, number, id)),
                 JI("queued", talk->queue.count - (at_once ? 1 : 0)), JI("ahead", ahead));
    if (talk->spending.paused[0] != '\0')
        json_put(&out, "paused", talk->spending.paused);
    if (wait) {
        client->kind = CLIENT_ASKS;
        client->prompt = number;
        client->holds = json_bool(json_get(frame->head, "held"), false);
    }
    client->asked = client->kind == CLIENT_LISTENS;
    server_close_answer(client, &head, &out);
    if (wait && turn_next_prompt(host->talk) == number) /* asked while the session is opened */
        permission_tell_open(host, client);
    talk->ops->wake(host);
    return 0;
}

/* Returns the beginning of what a permission is about, which the caller frees. */
static char *shorten(const char *details)
{
    size_t len = str_fit(details, DETAILS_SHOWN);

    return details[len] == '\0' ? mem_dup(details)
                                : mem_printf("%.*s\n(%zu more bytes: mas history)", (int)len,
                                             details, strlen(details + len));
}

/* Writes an open permission, and what it is about, if there is room for both: JSON may take six
 * bytes for one. */
static void put_open(const struct host *host, const struct asked_permission *permission,
                     size_t room, struct str *to)
{
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    permission_put(host, permission, &out);
    if (permission->details[0] != '\0' && to->len + 6 * (size_t)DETAILS_SHOWN < room) {
        _cleanup_free_ char *details = shorten(permission->details);
        json_put(&out, "details", details);
    }
    json_close(&out, '}');
}

int talk_request_listen(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    enum { MARGIN = 64 }; /* bytes for the ends of the lists */
    struct talk *talk = host->talk;
    _cleanup_str_ struct str head = STR_INIT;
    struct agent_status status;
    struct json_out out;

    bool first = client->kind == CLIENT_NEW;
    if (first && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many clients listen to it");
    (void)memory_need(host, err);
    status_fill(host, &status);
    server_open_answer(host, &head, &out);
    agent_status_tell(&status, &out);
    json_put_int(&out, "query", talk->memory.place.number);
    talk->ops->put_offers(host, &out);
    json_open(&out, "permissions", '[');
    for (size_t i = 0; i < talk->permissions.count; i++) {
        _cleanup_str_ struct str one = STR_INIT;
        put_open(host, &talk->permissions.open[i], FRAME_HEAD_MAX - MARGIN - head.len, &one);
        if (head.len + one.len >= FRAME_HEAD_MAX - MARGIN)
            break;
        json_put_raw(&out, NULL, one.data);
    }
    json_close(&out, ']');
    const char *options = talk->ops->options(host);
    if (options != NULL && head.len + strlen(options) < FRAME_HEAD_MAX - MARGIN)
        json_put_raw(&out, "options", options);
    client->kind = CLIENT_LISTENS;
    server_close_answer(client, &head, &out);
    if (first && json_bool(json_get(frame->head, "early"), false))
        server_tell_early(host, client, SERVER_LISTENERS);
    return 0;
}

int talk_request_cancel(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    const char *prompt = json_get_text(frame->head, "prompt");
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    (void)err;
    bool cancelled = prompt != NULL && host->talk->ops->cancel_aside(host, prompt) ? true
                     : prompt != NULL ? turn_cancel_prompt(host, event_number(host, prompt))
                                      : turn_cancel(host);
    server_open_answer(host, &head, &out);
    json_put_bool(&out, "cancelled", cancelled);
    server_close_answer(client, &head, &out);
    return 0;
}

/* Lets an agent go on that has reached a limit of its budget. */
static int let_go_on(struct host *host, struct client *client, const char *more, struct err *err)
{
    _cleanup_str_ struct str words = STR_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    if (client->from != NULL)
        return err_set(err, MAS_FAILED, "only a person may let it use more than its budget");
    if (budget_extend(host, more, &words, err) == -1)
        return -1;
    server_open_answer(host, &head, &out);
    json_put(&out, "budget", str_text(&words));
    server_close_answer(client, &head, &out);
    host->talk->ops->wake(host);
    return 0;
}

/* Returns true if a request for a permission is meant for a budget: none is asked, or it says how
 * much more there is. */
static bool is_for_budget(struct host *host, const struct frame *frame)
{
    const struct talk *talk = host->talk;
    const char *option = json_get_text(frame->head, "option");

    if (json_get_text(frame->head, "more") != NULL)
        return true;
    if (talk->permissions.count > 0 || json_get(frame->head, "permission") != NULL ||
        option == NULL || strcmp(option, "allow") != 0)
        return false;
    budget_look(host, true);
    return talk->spending.paused[0] != '\0';
}

int talk_request_permit(struct host *host, struct client *client, const struct frame *frame,
                        struct err *err)
{
    const char *permission = json_get_text(frame->head, "permission");
    const char *option = json_get_text(frame->head, "option");
    struct verdict verdict = {.as = json_get_text(frame->head, "as"),
                              .mode = json_get_text(frame->head, "mode"),
                              .answers = json_get(frame->head, "answers"),
                              .by = talk_asker(client)};
    struct answered_permission permitted;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    char id[EVENT_ID_MAX];

    if (is_for_budget(host, frame))
        return let_go_on(host, client, json_get_text(frame->head, "more"), err);
    verdict.number = permission != NULL ? event_number(host, permission) : 0;
    if (permission != NULL && verdict.number == 0)
        return err_set(err, MAS_NOT_FOUND, "there is no such open permission request");
    verdict.wanted = option != NULL ? option : verdict.as != NULL ? verdict.as : "allow";
    if (permission_answer(host, &verdict, &permitted, err) == -1)
        return -1;
    server_open_answer(host, &head, &out);
    json_put(&out, "permission", event_id(host, permitted.number, id));
    json_put(&out, "option", permitted.option);
    json_put_fit(&out, "title", permitted.title, DETAILS_SHOWN);
    if (permitted.details[0] != '\0') {
        _cleanup_free_ char *details = shorten(permitted.details);
        json_put(&out, "details", details);
    }
    if (permitted.mode != NULL)
        json_put(&out, "mode", permitted.mode);
    server_close_answer(client, &head, &out);
    permission_free_answered(&permitted);
    return 0;
}

int talk_request_clear(struct host *host, struct client *client, const struct frame *frame,
                       struct err *err)
{
    struct talk *talk = host->talk;
    bool then = frame->body != NULL && frame->body_len > 0;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_strv_ char **tags = NULL;
    struct json_out out;
    char id[EVENT_ID_MAX];
    int64_t number = 0;
    struct clear_options options = {.reason = "clear",
                                    .mode = json_get_text(frame->head, "mode"),
                                    .then_text = then ? frame->body : NULL,
                                    .then_len = then ? frame->body_len : 0,
                                    .from = talk_asker(client)};

    if (read_tags(frame, &tags, err) == -1 || (then && talk_check_prompt(host, frame, err) == -1))
        return -1;
    options.tags = tags;
    bool checked = options.mode == NULL || talk->ops->knows_modes(host);
    if (clear_context(host, &options, &number, err) == -1)
        return -1;
    server_open_answer(host, &head, &out);
    if (!checked)
        json_put_bool(&out, "modeUnchecked", true);
    json_put_all(&out, JT("conversation", talk->memory.place.conversation),
                 JI("query", talk->memory.place.number),
                 JT("prompt", number != 0 ? event_id(host, number, id) : NULL));
    if (number != 0 && json_bool(json_get(frame->head, "wait"), false) &&
        client->kind == CLIENT_NEW) {
        client->kind = CLIENT_ASKS;
        client->prompt = number;
    }
    server_close_answer(client, &head, &out);
    talk->ops->wake(host);
    return 0;
}

int talk_request_conversation(struct host *host, struct client *client, const struct frame *frame,
                              struct err *err)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct agent_status status;
    struct json_out out;

    if (memory_need(host, err) == -1 || change_first(host, frame, err) == -1)
        return -1;
    status_fill(host, &status);
    server_open_answer(host, &head, &out);
    json_put(&out, "conversation", host->talk->memory.place.conversation);
    json_put(&out, "state", agent_state_name(status.state));
    server_close_answer(client, &head, &out);
    return 0;
}
