#include "unit.h"

#include "code/land/parcel.h"

static bool parses(const char *text, size_t len)
{
    struct parcel parcel = {.files = NULL};
    struct err err = ERR_INIT;
    bool good = parcel_parse(text, len, &parcel, &err) == 0;

    CHECK(good || (err.code == MAS_DAMAGED && parcel.files == NULL));
    parcel_free(&parcel);
    return good;
}

static bool takes_name(const char *name)
{
    const struct parcel_file file = {.name = name, .mode = 0600, .bytes = "x", .len = 1};
    struct str text = STR_INIT;

    parcel_put(&text, &file);
    bool good = parses(text.data, text.len);
    str_free(&text);
    return good;
}

TEST(a_parcel_is_what_was_put_into_it)
{
    const struct parcel_file files[] = {{.name = ".env", .mode = 0600, .bytes = "a\0b", .len = 3},
                                        {.name = "a/b c", .mode = 0755, .bytes = "", .len = 0},
                                        {.name = "b", .mode = 0644, .bytes = "7 7 x", .len = 5}};
    struct parcel parcel = {.files = NULL};
    struct str text = STR_INIT;
    struct str names = STR_INIT;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        parcel_put(&text, &files[i]);
    CHECK(parcel_parse(text.data, text.len, &parcel, &err) == 0);
    REQUIRE(parcel.count == ARRAY_LEN(files) && parcel.bytes == 8);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CHECK(strcmp(parcel.files[i].name, files[i].name) == 0);
        CHECK(parcel.files[i].mode == files[i].mode && parcel.files[i].len == files[i].len);
        CHECK(memcmp(parcel.files[i].bytes, files[i].bytes, files[i].len) == 0);
    }
    parcel_names(&parcel, &names);
    CHECK(names.len == 13 && memcmp(names.data, ".env\0a/b c\0b", 13) == 0);
    parcel_free(&parcel);
    /* cut anywhere else than between two files, it is none */
    for (size_t len = 0; len < text.len; len++)
        CHECK(parses(text.data, len) == (len == 0 || len == 14 || len == 26));
    str_free(&names);
    str_free(&text);
}

TEST(no_name_leads_out_of_a_work_tree_or_into_a_repository)
{
    static const char *const good[] = {"a", "...", "..a/.b", ".gitx/a", "a/.gitignore", "-a"};
    static const char *const bad[] = {"",     "/a",          "a/",       "a//b",   ".",
                                      "..",   "../a",        "a/..",     "a/../b", "a/./b",
                                      ".git", ".git/config", "a/.GIT/b", ".giT/x", "a\nb"};
    char longest[PATH_MAX + 1] = "";

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(takes_name(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!takes_name(bad[i]));
    memset(longest, 'a', PATH_MAX - 1);
    CHECK(takes_name(longest));
    longest[PATH_MAX - 1] = 'a';
    CHECK(!takes_name(longest));
}

TEST(what_is_no_parcel_is_refused)
{
    static const char *const bad[] = {"600 1 a",          "600 1 a\0",
                                      "1600 0 a\0",       "600  0 a\0",
                                      "-600 0 a\0",       "600 -1 a\0",
                                      "600 67108865 a\0", "608 0 a\0",
                                      "600 0x0 a\0",      "600 99999999999999999999 a\0"};
    static const char twice[] = "600 0 a\0"
                                "600 0 a";
    static const char order[] = "600 0 b\0"
                                "600 0 a";

    CHECK(parses("600 0 a", sizeof "600 0 a"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!parses(bad[i], strlen(bad[i]) + (i > 1)));
    CHECK(!parses(twice, sizeof twice));
    CHECK(!parses(order, sizeof order));
}

TEST(a_parcel_has_its_limits)
{
    static char zeros[PLACED_FILE_MAX];
    struct str text = STR_INIT;
    char name[16];

    for (int i = 0; i <= PLACED_FILES_MAX; i++) {
        (void)snprintf(name, sizeof name, "%05d", i);
        const struct parcel_file file = {.name = name, .mode = 0600, .bytes = "", .len = 0};
        CHECK(i < PLACED_FILES_MAX || parses(text.data, text.len));
        parcel_put(&text, &file);
    }
    CHECK(!parses(text.data, text.len));
    str_clear(&text);
    for (int i = 0; i <= PLACED_ALL_MAX / PLACED_FILE_MAX; i++) {
        const bool last = i == PLACED_ALL_MAX / PLACED_FILE_MAX;
        (void)snprintf(name, sizeof name, "%05d", i);
        const struct parcel_file file = {
            .name = name, .mode = 0600, .bytes = zeros, .len = last ? 1 : sizeof zeros};
        CHECK(!last || parses(text.data, text.len));
        parcel_put(&text, &file);
    }
    CHECK(!parses(text.data, text.len));
    str_free(&text);
}
