/* Records out of a table of members, in each of their forms. */
#include "unit.h"

#include "model/member.h"

enum colour { COLOUR_NONE, RED, BLUE };

struct record {
    char *name;
    char id[5];
    enum colour colour;
    bool on;
    int64_t many;
    time_t when;
    int64_t told;
    char **list;
};

static bool is_word(const char *text)
{
    return str_is_word(text, 8);
}

static const char *const colours[] = {"", "red", "blue", NULL};
static const struct value_type name_type = {VALUE_TEXT, "a name", .max = 6};
static const struct value_type id_type = {VALUE_CHARS, "an id", .min = 1};
static const struct value_type colour_type = {VALUE_WORD, "a colour", .words = colours};
static const struct value_type many_type = {VALUE_NUMBER, "MANY is from 2 to 90", .sentence = true,
                                            .min = 2, .max = 90};
static const struct value_type list_type = {VALUE_LIST, "two words", .max = 2, .fits = is_word};

static const struct member members[] = {
    {MEMBER("name", name_type, struct record, name), .how = MEMBER_SAID},
    {MEMBER("id", id_type, struct record, id), .how = MEMBER_NEEDED},
    {MEMBER("colour", colour_type, struct record, colour), .how = MEMBER_SAID | MEMBER_BLANK},
    {MEMBER("on", value_yes, struct record, on)},
    {MEMBER("many", many_type, struct record, many), .how = MEMBER_SAID},
    {MEMBER("when", value_time, struct record, when), .how = MEMBER_SAID},
    {MEMBER("toldMs", value_ms, struct record, told), .how = MEMBER_SAID | MEMBER_OF_JSON},
    {MEMBER("list", list_type, struct record, list), .how = MEMBER_SAID | MEMBER_OF_INI},
    MEMBER_END};
/* Those that files of pairs have, without the list. */
static const struct member pairs[] = {
    {MEMBER("NAME", name_type, struct record, name), .how = MEMBER_SAID},
    {MEMBER("ID", id_type, struct record, id), .how = MEMBER_NEEDED},
    {MEMBER("COLOUR", colour_type, struct record, colour), .how = MEMBER_SAID},
    {MEMBER("ON", value_yes, struct record, on)},
    {MEMBER("MANY", many_type, struct record, many), .how = MEMBER_SAID},
    {MEMBER("WHEN", value_time, struct record, when), .how = MEMBER_SAID},
    MEMBER_END};

#define _cleanup_record_ __attribute__((cleanup(record_free)))
static void record_free(struct record *record)
{
    members_free(members, record);
    CHECK(record->name == NULL && record->list == NULL);
}

static int take(const char *text, struct record *record, size_t *left, struct err *err)
{
    _cleanup_kv_ struct kv kv = {.count = 0};

    CHECK_INT(kv_parse(text, strlen(text), &kv, err), 0);
    int rc = members_take(pairs, &kv, record, err);
    *left = kv.count;
    return rc;
}

TEST(pairs_are_written_and_taken)
{
    static const struct {
        const char *text, *again; /* as it is written; NULL: the same */
    } cases[] = {
        {"ID=a\nON=no\n", NULL},
        {"NAME=bob\nID=abcd\nCOLOUR=blue\nON=yes\nMANY=90\nWHEN=2025-12-18T08:00:00Z\n", NULL},
        {"WHEN=\nMANY=''\nCOLOUR=\nID=a\nNAME=\n", "ID=a\nON=no\n"},
        {"ID=a\n", "ID=a\nON=no\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_record_ struct record record = {.many = 0};
        _cleanup_str_ struct str again = STR_INIT;
        struct err err = ERR_INIT;
        size_t left = 9;
        CHECK_INT(take(cases[i].text, &record, &left, &err), 0);
        CHECK_INT(left, 0);
        CHECK(record.name != NULL);
        members_format(pairs, &record, &again);
        CHECK_STR(again.data, cases[i].again != NULL ? cases[i].again : cases[i].text);
    }
}

/* What is asked for in vain stays as it was, and the pairs that are no members are left. */
TEST(a_member_without_a_pair_stays)
{
    _cleanup_record_ struct record record = {.many = 17, .colour = RED, .on = true};
    struct err err = ERR_INIT;
    size_t left = 0;

    CHECK_INT(take("OTHER=1\nID=x\nCOLOUR=\nMORE=2\n", &record, &left, &err), 0);
    CHECK_INT(left, 2);
    CHECK(record.many == 17 && record.colour == RED && record.on);
    CHECK_STR(record.name, "");
    CHECK_STR(record.id, "x");
}

TEST(a_pair_that_is_wrong_is_named)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"NAME=a\n", "ID is missing"},
        {"ID=\n", "ID is not an id"},
        {"ID=abcde\n", "ID is not an id"},
        {"ID=a\nNAME=sevenxx\n", "NAME is not a name"},
        {"ID=a\nCOLOUR=green\n", "COLOUR is not a colour"},
        {"ID=a\nON=maybe\n", "ON is not yes or no"},
        {"ID=a\nMANY=1\n", "MANY is from 2 to 90"},
        {"ID=a\nMANY=91\n", "MANY is from 2 to 90"},
        {"ID=a\nWHEN=today\n", "WHEN is not a time"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_record_ struct record record = {.many = 0};
        struct err err = ERR_INIT;
        size_t left = 0;
        CHECK_INT(take(cases[i].text, &record, &left, &err), -1);
        CHECK_STR(err.text, cases[i].why);
        CHECK_INT(err.code, MAS_DAMAGED);
    }
}

/* A wrong one first, in the middle and last keeps no other from being read. */
TEST(what_is_good_is_salvaged)
{
    static const char text[] = "NAME=sevenxx\nID=abcd\nCOLOUR=green\nON=yes\nMANY=90\nWHEN=never\n";
    _cleanup_kv_ struct kv kv = {.count = 0};
    _cleanup_record_ struct record record = {.colour = BLUE, .when = 5};
    struct err err = ERR_INIT;

    REQUIRE(kv_parse(text, strlen(text), &kv, &err) == 0);
    members_salvage(pairs, &kv, &record);
    CHECK_INT(kv.count, 6);
    CHECK_STR(record.name, "");
    CHECK_STR(record.id, "abcd");
    CHECK(record.colour == BLUE && record.on && record.many == 90 && record.when == 5);
}

TEST(a_key_of_an_ini_file_is_read_or_refused)
{
    static const struct {
        const char *key, *value, *why;
    } cases[] = {
        {"name", "bob", NULL},
        {"list", "a, b", NULL},
        {"many", "90", NULL},
        {"many", "91", "[s] many: MANY is from 2 to 90"},
        {"colour", "green", "[s] colour: 'green' is not a colour"},
        {"colur", "red", "[s] colur: no such key; did you mean 'colour'?"},
        {"zzzzzzz", "red", "[s] zzzzzzz: no such key"},
        {"toldMs", "5", "[s] toldMs: no such key"},
        {"tolMs", "5", "[s] tolMs: no such key"},
        {"", "5", "[s] : no such key"},
    };
    _cleanup_record_ struct record record = {.many = 0};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct ini_line line = {"file", 1, "s", cases[i].key, cases[i].value};
        struct err err = ERR_INIT;
        int rc = members_read_line(members, &line, "no such key", &record, &err);
        CHECK_INT(rc, cases[i].why != NULL ? -1 : 0);
        if (rc == -1)
            CHECK_STR(err.text, cases[i].why);
    }
    CHECK_STR(record.name, "bob");
    CHECK(record.many == 90 && strv_len(record.list) == 2);
    CHECK(members_find(members, "name") == &members[0]);
    CHECK(members_find(members, "list") == &members[7]);
    CHECK(members_find(members, "toldMs") == NULL);
    CHECK(members_find(members, "nam") == NULL && members_find(members, "named") == NULL);
}

/* Each member by itself makes a difference, except when something was told. */
TEST(records_are_equal_if_all_members_are)
{
    const struct record a = {.name = (char[]){"bob"},
                             .id = "abcd",
                             .colour = RED,
                             .on = true,
                             .many = 9,
                             .when = 7,
                             .told = 3};
    struct record others[] = {a, a, a, a, a, a, a};

    others[0].name = (char[]){"eve"};
    others[1].id[3] = 'e';
    others[2].colour = BLUE;
    others[3].on = false;
    others[4].many = 10;
    others[5].when = 8;
    others[6].told = 4;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        CHECK_INT(members_equal(members, &a, &others[i]), i == 6);
        CHECK_INT(members_equal(members, &others[i], &a), i == 6);
    }
}

static void check_put(const struct record *record, const char *put, const char *put_all)
{
    for (int all = 0; all < 2; all++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct json_out out = {.to = &text};
        json_open(&out, NULL, '{');
        (all ? members_put_all : members_put)(members, record, &out);
        json_close(&out, '}');
        CHECK_STR(text.data, all ? put_all : put);
    }
}

TEST(answers_have_what_is_said_and_people_get_all)
{
    struct record full = {.name = (char[]){"sevenxx"},
                          .id = "ab",
                          .colour = RED,
                          .on = true,
                          .many = 9,
                          .when = 86400,
                          .told = 1500};
    struct record empty = {.name = NULL};

    check_put(&empty, "{\"id\":\"\",\"on\":\"no\"}",
              "{\"name\":null,\"id\":\"\",\"colour\":\"\",\"on\":\"no\",\"many\":null,"
              "\"when\":null,\"told\":null,\"toldMs\":null}");
    full.when = 0;
    check_put(&full,
              "{\"name\":\"sevenx\",\"id\":\"ab\",\"colour\":\"red\",\"on\":\"yes\",\"many\":9,"
              "\"toldMs\":1500}",
              "{\"name\":\"sevenx\",\"id\":\"ab\",\"colour\":\"red\",\"on\":\"yes\",\"many\":9,"
              "\"when\":null,\"told\":\"1970-01-01T00:00:01Z\",\"toldMs\":1500}");
}

static struct json *parse(const char *text)
{
    struct json *json = NULL;
    struct err err = ERR_INIT;

    CHECK_INT(json_parse(text, strlen(text), 4096, &json, &err), 0);
    return json;
}

TEST(objects_are_read_strictly_or_guessed)
{
    const struct {
        const char *text;
        int wrong; /* the member; -1: none */
        struct record guess;
    } cases[] = {
        {"{\"id\":\"a\"}", -1, {.name = (char[]){""}, .id = "a"}},
        {"{\"id\":\"a\",\"name\":\"bob\",\"colour\":\"red\",\"on\":\"yes\",\"many\":90,"
         "\"toldMs\":5,\"list\":7}",
         -1,
         {.name = (char[]){"bob"}, .id = "a", .colour = RED, .on = true, .many = 90, .told = 5}},
        {"{\"name\":\"bob\"}", 1, {.name = (char[]){"bob"}}},
        {"{\"id\":\"a\",\"name\":7}", 0, {.name = (char[]){""}, .id = "a"}},
        {"{\"id\":\"a\",\"name\":\"sevenxx\"}", 0, {.name = (char[]){"sevenx"}, .id = "a"}},
        {"{\"id\":\"a\",\"colour\":\"green\",\"many\":3}",
         2,
         {.name = (char[]){""}, .id = "a", .many = 3}},
        {"{\"id\":\"a\",\"many\":1}", 4, {.name = (char[]){""}, .id = "a"}},
        {"{\"id\":\"a\",\"many\":91,\"toldMs\":1}",
         4,
         {.name = (char[]){""}, .id = "a", .told = 1}},
        {"{\"id\":\"a\",\"many\":\"9\"}", 4, {.name = (char[]){""}, .id = "a"}},
        {"{\"id\":\"a\",\"toldMs\":0}", 6, {.name = (char[]){""}, .id = "a"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_json_ struct json *json = parse(cases[i].text);
        _cleanup_record_ struct record read = {.many = 0};
        _cleanup_record_ struct record guess = {.many = 77};
        const struct member *wrong = members_read(members, json, &read);
        if (!CHECK_INT(wrong != NULL ? wrong - members : -1, cases[i].wrong))
            unit_print_str("text", cases[i].text);
        members_guess(members, json, &guess);
        members_fill(members, &read);
        if (!CHECK(members_equal(members, &guess, &cases[i].guess)) ||
            !CHECK_INT(guess.told, cases[i].guess.told))
            unit_print_str("text", cases[i].text);
        if (cases[i].wrong == -1)
            CHECK(members_equal(members, &read, &cases[i].guess) &&
                  read.told == cases[i].guess.told);
    }
}
