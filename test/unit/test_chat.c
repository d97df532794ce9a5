/*
 * The pane of an agent: what events become, what a person types, and the footer. The terminal is
 * one of the test's, and what would be drawn is looked at before it is drawn.
 */
#include "place.h"

#include "chat/chat.h"
#include "chat/draw.h"
#include "examples.h"
#include "markdown/markdown.h"

#include <locale.h>
#include <sys/socket.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() ((void)0)
#define __lsan_enable() ((void)0)
#endif

static struct chat chat;
static int host = -1; /* the other end of the connection */

/* Puts a terminal on descriptor 0, as the line needs one. */
static bool have_terminal(void)
{
    int main_end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    char name[64];

    if (main_end == -1 || grantpt(main_end) == -1 || unlockpt(main_end) == -1 ||
        ptsname_r(main_end, name, sizeof name) != 0)
        return false;
    int other = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return other != -1 && dup2(other, STDIN_FILENO) == STDIN_FILENO && close(other) == 0;
}

static bool begin(int rows, int columns)
{
    static bool done, good;
    struct err err = ERR_INIT;
    int pair[2];

    if (!done)
        good = setenv("TERM", "xterm", 1) == 0 && have_terminal();
    done = true;
    chat = (struct chat){.host = HOST_CONNECTION_INIT,
                         .dir = -1,
                         .run = -1,
                         .agent = "a",
                         .session = mem_dup("550e8400-e29b"),
                         .used = -1,
                         .state = AGENT_IDLE};
    if (!CHECK(good) || !CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0))
        return false;
    chat.host.conn.fd = pair[0];
    host = pair[1];
    view_open(&chat.view, open("/dev/null", O_RDWR | O_CLOEXEC));
    chat.view.rows = rows;
    chat.view.columns = columns;
    chat.view.colours = 0;
    __lsan_disable(); /* libtinfo keeps a text of each terminal that it has looked at */
    (void)fflush(stdout);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3); /* the line wants a terminal there, too */
    if (!CHECK(out != -1 && dup2(STDIN_FILENO, STDOUT_FILENO) != -1))
        return false;
    chat.line = line_new(&err);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(out);
    __lsan_enable();
    return CHECK(chat.line != NULL);
}

static void end(void)
{
    chat_free(&chat);
    line_free(chat.line);
    int fd = chat.view.fd;
    view_close(&chat.view);
    (void)close(fd);
    host_connection_close(&chat.host);
    fd_closep(&host);
}

static void event(const char *head, const char *body)
{
    struct frame frame = {.body = (char *)(uintptr_t)body,
                          .body_len = body != NULL ? strlen(body) : 0};
    struct err err = ERR_INIT;

    if (WELL(json_parse(head, strlen(head), 1 << 20, &frame.head, &err)))
        chat_event(&chat, &frame);
    json_free(frame.head);
}

static void answer(enum asked what, const char *head)
{
    struct json *json = NULL;
    struct err err = ERR_INIT;

    if (WELL(json_parse(head, strlen(head), 1 << 20, &json, &err)))
        chat_answer(&chat, what, json);
    json_free(json);
}

static char mark_of(enum style style)
{
    static const char marks[STYLE_COUNT] = {
        [STYLE_TEXT] = 't',   [STYLE_USER] = 'u',   [STYLE_USER_MORE] = 'm', [STYLE_THOUGHT] = 'h',
        [STYLE_NOTE] = 'n',   [STYLE_ERROR] = 'e',  [STYLE_TOOL] = 'T',      [STYLE_DONE] = 'D',
        [STYLE_FAILED] = 'F', [STYLE_DETAIL] = 'd', [STYLE_ADDED] = '+',     [STYLE_REMOVED] = '-',
        [STYLE_PLACE] = '@',  [STYLE_ASKS] = '?',   [STYLE_CHOICE] = 'c',    [STYLE_CURRENT] = '>',
        [STYLE_PLAN] = 'p'};
    return marks[style];
}

/* The lines since the last call, "s text|". */
static const char *lines(struct str *to)
{
    static size_t seen;
    const struct chat_view *view = &chat.view;

    str_clear(to);
    if (view->added < seen)
        seen = 0;
    size_t fresh = view->added - seen;
    for (size_t i = view->count - (fresh < view->count ? fresh : view->count); i < view->count; i++)
        str_addf(to, "%c %s|", mark_of(view->lines[i].style), view->lines[i].text);
    if (view->is_open)
        str_addf(to, "%c %s...", mark_of(view->open_style), str_text(&view->open));
    seen = view->added;
    return str_text(to);
}

static const char *footer(struct str *to)
{
    str_clear(to);
    footer_update(&chat);
    for (size_t i = 0; i < chat.view.live_count; i++)
        str_addf(to, "%c %s|", mark_of(chat.view.live[i].style), chat.view.live[i].text);
    str_addf(to, "[%s]", str_text(&chat.view.state));
    return str_text(to);
}

/* What the host was asked since the last call. */
static const char *asked(struct str *to)
{
    char bytes[4096];
    ssize_t n;

    str_clear(to);
    while ((n = recv(host, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        str_addn(to, bytes, (size_t)n);
    return str_text(to);
}

static const char *typed(struct str *to)
{
    size_t cursor;

    str_clear(to);
    line_get(chat.line, to, &cursor);
    return str_text(to);
}

#define CHECK_LINES(want) CHECK_STR(lines(&text), want)
#define CHECK_FOOTER(want) CHECK_STR(footer(&text), want)
#define CHECK_ASKED(want) CHECK_STR(asked(&text), want)

/* ---- events */

TEST(messages_are_paragraphs)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":0}", "hel");
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":3}", "lo\nyou");
    CHECK_LINES("t hello\nyou...");
    event("{\"event\":\"thought\",\"message\":\"s:2\",\"at\":0}", "hm");
    event("{\"event\":\"text\",\"message\":\"s:3\",\"at\":0}", "x");
    event("{\"event\":\"note\"}", "noted");
    CHECK_LINES("t hello\nyou|t |h hm|t |t x|n noted|");
    event("{\"event\":\"prompt\",\"prompt\":\"s:4\"}", "do it\nand more");
    event("{\"event\":\"prompt\",\"prompt\":\"s:5\",\"from\":\"b\"}", "from b");
    event("{\"event\":\"prompt\",\"prompt\":\"s:6\",\"from\":\"-\"}", "mine");
    CHECK_LINES("t |u do it|m and more|t |n from b:|u from b|t |u mine|t |");
    event("{\"event\":\"no such event\"}", "x");
    CHECK_LINES("");
    end();
}

TEST(what_memory_has_shown_is_not_shown_again)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    chat.known = 7;
    chat.partial = 6;
    chat.partial_len = 4;
    event("{\"event\":\"text\",\"message\":\"s:7\",\"at\":0}", "known");
    event("{\"event\":\"text\",\"message\":\"s:6\",\"at\":0}", "abc");
    event("{\"event\":\"text\",\"message\":\"s:6\",\"at\":3}", "d");
    CHECK_LINES("");
    event("{\"event\":\"text\",\"message\":\"s:6\",\"at\":2}", "cdef");
    event("{\"event\":\"text\",\"message\":\"s:6\",\"at\":6}", "gh");
    event("{\"event\":\"text\",\"message\":\"s:6\"}", "nowhere");
    CHECK_LINES("t efgh...");
    event("{\"event\":\"text\",\"message\":\"s:8\",\"at\":0}", "new");
    CHECK_LINES("t efgh|t |t new...");
    event("{\"event\":\"prompt\",\"prompt\":\"s:5\"}", "shown");
    const struct pictures none = {.count = 0};
    waiting_add(&chat, 3, NULL, "queued then", &none);
    waiting_add(&chat, 4, NULL, "and then", &none);
    event("{\"event\":\"prompt\",\"prompt\":\"s:3\"}", "queued then");
    event("{\"event\":\"prompt\",\"prompt\":\"s:4\"}", "and then");
    CHECK_LINES("t new|t |u queued then|t |u and then|t |");
    end();
}

TEST(tools_run_in_the_footer_and_end_above_it)
{
    _cleanup_str_ struct str text = STR_INIT;
    char head[128];

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    event("{\"event\":\"tool\",\"id\":\"1\",\"title\":\"read\",\"status\":\"pending\"}", NULL);
    event("{\"event\":\"tool\",\"id\":\"2\",\"kind\":\"edit\"}", NULL);
    event("{\"event\":\"tool\",\"id\":\"3\",\"title\":\"run\"}", NULL);
    CHECK_FOOTER("T read|T edit|T run|[ idle]");
    event("{\"event\":\"tool\",\"id\":\"2\",\"title\":\"write\",\"status\":\"completed\"}",
          "--- a\n+++ b\n@@ 1\n+x\n-y\n z\n");
    event("{\"event\":\"tool\",\"id\":\"1\",\"status\":\"failed\"}", "one\n\ntwo\n");
    CHECK_LINES("D write|@ --- a|@ +++ b|@ @@ 1|+ +x|- -y|d  z|F read|d one|d  |d two|");
    CHECK_FOOTER("T run|[ idle]");
    event("{\"event\":\"end\",\"stopReason\":\"cancelled\"}", NULL);
    CHECK_LINES("T run|n the turn ended: cancelled|t |");
    CHECK_FOOTER("[ idle]");
    for (int i = 0; i <= TOOLS_MAX; i++) { /* the oldest makes room */
        (void)snprintf(head, sizeof head, "{\"event\":\"tool\",\"id\":\"%d\",\"title\":\"t%d\"}", i,
                       i);
        event(head, NULL);
    }
    CHECK_INT(chat.tool_count, TOOLS_MAX);
    CHECK_LINES("T t0|");
    CHECK_STR(chat.tools[TOOLS_MAX - 1].title, "t32");
    end();
}

TEST(long_details_are_cut)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str body = STR_INIT;

    REQUIRE(begin(24, 80));
    for (int count = 11; count <= 14; count++) {
        str_clear(&body);
        for (int i = 1; i <= count; i++)
            str_addf(&body, "%d\n", i);
        (void)lines(&text);
        event("{\"event\":\"tool\",\"id\":\"1\",\"title\":\"t\",\"status\":\"completed\"}",
              str_text(&body));
        (void)lines(&text);
        _cleanup_free_ char *last = count <= 12
                                        ? mem_printf("d %d|", count)
                                        : mem_printf("d (%d more lines: Ctrl-O)|", count - 12);
        CHECK(str_ends(str_text(&text), last));
    }
    view_unfold(&chat.view);
    CHECK_LINES(
        "t |n ---- all of the output ----|d 1|d 2|d 3|d 4|d 5|d 6|d 7|d 8|d 9|d 10|d 11|d 12|"
        "d 13|d 14|t |");
    view_unfold(&chat.view); /* once */
    CHECK_LINES("");
    end();
}

TEST(turns_end_as_they_do)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    event("{\"event\":\"plan\",\"entries\":[{\"content\":\"one\",\"status\":\"completed\"},"
          "{\"content\":\"two\",\"status\":\"in_progress\"},{\"content\":\"three\"}]}",
          NULL);
    CHECK_FOOTER("p [x] one|p [>] two|p [ ] three|[ idle]");
    event("{\"event\":\"end\",\"stopReason\":\"end_turn\"}", NULL);
    CHECK_LINES("p [x] one|p [>] two|p [ ] three|t |");
    CHECK_FOOTER("[ idle]");
    event("{\"event\":\"end\",\"stopReason\":\"failed\",\"error\":\"no luck\"}", NULL);
    event("{\"event\":\"end\",\"stopReason\":\"failed\"}", NULL);
    event("{\"event\":\"end\",\"stopReason\":\"max_tokens\"}", NULL);
    CHECK_LINES("e the turn failed: no luck|t |e the turn failed: unknown error|t |n the turn "
                "ended: max_tokens|t |");
    event("{\"event\":\"query\"}", NULL);
    event("{\"event\":\"query\",\"reason\":\"compact\"}", NULL);
    event("{\"event\":\"query\",\"reason\":\"conversation\"}", NULL);
    event("{\"event\":\"continuity\",\"outcome\":\"fresh\"}", NULL);
    event("{\"event\":\"continuity\",\"outcome\":\"resumed\"}", NULL);
    event("{\"event\":\"continuity\",\"outcome\":\"told\",\"note\":\"why\"}", NULL);
    event("{\"event\":\"conversation\"}", NULL);
    CHECK_LINES("n ---- context cleared ----|t |n ---- context cleared: compact ----|n "
                "conversation resumed|n conversation told: why|t |n ---- conversation ? ----|");
    end();
}

#define ASKS(id, more)                                                                             \
    "{\"event\":\"permission\",\"permission\":\"" id "\",\"title\":\"may I\"," more                \
    "\"options\":[{\"id\":\"y\",\"name\":\"Yes\",\"kind\":\"allow_once\"},"                        \
    "{\"id\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"}]}"

TEST(permissions_are_asked_answered_and_withdrawn)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    event(ASKS("1", ""), "rm x\n");
    event(ASKS("1", ""), "rm x\n"); /* the same again */
    event(ASKS("2", ""), NULL);
    CHECK_LINES("? may I|d rm x|t |? may I|");
    CHECK_FOOTER("? may I|d rm x|c 1 Yes|c 2 No|[ idle | a digit answers; more wait]");
    event(ASKS("1", ""), "rm y\n");
    CHECK_LINES("t |n what it asks has changed:|? may I|d rm y|");
    chat_submit(&chat, "3");
    CHECK_LINES("e choose 1 to 2|");
    chat_submit(&chat, "0");
    CHECK_LINES("e choose 1 to 2|");
    CHECK_ASKED("");
    chat_submit(&chat, "2");
    CHECK_ASKED("{\"do\":\"permit\",\"permission\":\"1\",\"option\":\"n\"}\n");
    chat_submit(&chat, " 1");
    CHECK_ASKED("{\"do\":\"permit\",\"permission\":\"1\",\"option\":\"y\"}\n");
    chat_submit(&chat, "1 and more");
    CHECK_ASKED("{\"do\":\"ask\",\"wait\":false,\"bytes\":10}\n"
                "1 and more");
    CHECK_LINES("n queued until you answer the permission with a digit from 1 to 2 and Enter|");
    event("{\"event\":\"permitted\",\"permission\":\"1\",\"by\":\"-\",\"option\":\"y\","
          "\"name\":\"Yes\"}",
          NULL);
    CHECK_INT(chat.permission_count, 1);
    CHECK_STR(chat.permissions[0].id, "2");
    event("{\"event\":\"permitted\",\"permission\":\"7\",\"by\":\"b\",\"option\":\"y\"}", NULL);
    strv_push(&chat.answers, "a=secret");
    event("{\"event\":\"permitted\",\"permission\":\"2\",\"by\":\"cancelled\"}", NULL);
    CHECK_INT(chat.permission_count, 0);
    CHECK(chat.answers == NULL); /* they were for that one */
    CHECK_LINES("n answered: Yes|n answered by b: y|n withdrawn|");
    chat_submit(&chat, "1"); /* now it is a prompt */
    CHECK_ASKED("{\"do\":\"ask\",\"wait\":false,\"bytes\":1}\n"
                "1");
    end();
}

TEST(there_are_at_most_16_permissions)
{
    char head[256];

    REQUIRE(begin(24, 80));
    for (int i = 0; i <= PERMISSIONS_MAX; i++) {
        (void)snprintf(
            head, sizeof head,
            "{\"event\":\"permission\",\"permission\":\"%d\",\"title\":\"t\",\"options\":"
            "[{\"id\":\"y\",\"kind\":\"allow_once\"}]}",
            i);
        event(head, NULL);
        CHECK_INT(chat.permission_count, i < PERMISSIONS_MAX ? i + 1 : PERMISSIONS_MAX);
    }
    end();
}

TEST(a_form_is_filled_in)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    chat_submit(&chat, "/answer a=1");
    CHECK_LINES("n no form is shown|");
    event(ASKS("1", "\"form\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
                    "\"secret\":{\"type\":\"string\",\"format\":\"password\"},"
                    "\"count\":{\"type\":\"integer\",\"default\":3},"
                    "\"word\":{\"type\":\"string\",\"default\":\"w\"}}},"),
          NULL);
    (void)lines(&text);
    CHECK_FOOTER("c name =|c secret =|c count = 3 (default)|c word = w (default)|c 1 Yes|c 2 No|[ "
                 "idle | Enter fills in, a digit answers]");
    chat_submit(&chat, "/answer name=x=y");
    chat_submit(&chat, "/answer secret=abc");
    chat_submit(&chat, "/answer word=");
    CHECK_LINES("");
    CHECK_FOOTER("c name = x=y|c secret = (hidden)|c count = 3 (default)|c word = |c 1 Yes|c 2 "
                 "No|[ idle | Enter fills in, a digit answers]");
    chat_submit(&chat, "/answer name=z");
    chat_submit(&chat, "/answer nam=z");
    chat_submit(&chat, "/answer names=z");
    chat_submit(&chat, "/answer name");
    chat_submit(&chat, "/answer =z");
    CHECK_LINES("n the form has no such field|n the form has no such field|n /answer FIELD=VALUE "
                "fills in a field of the form|n /answer FIELD=VALUE fills in a field of the form|");
    chat_submit(&chat, "2"); /* refused: without the answers */
    CHECK_ASKED("{\"do\":\"permit\",\"permission\":\"1\",\"option\":\"n\"}\n");
    chat_submit(&chat, "1");
    CHECK_ASKED("{\"do\":\"permit\",\"permission\":\"1\",\"option\":\"y\",\"answers\":{\"name\":"
                "\"z\",\"secret\":\"abc\",\"word\":\"\"}}\n");
    end();
}

/* ---- what is typed */

TEST(a_line_is_a_command_or_a_prompt)
{
    static const struct {
        const char *line, *asked, *lines;
    } cases[] = {
        {"hello", "{\"do\":\"ask\",\"wait\":false,\"bytes\":5}\nhello", ""},
        {" \n", "", ""},
        {"//clear", "{\"do\":\"ask\",\"wait\":false,\"bytes\":6}\n/clear", ""},
        {"/clear", "{\"do\":\"clear\"}\n", ""},
        {"/clear  go on", "{\"do\":\"clear\",\"bytes\":5}\ngo on", ""},
        {"/mode plan", "{\"do\":\"mode\",\"mode\":\"plan\"}\n", ""},
        {"/set mode=plan", "{\"do\":\"mode\",\"mode\":\"plan\"}\n", ""},
        {"/set model = x", "{\"do\":\"set\",\"option\":\"model\",\"value\":\"x\"}\n", ""},
        {"/cancel", "{\"do\":\"cancel\"}\n", ""},
        {"/new", "{\"do\":\"conversation\",\"new\":true}\n", ""},
        {"/now look", "{\"do\":\"send\",\"now\":true,\"bytes\":4}\nlook", ""},
        {"/now", "", "n /now TEXT: the agent sees TEXT in its present turn|"},
        {"/login", "{\"do\":\"login\"}\n", ""},
        {"/login key", "{\"do\":\"login\",\"method\":\"key\"}\n", ""},
        {"/nosuch x", "", "e there is no command '/nosuch'; see /help|"},
        {"/clea", "", "e there is no command '/clea'; see /help|"},
        {"/own x", "{\"do\":\"ask\",\"wait\":false,\"bytes\":6}\n/own x", ""},
        {"/ow x", "", "e there is no command '/ow'; see /help|"},
        {"/mode", "", "n mode: ask|n   ask  Ask|n   plan  |"},
        {"/set", "", "n mode: ask|n   ask  Ask|n   plan  |n options:|n   model=a (a b)|n   on= |"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    event("{\"event\":\"commands\",\"commands\":[{\"name\":\"own\"}]}", NULL);
    event("{\"event\":\"mode\",\"mode\":\"ask\",\"modes\":[{\"id\":\"ask\",\"name\":\"Ask\"},"
          "{\"id\":\"plan\"}]}",
          NULL);
    event("{\"event\":\"options\",\"options\":[{\"id\":\"model\",\"value\":\"a\",\"values\":["
          "{\"value\":\"a\"},{\"value\":\"b\"}]},{\"id\":\"mode\",\"value\":\"ask\"},"
          "{\"id\":\"on\"}]}",
          NULL);
    (void)lines(&text);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        chat_submit(&chat, cases[i].line);
        if (!CHECK_STR(asked(&text), cases[i].asked) || !CHECK_STR(lines(&text), cases[i].lines))
            unit_print_str("of", cases[i].line);
    }
    end();
}

static void queued(int number, const char *from, const char *text)
{
    char head[128];

    (void)snprintf(head, sizeof head, "{\"event\":\"queued\",\"prompt\":\"s:%d\"%s%s%s}", number,
                   from != NULL ? ",\"from\":\"" : "", from != NULL ? from : "",
                   from != NULL ? "\"" : "");
    event(head, text);
}

#define HINT "(Up edits it, Ctrl-X drops it)"

TEST(prompts_wait_in_the_footer_until_their_turn)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 50));
    (void)lines(&text);
    chat_submit(&chat, "one");
    chat_submit(&chat, "two");
    chat_submit(&chat, "three");
    CHECK_FOOTER("[ idle]");
    queued(1, NULL, "one");
    answer(ASKED_PROMPT, "{\"ok\":true,\"prompt\":\"s:1\"}");
    queued(2, NULL, "two");
    queued(2, NULL, "two"); /* memory.db had it, too */
    answer(ASKED_PROMPT, "{\"ok\":true,\"prompt\":\"s:2\",\"why\":\"it sleeps\"}");
    answer(ASKED_PROMPT, "{\"ok\":false,\"code\":1,\"why\":\"it is full\",\"hint\":\"wait\"}");
    queued(5, "b", "from b");
    CHECK_FOOTER("n queued: one|n queued: two|n queued: from b " HINT "|[ idle | 3 queued]");
    CHECK_STR(typed(&text), "three"); /* it need not be typed again */
    CHECK_LINES("n queued: it sleeps|e it is full|n wait|");
    CHECK_INT(strv_len(chat.sent), 0);
    event("{\"event\":\"prompt\",\"prompt\":\"s:2\"}", "two");
    CHECK_FOOTER("n queued: one|n queued: from b " HINT "|[ idle | 2 queued]");
    (void)lines(&text);
    event("{\"event\":\"plan\",\"entries\":[{\"content\":\"x\"}]}", NULL); /* of the turn */
    event("{\"event\":\"end\",\"prompt\":\"s:1\",\"stopReason\":\"stopped\"}", NULL); /* kept */
    CHECK_FOOTER("p [ ] x|n queued: one|n queued: from b " HINT "|[ idle | 2 queued]");
    event("{\"event\":\"end\",\"prompt\":\"s:1\",\"stopReason\":\"failed\",\"error\":\"no\"}",
          NULL);
    CHECK_FOOTER("p [ ] x|n queued: from b " HINT "|[ idle | 1 queued]");
    CHECK_LINES("e the turn failed: no|t |");
    answer(ASKED_CANCEL, "{\"ok\":true,\"cancelled\":false}");
    answer(ASKED_CANCEL, "{\"ok\":true,\"cancelled\":true}");
    answer(ASKED_MODE, "{\"ok\":false,\"code\":2,\"why\":\"no such mode\"}");
    CHECK_LINES("n no turn is in progress|e no such mode|");
    chat_forget(&chat);
    CHECK_FOOTER("[ idle]");
    for (int i = 1; i <= 10; i++)
        queued(i, NULL, "x");
    CHECK_FOOTER("n queued: 4 more|n queued: x|n queued: x|n queued: x|n queued: x|n queued: x|n "
                 "queued: x " HINT "|[ idle | 10 queued]");
    end();
}

TEST(without_a_connection_nothing_is_lost)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    host_connection_close(&chat.host);
    (void)lines(&text);
    chat_submit(&chat, "hello");
    CHECK_LINES("e there is no connection to the agent's host|");
    CHECK_STR(typed(&text), "hello");
    CHECK(chat.waiting_count == 0 && chat.sent == NULL);
    CHECK_FOOTER("[ no connection]");
    end();
}

static void press(const char *keys)
{
    char *line = NULL;

    line_feed(chat.line, keys, strlen(keys));
    line_settle(chat.line);
    for (enum line_event is; (is = line_next(chat.line, &line)) != LINE_NOTHING;) {
        chat_key(&chat, is, line);
        free(line);
        line = NULL;
    }
}

#define ESC "\033"
#define PASTED(text) ESC "[200~" text ESC "[201~"
#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
#define CANCEL(number) "{\"do\":\"cancel\",\"prompt\":\"550e8400-e29b:" number "\"}\n"

TEST(what_waits_is_taken_back_or_dropped)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    chat_submit(&chat, "before");
    (void)asked(&text);
    (void)lines(&text);
    queued(1, NULL, "one");
    queued(2, NULL, "two");
    queued(3, "b", "from b");
    CHECK_FOOTER("n queued: one|n queued: two|n queued: from b " HINT "|[ idle | "
                 "3 queued]");
    press(ESC "[A"); /* not what an agent has sent */
    CHECK_ASKED(CANCEL("2"));
    CHECK_STR(typed(&text), "two");
    CHECK_FOOTER("n queued: one|n queued: from b " HINT "|[ idle | 2 queued]");
    press(ESC "[A"); /* the line is not empty */
    CHECK_ASKED("");
    CHECK_STR(typed(&text), "before");
    press(ESC "[B");
    press(ESC ESC);
    CHECK_ASKED(CANCEL("1"));
    CHECK_STR(typed(&text), "one\ntwo");
    press("\x18");
    CHECK_ASKED(CANCEL("3"));
    press("\x18" ESC ESC); /* nothing more waits */
    CHECK_ASKED("");
    CHECK_STR(typed(&text), "before");
    CHECK_FOOTER("[ idle]");
    event("{\"event\":\"end\",\"prompt\":\"s:3\",\"stopReason\":\"cancelled\"}", NULL);
    event("{\"event\":\"end\",\"prompt\":\"s:2\",\"stopReason\":\"cancelled\"}", NULL);
    answer(ASKED_TAKE_BACK, "{\"ok\":true,\"cancelled\":true}");
    CHECK_LINES("n dropped: from b|");
    answer(ASKED_TAKE_BACK, "{\"ok\":true,\"cancelled\":false}");
    event("{\"event\":\"prompt\",\"prompt\":\"s:1\"}", "one"); /* it was too late */
    CHECK_LINES("n it does not wait any more|t |u one|t |");
    end();
}

TEST(escape_twice_edits_the_last_prompt)
{
    static const struct {
        const char *keys, *want;
    } cases[] = {
        {ESC, ""},
        {ESC "x", ""}, /* Alt-x */
        {"y", "y"},
        {ESC, "y"},
        {"z", "yz"},
        {ESC ESC, "last"},
        {ESC "[B", "yz"},
        {ESC, "yz"},
        {ESC, "last"}, /* however slowly */
        {ESC ESC "[B", "yz"}, /* Alt-Down, as some terminals send it */
        {ESC ESC "!", "last!"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    chat_submit(&chat, "last");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        press(cases[i].keys);
        if (!CHECK_STR(typed(&text), cases[i].want))
            unit_print_str("after", cases[i].keys);
    }
    end();
}

TEST(what_a_terminal_answers_and_unknown_keys_are_not_typed)
{
    static const char *const answers[] = {
        ESC "]11;rgb:ffff/ffff/ffff\a",
        ESC "]11;rgb:0000/0000/0000" ESC "\\",
        ESC "P1+r5463" ESC "\\",
        ESC "_Gi=1;OK" ESC "\\",
        ESC "[?62;22c",
        ESC "[15~",
        ESC "[1;2C",
        ESC "P", /* Alt-P */
    };
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    chat_submit(&chat, "before");
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        press("\003a");
        press(answers[i]);
        press("b");
        if (!CHECK_STR(typed(&text), "ab"))
            unit_print_str("after", answers[i]);
        _cleanup_free_ char *at_once = mem_printf("\003a%sb" ESC "[Dc", answers[i]);
        if (answers[i][2] != '\0')
            press(at_once);
        CHECK_STR(typed(&text), answers[i][2] != '\0' ? "acb" : "ab");
    }
    end();
}

TEST(a_long_paste_is_a_mark_and_is_sent_whole)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    press(PASTED(TEN "10\n"));
    CHECK_STR(typed(&text), TEN "10\n");
    press("\003a " PASTED(TEN "10\r\n11") " b " PASTED(TEN "10\n12\n") PASTED(TEN "10\n11"));
    CHECK_STR(typed(&text), "a [11 lines] b [11 lines (2)][11 lines]");
    press("\x7f\r"); /* Backspace takes all of a mark */
    CHECK_ASKED("{\"do\":\"ask\",\"wait\":false,\"bytes\":52}\na " TEN "10\n11 b " TEN "10\n12\n");
    queued(1, NULL, "a " TEN);
    answer(ASKED_PROMPT, "{\"ok\":true,\"prompt\":\"s:1\"}");
    press(ESC "[A"); /* as it was typed */
    CHECK_STR(typed(&text), "a [11 lines] b [11 lines (2)]");
    (void)asked(&text);
    press("\003" ESC "[A\r");
    CHECK_ASKED("{\"do\":\"ask\",\"wait\":false,\"bytes\":52}\na " TEN "10\n11 b " TEN "10\n12\n");
    press("/clear " PASTED(TEN "10\n11") "\r");
    CHECK_ASKED("{\"do\":\"clear\",\"bytes\":23}\n" TEN "10\n11");
    press(ESC "[A" ESC "[A");
    CHECK_STR(typed(&text), "a [11 lines] b [11 lines (2)]");
    for (int i = 0; i < CHAT_MARKS_MAX - 1; i++) {
        _cleanup_free_ char *paste = mem_printf("\003" PASTED(TEN "\n\n%d"), i);
        press(paste);
    }
    CHECK_STR(typed(&text), "[12 lines (63)]");
    press("\003" ESC "[A"); /* what had the oldest one is forgotten, as it would be sent as text */
    CHECK_STR(typed(&text), "");
    end();
}

TEST(earlier_prompts_are_searched)
{
    static const char help[] =
        "n search: Enter takes the bold one, Ctrl-R an earlier one, Esc ends|";
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    static const char *const sent[] = {"Make tea", "make it\nall", "bake", "make it\nall", "other"};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++)
        chat_submit(&chat, sent[i]);
    (void)asked(&text);
    press("ma\x12");
    CHECK(strstr(footer(&text), help) != NULL);
    CHECK(str_starts(str_text(&text), "n Make tea|c make it|n search"));
    press("\x12");
    CHECK(str_starts(footer(&text), "c Make tea|n make it|n search"));
    press("\x12\r"); /* there is no earlier one; Enter does not send it */
    CHECK_STR(typed(&text), "Make tea");
    CHECK_FOOTER("[ idle]");
    CHECK_ASKED("");
    press("\003\x12" ESC "[A" ESC "[A");
    CHECK(str_starts(footer(&text), "n Make tea|c bake|n make it|n other|n search"));
    press("K"); /* what is searched for has changed: the newest one is chosen again */
    CHECK(str_starts(footer(&text), "n Make tea|n bake|c make it|n search"));
    press(ESC "[A" ESC "[A" ESC "[B\r");
    CHECK_STR(typed(&text), "bake");
    press("\x12q");
    CHECK_FOOTER("n search: nothing earlier has this; Esc ends|[ idle]");
    press("\r");
    CHECK_STR(typed(&text), "bakeq");
    press("\x12" ESC); /* ends it, and leaves what is typed */
    CHECK_FOOTER("[ idle]");
    CHECK_STR(typed(&text), "bakeq");
    press("\x12\003\x12\003\x12\004"); /* so do these */
    CHECK_FOOTER("[ idle]");
    CHECK_LINES("");
    end();
}

TEST(what_was_sent_is_recalled_once_and_no_secret)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    event(ASKS("1", "\"form\":{\"type\":\"object\",\"properties\":{\"s\":{\"type\":"
                    "\"string\"}}},"),
          NULL);
    chat_submit(&chat, "one");
    chat_submit(&chat, "two");
    chat_submit(&chat, "two");
    chat_submit(&chat, "/answer s=secret");
    press("\033[A");
    CHECK_STR(typed(&text), "two");
    press("\033[A");
    CHECK_STR(typed(&text), "one");
    end();
}

TEST(enter_leads_from_field_to_field)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    press("\r"); /* there is no form */
    event(ASKS("1", "\"form\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
                    "\"count\":{\"type\":\"integer\",\"default\":3},"
                    "\"secret\":{\"type\":\"string\",\"format\":\"password\"}}},"),
          "name (string, required) Your name\ncount (integer, default 3)\nsecret (string)\n");
    press("\r");
    CHECK_FOOTER(
        "? name (string, required) Your name|> name =|c count = 3 (default)|c secret =|c 1 "
        "Yes|c 2 No|[ idle | Enter takes it, Esc ends]");
    press("1\r"); /* a digit is the value */
    CHECK_STR(typed(&text), "3");
    press("\r");
    CHECK_FOOTER("? secret (string)|c name = 1|c count = 3 (default)|> secret =|c 1 Yes|c 2 No|[ "
                 "idle | Enter takes it, Esc ends]");
    press("pin");
    (void)footer(&text);
    CHECK_STR(str_text(&chat.view.input), "***");
    press("\r");
    CHECK_FOOTER("c name = 1|c count = 3 (default)|c secret = (hidden)|c 1 Yes|c 2 No|[ idle | "
                 "Enter fills in, a digit answers]");
    press("\r");
    CHECK_STR(typed(&text), "1");
    press("\x7fx\r4" ESC); /* what was typed for the second one is left */
    CHECK_STR(typed(&text), "");
    CHECK_ASKED("");
    press("1\r");
    CHECK_ASKED("{\"do\":\"permit\",\"permission\":\"1\",\"option\":\"y\",\"answers\":{\"name\":"
                "\"x\",\"secret\":\"pin\"}}\n");
    press(ESC "[A");
    CHECK_STR(typed(&text), ""); /* nothing of it is in the history */
    press("\r");
    event("{\"event\":\"permitted\",\"permission\":\"1\",\"by\":\"b\",\"option\":\"y\"}", NULL);
    CHECK_STR(typed(&text), ""); /* a value is no prompt */
    CHECK_INT(chat.field, 0);
    end();
}

TEST(a_refused_prompt_does_not_replace_what_is_typed)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    chat_submit(&chat, "refused");
    line_set(chat.line, "other");
    answer(ASKED_PROMPT, "{\"ok\":false,\"code\":1,\"why\":\"it is full\"}");
    CHECK_STR(typed(&text), "other");
    CHECK_FOOTER("[ idle]");
    end();
}

TEST(tab_completes_what_is_common_then_lists)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    event("{\"event\":\"commands\",\"commands\":[{\"name\":\"own-a\",\"description\":\"A\"},"
          "{\"name\":\"own-b\"},{\"name\":\"bad name\"},{\"name\":\"help\"},{\"name\":\"own-a\"}]}",
          NULL);
    line_set(chat.line, "/ow");
    press("\t");
    CHECK_STR(typed(&text), "/own-");
    CHECK_FOOTER("[ idle]");
    press("\t");
    CHECK_STR(typed(&text), "/own-");
    CHECK_FOOTER("n /own-a  A|n /own-b  |[ idle]");
    press("b");
    CHECK_FOOTER("[ idle]");
    press("\t");
    CHECK_STR(typed(&text), "/own-b ");
    static const char *const nothing[] = {"hello", "//ow", "/ba", "/own-b x", "/zz"};
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
        line_set(chat.line, nothing[i]);
        press("\t");
        CHECK_STR(typed(&text), nothing[i]);
        CHECK_FOOTER("[ idle]");
    }
    line_set(chat.line, "/hel");
    press("\t");
    CHECK_STR(typed(&text), "/help ");
    end();
}

TEST(an_agent_is_woken_once_for_each_sleep)
{
    REQUIRE(begin(24, 80));
    event("{\"event\":\"state\",\"state\":\"asleep\"}", NULL);
    chat_typing(&chat);
    CHECK(!chat.woken); /* nothing is typed yet */
    line_set(chat.line, "x");
    chat_typing(&chat);
    CHECK(chat.woken);
    event("{\"event\":\"state\",\"state\":\"asleep\"}", NULL);
    CHECK(chat.woken);
    event("{\"event\":\"state\",\"state\":\"idle\"}", NULL);
    CHECK(!chat.woken);
    chat_typing(&chat);
    CHECK(!chat.woken);
    end();
}

TEST(a_very_long_line_is_split)
{
    _cleanup_free_ char *large = mem_alloc(70000);

    REQUIRE(begin(24, 80));
    size_t before = chat.view.added;
    memset(large, 'x', 70000);
    view_piece(&chat.view, STYLE_THOUGHT, large, 65536);
    CHECK_INT(chat.view.added - before, 0);
    view_piece(&chat.view, STYLE_THOUGHT, large, 1);
    CHECK_INT(chat.view.added - before, 1);
    end();
}

TEST(ctrl_c_cancels_a_turn_or_says_how_to_leave)
{
    static const struct {
        enum agent_state state;
        bool cancels;
    } cases[] = {
        {AGENT_WORKING, true},  {AGENT_WAITING, true}, {AGENT_STARTING, true}, {AGENT_IDLE, false},
        {AGENT_LIMITED, false}, {AGENT_ASLEEP, false}, {AGENT_CRASHED, false},
    };
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        REQUIRE(begin(24, 80));
        (void)lines(&text);
        chat.state = cases[i].state;
        chat_cancel(&chat);
        CHECK_ASKED(cases[i].cancels ? "{\"do\":\"cancel\"}\n" : "");
        CHECK_LINES("");
        CHECK_INT(chat.asked_to_leave, !cases[i].cancels);
        chat_cancel(&chat);
        CHECK(str_starts(lines(&text), "n This pane belongs to agent a.") == !cases[i].cancels);
        CHECK_INT(chat.asked_to_leave, false);
        end();
    }
}

/* ---- the footer */

TEST(the_state_says_what_matters_now)
{
    static const struct {
        const char *event, *want;
    } cases[] = {
        {"{\"event\":\"state\",\"state\":\"idle\",\"note\":\"n\"}", "[ idle]"},
        {"{\"event\":\"state\",\"state\":\"waiting\",\"note\":\"for you\\nx\"}",
         "[ waiting | for you]"},
        {"{\"event\":\"state\",\"state\":\"limited\",\"note\":\"until 5\"}",
         "[ limited | until 5]"},
        {"{\"event\":\"state\",\"state\":\"paused\",\"note\":\"budget\"}", "[ paused | budget]"},
        {"{\"event\":\"state\",\"state\":\"exited\",\"note\":\"bye\"}", "[ exited | bye]"},
        {"{\"event\":\"state\",\"state\":\"crashed\",\"note\":\"oops\"}", "[ crashed | oops]"},
        {"{\"event\":\"state\",\"state\":\"asleep\",\"note\":\"n\"}",
         "[ asleep | Enter or a prompt wakes it]"},
        {"{\"event\":\"state\",\"state\":\"no such\"}", "[ asleep | Enter or a prompt wakes it]"},
        {"{\"event\":\"usage\",\"used\":50,\"size\":200}",
         "[ asleep | Enter or a prompt wakes it | context 25%]"},
        {"{\"event\":\"usage\",\"used\":200,\"size\":200}",
         "[ asleep | Enter or a prompt wakes it | context 100%]"},
        {"{\"event\":\"usage\",\"used\":0,\"size\":200}",
         "[ asleep | Enter or a prompt wakes it | context 0%]"},
        {"{\"event\":\"usage\",\"used\":201,\"size\":200}",
         "[ asleep | Enter or a prompt wakes it]"},
        {"{\"event\":\"usage\",\"used\":1,\"size\":0}", "[ asleep | Enter or a prompt wakes it]"},
        {"{\"event\":\"mode\",\"mode\":\"plan\"}", "[ asleep | Enter or a prompt wakes it | plan]"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        event(cases[i].event, NULL);
        CHECK_STR(footer(&text), cases[i].want);
    }
    event("{\"event\":\"state\",\"state\":\"working\"}", NULL);
    CHECK(footer_ticks(&chat));
    chat.since_ms -= 65000;
    CHECK(strstr(footer(&text), "working 6") != NULL);
    end();
}

TEST(the_meter_stays_at_any_width)
{
    static const struct {
        int columns;
        const char *want;
    } cases[] = {
        {80, "[ limited | a note that is long | plan | context 25% | 1.50 USD]"},
        {60, "[ limited | a note that is long | p | context 25% | 1.50 USD]"},
        {59, "[ limited | a note that is long | plan | 25% | 1.50 USD]"},
        {30, "[ limited | a | 25% | 1.50 USD]"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        REQUIRE(begin(24, cases[i].columns));
        event("{\"event\":\"state\",\"state\":\"limited\",\"note\":\"a note that is long\"}", NULL);
        event("{\"event\":\"mode\",\"mode\":\"plan\"}", NULL);
        event("{\"event\":\"usage\",\"used\":50,\"size\":200,\"cost\":1.5,\"currency\":\"USD\"}",
              NULL);
        CHECK_FOOTER(cases[i].want);
        end();
    }
}

/* What the terminal is sent for the input: its rows, and then where the cursor is. */
static const char *input_of(const char *typed, size_t cursor, struct str *to)
{
    int pair[2], was = chat.view.fd;
    char bytes[4096];

    str_clear(to);
    if (!CHECK(pipe2(pair, O_CLOEXEC) == 0))
        return "";
    str_clear(&chat.view.input);
    str_add(&chat.view.input, typed);
    chat.view.cursor = cursor;
    chat.view.changed = true;
    chat.view.fd = pair[1];
    view_draw(&chat.view);
    chat.view.fd = was;
    ssize_t n = read(pair[0], bytes, sizeof bytes - 1);
    bytes[n > 0 ? n : 0] = '\0';
    const char *at = strstr(bytes, "> ");
    str_add(to, at != NULL ? at : bytes);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return str_text(to);
}

#define DRAWN "\033[?7h\033[?25h"

TEST(words_of_the_line_stay_whole)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 13)); /* ten for the text */
    CHECK_STR(input_of("one two three", 13, &text), "> one two\r\n  three\r\033[7C" DRAWN);
    CHECK_STR(input_of("one two three", 8, &text), "> one two\r\n  three\r\033[2C" DRAWN);
    CHECK_STR(input_of("one two three", 7, &text), "> one two\r\n  three\033[1A\r\033[9C" DRAWN);
    CHECK_STR(input_of("one twofou ", 11, &text), "> one twofou\r\033[13C" DRAWN);
    CHECK_STR(input_of("one twofou x", 12, &text), "> one twofou\r\n  x\r\033[3C" DRAWN);
    CHECK_STR(input_of("abcdefghijklm", 13, &text), "> abcdefghij\r\n  klm\r\033[5C" DRAWN);
    CHECK_STR(input_of("ab\n\ncd", 3, &text), "> ab\r\n  \r\n  cd\033[1A\r\033[2C" DRAWN);
    CHECK_STR(input_of("ab\n", 3, &text), "> ab\r\n  \r\033[2C" DRAWN);
    end();
}

TEST(a_low_terminal_shows_every_choice)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (int rows = 5; rows <= 14; rows += 3) {
        REQUIRE(begin(rows, 30));
        event("{\"event\":\"permission\",\"permission\":\"1\",\"title\":\"may I\",\"options\":["
              "{\"id\":\"a\",\"name\":\"a choice that needs more than one row of this\",\"kind\":"
              "\"allow_once\"},"
              "{\"id\":\"b\",\"name\":\"Yes\",\"kind\":\"allow_always\"},"
              "{\"id\":\"c\",\"name\":\"No\",\"kind\":\"reject_once\"}]}",
              "one\ntwo\nthree\nfour\n");
        (void)lines(&text);
        if (rows == 5)
            CHECK_FOOTER("c 1 a choice that needs more than one row of this|c 2 Yes|c 3 No|[ idle "
                         "| 1 to 3 and Enter answers]");
        if (rows == 8)
            CHECK_FOOTER("c 1 a choice that needs more|c   than one row of this|c 2 Yes|c 3 No|[ "
                         "idle | a digit and Enter answers]");
        event("{\"event\":\"note\"}", "between");
        if (rows == 11)
            CHECK_FOOTER("? may I|d one|d (more above)|c 1 a choice that needs more|c   than one "
                         "row of this|c 2 Yes|c 3 No|[ idle | a digit and Enter answers]");
        if (rows == 14)
            CHECK_FOOTER("? may I|d one|d two|d three|d four|c 1 a choice that needs more|c   than "
                         "one row of this|c 2 Yes|c 3 No|[ idle | a digit and Enter answers]");
        end();
    }
}

TEST(a_long_plan_shows_what_is_at_work)
{
    _cleanup_str_ struct str text = STR_INIT;

    for (int done = 0; done <= 6; done++) {
        _cleanup_str_ struct str head = STR_INIT;
        REQUIRE(begin(16, 80));
        str_add(&head, "{\"event\":\"plan\",\"entries\":[");
        for (int i = 0; i < 6; i++)
            str_addf(&head, "%s{\"content\":\"%d\",\"status\":\"%s\"}", i > 0 ? "," : "", i,
                     i < done ? "completed" : "pending");
        str_add(&head, "]}");
        event(str_text(&head), NULL);
        int from = done == 0 ? 0 : done - 1 > 3 ? 3 : done - 1;
        _cleanup_free_ char *want = mem_printf(
            "p [%c] %d|p [%c] %d|p [%c] %d|[ idle]", from < done ? 'x' : ' ', from,
            from + 1 < done ? 'x' : ' ', from + 1, from + 2 < done ? 'x' : ' ', from + 2);
        CHECK_FOOTER(want);
        end();
    }
}

/* ---- the view */

TEST(text_is_made_visible_and_wrapped)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 12));
    (void)lines(&text);
    view_add(&chat.view, STYLE_THOUGHT, "a\tb\n\nc\033[2Jd\n\n", 13);
    view_gap(&chat.view);
    view_gap(&chat.view);
    view_prompt(&chat.view, "first\nsecond\nthird", 18);
    CHECK_LINES("h a   b|h |h c\\x1b[2Jd|t |u first|m second|m third|");
    str_clear(&chat.view.fresh);
    view_add(&chat.view, STYLE_DETAIL, "some words that wrap", 20);
    CHECK_STR(str_text(&chat.view.fresh), "  some words\r\n"
                                          "  that wrap\r\n");
    str_clear(&chat.view.fresh);
    view_piece(&chat.view, STYLE_THOUGHT, "some words that", 15);
    CHECK_STR(str_text(&chat.view.fresh), "some words\r\n");
    view_piece(&chat.view, STYLE_THOUGHT, " wrap", 5);
    view_end(&chat.view);
    CHECK_STR(str_text(&chat.view.fresh), "some words\r\n"
                                          "that wrap\r\n");
    end();
}

static const char *drawn(const char *markdown, int columns, int colours)
{
    static struct str rows;

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    str_clear(&rows);
    draw_markdown(&(struct drawing){.columns = columns, .colours = colours, .unicode = true},
                  markdown, strlen(markdown), &rows);
    for (char *cr = rows.data; cr != NULL && (cr = strstr(cr, "\r\n")) != NULL;)
        memmove(cr, cr + 1, strlen(cr));
    return str_text(&rows);
}

TEST(markdown_is_drawn)
{
    REQUIRE(begin(24, 80));
    CHECK_STR(drawn("# A *b*\n\ntwo  words that wrap\nand a line", 14, 0),
              "A b\n\ntwo  words\nthat wrap\nand a line\n");
    CHECK_STR(drawn("- a\n  - b\n- c\n\nx\n\n9. one\n\n10. two words\n\n> q\n> > r\n\n***", 24, 0),
              "\u2022 a\n  \u2022 b\n\u2022 c\n\nx\n\n9. one\n\n10. two words\n\n\u2502 q\n"
              "\u2502\n\u2502 \u2502 r\n\n"
              "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500"
              "\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\n");
    CHECK_STR(
        drawn("```c\n\tint a;\n\n```", 10, 0),
        "\u2500\u2500 c \u2500\u2500\u2500\u2500\u2500\n    int a;\n\n\u2500\u2500\u2500\u2500"
        "\u2500\u2500\u2500\u2500\u2500\u2500\n");
    CHECK_STR(drawn("|a|b b|\n|--:|:---:|\n|longer|x|\n|1|*y*|", 30, 0),
              "     a \u2502 b b\n\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u253c\u2500\u2500"
              "\u2500\u2500\nlonger \u2502  x\n     1 \u2502  y\n");
    CHECK_STR(drawn("|a|b|\n|---|---|\n|x|some words that wrap|", 16, 0),
              "a \u2502 b\n\u2500\u2500\u253c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500"
              "\u2500\u2500\u2500\u2500\nx \u2502 some words\n  \u2502 that wrap\n");
    end();
}

TEST(markdown_has_colours_and_links)
{
    REQUIRE(begin(24, 80));
    CHECK_STR(drawn("**a** *b* `c`", 80, 8), "\033[1ma\033[0m \033[3mb\033[0m c\n");
    CHECK_STR(drawn("[a](https://b.c)", 80, 8),
              "\033]8;;https://b.c\033\\\033[4ma\033[0m\033]8;;\033\\"
              "\033]8;;https://b.c\033\\\033[2m (https://b.c)\033[0m\033]8;;\033\\\n");
    CHECK_STR(drawn("<https://b.c>", 80, 8),
              "\033]8;;https://b.c\033\\\033[4mhttps://b.c\033[0m\033]8;;\033\\\n");
    CHECK_STR(drawn("[a](https://b.c)", 80, 0), "a (https://b.c)\n");
    const char *diff = drawn("```diff\n-a\n+b\n c\n```", 80, 8);
    CHECK(str_starts(strchr(diff, '\n'), "\n\033[1m-a\033[0m\n+b\n c\n\033[2m"));
    end();
}

/* Returns true if `part` is what is left of `whole` when some of it is left out. */
static bool is_within(const char *part, const char *whole)
{
    for (; *part != '\0' && *whole != '\0'; whole++)
        part += *part == *whole || strchr(" \t\n", *part) != NULL;
    return part[strspn(part, " \t\n")] == '\0';
}

static void remove_escapes(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++)
        if (str_starts(text, "\033]8;;"))
            text = strstr(text, "\033\\") + 1;
        else if (str_starts(text, "\033["))
            text += strcspn(text, "m");
        else
            *to++ = *text;
    *to = '\0';
}

/* Any Markdown is drawn in full, at any width, and its escape sequences are those of the pane. */
TEST(examples_of_commonmark_are_drawn)
{
    _cleanup_json_ struct json *examples = examples_read();

    if (examples == NULL)
        UNIT_SKIP(EXAMPLES_MISSING);
    for (const struct json *one = json_first(examples); one != NULL; one = json_next(one)) {
        const char *text = json_get_text(one, "markdown");
        struct markdown tree = {.count = 0};
        markdown_parse(&tree, text, strlen(text));
        for (int columns = 1; columns < 200; columns = columns * 3 + 1) {
            _cleanup_free_ char *plain = mem_dup(drawn(text, columns, 0));
            _cleanup_free_ char *coloured = mem_dup(drawn(text, columns, 256));
            remove_escapes(coloured);
            CHECK_STR(coloured, plain);
            for (const char *c = plain; *c != '\0'; c++)
                CHECK(*c == '\n' || ((unsigned char)*c >= 0x20 && *c != 0x7f));
            const char *from = plain;
            for (size_t i = 0; i < tree.count; i++)
                if (tree.nodes[i].kind == MARKDOWN_TEXT)
                    CHECK(is_within(markdown_text(&tree, &tree.nodes[i]), from));
        }
        markdown_free(&tree);
    }
}

/* What is above the footer is never drawn anew: so only what is whole goes there. */
TEST(text_goes_above_the_footer_block_by_block)
{
    _cleanup_str_ struct str text = STR_INIT;

    REQUIRE(begin(24, 80));
    (void)lines(&text);
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":0}", "a **b");
    CHECK_LINES("t a **b...");
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":5}", "**\n\n");
    CHECK_LINES("t a **b**\n\n...");
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":9}", "```\nx\n\ny\n");
    CHECK_LINES("t a **b**|t |t ```\nx\n\ny\n...");
    event("{\"event\":\"text\",\"message\":\"s:1\",\"at\":19}", "```\n- c\n\n- d\n\n  e\n\nf");
    CHECK_LINES("t ```\nx\n\ny\n```\n- c\n\n- d\n\n  e|t |t f...");
    event("{\"event\":\"end\",\"stopReason\":\"end_turn\"}", NULL);
    CHECK_LINES("t f|t |");
    end();
}

TEST(the_newest_lines_are_kept)
{
    REQUIRE(begin(24, 80));
    size_t before = chat.view.added;
    for (int i = 0; i < 1252; i++)
        view_addf(&chat.view, STYLE_TEXT, "%d", i);
    CHECK_INT(chat.view.added - before, 1252);
    CHECK_INT(chat.view.count, 1001); /* of 1,251 it kept 1,000 */
    CHECK_STR(chat.view.lines[chat.view.count - 1].text, "1251");
    CHECK_STR(chat.view.lines[0].text, "251");
    size_t bytes = 0;
    for (size_t i = 0; i < chat.view.count; i++)
        bytes += strlen(chat.view.lines[i].text);
    CHECK_INT(chat.view.bytes, bytes);
    for (int i = 0; i < VIEW_LIVE_MAX + 1; i++)
        view_live(&chat.view, STYLE_NOTE, "x\ny");
    CHECK_INT(chat.view.live_count, VIEW_LIVE_MAX);
    CHECK_STR(chat.view.live[0].text, "x");
    end();
}
