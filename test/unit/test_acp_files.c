/* Files of its workspace that an agent asks mas for. */
#include "place.h"

#include "host/acp/files.h"

enum { ROOTS = 3 };

struct world {
    struct place place;
    struct acp *acp;
    struct work_root roots[ROOTS];
    struct work_place at;
    int dirs[ROOTS], run;
    bool mine; /* the last request was for files */
};

static void hear(void *arg, const struct acp_request *request)
{
    struct world *world = arg;

    world->mine = files_serve(&world->at, world->acp, request);
}

static void hear_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    (void)arg, (void)why, (void)bytes, (void)len;
    CHECK(false);
}

static const struct acp_ops ops = {.request = hear, .garbage = hear_garbage};

static bool world_make(struct world *world)
{
    static const char *const names[ROOTS] = {"ws", "other", "given"};
    static const char *const paths[ROOTS] = {"/w", "/w2", "/g"};

    *world = (struct world){.place = place_make()};
    for (size_t i = 0; i < ROOTS; i++) {
        if (!CHECK_INT(mkdirat(world->place.dir, names[i], 0700), 0))
            return false;
        world->dirs[i] = path_open_dir(world->place.dir, names[i]);
        world->roots[i] = (struct work_root){
            .path = paths[i], .dir = world->dirs[i], .workspace = i == 0, .read_only = i == 2};
    }
    CHECK_INT(mkdirat(world->dirs[0], "run", 0700), 0);
    world->run = path_open_dir(world->dirs[0], "run");
    world->at = (struct work_place){
        .roots = world->roots, .count = ROOTS, .run = world->run, .agent = "w1"};
    world->acp = acp_new(&ops, world);
    return true;
}

static void world_free(struct world *world)
{
    acp_free(world->acp);
    for (size_t i = 0; i < ROOTS; i++)
        fd_closep(&world->dirs[i]);
    fd_closep(&world->run);
    place_free(&world->place);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

/* Asks, and returns the answer, which the caller frees: its content, or "error: ..." . */
static char *ask(struct world *world, const char *method, const char *params)
{
    _cleanup_free_ char *line = mem_printf(
        "{\"id\":1,\"method\":\"%s\",\"params\":{\"sessionId\":\"S\"%s}}\n", method, params);
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    acp_feed(world->acp, line, strlen(line));
    const char *out = acp_out(world->acp, &len);
    if (len == 0 || !WELL(json_parse(out, len, 64 << 20, &json, &err)))
        return mem_dup("nothing");
    acp_sent(world->acp, len);
    const struct json *result = json_get(json, "result");
    if (result != NULL)
        return mem_dup(json_get_text_or(result, "content", "written"));
    return mem_printf("error: %s", json_get_text_or(json_get(json, "error"), "message", ""));
}

static void check_read(struct world *world, const char *path, const char *more, const char *want)
{
    _cleanup_free_ char *params = mem_printf(",\"path\":\"%s\"%s", path, more);
    _cleanup_free_ char *got = ask(world, "fs/read_text_file", params);

    if (str_starts(want, "error"))
        CHECK(str_ends(got, want + strlen("error")) && str_starts(got, "error: cannot read"));
    else
        CHECK_STR(got, want);
}

/* Returns true if it was written; *want: why not. */
static void check_write(struct world *world, const char *path, const char *want)
{
    _cleanup_free_ char *params = mem_printf(",\"path\":\"%s\",\"content\":\"new\"", path);
    _cleanup_free_ char *got = ask(world, "fs/write_text_file", params);

    if (want != NULL) {
        if (!CHECK(str_ends(got, want) && str_starts(got, "error: cannot write")))
            unit_print_str(path, got);
        return;
    }
    CHECK_STR(got, "written");
    check_read(world, path, "", "new");
}

TEST(paths_belong_to_roots)
{
    _cleanup_world_ struct world world;
    static const struct {
        const char *path, *rel;
        size_t root;
    } table[] = {
        {"/w/a", "a", 0},  {"/w2/a/b", "a/b", 1}, {"/g", ".", 2},  {"/g/", ".", 2},
        {"/w//a", "a", 0}, {"/w3/a", NULL, 0},    {"/", NULL, 0},  {"", NULL, 0},
        {"w/a", NULL, 0},  {"/wx", NULL, 0},      {"/w2", ".", 1}, {"/gg", NULL, 0},
    };

    REQUIRE(world_make(&world));
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct work_root *root = NULL;
        CHECK_STR(work_place_find(&world.at, table[i].path, &root), table[i].rel);
        CHECK(root == (table[i].rel != NULL ? &world.roots[table[i].root] : NULL));
    }
}

TEST(lines_are_counted_from_one)
{
    _cleanup_world_ struct world world;
    static const struct {
        const char *more, *text;
    } table[] = {
        {"", "1\n2\n3"},
        {",\"line\":1", "1\n2\n3"},
        {",\"line\":0", "1\n2\n3"},
        {",\"line\":2", "2\n3"},
        {",\"line\":3", "3"},
        {",\"line\":4", ""},
        {",\"limit\":0", ""},
        {",\"limit\":1", "1\n"},
        {",\"limit\":2", "1\n2\n"},
        {",\"limit\":3", "1\n2\n3"},
        {",\"limit\":99", "1\n2\n3"},
        {",\"line\":2,\"limit\":1", "2\n"},
        {",\"line\":3,\"limit\":1", "3"},
        {",\"limit\":-1", "1\n2\n3"},
    };

    REQUIRE(world_make(&world));
    REQUIRE(place_put(world.dirs[0], "f", "1\n2\n3"));
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        check_read(&world, "/w/f", table[i].more, table[i].text);
}

TEST(only_regular_files_of_text_are_read)
{
    _cleanup_world_ struct world world;

    REQUIRE(world_make(&world));
    REQUIRE(place_write(world.dirs[0], "nul", "a\0b", 3));
    REQUIRE(place_write(world.dirs[0], "bytes", "a\377b", 3));
    CHECK_INT(symlinkat("nul", world.dirs[0], "link"), 0);
    CHECK_INT(mkfifoat(world.dirs[0], "fifo", 0600), 0);
    check_read(&world, "/w/nul", "", "error: it is not a text file (UTF-8)");
    check_read(&world, "/w/bytes", "", "error: it is not a text file (UTF-8)");
    check_read(&world, "/w/link", "", "error: symbolic links are not followed");
    check_read(&world, "/w/fifo", "", "error: it is not a regular file");
    check_read(&world, "/w/run", "", "error: it is not a regular file");
    check_read(&world, "/w/none", "", "error: there is no such file");
    check_read(&world, "/w/nul/x", "", "error: there is no such file");
    check_read(&world, "/w/../other/f", "", "error: the path leads out of the workspace");
    check_read(&world, "/x", "", "error: the path is not in the workspace");
    _cleanup_free_ char *none = ask(&world, "fs/read_text_file", "");
    CHECK_STR(none, "error: cannot read '': path is missing");
    _cleanup_free_ char *no_text = ask(&world, "fs/write_text_file", ",\"path\":\"/w/x\"");
    CHECK_STR(no_text, "error: cannot write '/w/x': content is missing");
    free(ask(&world, "terminal/create", ""));
    CHECK(!world.mine);
}

TEST(a_file_has_a_size_limit)
{
    _cleanup_world_ struct world world;

    REQUIRE(world_make(&world));
    REQUIRE(place_put(world.dirs[0], "big", ""));
    _cleanup_close_ int fd = openat(world.dirs[0], "big", O_WRONLY | O_CLOEXEC);
    CHECK_INT(ftruncate(fd, AGENT_FILE_MAX), 0); /* of NULs */
    check_read(&world, "/w/big", "", "error: it is not a text file (UTF-8)");
    CHECK_INT(ftruncate(fd, AGENT_FILE_MAX + 1), 0);
    check_read(&world, "/w/big", "", "error: it is too large (16 MiB at most)");
}

TEST(a_written_file_keeps_its_mode_and_gets_its_directories)
{
    _cleanup_world_ struct world world;
    struct stat st;

    REQUIRE(world_make(&world));
    mode_t mask = umask(027);
    check_write(&world, "/w/a/b/c", NULL);
    CHECK_INT(fstatat(world.dirs[0], "a/b/c", &st, 0), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    CHECK_INT(fchmodat(world.dirs[0], "a/b/c", 0751, 0), 0);
    REQUIRE(place_put(world.run, ".write-w1", "left by a kill"));
    check_write(&world, "/w/a/b/c", NULL);
    CHECK_INT(fstatat(world.dirs[0], "a/b/c", &st, 0), 0);
    CHECK_INT(st.st_mode & 07777, 0751);
    CHECK_INT(fstatat(world.run, ".write-w1", &st, 0), -1);
    check_write(&world, "/w2/x", NULL);
    umask(mask);
    CHECK_INT(symlinkat("x", world.dirs[1], "link"), 0);
    check_write(&world, "/w2/link", "symbolic links are not followed");
    check_write(&world, "/w/a", "it is not a regular file");
    check_write(&world, "/w/a/b/c/d", "there is no such file");
    check_write(&world, "/g/x", "this place is only for reading");
    check_write(&world, "/w", "it is not a regular file");
    if (geteuid() != 0) {
        CHECK_INT(fchmodat(world.dirs[1], "x", 0400, 0), 0);
        check_write(&world, "/w2/x", strerror(EACCES));
    }
}

TEST(what_belongs_to_mas_is_not_written)
{
    _cleanup_world_ struct world world;
    static const char *const own[] = {"config.json", "limits.json",    ".snapshot", "code.locks/x",
                                      ".new-x",      ".trash-x",       "run/x",     "logs/x",
                                      "memory.db",   "memory.db-wal",  ".session",  ".session.new",
                                      "./run/x",     ".//./memory.db", ".migrate",  ".migrate-x"};
    static const char *const free_names[] = {"running", "x/run",       "logs2",
                                             "session", "x/memory.db", "my.memory.db"};

    REQUIRE(world_make(&world));
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        _cleanup_free_ char *path = mem_printf("/w/%s", own[i]);
        _cleanup_free_ char *other = mem_printf("/w2/%s", own[i]);
        check_write(&world, path, "this file belongs to mas");
        if (strstr(own[i], "./") == NULL)
            check_write(&world, other, NULL); /* it is no workspace */
    }
    for (size_t i = 0; i < ARRAY_LEN(free_names); i++) {
        _cleanup_free_ char *path = mem_printf("/w/%s", free_names[i]);
        check_write(&world, path, NULL);
    }
}

TEST(in_a_session_with_a_project_only_its_own_repository_is_written)
{
    static const struct {
        const char *path;
        bool allowed[3]; /* without a project; a reader; the writer w1 */
    } table[] = {
        {"/w/code/w1/f", {true, false, true}},     {"/w/code/w2/f", {true, false, false}},
        {"/w/code/w/f", {true, false, false}},     {"/w/code/w11/f", {true, false, false}},
        {"/w/code/f", {true, false, false}},       {"/w/code.git/f", {true, false, false}},
        {"/w/./code//w2/g", {true, false, false}}, {"/w/code2/f", {true, true, true}},
        {"/w/codex.git/f", {true, true, true}},    {"/w/f", {true, true, true}},
        {"/w/x/code/w2/f", {true, true, true}},    {"/w2/code/w2/f", {true, true, true}},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (int how = 0; how < 3; how++) {
            _cleanup_world_ struct world world;
            REQUIRE(world_make(&world));
            world.at.project = how > 0;
            world.at.writer = how > 1;
            check_write(&world, table[i].path,
                        table[i].allowed[how] ? NULL : "this repository is not the agent's own");
        }
    }
}
