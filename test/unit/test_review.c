/* The output of git diff as a patch, and the comments that a person writes into it. */
#include "code/review.h"

#include "unit.h"

#define OIDS "1111111 2222222 "
#define RAW(modes, letter, path) ":" modes " " OIDS letter "\0" path "\0"

/* The output of git diff: the list, which has NULs, and the patches. */
static struct str diff_of(const char *list, size_t len, const char *patches)
{
    struct str text = STR_INIT;

    str_addn(&text, list, len);
    str_add(&text, patches);
    return text;
}

static const char *show(const struct patch *patch, struct str *to)
{
    for (size_t i = 0; i < patch->count; i++) {
        const struct patch_file *f = &patch->files[i];
        str_addf(to, "%s%s%s %s %s>%s +%zu -%zu%s\n", f->path, f->old_path != NULL ? " from " : "",
                 f->old_path != NULL ? f->old_path : "", f->status, f->old_mode, f->mode, f->added,
                 f->removed, f->binary ? " binary" : "");
        for (size_t j = 0; j < f->hunk_count; j++)
            str_addf(to, "{%.*s|%.*s}\n", (int)f->hunks[j].header_len, f->hunks[j].header,
                     (int)f->hunks[j].lines_len, f->hunks[j].lines);
    }
    return str_text(to);
}

static void check_patch(const struct str *text, const char *want)
{
    _cleanup_str_ struct str shown = STR_INIT;
    _cleanup_patch_ struct patch patch = {.count = 0};
    struct err err = ERR_INIT;

    CHECK_INT(patch_parse(text, &patch, &err), 0);
    CHECK_STR(show(&patch, &shown), want);
}

TEST(every_kind_of_change_is_read)
{
    static const char list[] =
        RAW("000000 100644", "A", "a") RAW("100644 000000", "D", "d") RAW("100644 100755", "M", "m")
            RAW("100644 100644", "R090", "old\0new") RAW("100644 100644", "C100", "from\0to");
    _cleanup_str_ struct str text = diff_of(list, sizeof list,
                                            "diff --git a/a b/a\n"
                                            "new file mode 100644\n"
                                            "--- /dev/null\n"
                                            "+++ b/a\n"
                                            "@@ -0,0 +1,2 @@\n"
                                            "+one\n"
                                            "+two\n"
                                            "diff --git a/d b/d\n"
                                            "Binary files a/d and /dev/null differ\n"
                                            "diff --git a/m b/m\n"
                                            "old mode 100644\n"
                                            "new mode 100755\n"
                                            "diff --git a/old b/new\n"
                                            "@@ -1,3 +1,2 @@ f()\n"
                                            " x\n"
                                            "-y\n"
                                            "-z\n"
                                            "+Z\n"
                                            "@@ -9 +8 @@\n"
                                            "-p\n"
                                            "+q\n"
                                            "diff --git a/from b/to\n");

    check_patch(&text, "a added 000000>100644 +2 -0\n"
                       "{@@ -0,0 +1,2 @@|+one\n+two\n}\n"
                       "d deleted 100644>000000 +0 -0 binary\n"
                       "m modified 100644>100755 +0 -0\n"
                       "new from old renamed 100644>100644 +2 -3\n"
                       "{@@ -1,3 +1,2 @@ f()| x\n-y\n-z\n+Z\n}\n"
                       "{@@ -9 +8 @@|-p\n+q\n}\n"
                       "to from from copied 100644>100644 +0 -0\n");
    str_clear(&text);
    check_patch(&text, "");
}

/* What is a line of a file is not taken for a header, and a missing newline at its end belongs to
 * the hunk. */
TEST(counts_of_lines_end_a_hunk)
{
    static const char list[] = RAW("100644 100644", "M", "x") RAW("100644 100644", "M", "y");
    _cleanup_str_ struct str text = diff_of(list, sizeof list,
                                            "diff --git a/x b/x\n"
                                            "@@ -1,2 +1,2 @@\n"
                                            "--- a\n"
                                            "-@@ -1 +1 @@\n"
                                            "+++ b\n"
                                            "+diff --git a/q b/q\n"
                                            "\\ No newline\n"
                                            "diff --git a/y b/y\n"
                                            "@@ -1 +1 @@\n"
                                            "-a\n"
                                            "\\ No newline\n"
                                            "+b\n"
                                            "\\ No newline");

    check_patch(
        &text,
        "x modified 100644>100644 +2 -2\n"
        "{@@ -1,2 +1,2 @@|--- a\n-@@ -1 +1 @@\n+++ b\n+diff --git a/q b/q\n\\ No newline\n}\n"
        "y modified 100644>100644 +1 -1\n"
        "{@@ -1 +1 @@|-a\n\\ No newline\n+b\n\\ No newline}\n");
}

/* A file that becomes a link has two patches; one list may follow another. */
TEST(a_changed_type_has_two_patches_and_lists_follow_each_other)
{
    static const char list[] = RAW("100644 120000", "T", "t") RAW("100644 100644", "M", "u");
    static const char more[] = RAW("000000 160000", "A", "v");
    _cleanup_str_ struct str text = diff_of(list, sizeof list,
                                            "diff --git a/t b/t\n"
                                            "@@ -1 +0,0 @@\n"
                                            "-was\n"
                                            "diff --git a/t b/t\n"
                                            "@@ -0,0 +1 @@\n"
                                            "+to\n"
                                            "diff --git a/u b/u\n"
                                            "@@ -1 +1 @@\n"
                                            "-1\n"
                                            "+2\n");

    str_addn(&text, more, sizeof more);
    str_add(&text, "diff --git a/v b/v\n");
    check_patch(&text, "t type 100644>120000 +1 -1\n"
                       "{@@ -1 +0,0 @@|-was\n}\n"
                       "{@@ -0,0 +1 @@|+to\n}\n"
                       "u modified 100644>100644 +1 -1\n"
                       "{@@ -1 +1 @@|-1\n+2\n}\n"
                       "v added 000000>160000 +0 -0\n");
}

TEST(any_other_text_is_no_patch)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
#define BAD(b) {b, sizeof(b) - 1}
        BAD("diff --git a/x b/x\n"),
        BAD(":100644\0x\0"),
        BAD(":100644 100644 " OIDS "M"),
        BAD(":100644 100644 " OIDS "R100\0old\0"),
        BAD(RAW("100644 100644", "M", "x") "\0diff --git a/x b/x\ndiff --git a/y b/y\n"),
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_str_ struct str text = diff_of(bad[i].bytes, bad[i].len, "");
        struct patch patch = {.count = 7};
        struct err err = ERR_INIT;
        CHECK_INT(patch_parse(&text, &patch, &err), -1);
        CHECK_INT(err.code, MAS_FAILED);
        CHECK_INT(patch.count, 7);
    }
}

/* ---- reviews */

static const char two_files[] = RAW("100644 100644", "M", "a.c") RAW("100644 100755", "M", "b");
static const char two_patches[] = "diff --git a/a.c b/a.c\n"
                                  "@@ -10,4 +10,5 @@\n"
                                  " same\n"
                                  "-gone\n"
                                  "+new \t\n"
                                  " same\n"
                                  "+# hash\n"
                                  " last\r\n"
                                  "diff --git a/b b/b\n"
                                  "@@ -1 +1 @@\n"
                                  "-x\n"
                                  "+same\n";

struct reviewed {
    struct str diff; /* which the patch needs */
    struct patch patch;
    struct review review;
    struct str text;
};

static void reviewed_free(struct reviewed *r)
{
    review_free(&r->review);
    patch_free(&r->patch);
    str_free(&r->diff);
    str_free(&r->text);
}

static bool reviewed_make(struct reviewed *r)
{
    struct err err = ERR_INIT;

    r->diff = diff_of(two_files, sizeof two_files, two_patches);
    if (!CHECK(patch_parse(&r->diff, &r->patch, &err) == 0))
        return false;
    review_make(&r->patch, "Review of x", &r->review, &r->text);
    return true;
}
#define A_REVIEW                                                                                   \
    __attribute__((cleanup(reviewed_free))) struct reviewed r = {.text = STR_INIT};                \
    REQUIRE(reviewed_make(&r))

/* The text with `what` put behind the first `after` that follows `from`. */
static void put(struct str *text, const char *after, const char *what)
{
    _cleanup_str_ struct str now = STR_INIT;
    const char *at = strstr(text->data, after);

    if (!CHECK(at != NULL))
        return;
    at += strlen(after);
    str_addn(&now, text->data, (size_t)(at - text->data));
    str_add(&now, what);
    str_add(&now, at);
    str_clear(text);
    str_add(text, now.data);
}

static const char *message(const struct reviewed *r, review_read *read, void *arg, struct str *to)
{
    str_clear(to);
    review_format(&r->review, read, arg, to);
    return str_text(to);
}

TEST(a_review_shows_all_lines_and_finds_no_comment_in_itself)
{
    _cleanup_str_ struct str shown = STR_INIT;
    A_REVIEW;

    const char *diff = strstr(r.text.data, "\n=== ");
    REQUIRE(str_starts(r.text.data, "Review of x\n") && diff != NULL);
    CHECK_STR(diff, "\n=== a.c (modified)\n"
                    "@@ -10,4 +10,5 @@\n"
                    " same\n-gone\n+new \t\n same\n+# hash\n last\n"
                    "\n=== b (modified, mode 100755, was 100644)\n"
                    "@@ -1 +1 @@\n-x\n+same\n");
    review_parse(&r.review, r.text.data, r.text.len);
    CHECK_INT(r.review.comment_count, 0);
    CHECK_STR(message(&r, NULL, NULL, &shown), "");
}

/* Lines that the person removes do not matter, nor blanks that an editor takes from the ends. */
TEST(comments_are_about_the_line_above)
{
    _cleanup_str_ struct str shown = STR_INIT;
    A_REVIEW;

    put(&r.text, "Review of x\n", "in all\n");
    put(&r.text, "(modified)\n", "the file\n");
    put(&r.text, "-gone\n", "why?\r\n\n  and \t\n");
    put(&r.text, "+# hash\n", "#same\n# same \n#\n");
    put(&r.text, "+same\n", "the end");
    char *at = strstr(r.text.data, "+new \t\n");
    REQUIRE(at != NULL);
    memmove(at + 4, at + 6, strlen(at + 6) + 1); /* "+new" */
    r.text.len -= 2;
    at = strstr(r.text.data, "-x\n");
    REQUIRE(at != NULL);
    memmove(at, at + 3, strlen(at + 3) + 1);
    r.text.len -= 3;
    review_parse(&r.review, r.text.data, r.text.len);
    CHECK_STR(message(&r, NULL, NULL, &shown), "\nin all\n"
                                               "\na.c\nthe file\n"
                                               "\na.c:11\n> -gone\nwhy?\n  and\n"
                                               "\na.c:13\n> +# hash\nsame\nsame\n\n"
                                               "\nb:1\n> +same\nthe end\n");
}

/* The file as it is now; NULL: gone. */
static const char *now_a, *now_b;

static char *read_now(const char *path, size_t *ret_len, void *arg)
{
    const char *text = strcmp(path, "a.c") == 0 ? now_a : now_b;

    (void)arg;
    *ret_len = text != NULL ? strlen(text) : 0;
    return text != NULL ? mem_dup(text) : NULL;
}

#define STALE " (stale: this line has changed since)"

/* Equal lines are told apart by what is around them, then by the distance; a removed line is where
 * its neighbour is. */
TEST(a_comment_follows_its_line)
{
    static const struct {
        const char *now, *want;
    } cases[] = {
        {"same\nnew \t\nsame\n# hash\nlast\r\n", "\na.c:2\n> -gone\nG\n\na.c:3\n>  same\nS\n"},
        {"0\n1\n2\nsame\nnew \t\nsame\n# hash\nlast\r\n",
         "\na.c:5\n> -gone\nG\n\na.c:6\n>  same\nS\n"},
        {"same\nnew \t\nsame\n# hash\nlast\r\n1\n2\n3\n4\n5\n6\nsame\n",
         "\na.c:2\n> -gone\nG\n\na.c:3\n>  same\nS\n"},
        {"same\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nsame\n",
         "\na.c:11" STALE "\n> -gone\nG\n\na.c:13\n>  same\nS\n"},
        {"same \nnew\n", "\na.c:11" STALE "\n> -gone\nG\n\na.c:12" STALE "\n>  same\nS\n"},
        {"", "\na.c:11" STALE "\n> -gone\nG\n\na.c:12" STALE "\n>  same\nS\n"},
        {NULL, "\na.c:11" STALE "\n> -gone\nG\n\na.c:12" STALE "\n>  same\nS\n"},
    };
    _cleanup_str_ struct str shown = STR_INIT;
    A_REVIEW;

    put(&r.text, "-gone\n", "G\n");
    put(&r.text, "+new \t\n same\n", "S\n");
    review_parse(&r.review, r.text.data, r.text.len);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        now_a = cases[i].now;
        CHECK_STR(message(&r, read_now, NULL, &shown), cases[i].want);
    }
}

TEST(a_comment_on_a_file_is_stale_without_it)
{
    _cleanup_str_ struct str shown = STR_INIT;
    A_REVIEW;

    put(&r.text, "(modified)\n", "the file\n");
    review_parse(&r.review, r.text.data, r.text.len);
    now_a = "";
    CHECK_STR(message(&r, read_now, NULL, &shown), "\na.c\nthe file\n");
    now_a = NULL;
    CHECK_STR(message(&r, read_now, NULL, &shown), "\na.c" STALE "\nthe file\n");
}

/* A client names the line as it has seen it. */
TEST(a_place_is_found_in_the_diff_else_in_the_file)
{
    static const struct {
        struct review_place place;
        const char *text, *want;
    } cases[] = {
        {{NULL, NULL, 0}, "all\n", "\nall\n"},
        {{"b", NULL, 0}, "a \n\n b", "\nb\na\n\n b\n"},
        {{"a.c", " same", 10}, "x", "\na.c:10\n>  same\nx\n"},
        {{"a.c", " same", 11}, "x", "\na.c:10\n>  same\nx\n"},
        {{"a.c", " same", 12}, "x", "\na.c:12\n>  same\nx\n"},
        {{"a.c", " same", 99}, "x", "\na.c:12\n>  same\nx\n"},
        {{"a.c", " last\r", 14}, "x", "\na.c:14\n>  last\nx\n"},
        {{"a.c", "+new", 11}, "x", "\na.c:11\n> +new\nx\n"},
        {{"b", "+same", 1}, "x", "\nb:1\n> +same\nx\n"},
        /* not in the diff: in the file */
        {{"a.c", " far", 40}, "x", "\na.c:3\n>  far\nx\n"},
        {{"a.c", "+far", 1}, "x", "\na.c:1\n> +far\nx\n"},
        {{"a.c", "+fa", 7}, "x", "\na.c:7" STALE "\n> +fa\nx\n"},
        {{"a.c", "+farther", 7}, "x", "\na.c:7" STALE "\n> +farther\nx\n"},
        {{"a.c", "-far", 7}, "x", "\na.c:7" STALE "\n> -far\nx\n"},
        {{"gone", " far", 7}, "x", "\ngone:7" STALE "\n>  far\nx\n"},
        {{"gone", NULL, 0}, "x", "\ngone" STALE "\nx\n"},
    };

    now_a = "far\nno\nfar";
    now_b = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str shown = STR_INIT;
        A_REVIEW;
        review_add(&r.review, &cases[i].place, cases[i].text, read_now, NULL);
        CHECK_STR(message(&r, NULL, NULL, &shown), cases[i].want);
    }
}
