/*
 * A request has to belong to the turn, to a subagent or to a session that is being opened. It is
 * filled in from its tool call and stored as open; then the preset's policy answers it, or the
 * clients are told and one of them does. Whatever its end, permission_close() stores the decision,
 * tells it and removes the request, so that indexes hold only until then.
 */

#include "host/talk/permission.h"

#include "host/talk/event.h"
#include "host/talk/memory.h"
#include "host/talk/said.h"
#include "store/token.h"

enum {
    /* bytes that clients are told */
    OPTION_SHOWN = 1024,
    NAME_SHOWN = 200,
    TITLE_SHOWN = 2048,
    LIST_SHOWN = 32 * 1024,
};

static void permission_free(struct asked_permission *permission)
{
    free(permission->ticket);
    free(permission->title);
    free(permission->kind);
    free(permission->details);
    free(permission->tool_id);
    free(permission->plan_text);
    free(permission->form);
    free(permission->url);
    free(permission->url_host);
    free(permission->elicitation);
    free(permission->subagent);
    free(permission->alone);
    word_free(permission->options, permission->count);
}

static void remove_at(struct permissions *permissions, size_t index)
{
    permission_free(&permissions->open[index]);
    permissions->count--;
    memmove(permissions->open + index, permissions->open + index + 1,
            (permissions->count - index) * sizeof *permissions->open);
}

/* ---- what clients are told */

void permission_put(const struct host *host, const struct asked_permission *permission,
                    struct json_out *out)
{
    char id[EVENT_ID_MAX];
    size_t from = out->to->len;
    size_t i = 0;

    if (permission->number != 0) {
        json_put(out, "permission", event_id(host, permission->number, id));
        json_put(out, "message", id);
    }
    json_put_fit(out, "id", permission->tool_id, NAME_SHOWN);
    json_put_fit(out, "title", permission->title, TITLE_SHOWN);
    json_put_fit(out, "kind", permission->kind, NAME_SHOWN);
    json_put_bool(out, "plan", permission->plan);
    json_open(out, "options", '[');
    for (; i < permission->count && out->to->len - from < LIST_SHOWN; i++) {
        json_open(out, NULL, '{');
        json_put_fit(out, "id", permission->options[i].id, OPTION_SHOWN);
        json_put_fit(out, "name", permission->options[i].name, NAME_SHOWN);
        json_put_fit(out, "kind", permission->options[i].kind, NAME_SHOWN);
        json_close(out, '}');
    }
    json_close(out, ']');
    if (i < permission->count)
        json_put_int(out, "more", (int64_t)(permission->count - i));
    if (permission->alone != NULL)
        json_put(out, "onScreen", permission->alone);
    if (permission->form != NULL)
        json_put_raw(out, "form", permission->form);
    if (permission->url == NULL)
        return;
    json_put_all(out, JT("url", permission->url), JT("host", permission->url_host),
                 JT("elicitation", permission->elicitation));
}

static void store_decision(struct host *host, const struct asked_permission *permission,
                           const struct word *option, const char *by)
{
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};

    if (permission->number == 0)
        return;
    json_open(&out, NULL, '{');
    permission_put(host, permission, &out);
    json_put_all(&out, JT("option", option != NULL ? option->id : NULL),
                 JT("name", option != NULL ? option->name : NULL), JT("by", by));
    json_close(&out, '}');
    memory_update(host, permission->number, NULL, 0, data.data,
                  option != NULL ? MESSAGE_DONE : MESSAGE_INTERRUPTED, SYNC_CHUNK);
}

void permission_close(struct host *host, size_t index, const struct word *option, const char *by)
{
    struct talk *talk = host->talk;
    const struct asked_permission *permission = &talk->permissions.open[index];
    const char *name = option != NULL ? option->name : NULL;
    struct client_event event;
    char id[EVENT_ID_MAX];

    store_decision(host, permission, option, by);
    event_open(&event, "permitted");
    json_put(&event.out, "permission", event_id(host, permission->number, id));
    json_put_fit(&event.out, "option", option != NULL ? option->id : NULL, OPTION_SHOWN);
    json_put_fit(&event.out, "name", name, OPTION_SHOWN);
    json_put(&event.out, "by", by);
    event_tell(host, &event, NULL, 0, turn_next_prompt(talk));
    _cleanup_free_ char *line = mem_printf("%s (%s)", name != NULL ? name : "cancelled", by);
    host->talk->ops->show(host, "permitted", line, strlen(line));
    remove_at(&talk->permissions, index);
}

/* Begins the event. *ret_body is its body, which the permission owns. Returns the body's length. */
static size_t open_event(const struct host *host, const struct asked_permission *permission,
                         struct client_event *event, const char **ret_body)
{
    size_t len = strlen(permission->details);

    event_open(event, "permission");
    permission_put(host, permission, &event->out);
    *ret_body = len > 0 ? permission->details : NULL;
    return len;
}

void permission_tell_open(const struct host *host, struct client *client)
{
    const struct permissions *permissions = &host->talk->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        struct client_event event;
        const char *body;
        size_t len = open_event(host, &permissions->open[i], &event, &body);
        event_tell_one(client, &event, body, len);
    }
}

/* ---- options */

static const struct word *option_of_kind(const struct asked_permission *permission,
                                         const char *kind)
{
    for (size_t i = 0; i < permission->count; i++)
        if (strcmp(permission->options[i].kind, kind) == 0)
            return &permission->options[i];
    return NULL;
}

const struct word *permission_option(const struct asked_permission *permission, const char *kind,
                                     const char *else_kind)
{
    const struct word *option = option_of_kind(permission, kind);
    return option != NULL ? option : option_of_kind(permission, else_kind);
}

bool permission_allows(const struct word *option)
{
    return str_starts(option->kind, "allow") || strcmp(option->kind, PLAN_CLEAR_OPTION) == 0;
}

/* Also returns true for an option of the agent itself: mas clears in its place, because an agent
 * that clears by itself brings back after a restart what was cleared. */
bool permission_option_clears(const struct word *option)
{
    return strcmp(option->id, PLAN_CLEAR_OPTION) == 0 ||
           (strcasestr(option->name, "clear") != NULL && !str_starts(option->kind, "reject"));
}

/* Returns the option that a word of protocol/host.h, or an option's id, means; NULL: none. */
static const struct word *find_option(const struct asked_permission *permission, const char *wanted)
{
    static const struct {
        const char *word, *kind, *else_kind;
    } words[] = {{"allow", "allow_once", "allow_always"},
                 {"allow_always", "allow_always", "allow_once"},
                 {"deny", "reject_once", "reject_always"},
                 {"deny_always", "reject_always", "reject_once"}};

    for (size_t i = 0; i < permission->count; i++)
        if (strcmp(permission->options[i].id, wanted) == 0)
            return &permission->options[i];
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i].word, wanted) == 0)
            return permission_option(permission, words[i].kind, words[i].else_kind);
    for (size_t i = 0; permission->plan && i < permission->count; i++)
        if (strcmp(wanted, PLAN_CLEAR_OPTION) == 0 &&
            permission_option_clears(&permission->options[i]))
            return &permission->options[i]; /* the agent's own, by another id */
    return NULL;
}

/* ---- what is asked */

/* Stores what is asked: its text is the title, and the details on the lines after it. */
static void store_permission(struct host *host, struct asked_permission *permission)
{
    _cleanup_str_ struct str data = STR_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &data};

    json_open(&out, NULL, '{');
    permission_put(host, permission, &out);
    json_close(&out, '}');
    str_addn(&text, permission->title, str_fit(permission->title, STORE_TEXT_MAX / 4));
    if (permission->details[0] != '\0')
        str_addf(&text, "\n%s", permission->details);
    if (permission->number != 0) {
        memory_update(host, permission->number, text.data, text.len, data.data, MESSAGE_OPEN,
                      SYNC_CHUNK);
        return;
    }
    const struct store_message message = {
        .role = ROLE_PERMISSION,
        .state = MESSAGE_OPEN,
        .text = str_text(&text),
        .len = text.len,
        .data = data.data,
        .key = permission->tool_id[0] != '\0' ? permission->tool_id : NULL,
        .trigger = turn_prompt(host->talk),
    };
    permission->number = memory_add(host, &message);
    (void)event_id(host, permission->number, permission->id);
}

size_t permission_add(struct host *host, const struct asked_permission *permission)
{
    struct permissions *permissions = &host->talk->permissions;
    size_t index = permissions->count++;

    said_close_text(host);
    permissions->open[index] = *permission;
    store_permission(host, &permissions->open[index]);
    return index;
}

void permission_tell(struct host *host, const struct asked_permission *permission)
{
    struct client_event event;
    const char *body;
    size_t len = open_event(host, permission, &event, &body);

    event_tell(host, &event, body, len, turn_next_prompt(host->talk));
    host->talk->ops->show(host, "permission", permission->title, strlen(permission->title));
}

void permission_tell_again(struct host *host, struct asked_permission *permission)
{
    store_permission(host, permission);
    permission_tell(host, permission);
}

void permission_withdraw(struct host *host, const char *ticket)
{
    const struct permissions *permissions = &host->talk->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        if (strcmp(permissions->open[i].ticket, ticket) != 0)
            continue;
        permission_close(host, i, NULL, "cancelled");
        return;
    }
}

static void drop_at(struct host *host, size_t index)
{
    host->talk->ops->refuse(host, &host->talk->permissions.open[index]);
    permission_close(host, index, NULL, "cancelled");
}

void permission_drop_all(struct host *host)
{
    while (host->talk->permissions.count > 0)
        drop_at(host, 0);
}

void permission_drop_of(struct host *host, const char *subagent)
{
    const struct permissions *permissions = &host->talk->permissions;

    for (size_t i = permissions->count; i-- > 0;) {
        const char *asks = permissions->open[i].subagent;
        if (asks == subagent || (asks != NULL && subagent != NULL && strcmp(asks, subagent) == 0))
            drop_at(host, i);
    }
}

/* ---- a client answers */

static int fail_no_option(const struct asked_permission *permission, const char *wanted,
                          struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (size_t k = 0; k < permission->count; k++)
        str_addf(&list, "%s%s", k > 0 ? ", " : "", permission->options[k].id);
    (void)err_set(err, MAS_NOT_FOUND, "there is no option '%s'", wanted);
    return err_hint(err, "the options are: %s", list.data != NULL ? list.data : "none");
}

void permission_free_answered(struct answered_permission *answered)
{
    free(answered->title);
    free(answered->details);
    free(answered->option);
    free(answered->mode);
}

/* What a guest allows is allowed once: a rule, and trust in a directory, would hold when the guest
 * is gone, and a plan sets the agent's mode. */
static int check_guest(const struct asked_permission *permission, const struct word *option,
                       struct err *err)
{
    if (!permission_allows(option) ||
        (strcmp(option->kind, "allow_once") == 0 && !permission->plan &&
         strcmp(permission->kind, PERMISSION_TRUST) != 0))
        return 0;
    (void)err_set(err, MAS_CONFLICT, "a guest may allow what is asked once, and no plan");
    return err_hint(err, "ask who has invited you");
}

int permission_answer(struct host *host, const struct verdict *verdict,
                      struct answered_permission *ret, struct err *err)
{
    const struct permissions *permissions = &host->talk->permissions;
    int64_t number = verdict->number;
    size_t i = 0;

    while (i < permissions->count && number != 0 && permissions->open[i].number != number)
        i++;
    if (i >= permissions->count)
        return err_set(err, MAS_NOT_FOUND,
                       number != 0 ? "there is no such open permission request"
                                   : "it does not wait for a permission");
    const struct asked_permission *permission = &permissions->open[i];
    if (permission->alone != NULL) {
        (void)err_set(err, MAS_CONFLICT, "%s", permission->alone);
        return err_hint(err, "answer it on its screen: mas attach %s %s",
                        session_label(&host->root, host->session.id).text, host->agent->id);
    }
    const struct word *option = find_option(permission, verdict->wanted);
    if (option == NULL)
        return fail_no_option(permission, verdict->wanted, err);
    if (verdict->as != NULL && permission_allows(option) != (strcmp(verdict->as, "allow") == 0)) {
        (void)err_set(err, MAS_USAGE, "the option '%s' (%s) would %s", option->id, option->name,
                      permission_allows(option) ? "allow it" : "deny it");
        return err_hint(err, "use 'mas %s' for that",
                        permission_allows(option) ? "approve" : "deny");
    }
    if (str_starts(verdict->by, GUEST_FROM) && check_guest(permission, option, err) == -1)
        return -1;
    struct answered_permission done = {.title = mem_dup(permission->title),
                                       .details = mem_dup(permission->details),
                                       .option = mem_dup(option->id),
                                       .number = permission->number};
    if (host->talk->ops->permit(host, i, option, verdict, &done, err) == -1) {
        permission_free_answered(&done);
        return -1;
    }
    *ret = done;
    return 0;
}
