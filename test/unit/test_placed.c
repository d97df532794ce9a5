/* Files that mas puts into the work trees of agents: code/placed.h. */
#include "code.h"
#include "fail.h"

#include "code/placed.h"

static void add_name(struct str *to, const char *name)
{
    str_addn(to, name, strlen(name) + 1);
}

/* The names of a list, which ends each with NUL, with a blank behind each. */
static void has_names(const struct str *names, const char *want)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_addn(&shown, str_text(names), names->len);
    for (size_t i = 0; i < shown.len; i++)
        shown.data[i] = shown.data[i] == '\0' ? ' ' : shown.data[i];
    CHECK_STR(str_text(&shown), want);
}

/* What of all files counts as work. */
static void is_work(const struct code *code, const char *want)
{
    static const char *const all[] = {"z/last", "m", "a", "link", "other", "b", "line\nx", "dir"};
    _cleanup_str_ struct str names = STR_INIT;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        add_name(&names, all[i]);
    WELL(placed_drop(&code->repo, "x", &names, &err));
    has_names(&names, want);
}

TEST(what_was_put_there_is_no_work_until_it_changes)
{
    static const char *const recorded[] = {"z/last", "m",       "a",   "link",
                                           "other",  "line\nx", "dir", "gone"};
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str names = STR_INIT;
    struct err err = ERR_INIT;

    CHECK(code_put(code.tree, "z/last", "z") && code_put(code.tree, "m", "m"));
    CHECK(code_put(code.tree, "a", "") && code_put(code.tree, "line\nx", "n"));
    CHECK(code_put(code.tree, "b", "b") && mkdirat(code.tree, "dir", 0755) == 0);
    CHECK(symlinkat("to", code.tree, "link") == 0 && symlinkat("to", code.tree, "other") == 0);
    is_work(&code, "z/last m a link other b line\nx dir "); /* nothing was put there */
    WELL(placed_record(&code.repo, "x", &names, &err)); /* none */
    CHECK(faccessat(code.place.dir, CODE_GIT "/placed", F_OK, 0) == -1);
    for (size_t i = 0; i < ARRAY_LEN(recorded); i++)
        add_name(&names, recorded[i]);
    MUST(placed_record(&code.repo, "x", &names, &err));
    is_work(&code,
            "b line\nx dir "); /* neither a directory nor what no line can hold is recorded */
    CHECK(place_put(code.tree, "m", "M"));
    CHECK(unlinkat(code.tree, "other", 0) == 0 && symlinkat("elsewhere", code.tree, "other") == 0);
    is_work(&code, "m other b line\nx dir ");
    CHECK(unlinkat(code.tree, "link", 0) == 0 && place_put(code.tree, "link", "to"));
    CHECK(unlinkat(code.tree, "a", 0) == 0);
    is_work(&code, "m a link other b line\nx dir ");

    str_clear(&names);
    WELL(placed_drop(&code.repo, "x", &names, &err));
    CHECK_INT(names.len, 0);
    add_name(&names, "z/last");
    WELL(placed_drop(&code.repo, "other", &names, &err)); /* nothing is recorded of it */
    has_names(&names, "z/last ");
    MUST(placed_record(&code.repo, "x", &names, &err)); /* instead of those before */
    is_work(&code, "m a link other b line\nx dir ");
    CHECK(place_put(code.tree, "m", "m"));
    is_work(&code, "m a link other b line\nx dir ");
}

/* A project with these patterns beside the session, in which *.mine is ignored by the person alone.
 */
static struct project project_make(const struct code *code, const char *patterns)
{
    _cleanup_close_ int dir = path_make_dir(code->place.dir, "project", 0755);
    struct project project = {.path = mem_printf("%s/project", code->place.path),
                              .top = mem_printf("%s/project", code->place.path)};

    CHECK(code_make_git(dir, ".git", "../../../" CODE_GIT "/objects\n"));
    CHECK(code_put(dir, ".git/info/exclude", "*.mine\n"));
    CHECK(code_put(dir, "one.mine", "1") && code_put(dir, "two [x].mine", "2"));
    CHECK(code_put(dir, "sub/three.mine", "3") && code_put(dir, "seen", "s"));
    CHECK(patterns == NULL || place_put(dir, PLACED_LIST, patterns));
    return project;
}

/* Places what the patterns name. Returns the notes, or the error, as lines. */
static char *place_with(const struct code *code, const char *patterns)
{
    struct project project = project_make(code, patterns);
    struct agent agents[] = {{.id = (char *)"r", .code = AGENT_CODE_VIEW},
                             {.id = (char *)"x", .code = AGENT_CODE_WORKTREE}};
    const struct team team = {.agents = agents, .agent_count = 2};
    _cleanup_strv_ char **notes = NULL;
    struct str shown = STR_INIT;
    struct err err = ERR_INIT;

    if (placed_make(&code->repo, &project, NULL, &team, &notes, &err) == -1)
        str_add(&shown, err.text);
    for (size_t i = 0; notes != NULL && notes[i] != NULL; i++)
        str_addf(&shown, "%s\n", strrchr(notes[i], ':') + 2);
    project_free(&project);
    str_add(&shown, "");
    return str_steal(&shown);
}

static bool has(const struct code *code, const char *name)
{
    return faccessat(code->tree, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

TEST(files_of_the_person_are_placed_and_are_no_work)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_free_ char *said =
        place_with(&code, "# a comment\r\n\none.mine\nnone.mine \t\n!x\n*.mine\nseen\n");
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_free_ char *exclude = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    CHECK_STR(said, "none.mine\nseen\n");
    CHECK(has(&code, "one.mine") && has(&code, "two [x].mine") && has(&code, "sub/three.mine"));
    CHECK(!has(&code, "seen")); /* which is not ignored */
    MUST(file_read(code.git, "info/exclude", 1 << 10, &exclude, &len, &err));
    CHECK_STR(exclude, "/one.mine\n/sub/three.mine\n/two\\ \\[x].mine\n");
    add_name(&names, "one.mine");
    add_name(&names, "two [x].mine");
    add_name(&names, "sub/three.mine");
    MUST(placed_drop(&code.repo, "x", &names, &err));
    has_names(&names, "");
    MUST(placed_list(&code.repo, "x", &names, &err));
    has_names(&names, "one.mine sub/three.mine two [x].mine ");
}

TEST(no_pattern_leads_out_of_the_project)
{
    static const struct {
        const char *patterns;
        bool good;
    } cases[] = {
        {NULL, true},         {"", true},         {"..\n", false},       {"a\nb/../c\nd", false},
        {"a\nb\n/..", false}, {"# ../x\n", true}, {"..x/x../.\n", true}, {"a\n#\n../x", false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_code_ struct code code = code_make();
        _cleanup_free_ char *said = place_with(&code, cases[i].patterns);
        if (!CHECK((strstr(said, "'..'") == NULL) == cases[i].good))
            printf("# case %zu: %s\n", i, said);
        CHECK(!has(&code, "one.mine"));
    }
}

/* A link or a file in the way is nobody's that mas may follow or replace. */
TEST(what_cannot_be_copied_is_refused)
{
    static const struct {
        const char *to, *why;
    } cases[] = {{"elsewhere", "it is a symbolic link"}, {NULL, "newline"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_code_ struct code code = code_make();
        struct project project = project_make(&code, "");
        _cleanup_close_ int dir = path_open_dir(AT_FDCWD, project.top);
        if (cases[i].to != NULL)
            CHECK(symlinkat(cases[i].to, dir, "l.mine") == 0);
        else
            CHECK(place_put(dir, "l\n.mine", ""));
        project_free(&project);
        REQUIRE(unlinkat(dir, PLACED_LIST, 0) == 0);
        struct agent agent = {.id = (char *)"x", .code = AGENT_CODE_WORKTREE};
        const struct team team = {.agents = &agent, .agent_count = 1};
        struct err err = ERR_INIT;
        project = (struct project){.path = mem_dup("p"),
                                   .top = mem_printf("%s/project", code.place.path)};
        REQUIRE(place_put(dir, PLACED_LIST, "*.mine\n"));
        CHECK_INT(placed_make(&code.repo, &project, NULL, &team, NULL, &err), -1);
        CHECK_INT(err.code, MAS_USAGE);
        CHECK(strstr(err.text, cases[i].why) != NULL);
        project_free(&project);
    }
}

/* ---- steps that fail */

static int record(void *arg, struct err *err)
{
    const struct code *code = arg;
    _cleanup_str_ struct str names = STR_INIT;

    add_name(&names, "a");
    add_name(&names, "link");
    fail_on();
    int rc = placed_record(&code->repo, "x", &names, err);
    fail_off();
    if (fail_hit == NULL) {
        CHECK(placed_drop(&code->repo, "x", &names, err) == 0);
        has_names(&names, "");
    }
    (void)unlinkat(code->place.dir, CODE_GIT "/placed/x", 0);
    (void)unlinkat(code->place.dir, CODE_GIT "/placed", AT_REMOVEDIR);
    return rc;
}

static int drop(void *arg, struct err *err)
{
    const struct code *code = arg;
    _cleanup_str_ struct str names = STR_INIT;

    add_name(&names, "a");
    add_name(&names, "m");
    fail_on();
    int rc = placed_drop(&code->repo, "x", &names, err);
    fail_off();
    if (rc == -1 || fail_hit == NULL)
        has_names(&names, rc == 0 ? "m " : "a m ");
    return rc;
}

static int list(void *arg, struct err *err)
{
    const struct code *code = arg;
    _cleanup_str_ struct str names = STR_INIT;

    fail_on();
    int rc = placed_list(&code->repo, "x", &names, err);
    fail_off();
    if (fail_hit == NULL)
        has_names(&names, "a link ");
    return rc;
}

TEST(a_step_that_fails_is_told)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str names = STR_INIT;
    struct err err = ERR_INIT;

    CHECK(code_put(code.tree, "a", "a") && symlinkat("to", code.tree, "link") == 0);
    CHECK(code_put(code.place.dir, CODE_GIT "/info/exclude", "*\n"));
    fail_each(list, &code, "fstatat read");
    fail_each(record, &code, "fstat readlinkat fstatat read");
    add_name(&names, "a");
    MUST(placed_record(&code.repo, "x", &names, &err));
    fail_each(drop, &code, "open openat fstat read fstatat");
}
