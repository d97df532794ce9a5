/* GET /healthz. */
#include "serve/api.h"
#include "serve/server.h"

enum handled api_health(struct request *request)
{
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    json_put(&out, "status", request->server->ending ? "ending" : "ok");
    json_put(&out, "version", MAS_VERSION);
    json_close(&out, '}');
    answer_json(request, 200, &body);
    return HANDLED_NOW;
}
