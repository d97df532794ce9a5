/*
 * Each step of what mas writes and reads fails once (fail.h): it is told, nothing half done counts
 * as done, and what was there before is there or its successor, whole.
 */
#include "code.h"
#include "fail.h"
#include "root.h"

#include "code/setup.h"
#include "git/index.h"
#include "store/came_from.h"
#include "store/index.h"
#include "store/limits/login_limit.h"
#include "store/limits/session_limits.h"
#include "store/owner.h"
#include "store/pairing.h"
#include "store/pictures.h"
#include "store/stage.h"
#include "store/token.h"
#include "store/workspace.h"

#define GOOD(call) CHECK((call) == 0)

/* Only the steps of this call fail. */
#define STEPS(call)                                                                                \
    ({                                                                                             \
        fail_on();                                                                                 \
        int steps_rc = (call);                                                                     \
        fail_off();                                                                                \
        steps_rc;                                                                                  \
    })

struct world {
    struct place place;
    struct root root;
    int dir; /* the workspace of ID(0) */
};

static void world_free(struct world *world)
{
    fd_closep(&world->dir);
    root_close(&world->root);
    place_free(&world->place);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

static struct world world_make(void)
{
    struct world world = {.place = place_make(), .root = ROOT_INIT, .dir = -1};
    struct err err = ERR_INIT;

    root_clear_env(&world.place);
    CHECK(root_make(&world.place, &world.root));
    for (int i = 0; i < 2; i++) {
        _cleanup_session_ struct session session =
            root_session(i == 0 ? ID(0) : ID(1), i == 0 ? "t0" : "t1", i == 0 ? "zero" : "one");
        CHECK(root_save(&world.root, &session));
        _cleanup_close_ int lock = -1;
        GOOD(root_lock(&world.root, &lock, &err));
        GOOD(index_update(&world.root, session.id, &session, &err));
    }
    world.dir = workspace_open(&world.root, ID(0));
    CHECK(world.dir != -1);
    return world;
}

/* ---- .session and the index */

static int do_session_save(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_session_ struct session session = root_session(ID(0), "t0", "new");
    _cleanup_session_ struct session now = SESSION_INIT;
    struct err why = ERR_INIT;

    (void)arg;
    int rc = STEPS(session_save(&world.root, world.dir, &session, err));
    if (GOOD(session_load(&world.root, world.dir, ID(0), &now, &why)))
        CHECK(strcmp(now.name, "new") == 0 || (rc == -1 && strcmp(now.name, "zero") == 0));
    return rc;
}

static int do_session_load(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_session_ struct session session = SESSION_INIT;

    (void)arg;
    int rc = STEPS(session_load(&world.root, world.dir, ID(0), &session, err));
    if (rc == 0)
        CHECK_STR(session.name, "zero");
    return rc;
}

/* The names that the index lists. */
static void lists(const struct root *root, const char *want)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    _cleanup_str_ struct str names = STR_INIT;
    struct err err = ERR_INIT;

    if (!GOOD(index_read(root, true, &index, &err)))
        return;
    for (size_t i = 0; i < index.count; i++)
        str_addf(&names, "%s%s ", index.rows[i].name, index.rows[i].missing ? "?" : "");
    CHECK_STR(str_text(&names), want);
}

static int do_index_read(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_index_ struct index index = INDEX_INIT;

    (void)arg;
    int rc = STEPS(index_read(&world.root, true, &index, err));
    if (rc == 0)
        CHECK_INT(index.count, 2);
    return rc;
}

static int do_index_update(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_session_ struct session session = root_session(ID(1), "t1", "new");
    _cleanup_close_ int lock = -1;

    (void)arg;
    GOOD(root_lock(&world.root, &lock, err));
    CHECK(root_save(&world.root, &session));
    int rc = STEPS(index_update(&world.root, ID(1), &session, err));
    fd_closep(&lock);
    if (rc == 0)
        lists(&world.root, "zero new ");
    return rc;
}

static int do_index_remove(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    const char *const ids[] = {ID(1)};
    _cleanup_close_ int lock = -1;

    (void)arg;
    GOOD(root_lock(&world.root, &lock, err));
    CHECK(tree_remove(world.root.sessions, ID(1), err) == 0);
    int rc = STEPS(index_remove(&world.root, ids, 1, err));
    fd_closep(&lock);
    if (rc == 0)
        lists(&world.root, "zero ");
    return rc;
}

static int do_index_rebuild(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_close_ int lock = -1;

    (void)arg;
    GOOD(root_lock(&world.root, &lock, err));
    int rc = STEPS(index_rebuild(&world.root, err));
    fd_closep(&lock);
    if (fail_hit == NULL)
        lists(&world.root, "zero one ");
    return rc;
}

TEST(sessions_and_their_index)
{
    fail_each(do_session_save, NULL, "");
    fail_each(do_session_load, NULL, "");
    fail_each(do_index_read, NULL, "openat fstat read");
    fail_each(do_index_update, NULL, "fstatat openat fstat read");
    fail_each(do_index_remove, NULL, "openat fstat read");
    fail_each(do_index_rebuild, NULL, "openat fstatat fstat read");
}

/* ---- workspaces */

static int do_stage(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    struct stage stage = STAGE_INIT;

    (void)arg;
    int rc = STEPS(workspace_stage_empty(&world.root, ID(5), "new", &stage, err));
    if (rc == 0) {
        CHECK(stage.dir != -1 && stage.lock != -1);
        workspace_discard(&world.root, &stage);
    }
    workspace_release(&stage);
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    GOOD(path_list(world.root.sessions, &names, &why));
    for (size_t i = 0; i < strv_len(names); i++)
        if (!CHECK(strstr(names[i], ID(5)) == NULL || rc == -1))
            printf("# %s\n", names[i]);
    return rc;
}

static int do_place(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    struct stage stage = STAGE_INIT;
    _cleanup_close_ int lock = -1;

    (void)arg;
    GOOD(workspace_stage_empty(&world.root, ID(5), "new", &stage, err));
    GOOD(root_lock(&world.root, &lock, err));
    int rc = STEPS(workspace_place(&world.root, &stage, err));
    CHECK(rc == -1 || stage.placed);
    CHECK((faccessat(world.root.sessions, ID(5), F_OK, 0) == 0) == stage.placed);
    workspace_release(&stage);
    return rc;
}

static int do_trash(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_close_ int lock = -1;

    (void)arg;
    GOOD(root_lock(&world.root, &lock, err));
    int rc = STEPS(workspace_trash(&world.root, ID(0), err));
    CHECK((faccessat(world.root.sessions, ID(0), F_OK, 0) == 0) == (rc == -1));
    if (rc == 1)
        CHECK(err->text[0] != '\0');
    return rc == 1 ? -1 : rc;
}

static int do_empty_trash(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_close_ int lock = -1;
    char name[TRASH_NAME];

    (void)arg;
    GOOD(root_lock(&world.root, &lock, err));
    CHECK(code_put(world.dir, "a/b/c", "c"));
    CHECK_INT(workspace_trash(&world.root, ID(0), err), 0);
    int rc = STEPS(workspace_empty_trash(&world.root, ID(0), err));
    workspace_trash_name(ID(0), name);
    CHECK(rc == -1 || faccessat(world.root.sessions, name, F_OK, 0) == -1);
    return rc;
}

static int do_put_away(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    char fresh[ENTRY_NAME];

    (void)arg;
    int rc = STEPS(trash_put_away(&world.root, ID(0), fresh, err));
    CHECK((faccessat(world.root.sessions, ID(0), F_OK, 0) == 0) == (rc == -1));
    return rc;
}

TEST(workspaces)
{
    fail_each(do_stage, NULL, "fstat fstatat pwrite fchmod");
    fail_each(do_place, NULL, "");
    fail_each(do_trash, NULL, "openat");
    fail_each(do_empty_trash, NULL, "openat fstatat unlinkat");
    fail_each(do_put_away, NULL, "");
}

/* ---- files of a root and of a session */

static int do_token_add(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    char text[TOKEN_TEXT];
    struct err why = ERR_INIT;

    (void)arg;
    GOOD(token_add(&world.root, "first", RIGHT_READ, 0, text, err));
    int rc = STEPS(token_add(&world.root, "phone", RIGHT_READ, 0, text, err));
    if (GOOD(tokens_read(&world.root, &tokens, &why)))
        CHECK(tokens.count == 2 || (rc == -1 && tokens.count == 1));
    return rc;
}

static int do_token_remove(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    char text[TOKEN_TEXT];
    struct err why = ERR_INIT;

    (void)arg;
    GOOD(token_add(&world.root, "phone", RIGHT_READ, 0, text, err));
    int rc = STEPS(token_remove(&world.root, "phone", err));
    if (GOOD(tokens_read(&world.root, &tokens, &why)))
        CHECK(tokens.count == 0 || (rc == -1 && tokens.count == 1));
    return rc;
}

static int do_tokens_read(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_tokens_ struct tokens tokens = TOKENS_INIT;
    char text[TOKEN_TEXT];

    (void)arg;
    GOOD(token_add(&world.root, "phone", RIGHT_READ, 0, text, err));
    int rc = STEPS(tokens_read(&world.root, &tokens, err));
    CHECK_INT(tokens.count, rc == 0 ? 1 : 0);
    return rc;
}

static int do_pairing(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    const struct pairing offer = {.name = "phone", .right = RIGHT_READ};
    struct pairing taken = {.name = ""};
    struct err why = ERR_INIT;
    char code[PAIRING_TEXT];
    int rc;

    if (arg == NULL) {
        rc = STEPS(pairing_offer(&world.root, &offer, code, err));
        if (rc == 0)
            GOOD(pairing_take(&world.root, code, &taken, &why));
    } else {
        GOOD(pairing_offer(&world.root, &offer, code, err));
        rc = STEPS(pairing_take(&world.root, code, &taken, err));
        if (rc == 0) /* it cannot be taken twice */
            CHECK_INT(pairing_take(&world.root, code, &taken, &why), -1);
    }
    CHECK_STR(taken.name, rc == 0 ? "phone" : "");
    return rc;
}

static int do_came_from(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    struct came_from from = {
        .terminal = "/dev/pts/1", .session = "$1", .window = "@1", .pane = "%1", .socket = "/s"};
    struct came_from back = {.session = ""};

    if (arg == NULL)
        return STEPS(came_from_push(&world.root, &from, err));
    GOOD(came_from_push(&world.root, &from, err));
    int rc = STEPS(came_from_pop(&world.root, from.terminal, &back, err));
    CHECK_STR(back.session, rc == 1 ? "$1" : "");
    return rc == -1 ? -1 : 0;
}

static int do_limits_set(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    struct err why = ERR_INIT;

    (void)arg;
    GOOD(session_limits_set(&world.root, world.dir, "a", LIMIT_CPUS, 100, 0, err));
    int rc = STEPS(session_limits_set(&world.root, world.dir, NULL, LIMIT_MEMORY, 1 << 26, 0, err));
    if (GOOD(session_limits_read(world.dir, &limits, &why))) {
        CHECK(limits.all.of[LIMIT_MEMORY] == 1 << 26 ||
              (rc == -1 && limits.all.of[LIMIT_MEMORY] == 0));
        CHECK_INT(limits.count, 1);
    }
    return rc;
}

static int do_limits_read(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;

    (void)arg;
    GOOD(session_limits_set(&world.root, world.dir, NULL, LIMIT_CPUS, 100, 0, err));
    int rc = STEPS(session_limits_read(world.dir, &limits, err));
    CHECK_INT(limits.all.of[LIMIT_CPUS], rc == 0 ? 100 : 0);
    return rc;
}

static int do_picture(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1";
    struct picture picture = {.file = ""};
    _cleanup_free_ char *bytes = NULL;
    size_t len = 0;

    if (arg == NULL)
        return STEPS(pictures_keep(world.dir, "a.png", png, sizeof png, &picture, err));
    GOOD(pictures_keep(world.dir, "a.png", png, sizeof png, &picture, err));
    int rc = STEPS(pictures_load(world.dir, &picture, &bytes, &len, err));
    CHECK_INT(len, rc == 0 ? sizeof png : 0);
    return rc;
}

static int do_login_limit(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    const struct login_limit told = {.until_ms = 5000};
    struct login_limit limit = {.attempts = 0};
    _cleanup_close_ int dir = login_limit_open(&world.root);

    (void)arg;
    int rc = STEPS(login_limit_note(dir, "login", &told, 1000, 100, &limit, err));
    if (rc == 0 && CHECK_INT(limit.attempts, 1))
        CHECK_INT(login_limit_read(dir, "login").attempts, 1);
    return rc;
}

static int do_owner(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_owner_ struct owner owner = OWNER_INIT;
    _cleanup_session_ struct session session = root_session(ID(0), "t0", "zero");
    bool has = false;

    (void)world; /* it is there */
    if (arg == NULL)
        return STEPS(owner_take(&session, true, err));
    GOOD(owner_take(&session, true, err));
    int rc = STEPS(owner_has(&owner, &session, &has, err));
    CHECK(rc == -1 || has);
    return rc;
}

static int do_owner_lock(void *arg, struct err *err)
{
    _cleanup_world_ struct world world = world_make();
    _cleanup_close_ int lock = -1;
    bool elsewhere = false;

    (void)arg;
    int rc = STEPS(owner_lock(&world.root, world.dir, ID(0), 0, "stop", &lock, &elsewhere, err));
    CHECK(rc == -1 || (lock != -1 && !elsewhere));
    return rc;
}

TEST(files_of_a_root_and_of_a_session)
{
    static bool second = true;

    fail_each(do_token_add, NULL, "fstat fstatat pwrite");
    fail_each(do_token_remove, NULL, "fstat fstatat pwrite");
    fail_each(do_tokens_read, NULL, "");
    fail_each(do_pairing, NULL, "fstat fstatat pwrite");
    fail_each(do_pairing, &second, "fstat fstatat pwrite");
    fail_each(do_came_from, NULL, "fchmod fstat fstatat pwrite openat unlinkat");
    fail_each(do_came_from, &second, "fstat fstatat pwrite openat read unlinkat");
    fail_each(do_limits_set, NULL, "fstat fstatat pwrite");
    fail_each(do_limits_read, NULL, "");
    fail_each(do_picture, NULL, "");
    fail_each(do_picture, &second, "");
    fail_each(do_login_limit, NULL, "fchmod fstat fstatat pwrite openat");
    fail_each(do_owner, NULL, "stat");
    fail_each(do_owner, &second, "");
    fail_each(do_owner_lock, NULL, "fchmod fstat fstatat pwrite");
}

/* ---- trees */

static int do_tree_copy(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int from = path_make_dir(place.dir, "from", 0755);
    _cleanup_close_ int to = path_make_dir(place.dir, "to", 0755);

    (void)arg;
    CHECK(code_put(from, "a/b", "b") && code_put(from, "c", "c") && symlinkat("c", from, "l") == 0);
    int rc = STEPS(tree_copy(from, to, "from", NULL, NULL, err));
    if (rc == 0)
        CHECK(faccessat(to, "a/b", F_OK, 0) == 0 && faccessat(to, "l", F_OK, 0) == 0);
    return rc;
}

static int do_tree_remove(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();

    (void)arg;
    CHECK(code_put(place.dir, "from/a/b", "b") && code_put(place.dir, "from/c", "c"));
    int rc = STEPS(tree_remove(place.dir, "from", err));
    CHECK((faccessat(place.dir, "from", F_OK, 0) == -1) == (rc == 0));
    return rc;
}

static int do_file_replace(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    (void)arg;
    CHECK(place_put(place.dir, "f", "old"));
    int rc = STEPS(file_replace(place.dir, "f", "new", 3, 0600, err));
    if (GOOD(file_read(place.dir, "f", 10, &text, &len, &why)))
        CHECK(strcmp(text, "new") == 0 || (rc == -1 && strcmp(text, "old") == 0));
    GOOD(file_replace(place.dir, "f", "next", 4, 0600, &why)); /* nothing is in the way */
    return rc;
}

static int do_file_read(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    (void)arg;
    CHECK(place_put(place.dir, "f", "text"));
    int rc = STEPS(file_read(place.dir, "f", 10, &text, &len, err));
    CHECK_STR(text, rc == 0 ? "text" : NULL);
    return rc;
}

static int do_file_lock(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int lock = -1;

    (void)arg;
    int rc = STEPS(file_lock(place.dir, "lock", 0, "me", &lock, err));
    CHECK((lock != -1) == (rc == 0));
    return rc;
}

TEST(files_and_trees)
{
    fail_each(do_tree_copy, NULL, "");
    fail_each(do_tree_remove, NULL, "");
    fail_each(do_file_replace, NULL, "");
    fail_each(do_file_read, NULL, "");
    fail_each(do_file_lock, NULL, "fchmod fstat fstatat pwrite");
}

/* ---- repositories */

static int do_layout(void *arg, struct err *err)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_str_ struct str config = STR_INIT;

    layout_set(&config, "core", NULL);
    if (arg == NULL)
        return STEPS(layout_make(place.dir, "ref: " BRANCH "\n", &config, err));
    GOOD(layout_make(place.dir, "ref: " BRANCH "\n", &config, err));
    return STEPS(layout_ref(place.dir, BRANCH, OID(1), err));
}

static int do_setup(void *arg, struct err *err)
{
    _cleanup_code_ struct code code = code_make();
    struct setup setup = {.exists = true, .declined = true};
    struct err why = ERR_INIT;

    if (arg == NULL) {
        int rc = STEPS(setup_save(&code.repo, &setup, err));
        setup = (struct setup){.exists = false};
        GOOD(setup_load(&code.repo, &setup, &why));
        CHECK(rc == -1 || (setup.exists && setup.declined));
        return rc;
    }
    GOOD(setup_save(&code.repo, &setup, err));
    setup = (struct setup){.exists = false};
    int rc = STEPS(setup_load(&code.repo, &setup, err));
    CHECK_INT(setup.declined, rc == 0);
    return rc;
}

static int do_mark(void *arg, struct err *err)
{
    _cleanup_code_ struct code code = code_make();

    (void)arg;
    return STEPS(setup_mark(&code.repo, "x", err));
}

TEST(repositories)
{
    static bool second = true;

    fail_each(do_layout, NULL, "");
    fail_each(do_layout, &second, "");
    fail_each(do_setup, NULL, "");
    fail_each(do_setup, &second, "");
    fail_each(do_mark, NULL, "");
}
