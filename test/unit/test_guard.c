/*
 * Who a request comes from, and whether it may: Host, Origin and tokens.
 */
#include "root.h"

#include "serve/guard.h"
#include "serve/request.h"

#define FILE_TOKEN "0123456789abcdef"

struct fixture {
    struct place place;
    struct root root;
    struct config config;
    struct guard guard;
};

static void fixture_free(struct fixture *f)
{
    guard_free(&f->guard);
    config_free(&f->config);
    root_close(&f->root);
    place_free(&f->place);
}
#define _cleanup_fixture_ __attribute__((cleanup(fixture_free)))

/* A guard with the hosts "a.example" and "b.example"; its token is FILE_TOKEN. */
static bool fixture_make(struct fixture *f)
{
    struct err err = ERR_INIT;

    *f = (struct fixture){.place = place_make(), .root = ROOT_INIT, .config = CONFIG_INIT};
    root_clear_env(&f->place);
    return root_make(&f->place, &f->root) &&
           place_put(f->place.dir, ROOT_SETTINGS,
                     "[serve]\nhosts = a.example b.example\ntoken_file = tok\n") &&
           place_put(f->place.dir, "tok", FILE_TOKEN "\n") &&
           WELL(config_load(&f->root, false, &f->config, NULL, &err)) &&
           WELL(guard_make(&f->root, &f->config, true, &f->guard, &err));
}

/* The status of what a request gets; 0: it passes. */
static int pass(const struct fixture *f, struct request *request, bool open)
{
    struct err err = ERR_INIT;

    (void)err;
    request->answer.status = 0;
    request->known = request->paired = false;
    request->right = RIGHT_NONE;
    request->who[0] = request->token[0] = '\0';
    bool passes = guard_passes(&f->guard, request, open);
    str_free(&request->answer.body);
    CHECK_INT(passes, request->answer.status == 0);
    return request->answer.status;
}

TEST(a_host_is_a_number_or_a_name_of_the_server)
{
    static const struct {
        const char *host;
        bool good;
    } cases[] = {
        {"localhost", true},
        {"LocalHost:80", true},
        {"127.0.0.1", true},
        {"127.0.0.1:65535", true},
        {"[::1]", true},
        {"[::1]:80", true},
        {"10.1.2.3:8765", true},
        {"[fe80::1]:1", true},
        {"a.example", true},
        {"B.EXAMPLE:1", true},
        {"a.example:", true},
        {NULL, false},
        {"", false},
        {":80", false},
        {"c.example", false},
        {"xa.example", false},
        {"a.example.", false},
        {"a.example:x", false},
        {"a.example:80x", false},
        {"1.2.3", false},
        {"1.2.3.4.5", false},
        {"[::1", false},
        {"[::1]x", false},
        {"::1", false},
        {"[]", false},
        {"[1.2.3.4]", false},
        {"localhost:80:80", false},
        {"user@localhost", false},
        {"localhost/x", false},
        {"a.example b.example", false},
    };
    _cleanup_fixture_ struct fixture f;

    REQUIRE(fixture_make(&f));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request request = {.host = cases[i].host, .port = 8765};
        int status = pass(&f, &request, true);
        if (status != (cases[i].good ? 0 : 403))
            unit_print_str("host", cases[i].host);
        CHECK_INT(status, cases[i].good ? 0 : 403);
        request.local = true; /* a Unix socket has none */
        CHECK_INT(pass(&f, &request, false), 0);
        CHECK_INT(request.right, RIGHT_FULL);
    }
    char longest[300];
    for (size_t len = 254; len <= 256; len++) { /* as long as a host may be: it is still none */
        struct request request = {.host = longest};
        (void)snprintf(longest, sizeof longest, "%0*d", (int)len, 0);
        CHECK_INT(pass(&f, &request, true), 403);
    }
}

TEST(an_origin_is_this_server)
{
    static const struct {
        const char *origin, *host;
        bool good;
    } cases[] = {
        {"http://localhost:8765", "x.example", false}, /* the Host decides first */
        {"http://localhost:8765", "127.0.0.1:8765", true},
        {"http://127.0.0.1:8765", "localhost", true},
        {"http://[::1]:8765", "localhost", true},
        {"https://a.example:8765", "localhost", true},
        {"https://a.example", "localhost", true}, /* behind a proxy */
        {"http://localhost", "localhost:8765", false}, /* another server of this machine */
        {"http://localhost:8766", "localhost:8765", false},
        {"http://localhost:876", "localhost:8765", false},
        {"http://localhost:08765", "localhost:8765", false},
        {"http://localhost:8766", "localhost:8766", true}, /* the very Host and port */
        {"https://10.0.0.1:8765", "10.0.0.1:8765", true},
        {"http://10.0.0.2:8765", "10.0.0.1:8765", false},
        {"http://10.0.0.1:8765", "localhost:8765", false},
        {"http://c.example:8765", "localhost:8765", false},
        {"http://a.example:80", "localhost:8765", false},
        {"http://A.example:80", "a.EXAMPLE:80", true},
        {"null", "localhost:8765", false},
        {"", "localhost:8765", false},
        {"localhost:8765", "localhost:8765", false},
        {"ftp://localhost:8765", "localhost:8765", false},
        {"http://", "localhost:8765", false},
        {"http://localhost:8765/", "localhost:8765", false},
    };
    _cleanup_fixture_ struct fixture f;

    REQUIRE(fixture_make(&f));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request request = {.host = cases[i].host, .origin = cases[i].origin, .port = 8765};
        int status = pass(&f, &request, true);
        if (status != (cases[i].good ? 0 : 403))
            unit_print_str("origin", cases[i].origin);
        CHECK_INT(status, cases[i].good ? 0 : 403);
    }
    struct request request = {.local = true, .origin = "http://c.example"};
    CHECK_INT(pass(&f, &request, false), 403); /* also through a Unix socket */
}

TEST(a_token_says_who_it_is_and_what_it_may)
{
    _cleanup_fixture_ struct fixture f;
    char token[TOKEN_TEXT];
    char bearer[TOKEN_TEXT + 16];
    struct err err = ERR_INIT;
    struct request request = {.host = "localhost"};

    REQUIRE(fixture_make(&f));
    MUST(token_add(&f.root, "first", RIGHT_READ, 0, token, &err));
    MUST(token_add(&f.root, "phone", RIGHT_ANSWER, 0, token, &err));
    CHECK(guard_refresh(&f.guard));
    CHECK(!guard_refresh(&f.guard)); /* nothing has changed */
    CHECK_INT(pass(&f, &request, false), 401);
    CHECK_INT(pass(&f, &request, true), 0);
    CHECK_INT(request.known, false);
    CHECK(guard_still_knows(&f.guard, &request)); /* it has none to lose */
    request.authorization = "Bearer " FILE_TOKEN;
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK(request.known && !request.paired);
    CHECK_INT(request.right, RIGHT_FULL);
    CHECK_STR(request.who, TOKEN_OF_FILE);
    static const char *const wrong[] = {"Bearer " FILE_TOKEN "0",
                                        "Bearer 0123456789abcde",
                                        "Bearer  " FILE_TOKEN,
                                        "Basic " FILE_TOKEN,
                                        FILE_TOKEN,
                                        "Bearer",
                                        ""};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        request.authorization = wrong[i];
        CHECK_INT(pass(&f, &request, false), 401);
        CHECK_INT(pass(&f, &request, true), 0);
        CHECK_INT(request.known, false);
    }
    (void)snprintf(bearer, sizeof bearer, "bearer %s", token);
    request.authorization = bearer;
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK_INT(request.right, RIGHT_ANSWER);
    CHECK_STR(request.who, "phone");
    CHECK(guard_permits(&request, RIGHT_READ, "it"));
    CHECK(guard_permits(&request, RIGHT_ANSWER, "it"));
    CHECK(!guard_permits(&request, RIGHT_FULL, "it"));
    CHECK_INT(request.answer.status, 403);
    CHECK(strstr(str_text(&request.answer.body), "missing_right") != NULL);
    str_free(&request.answer.body);
    CHECK(guard_still_knows(&f.guard, &request));
    CHECK(place_put(f.place.dir, "tok", token)); /* what is in both has the rights of the file */
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK_INT(request.right, RIGHT_FULL);
    CHECK(place_put(f.place.dir, "tok", FILE_TOKEN));
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 0);
    MUST(token_remove(&f.root, "phone", &err));
    CHECK(guard_refresh(&f.guard));
    CHECK(!guard_still_knows(&f.guard, &request));
    CHECK_INT(pass(&f, &request, false), 401);
}

TEST(a_token_ends_with_its_time)
{
    _cleanup_fixture_ struct fixture f;
    char token[TOKEN_TEXT];
    char bearer[TOKEN_TEXT + 16];
    struct err err = ERR_INIT;
    struct request request = {.host = "localhost", .authorization = bearer};

    REQUIRE(fixture_make(&f));
    MUST(token_add(&f.root, "t", RIGHT_READ, time(NULL) + 1000, token, &err));
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", token);
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 0);
    REQUIRE(f.guard.named.count == 1);
    f.guard.named.at[0].expires = time(NULL) - 1;
    CHECK(!guard_still_knows(&f.guard, &request));
    CHECK_INT(pass(&f, &request, false), 401);
}

/* The two halves of a browser's token. */
TEST(halves_count_together_and_only_from_the_own_page)
{
    static const struct {
        const char *origin, *site;
        int status;
    } cases[] = {
        {NULL, NULL, 0},
        {NULL, "same-origin", 0},
        {NULL, "same-site", 401},
        {NULL, "cross-site", 401},
        {NULL, "none", 401},
        {"http://localhost:8765", "same-origin", 0},
        {"http://LOCALHOST:8765", NULL, 0},
        {"http://localhost:8765", "cross-site", 401},
        {"http://127.0.0.1:8765", NULL, 401}, /* ours, but another page */
        {"https://a.example", NULL, 401},
    };
    _cleanup_fixture_ struct fixture f;
    char token[TOKEN_TEXT];
    char cookie[TOKEN_HALF + 2];
    char page[TOKEN_HALF + 2];
    struct err err = ERR_INIT;

    REQUIRE(fixture_make(&f));
    MUST(token_add(&f.root, "t", RIGHT_ANSWER, 0, token, &err));
    CHECK(guard_refresh(&f.guard));
    (void)snprintf(cookie, sizeof cookie, "%.*s", TOKEN_HALF, token);
    (void)snprintf(page, sizeof page, "%s", token + TOKEN_HALF);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct request request = {.host = "localhost:8765",
                                  .port = 8765,
                                  .origin = cases[i].origin,
                                  .fetch_site = cases[i].site,
                                  .cookie_token = cookie,
                                  .page_token = page};
        CHECK_INT(pass(&f, &request, false), cases[i].status);
        CHECK_INT(request.paired, cases[i].status == 0);
        CHECK_INT(request.right, cases[i].status == 0 ? RIGHT_ANSWER : RIGHT_NONE);
    }
    struct request request = {.host = "localhost", .cookie_token = cookie, .page_token = page};
    CHECK_INT(pass(&f, &request, false), 0);
    request.authorization = "Bearer wrong"; /* a wrong one is not made good */
    CHECK_INT(pass(&f, &request, false), 401);
    request.authorization = "Basic x";
    CHECK_INT(pass(&f, &request, false), 401);
    request.authorization = NULL;
    request.page_token = NULL;
    CHECK_INT(pass(&f, &request, false), 401);
    request.page_token = cookie;
    CHECK_INT(pass(&f, &request, false), 401);
    request.cookie_token = NULL;
    request.page_token = page;
    CHECK_INT(pass(&f, &request, false), 401);
    request.cookie_token = page;
    request.page_token = cookie;
    CHECK_INT(pass(&f, &request, false), 401);
    request.cookie_token = cookie;
    request.page_token = page + 1;
    CHECK_INT(pass(&f, &request, false), 401);
    page[TOKEN_HALF] = 'x';
    page[TOKEN_HALF + 1] = '\0';
    request.page_token = page;
    CHECK_INT(pass(&f, &request, false), 401);
}

/* ---- the file */

TEST(a_token_file_is_believed_if_it_is_the_users_alone)
{
    static const struct {
        const char *text;
        mode_t mode;
        bool good;
    } cases[] = {
        {"0123456789abcdef", 0600, true},
        {"0123456789abcdef \t\r\n\n", 0400, true},
        {"0123456789abcde", 0600, false},
        {"0123456789abcdef x", 0600, false},
        {" 0123456789abcdef", 0600, false},
        {"0123456789abcde\x01", 0600, false},
        {"0123456789abcde\x7f", 0600, false},
        {"0123456789abcd\xc3\xa4", 0600, false},
        {"", 0600, false},
        {"0123456789abcdef", 0640, false},
        {"0123456789abcdef", 0604, false},
        {"0123456789abcdef", 0610, false},
        {"0123456789abcdef", 0602, false},
    };
    _cleanup_fixture_ struct fixture f;
    struct err err = ERR_INIT;
    char large[1100];

    REQUIRE(fixture_make(&f));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct guard guard = {.root = NULL};
        CHECK(place_put(f.place.dir, "tok", cases[i].text));
        CHECK_INT(fchmodat(f.place.dir, "tok", cases[i].mode, 0), 0);
        err = (struct err)ERR_INIT;
        bool good = guard_make(&f.root, &f.config, true, &guard, &err) == 0;
        if (good != cases[i].good)
            unit_print_str("token", cases[i].text);
        CHECK_INT(good, cases[i].good);
        guard_free(&guard);
        /* while a server runs, one that is bad opens nothing */
        struct request request = {.host = "localhost", .authorization = "Bearer 0123456789abcdef"};
        CHECK(guard_refresh(&f.guard));
        CHECK_INT(pass(&f, &request, false), cases[i].good ? 0 : 401);
    }
    for (size_t len = 1024; len <= 1025; len++) {
        struct guard guard = {.root = NULL};
        memset(large, 'x', len);
        large[len] = '\0';
        CHECK(place_put(f.place.dir, "tok", large));
        CHECK_INT(guard_make(&f.root, &f.config, true, &guard, &err), len == 1024 ? 0 : -1);
        guard_free(&guard);
    }
    CHECK_INT(unlinkat(f.place.dir, "tok", 0), 0);
    CHECK_INT(mkdirat(f.place.dir, "tok", 0700), 0);
    err = (struct err)ERR_INIT;
    CHECK_INT(guard_make(&f.root, &f.config, true, &(struct guard){.root = NULL}, &err), -1);
    CHECK(strstr(err.text, "it is a directory") != NULL);
}

TEST(a_token_file_is_made_if_there_is_none)
{
    _cleanup_fixture_ struct fixture f;
    struct err err = ERR_INIT;
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ char *again = NULL;
    size_t len = 0;
    struct stat st;

    REQUIRE(fixture_make(&f));
    CHECK_INT(unlinkat(f.place.dir, "tok", 0), 0);
    MUST(guard_make(&f.root, &f.config, true, &f.guard, &err));
    CHECK(fstatat(f.place.dir, "tok", &st, 0) == 0 && (st.st_mode & 07777) == 0600);
    CHECK_INT(st.st_nlink, 1); /* nothing is left of the way there */
    MUST(file_read(f.place.dir, "tok", 4096, &text, &len, &err));
    CHECK_INT(len, TOKEN_TEXT);
    MUST(guard_make(&f.root, &f.config, true, &f.guard, &err));
    MUST(file_read(f.place.dir, "tok", 4096, &again, &len, &err));
    CHECK_STR(again, text);
    /* a link that leads nowhere is no reason to make one */
    CHECK_INT(unlinkat(f.place.dir, "tok", 0), 0);
    CHECK_INT(symlinkat("nowhere", f.place.dir, "tok"), 0);
    CHECK_INT(guard_make(&f.root, &f.config, true, &(struct guard){.root = NULL}, &err), -1);
    CHECK_INT(faccessat(f.place.dir, "nowhere", F_OK, 0), -1);
    /* without one, only those of the root count */
    struct guard none = {.root = NULL};
    MUST(guard_make(&f.root, &f.config, false, &none, &err));
    CHECK(none.token_file == NULL && none.own.count == 0);
    guard_free(&none);
}

TEST(what_a_person_changes_counts_at_once)
{
    _cleanup_fixture_ struct fixture f;
    struct request request = {.host = "localhost", .authorization = "Bearer " FILE_TOKEN};

    REQUIRE(fixture_make(&f));
    CHECK(guard_refresh(&f.guard)); /* the first look */
    CHECK(place_put(f.place.dir, "tok", "fedcba9876543210"));
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 401);
    request.authorization = "Bearer fedcba9876543210";
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK(!guard_refresh(&f.guard));
    CHECK_INT(unlinkat(f.place.dir, "tok", 0), 0);
    CHECK(guard_refresh(&f.guard));
    CHECK(!guard_refresh(&f.guard)); /* it is still not there */
    CHECK_INT(pass(&f, &request, false), 401);
    CHECK(place_put(f.place.dir, "tok", "fedcba9876543210"));
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 0);
    CHECK_INT(fchmodat(f.place.dir, "tok", 0644, 0), 0);
    CHECK(guard_refresh(&f.guard));
    CHECK_INT(pass(&f, &request, false), 401);
}
