#include "unit.h"

#include "model/member.h"

static const char *const words[] = {"", "one", "two", NULL};

static bool is_short(const char *text)
{
    return strlen(text) < 3;
}

TEST(a_text_is_a_number_within_its_bounds_or_stays_what_it_was)
{
    static const struct value_type count = {VALUE_NUMBER, "a count", .min = 2, .max = 5};
    static const struct value_type cents = {VALUE_NUMBER, "cents", .max = 1000, .decimals = 2};
    static const struct value_type limit = {
        VALUE_NUMBER, "a limit",      .min = 16,    .max = 4096, VALUE_UNITS(number_sizes),
        .zero = true, .none = "none", .nothing = -1};
    static const struct {
        const struct value_type *type;
        const char *text;
        int64_t want; /* 7: it is refused */
    } cases[] = {
        {&count, "2", 2},     {&count, "5", 5},     {&count, "1", 7},     {&count, "6", 7},
        {&count, "", 7},      {&count, "3s", 7},    {&cents, "1.5", 150}, {&cents, "0.25", 25},
        {&cents, "10", 1000}, {&cents, "10.01", 7}, {&cents, ".5", 7},    {&cents, "1.", 7},
        {&cents, "1.255", 7}, {&cents, "", 7},      {&limit, "16", 16},   {&limit, "4K", 4096},
        {&limit, "15", 7},    {&limit, "5K", 7},    {&limit, "0", -1},    {&limit, "none", -1},
        {&limit, "None", 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t wide = 7;
        int narrow = 7;
        CHECK_INT(VALUE_PARSE(cases[i].type, cases[i].text, &wide) == NULL, cases[i].want != 7);
        (void)VALUE_PARSE(cases[i].type, cases[i].text, &narrow);
        if (!CHECK_INT(wide, cases[i].want) || !CHECK_INT(narrow, cases[i].want))
            unit_print_str("text", cases[i].text);
    }
}

TEST(words_are_an_index_a_set_or_a_list)
{
    static const struct value_type word = {VALUE_WORD, "one or two", .words = words};
    static const struct value_type set = {VALUE_SET, "a list", .min = 1, .words = words};
    static const struct value_type list = {VALUE_LIST, "two short ones", .max = 2,
                                           .fits = is_short};
    char **got = NULL;
    unsigned bits = 0;
    int at = 0;

    CHECK(VALUE_PARSE(&word, "two", &at) == NULL && at == 2);
    CHECK_STR(VALUE_PARSE(&word, "", &at), "one or two");
    CHECK(VALUE_PARSE(&set, "two, one", &bits) == NULL && bits == 6);
    CHECK_STR(VALUE_PARSE(&set, " ,", &bits), "a list");
    CHECK_STR(VALUE_PARSE(&set, "one three", &bits), "a list");
    CHECK(VALUE_PARSE(&list, "a bb", &got) == NULL && strv_len(got) == 2);
    CHECK_STR(VALUE_PARSE(&list, "a ccc", &got), "two short ones");
    CHECK_STR(VALUE_PARSE(&list, "a b c", &got), "two short ones");
    CHECK(strv_len(got) == 2 && strcmp(got[1], "bb") == 0);
    value_free(&list, &got);
    CHECK(got == NULL);
}

TEST(texts_have_bounds_and_take_the_place_of_the_one_before)
{
    static const struct value_type path = {VALUE_TEXT, "a path", .max = 4, .line = true,
                                           .absolute = true};
    static const struct value_type name = {VALUE_CHARS, "a name", .min = 1, .fits = is_short};
    char *text = mem_dup("/old");
    char chars[3] = "x";

    CHECK(VALUE_PARSE(&path, "/abc", &text) == NULL);
    CHECK_STR(VALUE_PARSE(&path, "/abcd", &text), "a path");
    CHECK_STR(VALUE_PARSE(&path, "abc", &text), "a path");
    CHECK_STR(VALUE_PARSE(&path, "/a\n", &text), "a path");
    CHECK_STR(text, "/abc");
    CHECK(VALUE_PARSE(&path, text + 4, &text) == NULL && text[0] == '\0');
    free(text);
    CHECK(VALUE_PARSE(&name, "ab", &chars) == NULL);
    CHECK_STR(VALUE_PARSE(&name, "abc", &chars), "a name");
    CHECK_STR(VALUE_PARSE(&name, "", &chars), "a name");
    CHECK_STR(chars, "ab");
}

TEST(integers_fit_members_of_any_size)
{
    static const int64_t numbers[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    int64_t wide = 0;
    int narrow = 0;
    bool flag = false;

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        value_store(&wide, sizeof wide, numbers[i]);
        value_store(&narrow, sizeof narrow, numbers[i]);
        value_store(&flag, sizeof flag, numbers[i]);
        CHECK_INT(wide, numbers[i]);
        CHECK_INT(value_load(&wide, sizeof wide), numbers[i]);
        CHECK_INT(narrow, numbers[i]);
        CHECK_INT(value_load(&narrow, sizeof narrow), numbers[i]);
        CHECK_INT(value_load(&flag, sizeof flag), numbers[i] != 0);
    }
    value_store(&wide, sizeof wide, INT64_MAX);
    CHECK_INT(value_load(&wide, sizeof wide), INT64_MAX);
}

static void check_write(const struct value_type *type, const void *from, size_t size,
                        const char *want, bool empty)
{
    _cleanup_str_ struct str text = STR_INIT;

    value_write(type, from, size, &text);
    CHECK_STR(str_text(&text), want);
    CHECK_INT(value_is_empty(type, from, size), empty);
}
#define CHECK_WRITE(type, value, want, empty)                                                      \
    check_write(type, &(value), sizeof(value), want, empty)

TEST(values_are_written_as_they_are_read)
{
    static const struct value_type word = {VALUE_WORD, "one or two", .words = words};
    static const struct value_type limit = {VALUE_NUMBER, "a limit", .max = 10, .nothing = -1};
    char *text = NULL;
    char chars[4] = "";
    int number = -1;
    time_t when = 0;
    bool yes = false;

    CHECK_WRITE(&value_text, text, "", true);
    text = (char[]){""};
    CHECK_WRITE(&value_text, text, "", true);
    text = (char[]){"a b"};
    CHECK_WRITE(&value_text, text, "a b", false);
    CHECK_WRITE(&value_chars, chars, "", true);
    chars[0] = 'x';
    CHECK_WRITE(&value_chars, chars, "x", false);
    CHECK_WRITE(&limit, number, "-1", true);
    number = 0;
    CHECK_WRITE(&limit, number, "0", false);
    CHECK_WRITE(&word, number, "", true);
    number = 2;
    CHECK_WRITE(&word, number, "two", false);
    CHECK_WRITE(&value_time, when, "1970-01-01T00:00:00Z", true);
    when = 86400;
    CHECK_WRITE(&value_time, when, "1970-01-02T00:00:00Z", false);
    CHECK_WRITE(&value_yes, yes, "no", true);
    yes = true;
    CHECK_WRITE(&value_yes, yes, "yes", false);
    CHECK_INT(value_word(words, NULL), -1);
    CHECK_INT(value_word(words, ""), -1);
    CHECK_INT(value_word(words, "tw"), -1);
    CHECK_INT(value_word(words, "one"), 1);
    CHECK(value_is_command("a 'b c'") && value_is_command("") && !value_is_command("a 'b"));
}

/* Only a valid text is taken; without a member, it is only looked at. */
TEST(a_check_changes_nothing)
{
    static const struct value_type list = {VALUE_LIST, "two short ones", .max = 2,
                                           .fits = is_short};
    time_t when = 5;
    bool yes = true;

    CHECK(value_parse(&value_text, "x", NULL, 0) == NULL);
    CHECK(value_parse(&list, "a b", NULL, 0) == NULL);
    CHECK_STR(value_parse(&list, "a bcd", NULL, 0), "two short ones");
    CHECK_STR(value_parse(&value_yes, "Yes", NULL, 0), "yes or no");
    CHECK_STR(VALUE_PARSE(&value_yes, "", &yes), "yes or no");
    CHECK_STR(VALUE_PARSE(&value_time, "1970-01-01", &when), "a time");
    CHECK(when == 5 && yes);
    CHECK(VALUE_PARSE(&value_time, "1970-01-01T00:00:09Z", &when) == NULL && when == 9);
    CHECK(VALUE_PARSE(&value_yes, "no", &yes) == NULL && !yes);
}
