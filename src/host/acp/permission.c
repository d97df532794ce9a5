/*
 * A request has to belong to the turn, to a subagent or to a session that is being opened. It is
 * filled in from its tool call and stored as open; then the preset's policy answers it, or the
 * clients are told and one of them does. Whatever its end, permission_close() stores the decision,
 * tells it and removes the request, so that indexes hold only until then.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"

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
    offered_free_words(permission->options, permission->count);
}

/* Answers the agent; option NULL: cancelled. */
static void reply(struct host *host, const struct asked_permission *permission, const char *option)
{
    if (permission->elicits)
        elicit_refuse(host, permission->ticket, option != NULL ? option : "cancel");
    else
        (void)acp_permit(host->conversation->link.acp, permission->ticket, option);
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
    if (permission->form != NULL)
        json_put_raw(out, "form", permission->form);
    if (permission->url == NULL)
        return;
    json_put_all(out, JT("url", permission->url), JT("host", permission->url_host),
                 JT("elicitation", permission->elicitation));
}

static void store_decision(struct host *host, const struct asked_permission *permission,
                           const struct acp_word *option, const char *by)
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

void permission_close(struct host *host, size_t index, const struct acp_word *option,
                      const char *by)
{
    struct conversation *conversation = host->conversation;
    const struct asked_permission *permission = &conversation->permissions.open[index];
    const char *name = option != NULL ? option->name : NULL;
    struct client_event event;
    char id[EVENT_ID_MAX];

    store_decision(host, permission, option, by);
    event_open(&event, "permitted");
    json_put(&event.out, "permission", event_id(host, permission->number, id));
    json_put_fit(&event.out, "option", option != NULL ? option->id : NULL, OPTION_SHOWN);
    json_put_fit(&event.out, "name", name, OPTION_SHOWN);
    json_put(&event.out, "by", by);
    event_tell(host, &event, NULL, 0, turn_next_prompt(conversation));
    _cleanup_free_ char *line = mem_printf("%s (%s)", name != NULL ? name : "cancelled", by);
    chat_print(host, "permitted", line, strlen(line));
    remove_at(&conversation->permissions, index);
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
    const struct permissions *permissions = &host->conversation->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        struct client_event event;
        const char *body;
        size_t len = open_event(host, &permissions->open[i], &event, &body);
        event_tell_one(client, &event, body, len);
    }
}

static void tell_asked(struct host *host, const struct asked_permission *permission)
{
    struct client_event event;
    const char *body;
    size_t len = open_event(host, permission, &event, &body);

    event_tell(host, &event, body, len, turn_next_prompt(host->conversation));
    chat_print(host, "permission", permission->title, strlen(permission->title));
}

/* ---- options */

static const struct acp_word *option_of_kind(const struct asked_permission *permission,
                                             const char *kind)
{
    for (size_t i = 0; i < permission->count; i++)
        if (strcmp(permission->options[i].kind, kind) == 0)
            return &permission->options[i];
    return NULL;
}

static const struct acp_word *first_of(const struct asked_permission *permission, const char *kind,
                                       const char *else_kind)
{
    const struct acp_word *option = option_of_kind(permission, kind);
    return option != NULL ? option : option_of_kind(permission, else_kind);
}

/* Returns the option that a word of protocol/host.h, or an option's id, means; NULL: none. */
static const struct acp_word *find_option(const struct asked_permission *permission,
                                          const char *wanted)
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
            return first_of(permission, words[i].kind, words[i].else_kind);
    for (size_t i = 0; permission->plan && i < permission->count; i++)
        if (strcmp(wanted, PLAN_CLEAR_OPTION) == 0 && plan_option_clears(&permission->options[i]))
            return &permission->options[i]; /* the agent's own, by another id */
    return NULL;
}

/* Returns true for an option that says yes. */
static bool allows(const struct acp_word *option)
{
    return str_starts(option->kind, "allow") || strcmp(option->kind, PLAN_CLEAR_OPTION) == 0;
}

/* ---- the agent asks */

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
        .trigger = turn_prompt(host->conversation),
    };
    permission->number = memory_add(host, &message);
    (void)event_id(host, permission->number, permission->id);
}

/* Returns true if the permission is for the turn or a subagent, or for a session that is being
 * opened: agents may ask whether a directory is trusted before the session has its id. */
static bool is_expected(const struct host *host, const struct acp_permission *request)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;
    enum phase phase = link->phase.now;

    if (tasks_subagent(host, request->session) != NULL)
        return !conversation->turn.cancelled;
    if (!conversation->turn.on)
        return phase == PHASE_OPENS || phase == PHASE_RESUMES || phase == PHASE_LOADS;
    return !conversation->turn.cancelled && link->session != NULL && request->session != NULL &&
           strcmp(request->session, link->session) == 0;
}

/* Sets what is asked. Returns true if it has changed. */
static bool describe(const struct host *host, struct asked_permission *permission,
                     const struct acp_tool *is, const char *told, const char *content)
{
    bool has_content = content != NULL && content[0] != '\0';
    char *title = acp_tool_line(is, told != NULL ? told : "", host->conversation->link.cwd);
    char *details = acp_tool_details(is, has_content ? content : permission->plan_text);

    if (title[0] == '\0') {
        free(title);
        title = mem_dup("a permission");
    }
    bool changed = permission->title == NULL || strcmp(title, permission->title) != 0 ||
                   strcmp(details, permission->details) != 0;
    free(permission->title);
    free(permission->details);
    permission->title = title;
    permission->details = details;
    return changed;
}

/* Fills in a permission from the request and from what is known of its tool call. The request may
 * leave out what the tool call has said, and may say what the tool call has not. */
static void parse(struct host *host, const struct acp_permission *request,
                  struct asked_permission *ret)
{
    const struct acp_update *tool = &request->tool;
    const struct agent_task *subagent = tasks_subagent(host, request->session);
    _cleanup_free_ char *own = tasks_title(host, request->session, tool->title);
    struct acp_update told = *tool;

    told.title = own;
    if (told.text != NULL && told.text[0] == '\0')
        told.text = NULL; /* a request without content takes none away */
    const struct tool_call *known = update_know_tool(host, &told);
    const char *kind = known != NULL ? known->kind : tool->tool_kind != NULL ? tool->tool_kind : "";
    *ret = (struct asked_permission){
        .ticket = mem_dup(request->ticket),
        .kind = mem_dup(kind[0] != '\0' ? kind : "other"),
        .tool_id = mem_dup(tool->id != NULL ? tool->id : ""),
        .subagent = subagent != NULL ? mem_dup(subagent->id) : NULL,
        .plan = subagent == NULL && plan_is_asked(request),
        .options = offered_copy_words(request->options, request->count),
        .count = request->count,
    };
    if (ret->plan) {
        ret->plan_text = plan_find_text(host->conversation, request, known);
        plan_add_option(ret);
    }
    if (known != NULL) {
        (void)describe(host, ret, &known->is, known->told, known->text);
        return;
    }
    struct acp_tool is = {.subject = NULL};
    acp_tool_read(&is, tool->json, tool->text);
    (void)describe(host, ret, &is, own, tool->text);
    acp_tool_free(&is);
}

void permission_tool_told(struct host *host, const char *session, const struct tool_call *tool)
{
    const struct permissions *permissions = &host->conversation->permissions;
    const struct agent_task *subagent = tasks_subagent(host, session);

    for (size_t i = 0; i < permissions->count; i++) {
        struct asked_permission *permission = &host->conversation->permissions.open[i];
        bool same_agent = permission->subagent == NULL
                              ? subagent == NULL
                              : subagent != NULL && strcmp(permission->subagent, subagent->id) == 0;
        if (permission->elicits || !same_agent || strcmp(permission->tool_id, tool->id) != 0 ||
            !describe(host, permission, &tool->is, tool->told, tool->text))
            continue;
        store_permission(host, permission);
        tell_asked(host, permission);
    }
}

/* Returns the option that the preset's policy chooses; NULL: a client has to choose. */
static const struct acp_word *choose(const struct host *host,
                                     const struct asked_permission *permission)
{
    enum policy policy = preset_policy(host->preset, permission->kind);

    if (policy == POLICY_ALLOW && !permission->plan)
        return first_of(permission, "allow_once", "allow_always");
    if (policy == POLICY_DENY)
        return first_of(permission, "reject_once", "reject_always");
    return NULL;
}

/* Refuses a permission to a copy of the session, which goes on without it. */
static void refuse_copy(struct host *host, const struct acp_permission *request)
{
    const char *option = NULL;

    for (size_t i = 0; i < request->count && option == NULL; i++)
        if (str_starts(request->options[i].kind, "reject"))
            option = request->options[i].id;
    (void)acp_permit(host->conversation->link.acp, request->ticket, option);
}

void permission_ask(struct host *host, const struct acp_permission *request)
{
    struct conversation *conversation = host->conversation;
    struct permissions *permissions = &conversation->permissions;

    if (request->session != NULL && aside_is_session(host, request->session)) {
        refuse_copy(host, request);
        return;
    }
    if (!is_expected(host, request) || permissions->count == PERMISSIONS_MAX) {
        (void)acp_permit(conversation->link.acp, request->ticket, NULL);
        return;
    }
    update_close_text(host);
    conversation->turn.heard = conversation->turn.on;
    struct asked_permission *permission = &permissions->open[permissions->count];
    parse(host, request, permission);
    store_permission(host, permission);
    permissions->count++;

    const struct acp_word *option = choose(host, permission);
    if (option == NULL) {
        tell_asked(host, permission);
        return;
    }
    (void)acp_permit(conversation->link.acp, permission->ticket, option->id);
    permission_close(host, permissions->count - 1, option, "policy");
}

void permission_open(struct host *host, const struct asked_permission *permission)
{
    struct conversation *conversation = host->conversation;
    struct asked_permission *open =
        &conversation->permissions.open[conversation->permissions.count++];

    update_close_text(host);
    conversation->turn.heard = true;
    *open = *permission;
    store_permission(host, open);
    tell_asked(host, open);
}

void permission_withdraw(struct host *host, const char *ticket)
{
    const struct permissions *permissions = &host->conversation->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        if (strcmp(permissions->open[i].ticket, ticket) != 0)
            continue;
        permission_close(host, i, NULL, "cancelled");
        return;
    }
}

static void drop_at(struct host *host, size_t index)
{
    if (host->conversation->link.acp != NULL)
        reply(host, &host->conversation->permissions.open[index], NULL);
    permission_close(host, index, NULL, "cancelled");
}

void permission_drop_all(struct host *host)
{
    while (host->conversation->permissions.count > 0)
        drop_at(host, 0);
}

void permission_drop_of(struct host *host, const char *subagent)
{
    const struct permissions *permissions = &host->conversation->permissions;

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

/* Answers with this option. Fills in ret->mode. */
static int answer_with(struct host *host, size_t index, const struct acp_word *option,
                       const struct verdict *verdict, struct answered_permission *ret,
                       struct err *err)
{
    const struct asked_permission *permission = &host->conversation->permissions.open[index];
    bool clear = permission->plan && plan_option_clears(option) && permission->plan_text != NULL;

    if (verdict->mode != NULL && !clear) {
        (void)err_set(err, MAS_USAGE,
                      "a mode is only for a plan that is carried out with a cleared context");
        return err_hint(err, "approve it with the option 'clear'");
    }
    if (clear) {
        const char *mode =
            verdict->mode != NULL ? verdict->mode : plan_mode(host, option, verdict->wanted);
        ret->mode = mode != NULL ? mem_dup(mode) : NULL;
        return plan_carry_out(host, index, option, ret->mode, verdict->by, err);
    }
    if (verdict->answers != NULL && permission->form == NULL)
        return err_set(err, MAS_USAGE, "it asks for no answers");
    if (permission->elicits && allows(option)) {
        if (elicit_accept(host, permission, verdict->answers, err) == -1)
            return -1;
    } else {
        reply(host, permission, option->id);
    }
    permission_close(host, index, option, verdict->by);
    return 0;
}

int permission_answer(struct host *host, const struct verdict *verdict,
                      struct answered_permission *ret, struct err *err)
{
    const struct permissions *permissions = &host->conversation->permissions;
    int64_t number = verdict->number;
    size_t i = 0;

    while (i < permissions->count && number != 0 && permissions->open[i].number != number)
        i++;
    if (i >= permissions->count)
        return err_set(err, MAS_NOT_FOUND,
                       number != 0 ? "there is no such open permission request"
                                   : "it does not wait for a permission");
    const struct asked_permission *permission = &permissions->open[i];
    const struct acp_word *option = find_option(permission, verdict->wanted);
    if (option == NULL)
        return fail_no_option(permission, verdict->wanted, err);
    if (verdict->as != NULL && allows(option) != (strcmp(verdict->as, "allow") == 0)) {
        (void)err_set(err, MAS_USAGE, "the option '%s' (%s) would %s", option->id, option->name,
                      allows(option) ? "allow it" : "deny it");
        return err_hint(err, "use 'mas %s' for that", allows(option) ? "approve" : "deny");
    }
    struct answered_permission done = {.title = mem_dup(permission->title),
                                       .details = mem_dup(permission->details),
                                       .option = mem_dup(option->id),
                                       .number = permission->number};
    if (answer_with(host, i, option, verdict, &done, err) == -1) {
        permission_free_answered(&done);
        return -1;
    }
    *ret = done;
    return 0;
}
