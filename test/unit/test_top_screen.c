/*
 * The screen of mas top, and what each key does. The terminal, the clock and what is done to agents
 * are here: the screen is read as text, and what would be done is noted.
 */
#define UNIT_OWN_MAIN
#include "unit.h"

#include "top/tail.h"
#include "top/top.h"

#include <locale.h>

#define NOW INT64_C(1795000000) /* 11:06:40 in UTC */

static size_t screen_rows, screen_columns;
static struct str shown = STR_INIT; /* the screen */
static struct str done = STR_INIT; /* what was done */
static int64_t clock_ms; /* monotonic, and since NOW */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    ret->tv_sec = (clock == CLOCK_REALTIME ? NOW : 1000) + clock_ms / 1000;
    ret->tv_nsec = clock_ms % 1000 * 1000000;
    return 0;
}

time_t time(time_t *ret)
{
    (void)ret;
    return NOW + clock_ms / 1000;
}

/* ---- instead of screen.c */

void screen_size(size_t *ret_rows, size_t *ret_columns)
{
    *ret_rows = screen_rows;
    *ret_columns = screen_columns;
}

/* Each piece begins with a letter for its colour; a row that is chosen with >, a bar with =. */
void screen_show(const struct canvas *canvas)
{
    str_clear(&shown);
    for (size_t y = 0; y < canvas->rows; y++) {
        const struct canvas_row *row = &canvas->row[y];
        str_add(&shown, row->chosen ? ">" : row->bar ? "=" : "");
        for (size_t i = 0; i < row->count; i++) {
            size_t end = i + 1 < row->count ? row->pieces[i + 1].from : row->text.len;
            str_addf(&shown, "<%c>", "pdbnfwuhlkar"[row->pieces[i].paint]);
            str_addn(&shown, row->text.data + row->pieces[i].from, end - row->pieces[i].from);
        }
        while (shown.len > 0 && shown.data[shown.len - 1] == ' ')
            shown.data[--shown.len] = '\0';
        if (canvas->cursor_row == y)
            str_addf(&shown, "<cursor %zu>", canvas->cursor_column);
        str_addc(&shown, '\n');
    }
}

void screen_suspend(void)
{
    str_add(&done, "suspend ");
}

void screen_resume(void)
{
    str_add(&done, "resume ");
}

/* ---- instead of act.c */

void act_permit(struct acts *acts, const struct top_agent *agent, const char *permission,
                const char *option, const char *name)
{
    (void)acts;
    str_addf(&done, "permit %s/%s %s %s %s ", agent->team->name, agent->id, permission, option,
             name);
}

void act_send(struct acts *acts, const struct top_agent *agent, const char *text)
{
    (void)acts;
    str_addf(&done, "send %s/%s '%s' ", agent->team->name, agent->id, text);
}

void act_see(struct acts *acts, const struct top_agent *agent)
{
    (void)acts;
    str_addf(&done, "see %s/%s ", agent->team->name, agent->id);
}

/* Ids of sessions are cut. */
void act_verb(struct acts *acts, char *const *words, char *says)
{
    (void)acts;
    str_add(&done, "mas ");
    for (; *words != NULL; words++)
        str_addf(&done, strlen(*words) == ID_TEXT - 1 ? "%.1s " : "%s ", *words);
    if (says != NULL)
        str_addf(&done, "(%s) ", says);
    free(says);
}

void act_run(struct acts *acts, const struct act_command *command, const char *session,
             const char *agent)
{
    (void)acts;
    str_addf(&done, "%s%s%s %.1s %s ", command->shows ? "show " : "", command->verb,
             command->lines != NULL ? command->lines : "", session, agent != NULL ? agent : "-");
}

/* ---- what there is: two teams with two agents each */

static void set(char **text, const char *value)
{
    free(*text);
    *text = mem_dup(value);
}

static void fill(struct top *top)
{
    static const char *const ids[] = {"11111111-1111-4111-8111-111111111111",
                                      "22222222-2222-4222-8222-222222222222"};
    static const enum agent_state states[2][2] = {{AGENT_WAITING, AGENT_IDLE},
                                                  {AGENT_WORKING, AGENT_WAITING}};

    *top = (struct top){.preview = true, .keys = top_keys, .canvas = {.unicode = true}};
    top->tails.table = &top->table;
    top->feed.root.path = mem_dup("/home/me/root");
    for (size_t t = 0; t < 2; t++) {
        struct top_team *team = table_add_team(&top->table, ids[t], t == 0 ? "one" : "two");
        table_set_agents(&top->table, team, 2);
        team->runs = true;
        for (size_t i = 0; i < 2; i++) {
            struct agent_status status = {.state = states[t][i],
                                          .since_ms = (NOW - 100 + (int64_t)(10 * t + i)) * 1000,
                                          .exit_code = -1,
                                          .acp = true,
                                          .tells = true,
                                          .resources = {-1, -1, -1},
                                          .title = mem_dup(""),
                                          .note = mem_dup(""),
                                          .continuity = mem_dup(""),
                                          .permission = mem_dup(""),
                                          .asks = mem_dup(""),
                                          .memory = mem_dup(""),
                                          .turn_why = mem_dup("")};
            team->agents[i].id = mem_dup(i == 0 ? "a" : "b");
            team->agents[i].role = mem_dup(i == 0 ? "worker" : "b");
            table_tell(&top->table, &team->agents[i], &status);
        }
    }
    set(&top->table.teams[1]->agents[0].status.title, "builds it");
    rows_build(&top->rows, &top->table);
    screen_rows = 20;
    screen_columns = 70;
    clock_ms = 0;
    str_clear(&done);
}

static void empty(struct top *top)
{
    rows_free(&top->rows);
    canvas_free(&top->canvas);
    editor_free(&top->editor);
    free(top->message);
    free(top->asked);
    free(top->question);
    free(top->feed.root.path);
    table_free(&top->table);
}

/* Presses keys: a letter is that, ^ and a letter are Ctrl with it, and these are other keys. */
static void press(struct top *top, const char *keys)
{
    static const struct {
        char letter;
        enum press_kind kind;
    } others[] = {{'\r', PRESS_ENTER},     {'\033', PRESS_ESCAPE}, {'\t', PRESS_TAB},
                  {'\b', PRESS_BACKSPACE}, {'[', PRESS_PAGE_UP},   {']', PRESS_PAGE_DOWN},
                  {'{', PRESS_HOME},       {'}', PRESS_END},       {'-', PRESS_UP},
                  {'+', PRESS_DOWN},       {'(', PRESS_WHEEL_UP},  {')', PRESS_WHEEL_DOWN}};

    for (; *keys != '\0'; keys++) {
        struct press press = {.kind = PRESS_TEXT, .text = {*keys}};
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            if (others[i].letter == *keys)
                press.kind = others[i].kind;
        if (*keys == '^')
            press = (struct press){.kind = PRESS_CONTROL, .text = {*++keys}};
        input_press(top, &press);
    }
}

/* Types a text in which each letter is just that. */
static void type(struct top *top, const char *text)
{
    for (; *text != '\0'; text++)
        input_press(top, &(struct press){.kind = PRESS_TEXT, .text = {*text}});
}

static void click(struct top *top, size_t row)
{
    input_press(top, &(struct press){.kind = PRESS_CLICK, .row = row});
}

/* The chosen row, the mode, and what was said and done since the last time. */
static void is_at(struct top *top, const char *want)
{
    static const char *const modes[] = {"list", "filter", "type", "ask", "sure", "help"};
    const struct top_row *row = rows_chosen(&top->rows);
    _cleanup_str_ struct str at = STR_INIT;

    str_addf(&at, "%s/%s %s",
             row == NULL         ? "-"
             : row->team != NULL ? row->team->name
                                 : attention_name(row->class),
             row != NULL && row->agent != NULL ? row->agent->id : "", modes[top->mode]);
    if (top->message != NULL)
        str_addf(&at, " %s(%s)", top->is_error ? "!" : "", top->message);
    if (top->mode == MODE_TYPE || top->mode == MODE_SURE)
        str_addf(&at, " %s%s", top->question, str_text(&top->editor.text));
    if (done.len > 0)
        str_addf(&at, ": %.*s", (int)done.len - 1, done.data);
    CHECK_STR(str_text(&at), want);
    str_clear(&done);
}

static void shows(struct top *top, const char *want)
{
    view_top(top);
    if (!CHECK(strcmp(str_text(&shown), want) == 0))
        for (const char *line = str_text(&shown); *line != '\0'; line += strcspn(line, "\n") + 1)
            printf("#        \"%.*s\\n\"\n", (int)strcspn(line, "\n"), line);
}

/* The question of an agent, with so many choices. */
static void asks(struct top_agent *agent, const char *id, const char *body, int choices)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_json_ struct json *head = NULL;
    struct host_event event;
    struct err err = ERR_INIT;

    str_addf(&text,
             "{\"event\":\"permission\",\"permission\":\"%s\",\"title\":\"May I?\",\"options\":[",
             id);
    for (int i = 0; i < choices; i++)
        str_addf(&text, "%s{\"id\":\"o%d\",\"name\":\"Choice %d\",\"kind\":\"%s\"}",
                 i > 0 ? "," : "", i, i, i == 0 ? "allow_once" : "reject_once");
    str_add(&text, "]}");
    CHECK(json_parse(text.data, text.len, 1 << 16, &head, &err) == 0);
    (void)host_event_parse(head, body, body != NULL ? strlen(body) : 0, &event);
    tail_event(agent->tail, &event);
}

/* ---- keys */

TEST(keys_move_in_the_list)
{
    static const struct {
        const char *keys, *at;
    } cases[] = {
        {"", "one/a list"},        {"j", "two/b list"},    {"jj", "two/a list"},
        {"jjj", "one/b list"},     {"jjjj", "one/b list"}, {"+", "two/b list"},
        {"jj-", "two/b list"},     {"jjk", "two/b list"},  {"k", "needs you/ list"},
        {"G", "one/b list"},       {"}", "one/b list"},    {"Gg", "needs you/ list"},
        {"G{", "needs you/ list"}, {")", "two/a list"},    {"))", "one/b list"},
        {"G(", "working/ list"},   {"]", "one/b list"},    {"G[", "needs you/ list"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct top top;
        fill(&top);
        view_top(&top);
        top.changed = false;
        press(&top, cases[i].keys);
        CHECK(top.changed == (cases[i].keys[0] != '\0'));
        is_at(&top, cases[i].at);
        empty(&top);
    }
}

TEST(groups_fold_and_filters_hide)
{
    struct top top;

    fill(&top);
    press(&top, "\t");
    is_at(&top, "needs you/ list");
    CHECK(rows_chosen(&top.rows)->folded);
    CHECK_INT(top.rows.count, 5);
    press(&top, "j"); /* no heading but a folded one is in the way */
    is_at(&top, "two/a list");
    press(&top, "k");
    is_at(&top, "needs you/ list");
    press(&top, "\r"); /* there is nowhere to go: it unfolds */
    CHECK_INT(top.rows.count, 7);
    press(&top, " ");
    press(&top, " t");
    CHECK(top.rows.by_team);
    press(&top, "t/two x\b\b");
    is_at(&top, "two/b filter");
    CHECK_STR(top.rows.filter, "two");
    press(&top, "\r");
    is_at(&top, "two/b list");
    CHECK_INT(top.rows.hidden, 2);
    press(&top, "/"); /* the filter is there to be changed */
    CHECK_STR(top.editor.text.data, "two");
    press(&top, " worker\r");
    CHECK_INT(top.rows.hidden, 3);
    press(&top, "/\033");
    CHECK(top.rows.filter == NULL && top.rows.hidden == 0);
    press(&top, "/one\r\033");
    CHECK(top.rows.filter == NULL);
    press(&top, "p");
    CHECK(!top.preview);
    press(&top, "p?");
    is_at(&top, "one/a help");
    CHECK(top.preview);
    press(&top, "q"); /* any key goes back */
    is_at(&top, "one/a list");
    CHECK(!top.ends);
    press(&top, "q");
    CHECK(top.ends);
    press(&top, "^x^l");
    is_at(&top, "one/a list: suspend resume");
    empty(&top);
}

TEST(commands_are_run_for_what_is_chosen)
{
    struct top top;

    (void)unsetenv("TMUX");
    fill(&top);
    press(&top, "l");
    is_at(&top, "one/a list: see one/a show logs2000 1 a");
    press(&top, "h");
    is_at(&top, "one/a list: see one/a show history200 1 a");
    press(&top, "v");
    is_at(&top, "one/a list: see one/a show diff 1 a");
    press(&top, "\r");
    is_at(&top, "one/a list: attach 1 a");
    CHECK(!top.ends);
    press(&top, "g");
    static const char *const keys[] = {"l", "h", "v"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        press(&top, keys[i]);
        is_at(&top, "needs you/ list !(choose an agent first)");
    }
    press(&top, "t"); /* the heads are teams now */
    rows_choose(&top.rows, 0);
    press(&top, "l");
    is_at(&top, "one/ list: show logs2000 1 -");
    press(&top, "h");
    is_at(&top, "one/ list !(choose an agent first)");
    press(&top, "\r");
    is_at(&top, "one/ list: attach 1 -");
    static const struct {
        const char *tmux, *pane;
        bool ends;
    } popups[] = {
        {"/s,1,0", NULL, true}, {"/s,1,0", "", true}, {"/s,1,0", "%1", false}, {"", NULL, false}};
    for (size_t i = 0; i < ARRAY_LEN(popups); i++) {
        (void)setenv("TMUX", popups[i].tmux, 1);
        (void)(popups[i].pane != NULL ? setenv("TMUX_PANE", popups[i].pane, 1)
                                      : unsetenv("TMUX_PANE"));
        top.ends = false;
        press(&top, "\r");
        CHECK_INT(top.ends, popups[i].ends);
    }
    (void)unsetenv("TMUX");
    empty(&top);
}

TEST(messages_and_stops_are_for_what_was_chosen_then)
{
    struct top top;

    fill(&top);
    press(&top, "shi");
    is_at(&top, "one/a type to a: hi");
    rows_choose(&top.rows, (long)top.rows.count); /* the list has moved */
    press(&top, "\r");
    is_at(&top, "one/b list: send one/a 'hi'");
    press(&top, "shi\033s\r"); /* nothing is sent: given up, and empty */
    is_at(&top, "one/b list");
    press(&top, "gs");
    is_at(&top, "needs you/ list !(choose an agent first)");
    press(&top, "x");
    is_at(&top, "needs you/ list !(choose an agent of the session first)");
    press(&top, "jx");
    is_at(&top, "one/a sure stop session one and its 2 agents? (y/n)");
    press(&top, "n");
    is_at(&top, "one/a list");
    press(&top, "xy");
    is_at(&top, "one/a list: mas stop 1");
    press(&top, "x\r");
    is_at(&top, "one/a list");
    press(&top, "x");
    table_remove_team(&top.table, 0);
    press(&top, "y");
    CHECK_INT(done.len, 0); /* it is gone */
    rows_build(&top.rows, &top.table);
    rows_choose(&top.rows, 1);
    press(&top, "sx");
    table_remove_team(&top.table, 0);
    rows_build(&top.rows, &top.table);
    press(&top, "\r");
    is_at(&top, "-/ list !(the agent is gone)");
    press(&top, "jka");
    is_at(&top, "-/ list !(choose an agent first)");
    empty(&top);
}

TEST(verbs_run_beside_the_screen)
{
    static const struct {
        const char *key, *typed, *at;
    } cases[] = {
        {"n", "", "one/a list"},
        {"n", "make --all of it",
         "one/a list: mas new -d -- make --all of it (begun: make --all of it)"},
        {"n", "--agent  b --name c d e",
         "one/a list: mas new -d --agent b --name c -- d e (begun: d e)"},
        {"n", "--agent", "one/a list: mas new -d --agent  --  (begun: )"},
        {"gn", "x", "needs you/ list: mas new -d -- x (begun: x)"},
        {"f", "", "one/a list: mas fork 1 a --as a-2"},
        {"f\b", "x", "one/a list: mas fork 1 a --as a-x"},
    };
    static const struct {
        const char *keys, *at;
    } others[] = {
        {"n", "one/a type new: [--agent PRESET] what is to be done here: "},
        {"nx\033", "one/a list"},
        {"f", "one/a type fork one/a as: a-2"},
        {"T", "one/a sure try one/a in your checkout? (y/n; o takes it out again)"},
        {"Ty", "one/a list: mas try 1 a"},
        {"To", "one/a list: mas try --off 1"},
        {"Tn", "one/a list"},
        {"T\r", "one/a list"},
        {"gf", "needs you/ list !(choose an agent first)"},
        {"gT", "needs you/ list !(choose an agent first)"},
    };
    struct top top;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fill(&top);
        press(&top, cases[i].key);
        type(&top, cases[i].typed);
        press(&top, "\r");
        is_at(&top, cases[i].at);
        empty(&top);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        fill(&top);
        press(&top, others[i].keys);
        is_at(&top, others[i].at);
        empty(&top);
    }
    fill(&top);
    type(&top, "+");
    is_at(&top, "one/a type add to one: PRESET [--as NAME] [--unit UNIT]: ");
    type(&top, "b  --as c");
    press(&top, "\r");
    is_at(&top, "one/a list: mas add 1 --agent b --as c");
    press(&top, "g");
    type(&top, "+");
    is_at(&top, "needs you/ list !(choose an agent of the session first)");
    empty(&top);
}

/* What helps depends on what has failed; where nothing has, no key is offered. */
TEST(what_has_failed_is_tried_again)
{
    static const struct {
        enum top_link link;
        enum agent_state state;
        enum turn_outcome turn;
        bool talks;
        const char *at; /* NULL: nothing helps */
    } cases[] = {
        {LINK_LIVE, AGENT_CRASHED, TURN_NONE, false, "mas restart 1 a"},
        {LINK_LIVE, AGENT_EXITED, TURN_FAILED, true, "mas restart 1 a"},
        {LINK_LIVE, AGENT_IDLE, TURN_FAILED, true,
         "mas ask --no-wait --again 1 a (asked one/a again)"},
        {LINK_LIVE, AGENT_IDLE, TURN_STOPPED, true,
         "mas ask --no-wait --again 1 a (asked one/a again)"},
        {LINK_LIVE, AGENT_IDLE, TURN_FAILED, false, NULL},
        {LINK_LIVE, AGENT_IDLE, TURN_DONE, true, NULL},
        {LINK_LIVE, AGENT_WORKING, TURN_FAILED, true, NULL},
        {LINK_LIVE, AGENT_WAITING, TURN_NONE, true, NULL},
        {LINK_ABSENT, AGENT_IDLE, TURN_NONE, false, "mas restart 1 a"},
        {LINK_STOPPED, AGENT_IDLE, TURN_NONE, false, "mas start 1"},
        {LINK_REFUSED, AGENT_IDLE, TURN_NONE, false, NULL},
        {LINK_COMES, AGENT_IDLE, TURN_NONE, false, NULL},
    };

    const struct top_key *retry = top_keys;

    while (retry->letter != 'r')
        retry++;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct top top;
        fill(&top);
        rows_choose(&top.rows, 1);
        struct top_agent *agent = &top.table.teams[0]->agents[0];
        agent->status.state = cases[i].state;
        agent->status.turn = cases[i].turn;
        agent->status.talks = cases[i].talks;
        if (cases[i].link != LINK_LIVE)
            table_lose(&top.table, agent, cases[i].link, NULL);
        CHECK(retry->fits(rows_chosen(&top.rows)) == (cases[i].at != NULL));
        _cleanup_free_ char *at = cases[i].at != NULL
                                      ? mem_printf("one/a list: %s", cases[i].at)
                                      : mem_dup("one/a list !(nothing has failed here)");
        press(&top, "r");
        is_at(&top, at);
        empty(&top);
    }
    struct top top;
    fill(&top);
    for (size_t i = 0; i < 2; i++)
        table_lose(&top.table, &top.table.teams[0]->agents[i], LINK_ABSENT, NULL);
    rows_build(&top.rows, &top.table); /* the team is one row */
    rows_choose(&top.rows, 2);
    press(&top, "r");
    is_at(&top, "one/ list: mas start 1");
    press(&top, "gr");
    is_at(&top, "needs you/ list !(nothing has failed here)");
    empty(&top);
}

/* Nobody answers a question that he has not seen. */
TEST(what_is_on_the_screen_is_answered)
{
    static const struct {
        const char *keys, *at;
    } cases[] = {
        {"a", "one/a list: permit one/a 7 allow allow"},
        {"d", "one/a list: permit one/a 7 deny deny"},
        {"1", "one/a list: permit one/a 7 o0 Choice 0"},
        {"3", "one/a list: permit one/a 7 o2 Choice 2"},
        {"4", "one/a list"},
        {"9", "one/a list"},
        {"0", "one/a list"},
    };
    struct top top;

    for (int mode = MODE_LIST; mode <= MODE_ASK; mode += MODE_ASK - MODE_LIST)
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            fill(&top);
            view_top(&top);
            asks(&top.table.teams[0]->agents[0], "7", NULL, 3);
            view_top(&top);
            CHECK_STR(top.asked, "7");
            top.mode = (enum top_mode)mode;
            press(&top, cases[i].keys);
            if (top.mode == MODE_ASK && done.len == 0)
                top.mode = MODE_LIST;
            is_at(&top, cases[i].at);
            empty(&top);
        }
    fill(&top);
    view_top(&top);
    press(&top, "a"); /* it is not known yet what it asks */
    is_at(&top, "one/a ask");
    view_top(&top);
    press(&top, "a");
    is_at(&top, "one/a ask");
    asks(&top.table.teams[0]->agents[0], "7", NULL, 1);
    press(&top, "1"); /* nor is it on the screen */
    is_at(&top, "one/a ask");
    view_top(&top);
    asks(&top.table.teams[0]->agents[0], "7", NULL, 2);
    press(&top, "q");
    is_at(&top, "one/a list");
    press(&top, "2");
    is_at(&top, "one/a list: permit one/a 7 o1 Choice 1");
    press(&top, "}");
    press(&top, "d");
    is_at(&top, "one/b list !(one/b asks nothing)");
    top.mode = MODE_ASK;
    press(&top, "\033");
    is_at(&top, "one/b list !(one/b asks nothing)");
    empty(&top);
}

TEST(clicks_choose_and_two_go_there)
{
    struct top top;

    fill(&top);
    view_top(&top);
    size_t y = top.list_y;
    click(&top, y + 4);
    is_at(&top, "two/a list");
    clock_ms = 399;
    click(&top, y + 4);
    is_at(&top, "two/a list: attach 2 a");
    clock_ms = 500;
    click(&top, y + 4); /* the first of two, again */
    is_at(&top, "two/a list");
    clock_ms = 900;
    click(&top, y + 4); /* too late */
    is_at(&top, "two/a list");
    click(&top, y + 1); /* elsewhere */
    is_at(&top, "one/a list");
    click(&top, y - 1);
    click(&top, y + top.rows.count);
    click(&top, y + top.list_rows);
    is_at(&top, "one/a list");
    click(&top, y);
    is_at(&top, "needs you/ list");
    click(&top, y + top.rows.count - 1);
    is_at(&top, "one/b list");
    empty(&top);
}

/* ---- the screen */

TEST(the_list_and_what_an_agent_prints)
{
    struct top top;

    fill(&top);
    top.tails.root = &top.feed.root;
    press(&top, "jj");
    view_top(&top);
    struct agent_tail *tail = top.table.teams[1]->agents[0].tail;
    REQUIRE(tail != NULL && tail->full);
    tail_add(tail, PAINT_DIM, "a first line", 12);
    tail_add(tail, PAINT_PLAIN,
             "words that are more than fit into one row of this narrow screen here, at all", 76);
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<p>  <d>AGENT<p>    <d>STATE<p>     <d>FOR<p> <d>AT<p>         <d>ROLE<p>   <d>LAST "
          "LINE<p>\n"
          "<d>▾ <n>needs you<d> 2 ────────────────────────────────────────────────────────\n"
          "<n>● <p>one/a    <n>waiting<p>    <d>1m<p> <n><p>           <d>worker<p> <d><p>\n"
          "<n>● <p>two/b    <n>waiting<p>    <d>1m<p> <n><p>           <d>b<p>      <d><p>\n"
          "<d>▾ <w>working<d> 1 ──────────────────────────────────────────────────────────\n"
          "><w>▸ <p>two/a    <w>working<p>    <d>1m<p> builds it  <d>worker<p> <d>words that are "
          "more than f…\n"
          "<d>▾ <b>idle<d> 1 ─────────────────────────────────────────────────────────────\n"
          "<d>· <p>one/b    idle       <d>1m<p>            <d>b<p>      <d><p>\n"
          "<d>──<b> two/a<d> worker<w> working <d>builds it ────────────────────────────────────\n"
          "<p> <d>a first line\n"
          "<p> words that are more than fit into one row of this narrow screen\n"
          "<p> here, at all\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>?<d> help<p>  "
          "<k>q<d> quit<p>  <k>n<d> new<p>  <k>l<d> logs\n");
    screen_columns = 110;
    screen_rows = 16;
    shows(&top, "<b> mas top<d> root<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · "
                "1 idle                                         <d>11:06:40\n"
                "<p>  <d>AGENT<p>    <d>STATE<p>     <d>FOR<p> <d>AT<p>         <d>ROLE<p>   "
                "<d>LAST LINE<p>\n"
                "<d>▾ <n>needs you<d> 2 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "──────────────\n"
                "<n>● <p>one/a    <n>waiting<p>    <d>1m<p> <n><p>           <d>worker<p> <d><p>\n"
                "<n>● <p>two/b    <n>waiting<p>    <d>1m<p> <n><p>           <d>b<p>      <d><p>\n"
                "<d>▾ <w>working<d> 1 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "────────────────\n"
                "><w>▸ <p>two/a    <w>working<p>    <d>1m<p> builds it  <d>worker<p> <d>words that "
                "are more than fit into one row of this narrow screen he…\n"
                "<d>▾ <b>idle<d> 1 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "───────────────────\n"
                "<d>· <p>one/b    idle       <d>1m<p>            <d>b<p>      <d><p>\n"
                "<d>──<b> two/a<d> worker<w> working <d>builds it "
                "────────────────────────────────────────────────────────────────────────────\n"
                "<p> <d>a first line\n"
                "<p> words that are more than fit into one row of this narrow screen here, at all\n"
                "\n"
                "\n"
                "\n"
                "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>?<d> help<p>  "
                "<k>q<d> quit<p>  <k>n<d> new<p>  <k>l<d> logs<p>  <k>h<d> history<p>  <k>f<d> "
                "fork<p>  <k>+<d> add<p>  <k>t<d> teams<p>  <k>x<d> stop\n");
    screen_rows = 15; /* no preview */
    shows(&top, "<b> mas top<d> root<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · "
                "1 idle                                         <d>11:06:40\n"
                "<p>  <d>AGENT<p>    <d>STATE<p>     <d>FOR<p> <d>AT<p>         <d>ROLE<p>   "
                "<d>LAST LINE<p>\n"
                "<d>▾ <n>needs you<d> 2 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "──────────────\n"
                "<n>● <p>one/a    <n>waiting<p>    <d>1m<p> <n><p>           <d>worker<p> <d><p>\n"
                "<n>● <p>two/b    <n>waiting<p>    <d>1m<p> <n><p>           <d>b<p>      <d><p>\n"
                "<d>▾ <w>working<d> 1 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "────────────────\n"
                "><w>▸ <p>two/a    <w>working<p>    <d>1m<p> builds it  <d>worker<p> <d>words that "
                "are more than fit into one row of this narrow screen he…\n"
                "<d>▾ <b>idle<d> 1 "
                "──────────────────────────────────────────────────────────────────────────────────"
                "───────────────────\n"
                "<d>· <p>one/b    idle       <d>1m<p>            <d>b<p>      <d><p>\n"
                "\n"
                "\n"
                "\n"
                "\n"
                "\n"
                "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>?<d> help<p>  "
                "<k>q<d> quit<p>  <k>n<d> new<p>  <k>l<d> logs<p>  <k>h<d> history<p>  <k>f<d> "
                "fork<p>  <k>+<d> add<p>  <k>t<d> teams<p>  <k>x<d> stop\n");
    screen_columns = 40;
    screen_rows = 8;
    press(&top, "}");
    shows(&top, "<b> mas top<p>  <n>2 need<p>  <w>1 work<p>  <d>0 done<p>  1 idle\n"
                "<n>● <p>one/a    <n>waiting<p>  <n><p>\n"
                "<n>● <p>two/b    <n>waiting<p>  <n><p>\n"
                "<d>▾ <w>working<d> 1 ────────────────────────────\n"
                "<w>▸ <p>two/a    <w>working<p>  words that are more…\n"
                "<d>▾ <b>idle<d> 1 ───────────────────────────────\n"
                "><d>· <p>one/b    idle\n"
                "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>n<d> new\n");
    screen_rows = 3;
    shows(&top, "<b> mas top<p>  <n>2 need<p>  <w>1 work<p>  <d>0 done<p>  1 idle\n"
                "><d>· <p>one/b    idle       <d>1m<p> <d>b<p>\n"
                "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>n<d> new\n");
    screen_rows = 2;
    shows(&top, "<b> mas top<p>  <n>2 need<p>  <w>1 work<p>  <d>0 done<p>  1 idle\n"
                "><d>· <p>one/b    idle       <d>1m<p> <d>b<p>\n");
    screen_rows = 1;
    shows(&top,
          "><b> mas top<p>  <n>2 need<p>  <w>1 work<p>  <d>0 done<p>  1 idle<d><p><d><p><d>\n");
    screen_columns = 119; /* below the list */
    screen_rows = 16;
    view_top(&top);
    CHECK(strstr(str_text(&shown), "\u2502") == NULL);
    screen_columns = 120; /* beside it, and what is chosen ends there */
    screen_rows = 10;
    press(&top, "{jjj");
    view_top(&top);
    tail_add(top.table.teams[1]->agents[0].tail, PAINT_BAD, "more", 4);
    shows(&top,
          "<b> mas top<d> root<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle "
          "                                                  <d>11:06:40\n"
          "<p>  <d>AGENT<p>    <d>STATE<p>     <d>FOR<p> <d>AT<p>         <d>ROLE<p>   <d>LAST "
          "LINE<p>               <d>│──<b> two/a<d> worker<w> working <d>builds it "
          "──────────────────\n"
          "<d>▾ <n>needs you<d> 2 ────────────────────────────────────────────────────<p> <d>│<p> "
          "<f>more\n"
          "<n>● <p>one/a    <n>waiting<p>    <d>1m<p> <n><p>           <d>worker<p> <d><p>         "
          "               <d>│\n"
          "<n>● <p>two/b    <n>waiting<p>    <d>1m<p> <n><p>           <d>b<p>      <d><p>         "
          "               <d>│\n"
          "<d>▾ <w>working<d> 1 ──────────────────────────────────────────────────────<p> <d>│\n"
          "><w>▸ <p>two/a    <w>working<p>    <d>1m<p> builds it  <d>worker<p> <d>more<p>          "
          "          <d>│\n"
          "<d>▾ <b>idle<d> 1 ─────────────────────────────────────────────────────────<p> <d>│\n"
          "<d>· <p>one/b    idle       <d>1m<p>            <d>b<p>      <d><p>                     "
          "   <d>│\n"
          "<p> <k>Enter<d> go there<p>  <k>s<d> send<p>  <k>/<d> filter<p>  <k>?<d> help<p>  "
          "<k>q<d> quit<p>  <k>n<d> new<p>  <k>l<d> logs<p>  <k>h<d> history<p>  <k>f<d> fork<p>  "
          "<k>+<d> add<p>  <k>t<d> teams<p>  <k>x<d> stop\n");
    const char *row = str_text(&top.canvas.row[6].text);
    CHECK(strncmp(row + top.canvas.row[6].chosen_end, "\u2502", strlen("\u2502")) == 0);
    press(&top, "p");
    view_top(&top);
    CHECK(strstr(str_text(&shown), "\u2502") == NULL);
    empty(&top);
}

TEST(a_question_with_its_choices)
{
    struct top top;

    fill(&top);
    top.tails.root = &top.feed.root;
    view_top(&top);
    asks(&top.table.teams[0]->agents[0], "7", "--- a\n+++ b\n-old\n+new\n same\n", 2);
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<p>  <d>AGENT<p>    <d>STATE<p>     <d>FOR<p> <d>AT<p>         <d>ROLE<p>\n"
          "<d>▾ <n>needs you<d> 2 ────────────────────────────────────────────────────────\n"
          "><n>● <p>one/a    <n>waiting<p>    <d>1m<p> <n><p>           <d>worker\n"
          "<n>● <p>two/b    <n>waiting<p>    <d>1m<p> <n><p>           <d>b<p>\n"
          "<d>▾ <w>working<d> 1 ──────────────────────────────────────────────────────────\n"
          "<w>▸ <p>two/a    <w>working<p>    <d>1m<p> builds it  <d>worker\n"
          "<d>▾ <b>idle<d> 1 ─────────────────────────────────────────────────────────────\n"
          "<d>· <p>one/b    idle       <d>1m<p>            <d>b<p>\n"
          "<d>──<b> one/a<d> worker<n> waiting <d>──────────────────────────────────────────────\n"
          "<n> May I?\n"
          "<p> --- a\n"
          "<p> +++ b\n"
          "<p> <r>-old\n"
          "<p> <a>+new\n"
          "<p>  same\n"
          "<k> 1 <a>Choice 0\n"
          "<k> 2 <r>Choice 1\n"
          "\n"
          "<p> <k>Enter<d> go there<p>  <k>a<d> allow<p>  <k>d<d> deny<p>  <k>s<d> send<p>  "
          "<k>/<d> filter<p>  <k>?<d> help<p>  <k>q<d> quit\n");
    press(&top, "a");
    top.mode = MODE_ASK;
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<d>──<b> one/a<d> worker<n> waiting <d>──────────────────────────────────────────────\n"
          "<n> May I?\n"
          "<p> --- a\n"
          "<p> +++ b\n"
          "<p> <r>-old\n"
          "<p> <a>+new\n"
          "<p>  same\n"
          "<k> 1 <a>Choice 0\n"
          "<k> 2 <r>Choice 1\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "\n"
          "<p> <k>a<d> allow<p>  <k>d<d> deny<p>  <k>1-9<d> choose<p>  <k>Esc<d> back\n");
    screen_rows = 7; /* one row for details */
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<d>──<b> one/a<d> worker<n> waiting <d>──────────────────────────────────────────────\n"
          "<n> May I?\n"
          "<p> --- a<d> …\n"
          "<k> 1 <a>Choice 0\n"
          "<k> 2 <r>Choice 1\n"
          "<p> <k>a<d> allow<p>  <k>d<d> deny<p>  <k>1-9<d> choose<p>  <k>Esc<d> back\n");
    CHECK_STR(top.asked, "7");
    top.mode = MODE_ASK;
    screen_rows = 6;
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<d>──<b> one/a<d> worker<n> waiting <d>──────────────────────────────────────────────\n"
          "<n> May I?\n"
          "<k> 1 <a>Choice 0\n"
          "<k> 2 <r>Choice 1\n"
          "<p> <k>a<d> allow<p>  <k>d<d> deny<p>  <k>1-9<d> choose<p>  <k>Esc<d> back\n");
    CHECK_STR(top.asked, "7");
    top.mode = MODE_ASK;
    screen_rows = 5;
    shows(&top,
          "<b> mas top<p>  <n>● 2 need you<p>  <w>▸ 1 working<p>  <d>✓ 0 done<p>  · 1 idle      "
          "<d>11:06:40\n"
          "<d>──<b> one/a<d> worker<n> waiting <d>──────────────────────────────────────────────\n"
          "\n"
          "\n"
          "<p> <k>a<d> allow<p>  <k>d<d> deny<p>  <k>1-9<d> choose<p>  <k>Esc<d> back\n");
    CHECK_STR(top.asked, NULL);
    empty(&top);
}

TEST(the_line_at_the_bottom)
{
    struct top top;

    fill(&top);
    top.tails.root = &top.feed.root;
    screen_rows = 4;
    top.canvas.unicode = false;
    press(&top, "?");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<p> <k>Up Down j k<p>  choose an agent; PgUp PgDn g G: further\n"
                "<p> <k>Enter<p>        go to its pane\n"
                "<d> any key goes back\n");
    press(&top, "x/on");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 1 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<k> / <p>on<cursor 5>\n");
    press(&top, "\r");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 1 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<n> filter: on (2 hidden; / and Enter shows all)\n");
    press(&top, "\033shello");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 2 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<k> to a: <p>hello<cursor 12>\n");
    press(&top, "\033x");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 2 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<f> stop session one and its 2 agents? (y/n)\n");
    press(&top, "n/nothing\r");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d> no agent matches the filter\n"
                "\n"
                "<n> filter: nothing (4 hidden; / and Enter shows all)\n");
    press(&top, "\033");
    top.feed.in_turns = 3;
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 2 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<n> 3 agents are asked in turns, because they cannot be watched\n");
    top.feed.problem = mem_dup("the root is gone");
    shows(&top, "<b> mas top<p>  <n>!2 need you<p>  <w>>1 working<p>  <d>*0 done<p>  .1 idle       "
                "   <d>11:06:40\n"
                "<d>- <n>needs you<d> 2 --------------------------------------------------------\n"
                "><n>! <p>one/a    <n>waiting<p>    <d>1m<p> <d>worker\n"
                "<f> the root is gone\n");
    free(top.feed.problem);
    top.feed.problem = NULL;
    top.feed.in_turns = 0;
    table_remove_team(&top.table, 0);
    table_remove_team(&top.table, 0);
    shows(&top, "<b> mas top<p>  <d>!0 need you<p>  <d>>0 working<p>  <d>*0 done<p>  <d>.0 idle<p> "
                "         <d>11:06:40\n"
                "<d> there is no session; begin with: mas new\n"
                "\n"
                "<p> <k>/<d> filter<p>  <k>?<d> help<p>  <k>q<d> quit<p>  <k>n<d> new<p>  <k>t<d> "
                "teams\n");
    top.feed.stopped = 2;
    shows(&top, "<b> mas top<p>  <d>!0 need you<p>  <d>>0 working<p>  <d>*0 done<p>  <d>.0 idle<p> "
                "         <d>11:06:40\n"
                "<d> no session runs (2 stopped: mas list)\n"
                "\n"
                "<p> <k>/<d> filter<p>  <k>?<d> help<p>  <k>q<d> quit<p>  <k>n<d> new<p>  <k>t<d> "
                "teams\n");
    empty(&top);
}

int main(void)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    (void)setenv("TZ", "UTC", 1);
    return unit_run();
}
