/*
 * add_cell() makes the text of each cell, for measuring and for drawing, so that these cannot
 * differ. The rows that are visible are measured; if all columns do not fit, the last line moves
 * into the column AT, then columns go in the order of spare[], and what is left widens the two
 * flexible ones. The list_add_*() functions are for other parts of the screen as well.
 */

#include "top/list.h"

#include "base/number.h"
#include "base/time.h"
#include "top/tail.h"
#include "top/text.h"

enum { MARK = 2, GAP = 1, FLEX_MIN = 10, WHO_MAX = 28 };

enum list_column {
    COLUMN_WHO,
    COLUMN_STATE,
    COLUMN_FOR,
    COLUMN_WHAT,
    COLUMN_CONTEXT,
    COLUMN_COST,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_CODE,
    COLUMN_BRANCH,
    COLUMN_ROLE,
    COLUMN_PORT,
    COLUMN_LAST,
    COLUMN_COUNT
};

/* ---- the cells */

static void add_who(const struct top_row *row, const struct rows *rows, struct str *to)
{
    const char *id = row->entry != NULL   ? row->entry->agent
                     : row->agent != NULL ? row->agent->id
                                          : "";

    if (row->kind == ROW_TEAM)
        str_add(to, row->team->name);
    else if (rows->by_team)
        str_add(to, id);
    else
        str_addf(to, "%s/%s", row->team->name, id);
}

const char *list_state(const struct top_agent *agent, enum paint *ret)
{
    static const enum paint paints[AGENT_STATE_COUNT] = {
        [AGENT_ASLEEP] = PAINT_DIM,      [AGENT_STARTING] = PAINT_WORKING,
        [AGENT_WORKING] = PAINT_WORKING, [AGENT_IDLE] = PAINT_PLAIN,
        [AGENT_WAITING] = PAINT_NEEDED,  [AGENT_LIMITED] = PAINT_HELD,
        [AGENT_PAUSED] = PAINT_HELD,     [AGENT_EXITED] = PAINT_DIM,
        [AGENT_CRASHED] = PAINT_BAD,
    };
    enum attention class = attention_of(&agent->status);
    bool is_done = class == ATTENTION_DONE;

    *ret = class == ATTENTION_FAILED ? PAINT_BAD
           : is_done                 ? PAINT_DONE
                                     : paints[agent->status.state];
    if (class == ATTENTION_FAILED)
        return turn_outcome_name(agent->status.turn);
    return is_done && agent->status.state == AGENT_IDLE ? "done" : top_agent_word(agent);
}

/* Writes how much of its context an agent has used, "" if that is unknown. */
static void list_add_context(const struct top_agent *agent, struct str *to)
{
    int percent = agent->told ? agent_usage_percent(&agent->status.usage) : -1;

    if (percent >= 0)
        str_addf(to, "%d%%", percent);
}

static void add_cost(const struct top_agent *agent, struct str *to)
{
    const struct money *cost = &agent->status.usage.cost;
    char text[MONEY_TEXT];

    if (!agent->told || cost->currency[0] == '\0')
        return;
    money_format(cost, text);
    str_add(to, text);
}

/* Appends what its processes use: the CPU time, or the memory. */
static void add_resource(const struct top_agent *agent, bool is_cpu, struct str *to)
{
    char cpu[AGENT_CPU_TEXT];
    char memory[NUMBER_SIZE_TEXT];

    if (!agent->told)
        return;
    agent_resources_format(&agent->status.resources, cpu, memory);
    str_add(to, is_cpu ? cpu : memory);
}

/* Writes what its branch and its work tree hold: "+2 ~3". */
static void list_add_code(const struct top_agent *agent, struct str *to)
{
    const struct code_figures *code = &agent->status.code;

    if (!agent->told || code->looked_ms == 0)
        return;
    if (code->problem[0] != '\0')
        str_addc(to, '?');
    else
        code_figures_format(code->ahead, code->behind, code->changed, to);
}

static void add_branch(const struct top_agent *agent, struct str *to)
{
    if (agent->told && agent->status.code.looked_ms != 0)
        str_add(to, agent->status.code.branch);
}

static void separate(struct str *to, size_t start)
{
    str_add(to, to->len > start ? ", " : "");
}

static void add_wait(struct str *to, const char *word, int64_t until_ms, int64_t now_ms)
{
    int64_t left = until_ms > now_ms ? (until_ms - now_ms + 999) / 1000 : 0;

    if (left < 120)
        str_addf(to, "%s %llds", word, (long long)left);
    else
        str_addf(to, "%s %lldm", word, (long long)left / 60);
}

static void add_end(const struct agent_status *status, int64_t now_ms, struct str *to)
{
    if (status->signal != 0)
        str_addf(to, "signal %d (%s)", status->signal, strsignal(status->signal));
    else if (status->exit_code != -1)
        str_addf(to, "code %d", status->exit_code);
    if (status->restart_ms != 0) {
        str_add(to, to->len > 0 ? ", " : "");
        add_wait(to, "starts again in", status->restart_ms, now_ms);
    }
}

static void add_untold(const struct top_agent *agent, struct str *to)
{
    if (agent->link == LINK_ABSENT)
        str_addf(to, "mas restart %s %s", agent->team->name, agent->id);
    else if (agent->problem != NULL)
        str_add(to, agent->problem);
}

void list_add_what(const struct top_agent *agent, bool or_last, int64_t now_ms, struct str *to)
{
    const struct agent_status *status = &agent->status;
    size_t start = to->len;

    if (!agent->told) {
        add_untold(agent, to);
        return;
    }
    if (status->state == AGENT_EXITED || status->state == AGENT_CRASHED)
        add_end(status, now_ms, to);
    if (status->state == AGENT_LIMITED && status->until_ms != 0)
        add_wait(to, "until in", status->until_ms, now_ms);
    else if (status->state == AGENT_LIMITED && status->retry_ms != 0)
        add_wait(to, "retry in", status->retry_ms, now_ms);
    if (status->queued > 0) {
        separate(to, start);
        str_addf(to, "%d queued", status->queued);
    }
    if (status->memory[0] != '\0') {
        separate(to, start);
        str_addf(to, "memory: %s", status->memory);
    }
    _cleanup_str_ struct str turn = STR_INIT;
    agent_turn_add(status, &turn);
    if (turn.len > 0) {
        separate(to, start);
        str_add(to, turn.data);
    }
    const char *tool = tail_tool(agent->tail);
    const char *last = tail_last(agent->tail);
    const char *words = status->asks[0] != '\0'           ? status->asks
                        : status->note[0] != '\0'         ? status->note
                        : tool != NULL                    ? tool
                        : status->code.problem[0] != '\0' ? status->code.problem
                        : or_last && last[0] != '\0'      ? last
                                                          : status->title;
    if (words[0] != '\0' && strstr(str_text(&turn), words) == NULL) {
        separate(to, start);
        str_add(to, words);
    }
}

static void add_age(const struct top_agent *agent, int64_t now_ms, struct str *to)
{
    int64_t since = attention_since(&agent->status);
    char age[24];

    if (since == 0)
        return;
    time_age((time_t)(since / 1000), (time_t)(now_ms / 1000), age);
    str_add(to, age);
}

static void add_team_cell(enum list_column column, const struct top_row *row, int64_t now_ms,
                          struct str *to)
{
    const struct top_team *team = row->team;

    if (column == COLUMN_STATE)
        str_add(to, team->problem != NULL ? "error" : team->runs ? "crashed" : "stopped");
    else if (column == COLUMN_FOR && team->count > 0)
        add_age(&team->agents[0], now_ms, to);
    else if (column == COLUMN_WHAT && team->problem != NULL)
        str_add(to, team->problem);
    else if (column == COLUMN_WHAT)
        err_add_commands(to, "no agent has a host: mas start %s", team->name);
}

const char *list_entry_word(const struct every_entry *entry)
{
    return every_is_errand(entry) ? every_kind_name(entry) : "every";
}

static void add_entry_cell(enum list_column column, const struct every_entry *entry, struct str *to)
{
    if (column == COLUMN_STATE)
        str_addf(to, "%s %" PRId64, list_entry_word(entry), entry->number);
    else if (column == COLUMN_WHAT)
        str_addf(to, "%s%s%s", entry->over, entry->over[0] != '\0' ? ": " : "", entry->why);
}

/* Appends the text of a cell and returns its colour. `merged`: the last line has no column. */
static enum paint add_cell(enum list_column column, const struct top_row *row,
                           const struct rows *rows, bool merged, int64_t now_ms, struct str *to)
{
    const struct top_agent *agent = row->agent;
    enum paint paint = PAINT_PLAIN;

    if (column == COLUMN_WHO) {
        add_who(row, rows, to);
        return PAINT_PLAIN;
    }
    if (row->kind == ROW_TEAM) {
        add_team_cell(column, row, now_ms, to);
        return column == COLUMN_STATE ? PAINT_BAD : PAINT_PLAIN;
    }
    if (row->kind == ROW_ENTRY) {
        add_entry_cell(column, row->entry, to);
        return PAINT_BAD;
    }
    const char *state = list_state(agent, &paint);
    switch (column) {
    case COLUMN_STATE:
        str_add(to, state);
        return paint;
    case COLUMN_FOR:
        add_age(agent, now_ms, to);
        return PAINT_DIM;
    case COLUMN_WHAT:
        list_add_what(agent, merged, now_ms, to);
        return agent->status.state == AGENT_WAITING ? PAINT_NEEDED
               : row->class == ATTENTION_FAILED     ? PAINT_BAD
                                                    : PAINT_PLAIN;
    case COLUMN_CONTEXT:
        list_add_context(agent, to);
        break;
    case COLUMN_COST:
        add_cost(agent, to);
        break;
    case COLUMN_CPU:
        add_resource(agent, true, to);
        return PAINT_DIM;
    case COLUMN_MEMORY:
        add_resource(agent, false, to);
        return PAINT_DIM;
    case COLUMN_CODE:
        list_add_code(agent, to);
        break;
    case COLUMN_BRANCH:
        add_branch(agent, to);
        return PAINT_DIM;
    case COLUMN_ROLE:
        str_add(to, agent->role);
        return PAINT_DIM;
    case COLUMN_PORT:
        if (agent->told && agent->status.port != 0)
            str_addf(to, "%d", agent->status.port);
        return PAINT_DIM;
    case COLUMN_LAST:
        str_add(to, tail_last(agent->tail));
        return PAINT_DIM;
    case COLUMN_WHO:
    case COLUMN_COUNT:
        break;
    }
    return PAINT_PLAIN;
}

/* ---- the columns */

static const struct {
    const char *head;
    size_t min, max; /* a column with text in it is so wide */
    bool right;
    bool flexible; /* takes what is left, beginning with `min` */
} columns[COLUMN_COUNT] = {
    [COLUMN_WHO] = {"AGENT", 8, WHO_MAX, false, false},
    [COLUMN_STATE] = {"STATE", 8, 9, false, false},
    [COLUMN_FOR] = {"FOR", 4, 5, true, false},
    [COLUMN_WHAT] = {"AT", FLEX_MIN, 80, false, true},
    [COLUMN_CONTEXT] = {"CTX", 4, 4, true, false},
    [COLUMN_COST] = {"COST", 5, 16, true, false},
    [COLUMN_CPU] = {"CPU", 4, 9, true, false},
    [COLUMN_MEMORY] = {"MEM", 4, 6, true, false},
    [COLUMN_CODE] = {"CODE", 4, 14, false, false},
    [COLUMN_BRANCH] = {"BRANCH", 6, 26, false, false},
    [COLUMN_ROLE] = {"ROLE", 4, 16, false, false},
    [COLUMN_PORT] = {"PORT", 5, 5, true, false},
    [COLUMN_LAST] = {"LAST LINE", 20, 1000, false, true},
};

/* The first of these that is there goes if there is not room for all, once the last line shares the
 * column of what the agent is at. That one is the last to go. */
static const enum list_column spare[] = {COLUMN_PORT,   COLUMN_ROLE,  COLUMN_BRANCH,  COLUMN_CPU,
                                         COLUMN_MEMORY, COLUMN_COST,  COLUMN_CONTEXT, COLUMN_CODE,
                                         COLUMN_FOR,    COLUMN_STATE, COLUMN_WHAT};
enum {
    WHAT_WANTED = 40, /* while other columns can go, COLUMN_WHAT keeps so much */
    WHAT_LEAST = 16, /* for this much, COLUMN_FOR goes, and COLUMN_WHO gets narrow */
    WHO_NARROW = 14,
    WHO_MIN = 4,
};

struct widths {
    size_t of[COLUMN_COUNT]; /* 0: the column is not shown */
    size_t natural[COLUMN_COUNT];
    bool merged; /* the last line has no column of its own */
};

static void measure(const struct rows *rows, size_t first, size_t last, bool unicode,
                    int64_t now_ms, struct widths *widths)
{
    _cleanup_str_ struct str text = STR_INIT;

    memset(widths->natural, 0, sizeof widths->natural);
    for (size_t i = first; i < last; i++) {
        if (rows->list[i].kind == ROW_HEAD)
            continue;
        for (enum list_column c = 0; c < COLUMN_COUNT; c++) {
            str_clear(&text);
            (void)add_cell(c, &rows->list[i], rows, widths->merged, now_ms, &text);
            size_t width = text.len > 0 ? text_columns(text.data, unicode) : 0;
            if (width > widths->natural[c])
                widths->natural[c] = width;
        }
    }
    if (widths->merged)
        widths->natural[COLUMN_LAST] = 0;
    for (enum list_column c = 0; c < COLUMN_COUNT; c++) {
        size_t width = columns[c].flexible ? columns[c].min : widths->natural[c];
        if (width > columns[c].max)
            width = columns[c].max;
        if (widths->natural[c] == 0)
            width = 0;
        else if (width < columns[c].min)
            width = columns[c].min;
        widths->of[c] = width;
    }
}

/* Returns the width of a row in which COLUMN_WHAT has `wanted` columns, if it needs them. */
static size_t sum(const struct widths *widths, size_t wanted)
{
    size_t natural = widths->natural[COLUMN_WHAT];
    size_t all = MARK;

    for (enum list_column c = 0; c < COLUMN_COUNT; c++)
        if (widths->of[c] > 0)
            all += widths->of[c] + (c > 0 ? GAP : 0);
    if (natural < wanted)
        wanted = natural;
    return widths->of[COLUMN_WHAT] > 0 && wanted > FLEX_MIN ? all + wanted - FLEX_MIN : all;
}

/* Gives what is left to the column. */
static void widen(struct widths *widths, enum list_column column, size_t room, size_t most)
{
    size_t all = sum(widths, 0);
    size_t want = widths->natural[column] < most ? widths->natural[column] : most;

    if (widths->of[column] == 0 || all >= room || want <= widths->of[column])
        return;
    size_t more = want - widths->of[column];
    widths->of[column] += more < room - all ? more : room - all;
}

static void narrow_who(struct widths *widths, size_t room, size_t least, size_t wanted)
{
    while (sum(widths, wanted) > room && widths->of[COLUMN_WHO] > least)
        widths->of[COLUMN_WHO]--;
}

static void fit(struct widths *widths, size_t room)
{
    size_t state = widths->of[COLUMN_STATE];

    for (size_t i = 0; i < ARRAY_LEN(spare); i++) {
        bool is_basic = spare[i] == COLUMN_STATE || spare[i] == COLUMN_WHAT;
        size_t wanted = is_basic ? 0 : spare[i] == COLUMN_FOR ? WHAT_LEAST : WHAT_WANTED;
        if (is_basic || spare[i] == COLUMN_FOR)
            narrow_who(widths, room, WHO_NARROW, wanted);
        if (sum(widths, wanted) > room)
            widths->of[spare[i]] = 0;
    }
    if (widths->of[COLUMN_WHAT] == 0) /* a state takes less room */
        widths->of[COLUMN_STATE] = state;
    if (sum(widths, 0) > room)
        widths->of[COLUMN_STATE] = 0;
    narrow_who(widths, room, WHO_MIN, 0);
    widen(widths, COLUMN_WHAT, room, WHAT_WANTED);
    widen(widths, COLUMN_LAST, room, 48);
    widen(widths, COLUMN_WHAT, room, columns[COLUMN_WHAT].max);
    widen(widths, COLUMN_LAST, room, columns[COLUMN_LAST].max);
    widen(widths, COLUMN_WHAT, room, SIZE_MAX);
}

/* ---- the rows */

static const char *mark_of(enum attention class, bool unicode, enum paint *ret)
{
    static const struct {
        const char *sign, *plain;
        enum paint paint;
    } marks[ATTENTION_COUNT] = {
        [ATTENTION_NEEDED] = {"\u25CF ", "! ", PAINT_NEEDED},
        [ATTENTION_FAILED] = {"\u2717 ", "x ", PAINT_BAD},
        [ATTENTION_WORKING] = {"\u25B8 ", "> ", PAINT_WORKING},
        [ATTENTION_DONE] = {"\u2713 ", "* ", PAINT_DONE},
        [ATTENTION_IDLE] = {"\u00B7 ", ". ", PAINT_DIM},
    };

    *ret = marks[class].paint;
    return unicode ? marks[class].sign : marks[class].plain;
}

static void draw_head(struct canvas *canvas, size_t y, const struct top_row *row)
{
    const char *fold =
        canvas->unicode ? (row->folded ? "\u25B8 " : "\u25BE ") : (row->folded ? "+ " : "- ");
    const char *name = row->team != NULL ? row->team->name : attention_name(row->class);
    enum paint paint;

    (void)mark_of(row->class, canvas->unicode, &paint);
    if (row->class == ATTENTION_IDLE)
        paint = PAINT_BOLD;
    canvas_add(canvas, y, PAINT_DIM, fold);
    canvas_add(canvas, y, paint, name);
    canvas_addf(canvas, y, PAINT_DIM, " %zu ", row->count);
    canvas_line(canvas, y, PAINT_DIM, canvas->columns);
}

static void draw_row(struct canvas *canvas, size_t y, const struct top_row *row,
                     const struct rows *rows, const struct widths *widths, int64_t now_ms)
{
    _cleanup_str_ struct str text = STR_INIT;
    enum paint paint;
    const char *mark = mark_of(row->class, canvas->unicode, &paint);

    canvas_add(canvas, y, paint, mark);
    for (enum list_column c = 0; c < COLUMN_COUNT; c++) {
        if (widths->of[c] == 0)
            continue;
        str_clear(&text);
        paint = add_cell(c, row, rows, widths->merged, now_ms, &text);
        if (c > 0)
            canvas_add(canvas, y, PAINT_PLAIN, " ");
        canvas_cell(canvas, y, paint, str_text(&text), widths->of[c], columns[c].right);
    }
}

void list_draw(struct canvas *canvas, const struct rows *rows, const struct list_place *place,
               int64_t now_ms)
{
    struct widths widths = {.of = {0}};
    size_t y = place->y;
    size_t room = place->end - y - (place->heads && place->end > y);
    size_t last = rows->count - place->first < room ? rows->count : place->first + room;

    measure(rows, place->first, last, canvas->unicode, now_ms, &widths);
    if (sum(&widths, WHAT_WANTED) > canvas->columns) {
        widths.merged = true;
        measure(rows, place->first, last, canvas->unicode, now_ms, &widths);
    }
    fit(&widths, canvas->columns);
    if (place->heads && y < place->end) {
        canvas_pad(canvas, y, MARK);
        for (enum list_column c = 0; c < COLUMN_COUNT; c++) {
            if (widths.of[c] == 0)
                continue;
            if (c > 0)
                canvas_add(canvas, y, PAINT_PLAIN, " ");
            canvas_cell(canvas, y, PAINT_DIM, columns[c].head, widths.of[c], columns[c].right);
        }
        y++;
    }
    for (size_t i = place->first; i < last; i++, y++) {
        if (rows->list[i].kind == ROW_HEAD)
            draw_head(canvas, y, &rows->list[i]);
        else
            draw_row(canvas, y, &rows->list[i], rows, &widths, now_ms);
        canvas->row[y].chosen = i == rows->chosen;
    }
}
