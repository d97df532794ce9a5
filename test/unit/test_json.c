#include "unit.h"

#include "base/json.h"

static const size_t max_size = 8 << 20;

/* Parses text of len bytes from memory that ends with it, so that ASan sees a step too far. */
static struct json *parse_bytes(const char *text, size_t len, struct err *err)
{
    struct json *root = NULL;
    char *exact = mem_grow(NULL, len, 1);

    if (len > 0)
        memcpy(exact, text, len);
    if (json_parse(exact, len, max_size, &root, err) == -1) {
        CHECK(root == NULL);
        CHECK_INT(err->code, MAS_DAMAGED);
    }
    free(exact);
    return root;
}

static struct json *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct json *root = parse_bytes(text, strlen(text), &err);

    if (!CHECK(root != NULL))
        printf("#   %s\n#   %s\n", text, err.text);
    return root;
}

/* The error's text, or "" where the text is taken. */
static const char *fault_bytes(const char *text, size_t len)
{
    static struct err err;
    _cleanup_json_ struct json *root = NULL;

    err = (struct err)ERR_INIT;
    root = parse_bytes(text, len, &err);
    return err.text;
}

static const char *fault(const char *text)
{
    return fault_bytes(text, strlen(text));
}

TEST(reads_every_type)
{
    _cleanup_json_ struct json *root = parse(" {\"s\":\"text\",\"n\":-12,\"t\":true,\"f\":false,"
                                             "\"z\":null,\"a\":[1,\"x\",{}],\"o\":{}}\n");
    const struct json *item;

    CHECK(json_is_object(root) && !json_is_array(root) && !json_is_string(root));
    CHECK_STR(json_get_text(root, "s"), "text");
    CHECK(json_is_string(json_get(root, "s")));
    CHECK_INT(json_int(json_get(root, "n"), 0), -12);
    CHECK(json_bool(json_get(root, "t"), false));
    CHECK(!json_bool(json_get(root, "f"), true));
    CHECK(json_is_array(json_get(root, "a")));
    item = json_first(json_get(root, "a"));
    CHECK_INT(json_int(item, 0), 1);
    CHECK(json_key(item) == NULL);
    item = json_next(item);
    CHECK_STR(json_text(item), "x");
    item = json_next(item);
    CHECK(json_is_object(item) && json_first(item) == NULL && json_next(item) == NULL);
    CHECK_STR(json_key(json_first(root)), "s");
    CHECK_STR(json_key(json_next(json_first(root))), "n");
}

TEST(missing_is_null)
{
    _cleanup_json_ struct json *root = parse("{\"s\":\"t\",\"a\":[\"x\"],\"n\":1}");

    CHECK(json_get(root, "S") == NULL);
    CHECK(json_get(root, "nothing") == NULL);
    CHECK(json_get(NULL, "s") == NULL);
    CHECK(json_get(json_get(root, "a"), "x") == NULL);
    CHECK(json_get_text(json_get(root, "s"), "s") == NULL);
    CHECK(json_get_text(root, "n") == NULL);
    CHECK(json_text(NULL) == NULL && json_key(NULL) == NULL && json_key(root) == NULL);
    CHECK(json_first(NULL) == NULL && json_next(NULL) == NULL && json_next(root) == NULL);
    CHECK(json_first(json_get(root, "s")) == NULL);
    CHECK_INT(json_int(NULL, 5), 5);
    CHECK_INT(json_int(json_get(root, "s"), 5), 5);
    CHECK(json_bool(NULL, true) && json_bool(json_get(root, "n"), true));
    CHECK(!json_is_object(NULL) && !json_is_array(NULL) && !json_is_string(NULL));
    json_free(NULL);
}

TEST(any_value_may_be_the_root)
{
    static const char *const texts[] = {"1",    "\"\"", "true", "false",
                                        "null", "[]",   "{}",   "-0.5e-3"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        json_free(parse(texts[i]));
}

TEST(strings_are_decoded)
{
    _cleanup_json_ struct json *root =
        parse("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00fc\\u20AC\\ud83d\\udc27\x7f\", "
              "\"\xC3\xBC\xF0\x9F\x90\xA7\"]");

    CHECK_STR(json_text(json_first(root)),
              "\"\\/\b\f\n\r\tA\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\xA7\x7f");
    CHECK_STR(json_text(json_next(json_first(root))), "\xC3\xBC\xF0\x9F\x90\xA7");
}

TEST(integers_are_exact)
{
    static const struct {
        const char *text;
        int64_t value; /* -7: none */
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"0.0", 0},
        {"0e999999999999999999999", 0},
        {"123456789012345", 123456789012345},
        {"9007199254740991", 9007199254740991},
        {"9007199254740992", 9007199254740992},
        {"-9007199254740992", -9007199254740992},
        {"9007199254740993", -7},
        {"-9007199254740993", -7},
        {"9223372036854775807", -7},
        {"1.0", 1},
        {"1e3", 1000},
        {"1.5e1", 15},
        {"1200e-2", 12},
        {"0.00012e5", 12},
        {"9.007199254740992E+15", 9007199254740992},
        {"9007199254740992.0", 9007199254740992},
        {"9007199254740991.4", -7},
        {"0.99999999999999999999999999", -7},
        {"1.00000000000000000000000001", -7},
        {"1.5", -7},
        {"-0.1", -7},
        {"1200e-3", -7},
        {"1e16", -7},
        {"1e100000", -7},
        {"1e-100000", -7},
        {"1e999", -7},
        {"1e99999999999999999999999", -7},
        {"1e-99999999999999999999999", -7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_json_ struct json *root = parse(cases[i].text);

        if (!CHECK_INT(json_int(root, -7), cases[i].value))
            printf("#   %s\n", cases[i].text);
    }
}

TEST(integers_find_their_node)
{
    _cleanup_json_ struct json *root =
        parse("{\"a\":[1,0.5,[2]],\"b\":{\"c\":3.5,\"d\":4},\"e\":\"5\",\"f\":6}");
    const struct json *a = json_get(root, "a");

    CHECK_INT(json_int(json_first(a), -7), 1);
    CHECK_INT(json_int(json_next(json_first(a)), -7), -7);
    CHECK_INT(json_int(json_first(json_next(json_next(json_first(a)))), -7), 2);
    CHECK_INT(json_int(json_get(json_get(root, "b"), "c"), -7), -7);
    CHECK_INT(json_int(json_get(json_get(root, "b"), "d"), -7), 4);
    CHECK_INT(json_int(json_get(root, "f"), -7), 6);
}

TEST(refuses_bad_grammar)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"", "line 1, column 1: unexpected end of the text"},
        {" \n ", "line 2, column 2: unexpected end of the text"},
        {"\xEF\xBB\xBF{}", "line 1, column 1: expected a value"},
        {"{} x", "line 1, column 4: unexpected text after the value"},
        {"1 2", "line 1, column 3: unexpected text after the value"},
        {"nul", "line 1, column 1: expected a value"},
        {"truex", "line 1, column 5: unexpected text after the value"},
        {"True", "line 1, column 1: expected a value"},
        {"NaN", "line 1, column 1: expected a value"},
        {"'a'", "line 1, column 1: expected a value"},
        {"/**/1", "line 1, column 1: expected a value"},
        {"[", "line 1, column 2: unexpected end of the text"},
        {"[1", "line 1, column 3: unexpected end of the text"},
        {"[1,", "line 1, column 4: unexpected end of the text"},
        {"[1,]", "line 1, column 4: expected a value"},
        {"[,1]", "line 1, column 2: expected a value"},
        {"[1 2]", "line 1, column 4: expected ',' or ']'"},
        {"[1}", "line 1, column 3: expected ',' or ']'"},
        {"{\"a\":1]", "line 1, column 7: expected ',' or '}'"},
        {"{\n  \"\xC3\xBC\" 1}", "line 2, column 7: expected ':'"},
        {"{\"a\":1,}", "line 1, column 8: expected a key in double quotes"},
        {"{a:1}", "line 1, column 2: expected a key in double quotes"},
        {"{1:1}", "line 1, column 2: expected a key in double quotes"},
        {"{\"a\"", "line 1, column 5: unexpected end of the text"},
        {"{\"a\":", "line 1, column 6: unexpected end of the text"},
        {"]", "line 1, column 1: expected a value"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(fault(cases[i].text), cases[i].why);
}

TEST(refuses_bad_numbers)
{
    CHECK_STR(fault("01"), "line 1, column 1: a number must not have leading zeros");
    CHECK_STR(fault("[-00]"), "line 1, column 3: a number must not have leading zeros");
    CHECK_STR(fault("-"), "line 1, column 2: unexpected end of the text");
    CHECK_STR(fault("-a"), "line 1, column 2: expected a digit");
    CHECK_STR(fault("+1"), "line 1, column 1: expected a value");
    CHECK_STR(fault(".5"), "line 1, column 1: expected a value");
    CHECK_STR(fault("1."), "line 1, column 3: unexpected end of the text");
    CHECK_STR(fault("1.e1"), "line 1, column 3: expected a digit");
    CHECK_STR(fault("1e"), "line 1, column 3: unexpected end of the text");
    CHECK_STR(fault("1e+"), "line 1, column 4: unexpected end of the text");
    CHECK_STR(fault("0x10"), "line 1, column 2: unexpected text after the value");
    CHECK_STR(fault("1111111111222222222233333333334444444444555555555566666666667777"),
              "line 1, column 1: the number is too long");
    json_free(parse("111111111122222222223333333333444444444455555555556666666666777"));
}

TEST(refuses_bad_strings)
{
    CHECK_STR(fault("\"a"), "line 1, column 1: unterminated string");
    CHECK_STR(fault("\"a\\\""), "line 1, column 1: unterminated string");
    CHECK_STR(fault("\"\\"), "line 1, column 2: unknown escape in a string");
    CHECK_STR(fault("\"a\nb\""), "line 1, column 3: control character in a string");
    CHECK_STR(fault("\"a\tb\""), "line 1, column 3: control character in a string");
    CHECK_STR(fault_bytes("\"a\0b\"", 5), "line 1, column 3: control character in a string");
    CHECK_STR(fault_bytes("1\0", 2), "line 1, column 2: unexpected text after the value");
    CHECK_STR(fault("\"\\x41\""), "line 1, column 2: unknown escape in a string");
    CHECK_STR(fault("\"\\u12\""), "line 1, column 2: \\u needs four hex digits");
    CHECK_STR(fault("\"\\u00g0\""), "line 1, column 2: \\u needs four hex digits");
    CHECK_STR(fault("\"\\u"), "line 1, column 2: \\u needs four hex digits");
    CHECK_STR(fault("\"a\\u0000b\""), "line 1, column 3: \\u0000 is not allowed in a string");
    CHECK_STR(fault("{\"a\\u0000\":1}"), "line 1, column 4: \\u0000 is not allowed in a string");
    CHECK_STR(fault("\"\\ud800\""), "line 1, column 2: unpaired surrogate");
    CHECK_STR(fault("\"\\ud800\\u0041\""), "line 1, column 2: unpaired surrogate");
    CHECK_STR(fault("\"\\ud800\\ud800\""), "line 1, column 2: unpaired surrogate");
    CHECK_STR(fault("\"\\udc00\""), "line 1, column 2: unpaired surrogate");
    CHECK_STR(fault("\"\xC3\""), "line 1, column 2: invalid UTF-8");
    CHECK_STR(fault("\"\xED\xA0\x80\""), "line 1, column 2: invalid UTF-8");
    CHECK_STR(fault("\"\xC0\xAF\""), "line 1, column 2: invalid UTF-8");
    CHECK_STR(fault("\"\xFF"), "line 1, column 2: invalid UTF-8");
}

TEST(refuses_equal_keys)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(fault("{\"a\":1,\n \"b\":2, \"a\":3}"),
              "line 2, column 9: duplicate key 'a' in an object");
    CHECK_STR(fault("{\"a\":1,\"\\u0061\":2}"), "line 1, column 8: duplicate key 'a' in an object");
    CHECK_STR(fault("[{\"x\":{\"y\":1}},{\"x\":{\"y\":1,\"z\":0,\"y\":2}}]"),
              "line 1, column 34: duplicate key 'y' in an object");
    CHECK_STR(fault("{\"\":1,\"\":2}"), "line 1, column 7: duplicate key '' in an object");
    json_free(parse("{\"a\":{\"a\":1},\"A\":{\"a\":1},\"b\":[{\"a\":1},{\"a\":1}]}"));
    /* enough keys to be sorted; of two faults the one that comes first is named */
    str_add(&s, "{");
    for (int i = 0; i < 100; i++)
        str_addf(&s, "\"k%d\":{\"in\":%d},\n", i, i);
    str_add(&s, "\"k70\":0, \"k7\":0}");
    CHECK_STR(fault(str_text(&s)), "line 101, column 1: duplicate key 'k70' in an object");
    /* also the first and the last ones in the order of all */
    for (int i = 0; i < 40; i += 39) {
        _cleanup_free_ char *wanted =
            mem_printf("line 1, column 322: duplicate key 'k%02d' in an object", i);
        str_clear(&s);
        str_add(&s, "{");
        for (int j = 0; j < 40; j++)
            str_addf(&s, "\"k%02d\":0,", j);
        str_addf(&s, "\"k%02d\":0}", i);
        CHECK_STR(fault(str_text(&s)), wanted);
    }
}

TEST(many_keys_take_little_time)
{
    _cleanup_str_ struct str s = STR_INIT;
    _cleanup_json_ struct json *root = NULL;

    str_add(&s, "{\"first\":0");
    for (int i = 0; s.len < 1 << 20; i++)
        str_addf(&s, ",\"%x\":0", (unsigned)i);
    str_add(&s, "}");
    root = parse(str_text(&s));
    CHECK_INT(json_int(json_get(root, "1f"), -7), 0);
}

TEST(depth_is_limited)
{
    _cleanup_str_ struct str s = STR_INIT;

    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        str_add(&s, i % 2 == 0 ? "[" : "{\"a\":");
    str_add(&s, "1");
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        str_add(&s, i % 2 == 0 ? "}" : "]");
    json_free(parse(str_text(&s)));
    str_clear(&s);
    for (int i = 0; i < 100000; i++)
        str_add(&s, "[");
    CHECK_STR(fault(str_text(&s)), "line 1, column 65: nested too deeply");
    json_free(parse("[[],[],[[],[]]]")); /* beside each other is not deep */
}

TEST(size_is_limited)
{
    struct json *root = NULL;
    struct err err = ERR_INIT;

    CHECK_INT(json_parse("[1]", 3, 3, &root, &err), 0);
    json_free(root);
    root = NULL;
    CHECK_INT(json_parse("[1] ", 4, 3, &root, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_STR(err.text, "the text has 4 bytes, more than the 3 allowed");
    CHECK(root == NULL);
}

TEST(writes_values)
{
    _cleanup_str_ struct str s = STR_INIT;
    struct json_out out = {.to = &s};

    json_open(&out, NULL, '{');
    json_put(&out, "a", "x");
    json_put(&out, "none", NULL);
    json_put_int(&out, "n", INT64_MIN);
    json_put_bool(&out, "t", true);
    json_open(&out, "list", '[');
    json_put(&out, NULL, "one");
    json_put_int(&out, NULL, 2);
    json_open(&out, NULL, '{');
    json_close(&out, '}');
    json_put_bool(&out, NULL, false);
    json_close(&out, ']');
    json_open(&out, "o", '{');
    json_close(&out, '}');
    json_put(&out, "k\"ey", "");
    json_close(&out, '}');
    CHECK_STR(str_text(&s), "{\"a\":\"x\",\"none\":null,\"n\":-9223372036854775808,\"t\":true,"
                            "\"list\":[\"one\",2,{},false],\"o\":{},\"k\\\"ey\":\"\"}");
}

static const char *written(struct str *s, const char *text)
{
    struct json_out out = {.to = s};

    str_clear(s);
    json_put(&out, NULL, text);
    return str_text(s);
}

TEST(writes_text_safely)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(written(&s, "\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    CHECK_STR(written(&s, "\x01\x1b\x1f\x7f~"), "\"\\u0001\\u001b\\u001f\\u007f~\"");
    CHECK_STR(written(&s, "\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\xA7"),
              "\"\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\xA7\"");
    CHECK_STR(written(&s, "\xC2\x80\xC2\x9F\xC2\xA0\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA6"),
              "\"\\u0080\\u009f\xC2\xA0\\u2028\\u202e\\u2066\"");
    CHECK_STR(written(&s, "a\xFF\xC3(\xE2\x82"),
              "\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(reads_what_it_wrote)
{
    _cleanup_str_ struct str s = STR_INIT;
    char text[0x80];

    for (size_t i = 0; i + 1 < sizeof(text); i++)
        text[i] = (char)(i + 1);
    text[sizeof(text) - 1] = '\0';
    {
        _cleanup_json_ struct json *root = parse(written(&s, text));

        CHECK_STR(json_text(root), text);
    }
}

TEST(puts_nodes_as_they_were_written)
{
    static const char text[] =
        "{\"a\":[1,-0,1.0,1e3,9007199254740993,0.1,123456789012345678901234567890],"
        "\"b\":{\"c\":null,\"d\":[true,false,\"\\u0085\xC3\xBC\"],\"e\":[]},\"f\":{}}";
    _cleanup_json_ struct json *root = NULL;
    _cleanup_str_ struct str again = STR_INIT;
    struct json_out out = {.to = &again};
    struct err err = ERR_INIT;

    REQUIRE(json_parse(text, strlen(text), SIZE_MAX, &root, &err) == 0);
    json_put_node(&out, NULL, root);
    CHECK_STR(again.data, text);
    str_clear(&again);
    out = (struct json_out){.to = &again};
    json_open(&out, NULL, '[');
    json_put_node(&out, NULL, json_get(root, "nothing"));
    json_put_raw(&out, NULL, "{\"x\":2}");
    json_put_node(&out, NULL, json_get(root, "f"));
    json_close(&out, ']');
    CHECK_STR(again.data, "[null,{\"x\":2},{}]");
}

TEST(a_list_of_parts_is_what_the_calls_write)
{
    static const char text[] = "[1,{}]";
    _cleanup_str_ struct str to = STR_INIT;
    _cleanup_json_ struct json *node = NULL;
    struct json_out out = {.to = &to};
    struct err err = ERR_INIT;

    CHECK_INT(json_parse(text, strlen(text), sizeof text, &node, &err), 0);
    json_put_all(&out, JO(NULL), JT("a", "x"), JT("b", NULL), JI("c", SIZE_MAX >> 12),
                 JB("d", true));
    json_put_all(&out, JN("e", node), JN("f", NULL), JA("g"), JR(NULL, "7"), JT(NULL, "y"), JAE,
                 JO("h"), JOE, JOE);
    CHECK_STR(str_text(&to), "{\"a\":\"x\",\"b\":null,\"c\":4503599627370495,\"d\":true,"
                             "\"e\":[1,{}],\"f\":null,\"g\":[7,\"y\"],\"h\":{}}");
}

TEST(other_types_have_their_fallback)
{
    _cleanup_json_ struct json *root =
        parse("{\"s\":\"t\",\"n\":-1.5,\"b\":true,\"z\":null,\"big\":9007199254740992,"
              "\"more\":9007199254740994}");

    CHECK(json_number(json_get(root, "n"), 7) == -1.5);
    CHECK(json_number(json_get(root, "s"), 7) == 7 && json_number(NULL, 7) == 7);
    CHECK(json_number(json_get(root, "b"), 7) == 7 && json_number(json_get(root, "z"), 7) == 7);
    CHECK(json_int(json_get(root, "n"), 5) == 5 && json_int(json_get(root, "b"), 5) == 5);
    CHECK_INT(json_int(json_get(root, "big"), 5), INT64_C(9007199254740992));
    CHECK_INT(json_int(json_get(root, "more"), 5), 5);
    CHECK(!json_bool(json_get(root, "z"), false) && json_bool(json_get(root, "z"), true));
    CHECK(json_is_null(json_get(root, "z")) && !json_is_null(json_get(root, "s")));
    CHECK(!json_is_null(json_get(root, "nothing")) && !json_is_null(NULL));
    CHECK(json_is_number(json_get(root, "n")) && !json_is_number(json_get(root, "b")));
    CHECK(!json_is_number(NULL));
    CHECK_STR(json_get_text_or(root, "s", "or"), "t");
    CHECK_STR(json_get_text_or(root, "n", "or"), "or");
    CHECK_STR(json_get_text_or(root, "nothing", NULL), NULL);
}

/* A copy has all that is in its node and outlives it; a node may take the place of its own root. */
TEST(nodes_are_copied_whole)
{
    struct json *root = parse("{\"a\":{\"b\":[1,2.50,{\"c\":\"d\"}],\"e\":null},\"f\":1}");
    struct json *copy = json_copy(json_get(root, "a"));
    static const char want[] = "{\"b\":[1,2.50,{\"c\":\"d\"}],\"e\":null}";

    json_replace(&root, json_get(root, "a"));
    const struct json *const both[] = {copy, root};
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        json_put_node(&out, NULL, both[i]);
        CHECK_STR(text.data, want);
    }
    json_free(copy);
    json_replace(&root, NULL);
    CHECK(root == NULL && json_copy(NULL) == NULL);
}

/* Of each range the ends, and what is beside them. */
TEST(what_moves_a_terminal_is_escaped)
{
    static const struct {
        const char *text, *want; /* NULL: the same */
    } cases[] = {
        {"\x1f", "\\u001f"},
        {" ~", NULL},
        {"\x7f", "\\u007f"},
        {"\xc2\x80", "\\u0080"},
        {"\xc2\x9f", "\\u009f"},
        {"\xc2\xa0", NULL},
        {"\xd8\x9b", NULL},
        {"\xd8\x9c", "\\u061c"},
        {"\xd8\x9d", NULL},
        {"\xe2\x80\x8d", NULL},
        {"\xe2\x80\x8e", "\\u200e"},
        {"\xe2\x80\x8f", "\\u200f"},
        {"\xe2\x80\x90", NULL},
        {"\xe2\x80\xa7", NULL},
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xe2\x80\xae", "\\u202e"},
        {"\xe2\x80\xaf", NULL},
        {"\xe2\x81\xa5", NULL},
        {"\xe2\x81\xa6", "\\u2066"},
        {"\xe2\x81\xa9", "\\u2069"},
        {"\xe2\x81\xaa", NULL},
        {"\xf0\x9f\x90\xa7", NULL},
        {"a\xff"
         "b",
         "a\xEF\xBF\xBD"
         "b"},
        {"\xc3", "\xEF\xBF\xBD"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_free_ char *want =
            mem_printf("\"%s\"", cases[i].want != NULL ? cases[i].want : cases[i].text);
        struct json_out out = {.to = &text};
        json_put(&out, NULL, cases[i].text);
        CHECK_STR(text.data, want);
    }
}

TEST(texts_are_cut_at_a_character)
{
    static const struct {
        const char *text;
        size_t max;
        const char *want;
    } cases[] = {{"abc", 3, "\"abc\""},     {"abc", 2, "\"ab\""},
                 {"abc", 0, "\"\""},        {NULL, 3, "null"},
                 {"a\xc3\xa9", 2, "\"a\""}, {"a\xc3\xa9", 3, "\"a\xc3\xa9\""}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        json_put_fit(&out, NULL, cases[i].text, cases[i].max);
        CHECK_STR(text.data, cases[i].want);
    }
}
