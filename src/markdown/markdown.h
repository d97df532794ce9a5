/*
 * Markdown as a tree, for all that draw it: the pane of an agent, and the page. Only markdown.c
 * uses md4c, and nobody else interprets what an agent has written.
 *
 *     struct markdown markdown = {.count = 0};
 *     markdown_parse(&markdown, text, len);
 *     for (size_t i = 1; i < markdown.nodes[0].end; i = markdown.nodes[i].end)   each block
 *     markdown_free(&markdown);
 *
 * It is CommonMark with the tables of GitHub and with bare addresses as links, but HTML is text, a
 * picture is a link to it, and an end of line in a paragraph stays one. Text that is too long, or
 * has too many parts, becomes one paragraph as it is, and what is nested too deeply belongs to what
 * it stands in: nothing is lost. Every text is UTF-8, in which control characters are made visible
 * by str_add_visible(), also those that came as entities.
 *
 * A link leads to http, https or mailto, and its address is printable ASCII. Of any other link only
 * text is left, with the address behind it if that says something else.
 */
#pragma once

#include "base/json.h"

enum {
    MARKDOWN_BYTES_MAX = 256 * 1024,
    MARKDOWN_NODES_MAX = 20000,
    MARKDOWN_DEPTH_MAX = 24, /* two levels of JSON each */
    MARKDOWN_ADDRESS_MAX = 2048,
};

enum markdown_kind {
    /* blocks */
    MARKDOWN_DOCUMENT,
    MARKDOWN_PARAGRAPH,
    MARKDOWN_HEADING,
    MARKDOWN_QUOTE,
    MARKDOWN_LIST, /* of items */
    MARKDOWN_ITEM, /* of blocks; text, too, if the list is tight */
    MARKDOWN_CODE,
    MARKDOWN_RULE,
    MARKDOWN_TABLE, /* of rows, whose first has the titles */
    MARKDOWN_ROW,
    MARKDOWN_CELL,
    /* in them */
    MARKDOWN_TEXT,
    MARKDOWN_EMPHASIS,
    MARKDOWN_STRONG,
    MARKDOWN_TYPED, /* code in a line */
    MARKDOWN_LINK,
    MARKDOWN_KIND_COUNT
};

enum markdown_align { MARKDOWN_NATURAL, MARKDOWN_LEFT, MARKDOWN_CENTER, MARKDOWN_RIGHT };

struct markdown_node {
    enum markdown_kind kind;
    enum markdown_align align; /* of a cell */
    int number; /* of a heading its level, 1 to 6; of a list that of its first item, -1: has none */
    bool loose; /* a list with empty lines between its items */
    size_t end; /* the node behind this one and all in it */
    size_t text, len; /* in `texts`: of text itself, of a link its address, of code its language */
};

/* Nodes are in the order of the text, each in front of what is in it; nodes[0] is the document. */
struct markdown {
    struct markdown_node *nodes;
    size_t count;
    struct str texts;
};

/* Parses a text. `ret` is empty, or what an earlier call has filled. */
void markdown_parse(struct markdown *ret, const char *text, size_t len);
void markdown_free(struct markdown *markdown);
/* Returns the text, address or language of a node, NUL-terminated. */
const char *markdown_text(const struct markdown *markdown, const struct markdown_node *node);

/* Writes the blocks as an array. Text is a string, any other node an object: `kind` is "paragraph",
 * "heading", "quote", "list", "item", "code", "rule", "table", "row", "cell", "emphasis", "strong",
 * "typed" or "link"; `parts` is what is in it. Some have `level`, `start`, `loose`, `align`
 * ("left", "center", "right"), `language` or `address`. */
void markdown_put(const struct markdown *markdown, struct json_out *out, const char *key);

/* Returns how many bytes at the beginning of a text that is still growing are whole blocks, which
 * are the same by themselves and whatever follows; but a reference that a later line defines stays
 * text. Lists are whole when something else follows. */
size_t markdown_whole(const char *text, size_t len);
