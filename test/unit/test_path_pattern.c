#include "model/path_pattern.h"

#include "unit.h"

#define UUID "01a22349-a722-73b2-9887-eb6825581b7b"
#define OTHER "8f3c0000-1111-4111-8111-111111111111"

TEST(a_pattern_finds_the_id_and_what_its_stars_stand_for)
{
    static const struct {
        const char *pattern, *path, *id; /* id NULL: it does not match */
        const char *stars; /* joined by '|' */
        pid_t pid;
    } rows[] = {
        {"a/{id}.jsonl", "a/" UUID ".jsonl", UUID, "", 0},
        {"a/{id}.jsonl", "a/ses_x-1.jsonl", "ses_x-1", "", 0},
        {"a/{id}.jsonl", "a/.jsonl", NULL, NULL, 0},
        {"a/{id}.jsonl", "a/x y.jsonl", NULL, NULL, 0},
        {"a/{id}.jsonl", "a/x.jsonl.new", NULL, NULL, 0},
        {"a/{id}.jsonl", "a/x", NULL, NULL, 0},
        {"*/r-*-{id}.jsonl", "x/r-2026-11-28T17-52-39-" UUID ".jsonl", UUID,
         "x|2026-11-28T17-52-39", 0},
        {"*/{id}/e", "x/y/z/e", NULL, NULL, 0},
        {"*/{id}/e", "/z/e", "z", "", 0},
        {"s-*-{id8}.jsonl", "s-t-01a22349.jsonl", "01a22349", "t", 0},
        {"s-{id8}", "s-01a223", NULL, NULL, 0},
        {"{id}/{id8}", UUID "/01a22349", UUID, "", 0},
        {"{id}/{id8}", UUID "/01a22340", NULL, NULL, 0},
        {"{id}/{id}", UUID "/" UUID, UUID, "", 0},
        {"{id}/{id}", UUID "/" OTHER, NULL, NULL, 0},
        {"{id}/inuse.{pid}.lock", "x/inuse.4711.lock", "x", "", 4711},
        {"{pid}.json", "4711.json", "", "", 4711},
        {"{pid}.json", "x.json", NULL, NULL, 0},
        {"{pid}.json", "99999999999.json", NULL, NULL, 0},
        {"?/a", "x/a", "", "", 0},
        {"?a", "/a", NULL, NULL, 0},
        {"{a}", "{a}", "", "", 0},
        {"", "", "", "", 0},
        {"", "x", NULL, NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct path_found found;
        bool matches = path_pattern_match(rows[i].pattern, rows[i].path, NULL, &found);
        if (!CHECK(matches == (rows[i].id != NULL)))
            printf("# %s %s\n", rows[i].pattern, rows[i].path);
        if (!matches || rows[i].id == NULL)
            continue;
        _cleanup_str_ struct str stars = STR_INIT;
        for (size_t k = 0; k < found.star_count; k++) {
            str_add(&stars, k > 0 ? "|" : "");
            str_addn(&stars, found.stars[k].text, found.stars[k].len);
        }
        CHECK_STR(found.id, rows[i].id);
        CHECK_STR(str_text(&stars), rows[i].stars);
        CHECK_INT(found.pid, rows[i].pid);
        CHECK(found.whole == (strstr(rows[i].pattern, "{id}") != NULL));
    }
}

TEST(a_pattern_can_be_told_the_id)
{
    struct path_found found;

    CHECK(path_pattern_match("*-{id}", "a-b-c", "c", &found));
    CHECK_INT(found.stars[0].len, 3);
    CHECK(path_pattern_match("*-{id}", "a-b-c", "b-c", &found));
    CHECK_INT(found.stars[0].len, 1);
    CHECK(!path_pattern_match("*-{id}", "a-b-c", "b", &found));
    CHECK(path_pattern_match("{id8}", "01a22349", UUID, &found));
    CHECK(!path_pattern_match("{id8}", "01a22349", OTHER, &found));
}

TEST(an_id_that_is_too_long_and_too_many_stars_are_no_match)
{
    char path[PATH_ID_MAX + 2];
    struct path_found found;

    memset(path, 'x', sizeof path);
    path[PATH_ID_MAX] = '\0';
    CHECK(path_pattern_match("{id}", path, NULL, &found));
    CHECK_INT(strlen(found.id), PATH_ID_MAX);
    path[PATH_ID_MAX] = 'x';
    path[PATH_ID_MAX + 1] = '\0';
    CHECK(!path_pattern_match("{id}", path, NULL, &found));
    CHECK(path_pattern_match("****************", "x", NULL, &found));
    CHECK_INT(found.star_count, PATH_STARS_MAX);
    CHECK(!path_pattern_match("*****************", "x", NULL, &found));
    memset(path, 'a', sizeof path - 1); /* soon, although there are very many ways */
    CHECK(!path_pattern_match("*a*a*a*a*a*a*a*a*b", path, NULL, &found));
}

TEST(a_pattern_is_filled_with_what_another_has_found)
{
    struct path_found found;

    REQUIRE(path_pattern_match("p/*/{id}.jsonl", "p/-srv/" UUID ".jsonl", NULL, &found));
    static const struct {
        const char *pattern, *path; /* NULL: it cannot be */
    } rows[] = {
        {".p/*/{id}.jsonl", ".p/-srv/" OTHER ".jsonl"},
        {"{id8}/*", "8f3c0000/-srv"},
        {"{id}", NULL},
        {"*/*", NULL},
        {"*/?", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_free_ char *path = path_pattern_fill(rows[i].pattern, &found, OTHER);
        if (rows[i].path == NULL)
            CHECK(path == NULL);
        else
            CHECK_STR(path, rows[i].path);
    }
}

TEST(a_pattern_says_where_it_is_and_what_of_it_is_plain)
{
    _cleanup_free_ char *name = NULL, *none = NULL;

    CHECK_STR(path_pattern_below("$CODEX_HOME/a/*", &name), "a/*");
    CHECK_STR(name, "CODEX_HOME");
    CHECK_STR(path_pattern_below(".codex/a", &none), ".codex/a");
    CHECK(none == NULL);
    CHECK_INT(path_pattern_plain(".codex/sessions/*/x"), strlen(".codex/sessions/"));
    CHECK_INT(path_pattern_plain(".s/in.{pid}"), strlen(".s/"));
    CHECK_INT(path_pattern_plain("a/b"), strlen("a/"));
    CHECK_INT(path_pattern_plain("{id}"), 0);
}
