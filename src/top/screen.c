#include "top/screen.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>
#undef columns /* a macro of term.h */
#undef lines

enum { ESCAPE_MS = 25, COLOURS_MANY = 256, PAIR_CHOSEN = 20, PAIR_MAX = 64 };

/* ---- colours */

/* How a kind of text looks: a colour of the terminal's own eight, and attributes that also work
 * without colours. */
static const struct {
    short colour; /* -1: the terminal's own */
    attr_t attributes;
} looks[PAINT_COUNT] = {
    [PAINT_PLAIN] = {-1, A_NORMAL},
    [PAINT_DIM] = {-1, A_DIM},
    [PAINT_BOLD] = {-1, A_BOLD},
    [PAINT_NEEDED] = {COLOR_YELLOW, A_BOLD},
    [PAINT_BAD] = {COLOR_RED, A_BOLD},
    [PAINT_WORKING] = {COLOR_GREEN, A_NORMAL},
    [PAINT_DONE] = {COLOR_CYAN, A_NORMAL},
    [PAINT_HELD] = {COLOR_MAGENTA, A_NORMAL},
    [PAINT_BAR] = {-1, A_NORMAL},
    [PAINT_KEY] = {-1, A_BOLD},
    [PAINT_ADDED] = {COLOR_GREEN, A_NORMAL},
    [PAINT_REMOVED] = {COLOR_RED, A_NORMAL},
};

/* Pairs: 1 + paint on the terminal's own background, PAIR_CHOSEN + paint on that of the chosen
 * row. */
static void start_colours(void)
{
    const char *none = getenv("NO_COLOR");

    if ((none != NULL && none[0] != '\0') || !has_colors() || start_color() == ERR ||
        use_default_colors() == ERR)
        return;
    bool many = COLORS >= COLOURS_MANY;
    for (int i = 0; i < PAINT_COUNT; i++) {
        short colour = looks[i].colour;
        (void)init_pair((short)(1 + i), colour, -1);
        if (many) /* on dark grey; the text stays bright on light and on dark terminals */
            (void)init_pair((short)(PAIR_CHOSEN + i), colour == -1 ? 255 : (short)(colour + 8),
                            238);
    }
}

static bool has_pairs(void)
{
    short colour, back;
    return pair_content(1 + PAINT_NEEDED, &colour, &back) == OK && colour == COLOR_YELLOW;
}

static void paint_with(enum paint paint, const struct canvas_row *row)
{
    attr_t attributes = looks[paint].attributes;
    short pair = has_pairs() ? (short)(1 + paint) : 0;

    if (row->bar)
        attributes |= A_REVERSE;
    if (row->chosen && has_pairs() && COLORS >= COLOURS_MANY) {
        pair = (short)(PAIR_CHOSEN + paint);
        attributes &= ~(attr_t)A_DIM;
    } else if (row->chosen) {
        attributes = (attributes | A_REVERSE) & ~(attr_t)A_DIM;
        pair = 0;
    }
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
    else if (setupterm(NULL, STDOUT_FILENO, &found) == ERR)
        (void)err_set(err, MAS_USAGE, "cannot show the screen: there is no description of '%s'",
                      term);
    else if (!moves_cursor())
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
        paint_with(row->pieces[i].paint, row);
        put_piece(row->text.data + row->pieces[i].from, end - row->pieces[i].from);
    }
    paint_with(PAINT_PLAIN, row);
    if (row->chosen || row->bar)
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
