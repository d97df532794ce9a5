/*
 * Colours: a pair for each paint and, where the terminal has many, a second one for the chosen row;
 * else that row is reversed. Output: the whole canvas is written each time, and curses finds out
 * what has changed. Input: the codes of curses become struct press here, so that no other file
 * knows them.
 */

#include "top/screen.h"

#include "base/palette.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>
#undef columns /* a macro of term.h */
#undef lines

enum { ESCAPE_MS = 25, PAIR_CHOSEN = 20 };

/* ---- colours */

static const enum tint tints[PAINT_COUNT] = {
    [PAINT_PLAIN] = TINT_PLAIN, [PAINT_DIM] = TINT_DIM,    [PAINT_BOLD] = TINT_BOLD,
    [PAINT_NEEDED] = TINT_ASKS, [PAINT_BAD] = TINT_BAD,    [PAINT_WORKING] = TINT_GOOD,
    [PAINT_DONE] = TINT_DONE,   [PAINT_HELD] = TINT_HELD,  [PAINT_BAR] = TINT_PLAIN,
    [PAINT_KEY] = TINT_BOLD,    [PAINT_ADDED] = TINT_GOOD, [PAINT_REMOVED] = TINT_BAD,
};

static bool has_many(void)
{
    return COLORS >= PALETTE_MANY;
}

/* Pairs: 1 + paint on the terminal's own background, PAIR_CHOSEN + paint on that of the chosen
 * row. */
static void start_colours(void)
{
    if (palette_colours() == 0 || !has_colors() || start_color() == ERR ||
        use_default_colors() == ERR)
        return;
    for (int i = 0; i < PAINT_COUNT; i++) {
        const struct palette_look *look = &palette[tints[i]];
        (void)init_pair((short)(1 + i), has_many() ? look->many : -1, -1);
        if (has_many())
            (void)init_pair((short)(PAIR_CHOSEN + i), look->chosen, PALETTE_CHOSEN);
    }
}

static bool has_pairs(void)
{
    const struct palette_look *look = &palette[tints[PAINT_BAD]];
    short colour, back;

    return pair_content(1 + PAINT_BAD, &colour, &back) == OK &&
           colour == (has_many() ? look->many : -1);
}

static void paint_with(enum paint paint, bool chosen, bool bar)
{
    const struct palette_look *look = &palette[tints[paint]];
    bool many = has_pairs() && has_many();
    attr_t attributes = look->bold ? A_BOLD : A_NORMAL;
    short pair = has_pairs() ? (short)(1 + paint) : 0;

    if (!many && look->dim && !chosen)
        attributes |= A_DIM;
    if (bar || (!many && chosen))
        attributes |= A_REVERSE;
    if (chosen)
        pair = many ? (short)(PAIR_CHOSEN + paint) : 0;
    (void)attr_set(attributes, pair, NULL);
}

/* ---- the terminal */

/* Returns true if the terminal can clear its screen and move its cursor. */
static bool moves_cursor(void)
{
    bool can = tigetstr("cup") != NULL && tigetstr("clear") != NULL;

    (void)del_curterm(cur_term);
    return can;
}

static int check(struct err *err)
{
    const char *term = getenv("TERM");
    int found = 0;

    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
        (void)err_set(err, MAS_USAGE, "cannot show the screen: this is not a terminal");
    else if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
        (void)err_set(err, MAS_USAGE, "cannot show the screen: TERM names no terminal that can");
    else if (setupterm(NULL, STDOUT_FILENO, &found) == ERR) {
        (void)err_set(err, MAS_USAGE, "cannot show the screen: terminfo does not know '%s'", term);
        return err_hint(err, "name one that is like it: TERM=xterm-256color mas top; or print the "
                             "screen as text: mas top --once");
    } else if (!moves_cursor())
        (void)err_set(err, MAS_USAGE, "cannot show the screen: a '%s' cannot move its cursor",
                      term);
    else
        return 0;
    return err_hint(err, "print it as text: mas top --once");
}

int screen_open(struct err *err)
{
    if (check(err) == -1)
        return -1;
    use_env(FALSE); /* the terminal knows its size, not the environment */
    use_tioctl(TRUE); /* nor terminfo, which has none for the console of Linux */
    if (newterm(NULL, stdout, stdin) == NULL) {
        (void)err_set(err, MAS_FAILED, "cannot use this terminal");
        return err_hint(err, "print it as text: mas top --once");
    }
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(ESCAPE_MS);
    (void)mouseinterval(0);
    (void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    start_colours();
    screen_resize();
    return 0;
}

void screen_close(void)
{
    (void)mousemask(0, NULL);
    (void)endwin();
}

void screen_suspend(void)
{
    (void)mousemask(0, NULL);
    (void)endwin();
}

void screen_resume(void)
{
    (void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    (void)clearok(stdscr, TRUE);
    (void)refresh();
    screen_resize();
}

void screen_resize(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_row == 0 || size.ws_col == 0)
        return;
    if (size.ws_row != LINES || size.ws_col != COLS)
        (void)resizeterm(size.ws_row, size.ws_col);
}

void screen_size(size_t *ret_rows, size_t *ret_columns)
{
    int rows, columns;

    getmaxyx(stdscr, rows, columns);
    *ret_rows = rows > 0 ? (size_t)rows : 1;
    *ret_columns = columns > 0 ? (size_t)columns : 1;
}

/* ---- output */

/* Writes a piece of a row. What the locale cannot show was replaced before. */
static void put_piece(const char *text, size_t len)
{
    enum { WIDE = 256 };
    wchar_t wide[WIDE];
    mbstate_t state = {0};

    while (len > 0) {
        const char *at = text;
        size_t n = mbsnrtowcs(wide, &at, len, WIDE, &state);
        if (n == (size_t)-1 || n == 0)
            return;
        (void)addnwstr(wide, (int)n);
        if (at == NULL)
            return;
        len -= (size_t)(at - text);
        text = at;
    }
}

static void put_row(int y, const struct canvas_row *row, size_t columns)
{
    (void)move(y, 0);
    for (size_t i = 0; i < row->count; i++) {
        size_t end = i + 1 < row->count ? row->pieces[i + 1].from : row->text.len;
        paint_with(row->pieces[i].paint, row->chosen && row->pieces[i].from < row->chosen_end,
                   row->bar);
        put_piece(row->text.data + row->pieces[i].from, end - row->pieces[i].from);
    }
    bool chosen = row->chosen && row->chosen_end == SIZE_MAX;
    paint_with(PAINT_PLAIN, chosen, row->bar);
    if (chosen || row->bar)
        for (size_t x = row->used; x < columns; x++)
            (void)addch(' ');
}

void screen_show(const struct canvas *canvas)
{
    (void)erase();
    for (size_t y = 0; y < canvas->rows; y++)
        put_row((int)y, &canvas->row[y], canvas->columns);
    bool typing = canvas->cursor_row < canvas->rows;
    (void)curs_set(typing ? 1 : 0);
    if (typing)
        (void)move((int)canvas->cursor_row, (int)canvas->cursor_column);
    (void)refresh();
}

/* ---- input */

static const struct {
    int code;
    enum press_kind kind;
} codes[] = {
    {KEY_UP, PRESS_UP},         {KEY_DOWN, PRESS_DOWN},
    {KEY_LEFT, PRESS_LEFT},     {KEY_RIGHT, PRESS_RIGHT},
    {KEY_PPAGE, PRESS_PAGE_UP}, {KEY_NPAGE, PRESS_PAGE_DOWN},
    {KEY_HOME, PRESS_HOME},     {KEY_END, PRESS_END},
    {KEY_ENTER, PRESS_ENTER},   {KEY_BACKSPACE, PRESS_BACKSPACE},
    {KEY_DC, PRESS_DELETE},
};

static void read_mouse(struct press *press)
{
    MEVENT event;

    if (getmouse(&event) == ERR)
        return;
    press->row = event.y > 0 ? (size_t)event.y : 0;
    press->column = event.x > 0 ? (size_t)event.x : 0;
    if ((event.bstate & BUTTON1_PRESSED) != 0)
        press->kind = PRESS_CLICK;
    else if ((event.bstate & BUTTON4_PRESSED) != 0)
        press->kind = PRESS_WHEEL_UP;
    else if ((event.bstate & BUTTON5_PRESSED) != 0)
        press->kind = PRESS_WHEEL_DOWN;
}

static void read_code(wint_t code, struct press *press)
{
    if (code == KEY_MOUSE)
        read_mouse(press);
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if ((wint_t)codes[i].code == code)
            press->kind = codes[i].kind;
}

static void read_character(wint_t c, struct press *press)
{
    mbstate_t state = {0};
    char bytes[MB_LEN_MAX];
    size_t n;

    if (c == '\r' || c == '\n') {
        press->kind = PRESS_ENTER;
    } else if (c == '\t') {
        press->kind = PRESS_TAB;
    } else if (c == 27) {
        press->kind = PRESS_ESCAPE;
    } else if (c == 127 || c == 8) {
        press->kind = PRESS_BACKSPACE;
    } else if (c > 0 && c < 27) {
        press->kind = PRESS_CONTROL;
        press->text[0] = (char)('a' + c - 1);
    } else if (c >= ' ' && (n = wcrtomb(bytes, (wchar_t)c, &state)) < sizeof press->text) {
        press->kind = PRESS_TEXT;
        memcpy(press->text, bytes, n);
    }
}

bool screen_press(struct press *ret)
{
    wint_t c = 0;
    int rc = get_wch(&c);

    if (rc == ERR)
        return false;
    *ret = (struct press){.kind = PRESS_OTHER};
    if (rc == KEY_CODE_YES)
        read_code(c, ret);
    else
        read_character(c, ret);
    return true;
}

bool screen_is_gone(short events)
{
    int there = 0;

    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return true;
    return (events & POLLIN) != 0 && ioctl(STDIN_FILENO, FIONREAD, &there) == 0 && there == 0;
}
