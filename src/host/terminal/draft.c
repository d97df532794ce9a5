/*
 * Keys are parsed as the output of a terminal is. If in doubt the line counts as unknown: then a
 * message waits longer, instead of being typed behind half a line. An Enter does not end the line
 * in a paste, with Alt, after a backslash, or where a shell would read on.
 */

#include "host/terminal/draft.h"

enum { ESCAPE = 0x1b };

#define CTRL(letter) ((letter)&0x1f)
#define DELETE 0x7f

struct pressed {
    struct draft *draft;
    bool executes;
    bool touched;
};

void draft_reset(struct draft *draft)
{
    draft->state = DRAFT_NONE;
    str_clear(&draft->text);
}

void draft_free(struct draft *draft)
{
    str_free(&draft->text);
    *draft = (struct draft){.state = DRAFT_NONE};
}

void draft_lose(struct draft *draft)
{
    draft->state = DRAFT_UNKNOWN;
    str_clear(&draft->text);
}

static void add(struct draft *draft, const char *text, size_t len)
{
    if (draft->escaped)
        draft_lose(draft);
    draft->escaped = false;
    if (draft->state == DRAFT_UNKNOWN)
        return;
    if (draft->text.len + len > DRAFT_TEXT_MAX) {
        draft_lose(draft);
        return;
    }
    draft->state = DRAFT_KNOWN;
    str_addn(&draft->text, text, len);
}

/* Takes the last character away. */
static void erase(struct draft *draft)
{
    struct str *text = &draft->text;

    if (draft->state != DRAFT_KNOWN)
        return;
    do
        text->len--;
    while (text->len > 0 && ((unsigned char)text->data[text->len] & 0xc0) == 0x80);
    text->data[text->len] = '\0';
    if (text->len == 0)
        draft_reset(draft);
}

/* Returns true if a shell reads on after this line, as a quote is open or a backslash ends it. */
static bool goes_on(const struct draft *draft)
{
    _cleanup_strv_ char **words = NULL;
    struct err ignored = ERR_INIT;

    return draft->state == DRAFT_KNOWN &&
           str_split_words(str_text(&draft->text), &words, &ignored) == -1;
}

static void enter(const struct pressed *pressed)
{
    struct draft *draft = pressed->draft;
    const struct str *text = &draft->text;
    bool escaped = text->len > 0 && text->data[text->len - 1] == '\\';

    bool alt = !vt_is_between(&draft->vt); /* and Enter: a new line for many programs */

    if (draft->state == DRAFT_NONE)
        draft->escaped = false;
    if (draft->pasting || alt || escaped || (pressed->executes && goes_on(draft)))
        draft_lose(draft);
    else
        draft_reset(draft);
}

static void control(struct pressed *pressed, char key)
{
    struct draft *draft = pressed->draft;
    bool empty = draft->state == DRAFT_NONE;

    pressed->touched = true;
    if (key == '\r' || (key == '\n' && pressed->executes))
        enter(pressed);
    else if (key == CTRL('C') || (key == CTRL('U') && draft->state == DRAFT_KNOWN))
        draft_reset(draft);
    else if (key == DELETE || key == CTRL('H'))
        erase(draft);
    else if (key == CTRL('D') || key == CTRL('L') || key == CTRL('Q') || key == CTRL('S') ||
             key == CTRL('Z'))
        return; /* they leave the line as it is */
    else if (!empty || strchr("\001\002\005\006\013\025\027", key) == NULL)
        draft_lose(
            draft); /* on an empty line, moves and cuts (^A ^B ^E ^F ^K ^U ^W) have no effect */
}

static void sequence(struct pressed *pressed, const struct vt_event *event)
{
    enum { PASTE_BEGINS = 200, PASTE_ENDS = 201, ENTER = 13 };
    static const char moves[] = "CDFH"; /* right, left, end, home */
    static const char reports[] = "IORcnty"; /* focus, the cursor, the terminal and its modes */
    int first = event->param_count > 0 ? event->params[0] : -1;

    if (event->prefix != 0 || strchr(reports, event->final) != NULL)
        return; /* a report; with '<' of the mouse */
    if (event->final == '~' && (first == PASTE_BEGINS || first == PASTE_ENDS)) {
        pressed->draft->pasting = first == PASTE_BEGINS;
        return;
    }
    pressed->touched = true;
    if (event->final == 'u' && first == ENTER && event->param_count == 1)
        enter(pressed);
    else if (pressed->draft->state != DRAFT_NONE || strchr(moves, event->final) == NULL)
        draft_lose(pressed->draft);
}

static void press(const struct vt_event *event, void *arg)
{
    struct pressed *pressed = arg;

    switch (event->kind) {
    case VT_TEXT:
        pressed->touched = true;
        add(pressed->draft, event->text, event->len);
        break;
    case VT_CONTROL:
        control(pressed, event->final);
        break;
    case VT_CSI:
        sequence(pressed, event);
        break;
    case VT_ESC: /* with Alt, or the end of a string */
        if (event->final == '\\')
            break;
        pressed->touched = true;
        draft_lose(pressed->draft);
        break;
    case VT_OSC:
    case VT_STRING:
    default:
        break; /* the terminal answers a question */
    }
}

bool draft_is_escaped(const struct draft *draft, int64_t now)
{
    return draft->state == DRAFT_KNOWN && draft->escape && now - draft->fed > DRAFT_SEQUENCE_MS;
}

void draft_keys(struct draft *draft, bool executes, const char *keys, size_t len, int64_t now)
{
    struct pressed pressed = {.draft = draft, .executes = executes};

    if (now - draft->fed > DRAFT_SEQUENCE_MS) {
        if (draft_is_escaped(draft, now))
            draft_lose(draft);
        draft->escaped = draft->escaped || draft->escape;
        draft->vt.state = 0;
    }
    draft->fed = now;
    vt_feed(&draft->vt, keys, len, press, &pressed);
    draft->escape = len > 0 && keys[len - 1] == ESCAPE;
    if (pressed.touched)
        draft->touched = now;
}
