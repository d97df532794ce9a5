/*
 * Draws the screen from struct top, all of it each time: the head, the list with its preview, or a
 * question, or the help, and the line at the bottom. What depends on the room is decided here, too:
 * from where the list is shown, which agents get tails and, in top->asked, which question a person
 * has seen, so that input.c may answer it.
 */
#include "base/time.h"
#include "base/wrap.h"
#include "top/canvas.h"
#include "top/list.h"
#include "top/table.h"
#include "top/tail.h"
#include "top/top.h"

/* ---- the chosen agent, below the list or beside it: what it asks, with the choices, or what it
 * prints or says */

enum { MARGIN = 1, DETAIL_MIN = 1 };

static void draw_title(struct canvas *canvas, size_t y, const struct top_agent *agent,
                       int64_t now_ms)
{
    _cleanup_str_ struct str what = STR_INIT;
    enum paint paint;
    const char *state = list_state(agent, &paint);

    canvas_line(canvas, y, PAINT_DIM, canvas->row[y].used + 2);
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

/* Returns the columns for text in a row that is free. */
static int text_room(const struct canvas *canvas, size_t y)
{
    return (int)canvas_left(canvas, y) - 2 * MARGIN;
}

/* Returns the rows that a line takes in so many columns. */
static size_t rows_of(const char *text, int columns)
{
    size_t len = strlen(text), rows = 0;

    for (size_t at = 0, next; columns > 1 && (rows == 0 || at < len); at += next, rows++)
        (void)wrap_row(text + at, len - at, columns, &next);
    return rows;
}

/* Draws the rows of a line from `skip` on. Returns the next free row. */
static size_t draw_line(struct canvas *canvas, size_t y, size_t end, enum paint paint,
                        const char *text, size_t skip)
{
    int columns = text_room(canvas, y);
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
        used += rows_of(tail->lines[--first].text, text_room(canvas, y));
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

static void draw_choice(struct canvas *canvas, size_t y, size_t number, const struct word *option)
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

/* Draws into the rows from `y` up to `end`. Returns true if a permission is there with all of its
 * choices, so that a key may answer it. */
static bool preview_draw(struct canvas *canvas, size_t y, size_t end, const struct top_agent *agent,
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

/* ---- the whole */

enum {
    HEADS_FROM = 9, /* rows of a screen with headings of columns */
    FOOT_FROM = 3, /* with a line at the bottom */
    PREVIEW_FROM = 16, /* with a preview below the list */
    BESIDE_FROM = 120, /* columns of a screen with a preview beside the list, */
    LIST_TWENTIETHS = 11, /* which has so much of them */
};

void top_say(struct top *top, bool is_error, const char *fmt, ...)
{
    va_list args;
    char *text = NULL;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) == -1)
        mem_fail();
    va_end(args);
    free(top->message);
    top->message = text[0] != '\0' ? text : NULL;
    if (text[0] == '\0')
        free(text);
    top->is_error = is_error;
    top->changed = true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void add_total(struct canvas *canvas, enum paint paint, const char *sign, size_t count,
                      const char *word)
{
    canvas_add(canvas, 0, PAINT_PLAIN, "  ");
    canvas_addf(canvas, 0, count > 0 ? paint : PAINT_DIM, "%s%zu %s", sign, count, word);
}

/* The window of a provider of which most is used. */
static void add_quota(const struct top_feed *feed, struct canvas *canvas)
{
    enum { FULL = 80 };
    char text[TEAM_WORD_MAX + QUOTA_NAME + 16];
    int len = snprintf(text, sizeof text, "  %s %s %d %%", feed->quota_of, feed->quota.name,
                       feed->quota.percent);

    if (feed->quota_of[0] != '\0' && canvas_left(canvas, 0) > (size_t)len)
        canvas_add(canvas, 0, feed->quota.percent < FULL ? PAINT_DIM : PAINT_NEEDED, text);
}

static void draw_header(struct top *top)
{
    static const struct {
        const char *sign, *plain, *word, *brief;
        enum paint paint;
    } totals[ATTENTION_COUNT] = {
        [ATTENTION_NEEDED] = {"\u25CF ", "!", "need you", "need", PAINT_NEEDED},
        [ATTENTION_FAILED] = {"\u2717 ", "x", "failed", "fail", PAINT_BAD},
        [ATTENTION_WORKING] = {"\u25B8 ", ">", "working", "work", PAINT_WORKING},
        [ATTENTION_DONE] = {"\u2713 ", "*", "done", "done", PAINT_DONE},
        [ATTENTION_IDLE] = {"\u00B7 ", ".", "idle", "idle", PAINT_PLAIN},
    };
    struct canvas *canvas = &top->canvas;
    bool wide = canvas->columns >= 64;
    char clock[16] = "";
    time_t now = time(NULL);
    struct tm parts;

    canvas_add(canvas, 0, PAINT_BOLD, " mas top");
    if (canvas->columns >= 76)
        canvas_addf(canvas, 0, PAINT_DIM, " %.24s", base_name(top->feed.root.path));
    for (size_t i = 0; i < ATTENTION_COUNT; i++) {
        if (i == ATTENTION_FAILED && top->rows.totals[i] == 0)
            continue; /* so that a narrow screen has room for the others */
        add_total(canvas, totals[i].paint,
                  !wide             ? ""
                  : canvas->unicode ? totals[i].sign
                                    : totals[i].plain,
                  top->rows.totals[i], wide ? totals[i].word : totals[i].brief);
    }
    add_quota(&top->feed, canvas);
    if (localtime_r(&now, &parts) == NULL ||
        strftime(clock, sizeof clock, "%H:%M:%S ", &parts) == 0)
        return;
    if (canvas_left(canvas, 0) > strlen(clock) + 1) {
        canvas_pad(canvas, 0, canvas->columns - strlen(clock));
        canvas_add(canvas, 0, PAINT_DIM, clock);
    }
}

/* ---- the line at the bottom */

static void add_key(struct canvas *canvas, size_t y, const char *key, const char *word)
{
    if (canvas_left(canvas, y) < strlen(key) + strlen(word) + 3)
        return;
    canvas_add(canvas, y, PAINT_PLAIN, canvas->row[y].used > 1 ? "  " : "");
    canvas_add(canvas, y, PAINT_KEY, key);
    canvas_addf(canvas, y, PAINT_DIM, " %s", word);
}

static void draw_keys(struct top *top, size_t y)
{
    const struct top_row *row = rows_chosen(&top->rows);

    canvas_add(&top->canvas, y, PAINT_PLAIN, " ");
    for (const struct top_key *key = top->keys; key->act != NULL; key++)
        if (key->word != NULL && (key->fits == NULL || (row != NULL && key->fits(row))))
            add_key(&top->canvas, y, key->name, key->word);
}

static void draw_answers(struct top *top, size_t y)
{
    struct canvas *canvas = &top->canvas;

    canvas_add(canvas, y, PAINT_PLAIN, " ");
    add_key(canvas, y, "a", "allow");
    add_key(canvas, y, "d", "deny");
    add_key(canvas, y, "1-9", "choose");
    add_key(canvas, y, "Esc", "back");
}

static void draw_state(struct top *top, size_t y)
{
    struct canvas *canvas = &top->canvas;

    if (top->message != NULL)
        canvas_addf(canvas, y, top->is_error ? PAINT_BAD : PAINT_PLAIN, " %s", top->message);
    else if (top->feed.problem != NULL)
        canvas_addf(canvas, y, PAINT_BAD, " %s", top->feed.problem);
    else if (top->rows.filter != NULL)
        canvas_addf(canvas, y, PAINT_NEEDED, " filter: %s (%zu hidden; / and Enter shows all)",
                    top->rows.filter, top->rows.hidden);
    else if (top->feed.in_turns > 0)
        canvas_addf(canvas, y, PAINT_NEEDED,
                    " %zu agents are asked in turns, because they cannot be watched",
                    top->feed.in_turns);
    else
        draw_keys(top, y);
}

static void draw_footer(struct top *top, size_t y)
{
    struct canvas *canvas = &top->canvas;

    switch (top->mode) {
    case MODE_FILTER:
        canvas_add(canvas, y, PAINT_KEY, " / ");
        editor_draw(&top->editor, canvas, y);
        break;
    case MODE_TYPE:
        canvas_addf(canvas, y, PAINT_KEY, " %s", top->question);
        editor_draw(&top->editor, canvas, y);
        break;
    case MODE_SURE:
        canvas_addf(canvas, y, PAINT_BAD, " %s", top->question);
        break;
    case MODE_ASK:
        draw_answers(top, y);
        break;
    case MODE_HELP:
        canvas_add(canvas, y, PAINT_DIM, " any key goes back");
        break;
    case MODE_LIST:
        draw_state(top, y);
        break;
    }
}

/* ---- help */

static void draw_help(struct top *top, size_t from, size_t to)
{
    static const struct {
        const char *keys, *what;
    } lines[] = {
        {"Up Down j k", "choose an agent; PgUp PgDn g G: further"},
        {"Enter", "go to its pane"},
        {"a  d  1-9", "allow, deny, or answer with a choice"},
        {"r", "try again what has failed"},
        {"s", "send it a message"},
        {"l  h  v", "its log, its history, what it has changed"},
        {"T", "try its files in your checkout, or take them out again"},
        {"n  +  f", "begin a session, add an agent, fork this one"},
        {"x", "stop its session, or end and forget what has failed there"},
        {"Tab Space", "fold or unfold a group"},
        {"t", "group by team, or by what agents do"},
        {"/", "show only agents that match all words"},
        {"p", "show what the chosen agent prints, or not"},
        {"Ctrl-L", "draw the screen again"},
        {"q", "quit"},
    };
    struct canvas *canvas = &top->canvas;

    for (size_t i = 0; i < ARRAY_LEN(lines) && from < to; i++, from++) {
        canvas_add(canvas, from, PAINT_PLAIN, " ");
        canvas_cell(canvas, from, PAINT_KEY, lines[i].keys, 12, false);
        canvas_addf(canvas, from, PAINT_PLAIN, " %s", lines[i].what);
    }
}

/* ---- the list */

/* Scrolls so that the chosen row is on the screen, with the head of its group if there is room. */
static void scroll(struct top *top, size_t room)
{
    struct rows *rows = &top->rows;
    size_t wanted = rows->chosen;

    if (wanted > 0 && room > 2 && rows->list[wanted - 1].kind == ROW_HEAD)
        wanted--;
    if (top->first + room > rows->count)
        top->first = rows->count > room ? rows->count - room : 0;
    if (top->first > wanted)
        top->first = wanted;
    if (room > 0 && rows->chosen >= top->first + room)
        top->first = rows->chosen - room + 1;
}

static void draw_empty(struct top *top, size_t y)
{
    struct canvas *canvas = &top->canvas;
    _cleanup_str_ struct str text = STR_INIT;

    if (top->rows.filter != NULL)
        str_add(&text, " no agent matches the filter");
    else if (top->feed.stopped > 0)
        err_add_commands(&text, " no session runs (%zu stopped: mas list)", top->feed.stopped);
    else
        err_add_commands(&text, " there is no session; begin with: mas new");
    canvas_add(canvas, y, PAINT_DIM, text.data);
}

static void draw_list(struct top *top, size_t from, size_t to)
{
    struct canvas *canvas = &top->canvas;
    bool heads = canvas->rows >= HEADS_FROM;

    top->list_y = from + heads;
    top->list_rows = to > top->list_y ? to - top->list_y : 0;
    scroll(top, top->list_rows);
    if (top->rows.count == 0) {
        if (to > from)
            draw_empty(top, from);
        return;
    }
    const struct list_place place = {.y = from, .end = to, .first = top->first, .heads = heads};
    list_draw(canvas, &top->rows, &place, time_epoch_ms());
}

/* ---- the parts of the screen */

/* Tells tails.c which agents are on the screen. */
static void show_tails(struct top *top, const struct top_agent *chosen)
{
    struct top_agent **agents = mem_alloc((top->list_rows + 1) * sizeof *agents);
    size_t count = 0;

    for (size_t i = top->first; i < top->rows.count && i < top->first + top->list_rows; i++)
        if (top->rows.list[i].agent != NULL)
            agents[count++] = top->rows.list[i].agent;
    tails_show(&top->tails, agents, count, (struct top_agent *)(uintptr_t)chosen);
    free(agents);
}

/* The preview takes up to two fifths of the rows, and more if the list is short. */
static size_t preview_rows(const struct top *top, size_t body)
{
    size_t least = body * 2 / 5;
    size_t list = top->rows.count + 1 < body ? top->rows.count + 1 : body;

    if (!top->preview || top->canvas.rows < PREVIEW_FROM)
        return 0;
    return body - list > least ? body - list : least;
}

static void draw_preview(struct top *top, size_t from, size_t to, const struct top_agent *agent)
{
    if (preview_draw(&top->canvas, from, to, agent, time_epoch_ms()))
        top->asked = mem_dup(tail_permission(agent->tail)->id);
}

/* Draws the list on the left, and a line behind it. */
static void draw_list_beside(struct top *top, size_t from, size_t to)
{
    struct canvas *canvas = &top->canvas;
    size_t all = canvas->columns, columns = all * LIST_TWENTIETHS / 20;

    canvas->columns = columns;
    draw_list(top, from, to);
    canvas->columns = all;
    canvas_split(canvas, from, to, columns + 1);
}

static void draw_body(struct top *top, size_t from, size_t to)
{
    const struct top_row *row = rows_chosen(&top->rows);
    const struct top_agent *chosen = row != NULL ? row->agent : NULL;
    bool beside = top->preview && top->canvas.columns >= BESIDE_FROM;
    size_t split = beside ? from : to - preview_rows(top, to - from);

    free(top->asked);
    top->asked = NULL;
    if (top->mode == MODE_ASK && (chosen == NULL || chosen->status.state != AGENT_WAITING))
        top->mode = MODE_LIST;
    if (top->mode == MODE_ASK) {
        draw_preview(top, from, to, chosen);
        return;
    }
    if (beside)
        draw_list_beside(top, from, to);
    else
        draw_list(top, from, split);
    row = rows_chosen(&top->rows);
    if (split < to && row != NULL && row->agent != NULL)
        draw_preview(top, split, to, row->agent);
    show_tails(top, row != NULL ? row->agent : NULL);
}

void view_top(struct top *top)
{
    struct canvas *canvas = &top->canvas;
    size_t rows, columns;

    screen_size(&rows, &columns);
    canvas_reset(canvas, rows, columns);
    rows_build(&top->rows, &top->table);
    draw_header(top);
    size_t end = rows >= FOOT_FROM ? rows - 1 : rows;
    if (top->mode == MODE_HELP)
        draw_help(top, rows > 1, end);
    else
        draw_body(top, rows > 1, end);
    if (end < rows)
        draw_footer(top, end);
    screen_show(canvas);
}
