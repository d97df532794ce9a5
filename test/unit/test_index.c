#include "root.h"

#include "store/index.h"

/* Lists a session that has no workspace. */
static const char lists_another[] =
    "{\"version\":\"1.0\",\n\"sessions\":[\n"
    "{\"sessionId\":\"550e8400-e29b-41d4-a716-446655440001\",\"tmuxSession\":\"t\","
    "\"status\":\"stopped\",\"createdAt\":\"2025-12-18T08:00:00Z\","
    "\"lastActivity\":\"2025-12-18T08:00:00Z\",\"workingDir\":\"/w\","
    "\"mode\":\"isolated\",\"name\":\"\",\"template\":\"tp\",\"private\":\"no\",\"metadata\":\"\"}"
    "\n"
    "],\n\"lastUpdated\":\"2025-12-18T08:00:00Z\"}\n";

/* By the second, then by its fraction; names of other things do not count. */
TEST(a_rebuilt_one_is_in_order)
{
    static const struct {
        const char *id;
        time_t later;
        long nsec;
    } made[] = {{ID(5), 0, 0}, {ID(4), 0, 7}, {ID(1), 9, 1}, {ID(2), 1, 999}, {ID(3), 1, 1000}};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_index_ struct index index = INDEX_INIT;
    _cleanup_str_ struct str order = STR_INIT;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root) && root_put_session(&root, ".new-" ID(7), "x"));
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        _cleanup_session_ struct session session = root_session(made[i].id, "t", "");
        session.created += made[i].later;
        session.created_nsec = made[i].nsec;
        REQUIRE(root_save(&root, &session));
    }
    REQUIRE(root_put_session(&root, ID(6), "damaged") && place_put(root.sessions, INDEX_FILE, "x"));
    MUST(index_read(&root, true, &index, &err));
    CHECK_STR(index.broken, "it is damaged");
    for (size_t i = 0; i < index.count; i++)
        str_addc(&order, index.rows[i].id[ID_TEXT - 2]);
    CHECK_STR(str_text(&order), "542316");
    CHECK_INT(index.rows[5].status, STATUS_ERROR);
    index_free(&index);
    MUST(index_read(&root, true, &index, &err)); /* it is on disk */
    CHECK_STR(index.broken, NULL);
    CHECK_INT(index.count, 6);
    CHECK_STR(index.rows[0].id, ID(5));
}

static bool is_current(const struct root *root)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err err = ERR_INIT;

    return WELL(index_read(root, true, &index, &err)) && CHECK_INT(index.count, 1) &&
           index_is_current(root, &index.rows[0]);
}

TEST(a_row_is_current_until_its_file_changes)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session session = root_session(ID(1), "t", "");
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 1000, .tv_nsec = 1}};
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root) && root_save(&root, &session) &&
            WELL(index_update(&root, ID(1), &session, &err)));
    CHECK(is_current(&root));
    REQUIRE(utimensat(root.sessions, ID(1) "/.session", times, 0) == 0);
    CHECK(!is_current(&root));
    MUST(index_update(&root, ID(1), &session, &err));
    CHECK(is_current(&root));
    REQUIRE(root_put_session(&root, ID(1), "other bytes"));
    REQUIRE(utimensat(root.sessions, ID(1) "/.session", times, 0) == 0);
    CHECK(!is_current(&root)); /* of another size at the same time */
    REQUIRE(unlinkat(root.sessions, ID(1) "/.session", 0) == 0);
    CHECK(!is_current(&root));
    MUST(index_update(&root, ID(1), &session, &err)); /* with no stamp: never */
    CHECK(!is_current(&root));
}

/* The text by which a row names a version of its file is part of the format of the index. */
TEST(a_row_names_its_file_by_time_and_size)
{
    static const struct {
        struct timespec time;
        const char *text;
    } cases[] = {
        {{0, 0}, "0.000000000:"},
        {{1766044800, 7}, "1766044800.000000007:"},
        {{9, 999999999}, "9.999999999:"},
        {{-5, 120}, "-5.000000120:"}, /* before 1970 */
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session session = root_session(ID(1), "t", "");
    struct err err = ERR_INIT;
    struct stat st;

    REQUIRE(root_make(&place, &root) && root_save(&root, &session));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_index_ struct index index = INDEX_INIT;
        const struct timespec times[] = {cases[i].time, cases[i].time};
        REQUIRE(utimensat(root.sessions, ID(1) "/.session", times, 0) == 0 &&
                fstatat(root.sessions, ID(1) "/.session", &st, 0) == 0);
        (void)unlinkat(root.sessions, INDEX_FILE, 0);
        MUST(index_read(&root, true, &index, &err)); /* it is made anew */
        _cleanup_free_ char *stamp = mem_printf("%s%lld", cases[i].text, (long long)st.st_size);
        CHECK(str_starts(index.rows[0].stamp, stamp));
        CHECK(index_is_current(&root, &index.rows[0]));
    }
}

TEST(compares_rows_and_workspaces)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session session = root_session(ID(2), "t", "");
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root) && root_save(&root, &session));
    REQUIRE(place_put(root.sessions, INDEX_FILE, lists_another));
    MUST(index_read(&root, true, &index, &err));
    REQUIRE(CHECK_INT(index.count, 2));
    CHECK(index.rows[0].missing && !index.rows[0].unlisted);
    CHECK(!index.rows[1].missing && index.rows[1].unlisted);
    CHECK(!index_add_unlisted(&root, &index, ID(3)));
    CHECK(!index_add_unlisted(&root, &index, "../" ID(2)));
    CHECK_INT(index.count, 2);
}

/* What its metadata cannot say, its directory does. */
TEST(a_damaged_session_has_a_row_too)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct stat st;
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(2), "damaged"));
    _cleanup_close_ int dir = workspace_open(&root, ID(2));
    CHECK(place_put(dir, WORKSPACE_CONFIG, "{}")); /* a team, and no unit/ */
    const struct timespec times[] = {{.tv_sec = 1766044800}, {.tv_sec = 1766044800}};
    CHECK(futimens(dir, times) == 0 && fstat(dir, &st) == 0);
    MUST(index_read(&root, true, &index, &err));
    REQUIRE(CHECK_INT(index.count, 1));
    const struct row *row = &index.rows[0];
    CHECK_STR(row->id, ID(2));
    CHECK_INT(row->status, STATUS_ERROR);
    CHECK_INT(row->mode, MODE_LEGACY);
    CHECK_STR(row->tmux_name, "mas-550e8400");
    CHECK_STR(row->created, "2025-12-18T08:00:00Z");
    CHECK_STR(row->activity, "2025-12-18T08:00:00Z");
}

TEST(knows_which_names_are_taken)
{
    static const struct {
        const char *name;
        bool taken;
    } cases[] = {{"alpha", true}, {"mas-7", true}, {"alph", false},
                 {"lpha", false}, {"", false},     {"stopped", false},
                 {"beta", false}, {"a\"b", false}, {"alpha\",\"template\":\"tp", false}};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session session = root_session(ID(1), "mas-7", "alpha");
    struct index_facts facts;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root) && root_save(&root, &session) &&
            WELL(index_update(&root, ID(1), &session, &err)));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        MUST(index_ask(&root, cases[i].name, cases[i].name, 0, &facts, &err));
        CHECK_INT(facts.name_taken, cases[i].taken);
        CHECK_INT(facts.tmux_name_taken, cases[i].taken);
        CHECK(!facts.others);
    }
    MUST(index_ask(&root, NULL, NULL, 0, &facts, &err));
    CHECK(!facts.name_taken && !facts.tmux_name_taken);
    REQUIRE(place_put(root.sessions, INDEX_FILE, "damaged")); /* it is made anew first */
    MUST(index_ask(&root, NULL, "alpha", 0, &facts, &err));
    CHECK(facts.name_taken && !facts.tmux_name_taken);
}

/* The workspaces are still there when their rows go. */
TEST(what_is_removed_from_a_broken_one_does_not_come_back)
{
    static const char *const gone[] = {ID(3), ID(1)};
    static const char *const broken[] = {"x", "", lists_another, NULL};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 1; i <= 4; i++) {
        static const char *const ids[] = {"", ID(1), ID(2), ID(3), ID(4)};
        _cleanup_session_ struct session session = root_session(ids[i], "t", "");
        REQUIRE(root_save(&root, &session));
    }
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        if (broken[i] != NULL)
            REQUIRE(place_put(root.sessions, INDEX_FILE, broken[i]));
        else
            REQUIRE(unlinkat(root.sessions, INDEX_FILE, 0) == 0);
        MUST(index_remove(&root, gone, ARRAY_LEN(gone), &err));
        MUST(file_read(root.sessions, INDEX_FILE, 1 << 20, &text, &len, &err));
        CHECK(strstr(text, ID(1)) == NULL && strstr(text, ID(3)) == NULL);
    }
}
