/*
 * Cells are stored row by row and laid out only when printed: widths are measured, spare columns
 * left out until the last one has room for LAST_WANTED, then the widest column is made narrower,
 * again and again. Text is made safe as it is added, so nothing later has to think of it.
 */

#include "cli/table.h"

#include "base/wrap.h"

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

void table_add(struct table *table, const char *cell, const char *colour)
{
    _cleanup_str_ struct str safe = STR_INIT;

    table->cells = mem_room(table->cells, table->count, sizeof *table->cells);
    table->colours = mem_room(table->colours, table->count, sizeof *table->colours);
    str_add_visible(&safe, cell, strlen(cell));
    table->colours[table->count] = colour;
    table->cells[table->count++] = str_steal(&safe);
}

/* The layout of a table on the terminal. */
struct layout {
    const struct table *table;
    size_t *widths; /* one per column */
    bool *gone;
    size_t last; /* last column shown */
};

/* Returns the columns that a cell takes. Sets the locale, which is slow, only for text that is not
 * ASCII. */
static size_t cell_width(const char *cell)
{
    static bool known;
    size_t len = strlen(cell);

    if (known)
        return (size_t)wrap_columns(cell, len);
    for (size_t i = 0; i < len; i++)
        known = known || (unsigned char)cell[i] >= 0x80;
    if (known)
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* cells are UTF-8 in any locale */
    return known ? (size_t)wrap_columns(cell, len) : len;
}

static void measure(struct layout *layout)
{
    const struct table *table = layout->table;

    for (size_t i = 0; i < table->count; i++) {
        size_t width = cell_width(table->cells[i]);
        if (width > layout->widths[i % table->columns])
            layout->widths[i % table->columns] = width;
    }
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
        if (strcmp(table->cells[i], head) == 0)
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
    const struct table *table = layout->table;
    size_t column = i % table->columns;
    size_t room = layout->widths[column];
    const char *cell = table->cells[i];
    size_t len = strlen(cell), width = cell_width(cell);
    bool cut = width > room;

    if (cut)
        len = wrap_cut(cell, len, (int)(room - strlen(cut_mark)));
    str_add(out, table->colours[i] != NULL ? table->colours[i] : "");
    str_addn(out, cell, len);
    str_add(out, cut ? cut_mark : "");
    str_add(out, table->colours[i] != NULL ? "\033[0m" : "");
    if (column == layout->last)
        return;
    width = cut ? (size_t)wrap_columns(cell, len) + strlen(cut_mark) : width;
    for (size_t n = width; n < room + GAP; n++)
        str_addc(out, ' ');
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
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->colours);
    *table = (struct table){.columns = table->columns};
}
