/*
 * Columns are as wide as what is in them; if that is too much, the widest give room, and their
 * cells take several rows. A table with too many columns is drawn as lines of cells.
 */
#include "chat/draw_internal.h"

#include "base/wrap.h"

enum { COLUMNS_MAX = 32, COLUMN_MIN = 6, BETWEEN = 3 };

struct drawn_table {
    struct draw *draw;
    int width[COLUMNS_MAX];
    size_t columns;
};

/* The cells of a row: what they say, and how much of it is drawn. */
struct drawn_cells {
    struct styled line[COLUMNS_MAX];
    size_t at[COLUMNS_MAX];
    enum markdown_align align[COLUMNS_MAX];
    size_t count;
};

static void read_cells(const struct draw *draw, size_t row, enum tint tint, struct drawn_cells *ret)
{
    const struct markdown_node *nodes = draw->markdown->nodes;

    memset(ret, 0, sizeof *ret);
    for (size_t i = row + 1; i < nodes[row].end && ret->count < COLUMNS_MAX; i = nodes[i].end) {
        struct styled *line = &ret->line[ret->count];
        ret->align[ret->count++] = nodes[i].align;
        line->tint = tint;
        styled_add(line, draw->markdown, i + 1, nodes[i].end, 0);
    }
}

static void free_cells(struct drawn_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++)
        styled_free(&cells->line[i]);
}

static int sum(const struct drawn_table *table)
{
    int all = 0;

    for (size_t i = 0; i < table->columns; i++)
        all += table->width[i] + (i > 0 ? BETWEEN : 0);
    return all;
}

/* Narrows the widest columns until the table fits. Returns false if it cannot. */
static bool fit(struct drawn_table *table, int room)
{
    for (size_t i = 0; i < table->columns; i++)
        if (table->width[i] > room)
            table->width[i] = room;
    while (sum(table) > room) {
        size_t widest = 0;
        for (size_t i = 0; i < table->columns; i++)
            widest = table->width[i] > table->width[widest] ? i : widest;
        if (table->width[widest] <= COLUMN_MIN)
            return false;
        table->width[widest]--;
    }
    return true;
}

static void measure(struct drawn_table *table, size_t row)
{
    struct drawn_cells cells;

    read_cells(table->draw, row, TINT_PLAIN, &cells);
    for (size_t i = 0; i < cells.count; i++) {
        int columns = wrap_columns(str_text(&cells.line[i].text), cells.line[i].text.len);
        table->width[i] = columns > table->width[i] ? columns : table->width[i];
        table->columns = i >= table->columns ? i + 1 : table->columns;
    }
    free_cells(&cells);
}

static void put_blanks(struct str *to, int count)
{
    if (count > 0)
        str_addf(to, "%*s", count, "");
}

/* Appends what fits of a cell into one row. */
static void put_cell(const struct drawn_table *table, struct drawn_cells *cells, size_t i,
                     struct str *to)
{
    const struct styled *line = &cells->line[i];
    const char *text = str_text(&line->text) + cells->at[i];
    size_t next = 0, n = 0;
    bool last = i + 1 == table->columns;

    if (line->text.len > cells->at[i])
        n = wrap_row(text, line->text.len - cells->at[i], table->width[i], &next);
    int left = table->width[i] - wrap_columns(text, n);
    int before = cells->align[i] == MARKDOWN_RIGHT    ? left
                 : cells->align[i] == MARKDOWN_CENTER ? left / 2
                                                      : 0;
    put_blanks(to, before);
    styled_put(line, table->draw->look, cells->at[i], cells->at[i] + n, to);
    if (!last)
        put_blanks(to, left - before);
    cells->at[i] += next;
}

static void put_row(const struct drawn_table *table, size_t row, enum tint tint)
{
    struct drawn_cells cells;
    bool more = true;

    read_cells(table->draw, row, tint, &cells);
    while (more) {
        more = false;
        draw_lead(table->draw, table->draw->lead.len);
        for (size_t i = 0; i < table->columns; i++) {
            if (i > 0)
                str_add(table->draw->to, table->draw->look->unicode ? " \u2502 " : " | ");
            put_cell(table, &cells, i, table->draw->to);
            more = more || cells.at[i] < cells.line[i].text.len;
        }
        str_add(table->draw->to, "\r\n");
    }
    free_cells(&cells);
}

static void put_border(const struct drawn_table *table)
{
    bool unicode = table->draw->look->unicode;
    struct styled line = {.tint = TINT_DIM};

    for (size_t i = 0; i < table->columns; i++) {
        if (i > 0)
            str_add(&line.text, unicode ? "\u2500\u253c\u2500" : "-+-");
        for (int n = 0; n < table->width[i]; n++)
            str_add(&line.text, unicode ? "\u2500" : "-");
    }
    draw_row(table->draw, &line, 0, line.text.len);
    styled_free(&line);
}

/* What is too wide for columns: a line for each row. */
static void put_plain(struct draw *draw, size_t row, int room)
{
    const struct markdown_node *nodes = draw->markdown->nodes;

    for (size_t i = row + 1; i < nodes[row].end; i = nodes[i].end) {
        struct styled line = {.tint = TINT_PLAIN};
        styled_add(&line, draw->markdown, i + 1, nodes[i].end, 0);
        for (size_t at = 0, next; at < line.text.len; at += next) {
            size_t n = wrap_row(line.text.data + at, line.text.len - at, room, &next);
            draw_row(draw, &line, at, at + n);
        }
        styled_free(&line);
    }
}

void draw_table(struct draw *draw, size_t i, int room)
{
    const struct markdown_node *nodes = draw->markdown->nodes;
    struct drawn_table table = {.draw = draw};
    size_t count = 0;

    for (size_t cell = i + 2; i + 1 < nodes[i].end && cell < nodes[i + 1].end;
         cell = nodes[cell].end)
        count++;
    for (size_t row = i + 1; row < nodes[i].end; row = nodes[row].end)
        measure(&table, row);
    bool fits = count <= COLUMNS_MAX && fit(&table, room);
    for (size_t row = i + 1; row < nodes[i].end; row = nodes[row].end) {
        if (!fits) {
            put_plain(draw, row, room);
            continue;
        }
        put_row(&table, row, row == i + 1 ? TINT_BOLD : TINT_PLAIN);
        if (row == i + 1)
            put_border(&table);
    }
}
