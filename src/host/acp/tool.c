/* Tool calls of the agent, and what a permission for one is about. */
#include "host/acp/agent_side.h"

#include "host/acp/conversation.h"
#include "host/acp/turn_side.h"
#include "host/talk/permission.h"
#include "host/talk/said.h"
#include "host/talk/sleep.h"

static void replace(char **to, const char *text)
{
    if (text == NULL)
        return;
    free(*to);
    *to = mem_dup(text);
}

/* Replaces a word, unless the new one is empty. */
static void replace_word(char **to, const char *text)
{
    if (text != NULL && text[0] != '\0')
        replace(to, text);
}

struct tool_call *tool_know(struct host *host, struct tool_table *tools,
                            const struct acp_update *update)
{
    if (update->id == NULL)
        return NULL;
    if (tools == NULL)
        tools = &host->talk->turn.tools;
    struct tool_call *tool = said_know_tool(tools, update->id);
    replace_word(&tool->told, update->title);
    replace_word(&tool->kind, update->tool_kind);
    replace_word(&tool->status, update->status);
    replace(&tool->text, update->text);
    tool_words_read(&tool->is, update->json, tool->text);
    free(tool->title);
    tool->title = tool_words_line(&tool->is, tool->told, host->conversation->link.cwd);
    return tool;
}

void tool_tell(struct host *host, struct tool_call *tool)
{
    _cleanup_free_ char *content = work_text(host, tool->text);

    said_tell_tool(host, tool, content);
}

void tool_show_programs(struct host *host)
{
    struct turn *turn = &host->talk->turn;

    for (size_t i = 0; i < turn->tools.count; i++)
        if (strstr(turn->tools.call[i].text, WORK_TERMINAL_MARK) != NULL)
            tool_tell(host, &turn->tools.call[i]);
}

/* Sets what is asked. Returns true if it has changed. */
bool tool_describe(const struct host *host, struct asked_permission *permission,
                   const struct tool_words *is, const char *told, const char *content)
{
    bool has_content = content != NULL && content[0] != '\0';
    char *title = tool_words_line(is, told != NULL ? told : "", host->conversation->link.cwd);
    char *details = tool_words_details(is, has_content ? content : permission->plan_text);

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

/* Tells and stores anew what is asked about a tool call of which more was told. */
static void tell_permissions(struct host *host, const char *subagent, const struct tool_call *tool)
{
    const struct permissions *permissions = &host->talk->permissions;

    for (size_t i = 0; i < permissions->count; i++) {
        struct asked_permission *permission = &host->talk->permissions.open[i];
        bool same_agent = permission->subagent == NULL || subagent == NULL
                              ? permission->subagent == subagent
                              : strcmp(permission->subagent, subagent) == 0;
        if (!permission->elicits && same_agent && strcmp(permission->tool_id, tool->id) == 0 &&
            tool_describe(host, permission, &tool->is, tool->told, tool->text))
            permission_tell_again(host, permission);
    }
}

void tool_handle(struct host *host, const char *subagent, struct tool_table *tools,
                 const struct acp_update *update)
{
    struct tool_call *tool = tool_know(host, tools, update);

    if (tool == NULL)
        return;
    if (said_tool_is_over(tool))
        code_changed(host);
    if (tool->number == 0)
        said_close_text(host);
    sleep_tool_told(host, tool);
    tool_tell(host, tool);
    tell_permissions(host, subagent, tool);
}
