/* GET /sessions/{id}/log and /sessions/{id}/agents/{agent}/log. */
#include "client/roster.h"
#include "model/target.h"
#include "serve/api.h"
#include "serve/http.h"
#include "serve/log_stream.h"
#include "serve/server.h"
#include "store/workspace.h"

enum { STATUS_PARTIAL = 206, STATUS_NO_RANGE = 416 };

/* Returns the name of the log; false after answering with an error. */
static bool find_log(struct request *request, char name[LOG_NAME_MAX])
{
    struct roster_team team;
    struct err err = ERR_INIT;

    if (request->agent == NULL) {
        (void)snprintf(name, LOG_NAME_MAX, "%s", WORKSPACE_LOG);
        return true;
    }
    if (roster_open(&request->server->root, request->id, &team, &err) == -1) {
        answer_err(request, &err, 409);
        return false;
    }
    bool found = team_agent(&team.team, request->agent) != NULL;
    if (!found) {
        (void)err_set(&err, MAS_NOT_FOUND, "there is no agent '%s' in this session",
                      request->agent);
        (void)target_hint(&team.team, request->agent, false, &err);
        answer_err(request, &err, 404);
    }
    roster_close(&team);
    (void)snprintf(name, LOG_NAME_MAX, WORKSPACE_AGENT_LOG, request->agent);
    return found;
}

/* Sets status and headers from the range that the client wants. */
static void cut(struct request *request)
{
    struct log_stream *log = request->log;
    struct answer *answer = &request->answer;
    bool follows = log_stream_length(log) == -1;
    off_t first = 0;
    off_t last = 0;

    request->if_none_match = NULL; /* the tag says where the log begins, not what it ends with */
    answer->status = 200;
    answer->type = "application/octet-stream";
    answer_tag(request, log_stream_tag(log));
    bool fits = request->if_range == NULL || strcmp(request->if_range, answer->etag) == 0;
    switch (log_stream_cut(log, fits ? request->range : NULL, &first, &last)) {
    case LOG_WHOLE:
        return;
    case LOG_PART:
        answer->status = STATUS_PARTIAL;
        if (follows)
            (void)snprintf(answer->range, sizeof answer->range, "bytes %lld-%lld/*",
                           (long long)first, (long long)last);
        else
            (void)snprintf(answer->range, sizeof answer->range, "bytes %lld-%lld/%lld",
                           (long long)first, (long long)last, (long long)log_stream_size(log));
        return;
    case LOG_NO_PART:
        (void)snprintf(answer->range, sizeof answer->range, "bytes */%lld",
                       (long long)log_stream_size(log));
        answer->type = NULL;
        answer_error(request, STATUS_NO_RANGE, "the log has %lld bytes",
                     (long long)log_stream_size(log));
        log_stream_free(log);
        request->log = NULL;
    }
}

static void run_log(struct job *job)
{
    struct request *request = later_request(job);
    bool follow = json_bool(json_get(request->json, "follow"), false);
    _cleanup_close_ int dir = workspace_open(&request->server->root, request->id);
    struct err err = ERR_INIT;
    char name[LOG_NAME_MAX];

    if (dir == -1 && errno == ENOENT) {
        answer_error(request, 404, "there is no session '%s'", request->id);
        return;
    }
    if (!find_log(request, name))
        return;
    if (log_stream_open(dir, name, follow, &request->log, &err) == -1) {
        answer_err(request, &err, 409);
        return;
    }
    cut(request);
}

enum handled api_log(struct request *request)
{
    if (json_bool(json_get(request->json, "follow"), false) &&
        http_log_followers(request->server->http) >= LOG_FOLLOWERS_MAX) {
        answer_refusal(request, 503, NULL, "ask for the log without following it",
                       "%d clients follow logs already", LOG_FOLLOWERS_MAX);
        return HANDLED_NOW;
    }
    return answer_later(request, run_log);
}
