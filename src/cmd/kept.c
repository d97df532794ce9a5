#include "cli/agent_request.h"
#include "cli/table.h"
#include "protocol/host.h"

static const struct opt opts[] = {
    {0, "delete", "ID", "delete this session from what the agent keeps", OFFER_NONE},
    {0, "delete-all", NULL, "delete all but the one in use", OFFER_NONE},
    {.name = NULL},
};

static const char *state_of(const struct json *session)
{
    if (json_get_text(session, "error") != NULL)
        return "not deleted";
    if (json_bool(json_get(session, "deleted"), false))
        return "deleted";
    return json_bool(json_get(session, "inUse"), false) ? "in use" : "";
}

static void print_sessions(const struct json *list)
{
    static const char *const headings[] = {"ID", "UPDATED", "STATE", "TITLE"};
    static const char *const spare[] = {"UPDATED", NULL};
    struct table table = {.columns = ARRAY_LEN(headings), .spare = spare};

    for (size_t i = 0; i < ARRAY_LEN(headings); i++)
        table_add(&table, headings[i], NULL);
    for (const struct json *one = json_first(list); one != NULL; one = json_next(one)) {
        table_add(&table, json_get_text_or(one, "id", ""), NULL);
        table_add(&table, json_get_text_or(one, "updatedAt", ""), NULL);
        table_add(&table, state_of(one), NULL);
        table_add(&table, json_get_text_or(one, "title", ""), NULL);
    }
    table_print(&table);
    table_free(&table);
}

static void print_ids(const struct json *list)
{
    for (const struct json *one = json_first(list); one != NULL; one = json_next(one)) {
        const char *id = json_get_text_or(one, "id", "");
        _cleanup_str_ struct str text = STR_INIT;
        str_add_visible(&text, id, strlen(id));
        printf("%s\n", str_text(&text));
    }
}

/* Fails if one was not deleted. */
static int check_deleted(const struct json *answer, struct err *err)
{
    const struct json *first = json_first(json_get(answer, "sessions"));
    int64_t failed = json_int(json_get(answer, "failed"), 0);
    _cleanup_str_ struct str others = STR_INIT;

    if (failed == 0)
        return 0;
    if (failed > 1)
        str_addf(&others, " and %" PRId64 " more", failed - 1);
    return err_set(err, MAS_FAILED, "cannot delete session '%s'%s: %s",
                   json_get_text_or(first, "id", ""), str_text(&others),
                   json_get_text_or(first, "error", ""));
}

static int run_kept(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    const char *id = call_opt(call, "delete");
    bool all = call_opt(call, "delete-all") != NULL;
    struct json_out out = {.to = &head};

    request.wait_ms = HOST_KEPT_MS;
    if (agent_request_parse(call, "ask for the sessions of", TARGETS_AGENT, &request, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    if (id != NULL && all) {
        (void)err_set(err, MAS_USAGE, "--delete and --delete-all exclude each other");
        return call_usage(call, err);
    }
    agent_request_open(&request, "kept", &out);
    if (id != NULL)
        json_put(&out, "session", id);
    if (all)
        json_put_bool(&out, "all", true);
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, NULL, 0, &answer, err) == -1)
        return -1;
    const struct json *list = json_get(answer, "sessions");
    if (call->json)
        agent_request_print(&request, answer);
    else if (call->quiet)
        print_ids(list);
    else
        print_sessions(list);
    int64_t more = json_int(json_get(answer, "more"), 0);
    if (more > 0 && !call->json)
        err_warn("%" PRId64 " more session%s not shown; delete some of these to see them", more,
                 more == 1 ? " is" : "s are");
    return check_deleted(answer, err);
}

const struct cmd cmd_kept = {
    .name = "kept",
    .group = GROUP_MEMORY,
    .operands = " [SESSION] AGENT",
    .summary = "list or delete the sessions that an ACP agent itself keeps",
    .examples = "mas kept shop lead\n"
                "mas kept shop lead --delete-all",
    .details = "mas has the conversation; the agent's program may keep its sessions, too. Only "
               "those of this agent's directory are listed. An agent that does not run is "
               "started.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = CHANGES_SESSIONS,
    .run = run_kept,
};
