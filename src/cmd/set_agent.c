#include "cmd/set_agent.h"

#include "cmd/agent_request.h"
#include "cmd/print.h"
#include "cmd/table.h"

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

/* ---- what the agent offers */

/* Adds a row: KEY=VALUE, and all values that it may have, which have their word in `member`. */
static void add_setting(struct table *table, const char *key, const char *value,
                        const struct json *values, const char *member)
{
    _cleanup_str_ struct str setting = STR_INIT;
    _cleanup_str_ struct str list = STR_INIT;

    str_addf(&setting, "%s=%s", key, value);
    for (const struct json *one = json_first(values); one != NULL; one = json_next(one))
        str_addf(&list, "%s%s", list.len > 0 ? ", " : "", json_get_text_or(one, member, ""));
    table_add(table, setting.data, NULL);
    table_add(table, str_text(&list), NULL);
}

int set_agent_show(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str listen = STR_INIT;
    _cleanup_json_ struct json *said = NULL;
    struct table table = {.columns = 2, .whole_last = true};

    str_add(&listen, "{\"do\":\"listen\"}");
    if (agent_request_parse(call, "show the settings of", TARGETS_ONE, &request, err) == -1 ||
        agent_request_ask(call, &request, &listen, NULL, 0, &said, err) == -1)
        return -1;
    const char *agent = request.roster.agents[0].agent->id;
    const char *state = json_get_text_or(said, "state", "");
    const struct json *modes = json_get(said, "modes");
    table_add(&table, "SETTING", colour_dim());
    table_add(&table, "VALUES", colour_dim());
    if (json_first(modes) != NULL)
        add_setting(&table, "mode", json_get_text_or(said, "mode", ""), modes, "id");
    for (const struct json *option = json_first(json_get(said, "options")); option != NULL;
         option = json_next(option)) {
        /* some offer their modes as an option, too; mode= sets the mode */
        if (json_first(modes) != NULL && strcmp(json_get_text_or(option, "id", ""), "mode") == 0)
            continue;
        add_setting(&table, json_get_text_or(option, "id", ""),
                    json_get_text_or(option, "value", ""), json_get(option, "values"), "value");
    }
    int rc = 0;
    if (table.count > table.columns)
        table_print(&table);
    else
        rc = err_set(err, MAS_CONFLICT,
                     "cannot show the settings of agent '%s': it is %s, and has told of none",
                     agent, state);
    table_free(&table);
    return rc;
}
