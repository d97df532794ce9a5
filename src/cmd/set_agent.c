#include "cmd/set_agent.h"

#include "cmd/agent_request.h"

#include <stdlib.h>
#include <string.h>

static int check_words(struct call *call, char *const *words, struct err *err)
{
    for (; *words != NULL; words++) {
        const char *equals = strchr(*words, '=');
        if (equals != NULL && equals != *words && equals[1] != '\0')
            continue;
        (void)err_set(err, MAS_USAGE, "cannot set '%s': it is not KEY=VALUE", *words);
        return call_usage(call, err);
    }
    return 0;
}

static int set_word(struct call *call, struct agent_request *request, const char *word,
                    struct err *err)
{
    size_t len = strcspn(word, "=");
    _cleanup_free_ char *key = mem_dupn(word, len);
    bool is_mode = strcmp(key, "mode") == 0;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};

    agent_request_open(request, is_mode ? "mode" : "set", &out);
    if (!is_mode)
        json_put(&out, "option", key);
    json_put(&out, is_mode ? "mode" : "value", word + len + 1);
    json_close(&out, '}');
    return agent_request_ask(call, request, &head, NULL, 0, &answer, err);
}

int set_agent(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;

    if (agent_request_parse(call, "set", TARGETS_ONE, &request, err) == -1 ||
        check_words(call, call->operands, err) == -1)
        return -1;
    for (int i = 0; i < call->operand_count; i++)
        if (set_word(call, &request, call->operands[i], err) == -1)
            return -1;
    return 0;
}
