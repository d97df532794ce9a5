/*
 * A parser for terminal output: ECMA-48 control sequences, with the state machine of the DEC VT500
 * (https://vt100.net/emu/dec_ansi_parser). It changes nothing and keeps no screen. It splits a
 * stream of bytes into events, however the stream is cut into chunks, and its memory is constant.
 */
#pragma once

enum { VT_PARAMS_MAX = 16, VT_STRING_MAX = 1024 };

enum vt_kind {
    VT_TEXT, /* printable bytes, UTF-8 or not: text, len */
    VT_CONTROL, /* one C0 control character or DEL: final */
    VT_ESC, /* ESC, intermediate, final */
    VT_CSI, /* prefix, params, intermediate, final */
    VT_OSC, /* text, len: at most VT_STRING_MAX bytes; the rest is dropped */
    VT_STRING, /* the end of a DCS, SOS, PM or APC; its text is not kept */
};

struct vt_event {
    enum vt_kind kind;
    const char *text; /* valid during the call */
    size_t len;
    int params[VT_PARAMS_MAX]; /* -1 if omitted */
    size_t param_count;
    char prefix; /* of a CSI: one of <=>? or 0 */
    char intermediate; /* the last one, or 0 */
    char final;
};

/* Zero-initialised. */
struct vt {
    int state;
    struct vt_event event; /* under construction */
    char string[VT_STRING_MAX];
    size_t string_len;
};

typedef void vt_each(const struct vt_event *event, void *arg);

/* Returns true if the parser is not inside a sequence or a string. */
bool vt_is_between(const struct vt *vt);

/* Parses bytes and calls `each` for every event. */
void vt_feed(struct vt *vt, const char *bytes, size_t len, vt_each *each, void *arg);
