/*
 * Cells are stored row by row and laid out only when printed: widths are measured, spare columns
 * left out until the last one has room for LAST_WANTED, then the widest column is made narrower,
 * again and again. Text is made safe as it is added, so nothing later has to think of it.
 */

#include "cli/table.h"

#include "base/wrap.h"
#include "cli/print.h"

#include <locale.h>
#include <sys/ioctl.h>

enum {
    GAP = 2, /* blanks between columns */
    CELL_MIN = 6, /* minimum width of a cut column */
    LAST_WANTED = 40, /* columns are omitted until the last one has this width, if it needs it */
};

static const char cut_mark[] = "...";

struct screen screen_size(void)
{
    struct winsize size = {.ws_col = 0};

    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1)
        return (struct screen){0, 0};
    return (struct screen){size.ws_col, size.ws_row};
}

/* The layout of a table on the terminal. */
struct layout {
    const struct table *table;
    size_t *widths; /* one per column */
    bool *gone;
    size_t last; /* last column shown */
};

static const char *text_of(const struct table *table, const struct cell *cell)
{
    return table->text.data + cell->at;
}

/* Returns the columns that a cell takes. Sets the locale, which is slow, only for text that is not
 * ASCII. */
static size_t cell_width(const char *cell, size_t len)
{
    static bool known;

    if (known)
        return (size_t)wrap_columns(cell, len);
    for (size_t i = 0; i < len; i++)
        known = known || (unsigned char)cell[i] >= 0x80;
    if (known)
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* cells are UTF-8 in any locale */
    return known ? (size_t)wrap_columns(cell, len) : len;
}

void table_add(struct table *table, const char *cell, const char *colour)
{
    struct cell new = {.at = table->text.len, .colour = colour};

    str_add_visible(&table->text, cell, strlen(cell));
    new.width = cell_width(text_of(table, &new), table->text.len - new.at);
    str_addc(&table->text, '\0');
    table->cells = mem_room(table->cells, table->count, sizeof new);
    table->cells[table->count++] = new;
}

void table_heads(struct table *table, const char *const *heads)
{
    for (size_t i = 0; i < table->columns; i++)
        table_add(table, heads[i], colour_dim());
}

static void measure(struct layout *layout)
{
    const struct table *table = layout->table;

    for (size_t i = 0; i < table->count; i++)
        if (table->cells[i].width > layout->widths[i % table->columns])
            layout->widths[i % table->columns] = table->cells[i].width;
}

/* Returns the width of a row if the last column is at most `last` wide. */
static size_t row_width(const struct layout *layout, size_t last)
{
    size_t width = 0;

    for (size_t i = 0; i < layout->last; i++)
        width += layout->gone[i] ? 0 : layout->widths[i] + GAP;
    return width + (layout->widths[layout->last] < last ? layout->widths[layout->last] : last);
}

static void leave_out(struct layout *layout, const char *head)
{
    const struct table *table = layout->table;

    for (size_t i = 0; i < table->columns && i < table->count; i++)
        if (strcmp(text_of(table, &table->cells[i]), head) == 0)
            layout->gone[i] = true;
    while (layout->last > 0 && layout->gone[layout->last])
        layout->last--;
}

/* Narrows the widest column by one. Returns false if no column can be narrower. */
static bool narrow(struct layout *layout)
{
    size_t widest = layout->table->columns;

    for (size_t i = 0; i < layout->table->columns; i++) {
        bool fixed = layout->gone[i] || (layout->table->whole_last && i == layout->last);
        if (!fixed && layout->widths[i] > CELL_MIN &&
            (widest == layout->table->columns || layout->widths[i] >= layout->widths[widest]))
            widest = i;
    }
    if (widest == layout->table->columns)
        return false;
    layout->widths[widest]--;
    return true;
}

static void fit(struct layout *layout, size_t columns)
{
    const struct table *table = layout->table;

    for (size_t i = 0; table->spare[i] != NULL && row_width(layout, LAST_WANTED) > columns; i++)
        leave_out(layout, table->spare[i]);
    size_t last = table->whole_last ? CELL_MIN : SIZE_MAX;
    while (row_width(layout, last) > columns && narrow(layout))
        ;
}

static void add_cell(const struct layout *layout, size_t i, struct str *out)
{
    const struct cell *cell = &layout->table->cells[i];
    size_t column = i % layout->table->columns;
    size_t room = layout->widths[column], width = cell->width;
    const char *text = text_of(layout->table, cell);
    size_t len = strlen(text);
    bool cut = width > room;

    if (cut)
        len = wrap_cut(text, len, (int)(room - strlen(cut_mark)));
    if (cell->colour != NULL)
        str_add(out, cell->colour);
    str_addn(out, text, len);
    if (cut)
        str_add(out, cut_mark);
    if (cell->colour != NULL)
        str_add(out, "\033[0m");
    if (column == layout->last)
        return;
    width = cut ? (size_t)wrap_columns(text, len) + strlen(cut_mark) : width;
    size_t blanks = room + GAP - width;
    str_reserve(out, blanks);
    memset(out->data + out->len, ' ', blanks);
    out->len += blanks;
    out->data[out->len] = '\0';
}

void table_print(const struct table *table)
{
    struct layout layout = {.table = table, .last = table->columns - 1};
    _cleanup_str_ struct str out = STR_INIT;
    struct screen screen = screen_size();

    layout.widths = mem_alloc(table->columns * sizeof *layout.widths);
    layout.gone = mem_alloc(table->columns * sizeof *layout.gone);
    measure(&layout);
    if (table->spare != NULL && screen.columns > 0)
        fit(&layout, screen.columns);
    for (size_t i = 0; i < table->count; i++) {
        if (!layout.gone[i % table->columns])
            add_cell(&layout, i, &out);
        if ((i + 1) % table->columns != 0)
            continue;
        while (out.len > 0 && out.data[out.len - 1] == ' ') /* before an empty last cell */
            out.data[--out.len] = '\0';
        str_addc(&out, '\n');
    }
    free(layout.widths);
    free(layout.gone);
    (void)fwrite(str_text(&out), 1, out.len, stdout);
}

void table_free(struct table *table)
{
    str_free(&table->text);
    free(table->cells);
    *table = (struct table){.columns = table->columns};
}
