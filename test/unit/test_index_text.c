#include "root.h"

#include "store/index.h"

#define HEAD "{\"version\":\"1.0\",\n\"sessions\":[\n"
#define TAIL "],\n\"lastUpdated\":\"2025-12-18T08:00:00Z\"}\n"

/* A row; `more` goes before its last bracket. */
#define ROW_OF(id, tmux, status, created, activity, mode, name, more)                              \
    "{\"sessionId\":\"" id "\",\"tmuxSession\":\"" tmux "\",\"status\":\"" status                  \
    "\",\"createdAt\":\"" created "\",\"lastActivity\":\"" activity                                \
    "\",\"workingDir\":\"/w\",\"mode\":\"" mode "\",\"name\":\"" name                              \
    "\",\"template\":\"default\"" more "}"
#define T1 "2025-12-18T08:00:00Z"
#define T2 "2025-12-18T09:30:00Z"
#define NEW_ENDS ",\"private\":\"yes\",\"metadata\":\"7.000000001:9\""
#define ROW(id, name) ROW_OF(id, "mas-1", "stopped", T1, T2, "isolated", name, NEW_ENDS)

/* Rows, one a line, and what is known of them. */
static const char *show(const struct index *index, struct str *to)
{
    str_clear(to);
    for (size_t i = 0; i < index->count; i++) {
        const struct row *r = &index->rows[i];
        str_addf(to, "%c %s %s %s %s %s '%s' %s '%s'%s%s%s\n", r->id[ID_TEXT - 2], r->tmux_name,
                 status_name(r->status), r->created, r->activity, mode_name(r->mode), r->name,
                 r->template, r->stamp, r->private ? " private" : "", r->missing ? " missing" : "",
                 r->unlisted ? " unlisted" : "");
    }
    return str_text(to);
}

static const char *read_bytes(const struct root *root, const char *bytes, size_t len,
                              struct str *to)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err err = ERR_INIT;

    str_clear(to);
    CHECK(place_write(root->sessions, INDEX_FILE, bytes, len));
    if (WELL(index_read(root, true, &index, &err)) && index.broken == NULL)
        return show(&index, to);
    CHECK_INT(index.count, 0);
    str_add(to, index.broken != NULL ? index.broken : "?");
    return str_text(to);
}

TEST(reads_good_texts)
{
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {HEAD TAIL, ""},
        {HEAD ROW(ID(1), "a") "\n" TAIL,
         "1 mas-1 stopped " T1 " " T2 " isolated 'a' default '7.000000001:9' private missing\n"},
        {HEAD ROW_OF(ID(1), "t", "error", T2, T1, "legacy", "", "") "\n" TAIL,
         "1 t error " T2 " " T1 " legacy '' default '' missing\n"},
        {HEAD ROW_OF(ID(1), "t", "active", T1, T1, "isolated", "", ",\"private\":\"no\"") "\n" TAIL,
         "1 t active " T1 " " T1 " isolated '' default '' missing\n"},
        {HEAD ROW_OF(ID(1), "a\\\"b\\u00e9", "active", T1, T1, "isolated", "", NEW_ENDS) "\n" TAIL,
         "1 a\"b\xc3\xa9 active " T1 " " T1
         " isolated '' default '7.000000001:9' private missing\n"},
        {HEAD ROW_OF(ID(1), "\\\\", "active", T1, T1, "isolated", "", "") "\n" TAIL,
         "1 \\ active " T1 " " T1 " isolated '' default '' missing\n"},
        {HEAD ROW_OF(ID(3), "t", "stopped", T2, T2, "isolated", "",
                     "") ",\n" ROW_OF(ID(2), "t", "stopped", T1, T1, "isolated", "", "") "\n" TAIL,
         "3 t stopped " T2 " " T2 " isolated '' default '' missing\n"
         "2 t stopped " T1 " " T1 " isolated '' default '' missing\n"},
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(read_bytes(&root, cases[i].text, strlen(cases[i].text), &got), cases[i].rows);
}

TEST(refuses_damaged_texts)
{
    static const char *const bad[] = {
        "",
        "\n",
        "{}",
        HEAD,
        HEAD "]}\n",
        HEAD TAIL "\n",
        HEAD TAIL TAIL,
        " " HEAD TAIL,
        HEAD "],\n\"lastUpdated\":\"2025-13-18T08:00:00Z\"}\n",
        HEAD "],\n\"lastUpdated\":\"" T1 "\"}",
        HEAD ROW(ID(1), "a"),
        HEAD ROW(ID(1), "a") "\n",
        HEAD ROW(ID(1), "a") TAIL,
    };
    static const char with_nul[] = HEAD ROW(ID(1), "a\0b") "\n" TAIL;
    static const char after_nul[] = HEAD TAIL "\0\0";
    static const char behind_row[] = HEAD ROW(ID(1), "a") "\0x\n" TAIL;
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK_STR(read_bytes(&root, bad[i], strlen(bad[i]), &got), "it is damaged");
    CHECK_STR(read_bytes(&root, with_nul, sizeof with_nul - 1, &got), "it is damaged");
    CHECK_STR(read_bytes(&root, after_nul, sizeof after_nul - 1, &got), "it is damaged");
    CHECK_STR(read_bytes(&root, behind_row, sizeof behind_row - 1, &got), "it is damaged");
}

/* A row with one member that is wrong. */
#define ENDS(more) ROW_OF(ID(1), "t", "stopped", T1, T1, "isolated", "", more)

TEST(refuses_damaged_rows)
{
    static const char *const bad[] = {
        "",
        "{}",
        " " ROW(ID(1), "a"),
        ROW(ID(1), "a") " ",
        ROW(ID(1), "a") ",\n",
        ROW(ID(1), "a\""),
        ROW(ID(1), "a\\"),
        ROW(ID(1), "\\x41"),
        ROW(ID(1), "\\u0000"),
        ROW("550E8400-E29B-41D4-A716-446655440001", "a"),
        ROW("../../etc", "a"),
        ROW(ID(1) "1", "a"),
        ROW("", "a"),
        ROW_OF(ID(1), "t", "running", T1, T1, "isolated", "", ""),
        ROW_OF(ID(1), "t", "", T1, T1, "isolated", "", ""),
        ROW_OF(ID(1), "t", "stopped", "yesterday", T1, "isolated", "", ""),
        ROW_OF(ID(1), "t", "stopped", T1, "2025-02-30T00:00:00Z", "isolated", "", ""),
        ROW_OF(ID(1), "t", "stopped", T1, T1, "shared", "", ""),
        ENDS(",\"metadata\":\"\""),
        ENDS(",\"private\":true"),
        ENDS(NEW_ENDS ",\"x\":\"y\""),
        ROW(ID(1), "a") ",\n" ROW(ID(1), "b"), /* one id twice */
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_free_ char *text = mem_printf("%s%s\n%s", HEAD, bad[i], TAIL);
        if (!CHECK_STR(read_bytes(&root, text, strlen(text), &got), "it is damaged"))
            unit_print_str("row", bad[i]);
    }
}

/* Every text that a kill in the middle of a plain write could leave. */
TEST(refuses_each_beginning)
{
    static const char text[] = HEAD ROW(ID(1), "a") ",\n" ROW(ID(2), "b\\n") "\n" TAIL;
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t len = 0; len < sizeof text - 1; len += 1 + len / 32)
        CHECK_STR(read_bytes(&root, text, len, &got), "it is damaged");
    CHECK_STR(read_bytes(&root, text, sizeof text - 2, &got), "it is damaged");
    CHECK(str_starts(read_bytes(&root, text, sizeof text - 1, &got), "1 mas-1 "));
}

TEST(reads_what_it_writes)
{
    static const struct {
        const char *tmux_name, *name, *row;
    } cases[] = {
        {"mas-1", "a", "1 mas-1 stopped " T1 " " T2 " isolated 'a' tp \'\'\n"},
        {"a\"b\\c", "", "1 a\"b\\c stopped " T1 " " T2 " isolated '' tp \'\'\n"},
        {"\",\"status\":\"active", "",
         "1 \",\"status\":\"active stopped " T1 " " T2 " isolated '' tp \'\'\n"},
        {"x\ny\t\x1b[2J", "", "1 x\ny\t\x1b[2J stopped " T1 " " T2 " isolated '' tp \'\'\n"},
        {"\xc3\xa9 ],", "", "1 \xc3\xa9 ], stopped " T1 " " T2 " isolated '' tp \'\'\n"},
        {"\xff", "", "1 \xef\xbf\xbd stopped " T1 " " T2 " isolated '' tp \'\'\n"},
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;

    REQUIRE(root_make(&place, &root) && place_put(root.sessions, INDEX_FILE, HEAD TAIL));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_session_ struct session session =
            root_session(ID(1), cases[i].tmux_name, cases[i].name);
        _cleanup_index_ struct index index = INDEX_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        struct err err = ERR_INIT;

        REQUIRE(root_put_session(&root, ID(1), NULL));
        MUST(index_update(&root, ID(1), &session, &err));
        MUST(index_read(&root, true, &index, &err));
        CHECK_STR(index.broken, NULL);
        CHECK_STR(show(&index, &got), cases[i].row);
    }
}

static const char *read_file(const struct root *root, char **text)
{
    struct err err = ERR_INIT;
    size_t len = 0;

    mem_freep(text);
    *text = NULL;
    WELL(file_read(root->sessions, INDEX_FILE, 65536, text, &len, &err));
    return *text != NULL ? *text : "";
}

TEST(an_update_changes_one_line)
{
    static const char others[] =
        HEAD ROW(ID(1), "a\\u0041") ",\n" ROW(ID(2), "b") ",\n" ROW(ID(3), "c") "\n" TAIL;
    const char *const gone[] = {ID(3), ID(1)};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session session = root_session(ID(2), "t", "new");
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;

    REQUIRE(root_make(&place, &root) && place_put(root.sessions, INDEX_FILE, others));
    MUST(index_update(&root, ID(2), &session, &err));
    CHECK(str_starts(read_file(&root, &text), HEAD ROW(ID(1), "a\\u0041") ",\n{\"sessionId\":\"" ID(
                                                  2) "\",\"tmuxSession\":\"t\""));
    CHECK(strstr(text, "},\n" ROW(ID(3), "c") "\n],\n") != NULL);
    MUST(index_update(&root, ID(2), NULL, &err));
    CHECK(str_starts(read_file(&root, &text),
                     HEAD ROW(ID(1), "a\\u0041") ",\n" ROW(ID(3), "c") "\n],\n"));
    MUST(index_update(&root, ID(2), &session, &err)); /* to the end */
    CHECK(strstr(read_file(&root, &text), ROW(ID(3), "c") ",\n{\"sessionId\":\"" ID(2)) != NULL);
    MUST(index_remove(&root, gone, 2, &err));
    CHECK(str_starts(read_file(&root, &text), HEAD "{\"sessionId\":\"" ID(2)));
    MUST(index_update(&root, ID(2), NULL, &err));
    CHECK(str_starts(read_file(&root, &text), HEAD "],\n\"lastUpdated\":\""));
}
