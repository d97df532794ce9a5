#include "unit.h"

#include "base/utf8.h"

#include <sys/wait.h>

/* Errors. */

TEST(err_set_formats_and_drops_hint)
{
    struct err err = ERR_INIT;

    CHECK_INT(err_hint(&err, "old %d", 1), -1);
    CHECK_STR(err.hint, "old 1");
    CHECK_INT(err_set(&err, MAS_CONFLICT, "cannot create '%s': %s", "x", "exists"), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_STR(err.text, "cannot create 'x': exists");
    CHECK_STR(err.hint, "");
}

TEST(err_set_takes_its_own_text)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_FAILED, "inner");
    (void)err_set(&err, MAS_FAILED, "outer(%s)", err.text);
    CHECK_STR(err.text, "outer(inner)");
}

TEST(err_wrap_keeps_code_and_hint)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_DAMAGED, "line 1");
    (void)err_hint(&err, "try this");
    CHECK_INT(err_wrap(&err, "cannot read '%s'", "f"), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_STR(err.text, "cannot read 'f': line 1");
    CHECK_STR(err.hint, "try this");
}

TEST(err_cuts_the_middle)
{
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    str_add(&s, "front ");
    for (int i = 0; i < 5000; i++)
        str_addc(&s, 'a');
    str_add(&s, " back");
    (void)err_set(&err, MAS_FAILED, "%s", str_text(&s));
    CHECK(strlen(err.text) < ERR_TEXT_MAX && strlen(err.text) > ERR_TEXT_MAX - 16);
    CHECK(str_starts(err.text, "front a"));
    CHECK(strstr(err.text, "a...a") != NULL);
    CHECK_STR(err.text + strlen(err.text) - 6, "a back");
    (void)err_wrap(&err, "before");
    CHECK(strlen(err.text) < ERR_TEXT_MAX);
    CHECK(str_starts(err.text, "before: front aaa"));
    CHECK_STR(err.text + strlen(err.text) - 6, "a back");
    (void)err_wrap(&err, "%s", str_text(&s));
    CHECK(strlen(err.text) < ERR_TEXT_MAX);
    (void)err_hint(&err, "%s", str_text(&s));
    CHECK(strlen(err.hint) < ERR_HINT_MAX && strstr(err.hint, "...") != NULL);
}

TEST(err_cuts_between_characters)
{
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    for (size_t shift = 0; shift < 4; shift++) {
        str_clear(&s);
        for (size_t i = 0; i < shift; i++)
            str_addc(&s, 'a');
        for (int i = 0; i < 1000; i++)
            str_add(&s, "\xF0\x9F\x90\xA7");
        (void)err_set(&err, MAS_FAILED, "%s", str_text(&s));
        CHECK(str_is_utf8(err.text, strlen(err.text)));
        CHECK(strlen(err.text) > ERR_TEXT_MAX - 24);
        CHECK(strstr(err.text, "...") != NULL);
    }
}

TEST(err_errno_names_the_reason)
{
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;

    errno = ENOENT;
    CHECK_INT(err_errno(&err, "cannot open '%s'", "x"), -1);
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_STR(err.text, "cannot open 'x': No such file or directory");
    CHECK_INT(err.number, ENOENT);
    for (int i = 0; i < 5000; i++)
        str_addc(&s, 'a');
    (void)err_errno(&err, "%s", str_text(&s));
    CHECK(strlen(err.text) < ERR_TEXT_MAX);
    CHECK_STR(strrchr(err.text, ':'), ": No such file or directory");
    errno = 99999;
    (void)err_errno(&err, "x");
    CHECK_STR(err.text, "x: error 99999");
}

TEST(an_error_carries_the_number_of_its_cause)
{
    struct err err = ERR_INIT;

    CHECK_INT(err.number, 0);
    errno = EACCES;
    (void)err_errno(&err, "cannot open '%s'", "x");
    (void)err_wrap(&err, "cannot start");
    (void)err_hint(&err, "look at it");
    CHECK_INT(err.number, EACCES);
    (void)err_set(&err, MAS_FAILED, "another one");
    CHECK_INT(err.number, 0);
}

static void print_all(void)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_FAILED, "bad '%s'", "\x1b[31m\n");
    err_print(&err);
    (void)err_hint(&err, "do\tthis");
    err_print(&err);
    err_warn("odd %s", "\x7f");
}

/* What print_all() writes to stderr. */
TEST(err_print_is_visible)
{
    char buffer[1024] = "";
    int fds[2];
    int saved;
    ssize_t n;

    REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
    saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    REQUIRE(saved != -1 && dup2(fds[1], STDERR_FILENO) != -1);
    print_all();
    CHECK(dup2(saved, STDERR_FILENO) != -1);
    (void)close(saved);
    (void)close(fds[1]);
    n = read(fds[0], buffer, sizeof(buffer) - 1);
    (void)close(fds[0]);
    CHECK(n > 0);
    CHECK_STR(buffer, "mas: bad '\\x1b[31m\\x0a'\n"
                      "mas: bad '\\x1b[31m\\x0a'\ndo\\x09this\n"
                      "mas: warning: odd \\x7f\n");
}

/* Buffers. */

TEST(command_lines_have_the_host_that_was_reached)
{
    static const struct {
        const char *text, *there; /* NULL: as it is */
    } cases[] = {
        {"start it with: mas start ab  (all sessions: mas list)",
         "start it with: mas --host n1 start ab  (all sessions: mas --host n1 list)"},
        {"its note in 'mas status' says how (mas start ab)",
         "its note in 'mas --host n1 status' says how (mas --host n1 start ab)"},
        {"mas start", NULL},
        {"", NULL},
        {": ", NULL},
        {": mas ", NULL},
        {": mas", NULL},
        {"see: mas help new", NULL}, /* is the same everywhere */
        {"see: mas helper", "see: mas --host n1 helper"},
        {"it names programs that mas runs; mas asks again", NULL},
        {"on another machine: mas --host n2 list", NULL},
        {"x: /opt/mas start; y:mas start; Xmas start", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str here = STR_INIT, there = STR_INIT;
        const char *text = cases[i].text;
        (void)unsetenv(ERR_REACHED_AS);
        err_add_commands(&here, "%s", text);
        CHECK_STR(str_text(&here), text);
        (void)setenv(ERR_REACHED_AS, "n1", 1);
        err_add_commands(&there, "%s", text);
        CHECK_STR(str_text(&there), cases[i].there != NULL ? cases[i].there : text);
    }
    (void)unsetenv(ERR_REACHED_AS);
}

TEST(str_grows)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(str_text(&s), "");
    str_add(&s, "");
    CHECK_STR(s.data, "");
    str_add(&s, "ab");
    str_addn(&s, "cd--", 2);
    str_addn(&s, NULL, 0);
    str_addc(&s, 'e');
    str_addf(&s, "-%d-%s", 7, "x");
    CHECK_STR(s.data, "abcde-7-x");
    CHECK_INT(s.len, 9);
    str_clear(&s);
    CHECK_STR(s.data, "");
    CHECK_INT(s.len, 0);
    for (int i = 0; i < 10000; i++)
        str_addf(&s, "%d,", i % 10);
    CHECK_INT(s.len, 20000);
    CHECK_INT(strlen(s.data), 20000);
    CHECK_STR(s.data + 19996, "8,9,");
}

TEST(str_addf_takes_long_text)
{
    _cleanup_str_ struct str s = STR_INIT;
    _cleanup_str_ struct str t = STR_INIT;

    for (int i = 0; i < 3000; i++)
        str_addc(&s, 'y');
    for (int i = 0; i < 3; i++)
        str_addf(&t, "<%s>", s.data);
    CHECK_INT(t.len, 3 * 3002);
    CHECK(t.data[0] == '<' && t.data[3001] == '>' && t.data[3002] == '<');
}

TEST(str_holds_any_bytes)
{
    _cleanup_str_ struct str s = STR_INIT;

    str_addn(&s, "a\0b", 3);
    CHECK_INT(s.len, 3);
    CHECK(memcmp(s.data, "a\0b", 4) == 0);
}

TEST(str_steal_is_never_null)
{
    struct str s = STR_INIT;
    _cleanup_free_ char *empty = str_steal(&s);
    _cleanup_free_ char *text = NULL;

    CHECK_STR(empty, "");
    str_add(&s, "text");
    text = str_steal(&s);
    CHECK_STR(text, "text");
    CHECK(s.data == NULL && s.len == 0 && s.cap == 0);
}

TEST(size_overflow_ends_the_process)
{
    int status = 0;
    pid_t pid = fork();

    REQUIRE(pid != -1);
    if (pid == 0) {
        struct str s = STR_INIT;

        (void)close(STDERR_FILENO);
        str_addc(&s, 'a');
        str_reserve(&s, SIZE_MAX - 1);
        _exit(9);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Text. */

static const char *visible(struct str *s, const char *text)
{
    str_clear(s);
    str_add_visible(s, text, strlen(text));
    return str_text(s);
}

TEST(visible_shows_what_moves_a_terminal)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(visible(&s, ""), "");
    CHECK_STR(visible(&s, "plain \\ text"), "plain \\ text");
    CHECK_STR(visible(&s, "\x01\t\n\r\x1b\x1f\x7f~"), "\\x01\\x09\\x0a\\x0d\\x1b\\x1f\\x7f~");
    /* C1: as UTF-8 and bare */
    CHECK_STR(visible(&s, "\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0"),
              "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xC2\xA0");
    CHECK_STR(visible(&s, "\x9B"), "\\x9b");
    /* separators and direction */
    CHECK_STR(visible(&s, "\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xAE\xE2\x80\xAF"),
              "\xE2\x80\xA7\\xe2\\x80\\xa8\\xe2\\x80\\xae\xE2\x80\xAF");
    CHECK_STR(visible(&s, "\xE2\x81\xA5\xE2\x81\xA6\xE2\x81\xA9\xE2\x81\xAA"),
              "\xE2\x81\xA5\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xE2\x81\xAA");
    CHECK_STR(visible(&s, "gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\xA7"),
              "gr\xC3\xBC\xC3\x9F \xF0\x9F\x90\xA7");
}

TEST(lines_keep_their_tabs)
{
    static const char line[] = "\t\tif\x1b\t(\r";
    _cleanup_str_ struct str s = STR_INIT;

    str_add_line(&s, line, sizeof line - 1);
    CHECK_STR(str_text(&s), "\t\tif\\x1b\t(\\x0d");
}

TEST(visible_shows_bad_utf8)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(visible(&s, "a\xC3"), "a\\xc3");
    CHECK_STR(visible(&s, "\xC3(\x80"), "\\xc3(\\x80");
    CHECK_STR(visible(&s, "\xC0\xAF"), "\\xc0\\xaf");
    CHECK_STR(visible(&s, "\xE2\x82z"), "\\xe2\\x82z");
    CHECK_STR(visible(&s, "\xFF\xFE"), "\\xff\\xfe");
    str_clear(&s);
    str_add_visible(&s, "a\0b", 3);
    CHECK_STR(str_text(&s), "a\\x00b");
}

TEST(utf8_is_strict)
{
    static const char *const good[] = {
        "",
        "a",
        "\x7f",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\xF4\x8F\xBF\xBF",
    };
    static const char *const bad[] = {
        "\x80",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2"
        "a",
        "\xE0\x9F\xBF",
        "\xE0\xA0",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF0\x90\x80",
        "\xF0\x90\x80"
        "a",
        "\xFF",
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(str_is_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!str_is_utf8(bad[i], strlen(bad[i])));
    CHECK(str_is_utf8("a\0b", 3));
}

TEST(characters)
{
    static const char text[] = "a\xE2\x82\xAC\xC3\xBC";
    size_t len = sizeof text - 1;

    CHECK(utf8_is_inside(text[2]) && !utf8_is_inside(text[1]) && !utf8_is_inside('a'));
    CHECK(utf8_start(text, 3) == 1 && utf8_start(text, 1) == 1 && utf8_start(text, 0) == 0);
    CHECK(utf8_next(text, len, 0) == 1 && utf8_next(text, len, 1) == 4);
    CHECK(utf8_next(text, len, 2) == 4 && utf8_next(text, len, 4) == len);
    CHECK(utf8_next(text, 3, 1) == 3);
    CHECK(utf8_count(text, len) == 3 && utf8_count(text, 0) == 0);
    CHECK(utf8_bytes(text, len, 0) == 0 && utf8_bytes(text, len, 1) == 1);
    CHECK(utf8_bytes(text, len, 2) == 4 && utf8_bytes(text, len, 9) == len);
    /* what is no UTF-8 */
    CHECK(utf8_start("\x82\xAC", 1) == 0 && utf8_count("\x82\xAC", 2) == 0);
    CHECK(utf8_bytes("\x82\xAC", 2, 0) == 2 && utf8_next("\xE2z", 2, 0) == 1);
}

TEST(cutting)
{
    CHECK(str_cut("abc", 3, 3) == 3 && str_cut("abc", 3, 9) == 3);
    CHECK(str_cut("abc", 3, 2) == 2 && str_cut("abc", 3, 0) == 0 && str_cut("", 0, 0) == 0);
    CHECK(str_cut("a\xE2\x82\xAC", 4, 4) == 4);
    CHECK(str_cut("a\xE2\x82\xAC", 4, 3) == 1 && str_cut("a\xE2\x82\xAC", 4, 1) == 1);
    CHECK(str_cut("\x82\xAC", 2, 1) == 0); /* what is no UTF-8 ends it, too */
    CHECK(str_fit("abc", 3) == 3 && str_fit("abc", 2) == 2 && str_fit("", 0) == 0);
    CHECK(str_fit("a\xE2\x82\xAC", 3) == 1);
}

TEST(words_and_controls)
{
    CHECK(str_is_word("aZ09_-", 32));
    CHECK(str_is_word("abc", 3));
    CHECK(!str_is_word("abcd", 3));
    CHECK(!str_is_word("", 3));
    CHECK(!str_is_word("a.b", 32));
    CHECK(!str_is_word("a\n", 32));
    CHECK(!str_is_word("\xC3\xBC", 32));
    CHECK(str_has_control("a\tb"));
    CHECK(str_has_control("a\x7f"));
    CHECK(!str_has_control("a b\xC3\xBC"));
    CHECK(!str_has_control(""));
    CHECK(str_starts("abc", "ab") && str_starts("abc", "") && str_starts("", ""));
    CHECK(!str_starts("ab", "abc") && !str_starts("xab", "ab"));
}

/* Shell. */

static const char *shell(struct str *s, const char *text, bool always)
{
    str_clear(s);
    str_add_shell(s, text, always);
    return str_text(s);
}

TEST(shell_quotes)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(shell(&s, "aZ0_./:@%+,-", false), "aZ0_./:@%+,-");
    CHECK_STR(shell(&s, "", false), "");
    CHECK_STR(shell(&s, "", true), "''");
    CHECK_STR(shell(&s, "plain", true), "'plain'");
    CHECK_STR(shell(&s, "a b", false), "'a b'");
    CHECK_STR(shell(&s, "it's", false), "'it'\\''s'");
    CHECK_STR(shell(&s, "~x", false), "'~x'");
    CHECK_STR(shell(&s, "$(id)\n`id`;\\", false), "'$(id)\n`id`;\\'");
}

TEST(names)
{
    static const struct {
        const char *name, *shown;
    } table[] = {
        {"src/a.c", "src/a.c"},
        {"", "''"},
        {"a';touch x;#", "'a'\\'';touch x;#'"},
        {"a\nb", "'a\\x0ab'"},
        {"\033]0;x\007", "'\\x1b]0;x\\x07'"},
        {"a, b and 3 more", "'a, b and 3 more'"},
        {"$(id)", "'$(id)'"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_free_ char *name = mem_name(table[i].name);
        CHECK_STR(name, table[i].shown);
    }
}

/* The words of text, each in <>, or "error: <text>". */
static const char *split(struct str *s, const char *text)
{
    _cleanup_strv_ char **words = NULL;
    struct err err = ERR_INIT;

    str_clear(s);
    if (str_split_words(text, &words, &err) == -1) {
        CHECK(words == NULL);
        str_addf(s, "error: %s", err.text);
        return str_text(s);
    }
    CHECK(words != NULL);
    for (size_t i = 0; i < strv_len(words); i++)
        str_addf(s, "<%s>", words[i]);
    return str_text(s);
}

TEST(split_follows_the_shell)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(split(&s, ""), "");
    CHECK_STR(split(&s, " \t\n "), "");
    CHECK_STR(split(&s, "a  b\tc\nd "), "<a><b><c><d>");
    CHECK_STR(split(&s, "a'b c'd"), "<ab cd>");
    CHECK_STR(split(&s, "'' \"\" x"), "<><><x>");
    CHECK_STR(split(&s, "'a\\b\"c'"), "<a\\b\"c>");
    CHECK_STR(split(&s, "\"a\\\"b\\\\c\\$d\\`e\\n\""), "<a\"b\\c$d`e\\n>");
    CHECK_STR(split(&s, "a\\ b \\'c \\\\"), "<a b><'c><\\>");
    CHECK_STR(split(&s, "a\\\nb \"c\\\nd\" \\\n e"), "<ab><cd><e>");
    CHECK_STR(split(&s, "$HOME *.c ~ `id` $(id) #x a;b | >f"),
              "<$HOME><*.c><~><`id`><$(id)><#x><a;b><|><>f>");
    CHECK_STR(split(&s, "\xC3\xBC 'x\xFF'"), "<\xC3\xBC><x\xFF>");
}

TEST(split_refuses_what_is_open)
{
    _cleanup_str_ struct str s = STR_INIT;

    CHECK_STR(split(&s, "a 'b"), "error: unterminated single quote");
    CHECK_STR(split(&s, "a \"b"), "error: unterminated double quote");
    CHECK_STR(split(&s, "a \"b\\\""), "error: unterminated double quote");
    CHECK_STR(split(&s, "a \\"), "error: a backslash at the end");
    CHECK_STR(split(&s, "\"\\"), "error: a backslash at the end");
}

TEST(split_reads_what_shell_wrote)
{
    static const char *const texts[] = {"",   "'",      "a'b'c",  "\n",
                                        "\\", "\"$x\"", " a  b ", "\x1b\xFF"};
    _cleanup_str_ struct str s = STR_INIT;
    _cleanup_strv_ char **words = NULL;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        str_add_shell(&s, texts[i], true);
        str_addc(&s, ' ');
    }
    REQUIRE(str_split_words(str_text(&s), &words, &err) == 0);
    REQUIRE(strv_len(words) == ARRAY_LEN(texts));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        CHECK_STR(words[i], texts[i]);
}

/* Vectors and memory. */

TEST(vectors)
{
    _cleanup_strv_ char **v = NULL;
    char text[] = "two";

    CHECK_INT(strv_len(NULL), 0);
    strv_free(NULL);
    strv_push(&v, "one");
    strv_push(&v, text);
    text[0] = 'X';
    strv_push(&v, v[0]);
    CHECK_INT(strv_len(v), 3);
    CHECK_STR(v[0], "one");
    CHECK_STR(v[1], "two");
    CHECK_STR(v[2], "one");
    CHECK(v[3] == NULL);
}

TEST(memory)
{
    _cleanup_free_ int *numbers = mem_grow(NULL, 3, sizeof(*numbers));
    _cleanup_free_ char *zero = mem_alloc(16);
    _cleanup_free_ char *nothing = mem_alloc(0);
    _cleanup_free_ char *copy = mem_dupn("abcdef", 3);
    _cleanup_free_ char *text = mem_printf("%s-%d", "x", 5);
    _cleanup_free_ char *same = mem_dup(text);

    numbers[2] = 7;
    numbers = mem_grow(numbers, 100, sizeof(*numbers));
    CHECK_INT(numbers[2], 7);
    numbers = mem_grow(numbers, 0, sizeof(*numbers));
    CHECK(numbers != NULL && nothing != NULL);
    for (size_t i = 0; i < 16; i++)
        CHECK_INT(zero[i], 0);
    CHECK_STR(copy, "abc");
    CHECK_STR(text, "x-5");
    CHECK_STR(same, "x-5");
    CHECK(same != text);
    CHECK(mem_dup(NULL) == NULL);
}

TEST(descriptors_are_closed)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int none = -1;

    REQUIRE(fd != -1);
    errno = EPERM;
    fd_closep(&fd);
    fd_closep(&none);
    CHECK_INT(errno, EPERM);
    CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

TEST(lists_are_split_at_commas_and_blanks)
{
    static const struct {
        const char *text, *want; /* with | between the words; NULL: no list */
    } cases[] = {{"", NULL},
                 {" ,\t, ", NULL},
                 {"a", "a"},
                 {"a,b", "a|b"},
                 {" a , b,", "a|b"},
                 {"a\tb c", "a|b|c"},
                 {"a;b 'c d'", "a;b|'c|d'"},
                 {"a\nb", "a\nb"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_strv_ char **words = str_split_list(cases[i].text);
        _cleanup_str_ struct str text = STR_INIT;
        for (size_t j = 0; j < strv_len(words); j++)
            str_addf(&text, "%s%s", j > 0 ? "|" : "", words[j]);
        CHECK_STR(text.data, cases[i].want);
        CHECK_INT(words == NULL, cases[i].want == NULL);
    }
}

TEST(words_are_found_wherever_they_stand)
{
    _cleanup_strv_ char **v = str_split_list("first second last");

    CHECK(strv_has(v, "first") && strv_has(v, "second") && strv_has(v, "last"));
    CHECK(!strv_has(v, "firs") && !strv_has(v, "lasts") && !strv_has(v, "") &&
          !strv_has(NULL, "a"));
}

/* The array grows when it has to, and keeps what is in it. */
TEST(there_is_room_for_one_more)
{
    size_t *numbers = NULL;

    for (size_t i = 0; i < 70; i++) {
        numbers = mem_room(numbers, i, sizeof *numbers);
        numbers[i] = i;
    }
    for (size_t i = 0; i < 70; i++)
        CHECK_INT(numbers[i], i);
    free(numbers);
}

TEST(beginnings_and_ends)
{
    CHECK(str_starts("abc", "ab") && str_starts("abc", "") && str_starts("abc", "abc"));
    CHECK(!str_starts("ab", "abc") && !str_starts("abc", "b"));
    CHECK(str_ends("abc", "bc") && str_ends("abc", "") && str_ends("abc", "abc"));
    CHECK(!str_ends("bc", "abc") && !str_ends("abc", "ab") && !str_ends("", "a"));
}

TEST(fields_are_cut_at_the_first_separators)
{
    static const struct {
        const char *line, *want;
    } cases[] = {
        {"a b c", "a,b,c"}, {"a b c d", "a,b,c d"}, {"  ", ",,"},
        {" b c ", ",b,c "}, {"a b", "few"},         {"", "few"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *line = mem_dup(cases[i].line);
        char *f[3];
        _cleanup_free_ char *got = str_fields(line, ' ', f, ARRAY_LEN(f))
                                       ? mem_printf("%s,%s,%s", f[0], f[1], f[2])
                                       : mem_dup("few");
        CHECK_STR(got, cases[i].want);
    }
}
