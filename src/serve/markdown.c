/* POST /markdown: what agents have written as trees, so that a page need not read Markdown. */
#include "markdown/markdown.h"
#include "serve/api.h"
#include "serve/server.h"

enum {
    TEXTS_MAX = 200,
    TREES_MAX = 8 << 20, /* bytes; texts behind that get no tree */
};

static void run_markdown(struct job *job)
{
    struct request *request = later_request(job);
    const struct json *texts = json_get(request->json, "texts");
    struct markdown markdown = {.count = 0};
    struct str body = STR_INIT;
    struct json_out out = {.to = &body};

    json_open(&out, NULL, '{');
    json_open(&out, "trees", '[');
    for (const struct json *node = json_first(texts); node != NULL; node = json_next(node)) {
        const char *text = json_text(node);
        if (body.len > TREES_MAX) {
            json_put(&out, NULL, NULL);
            continue;
        }
        markdown_parse(&markdown, text, strlen(text));
        markdown_put(&markdown, &out, NULL);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    markdown_free(&markdown);
    answer_json(request, 200, &body);
}

enum handled api_markdown(struct request *request)
{
    const struct json *texts = json_get(request->json, "texts");
    size_t count = 0;

    for (const struct json *node = json_first(texts); node != NULL; node = json_next(node)) {
        if (json_is_string(node) && ++count <= TEXTS_MAX)
            continue;
        answer_refusal(request, 400, NULL, "send them in several requests",
                       "texts is not a list of at most %d texts", TEXTS_MAX);
        return HANDLED_NOW;
    }
    return answer_later(request, run_markdown);
}
