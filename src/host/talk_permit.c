#include "host/talk.h"

#include "base/str.h"
#include "host/state.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { OPTION_SHOWN = 1024 }; /* bytes that listeners are told of an option */

#define CLEAR_OPTION "clear"

static const char carry_out[] = "Carry out this plan:\n\n";

static void permission_free(struct talk_permission *permission)
{
    free(permission->ticket);
    free(permission->title);
    free(permission->kind);
    free(permission->details);
    free(permission->tool_id);
    free(permission->plan_text);
    talk_free_words(permission->options, permission->count);
}

static void remove_at(struct talk *talk, size_t index)
{
    permission_free(&talk->permissions[index]);
    talk->permission_count--;
    memmove(talk->permissions + index, talk->permissions + index + 1,
            (talk->permission_count - index) * sizeof *talk->permissions);
}

/* Writes down and tells what was decided. `by`: an agent, "-" a person, "policy", "cancelled". */
static void tell_permitted(struct host *host, const struct talk_permission *permission,
                           const struct acp_word *option, const char *by)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};
    struct talk_event event;
    struct err err = ERR_INIT;
    char id[TALK_ID_MAX];

    json_open(&out, NULL, '{');
    talk_put_permission(host, permission, &out);
    json_put(&out, "option", option != NULL ? option->id : NULL);
    json_put(&out, "name", option != NULL ? option->name : NULL);
    json_put(&out, "by", by);
    json_close(&out, '}');
    if (talk->store != NULL && permission->number != 0 &&
        store_update(talk->store, permission->number, NULL, 0, data.data,
                     option != NULL ? MESSAGE_DONE : MESSAGE_INTERRUPTED, SYNC_CHUNK, &err) == -1)
        talk_store_failed(host, &err);
    talk_event(&event, "permitted");
    json_put(&event.out, "permission", talk_id(host, permission->number, id));
    json_put_fit(&event.out, "option", option != NULL ? option->id : NULL, OPTION_SHOWN);
    json_put_fit(&event.out, "name", option != NULL ? option->name : NULL, OPTION_SHOWN);
    json_put(&event.out, "by", by);
    talk_tell(host, &event, NULL, 0, talk_next_prompt(talk));
    _cleanup_free_ char *line =
        mem_printf("%s (%s)", option != NULL ? option->name : "cancelled", by);
    talk_pane_print(host, "permitted", line, strlen(line));
}

/* Begins the event; returns the length of its body, which is the permission's own. */
static size_t open_permission(const struct host *host, const struct talk_permission *permission,
                              struct talk_event *event, const char **body)
{
    size_t len = strlen(permission->details);

    talk_event(event, "permission");
    talk_put_permission(host, permission, &event->out);
    *body = len > 0 ? permission->details : NULL;
    return len;
}

void talk_tell_permissions(const struct host *host, struct client *client)
{
    for (size_t i = 0; i < host->talk->permission_count; i++) {
        struct talk_event event;
        const char *body;
        size_t len = open_permission(host, &host->talk->permissions[i], &event, &body);
        talk_tell_one(client, &event, body, len);
    }
}

static void tell_permission(struct host *host, const struct talk_permission *permission)
{
    struct talk *talk = host->talk;
    struct talk_event event;
    const char *body;
    size_t len = open_permission(host, permission, &event, &body);

    talk_tell(host, &event, body, len, talk_next_prompt(talk));
    talk_pane_print(host, "permission", permission->title, strlen(permission->title));
}

static const struct acp_word *option_of_kind(const struct talk_permission *permission,
                                             const char *kind)
{
    for (size_t i = 0; i < permission->count; i++)
        if (strcmp(permission->options[i].kind, kind) == 0)
            return &permission->options[i];
    return NULL;
}

static const struct acp_word *first_of(const struct talk_permission *permission, const char *kind,
                                       const char *else_kind)
{
    const struct acp_word *option = option_of_kind(permission, kind);
    return option != NULL ? option : option_of_kind(permission, else_kind);
}

/* true for an option by which the agent itself would clear: after a restart it brings back what was
 * cleared, so mas does it in its place. */
static bool clears(const struct acp_word *option)
{
    return strcmp(option->id, CLEAR_OPTION) == 0 ||
           (strcasestr(option->name, "clear") != NULL && !str_starts(option->kind, "reject"));
}

/* A word of protocol/host.h, or an option's id. */
static const struct acp_word *find_option(const struct talk_permission *permission,
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
        if (strcmp(wanted, CLEAR_OPTION) == 0 && clears(&permission->options[i]))
            return &permission->options[i]; /* the agent's own, whatever it calls it */
    return NULL;
}

/* ---- plans */

/* Letters and digits alone, in lower case: "Accept edits" and "acceptEdits" are one. */
static char *bare(const char *text)
{
    struct str to = STR_INIT;

    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text))
            str_addc(&to, (char)tolower((unsigned char)*text));
    return to.data != NULL ? str_steal(&to) : mem_dup("");
}

/* The mode that an option of the agent itself says; NULL: none. "and auto-accept edits" is more
 * than "auto". */
static const char *mode_named(const struct talk *talk, const struct acp_word *option)
{
    _cleanup_free_ char *id = bare(option->id);
    _cleanup_free_ char *name = bare(option->name);
    const char *found = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < talk->mode_count; i++) {
        _cleanup_free_ char *mode_id = bare(talk->modes[i].id);
        _cleanup_free_ char *mode_name = bare(talk->modes[i].name);
        const char *const words[] = {mode_id, mode_name};
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            size_t len = strlen(words[k]);
            if (len > longest && (strstr(id, words[k]) != NULL || strstr(name, words[k]) != NULL)) {
                longest = len;
                found = talk->modes[i].id;
            }
        }
    }
    return found;
}

static const char *mode_of(const struct talk *talk, const char *id)
{
    for (size_t i = 0; i < talk->mode_count; i++)
        if (strcmp(talk->modes[i].id, id) == 0)
            return talk->modes[i].id;
    return NULL;
}

/* The mode in which a plan is carried out unasked: as the preset says, else one that is known to
 * ask least; NULL: there is none. */
static const char *working_mode(const struct host *host)
{
    static const char *const modes[] = {"bypassPermissions",
                                        "bypass",
                                        "yolo",
                                        "agent-full-access",
                                        "full-access",
                                        "auto",
                                        "autoEdit",
                                        "auto_edit",
                                        "auto-edit",
                                        "acceptEdits",
                                        "agent",
                                        "build",
                                        "default"};
    const struct talk *talk = host->talk;
    const char *mode = mode_of(talk, host->preset->plan_mode);

    for (size_t k = 0; mode == NULL && k < ARRAY_LEN(modes); k++)
        mode = mode_of(talk, modes[k]);
    return mode;
}

static bool is_plan(const struct acp_permission *permission)
{
    const struct acp_update *tool = &permission->tool;

    return (tool->tool_kind != NULL && strcmp(tool->tool_kind, "switch_mode") == 0) ||
           (tool->title != NULL && strcasestr(tool->title, "exitplanmode") != NULL);
}

/* The words of the plan: those of the request, else those that its tool call was announced with,
 * else the newest plan of the turn. */
static char *plan_of(const struct talk *talk, const struct acp_permission *permission,
                     const struct talk_tool *known)
{
    const struct acp_update *tool = &permission->tool;
    const char *raw = json_get_text(json_get(tool->json, "rawInput"), "plan");

    if (raw == NULL)
        raw = json_get_text(json_get(json_get(tool->json, "toolCall"), "rawInput"), "plan");
    if (raw != NULL && raw[0] != '\0')
        return mem_dup(raw);
    if (tool->text != NULL && tool->text[0] != '\0')
        return mem_dup(tool->text);
    if (known != NULL && known->text != NULL && known->text[0] != '\0')
        return mem_dup(known->text);
    return talk->turn.plan_text != NULL ? mem_dup(talk->turn.plan_text) : NULL;
}

/* Those who wait for the end of one prompt wait for that of another. */
static void move_askers(struct host *host, int64_t from, int64_t to)
{
    for (size_t i = 0; from != 0 && i < host->server.count; i++) {
        struct client *client = &host->server.clients[i];
        if (client->kind == CLIENT_ASKS && client->prompt == from)
            client->prompt = to;
    }
}

/* The plan in a query of its own. Who asked for the plan is told how it is carried out. */
static int clear_for_plan(struct host *host, size_t index, const struct acp_word *option,
                          const char *mode, const char *by, struct err *err)
{
    enum { FOLLOWS = -1 }; /* no prompt's number */
    struct talk *talk = host->talk;
    struct talk_permission *permission = &talk->permissions[index];
    int64_t then = 0;

    if (permission->plan_text == NULL)
        return err_set(err, MAS_FAILED, "the plan's words are not known");
    if (mode != NULL && talk_check_mode(host, mode, err) == -1)
        return -1;
    _cleanup_free_ char *text = mem_printf("%s%s", carry_out, permission->plan_text);
    _cleanup_free_ char *from = mem_dup(talk->turn.on ? talk->turn.prompt.from : "-");
    int64_t asked = talk_turn_prompt(talk);
    const struct talk_clear_options options = {
        .reason = "plan", .mode = mode, .then_text = text, .then_len = strlen(text), .from = from};

    tell_permitted(host, permission, option, by);
    (void)acp_permit(talk->acp, permission->ticket, NULL);
    remove_at(talk, index);
    move_askers(host, asked, FOLLOWS);
    if (talk_clear(host, &options, &then, err) == -1) {
        if (talk_turn_prompt(talk) == asked)
            move_askers(host, FOLLOWS, asked);
        else
            server_release_askers(host, FOLLOWS);
        return -1;
    }
    move_askers(host, FOLLOWS, then);
    return 0;
}

/* ---- asked, answered */

static void add_clear_option(struct talk_permission *permission)
{
    for (size_t i = 0; i < permission->count; i++)
        if (clears(&permission->options[i]))
            return; /* the agent offers it, and means the same */
    if (permission->plan_text == NULL)
        return;
    permission->options =
        mem_grow(permission->options, permission->count + 1, sizeof *permission->options);
    permission->options[permission->count++] =
        (struct acp_word){.id = mem_dup(CLEAR_OPTION),
                          .name = mem_dup("Clear context and carry out the plan"),
                          .description = mem_dup(""),
                          .kind = mem_dup(CLEAR_OPTION)};
}

static void store_permission(struct host *host, struct talk_permission *permission)
{
    struct talk *talk = host->talk;
    _cleanup_str_ struct str data = STR_INIT;
    struct json_out out = {.to = &data};
    struct err err = ERR_INIT;

    json_open(&out, NULL, '{');
    talk_put_permission(host, permission, &out);
    json_close(&out, '}');
    const struct store_message message = {
        .role = ROLE_PERMISSION,
        .state = MESSAGE_OPEN,
        .text = permission->title,
        .len = strlen(permission->title),
        .data = data.data,
        .key = permission->tool_id[0] != '\0' ? permission->tool_id : NULL,
        .trigger = talk_turn_prompt(talk),
    };
    if (talk->store != NULL && store_add(talk->store, talk->place.query, &message, SYNC_CHUNK,
                                         &permission->number, &err) == -1)
        talk_store_failed(host, &err);
    (void)talk_id(host, permission->number, permission->id);
}

void talk_permission(struct host *host, const struct acp_permission *request)
{
    enum { DETAILS_MAX = 1 << 20 };
    struct talk *talk = host->talk;
    const struct acp_update *tool = &request->tool;
    bool ours = talk->turn.on && !talk->turn.cancelled && talk->session != NULL &&
                request->session != NULL && strcmp(request->session, talk->session) == 0;
    /* whether a directory is trusted may be asked before the session has its id */
    bool opens = !talk->turn.on && (talk->phase == TALK_OPENS || talk->phase == TALK_RESUMES ||
                                    talk->phase == TALK_LOADS);

    if (!(ours || opens) || talk->permission_count == TALK_PERMISSIONS_MAX) {
        (void)acp_permit(talk->acp, request->ticket, NULL);
        return;
    }
    talk_close_text(host);
    talk->turn.heard = talk->turn.on;
    /* what it does not say again may be known, and some say it here alone; a request without
     * content takes none away */
    struct acp_update told = *tool;
    if (told.text != NULL && told.text[0] == '\0')
        told.text = NULL;
    const struct talk_tool *known = talk_know_tool(host, &told);
    const char *title = known != NULL ? known->title : tool->title != NULL ? tool->title : "";
    const char *kind = known != NULL ? known->kind : tool->tool_kind != NULL ? tool->tool_kind : "";
    struct talk_permission permission = {
        .ticket = mem_dup(request->ticket),
        .title = mem_dup(title[0] != '\0' ? title : "a permission"),
        .kind = mem_dup(kind[0] != '\0' ? kind : "other"),
        .details = tool->text != NULL ? mem_dupn(tool->text, strnlen(tool->text, DETAILS_MAX))
                                      : mem_dup(""),
        .tool_id = mem_dup(tool->id != NULL ? tool->id : ""),
        .plan = is_plan(request),
        .options = talk_copy_words(request->options, request->count),
        .count = request->count,
    };
    if (permission.plan) {
        permission.plan_text = plan_of(talk, request, known);
        add_clear_option(&permission);
    }
    store_permission(host, &permission);
    talk->permissions[talk->permission_count++] = permission;

    enum policy policy = preset_policy(host->preset, permission.kind);
    const struct acp_word *option = NULL;
    if (policy == POLICY_ALLOW && !permission.plan)
        option = first_of(&permission, "allow_once", "allow_always");
    else if (policy == POLICY_DENY)
        option = first_of(&permission, "reject_once", "reject_always");
    if (option == NULL) {
        tell_permission(host, &permission);
        return;
    }
    tell_permitted(host, &permission, option, "policy");
    (void)acp_permit(talk->acp, permission.ticket, option->id);
    remove_at(talk, talk->permission_count - 1);
}

void talk_withdrawn(struct host *host, const char *ticket)
{
    struct talk *talk = host->talk;

    for (size_t i = 0; i < talk->permission_count; i++) {
        if (strcmp(talk->permissions[i].ticket, ticket) != 0)
            continue;
        tell_permitted(host, &talk->permissions[i], NULL, "cancelled");
        remove_at(talk, i);
        return;
    }
}

void talk_drop_permissions(struct host *host)
{
    struct talk *talk = host->talk;

    while (talk->permission_count > 0) {
        tell_permitted(host, &talk->permissions[0], NULL, "cancelled");
        if (talk->acp != NULL)
            (void)acp_permit(talk->acp, talk->permissions[0].ticket, NULL);
        remove_at(talk, 0);
    }
}

/* true for an option that says yes. */
static bool allows(const struct acp_word *option)
{
    return str_starts(option->kind, "allow") || strcmp(option->kind, CLEAR_OPTION) == 0;
}

static int no_option(const struct talk_permission *permission, const char *wanted, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;

    for (size_t k = 0; k < permission->count; k++)
        str_addf(&list, "%s%s", k > 0 ? ", " : "", permission->options[k].id);
    (void)err_set(err, MAS_NOT_FOUND, "there is no option '%s'", wanted);
    return err_hint(err, "the options are: %s", list.data != NULL ? list.data : "none");
}

void talk_permitted_free(struct talk_permitted *permitted)
{
    free(permitted->title);
    free(permitted->option);
    free(permitted->mode);
}

/* Answers with an option that was found. */
static int permit(struct host *host, size_t index, const struct acp_word *option,
                  const struct talk_verdict *verdict, struct talk_permitted *ret, struct err *err)
{
    struct talk *talk = host->talk;
    struct talk_permission *permission = &talk->permissions[index];
    bool clear = permission->plan && clears(option) && permission->plan_text != NULL;

    if (verdict->mode != NULL && !clear) {
        (void)err_set(err, MAS_USAGE,
                      "a mode is for a plan that is carried out with a cleared context");
        return err_hint(err, "approve it with the option 'clear'");
    }
    if (clear) {
        const char *mode = verdict->mode;
        if (mode == NULL && strcmp(verdict->wanted, CLEAR_OPTION) != 0)
            mode = mode_named(talk, option);
        if (mode == NULL)
            mode = working_mode(host);
        ret->mode = mode != NULL ? mem_dup(mode) : NULL;
        return clear_for_plan(host, index, option, ret->mode, verdict->by, err);
    }
    tell_permitted(host, permission, option, verdict->by);
    (void)acp_permit(talk->acp, permission->ticket, option->id);
    remove_at(talk, index);
    return 0;
}

int talk_permit(struct host *host, const struct talk_verdict *verdict, struct talk_permitted *ret,
                struct err *err)
{
    struct talk *talk = host->talk;
    int64_t number = verdict->number;
    size_t i = 0;

    while (i < talk->permission_count && number != 0 && talk->permissions[i].number != number)
        i++;
    if (i >= talk->permission_count)
        return err_set(err, MAS_NOT_FOUND,
                       number != 0 ? "there is no such permission open"
                                   : "it does not wait for a permission");
    const struct talk_permission *permission = &talk->permissions[i];
    const struct acp_word *option = find_option(permission, verdict->wanted);
    if (option == NULL)
        return no_option(permission, verdict->wanted, err);
    if (verdict->as != NULL && allows(option) != (strcmp(verdict->as, "allow") == 0)) {
        (void)err_set(err, MAS_USAGE, "the option '%s' (%s) would %s", option->id, option->name,
                      allows(option) ? "allow it" : "deny it");
        return err_hint(err, "use 'mas %s' for that", allows(option) ? "approve" : "deny");
    }
    struct talk_permitted done = {.title = mem_dup(permission->title),
                                  .option = mem_dup(option->id),
                                  .number = permission->number};
    if (permit(host, i, option, verdict, &done, err) == -1) {
        talk_permitted_free(&done);
        return -1;
    }
    *ret = done;
    return 0;
}
