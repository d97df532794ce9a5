/*
 * A plan can also be approved by an option of mas, unless the agent has it: to clear the context
 * and carry out the plan there. The agent is told that its request was cancelled, and the first
 * prompt of the new query is the plan, in a mode that lets the agent work. Who waits for the old
 * prompt then waits for that one.
 */

#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/permission.h"

static const char carry_out[] = "Carry out this plan";

bool plan_is_asked(const struct acp_permission *request)
{
    const struct acp_update *tool = &request->tool;

    return (tool->tool_kind != NULL && strcmp(tool->tool_kind, "switch_mode") == 0) ||
           (tool->title != NULL && strcasestr(tool->title, "exitplanmode") != NULL);
}

/* Takes the text from the request, else from the tool call that announced it, else from the newest
 * plan of the turn. */
char *plan_find_text(const struct conversation *conversation, const struct acp_permission *request,
                     const struct tool_call *known)
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

void plan_add_option(struct asked_permission *permission)
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

const char *plan_mode(const struct host *host, const struct word *option, const char *wanted)
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

int plan_carry_out(struct host *host, size_t index, const struct word *option, const char *mode,
                   const char *by, struct err *err)
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
        "%s%s:\n\n%s", carry_out, has_full_permissions(mode) ? " with full permissions" : "",
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
