/* Requests that change something: runs, stop, start, settings, removal. */
#include "model/budget.h"
#include "model/limits.h"
#include "model/template_name.h"
#include "serve/api.h"
#include "serve/body.h"
#include "serve/server.h"
#include "serve/tell.h"
#include "serve/verb.h"
#include "session/prompts.h"
#include "store/placement.h"
#include "store/template.h"
#include "store/workspace.h"

#include <string.h>

enum { STATUS_CREATED = 201 };

/* ---- POST /runs */

static const char *const run_members[] = {"agents", "sessionMode", "sessionId", "template", "name",
                                          "preset", "private",     "project",   "setup",    NULL};

/* Options of a new session. */
struct run_options {
    const char *mode, *id, *template, *name, *preset, *project, *setup;
    bool private;
    char own_id[ID_TEXT];
};

static bool refuse(struct request *request, const char *key, const char *why)
{
    answer_error(request, 400, "cannot use the body: %s: it is %s", key, why);
    return false;
}

static bool parse_run(struct request *request, struct run_options *ret)
{
    struct run_options *run = ret;
    const struct json *private = json_get(request->json, "private");
    enum mode mode;
    const char *wrong;

    *run = (struct run_options){.mode = NULL};
    if (!api_text(request, "sessionMode", false, &run->mode) ||
        !api_text(request, "sessionId", false, &run->id) ||
        !api_text(request, "template", false, &run->template) ||
        !api_text(request, "name", false, &run->name) ||
        !api_text(request, "preset", false, &run->preset) ||
        !api_text(request, "project", false, &run->project) ||
        !api_text(request, "setup", false, &run->setup))
        return false;
    if (json_get(request->json, "agents") == NULL) {
        answer_error(request, 400, "cannot use the body: agents: it is missing");
        return false;
    }
    if (private != NULL && json_bool(private, true) != json_bool(private, false))
        return refuse(request, "private", "neither true nor false");
    run->private = json_bool(private, false);
    if (run->mode != NULL && !mode_parse(run->mode, &mode))
        return refuse(request, "sessionMode", "neither isolated nor legacy");
    if (run->id != NULL && !id_normalise(run->id, run->own_id))
        return refuse(request, "sessionId", "not a version 4 UUID");
    /* a path would name a directory of the machine and its programs */
    if (run->template != NULL && !str_is_word(run->template, TEMPLATE_NAME_MAX))
        return refuse(request, "template", "not the name of a template");
    if (run->preset != NULL && !str_is_word(run->preset, PRESET_NAME_MAX))
        return refuse(request, "preset", "not the name of a preset");
    if (run->project != NULL && run->project[0] != '/')
        return refuse(request, "project", "not an absolute path");
    /* a client may do without a setup; only a person at the machine allows one */
    if (run->setup != NULL && strcmp(run->setup, "no") != 0)
        return refuse(request, "setup", "not no");
    wrong = run->name != NULL ? session_check_name(run->name) : NULL;
    if (wrong != NULL) {
        answer_error(request, 400, "cannot use the body: name: %s", wrong);
        return false;
    }
    return true;
}

/* Gets {"agents":...} from the body and checks that it fits the template. */
static int parse_agents(const struct request *request, const struct run_options *run,
                        struct str *to, struct err *err)
{
    const struct root *root = &request->server->root;
    const struct json *agents = json_get(request->json, "agents");
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct json_out out = {.to = to};

    json_open(&out, NULL, '{');
    json_put_node(&out, "agents", agents);
    json_close(&out, '}');
    if (json_is_object(agents) && json_first(agents) == NULL)
        return 0; /* `mas new` reports any other error */
    if (config_load(root, true, &config, NULL, err) == -1)
        return -1;
    const char *name =
        run->template != NULL ? run->template : config_text(&config, SETTING_TEMPLATE);
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

static void add_option(const char **words, size_t *count, const char *option, const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = option;
    words[(*count)++] = value;
}

static int make_session(const struct request *request, struct run_options *run, struct err *err)
{
    const char *words[24] = {"new", "-q", "--config", "-"};
    size_t count = 4;
    _cleanup_str_ struct str agents = STR_INIT;

    if (parse_agents(request, run, &agents, err) == -1)
        return -1;
    if (run->id == NULL && id_make(run->own_id, err) == -1)
        return -1;
    add_option(words, &count, "--id", run->own_id);
    add_option(words, &count, "--mode", run->mode);
    add_option(words, &count, "--template", run->template);
    add_option(words, &count, "--name", run->name);
    add_option(words, &count, "--agent", run->preset);
    add_option(words, &count, "--project", run->project);
    add_option(words, &count, "--setup", run->setup);
    if (run->private)
        words[count++] = "--private";
    if (verb_run(request->server, words, &agents, NULL, err) == 0)
        return 0;
    /* an unknown preset, or one whose program is not installed: not a server error */
    if (err->code == MAS_NOT_FOUND || strstr(err->text, "' needs the program '") != NULL)
        err->code = MAS_USAGE;
    if (strstr(err->text, "' needs the program '") != NULL)
        return err_hint(err, "GET /presets lists what this machine has");
    if (err->code == MAS_CONFLICT && err->hint[0] == '\0')
        return err_hint(err, "see whether it is yours: GET /sessions/%s", run->own_id);
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
    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", id);
    json_put(&out, "tmuxSession", session.tmux_name);
    json_put(&out, "workingDir", path);
    json_put(&out, "sessionMode", mode_name(session.mode));
    json_put(&out, "unitDir", unit);
    json_put(&out, "workflowsDir", workflows);
    json_put(&out, "status", status_name(session.status));
    json_close(&out, '}');
    return 0;
}

static void run_run(struct job *job)
{
    struct request *request = api_request(job);
    struct str body = STR_INIT;
    struct err err = ERR_INIT;
    struct run_options run;

    if (!parse_run(request, &run))
        return;
    if (make_session(request, &run, &err) == -1 ||
        tell_run(request, run.own_id, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    memcpy(request->id, run.own_id, ID_TEXT); /* also for the log */
    answer_json(request, STATUS_CREATED, &body);
}

enum handled api_run(struct request *request)
{
    struct run_options run;

    if (!api_read(request, run_members) || !parse_run(request, &run))
        return HANDLED_NOW;
    return api_later(request, run_run);
}

/* ---- stop, start */

static void run_verb(struct request *request, const char *const *words)
{
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    if (verb_run(request->server, words, NULL, NULL, &err) == -1 ||
        tell_session(request->server, request->id, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    answer_json(request, 200, &body);
}

static void run_stop(struct job *job)
{
    struct request *request = api_request(job);
    run_verb(request, (const char *[]){"stop", "-q", request->id, NULL});
}

static void run_start(struct job *job)
{
    struct request *request = api_request(job);
    run_verb(request, (const char *[]){"start", "-q", request->id, NULL});
}

static const char *const no_members[] = {NULL};

enum handled api_stop(struct request *request)
{
    return api_read(request, no_members) ? api_later_past(request, run_stop) : HANDLED_NOW;
}

enum handled api_start(struct request *request)
{
    return api_read(request, no_members) ? api_later(request, run_start) : HANDLED_NOW;
}

/* ---- settings */

static const struct body_member setting_members[] = {{"value", MEMBER_TEXT, true, NULL},
                                                     {.name = NULL}};

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

    run_verb(request, (const char *[]){"set", "-q", "--", request->id, word, NULL});
}

enum handled api_setting(struct request *request)
{
    bool of_agent = request->agent != NULL;

    if (!body_check(request, setting_members))
        return HANDLED_NOW;
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
    const char *force = request_query(request, "force");
    bool forced = force != NULL && strcmp(force, "true") == 0;
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};
    struct err err = ERR_INIT;

    if (verb_run(request->server, (const char *[]){"rm", forced ? "-qf" : "-q", request->id, NULL},
                 NULL, NULL, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    json_open(&out, NULL, '{');
    json_put(&out, "sessionId", request->id);
    json_put_bool(&out, "removed", true);
    json_close(&out, '}');
    answer_json(request, 200, &body);
}

enum handled api_remove(struct request *request)
{
    return api_flag(request, "force") ? api_later_past(request, run_remove) : HANDLED_NOW;
}
