/*
 * Operations that a verb of mas does: read, told and long ones, see model/operation.h; and those
 * that need more than a verb: runs, settings, removal, archives.
 */
#include "model/budget.h"
#include "model/limits.h"
#include "model/template_name.h"
#include "serve/api.h"
#include "serve/http.h"
#include "serve/server.h"
#include "serve/task.h"
#include "serve/transfer.h"
#include "serve/verb.h"
#include "session/prompts.h"
#include "store/placement.h"
#include "store/session.h"
#include "store/template.h"
#include "store/workspace.h"

enum { STATUS_CREATED = 201 };

/* ---- what a verb prints */

static int find_read(const struct request *request, struct str *ret, struct err *err)
{
    bool remarks = request->operation->remarks;

    if (verb_do(request, NULL, NULL, ret, err) == -1) {
        if (!remarks || err->code != MAS_FAILED || ret->len == 0)
            return -1;
        *err = (struct err)ERR_INIT;
    }
    while (ret->len > 0 && ret->data[ret->len - 1] == '\n')
        ret->data[--ret->len] = '\0';
    return 0;
}

enum handled api_read_verb(struct request *request)
{
    if (request->item == NULL || str_is_word(request->item, TEMPLATE_NAME_MAX))
        return answer_shared(request, find_read, 409);
    answer_error(request, 404, "there is nothing of this name");
    return HANDLED_NOW;
}

/* ---- comments on what an agent has changed: the verb reads the body itself */

static void run_review(struct job *job)
{
    struct request *request = later_request(job);
    struct str said = STR_INIT;
    struct err err = ERR_INIT;

    if (verb_do(request, NULL, &request->body, &said, &err) == -1) {
        str_free(&said);
        answer_err(request, &err, 409);
        return;
    }
    answer_json(request, 200, &said);
}

enum handled api_review(struct request *request)
{
    return answer_later(request, run_review);
}

/* ---- a session, as it is after the verb */

/* Runs the command of the operation, with this in place of {setting} (NULL: it has none), and
 * answers with the session. */
static void tell_after(struct request *request, const char *setting)
{
    const struct operation_values more = {.setting = setting};
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    if (!api_has_path(request))
        return;
    if (verb_do(request, &more, NULL, NULL, &err) == -1 ||
        api_session_put(request->server, request->id, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    answer_json(request, 200, &body);
}

void api_run_told(struct job *job)
{
    tell_after(later_request(job), NULL);
}

/* ---- what takes long */

static void answer_task(struct request *request, int status, const struct task *task)
{
    struct str body = STR_INIT;

    task_put(task, &body);
    answer_json(request, status, &body);
}

static void begin_task(struct request *request)
{
    const struct operation_values values = {
        .id = request->id,
        .agent = request->agent,
        .item = request->item,
        .params = request->json,
    };
    const struct operation *operation = request->operation;
    _cleanup_strv_ char **words = NULL;
    struct err err = ERR_INIT;
    const char *input = operation_words(operation->command, operation->params, &values, &words);
    const struct task_wish wish = {.operation = operation,
                                   .session = request->id,
                                   .agent = request->agent,
                                   .words = words,
                                   .input = input};
    const struct task *task = tasks_begin(request->server->tasks, &wish, &err);

    if (task == NULL) {
        answer_refusal(request, 503, NULL, "wait until one has ended: GET /operations", "%s",
                       err.text);
        return;
    }
    answer_task(request, 202, task);
}

static void run_look(struct job *job)
{
    (void)api_has_path(later_request(job));
}

static void on_looked(struct job *job)
{
    struct request *request = later_request(job);

    if (request->answer.status == 0) /* it has no error */
        begin_task(request);
    http_answered(request);
}

enum handled api_begin_task(struct request *request)
{
    if (request->id[0] != '\0')
        return answer_after(request, run_look, on_looked);
    begin_task(request);
    return HANDLED_NOW;
}

enum handled api_operations(struct request *request)
{
    struct str body = STR_INIT;

    tasks_put(request->server->tasks, &request->guest, &body);
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}

static struct task *find(struct request *request)
{
    struct task *task = tasks_find(request->server->tasks, &request->guest, request->item);

    if (task == NULL)
        answer_error(request, 404, "there is no such operation; it may have ended long ago");
    return task;
}

enum handled api_operation(struct request *request)
{
    const struct task *task = find(request);

    if (task != NULL)
        answer_task(request, 200, task);
    return HANDLED_NOW;
}

enum handled api_operation_cancel(struct request *request)
{
    struct task *task = find(request);

    if (task == NULL)
        return HANDLED_NOW;
    if (task_cancel(task))
        answer_task(request, 202, task);
    else
        answer_refusal(request, 409, NULL, "GET its address to see how", "the operation has ended");
    return HANDLED_NOW;
}

/* ---- POST /runs, and POST /sessions, which begins with a prompt */

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

    /* a sentence needs no agents, see mas new */
    if (json_get(request->json, "prompt") == NULL && parse_agents(request, &agents, err) == -1)
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
    struct request *request = later_request(job);
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
        return answer_later(request, run_run);
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
    return !of_agent &&
           (strcmp(key, "name") == 0 || strcmp(key, "private") == 0 || strcmp(key, "setup") == 0);
}

static void run_setting(struct job *job)
{
    struct request *request = later_request(job);
    const char *agent = request->agent != NULL ? request->agent : "";
    _cleanup_free_ char *word = mem_printf("%s%s%s=%s", agent, agent[0] != '\0' ? "." : "",
                                           request->item, json_get_text(request->json, "value"));

    tell_after(request, word);
}

enum handled api_setting(struct request *request)
{
    bool of_agent = request->agent != NULL;

    if (!is_setting(request->item, of_agent))
        answer_refusal(request, 404, NULL,
                       of_agent
                           ? "the settings are budget.KIND and limits.KIND"
                           : "the settings are name, private, setup, budget.KIND and limits.KIND",
                       "there is no such setting of %s", of_agent ? "an agent" : "a session");
    else if (strcmp(request->item, "setup") == 0 &&
             strcmp(json_get_text(request->json, "value"), "no") != 0)
        answer_error(request, 400, "cannot use the body: value: it is not no"); /* as in a run */
    else
        return answer_later(request, run_setting);
    return HANDLED_NOW;
}

/* ---- DELETE */

static void run_remove(struct job *job)
{
    struct request *request = later_request(job);
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
    return answer_later(request, run_remove);
}

/* ---- POST /restores */

static void run_restore(struct job *job)
{
    struct request *request = later_request(job);
    _cleanup_free_ char *path = mem_printf(ROOT_SESSIONS "/%s", request->transfer.name);
    const struct operation_values more = {.file = path};
    _cleanup_str_ struct str said = STR_INIT;
    struct str body = STR_INIT;
    struct err err = ERR_INIT;
    char id[ID_TEXT] = "";
    int rc = verb_do(request, &more, NULL, &said, &err);

    if (said.len > 0 && said.data[said.len - 1] == '\n')
        said.data[--said.len] = '\0';
    if (rc == 0 && !id_normalise(str_text(&said), id))
        rc = err_set(&err, MAS_FAILED, "mas did not say which session it has restored");
    if (rc == -1 || api_session_put(request->server, id, &body, &err) == -1) {
        _cleanup_free_ char *quoted = mem_printf("'%s'", path);
        verb_reword(&err, quoted, "the archive");
        if (err.code == MAS_DAMAGED && err.hint[0] == '\0')
            (void)err_hint(&err, "send what GET /sessions/{id}/archive answers");
        str_free(&body);
        answer_err(request, &err, 409);
    } else {
        memcpy(request->id, id, ID_TEXT); /* also for the log */
        answer_json(request, STATUS_CREATED, &body);
    }
}

enum handled api_restore(struct request *request)
{
    const char *name = json_get_text(request->json, "name");
    const char *wrong = name != NULL ? session_check_name(name) : NULL;

    if (wrong == NULL)
        return answer_later(request, run_restore);
    answer_error(request, 400, "cannot use the query name: %s", wrong);
    return HANDLED_NOW;
}

/* ---- an archive that is sent */

static void run_archive(struct job *job)
{
    struct request *request = later_request(job);
    struct transfer *transfer = &request->transfer;
    struct err err = ERR_INIT;
    struct stat st;

    if (!transfer_name(request, &err)) {
        answer_err(request, &err, 409);
        return;
    }
    _cleanup_free_ char *path = mem_printf(ROOT_SESSIONS "/%s", transfer->name);
    transfer->fd = -1;
    const struct operation_values more = {.file = path};
    int rc = verb_do(request, &more, NULL, NULL, &err);
    if (rc == 0) {
        transfer->fd = openat(request->server->root.sessions, transfer->name,
                              O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (transfer->fd == -1 || fstat(transfer->fd, &st) == -1)
            rc = err_errno(&err, "cannot read the archive");
    }
    (void)unlinkat(request->server->root.sessions, transfer->name, 0);
    if (rc != 0) {
        answer_err(request, &err, 409);
        return;
    }
    transfer->size = (size_t)st.st_size;
    transfer->sends = true;
    request->answer.type = "application/zstd";
    request->answer.status = 200;
}

enum handled api_archive(struct request *request)
{
    if (request->range != NULL && request->if_range == NULL) {
        answer_refusal(request, 416, "no_ranges", "ask for it without the header Range",
                       "an archive is made anew for each request, so there are no ranges of it");
        return HANDLED_NOW;
    }
    return answer_later(request, run_archive);
}
