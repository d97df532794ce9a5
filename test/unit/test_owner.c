#include "gap.h"
#include "root.h"

#include "base/kv.h"
#include "store/owner.h"
#include "store/session.h"

#define ID_A "0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210"
#define BOOT_A "11111111-2222-3333-4444-555555555555 4026531836"
#define BOOT_B "66666666-2222-3333-4444-555555555555 4026531836"
#define BOOT_IN_CONTAINER "11111111-2222-3333-4444-555555555555 4026532999"

TEST(knows_its_sessions)
{
    static const struct {
        const char *machine, *boot; /* of the session; this machine is ID_A n1, BOOT_A */
        bool has;
        const char *why;
    } cases[] = {
        {"", "", true, "a session that a script made"},
        {ID_A " n1", BOOT_A, true, "this machine"},
        {ID_A " n1", BOOT_B, true, "this machine before it booted"},
        {ID_A " n1", "", true, "this machine, whose boot id was not known"},
        {ID_A " n2", BOOT_A, true, "this machine under another name"},
        {ID_A " n2", BOOT_B, false, "a clone, or another name before it booted"},
        {ID_A " n2", BOOT_IN_CONTAINER, false, "a container of this machine"},
        {ID_A " n2", "", false, "a clone"},
        {ID_B " n1", BOOT_A, false, "another machine of this name"},
        {ID_B " n2", BOOT_B, false, "another machine"},
        {" n1", BOOT_A, false, "a machine without machine-id and of this name"},
        {"n1", BOOT_A, false, "no machine-id and no space"},
        {ID_A, BOOT_B, false, "a machine without a name"},
    };
    char machine[] = ID_A " n1";
    char boot[] = BOOT_A;
    struct owner self = {.machine = machine, .boot = boot};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_session_ struct session session = SESSION_INIT;
        session.machine = mem_dup(cases[i].machine);
        session.boot = mem_dup(cases[i].boot);
        struct err err = ERR_INIT;
        bool has = !cases[i].has;
        CHECK_INT(owner_has(&self, &session, &has, &err), 0);
        CHECK_STR(has == cases[i].has ? "as expected" : cases[i].why, "as expected");
    }
}

TEST(machines_without_ids_are_told_apart_by_name)
{
    char machine[] = " n1";
    char boot[] = "";
    struct owner self = {.machine = machine, .boot = boot};
    static const struct {
        const char *machine;
        bool has;
    } cases[] = {{" n1", true}, {" n2", false}, {" ", false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_session_ struct session session = SESSION_INIT;
        session.machine = mem_dup(cases[i].machine);
        session.boot = mem_dup("");
        struct err err = ERR_INIT;
        bool has = !cases[i].has;
        CHECK_INT(owner_has(&self, &session, &has, &err), 0);
        CHECK(has == cases[i].has);
    }
}

TEST(counts_the_owners)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_owner_ struct owner self = OWNER_INIT;
    const char *machine = NULL;
    struct err err = ERR_INIT;
    bool has = false;

    CHECK_INT(owner_machine(&self, &machine, &err), 0);
    CHECK_INT(owner_take(&session, false, &err), 0);
    CHECK_STR(session.machine, machine);
    CHECK_INT(owner_has(&self, &session, &has, &err), 0);
    CHECK(has);
    CHECK(self.boot == NULL); /* nothing depended on it */
    CHECK(session.epoch == 1);
    CHECK_INT(owner_take(&session, false, &err), 0); /* another start here */
    CHECK(session.epoch == 1);
    CHECK_INT(owner_take(&session, true, &err), 0); /* a restored copy */
    CHECK(session.epoch == 2);
    free(session.machine);
    session.machine = mem_dup(ID_B " elsewhere");
    CHECK_INT(owner_has(&self, &session, &has, &err), 0);
    CHECK(!has);
    CHECK_INT(owner_take(&session, false, &err), 0);
    CHECK(session.epoch == 3);
    CHECK_INT(owner_has(&self, &session, &has, &err), 0);
    CHECK(has);
    session.epoch = EPOCH_MAX;
    CHECK_INT(owner_take(&session, true, &err), 0);
    CHECK(session.epoch == EPOCH_MAX);
}

/* A session of this root, and the machine that has it; "": none. */
struct owned {
    const struct root *root;
    const char *machine;
};

static void put_owned(void *arg)
{
    const struct owned *owned = arg;
    _cleanup_session_ struct session session = root_session(ID(0), "x", "x");

    session.machine = mem_dup(owned->machine);
    session.boot = mem_dup("");
    CHECK(root_save(owned->root, &session));
}

/* Whoever waits for the lock waits for a command on this session, which may give it away. */
TEST(a_session_that_goes_while_its_lock_is_awaited_is_not_had)
{
    A_ROOT;
    struct owned here = {.root = &root, .machine = ""};
    struct owned gone = {.root = &root, .machine = ID_B " elsewhere"};
    _cleanup_close_ int lock = -1;
    bool elsewhere = true;

    put_owned(&here);
    _cleanup_close_ int dir = workspace_open(&root, ID(0));
    MUST(owner_lock(&root, dir, ID(0), LOCK_TRY, "stop", &lock, &elsewhere, &err));
    CHECK(!elsewhere);
    /* one that has gone is not waited for, nor called busy */
    put_owned(&gone);
    CHECK_INT(owner_lock(&root, dir, ID(0), LOCK_TRY, "stop", &lock, &elsewhere, &err), -1);
    CHECK(elsewhere);
    CHECK(strstr(err.text, "it belongs to elsewhere") != NULL);
    fd_closep(&lock);
    put_owned(&here);
    gap_before("flock", put_owned, &gone);
    err = (struct err)ERR_INIT;
    elsewhere = false;
    CHECK_INT(owner_lock(&root, dir, ID(0), LOCK_TRY, "stop", &lock, &elsewhere, &err), -1);
    CHECK(elsewhere);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(strstr(err.text, "it belongs to elsewhere") != NULL);
    CHECK_INT(lock, -1);
    CHECK(!workspace_is_locked(dir));
}

/* Conversations are read without a root; what is damaged is nobody's. */
TEST(who_reads_conversations_has_the_session)
{
    _cleanup_str_ struct str large = STR_INIT;
    A_ROOT;
    struct owned gone = {.root = &root, .machine = ID_B " elsewhere"};
    struct owned here = {.root = &root, .machine = ""};

    put_owned(&here);
    _cleanup_close_ int dir = workspace_open(&root, ID(0));
    MUST(owner_check_reader(dir, &err));
    put_owned(&gone);
    CHECK_INT(owner_check_reader(dir, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_STR(err.text, "cannot read its conversations: it belongs to elsewhere");
    CHECK_STR(err.hint, "do it on elsewhere");

    err = (struct err)ERR_INIT;
    for (int i = 0; i < KV_FILE_MAX; i++)
        str_addc(&large, 'x');
    REQUIRE(place_put(dir, WORKSPACE_SESSION, str_text(&large)));
    MUST(owner_check_reader(dir, &err));
    str_addc(&large, 'x');
    REQUIRE(place_put(dir, WORKSPACE_SESSION, str_text(&large)));
    CHECK_INT(owner_check_reader(dir, &err), -1);
    err = (struct err)ERR_INIT;
    CHECK(unlinkat(dir, WORKSPACE_SESSION, 0) == 0);
    MUST(owner_check_reader(dir, &err));
    CHECK(symlinkat("x", dir, WORKSPACE_SESSION) == 0);
    CHECK_INT(owner_check_reader(dir, &err), -1);
}
