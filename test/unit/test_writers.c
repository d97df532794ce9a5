/* Files that several processes write: who puts a new one in its place holds its lock. And their
 * limits. */
#include "gap.h"
#include "root.h"

#include "code/setup.h"
#include "fleet/last_known.h"
#include "model/remote.h"
#include "store/came_from.h"
#include "store/index.h"
#include "store/known_roots.h"
#include "store/limits/login_limit.h"
#include "store/limits/session_limits.h"
#include "store/limits/waiting.h"
#include "store/mark.h"
#include "store/pairing.h"
#include "store/token.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

/* Where the lock of a file is, and whether it was held when the file changed. */
struct look {
    int dir;
    const char *lock;
    int held; /* -1: nothing has changed */
};

static void look(void *arg)
{
    struct look *at = arg;
    at->held = file_is_locked(at->dir, at->lock);
}

struct with_root {
    const struct root *root;
    int session; /* the directory of ID(0) */
    int limits;
    char code[PAIRING_TEXT];
    struct err err;
};

static struct came_from came_from_1(void)
{
    return (struct came_from){.terminal = "/dev/pts/1",
                              .session = "$1",
                              .window = "@1",
                              .pane = "%1",
                              .socket = "/tmp/s"};
}

static int do_push(struct with_root *with)
{
    struct came_from place = came_from_1();
    return came_from_push(with->root, &place, &with->err);
}

static int do_pop(struct with_root *with)
{
    struct came_from got;
    return came_from_pop(with->root, "/dev/pts/1", &got, &with->err) == 1 ? 0 : -1;
}

static int do_answer(struct with_root *with)
{
    return setup_answers_keep(with->root, HASH "0000", SETUP_YES, &with->err);
}

static int do_wait(struct with_root *with)
{
    return waiting_set(with->root, ID(0), "10", 1000, 1000, &with->err);
}

static int do_update(struct with_root *with)
{
    struct waiting_list none = {.count = 0}, one = {.count = 0};

    waiting_add(&one, ID(0), "11", 2000);
    int rc = waiting_update(with->root, &none, &one, true, &with->err);
    waiting_free(&one);
    return rc;
}

static int do_token(struct with_root *with)
{
    char text[TOKEN_TEXT];
    return token_add(with->root, "phone", RIGHT_FULL, 0, text, &with->err);
}

static int do_untoken(struct with_root *with)
{
    return token_remove(with->root, "phone", &with->err);
}

static int do_offer(struct with_root *with)
{
    struct pairing pairing = {.name = "watch", .right = RIGHT_READ};
    return pairing_offer(with->root, &pairing, with->code, &with->err);
}

static int do_take(struct with_root *with)
{
    struct pairing got;
    return pairing_take(with->root, with->code, &got, &with->err);
}

static int do_limit(struct with_root *with)
{
    return session_limits_set(with->root, with->session, "", LIMIT_SESSION, 1 << 20, 1000,
                              &with->err);
}

static int do_login(struct with_root *with)
{
    struct login_limit told = {.attempts = 0}, ret;
    return login_limit_note(with->limits, "login", &told, 1, 1000, &ret, &with->err);
}

static int do_known(struct with_root *with)
{
    return known_roots_add(with->root->path, &with->err);
}

static int do_last(struct with_root *with)
{
    char name[] = "n1", place[] = "n1.example.org";
    struct remote remote = {.name = name, .place = place};
    const struct remote *one = &remote;
    struct last_known known = {.when = 1766044800, .sessions = 1};

    (void)with;
    last_known_write(&one, 1, &known);
    return 0;
}

TEST(who_changes_a_file_holds_its_lock)
{
    A_ROOT;
    root_clear_env(&place);
    REQUIRE(root_put_session(&root, ID(0), "x"));
    _cleanup_close_ int session = workspace_open(&root, ID(0));
    _cleanup_close_ int limits = login_limit_open(&root);
    CHECK(mkdirat(place.dir, "mas", 0700) == 0 || errno == EEXIST);
    _cleanup_close_ int state = path_open_dir(place.dir, "mas");
    struct with_root with = {.root = &root, .session = session, .limits = limits, .err = ERR_INIT};
    const struct {
        const char *name;
        int (*act)(struct with_root *with);
        const char *call;
        int dir;
        const char *lock;
    } writers[] = {
        {"came_from_push", do_push, "rename", root.sessions, CAME_FROM_LOCK},
        {"came_from_pop", do_pop, "rename", root.sessions, CAME_FROM_LOCK},
        {"setup_answers_keep", do_answer, "rename", root.sessions, ROOT_LOCK},
        {"waiting_set", do_wait, "rename", root.sessions, WAITING_LOCK},
        {"waiting_update", do_update, "rename", root.sessions, WAITING_LOCK},
        {"token_add", do_token, "rename", root.sessions, ROOT_LOCK},
        {"token_remove", do_untoken, "rename", root.sessions, ROOT_LOCK},
        {"pairing_offer", do_offer, "rename", root.sessions, ROOT_LOCK},
        {"pairing_take", do_take, "unlink", root.sessions, ROOT_LOCK},
        {"session_limits_set", do_limit, "rename", root.sessions, ROOT_LOCK},
        {"login_limit_note", do_login, "rename", limits, "login.lock"},
        {"known_roots_add", do_known, "rename", state, ".roots.lock"},
        {"last_known_write", do_last, "rename", state, "hosts.lock"},
    };

    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        struct look at = {.dir = writers[i].dir, .lock = writers[i].lock, .held = -1};
        with.err = (struct err)ERR_INIT;
        gap_before(writers[i].call, look, &at);
        CHECK_INT(writers[i].act(&with), 0);
        if (at.held != 1)
            printf("# %s: %s%s\n", writers[i].name, at.held == 0 ? "not locked" : "no change",
                   with.err.text);
        CHECK_INT(at.held, 1);
        CHECK(!file_is_locked(writers[i].dir, writers[i].lock)); /* not any more */
        gap_call = NULL;
    }
}

TEST(old_answers_go_when_there_are_too_many)
{
    _cleanup_str_ struct str text = STR_INIT;
    enum setup_answer answer;

    A_ROOT;
    for (int i = 0; i < SETUP_ANSWERS_MAX; i++)
        str_addf(&text, HASH "%04d yes 2025-12-18T08:00:00Z\n", i);
    REQUIRE(place_write(root.sessions, SETUP_ANSWERS_FILE, text.data, text.len));
    MUST(setup_answers_find(&root, HASH "0000", &answer, &err));
    CHECK_INT(answer, SETUP_YES);
    MUST(setup_answers_keep(&root, HASH "ffff", SETUP_NO, &err));
    static const struct {
        const char *hash;
        enum setup_answer want;
    } cases[] = {{HASH "0000", SETUP_UNANSWERED},
                 {HASH "0001", SETUP_YES},
                 {HASH "0999", SETUP_YES},
                 {HASH "ffff", SETUP_NO}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        MUST(setup_answers_find(&root, cases[i].hash, &answer, &err));
        CHECK_INT(answer, cases[i].want);
    }
}

/* An answer counts only from a file that nobody else can have written. */
TEST(answers_of_others_are_none)
{
    static const mode_t modes[] = {0600, 0604, 0640, 0602, 0620, 0601};
    enum setup_answer answer;

    A_ROOT;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        REQUIRE(
            place_put(root.sessions, SETUP_ANSWERS_FILE, HASH "0000 yes 2025-12-18T08:00:00Z\n"));
        CHECK_INT(fchmodat(root.sessions, SETUP_ANSWERS_FILE, modes[i], 0), 0);
        CHECK_INT(setup_answers_find(&root, HASH "0000", &answer, &err), i == 0 ? 0 : -1);
    }
    (void)unlinkat(root.sessions, SETUP_ANSWERS_FILE, 0);
    REQUIRE(place_put(root.sessions, "other", HASH "0000 yes 2025-12-18T08:00:00Z\n"));
    CHECK_INT(symlinkat("other", root.sessions, SETUP_ANSWERS_FILE), 0);
    CHECK_INT(setup_answers_find(&root, HASH "0000", &answer, &err), -1);
    (void)unlinkat(root.sessions, SETUP_ANSWERS_FILE, 0);
    if (geteuid() != 0)
        return; /* only root can give something away */
    REQUIRE(place_put(root.sessions, SETUP_ANSWERS_FILE, HASH "0000 yes 2025-12-18T08:00:00Z\n"));
    CHECK_INT(fchownat(root.sessions, SETUP_ANSWERS_FILE, 4711, (gid_t)-1, 0), 0);
    CHECK_INT(setup_answers_find(&root, HASH "0000", &answer, &err), -1);
}

/* Of what the root has kept of its sessions/, only what is whole and of this root counts. */
TEST(a_root_knows_its_sessions_by_a_mark)
{
    struct stat st;

    A_ROOT;
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    mark_make(root.fd, root.sessions);
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    CHECK_STR(mark_fault(root.fd, -1), "it is missing");
    REQUIRE(fstat(root.fd, &st) == 0);
    const struct {
        const char *id;
        uintmax_t inode;
        const char *more;
        const char *fault;
    } marks[] = {
        {ID(0), st.st_ino, " same\n", NULL}, /* the one that sessions/ has */
        {ID(0), st.st_ino, " own\n", "its disk is not mounted"},
        {ID(1), st.st_ino, " same\n", "it has not the mark of this root"},
        {ID(1), st.st_ino + 1, " same\n", NULL}, /* a copy of another root */
        {ID(1), st.st_ino, "\n", NULL},
        {"550e8400-e29b-41d4-a716-44665544000x", st.st_ino, " same\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        _cleanup_free_ char *text =
            mem_printf("%s %ju%s", marks[i].id, marks[i].inode, marks[i].more);
        REQUIRE(place_put(root.sessions, MARK_SESSIONS, ID(0) "\n"));
        REQUIRE(place_put(root.fd, MARK_ROOT, text));
        CHECK_STR(mark_fault(root.fd, root.sessions), marks[i].fault);
    }
    /* what is no id is no mark */
    REQUIRE(place_put(root.sessions, MARK_SESSIONS, "x\n"));
    REQUIRE(place_put(root.fd, MARK_ROOT, ""));
    mark_make(root.fd, root.sessions);
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    REQUIRE(place_put(root.sessions, MARK_SESSIONS, "x\n"));
    CHECK_STR(mark_fault(root.fd, root.sessions), "it has not the mark of this root");
}

/* What another user can write to may contain anything. */
TEST(a_root_of_another_user_is_not_used)
{
    static const char *const names[] = {".", ROOT_SESSIONS};

    if (geteuid() != 0)
        UNIT_SKIP("only root can give something away");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_root_ struct root again = ROOT_INIT;
        A_ROOT;
        CHECK_INT(fchownat(place.dir, names[i], 4711, (gid_t)-1, 0), 0);
        CHECK_INT(root_open(place.path, &again, &err), -1);
        CHECK(strstr(err.text, "belongs to user 4711") != NULL);
        CHECK_INT(fchownat(place.dir, names[i], 0, (gid_t)-1, 0), 0);
        WELL(root_open(place.path, &again, &err));
    }
}
