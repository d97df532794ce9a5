/*
 * Blocks are drawn one below the other. `margin` is what each row begins with, such as the bars of
 * quotes; `lead` is that of the next row, which may have the mark of an item instead.
 */
#include "chat/draw_internal.h"

#include "base/wrap.h"

enum { ROOM_MIN = 16 };

static int room_of(const struct draw *draw)
{
    return draw->look->columns - wrap_columns(str_text(&draw->margin), draw->margin.len);
}

/* Puts marks in front of the rows that follow; `first` only before the next one. They are dropped
 * if they would leave no room. */
static size_t indent(struct draw *draw, const char *first, const char *rest)
{
    size_t was = draw->margin.len;

    if (room_of(draw) - wrap_columns(rest, strlen(rest)) >= ROOM_MIN) {
        str_add(&draw->lead, first);
        str_add(&draw->margin, rest);
    }
    return was;
}

static void outdent(struct draw *draw, size_t was)
{
    if (draw->lead.len > draw->margin.len || /* an item without anything */
        strcmp(str_text(&draw->lead), str_text(&draw->margin)) != 0) {
        draw_lead(draw, draw->lead.len);
        str_add(draw->to, "\r\n");
    }
    draw->margin.len = was;
    if (draw->margin.data != NULL)
        draw->margin.data[was] = '\0';
    str_clear(&draw->lead);
    str_addn(&draw->lead, str_text(&draw->margin), was);
}

static void put_gap(struct draw *draw)
{
    size_t len = draw->lead.len;

    while (len > 0 && draw->lead.data[len - 1] == ' ')
        len--;
    draw_lead(draw, len);
    str_add(draw->to, "\r\n");
}

static void put_lines(struct draw *draw, const struct styled *line)
{
    const char *text = str_text(&line->text);

    for (size_t at = 0;;) {
        size_t end = at + strcspn(text + at, "\n");
        do {
            size_t next;
            size_t n = wrap_row(text + at, end - at, room_of(draw), &next);
            draw_row(draw, line, at, at + n);
            at += next;
        } while (at < end);
        if (end == line->text.len)
            return;
        at = end + 1;
    }
}

/* Draws what stands in a line or several. */
static void put_inline(struct draw *draw, size_t from, size_t to, enum tint tint,
                       unsigned char style)
{
    struct styled line = {.tint = tint};

    styled_add(&line, draw->markdown, from, to, style);
    put_lines(draw, &line);
    styled_free(&line);
}

/* ---- code */

enum tint draw_diff_tint(const char *line, size_t len)
{
    if (len == 0)
        return TINT_PLAIN;
    if (str_starts(line, "---") || str_starts(line, "+++") || str_starts(line, "@@"))
        return TINT_NEWS;
    return line[0] == '+' ? TINT_GOOD : line[0] == '-' ? TINT_BAD : TINT_PLAIN;
}

static bool is_diff(const char *language, const char *text)
{
    return strcmp(language, "diff") == 0 || strcmp(language, "patch") == 0 ||
           str_starts(text, "--- ") || str_starts(text, "diff --git ");
}

/* Draws a line across, with a label in it. */
static void put_rule(struct draw *draw, const char *label, int columns)
{
    struct styled line = {.tint = TINT_DIM};
    const char *dash = draw->look->unicode ? "\u2500" : "-";

    if (label[0] != '\0') {
        str_addf(&line.text, "%s%s ", dash, dash);
        str_add(&line.text, label);
        str_addc(&line.text, ' ');
        line.text.len = wrap_cut(line.text.data, line.text.len, columns);
    }
    for (int at = wrap_columns(str_text(&line.text), line.text.len); at < columns; at++)
        str_add(&line.text, dash);
    draw_row(draw, &line, 0, line.text.len);
    styled_free(&line);
}

/* Code stands between two lines, and nothing before it, so that it can be copied. */
static void put_code(struct draw *draw, size_t i)
{
    const struct markdown *markdown = draw->markdown;
    const char *language = markdown_text(markdown, &markdown->nodes[i]);
    struct styled all = {.tint = TINT_PLAIN};
    int room = room_of(draw), width = wrap_columns(language, strlen(language)) + 8;

    styled_add(&all, markdown, i + 1, markdown->nodes[i].end, 0);
    const char *text = str_text(&all.text);
    size_t len = all.text.len - (all.text.len > 0 && text[all.text.len - 1] == '\n');
    bool diff = is_diff(language, text);
    for (size_t at = 0; at < len; at += strcspn(text + at, "\n") + 1) {
        int columns = wrap_columns(text + at, strcspn(text + at, "\n"));
        width = columns > width ? columns : width;
    }
    put_rule(draw, language, width < room ? width : room);
    for (size_t at = 0; at <= len && len > 0;) {
        size_t end = at + strcspn(text + at, "\n");
        all.tint = diff ? draw_diff_tint(text + at, end - at) : TINT_PLAIN;
        do {
            size_t n = wrap_cut(text + at, end - at, room);
            draw_row(draw, &all, at, at + n);
            at += n;
        } while (at < end);
        at++;
    }
    put_rule(draw, "", width < room ? width : room);
    styled_free(&all);
}

/* ---- blocks */

static void put_blocks(struct draw *draw, size_t from, size_t to, bool loose);

static void put_list(struct draw *draw, size_t i)
{
    const struct markdown_node *list = &draw->markdown->nodes[i];
    long number = list->number;

    for (size_t item = i + 1; item < list->end; item = draw->markdown->nodes[item].end) {
        char mark[32];
        if (list->loose && item > i + 1)
            put_gap(draw);
        if (number >= 0)
            (void)snprintf(mark, sizeof mark, "%ld. ", number++);
        else
            (void)snprintf(mark, sizeof mark, "%s ", draw->look->unicode ? "\u2022" : "-");
        int columns = wrap_columns(mark, strlen(mark));
        _cleanup_free_ char *rest = mem_printf("%*s", columns, "");
        size_t was = indent(draw, mark, rest);
        put_blocks(draw, item + 1, draw->markdown->nodes[item].end, list->loose);
        outdent(draw, was);
    }
}

static void put_quote(struct draw *draw, size_t i)
{
    const char *bar = draw->look->unicode ? "\u2502 " : "| ";
    size_t was = indent(draw, bar, bar);

    put_blocks(draw, i + 1, draw->markdown->nodes[i].end, true);
    outdent(draw, was);
}

static void put_heading(struct draw *draw, size_t i)
{
    const struct markdown_node *node = &draw->markdown->nodes[i];

    put_inline(draw, i + 1, node->end, TINT_BOLD, node->number <= 2 ? STYLED_UNDER : 0);
}

static void put_paragraph(struct draw *draw, size_t i)
{
    put_inline(draw, i + 1, draw->markdown->nodes[i].end, TINT_PLAIN, 0);
}

static void put_thematic(struct draw *draw, size_t i)
{
    (void)i;
    put_rule(draw, "", room_of(draw));
}

static void put_table(struct draw *draw, size_t i)
{
    draw_table(draw, i, room_of(draw));
}

static void (*const blocks[MARKDOWN_KIND_COUNT])(struct draw *draw, size_t i) = {
    [MARKDOWN_PARAGRAPH] = put_paragraph, [MARKDOWN_HEADING] = put_heading,
    [MARKDOWN_QUOTE] = put_quote,         [MARKDOWN_LIST] = put_list,
    [MARKDOWN_CODE] = put_code,           [MARKDOWN_RULE] = put_thematic,
    [MARKDOWN_TABLE] = put_table,
};

/* Draws blocks; in a tight list there are also lines that are in none. */
static void put_blocks(struct draw *draw, size_t from, size_t to, bool loose)
{
    const struct markdown_node *nodes = draw->markdown->nodes;

    for (size_t i = from; i < to;) {
        size_t end = nodes[i].end;
        if (i > from && loose)
            put_gap(draw);
        if (blocks[nodes[i].kind] != NULL) {
            blocks[nodes[i].kind](draw, i);
        } else {
            while (end < to && blocks[nodes[end].kind] == NULL)
                end = nodes[end].end;
            put_inline(draw, i, end, TINT_PLAIN, 0);
        }
        i = end;
    }
}

void draw_markdown(const struct drawing *drawing, const char *text, size_t len, struct str *to)
{
    struct markdown markdown = {.count = 0};
    struct draw draw = {.look = drawing, .markdown = &markdown, .to = to};

    markdown_parse(&markdown, text, len);
    put_blocks(&draw, 1, markdown.count, true);
    markdown_free(&markdown);
    str_free(&draw.margin);
    str_free(&draw.lead);
}
