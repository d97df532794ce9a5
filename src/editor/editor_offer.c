/*
 * What the client is offered: the commands that it may type, and the permissions that it may give.
 * A permission is asked under a tool call, and makes one if there is none: some clients know no
 * other questions.
 */

#include "editor/editor_internal.h"

#include "store/session.h"

/* ---- commands */

const struct editor_command editor_commands[] = {
    {"clear", "text to continue with", "Clear the context and continue in the same session",
     PENDING_CLEAR},
    {"mode", "mode", "Set the permission mode, or list the modes", PENDING_MODE},
    {"set", "option value", "Set an option such as the model, or list the options", PENDING_OPTION},
};
const size_t editor_command_count = ARRAY_LEN(editor_commands);

static void add_command(struct word_list *words, const char *name, const char *description,
                        const char *hint)
{
    words->word = mem_room(words->word, words->count, sizeof *words->word);
    words->word[words->count++] = (struct word){
        .name = mem_dup(name), .description = mem_dup(description), .kind = mem_dup(hint)};
}

void editor_tell_commands(struct editor *editor, const char *session)
{
    struct word_list words = {.count = 0};

    for (size_t i = 0; i < editor_command_count; i++)
        add_command(&words, editor_commands[i].name, editor_commands[i].description,
                    editor_commands[i].hint);
    for (const struct json *c = json_first(editor->commands); c != NULL; c = json_next(c)) {
        const char *name = json_get_text(c, "name");
        const char *description = json_get_text(c, "description");
        bool taken = name == NULL || name[0] == '\0';
        for (size_t i = 0; !taken && i < editor_command_count; i++)
            taken = strcmp(editor_commands[i].name, name) == 0;
        if (taken)
            continue;
        add_command(&words, name, description != NULL ? description : "", "");
    }
    acp_agent_commands(editor->acp, session, words.word, words.count);
    word_list_free(&words);
}

/* ---- permissions */

void editor_drop_permissions(struct editor *editor)
{
    for (size_t i = 0; i < editor->permission_count; i++) {
        if (editor->permissions[i].serial != 0 && editor->acp != NULL)
            acp_agent_withdraw(editor->acp, editor->permissions[i].serial);
        host_permission_free(&editor->permissions[i].is);
    }
    editor->permission_count = 0;
}

/* Asks for it by the client's own means, if the client has declared that it has those. Otherwise it
 * is a permission that the client can only decline, or accept if a form needs no answers. */
static bool elicit(struct editor *editor, const struct editor_session *session,
                   struct editor_permission *permission, const struct editor_tool *known)
{
    const struct host_permission *is = &permission->is;
    char id[EDITOR_TOOL_ID];
    const struct acp_agent_elicitation elicitation = {
        .message = is->title,
        .tool = known != NULL ? id : NULL,
        .form = is->form,
        .url = is->url,
        .id = is->elicitation,
    };

    if (known != NULL)
        editor_tool_id(known->number, id);
    if (!acp_agent_elicits(editor->acp, &elicitation))
        return false;
    permission->serial = acp_agent_elicit(editor->acp, session->id, &elicitation);
    return true;
}

static void ask_permission(struct editor *editor, const struct editor_session *session,
                           struct editor_permission *permission)
{
    const struct host_permission *is = &permission->is;
    const struct editor_tool *known = editor_find_tool(editor, is->tool);

    if ((is->on_screen != NULL && permission->announced != 0) ||
        elicit(editor, session, permission, known))
        return;
    bool is_new = known == NULL;
    char id[EDITOR_TOOL_ID];

    if (is_new)
        known =
            editor_add_tool(editor, is->tool != NULL ? is->tool : "", host_event_number(is->id));
    editor_tool_id(known->number, id);
    const struct acp_agent_tool tool = {
        .id = id,
        .title = is->title,
        .kind = is->kind,
        .status = "pending",
        .text = is->body,
        .len = is->body != NULL ? strlen(is->body) : 0,
    };
    if (is_new) { /* some clients ask only about tool calls that they know */
        acp_agent_tool(editor->acp, session->id, &tool);
        permission->announced = known->number;
    }
    if (is->on_screen != NULL) { /* there is nothing to choose */
        _cleanup_free_ char *words =
            mem_printf("answer it on the agent's own screen (mas attach %s %s): %s",
                       session_label(editor->spec->root, editor->spec->session).text,
                       editor->spec->agent, is->on_screen);
        permission->announced = known->number;
        editor_note(editor, session, 0, words);
        return;
    }
    permission->serial = acp_agent_ask_permission(editor->acp, session->id, &tool, is->options.word,
                                                  is->options.count);
}

void editor_ask_permissions(struct editor *editor)
{
    const struct editor_session *session = editor_current(editor);

    for (size_t i = 0; session != NULL && i < editor->permission_count; i++)
        if (editor->permissions[i].serial == 0)
            ask_permission(editor, session, &editor->permissions[i]);
}
