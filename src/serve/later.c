/*
 * A question is in the list while a worker finds its answer; it belongs to the loop, except what
 * the worker writes. Those who asked before it began wait in `asking`, those who came later in
 * `later`: when the answer is there, the first get it and the second become the first, and the same
 * question is worked on again. It leaves the list when nobody is left.
 */

#include "serve/later.h"

#include "client/walled.h"
#include "serve/http.h"
#include "serve/server.h"

/* ---- one request */

struct request *later_request(struct job *job)
{
    return (struct request *)(void *)((char *)job - offsetof(struct request, job));
}

static void job_done(struct job *job)
{
    http_answered(later_request(job));
}

/* Answers that the server has too much to do, or too much for the session of the path. */
static enum handled refuse_busy(struct request *request)
{
    static const char hint[] = "try again in a second";

    if (request->id[0] != '\0' && pool_has_place(request->server->pool))
        answer_refusal(request, 503, NULL, hint,
                       "too many requests wait for this session; its agents may not answer");
    else
        answer_refusal(request, 503, NULL, hint, "the server is busy");
    return HANDLED_NOW;
}

/* Returns true if the token of a guest is still there when the work begins; the loop's guard is not
 * for workers. */
static bool is_still_invited(const struct request *request)
{
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    struct err err = ERR_INIT;

    return tokens_read(&request->server->root, &tokens, &err) == 0 &&
           tokens_find(&tokens, request->token, time(NULL)) != NULL;
}

/* Whoever can prompt an agent has the rights of its user, but for its wall: guests need one. */
static void run_if_admitted(struct job *job)
{
    struct request *request = later_request(job);
    bool is_guest = guest_is(&request->guest) && request->operation->right > RIGHT_READ;
    struct err err = ERR_INIT;

    if (is_guest && !is_still_invited(request))
        answer_error(request, 401, "the token is not valid any more");
    else if (!is_guest || request->operation->right != RIGHT_FULL ||
             walled_check(&request->server->root, request->id, &err) == 0)
        request->run(job);
    else
        answer_refusal(request, 403, "missing_right", "ask who has invited you", "%s",
                       request->guest.agents[0] == '\0'
                           ? err.text
                           : "cannot let a guest prompt the team: an agent of it has no required "
                             "wall");
}

enum handled answer_later(struct request *request, void (*run)(struct job *job))
{
    return answer_after(request, run, job_done);
}

enum handled answer_after(struct request *request, void (*run)(struct job *job),
                          void (*done)(struct job *job))
{
    request->job = (struct job){.run = run_if_admitted, .done = done};
    request->run = run;
    if (pool_add(request->server->pool, request->operation->past ? "" : request->id, &request->job))
        return HANDLED_LATER;
    return refuse_busy(request);
}

/* ---- many that ask the same */

struct question {
    struct job job;
    struct shared *shared;
    struct question *next;
    struct str key;
    shared_find *find;
    int conflict;
    /* Lists by request->next. The first one is asked for all; the worker reads it. */
    struct request *asking, *later;
    /* The worker writes these; the loop reads them afterwards. */
    struct str found;
    struct err err;
};

struct shared {
    struct question *questions; /* that are worked on */
};

struct shared *shared_make(void)
{
    return mem_alloc(sizeof(struct shared));
}

static void question_free(struct question *question)
{
    str_free(&question->key);
    str_free(&question->found);
    free(question);
}

void shared_free(struct shared *shared)
{
    if (shared == NULL)
        return;
    for (struct question *next; shared->questions != NULL; shared->questions = next) {
        next = shared->questions->next;
        question_free(shared->questions);
    }
    free(shared);
}

/* Neither a part of a path nor a query has a control character. */
static void put_key(const struct request *request, struct str *to)
{
    for (size_t i = 0; i < request->part_count; i++)
        str_addf(to, "/%s", request->parts[i]);
    for (size_t i = 0; i < request->query_count; i++)
        str_addf(to, "\n%s\n%s", request->queries[i].key, request->queries[i].value);
}

static void run(struct job *job)
{
    struct question *question =
        (struct question *)(void *)((char *)job - offsetof(struct question, job));

    (void)question->find(question->asking, &question->found, &question->err);
}

static void answer(struct request *request, const struct question *question, uint64_t hash)
{
    struct str body = STR_INIT;

    if (question->err.code != MAS_OK) {
        answer_err(request, &question->err, question->conflict);
        return;
    }
    str_addn(&body, str_text(&question->found), question->found.len);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
}

/* Gives up the place of a request that joined others. */
static void leave(struct request *request)
{
    if (request->share != NULL)
        pool_leave(request->server->pool, request->share);
    request->share = NULL;
}

/* Answers all who ask now. */
static void answer_all(struct question *question)
{
    uint64_t hash = hash_bytes(HASH_START, str_text(&question->found), question->found.len);

    for (struct request *next; question->asking != NULL; question->asking = next) {
        next = question->asking->next;
        question->asking->next = NULL;
        answer(question->asking, question, hash);
        leave(question->asking);
        http_answered(question->asking);
    }
    str_free(&question->found);
    question->err = (struct err)ERR_INIT;
}

static void done(struct job *job)
{
    struct question *question =
        (struct question *)(void *)((char *)job - offsetof(struct question, job));
    struct question **at = &question->shared->questions;

    answer_all(question);
    question->asking = question->later; /* who came meanwhile */
    question->later = NULL;
    if (question->asking != NULL) {
        const struct request *first = question->asking;
        if (pool_add(first->server->pool, first->id, &question->job))
            return;
        (void)err_set(&question->err, MAS_TMUX, "the server is busy");
        (void)err_hint(&question->err, "try again");
        answer_all(question);
    }
    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    question_free(question);
}

static enum handled join(struct question *question, struct request *request)
{
    struct request **end = &question->later;

    request->share = pool_hold(request->server->pool, request->id);
    if (request->share == NULL)
        return refuse_busy(request);
    while (*end != NULL)
        end = &(*end)->next;
    request->next = NULL;
    *end = request;
    return HANDLED_LATER;
}

enum handled answer_shared(struct request *request, shared_find *find, int conflict)
{
    struct shared *shared = request->server->shared;
    _cleanup_str_ struct str key = STR_INIT;
    struct question *question = shared->questions;

    put_key(request, &key);
    while (question != NULL && strcmp(str_text(&question->key), str_text(&key)) != 0)
        question = question->next;
    if (question != NULL)
        return join(question, request);
    question = mem_alloc(sizeof *question);
    *question = (struct question){.job = {.run = run, .done = done},
                                  .shared = shared,
                                  .key = STR_INIT,
                                  .find = find,
                                  .conflict = conflict,
                                  .asking = request,
                                  .found = STR_INIT,
                                  .err = ERR_INIT};
    if (!pool_add(request->server->pool, request->id, &question->job)) {
        question_free(question);
        return refuse_busy(request);
    }
    request->next = NULL;
    question->key = key;
    key = (struct str)STR_INIT;
    question->next = shared->questions;
    shared->questions = question;
    return HANDLED_LATER;
}
