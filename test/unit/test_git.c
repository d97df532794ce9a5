#include "place.h"

#include "git/git.h"

static char *hex(size_t len)
{
    char *text = mem_alloc(len + 1);
    memset(text, 'a', len);
    return text;
}

TEST(an_oid_has_40_or_64_digits)
{
    static const size_t lengths[] = {0, 1, 39, 40, 41, 63, 64, 65, 4000};
    static const char bad[] = {'A', 'g', ' ', '\n', '/', ':', '`'};

    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        _cleanup_free_ char *text = hex(lengths[i]);
        char oid[GIT_OID_TEXT] = "kept";
        bool good = lengths[i] == 40 || lengths[i] == 64;
        CHECK(git_is_oid(text) == good);
        CHECK(git_parse_oid(text, oid) == good);
        CHECK_STR(oid, good ? text : "kept");
        for (size_t j = 0; good && j < ARRAY_LEN(bad) * 3; j++) { /* first, in the middle, last */
            size_t at = j % 3 == 0 ? 0 : j % 3 == 1 ? lengths[i] / 2 : lengths[i] - 1;
            text[at] = bad[j / 3];
            CHECK(!git_is_oid(text));
            text[at] = 'a';
        }
        for (size_t j = 0; lengths[i] > 1 && j < ARRAY_LEN(bad); j++) { /* behind the last digit */
            text[lengths[i] - 1] = bad[j];
            CHECK(!git_is_oid(text));
        }
    }
}

/* A branch is safe if it cannot be taken for an option or an expression, and git can have it. */
TEST(a_branch_is_a_plain_name)
{
    static const char *const good[] = {"main", "a/b", "feature-1.2", "x@y", "HEADS"};
    static const char *const bad[] = {
        "",      "-x",     "/x",       ".x",    "x/",   "x.",   "a..b", "a//b", "a/.b",
        "a@{1}", "a.lock", "a.lock/b", "a b",   "a~1",  "a^",   "a:b",  "a?",   "a*",
        "a[b",   "a\\b",   "a\tb",     "a\x7f", "a\nb", "HEAD", "@",    "~a",   "a:"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        CHECK(git_is_branch(good[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (git_is_branch(bad[i]))
            unit_print_str("taken", bad[i]);
        CHECK(!git_is_branch(bad[i]));
    }
    _cleanup_free_ char *longest = hex(200);
    _cleanup_free_ char *longer = hex(201);
    CHECK(git_is_branch(longest) && !git_is_branch(longer));
}

/* Work that is half done is seen by the files that git leaves, each of them. */
TEST(work_that_is_half_done_is_seen)
{
    static const char *const signs[][2] = {
        {"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"},
        {"MERGE_HEAD", "a merge"},    {"CHERRY_PICK_HEAD", "a cherry-pick"},
        {"REVERT_HEAD", "a revert"},  {"BISECT_LOG", "a bisect"},
    };
    _cleanup_place_ struct place place = place_make();

    CHECK_STR(git_progress(place.dir), NULL);
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        CHECK(place_put(place.dir, signs[i][0], ""));
        CHECK_STR(git_progress(place.dir), signs[i][1]);
        CHECK_INT(unlinkat(place.dir, signs[i][0], 0), 0);
        CHECK_INT(symlinkat("nowhere", place.dir, signs[i][0]), 0);
        CHECK_STR(git_progress(place.dir), signs[i][1]);
        CHECK_INT(unlinkat(place.dir, signs[i][0], 0), 0);
    }
}

/* A remote that hangs, and what git has started to speak with it, end in time. */
TEST(an_unseen_git_ends_in_time_with_all_that_it_has_started)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *remote =
        mem_printf("ext::sh -c echo%% $$>%s/pid;sleep%% 1000", place.path);
    _cleanup_free_ char *pid = NULL;
    struct proc_id id;
    size_t len = 0;

    (void)setenv("GIT_ALLOW_PROTOCOL", "ext:file", 1);
    for (int ms = 500; len == 0 && ms < 60000; ms *= 2) { /* until it has come so far */
        struct err err = ERR_INIT;
        free(pid);
        CHECK(git_unseen(place.path, GIT_ARGS("ls-remote", remote), ms, &err) == -1);
        CHECK_INT(err.code, MAS_TIMEOUT);
        CHECK(str_starts(err.text, "git ls-remote: cannot run"));
        (void)file_read_if_there(place.dir, "pid", 32, &pid, &len, &err);
    }
    REQUIRE(len > 0);
    CHECK(!proc_identify((pid_t)strtol(pid, NULL, 10), &id) || !proc_is_alive(&id));
    struct err err = ERR_INIT;
    CHECK(git_unseen(place.path, GIT_ARGS("ls-remote", "/nowhere"), 60000, &err) == -1);
    CHECK(strstr(err.text, "'/nowhere' does not appear to be a git repository") != NULL);
    WELL(git_unseen(place.path, GIT_ARGS("--version"), 60000, &err));
}

/* What git says becomes one line; a full disk is known by what it is called. */
TEST(a_git_that_failed_says_why)
{
    static const struct {
        const char *words, *text;
        int number;
    } cases[] = {
        {"fatal: not a git repository\nmore\n", "git log: not a git repository", 0},
        {"error: x", "git log: x", 0},
        {"warning: x\n", "git log: x", 0},
        {"hint: x", "git log: hint: x", 0},
        {"fatal: error: x", "git log: x", 0},
        {"", "git log failed with exit code 3", 0},
        {"fatal: \n", "git log failed with exit code 3", 0},
        {"error: unable to write file: No space left on device\n",
         "git log: No space left on device", ENOSPC},
        {"fatal: x\nfatal: Out of diskspace\n", "git log: No space left on device", ENOSPC},
        {"error: Disk quota exceeded", "git log: Disk quota exceeded", EDQUOT},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct proc_result result = {.status = 3, .err = STR_INIT};
        struct err err = ERR_INIT;
        str_add(&result.err, cases[i].words);
        CHECK_INT(git_fail(&result, "log", &err), -1);
        CHECK_STR(err.text, cases[i].text);
        CHECK_INT(err.number, cases[i].number);
        proc_result_free(&result);
    }
}
