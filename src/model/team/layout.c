/*
 * Each layout comes down to columns and rows for a number of panes. Those of tmux are counted as
 * tmux counts them, to know whether they fit; when the window is complete, tmux arranges them
 * itself. All else is written as text with the checksum that tmux asks for: grids, and any window
 * that is still being built.
 */

#include "model/team/layout.h"

/* How a layout arranges a number of panes: this many columns and rows. */
struct grid {
    size_t columns, rows;
};

/* The same way as tmux. */
static struct grid tiled(size_t panes)
{
    struct grid grid = {1, 1};
    while (grid.rows * grid.columns < panes) {
        grid.rows++;
        if (grid.rows * grid.columns < panes)
            grid.columns++;
    }
    return grid;
}

static struct grid even_horizontal(size_t panes)
{
    return (struct grid){panes, 1};
}

static struct grid even_vertical(size_t panes)
{
    return (struct grid){1, panes};
}

static struct grid main_horizontal(size_t panes)
{
    return panes < 2 ? (struct grid){1, 1} : (struct grid){panes - 1, 2};
}

static struct grid main_vertical(size_t panes)
{
    return panes < 2 ? (struct grid){1, 1} : (struct grid){2, panes - 1};
}

static const struct known_layout {
    const char *name;
    struct grid (*grid)(size_t panes);
    size_t height; /* least rows per pane, if no row is left over */
} known[] = {
    {"tiled", tiled, 2},
    {"even-horizontal", even_horizontal, 1},
    {"even-vertical", even_vertical, 1},
    {"main-horizontal", main_horizontal, 1},
    {"main-vertical", main_vertical, 1},
};

static const struct known_layout *find(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(text, known[i].name) == 0)
            return &known[i];
    return NULL;
}

static bool parse_grid(const char *text, struct grid *ret)
{
    int end = 0;
    unsigned columns;
    unsigned rows;

    if (strspn(text, "0123456789x") != strlen(text) || strlen(text) > LAYOUT_TEXT_MAX ||
        sscanf(text, "%3ux%3u%n", &columns, &rows, &end) != 2 || text[end] != '\0')
        return false;
    if (columns < 1 || columns > LAYOUT_SIDE_MAX || rows < 1 || rows > LAYOUT_SIDE_MAX)
        return false;
    *ret = (struct grid){columns, rows};
    return true;
}

static bool is_layout(const char *text)
{
    struct grid grid;
    return find(text) != NULL || parse_grid(text, &grid);
}

const struct value_type layout_type = {
    VALUE_TEXT,
    "a layout must be tiled, even-horizontal, even-vertical, main-horizontal, "
    "main-vertical, or COLUMNSxROWS such as 3x2",
    .sentence = true, .min = 1, .fits = is_layout};

size_t layout_capacity(const char *text)
{
    struct grid grid;
    return parse_grid(text, &grid) ? grid.columns * grid.rows : SIZE_MAX;
}

/* Returns the columns and rows in use for this many panes. */
static struct grid used(const char *text, size_t panes)
{
    const struct known_layout *layout = find(text);
    struct grid grid = {1, 1};

    if (layout != NULL)
        return layout->grid(panes);
    (void)parse_grid(text, &grid);
    if (panes == 0)
        panes = 1;
    size_t columns = panes < grid.columns ? panes : grid.columns;
    return (struct grid){columns, (panes + columns - 1) / columns};
}

bool layout_fits(const char *text, size_t panes, int columns, int rows)
{
    const struct known_layout *layout = find(text);
    struct grid grid = used(text, panes);
    size_t height = layout != NULL && grid.rows > 1 ? layout->height : 1;

    /* one line between two panes, and one in the first row for their titles */
    return 2 * grid.columns - 1 <= (size_t)columns &&
           (height + 1) * grid.rows - (height > 1) <= (size_t)rows;
}

/* Panes whose cells have a known width and height. */
struct cells {
    size_t columns; /* in a complete row */
    size_t count;
    int width, height;
    bool growing; /* the last pane has all the remaining space */
};

/* Returns the size of part `i` of `count` parts that share `total`, with a line between each
 * two. */
static int share(int total, size_t count, size_t i)
{
    int room = total - (int)count + 1;
    return room / (int)count + ((int)i < room % (int)count);
}

static int row_height(const struct cells *cells, size_t rows, size_t row)
{
    if (!cells->growing) /* the first row also has the titles */
        return share(cells->height - 1, rows, row) + (row == 0);
    if (row + 1 < rows)
        return row == 0 ? 2 : 1;
    return rows == 1 ? cells->height : cells->height - 2 * (int)rows + 1;
}

static int cell_width(const struct cells *cells, bool last_row, size_t count, size_t column)
{
    if (!cells->growing || !last_row)
        return share(cells->width, count, column);
    return column + 1 < count ? 1 : cells->width - 2 * (int)count + 2;
}

static void add_cells(struct str *to, const struct cells *cells)
{
    size_t rows = (cells->count + cells->columns - 1) / cells->columns;
    int y = 0;

    if (rows > 1)
        str_addf(to, "%dx%d,0,0[", cells->width, cells->height);
    for (size_t row = 0; row < rows; row++) {
        bool last = row + 1 == rows;
        size_t count = last ? cells->count - row * cells->columns : cells->columns;
        int height = row_height(cells, rows, row);
        int x = 0;
        str_add(to, row > 0 ? "," : "");
        if (count > 1)
            str_addf(to, "%dx%d,0,%d{", cells->width, height, y);
        for (size_t i = 0; i < count; i++) {
            int width = cell_width(cells, last, count, i);
            str_addf(to, "%s%dx%d,%d,%d,0", i > 0 ? "," : "", width, height, x, y);
            x += width + 1;
        }
        str_add(to, count > 1 ? "}" : "");
        y += height + 1;
    }
    str_add(to, rows > 1 ? "]" : "");
}

/* Appends the geometry, preceded by the checksum that tmux requires. */
static void add_geometry(struct str *to, const struct cells *cells)
{
    _cleanup_str_ struct str text = STR_INIT;
    unsigned sum = 0;

    add_cells(&text, cells);
    for (size_t i = 0; i < text.len; i++)
        sum = (((sum >> 1) + ((sum & 1) << 15)) + (unsigned char)text.data[i]) & 0xffff;
    str_addf(to, "'%04x,%s'", sum, str_text(&text));
}

void layout_add(struct str *to, const char *text, size_t panes, int columns, int rows)
{
    if (find(text) != NULL) {
        str_add(to, text);
        return;
    }
    add_geometry(to, &(struct cells){.columns = used(text, panes).columns,
                                     .count = panes,
                                     .width = columns,
                                     .height = rows});
}

bool layout_splits_right(const char *text, size_t panes, size_t pane)
{
    return pane % used(text, panes).columns != 0;
}

void layout_add_growing(struct str *to, const char *text, size_t panes, size_t have, int columns,
                        int rows)
{
    add_geometry(to, &(struct cells){.columns = used(text, panes).columns,
                                     .count = have,
                                     .width = columns,
                                     .height = rows,
                                     .growing = true});
}
