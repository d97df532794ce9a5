/* What settings and presets say of walls, and what hosts report of them. */
#include "unit.h"

#include "model/wall.h"

TEST(a_home_is_a_list_of_paths_below_it)
{
    static const struct {
        const char *text, *want; /* NULL: it is refused */
    } cases[] = {
        {"", ""},
        {".a", "w:.a"},
        {".a .b/c:ro, d:copy\te:own,", "w:.a r:.b/c c:d o:e"},
        {"~/.a:ro", "r:.a"},
        {"~a", "w:~a"},
        {"ab a", "w:ab w:a"}, /* a longer name is not below a shorter one */
        {"a/b a/c", "w:a/b w:a/c"},
        {"...", "w:..."},
        {".a/.b..", "w:.a/.b.."},
        {"~/", NULL},
        {"~", "w:~"},
        {"/a", NULL},
        {"~//a", NULL},
        {"a//b", NULL},
        {"a/", NULL},
        {".", NULL},
        {"..", NULL},
        {"a/..", NULL},
        {"a/../b", NULL},
        {"./a", NULL},
        {"a/.", NULL},
        {"a:rw", NULL},
        {"a:", NULL},
        {"a:r", NULL},
        {"a:roo", NULL},
        {":ro", NULL},
        {"a:ro:ro", NULL},
        {"a\x01", NULL},
        {"a\x7f", NULL},
        {"a b a", NULL}, /* twice */
        {"a b a:ro", NULL},
        {"a/b c a", NULL}, /* one below another, whichever comes first */
        {"a c a/b", NULL},
        {"~/a a/b", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wall_options options = {.home = NULL};
        _cleanup_str_ struct str got = STR_INIT;
        const char *why = value_parse(&wall_home_type, cases[i].text, &options, 0);
        if (!CHECK_INT(why == NULL, cases[i].want != NULL))
            unit_print_str("text", cases[i].text);
        for (size_t j = 0; j < options.home_count; j++)
            str_addf(&got, "%s%c:%s", j > 0 ? " " : "", "wrco"[options.home[j].kind],
                     options.home[j].path);
        CHECK_STR(str_text(&got), cases[i].want != NULL ? cases[i].want : "");
        /* a wrong one leaves what was there, a new one takes its place */
        CHECK(value_parse(&wall_home_type, "old", &options, 0) == NULL);
        CHECK((value_parse(&wall_home_type, cases[i].text, &options, 0) == NULL) == (why == NULL));
        if (why != NULL)
            CHECK(options.home_count == 1 && strcmp(options.home[0].path, "old") == 0);
        wall_options_free(&options);
        CHECK(options.home == NULL && options.home_words == NULL);
    }
}

/* Appends numbered paths to a list. */
static void add_paths(struct str *to, const char *before, int count)
{
    for (int i = 0; i < count; i++)
        str_addf(to, "%s%d ", before, i + 1000);
}

TEST(lists_of_paths_have_limits)
{
    for (int more = 0; more < 2; more++) {
        _cleanup_str_ struct str home = STR_INIT;
        _cleanup_str_ struct str paths = STR_INIT;
        _cleanup_str_ struct str long_path = STR_INIT;
        struct wall_options options = {.home = NULL};
        add_paths(&home, "a", WALL_PATHS_MAX + more);
        add_paths(&paths, "/a", WALL_PATHS_MAX + more);
        CHECK((value_parse(&wall_home_type, home.data, &options, 0) == NULL) == (more == 0));
        CHECK((wall_check_paths(paths.data) == NULL) == (more == 0));
        str_add(&long_path, "/");
        while (long_path.len < WALL_PATH_MAX + 1 + (size_t)more)
            str_addc(&long_path, 'a');
        CHECK((wall_check_paths(long_path.data) == NULL) == (more == 0));
        CHECK((value_parse(&wall_home_type, long_path.data + 1, &options, 0) == NULL) ==
              (more == 0));
        wall_options_free(&options);
    }
}

TEST(paths_are_absolute_or_of_the_home)
{
    static const char *const good[] = {"", "/a", "~/a", "/a ~/b,/c/d", "/.a/..b", "~/~"};
    static const char *const bad[] = {"a",    "~a",     "~",       "/",      "~/",  "/a/../b",
                                      "/..",  "/a/.",   "//a",     "/a//b",  "/a/", "/a b",
                                      "a /b", "/a b/c", "/a /b c", "/a\x01", ".",   "~/../a"};
    char **list = NULL;

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!CHECK(wall_check_paths(good[i]) == NULL))
            unit_print_str("paths", good[i]);
    CHECK(value_parse(&wall_paths_type, "/x ~/y", &list, sizeof list) == NULL);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!CHECK(value_parse(&wall_paths_type, bad[i], &list, sizeof list) != NULL))
            unit_print_str("paths", bad[i]);
    CHECK(strv_len(list) == 2 && strcmp(list[0], "/x") == 0 && strcmp(list[1], "~/y") == 0);
    CHECK(value_parse(&wall_paths_type, "", &list, sizeof list) == NULL && list == NULL);
}

static void check_report(const struct wall_report *report, const char *json, const char *told,
                         const char *foretold)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str describe = STR_INIT;
    _cleanup_str_ struct str foretell = STR_INIT;
    _cleanup_json_ struct json *object = NULL;
    struct json_out out = {.to = &text};
    struct wall_report again = {.level = WALL_TRY, .missing = "before"};
    struct err err = ERR_INIT;

    json_open(&out, NULL, '{');
    wall_report_put(report, &out);
    json_close(&out, '}');
    CHECK_STR(text.data, json);
    wall_report_describe(report, &describe);
    CHECK_STR(describe.data, told);
    wall_report_foretell(report, &foretell);
    CHECK_STR(foretell.data, foretold);
    CHECK_INT(json_parse(text.data, text.len, 4096, &object, &err), 0);
    wall_report_parse(json_get(object, "wall"), &again);
    CHECK(wall_report_equal(&again, report));
}

TEST(a_report_is_told_and_read_back)
{
    struct wall_report report = {.level = WALL_UNSET};
    struct wall_report off = {.level = WALL_OFF};

    check_report(&report, "{\"wall\":null}", "unknown",
                 "files: nothing, processes: nothing, system calls: nothing, signals: nothing, "
                 "network: nothing");
    wall_report_hold(&off, WALL_RESOURCES, "cgroup");
    wall_report_hold(&off, WALL_DISK, "quota");
    check_report(&off,
                 "{\"wall\":{\"level\":\"off\",\"files\":null,\"processes\":null,"
                 "\"systemCalls\":null,\"signals\":null,\"network\":null,\"resources\":\"cgroup\","
                 "\"disk\":\"quota\",\"ownSandbox\":null,\"missing\":null}}",
                 "off, resources: cgroup, disk: quota",
                 "files: nothing, processes: nothing, system calls: nothing, signals: nothing, "
                 "network: nothing");
    report.level = WALL_REQUIRE;
    report.sandbox_off = true;
    for (enum wall_part part = 0; part < WALL_PART_COUNT; part++)
        wall_report_hold(&report, part, part == WALL_SIGNALS ? "" : wall_part_names[part]);
    (void)snprintf(report.missing, sizeof report.missing, "no landlock");
    check_report(&report,
                 "{\"wall\":{\"level\":\"require\",\"files\":\"files\",\"processes\":\"processes\","
                 "\"systemCalls\":\"system calls\",\"signals\":null,\"network\":\"network\","
                 "\"resources\":\"resources\",\"disk\":\"disk\",\"ownSandbox\":\"off\","
                 "\"missing\":\"no landlock\"}}",
                 "files: files, processes: processes, system calls: system calls, signals: "
                 "nothing, network: network, resources: resources, disk: disk, own sandbox: off; "
                 "no landlock",
                 "files: files, processes: processes, system calls: system calls, signals: "
                 "nothing, network: network, own sandbox: off; no landlock");
}

/* Each part makes a difference. */
TEST(reports_are_equal_if_all_parts_are)
{
    const struct wall_report report = {.level = WALL_TRY};
    struct wall_report other = {.level = WALL_OFF};

    CHECK(!wall_report_equal(&report, &other));
    for (enum wall_part part = 0; part < WALL_PART_COUNT; part++) {
        other = report;
        CHECK(wall_report_equal(&report, &other));
        wall_report_hold(&other, part, "x");
        CHECK(!wall_report_equal(&report, &other));
    }
    other = report;
    other.sandbox_off = true;
    CHECK(!wall_report_equal(&report, &other));
    other = report;
    other.missing[0] = 'x';
    CHECK(!wall_report_equal(&report, &other));
    CHECK_STR(wall_level_name(WALL_UNSET), "");
    CHECK_STR(wall_level_name(WALL_REQUIRE), "require");
}
