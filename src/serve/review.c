/* POST /sessions/{id}/agents/{agent}/review: comments on what an agent has changed. */
#include "serve/api.h"
#include "serve/body.h"
#include "serve/server.h"
#include "serve/verb.h"

static const struct body_member members[] = {{"comments", MEMBER_TAGS, true, NULL}, {.name = NULL}};

static void run_review(struct job *job)
{
    struct request *request = api_request(job);
    const char *const words[] = {"review",    "--json", "--comments",   "-", "-s",
                                 request->id, "--",     request->agent, NULL};
    struct str said = STR_INIT;
    struct err err = ERR_INIT;

    if (verb_run(request->server, words, &request->body, &said, &err) == -1) {
        str_free(&said);
        answer_err(request, &err, 409);
        return;
    }
    answer_json(request, 200, &said);
}

enum handled api_review(struct request *request)
{
    return body_check(request, members) ? api_later(request, run_review) : HANDLED_NOW;
}
