/*
 * The session is looked for here; its id and path then go to the host of the agent, which does the
 * rest (host/terminal/teller_adopt.c). A path may tell only a part of an id, so what was typed is
 * compared before the files are read and again after that. Sessions that mas has begun are left
 * out, and one that a process has open is refused.
 */

#include "base/json.h"
#include "cli/agent_request.h"
#include "cli/installed.h"
#include "cli/print.h"
#include "os/proc.h"
#include "session/outside/outside.h"
#include "store/workspace.h"

enum {
    ADOPT_MS = 120000, /* a large file is read and copied, and the agent starts */
    CANDIDATES_MAX = 5, /* that an error names */
};

/* Returns true if the session may begin so: what is known of an id before its file was read may be
 * a part. */
static bool is_named(struct outside_session *session, void *arg)
{
    const char *prefix = arg;

    return str_starts(session->id, prefix) || str_starts(prefix, session->id);
}

/* Finds the sessions of a preset (NULL: of all) that the text names. */
static void find_named(const struct call *call, const struct preset *preset, const char *prefix,
                       struct outside_list *ret)
{
    _cleanup_strv_ char **known = outside_known(&call->root);

    outside_find(&call->config, preset, ret);
    outside_keep_if(ret, is_named, (void *)(uintptr_t)prefix);
    outside_read(ret);
    outside_keep_if(ret, is_named, (void *)(uintptr_t)prefix);
    outside_leave_out(ret, known);
}

static int fail_missing(const struct call *call, const struct preset *preset, const char *prefix,
                        struct err *err)
{
    _cleanup_outside_ struct outside_list others = OUTSIDE_LIST_INIT;

    find_named(call, NULL, prefix, &others);
    if (others.count == 0)
        (void)err_set(err, MAS_NOT_FOUND,
                      "cannot adopt session '%s': there is no such session that "
                      "began without mas",
                      prefix);
    else
        (void)err_set(err, MAS_CONFLICT,
                      "cannot adopt session '%s': it is of preset '%s', and the agent runs '%s'",
                      prefix, others.sessions[0].preset->name, preset->name);
    return err_hint(err, "list them with: mas kept");
}

static int fail_ambiguous(const struct outside_list *list, const char *prefix, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;

    for (size_t i = 0; i < list->count && i < CANDIDATES_MAX; i++)
        str_addf(&names, "%s%s", i > 0 ? ", " : "", list->sessions[i].id);
    return err_set(err, MAS_CONFLICT, "cannot adopt session '%s': several begin so: %s%s", prefix,
                   str_text(&names), list->count > CANDIDATES_MAX ? ", ..." : "");
}

/* Finds the one session, of which nobody else is in the middle. */
static int choose(const struct call *call, const struct preset *preset, const char *prefix,
                  struct outside_list *list, struct err *err)
{
    char name[PROC_NAME_TEXT];

    if (strlen(prefix) < ID_PREFIX_MIN)
        return err_set(err, MAS_USAGE,
                       "cannot adopt session '%s': an id needs at least %d characters", prefix,
                       ID_PREFIX_MIN);
    find_named(call, preset, prefix, list);
    if (list->count == 0)
        return fail_missing(call, preset, prefix, err);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->sessions[i].id, list->sessions[0].id) != 0)
            return fail_ambiguous(list, prefix, err);
    pid_t pid = outside_opened_by(&list->sessions[0]);
    if (pid == 0)
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot adopt session '%s': process %d (%s) has it open",
                  prefix, (int)pid, proc_name(pid, name));
    return err_hint(err, "leave it there first");
}

static void print(const struct call *call, const struct agent_request *request,
                  const struct outside_session *session, const char *continuity)
{
    _cleanup_free_ char *program = installed_program(session->preset);
    const char *agent = request->roster.agents[0].agent->id;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (call->json) {
        json_put_all(&out, JO(NULL), JT("sessionId", request->roster.teams[0].id),
                     JT("agent", agent), JT("session", session->id), JT("program", program),
                     JT("continuity", continuity), JOE);
        print_line(&text);
    } else if (!call->quiet) {
        printf("%s goes on with session %s of %s%s\n", agent, session->id, program,
               strcmp(continuity, "injected") == 0 ? ", which it is told with its first prompt"
                                                   : "");
    }
}

static int run_adopt(struct call *call, struct err *err)
{
    _cleanup_agent_request_ struct agent_request request = AGENT_REQUEST_INIT;
    _cleanup_outside_ struct outside_list list = OUTSIDE_LIST_INIT;
    _cleanup_str_ struct str head = STR_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct json_out out = {.to = &head};
    const char *id = NULL;

    request.wait_ms = ADOPT_MS;
    if (agent_request_parse(call, "adopt a session in", TARGETS_ONE, &request, err) == -1 ||
        agent_request_operand(call, &id, err) == -1)
        return -1;
    if (id == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run 'adopt': it needs the ID of a session");
        return call_usage(call, err);
    }
    const struct roster_team *team = &request.roster.teams[0];
    const struct preset *preset =
        config_agent_preset(&call->config, &team->team, request.roster.agents[0].agent);
    if (preset == NULL || !preset_keeps(preset))
        return err_set(err, MAS_CONFLICT,
                       "cannot adopt session '%s': the program of agent '%s' does not run in its "
                       "own terminal, or does not say where it keeps its sessions (told.kept)",
                       id, request.roster.agents[0].agent->id);
    if (choose(call, preset, id, &list, err) == -1)
        return -1;
    const struct outside_session *session = &list.sessions[0];
    agent_request_open(&request, "adopt", &out);
    json_put_all(&out, JT("session", session->id), JT("path", session->path));
    json_close(&out, '}');
    if (agent_request_ask(call, &request, &head, NULL, 0, &answer, err) == -1)
        return -1;
    workspace_log(team->dir, config_log_limits(&call->config), "adopt agent=%s session=%s",
                  request.roster.agents[0].agent->id, session->id);
    print(call, &request, session, json_get_text_or(answer, "continuity", ""));
    return 0;
}

const struct cmd cmd_adopt = {
    .name = "adopt",
    .group = GROUP_MEMORY,
    .operands = " [SESSION] AGENT ID",
    .summary = "continue an agent session that began without mas",
    .examples = "mas adopt shop lead 8f3c",
    .details = "ID is a session of the list of `mas kept`, or a unique beginning of one, and the "
               "agent has to run the same program in its own terminal. The agent begins a new "
               "query with what was said there, which is in its history then, and goes on with a "
               "copy of the session, or is told what was said if its program takes no copy. The "
               "session itself stays as it is.",
    .operands_max = -1,
    .last = OFFER_KEPT,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = CHANGES_SESSIONS | READS_PRESETS,
    .run = run_adopt,
};
