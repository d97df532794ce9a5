/*
 * A memory.db with some of its bytes changed: it is opened, checked, read, written to and set
 * aside, or refused as damaged; what is read is in its limits.
 *
 * The first byte says how: 1 for writing, 2 without its last page. Then four bytes for each change:
 * three for the place, one for the byte there.
 */
#include "base/id.h"
#include "base/json.h"
#include "fuzz.h"
#include "memory/store.h"
#include "os/file.h"
#include "os/path.h"
#include "os/tree.h"

#define SESSION "550e8400-e29b-41d4-a716-446655440000"

enum { PAGE = 4096, TURNS = 20, CHANGE = 4 };

struct pattern {
    int dir;
    char *bytes;
    size_t len;
};

static void must_be(int rc, const struct err *err)
{
    if (rc == -1) {
        err_print(err);
        abort();
    }
}

static void say(struct store *store, struct store_place *at, struct err *err)
{
    struct store_message message = {
        .role = ROLE_USER, .state = MESSAGE_OPEN, .text = "hello", .len = 5};
    int64_t prompt, answer;

    if (store_add(store, at->query, &message, SYNC_FULL, &prompt, err) == -1)
        return;
    message.role = ROLE_AGENT;
    message.trigger = prompt;
    if (store_add(store, at->query, &message, SYNC_CHUNK, &answer, err) == 0 &&
        store_append(store, answer, " there", 6, err) == 0)
        (void)store_end_turn(store, at->query, prompt, "end_turn", MESSAGE_DONE, NULL, err);
}

static char path[] = "/dev/shm/mas-fuzz-store-XXXXXX";

static void remove_all(void)
{
    _cleanup_close_ int shm = path_open_dir(AT_FDCWD, "/dev/shm");
    struct err err = ERR_INIT;

    (void)tree_remove(shm, strrchr(path, '/') + 1, &err);
}

/* A database as mas makes it, in a directory that goes with the process. */
static void make_pattern(struct pattern *pattern)
{
    struct err err = ERR_INIT;
    struct store *store = NULL;
    struct store_place at = {.query = 0};
    struct store_place next;
    const struct store_clear clear = {.reason = "clear"};
    const struct store_agent_session session = {
        .id = "s", .home = {.directory = "/", .machine = "m"}, .program = "p 1"};

    must(mkdtemp(path) != NULL && atexit(remove_all) == 0);
    pattern->dir = path_open_dir(AT_FDCWD, path);
    must_be(store_open(pattern->dir, SESSION, "10", true, &store, &err), &err);
    must_be(store_enter(store, CHOICE_CURRENT, NULL, &at, &err), &err);
    must_be(store_agent_session(store, at.query, &session, &err), &err);
    must_be(store_method_tried(store, "p 1", "load", "why", &err), &err);
    for (int i = 0; i < TURNS; i++)
        say(store, &at, &err);
    must_be(store_clear(store, at.conversation, &clear, &next, NULL, &err), &err);
    say(store, &next, &err);
    store_place_free(&at);
    store_place_free(&next);
    store_close(store);
    must_be(file_read(pattern->dir, STORE_FILE, 1 << 24, &pattern->bytes, &pattern->len, &err),
            &err);
}

static bool look_at(const struct store_item *item, void *arg)
{
    (void)arg;
    must(item->role < ROLE_COUNT && item->state <= MESSAGE_FAILED);
    must(id_is_valid(item->conversation) && str_is_word(item->agent, 32));
    must(item->text != NULL && item->text[item->len] == '\0');
    return true;
}

static bool look_at_query(const struct store_query *query, void *arg)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    (void)arg;
    must(json_parse(query->sessions, strlen(query->sessions), 1 << 24, &json, &err) == 0);
    return true;
}

static void check_code(const struct err *err)
{
    if (err->code != MAS_OK && err->code != MAS_DAMAGED && err->code != MAS_FAILED &&
        err->code != MAS_NOT_FOUND) {
        err_print(err);
        abort();
    }
}

static void use(struct store *store, bool write)
{
    static const struct store_filter all = {.newest = true}, tag = {.tag = "k:v", .agent = "10"};
    static const struct store_budget budget = {.messages = 50, .each = 2000, .all = 60000};
    _cleanup_str_ struct str text = STR_INIT;
    struct store_place at = {.query = 0};
    struct err err = ERR_INIT;
    int64_t count;

    (void)store_check(store, &err);
    check_code(&err);
    (void)store_read(store, &all, look_at, NULL, &err);
    (void)store_count(store, &tag, &count, &err);
    (void)store_queries(store, NULL, look_at_query, NULL, &err);
    (void)store_injection(store, 1, INT64_MAX, &budget, &text, &err);
    check_code(&err);
    if (!write)
        return;
    if (store_enter(store, CHOICE_CURRENT, NULL, &at, &err) == 0)
        say(store, &at, &err);
    check_code(&err);
    store_place_free(&at);
}

static void put(const struct pattern *pattern, const unsigned char *data, size_t size)
{
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    _cleanup_free_ char *bytes = mem_dupn(pattern->bytes, pattern->len);
    size_t len = (data[0] & 2) != 0 ? pattern->len - PAGE : pattern->len;
    struct err err = ERR_INIT;

    for (size_t i = 1; i + CHANGE <= size; i += CHANGE) {
        size_t place = (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];
        bytes[place % pattern->len] = (char)data[i + 3];
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        _cleanup_free_ char *name = mem_printf(STORE_FILE "%s", parts[i]);
        (void)unlinkat(pattern->dir, name, 0);
    }
    must_be(file_create(pattern->dir, STORE_FILE, bytes, len, 0600, &err), &err);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct pattern pattern = {.dir = -1};
    struct store *store = NULL;
    struct err err = ERR_INIT;

    if (size == 0)
        return 0;
    if (pattern.dir == -1)
        make_pattern(&pattern);
    put(&pattern, data, size);
    bool write = (data[0] & 1) != 0;
    if (store_open(pattern.dir, SESSION, write ? "10" : NULL, write, &store, &err) == 0)
        use(store, write);
    else
        check_code(&err);
    store_close(store);
    return 0;
}
