#include "protocol/hook.h"

static const struct {
    const char *names[4];
    size_t offset;
} texts[] = {
    {{"session_id", "sessionId", "sessionID"}, offsetof(struct hook_told, session)},
    {{"source"}, offsetof(struct hook_told, source)},
    {{"turn_id"}, offsetof(struct hook_told, turn)},
    {{"prompt"}, offsetof(struct hook_told, prompt)},
    {{"last_assistant_message", "prompt_response"}, offsetof(struct hook_told, answer)},
    {{"error"}, offsetof(struct hook_told, error)},
    {{"tool_name", "toolName"}, offsetof(struct hook_told, tool)},
    {{"tool_use_id", "toolCallId"}, offsetof(struct hook_told, tool_id)},
};

static const char *const inputs[] = {"tool_input", "toolInput", "toolArgs"};

/* Lists of what goes on behind a turn. */
static const char *const lists[] = {"background_tasks", "session_crons"};

const char *hook_id(const char *text)
{
    return text != NULL && text[0] != '-' && str_is_word(text, HOOK_ID_MAX) ? text : NULL;
}

int hook_parse(const char *text, size_t len, struct hook_told *ret, struct err *err)
{
    *ret = (struct hook_told){.json = NULL};
    if (json_parse(text, len, HOOK_SIZE_MAX, &ret->json, err) == -1)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char **to = (const char **)(void *)((char *)ret + texts[i].offset);
        for (size_t n = 0; *to == NULL && n < ARRAY_LEN(texts[i].names); n++)
            if (texts[i].names[n] != NULL)
                *to = json_get_text(ret->json, texts[i].names[n]);
    }
    if (ret->error == NULL)
        ret->error = json_get_text(json_get(ret->json, "error"), "message");
    for (size_t i = 0; ret->input == NULL && i < ARRAY_LEN(inputs); i++)
        ret->input = json_get(ret->json, inputs[i]);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        ret->behind = ret->behind || json_first(json_get(ret->json, lists[i])) != NULL;
    if (ret->session == NULL || hook_id(ret->session) != NULL)
        return 0;
    hook_free(ret);
    return err_set(err, MAS_DAMAGED, "the id of the session is not a word");
}

void hook_free(struct hook_told *told)
{
    json_free(told->json);
    *told = (struct hook_told){.json = NULL};
}
