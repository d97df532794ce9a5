/* What agents write, as a tree. The examples of CommonMark are those of a package that has them. */
#include "markdown/markdown.h"

#include "base/time.h"
#include "examples.h"
#include "unit.h"

static struct markdown tree;
static struct str json;

/* Returns the blocks of a text, as they are sent to the page. */
static const char *blocks_of(const char *text)
{
    struct json_out out = {.to = &json};

    str_clear(&json);
    markdown_parse(&tree, text, strlen(text));
    markdown_put(&tree, &out, NULL);
    return str_text(&json);
}

static void check_blocks(const char *text, const char *blocks)
{
    _cleanup_str_ struct str whole = STR_INIT;

    str_addf(&whole, "[%s]", blocks);
    for (char *quote = whole.data; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    CHECK_STR(blocks_of(text), str_text(&whole));
}

TEST(blocks)
{
    check_blocks("", "");
    check_blocks("one\ntwo\n\nthree", "{'kind':'paragraph','parts':['one\\ntwo']},"
                                      "{'kind':'paragraph','parts':['three']}");
    check_blocks("## A *b*\n***", "{'kind':'heading','level':2,'parts':['A ',{'kind':'emphasis',"
                                  "'parts':['b']}]},{'kind':'rule','parts':[]}");
    check_blocks("> a", "{'kind':'quote','parts':[{'kind':'paragraph','parts':['a']}]}");
    check_blocks("3. a\n4. b", "{'kind':'list','start':3,'loose':false,'parts':[{'kind':'item',"
                               "'parts':['a']},{'kind':'item','parts':['b']}]}");
    check_blocks("- a\n\n- b",
                 "{'kind':'list','loose':true,'parts':[{'kind':'item','parts':[{'kind':"
                 "'paragraph','parts':['a']}]},{'kind':'item','parts':[{'kind':'paragraph',"
                 "'parts':['b']}]}]}");
    check_blocks("```c\nint  a;\n\n  b\t;\n```",
                 "{'kind':'code','language':'c','parts':['int  a;\\n\\n  b\\t;\\n']}");
}

TEST(tables_have_alignments)
{
    check_blocks("|a|b|\n|:-:|--:|\n|1|`x|\n",
                 "{'kind':'table','parts':[{'kind':'row','parts':[{'kind':'cell','align':'center',"
                 "'parts':['a']},{'kind':'cell','align':'right','parts':['b']}]},{'kind':'row',"
                 "'parts':[{'kind':'cell','align':'center','parts':['1']},{'kind':'cell','align':"
                 "'right','parts':['`x']}]}]}");
}

TEST(what_is_in_a_line)
{
    check_blocks("a **b *c*** `d  e`", "{'kind':'paragraph','parts':['a ',{'kind':'strong','parts':"
                                       "['b ',{'kind':'emphasis','parts':['c']}]},' ',{'kind':"
                                       "'typed','parts':['d  e']}]}");
    check_blocks("&lt;&amp;&#65;&hellip;&unknown;",
                 "{'kind':'paragraph','parts':['<&A…&unknown;']}");
}

TEST(links)
{
    check_blocks("see https://h.x/ y", "{'kind':'paragraph','parts':['see ',{'kind':'link',"
                                       "'address':'https://h.x/','parts':['https://h.x/']},' y']}");
    check_blocks("(http://[::1]/a_b_c). *https://h.x/y*",
                 "{'kind':'paragraph','parts':['(',{'kind':"
                 "'link','address':'http://[::1]/a_b_c','parts':['http://[::1]/a_b_c']},'). ',"
                 "{'kind':'emphasis','parts':[{'kind':'link','address':'https://h.x/y','parts':"
                 "['https://h.x/y']}]}]}");
    CHECK(strstr(blocks_of("`http://a.b` http:// xhttp://a.b file://a"), "address") == NULL);
    /* md4c loses count of emphasis around an address if it looks for them itself */
    CHECK(strstr(blocks_of("+ *b*c** > -*b [l](https://H.x/*c***"), "https://H.x/") != NULL);
    check_blocks("[a](<http://h/\"ü\\>>)", "{'kind':'paragraph','parts':[{'kind':'link','address':"
                                           "'http://h/%22%C3%BC%3E','parts':['a']}]}");
    check_blocks("<a@b.c>", "{'kind':'paragraph','parts':[{'kind':'link','address':'mailto:a@b.c',"
                            "'parts':['a@b.c']}]}");
    /* a picture is a link to it, in a link only its text, and what has no text has its address */
    check_blocks("![a](http://p)", "{'kind':'paragraph','parts':[{'kind':'link','address':"
                                   "'http://p','parts':['a']}]}");
    check_blocks("[![a](http://p)](http://q)", "{'kind':'paragraph','parts':[{'kind':'link',"
                                               "'address':'http://q','parts':['a']}]}");
    check_blocks("![](http://p)", "{'kind':'paragraph','parts':[{'kind':'link','address':"
                                  "'http://p','parts':['http://p']}]}");
}

/* Nothing that a browser or a terminal would follow; what it says is still there. */
TEST(other_addresses_are_text)
{
    check_blocks("[a](javascript:alert(1))",
                 "{'kind':'paragraph','parts':['a (javascript:alert(1))']}");
    check_blocks("[*a*](x.c#L1) b", "{'kind':'paragraph','parts':[{'kind':'emphasis','parts':['a']}"
                                    ",' (x.c#L1) b']}");
    check_blocks("[x.c](x.c) <data:x>", "{'kind':'paragraph','parts':['x.c data:x']}");
    check_blocks("[a](&#106;avascript&#58;b)", "{'kind':'paragraph','parts':['a (javascript:b)']}");
    CHECK(strstr(blocks_of("[a](vbscript:b) [c](file:///d) [e](//f)"), "address") == NULL);
}

TEST(html_is_text)
{
    check_blocks("<b onclick=x>a</b>", "{'kind':'paragraph','parts':['<b onclick=x>a</b>']}");
    check_blocks("<script>\n*a*\n</script>", "{'kind':'paragraph','parts':['<script>\\n',{'kind':"
                                             "'emphasis','parts':['a']},'\\n</script>']}");
}

TEST(control_characters_are_made_visible)
{
    check_blocks("a\033[31m `\033` &#27;&#x9b;&#0;\xff",
                 "{'kind':'paragraph','parts':['a\\\\x1b[31m "
                 "',{'kind':'typed','parts':['\\\\x1b']},"
                 "' \\\\x1b\\\\xc2\\\\x9b\uFFFD\\\\xff']}");
    check_blocks("```\033]8;;x\n\033[2J\n```",
                 "{'kind':'code','language':'\\\\x1b]8;;x','parts':['\\\\x1b[2J\\n']}");
    CHECK(strstr(blocks_of("[a](http://h/\033]8;;)"), "\\u001b") == NULL);
}

/* Appends all text of the tree, without blanks. */
static void add_words(struct str *to)
{
    for (size_t i = 0; i < tree.count; i++)
        for (const char *c = markdown_text(&tree, &tree.nodes[i]);
             tree.nodes[i].kind == MARKDOWN_TEXT && *c != '\0'; c++)
            if (strchr(" \t\n", *c) == NULL)
                str_addc(to, *c);
}

/* What libmd4c 0.4.8 goes wrong with: it says of text that it is longer than there is, and leaves
 * what it has not entered. */
TEST(mistakes_of_md4c_do_no_harm)
{
    static const char text[] =
        "* \0\1*?bs:\\\203**************\4\0**\0\0\0\0\0\0*********\2\0\0\1*?b* "
        "\360\320\360\360htt*********#\032\0\0\0\0\0\0\0*c** `d`\n\n> -S 1. a "
        "[l](ht*tp*";
    _cleanup_str_ struct str words = STR_INIT;

    markdown_parse(&tree, text, sizeof text - 1);
    add_words(&words);
    CHECK(strstr(str_text(&words), "\uFFFD\\x01") != NULL);
    CHECK(str_ends(str_text(&words), "[l](http"));
    CHECK(strstr(blocks_of("\x97\v/A\v\v\v\v\v-[p](x$7*\xff\\*ng) <b\xc2\xa1\xd1\x9b\x83\xe7# A\xff"
                           "c*\xe7\xe7 "),
                 "-[p](x$7*") != NULL);
}

static void repeat(struct str *to, const char *text, size_t bytes)
{
    str_clear(to);
    while (to->len + strlen(text) <= bytes)
        str_add(to, text);
}

/* Depth, size, and number of parts have limits, and all text is still there. */
TEST(limits)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str words = STR_INIT;

    repeat(&text, "> ", 2000);
    str_add(&text, "deep");
    markdown_parse(&tree, text.data, text.len);
    add_words(&words);
    CHECK_STR(str_text(&words), "deep");
    CHECK(tree.count <= MARKDOWN_DEPTH_MAX + 1);

    repeat(&text, "*a* ", (size_t)MARKDOWN_NODES_MAX * 2);
    markdown_parse(&tree, text.data, text.len);
    CHECK_INT(tree.count, 3);
    CHECK_STR(markdown_text(&tree, &tree.nodes[2]), text.data);

    repeat(&text, "a\n\n", MARKDOWN_BYTES_MAX + 3);
    markdown_parse(&tree, text.data, text.len);
    CHECK_INT(tree.count, 3);
    CHECK_INT(tree.nodes[2].len, text.len);
}

/* What takes a careless parser minutes. */
TEST(no_text_takes_long)
{
    enum { FOREVER_MS = 20000 };
    static const char *const bad[] = {
        "[",     "](",      "*a ",   "**a_",   "`a``",         "> ",          "- ",      "<",
        "![[]",  "&",       "a](b",  "|a",     "\\",           "[a]: b\n",    "_a__",    "<!--",
        "[^a]",  "***",     "~~~\n", "1. a\n", "[a][b] ",      "|-",          "<a ",     "x@y",
        "http:", "[[a]][",  "\t-\n", "> \n>",  "a\n|---|\n|b", "http://a.b ", "- a\n\n", "&#1;",
        "*_`[",  "a * b_ c"};
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        repeat(&text, bad[i], MARKDOWN_BYTES_MAX);
        int64_t from = time_monotonic_ms();
        markdown_parse(&tree, text.data, text.len);
        if (!CHECK(time_monotonic_ms() - from < FOREVER_MS))
            printf("# '%s'\n", bad[i]);
    }
    str_clear(&text);
    for (int depth = 0; text.len < MARKDOWN_BYTES_MAX - 2000; depth++) /* ever deeper */
        str_addf(&text, "%*s- a\n", 2 * depth, "");
    int64_t from = time_monotonic_ms();
    markdown_parse(&tree, text.data, text.len);
    CHECK(time_monotonic_ms() - from < FOREVER_MS);
}

/* ---- the examples of CommonMark */

static size_t add_attribute(const char *tag, size_t len, const char *name, struct str *to)
{
    const char *at = memmem(tag, len, name, strlen(name));

    for (at = at != NULL ? at + strlen(name) : NULL; at != NULL && *at != '"'; at++)
        str_addc(to, *at);
    return len;
}

/* Returns the text of HTML without blanks: what stands between tags, and instead of pictures. */
static char *words_of(const char *html)
{
    static const char *const entities[][2] = {
        {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}};
    _cleanup_str_ struct str raw = STR_INIT;
    struct str words = STR_INIT;

    for (; *html != '\0'; html += *html != '\0') /* a tag may have no end */
        if (*html == '<')
            html += add_attribute(html, strcspn(html, ">"), "alt=\"", &raw);
        else
            str_addc(&raw, *html);
    for (const char *c = str_text(&raw); *c != '\0'; c++) {
        size_t i = 0;
        while (i < ARRAY_LEN(entities) && !str_starts(c, entities[i][0]))
            i++;
        if (i < ARRAY_LEN(entities)) {
            str_add(&words, entities[i][1]);
            c += strlen(entities[i][0]) - 1;
        } else if (strchr(" \t\n", *c) == NULL) {
            str_addc(&words, *c);
        }
    }
    return str_steal(&words);
}

/* Returns true if `got` is what is wanted, but for addresses in parentheses. */
static bool is_same(const char *wanted, const char *got)
{
    while (*got != '\0' && *got == *wanted && *got != '(') {
        got++;
        wanted++;
    }
    if (*got == '\0' && *wanted == '\0')
        return true;
    for (const char *end = got; *got == '(' && (end = strchr(end, ')')) != NULL;)
        if (is_same(wanted, ++end))
            return true;
    return *got != '\0' && *got == *wanted && is_same(wanted + 1, got + 1);
}

/* Examples of what mas has not: HTML, and entities that few know. */
static bool is_other(const struct json *example)
{
    static const char *const others[] = {"<a", "<b", "<div", "<img", "<foo\n", "uml;", "&Dcaron"};
    const char *markdown = json_get_text(example, "markdown");
    bool other = strstr(json_get_text(example, "section"), "HTML") != NULL;

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        other = other || strstr(markdown, others[i]) != NULL;
    for (const char *at = markdown; (at = strchr(at, '<')) != NULL; at++)
        other = other || (at[1] != '\0' && strchr("/!?", at[1]) != NULL);
    return other;
}

TEST(examples_of_commonmark)
{
    _cleanup_json_ struct json *examples = examples_read();
    size_t compared = 0, count = 0;

    if (examples == NULL)
        UNIT_SKIP(EXAMPLES_MISSING);
    for (const struct json *one = json_first(examples); one != NULL; one = json_next(one)) {
        const char *markdown = json_get_text(one, "markdown");
        _cleanup_free_ char *wanted = words_of(json_get_text(one, "html"));
        _cleanup_str_ struct str got = STR_INIT;
        count++;
        (void)blocks_of(markdown);
        add_words(&got);
        if (is_other(one))
            continue;
        compared++;
        if (!CHECK(is_same(wanted, str_text(&got))))
            printf("# %s: %s\n# %s\n# %s\n", json_get_text(one, "section"), json.data, wanted,
                   str_text(&got));
    }
    CHECK_INT(count, 652);
    CHECK(compared > 500);
    printf("# %zu of %zu compared\n", compared, count);
}

/* Appends the words of a text that comes byte by byte, block by block. */
static void add_whole(const char *text, struct str *to)
{
    _cleanup_str_ struct str open = STR_INIT;

    for (; *text != '\0'; text++) {
        str_addc(&open, *text);
        size_t whole = markdown_whole(open.data, open.len);
        if (whole == 0)
            continue;
        markdown_parse(&tree, open.data, whole);
        add_words(to);
        memmove(open.data, open.data + whole, open.len + 1 - whole);
        open.len -= whole;
    }
    markdown_parse(&tree, str_text(&open), open.len);
    add_words(to);
}

/* Blocks say the same by themselves, but for references. */
TEST(what_grows_is_whole_block_by_block)
{
    _cleanup_json_ struct json *examples = examples_read();
    static const char *const more[] = {"a\n\n```\n\nb *c*\n\n```\n*d*",
                                       "- a\n\n  ```\n  b\n\n  *c*\n  ```\n\n- d\n\ne *f*",
                                       "1. a\n\n   *b*\n\n2. c\n\n   ```\n   *d*\n\n   ```\n\ne",
                                       "~~~\n```\n\n*a*\n~~~\n\n*b*",
                                       "\n\n- a\n\n  *b*\n\n***c***",
                                       "``` a`b\n\n*c*\n```\n\n*d*"};

    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        _cleanup_str_ struct str words = STR_INIT, pieces = STR_INIT;
        markdown_parse(&tree, more[i], strlen(more[i]));
        add_words(&words);
        add_whole(more[i], &pieces);
        CHECK_STR(str_text(&pieces), str_text(&words));
    }
    CHECK_INT(markdown_whole("a\n\nb", 4), 3);
    CHECK_INT(markdown_whole("a\n\n", 3), 0);
    CHECK_INT(markdown_whole("- a\n\n- b\n\n1", 11), 0);
    CHECK_INT(markdown_whole("- a\n\n  b\n\nc", 11), 10);
    CHECK_INT(markdown_whole("```\n\nb\n", 7), 0);
    CHECK_INT(markdown_whole("```\n```\nb", 9), 8);
    if (examples == NULL)
        UNIT_SKIP(EXAMPLES_MISSING);
    for (const struct json *one = json_first(examples); one != NULL; one = json_next(one)) {
        const char *markdown = json_get_text(one, "markdown");
        _cleanup_str_ struct str words = STR_INIT, pieces = STR_INIT;
        if (strstr(markdown, "]:") != NULL)
            continue;
        markdown_parse(&tree, markdown, strlen(markdown));
        add_words(&words);
        add_whole(markdown, &pieces);
        CHECK_STR(str_text(&pieces), str_text(&words));
    }
    markdown_free(&tree);
    str_free(&json);
}
