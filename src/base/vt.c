/*
 * A table says for each state and kind of byte what to do; handle_byte() does it. Runs of plain
 * text, which is nearly all, never reach the table: text_run() finds their end eight bytes at a
 * time, in the caller's bytes, so no text is copied but that of an OSC.
 */

#include "base/vt.h"

enum { PARAM_MAX = 99999 }; /* larger numbers mean the same */

enum state {
    GROUND,
    ESCAPE,
    ESC_MIDDLE, /* after an intermediate */
    CSI_BEGIN,
    CSI_PARAM,
    CSI_SUB, /* after a colon: a subparameter, which is not kept */
    CSI_MIDDLE,
    CSI_BAD, /* invalid: read to its end and dropped */
    OSC,
    STRING,
    STATE_COUNT
};

/* Classes of bytes. There are no 8-bit controls: in UTF-8 they are parts of characters. */
enum byte {
    B_CONTROL,
    B_BEL,
    B_CANCEL, /* CAN, SUB */
    B_ESC,
    B_MIDDLE, /* 0x20 - 0x2f, "intermediates" */
    B_DIGIT,
    B_COLON,
    B_SEMICOLON,
    B_PREFIX, /* <=>? */
    B_CSI, /* [ */
    B_OSC, /* ] */
    B_STRING, /* P X ^ _ */
    B_FINAL, /* all others from 0x40 to 0x7e */
    B_DEL,
    B_HIGH,
    BYTE_COUNT
};

enum action {
    DROP, /* nothing */
    TEXT,
    CONTROL, /* takes effect at once, even inside a sequence */
    CANCEL,
    ESC,
    ESC_KEEP,
    ESC_END,
    CSI_START,
    CSI_PREFIX,
    CSI_DIGIT,
    CSI_NEXT,
    CSI_COLON,
    CSI_KEEP,
    CSI_SPOIL,
    CSI_END,
    OSC_START,
    OSC_PUT,
    OSC_END,
    STRING_START,
    GIVE_UP, /* ends an invalid sequence */
};

static enum byte byte_kind(unsigned char c)
{
    if (c >= 0x80)
        return B_HIGH;
    if (c >= 0x40)
        return c == '['                                       ? B_CSI
               : c == ']'                                     ? B_OSC
               : c == 'P' || c == 'X' || c == '^' || c == '_' ? B_STRING
               : c == 0x7f                                    ? B_DEL
                                                              : B_FINAL;
    if (c >= 0x30)
        return c <= '9' ? B_DIGIT : c == ':' ? B_COLON : c == ';' ? B_SEMICOLON : B_PREFIX;
    if (c >= 0x20)
        return B_MIDDLE;
    return c == 0x07 ? B_BEL : c == 0x18 || c == 0x1a ? B_CANCEL : c == 0x1b ? B_ESC : B_CONTROL;
}

/* The columns are in the order of enum byte. */
/* clang-format off */
static const uint8_t actions[STATE_COUNT][BYTE_COUNT] = {
    [GROUND] = {CONTROL, CONTROL, CANCEL, ESC, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT,
                TEXT, CONTROL, TEXT},
    [ESCAPE] = {CONTROL, CONTROL, CANCEL, ESC, ESC_KEEP, ESC_END, ESC_END, ESC_END, ESC_END,
                CSI_START, OSC_START, STRING_START, ESC_END, DROP, DROP},
    [ESC_MIDDLE] = {CONTROL, CONTROL, CANCEL, ESC, ESC_KEEP, ESC_END, ESC_END, ESC_END, ESC_END,
                    ESC_END, ESC_END, ESC_END, ESC_END, DROP, DROP},
    [CSI_BEGIN] = {CONTROL, CONTROL, CANCEL, ESC, CSI_KEEP, CSI_DIGIT, CSI_COLON, CSI_NEXT,
                   CSI_PREFIX, CSI_END, CSI_END, CSI_END, CSI_END, DROP, DROP},
    [CSI_PARAM] = {CONTROL, CONTROL, CANCEL, ESC, CSI_KEEP, CSI_DIGIT, CSI_COLON, CSI_NEXT,
                   CSI_SPOIL, CSI_END, CSI_END, CSI_END, CSI_END, DROP, DROP},
    [CSI_SUB] = {CONTROL, CONTROL, CANCEL, ESC, CSI_KEEP, DROP, DROP, CSI_NEXT,
                 CSI_SPOIL, CSI_END, CSI_END, CSI_END, CSI_END, DROP, DROP},
    [CSI_MIDDLE] = {CONTROL, CONTROL, CANCEL, ESC, CSI_KEEP, CSI_SPOIL, CSI_SPOIL, CSI_SPOIL,
                    CSI_SPOIL, CSI_END, CSI_END, CSI_END, CSI_END, DROP, DROP},
    [CSI_BAD] = {CONTROL, CONTROL, CANCEL, ESC, DROP, DROP, DROP, DROP,
                 DROP, GIVE_UP, GIVE_UP, GIVE_UP, GIVE_UP, DROP, DROP},
    [OSC] = {DROP, OSC_END, CANCEL, ESC, OSC_PUT, OSC_PUT, OSC_PUT, OSC_PUT, OSC_PUT, OSC_PUT,
             OSC_PUT, OSC_PUT, OSC_PUT, OSC_PUT, OSC_PUT},
    [STRING] = {DROP, DROP, CANCEL, ESC, DROP, DROP, DROP, DROP, DROP, DROP, DROP, DROP, DROP,
                DROP, DROP},
};
/* clang-format on */

/* Returns how many bytes from p on are not control characters; tests eight at a time. */
static size_t text_run(const char *p, const char *end)
{
    const uint64_t ones = UINT64_MAX / 0xff;
    const char *start = p;

    for (uint64_t word; end - p >= (ptrdiff_t)sizeof word; p += sizeof word) {
        memcpy(&word, p, sizeof word);
        uint64_t del = word ^ (ones * 0x7f);
        uint64_t low = (word - ones * 0x20) & ~word; /* sets the high bit of bytes below 0x20 */
        if (((low | ((del - ones) & ~del)) & (ones * 0x80)) != 0)
            break;
    }
    while (p < end && (unsigned char)*p >= 0x20 && *p != 0x7f)
        p++;
    return (size_t)(p - start);
}

static void begin(struct vt *vt, enum state state)
{
    vt->event.kind = state == ESCAPE ? VT_ESC : VT_CSI;
    vt->event.param_count = 0;
    vt->event.prefix = '\0';
    vt->event.intermediate = '\0';
    vt->string_len = 0;
    vt->state = (int)state;
}

static void put_string(struct vt *vt, const char *text, size_t len)
{
    size_t room = sizeof vt->string - vt->string_len;
    size_t n = len < room ? len : room;

    memcpy(vt->string + vt->string_len, text, n);
    vt->string_len += n;
}

static void add_digit(struct vt *vt, char c)
{
    struct vt_event *event = &vt->event;

    vt->state = CSI_PARAM;
    if (event->param_count == 0) {
        event->param_count = 1;
        event->params[0] = -1;
    }
    if (event->param_count > VT_PARAMS_MAX)
        return;
    int *param = &event->params[event->param_count - 1];
    int value = (*param == -1 ? 0 : *param) * 10 + (c - '0');
    *param = value < PARAM_MAX ? value : PARAM_MAX;
}

/* The count goes one beyond its limit while excess parameters are dropped. */
static void next_param(struct vt *vt)
{
    struct vt_event *event = &vt->event;

    vt->state = CSI_PARAM;
    if (event->param_count == 0)
        event->params[event->param_count++] = -1;
    if (event->param_count <= VT_PARAMS_MAX && event->param_count++ < VT_PARAMS_MAX)
        event->params[event->param_count - 1] = -1;
}

static void end_string(struct vt *vt, vt_each *each, void *arg)
{
    if (vt->state == OSC) {
        struct vt_event osc = {.kind = VT_OSC, .text = vt->string, .len = vt->string_len};
        each(&osc, arg);
    } else if (vt->state == STRING) {
        struct vt_event ended = {.kind = VT_STRING};
        each(&ended, arg);
    }
}

static void end_sequence(struct vt *vt, char final, vt_each *each, void *arg)
{
    vt->state = GROUND;
    vt->event.final = final;
    if (vt->event.param_count > VT_PARAMS_MAX)
        vt->event.param_count = VT_PARAMS_MAX;
    each(&vt->event, arg);
}

/* Handles one byte that is not plain text. */
static void handle_byte(struct vt *vt, char c, struct vt_event *control, vt_each *each, void *arg)
{
    switch ((enum action)actions[vt->state][byte_kind((unsigned char)c)]) {
    case CONTROL:
        control->final = c;
        each(control, arg);
        break;
    case CANCEL:
        vt->state = GROUND;
        control->final = c;
        each(control, arg);
        break;
    case ESC:
        end_string(vt, each, arg);
        begin(vt, ESCAPE);
        break;
    case ESC_KEEP:
        vt->event.intermediate = c;
        vt->state = ESC_MIDDLE;
        break;
    case CSI_KEEP:
        vt->event.intermediate = c;
        vt->state = CSI_MIDDLE;
        break;
    case ESC_END:
    case CSI_END:
        end_sequence(vt, c, each, arg);
        break;
    case CSI_START:
        begin(vt, CSI_BEGIN);
        break;
    case CSI_PREFIX:
        vt->event.prefix = c;
        vt->state = CSI_PARAM;
        break;
    case CSI_DIGIT:
        add_digit(vt, c);
        break;
    case CSI_NEXT:
        next_param(vt);
        break;
    case CSI_COLON:
        vt->state = CSI_SUB;
        break;
    case CSI_SPOIL:
        vt->state = CSI_BAD;
        break;
    case OSC_START:
        begin(vt, OSC);
        break;
    case OSC_PUT:
        put_string(vt, &c, 1);
        break;
    case OSC_END:
        end_string(vt, each, arg);
        vt->state = GROUND;
        break;
    case STRING_START:
        begin(vt, STRING);
        break;
    case GIVE_UP:
        vt->state = GROUND;
        break;
    case TEXT: /* handled by text_run() */
    case DROP:
        break;
    }
}

bool vt_is_between(const struct vt *vt)
{
    return vt->state == GROUND;
}

void vt_feed(struct vt *vt, const char *bytes, size_t len, vt_each *each, void *arg)
{
    const char *end = bytes + len;
    struct vt_event text = {.kind = VT_TEXT};
    struct vt_event control = {.kind = VT_CONTROL};

    while (bytes < end) {
        if (vt->state == GROUND || vt->state == OSC || vt->state == STRING) {
            size_t run = text_run(bytes, end);
            if (run > 0 && vt->state == GROUND) {
                text.text = bytes;
                text.len = run;
                each(&text, arg);
            } else if (vt->state == OSC) {
                put_string(vt, bytes, run);
            }
            bytes += run;
            if (bytes == end)
                break;
        }
        handle_byte(vt, *bytes++, &control, each, arg);
    }
}
