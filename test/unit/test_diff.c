#include "unit.h"

#include "base/diff.h"

static void check(const char *before, const char *after, const char *want)
{
    _cleanup_str_ struct str s = STR_INIT;

    diff_unified(&s, before, after);
    CHECK_STR(str_text(&s), want);
}

TEST(shows_what_changed)
{
    check("one\ntwo\nthree\n", "one\n2\nthree\nfour\n",
          "@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n");
    check("", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n");
    check("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
    check("same\n", "same\n", "");
    check("", "", "");
    check("", "x", "@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
}

TEST(says_where_a_newline_is_missing)
{
    check("a", "a\n", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
    check("x\na", "y\na", "@@ -1,2 +1,2 @@\n-x\n+y\n a\n\\ No newline at end of file\n");
}

TEST(keeps_three_lines_around)
{
    check("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nV\n6\n7\n8\n9\n",
          "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n");
    check("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
          "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
    check("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
          "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
}

/* Applies hunks as patch(1) does; false where they do not fit. */
static bool apply(const char *before, const char *hunks, struct str *ret)
{
    size_t line = 0; /* of `before`, done */
    const char *at = before;

    while (*hunks != '\0') {
        size_t len = strcspn(hunks, "\n") + 1;

        if (*hunks == '@') {
            size_t first;
            size_t count;

            if (sscanf(hunks, "@@ -%zu,%zu", &first, &count) != 2)
                return false;
            for (size_t skip = first - (count > 0); line < skip; line++) {
                str_addn(ret, at, strcspn(at, "\n") + 1);
                at += strcspn(at, "\n") + 1;
            }
        } else if (*hunks != '+' && strncmp(hunks + 1, at, len - 1) != 0) {
            return false;
        } else {
            if (*hunks != '-')
                str_addn(ret, hunks + 1, len - 1);
            if (*hunks != '+') {
                at += len - 1;
                line++;
            }
        }
        hunks += len;
    }
    str_add(ret, at);
    return true;
}

/* `count` lines of a few kinds. */
static void add_lines(struct str *s, unsigned *seed, size_t count, unsigned kinds)
{
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 1103515245u + 12345u;
        str_addf(s, "line %u\n", (*seed >> 16) % kinds);
    }
}

TEST(leads_from_one_text_to_the_other)
{
    static const struct {
        size_t before, after;
        unsigned kinds;
        int times;
    } cases[] = {{5, 6, 2, 200}, {30, 30, 5, 100}, {400, 380, 9, 5}, {3000, 3000, 100000, 1}};
    unsigned seed = 7;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int time = 0; time < cases[i].times; time++) {
            _cleanup_str_ struct str before = STR_INIT;
            _cleanup_str_ struct str after = STR_INIT;
            _cleanup_str_ struct str hunks = STR_INIT;
            _cleanup_str_ struct str got = STR_INIT;

            add_lines(&before, &seed, cases[i].before, cases[i].kinds);
            add_lines(&after, &seed, cases[i].after, cases[i].kinds);
            diff_unified(&hunks, before.data, after.data);
            REQUIRE(apply(before.data, str_text(&hunks), &got));
            CHECK(strcmp(got.data, after.data) == 0);
        }
    }
}
