#include "markdown/markdown.h"

/* The name of a kind, and of the text that it has. */
static const struct {
    const char *name, *text;
} kinds[MARKDOWN_KIND_COUNT] = {
    [MARKDOWN_PARAGRAPH] = {"paragraph", NULL},
    [MARKDOWN_HEADING] = {"heading", NULL},
    [MARKDOWN_QUOTE] = {"quote", NULL},
    [MARKDOWN_LIST] = {"list", NULL},
    [MARKDOWN_ITEM] = {"item", NULL},
    [MARKDOWN_CODE] = {"code", "language"},
    [MARKDOWN_RULE] = {"rule", NULL},
    [MARKDOWN_TABLE] = {"table", NULL},
    [MARKDOWN_ROW] = {"row", NULL},
    [MARKDOWN_CELL] = {"cell", NULL},
    [MARKDOWN_EMPHASIS] = {"emphasis", NULL},
    [MARKDOWN_STRONG] = {"strong", NULL},
    [MARKDOWN_TYPED] = {"typed", NULL},
    [MARKDOWN_LINK] = {"link", "address"},
};

static const char *const aligns[] = {NULL, "left", "center", "right"};

static void put_parts(const struct markdown *markdown, struct json_out *out, const char *key,
                      size_t first, size_t end);

static void put_node(const struct markdown *markdown, struct json_out *out, size_t i)
{
    const struct markdown_node *node = &markdown->nodes[i];

    if (node->kind == MARKDOWN_TEXT) {
        json_put(out, NULL, markdown_text(markdown, node));
        return;
    }
    json_open(out, NULL, '{');
    json_put(out, "kind", kinds[node->kind].name);
    if (node->number >= 0)
        json_put_int(out, node->kind == MARKDOWN_HEADING ? "level" : "start", node->number);
    if (node->kind == MARKDOWN_LIST)
        json_put_bool(out, "loose", node->loose);
    if (node->align != MARKDOWN_NATURAL)
        json_put(out, "align", aligns[node->align]);
    if (node->len > 0 && kinds[node->kind].text != NULL)
        json_put(out, kinds[node->kind].text, markdown_text(markdown, node));
    put_parts(markdown, out, "parts", i + 1, node->end);
    json_close(out, '}');
}

static void put_parts(const struct markdown *markdown, struct json_out *out, const char *key,
                      size_t first, size_t end)
{
    json_open(out, key, '[');
    for (size_t i = first; i < end; i = markdown->nodes[i].end)
        put_node(markdown, out, i);
    json_close(out, ']');
}

void markdown_put(const struct markdown *markdown, struct json_out *out, const char *key)
{
    put_parts(markdown, out, key, 1, markdown->count);
}
