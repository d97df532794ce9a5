/*
 * Idempotency-Key: what is done once, and what is answered again.
 */
#include "root.h"

#include "serve/keys.h"

#include <sys/syscall.h>

#define KEYS ".serve.keys"

static const struct operation posts = {.right = RIGHT_FULL};
static const struct operation pairs = {.right = RIGHT_NONE};
static const struct operation takes_file = {.right = RIGHT_FULL, .body = "application/zstd"};
static bool is_full; /* the disk */

static time_t later; /* by which the clock is ahead */

time_t time(time_t *ret)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL)
        *ret = now.tv_sec + later;
    return now.tv_sec + later;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (is_full && fd > 2) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, len);
}

static struct request make(const char *key)
{
    struct request request = {.method = METHOD_POST,
                              .verb = "POST",
                              .idempotency_key = key,
                              .token = "t",
                              .parts = {(char *)(uintptr_t) "sessions", (char *)(uintptr_t) "x"},
                              .part_count = 2,
                              .operation = &posts,
                              .body = STR_INIT,
                              .answer = {.body = STR_INIT, .cookie = STR_INIT}};
    request.transfer.sum = sha256_begin();
    return request;
}

/* Lets a request through, or tells its answer. */
static const char *begin(struct keys *keys, struct request *request, struct str *to)
{
    str_clear(to);
    if (keys_begin(keys, request))
        return "new";
    const char *code = strstr(str_text(&request->answer.body), "\"code\":\"");
    size_t len = code != NULL ? strcspn(code + 8, "\"") : 0;
    str_addf(to, "%d%s ", request->answer.status, request->answer.replayed ? " again" : "");
    if (code != NULL)
        str_addn(to, code + 8, len);
    else
        str_add(to, str_text(&request->answer.body));
    str_free(&request->answer.body);
    request->answer.status = 0;
    return str_text(to);
}

static void end(struct keys *keys, struct request *request, int status, const char *text)
{
    struct str body = STR_INIT;

    str_add(&body, text);
    answer_json(request, status, &body);
    keys_end(keys, request);
    str_free(&request->answer.body);
    request->answer.status = 0;
}

#define A_SERVER                                                                                   \
    A_ROOT;                                                                                        \
    struct keys *keys = NULL;                                                                      \
    UNIT_MAYBE struct keys *other = NULL;                                                          \
    _cleanup_str_ struct str text = STR_INIT;                                                      \
    MUST(keys_open(&root, &keys, &err))

TEST(the_same_request_gets_the_same_answer)
{
    A_SERVER;
    struct request first = make("k");
    struct request second = make("k");

    CHECK_STR(begin(keys, &first, &text), "new");
    CHECK_STR(begin(keys, &second, &text), "409 in_progress");
    keys_end(keys, &first); /* it has no answer yet */
    CHECK_STR(begin(keys, &second, &text), "409 in_progress");
    end(keys, &first, 201, "{\"a\":\n1}");
    CHECK_STR(begin(keys, &second, &text), "201 again {\"a\":\n1}");
    end(keys, &first, 500, "later"); /* later calls do nothing */
    CHECK_STR(begin(keys, &second, &text), "201 again {\"a\":\n1}");
    /* an answer outlives the server */
    MUST(keys_open(&root, &other, &err));
    CHECK_STR(begin(other, &second, &text), "201 again {\"a\":\n1}");
    keys_free(other);
    keys_free(keys);
}

TEST(what_a_server_left_unanswered_is_not_done_again)
{
    A_SERVER;
    struct request first = make("k");

    CHECK_STR(begin(keys, &first, &text), "new");
    MUST(keys_open(&root, &other, &err));
    CHECK_STR(begin(other, &first, &text), "409 outcome_unknown");
    keys_free(keys);
    keys_free(other);
}

TEST(a_key_stands_for_all_of_its_request)
{
    A_SERVER;
    struct request first = make("k");

    str_add(&first.body, "body");
    CHECK_STR(begin(keys, &first, &text), "new");
    end(keys, &first, 200, "x");
    for (int i = 0; i < 8; i++) {
        struct request other_one = make("k");
        str_add(&other_one.body, i == 0 ? "bodx" : "body");
        if (i == 1)
            other_one.part_count = 1;
        if (i == 2)
            other_one.parts[1] = (char *)(uintptr_t) "y";
        if (i == 3)
            other_one.queries[other_one.query_count++] = (struct query){"q", "1"};
        if (i == 4)
            other_one.verb = "PUT";
        if (i == 5)
            other_one.operation = &takes_file;
        if (i == 6)
            other_one.body.len--;
        CHECK_STR(begin(keys, &other_one, &text), i == 7 ? "200 again x" : "422 key_reused");
        str_free(&other_one.body);
    }
    struct request of_another = make("k");
    (void)snprintf(of_another.token, sizeof of_another.token, "u");
    CHECK_STR(begin(keys, &of_another, &text), "new"); /* another token's key is another */
    struct request other_key = make("l");
    CHECK_STR(begin(keys, &other_key, &text), "new");
    /* texts do not run together */
    struct request a = make("m"), b = make("m");
    a.queries[a.query_count++] = (struct query){"q", "12"};
    b.queries[b.query_count++] = (struct query){"q1", "2"};
    CHECK_STR(begin(keys, &a, &text), "new");
    CHECK_STR(begin(keys, &b, &text), "422 key_reused");
    struct request e = make("o"), g = make("o");
    e.queries[e.query_count++] = (struct query){"q", "1"};
    g.queries[g.query_count++] = (struct query){"q", "2"};
    CHECK_STR(begin(keys, &e, &text), "new");
    CHECK_STR(begin(keys, &g, &text), "422 key_reused");
    /* nor is a file another one */
    struct request c = make("n"), d = make("n");
    c.operation = d.operation = &takes_file;
    sha256_add(&c.transfer.sum, "1", 1);
    sha256_add(&d.transfer.sum, "2", 1);
    CHECK_STR(begin(keys, &c, &text), "new");
    CHECK_STR(begin(keys, &d, &text), "422 key_reused");
    str_free(&first.body);
    keys_free(keys);
}

TEST(only_what_changes_something_has_a_key)
{
    A_SERVER;
    struct request none = make(NULL);
    struct request gets = make("k");
    struct request stranger = make("k");

    gets.method = METHOD_GET;
    stranger.operation = &pairs;
    for (int i = 0; i < 2; i++) {
        CHECK_STR(begin(keys, &none, &text), "new");
        CHECK_STR(begin(keys, &gets, &text), "new");
        CHECK_STR(begin(keys, &stranger, &text), "new");
        end(keys, &gets, 200, "x");
        end(keys, &stranger, 200, "secret");
    }
    CHECK_INT(faccessat(root.sessions, KEYS, F_OK, 0), -1);
    keys_free(keys);
}

TEST(a_key_has_a_form)
{
    A_SERVER;
    char longest[257];

    static const char *const bad[] = {"", "a b", "a\tb", "a\x7f", "\xc3\xa4", " a", "a "};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct request request = make(bad[i]);
        CHECK_STR(begin(keys, &request, &text), "400 bad_request");
    }
    for (size_t len = 255; len <= 256; len++) {
        memset(longest, '~', len);
        longest[len] = '\0';
        struct request request = make(longest);
        CHECK_STR(begin(keys, &request, &text), len == 255 ? "new" : "400 bad_request");
    }
    struct request first = make("!");
    CHECK_STR(begin(keys, &first, &text), "new");
    keys_free(keys);
}

TEST(an_answer_that_nothing_was_done_is_not_kept)
{
    static const struct {
        int status;
        bool kept;
    } cases[] = {
        {200, true}, {201, true}, {202, true}, {204, true}, {400, false}, {403, true}, {404, false},
        {409, true}, {410, true}, {422, true}, {500, true}, {503, false}, {504, true}, {507, false},
    };
    A_SERVER;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *key = mem_printf("k%d", cases[i].status);
        struct request request = make(key);
        CHECK_STR(begin(keys, &request, &text), "new");
        end(keys, &request, cases[i].status, "x");
        CHECK_INT(strcmp(begin(keys, &request, &text), "new") != 0, cases[i].kept);
    }
    keys_free(keys);
}

TEST(an_answer_of_up_to_a_mebibyte_is_kept)
{
    A_SERVER;
    _cleanup_free_ char *large = mem_alloc(KEYS_ANSWER_MAX + 2);

    for (size_t len = KEYS_ANSWER_MAX; len <= KEYS_ANSWER_MAX + 1; len++) {
        struct request request = make(len == KEYS_ANSWER_MAX ? "a" : "b");
        memset(large, 'x', len);
        large[len] = '\0';
        CHECK_STR(begin(keys, &request, &text), "new");
        end(keys, &request, 200, large);
        if (len == KEYS_ANSWER_MAX)
            CHECK_INT(strlen(begin(keys, &request, &text)), strlen("200 again ") + len);
        else
            CHECK_STR(begin(keys, &request, &text), "new");
    }
    keys_free(keys);
}

/* ---- what is kept */

static void age(const struct root *root, const char *name, time_t by)
{
    _cleanup_close_ int dir = path_open_dir(root->sessions, KEYS);
    time_t then = time(NULL) - by;
    const struct timespec times[] = {{.tv_sec = then}, {.tv_sec = then}};

    CHECK_INT(utimensat(dir, name, times, 0), 0);
}

TEST(keys_are_forgotten_after_a_day)
{
    static const struct {
        time_t age;
        bool kept;
    } cases[] = {{KEYS_KEPT_S - 100, true}, {KEYS_KEPT_S + 100, false}, {-1000, false}, {10, true}};
    A_SERVER;
    char names[ARRAY_LEN(cases)][SHA256_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *key = mem_printf("k%zu", i);
        struct request request = make(key);
        CHECK_STR(begin(keys, &request, &text), "new");
        memcpy(names[i], request.key_name, SHA256_TEXT);
        end(keys, &request, 200, "x");
        age(&root, names[i], cases[i].age);
    }
    keys_free(keys);
    MUST(keys_open(&root, &keys, &err)); /* it looks at its first request */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *key = mem_printf("k%zu", i);
        struct request request = make(key);
        CHECK_STR(begin(keys, &request, &text), cases[i].kept ? "200 again x" : "new");
    }
    /* and at the first request after an hour */
    struct request request = make("k0");
    age(&root, names[0], KEYS_KEPT_S + 100);
    CHECK_STR(begin(keys, &request, &text), "200 again x");
    later = 3700;
    CHECK_STR(begin(keys, &request, &text), "new");
    keys_free(keys);
    later = 0;
}

TEST(there_are_at_most_4096)
{
    A_SERVER;
    struct request first = make("first");
    struct request more = make("more");
    char name[16];

    CHECK_STR(begin(keys, &first, &text), "new");
    end(keys, &first, 200, "x");
    _cleanup_close_ int dir = path_open_dir(root.sessions, KEYS);
    for (int i = 1; i < KEYS_MAX - 1; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        CHECK_INT(mknodat(dir, name, S_IFREG | 0600, 0), 0);
    }
    keys_free(keys);
    MUST(keys_open(&root, &keys, &err));
    CHECK_STR(begin(keys, &more, &text), "new"); /* the 4,096th */
    struct request over = make("over");
    CHECK_STR(begin(keys, &over, &text), "503 unavailable");
    CHECK_INT(over.key_name[0], '\0');
    end(keys, &more, 400, "x"); /* it is not kept: there is room for one */
    CHECK_STR(begin(keys, &over, &text), "new");
    end(keys, &over, 200, "x");
    CHECK_STR(begin(keys, &more, &text), "503 unavailable");
    CHECK_INT(unlinkat(dir, "7", 0), 0); /* it looks again before it refuses */
    CHECK_STR(begin(keys, &more, &text), "new");
    keys_free(keys);
}

TEST(on_a_full_disk_keys_are_kept_in_memory)
{
    A_SERVER;
    struct request warm = make("warm");
    struct request one = warm, of_k4 = warm;
    char key[16];

    CHECK_STR(begin(keys, &warm, &text), "new");
    end(keys, &warm, 200, "w");
    is_full = true;
    for (int i = 0; i <= KEYS_UNWRITTEN_MAX; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        struct request request = make(key);
        CHECK_STR(begin(keys, &request, &text), i < KEYS_UNWRITTEN_MAX ? "new" : "507 no_space");
        if (i == 0 || i == KEYS_UNWRITTEN_MAX - 1)
            end(keys, &request, 200, i == 0 ? "first" : "last");
        else if (i == 1)
            one = request;
        else if (i == 4)
            of_k4 = request;
    }
    end(keys, &one, 507, "nothing done");
    struct request request = make("k0");
    CHECK_STR(begin(keys, &request, &text), "200 again first");
    request = make("k63");
    CHECK_STR(begin(keys, &request, &text), "200 again last");
    request = make("k2");
    CHECK_STR(begin(keys, &request, &text), "409 in_progress");
    request = make("k1");
    CHECK_STR(begin(keys, &request, &text), "new"); /* nothing was done, and there is a place */
    request = make("warm");
    CHECK_STR(begin(keys, &request, &text), "200 again w");
    _cleanup_free_ char *large = mem_alloc(KEYS_UNWRITTEN_TEXT + 1);
    memset(large, 'x', KEYS_UNWRITTEN_TEXT);
    request = make("k4"); /* an answer that is too large is not kept, but that it was begun is */
    memcpy(request.key_name, of_k4.key_name, sizeof request.key_name);
    memcpy(request.key_sum, of_k4.key_sum, sizeof request.key_sum);
    end(keys, &request, 200, large);
    CHECK_STR(begin(keys, &request, &text), "409 in_progress");
    is_full = false;
    request = make("any");
    CHECK_STR(begin(keys, &request, &text), "new"); /* what had found no room is written */
    MUST(keys_open(&root, &other, &err));
    request = make("k0");
    CHECK_STR(begin(other, &request, &text), "200 again first");
    request = make("k63");
    CHECK_STR(begin(other, &request, &text), "200 again last");
    request = make("k2");
    CHECK_STR(begin(other, &request, &text), "409 outcome_unknown");
    keys_free(other);
    keys_free(keys);
}

TEST(what_a_killed_server_was_about_to_write_is_in_nobodys_way)
{
    A_SERVER;
    struct request request = make("k");

    CHECK_STR(begin(keys, &request, &text), "new");
    _cleanup_free_ char *fresh = mem_printf(".%s.new", request.key_name);
    _cleanup_close_ int dir = path_open_dir(root.sessions, KEYS);
    CHECK(place_put(dir, fresh, "half"));
    end(keys, &request, 200, "x");
    CHECK_STR(begin(keys, &request, &text), "200 again x");
    CHECK_INT(faccessat(dir, fresh, F_OK, 0), -1);
    keys_free(keys);
}

TEST(what_is_damaged_is_not_done_again)
{
    static const char *const damaged[] = {"", "x", "x y", "x y z\n", "\n"};
    A_SERVER;

    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        _cleanup_free_ char *key = mem_printf("k%zu", i);
        struct request request = make(key);
        struct request second = make(key);
        CHECK_STR(begin(keys, &request, &text), "new");
        _cleanup_close_ int dir = path_open_dir(root.sessions, KEYS);
        CHECK(place_put(dir, request.key_name, damaged[i]));
        CHECK_STR(begin(keys, &second, &text), "409 outcome_unknown");
    }
    keys_free(keys);
}
