/* Operations that change sessions and need more than a verb: runs, settings, removal. */
#include "model/budget.h"
#include "model/limits.h"
#include "serve/api.h"
#include "serve/server.h"
#include "serve/tell.h"
#include "serve/verb.h"
#include "session/prompts.h"
#include "store/placement.h"
#include "store/template.h"
#include "store/workspace.h"

enum { STATUS_CREATED = 201 };

/* ---- POST /runs */

/* Gets {"agents":...} from the body and checks that it fits the template. */
static int parse_agents(const struct request *request, struct str *to, struct err *err)
{
    const struct root *root = &request->server->root;
    const struct json *agents = json_get(request->json, "agents");
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct json_out out = {.to = to};

    json_put_all(&out, JO(NULL), JN("agents", agents), JOE);
    if (json_is_object(agents) && json_first(agents) == NULL)
        return 0; /* `mas new` reports any other error */
    if (config_load(root, true, &config, NULL, err) == -1)
        return -1;
    const char *name =
        json_get_text_or(request->json, "template", config_text(&config, SETTING_TEMPLATE));
    if (json_parse(to->data, to->len, to->len, &json, err) == -1 ||
        template_open(root, name, &tmpl, err) == -1 ||
        prompts_from_json(json, "the body", &config, &tmpl.team, err) == -1) {
        verb_reword(err, "'the body'", "the body"); /* it is no file */
        if (err->code != MAS_DAMAGED)
            err->code = MAS_USAGE; /* the request is wrong, not the machine */
        return -1;
    }
    return 0;
}

static int make_session(const struct request *request, const char *id, struct err *err)
{
    const struct operation_values more = {.id = id};
    _cleanup_str_ struct str agents = STR_INIT;

    if (parse_agents(request, &agents, err) == -1)
        return -1;
    if (verb_do(request, &more, &agents, NULL, err) == 0)
        return 0;
    /* an unknown preset, or one whose program is not installed: not a server error */
    if (err->code == MAS_NOT_FOUND || strstr(err->text, "' needs the program '") != NULL)
        err->code = MAS_USAGE;
    if (strstr(err->text, "' needs the program '") != NULL)
        return err_hint(err, "GET /presets lists what this machine has");
    if (err->code == MAS_CONFLICT && err->hint[0] == '\0')
        return err_hint(err, "see whether it is yours: GET /sessions/%s", id);
    return -1;
}

static int tell_run(const struct request *request, const char *id, struct str *to, struct err *err)
{
    const struct root *root = &request->server->root;
    _cleanup_session_ struct session session = SESSION_INIT;
    struct json_out out = {.to = to};
    _cleanup_close_ int dir = workspace_open(root, id);

    if (dir == -1)
        return err_errno(err, "cannot open session '%s'", id);
    if (session_load(root, dir, id, &session, err) == -1)
        return -1;
    _cleanup_free_ char *path = workspace_path(root, id, NULL);
    _cleanup_free_ char *unit = placement_path(root, session.id, session.mode, WORKSPACE_UNIT);
    _cleanup_free_ char *workflows =
        placement_path(root, session.id, session.mode, WORKSPACE_WORKFLOWS);
    json_put_all(&out, JO(NULL), JT("sessionId", id), JT("tmuxSession", session.tmux_name),
                 JT("workingDir", path), JT("sessionMode", mode_name(session.mode)),
                 JT("unitDir", unit), JT("workflowsDir", workflows),
                 JT("status", status_name(session.status)), JOE);
    return 0;
}

static void run_run(struct job *job)
{
    struct request *request = api_request(job);
    const char *wanted = json_get_text(request->json, "sessionId");
    struct str body = STR_INIT;
    struct err err = ERR_INIT;
    char id[ID_TEXT];

    if ((wanted != NULL ? !id_normalise(wanted, id) : id_make(id, &err) == -1) ||
        make_session(request, id, &err) == -1 || tell_run(request, id, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    memcpy(request->id, id, ID_TEXT); /* also for the log */
    answer_json(request, STATUS_CREATED, &body);
}

enum handled api_run(struct request *request)
{
    const char *name = json_get_text(request->json, "name");
    const char *wrong = name != NULL ? session_check_name(name) : NULL;

    if (json_get(request->json, "name") != NULL && name == NULL)
        wrong = "it is not a string";
    if (wrong == NULL)
        return api_later(request, run_run);
    answer_error(request, 400, "cannot use the body: name: %s", wrong);
    return HANDLED_NOW;
}

/* ---- settings */

/* Returns true if `mas set` knows this key for a session, or for an agent. */
static bool is_setting(const char *key, bool of_agent)
{
    static const char budget[] = "budget.";
    static const char limits[] = "limits.";
    const char *kind = key + strlen(budget); /* both have one length */
    enum budget_kind budget_kind;
    enum limit_kind limit_kind;

    if (str_starts(key, budget))
        return budget_kind_parse(kind, &budget_kind);
    if (str_starts(key, limits))
        return limit_kind_parse(kind, strlen(kind), &limit_kind) &&
               (!of_agent || limit_is_of_agent(limit_kind));
    return !of_agent && (strcmp(key, "private") == 0 || strcmp(key, "setup") == 0);
}

static void run_setting(struct job *job)
{
    struct request *request = api_request(job);
    const char *agent = request->agent != NULL ? request->agent : "";
    _cleanup_free_ char *word = mem_printf("%s%s%s=%s", agent, agent[0] != '\0' ? "." : "",
                                           request->item, json_get_text(request->json, "value"));

    api_tell(request, word);
}

enum handled api_setting(struct request *request)
{
    bool of_agent = request->agent != NULL;

    if (!is_setting(request->item, of_agent))
        answer_refusal(request, 404, NULL,
                       of_agent ? "the settings are budget.KIND and limits.KIND"
                                : "the settings are private, setup, budget.KIND and limits.KIND",
                       "there is no such setting of %s", of_agent ? "an agent" : "a session");
    else if (strcmp(request->item, "setup") == 0 &&
             strcmp(json_get_text(request->json, "value"), "no") != 0)
        answer_error(request, 400, "cannot use the body: value: it is not no"); /* as in a run */
    else
        return api_later(request, run_setting);
    return HANDLED_NOW;
}

/* ---- DELETE */

static void run_remove(struct job *job)
{
    struct request *request = api_request(job);
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err err = ERR_INIT;

    if (verb_do(request, NULL, NULL, NULL, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    json_put_all(&out, JO(NULL), JT("sessionId", request->id), JB("removed", true), JOE);
    answer_json(request, 200, &body);
}

enum handled api_remove(struct request *request)
{
    return api_later(request, run_remove);
}
