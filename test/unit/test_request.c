/*
 * Requests and their answers: how an address is cut up, and what clients are told of errors.
 */
#include "unit.h"

#include "serve/request.h"

static struct request make(const char *uri)
{
    return (struct request){
        .uri = mem_dup(uri), .body = STR_INIT, .answer = {.body = STR_INIT, .cookie = STR_INIT}};
}
#define _cleanup_request_ __attribute__((cleanup(request_free)))

/* The parts and queries of an address, or the status of the refusal. */
static const char *split(const char *uri, struct str *to)
{
    _cleanup_request_ struct request request = make(uri);

    str_clear(to);
    if (!request_split(&request)) {
        str_addf(to, "%d", request.answer.status);
        return str_text(to);
    }
    for (size_t i = 0; i < request.part_count; i++)
        str_addf(to, "/%s", request.parts[i]);
    for (size_t i = 0; i < request.query_count; i++)
        str_addf(to, " %s=%s", request.queries[i].key, request.queries[i].value);
    return str_text(to);
}

TEST(addresses_are_cut_up_or_refused)
{
    static const struct {
        const char *uri, *want;
    } cases[] = {
        {"/", ""},
        {"/a", "/a"},
        {"/a/b/c/d/e/f", "/a/b/c/d/e/f"},
        {"/a/b/c/d/e/f/g", "404"},
        {"/a/", "404"},
        {"//a", "404"},
        {"/a//b", "404"},
        {"a", "404"},
        {"/./a", "404"},
        {"/a/..", "404"},
        {"/a/../b", "404"},
        {"/...", "/..."},
        {"/a%2fb", "/a%2fb"},
        {"/a\x01", "404"},
        {"", "414"},
        {"/a?", "/a"},
        {"/?x=1", " x=1"},
        {"/a?x=1&y=2", "/a x=1 y=2"},
        {"/a?x", "/a x="},
        {"/a?&&x=1&", "/a x=1"},
        {"/a?x=1=2", "/a x=1=2"},
        {"/a?x=a+b%20c%2B%2b", "/a x=a b c++"},
        {"/a?x%3d=1", "/a x==1"},
        {"/a?x=%c3%A4", "/a x=\xc3\xa4"},
        {"/a?x=/?", "/a x=/?"},
        {"/a?x=%", "400"},
        {"/a?x=%4", "400"},
        {"/a?x=%4g", "400"},
        {"/a?x=%g4", "400"},
        {"/a?x=%00", "400"},
        {"/a?x=%0a", "400"},
        {"/a?x=%7f", "400"},
        {"/a?x=%c3", "400"},
        {"/a?%zz=1", "400"},
        {"/a?x=1&x=2", "400"},
        {"/a?x=1&y=2&x", "400"},
        {"/a?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p",
         "/a a= b= c= d= e= f= g= h= i= j= k= l= m= n= o= p="},
        {"/a?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q", "400"},
    };
    _cleanup_str_ struct str text = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(split(cases[i].uri, &text), cases[i].want);
}

TEST(what_stands_for_an_item_is_decoded)
{
    static const struct {
        const char *part, *item; /* NULL: it is refused */
    } cases[] = {
        {"x", "x"},       {"a%20b", "a b"}, {"a+b", "a+b"}, {"%41%4a%4f", "AJO"}, {"%5A%5a", "ZZ"},
        {"%2e%2e", NULL}, {"%2e", NULL},    {"%2f", NULL},  {"a%2fb", NULL},      {"%00", NULL},
        {"%7", NULL},     {"%0a", NULL},    {"%ff", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *uri = mem_printf("/a/%s/%%41", cases[i].part);
        _cleanup_request_ struct request request = make(uri);
        REQUIRE(request_split(&request));
        request.item = request.parts[1];
        bool fine = request_decode_item(&request);
        CHECK_INT(fine, cases[i].item != NULL);
        if (fine)
            CHECK_STR(request.item, cases[i].item);
        else
            CHECK_INT(request.answer.status, 404);
        CHECK_STR(request.parts[2], "%41"); /* no other part */
    }
    _cleanup_request_ struct request request = make("/%41");
    CHECK(request_split(&request) && request_decode_item(&request)); /* it has none */
    CHECK_STR(request.parts[0], "%41");
}

TEST(queries_are_found_by_their_whole_names)
{
    _cleanup_request_ struct request request = make("/?ab=1&b=2&c");

    REQUIRE(request_split(&request));
    CHECK_STR(request_query(&request, "ab"), "1");
    CHECK_STR(request_query(&request, "b"), "2");
    CHECK_STR(request_query(&request, "c"), "");
    CHECK_STR(request_query(&request, "a"), NULL);
    CHECK_STR(request_query(&request, ""), NULL);
}

/* ---- errors */

/* The status, code and hint of the answer. */
static const char *told(const struct request *request, struct str *to)
{
    _cleanup_json_ struct json *body = NULL;
    struct err err = ERR_INIT;

    str_clear(to);
    if (!CHECK(json_parse(str_text(&request->answer.body), request->answer.body.len, 1 << 20, &body,
                          &err) == 0))
        return "no JSON";
    const struct json *error = json_get(body, "error");
    const char *hint = json_get_text(error, "hint");
    str_addf(to, "%d %s: %s", request->answer.status, json_get_text(error, "code"),
             hint != NULL ? hint : "-");
    return str_text(to);
}

TEST(an_error_has_the_status_of_its_code)
{
    static const struct {
        int code;
        const char *text;
        int conflict;
        const char *want;
    } cases[] = {
        {MAS_FAILED, "x", 409, "500 internal: -"},
        {MAS_USAGE, "x", 409, "400 bad_request: GET /openapi.json says what this address takes"},
        {MAS_NOT_FOUND, "x", 409, "404 not_found: GET /openapi.json lists the addresses"},
        {MAS_CONFLICT, "x", 409, "409 conflict: -"},
        {MAS_CONFLICT, "x", 410, "410 gone: -"},
        {MAS_DAMAGED, "x", 409, "422 damaged: -"},
        {MAS_TMUX, "x", 409, "503 unavailable: -"},
        {MAS_TIMEOUT, "x", 409, "504 timeout: see what was done before you try again"},
        {130, "x", 409, "500 internal: -"},
        {-1, "x", 409, "500 internal: -"},
        {MAS_FAILED, "cannot write: No space left on device", 409, "507 no_space: -"},
        {MAS_FAILED, "cannot write: Disk quota exceeded", 409, "507 no_space: -"},
        {MAS_CONFLICT, "cannot write: No space left on device", 409, "409 conflict: -"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_request_ struct request request = make("/");
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = ERR_INIT;
        (void)err_set(&err, cases[i].code, "%s", cases[i].text);
        answer_err(&request, &err, cases[i].conflict);
        CHECK_STR(told(&request, &text), cases[i].want);
    }
}

TEST(a_status_has_a_code_and_a_hint)
{
    static const struct {
        int status;
        const char *want;
    } cases[] = {
        {400, "400 bad_request: GET /openapi.json says what this address takes"},
        {401, "401 unauthorized: send the header 'Authorization: Bearer TOKEN', or pair the "
              "browser: POST /pair"},
        {403, "403 forbidden: ask by an address of the server, from its own page or without the "
              "header Origin"},
        {404, "404 not_found: GET /openapi.json lists the addresses"},
        {405, "405 bad_method: the header Allow has the methods of this address"},
        {409, "409 conflict: -"},
        {410, "410 gone: -"},
        {413,
         "413 too_large: send less, or nothing if GET /openapi.json has no body for this address"},
        {414, "414 too_long: send a shorter address"},
        {416, "416 no_such_range: the header Content-Range has the length"},
        {422, "422 damaged: -"},
        {500, "500 internal: -"},
        {503, "503 unavailable: try again later"},
        {504, "504 timeout: see what was done before you try again"},
        {507, "507 no_space: -"},
        {599, "599 internal: -"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_request_ struct request request = make("/");
        _cleanup_str_ struct str text = STR_INIT;
        answer_error(&request, cases[i].status, "x %d", 1);
        CHECK_STR(told(&request, &text), cases[i].want);
        CHECK(strstr(str_text(&request.answer.body), "\"message\":\"x 1\"") != NULL);
        answer_refusal(&request, cases[i].status, "own_code", "own hint", "x");
        _cleanup_free_ char *own = mem_printf("%d own_code: own hint", cases[i].status);
        CHECK_STR(told(&request, &text), own);
    }
}

/* What is not there is in a list. */
TEST(a_404_says_which_list_to_look_at)
{
    static const struct {
        const char *uri;
        const char *id, *agent;
        int item; /* the index of its part; 0: none */
        const char *want;
    } cases[] = {
        {"/x", "", NULL, 0, "404 not_found: GET /openapi.json lists the addresses"},
        {"/sessions/1", "1", NULL, 0, "404 not_found: GET /sessions lists the sessions"},
        {"/sessions/1/agents/2", "1", "2", 0,
         "404 not_found: GET /sessions/1 lists the agents, GET /sessions the sessions"},
        {"/operations/3", "", NULL, 1, "404 not_found: GET /operations lists them"},
        {"/templates/3", "", NULL, 1, "404 not_found: GET /templates lists them"},
        {"/sessions/1/agents/2/permissions/3", "1", "2", 5,
         "404 not_found: GET /sessions/1/agents/2/permissions lists what the agent asks"},
        {"/sessions/1/agents/2/other/3", "1", "2", 5,
         "404 not_found: GET /sessions/1 lists the agents, GET /sessions the sessions"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_request_ struct request request = make(cases[i].uri);
        _cleanup_str_ struct str text = STR_INIT;
        REQUIRE(request_split(&request));
        (void)snprintf(request.id, sizeof request.id, "%s", cases[i].id);
        request.agent = cases[i].agent;
        request.item = cases[i].item > 0 ? request.parts[cases[i].item] : NULL;
        answer_error(&request, 404, "x");
        CHECK_STR(told(&request, &text), cases[i].want);
    }
}

/* Clients have no command line. */
TEST(hints_name_addresses_instead_of_commands)
{
    static const struct {
        const char *hint, *want;
    } cases[] = {
        {"start it with: mas start X", "409 conflict: start it with: POST /sessions/ID/start"},
        {"list the sessions with: mas list", "409 conflict: list the sessions with: GET /sessions"},
        {"check it with: mas doctor; or else mas show X",
         "409 conflict: check it with: GET /doctor; or else GET /sessions/ID"},
        {"mas frobnicate", "409 conflict: -"},
        {"a thing; mas frobnicate; another", "409 conflict: a thing; another"},
        {"christmas start", "409 conflict: christmas start"},
        {"look into the file", "409 conflict: look into the file"},
        {"give --onto BRANCH or --squash", "409 conflict: give 'onto' or 'how' squash"},
        {"give --onto x", "409 conflict: give 'onto' x"},
        {"give --ontology x", "409 conflict: -"},
        {"give --unknown", "409 conflict: -"},
        {"with --keep and --new-id", "409 conflict: with 'keep' and newId=true"},
        {"in the pane: press it; wait", "409 conflict: wait"},
        {"wait  (or: mas frobnicate)", "409 conflict: wait"},
        {"try again", "409 conflict: try again"},
        {"see 'mas status X'", "409 conflict: see 'GET /sessions/ID/agents/AGENT"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_request_ struct request request = make("/sessions/1/agents/2");
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = ERR_INIT;
        (void)err_set(&err, MAS_CONFLICT, "x");
        (void)err_hint(&err, "%s", cases[i].hint);
        (void)snprintf(request.id, sizeof request.id, "ID");
        request.agent = "AGENT";
        answer_err(&request, &err, 409);
        CHECK_STR(told(&request, &text), cases[i].want);
    }
}

TEST(a_failure_of_an_operation_is_told_likewise)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct err err = ERR_INIT;

    (void)err_set(&err, MAS_CONFLICT, "it runs");
    (void)err_hint(&err, "stop it with: mas stop X");
    json_open(&out, NULL, '{');
    answer_put_failure(&err, "ID", "AGENT", &out);
    json_close(&out, '}');
    CHECK_STR(str_text(&text), "{\"error\":{\"code\":\"conflict\",\"message\":\"it "
                               "runs\",\"hint\":\"stop it with: POST /sessions/ID/stop\"}}");
}

/* ---- tags */

TEST(a_tag_that_the_client_has_is_answered_without_a_body)
{
    static const struct {
        const char *has;
        int status;
    } cases[] = {
        {NULL, 200},
        {"\"00000000000000ff\"", 304},
        {"\"1\", \"00000000000000ff\" , \"2\"", 304},
        {"W/\"00000000000000ff\"", 304},
        {"*", 304},
        {"\"*\"", 200},
        {"\"00000000000000fe\"", 200},
        {"00000000000000ff", 200},
        {"", 200},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_request_ struct request request = make("/");
        struct str body = STR_INIT;
        str_add(&body, "body");
        answer_json(&request, 200, &body);
        CHECK_STR(str_text(&body), "");
        request.if_none_match = cases[i].has;
        answer_tag(&request, 0xff);
        CHECK_INT(request.answer.status, cases[i].status);
        CHECK_STR(request.answer.etag, "\"00000000000000ff\"");
        CHECK_STR(str_text(&request.answer.body), cases[i].status == 200 ? "body" : "");
    }
}

TEST(a_hash_is_fnv_1a)
{
    CHECK(hash_bytes(HASH_START, "", 0) == HASH_START);
    CHECK(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    CHECK(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    CHECK(hash_bytes(hash_bytes(HASH_START, "foo", 3), "bar", 3) ==
          hash_bytes(HASH_START, "foobar", 6));
    CHECK(hash_bytes(HASH_START, "\xff", 1) != hash_bytes(HASH_START, "\x7f", 1));
}
