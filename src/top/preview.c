#include "top/preview.h"

#include "base/wrap.h"
#include "top/list.h"
#include "top/tail.h"

enum { MARGIN = 1, DETAIL_MIN = 1 };

static void draw_title(struct canvas *canvas, size_t y, const struct top_agent *agent,
                       int64_t now_ms)
{
    _cleanup_str_ struct str what = STR_INIT;
    enum paint paint;
    const char *state = list_state(agent, &paint);

    canvas_line(canvas, y, PAINT_DIM, 2);
    canvas_addf(canvas, y, PAINT_BOLD, " %s/%s", agent->team->name, agent->id);
    if (agent->role[0] != '\0' && strcmp(agent->role, agent->id) != 0)
        canvas_addf(canvas, y, PAINT_DIM, " %s", agent->role);
    canvas_addf(canvas, y, paint, " %s ", state);
    list_add_what(agent, false, now_ms, &what);
    if (tail_permission(agent->tail) == NULL && what.len > 0)
        canvas_addf(canvas, y, PAINT_DIM, "%s ", what.data);
    canvas_line(canvas, y, PAINT_DIM, canvas->columns);
}

/* ---- what it prints */

/* Returns the rows that a line takes. */
static size_t rows_of(const struct canvas *canvas, const char *text)
{
    int columns = (int)canvas->columns - 2 * MARGIN;
    size_t len = strlen(text), rows = 0;

    for (size_t at = 0, next; columns > 1 && (rows == 0 || at < len); at += next, rows++)
        (void)wrap_row(text + at, len - at, columns, &next);
    return rows;
}

/* Draws the rows of a line from `skip` on. Returns the next free row. */
static size_t draw_line(struct canvas *canvas, size_t y, size_t end, enum paint paint,
                        const char *text, size_t skip)
{
    int columns = (int)canvas->columns - 2 * MARGIN;
    size_t len = strlen(text), row = 0;

    for (size_t at = 0, next; columns > 1 && y < end && (row == 0 || at < len); at += next, row++) {
        size_t n = wrap_row(text + at, len - at, columns, &next);
        if (row < skip)
            continue;
        _cleanup_free_ char *part = mem_dupn(text + at, n);
        canvas_add(canvas, y, PAINT_PLAIN, " ");
        canvas_add(canvas, y++, paint, part);
    }
    return y;
}

static void draw_tail(struct canvas *canvas, size_t y, size_t end, const struct agent_tail *tail)
{
    size_t room = end - y, used = 0, first = tail->count, skip = 0;

    while (first > 0 && used < room)
        used += rows_of(canvas, tail->lines[--first].text);
    if (used > room)
        skip = used - room;
    for (size_t i = first; i < tail->count && y < end; i++, skip = 0)
        y = draw_line(canvas, y, end, tail->lines[i].paint, tail->lines[i].text, skip);
}

/* ---- what it asks */

static enum paint paint_of_detail(const char *line)
{
    return line[0] == '+' && line[1] != '+'   ? PAINT_ADDED
           : line[0] == '-' && line[1] != '-' ? PAINT_REMOVED
                                              : PAINT_PLAIN;
}

static size_t draw_details(struct canvas *canvas, size_t y, size_t end, const char *text)
{
    while (y < end && *text != '\0') {
        size_t len = strcspn(text, "\n");
        _cleanup_free_ char *line = mem_dupn(text, len);
        y = draw_line(canvas, y, end, paint_of_detail(line), line, 0);
        text += len + (text[len] == '\n');
    }
    if (y == end && *text != '\0') /* the last row says that there is more */
        canvas_add(canvas, end - 1, PAINT_DIM, canvas->unicode ? " \u2026" : " ...");
    return y;
}

static void draw_choice(struct canvas *canvas, size_t y, size_t number,
                        const struct acp_word *option)
{
    bool allows = str_starts(option->kind, "allow") || strcmp(option->id, "clear") == 0;

    canvas_addf(canvas, y, PAINT_KEY, " %zu ", number);
    canvas_add(canvas, y, allows ? PAINT_ADDED : PAINT_REMOVED, option->name);
}

/* The choices come last and in full; details get the rows that are left. */
static bool draw_permission(struct canvas *canvas, size_t y, size_t end,
                            const struct top_agent *agent)
{
    const struct host_permission *permission = tail_permission(agent->tail);
    size_t choices = permission->options.count;
    const char *title = permission->title != NULL ? permission->title : "a permission";

    if (y + 1 + choices > end)
        return false;
    canvas_addf(canvas, y++, PAINT_NEEDED, " %s", title);
    if (permission->body != NULL && y + choices + DETAIL_MIN <= end)
        y = draw_details(canvas, y, end - choices, permission->body);
    for (size_t i = 0; i < choices; i++)
        draw_choice(canvas, y++, i + 1, &permission->options.word[i]);
    return true;
}

bool preview_draw(struct canvas *canvas, size_t y, size_t end, const struct top_agent *agent,
                  int64_t now_ms)
{
    if (y >= end)
        return false;
    draw_title(canvas, y++, agent, now_ms);
    if (agent->tail == NULL)
        return false;
    if (tail_permission(agent->tail) != NULL && agent->status.state == AGENT_WAITING)
        return draw_permission(canvas, y, end, agent);
    draw_tail(canvas, y, end, agent->tail);
    return false;
}
