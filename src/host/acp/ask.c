/*
 * Permissions that the agent asks for. A request has to belong to the turn, to a subagent or to a
 * session that is being opened. It is filled in from its tool call and kept; then the preset's
 * policy answers it, or a client does.
 */

#include "host/acp/conversation.h"

#include "host/acp/turn_side.h"
#include "host/talk/permission.h"

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
        .plan = subagent == NULL && plan_is_asked(request),
        .options = word_copy(request->options, request->count),
        .count = request->count,
    };
    if (ret->plan) {
        ret->plan_text = plan_find_text(host->conversation, request, known);
        plan_add_option(ret);
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
            verdict->mode != NULL ? verdict->mode : plan_mode(host, option, verdict->wanted);
        ret->mode = mode != NULL ? mem_dup(mode) : NULL;
        return plan_carry_out(host, index, option, ret->mode, verdict->by, err);
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
