/*
 * libedit reads keys through read_char(), which gives it one whole key sequence of the bytes that
 * have arrived, and draws to /dev/null: so it never blocks and never touches the screen. Sequences
 * are cut here, pastes are taken out before it sees them, and functions that would read more keys
 * by themselves or change the terminal are unbound.
 */

#include "chat/line.h"

#include "model/message.h"

#include <histedit.h>
#include <termios.h>
#include <wchar.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() ((void)0)
#define __lsan_enable() ((void)0)
#endif

#define CONTROL(letter) ((letter)&0x1f)
#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

enum { HISTORY_MAX = 500, REMEMBERED_BYTES = 64 * 1024 };

struct line {
    EditLine *edit;
    History *history;
    FILE *in, *null;
    struct termios was;
    bool raw;
    struct str keys; /* input bytes */
    size_t at; /* consumed bytes */
    size_t end; /* end of the key sequence that libedit reads now */
    bool settle; /* accept an incomplete key sequence */
    bool escaped; /* the last key was Escape */
    bool pasting;
    struct str paste;
    bool is_long; /* the paste is longer than a message may be */
    char **wholes; /* texts that are deleted as a whole; NULL: none */
    enum line_event event; /* of the last key */
    bool browses; /* the line shows an entry of the history instead of: */
    char *draft;
};

/* ---- called by libedit */

static struct line *line_of(EditLine *edit)
{
    void *data = NULL;
    (void)el_get(edit, EL_CLIENTDATA, &data);
    return data;
}

/* Returns the next character of the current key sequence; 0: no more. */
static int read_char(EditLine *edit, wchar_t *ret)
{
    struct line *line = line_of(edit);
    mbstate_t state = {0};

    if (line->at >= line->end)
        return 0;
    size_t n = mbrtowc(ret, line->keys.data + line->at, line->end - line->at, &state);
    if (n == 0 || n > line->end - line->at) { /* invalid: skip the rest of the sequence */
        line->at = line->end;
        return 0;
    }
    line->at += n;
    return 1;
}

static size_t length(EditLine *edit)
{
    const LineInfo *info = el_line(edit);
    return (size_t)(info->lastchar - info->buffer);
}

static unsigned char on_event(EditLine *edit, int key)
{
    static const enum line_event events[] = {
        [CONTROL('I')] = LINE_COMPLETE,
        [CONTROL('L')] = LINE_REDRAW,
        [CONTROL('M')] = LINE_SUBMIT,
        [CONTROL('O')] = LINE_UNFOLD,
        [CONTROL('R')] = LINE_SEARCH,
        [CONTROL('X')] = LINE_DROP,
        [CONTROL('P')] = LINE_UP,
        [CONTROL('N')] = LINE_DOWN,
        ['A'] = LINE_UP,
        ['B'] = LINE_DOWN,
    };

    line_of(edit)->event = events[key];
    return CC_NORM;
}

static unsigned char on_newline(EditLine *edit, int key)
{
    (void)key;
    (void)el_insertstr(edit, "\n");
    return CC_REFRESH;
}

static unsigned char on_cancel(EditLine *edit, int key)
{
    (void)key;
    line_of(edit)->event = length(edit) > 0 ? LINE_CLEARED : LINE_CANCEL;
    line_set(line_of(edit), "");
    return CC_REFRESH;
}

static unsigned char on_erase(EditLine *edit, int key)
{
    const LineInfo *info = el_line(edit);
    size_t before = (size_t)(info->cursor - info->buffer);
    int count = 1; /* characters */

    (void)key;
    for (char **one = line_of(edit)->wholes; one != NULL && *one != NULL; one++) {
        size_t len = strlen(*one);
        if (len <= before && memcmp(info->cursor - len, *one, len) == 0)
            count = (int)mbstowcs(NULL, *one, 0);
    }
    el_deletestr(edit, count);
    return CC_REFRESH;
}

static unsigned char on_leave(EditLine *edit, int key)
{
    const LineInfo *info = el_line(edit);
    (void)key;
    if (length(edit) == 0) {
        line_of(edit)->event = LINE_LEAVE;
        return CC_NORM;
    }
    if (info->cursor < info->lastchar) { /* deletes the character under the cursor */
        (void)el_cursor(edit, 1);
        el_deletestr(edit, 1);
    }
    return CC_REFRESH;
}

/* ---- opening */

static const struct {
    const char *name;
    unsigned char (*run)(EditLine *edit, int key);
} functions[] = {
    {"mas-event", on_event}, {"mas-newline", on_newline}, {"mas-cancel", on_cancel},
    {"mas-leave", on_leave}, {"mas-erase", on_erase},
};

static const struct {
    const char *key, *function;
} bindings[] = {
    {"^M", "mas-event"},
    {"^J", "mas-newline"},
    {"\033^M", "mas-newline"},
    {"^C", "mas-cancel"},
    {"^D", "mas-leave"},
    {"^L", "mas-event"},
    {"^O", "mas-event"},
    {"^I", "mas-event"},
    {"^R", "mas-event"},
    {"^X", "mas-event"},
    {"^P", "mas-event"},
    {"^N", "mas-event"},
    {"\033[A", "mas-event"},
    {"\033[B", "mas-event"},
    {"\033OA", "mas-event"},
    {"\033OB", "mas-event"},
    {"\033[C", "ed-next-char"},
    {"\033[D", "ed-prev-char"},
    {"\033OC", "ed-next-char"},
    {"\033OD", "ed-prev-char"},
    {"\033[H", "ed-move-to-beg"},
    {"\033[F", "ed-move-to-end"},
    {"\033OH", "ed-move-to-beg"},
    {"\033OF", "ed-move-to-end"},
    {"\033[1~", "ed-move-to-beg"},
    {"\033[4~", "ed-move-to-end"},
    {"\033[3~", "ed-delete-next-char"},
    {"\033[1;5C", "em-next-word"},
    {"\033[1;5D", "ed-prev-word"},
    {"\033[1;3C", "em-next-word"},
    {"\033[1;3D", "ed-prev-word"},
    {"^U", "vi-kill-line-prev"},
    {"^W", "ed-delete-prev-word"},
    {"^?", "mas-erase"},
    {"^H", "mas-erase"},
    /* functions that read more keys themselves or change the terminal */
    {"^V", "ed-unassigned"},
    {"^Q", "ed-unassigned"},
    {"^S", "ed-unassigned"},
    {"^Z", "ed-unassigned"},
    {"^\\", "ed-unassigned"},
    {"\033x", "ed-unassigned"},
    {"\033X", "ed-unassigned"},
};

static void bind_keys(EditLine *edit)
{
    (void)el_set(edit, EL_EDITOR, "emacs");
    __lsan_disable(); /* libedit keeps names and help of functions forever */
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        (void)el_set(edit, EL_ADDFN, functions[i].name, functions[i].name, functions[i].run);
    __lsan_enable();
    for (size_t i = 0; i < ARRAY_LEN(bindings); i++)
        (void)el_set(edit, EL_BIND, bindings[i].key, bindings[i].function, NULL);
}

/* Sets the terminal to raw mode after libedit has changed it. */
static void make_raw(struct line *line)
{
    struct termios raw = line->was;

    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON | IXOFF);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    raw.c_oflag |= OPOST;
    raw.c_cflag |= CS8;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    line->raw = true;
}

struct line *line_new(struct err *err)
{
    struct line *line = mem_alloc(sizeof *line);
    HistEvent event;

    if (tcgetattr(STDIN_FILENO, &line->was) == -1) {
        free(line);
        (void)err_errno(err, "cannot read keys");
        return NULL;
    }
    line->in = fdopen(dup(STDIN_FILENO), "r");
    line->null = fopen("/dev/null", "we");
    line->history = history_init();
    /* libedit needs the descriptors of a terminal, but draws to its file, /dev/null */
    if (line->in != NULL && line->null != NULL)
        line->edit = el_init_fd("mas-chat", line->in, line->null, line->null, STDIN_FILENO,
                                STDOUT_FILENO, STDERR_FILENO);
    if (line->edit == NULL || line->history == NULL) {
        line_free(line);
        (void)err_set(err, MAS_FAILED, "cannot start the line editor");
        return NULL;
    }
    (void)history(line->history, &event, H_SETSIZE, HISTORY_MAX);
    (void)history(line->history, &event, H_SETUNIQUE, 1);
    (void)el_set(line->edit, EL_CLIENTDATA, line);
    (void)el_set(line->edit, EL_SIGNAL, 0);
    bind_keys(line->edit);
    (void)el_set(line->edit, EL_GETCFN, read_char);
    (void)el_set(line->edit, EL_UNBUFFERED, 1);
    make_raw(line);
    return line;
}

void line_free(struct line *line)
{
    if (line == NULL)
        return;
    if (line->edit != NULL)
        el_end(line->edit);
    if (line->history != NULL)
        history_end(line->history);
    if (line->in != NULL)
        (void)fclose(line->in);
    if (line->null != NULL)
        (void)fclose(line->null);
    if (line->raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &line->was);
    str_free(&line->keys);
    str_free(&line->paste);
    strv_free(line->wholes);
    free(line->draft);
    free(line);
}

/* ---- keys */

/* Returns the length of the key sequence at the start of a text; 0: it is incomplete. */
static size_t key_length(const char *text, size_t len)
{
    unsigned char c = (unsigned char)text[0];
    size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

    if (c != '\033')
        return len >= need ? need : 0;
    if (len == 1)
        return 0;
    if (text[1] != '\0' && strchr("]P_", text[1]) != NULL) { /* OSC, DCS, APC; or a key with Alt */
        for (size_t i = 2; i < len; i++)
            if (text[i] == '\a' || (text[i] == '\\' && text[i - 1] == '\033'))
                return i + 1;
        return 0;
    }
    if (text[1] == 'O')
        return len >= 3 ? 3 : 0;
    if (text[1] == '\033') /* Escape twice, or before another key */
        return len == 2 ? 0 : strchr("[O", text[2]) != NULL ? 1 : 2;
    if (text[1] != '[')
        return 2;
    for (size_t i = 2; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x3f)
            return i + 1;
    return 0;
}

void line_feed(struct line *line, const char *bytes, size_t len)
{
    if (line->at > 0) { /* drop consumed bytes */
        memmove(line->keys.data, line->keys.data + line->at, line->keys.len - line->at);
        line->keys.len -= line->at;
        line->at = 0;
    }
    str_addn(&line->keys, bytes, len);
    line->settle = false;
}

bool line_is_half(const struct line *line)
{
    return line->at < line->keys.len && !line->pasting;
}

void line_settle(struct line *line)
{
    line->settle = true;
}

void line_clean(const char *text, size_t len, struct str *to)
{
    for (size_t i = 0; i < len; i++) {
        bool cr = text[i] == '\r';
        if (cr && i + 1 < len && text[i + 1] == '\n')
            continue;
        if ((unsigned char)text[i] >= 0x20 || text[i] == '\t' || text[i] == '\n' || cr)
            str_addc(to, cr ? '\n' : text[i]);
    }
}

void line_insert(struct line *line, const char *text, size_t len)
{
    _cleanup_str_ struct str clean = STR_INIT;

    line_clean(text, len, &clean);
    if (length(line->edit) + clean.len > MESSAGE_MAX || message_check(str_text(&clean), clean.len))
        return;
    if (clean.len > 0)
        (void)el_insertstr(line->edit, str_text(&clean));
}

void line_whole(struct line *line, const char *text)
{
    if (!strv_has(line->wholes, text))
        strv_push(&line->wholes, text);
}

/* Handles what has arrived of a paste. Returns true at its end. */
static bool handle_paste(struct line *line)
{
    const char *from = line->keys.data + line->at;
    size_t len = line->keys.len - line->at;
    const char *end = memmem(from, len, PASTE_END, strlen(PASTE_END));
    size_t n = end != NULL ? (size_t)(end - from) : len - (len < 5 ? len : 5);

    line->is_long = line->is_long || line->paste.len + n > MESSAGE_MAX;
    if (!line->is_long)
        str_addn(&line->paste, from, n);
    line->at += n;
    if (end == NULL)
        return false;
    line->at += strlen(PASTE_END);
    line->pasting = false;
    line->event = LINE_PASTE;
    return true;
}

static bool is_bound(const char *key, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(bindings); i++)
        if (strlen(bindings[i].key) == len && memcmp(bindings[i].key, key, len) == 0)
            return true;
    return false;
}

/* Returns true if a key is Escape, once or twice. */
static bool handle_escape(struct line *line, const char *key, size_t len)
{
    bool is_escape = key[0] == '\033' && (len == 1 || (len == 2 && key[1] == '\033'));
    bool twice = is_escape && (len == 2 || line->escaped);

    line->escaped = is_escape && !twice;
    if (!is_escape)
        return false;
    line->at += len;
    line->event = twice ? LINE_ESCAPED_TWICE : LINE_ESCAPED;
    return true;
}

/* Lets libedit handle a key sequence. */
static void handle_key(struct line *line, size_t len)
{
    int count = 0;

    line->end = line->at + len;
    (void)el_gets(line->edit, &count);
    line->at = line->end; /* skip the rest of an unknown sequence */
}

enum line_event line_next(struct line *line, char **ret_text)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t cursor;

    line->event = LINE_NOTHING;
    while (line->event == LINE_NOTHING && line->at < line->keys.len) {
        if (line->pasting) {
            if (!handle_paste(line))
                return LINE_NOTHING;
            continue;
        }
        const char *key = line->keys.data + line->at;
        size_t len = line->at < line->keys.len ? key_length(key, line->keys.len - line->at) : 0;
        if (len == 0 && !line->settle)
            return LINE_NOTHING;
        if (len == 0)
            len = line->keys.len - line->at;
        if (len == strlen(PASTE_BEGIN) && memcmp(key, PASTE_BEGIN, len) == 0) {
            line->at += len;
            line->pasting = true;
            continue;
        }
        if ((len == 2 && key[0] == '\xc2' && (unsigned char)key[1] < 0xa0) ||
            (len > 2 && key[0] == '\033' && !is_bound(key, len)))
            line->at +=
                len; /* a control character, or a sequence that libedit would type in part */
        else if (!handle_escape(line, key, len))
            handle_key(line, len);
    }
    if (line->event == LINE_PASTE) {
        for (size_t i = 0; i < line->paste.len; i++)
            if (line->paste.data[i] != '\0')
                str_addc(&text, line->paste.data[i]);
        *ret_text = line->is_long ? NULL : mem_dup(str_text(&text));
        str_clear(&line->paste);
        line->is_long = false;
    }
    if (line->event != LINE_SUBMIT)
        return line->event;
    line_get(line, &text, &cursor);
    line_set(line, "");
    *ret_text = str_steal(&text);
    return LINE_SUBMIT;
}

/* ---- the line */

void line_get(struct line *line, struct str *to, size_t *ret_cursor)
{
    const LineInfo *info = el_line(line->edit);

    str_addn(to, info->buffer, (size_t)(info->lastchar - info->buffer));
    *ret_cursor = (size_t)(info->cursor - info->buffer);
}

void line_set(struct line *line, const char *text)
{
    const LineInfoW *info = el_wline(line->edit);

    (void)el_cursor(line->edit, (int)(info->lastchar - info->cursor));
    info = el_wline(line->edit);
    el_deletestr(line->edit, (int)(info->lastchar - info->buffer));
    if (text[0] != '\0')
        (void)el_insertstr(line->edit, text);
    line->browses = false;
}

void line_remember(struct line *line, const char *text)
{
    HistEvent event;

    if (text[0] != '\0' && strlen(text) <= REMEMBERED_BYTES)
        (void)history(line->history, &event, H_ENTER, text);
}

void line_forget(struct line *line, const char *part)
{
    HistEvent event;

    for (int rc = history(line->history, &event, H_FIRST); rc != -1;)
        if (strstr(event.str, part) == NULL)
            rc = history(line->history, &event, H_NEXT);
        else if (history(line->history, &event, H_DEL, event.num) == -1)
            return;
        else {
            free((char *)(uintptr_t)event.str); /* of H_DEL, a copy that is the caller's */
            rc = history(line->history, &event, H_FIRST);
        }
}

char **line_find(struct line *line, const char *part, size_t most)
{
    char **found = NULL;
    HistEvent event;

    for (int rc = history(line->history, &event, H_FIRST); rc != -1 && strv_len(found) < most;
         rc = history(line->history, &event, H_NEXT))
        if (strcasestr(event.str, part) != NULL && !strv_has(found, event.str))
            strv_push(&found, event.str);
    line->browses = false; /* it has lost its place */
    return found;
}

void line_recall(struct line *line, bool back)
{
    HistEvent event;

    if (!line->browses && !back)
        return;
    int rc = history(line->history, &event, !line->browses ? H_FIRST : back ? H_NEXT : H_PREV);
    if (rc == -1 && back)
        return;
    if (!line->browses) {
        _cleanup_str_ struct str text = STR_INIT;
        size_t cursor;
        line_get(line, &text, &cursor);
        free(line->draft);
        line->draft = mem_dup(str_text(&text));
    }
    line_set(line, rc == -1 ? line->draft : event.str);
    line->browses = rc != -1;
}
