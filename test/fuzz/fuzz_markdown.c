/* markdown_parse() on any bytes: a tree within its limits, text that a terminal can show, links
 * that lead nowhere else, and JSON. */
#include "markdown/markdown.h"

#include "fuzz.h"

static void check_text(const struct markdown *markdown, const struct markdown_node *node)
{
    const char *text = markdown_text(markdown, node);
    _cleanup_str_ struct str visible = STR_INIT;

    must(strlen(text) == node->len);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n\t")) {
        line += *line == '\n' || *line == '\t';
        str_clear(&visible);
        str_add_visible(&visible, line, strcspn(line, "\n\t"));
        must(visible.len == strcspn(line, "\n\t"));
    }
    if (node->kind == MARKDOWN_LINK) {
        must(strncasecmp(text, "http", 4) == 0 || strncasecmp(text, "mailto:", 7) == 0);
        must(node->len <= MARKDOWN_ADDRESS_MAX && strpbrk(text, " \"<>\n\t") == NULL);
        for (const char *c = text; *c != '\0'; c++)
            must(*c > ' ' && *c < 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct markdown markdown = {.count = 0};
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_json_ struct json *json = NULL;
    struct json_out out = {.to = &text};
    size_t ends[MARKDOWN_DEPTH_MAX + 2];
    size_t depth = 0;
    struct err err = ERR_INIT;

    markdown_parse(&markdown, (const char *)data, size);
    must(markdown.count >= 1 && markdown.count <= MARKDOWN_NODES_MAX + 4);
    for (size_t i = 0; i < markdown.count; i++) {
        const struct markdown_node *node = &markdown.nodes[i];
        while (depth > 0 && ends[depth - 1] <= i)
            depth--;
        must(node->end > i && node->end <= (depth > 0 ? ends[depth - 1] : markdown.count));
        must(depth < ARRAY_LEN(ends));
        ends[depth++] = node->end;
        check_text(&markdown, node);
    }
    markdown_put(&markdown, &out, NULL);
    must(json_parse(str_text(&text), text.len, SIZE_MAX, &json, &err) == 0 && json_is_array(json));
    markdown_free(&markdown);
    return 0;
}
