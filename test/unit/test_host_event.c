/* Events of a host as who follows them reads them: protocol/host_event.h. */
#include "unit.h"

#include "protocol/host_event.h"

/* Parses an event. Release *ret_head, which the members belong to. */
static struct host_event event_of(const char *text, const char *body, struct json **ret_head)
{
    struct host_event event = {.type = HOST_EVENT_COUNT};
    struct err err = ERR_INIT;

    CHECK(json_parse(text, strlen(text), 1 << 20, ret_head, &err) == 0);
    bool is_event = host_event_parse(*ret_head, body, body != NULL ? strlen(body) : 0, &event);
    CHECK_INT(is_event, event.type != HOST_EVENT_COUNT);
    return event;
}

/* In the order of the enum; what a host of a later release tells is none of them. */
TEST(each_type_has_its_name)
{
    static const char *const names[] = {
        "queued",       "prompt",     "text",      "thought",  "user",  "tool",
        "plan",         "permission", "permitted", "elicited", "mode",  "commands",
        "options",      "usage",      "title",     "state",    "query", "continuity",
        "conversation", "note",       "end",       "later"};

    CHECK_INT(ARRAY_LEN(names), HOST_EVENT_COUNT + 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_json_ struct json *head = NULL;
        _cleanup_free_ char *text = mem_printf("{\"event\":\"%s\"}", names[i]);
        CHECK_INT(event_of(text, NULL, &head).type, i);
    }
    static const char *const none[] = {"{}", "{\"event\":1}", "{\"event\":\"\"}"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        _cleanup_json_ struct json *head = NULL;
        CHECK_INT(event_of(none[i], NULL, &head).type, HOST_EVENT_COUNT);
    }
}

TEST(each_text_is_the_member_of_its_name)
{
    static const struct {
        const char *key;
        size_t at;
    } texts[] = {
#define MEMBER(name_) {#name_, offsetof(struct host_event, name_)}
        MEMBER(prompt),
        MEMBER(message),
        MEMBER(from),
        MEMBER(permission),
        MEMBER(option),
        MEMBER(name),
        MEMBER(by),
        MEMBER(elicitation),
        MEMBER(id),
        MEMBER(kind),
        MEMBER(status),
        MEMBER(title),
        MEMBER(query),
        MEMBER(reason),
        MEMBER(conversation),
        MEMBER(outcome),
        MEMBER(note),
        MEMBER(mode),
        MEMBER(state),
        MEMBER(error),
        {"stopReason", offsetof(struct host_event, stop_reason)},
#undef MEMBER
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_json_ struct json *head = NULL;
        _cleanup_free_ char *text = mem_printf("{\"event\":\"end\",\"%s\":\"it\"}", texts[i].key);
        struct host_event event = event_of(text, NULL, &head);
        for (size_t k = 0; k < ARRAY_LEN(texts); k++)
            if (!CHECK_STR(*(const char **)((char *)&event + texts[k].at), k == i ? "it" : NULL))
                printf("# %s in %s\n", texts[k].key, text);
    }
}

TEST(what_is_missing_has_the_value_that_is_said)
{
    _cleanup_json_ struct json *head = NULL;
    struct host_event event = event_of("{\"event\":\"usage\"}", NULL, &head);

    CHECK_INT(event.at, -1);
    CHECK_INT(event.used, -1);
    CHECK_INT(event.size, 0);
    CHECK_INT(event.cost.micro, 0);
    CHECK(!event.plan && event.body == NULL && event.entries == NULL && event.options == NULL);
    CHECK(event.modes == NULL && event.commands == NULL && event.head == head);
    _cleanup_json_ struct json *full = NULL;
    event = event_of(
        "{\"event\":\"usage\",\"at\":0,\"used\":7,\"size\":9,\"plan\":true,\"entries\":[1],"
        "\"options\":[2],\"modes\":[3],\"commands\":[4],\"details\":\"more\"}",
        "body", &full);
    CHECK(event.at == 0 && event.used == 7 && event.size == 9 && event.plan);
    CHECK_INT(json_int(json_first(event.entries), 0), 1);
    CHECK_INT(json_int(json_first(event.options), 0), 2);
    CHECK_INT(json_int(json_first(event.modes), 0), 3);
    CHECK_INT(json_int(json_first(event.commands), 0), 4);
    CHECK_STR(event.body, "body"); /* which comes before details */
    CHECK_INT(event.body_len, 4);
    _cleanup_json_ struct json *details = NULL;
    event = event_of("{\"permission\":\"p\",\"details\":\"more\"}", NULL, &details);
    CHECK_STR(event.body, "more");
    CHECK_INT(event.body_len, 4);
    CHECK_STR(event.permission, "p"); /* also of what is no event */
}

TEST(a_code_is_one_of_an_error)
{
    static const struct {
        int code, is;
    } codes[] = {{MAS_FAILED, MAS_FAILED},
                 {MAS_FAILED + 1, MAS_FAILED + 1},
                 {MAS_TIMEOUT - 1, MAS_TIMEOUT - 1},
                 {MAS_TIMEOUT, MAS_TIMEOUT},
                 {MAS_TIMEOUT + 1, MAS_FAILED},
                 {0, MAS_FAILED},
                 {-1, MAS_FAILED}};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        _cleanup_json_ struct json *head = NULL;
        _cleanup_free_ char *text = mem_printf("{\"event\":\"end\",\"code\":%d}", codes[i].code);
        CHECK_INT(event_of(text, NULL, &head).code, codes[i].is);
    }
    _cleanup_json_ struct json *head = NULL;
    CHECK_INT(event_of("{\"event\":\"end\"}", NULL, &head).code, MAS_FAILED);
}

TEST(a_permission_is_copied)
{
    static const char text[] =
        "{\"event\":\"permission\",\"permission\":\"7\",\"id\":\"tool\",\"title\":\"Edit\","
        "\"kind\":\"edit\","
        "\"plan\":true,\"url\":\"https://x\",\"elicitation\":\"e\",\"form\":{\"a\":1},\"options\":["
        "{\"id\":\"one\",\"name\":\"\",\"kind\":\"k\"},{\"id\":\"two\",\"name\":\"Two\"},{\"id\":"
        "\"three\"}]}";
    _cleanup_json_ struct json *head = NULL;
    struct host_event event = event_of(text, "a body", &head);
    struct host_permission permission = host_permission_copy(&event);

    CHECK_STR(permission.id, "7");
    CHECK_STR(permission.tool, "tool");
    CHECK_STR(permission.title, "Edit");
    CHECK_STR(permission.kind, "edit");
    CHECK_STR(permission.body, "a body");
    CHECK_STR(permission.url, "https://x");
    CHECK_STR(permission.elicitation, "e");
    CHECK(permission.plan && json_int(json_get(permission.form, "a"), 0) == 1);
    REQUIRE(permission.options.count == 3);
    CHECK_STR(permission.options.word[0].id, "one");
    CHECK_STR(permission.options.word[0].name, "one");
    CHECK_STR(permission.options.word[0].kind, "k");
    CHECK_STR(permission.options.word[1].name, "Two");
    CHECK_STR(permission.options.word[2].name, "three");
    host_permission_free(&permission);

    _cleanup_json_ struct json *bare = NULL;
    event = event_of("{\"event\":\"permission\",\"form\":\"no object\"}", NULL, &bare);
    permission = host_permission_copy(&event);
    CHECK_STR(permission.id, "");
    CHECK(permission.tool == NULL && permission.title == NULL && permission.body == NULL);
    CHECK(permission.form == NULL && permission.url == NULL && permission.options.count == 0);
    host_permission_free(&permission);
}

TEST(two_permissions_ask_the_same_by_title_and_body)
{
    static const struct {
        const char *title, *body, *other_title, *other_body;
        bool same;
    } cases[] = {{"t", "b", "t", "b", true},    {"t", "b", "x", "b", false},
                 {"t", "b", "t", "x", false},   {NULL, NULL, "", "", true},
                 {NULL, "b", "t", "b", false},  {"t", "b", "t", NULL, false},
                 {NULL, NULL, NULL, "b", false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct host_permission a = {
            .title = (char *)cases[i].title, .body = (char *)cases[i].body, .id = (char *)"1"};
        const struct host_permission b = {.title = (char *)cases[i].other_title,
                                          .body = (char *)cases[i].other_body,
                                          .id = (char *)"2"};
        CHECK_INT(host_permission_asks_same(&a, &b), cases[i].same);
        CHECK_INT(host_permission_asks_same(&b, &a), cases[i].same);
    }
}

TEST(a_tool_has_a_title)
{
    static const struct {
        const char *title, *kind, *shown;
    } cases[] = {{"Edit x", "edit", "Edit x"}, {"", "edit", "edit"}, {NULL, "edit", "edit"},
                 {"Edit", NULL, "Edit"},       {"", "", "a tool"},   {NULL, NULL, "a tool"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct host_event event = {.title = cases[i].title, .kind = cases[i].kind};
        const struct host_permission permission = {.title = (char *)cases[i].title,
                                                   .kind = (char *)cases[i].kind};
        CHECK_STR(host_event_title(&event), cases[i].shown);
        CHECK_STR(host_permission_title(&permission), cases[i].shown);
    }
}

TEST(an_id_ends_with_its_number)
{
    static const struct {
        const char *id;
        int64_t number;
    } ids[] = {{"s:1", 1}, {"a:b:12", 12}, {"s:9223372036854775807", INT64_MAX},
               {":3", 3},  {"12", 0},      {"s:", 0},
               {"s:x", 0}, {"s:1x", 0},    {"s:-1", 0},
               {"", 0},    {NULL, 0},      {"s:9223372036854775808", 0}};

    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        CHECK_INT(host_event_number(ids[i].id), ids[i].number);
}
