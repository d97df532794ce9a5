/*
 * Permissions that the agent asks for. A request has to belong to the turn, to a subagent or to a
 * session that is being opened. It is filled in from its tool call and kept; then the preset's
 * policy answers it, or a client does.
 *
 * A plan can also be approved by an option of mas, unless the agent has it: to clear the context
 * and carry out the plan there. The agent is told that its request was cancelled, and the first
 * prompt of the new query is the plan, in a mode that lets the agent work. Who waits for the old
 * prompt then waits for that one.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/server.h"
#include "host/talk/clear.h"
#include "host/talk/permission.h"

/* ---- plans */

static bool is_plan(const struct acp_permission *request)
{
    const struct acp_update *tool = &request->tool;

    return (tool->tool_kind != NULL && strcmp(tool->tool_kind, "switch_mode") == 0) ||
           (tool->title != NULL && strcasestr(tool->title, "exitplanmode") != NULL);
}

/* Takes the text from the request, else from the tool call that announced it, else from the newest
 * plan of the turn. */
static char *find_plan(const struct conversation *conversation,
                       const struct acp_permission *request, const struct tool_call *known)
{
    const struct acp_update *tool = &request->tool;
    const char *raw = json_get_text(json_get(tool->json, "rawInput"), "plan");

    if (raw == NULL)
        raw = json_get_text(json_get(json_get(tool->json, "toolCall"), "rawInput"), "plan");
    if (raw != NULL && raw[0] != '\0')
        return mem_dup(raw);
    if (tool->text != NULL && tool->text[0] != '\0')
        return mem_dup(tool->text);
    if (known != NULL && known->text != NULL && known->text[0] != '\0')
        return mem_dup(known->text);
    return conversation->talk.turn.plan_text != NULL ? mem_dup(conversation->talk.turn.plan_text)
                                                     : NULL;
}

/* ---- the option that clears */

static void add_clear_option(struct asked_permission *permission)
{
    for (size_t i = 0; i < permission->count; i++)
        if (permission_option_clears(&permission->options[i]))
            return; /* the agent offers it */
    if (permission->plan_text == NULL)
        return;
    permission->options =
        mem_grow(permission->options, permission->count + 1, sizeof *permission->options);
    permission->options[permission->count++] =
        (struct word){.id = mem_dup(PLAN_CLEAR_OPTION),
                      .name = mem_dup("Clear context and carry out the plan"),
                      .description = mem_dup(""),
                      .kind = mem_dup(PLAN_CLEAR_OPTION)};
}

/* ---- what is asked */

/* Returns true if the permission is for the turn or a subagent, or for a session that is being
 * opened: agents may ask whether a directory is trusted before the session has its id. */
static bool is_expected(const struct host *host, const struct acp_permission *request)
{
    const struct conversation *conversation = host->conversation;
    const struct agent_link *link = &conversation->link;
    enum phase phase = link->phase.now;

    if (tasks_subagent(host, request->session) != NULL)
        return !conversation->talk.turn.cancelled;
    if (!conversation->talk.turn.on)
        return phase == PHASE_OPENS || phase == PHASE_RESUMES || phase == PHASE_LOADS;
    return !conversation->talk.turn.cancelled && host->talk->session != NULL &&
           request->session != NULL && strcmp(request->session, host->talk->session) == 0;
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
    const struct tool_call *known = tool_know(host, tasks_tools(host, request->session), &told);
    const char *kind = known != NULL ? known->kind : tool->tool_kind != NULL ? tool->tool_kind : "";
    *ret = (struct asked_permission){
        .ticket = mem_dup(request->ticket),
        .kind = mem_dup(kind[0] != '\0' ? kind : "other"),
        .tool_id = mem_dup(tool->id != NULL ? tool->id : ""),
        .subagent = subagent != NULL ? mem_dup(subagent->id) : NULL,
        .plan = subagent == NULL && is_plan(request),
        .options = word_copy(request->options, request->count),
        .count = request->count,
    };
    if (ret->plan) {
        ret->plan_text = find_plan(host->conversation, request, known);
        add_clear_option(ret);
    }
    if (known != NULL) {
        (void)tool_describe(host, ret, &known->is, known->told, known->text);
        return;
    }
    struct tool_words is = {.subject = NULL};
    tool_words_read(&is, tool->json, tool->text);
    (void)tool_describe(host, ret, &is, own, tool->text);
    tool_words_free(&is);
}

/* Returns the option that the preset's policy chooses; NULL: a client has to choose. */
static const struct word *choose(const struct host *host, const struct asked_permission *permission)
{
    enum policy policy = preset_policy(host->preset, permission->kind);

    if (policy == POLICY_ALLOW && !permission->plan)
        return permission_option(permission, "allow_once", "allow_always");
    if (policy == POLICY_DENY)
        return permission_option(permission, "reject_once", "reject_always");
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

void ask_permission(struct host *host, const struct acp_permission *request)
{
    struct conversation *conversation = host->conversation;
    struct asked_permission asked;

    if (request->session != NULL && aside_is_session(host, request->session)) {
        refuse_copy(host, request);
        return;
    }
    if (!is_expected(host, request) || conversation->talk.permissions.count == PERMISSIONS_MAX) {
        (void)acp_permit(conversation->link.acp, request->ticket, NULL);
        return;
    }
    conversation->talk.turn.heard = conversation->talk.turn.on;
    parse(host, request, &asked);
    size_t index = permission_add(host, &asked);
    struct asked_permission *permission = &conversation->talk.permissions.open[index];
    const struct word *option = choose(host, permission);
    if (option == NULL) {
        permission_tell(host, permission);
        return;
    }
    (void)acp_permit(conversation->link.acp, permission->ticket, option->id);
    permission_close(host, index, option, "policy");
}

/* ---- the mode */

/* Returns a text's letters and digits in lower case: "Accept edits" and "acceptEdits" are the same.
 * The caller frees it. */
static char *bare(const char *text)
{
    struct str to = STR_INIT;

    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text))
            str_addc(&to, (char)tolower((unsigned char)*text));
    return to.data != NULL ? str_steal(&to) : mem_dup("");
}

/* Returns the mode whose id or name an option of the agent contains, the longest one: "and
 * auto-accept edits" is more than "auto". NULL: none. */
static const char *mode_named(const struct offered *offered, const struct word *option)
{
    _cleanup_free_ char *id = bare(option->id);
    _cleanup_free_ char *name = bare(option->name);
    const char *found = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < offered->mode_count; i++) {
        _cleanup_free_ char *mode_id = bare(offered->modes[i].id);
        _cleanup_free_ char *mode_name = bare(offered->modes[i].name);
        const char *const words[] = {mode_id, mode_name};
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            size_t len = strlen(words[k]);
            if (len > longest && (strstr(id, words[k]) != NULL || strstr(name, words[k]) != NULL)) {
                longest = len;
                found = offered->modes[i].id;
            }
        }
    }
    return found;
}

/* Returns true for the modes in which the agents that mas knows ask for nothing. */
static bool has_full_permissions(const char *mode)
{
    static const char *const modes[] = {"bypassPermissions", "bypass", "yolo", "agent-full-access",
                                        "full-access"};

    for (size_t i = 0; mode != NULL && i < ARRAY_LEN(modes); i++)
        if (strcmp(modes[i], mode) == 0)
            return true;
    return false;
}

static const char *find_mode(const struct offered *offered, const char *id)
{
    for (size_t i = 0; i < offered->mode_count; i++)
        if (strcmp(offered->modes[i].id, id) == 0)
            return offered->modes[i].id;
    return NULL;
}

/* Returns the preset's mode for plans, else the mode that is known to ask least; NULL: none. */
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
    const struct offered *offered = &host->conversation->offered;
    const char *mode = find_mode(offered, host->preset->plan_mode);

    for (size_t k = 0; mode == NULL && k < ARRAY_LEN(modes); k++)
        mode = find_mode(offered, modes[k]);
    return mode;
}

static const char *mode_of_plan(const struct host *host, const struct word *option,
                                const char *wanted)
{
    const char *mode = NULL;

    if (strcmp(wanted, PLAN_CLEAR_OPTION) != 0)
        mode = mode_named(&host->conversation->offered, option);
    return mode != NULL ? mode : working_mode(host);
}

/* ---- the plan is carried out */

/* Lets the client that waits for the end of one prompt wait for that of another one. */
static void move_asker(struct host *host, int64_t from, int64_t to)
{
    struct client *client = server_asker(host, from);

    if (client != NULL)
        client->prompt = to;
}

static int carry_out_plan(struct host *host, size_t index, const struct word *option,
                          const char *mode, const char *by, struct err *err)
{
    static const int64_t follows = INT64_MIN; /* no prompt's number, and no aside's */
    struct conversation *conversation = host->conversation;
    const struct asked_permission *permission = &conversation->talk.permissions.open[index];
    int64_t then = 0;

    if (permission->plan_text == NULL)
        return err_set(err, MAS_FAILED, "the text of the plan is unknown");
    if (mode != NULL && settings_check_mode(host, mode, err) == -1)
        return -1;
    /* the agent would ask, or hold back, if it did not know */
    _cleanup_free_ char *text = mem_printf(
        "Carry out this plan%s:\n\n%s", has_full_permissions(mode) ? " with full permissions" : "",
        permission->plan_text);
    _cleanup_free_ char *from =
        mem_dup(conversation->talk.turn.on ? conversation->talk.turn.prompt.from : "-");
    int64_t asked = turn_prompt(host->talk);
    const struct clear_options options = {
        .reason = "plan", .mode = mode, .then_text = text, .then_len = strlen(text), .from = from};

    (void)acp_permit(conversation->link.acp, permission->ticket, NULL);
    permission_close(host, index, option, by);
    move_asker(host, asked, follows); /* who asked for the plan hears how it is carried out */
    if (clear_context(host, &options, &then, err) == -1) {
        if (turn_prompt(host->talk) == asked)
            move_asker(host, follows, asked);
        else
            server_release_asker(host, follows);
        return -1;
    }
    move_asker(host, follows, then);
    return 0;
}

/* ---- the answer */

/* Answers the agent; option NULL: cancelled. */
static void reply(struct host *host, const struct asked_permission *permission, const char *option)
{
    if (permission->elicits)
        elicit_refuse(host, permission->ticket, option != NULL ? option : "cancel");
    else
        (void)acp_permit(host->conversation->link.acp, permission->ticket, option);
}

void ask_refuse(struct host *host, const struct asked_permission *permission)
{
    if (host->conversation->link.acp != NULL)
        reply(host, permission, NULL);
}

/* Answers with this option. Fills in ret->mode. */
int ask_permit(struct host *host, size_t index, const struct word *option,
               const struct verdict *verdict, struct answered_permission *ret, struct err *err)
{
    const struct asked_permission *permission = &host->talk->permissions.open[index];
    bool clear =
        permission->plan && permission_option_clears(option) && permission->plan_text != NULL;

    if (verdict->mode != NULL && !clear) {
        (void)err_set(err, MAS_USAGE,
                      "a mode is only for a plan that is carried out with a cleared context");
        return err_hint(err, "approve it with the option 'clear'");
    }
    if (clear) {
        const char *mode =
            verdict->mode != NULL ? verdict->mode : mode_of_plan(host, option, verdict->wanted);
        ret->mode = mode != NULL ? mem_dup(mode) : NULL;
        return carry_out_plan(host, index, option, ret->mode, verdict->by, err);
    }
    if (verdict->answers != NULL && permission->form == NULL)
        return err_set(err, MAS_USAGE, "it asks for no answers");
    if (permission->elicits && permission_allows(option)) {
        if (elicit_accept(host, permission, verdict->answers, err) == -1)
            return -1;
    } else {
        reply(host, permission, option->id);
    }
    permission_close(host, index, option, verdict->by);
    return 0;
}
