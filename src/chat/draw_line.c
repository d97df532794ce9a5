#include "chat/draw_internal.h"

#include "base/wrap.h"

static void fill(struct str *to, size_t len, unsigned char byte)
{
    str_reserve(to, len - to->len);
    while (to->len < len)
        str_addc(to, (char)byte);
}

/* Appends a text; tabs become blanks. */
static void add_text(struct styled *line, const char *text, unsigned char styles,
                     unsigned char link)
{
    for (const char *next; *text != '\0'; text = next) {
        next = text + strcspn(text, "\t");
        str_addn(&line->text, text, (size_t)(next - text));
        if (*next == '\0')
            continue;
        size_t start = line->text.len;
        while (start > 0 && line->text.data[start - 1] != '\n')
            start--;
        int column = wrap_columns(str_text(&line->text) + start, line->text.len - start);
        str_addf(&line->text, "%*s", DRAW_TAB - column % DRAW_TAB, "");
        next++;
    }
    fill(&line->styles, line->text.len, styles);
    fill(&line->links, line->text.len, link);
}

/* Appends the address behind a link that says something else: who reads it sees where it leads, in
 * a terminal without links too. */
static void add_address(struct styled *line, size_t from, const char *address, unsigned char link)
{
    const char *said = str_text(&line->text) + from;
    const char *plain = str_starts(address, "mailto:") ? address + strlen("mailto:") : address;

    if (strcmp(said, address) == 0 || strcmp(said, plain) == 0)
        return;
    _cleanup_free_ char *shown = mem_printf(" (%s)", address);
    add_text(line, shown, STYLED_DIM, link);
}

static void add_link(struct styled *line, const struct markdown *markdown, size_t i,
                     unsigned char styles)
{
    const struct markdown_node *node = &markdown->nodes[i];
    const char *address = markdown_text(markdown, node);
    size_t from = line->text.len;
    unsigned char link = 0;

    styled_add(line, markdown, i + 1, node->end, styles | STYLED_UNDER);
    if (line->link_count < STYLED_LINKS_MAX) {
        line->addresses[line->link_count++] = address;
        link = (unsigned char)line->link_count;
    }
    for (size_t at = from; at < line->links.len; at++)
        line->links.data[at] = (char)link;
    add_address(line, from, address, link);
}

void styled_add(struct styled *line, const struct markdown *markdown, size_t from, size_t to,
                unsigned char styles)
{
    static const unsigned char more[MARKDOWN_KIND_COUNT] = {[MARKDOWN_EMPHASIS] = STYLED_EMPHASIS,
                                                            [MARKDOWN_STRONG] = STYLED_STRONG,
                                                            [MARKDOWN_TYPED] = STYLED_TYPED};

    for (size_t i = from; i < to; i = markdown->nodes[i].end) {
        const struct markdown_node *node = &markdown->nodes[i];
        if (node->kind == MARKDOWN_TEXT)
            add_text(line, markdown_text(markdown, node), styles, 0);
        else if (node->kind == MARKDOWN_LINK)
            add_link(line, markdown, i, styles);
        else
            styled_add(line, markdown, i + 1, node->end,
                       (unsigned char)(styles | more[node->kind]));
    }
}

static unsigned char byte_at(const struct str *of, size_t i)
{
    return i < of->len ? (unsigned char)of->data[i] : 0;
}

/* Begins a piece of one style. Returns false if it needs no end. */
static bool begin(const struct styled *line, const struct drawing *look, unsigned char styles,
                  struct str *out)
{
    size_t was = out->len;
    enum tint tint = (styles & STYLED_TYPED) != 0 ? TINT_NEWS
                     : (styles & STYLED_DIM) != 0 ? TINT_DIM
                                                  : line->tint;

    str_add(out, palette_sgr(tint, look->colours));
    str_add(out, (styles & STYLED_STRONG) != 0 ? "\033[1m" : "");
    str_add(out, (styles & STYLED_EMPHASIS) != 0 ? "\033[3m" : "");
    str_add(out, (styles & STYLED_UNDER) != 0 ? "\033[4m" : "");
    return out->len > was;
}

void styled_put(const struct styled *line, const struct drawing *look, size_t from, size_t to,
                struct str *out)
{
    bool plain = look->colours == 0;

    for (size_t at = from, end; at < to; at = end) {
        unsigned char styles = byte_at(&line->styles, at), link = byte_at(&line->links, at);
        for (end = at + 1; end < to && byte_at(&line->styles, end) == styles &&
                           byte_at(&line->links, end) == link;)
            end++;
        if (link > 0 && !plain)
            str_addf(out, "\033]8;;%s\033\\", line->addresses[link - 1]);
        bool begun = !plain && begin(line, look, styles, out);
        str_addn(out, line->text.data + at, end - at);
        str_add(out, begun ? "\033[0m" : "");
        str_add(out, link > 0 && !plain ? "\033]8;;\033\\" : "");
    }
}

void styled_free(struct styled *line)
{
    str_free(&line->text);
    str_free(&line->styles);
    str_free(&line->links);
}

/* ---- rows */

void draw_lead(struct draw *draw, size_t len)
{
    const char *tint = len > 0 ? palette_sgr(TINT_DIM, draw->look->colours) : "";

    str_add(draw->to, tint);
    str_addn(draw->to, str_text(&draw->lead), len);
    str_add(draw->to, tint[0] != '\0' ? "\033[0m" : "");
    str_clear(&draw->lead);
    str_addn(&draw->lead, str_text(&draw->margin), draw->margin.len);
}

void draw_row(struct draw *draw, const struct styled *line, size_t from, size_t to)
{
    draw_lead(draw, draw->lead.len);
    styled_put(line, draw->look, from, to, draw->to);
    str_add(draw->to, "\r\n");
}
