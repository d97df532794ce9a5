/* GET /healthz. */
#include "serve/api.h"
#include "serve/server.h"

enum handled api_health(struct request *request)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_put_all(&out, JO(NULL), JT("status", request->server->ending ? "ending" : "ok"),
                 JT("version", MAS_VERSION), JOE);
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}
