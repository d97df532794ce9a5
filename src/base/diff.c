/*
 * The lines that both texts have at the beginning and at the end are put aside; what is between
 * them goes through Myers' algorithm, or is replaced as a whole if that needs too many edits. The
 * result is a list of marked lines, whose middle is filled from its end since a path is walked
 * backwards. Hunks are cut out of that list.
 */

#include "base/diff.h"

enum {
    EDITS_MAX = 512, /* differing lines up to which the shortest diff is searched for */
    CONTEXT = 3,
};

struct diff_line {
    const char *text;
    size_t len; /* without the newline */
    bool ended; /* with a newline */
};

struct diff_lines {
    struct diff_line *line;
    size_t count;
};

/* One line of the result. */
struct result_line {
    char mark; /* ' ', '-', '+' */
    const struct diff_line *line;
};

struct diff {
    struct diff_lines before, after;
    size_t same; /* common lines at the beginning of both */
    size_t same_end; /* common lines at the end, beyond those */
    struct result_line *result;
    size_t count;
};

static struct diff_lines split(const char *text)
{
    struct diff_lines lines = {.count = 0};

    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        bool ended = text[len] == '\n';

        lines.line = mem_room(lines.line, lines.count, sizeof(*lines.line));
        lines.line[lines.count++] = (struct diff_line){.text = text, .len = len, .ended = ended};
        text += len + ended;
    }
    return lines;
}

static bool is_same(const struct diff_line *a, const struct diff_line *b)
{
    return a->len == b->len && a->ended == b->ended && memcmp(a->text, b->text, a->len) == 0;
}

static void trim(struct diff *d)
{
    size_t least = d->before.count < d->after.count ? d->before.count : d->after.count;

    while (d->same < least && is_same(&d->before.line[d->same], &d->after.line[d->same]))
        d->same++;
    while (d->same_end < least - d->same &&
           is_same(&d->before.line[d->before.count - 1 - d->same_end],
                   &d->after.line[d->after.count - 1 - d->same_end]))
        d->same_end++;
}

static void put(struct diff *d, char mark, const struct diff_line *line)
{
    d->result[d->count++] = (struct result_line){.mark = mark, .line = line};
}

static void put_all(struct diff *d, char mark, const struct diff_lines *lines, size_t from,
                    size_t to)
{
    for (size_t i = from; i < to; i++)
        put(d, mark, &lines->line[i]);
}

/*
 * Myers' algorithm: reach[k] is how far into `before` a path on diagonal k (place in before minus
 * place in after) gets with a given number of edits. All rows are kept to walk back.
 */
struct path {
    const struct diff_line *a, *b;
    int n, m;
    int *rows; /* EDITS_MAX + 1 rows of 2 * EDITS_MAX + 3 */
};

enum { ROW = 2 * EDITS_MAX + 3, MIDDLE = EDITS_MAX + 1 };

static bool comes_from_above(const int *reach, int k, int edits)
{
    return k == -edits || (k != edits && reach[k - 1] < reach[k + 1]);
}

/* Returns the number of edits, or -1 if there are too many. */
static int search(struct path *p)
{
    int limit = p->n + p->m < EDITS_MAX ? p->n + p->m : EDITS_MAX;

    for (int edits = 0; edits <= limit; edits++) {
        int *reach = p->rows + (size_t)edits * ROW + MIDDLE;
        const int *last = edits > 0 ? reach - ROW : reach;

        for (int k = -edits; k <= edits; k += 2) {
            int x = edits == 0                         ? 0
                    : comes_from_above(last, k, edits) ? last[k + 1]
                                                       : last[k - 1] + 1;

            while (x < p->n && x - k < p->m && x - k >= 0 && is_same(&p->a[x], &p->b[x - k]))
                x++;
            reach[k] = x;
            if (x >= p->n && x - k >= p->m)
                return edits;
        }
    }
    return -1;
}

/* Writes the lines from last to first, ending at result[*at]. */
static void walk_back(struct diff *d, const struct path *p, int edits, size_t *at)
{
    int x = p->n;
    int y = p->m;

    for (; edits >= 0; edits--) {
        const int *last = p->rows + (edits > 0 ? (size_t)edits - 1 : 0) * ROW + MIDDLE;
        int k = x - y;
        bool down = edits > 0 && comes_from_above(last, k, edits);
        int from = edits == 0 ? 0 : down ? last[k + 1] : last[k - 1] + 1;

        while (x > from) {
            d->result[--*at] = (struct result_line){.mark = ' ', .line = &p->a[--x]};
            y--;
        }
        if (edits == 0)
            return;
        if (down)
            d->result[--*at] = (struct result_line){.mark = '+', .line = &p->b[--y]};
        else
            d->result[--*at] = (struct result_line){.mark = '-', .line = &p->a[--x]};
    }
}

static void put_middle(struct diff *d)
{
    size_t n = d->before.count - d->same - d->same_end;
    size_t m = d->after.count - d->same - d->same_end;
    bool small = n < INT32_MAX / 4 && m < INT32_MAX / 4;
    struct path p = {.rows = NULL};
    int edits = -1;

    if (n > 0 && m > 0 && small) {
        p.a = d->before.line + d->same;
        p.b = d->after.line + d->same;
        p.n = (int)n;
        p.m = (int)m;
        p.rows = mem_grow(NULL, (size_t)(EDITS_MAX + 1) * ROW, sizeof(*p.rows));
        edits = search(&p);
    }
    if (edits == -1) {
        put_all(d, '-', &d->before, d->same, d->same + n);
        put_all(d, '+', &d->after, d->same, d->same + m);
    } else {
        size_t taken = (n + m - (size_t)edits) / 2; /* lines that both have in common */
        size_t at = d->count + n + m - taken;

        d->count = at;
        walk_back(d, &p, edits, &at);
    }
    free(p.rows);
}

static void show(struct str *to, const struct diff *d, size_t from, size_t end, const size_t at[2])
{
    size_t count[2] = {0, 0};

    for (size_t i = from; i < end; i++) {
        count[0] += d->result[i].mark != '+';
        count[1] += d->result[i].mark != '-';
    }
    str_addf(to, "@@ -%zu,%zu +%zu,%zu @@\n", at[0] + (count[0] > 0), count[0],
             at[1] + (count[1] > 0), count[1]);
    for (size_t i = from; i < end; i++) {
        str_addc(to, d->result[i].mark);
        str_addn(to, d->result[i].line->text, d->result[i].line->len);
        str_add(to, d->result[i].line->ended ? "\n" : "\n\\ No newline at end of file\n");
    }
}

/* Returns the first change at or after `from`. */
static size_t next_change(const struct diff *d, size_t from)
{
    while (from < d->count && d->result[from].mark == ' ')
        from++;
    return from;
}

static void show_hunks(struct str *to, const struct diff *d)
{
    size_t at[2] = {0, 0}; /* lines of each text before `done` */
    size_t done = 0;
    size_t change = next_change(d, 0);

    while (change < d->count) {
        size_t from = change - done > CONTEXT ? change - CONTEXT : done;
        size_t end;

        for (;;) { /* nearby changes belong to the same hunk */
            while (change < d->count && d->result[change].mark != ' ')
                change++;
            end = change;
            change = next_change(d, end);
            if (change == d->count || change - end > 2 * CONTEXT)
                break;
        }
        end = d->count - end > CONTEXT ? end + CONTEXT : d->count;
        at[0] += from - done;
        at[1] += from - done;
        show(to, d, from, end, at);
        for (size_t i = from; i < end; i++) {
            at[0] += d->result[i].mark != '+';
            at[1] += d->result[i].mark != '-';
        }
        done = end;
    }
}

void diff_unified(struct str *to, const char *before, const char *after)
{
    struct diff d = {.before = split(before), .after = split(after)};

    trim(&d);
    d.result = mem_grow(NULL, d.before.count + d.after.count + 1, sizeof(*d.result));
    put_all(&d, ' ', &d.before, 0, d.same);
    put_middle(&d);
    put_all(&d, ' ', &d.before, d.before.count - d.same_end, d.before.count);
    show_hunks(to, &d);
    free(d.result);
    free(d.before.line);
    free(d.after.line);
}
