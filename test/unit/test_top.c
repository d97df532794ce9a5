#define UNIT_OWN_MAIN
#include "unit.h"

#include "top/editor.h"
#include "top/list.h"
#include "top/tail.h"
#include "top/text.h"

#include <locale.h>

static const char *const ids[] = {"11111111-1111-4111-8111-111111111111",
                                  "22222222-2222-4222-8222-222222222222"};

/* ---- text */

static void check_text(const char *text, size_t columns, bool unicode, const char *want)
{
    _cleanup_str_ struct str to = STR_INIT;
    size_t used = text_put(&to, text, columns, unicode);

    CHECK_STR(str_text(&to), want);
    CHECK(used <= columns);
    CHECK_INT(used, text_columns(want, unicode));
}

TEST(text_fits_its_columns)
{
    check_text("plain", 5, true, "plain");
    check_text("plain", 4, true, "pla\u2026");
    check_text("plain", 1, true, "\u2026");
    check_text("plain", 0, true, "");
    check_text("plain", 4, false, "pla~");
    check_text("\u4e16\u754c", 4, true, "\u4e16\u754c");
    check_text("\u4e16\u754c", 3, true, "\u4e16\u2026");
    check_text("\u4e16\u754c", 2, true, "\u2026");
    check_text("e\u0301e\u0301", 2, true, "e\u0301e\u0301");
    check_text("e\u0301e\u0301x", 2, true, "e\u0301\u2026");
    check_text("\u4e16x", 5, false, "?x");
}

TEST(text_is_inert)
{
    check_text("a\033[31mb", 20, true, "a\\x1B[31mb");
    check_text("a\nb\tc\r", 20, true, "a b c ");
    check_text("\x7f\xff\xc3", 20, true, "\\x7F\\xFF\\xC3");
    check_text("\xc2\x9b"
               "31m",
               20, true, "\\x9B31m");
    check_text("a\u202eb\u200bc\ufeff", 20, true, "abc");
    check_text("\xed\xa0\x80", 20, true, "\\xED\\xA0\\x80");
}

TEST(the_end_of_a_text_fits)
{
    _cleanup_str_ struct str to = STR_INIT;

    CHECK_INT(text_put_end(&to, "a long text", 6, true), 6);
    CHECK_STR(to.data, "\u2026 text");
}

/* ---- rows */

/* Two teams: one/a waits since 50, one/b is idle; two/a works, two/b waits since 20. */
static void fill(struct top_table *table)
{
    static const struct {
        enum agent_state state;
        int64_t since;
    } states[2][2] = {{{AGENT_WAITING, 50}, {AGENT_IDLE, 10}},
                      {{AGENT_WORKING, 60}, {AGENT_WAITING, 20}}};

    for (size_t t = 0; t < 2; t++) {
        struct top_team *team = table_add_team(table, ids[t], t == 0 ? "one" : "two");
        table_set_agents(table, team, 2);
        team->runs = true;
        for (size_t i = 0; i < 2; i++) {
            struct agent_status status = {.state = states[t][i].state,
                                          .since_ms = states[t][i].since,
                                          .exit_code = -1,
                                          .resources = {-1, -1, -1},
                                          .title = mem_dup(""),
                                          .note = mem_dup(""),
                                          .continuity = mem_dup(""),
                                          .permission = mem_dup(""),
                                          .asks = mem_dup(""),
                                          .memory = mem_dup(""),
                                          .turn_why = mem_dup("")};
            team->agents[i].id = mem_dup(i == 0 ? "a" : "b");
            team->agents[i].role = mem_dup("worker");
            table_tell(table, &team->agents[i], &status);
        }
    }
}

/* Writes the rows as "[head] team/agent ...". */
static char *order(const struct rows *rows)
{
    struct str to = STR_INIT;

    for (size_t i = 0; i < rows->count; i++) {
        const struct top_row *row = &rows->list[i];
        str_add(&to, i > 0 ? " " : "");
        if (row->kind == ROW_HEAD)
            str_addf(&to, "[%s %zu]",
                     row->team != NULL ? row->team->name : attention_name(row->class), row->count);
        else if (row->kind == ROW_TEAM)
            str_addf(&to, "%s!", row->team->name);
        else if (row->kind == ROW_ENTRY)
            str_addf(&to, "%s/%s:%" PRId64, row->team->name, row->agent->id, row->entry->number);
        else
            str_addf(&to, "%s/%s", row->team->name, row->agent->id);
    }
    return str_steal(&to);
}

static void check_order(struct rows *rows, const struct top_table *table, const char *want)
{
    rows_build(rows, table);
    _cleanup_free_ char *text = order(rows);
    CHECK_STR(text, want);
}

TEST(rows_are_in_the_order_of_need)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};

    fill(&table);
    check_order(&rows, &table, "[needs you 2] two/b one/a [working 1] two/a [idle 1] one/b");
    CHECK_INT(rows.chosen, 1);
    rows.by_team = true;
    check_order(&rows, &table, "[two 2] two/b two/a [one 2] one/a one/b");
    rows_choose(&rows, 0);
    rows_fold(&rows);
    check_order(&rows, &table, "[two 2] [one 2] one/a one/b");
    rows_fold(&rows);
    rows.by_team = false;
    rows_filter(&rows, "ONE idle");
    check_order(&rows, &table, "[idle 1] one/b");
    CHECK_INT(rows.hidden, 3);
    CHECK_INT(rows.totals[ATTENTION_NEEDED], 2);
    rows_filter(&rows, "");
    check_order(&rows, &table, "[needs you 2] two/b one/a [working 1] two/a [idle 1] one/b");
    rows_free(&rows);
    table_free(&table);
}

/* Adds an entry of team one for its agent a. */
static void add_entry(struct top_table *table, int64_t number, enum every_kind kind,
                      const char *over, const char *why)
{
    struct every *every = &table->teams[0]->every;

    every->at = mem_room(every->at, every->count, sizeof *every->at);
    every->at[every->count++] = (struct every_entry){.number = number,
                                                     .kind = kind,
                                                     .agent = "a",
                                                     .when = mem_dup("2h"),
                                                     .text = mem_dup("look"),
                                                     .why = mem_dup(why),
                                                     .over = mem_dup(over),
                                                     .budget = mem_dup(""),
                                                     .data = mem_dup("")};
}

TEST(what_has_failed_to_be_sent_has_a_row)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};

    fill(&table);
    add_entry(&table, 9, EVERY_SPAN, "", "no host");
    add_entry(&table, 1, EVERY_SPAN, "", "");
    add_entry(&table, 2, EVERY_SPAN, "", EVERY_SKIPPED);
    add_entry(&table, 3, EVERY_GOAL, "rounds", "the check fails");
    add_entry(&table, 4, EVERY_GOAL, "passed", "the check passes");
    add_entry(&table, 5, EVERY_WATCH, "", "PR #1 green");
    add_entry(&table, 6, EVERY_WATCH, "merged", "PR #1 is merged");
    check_order(&rows, &table,
                "[needs you 2] two/b one/a [failed 2] one/a:3 one/a:9 [working 1] two/a [idle 1] "
                "one/b");
    CHECK_INT(rows.totals[ATTENTION_FAILED], 2);
    rows_choose(&rows, 5);
    CHECK_INT(rows.key.number, 9);
    CHECK_INT(rows_chosen(&rows)->entry->number, 9);
    rows_filter(&rows, "one no host");
    check_order(&rows, &table, "[failed 1] one/a:9");
    CHECK_INT(rows.hidden, 5);
    rows_filter(&rows, "");
    rows.by_team = true;
    check_order(&rows, &table, "[two 2] two/b two/a [one 4] one/a one/a:3 one/a:9 one/b");
    rows_free(&rows);
    table_free(&table);
}

TEST(the_chosen_row_stays_chosen)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};

    fill(&table);
    rows_build(&rows, &table);
    rows_choose(&rows, 2); /* one/a */
    table.teams[0]->agents[0].status.state = AGENT_IDLE;
    check_order(&rows, &table, "[needs you 1] two/b [working 1] two/a [idle 2] one/a one/b");
    CHECK_STR(rows_chosen(&rows)->agent->id, "a");
    CHECK_STR(rows_chosen(&rows)->team->name, "one");
    table_remove_team(&table, 0);
    check_order(&rows, &table, "[needs you 1] two/b [working 1] two/a");
    CHECK(rows_chosen(&rows)->kind == ROW_AGENT);
    rows_free(&rows);
    table_free(&table);
}

TEST(a_team_without_hosts_is_one_row)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};

    fill(&table);
    for (size_t i = 0; i < 2; i++)
        table_lose(&table, &table.teams[0]->agents[i], LINK_ABSENT, NULL);
    check_order(&rows, &table, "[needs you 3] two/b one! [working 1] two/a");
    rows_free(&rows);
    table_free(&table);
}

/* ---- columns */

TEST(columns_appear_with_the_width)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};
    struct canvas canvas = {.unicode = true};
    static const struct {
        size_t columns;
        const char *heads;
    } cases[] = {
        {80, "  AGENT    STATE     FOR AT                     CODE  ROLE  "},
        {40, "  AGENT    STATE    AT                  "},
        {20, "  AGENT    STATE   "},
    };

    fill(&table);
    free(table.teams[0]->agents[0].status.asks);
    table.teams[0]->agents[0].status.asks = mem_dup("May I do this or that?");
    table.teams[0]->agents[0].status.code =
        (struct code_figures){.looked_ms = 1, .ahead = 2, .changed = 3};
    rows_build(&rows, &table);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct list_place place = {.end = 10, .heads = true};
        canvas_reset(&canvas, 10, cases[i].columns);
        list_draw(&canvas, &rows, &place, 1000);
        CHECK_STR(str_text(&canvas.row[0].text), cases[i].heads);
        for (size_t y = 0; y < 8; y++)
            CHECK(canvas.row[y].used <= cases[i].columns);
    }
    canvas_free(&canvas);
    rows_free(&rows);
    table_free(&table);
}

TEST(cpu_time_and_memory_are_shown_where_they_are_known)
{
    static const struct {
        int64_t cpu_ms, memory;
        const char *row;
    } cases[] = {
        {0, 0, "0:00   0B"},
        {59999, 1 << 20, "0:59 1.0M"},
        {754000, 300 << 20, "12:34 300M"},
        {36061000, 5368709120, "10:01:01 5.0G"},
        {-1, 4096, "4.0K"},
    };
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};
    struct canvas canvas = {.unicode = true};
    const struct list_place place = {.end = 10, .heads = true};

    fill(&table);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        table.teams[0]->agents[0].status.resources =
            (struct agent_resources){cases[i].cpu_ms, cases[i].memory, -1};
        rows_build(&rows, &table);
        canvas_reset(&canvas, 10, 100);
        list_draw(&canvas, &rows, &place, 1000);
        bool shown = false;
        for (size_t y = 0; y < 8; y++)
            shown |= strstr(str_text(&canvas.row[y].text), cases[i].row) != NULL;
        if (!shown)
            CHECK_STR(str_text(&canvas.row[3].text), cases[i].row);
        CHECK((strstr(str_text(&canvas.row[0].text), "CPU") != NULL) == (cases[i].cpu_ms >= 0));
        CHECK(strstr(str_text(&canvas.row[0].text), "MEM") != NULL);
    }
    canvas_free(&canvas);
    rows_free(&rows);
    table_free(&table);
}

/* ---- what is said of an agent */

/* The agent one/a of a table, told to be like this. */
static struct top_agent *agent_like(struct top_table *table, enum agent_state state,
                                    int64_t done_ms)
{
    struct top_agent *agent = &table->teams[0]->agents[0];

    agent->status.state = state;
    agent->status.done_ms = done_ms;
    agent->status.seen_ms = 0;
    agent->status.turn = TURN_NONE;
    return agent;
}

TEST(a_state_has_a_word_and_a_colour)
{
    static const struct {
        enum agent_state state;
        int64_t done_ms;
        enum turn_outcome turn;
        const char *word;
        enum paint paint;
    } cases[] = {
        {AGENT_ASLEEP, 0, TURN_NONE, "asleep", PAINT_DIM},
        {AGENT_STARTING, 0, TURN_NONE, "starting", PAINT_WORKING},
        {AGENT_WORKING, 5, TURN_FAILED, "working", PAINT_WORKING},
        {AGENT_IDLE, 0, TURN_NONE, "idle", PAINT_PLAIN},
        {AGENT_IDLE, 5, TURN_DONE, "done", PAINT_DONE},
        {AGENT_IDLE, 5, TURN_FAILED, "failed", PAINT_BAD},
        {AGENT_ASLEEP, 5, TURN_DONE, "asleep", PAINT_DONE},
        {AGENT_EXITED, 5, TURN_STOPPED, "stopped", PAINT_BAD},
        {AGENT_WAITING, 0, TURN_NONE, "waiting", PAINT_NEEDED},
        {AGENT_LIMITED, 0, TURN_NONE, "limited", PAINT_HELD},
        {AGENT_PAUSED, 0, TURN_NONE, "paused", PAINT_HELD},
        {AGENT_EXITED, 0, TURN_NONE, "exited", PAINT_DIM},
        {AGENT_CRASHED, 0, TURN_NONE, "crashed", PAINT_BAD},
    };
    struct top_table table = TOP_TABLE_INIT;

    fill(&table);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct top_agent *agent = agent_like(&table, cases[i].state, cases[i].done_ms);
        enum paint paint = PAINT_PLAIN;
        agent->status.turn = cases[i].turn;
        CHECK_STR(list_state(agent, &paint), cases[i].word);
        CHECK_INT(paint, cases[i].paint);
    }
    table_free(&table);
}

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = mem_dup(value != NULL ? value : "");
}

/* What matters most comes first, and one text of several is shown. */
TEST(what_an_agent_is_at_is_one_line)
{
    static const struct {
        struct agent_status status; /* its texts in the next members */
        const char *asks, *note, *memory, *title, *why, *problem;
        const char *want;
    } cases[] = {
        {{.state = AGENT_IDLE, .exit_code = -1}, .want = ""},
        {{.state = AGENT_IDLE, .exit_code = -1}, .title = "title", .want = "title"},
        {{.state = AGENT_IDLE, .exit_code = -1},
         .title = "t",
         .problem = "no git",
         .want = "no git"},
        {{.state = AGENT_IDLE, .exit_code = -1},
         .title = "t",
         .problem = "p",
         .note = "note",
         .want = "note"},
        {{.state = AGENT_WAITING, .exit_code = -1},
         .note = "n",
         .asks = "May I?",
         .want = "May I?"},
        {{.state = AGENT_IDLE, .exit_code = -1, .queued = 2}, .title = "t", .want = "2 queued, t"},
        {{.state = AGENT_IDLE, .exit_code = -1, .queued = 1},
         .memory = "lost",
         .want = "1 queued, memory: lost"},
        {{.state = AGENT_EXITED, .exit_code = 3}, .want = "code 3"},
        {{.state = AGENT_IDLE, .exit_code = 3}, .want = ""},
        {{.state = AGENT_CRASHED, .exit_code = -1, .signal = 9},
         .note = "n",
         .want = "signal 9 (Killed), n"},
        {{.state = AGENT_CRASHED, .exit_code = 1, .restart_ms = 11000},
         .want = "code 1, starts again in 1s"},
        {{.state = AGENT_CRASHED, .exit_code = -1, .restart_ms = 129001},
         .want = "starts again in 2m"},
        {{.state = AGENT_CRASHED, .exit_code = -1, .restart_ms = 128999},
         .want = "starts again in 119s"},
        {{.state = AGENT_LIMITED, .exit_code = -1, .until_ms = 15500, .retry_ms = 99},
         .title = "t",
         .want = "until in 6s, t"},
        {{.state = AGENT_LIMITED, .exit_code = -1, .retry_ms = 10001}, .want = "retry in 1s"},
        {{.state = AGENT_LIMITED, .exit_code = -1, .retry_ms = 9000}, .want = "retry in 0s"},
        {{.state = AGENT_IDLE, .exit_code = -1, .turn = TURN_FAILED},
         .why = "no net",
         .note = "x",
         .want = "the turn failed: no net, x"},
        {{.state = AGENT_IDLE, .exit_code = -1, .turn = TURN_FAILED},
         .why = "no net",
         .note = "no net",
         .want = "the turn failed: no net"},
    };
    struct top_table table = TOP_TABLE_INIT;

    fill(&table);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct top_agent *agent = &table.teams[0]->agents[0];
        struct agent_status *status = &agent->status;
        struct agent_status old = *status;
        _cleanup_str_ struct str text = STR_INIT;
        *status = cases[i].status;
        status->asks = old.asks;
        status->note = old.note;
        status->memory = old.memory;
        status->title = old.title;
        status->turn_why = old.turn_why;
        status->permission = old.permission;
        status->continuity = old.continuity;
        set_text(&status->asks, cases[i].asks);
        set_text(&status->note, cases[i].note);
        set_text(&status->memory, cases[i].memory);
        set_text(&status->title, cases[i].title);
        set_text(&status->turn_why, cases[i].why);
        if (cases[i].problem != NULL)
            (void)snprintf(status->code.problem, sizeof status->code.problem, "%s",
                           cases[i].problem);
        list_add_what(agent, true, 10000, &text);
        if (!CHECK_STR(str_text(&text), cases[i].want))
            printf("# case %zu\n", i);
    }
    static const struct {
        enum top_link link;
        const char *problem, *what, *word;
    } links[] = {{LINK_ABSENT, NULL, "mas restart one a", "no host"},
                 {LINK_REFUSED, "too old", "too old", "no answer"},
                 {LINK_STOPPED, NULL, "", "stopped"},
                 {LINK_COMES, NULL, "", "..."}};
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        struct top_agent *agent = &table.teams[0]->agents[0];
        _cleanup_str_ struct str text = STR_INIT;
        table_lose(&table, agent, links[i].link, links[i].problem);
        list_add_what(agent, true, 10000, &text);
        CHECK_STR(str_text(&text), links[i].what);
        CHECK_STR(top_agent_word(agent), links[i].word);
    }
    table_free(&table);
}

/* At each width no row is wider than the screen, and a wider one shows no less. */
TEST(every_width_shows_what_has_room)
{
    struct top_table table = TOP_TABLE_INIT;
    struct rows rows = {.list = NULL};
    struct canvas canvas = {.unicode = true};
    size_t before = 0;

    fill(&table);
    struct agent_status *status = &table.teams[0]->agents[0].status;
    set_text(&status->asks, "May I do this or that, or something else that takes many more words?");
    status->code =
        (struct code_figures){.looked_ms = 1, .ahead = 2, .changed = 3, .branch = "main"};
    status->usage = (struct agent_usage){
        .context_used = 5, .context_size = 10, .tokens = 1, .cost = {5000000, "USD"}};
    status->resources = (struct agent_resources){1000, 1 << 20, 1};
    rows_build(&rows, &table);
    for (size_t columns = 4; columns <= 200; columns++) {
        const struct list_place place = {.end = 10, .heads = true};
        size_t heads = 0;
        canvas_reset(&canvas, 10, columns);
        list_draw(&canvas, &rows, &place, 100000);
        for (size_t y = 0; y < 8; y++)
            CHECK(canvas.row[y].used <= columns);
        static const char *const all[] = {"AGENT", "FOR ", "AT  ", "CTX",    "COST",
                                          "CPU",   "MEM",  "CODE", "BRANCH", "ROLE"};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            heads += strstr(str_text(&canvas.row[0].text), all[i]) != NULL;
        if (!CHECK(heads >= before))
            printf("# at %zu columns: %s\n", columns, str_text(&canvas.row[0].text));
        before = heads;
    }
    CHECK_INT(before, 10);
    canvas_free(&canvas);
    rows_free(&rows);
    table_free(&table);
}

/* ---- what is typed */

static void type(struct top_editor *editor, enum press_kind kind, const char *text)
{
    struct press press = {.kind = kind};

    (void)snprintf(press.text, sizeof press.text, "%s", text);
    CHECK(editor_press(editor, &press));
}

TEST(a_line_is_edited_by_characters)
{
    struct top_editor editor = {.cursor = 0};

    type(&editor, PRESS_TEXT, "\u00fc");
    type(&editor, PRESS_TEXT, "x");
    type(&editor, PRESS_LEFT, "");
    type(&editor, PRESS_LEFT, "");
    type(&editor, PRESS_TEXT, "\u4e16");
    CHECK_STR(editor.text.data, "\u4e16\u00fcx");
    type(&editor, PRESS_DELETE, "");
    CHECK_STR(editor.text.data, "\u4e16x");
    type(&editor, PRESS_BACKSPACE, "");
    CHECK_STR(editor.text.data, "x");
    type(&editor, PRESS_END, "");
    type(&editor, PRESS_TEXT, " ");
    type(&editor, PRESS_TEXT, "y");
    type(&editor, PRESS_CONTROL, "w");
    CHECK_STR(editor.text.data, "x ");
    type(&editor, PRESS_CONTROL, "u");
    CHECK_STR(editor.text.data, "");
    editor_free(&editor);
}

/* ---- what an agent says */

TEST(a_tail_keeps_the_last_line)
{
    struct agent_tail *tail = tail_new(true);

    tail_piece(tail, PAINT_PLAIN, "one\ntw", 6);
    tail_piece(tail, PAINT_PLAIN, "o", 1);
    CHECK_STR(tail_last(tail), "two");
    tail_piece(tail, PAINT_PLAIN, "\n\n", 2);
    CHECK_STR(tail_last(tail), "two");
    tail_add(tail, PAINT_PLAIN, "three", 5);
    CHECK_STR(tail_last(tail), "three");
    tail->full = true;
    tail->open = false;
    tail_piece(tail, PAINT_PLAIN, "a\nb", 3);
    tail_piece(tail, PAINT_PLAIN, "c\n", 2);
    CHECK_INT(tail->count, 2);
    CHECK_STR(tail->lines[1].text, "bc");
    for (int i = 0; i < 3 * TAIL_LINES; i++)
        tail_add(tail, PAINT_PLAIN, "more", 4);
    CHECK_INT(tail->count, TAIL_LINES);
    tail_free(tail);
}

int main(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return unit_run();
}
