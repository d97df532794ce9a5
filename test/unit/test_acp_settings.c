/* Modes and options that an ACP agent offers, and how they are set. */
#include "talk.h"

#include "host/acp/agent_side.h"

enum { MODE = 1U << ROLE_MODE, NOTE = 1U << ROLE_NOTE };

static void hear_answer(void *arg, const struct acp_answer *answer)
{
    settings_answer(arg, answer);
}

static void hear_garbage(void *arg, const char *why, const char *bytes, size_t len)
{
    (void)arg, (void)why, (void)bytes, (void)len;
    CHECK(false);
}

static const struct acp_ops acp_ops = {.answer = hear_answer, .garbage = hear_garbage};

/* The world of an ACP agent that is ready. */
static void begin(struct world *world)
{
    struct conversation *conversation = &world->conversation;

    conversation->link.acp = acp_new(&acp_ops, &world->host);
    conversation->link.phase.now = PHASE_READY;
    conversation->offered.mode = mem_dup("");
    world->host.server.clients[1] = (struct client){.conn = CONN_INIT, .kind = CLIENT_NEW};
    world->host.server.count = 2;
}

static void end(struct world *world)
{
    settings_free(&world->conversation.settings);
    offered_free(&world->conversation.offered);
    acp_free(world->conversation.link.acp);
}

static void forget_sent(struct world *world)
{
    size_t len = 0;

    (void)acp_out(world->conversation.link.acp, &len);
    acp_sent(world->conversation.link.acp, len);
}

/* What the agent was asked since the last call: method and parameters, one a line. */
static char *asked(struct world *world)
{
    size_t len = 0;
    const char *out = acp_out(world->conversation.link.acp, &len);
    _cleanup_free_ char *text = mem_dupn(len > 0 ? out : "", len);
    struct str lines = STR_INIT;

    for (char *at = text, *next; *at != '\0'; at = next) {
        struct json *json = NULL;
        struct err err = ERR_INIT;
        next = strchr(at, '\n') + 1;
        if (json_parse(at, (size_t)(next - 1 - at), 1 << 20, &json, &err) == -1)
            break;
        const struct json *params = json_get(json, "params");
        str_addf(&lines, "%s %s%s=%s%s\n", json_get_text_or(json, "method", "?"),
                 json_get_text_or(params, "modeId", ""), json_get_text_or(params, "configId", ""),
                 json_get_text_or(params, "value", ""),
                 json_bool(json_get(params, "value"), false) ? "true" : "");
        json_free(json);
    }
    acp_sent(world->conversation.link.acp, len);
    char *ret = mem_dup(str_text(&lines));
    str_free(&lines);
    return ret;
}

#define CHECK_ASKED(text_)                                                                         \
    do {                                                                                           \
        _cleanup_free_ char *asked_ = asked(&world);                                               \
        CHECK_STR(asked_, (text_));                                                                \
    } while (0)

static void answer(struct world *world, int64_t serial, const char *result)
{
    _cleanup_free_ char *line = mem_printf("{\"id\":%d,%s}\n", (int)serial, result);

    acp_feed(world->conversation.link.acp, line, strlen(line));
}

static const char options_text[] =
    "[{\"id\":\"m\",\"name\":\"Model\",\"category\":\"model\",\"type\":\"select\",\"currentValue\":"
    "\"a\",\"options\":[{\"value\":\"a\",\"name\":\"A\"},{\"name\":\"group\",\"options\":"
    "[{\"value\":\"b\",\"name\":\"B\"},{\"value\":\"c\",\"name\":\"C\"}]}]},"
    "{\"name\":\"no id\"},"
    "{\"id\":\"s\",\"name\":\"Switch\",\"type\":\"boolean\",\"currentValue\":true}]";

static void offer(struct world *world)
{
    _cleanup_json_ struct json *json = NULL;
    struct err err = ERR_INIT;

    WELL(json_parse(options_text, strlen(options_text), 1 << 20, &json, &err));
    offered_parse_options(&world->host, json);
}

TEST(options_are_told_as_choices)
{
    A_WORLD;
    begin(&world);
    const struct offered *offered = &world.conversation.offered;
    _cleanup_str_ struct str list = STR_INIT;

    offered_tell_options(host); /* none yet */
    CHECK_TOLD("");
    for (int again = 0; again < 2; again++) {
        offer(&world);
        CHECK_TOLD(
            "{\"event\":\"options\",\"options\":[{\"id\":\"m\",\"name\":\"Model\",\"category\":"
            "\"model\",\"type\":\"select\",\"value\":\"a\",\"values\":[{\"value\":\"a\",\"name\":"
            "\"A\"},{\"value\":\"b\",\"name\":\"B\"},{\"value\":\"c\",\"name\":\"C\"}]},{\"id\":"
            "\"s\",\"name\":\"Switch\",\"category\":null,\"type\":\"boolean\",\"value\":\"true\","
            "\"values\":[{\"value\":\"true\",\"name\":\"On\"},{\"value\":\"false\",\"name\":"
            "\"Off\"}]}]} \n");
        CHECK_INT(offered->option_count, 2);
    }
    const struct json *const nothing = NULL;
    offered_parse_options(host, nothing); /* no list changes nothing */
    CHECK_INT(offered->option_count, 2);
    CHECK(offered_find(offered, "m", NULL) == &offered->option_list[0]);
    CHECK(offered_find(offered, "s", NULL) == &offered->option_list[1]);
    CHECK(offered_find(offered, NULL, "model") == &offered->option_list[0]);
    CHECK(offered_find(offered, "x", NULL) == NULL && offered_find(offered, NULL, "x") == NULL);
    CHECK(offered_list_values(offered, "m", "c", &list));
    CHECK_STR(str_text(&list), "a, b, c");
    str_clear(&list);
    CHECK(!offered_list_values(offered, "m", "d", &list));
    CHECK_STR(str_text(&list), "a, b, c");
    str_clear(&list);
    CHECK(!offered_list_values(offered, "x", "a", &list));
    CHECK(!offered_list_values(offered, NULL, "a", &list)); /* no mode */
    CHECK_STR(str_text(&list), "");
    end(&world);
}

TEST(so_many_options_are_kept)
{
    for (int count = OFFERED_MAX; count <= OFFERED_MAX + 1; count++) {
        A_WORLD;
        begin(&world);
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_json_ struct json *json = NULL;
        str_add(&text, "[");
        for (int i = 0; i < count; i++)
            str_addf(&text, "%s{\"id\":\"o%d\",\"currentValue\":\"v\",\"options\":[]}",
                     i > 0 ? "," : "", i);
        str_add(&text, "]");
        MUST(json_parse(text.data, text.len, 1 << 20, &json, &err));
        offered_parse_options(host, json);
        const struct offered *offered = &world.conversation.offered;
        CHECK_INT(offered->option_count, OFFERED_MAX);
        CHECK(offered_find(offered, "o255", NULL) != NULL);
        CHECK(offered_find(offered, "o256", NULL) == NULL);
        CHECK(offered->options.len < 34 * 1024); /* what is told is less */
        end(&world);
    }
}

static const struct word modes[] = {
    {.id = (char *)(uintptr_t) "ask", .name = (char *)(uintptr_t) "Ask"},
    {.id = (char *)(uintptr_t) "plan", .name = (char *)(uintptr_t) "Plan"},
    {.id = (char *)(uintptr_t) "go", .name = (char *)(uintptr_t) "Go"},
};

TEST(modes_are_known_also_after_the_process)
{
    A_WORLD;
    begin(&world);
    struct offered *offered = &world.conversation.offered;

    offered_parse_modes(host, NULL, NULL, 0); /* nothing new */
    CHECK_TOLD("");
    offered_parse_modes(host, "ask", modes, 3);
    CHECK_TOLD("{\"event\":\"mode\",\"mode\":\"ask\",\"modes\":[{\"id\":\"ask\",\"name\":\"Ask\"},"
               "{\"id\":\"plan\",\"name\":\"Plan\"},{\"id\":\"go\",\"name\":\"Go\"}]} \n");
    offered_parse_modes(host, "go", NULL, 0); /* the list stays */
    CHECK_INT(offered->mode_count, 3);
    CHECK_STR(offered->mode, "go");
    CHECK(offered_has_mode(offered->modes, 3, "ask") && offered_has_mode(offered->modes, 3, "go"));
    CHECK(!offered_has_mode(offered->modes, 3, "g"));
    CHECK_INT(settings_check_mode(host, "plan", &err), 0);
    CHECK_INT(settings_check_mode(host, "x", &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_STR(err.hint, "its modes are: ask, plan, go");
    for (int again = 0; again < 2; again++) { /* a process that offers none changes nothing */
        world.conversation.link.phase.now = PHASE_OFF;
        offered_forget(offered);
        CHECK_INT(offered->mode_count, 0);
        CHECK_STR(offered->mode, "");
        CHECK_INT(offered->past_mode_count, 3);
        CHECK(settings_knows_modes(&world.conversation));
        err = (struct err)ERR_INIT;
        CHECK_INT(settings_check_mode(host, "plan", &err), 0);
        CHECK_INT(settings_check_mode(host, "x", &err), -1);
    }
    end(&world);
}

TEST(a_client_hears_whether_the_agent_has_set_it)
{
    static const struct {
        const char *result;
        const char *said, *kept, *mode;
    } table[] = {
        {"\"result\":{}", "{\"ok\":true,\"agent\":\"w1\",\"conversation\":", "mode done plan\n",
         "plan"},
        {"\"error\":{\"code\":5,\"message\":\"no\"}", "{\"ok\":false,\"code\":", "", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        begin(&world);
        struct client *client = &host->server.clients[1];
        offered_parse_modes(host, "ask", modes, 3);
        MUST(settings_set_mode(host, client, "plan", &err));
        CHECK_ASKED("session/set_mode plan=\n");
        CHECK_INT(client->kind, CLIENT_SETS);
        CHECK_INT(conn_unsent(&client->conn), 0);
        answer(&world, client->prompt, table[i].result);
        CHECK_INT(client->kind, CLIENT_LEAVES);
        _cleanup_free_ char *said = told(&world, 1);
        CHECK(str_starts(said, table[i].said));
        CHECK_STORED(MODE, table[i].kept);
        CHECK_STR(talk->memory.place.mode, table[i].mode);
        CHECK_STR(world.conversation.offered.mode, i == 0 ? "plan" : "ask");
        CHECK_INT(world.conversation.settings.asked_count, 0);
        end(&world);
    }
}

TEST(nothing_is_asked_for_what_it_has)
{
    A_WORLD;
    begin(&world);
    struct client *client = &host->server.clients[1];

    offer(&world);
    offered_parse_modes(host, "ask", modes, 3);
    MUST(settings_set_mode(host, client, "ask", &err));
    CHECK_INT(client->kind, CLIENT_LEAVES);
    client->kind = CLIENT_LISTENS; /* one that goes on asking is answered at once */
    MUST(settings_set_option(host, client, "m", "a", &err));
    MUST(settings_set_option(host, client, "s", "on", &err));
    CHECK_ASKED("");
    CHECK_INT(client->kind, CLIENT_LISTENS);
    CHECK_STORED(MODE, "mode done ask\nmode done m = a\nmode done s = true\n");
    CHECK_STR(talk->memory.place.options, "{\"m\":\"a\",\"s\":\"true\"}");
    /* but while it is asked for another one, it is asked */
    MUST(settings_set_option(host, client, "m", "b", &err));
    MUST(settings_set_option(host, client, "m", "a", &err));
    CHECK_ASKED("session/set_config_option m=b\nsession/set_config_option m=a\n");
    CHECK_INT(world.conversation.settings.asked_count, 2);
    /* their answers may come in any order */
    answer(&world, 2, "\"result\":{}");
    CHECK_STR(talk->memory.place.options, "{\"s\":\"true\",\"m\":\"a\"}");
    answer(&world, 1, "\"result\":{}");
    CHECK_STR(talk->memory.place.options, "{\"s\":\"true\",\"m\":\"b\"}");
    end(&world);
}

TEST(values_are_held_to_what_is_offered)
{
    static const struct {
        const char *option, *value, *asked;
        int code;
        const char *hint;
    } table[] = {
        {"x", "a", "", MAS_NOT_FOUND, "its options are: m, s"},
        {"s", "yes", "", MAS_USAGE, "its values are: true, false"},
        {"s", "off", "session/set_config_option s=\n", 0, ""},
        {"s", "false", "session/set_config_option s=\n", 0, ""},
        {"s", "true", "", 0, ""},
        {"m", "off", "session/set_config_option m=off\n", 0, ""}, /* the agent decides */
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        A_WORLD;
        begin(&world);
        offer(&world);
        int rc = settings_set_option(host, &host->server.clients[1], table[i].option,
                                     table[i].value, &err);
        CHECK_INT(rc, table[i].code == 0 ? 0 : -1);
        CHECK_INT(err.code, table[i].code);
        CHECK_STR(err.hint, table[i].hint);
        CHECK_ASKED(table[i].asked);
        if (i == 5) {
            answer(&world, 1, "\"error\":{\"code\":5,\"message\":\"no\"}");
            _cleanup_free_ char *said = told(&world, 1);
            CHECK(strstr(said, "its values are: a, b, c") != NULL);
            CHECK_STR(talk->memory.place.options, "{}");
        }
        end(&world);
    }
    A_WORLD;
    begin(&world);
    CHECK_INT(settings_set_mode(host, &host->server.clients[1], "plan", &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    CHECK_STR(err.text, "the agent has no modes");
    /* without a process both are kept for the next one */
    world.conversation.link.phase.now = PHASE_OFF;
    err = (struct err)ERR_INIT;
    MUST(settings_set_mode(host, &host->server.clients[1], "plan", &err));
    MUST(settings_set_option(host, &host->server.clients[0], "m", "b", &err));
    CHECK_ASKED("");
    CHECK_STR(talk->memory.place.mode, "plan");
    CHECK_STR(talk->memory.place.options, "{\"m\":\"b\"}");
    end(&world);
}

TEST(what_was_set_is_made_in_the_next_session)
{
    static char model[] = "b", preset_mode[] = "plan";
    A_WORLD;
    begin(&world);

    world.agent.model = model;
    free(world.preset.mode);
    world.preset.mode = mem_dup(preset_mode);
    offer(&world);
    offered_parse_modes(host, "ask", modes, 3);
    free(talk->memory.place.options);
    talk->memory.place.options = mem_dup("{\"s\":\"off\",\"gone\":\"1\",\"m\":\"c\"}");
    world.conversation.link.phase.now = PHASE_OPENS;
    (void)queue_text(&world, "waits");
    settings_begin(host);
    CHECK_ASKED("session/set_mode plan=\n");
    CHECK_INT(world.conversation.link.phase.now, PHASE_SETS);
    answer(&world, 1, "\"error\":{\"code\":5,\"message\":\"no\"}"); /* it goes on */
    CHECK_ASKED("session/set_config_option m=b\n");
    answer(&world, 2, "\"result\":{}");
    CHECK_ASKED("session/set_config_option s=\n");
    CHECK_INT(world.conversation.link.phase.now, PHASE_SETS);
    CHECK_CALLS("");
    answer(&world, 3, "\"result\":{}");
    CHECK_ASKED("session/set_config_option m=c\n");
    answer(&world, 4, "\"result\":{}");
    CHECK_INT(world.conversation.link.phase.now, PHASE_READY);
    CHECK_CALLS("send(waits)"); /* no prompt before all is set */
    _cleanup_free_ char *notes = stored(&world, NOTE);
    CHECK(str_starts(notes, "note done the agent rejected the mode: "));
    end(&world);
}

TEST(what_the_agent_does_not_have_is_said)
{
    static char model[] = "big";
    A_WORLD;
    begin(&world);

    world.agent.model = model;
    free(talk->memory.place.mode);
    talk->memory.place.mode = mem_dup("fly");
    world.conversation.link.phase.now = PHASE_OPENS;
    offered_parse_modes(host, "ask", modes, 3);
    settings_begin(host);
    CHECK_ASKED("");
    CHECK_INT(world.conversation.link.phase.now, PHASE_READY);
    CHECK_STORED(NOTE, "note done the agent has no mode 'fly': its mode is ask\n"
                       "note done the agent has no option for its model: 'big' is not set\n");
    end(&world);
}

TEST(an_end_of_the_process_ends_what_is_asked)
{
    A_WORLD;
    begin(&world);
    struct client *client = &host->server.clients[1];

    offer(&world);
    MUST(settings_set_option(host, client, "m", "b", &err));
    MUST(
        settings_set_option(host, &host->server.clients[0], "m", "c", &err)); /* it does not wait */
    forget_sent(&world);
    settings_process_ended(host);
    CHECK_INT(world.conversation.settings.asked_count, 0);
    CHECK_INT(client->kind, CLIENT_LEAVES);
    _cleanup_free_ char *said = told(&world, 1);
    CHECK(strstr(said, "it has not set 'm=b': its process ended") != NULL);
    CHECK_STORED(NOTE, "note done cannot set an option of agent 'w1': it has not set 'm=c': its "
                       "process ended\n");
    CHECK_STR(talk->memory.place.options, "{}");
    /* an answer in another session says nothing of this one */
    MUST(settings_set_option(host, &host->server.clients[0], "m", "b", &err));
    free(talk->session);
    talk->session = mem_dup("S2");
    answer(&world, 3, "\"result\":{}");
    CHECK_STR(talk->memory.place.options, "{}");
    end(&world);
}
