/*
 * What each key does. input_press() hands a press to the mode that is on; top_keys[] has the keys
 * of the list. The functions change struct top, and view.c draws it afterwards. A key that needs
 * something asks for it in a mode of its own, which remembers the agent by its name, because rows
 * move meanwhile. A question of an agent is answered only if it has been on the screen.
 */

#include "base/time.h"
#include "top/list.h"
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
    struct row_key key = {.kind = row->kind, .number = row->entry != NULL ? row->entry->number : 0};

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

/* Asks for what a key needs; `then` gets it. */
static void ask(struct top *top, enum top_mode mode,
                void (*then)(struct top *top, const char *text), char *question)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row != NULL && row->team != NULL)
        top->target = target_of(row);
    top->mode = mode;
    top->then = then;
    free(top->question);
    top->question = question;
    editor_set(&top->editor, "");
}

static void send_text(struct top *top, const char *text)
{
    const struct top_agent *agent = target_agent(top);

    if (agent != NULL)
        act_send(&top->acts, agent, text);
}

static void begin_send(struct top *top)
{
    const struct top_agent *agent = chosen_agent(top);

    if (agent != NULL)
        ask(top, MODE_TYPE, send_text, mem_printf("to %s: ", agent->id));
}

/* ---- the verbs of mas: they run beside the screen */

#define RUN(top, done, ...) act_verb(&(top)->acts, (char *const[]){__VA_ARGS__, NULL}, (done))
#define WORD(text) ((char[]){text})

/* Returns the chosen row if it is of a team, NULL with a message otherwise. */
static const struct top_row *chosen_team(struct top *top)
{
    const struct top_row *row = rows_chosen(&top->rows);

    if (row != NULL && row->team != NULL)
        return row;
    top_say(top, true, "choose an agent of the session first");
    return NULL;
}

static void forget_entry(struct top *top, const char *key)
{
    _cleanup_free_ char *number = mem_printf("%" PRId64, top->target.number);

    if (strcmp(key, "y") == 0)
        RUN(top, mem_printf("forgotten: %s", number), WORD("every"), WORD("--off"), number);
}

static void stop_team(struct top *top, const char *key)
{
    const struct top_team *team = table_find(&top->table, top->target.team);

    if (strcmp(key, "y") == 0 && team != NULL)
        RUN(top, NULL, WORD("stop"), top->target.team);
}

static void begin_stop(struct top *top)
{
    const struct top_row *row = chosen_team(top);

    if (row != NULL && row->entry != NULL)
        ask(top, MODE_SURE, forget_entry,
            mem_printf("end %s %" PRId64 " and forget it? (y/n)", list_entry_word(row->entry),
                       row->entry->number));
    else if (row != NULL)
        ask(top, MODE_SURE, stop_team,
            mem_printf("stop session %s and its %zu agents? (y/n)", row->team->name,
                       row->team->count));
}

/* Moves the first word of a text to the words of a verb. Returns the rest. */
static const char *take_word(char ***words, const char *text)
{
    _cleanup_free_ char *word = mem_dupn(text, strcspn(text, " "));

    strv_push(words, word);
    text += strlen(word);
    return text + strspn(text, " ");
}

static void make_session(struct top *top, const char *text)
{
    _cleanup_strv_ char **words = NULL;

    strv_push(&words, "new");
    strv_push(&words, "-d");
    while (str_starts(text, "--")) /* with its value */
        text = take_word(&words, take_word(&words, text));
    strv_push(&words, "--");
    strv_push(&words, text);
    act_verb(&top->acts, words, mem_printf("begun: %s", text));
}

static void begin_new(struct top *top)
{
    ask(top, MODE_TYPE, make_session, mem_dup("new: [--agent PRESET] what is to be done here: "));
}

static void add_agent(struct top *top, const char *text)
{
    _cleanup_strv_ char **words = NULL;

    strv_push(&words, "add");
    strv_push(&words, top->target.team);
    strv_push(&words, "--agent");
    while (*text != '\0')
        text = take_word(&words, text);
    act_verb(&top->acts, words, NULL);
}

static void begin_add(struct top *top)
{
    const struct top_row *row = chosen_team(top);

    if (row != NULL)
        ask(top, MODE_TYPE, add_agent,
            mem_printf("add to %s: PRESET [--as NAME] [--unit UNIT]: ", row->team->name));
}

static void fork_agent(struct top *top, const char *text)
{
    RUN(top, NULL, WORD("fork"), top->target.team, top->target.agent, WORD("--as"),
        (char *)(uintptr_t)text);
}

static void begin_fork(struct top *top)
{
    const struct top_agent *agent = chosen_agent(top);

    if (agent == NULL)
        return;
    ask(top, MODE_TYPE, fork_agent, mem_printf("fork %s/%s as: ", agent->team->name, agent->id));
    _cleanup_free_ char *name = mem_printf("%s-2", agent->id);
    editor_set(&top->editor, name);
}

static void try_files(struct top *top, const char *key)
{
    if (strcmp(key, "y") == 0)
        RUN(top, NULL, WORD("try"), top->target.team, top->target.agent);
    else if (strcmp(key, "o") == 0)
        RUN(top, NULL, WORD("try"), WORD("--off"), top->target.team);
}

static void begin_try(struct top *top)
{
    const struct top_agent *agent = chosen_agent(top);

    if (agent != NULL)
        ask(top, MODE_SURE, try_files,
            mem_printf("try %s/%s in your checkout? (y/n; o takes it out again)", agent->team->name,
                       agent->id));
}

/* What would help an agent, a team without hosts, or an entry that has failed. */
enum remedy { REMEDY_NONE, REMEDY_START, REMEDY_RESTART, REMEDY_ASK, REMEDY_RUN };

static enum remedy remedy_for(const struct top_row *row)
{
    const struct top_agent *agent = row->agent;

    if (row->kind == ROW_TEAM)
        return row->team->problem == NULL ? REMEDY_START : REMEDY_NONE;
    if (row->kind == ROW_ENTRY) /* what is over stays so */
        return row->entry->over[0] == '\0' ? REMEDY_RUN : REMEDY_NONE;
    if (agent == NULL)
        return REMEDY_NONE;
    if (!agent->told)
        return agent->link == LINK_STOPPED  ? REMEDY_START
               : agent->link == LINK_ABSENT ? REMEDY_RESTART
                                            : REMEDY_NONE;
    if (agent->status.state == AGENT_CRASHED || agent->status.state == AGENT_EXITED)
        return REMEDY_RESTART;
    return agent->status.talks && agent_turn_is_bad(&agent->status) ? REMEDY_ASK : REMEDY_NONE;
}

static void try_again(struct top *top)
{
    const struct top_row *row = rows_chosen(&top->rows);
    enum remedy remedy = row != NULL ? remedy_for(row) : REMEDY_NONE;

    if (remedy == REMEDY_NONE) {
        top_say(top, true,
                row != NULL && row->entry != NULL ? "it is over; x forgets it"
                                                  : "nothing has failed here");
        return;
    }
    struct row_key key = target_of(row);
    _cleanup_free_ char *number = mem_printf("%" PRId64, key.number);
    if (remedy == REMEDY_RUN)
        RUN(top, mem_printf("ran entry %s", number), WORD("every"), WORD("--run"), number);
    else if (remedy == REMEDY_START)
        RUN(top, NULL, WORD("start"), key.team);
    else if (remedy == REMEDY_RESTART)
        RUN(top, NULL, WORD("restart"), key.team, key.agent);
    else
        RUN(top, mem_printf("asked %s/%s again", row->team->name, key.agent), WORD("ask"),
            WORD("--no-wait"), WORD("--again"), key.team, key.agent);
}

/* ---- commands that take over the terminal */

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

static bool is_head(const struct top_row *row)
{
    return row->kind == ROW_HEAD;
}

static bool has_team(const struct top_row *row)
{
    return row->team != NULL;
}

static bool has_agent(const struct top_row *row)
{
    return row->agent != NULL;
}

static bool waits(const struct top_row *row)
{
    return row->agent != NULL && row->agent->status.state == AGENT_WAITING;
}

static bool has_code(const struct top_row *row)
{
    return row->agent != NULL && row->agent->has_code;
}

static bool has_failed(const struct top_row *row)
{
    return remedy_for(row) != REMEDY_NONE;
}

const struct top_key top_keys[] = {
    {PRESS_ENTER, 0, go_there, "Enter", "go there", has_team},
    {PRESS_TAB, 0, fold, "Tab", "fold", is_head},
    {PRESS_TEXT, 'r', try_again, "r", "try again", has_failed},
    {PRESS_TEXT, 'a', allow, "a", "allow", waits},
    {PRESS_TEXT, 'd', deny, "d", "deny", waits},
    {PRESS_TEXT, 's', begin_send, "s", "send", has_agent},
    {PRESS_TEXT, '/', begin_filter, "/", "filter", NULL},
    {PRESS_TEXT, '?', show_help, "?", "help", NULL},
    {PRESS_TEXT, 'q', quit, "q", "quit", NULL},
    {PRESS_TEXT, 'n', begin_new, "n", "new", NULL},
    {PRESS_TEXT, 'l', show_log, "l", "logs", has_team},
    {PRESS_TEXT, 'h', show_history, "h", "history", has_agent},
    {PRESS_TEXT, 'v', show_diff, "v", "diff", has_code},
    {PRESS_TEXT, 'T', begin_try, "T", "try", has_code},
    {PRESS_TEXT, 'f', begin_fork, "f", "fork", has_agent},
    {PRESS_TEXT, '+', begin_add, "+", "add", has_team},
    {PRESS_TEXT, 't', switch_groups, "t", "teams", NULL},
    {PRESS_TEXT, 'x', begin_stop, "x", "stop", has_team},
    {PRESS_TEXT, 'p', switch_preview, NULL, NULL, NULL},
    {PRESS_TEXT, ' ', fold, NULL, NULL, NULL},
    {PRESS_TEXT, 'k', move_up, NULL, NULL, NULL},
    {PRESS_TEXT, 'j', move_down, NULL, NULL, NULL},
    {PRESS_TEXT, 'g', to_start, NULL, NULL, NULL},
    {PRESS_TEXT, 'G', to_end, NULL, NULL, NULL},
    {PRESS_UP, 0, move_up, NULL, NULL, NULL},
    {PRESS_DOWN, 0, move_down, NULL, NULL, NULL},
    {PRESS_PAGE_UP, 0, page_up, NULL, NULL, NULL},
    {PRESS_PAGE_DOWN, 0, page_down, NULL, NULL, NULL},
    {PRESS_HOME, 0, to_start, NULL, NULL, NULL},
    {PRESS_END, 0, to_end, NULL, NULL, NULL},
    {PRESS_ESCAPE, 0, leave, NULL, NULL, NULL},
    {.act = NULL},
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
    for (const struct top_key *key = top_keys; key->act != NULL; key++)
        if (key->kind == press->kind &&
            (key->kind != PRESS_TEXT || (key->letter == press->text[0] && press->text[1] == '\0')))
            key->act(top);
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

static void press_type(struct top *top, const struct press *press)
{
    if (press->kind != PRESS_ENTER && press->kind != PRESS_ESCAPE) {
        (void)editor_press(&top->editor, press);
        return;
    }
    top->mode = MODE_LIST;
    if (press->kind == PRESS_ENTER && top->editor.text.len > 0)
        top->then(top, top->editor.text.data);
}

static void press_sure(struct top *top, const struct press *press)
{
    top->mode = MODE_LIST;
    if (press->kind == PRESS_TEXT)
        top->then(top, press->text);
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
    case MODE_TYPE:
        press_type(top, press);
        break;
    case MODE_SURE:
        press_sure(top, press);
        break;
    case MODE_ASK:
        press_ask(top, press);
        break;
    case MODE_HELP:
        top->mode = MODE_LIST;
        break;
    }
}
