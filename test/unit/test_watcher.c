/* What a program on a terminal is doing, as its output tells it. */
#include "unit.h"

#include "host/watcher.h"

enum { IDLE = 2000, LOOK = 300, READY = 500, LIMIT = 20000 };

/* All of them are at least "", as in a preset that was read. */
static struct preset preset_of(const char *ready, const char *waiting)
{
    static char none[] = "";

    return (struct preset){.idle_ms = IDLE,
                           .ready_ms = READY,
                           .ready_timeout_ms = LIMIT,
                           .ready = (char *)(uintptr_t)ready,
                           .waiting = (char *)(uintptr_t)waiting,
                           .title_working = none,
                           .title_idle = none,
                           .title_waiting = none,
                           .told = {.trust = none, .title_new = none}};
}

static void feed(struct watcher *watcher, const char *text, int64_t now)
{
    watcher_output(watcher, text, strlen(text), now);
}

/* One that reads its terminal, and was quiet since its start at 1000. */
static void start_ready(struct watcher *watcher, const struct preset *preset)
{
    watcher_start(watcher, preset, 1000);
    watcher_reads(watcher);
    (void)watcher_tick(watcher, 1000);
}

#define CHECK_STATE(watcher_, now_, state_, next_)                                                 \
    do {                                                                                           \
        CHECK_INT(watcher_tick((watcher_), (now_)), (next_));                                      \
        CHECK_INT((watcher_)->state, (state_));                                                    \
    } while (0)

TEST(it_is_ready_by_silence_by_its_terminal_or_by_the_limit)
{
    const struct preset preset = preset_of("", "");
    struct watcher watcher;

    watcher_start(&watcher, &preset, 1000);
    CHECK_STATE(&watcher, 1000, AGENT_STARTING, 1050); /* whether it reads is looked at often */
    CHECK_STATE(&watcher, 1000 + LIMIT - 10, AGENT_STARTING, 1000 + LIMIT);
    feed(&watcher, "hello", 2000);
    CHECK_STATE(&watcher, 2000 + READY - 1, AGENT_STARTING, 2000 + READY);
    CHECK(!watcher.ready);
    (void)watcher_tick(&watcher, 2000 + READY);
    CHECK(watcher.ready);
    watcher_free(&watcher);

    watcher_start(&watcher, &preset, 1000);
    feed(&watcher, "hello", 1000 + LIMIT - 10);
    CHECK_STATE(&watcher, 1000 + LIMIT - 5, AGENT_STARTING, 1000 + LIMIT);
    (void)watcher_tick(&watcher, 1000 + LIMIT);
    CHECK(watcher.ready);
    watcher_free(&watcher);

    watcher_start(&watcher, &preset, 1000);
    watcher_reads(&watcher);
    CHECK(watcher.ready);
    watcher_free(&watcher);
}

TEST(with_a_pattern_it_is_ready_when_that_is_there)
{
    const struct preset preset = preset_of("^> $", "");
    static const char *const signs[] = {"\033[?2004h", "\033]133;B\a"};
    struct watcher watcher;

    watcher_start(&watcher, &preset, 1000);
    watcher_reads(&watcher); /* is not enough */
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        feed(&watcher, signs[i], 1000);
    CHECK_STATE(&watcher, 1100, AGENT_STARTING, 1000 + LIMIT);
    feed(&watcher, "loading", 1200);
    CHECK_STATE(&watcher, 1200 + 2 * READY, AGENT_STARTING, 1000 + LIMIT);
    watcher_free(&watcher);

    watcher_start(&watcher, &preset, 1000);
    feed(&watcher, "> ", 1200);
    (void)watcher_tick(&watcher, 1200);
    CHECK(watcher.ready);
    watcher_free(&watcher);
    /* and if it has to be silent then, only after that, whatever it prints meanwhile */
    struct preset quiet = preset;
    quiet.quiet_ms = 1500;
    watcher_start(&watcher, &quiet, 1000);
    feed(&watcher, "> ", 1200);
    CHECK_STATE(&watcher, 1300, AGENT_STARTING, 1200 + 1500);
    feed(&watcher, "\r\nloading", 1900);
    CHECK_STATE(&watcher, 1200 + 1500, AGENT_STARTING, 1900 + 1500);
    (void)watcher_tick(&watcher, 1900 + 1500);
    CHECK(watcher.ready);
    watcher_redraws(&watcher, 5000);
    CHECK(!watcher.ready);
    CHECK_INT(watcher_tick(&watcher, 5100), 5000 + 1500);
    (void)watcher_tick(&watcher, 5000 + 1500);
    CHECK(watcher.ready);
    watcher_free(&watcher);
    /* without one, each of these says that it reads */
    const struct preset other = preset_of("", "");
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        watcher_start(&watcher, &other, 1000);
        feed(&watcher, signs[i], 1000);
        CHECK(watcher.ready);
        watcher_free(&watcher);
    }
}

TEST(output_is_work_and_silence_is_none)
{
    const struct preset preset = preset_of("", "");
    struct watcher watcher;

    start_ready(&watcher, &preset);
    CHECK_STATE(&watcher, 1000 + IDLE, AGENT_IDLE, -1);
    feed(&watcher, "x", 9000);
    CHECK_STATE(&watcher, 9000, AGENT_WORKING, 9000 + LOOK);
    CHECK_STATE(&watcher, 9000 + LOOK - 1, AGENT_WORKING, 9000 + LOOK);
    CHECK_STATE(&watcher, 9000 + LOOK, AGENT_WORKING, 9000 + IDLE);
    CHECK_STATE(&watcher, 9000 + IDLE - 1, AGENT_WORKING, 9000 + IDLE);
    CHECK_STATE(&watcher, 9000 + IDLE, AGENT_IDLE, -1);
    /* a message is work before it prints anything */
    watcher_task(&watcher, 20000);
    CHECK_INT(watcher.state, AGENT_WORKING);
    CHECK_STATE(&watcher, 20000 + IDLE - 1, AGENT_WORKING, 20000 + IDLE);
    CHECK_STATE(&watcher, 20000 + IDLE, AGENT_IDLE, -1);
    /* one that was stopped for so long did nothing meanwhile */
    feed(&watcher, "x", 30000);
    CHECK_STATE(&watcher, 30000, AGENT_WORKING, 30000 + LOOK);
    watcher_skip(&watcher, 5000);
    CHECK_STATE(&watcher, 35000 + IDLE - 1, AGENT_WORKING, 35000 + IDLE);
    CHECK_STATE(&watcher, 35000 + IDLE, AGENT_IDLE, -1);
    CHECK_INT(watcher.last_input, 0); /* never stays never */
    CHECK_INT(watcher.attention, 0);
    watcher_free(&watcher);
}

/* The states that a program tells, by the sequence that tells them. */
TEST(what_it_says_itself_counts_more)
{
    static const struct {
        const char *text;
        enum agent_state state;
    } table[] = {
        {"\033]133;C\a", AGENT_WORKING},
        {"\033]133;A\a", AGENT_IDLE},
        {"\033]133;B\a", AGENT_IDLE},
        {"\033]133;D;0\a", AGENT_IDLE},
        {"\033]9;4;1;50\a", AGENT_WORKING},
        {"\033]9;4;3\a", AGENT_WORKING},
        {"\033]9;4;0\a", AGENT_IDLE},
        {"\033]9;4;2\a", AGENT_IDLE},
        {"\033]9;4;1\a\033]9;4;0\a", AGENT_IDLE},
        {"\033]133;D\a\033]133;C\a", AGENT_WORKING},
        {"\033]133;C\a\033]133;X\a", AGENT_WORKING}, /* not known: nothing */
        {"\033]2;busy\033\\", AGENT_WORKING},
        {"\033]0;done\a", AGENT_IDLE},
        {"\033]0;asks\a", AGENT_WAITING},
        {"\033]0;asks, busy, done\a", AGENT_WAITING}, /* the first of them counts */
        {"\033]0;busy, done\a", AGENT_WORKING},
        {"\033]0;busy\a\033]0;asks\a", AGENT_WAITING},
    };
    char busy[] = "busy", done[] = "done", asks[] = "asks";
    struct preset preset = preset_of("", "");

    preset.title_working = busy;
    preset.title_idle = done;
    preset.title_waiting = asks;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct watcher watcher;
        start_ready(&watcher, &preset);
        feed(&watcher, table[i].text, 5000);
        CHECK_STATE(&watcher, 5000, table[i].state, 5000 + LOOK);
        CHECK_STATE(&watcher, 5000 + 2 * IDLE, table[i].state, -1);
        CHECK_INT(watcher_asks(&watcher), table[i].state == AGENT_WAITING);
        watcher_free(&watcher);
    }
    struct watcher watcher;
    start_ready(&watcher, &preset);
    feed(&watcher, "\033]0;busy\a\033]0;other\a", 5000); /* what the title claimed is over */
    CHECK_STATE(&watcher, 5000 + IDLE, AGENT_IDLE, -1);
    CHECK_STR(watcher.title, "other");
    feed(&watcher, "\033]133;C\a\033]0;more\a", 9000); /* but not what something else did */
    CHECK_STATE(&watcher, 9000 + 2 * IDLE, AGENT_WORKING, -1);
    /* keys and messages end what is no claim of work */
    watcher_keys(&watcher, "\r", 1, 20000);
    watcher_task(&watcher, 20000);
    CHECK_STATE(&watcher, 20000 + 2 * IDLE, AGENT_WORKING, -1);
    feed(&watcher, "\033]133;A\a", 30000);
    watcher_keys(&watcher, "a", 1, 30000);
    CHECK_INT(watcher.claim, CLAIM_IDLE);
    watcher_keys(&watcher, "b\r", 2, 30000);
    CHECK_INT(watcher.claim, CLAIM_NONE);
    feed(&watcher, "\033]133;A\a", 31000);
    watcher_task(&watcher, 31000);
    CHECK_INT(watcher.claim, CLAIM_NONE);
    watcher_free(&watcher);
}

TEST(titles_and_notices_are_cut_at_their_room)
{
    static const char *const before[] = {"\033]2;", "\033]9;", "\033]777;notify;"};
    const struct preset preset = preset_of("", "");

    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        for (size_t len = AGENT_TITLE_MAX - 2; len <= AGENT_TITLE_MAX; len++) {
            _cleanup_str_ struct str text = STR_INIT;
            struct watcher watcher;
            start_ready(&watcher, &preset);
            str_add(&text, before[i]);
            for (size_t k = 0; k < len; k++)
                str_addc(&text, 'x');
            str_addc(&text, '\a');
            watcher_output(&watcher, text.data, text.len, 5000);
            const char *kept = i == 0 ? watcher.title : watcher.notice;
            CHECK_INT(strlen(kept), len < AGENT_TITLE_MAX ? len : AGENT_TITLE_MAX - 1);
            CHECK_STR(i == 0 ? watcher.notice : watcher.title, "");
            CHECK_INT(watcher.attention, i == 0 ? 0 : 5000);
            watcher_free(&watcher);
        }
    }
}

TEST(a_bell_waits_for_a_person_until_somebody_reacts)
{
    const struct preset preset = preset_of("", "");
    struct watcher watcher;

    watcher_start(&watcher, &preset, 1000);
    feed(&watcher, "\a", 1000); /* while it starts it is none */
    CHECK_INT(watcher.attention, 0);
    watcher_reads(&watcher);
    feed(&watcher, "\033]9;look\a", 5000);
    CHECK_STR(watcher.notice, "look");
    CHECK_STATE(&watcher, 5000 + LOOK, AGENT_WAITING, -1);
    CHECK(!watcher_asks(&watcher));
    /* a key answers it; a cursor key, the mouse and reports do not */
    watcher_keys(&watcher, "\033[A", 3, 6000);
    CHECK_INT(watcher.attention, 5000);
    CHECK_STR(watcher.notice, "look");
    watcher_keys(&watcher, "\033", 1, 6000);
    CHECK_INT(watcher.attention, 0);
    CHECK_STR(watcher.notice, "");
    CHECK_STATE(&watcher, 6000, AGENT_WORKING, 6000 + LOOK);
    CHECK_STATE(&watcher, 6000 + LOOK, AGENT_WORKING, 6000 + IDLE);
    /* one that answers a key is none */
    feed(&watcher, "\a", 7000);
    CHECK_INT(watcher.attention, 0);
    feed(&watcher, "\a", 7001);
    CHECK_INT(watcher.attention, 7001);
    /* it goes on without an answer */
    feed(&watcher, ".", 7001 + IDLE);
    CHECK_INT(watcher.attention, 7001);
    feed(&watcher, ".", 7002 + IDLE);
    CHECK_INT(watcher.attention, 0);
    feed(&watcher, "\033]777;notify;title;text\a", 20000);
    CHECK_STR(watcher.notice, "title;text");
    watcher_task(&watcher, 20100);
    CHECK_STR(watcher.notice, "");
    CHECK_INT(watcher.attention, 0);
    watcher_free(&watcher);
}

TEST(a_question_in_its_text_waits_until_it_is_answered)
{
    const struct preset preset = preset_of("", "Go on\\?");
    struct watcher watcher;

    start_ready(&watcher, &preset);
    feed(&watcher, "Go on?", 5000);
    CHECK(watcher_asks(&watcher));
    CHECK_STATE(&watcher, 5000 + LOOK - 1, AGENT_WORKING, 5000 + LOOK);
    CHECK_STATE(&watcher, 5000 + LOOK, AGENT_WAITING, -1);
    feed(&watcher, " 12:00", 9000); /* a clock beside it */
    CHECK_STATE(&watcher, 9000, AGENT_WAITING, 9000 + LOOK);
    CHECK_STATE(&watcher, 9000 + LOOK, AGENT_WAITING, -1);
    watcher_keys(&watcher, "y", 1, 10000);
    CHECK(!watcher_asks(&watcher));
    CHECK_INT(watcher.last_task, 10000); /* it works again */
    CHECK_STATE(&watcher, 10000 + IDLE, AGENT_IDLE, -1);
    feed(&watcher, "\nGo on?", 20000); /* asked again: the answer was to the one before */
    CHECK_STATE(&watcher, 20000 + LOOK, AGENT_WAITING, -1);
    watcher_task(&watcher, 21000);
    CHECK(!watcher_asks(&watcher));
    CHECK_STATE(&watcher, 21000 + LOOK, AGENT_WORKING, 21000 + IDLE);
    /* what was answered stays so when the text before it is dropped */
    _cleanup_free_ char *filler = mem_alloc(WATCHER_TEXT_MAX);
    memset(filler, 'x', WATCHER_TEXT_MAX - 1);
    feed(&watcher, "Go on?", 30000);
    watcher_keys(&watcher, "y", 1, 30000);
    for (int i = 0; i < 3; i++) {
        watcher_output(&watcher, filler, WATCHER_TEXT_MAX / 2 - 100, 31000);
        CHECK(!watcher_asks(&watcher));
    }
    feed(&watcher, "Go on?", 32000);
    CHECK(watcher_asks(&watcher));
    watcher_free(&watcher);
}

/* The text as it is matched, whatever goes to the screen. */
TEST(sequences_become_lines_and_blanks)
{
    static const struct {
        const char *bytes, *text;
    } table[] = {
        {"a\r\n\r\nb", "a\nb"},
        {"\r\na", "a"},
        {"a\tb", "a b"},
        {"a\033[Bb\033[1;1Hc\033[2Jd\033[3de\033[1;2ff\033[Fg\033[Eh\033[Ai",
         "a\nb\nc\nd\ne\nf\ng\nh\ni"},
        {"a\033[5Cb\033[3Gc\033[2`d", "a b c d"},
        {"a\033[1;31mb\033[0mc", "abc"},
        {"a\033[?5Cb", "ab"}, /* with a prefix it is another one */
        {"a\bb", "ab"},
        {"a\033]0;title\ab", "ab"},
        {"a\033P1$r\033\\b", "ab"},
    };
    const struct preset preset = preset_of("", "");

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct watcher watcher;
        start_ready(&watcher, &preset);
        for (size_t k = 0; table[i].bytes[k] != '\0'; k++) /* they may come one by one */
            watcher_output(&watcher, table[i].bytes + k, 1, 2000);
        CHECK_STR(watcher.text, table[i].text);
        watcher_free(&watcher);
    }
}

TEST(modes_are_known_until_they_are_reset)
{
    static const struct {
        const char *bytes;
        bool pastes, origin;
        size_t screens;
    } table[] = {
        {"\033[?2004h", true, false, 0},
        {"\033[?2004h\033[?2004l", false, false, 0},
        {"\033[?6h", false, true, 0},
        {"\033[?6h\033[?6l", false, false, 0},
        {"\033[?6;2004h", true, true, 0}, /* all of several */
        {"\033[?1;2004;6h", true, true, 0},
        {"\033[?2004h\033[?6h\033c", false, false, 0},
        {"\033[?1049h", false, false, 0},
        {"\033[?1049l", false, false, 1},
        {"\033[?1049l\033[?1047l\033[?47l", false, false, 3},
        {"\033[?48l\033[?1048l", false, false, 0},
        {"\033[6h\033[2004h", false, false, 0}, /* without ? they are others */
    };
    const struct preset preset = preset_of("", "");

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct watcher watcher;
        watcher_start(&watcher, &preset, 1000);
        feed(&watcher, table[i].bytes, 2000);
        CHECK_INT(watcher.pastes, table[i].pastes);
        CHECK_INT(watcher.origin, table[i].origin);
        CHECK_INT(watcher.screens, table[i].screens);
        watcher_free(&watcher);
    }
}

/* However much comes at once: the newest text is kept, and what the sequences in it say. */
TEST(the_newest_text_of_any_amount_is_kept)
{
    static const size_t sizes[] = {1,
                                   WATCHER_TEXT_MAX / 2,
                                   WATCHER_TEXT_MAX / 2 + 1,
                                   WATCHER_TEXT_MAX - 1,
                                   WATCHER_TEXT_MAX,
                                   WATCHER_TEXT_MAX + 1,
                                   3 * WATCHER_TEXT_MAX};
    const struct preset preset = preset_of("", "");

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct watcher watcher;
        start_ready(&watcher, &preset);
        str_add(&text, "\033]0;told\a\033[?2004h");
        for (size_t k = 0; k < sizes[i]; k++)
            str_addc(&text, k % 50 == 49 ? '\n' : 'x');
        str_add(&text, "the end");
        for (int again = 0; again < 5; again++)
            watcher_output(&watcher, text.data, text.len, 5000);
        CHECK_STR(watcher.title, "told");
        CHECK(watcher.pastes);
        CHECK(watcher.text_len < WATCHER_TEXT_MAX);
        CHECK_INT(strlen(watcher.text), watcher.text_len);
        CHECK(watcher.text_len >= 7 && str_ends(watcher.text, "the end"));
        CHECK(watcher.text_len + 1 >=
              (5 * sizes[i] < WATCHER_TEXT_MAX / 2 ? 5 * sizes[i] : WATCHER_TEXT_MAX / 2));
        watcher_free(&watcher);
    }
}

TEST(the_last_lines_are_whole_ones)
{
    static const struct {
        const char *text;
        size_t max;
        const char *lines;
    } table[] = {
        {"one\ntwo\nthree\n", 100, "one\ntwo\nthree"},
        {"one\ntwo\nthree", 13, "one\ntwo\nthree"},
        {"one\ntwo\nthree", 12, "two\nthree"},
        {"one\ntwo\nthree", 9, "two\nthree"}, /* it begins where a line does */
        {"one\ntwo\nthree", 8, "three"},
        {"one\ntwo\nthree", 5, "three"},
        {"one\ntwo\nthree", 3, "ree"}, /* one line is too long */
        {"  \n one \n  ", 100, "one"},
        {"", 100, ""},
        {"  \n", 100, ""},
    };
    const struct preset preset = preset_of("", "");

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_str_ struct str lines = STR_INIT;
        struct watcher watcher;
        start_ready(&watcher, &preset);
        feed(&watcher, table[i].text, 2000);
        watcher_last_lines(&watcher, table[i].max, &lines);
        CHECK_STR(str_text(&lines), table[i].lines);
        watcher_free(&watcher);
    }
}
