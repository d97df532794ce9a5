#include "unit.h"

#include "base/time.h"
#include "protocol/rpc.h"

/* What the callbacks were told, one a line, and what they are to do. */
struct heard {
    struct rpc *rpc;
    struct str notes;
    bool reply; /* to each request, with its method */
    bool leave; /* at the first call */
};

static void on_request(void *arg, const struct rpc_request *request)
{
    struct heard *h = arg;
    struct json_out out = {.to = &h->notes};

    str_addf(&h->notes, "%s %s ", request->ticket != NULL ? request->ticket : "-", request->method);
    json_put_node(&out, NULL, request->params);
    str_addc(&h->notes, '\n');
    if (h->reply && request->ticket != NULL)
        (void)rpc_reply(h->rpc, request->ticket, "{}");
    if (h->leave)
        rpc_free(h->rpc);
}

static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct heard *h = arg;
    struct json_out out = {.to = &h->notes};

    str_addf(&h->notes, "=%lld ", (long long)answer->serial);
    if (answer->ok)
        json_put_node(&out, NULL, answer->result);
    else
        str_addf(&h->notes, "error %lld %s", (long long)answer->code, answer->message);
    str_addc(&h->notes, '\n');
}

static void on_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    struct heard *h = arg;

    str_addf(&h->notes, "garbage %.*s: %s\n", (int)len, bytes, why);
}

static const struct rpc_spec spec = {.request = on_request,
                                     .answer = on_answer,
                                     .garbage = on_garbage,
                                     .line_max = 1000,
                                     .out_max = 2000};

static void begin(struct heard *h)
{
    *h = (struct heard){.reply = false};
    h->rpc = rpc_new(&spec, h);
}

static void end(struct heard *h)
{
    if (!h->leave)
        rpc_free(h->rpc);
    str_free(&h->notes);
}

static void feed(struct heard *h, const char *text)
{
    rpc_feed(h->rpc, text, strlen(text));
}

/* What was told since the last time. */
static void check_heard(struct heard *h, const char *want)
{
    CHECK_STR(str_text(&h->notes), want);
    str_clear(&h->notes);
}

/* What is to be sent, which then counts as sent. */
static void check_out(struct heard *h, const char *want)
{
    size_t len;
    const char *out = rpc_out(h->rpc, &len);
    _cleanup_free_ char *text = mem_dupn(out, len);

    CHECK_STR(text, want);
    rpc_sent(h->rpc, len);
}

TEST(asks_and_hears_the_answers_in_any_order)
{
    struct heard h;

    begin(&h);
    CHECK_INT(rpc_ask(h.rpc, "a", "{\"x\":1}", -1), 1);
    CHECK_INT(rpc_ask(h.rpc, "b", NULL, -1), 2);
    CHECK_INT(rpc_ask(h.rpc, "c", "[]", -1), 3);
    rpc_tell(h.rpc, "note", "{}");
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"x\":1}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"c\",\"params\":[]}\n"
                  "{\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{}}\n");
    feed(&h, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"r\":[3]}}\r\n\n  \n"
             "{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"log in\"}}\n"
             "{\"id\":2.0,\"result\":null,\"error\":null}\n");
    check_heard(&h, "=3 {\"r\":[3]}\n=1 error -32000 log in\n=2 null\n");
    end(&h);
}

TEST(takes_answers_that_lack_something)
{
    struct heard h;

    begin(&h);
    for (int i = 0; i < 5; i++)
        (void)rpc_ask(h.rpc, "a", NULL, -1);
    feed(&h, "{\"id\":1}\n{\"id\":2,\"error\":\"just words\"}\n{\"id\":3,\"error\":{}}\n"
             "{\"id\":4,\"error\":{\"code\":\"x\",\"message\":7}}\n");
    check_heard(&h, "=1 null\n=2 error -32603 just words\n=3 error -32603 \n=4 error -32603 \n");
    /* late, twice, never asked, of another type */
    feed(&h, "{\"id\":1,\"result\":1}\n{\"id\":5,\"result\":1}\n{\"id\":5,\"result\":1}\n");
    check_heard(&h, "=5 1\n");
    feed(&h, "{\"id\":6,\"result\":1}\n{\"id\":\"5\",\"result\":1}\n{\"id\":null,\"error\":{}}\n"
             "{\"id\":0,\"result\":1}\n{\"id\":-1,\"result\":1}\n{\"result\":1}\n"
             "{\"id\":99999999999999999999999,\"result\":1}\n");
    for (const char *p = h.notes.data; *p != '\0'; p = strchr(p, '\n') + 1)
        CHECK(str_starts(p, "garbage {"));
    end(&h);
}

TEST(keeps_ids_as_they_are)
{
    static const char *const ids[] = {"0",
                                      "7",
                                      "-3",
                                      "0.5",
                                      "1.0",
                                      "1e2",
                                      "9007199254740993",
                                      "123456789012345678901234567890",
                                      "\"\"",
                                      "\"a \\\"b\\\" \xC3\xBC\"",
                                      "\"0\""};
    struct heard h;

    begin(&h);
    h.reply = true;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        _cleanup_free_ char *line = mem_printf("{\"id\":%s,\"method\":\"m\"}\n", ids[i]);
        _cleanup_free_ char *heard = mem_printf("%zu m null\n", i + 1);
        _cleanup_free_ char *out =
            mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", ids[i]);

        feed(&h, line);
        check_heard(&h, heard);
        check_out(&h, out);
    }
    /* null is an id too, but one that no answer can be told apart by */
    feed(&h, "{\"id\":null,\"method\":\"m\"}\n{\"id\":[1],\"method\":\"m\"}\n");
    check_heard(&h, "");
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                  "\"an id must be a number or a string\"}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                  "\"an id must be a number or a string\"}}\n");
    end(&h);
}

/* An id is kept until its request is answered. */
TEST(refuses_ids_that_are_too_long)
{
    struct heard h;

    begin(&h);
    h.reply = true;
    for (int len = RPC_ID_MAX; len <= RPC_ID_MAX + 1; len++) {
        _cleanup_str_ struct str id = STR_INIT;
        str_addc(&id, '"');
        while (id.len < (size_t)len - 1)
            str_addc(&id, 'x');
        str_addc(&id, '"');
        _cleanup_free_ char *line = mem_printf("{\"id\":%s,\"method\":\"m\"}\n", str_text(&id));
        feed(&h, line);
        check_heard(&h, len == RPC_ID_MAX ? "1 m null\n" : "");
        if (len == RPC_ID_MAX) {
            _cleanup_free_ char *out =
                mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", str_text(&id));
            check_out(&h, out);
        }
    }
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                  "\"an id is longer than 512 bytes\"}}\n");
    end(&h);
}

TEST(answers_in_any_order_and_once)
{
    struct heard h;
    _cleanup_json_ struct json *id = NULL;
    struct err err = ERR_INIT;

    begin(&h);
    feed(&h, "{\"id\":0,\"method\":\"x\"}\n{\"id\":\"s\",\"method\":\"y\",\"params\":[1]}\n"
             "{\"method\":\"z\"}\n{\"id\":0,\"method\":\"again\"}\n");
    check_heard(&h, "1 x null\n2 y [1]\n- z null\n3 again null\n");
    REQUIRE(json_parse("\"s\"", 3, 3, &id, &err) == 0);
    CHECK_STR(rpc_ticket_of(h.rpc, id), "2");
    CHECK(rpc_refuse(h.rpc, "2", RPC_NO_METHOD, "none \"such\""));
    CHECK(rpc_ticket_of(h.rpc, id) == NULL);
    CHECK(rpc_ticket_of(h.rpc, NULL) == NULL);
    CHECK(rpc_reply(h.rpc, "1", "[2]"));
    CHECK(!rpc_reply(h.rpc, "1", "[2]"));
    CHECK(!rpc_refuse(h.rpc, "4", 0, ""));
    CHECK(rpc_reply(h.rpc, "3", "null"));
    check_out(&h, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"error\":{\"code\":-32601,\"message\":"
                  "\"none \\\"such\\\"\"}}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":[2]}\n"
                  "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":null}\n");
    end(&h);
}

TEST(reads_lines_that_come_in_pieces)
{
    static const char text[] = "{\"method\":\"a\",\"params\":{\"t\":\"\xC3\xBC\"}}\n\n"
                               "{\"method\":\"b\"}\n";
    struct heard h;

    for (size_t step = 1; step < sizeof text; step++) {
        begin(&h);
        for (size_t i = 0; i < sizeof text - 1; i += step) {
            size_t left = sizeof text - 1 - i;

            rpc_feed(h.rpc, text + i, left < step ? left : step);
        }
        check_heard(&h, "- a {\"t\":\"\xC3\xBC\"}\n- b null\n");
        end(&h);
    }
}

TEST(skips_garbage)
{
    struct heard h;
    size_t len;

    begin(&h);
    feed(&h, "Welcome!\n[]\n42\n\"x\"\n");
    check_heard(&h, "garbage Welcome!: line 1, column 1: expected a value\n"
                    "garbage []: not a JSON object\ngarbage 42: not a JSON object\n"
                    "garbage \"x\": not a JSON object\n");
    check_out(&h, "");
    feed(&h,
         "{\"id\":1,\"method\"\n{\"id\":4}x\n{\"id\":4,\"method\":5}\n{}\n{\"method\":\"ok\"}\n");
    CHECK(strstr(h.notes.data, "- ok null\n") != NULL);
    (void)rpc_out(h.rpc, &len);
    CHECK(len > 0);
    CHECK(strstr(rpc_out(h.rpc, &len), "\"id\":null,\"error\":{\"code\":-32700") != NULL);
    CHECK(strstr(rpc_out(h.rpc, &len), "\"id\":4,\"error\":{\"code\":-32600") != NULL);
    end(&h);
}

TEST(skips_what_is_too_long_or_too_deep)
{
    struct heard h;

    begin(&h);
    feed(&h, "{\"method\":\"");
    for (int i = 0; i < 300; i++)
        feed(&h, "0123456789");
    CHECK(strstr(h.notes.data, "garbage {\"method\":\"0123456789") != NULL);
    str_clear(&h.notes);
    feed(&h, "\"}\n{\"method\":\"next\"}\n");
    check_heard(&h, "- next null\n");
    feed(&h, "{\"params\":");
    for (int i = 0; i < 100; i++)
        feed(&h, "[");
    for (int i = 0; i < 100; i++)
        feed(&h, "]");
    feed(&h, ",\"method\":\"deep\"}\n{\"method\":\"next\"}\n");
    CHECK(strstr(h.notes.data, "nested too deeply\n- next null\n") != NULL);
    end(&h);
}

TEST(mends_cut_characters)
{
    struct heard h;

    begin(&h);
    feed(&h, "{\"method\":\"m\",\"params\":[\"a\\ud83d\",\"\\ude00b\",\"\\ud83d\\ude00\","
             "\"\\u0000\",\"\\\\u0000\",\"\\ud83dx\",\"\\\\\",\"\\uD83D\\uD83D\\uDE00\"]}\n");
    check_heard(&h, "- m [\"a\xEF\xBF\xBD\",\"\xEF\xBF\xBD"
                    "b\",\"\xF0\x9F\x98\x80\",\"\xEF\xBF\xBD\","
                    "\"\\\\u0000\",\"\xEF\xBF\xBDx\",\"\\\\\",\"\xEF\xBF\xBD\xF0\x9F\x98\x80\"]\n");
    feed(&h, "{\"method\":\"m\",\"params\":[\"\\ud83d\\ue000\",\"\\udbff\\udfff\","
             "\"\\ud800\\udbff\",\"\\ud7ff\\udc00\",\"\\ue000\"]}\n");
    check_heard(&h, "- m [\"\xEF\xBF\xBD\xEE\x80\x80\",\"\xF4\x8F\xBF\xBF\","
                    "\"\xEF\xBF\xBD\xEF\xBF\xBD\",\"\xED\x9F\xBF\xEF\xBF\xBD\","
                    "\"\xEE\x80\x80\"]\n");
    feed(&h, "{\"method\":\"m\",\"params\":[\"\\u00\"]}\n{\"method\":\"\\");
    feed(&h, "\n");
    CHECK(str_starts(h.notes.data, "garbage "));
    end(&h);
}

TEST(times_out)
{
    struct heard h;
    int64_t now = time_monotonic_ms();
    int64_t next;

    begin(&h);
    CHECK_INT(rpc_tick(h.rpc, now), -1);
    (void)rpc_ask(h.rpc, "a", NULL, 60000);
    (void)rpc_ask(h.rpc, "b", NULL, -1);
    (void)rpc_ask(h.rpc, "c", NULL, 30000);
    (void)rpc_ask(h.rpc, "d", NULL, 30000);
    next = rpc_tick(h.rpc, now);
    CHECK(next >= now + 30000 && next < now + 60000);
    rpc_forget(h.rpc, 4);
    check_heard(&h, "");
    next = rpc_tick(h.rpc, next);
    check_heard(&h, "=3 error -1 no answer in time\n");
    CHECK(next >= now + 60000);
    feed(&h, "{\"id\":3,\"result\":1}\n{\"id\":4,\"result\":1}\n");
    check_heard(&h, "");
    CHECK_INT(rpc_tick(h.rpc, now + 1000000), -1);
    check_heard(&h, "=1 error -1 no answer in time\n");
    feed(&h, "{\"id\":2,\"result\":1}\n");
    check_heard(&h, "=2 1\n");
    end(&h);
}

TEST(loses_nothing_of_what_is_sent_in_pieces)
{
    _cleanup_str_ struct str sent = STR_INIT;
    _cleanup_str_ struct str want = STR_INIT;
    struct heard h;
    size_t rest;
    const char *out;

    begin(&h);
    for (int i = 0; i < 20000; i++) {
        size_t len;

        rpc_tell(h.rpc, "m", "{\"n\":123}");
        str_add(&want, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"n\":123}}\n");
        out = rpc_out(h.rpc, &len);
        len = (size_t)(i * 37 % 151) < len ? (size_t)(i * 37 % 151) : len;
        str_addn(&sent, out, len);
        rpc_sent(h.rpc, len);
    }
    CHECK(!rpc_is_stuck(h.rpc));
    out = rpc_out(h.rpc, &rest);
    str_addn(&sent, out, rest);
    CHECK(sent.len == want.len && memcmp(sent.data, want.data, sent.len) == 0);
    end(&h);
}

TEST(is_stuck_when_nobody_reads)
{
    struct heard h;
    size_t len;

    begin(&h);
    for (int i = 0; i < 1000; i++)
        rpc_tell(h.rpc, "something", "{}");
    CHECK(rpc_is_stuck(h.rpc));
    (void)rpc_out(h.rpc, &len);
    CHECK(len <= 2100);
    end(&h);
}

TEST(refuses_too_many_open_requests)
{
    struct heard h;
    size_t len;

    begin(&h);
    for (int i = 0; i <= RPC_OPEN_MAX; i++)
        feed(&h, "{\"id\":1,\"method\":\"m\"}\n");
    CHECK(strstr(rpc_out(h.rpc, &len), "too many requests are open") != NULL);
    CHECK(rpc_reply(h.rpc, "1024", "1"));
    CHECK(!rpc_reply(h.rpc, "1025", "1"));
    end(&h);
}

TEST(may_be_freed_in_a_call)
{
    struct heard h;

    begin(&h);
    h.leave = true;
    feed(&h, "{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"b\"}\n");
    check_heard(&h, "1 a null\n");
    end(&h);
}

/* A line of so many bytes: an object, then blanks; fed in parts of `step` bytes. */
static void feed_sized(struct heard *h, size_t len, size_t step)
{
    static const char object[] = "{\"method\":\"m\"}";
    _cleanup_str_ struct str line = STR_INIT;

    str_add(&line, object);
    while (line.len < len)
        str_addc(&line, ' ');
    str_addc(&line, '\n');
    for (size_t at = 0; at < line.len; at += step)
        rpc_feed(h->rpc, line.data + at, step < line.len - at ? step : line.len - at);
}

TEST(takes_a_line_that_is_just_as_long_as_allowed)
{
    static const size_t steps[] = {1, 999, 1000, 1001, 5000};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct heard h;
        begin(&h);
        feed_sized(&h, spec.line_max, steps[i]);
        check_heard(&h, "- m null\n");
        check_out(&h, "");
        feed_sized(&h, spec.line_max + 1, steps[i]);
        CHECK(strstr(str_text(&h.notes), RPC_TOO_LONG) != NULL);
        str_clear(&h.notes);
        feed_sized(&h, spec.line_max, steps[i]);
        check_heard(&h, "- m null\n");
        end(&h);
    }
}
