/*
 * vt.c makes events of the bytes; here they write into the cells of one line, of which each holds
 * the raw bytes of one character. Only when the line ends is it made text, and checked then: so a
 * line that is written over many times costs little, and bytes come in any pieces.
 */

#include "base/term_text.h"

#include "base/utf8.h"

enum {
    TAB_COLUMNS = 8,
    SMALL = 512, /* columns; more memory is freed at the end of a line */
};

/* The arguments of one call of term_text_feed(). */
struct feed {
    struct term_text *term;
    term_text_line *on_line;
    void *arg;
};

static bool is_high(uint32_t cell)
{
    return (cell & 0x80) != 0;
}

/* Appends cells as long as they are ASCII or empty, which are safe to print. Returns how many. */
static size_t add_ascii(struct str *to, const uint32_t *cells, size_t count)
{
    size_t n = 0;

    str_reserve(to, count);
    for (; n < count && !is_high(cells[n]); n++)
        to->data[to->len + n] = cells[n] != 0 ? (char)cells[n] : ' ';
    to->len += n;
    to->data[to->len] = '\0';
    return n;
}

/* Appends the other cells, after checking now what they contain. */
static size_t add_high(struct str *to, const uint32_t *cells, size_t count)
{
    _cleanup_str_ struct str raw = STR_INIT;
    size_t n = 0;

    for (; n < count && is_high(cells[n]); n++)
        for (uint32_t cell = cells[n]; cell != 0; cell >>= 8)
            str_addc(&raw, (char)(cell & 0xff));
    str_add_visible(to, str_text(&raw), raw.len);
    return n;
}

/* Converts the cells to term->text. Unwritten cells become spaces, except at the end. */
static void make_text(struct term_text *term)
{
    size_t count = term->columns;

    while (count > 0 && term->cells[count - 1] == 0)
        count--;
    str_clear(&term->text);
    for (size_t i = 0; i < count;) {
        i += add_ascii(&term->text, term->cells + i, count - i);
        i += add_high(&term->text, term->cells + i, count - i);
    }
}

static void end_line(const struct feed *feed)
{
    struct term_text *term = feed->term;

    make_text(term);
    feed->on_line(str_text(&term->text), term->text.len, feed->arg);
    term->columns = 0;
    term->missing = 0;
    if (term->room > SMALL) {
        free(term->cells);
        term->cells = NULL;
        term->room = 0;
        str_free(&term->text);
        term->text = (struct str)STR_INIT;
    }
}

/* The cursor leaves the line: reports it unless it is empty. */
static void leave_line(const struct feed *feed)
{
    if (feed->term->columns > 0)
        end_line(feed);
}

static void move_to(struct term_text *term, size_t column)
{
    term->cursor = column < TERM_TEXT_COLUMNS_MAX ? column : TERM_TEXT_COLUMNS_MAX - 1;
}

/* Makes space for `columns` cells and fills with empty ones. */
static void widen(struct term_text *term, size_t columns)
{
    if (columns > term->room) {
        size_t room = term->room > 0 ? term->room : SMALL / 4;
        while (room < columns)
            room *= 2;
        term->cells = mem_grow(term->cells, room, sizeof *term->cells);
        term->room = room;
    }
    if (columns > term->columns) {
        memset(term->cells + term->columns, 0, (columns - term->columns) * sizeof *term->cells);
        term->columns = columns;
    }
}

/* Writes bytes, one character each, as far as the line has space; returns how many. */
static size_t put(const struct feed *feed, const char *bytes, size_t len)
{
    struct term_text *term = feed->term;

    if (term->cursor == TERM_TEXT_COLUMNS_MAX) {
        end_line(feed);
        term->cursor = 0;
    }
    size_t n = TERM_TEXT_COLUMNS_MAX - term->cursor;
    if (n > len)
        n = len;
    widen(term, term->cursor + n);
    for (size_t i = 0; i < n; i++)
        term->cells[term->cursor + i] = (unsigned char)bytes[i];
    term->cursor += n;
    term->missing = 0;
    return n;
}

/* Only groups bytes into characters. Whether they are valid is checked when the line becomes
 * text. */
static void put_high(const struct feed *feed, char byte)
{
    struct term_text *term = feed->term;
    unsigned char c = (unsigned char)byte;

    if (utf8_is_inside(byte) && term->missing > 0) {
        uint32_t *cell = &term->cells[term->cursor - 1];
        int have = *cell > 0xffff ? 3 : *cell > 0xff ? 2 : 1;
        *cell |= (uint32_t)c << (8 * have);
        term->missing--;
        return;
    }
    (void)put(feed, &byte, 1);
    term->missing = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
}

static void put_text(const struct feed *feed, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && (text[i + n] & 0x80) == 0)
            n++;
        if (n > 0)
            i += put(feed, text + i, n);
        else
            put_high(feed, text[i++]);
    }
}

static void tab(const struct feed *feed)
{
    struct term_text *term = feed->term;

    if (term->cursor >= term->columns)
        (void)put(feed, "\t", 1);
    else
        move_to(term, (term->cursor / TAB_COLUMNS + 1) * TAB_COLUMNS);
}

/* A line editor (readline, zle) that has filled a row of its terminal moves to the next row with a
 * space and a carriage return. The width of the terminal is unknown here, where a row is only part
 * of a line. But if text follows while a line is being edited, this is what it means. Otherwise a
 * program restarts its line this way. */
static void carriage_return(struct term_text *term)
{
    term->at_margin = term->is_edited && term->cursor > 0 && term->cursor == term->columns &&
                      term->cells[term->cursor - 1] == ' ';
    if (!term->at_margin)
        term->cursor = 0;
}

/* Handles what follows a carriage return, which decides whether the line continues. */
static void leave_margin(struct term_text *term, bool goes_on)
{
    term->at_margin = false;
    if (goes_on)
        term->cursor = --term->columns;
    else
        term->cursor = 0;
}

static void control(const struct feed *feed, char c)
{
    struct term_text *term = feed->term;

    term->missing = 0;
    switch (c) {
    case '\n':
    case '\v':
    case '\f':
        end_line(feed);
        term->cursor = 0;
        break;
    case '\r':
        carriage_return(term);
        break;
    case '\b':
        term->cursor -= term->cursor > 0;
        break;
    case '\t':
        tab(feed);
        break;
    default:
        break;
    }
}

/* Empties the cells [from, to). */
static void erase(struct term_text *term, size_t from, size_t to)
{
    if (to > term->columns)
        to = term->columns;
    if (from < to)
        memset(term->cells + from, 0, (to - from) * sizeof *term->cells);
    while (term->columns > 0 && term->cells[term->columns - 1] == 0)
        term->columns--;
}

/* Removes n cells at the cursor; the cells after them move up. */
static void delete_cells(struct term_text *term, size_t n)
{
    size_t at = term->cursor;

    if (at >= term->columns)
        return;
    if (n > term->columns - at)
        n = term->columns - at;
    memmove(term->cells + at, term->cells + at + n, (term->columns - at - n) * sizeof *term->cells);
    term->columns -= n;
}

/* Inserts n empty cells at the cursor; cells beyond the end are lost. */
static void put_in(struct term_text *term, size_t n)
{
    size_t at = term->cursor;
    size_t old = term->columns;

    if (at >= old)
        return;
    if (n > TERM_TEXT_COLUMNS_MAX - at)
        n = TERM_TEXT_COLUMNS_MAX - at;
    widen(term, old + n < TERM_TEXT_COLUMNS_MAX ? old + n : TERM_TEXT_COLUMNS_MAX);
    memmove(term->cells + at + n, term->cells + at, (term->columns - at - n) * sizeof *term->cells);
    memset(term->cells + at, 0, n * sizeof *term->cells);
}

static void erase_in_line(struct term_text *term, const struct vt_event *event)
{
    int how = event->param_count > 0 && event->params[0] > 0 ? event->params[0] : 0;

    if (how == 0)
        erase(term, term->cursor, term->columns);
    else if (how == 1)
        erase(term, 0, term->cursor + 1);
    else if (how == 2)
        erase(term, 0, term->columns);
}

/* Returns a parameter that is a count: omitted and 0 mean 1. */
static size_t count_of(const struct vt_event *event, size_t i)
{
    return i < event->param_count && event->params[i] > 0 ? (size_t)event->params[i] : 1;
}

/* Applies control sequences that stay in the line. */
static bool edit(struct term_text *term, const struct vt_event *event)
{
    size_t n = count_of(event, 0);
    size_t cursor = term->cursor;

    switch (event->final) {
    case 'C':
        move_to(term, cursor + n);
        return true;
    case 'D':
        move_to(term, cursor > n ? cursor - n : 0);
        return true;
    case 'G':
    case '`':
        move_to(term, n - 1);
        return true;
    case 'J': /* zsh sends it after each prompt, for the lines below */
        if (event->param_count > 0 && event->params[0] > 1)
            return false;
        erase_in_line(term, event);
        return true;
    case 'K':
        erase_in_line(term, event);
        return true;
    case 'P':
        delete_cells(term, n);
        return true;
    case 'X':
        erase(term, cursor, cursor + n);
        return true;
    case '@':
        put_in(term, n);
        return true;
    default:
        return false;
    }
}

static void set_mode(const struct feed *feed, int mode, bool on)
{
    if (mode == 47 || mode == 1047 || mode == 1049) /* switches to another screen and back */
        leave_line(feed);
    else if (mode == 2004) /* marks pastes: on while a line is edited */
        feed->term->is_edited = on;
}

static void control_sequence(const struct feed *feed, const struct vt_event *event)
{
    struct term_text *term = feed->term;

    term->missing = 0;
    if (event->intermediate != 0)
        return;
    if (event->prefix == '?' && (event->final == 'h' || event->final == 'l')) {
        for (size_t i = 0; i < event->param_count; i++)
            set_mode(feed, event->params[i], event->final == 'h');
        return;
    }
    if (event->prefix != 0 || edit(term, event))
        return;
    if (strchr("ABEFHJLMSTdfru", event->final) == NULL)
        return;
    leave_line(feed);
    if (event->final == 'E' || event->final == 'F')
        term->cursor = 0;
    else if (event->final == 'H' || event->final == 'f')
        move_to(term, count_of(event, 1) - 1);
}

static void escape(const struct feed *feed, const struct vt_event *event)
{
    feed->term->missing = 0;
    if (event->intermediate != 0 || strchr("8DEMc", event->final) == NULL)
        return;
    leave_line(feed);
    if (event->final == 'E' || event->final == 'c')
        feed->term->cursor = 0;
}

static void on_event(const struct vt_event *event, void *arg)
{
    const struct feed *feed = arg;

    if (feed->term->at_margin)
        leave_margin(feed->term, event->kind == VT_TEXT);
    switch (event->kind) {
    case VT_TEXT:
        put_text(feed, event->text, event->len);
        break;
    case VT_CONTROL:
        control(feed, event->final);
        break;
    case VT_ESC:
        escape(feed, event);
        break;
    case VT_CSI:
        control_sequence(feed, event);
        break;
    case VT_OSC:
    case VT_STRING:
        break;
    }
}

void term_text_feed(struct term_text *term, const char *bytes, size_t len, term_text_line *on_line,
                    void *arg)
{
    struct feed feed = {.term = term, .on_line = on_line, .arg = arg};
    vt_feed(&term->vt, bytes, len, on_event, &feed);
}

void term_text_end(struct term_text *term, term_text_line *on_line, void *arg)
{
    struct feed feed = {.term = term, .on_line = on_line, .arg = arg};
    leave_line(&feed);
    term->cursor = 0;
    term->missing = 0;
    term->is_edited = term->at_margin = false;
    term->vt = (struct vt){.state = 0};
}

void term_text_free(struct term_text *term)
{
    free(term->cells);
    str_free(&term->text);
    *term = (struct term_text){.columns = 0};
}
