/*
 * A member means the same in all events, so all are read for each of them, by one table, and who
 * handles a type takes those that it has. Nothing is copied, except of a permission, which has to
 * outlive its frame.
 */

#include "protocol/host_event.h"

#include "base/number.h"

static const char *const names[HOST_EVENT_COUNT] = {
    [HOST_EVENT_QUEUED] = "queued",
    [HOST_EVENT_PROMPT] = "prompt",
    [HOST_EVENT_TEXT] = "text",
    [HOST_EVENT_THOUGHT] = "thought",
    [HOST_EVENT_USER] = "user",
    [HOST_EVENT_TOOL] = "tool",
    [HOST_EVENT_PLAN] = "plan",
    [HOST_EVENT_PERMISSION] = "permission",
    [HOST_EVENT_PERMITTED] = "permitted",
    [HOST_EVENT_ELICITED] = "elicited",
    [HOST_EVENT_MODE] = "mode",
    [HOST_EVENT_COMMANDS] = "commands",
    [HOST_EVENT_OPTIONS] = "options",
    [HOST_EVENT_USAGE] = "usage",
    [HOST_EVENT_TITLE] = "title",
    [HOST_EVENT_STATE] = "state",
    [HOST_EVENT_QUERY] = "query",
    [HOST_EVENT_CONTINUITY] = "continuity",
    [HOST_EVENT_CONVERSATION] = "conversation",
    [HOST_EVENT_NOTE] = "note",
    [HOST_EVENT_END] = "end",
};

static const struct {
    const char *key;
    size_t at;
} texts[] = {
    {"prompt", offsetof(struct host_event, prompt)},
    {"message", offsetof(struct host_event, message)},
    {"from", offsetof(struct host_event, from)},
    {"permission", offsetof(struct host_event, permission)},
    {"option", offsetof(struct host_event, option)},
    {"name", offsetof(struct host_event, name)},
    {"by", offsetof(struct host_event, by)},
    {"elicitation", offsetof(struct host_event, elicitation)},
    {"id", offsetof(struct host_event, id)},
    {"kind", offsetof(struct host_event, kind)},
    {"status", offsetof(struct host_event, status)},
    {"title", offsetof(struct host_event, title)},
    {"conversation", offsetof(struct host_event, conversation)},
    {"query", offsetof(struct host_event, query)},
    {"reason", offsetof(struct host_event, reason)},
    {"outcome", offsetof(struct host_event, outcome)},
    {"note", offsetof(struct host_event, note)},
    {"mode", offsetof(struct host_event, mode)},
    {"state", offsetof(struct host_event, state)},
    {"stopReason", offsetof(struct host_event, stop_reason)},
    {"error", offsetof(struct host_event, error)},
};

static enum host_event_type parse_type(const struct json *head)
{
    const char *name = json_get_text(head, "event");
    enum host_event_type type = 0;

    while (type < HOST_EVENT_COUNT && (name == NULL || strcmp(names[type], name) != 0))
        type++;
    return type;
}

bool host_event_parse(const struct json *head, const char *body, size_t body_len,
                      struct host_event *ret)
{
    *ret = (struct host_event){
        .type = parse_type(head),
        .head = head,
        .body = body,
        .body_len = body_len,
        .entries = json_get(head, "entries"),
        .options = json_get(head, "options"),
        .modes = json_get(head, "modes"),
        .commands = json_get(head, "commands"),
        .at = json_int(json_get(head, "at"), -1),
        .used = json_int(json_get(head, "used"), -1),
        .size = json_int(json_get(head, "size"), 0),
        .plan = json_bool(json_get(head, "plan"), false),
    };
    if (body == NULL && json_get_text(head, "details") != NULL) {
        ret->body = json_get_text(head, "details");
        ret->body_len = strlen(ret->body);
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *(const char **)((char *)ret + texts[i].at) = json_get_text(head, texts[i].key);
    money_read(head, &ret->cost);
    int64_t code = json_int(json_get(head, "code"), MAS_FAILED);
    ret->code = code >= MAS_FAILED && code <= MAS_TIMEOUT ? (int)code : MAS_FAILED;
    return ret->type != HOST_EVENT_COUNT;
}

struct host_permission host_permission_copy(const struct host_event *event)
{
    static const struct word_keys keys = {.id = "id", .name = "name", .kind = "kind"};
    struct host_permission permission = {
        .id = mem_dup(event->permission != NULL ? event->permission : ""),
        .tool = mem_dup(event->id),
        .title = mem_dup(event->title),
        .kind = mem_dup(event->kind),
        .body = event->body != NULL ? mem_dupn(event->body, event->body_len) : NULL,
        .plan = event->plan,
        .on_screen = mem_dup(json_get_text(event->head, "onScreen")),
        .url = mem_dup(json_get_text(event->head, "url")),
        .elicitation = mem_dup(event->elicitation),
        .options = word_list_read(event->options, &keys),
    };

    if (json_is_object(json_get(event->head, "form")))
        json_replace(&permission.form, json_get(event->head, "form"));
    for (size_t i = 0; i < permission.options.count; i++) {
        struct word *option = &permission.options.word[i];
        if (option->name[0] == '\0') {
            free(option->name);
            option->name = mem_dup(option->id);
        }
    }
    return permission;
}

void host_permission_free(struct host_permission *permission)
{
    free(permission->id);
    free(permission->tool);
    free(permission->title);
    free(permission->kind);
    free(permission->body);
    json_free(permission->form);
    free(permission->on_screen);
    free(permission->url);
    free(permission->elicitation);
    word_list_free(&permission->options);
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

bool host_permission_asks_same(const struct host_permission *a, const struct host_permission *b)
{
    return is_same(a->title, b->title) && is_same(a->body, b->body);
}

static const char *title_of(const char *title, const char *kind)
{
    if (title != NULL && title[0] != '\0')
        return title;
    return kind != NULL && kind[0] != '\0' ? kind : "a tool";
}

const char *host_event_title(const struct host_event *event)
{
    return title_of(event->title, event->kind);
}

const char *host_permission_title(const struct host_permission *permission)
{
    return title_of(permission->title, permission->kind);
}

int64_t host_event_number(const char *id)
{
    const char *colon = id != NULL ? strrchr(id, ':') : NULL;
    uint64_t number = 0;

    return colon != NULL && number_parse_count(colon + 1, INT64_MAX, &number) ? (int64_t)number : 0;
}
