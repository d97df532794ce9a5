#include "unit.h"

#include "model/team/layout.h"

TEST(layouts_are_names_or_grids)
{
    static const struct {
        const char *text;
        size_t capacity; /* 0: it is none */
    } cases[] = {
        {"tiled", SIZE_MAX},
        {"even-horizontal", SIZE_MAX},
        {"even-vertical", SIZE_MAX},
        {"main-horizontal", SIZE_MAX},
        {"main-vertical", SIZE_MAX},
        {"3x2", 6},
        {"1x1", 1},
        {"64x64", 4096},
        {"03x2", 6},
        {"", 0},
        {"Tiled", 0},
        {"tiled ", 0},
        {"0x2", 0},
        {"2x0", 0},
        {"65x2", 0},
        {"2x65", 0},
        {"3", 0},
        {"3x", 0},
        {"x3", 0},
        {"3x2x1", 0},
        {"3X2", 0},
        {" 3x2", 0},
        {"3x-2", 0},
        {"0003x2", 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool good = value_parse(&layout_type, cases[i].text, NULL, 0) == NULL;
        if (!CHECK_INT(good, cases[i].capacity != 0))
            unit_print_str("layout", cases[i].text);
        if (good)
            CHECK(layout_capacity(cases[i].text) == cases[i].capacity);
    }
}

/* The smallest window in which a number of panes fits: one column or row less does not do. */
TEST(panes_fit_into_windows_of_a_size)
{
    static const struct {
        const char *layout;
        size_t panes;
        int columns, rows;
    } cases[] = {
        {"tiled", 1, 1, 2},
        {"tiled", 2, 1, 5},
        {"tiled", 3, 3, 5},
        {"tiled", 4, 3, 5},
        {"tiled", 5, 3, 8},
        {"tiled", 7, 5, 8},
        {"even-horizontal", 1, 1, 2},
        {"even-horizontal", 4, 7, 2},
        {"even-vertical", 1, 1, 2},
        {"even-vertical", 4, 1, 8},
        {"main-horizontal", 1, 1, 2},
        {"main-horizontal", 4, 5, 4},
        {"main-vertical", 1, 1, 2},
        {"main-vertical", 4, 3, 6},
        {"3x2", 1, 1, 2},
        {"3x2", 2, 3, 2},
        {"3x2", 3, 5, 2},
        {"3x2", 4, 5, 4},
        {"3x2", 6, 5, 4},
        {"1x5", 3, 1, 6},
        {"5x1", 3, 5, 2},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *layout = cases[i].layout;
        size_t panes = cases[i].panes;
        int columns = cases[i].columns, rows = cases[i].rows;
        if (!CHECK(layout_fits(layout, panes, columns, rows)) ||
            !CHECK(!layout_fits(layout, panes, columns - 1, rows)) ||
            !CHECK(!layout_fits(layout, panes, columns, rows - 1)))
            printf("# %s with %zu panes\n", layout, panes);
    }
}

/* Checks a geometry as tmux does: its sum, and that the parts of each cell fill it. */
static const char *cell(const char *at, int width, int height, int x, int y, size_t *panes)
{
    int w, h, cx, cy, n;

    if (!CHECK(sscanf(at, "%dx%d,%d,%d%n", &w, &h, &cx, &cy, &n) == 4))
        return NULL;
    CHECK((width == -1 || w == width) && (height == -1 || h == height) && cx == x && cy == y);
    CHECK(w > 0 && h > 0);
    at += n;
    if (*at != '{' && *at != '[') {
        ++*panes;
        CHECK(at[0] == ',' && at[1] == '0');
        return at + 2;
    }
    bool beside = *at == '{';
    int used = 0;
    do {
        int part_w = 0, part_h = 0;
        at++;
        if (!CHECK(sscanf(at, "%dx%d", &part_w, &part_h) == 2))
            return NULL;
        at = cell(at, beside ? -1 : w, beside ? h : -1, beside ? x + used : x,
                  beside ? y : y + used, panes);
        used += (beside ? part_w : part_h) + 1;
    } while (at != NULL && *at == ',');
    CHECK_INT(used - 1, beside ? w : h);
    CHECK(at != NULL && *at == (beside ? '}' : ']'));
    return at != NULL ? at + 1 : NULL;
}

static void check_geometry(const char *text, int columns, int rows, size_t panes)
{
    unsigned sum = 0, want = 0;
    size_t count = 0;
    char first[16];

    if (!CHECK(sscanf(text, "'%4x,", &want) == 1 && str_ends(text, "'")))
        return;
    for (const char *p = text + 6; *p != '\''; p++)
        sum = ((sum >> 1) + ((sum & 1) << 15) + (unsigned char)*p) & 0xffff;
    (void)snprintf(first, sizeof first, "%04x", sum);
    CHECK(strncmp(text + 1, first, 4) == 0);
    const char *end = cell(text + 6, columns, rows, 0, 0, &count);
    CHECK_STR(end, "'");
    if (!CHECK_INT(count, panes))
        printf("# %s\n", text);
}

/* Each number of panes, complete and after each split, in the smallest window and in odd ones. */
TEST(grids_fill_their_window)
{
    static const char *const grids[] = {"1x1", "3x2", "1x5", "5x1", "4x3"};
    static const struct {
        int columns, rows;
    } sizes[] = {{0, 0}, {80, 24}, {83, 29}};

    for (size_t i = 0; i < ARRAY_LEN(grids); i++)
        for (size_t panes = 1; panes <= layout_capacity(grids[i]); panes++)
            for (size_t j = 0; j < ARRAY_LEN(sizes); j++) {
                int columns = sizes[j].columns, rows = sizes[j].rows;
                while (!layout_fits(grids[i], panes, columns, 99))
                    columns++;
                while (!layout_fits(grids[i], panes, columns, rows))
                    rows++;
                _cleanup_str_ struct str all = STR_INIT;
                layout_add(&all, grids[i], panes, columns, rows);
                check_geometry(all.data, columns, rows, panes);
                for (size_t have = 1; have <= panes; have++) {
                    _cleanup_str_ struct str some = STR_INIT;
                    layout_add_growing(&some, grids[i], panes, have, columns, rows);
                    check_geometry(some.data, columns, rows, have);
                }
            }
}

TEST(a_geometry_is_what_tmux_takes)
{
    static const struct {
        const char *layout;
        size_t panes, have; /* 0: complete */
        const char *want;
    } cases[] = {
        {"tiled", 4, 0, "tiled"},
        {"2x2", 1, 0, "20x9,0,0,0"},
        {"2x2", 2, 0, "20x9,0,0{10x9,0,0,0,9x9,11,0,0}"},
        {"2x2", 3, 0, "20x9,0,0[20x5,0,0{10x5,0,0,0,9x5,11,0,0},20x3,0,6,0]"},
        {"2x2", 4, 3, "20x9,0,0[20x2,0,0{10x2,0,0,0,9x2,11,0,0},20x6,0,3,0]"},
        {"2x2", 4, 2, "20x9,0,0{1x9,0,0,0,18x9,2,0,0}"},
        {"tiled", 3, 2, "20x9,0,0{1x9,0,0,0,18x9,2,0,0}"},
        {"1x3", 3, 0, "20x9,0,0[20x3,0,0,0,20x2,0,4,0,20x2,0,7,0]"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        if (cases[i].have == 0)
            layout_add(&text, cases[i].layout, cases[i].panes, 20, 9);
        else
            layout_add_growing(&text, cases[i].layout, cases[i].panes, cases[i].have, 20, 9);
        _cleanup_free_ char *want = mem_printf("%s'", cases[i].want);
        CHECK_STR(text.data[0] == '\'' ? text.data + 6 : text.data,
                  text.data[0] == '\'' ? want : cases[i].want);
    }
}

TEST(a_pane_that_begins_a_row_is_split_off_downwards)
{
    static const struct {
        const char *layout, *right; /* of each pane but the first: r or d */
    } cases[] = {{"even-horizontal", "rrr"},
                 {"even-vertical", "ddd"},
                 {"3x2", "rrdrr"},
                 {"1x4", "ddd"},
                 {"4x1", "rrr"},
                 {"main-horizontal", "rrd"},
                 {"main-vertical", "rdr"},
                 {"tiled", "rdrd"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t pane = 1; pane <= strlen(cases[i].right); pane++)
            if (!CHECK_INT(layout_splits_right(cases[i].layout, strlen(cases[i].right) + 1, pane),
                           cases[i].right[pane - 1] == 'r'))
                printf("# %s, pane %zu\n", cases[i].layout, pane);
}
