/*
 * Two lists: what the program of an agent tells of the sessions that it keeps for it, and without
 * an agent those of the user's programs that began without mas, which mas finds by itself.
 */
#include "base/time.h"
#include "cli/agent_request.h"
#include "cli/each_session.h"
#include "cli/installed.h"
#include "cli/print.h"
#include "cli/table.h"
#include "protocol/host.h"
#include "session/outside/outside.h"

static const struct opt opts[] = {
    {0, "delete", "ID", "delete this session from what the agent keeps"},
    {0, "delete-all", NULL, "delete all but the one in use"},
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

    table_heads(&table, headings);
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

/* ---- those that began without mas */

static void put_outside(const struct outside_session *session, struct json_out *out)
{
    _cleanup_free_ char *program = installed_program(session->preset);
    char changed[TIME_TEXT];

    time_format(session->changed, changed);
    json_put_all(out, JO(NULL), JT("id", session->id), JT("program", program),
                 JT("preset", session->preset->name), JT("directory", session->directory),
                 JT("words", session->words), JT("updatedAt", changed), JI("size", session->size),
                 JT("path", session->path), JOE);
}

static void print_outside_json(const struct outside_list *list)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_open(&out, "sessions", '[');
    for (size_t i = 0; i < list->count; i++)
        put_outside(&list->sessions[i], &out);
    json_close(&out, ']');
    json_put_all(&out, JI("total", list->count), JB("cut", list->cut));
    json_close(&out, '}');
    print_line(&text);
}

/* Returns how many characters of an id name no other session; at least 8. */
static size_t unique_len(const struct outside_list *list, const struct outside_session *session)
{
    size_t len = 8;

    for (size_t i = 0; i < list->count; i++) {
        const char *id = list->sessions[i].id;
        while (strcmp(id, session->id) != 0 && len < strlen(session->id) &&
               strncmp(id, session->id, len) == 0)
            len++;
    }
    return len;
}

static void print_outside_table(const struct outside_list *list)
{
    static const char *const headings[] = {"ID", "PROGRAM", "AGE", "SIZE", "DIRECTORY", "WORDS"};
    static const char *const spare[] = {"SIZE", "DIRECTORY", NULL};
    struct table table = {.columns = ARRAY_LEN(headings), .spare = spare};
    time_t now = time(NULL);

    table_heads(&table, headings);
    for (size_t i = 0; i < list->count; i++) {
        const struct outside_session *session = &list->sessions[i];
        _cleanup_free_ char *program = installed_program(session->preset);
        _cleanup_free_ char *id =
            mem_dupn(session->id, str_fit(session->id, unique_len(list, session)));
        char age[24], size[NUMBER_SIZE_TEXT];
        time_age(session->changed, now, age);
        number_format_size((uint64_t)session->size, size);
        table_add(&table, id, NULL);
        table_add(&table, program, NULL);
        table_add(&table, age, NULL);
        table_add(&table, session->in_database ? "-" : size, NULL);
        table_add(&table, session->directory != NULL ? session->directory : "-", NULL);
        table_add(&table, session->words != NULL ? session->words : "-", NULL);
    }
    table_print(&table);
    table_free(&table);
}

static int list_outside(const struct call *call)
{
    _cleanup_outside_ struct outside_list list = OUTSIDE_LIST_INIT;
    _cleanup_strv_ char **known = call->has_root ? outside_known(&call->root) : NULL;

    outside_find(&call->config, NULL, &list);
    outside_leave_out(&list, known);
    outside_read(&list);
    outside_leave_out(&list, known);
    if (call->json)
        print_outside_json(&list);
    else if (call->quiet)
        for (size_t i = 0; i < list.count; i++)
            printf("%s\n", list.sessions[i].id);
    else if (list.count > 0)
        print_outside_table(&list);
    else
        fprintf(stderr, "no agent session that began without mas was found\n");
    if (list.cut && !call->json)
        err_warn("there are more, older ones, which are not shown");
    return 0;
}

static int run_kept(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    const char *id = call_opt(call, "delete");
    bool all = call_opt(call, "delete-all") != NULL;
    struct json_out out = {.to = &head};

    if (each_session_means_all(call) && id == NULL && !all)
        return list_outside(call);
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
    .operands = " [[SESSION] AGENT]",
    .summary = "list the agent sessions that programs keep",
    .examples = "mas kept\n"
                "mas kept shop lead\n"
                "mas kept shop lead --delete-all",
    .details = "Without AGENT, and outside of a team's pane, list the sessions of your agents' "
               "programs that began without mas; "
               "`mas adopt` continues one. With AGENT, list the sessions that this ACP agent keeps "
               "itself for its directory, or delete some. An agent that does not run is started.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_IF_THERE,
    .on = ON_TARGET,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = CHANGES_SESSIONS | READS_PRESETS,
    .run = run_kept,
};
