/*
 * What each key does. input_press() hands a press to the mode that is on; the tables have the keys
 * of the list. The functions change struct top, and view.c draws it afterwards. Modes that take
 * words remember their agent by its name, because rows move meanwhile. A question is answered only
 * if it has been on the screen.
 */

#include "base/time.h"
#include "top/tail.h"
#include "top/top.h"

enum { DOUBLE_MS = 400, WHEEL_ROWS = 3 };

static void move_by(struct top *top, long by)
{
    rows_choose(&top->rows, (long)top->rows.chosen + by);
}

/* Goes to the next agent; of the headings only those of folded groups are in the way. */
static void step(struct top *top, long by)
{
    size_t before;

    do {
        before = top->rows.chosen;
        move_by(top, by);
    } while (top->rows.chosen != before && rows_chosen(&top->rows)->kind == ROW_HEAD &&
             !rows_chosen(&top->rows)->folded);
}

static void move_up(struct top *top)
{
    step(top, -1);
}

static void move_down(struct top *top)
{
    step(top, 1);
}

static void page_up(struct top *top)
{
    move_by(top, -(long)top->list_rows);
}

static void page_down(struct top *top)
{
    move_by(top, (long)top->list_rows);
}

static void to_start(struct top *top)
{
    rows_choose(&top->rows, 0);
}

static void to_end(struct top *top)
{
    rows_choose(&top->rows, (long)top->rows.count);
}

static void fold(struct top *top)
{
    rows_fold(&top->rows);
    rows_build(&top->rows, &top->table); /* the next key may be here already */
}

static void switch_groups(struct top *top)
{
    top->rows.by_team = !top->rows.by_team;
    rows_build(&top->rows, &top->table);
}

static void begin_filter(struct top *top)
{
    top->mode = MODE_FILTER;
    editor_set(&top->editor, top->rows.filter != NULL ? top->rows.filter : "");
}

static void show_help(struct top *top)
{
    top->mode = MODE_HELP;
}

static void quit(struct top *top)
{
    top->ends = true;
}

static void switch_preview(struct top *top)
{
    top->preview = !top->preview;
}

/* ---- what is done to the chosen agent */

/* Returns the chosen agent, NULL with a message if there is none. */
static struct top_agent *chosen_agent(struct top *top)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row == NULL || row->agent == NULL)
        top_say(top, true, "choose an agent first");
    return row != NULL ? row->agent : NULL;
}

/* Answers what is on the screen. What is not there yet is shown first, so that nobody answers a
 * question that he has not seen. */
static void answer(struct top *top, const char *option, size_t number)
{
    struct top_agent *agent = chosen_agent(top);
    const struct host_permission *asked = agent != NULL ? tail_permission(agent->tail) : NULL;

    if (agent == NULL)
        return;
    if (agent->status.state != AGENT_WAITING) {
        top_say(top, true, "%s/%s asks nothing", agent->team->name, agent->id);
        return;
    }
    if (top->asked == NULL || asked == NULL || strcmp(top->asked, asked->id) != 0) {
        rows_choose(&top->rows, (long)top->rows.chosen); /* and stay with it */
        top->mode = MODE_ASK;
        return;
    }
    if (number > asked->options.count)
        return;
    const struct word *choice = number > 0 ? &asked->options.word[number - 1] : NULL;
    act_permit(&top->acts, agent, asked->id, choice != NULL ? choice->id : option,
               choice != NULL ? choice->name : option);
    top->mode = MODE_LIST;
}

static void allow(struct top *top)
{
    answer(top, "allow", 0);
}

static void deny(struct top *top)
{
    answer(top, "deny", 0);
}

static struct row_key target_of(const struct top_row *row)
{
    struct row_key key = {.kind = row->kind};

    memcpy(key.team, row->team->id, ID_TEXT);
    if (row->agent != NULL)
        memcpy(key.agent, row->agent->id, strlen(row->agent->id) + 1);
    return key;
}

/* Finds the agent that was chosen when a mode began; it may be gone. */
static struct top_agent *target_agent(struct top *top)
{
    struct top_team *team = table_find(&top->table, top->target.team);

    for (size_t i = 0; team != NULL && i < team->count; i++)
        if (strcmp(team->agents[i].id, top->target.agent) == 0)
            return &team->agents[i];
    top_say(top, true, "the agent is gone");
    return NULL;
}

static void begin_send(struct top *top)
{
    if (chosen_agent(top) == NULL)
        return;
    top->target = target_of(rows_chosen(&top->rows));
    top->mode = MODE_SEND;
    editor_set(&top->editor, "");
}

static void begin_stop(struct top *top)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row == NULL || row->team == NULL) {
        top_say(top, true, "choose an agent of the session first");
        return;
    }
    top->target = target_of(row);
    top->mode = MODE_STOP;
    top_say(top, true, "stop session %s and its %zu agents? (y/n)", row->team->name,
            row->team->count);
}

static void run_command(struct top *top, const struct act_command *command, bool needs_agent)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row == NULL || row->team == NULL || (needs_agent && row->agent == NULL)) {
        top_say(top, true, "choose an agent first");
        return;
    }
    if (command->is_look && row->agent != NULL)
        act_see(&top->acts, row->agent);
    act_run(&top->acts, command, row->team->id, row->agent != NULL ? row->agent->id : NULL);
}

static void show_log(struct top *top)
{
    run_command(top, &(struct act_command){"logs", true, true, "2000"}, false);
}

static void show_history(struct top *top)
{
    run_command(top, &(struct act_command){"history", true, true, "200"}, true);
}

static void show_diff(struct top *top)
{
    run_command(top, &(struct act_command){"diff", true, true, NULL}, false);
}

/* In a popup of tmux, which has no pane, the popup would stay in front of the pane. */
static bool is_in_popup(void)
{
    const char *tmux = getenv("TMUX"), *pane = getenv("TMUX_PANE");
    return tmux != NULL && tmux[0] != '\0' && (pane == NULL || pane[0] == '\0');
}

static void go_there(struct top *top)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row == NULL || row->team == NULL) {
        fold(top);
        return;
    }
    run_command(top, &(struct act_command){"attach", false, false, NULL}, false);
    top->ends = top->ends || is_in_popup();
}

static void set_filter(struct top *top, const char *filter)
{
    rows_filter(&top->rows, filter);
    rows_build(&top->rows, &top->table);
}

static void leave(struct top *top)
{
    set_filter(top, NULL);
}

/* ---- the keys of the list */

static const struct {
    enum press_kind kind;
    void (*act)(struct top *top);
} keys[] = {
    {PRESS_UP, move_up},      {PRESS_DOWN, move_down},
    {PRESS_PAGE_UP, page_up}, {PRESS_PAGE_DOWN, page_down},
    {PRESS_HOME, to_start},   {PRESS_END, to_end},
    {PRESS_TAB, fold},        {PRESS_ESCAPE, leave},
    {PRESS_ENTER, go_there},
};

static const struct {
    char letter;
    void (*act)(struct top *top);
} letters[] = {
    {'k', move_up},      {'j', move_down},     {'g', to_start},       {'G', to_end},
    {' ', fold},         {'t', switch_groups}, {'p', switch_preview}, {'a', allow},
    {'d', deny},         {'s', begin_send},    {'x', begin_stop},     {'l', show_log},
    {'h', show_history}, {'v', show_diff},     {'/', begin_filter},   {'?', show_help},
    {'q', quit},
};

static void click(struct top *top, const struct press *press)
{
    int64_t now = time_monotonic_ms();

    if (press->row < top->list_y || press->row >= top->list_y + top->list_rows ||
        top->first + press->row - top->list_y >= top->rows.count)
        return;
    bool again = now - top->clicked_ms < DOUBLE_MS && top->clicked_row == press->row;
    rows_choose(&top->rows, (long)(top->first + press->row - top->list_y));
    top->clicked_ms = again ? 0 : now;
    top->clicked_row = press->row;
    if (again)
        go_there(top);
}

static void press_number(struct top *top, const struct press *press)
{
    if (press->kind == PRESS_TEXT && press->text[0] >= '1' && press->text[0] <= '9' &&
        press->text[1] == '\0')
        answer(top, NULL, (size_t)(press->text[0] - '0'));
}

static void press_list(struct top *top, const struct press *press)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i].kind == press->kind)
            keys[i].act(top);
    for (size_t i = 0; press->kind == PRESS_TEXT && i < ARRAY_LEN(letters); i++)
        if (letters[i].letter == press->text[0] && press->text[1] == '\0')
            letters[i].act(top);
    press_number(top, press);
    if (press->kind == PRESS_CLICK)
        click(top, press);
    else if (press->kind == PRESS_WHEEL_UP)
        move_by(top, -WHEEL_ROWS);
    else if (press->kind == PRESS_WHEEL_DOWN)
        move_by(top, WHEEL_ROWS);
}

/* ---- other modes */

static void press_filter(struct top *top, const struct press *press)
{
    if (press->kind == PRESS_ENTER)
        top->mode = MODE_LIST;
    else if (press->kind == PRESS_ESCAPE)
        top->mode = MODE_LIST, set_filter(top, NULL);
    else if (editor_press(&top->editor, press))
        set_filter(top, str_text(&top->editor.text));
}

static void press_send(struct top *top, const struct press *press)
{
    if (press->kind == PRESS_ENTER && top->editor.text.len > 0) {
        const struct top_agent *agent = target_agent(top);
        if (agent != NULL)
            act_send(&top->acts, agent, top->editor.text.data);
        top->mode = MODE_LIST;
    } else if (press->kind == PRESS_ESCAPE || press->kind == PRESS_ENTER) {
        top->mode = MODE_LIST;
    } else {
        (void)editor_press(&top->editor, press);
    }
}

static void press_stop(struct top *top, const struct press *press)
{
    const struct top_team *team = table_find(&top->table, top->target.team);

    top->mode = MODE_LIST;
    top_say(top, false, "%s", "");
    if (press->kind == PRESS_TEXT && strcmp(press->text, "y") == 0 && team != NULL)
        act_stop(&top->acts, team);
}

static void press_ask(struct top *top, const struct press *press)
{
    if (press->kind == PRESS_TEXT && strcmp(press->text, "a") == 0)
        allow(top);
    else if (press->kind == PRESS_TEXT && strcmp(press->text, "d") == 0)
        deny(top);
    else if (press->kind == PRESS_ESCAPE ||
             (press->kind == PRESS_TEXT && strcmp(press->text, "q") == 0))
        top->mode = MODE_LIST;
    else
        press_number(top, press);
}

void input_press(struct top *top, const struct press *press)
{
    top->changed = true;
    if (press->kind == PRESS_CONTROL && press->text[0] == 'l') {
        screen_suspend();
        screen_resume();
        return;
    }
    switch (top->mode) {
    case MODE_LIST:
        top_say(top, false, "%s", "");
        press_list(top, press);
        break;
    case MODE_FILTER:
        press_filter(top, press);
        break;
    case MODE_SEND:
        press_send(top, press);
        break;
    case MODE_STOP:
        press_stop(top, press);
        break;
    case MODE_ASK:
        press_ask(top, press);
        break;
    case MODE_HELP:
        top->mode = MODE_LIST;
        break;
    }
}
