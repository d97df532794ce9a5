/*
 * `mas approve` and `mas deny` are one function: they say which kind of option is meant, and the
 * host finds the one that the agent offers. A short id is looked for among what the hosts of
 * running sessions say is open; it then stands for session and agent, and the rest goes on as if
 * these had been typed.
 */

#include "cli/agent_request.h"

#include "cli/print.h"
#include "cli/words.h"
#include "model/request_id.h"
#include "store/index.h"

static const struct opt approve_opts[] = {
    {0, "permission", "ID", "answer this request instead of the oldest"},
    {0, "more", "AMOUNT", "let a paused agent use so much more, such as '2 USD'"},
    {0, "answer", "KEY=VALUE", "fill in a field of a form; - reads the value; may be repeated"},
    {0, "mode", "NAME", "with clear: the permission mode for carrying out the plan"},
    {0, "from", "AGENT", "answer in the name of this agent"},
    {.name = NULL},
};

static const struct opt opts[] = {
    {0, "permission", "ID", "answer this request instead of the oldest"},
    {0, "from", "AGENT", "answer in the name of this agent"},
    {.name = NULL},
};

/* The words once and always, and no word, for options that each agent names differently. */
static const struct {
    const char *verb, *word, *option;
} known[] = {
    {"approve", NULL, "allow"}, {"approve", "once", "allow"}, {"approve", "always", "allow_always"},
    {"deny", NULL, "deny"},     {"deny", "once", "deny"},     {"deny", "always", "deny_always"},
};

static const char *option_for(const char *verb, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(known[i].verb, verb) == 0 &&
            (word == NULL ? known[i].word == NULL
                          : known[i].word != NULL && strcmp(known[i].word, word) == 0))
            return known[i].option;
    return word;
}

static void say_mode(const char *agent, const char *mode)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_addf(&line, "%s carries out the plan in mode ", agent != NULL ? agent : "the agent");
    str_add_visible(&line, mode, strlen(mode));
    puts(line.data);
}

static void say_budget(const char *words)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_add_visible(&line, words, strlen(words));
    print_line(&line);
}

/* Says what was granted or denied. */
static void say_title(const char *verb, const struct json *answer)
{
    const char *text = json_get_text_or(answer, "details", "");
    _cleanup_str_ struct str line = STR_INIT;

    str_add(&line, strcmp(verb, "approve") == 0 ? "approved: " : "denied: ");
    str_add_visible(&line, json_get_text_or(answer, "title", ""),
                    strlen(json_get_text_or(answer, "title", "")));
    print_line(&line);
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        str_clear(&line);
        str_add(&line, "  ");
        str_add_line(&line, text, len);
        print_line(&line);
        text += len + (text[len] == '\n');
    }
}

/* An open request that was named by its short id. */
struct named_request {
    char session[ID_TEXT];
    char *agent;
    char *permission; /* the request's own id */
    size_t count; /* how many have the short id */
};

static void named_request_free(struct named_request *named)
{
    free(named->agent);
    free(named->permission);
}
#define _cleanup_named_request_ __attribute__((cleanup(named_request_free)))

/* Looks for the request among the oldest open ones of a session's agents. */
static void find_in(const struct call *call, const char *session, const char *wanted,
                    struct named_request *ret)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    struct roster_team team;
    struct err ignored = ERR_INIT;
    char id[REQUEST_ID_TEXT];

    if (roster_open(&call->root, session, &team, &ignored) == -1 ||
        roster_add(&roster, &team, NULL, &ignored) == -1)
        return;
    roster_ask(&roster, "{\"do\":\"status\"}", NULL, 0);
    roster_finish(&roster, HOSTS_ANSWER_MS);
    for (size_t i = 0; i < roster.count; i++) {
        const struct agent_status *status = &roster.agents[i].status;
        request_id(roster.agents[i].told ? status->permission : NULL, status->asks, id);
        if (strcmp(id, wanted) != 0 || ret->count++ > 0)
            continue;
        memcpy(ret->session, session, ID_TEXT);
        ret->agent = mem_dup(roster.agents[i].agent->id);
        ret->permission = mem_dup(status->permission);
    }
}

/* Replaces the short id of a request in the call by the session and the agent. `named` must live as
 * long as the call. */
static int find_request(struct call *call, struct named_request *named, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    const char *wanted = call->operands[0];

    if (index_read(&call->root, false, &index, err) == -1)
        return -1;
    for (size_t i = 0; i < index.count; i++)
        if (index.rows[i].status == STATUS_ACTIVE && !index.rows[i].missing)
            find_in(call, index.rows[i].id, wanted, named);
    if (named->count == 0) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot answer '%s': no such request is open", wanted);
        return err_hint(err, "see what agents wait for with: mas status");
    }
    if (named->count > 1)
        return err_set(err, MAS_CONFLICT,
                       "cannot answer '%s': %zu requests have this id; name session and agent",
                       wanted, named->count);
    call->session = named->session;
    call->operands[0] = named->agent;
    return 0;
}

/* Adds the fields of a form. A value that is not to be seen comes from standard input. */
static int put_answers(const struct call *call, struct json_out *out, struct err *err)
{
    _cleanup_strv_ char **answers = call_opts(call, "answer");

    if (answers == NULL)
        return 0;
    json_open(out, "answers", '{');
    for (char **one = answers; *one != NULL; one++) {
        const char *value = strchr(*one, '=');
        if (value == NULL || value == *one)
            return err_set(err, MAS_USAGE, "cannot answer: '%s' is not KEY=VALUE", *one);
        _cleanup_free_ char *key = mem_dupn(*one, (size_t)(value - *one));
        for (char **other = answers; other != one; other++) {
            if (strncmp(*other, *one, (size_t)(value - *one) + 1) != 0)
                continue;
            (void)err_set(err, MAS_USAGE, "cannot answer: '%s' is given twice", key);
            return err_hint(err, "several values of a field are one answer: %s=A,B", key);
        }
        _cleanup_free_ char *read = NULL;
        size_t len = 0;
        if (strcmp(value + 1, "-") == 0 && words_read("-", &read, &len, err) == -1)
            return -1;
        if (read != NULL && len > 0 && read[len - 1] == '\n')
            read[len - 1] = '\0';
        json_put(out, key, read != NULL ? read : value + 1);
    }
    json_close(out, '}');
    return 0;
}

static int run_permit(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_named_request_ struct named_request named = {.count = 0};
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};
    const char *verb = call->cmd->name;
    const char *permission = call_opt(call, "permission");
    const char *more = strcmp(verb, "approve") == 0 ? call_opt(call, "more") : NULL;
    const char *word = NULL;

    if (call->has_root && call->session == NULL && call->operand_count > 0 &&
        request_id_is_valid(call->operands[0])) {
        if (find_request(call, &named, err) == -1)
            return -1;
        permission = named.permission;
    }
    if (agent_request_parse(call, "answer", TARGETS_AGENT_TEXT, &request, err) == -1 ||
        agent_request_operand(call, &word, err) == -1)
        return -1;
    agent_request_open(&request, "permit", &out);
    if (permission != NULL)
        json_put(&out, "permission", permission);
    json_put(&out, "option", option_for(verb, word));
    if (more != NULL)
        json_put(&out, "more", more);
    if (call_opt(call, "mode") != NULL)
        json_put(&out, "mode", call_opt(call, "mode"));
    if (strcmp(verb, "approve") == 0 && put_answers(call, &out, err) == -1)
        return -1;
    json_put(&out, "as", strcmp(verb, "approve") == 0 ? "allow" : "deny");
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, NULL, 0, &answer, err) == -1)
        return -1;
    if (call->json)
        agent_request_print(&request, answer);
    else if (json_get_text(answer, "budget") != NULL)
        say_budget(json_get_text(answer, "budget"));
    else if (json_get_text(answer, "mode") != NULL)
        say_mode(json_get_text(answer, "agent"), json_get_text(answer, "mode"));
    else
        say_title(verb, answer);
    return 0;
}

const struct cmd cmd_approve = {
    .name = "approve",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT|REQUEST [OPTION]",
    .summary = "grant a permission request of an agent, or let a paused one go on",
    .examples = "mas approve shop lead\n"
                "mas approve shop lead always\n"
                "mas approve r-3f9a01c2\n"
                "mas approve shop lead --more '2 USD'",
    .details = "Grant the oldest open request, or the REQUEST that a notification names. OPTION is "
               "once (the default), always, clear "
               "(for a plan: clear the context and carry out the plan), or an option that "
               "the agent offers, as shown in its pane and by 'mas status'. An agent "
               "that is paused because it has reached a limit of its budget may go on, up to "
               "AMOUNT more, or to as much again as the limit was; only a person can allow "
               "that. A form that the agent asks to be filled in is granted with a value for each "
               "field that it needs, and denied without. If several limits are reached, AMOUNT "
               "names one: 'turns=5'. If no "
               "request is open and the agent is not paused, the exit status is 3.",
    .opts = approve_opts,
    .operands_max = -1,
    .last = OFFER_ALLOW,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS,
    .run = run_permit,
};

const struct cmd cmd_deny = {
    .name = "deny",
    .group = GROUP_AGENTS,
    .operands = " [SESSION] AGENT|REQUEST [OPTION]",
    .summary = "deny a permission request of an agent",
    .examples = "mas deny shop lead\n"
                "mas deny shop lead always\n"
                "mas deny r-3f9a01c2",
    .details = "Deny the oldest open request, or the REQUEST that a notification names. OPTION is "
               "once (the default), always, or an "
               "option that the agent offers. If no request is open, the exit status is 3.",
    .opts = opts,
    .operands_max = -1,
    .last = OFFER_REJECT,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_JSON,
    .does = CHANGES_SESSIONS,
    .run = run_permit,
};
