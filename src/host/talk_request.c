#include "host/talk.h"

#include "base/str.h"
#include "base/time.h"
#include "host/state.h"
#include "model/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a request says nothing of who asks: a person. */
#define PERSON "-"

static void open_answer(const struct host *host, struct str *head, struct json_out *out)
{
    *out = (struct json_out){.to = head};
    json_open(out, NULL, '{');
    json_put_bool(out, "ok", true);
    json_put(out, "agent", host->agent->id);
}

static void close_answer(struct client *client, struct str *head, struct json_out *out)
{
    json_close(out, '}');
    server_answer(client, head);
    if (client->kind == CLIENT_NEW)
        client->kind = CLIENT_LEAVES;
}

static const char *who(const struct client *client)
{
    return client->from != NULL ? client->from : PERSON;
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

static int check_prompt(const struct host *host, const struct frame *frame, struct err *err)
{
    const char *text = frame->body != NULL ? frame->body : "";
    const char *why = message_check(text, frame->body_len);

    if (why == NULL && frame->body_len == 0)
        why = "is empty";
    if (why != NULL)
        return err_set(err, MAS_FAILED, "the prompt %s", why);
    if (host->child.stopped || host->leaving) {
        (void)err_set(err, MAS_CONFLICT, "it was stopped");
        return err_hint(err, "start it again with: mas restart %s %s",
                        session_label(&host->root, host->session.id).text, host->agent->id);
    }
    return 0;
}

/* Has it begun, and everything that waits with it. */
static void wake(struct host *host)
{
    struct talk *talk = host->talk;
    int64_t now = time_monotonic_ms();

    if (talk->count == 0)
        return;
    if (host->child.phase == CHILD_NONE && host->child.restart_at == -1)
        child_start(host, now);
    else if (host->child.phase == CHILD_ENDS)
        host->child.again = true;
    else if (host->child.phase == CHILD_RUNS && talk->phase == TALK_STUCK)
        child_end(host, child_times(host), 0, true); /* somebody may have logged in meanwhile */
    talk_run(host);
}

/* Which conversation is asked for. */
static enum conversation_choice choice_of(const struct frame *frame, const char **ret_id)
{
    *ret_id = json_get_text(frame->head, "conversation");
    if (json_bool(json_get(frame->head, "new"), false))
        return CHOICE_NEW;
    return *ret_id != NULL ? CHOICE_NAMED : CHOICE_CURRENT;
}

static int change_first(struct host *host, const struct frame *frame, struct err *err)
{
    const char *id = NULL;
    enum conversation_choice choice = choice_of(frame, &id);

    return choice != CHOICE_CURRENT ? talk_change_conversation(host, choice, id, err) : 0;
}

static bool is_at_once(const struct talk *talk)
{
    return talk->phase == TALK_READY && !talk->turn.on && talk->count == 0;
}

static int do_ask(struct host *host, struct client *client, const struct frame *frame,
                  struct err *err)
{
    struct talk *talk = host->talk;
    bool wait = json_bool(json_get(frame->head, "wait"), false) && client->kind == CLIENT_NEW;
    _cleanup_strv_ char **tags = NULL;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    char id[TALK_ID_MAX];
    int64_t number = 0;

    if (check_prompt(host, frame, err) == -1 || read_tags(frame, &tags, err) == -1)
        return -1;
    if (wait && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many listen to it");
    struct talk_new_prompt prompt = {
        .text = frame->body, .len = frame->body_len, .from = who(client), .tags = tags};
    if (talk->turn.on || talk->count > 0) /* its turn comes, and with it the conversation */
        prompt.choice = choice_of(frame, &prompt.id);
    else if (change_first(host, frame, err) == -1)
        return -1;
    bool at_once = is_at_once(talk);
    int64_t ahead = (int64_t)talk->count + (talk->turn.on ? 1 : 0);
    if (talk_add_prompt(host, &prompt, &number, err) == -1)
        return -1;
    open_answer(host, &head, &out);
    json_put(&out, "outcome", at_once ? "started" : "queued");
    json_put(&out, "prompt", talk_id(host, number, id));
    json_put_int(&out, "queued", (int64_t)talk->count - (at_once ? 1 : 0));
    json_put_int(&out, "ahead", ahead);
    if (wait) {
        client->kind = CLIENT_ASKS;
        client->prompt = number;
    }
    close_answer(client, &head, &out);
    if (wait && talk_next_prompt(talk) == number) /* asked before: of its session's opening */
        talk_tell_permissions(host, client);
    wake(host);
    return 0;
}

/* As to any agent: taken, and nobody waits. */
static int do_send(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    struct talk *talk = host->talk;
    bool wait = json_bool(json_get(frame->head, "wait"), false) && client->kind == CLIENT_NEW;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    int64_t number = 0;

    if (!json_bool(json_get(frame->head, "enter"), true)) {
        (void)err_set(err, MAS_USAGE, "it is an ACP agent, where a text is a whole prompt");
        return err_hint(err, "send it without --no-enter");
    }
    if (check_prompt(host, frame, err) == -1)
        return -1;
    if (wait && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many watch it");
    bool at_once = is_at_once(talk);
    const struct talk_new_prompt prompt = {
        .text = frame->body, .len = frame->body_len, .from = who(client)};
    if (talk_add_prompt(host, &prompt, &number, err) == -1)
        return -1;
    wake(host);
    bool there = talk->turn.on && talk->turn.prompt.number == number;
    for (size_t i = 0; i < talk->count; i++)
        there = there || talk->queue[i].number == number;
    if (!there && host->child.phase == CHILD_NONE) /* it could not be started */
        return err_set(err, MAS_FAILED, "%s", host->child.note);
    open_answer(host, &head, &out);
    json_put(&out, "outcome", at_once ? "delivered" : "queued");
    if (wait) {
        client->kind = CLIENT_WATCHES;
        client->dirty = true;
    }
    close_answer(client, &head, &out);
    return 0;
}

static int do_listen(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    enum { MARGIN = 64 }; /* for the ends of lists */
    struct talk *talk = host->talk;
    _cleanup_str_ struct str head = STR_INIT;
    struct agent_status status;
    struct json_out out;

    bool first = client->kind == CLIENT_NEW;
    if (first && !server_lets_watch(host))
        return err_set(err, MAS_CONFLICT, "too many listen to it");
    (void)talk_need_store(host, err);
    host_fill_status(host, &status);
    open_answer(host, &head, &out);
    agent_status_tell(&status, &out);
    json_put_int(&out, "query", talk->place.number);
    talk_put_modes(talk, &out);
    talk_put_commands(talk, &out);
    json_open(&out, "permissions", '[');
    for (size_t i = 0; i < talk->permission_count; i++) {
        _cleanup_str_ struct str one = STR_INIT;
        struct json_out permission = {.to = &one};
        json_open(&permission, NULL, '{');
        talk_put_permission(host, &talk->permissions[i], &permission);
        json_close(&permission, '}');
        if (head.len + one.len >= FRAME_HEAD_MAX - MARGIN)
            break;
        json_put_raw(&out, NULL, one.data);
    }
    json_close(&out, ']');
    if (talk->options.len > 0 && head.len + talk->options.len < FRAME_HEAD_MAX - MARGIN)
        json_put_raw(&out, "options", talk->options.data);
    client->kind = CLIENT_LISTENS;
    close_answer(client, &head, &out);
    if (first && json_bool(json_get(frame->head, "early"), false))
        server_tell_early(host, client, SERVER_LISTENERS);
    return 0;
}

static int do_cancel(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    const char *prompt = json_get_text(frame->head, "prompt");
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    (void)err;
    bool cancelled =
        prompt != NULL ? talk_cancel_prompt(host, talk_number(host, prompt)) : talk_cancel(host);
    open_answer(host, &head, &out);
    json_put_bool(&out, "cancelled", cancelled);
    close_answer(client, &head, &out);
    return 0;
}

static int do_permit(struct host *host, struct client *client, const struct frame *frame,
                     struct err *err)
{
    const char *permission = json_get_text(frame->head, "permission");
    const char *option = json_get_text(frame->head, "option");
    struct talk_verdict verdict = {.as = json_get_text(frame->head, "as"),
                                   .mode = json_get_text(frame->head, "mode"),
                                   .by = who(client)};
    struct talk_permitted permitted;
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;
    char id[TALK_ID_MAX];

    verdict.number = permission != NULL ? talk_number(host, permission) : 0;
    if (permission != NULL && verdict.number == 0)
        return err_set(err, MAS_NOT_FOUND, "there is no such permission open");
    verdict.wanted = option != NULL ? option : verdict.as != NULL ? verdict.as : "allow";
    if (talk_permit(host, &verdict, &permitted, err) == -1)
        return -1;
    open_answer(host, &head, &out);
    json_put(&out, "permission", talk_id(host, permitted.number, id));
    json_put(&out, "option", permitted.option);
    json_put(&out, "title", permitted.title);
    if (permitted.mode != NULL)
        json_put(&out, "mode", permitted.mode);
    close_answer(client, &head, &out);
    talk_permitted_free(&permitted);
    return 0;
}

static int do_clear(struct host *host, struct client *client, const struct frame *frame,
                    struct err *err)
{
    struct talk *talk = host->talk;
    bool then = frame->body != NULL && frame->body_len > 0;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_strv_ char **tags = NULL;
    struct json_out out;
    char id[TALK_ID_MAX];
    int64_t number = 0;
    struct talk_clear_options options = {.reason = "clear",
                                         .mode = json_get_text(frame->head, "mode"),
                                         .then_text = then ? frame->body : NULL,
                                         .then_len = then ? frame->body_len : 0,
                                         .from = who(client)};

    if (read_tags(frame, &tags, err) == -1 || (then && check_prompt(host, frame, err) == -1))
        return -1;
    options.tags = tags;
    bool checked = options.mode == NULL || talk_knows_modes(talk);
    if (talk_clear(host, &options, &number, err) == -1)
        return -1;
    open_answer(host, &head, &out);
    if (!checked)
        json_put_bool(&out, "modeUnchecked", true);
    json_put(&out, "conversation", talk->place.conversation);
    json_put_int(&out, "query", talk->place.number);
    json_put(&out, "prompt", number != 0 ? talk_id(host, number, id) : NULL);
    if (number != 0 && json_bool(json_get(frame->head, "wait"), false) &&
        client->kind == CLIENT_NEW) {
        client->kind = CLIENT_ASKS;
        client->prompt = number;
    }
    close_answer(client, &head, &out);
    wake(host);
    return 0;
}

static int answer_ok(struct host *host, struct client *client)
{
    _cleanup_str_ struct str head = STR_INIT;
    struct json_out out;

    open_answer(host, &head, &out);
    json_put(&out, "conversation", host->talk->place.conversation);
    close_answer(client, &head, &out);
    return 0;
}

static int do_mode(struct host *host, struct client *client, const struct frame *frame,
                   struct err *err)
{
    const char *mode = json_get_text(frame->head, "mode");

    if (mode == NULL || mode[0] == '\0' || strlen(mode) > ACP_ID_MAX)
        return err_set(err, MAS_USAGE, "no mode was named");
    return talk_set_mode(host, mode, err) == -1 ? -1 : answer_ok(host, client);
}

static int do_set(struct host *host, struct client *client, const struct frame *frame,
                  struct err *err)
{
    const char *option = json_get_text(frame->head, "option");
    const char *value = json_get_text(frame->head, "value");

    if (option == NULL || value == NULL || strlen(option) > ACP_ID_MAX ||
        strlen(value) > ACP_ID_MAX)
        return err_set(err, MAS_USAGE, "no option and value were named");
    return talk_set_option(host, option, value, err) == -1 ? -1 : answer_ok(host, client);
}

static int do_conversation(struct host *host, struct client *client, const struct frame *frame,
                           struct err *err)
{
    if (talk_need_store(host, err) == -1 || change_first(host, frame, err) == -1)
        return -1;
    return answer_ok(host, client);
}

static const struct {
    const char *name;
    const char *what; /* "cannot <what> agent '..'" */
    int (*run)(struct host *host, struct client *client, const struct frame *frame,
               struct err *err);
    bool looks; /* it changes nothing, and anyone may */
    enum request_self self;
} requests[] = {
    {"ask", "ask", do_ask, false, SELF_MAY},
    {"send", "send to", do_send, false, SELF_MAY},
    {"listen", "listen to", do_listen, true, SELF_MAY},
    {"cancel", "cancel the turn of", do_cancel, false, SELF_MAY},
    {"permit", "answer", do_permit, false, SELF_MAY_NOT},
    {"clear", "clear the context of", do_clear, false, SELF_MAY_NOT},
    {"mode", "set the mode of", do_mode, false, SELF_MAY_NOT},
    {"set", "set an option of", do_set, false, SELF_MAY_NOT},
    {"conversation", "change the conversation of", do_conversation, false, SELF_MAY_NOT},
};

const char *talk_request_what(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        if (strcmp(requests[i].name, name) == 0)
            return requests[i].what;
    return NULL;
}

bool talk_request(struct host *host, struct client *client, const struct frame *frame)
{
    const char *name = json_get_text(frame->head, "do");
    struct err err = ERR_INIT;
    size_t i = 0;

    while (i < ARRAY_LEN(requests) && strcmp(requests[i].name, name) != 0)
        i++;
    if (i == ARRAY_LEN(requests))
        return false;
    int rc = 0;
    if (!requests[i].looks)
        rc = request_judge(host, client, frame, requests[i].what, requests[i].self, &err);
    if (rc == 0)
        rc = requests[i].run(host, client, frame, &err);
    if (rc == -1) {
        if (!str_starts(err.text, "cannot "))
            (void)err_wrap(&err, "cannot %s agent '%s'", requests[i].what, host->agent->id);
        server_refuse(client, &err);
    }
    return true;
}
