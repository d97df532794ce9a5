/* GET /healthz and /openapi.json. */
#include "serve/api.h"
#include "serve/server.h"

/* The description, as it is in the source tree. */
extern const char openapi_text[];
extern const char openapi_end[];
__asm__(".section .rodata\n"
        ".global openapi_text\nopenapi_text:\n"
        ".incbin \"src/serve/openapi.json\"\n"
        ".global openapi_end\nopenapi_end:\n"
        ".byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n"
        ".text\n");

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

enum handled api_openapi(struct request *request)
{
    struct str body = STR_INIT;
    size_t len = (size_t)((uintptr_t)openapi_end - (uintptr_t)openapi_text);

    str_addn(&body, openapi_text, len);
    uint64_t hash = hash_bytes(HASH_START, body.data, body.len);
    answer_json(request, 200, &body);
    answer_tag(request, hash);
    return HANDLED_NOW;
}
