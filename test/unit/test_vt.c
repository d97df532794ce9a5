#include "unit.h"

#include "base/vt.h"

/* Writes events as text: T"..." C0a E(c CSI<?1;-;2 m> O"..." S, text in one piece. */
struct writer {
    struct str to;
    bool in_text;
};

static void write_params(struct str *to, const struct vt_event *event)
{
    for (size_t i = 0; i < event->param_count; i++) {
        if (event->params[i] == -1)
            str_addf(to, "%s-", i > 0 ? ";" : "");
        else
            str_addf(to, "%s%d", i > 0 ? ";" : "", event->params[i]);
    }
}

static void write_final(struct str *to, const struct vt_event *event)
{
    if (event->intermediate != 0)
        str_addc(to, event->intermediate);
    str_addc(to, event->final);
}

static void write_event(const struct vt_event *event, void *arg)
{
    struct writer *writer = arg;
    struct str *to = &writer->to;

    if (event->kind != VT_TEXT || !writer->in_text)
        str_add(to, to->len > 0 ? " " : "");
    writer->in_text = event->kind == VT_TEXT;
    switch (event->kind) {
    case VT_TEXT:
        str_addn(to, event->text, event->len);
        break;
    case VT_CONTROL:
        str_addf(to, "C%02x", (unsigned)(unsigned char)event->final);
        break;
    case VT_ESC:
        str_add(to, "E");
        write_final(to, event);
        break;
    case VT_CSI:
        str_add(to, "[");
        if (event->prefix != 0)
            str_addc(to, event->prefix);
        write_params(to, event);
        write_final(to, event);
        break;
    case VT_OSC:
        str_add(to, "O<");
        str_addn(to, event->text, event->len);
        str_add(to, ">");
        break;
    case VT_STRING:
        str_add(to, "S");
        break;
    }
}

/* The events of bytes that come in chunks of `step`. */
static char *events(const char *bytes, size_t len, size_t step)
{
    struct vt vt = {.state = 0};
    struct writer writer = {.to = STR_INIT};

    for (size_t i = 0; i < len; i += step)
        vt_feed(&vt, bytes + i, len - i < step ? len - i : step, write_event, &writer);
    return str_steal(&writer.to);
}

static void check(const char *bytes, size_t len, const char *want)
{
    static const size_t steps[] = {1, 2, 3, 7, 4096};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        _cleanup_free_ char *got = events(bytes, len, steps[i]);
        CHECK_STR(got, want);
    }
}

#define CHECK_EVENTS(bytes, want) check(bytes, sizeof(bytes) - 1, want)

TEST(text_is_one_piece_between_controls)
{
    CHECK_EVENTS("", "");
    CHECK_EVENTS("plain text, longer than a word", "plain text, longer than a word");
    CHECK_EVENTS("a\r\nbc\td", "a C0d C0a bc C09 d");
    CHECK_EVENTS("0123456\x7f"
                 "89",
                 "0123456 C7f 89");
    CHECK_EVENTS("01234567\x1f", "01234567 C1f");
    CHECK_EVENTS("a\0b", "a C00 b");
}

TEST(text_is_utf_8_or_any_high_byte)
{
    CHECK_EVENTS("gr\xc3\xbc\xc3\x9f \xe2\x82\xac", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac");
    CHECK_EVENTS("\x9b"
                 "31m\x90\x9d\xff",
                 "\x9b"
                 "31m\x90\x9d\xff");
}

TEST(reads_control_sequences)
{
    CHECK_EVENTS("\033[m", "[m");
    CHECK_EVENTS("\033[1;31mred", "[1;31m red");
    CHECK_EVENTS("\033[;5H", "[-;5H");
    CHECK_EVENTS("\033[5;H", "[5;-H");
    CHECK_EVENTS("\033[?2004h", "[?2004h");
    CHECK_EVENTS("\033[>c", "[>c");
    CHECK_EVENTS("\033[2 q", "[2 q");
    CHECK_EVENTS("\033[!p", "[!p");
    CHECK_EVENTS("\033[4:3;7m", "[4;7m");
    CHECK_EVENTS("\033[38:2::1:2:3m", "[38m");
    CHECK_EVENTS("\033[0m", "[0m");
    CHECK_EVENTS("\033[[A", "[[ A");
}

TEST(reads_escapes)
{
    CHECK_EVENTS("\033c\0337\033(B\033#8", "Ec E7 E(B E#8");
    CHECK_EVENTS("\033\033[A", "[A");
    CHECK_EVENTS("\033%/G", "E/G");
}

TEST(controls_work_within_sequences)
{
    CHECK_EVENTS("\033[1\n;2m", "C0a [1;2m");
    CHECK_EVENTS("\033\b[1m", "C08 [1m");
    CHECK_EVENTS("\033[1\x7f"
                 "2m",
                 "[12m");
    CHECK_EVENTS("\033[1\xc3\xbc"
                 "2m",
                 "[12m");
}

TEST(cancel_ends_anything)
{
    CHECK_EVENTS("\033[1\x18m", "C18 m");
    CHECK_EVENTS("\033]0;title\x1amore", "C1a more");
    CHECK_EVENTS("\033Pq\x18m", "C18 m");
    CHECK_EVENTS("\033[1\033[2m", "[2m");
}

TEST(bad_sequences_are_dropped_whole)
{
    CHECK_EVENTS("\033[1?2mx", "x");
    CHECK_EVENTS("\033[1 2mx", "x");
    CHECK_EVENTS("\033[?1<3;4[x", "x");
    CHECK_EVENTS("\033[1?\n2mx", "C0a x");
}

TEST(strings_end_with_escape_backslash)
{
    CHECK_EVENTS("\033]0;a title\033\\x", "O<0;a title> E\\ x");
    CHECK_EVENTS("\033]0;a title\ax", "O<0;a title> x");
    CHECK_EVENTS("\033]133;A\033]2;\xc3\xbc\a", "O<133;A> O<2;\xc3\xbc>");
    CHECK_EVENTS("\033]0;a\nb\x7f\a", "O<0;ab\x7f>");
    CHECK_EVENTS("\033]\a", "O<>");
    CHECK_EVENTS("\033P1$qm\a\n~\033\\x", "S E\\ x");
    CHECK_EVENTS("\033_a\033\\\033^b\033\\\033Xc\033[m", "S E\\ S E\\ S [m");
    CHECK_EVENTS("\033]0;never ends", "");
}

TEST(has_limits)
{
    _cleanup_str_ struct str in = STR_INIT;
    _cleanup_str_ struct str want = STR_INIT;

    CHECK_EVENTS("\033[123456789012345678901234567890A", "[99999A");
    CHECK_EVENTS("\033[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18A",
                 "[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16A");
    CHECK_EVENTS("\033[;;;;;;;;;;;;;;;;;;;;;;;1A", "[-;-;-;-;-;-;-;-;-;-;-;-;-;-;-;-A");
    str_add(&in, "\033]");
    str_add(&want, "O<");
    for (int i = 0; i < 3 * VT_STRING_MAX; i++) {
        str_addc(&in, 'x');
        if (i < VT_STRING_MAX)
            str_addc(&want, 'x');
    }
    str_add(&in, "\adone");
    str_add(&want, "> done");
    check(in.data, in.len, want.data);
}

TEST(any_cut_of_any_bytes_gives_the_same_events)
{
    static const char alphabet[] = "\033\033\033[]P_\\;:0159?> !mHJ\a\b\n\r\x18\x7f"
                                   "ab\xc3\xbc\x9b";
    char bytes[64];

    srandom(1);
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = alphabet[(size_t)random() % (sizeof alphabet - 1)];
        _cleanup_free_ char *whole = events(bytes, sizeof bytes, sizeof bytes);
        for (size_t step = 1; step < 12; step++) {
            _cleanup_free_ char *cut = events(bytes, sizeof bytes, step);
            REQUIRE(strcmp(cut, whole) == 0);
        }
    }
}
