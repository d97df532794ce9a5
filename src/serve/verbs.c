/* Operations that a verb of mas does: read, told and long ones, see model/operation.h. */
#include "model/template_name.h"
#include "serve/api.h"
#include "serve/server.h"
#include "serve/shared.h"
#include "serve/task.h"
#include "serve/tell.h"
#include "serve/verb.h"

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
        return shared_ask(request, find_read, 409);
    answer_error(request, 404, "there is nothing of this name");
    return HANDLED_NOW;
}

/* ---- comments on what an agent has changed: the verb reads the body itself */

static void run_review(struct job *job)
{
    struct request *request = api_request(job);
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
    return api_later(request, run_review);
}

/* ---- a session, as it is after the verb */

void api_tell(struct request *request, const char *setting)
{
    const struct operation_values more = {.setting = setting};
    struct str body = STR_INIT;
    struct err err = ERR_INIT;

    if (verb_do(request, &more, NULL, NULL, &err) == -1 ||
        tell_session(request->server, request->id, &body, &err) == -1) {
        str_free(&body);
        answer_err(request, &err, 409);
        return;
    }
    answer_json(request, 200, &body);
}

void api_run_told(struct job *job)
{
    api_tell(api_request(job), NULL);
}

/* ---- what takes long */

static void answer_task(struct request *request, int status, const struct task *task)
{
    struct str body = STR_INIT;

    task_put(task, &body);
    answer_json(request, status, &body);
}

enum handled api_begin_task(struct request *request)
{
    const struct operation_values values = {
        .id = request->id, .agent = request->agent, .params = request->json};
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
        return HANDLED_NOW;
    }
    answer_task(request, 202, task);
    return HANDLED_NOW;
}

enum handled api_operations(struct request *request)
{
    struct str body = STR_INIT;

    tasks_put(request->server->tasks, &body);
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}

static struct task *find(struct request *request)
{
    struct task *task = tasks_find(request->server->tasks, request->item);

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
