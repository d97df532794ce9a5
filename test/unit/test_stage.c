/* How workspaces get into sessions/ and leave it, what they take on disk, and their locks. */
#include "root.h"

#include "gap.h"

#include "store/limits/session_limits.h"
#include "store/limits/session_quota.h"
#include "store/snapshot.h"
#include "store/stage.h"
#include "store/team_file.h"
#include "store/usage.h"

#define AGENT(id) "[agent " id "]\nrole = r\nrank = worker\ngroup = g\ncommand = true\n"
#define TEAM AGENT("a") AGENT("b") "[window w]\nagents = a, b\n"

/* Makes a template t with two agents. */
static bool put_template(const struct place *place)
{
    static const char *const dirs[] = {"templates",
                                       "templates/t",
                                       "templates/t/unit",
                                       "templates/t/unit/a",
                                       "templates/t/unit/b",
                                       "templates/t/unit/common",
                                       "templates/t/workflows"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        if (!CHECK(mkdirat(place->dir, dirs[i], 0755) == 0))
            return false;
    return place_put(place->dir, "templates/t/template.ini", TEAM) &&
           place_put(place->dir, "templates/t/unit/a/file", "of a") &&
           place_put(place->dir, "templates/t/unit/common/file", "of all") &&
           place_put(place->dir, "templates/t/workflows/w.md", "flow");
}

static bool exists(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A root with a template and its configuration. */
#define A_HOUSE(ini)                                                                               \
    _cleanup_config_ struct config config = CONFIG_INIT;                                           \
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;                                       \
    A_ROOT;                                                                                        \
    root_clear_env(&place);                                                                        \
    REQUIRE(put_template(&place) && place_put(place.dir, ROOT_SETTINGS, ini));                     \
    MUST(config_load(&root, false, &config, NULL, &err));                                          \
    MUST(template_open(&root, "t", &tmpl, &err))

static int stage(const struct root *root, const struct config *config,
                 const struct session *session, const struct template *tmpl, struct stage *ret,
                 struct err *err)
{
    return workspace_stage(root, config, session, tmpl, SESSION_QUOTA_NONE, NULL, NULL, ret, err);
}

TEST(a_new_workspace_is_whole_and_durable_before_it_has_its_name)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_session_ struct session session = root_session(ID(1), "mas-x", "x");
    _cleanup_session_ struct session read = SESSION_INIT;
    struct stage made = STAGE_INIT;
    struct stat st;
    A_HOUSE("");

    trace_begin();
    MUST(stage(&root, &config, &session, &tmpl, &made, &err));
    CHECK(strstr(trace_end(), "syncfs DIR") != NULL);
    CHECK(!exists(root.sessions, ID(1)));
    CHECK(workspace_is_locked(made.dir));
    _cleanup_free_ char *path = workspace_stage_path(&root, &made);
    CHECK(str_ends(path, "/sessions/.new-" ID(1)));
    CHECK_INT(workspace_sweep(&root, false, NULL, NULL), 0); /* it is held */
    trace_begin();
    MUST(workspace_place(&root, &made, &err));
    CHECK_STR(trace_end(), "fsync DIR");
    CHECK(made.placed && exists(root.sessions, ID(1)) && !exists(root.sessions, ".new-" ID(1)));
    CHECK(workspace_is_locked(made.dir)); /* still */
    workspace_release(&made);
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    CHECK(!workspace_is_locked(dir));
    CHECK(exists(dir, "unit/a/file") && exists(dir, "unit/b") && exists(dir, "unit/common/file") &&
          exists(dir, "workflows/w.md"));
    CHECK(fstatat(dir, "run", &st, 0) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(fstatat(dir, "logs", &st, 0) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(fstatat(dir, ".session", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(fstatat(dir, "config.json", &st, 0) == 0 && (st.st_mode & 0777) == 0600);
    MUST(team_file_load(dir, &team, &err));
    CHECK(team.agent_count == 2 && team_agent(&team, "a") != NULL &&
          team_agent(&team, "b") != NULL);
    _cleanup_free_ char *name = team_file_template(dir);
    CHECK_STR(name, "t");
    MUST(session_load(&root, dir, ID(1), &read, &err));
    CHECK_STR(read.name, "x");
}

TEST(what_is_there_is_not_replaced)
{
    _cleanup_session_ struct session session = root_session(ID(1), "mas-x", "x");
    struct stage made = STAGE_INIT;
    struct stage other = STAGE_INIT;
    A_HOUSE("");

    REQUIRE(root_put_session(&root, ID(1), "mine"));
    MUST(stage(&root, &config, &session, &tmpl, &made, &err));
    CHECK_INT(stage(&root, &config, &session, &tmpl, &other, &err), -1); /* at the same time */
    CHECK_INT(err.code, MAS_CONFLICT);
    err = (struct err)ERR_INIT;
    CHECK_INT(workspace_place(&root, &made, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(!made.placed);
    workspace_discard(&root, &made);
    workspace_release(&made);
    CHECK(!exists(root.sessions, ".new-" ID(1)) && exists(root.sessions, ID(1) "/.session"));

    /* what a killed command left is put away */
    CHECK(mkdirat(root.sessions, ".new-" ID(1), 0700) == 0);
    CHECK(mkdirat(root.sessions, ".new-" ID(1) "/left", 0700) == 0);
    err = (struct err)ERR_INIT;
    MUST(workspace_stage_empty(&root, ID(1), "test", &made, &err));
    CHECK(!exists(made.dir, "left") && workspace_is_locked(made.dir));
    CHECK(mkdirat(root.sessions, ".new-" ID(2), 0700) == 0);
    CHECK(mkdirat(root.sessions, ".new-" ID(2) "/left", 0700) == 0);
    MUST(workspace_stage_rename(&root, &made, ID(2), &err));
    CHECK_STR(made.id, ID(2));
    CHECK(!exists(root.sessions, ".new-" ID(1)) && !exists(root.sessions, ".new-" ID(2) "/left"));
    MUST(workspace_stage_empty(&root, ID(3), "test", &other, &err));
    CHECK_INT(workspace_stage_rename(&root, &made, ID(3), &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_STR(made.id, ID(2));
    workspace_discard(&root, &made);
    workspace_discard(&root, &other);
    CHECK(!exists(root.sessions, ".new-" ID(2)) && !exists(root.sessions, ".new-" ID(3)));
    workspace_release(&made);
    workspace_release(&other);
}

/* A template without the directory of an agent makes no workspace and leaves nothing. */
TEST(a_workspace_that_cannot_be_made_leaves_nothing)
{
    _cleanup_session_ struct session session = root_session(ID(1), "mas-x", "x");
    struct stage made = STAGE_INIT;
    A_HOUSE("");

    CHECK(unlinkat(place.dir, "templates/t/unit/b", AT_REMOVEDIR) == 0);
    CHECK_INT(stage(&root, &config, &session, &tmpl, &made, &err), -1);
    CHECK(!exists(root.sessions, ".new-" ID(1)) && made.dir == -1);
    CHECK(renameat(place.dir, "templates/t/unit", place.dir, "aside") == 0);
    CHECK_INT(stage(&root, &config, &session, &tmpl, &made, &err), -1);
    CHECK(!exists(root.sessions, ".new-" ID(1)));
    CHECK(renameat(place.dir, "aside", place.dir, "templates/t/unit") == 0);
    CHECK(mkdirat(place.dir, "templates/t/unit/b", 0755) == 0);
    CHECK(unlinkat(place.dir, "templates/t/workflows/w.md", 0) == 0 &&
          unlinkat(place.dir, "templates/t/workflows", AT_REMOVEDIR) == 0);
    err = (struct err)ERR_INIT;
    MUST(stage(&root, &config, &session, &tmpl, &made, &err)); /* which need not be */
    CHECK(exists(made.dir, "workflows"));
    workspace_discard(&root, &made);
    workspace_release(&made);
}

static bool no_snapshots(const struct root *root)
{
    _cleanup_close_ int snapshots = path_open_dir(root->sessions, SNAPSHOTS_DIR);
    _cleanup_strv_ char **names = NULL;
    struct err err = ERR_INIT;

    return snapshots == -1 || (WELL(path_list(snapshots, &names, &err)) && names[0] == NULL);
}

TEST(a_lazy_workspace_gets_its_units_later)
{
    _cleanup_session_ struct session session = root_session(ID(1), "mas-x", "x");
    struct stage made = STAGE_INIT;
    A_HOUSE("[workspace]\nlazy = yes\n");

    MUST(stage(&root, &config, &session, &tmpl, &made, &err));
    MUST(workspace_place(&root, &made, &err));
    CHECK(!exists(made.dir, "unit/a") && !exists(made.dir, "unit/b"));
    CHECK(exists(made.dir, "unit/common/file") && snapshot_is_held(made.dir));
    CHECK_INT(snapshot_look(&root, made.dir, &tmpl.team), SNAPSHOT_GOOD);
    CHECK_INT(snapshot_collect(&root, false, NULL, NULL), 0);
    MUST(snapshot_make_unit(&root, made.dir, &tmpl.team, "a", &(struct snapshot_way){.link = false},
                            &err));
    CHECK(exists(made.dir, "unit/a/file") && !exists(made.dir, "unit/b"));
    CHECK(snapshot_is_held(made.dir)); /* the last one lacks */
    CHECK_INT(snapshot_collect(&root, false, NULL, NULL), 0);
    MUST(workspace_complete(&root, made.dir, &err));
    CHECK(exists(made.dir, "unit/b") && !snapshot_is_held(made.dir));
    CHECK_INT(snapshot_look(&root, made.dir, &tmpl.team), SNAPSHOT_NONE);
    CHECK(no_snapshots(&root)); /* nobody else needs it */
    MUST(workspace_complete(&root, made.dir, &err));
    workspace_release(&made);
}

/* The snapshot of a session goes with the last session that needs it. */
TEST(a_snapshot_stays_while_one_of_several_needs_it)
{
    static const char *const ids[] = {ID(1), ID(2), ID(3)};
    A_HOUSE("[workspace]\nlazy = yes\n");

    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        _cleanup_session_ struct session session = root_session(ids[i], "mas-x", "x");
        struct stage made = STAGE_INIT;
        MUST(stage(&root, &config, &session, &tmpl, &made, &err));
        if (i < 2) /* the third is still being made */
            MUST(workspace_place(&root, &made, &err));
        /* links may be lost with a copy of the root */
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        MUST(file_read(made.dir, WORKSPACE_SNAPSHOT, 1000, &text, &len, &err));
        CHECK(place_write(made.dir, WORKSPACE_SNAPSHOT, text, len));
        if (i == 2) {
            for (size_t j = 0; j < 2; j++) {
                CHECK_INT(workspace_trash(&root, ids[j], &err), 0);
                MUST(workspace_empty_trash(&root, ids[j], &err));
                CHECK(!exists(root.sessions, ids[j]));
                CHECK_INT(snapshot_look(&root, made.dir, &tmpl.team), SNAPSHOT_GOOD);
            }
            workspace_discard(&root, &made);
        }
        workspace_release(&made);
    }
    CHECK(no_snapshots(&root));
}

/* ---- removing */

TEST(a_session_leaves_at_once_and_again)
{
    char name[TRASH_NAME];
    A_ROOT;

    workspace_trash_name(ID(1), name);
    CHECK_STR(name, ".trash-" ID(1));
    for (int i = 0; i < 2; i++) { /* the second time, with what a kill has left of the first */
        REQUIRE(root_put_session(&root, ID(1), "x"));
        trace_begin();
        CHECK_INT(workspace_trash(&root, ID(1), &err), 0);
        CHECK(str_ends(trace_end(), "fsync DIR"));
        CHECK(!exists(root.sessions, ID(1)) && exists(root.sessions, ".trash-" ID(1) "/.session"));
    }
    MUST(workspace_empty_trash(&root, ID(1), &err));
    CHECK(!exists(root.sessions, ".trash-" ID(1)));
    CHECK_INT(workspace_trash(&root, ID(1), &err), -1); /* it is gone */
}

static void count_name(const char *name, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s\n", name);
}

TEST(what_killed_commands_left_goes_and_nothing_else)
{
    static const char *const stale[] = {".new-" ID(1), ".trash-" ID(2)};
    static const char *const kept[] = {ID(3), ".new-x", ".trash-", ".newer-" ID(4), ".new-" ID(5)};
    _cleanup_str_ struct str told = STR_INIT;
    _cleanup_close_ int lock = -1;
    A_ROOT;

    for (size_t i = 0; i < ARRAY_LEN(stale); i++)
        CHECK(mkdirat(root.sessions, stale[i], 0700) == 0);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        CHECK(mkdirat(root.sessions, kept[i], 0700) == 0);
    CHECK(symlinkat("nowhere", root.sessions, ".trash-" ID(6)) == 0);
    CHECK(mkdirat(root.fd, ".new-" ID(7), 0700) == 0);
    _cleanup_close_ int held = path_open_dir(root.sessions, ".new-" ID(5));
    MUST(workspace_lock(held, LOCK_TRY, "test", &lock, &err));
    CHECK_INT(workspace_sweep(&root, true, count_name, &told), 4);
    CHECK(exists(root.sessions, stale[0]) && exists(root.fd, ".new-" ID(7)));
    CHECK(strstr(told.data, stale[0]) != NULL && strstr(told.data, stale[1]) != NULL &&
          strstr(told.data, ".new-" ID(7)) != NULL && strstr(told.data, ".trash-" ID(6)) != NULL);
    CHECK_INT(workspace_sweep(&root, false, NULL, NULL), 4);
    for (size_t i = 0; i < ARRAY_LEN(stale); i++)
        CHECK(!exists(root.sessions, stale[i]));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        CHECK(exists(root.sessions, kept[i]));
    CHECK(!exists(root.fd, ".new-" ID(7)) && !exists(root.sessions, ".trash-" ID(6)));
    fd_closep(&lock);
    CHECK_INT(workspace_sweep(&root, false, NULL, NULL), 1);
    CHECK(!exists(root.sessions, kept[4]));
}

/* ---- locks and times */

TEST(what_cannot_be_a_lock_is_removed_and_a_held_one_is_not)
{
    _cleanup_close_ int lock = -1;
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), "x"));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    CHECK_STR(workspace_lock_fault(dir), NULL);
    CHECK(!workspace_is_locked(dir));
    CHECK(mkdirat(dir, WORKSPACE_LOCK, 0700) == 0);
    CHECK_STR(workspace_lock_fault(dir), "a directory");
    CHECK_INT(workspace_lock(dir, LOCK_TRY, "test", &lock, &err), -1);
    CHECK(strstr(err.hint, "doctor --fix") != NULL);
    err = (struct err)ERR_INIT;
    MUST(workspace_clear_lock(&root, dir, &err));
    CHECK(symlinkat("nowhere", dir, WORKSPACE_LOCK) == 0);
    CHECK(workspace_lock_fault(dir) != NULL);
    MUST(workspace_clear_lock(&root, dir, &err));
    CHECK(!exists(dir, WORKSPACE_LOCK));
    MUST(workspace_lock(dir, LOCK_TRY, "test", &lock, &err));
    CHECK(workspace_is_locked(dir));
    MUST(workspace_clear_lock(&root, dir, &err)); /* nothing is wrong with it */
    CHECK(exists(dir, WORKSPACE_LOCK));
    CHECK(linkat(dir, WORKSPACE_LOCK, dir, "other", 0) == 0);
    CHECK_STR(workspace_lock_fault(dir), "a file with several names");
    CHECK_INT(workspace_clear_lock(&root, dir, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(exists(dir, WORKSPACE_LOCK));
    fd_closep(&lock);
    err = (struct err)ERR_INIT;
    MUST(workspace_clear_lock(&root, dir, &err));
    CHECK(!exists(dir, WORKSPACE_LOCK));
}

TEST(activity_is_the_newest_of_logs_and_conversations)
{
    static const struct {
        const char *name;
        time_t when, want;
    } writes[] = {
        {"logs/session.log", 5000, 0},  {"logs/agent-b.log", 100, 100},
        {"memory.db", 200, 200},        {"memory.db-wal", 300, 300},
        {"logs/agent-a.log", 400, 400}, {"logs/agent-c.log", 350, 400},
        {"config.json", 9000, 400},
    };
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), "x"));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    CHECK_INT(workspace_activity(dir), 0);
    CHECK(mkdirat(dir, "logs", 0700) == 0);
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        const struct timespec times[] = {{.tv_sec = writes[i].when}, {.tv_sec = writes[i].when}};
        CHECK(place_put(dir, writes[i].name, "x") && utimensat(dir, writes[i].name, times, 0) == 0);
        CHECK_INT(workspace_activity(dir), writes[i].want);
    }
}

TEST(hosts_have_a_minute_to_read_what_they_get)
{
    time_t now = time(NULL);
    A_ROOT;

    CHECK(workspace_env_is_recent(now) && workspace_env_is_recent(now - 50) &&
          workspace_env_is_recent(now + 50));
    CHECK(!workspace_env_is_recent(now - 61) && !workspace_env_is_recent(now + 62));
    REQUIRE(root_put_session(&root, ID(1), "x"));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    CHECK(!workspace_env_waits(dir));
    CHECK(mkdirat(dir, "run", 0700) == 0 && place_put(dir, "run/env", ""));
    CHECK(workspace_env_waits(dir));
    const struct timespec old[] = {{.tv_sec = now - 61}, {.tv_sec = now - 61}};
    CHECK(utimensat(dir, "run/env", old, 0) == 0 && !workspace_env_waits(dir));
}

TEST(a_root_that_was_moved_is_known_again)
{
    A_ROOT;

    _cleanup_free_ char *gone = mem_printf("%s/gone", place.path);
    REQUIRE(root_put_session(&root, ID(1), "x"));
    CHECK(workspace_is_ours(&root, ID(1), root.path) && workspace_is_ours(&root, ID(2), root.path));
    CHECK(workspace_is_ours(&root, ID(1), gone) && !workspace_is_ours(&root, ID(2), gone));
    CHECK(!workspace_is_ours(&root, ID(1), "gone"));
    CHECK(mkdir(gone, 0700) == 0);
    _cleanup_close_ int there = path_open_dir(AT_FDCWD, gone);
    CHECK(workspace_is_ours(&root, ID(1), gone));
    CHECK(place_put(there, ROOT_SETTINGS, ""));
    CHECK(!workspace_is_ours(&root, ID(1), gone)); /* another root */
}

TEST(a_legacy_session_works_in_the_root)
{
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), "x"));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    _cleanup_free_ char *own = placement_path(&root, ID(1), MODE_ISOLATED, "unit/a");
    _cleanup_free_ char *shared = placement_path(&root, ID(1), MODE_LEGACY, "unit/a");
    CHECK(str_starts(own, root.path) && str_ends(own, "/sessions/" ID(1) "/unit/a"));
    CHECK(str_starts(shared, root.path) && strlen(shared) == strlen(root.path) + strlen("/unit/a"));
    CHECK_INT(placement_dir(&root, dir, MODE_ISOLATED), dir);
    CHECK_INT(placement_dir(&root, dir, MODE_LEGACY), root.fd);
    CHECK_INT(placement_detect(dir), MODE_ISOLATED); /* nothing says that it has a team */
    CHECK(place_put(dir, "config.json", "{}"));
    CHECK_INT(placement_detect(dir), MODE_LEGACY);
    CHECK_INT(placement_open(&root, dir, MODE_LEGACY, "unit"), -1);
    CHECK(mkdirat(root.fd, "unit", 0700) == 0);
    _cleanup_close_ int unit = placement_open(&root, dir, MODE_LEGACY, "unit");
    CHECK(unit != -1 && placement_open(&root, dir, MODE_ISOLATED, "unit") == -1);
    CHECK(symlinkat("nowhere", dir, "unit") == 0);
    CHECK_INT(placement_detect(dir), MODE_ISOLATED);
}

/* ---- disk use */

/* Writes a file of some blocks of 64 KiB. */
static bool put_blocks(int dir, const char *path, size_t blocks)
{
    _cleanup_free_ char *bytes = mem_alloc(blocks << 16);
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(dir, path, 0755, &name);

    memset(bytes, 'x', blocks << 16);
    return CHECK(above != -1) && place_write(above, name, bytes, blocks << 16);
}

/* How many blocks that is, without what directories take. */
static int blocks(uint64_t bytes)
{
    return (int)(bytes >> 16);
}

TEST(the_parts_of_a_session_are_measured_one_by_one)
{
    static const struct {
        const char *path;
        size_t blocks;
    } files[] = {
        {"unit/a/1", 1},    {"unit/a/2", 1},    {"unit/b/1", 3},  {"unit/common", 4},
        {"workflows/w", 5}, {"logs/l", 6},      {"memory.db", 7}, {"memory.db-wal", 1},
        {"code/a/f", 9},    {"code.git/o", 10}, {"home/a/h", 11}, {"other", 12},
    };
    struct usage usages[2] = {USAGE_INIT, USAGE_INIT};
    struct usage total = USAGE_INIT;
    const struct usage_options options[] = {{ID(1), MODE_ISOLATED}, {ID(2), MODE_ISOLATED}};
    struct usage *usage = &usages[0];
    size_t sum = 0;
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), "") && root_put_session(&root, ID(2), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    _cleanup_close_ int second = workspace_open(&root, ID(2));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        REQUIRE(put_blocks(dir, files[i].path, files[i].blocks));
        sum += files[i].blocks;
    }
    REQUIRE(put_blocks(second, "own", 2));
    CHECK(linkat(dir, "other", second, "other", 0) == 0); /* 12 blocks of both */
    usage_measure(&root, options, 2, usages, &total);
    REQUIRE(CHECK(usage->unit_count == 2));
    CHECK_STR(usage->units[0].agent, "a");
    CHECK_STR(usage->units[1].agent, "b");
    CHECK_INT(blocks(usage->units[0].size.real), 2);
    CHECK_INT(blocks(usage->units[1].size.real), 3);
    CHECK_INT(blocks(usage->parts[USAGE_WORKFLOWS].real), 5);
    CHECK_INT(blocks(usage->parts[USAGE_LOGS].real), 6);
    CHECK_INT(blocks(usage->parts[USAGE_MEMORY].real), 8);
    CHECK_INT(blocks(usage->parts[USAGE_CODE].real), 19);
    CHECK_INT(blocks(usage->parts[USAGE_OTHER].real), 27);
    CHECK_INT(blocks(usage->all.real), sum);
    CHECK_INT(blocks(usage->own), sum - 12);
    CHECK_INT(blocks(usages[1].all.real), 14);
    CHECK_INT(blocks(usages[1].own), 2);
    CHECK_INT(blocks(total.all.real), sum + 2);
    CHECK_INT(blocks(total.own), sum + 2);
    uint64_t parts = 0;
    for (size_t i = 0; i < USAGE_PARTS; i++)
        parts += usage->parts[i].real;
    for (size_t i = 0; i < usage->unit_count; i++)
        parts += usage->units[i].size.real;
    CHECK_INT(parts, usage->all.real);
    CHECK_INT(usage->all.skipped, 0);
    _cleanup_free_ char *over = usage_over(usage->all.real - 1, usage);
    CHECK(over != NULL && strstr(over, "limits.session") != NULL);
    CHECK_STR(usage_over(usage->all.real, usage), NULL);
    CHECK_STR(usage_over(0, usage), NULL);
    usage_free(&usages[0]);
    usage_free(&usages[1]);
}

static void note_over(const char *subject, const char *what, void *arg)
{
    CHECK(what[0] != '\0');
    str_addf(arg, "%.*s ", (int)strlen(ID(1)), subject);
}

/* Of several sessions those are named that exceed their own limits, whoever stands beside them. */
TEST(a_session_over_its_limit_is_named)
{
    static const int64_t limits[] = {0, 1, 1 << 20, -1, 1, 0}; /* of ID(1) ... */
    struct usage_options options[ARRAY_LEN(limits)];
    char ids[ARRAY_LEN(limits)][ID_TEXT];
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_str_ struct str named = STR_INIT;
    A_ROOT;

    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        memcpy(ids[i], ID(0), ID_TEXT);
        ids[i][ID_TEXT - 2] = (char)('1' + i);
        options[i] = (struct usage_options){ids[i], MODE_ISOLATED};
        REQUIRE(root_put_session(&root, ids[i], ""));
        _cleanup_close_ int dir = workspace_open(&root, ids[i]);
        REQUIRE(put_blocks(dir, "f", 2));
        if (limits[i] != 0)
            MUST(session_limits_set(&root, dir, NULL, LIMIT_SESSION, limits[i], 0, &err));
    }
    MUST(config_load(&root, false, &config, NULL, &err));
    usage_find_over(&root, &config, options, ARRAY_LEN(limits), note_over, &named);
    CHECK_STR(str_text(&named), ID(2) " " ID(5) " ");
}

TEST(a_session_that_is_gone_is_none_and_a_legacy_one_has_what_is_in_the_root)
{
    struct usage usages[2] = {USAGE_INIT, USAGE_INIT};
    struct usage total = USAGE_INIT;
    const struct usage_options options[] = {{ID(1), MODE_ISOLATED}, {ID(2), MODE_LEGACY}};
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(2), ""));
    REQUIRE(put_blocks(root.fd, "unit/a/f", 1) && put_blocks(root.fd, "workflows/w", 2) &&
            put_blocks(root.fd, "mine", 4));
    usage_measure(&root, options, 2, usages, &total);
    CHECK_INT(usages[0].all.real + usages[0].all.skipped, 0);
    REQUIRE(CHECK(usages[1].unit_count == 1));
    CHECK_INT(blocks(usages[1].units[0].size.real), 1);
    CHECK_INT(blocks(usages[1].parts[USAGE_WORKFLOWS].real), 2);
    CHECK_INT(blocks(usages[1].all.real), 3);
    CHECK_INT(blocks(usages[1].own), 0); /* it outlives the session */
    usage_free(&usages[1]);
    CHECK(place_put(root.sessions, ID(3), "")); /* no directory */
    const struct usage_options file = {ID(3), MODE_ISOLATED};
    usage_measure(&root, &file, 1, usages, &total);
    CHECK(usages[0].all.skipped == 1 && total.all.skipped == 1);
}

/* What several agents share counts for each of them and once for the session. */
TEST(agents_are_measured_by_their_directories)
{
    struct usage_agent agents[] = {{.id = "a"}, {.id = "b"}, {.id = "none"}};
    uint64_t session = 0;
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    REQUIRE(put_blocks(dir, "unit/a/f", 1) && put_blocks(dir, "code/a/f", 2) &&
            put_blocks(dir, "home/a/f", 4) && put_blocks(dir, "unit/b/f", 8) &&
            put_blocks(dir, "unit/x", 16) && put_blocks(dir, "code/view/f", 32) &&
            put_blocks(dir, "home/x/f", 64) && put_blocks(dir, "code.git/o", 128) &&
            put_blocks(root.fd, "unit/a/f", 256));
    CHECK(linkat(dir, "home/a/f", dir, "unit/b/same", 0) == 0);
    usage_measure_agents(&root, dir, MODE_ISOLATED, agents, 3, &session);
    CHECK_INT(blocks(agents[0].used), 7);
    CHECK_INT(blocks(agents[1].used), 12);
    CHECK_INT(agents[2].used, 0);
    CHECK_INT(blocks(session), 255);
    usage_measure_agents(&root, dir, MODE_LEGACY, agents, 1, &session);
    CHECK_INT(blocks(agents[0].used), 256 + 6);
}

static void add_finding(const char *subject, const char *what, void *arg)
{
    struct str *to = arg;

    str_addf(to, "%s%s\n", subject, strstr(what, "limits.free") != NULL ? " free" : "");
}

TEST(who_exceeds_a_limit_is_told)
{
    const struct usage_options options[] = {
        {ID(1), MODE_ISOLATED}, {ID(2), MODE_ISOLATED}, {ID(3), MODE_ISOLATED}};
    _cleanup_str_ struct str told = STR_INIT;
    A_HOUSE("[limits]\nsession = 200K\n");

    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        REQUIRE(root_put_session(&root, options[i].id, ""));
    _cleanup_close_ int first = workspace_open(&root, ID(1));
    _cleanup_close_ int second = workspace_open(&root, ID(2));
    _cleanup_close_ int last = workspace_open(&root, ID(3));
    REQUIRE(put_blocks(first, "f", 4) && put_blocks(second, "f", 1) && put_blocks(last, "f", 4));
    usage_find_over(&root, &config, options, 3, add_finding, &told);
    CHECK_STR(str_text(&told), ID(1) "\n" ID(3) "\n");
    str_clear(&told);
    CHECK_INT(config_override(&config, SETTING_LIMIT_SESSION, "0", "--x", &err), 0);
    usage_find_over(&root, &config, options, 3, add_finding, &told);
    CHECK_STR(str_text(&told), "");
    CHECK_INT(config_override(&config, SETTING_LIMIT_FREE, "1000T", "--x", &err), 0);
    usage_find_over(&root, &config, options, 3, add_finding, &told);
    CHECK_STR(str_text(&told), "sessions free\n");
}

TEST(what_would_exceed_a_limit_is_refused)
{
    struct session_limits limits = {.all = {.of = {0}}};
    A_HOUSE("");

    MUST(usage_check_room(&root, &config, UINT64_MAX, &err)); /* no limit */
    MUST(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, &limits, &err));
    CHECK_INT(config_override(&config, SETTING_LIMIT_FREE, "1M", "--x", &err), 0);
    MUST(usage_check_room(&root, &config, 1, &err));
    CHECK_INT(usage_check_room(&root, &config, UINT64_MAX, &err), -1);
    CHECK_INT(err.code, MAS_FAILED);
    CHECK_INT(config_override(&config, SETTING_LIMIT_FREE, "1000T", "--x", &err), 0);
    CHECK_INT(usage_check_room(&root, &config, 0, &err), -1);
    CHECK_INT(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, NULL, &err), -1);
    CHECK_INT(config_override(&config, SETTING_LIMIT_FREE, "0", "--x", &err), 0);

    REQUIRE(put_blocks(tmpl.fd, "unit/b/large", 4) && put_blocks(tmpl.fd, "no/part", 100));
    CHECK_INT(config_override(&config, SETTING_LIMIT_SESSION, "1M", "--x", &err), 0);
    MUST(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, NULL, &err));
    CHECK_INT(config_override(&config, SETTING_LIMIT_SESSION, "200K", "--x", &err), 0);
    CHECK_INT(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, NULL, &err), -1);
    CHECK(strstr(err.text, "(--x)") != NULL);
    limits.all.of[LIMIT_SESSION] = 100 << 10;
    CHECK_INT(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, &limits, &err), -1);
    CHECK(strstr(err.text, "(--limit)") != NULL);
    limits.all.of[LIMIT_SESSION] = 1 << 20;
    MUST(usage_check_new(&root, &config, &tmpl, MODE_ISOLATED, &limits, &err));
    /* a legacy session copies only what the root lacks */
    CHECK(mkdirat(root.fd, "unit", 0755) == 0 && mkdirat(root.fd, "unit/a", 0755) == 0 &&
          mkdirat(root.fd, "unit/b", 0755) == 0 && mkdirat(root.fd, "workflows", 0755) == 0);
    MUST(usage_check_new(&root, &config, &tmpl, MODE_LEGACY, NULL, &err));
}
