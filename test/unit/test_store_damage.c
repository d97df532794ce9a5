/* Kills, crowds, and files that are not what they should be. */
#include "store.h"

#include "memory/db_internal.h"
#include "memory/store_internal.h"

#include <sys/wait.h>

enum { WRITERS = 13, READERS = 5, TURNS = 25, CHUNKS = 8 };

/* ---- kills */

/* Appends until it is killed, and tells of each piece once it is stored. */
_Noreturn static void chatter(const struct place *place, int tell)
{
    struct store *store = opened(place, "10");
    struct err err = ERR_INIT;

    if (store == NULL)
        _exit(1);
    int64_t query = query_of(store);
    int64_t prompt = add(store, query, ROLE_USER, MESSAGE_OPEN, "tell", 0);
    int64_t answer = add(store, query, ROLE_AGENT, MESSAGE_OPEN, "", prompt);
    for (;;) {
        if (store_append(store, answer, "0123456789", 10, &err) == -1 || write(tell, ".", 1) != 1)
            _exit(1);
    }
}

/* Kills it after so many pieces; returns how many it had told of. */
static long kill_after(const struct place *place, long pieces)
{
    char buf[512];
    int pipe_fds[2];
    long told = 0;
    ssize_t n;

    CHECK_INT(pipe(pipe_fds), 0);
    pid_t pid = fork();
    if (pid == 0)
        chatter(place, pipe_fds[1]);
    (void)close(pipe_fds[1]);
    while (told < pieces && (n = read(pipe_fds[0], buf, 1)) == 1)
        told += n;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    while ((n = read(pipe_fds[0], buf, sizeof buf)) > 0)
        told += n;
    (void)close(pipe_fds[0]);
    return told;
}

static bool last_of_agent(const struct store_item *item, void *arg)
{
    long *bytes = arg;

    CHECK_STR(store_state_name(item->state), "interrupted");
    *bytes = (long)item->len;
    return true;
}

TEST(a_kill_loses_at_most_the_piece_in_flight)
{
    _cleanup_place_ struct place place = place_make();
    struct store_filter answer = {
        .roles = 1u << ROLE_AGENT, .newest = true, .limit = 1, .agent = "10"};
    struct err err = ERR_INIT;

    for (long pieces = 0; pieces < 700; pieces = pieces * 2 + 1) {
        long bytes = -1;
        long told = kill_after(&place, pieces);
        _cleanup_store_ struct store *store = opened(&place, "10");
        REQUIRE(store != NULL);
        WELL(store_read(store, &answer, last_of_agent, &bytes, &err));
        if (told > 0)
            CHECK(bytes == told * 10 || bytes == (told + 1) * 10);
        WELL(store_check(store, &err));
    }
}

TEST(a_killed_agent_is_mended_by_its_own_host_alone)
{
    _cleanup_place_ struct place place = place_make();
    struct store_filter users = {.roles = 1u << ROLE_USER};

    CHECK(kill_after(&place, 3) >= 3);
    struct store *other = opened(&place, "11");
    _cleanup_store_ struct store *reader = opened(&place, NULL);
    check_rows(reader, &users, "10 user open tell\n");
    struct store *again = opened(&place, "10");
    check_rows(reader, &users, "10 user interrupted tell\n");
    store_close(again);
    store_close(other);
}

/* ---- crowds */

static int write_turns(const struct place *place, int n)
{
    char agent[16];
    struct err err = ERR_INIT;

    (void)snprintf(agent, sizeof agent, "%d", n);
    _cleanup_store_ struct store *store = opened(place, agent);
    if (store == NULL)
        return 1;
    int64_t query = query_of(store);
    for (int i = 0; i < TURNS; i++) {
        int64_t prompt = add(store, query, ROLE_USER, MESSAGE_OPEN, "p", 0);
        int64_t answer = add(store, query, ROLE_AGENT, MESSAGE_OPEN, "", prompt);
        for (int c = 0; c < CHUNKS; c++)
            WELL(store_append(store, answer, "x", 1, &err));
        WELL(store_end_turn(store, query, prompt, "end_turn", MESSAGE_DONE, NULL, &err));
    }
    return unit_failures;
}

static bool whole(const struct store_item *item, void *arg)
{
    (void)arg;
    if (item->role == ROLE_AGENT && item->state == MESSAGE_DONE)
        CHECK_INT(item->len, CHUNKS);
    return true;
}

static int read_much(const struct place *place)
{
    struct store_filter newest = {.newest = true, .limit = 50};

    for (int i = 0; i < 60; i++) {
        struct store *store = NULL;
        struct err err = ERR_INIT;
        if (store_open(place->dir, SESSION, NULL, false, &store, &err) == -1) {
            if (err.code != MAS_NOT_FOUND) /* not made yet */
                WELL(-1);
            (void)usleep(1000);
            continue;
        }
        WELL(store_read(store, &newest, whole, NULL, &err));
        store_close(store);
    }
    return unit_failures;
}

TEST(thirteen_writers_and_five_readers_are_never_refused)
{
    _cleanup_place_ struct place place = place_make();
    pid_t pids[WRITERS + READERS];
    struct err err = ERR_INIT;
    int64_t count = 0;

    for (int i = 0; i < WRITERS + READERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            int failures = i < WRITERS ? write_turns(&place, i) : read_much(&place);
            (void)fflush(stdout);
            _exit(failures > 0);
        }
    }
    for (int i = 0; i < WRITERS + READERS; i++) {
        int status = -1;
        CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_INT(status, 0);
    }
    _cleanup_store_ struct store *store = opened(&place, NULL);
    REQUIRE(store != NULL);
    WELL(store_count(store, &(struct store_filter){.roles = 0}, &count, &err));
    CHECK_INT(count, WRITERS * TURNS * 2);
    WELL(store_check(store, &err));
}

TEST(who_waits_does_so_as_long_as_somebody_writes)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *writer = opened(&place, "10");
    _cleanup_db_ struct db *db = NULL;
    struct db_wait wait;
    struct err err = ERR_INIT;
    const int64_t began = 1000;

    MUST(db_open(place.dir, STORE_FILE, DB_WRITE, &db, &err));
    db_wait_begin(db, &wait, began);
    CHECK(db_wait_on(db, &wait, began + DB_BUSY_MS - 1));
    add(writer, query_of(writer), ROLE_USER, MESSAGE_OPEN, "p", 0);
    CHECK(db_wait_on(db, &wait, began + DB_BUSY_MS));
    CHECK(db_wait_on(db, &wait, began + 2 * DB_BUSY_MS - 1));
    CHECK(!db_wait_on(db, &wait, began + 2 * DB_BUSY_MS));
}

/* ---- what is not ours, and damage */

static int run_sql(const struct place *place, const char *sql)
{
    _cleanup_free_ char *path = mem_printf("%s/" STORE_FILE, place->path);
    sqlite3 *db = NULL;
    int rc = sqlite3_open(path, &db);

    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    (void)sqlite3_close(db);
    return rc;
}

static void check_damaged(const struct place *place, const char *why)
{
    struct store *store = NULL;
    struct err err = ERR_INIT;
    struct stat st;
    char *name = NULL;

    int rc = store_open(place->dir, SESSION, NULL, false, &store, &err);
    if (rc == 0)
        rc = store_check(store, &err);
    store_close(store);
    CHECK_INT(rc, -1);
    CHECK_INT(err.code, MAS_DAMAGED);
    if (why != NULL)
        CHECK_STR(err.text, why);
    MUST(store_set_aside(place->dir, &name, &err));
    REQUIRE(name != NULL);
    CHECK(str_starts(name, "memory.db.damaged-"));
    CHECK_INT(fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    free(name);
    CHECK_INT(fstatat(place->dir, STORE_FILE, &st, AT_SYMLINK_NOFOLLOW), -1);
    CHECK_INT(fstatat(place->dir, STORE_FILE "-wal", &st, AT_SYMLINK_NOFOLLOW), -1);
    store = opened(place, "10");
    CHECK(store != NULL);
    store_close(store);
    /* Once more: the new one is sound and stays. */
    MUST(store_set_aside(place->dir, &name, &err));
    CHECK_STR(name, NULL);
}

static void fill(const struct place *place)
{
    struct store *store = opened(place, "10");
    char text[300];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    int64_t query = query_of(store);
    for (int i = 0; i < 60; i++)
        (void)turn(store, query, "p", text);
    store_close(store);
}

/* Overwrites a part of a file of the workspace. */
static void scribble(const struct place *place, const char *name, off_t at, size_t len)
{
    _cleanup_free_ char *bytes = mem_alloc(len);
    _cleanup_close_ int fd = openat(place->dir, name, O_WRONLY | O_CREAT, 0600);

    memset(bytes, 0xA5, len);
    CHECK_INT(pwrite(fd, bytes, len, at), (ssize_t)len);
}

static off_t size_of(const struct place *place, const char *name)
{
    struct stat st = {.st_size = -1};

    CHECK_INT(fstatat(place->dir, name, &st, 0), 0);
    return st.st_size;
}

TEST(damage_is_found_on_every_page)
{
    _cleanup_place_ struct place place = place_make();

    fill(&place);
    off_t size = size_of(&place, STORE_FILE);
    CHECK(size >= 10 * 4096);
    for (off_t at = 0; at < size; at += 3 * 4096) {
        (void)unlinkat(place.dir, STORE_FILE, 0);
        fill(&place);
        scribble(&place, STORE_FILE, at, 200);
        check_damaged(&place, NULL);
    }
    fill(&place);
    CHECK_INT(truncate(place.path, 0), -1); /* a directory */
    _cleanup_close_ int fd = openat(place.dir, STORE_FILE, O_WRONLY);
    CHECK_INT(ftruncate(fd, size / 2), 0);
    check_damaged(&place, NULL);
}

TEST(what_is_no_database_is_refused)
{
    _cleanup_place_ struct place place = place_make();

    scribble(&place, STORE_FILE, 0, 5000);
    check_damaged(&place, "cannot read 'memory.db': it is not a database");
    (void)unlinkat(place.dir, STORE_FILE, 0);
    scribble(&place, STORE_FILE "-wal", 0, 5000);
    CHECK_INT(mknodat(place.dir, STORE_FILE, S_IFREG | 0600, 0), 0);
    check_damaged(&place, "cannot open 'memory.db': it is empty, but its log is not");
    (void)unlinkat(place.dir, STORE_FILE, 0);
    CHECK_INT(symlinkat("/etc/passwd", place.dir, STORE_FILE), 0);
    check_damaged(&place, "cannot open 'memory.db': it is a symbolic link");
    (void)unlinkat(place.dir, STORE_FILE, 0);
    CHECK_INT(mkfifoat(place.dir, STORE_FILE, 0600), 0);
    check_damaged(&place, "cannot open 'memory.db': it is a FIFO");
    CHECK_INT(symlinkat("/nowhere/x", place.dir, STORE_FILE "-wal"), 0);
    check_damaged(&place, "cannot open 'memory.db-wal': it is a symbolic link");
}

TEST(what_mas_did_not_make_is_refused)
{
    static const char *const hostile[] = {
        "CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM message; END",
        "CREATE VIEW v AS SELECT * FROM message",
        "DROP INDEX message_query; CREATE INDEX message_query ON message (abs(query))",
        ("DROP TABLE rung; CREATE VIEW rung AS SELECT 'x 1' AS program, 'load' AS rung, "
         "9 AS failures"),
        "CREATE VIRTUAL TABLE f USING fts5(x)",
        "ALTER TABLE message ADD COLUMN g TEXT AS (upper(text))",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 0",
    };
    _cleanup_place_ struct place place = place_make();

    CHECK_INT(run_sql(&place, "CREATE TABLE message (id)"), SQLITE_OK);
    check_damaged(&place, "cannot use 'memory.db': it was not created by mas");
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        fill(&place);
        CHECK_INT(run_sql(&place, hostile[i]), SQLITE_OK);
        check_damaged(&place, NULL);
    }
}

TEST(what_a_newer_mas_wrote_is_refused_and_stays)
{
    _cleanup_place_ struct place place = place_make();
    struct store *store = NULL;
    struct err err = ERR_INIT;
    char *name = NULL;

    fill(&place);
    CHECK_INT(run_sql(&place, "CREATE TABLE later (x); PRAGMA user_version = 3"), SQLITE_OK);
    for (int write = 0; write <= 1; write++) {
        err = (struct err)ERR_INIT;
        CHECK_INT(store_open(place.dir, SESSION, "10", write == 1, &store, &err), -1);
        CHECK_INT(err.code, MAS_FAILED);
        CHECK_STR(err.text, "cannot use 'memory.db': a newer version of mas wrote it");
    }
    CHECK_INT(store_set_aside(place.dir, &name, &err), -1);
    CHECK_STR(name, NULL);
}

TEST(wrong_values_are_damage_where_they_are_read)
{
    static const char *const hostile[] = {
        "PRAGMA ignore_check_constraints = 1; UPDATE message SET role = 99",
        "PRAGMA ignore_check_constraints = 1; UPDATE message SET state = -1",
        "UPDATE conversation SET uuid = '../../../../../../../../../../../../'",
        "UPDATE message SET agent = char(27) || '[2J'",
        "UPDATE conversation SET agent = 'a b'; UPDATE message SET agent = 'a b'",
    };
    struct store_filter all = {.agent = NULL};

    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        _cleanup_place_ struct place place = place_make();
        struct err err = ERR_INIT;
        struct str rows = STR_INIT;
        fill(&place);
        CHECK_INT(run_sql(&place, hostile[i]), SQLITE_OK);
        _cleanup_store_ struct store *store = opened(&place, NULL);
        REQUIRE(store != NULL);
        CHECK_INT(store_read(store, &all, add_row, &rows, &err), -1);
        CHECK_INT(err.code, MAS_DAMAGED);
        CHECK_INT(rows.len, 0);
        str_free(&rows);
        store_close(store);
        store = NULL;
        check_damaged(&place, NULL); /* doctor finds it as well */
    }
}

TEST(a_torn_log_loses_only_its_end)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    long bytes = 0;
    struct store_filter answer = {.roles = 1u << ROLE_AGENT};

    long told = kill_after(&place, 100);
    off_t size = size_of(&place, STORE_FILE "-wal");
    _cleanup_close_ int fd = openat(place.dir, STORE_FILE "-wal", O_WRONLY);
    CHECK_INT(ftruncate(fd, size - 5000), 0);
    _cleanup_store_ struct store *store = opened(&place, "10");
    REQUIRE(store != NULL);
    WELL(store_check(store, &err));
    WELL(store_read(store, &answer, last_of_agent, &bytes, &err));
    CHECK(bytes > told * 10 - 50 && bytes < (told + 1) * 10);
}

TEST(a_writer_leaves_alone_what_was_set_aside)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    struct store *old = opened(&place, "10");
    int64_t number;

    REQUIRE(old != NULL);
    int64_t query = query_of(old);
    CHECK_INT(renameat(place.dir, STORE_FILE, place.dir, "x"), 0);
    CHECK_INT(renameat(place.dir, STORE_FILE "-wal", place.dir, "x-wal"), 0);
    _cleanup_store_ struct store *new = opened(&place, "11");
    REQUIRE(new != NULL);
    (void)turn(new, query_of(new), "a", "b");
    struct store_message message = {.role = ROLE_USER};
    CHECK_INT(store_add(old, query, &message, SYNC_FULL, &number, &err), -1);
    CHECK_STR(err.text, "cannot write to 'memory.db': it was set aside");
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_INT(store_end_turn(old, query, 1, "x", MESSAGE_DONE, NULL, &err), -1);
    store_close(old);
    CHECK(size_of(&place, STORE_FILE "-wal") > 0);
    check_rows(new, &(struct store_filter){.agent = NULL}, "11 user done a\n11 agent done b\n");
}
