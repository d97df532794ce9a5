/* What a promise hangs on is on disk when the call returns; what grows in between costs no wait. */
#include "gap.h"
#include "store.h"

#include "memory/store_usage.h"
#include "model/money.h"

#define SYNCED "fsync memory.db-wal"

/* A store in which the last write was not synced, and what the calls need. */
struct books {
    struct store *store;
    int64_t query, prompt, answer, input;
    struct err err;
};

static const struct store_agent_session session = {
    .id = "s", .home = {.directory = "/w", .machine = "m"}, .program = "x 1"};

static int call_add(struct books *b)
{
    struct store_message message = {.role = ROLE_USER, .text = "p", .len = 1};
    int64_t number = 0;
    return store_add(b->store, b->query, &message, SYNC_FULL, &number, &b->err);
}

static int call_finish(struct books *b)
{
    return store_finish(b->store, b->prompt, MESSAGE_DONE, SYNC_FULL, &b->err);
}

static int call_end_turn(struct books *b)
{
    return store_end_turn(b->store, b->query, b->prompt, "end_turn", MESSAGE_DONE, NULL, &b->err);
}

static int call_enter_new(struct books *b)
{
    struct store_place place = {.query = 0};
    int rc = store_enter(b->store, CHOICE_NEW, NULL, &place, &b->err);
    store_place_free(&place);
    return rc;
}

static int call_clear(struct books *b)
{
    struct store_place place = {.query = 0};
    struct store_clear clear = {.reason = "clear"};
    struct store_place old = {.query = 0};
    int64_t then = 0;
    int rc = store_enter(b->store, CHOICE_CURRENT, NULL, &old, &b->err);
    trace_begin();
    if (rc == 0)
        rc = store_clear(b->store, old.conversation, &clear, &place, &then, &b->err);
    store_place_free(&old);
    store_place_free(&place);
    return rc;
}

static int call_session(struct books *b)
{
    return store_agent_session(b->store, b->query, &session, &b->err);
}

static int call_end_session(struct books *b)
{
    return store_agent_session(b->store, b->query, &session, &b->err) == -1
               ? -1
               : (trace_begin(), store_end_session(b->store, b->query, "s", &b->err));
}

static int call_method(struct books *b)
{
    return store_method_tried(b->store, "x 1", "load", "no", &b->err);
}

static int call_input(struct books *b)
{
    struct store_input input = {.agent = "10", .text = "t", .len = 1};
    return store_input_add(b->store, &input, &b->input, &b->err);
}

static int call_input_begin(struct books *b)
{
    return store_input_begin(b->store, b->input, true, &b->err);
}

static int call_usage_end(struct books *b)
{
    return store_usage_end(b->store, b->prompt, 1, &b->err);
}

static int call_limit(struct books *b)
{
    struct budget_limit limit = {.amount = 3};
    return store_set_limit(b->store, "10", BUDGET_TURNS, &limit, &b->err);
}

static int call_extend(struct books *b)
{
    struct budget_limit limit = {.amount = 3};
    return store_extend_limit(b->store, "10", BUDGET_TURNS, &limit, &b->err);
}

static int call_append(struct books *b)
{
    return store_append(b->store, b->answer, "more", 4, &b->err);
}

static int call_drop_input(struct books *b)
{
    return store_input_drop(b->store, b->input, &b->err);
}

static int call_worked(struct books *b)
{
    return store_usage_worked(b->store, b->prompt, 1, &b->err);
}

/* Opens a store, writes something that need not be synced, and returns what the call syncs. */
static void check_call(int (*call)(struct books *b), const char *name, bool synced)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_store_ struct store *store = opened(&place, "10");
    struct books b = {.store = store, .err = ERR_INIT};
    struct store_input input = {.agent = "10", .text = "t", .len = 1};
    bool begun = false;

    REQUIRE(store != NULL);
    b.query = query_of(store);
    b.prompt = add(store, b.query, ROLE_USER, MESSAGE_OPEN, "p", 0);
    struct store_usage_turn turn = {
        .query = b.query, .prompt = b.prompt, .agent_session = "s", .model = "", .account = ""};
    CHECK_INT(store_input_add(store, &input, &b.input, &b.err), 0);
    CHECK_INT(store_usage_begin(store, &turn, &begun, &b.err), 0);
    b.answer = add(store, b.query, ROLE_AGENT, MESSAGE_OPEN, "a", b.prompt);
    CHECK_INT(store_append(store, b.answer, "b", 1, &b.err), 0);
    trace_begin();
    CHECK_INT(call(&b), 0);
    bool seen = strstr(trace_end(), SYNCED) != NULL;
    if (seen != synced)
        printf("# %s: %s %s\n", name, seen ? "synced" : "not synced", b.err.text);
    CHECK(seen == synced);
    /* the next call that only grows a text does not wait again */
    if (synced && call != call_end_turn && call != call_enter_new && call != call_clear) {
        trace_begin();
        CHECK_INT(store_append(store, b.answer, "c", 1, &b.err), 0);
        CHECK_STR(trace_end(), "");
    }
}

TEST(what_was_promised_is_on_disk)
{
#define CALL(name, synced) check_call(call_##name, #name, synced)
    CALL(add, true);
    CALL(finish, true);
    CALL(end_turn, true);
    CALL(enter_new, true);
    CALL(clear, true);
    CALL(session, true);
    CALL(end_session, true);
    CALL(method, true);
    CALL(input, true);
    CALL(input_begin, true);
    CALL(usage_end, true);
    CALL(limit, true);
    CALL(extend, true);
}

TEST(what_grows_costs_no_wait)
{
    CALL(append, false);
    CALL(drop_input, false);
    CALL(worked, false);
}

static void look_at_lock(void *arg)
{
    int *at = arg;
    at[1] = file_is_locked(at[0], ".");
}

/* The log goes first, the name is on disk before anybody makes a new file, and one process does it.
 */
TEST(a_damaged_store_is_set_aside_by_one_and_for_good)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *name = NULL;
    struct err err = ERR_INIT;
    int at[2] = {place.dir, -1};

    CHECK(place_put(place.dir, "memory.db", "no database") &&
          place_put(place.dir, "memory.db-wal", "its log"));
    gap_before("rename", look_at_lock, at);
    trace_begin();
    MUST(store_set_aside(place.dir, &name, &err));
    const char *told = trace_end();
    REQUIRE(name != NULL);
    CHECK_INT(at[1], 1);
    _cleanup_free_ char *log = mem_printf("rename %s-wal", name);
    _cleanup_free_ char *file = mem_printf("rename %s,", name);
    const char *first = strstr(told, log);
    REQUIRE(first != NULL);
    const char *second = strstr(first, file);
    REQUIRE(second != NULL);
    CHECK(strstr(second, "fsync DIR") != NULL);
}
