/* The table of operations: that its rows fit together, and what is made of them. */
#include "model/operation.h"

#include "unit.h"

#define ID "11111111-1111-4111-8111-111111111111"
#define FILE_START "sessions/.transfer."

/* Every parameter, with a value that its row accepts. */
static const char *value_of(const struct param *param)
{
    switch (param->kind) {
    case PARAM_FLAG:
        return "true";
    case PARAM_NUMBER:
        return "7";
    case PARAM_LIST:
    case PARAM_AGENTS:
        return "[\"lead\",\"10\"]";
    case PARAM_FORM:
        return "{}";
    case PARAM_ID:
        return "\"" ID "\"";
    case PARAM_PATH:
        return "\"/p\"";
    case PARAM_WORD:
        return strstr(param->words, "merge") != NULL      ? "\"squash\""
               : strstr(param->words, "isolated") != NULL ? "\"legacy\""
                                                          : "\"no\"";
    default:
        return "\"a-b\"";
    }
}

static const struct operation *operation_named(const char *name)
{
    const struct operation *operation = operations;

    while (strcmp(operation->name, name) != 0)
        operation++;
    return operation;
}

static struct json *all_values(const struct operation *operation)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct json *ret = NULL;
    struct err err = ERR_INIT;

    json_open(&out, NULL, '{');
    for (const struct param *p = operation->params; p != NULL && p->name != NULL; p++)
        json_put_raw(&out, p->name, value_of(p));
    json_close(&out, '}');
    CHECK_INT(json_parse(text.data, text.len, text.len, &ret, &err), 0);
    return ret;
}

TEST(each_row_is_whole)
{
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *operation = &operations[i];
        if (operation->path == NULL) {
            CHECK(operation->tool != NULL);
            continue;
        }
        CHECK(operation_named(operation->name) == operation);
        CHECK(operation->summary != NULL && operation->path[0] == '/');
        CHECK((strstr(operation->path, "{item}") != NULL) == (operation->item != NULL));
        CHECK(operation->kind == OPERATION_OWN || operation->command != NULL);
        CHECK((operation->kind == OPERATION_HOST) == (operation->what != NULL));
        CHECK(operation->kind != OPERATION_HOST || strstr(operation->path, "{agent}") != NULL);
        for (size_t k = 0; k < i; k++)
            CHECK(operations[k].path == NULL || operations[k].method != operation->method ||
                  strcmp(operations[k].path, operation->path) != 0);
    }
}

/* The server asks its starter for no command that this would refuse. */
TEST(each_command_is_let_through)
{
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *operation = &operations[i];
        if (operation->command == NULL || operation->kind == OPERATION_HOST)
            continue;
        _cleanup_json_ struct json *values = all_values(operation);
        /* the commit and the prompt are words of the command */
        bool needs =
            strcmp(operation->name, "pick") == 0 || strcmp(operation->name, "beginSession") == 0;
        for (int with = needs ? 1 : 0; with < 2; with++) {
            const struct operation_values given = {.id = ID,
                                                   .agent = "lead",
                                                   .item = "solo",
                                                   .file = FILE_START ID,
                                                   .setting = "private=yes",
                                                   .params = with == 1 ? values : NULL};
            _cleanup_strv_ char **words = NULL;
            (void)operation_words(operation->command, operation->params, &given, &words);
            if (!operation_is_command(words, FILE_START))
                printf("# refused: %s\n", operation->name);
            CHECK(operation_is_command(words, FILE_START));
            strv_push(&words, "--root");
            bool is_open = strcmp(operation->name, "merge") == 0 ||
                           strcmp(operation->name, "sync") == 0; /* agents come last */
            CHECK(operation_is_command(words, FILE_START) == is_open);
        }
    }
}

TEST(words_come_from_parameters)
{
    static const struct {
        const char *operation, *params, *words, *input;
    } made[] = {
        {"land", "{\"how\":\"squash\",\"push\":true,\"pr\":false,\"message\":\"a b\"}",
         "land -s " ID " --squash --push --message a b", NULL},
        {"land", "{}", "land -s " ID, NULL},
        {"merge", "{\"agents\":[\"b\",\"a\"]}", "merge -s " ID " -- b a", NULL},
        {"clean", "{\"keep\":0}", "clean --json --keep 0", NULL},
        {"search", "{\"q\":\"--rm\",\"limit\":\"x\"}", "search --json --limit x -- -", "--rm"},
        {"context", "{\"for\":\"it\",\"team\":true}",
         "context --json -s " ID " --for - --team -- lead", "it"},
        {"askAside", "{\"prompt\":\"why\"}", "ask --aside --file - -s " ID " -- lead", "why"},
    };
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        const struct operation *operation = operation_named(made[i].operation);
        _cleanup_json_ struct json *params = NULL;
        _cleanup_strv_ char **words = NULL;
        _cleanup_str_ struct str line = STR_INIT;
        struct err err = ERR_INIT;
        size_t len = strlen(made[i].params);
        CHECK_INT(json_parse(made[i].params, len, len, &params, &err), 0);
        const struct operation_values values = {.id = ID, .agent = "lead", .params = params};
        const char *input = operation_words(operation->command, operation->params, &values, &words);
        for (char **word = words; *word != NULL; word++)
            str_addf(&line, "%s%s", word == words ? "" : " ", *word);
        CHECK_STR(str_text(&line), made[i].words);
        CHECK((input == NULL) == (made[i].input == NULL));
        if (input != NULL)
            CHECK_STR(input, made[i].input);
    }
}

TEST(a_tool_has_its_defaults_and_its_caller)
{
    static const struct {
        const char *operation, *me, *words;
    } made[] = {
        {"history", NULL, "history --session " ID " --json --limit 20 --"},
        {"wait", NULL, "wait --session " ID " --for idle --timeout 60 --"},
        {"sessionDiff", "lead", "diff --session " ID " --stat -- lead"},
        {"merge", "lead", "merge --session " ID " -- lead"},
        {"sync", NULL, "sync --session " ID " --"},
    };
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        const struct model_tool *tool = operation_named(made[i].operation)->tool;
        const struct operation_values values = {.id = ID, .agent = made[i].me};
        _cleanup_strv_ char **words = NULL;
        _cleanup_str_ struct str line = STR_INIT;
        (void)operation_words(tool->command, tool->params, &values, &words);
        for (char **word = words; *word != NULL; word++)
            str_addf(&line, "%s%s", word == words ? "" : " ", *word);
        CHECK_STR(str_text(&line), made[i].words);
    }
}

TEST(a_command_has_the_address_that_does_it)
{
    static const struct {
        const char *command, *operation, *query;
    } known[] = {
        {"rm shop", "removeSession", NULL},
        {"rm -f shop", "removeSession", "?force=true"},
        {"doctor", "doctor", NULL},
        {"doctor --fix", "repair", NULL},
        {"list --all", "listSessions", NULL},
        {"new --project DIR", "createRun", NULL},
        {"template show solo", "template", NULL},
        {"set shop private=yes", "setSession", NULL},
        {"ask shop lead", "prompt", NULL},
        {"deny shop lead", "permit", NULL},
        {"archive shop", "archive", NULL},
        {"review shop lead", "review", NULL},
    };
    const char *query = NULL;

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        const struct operation *operation = operation_of_command(known[i].command, &query);
        CHECK(operation != NULL);
        CHECK_STR(operation != NULL ? operation->name : "", known[i].operation);
        CHECK((query == NULL) == (known[i].query == NULL));
        if (query != NULL)
            CHECK_STR(query, known[i].query);
    }
    CHECK(operation_of_command("attach shop", &query) == NULL);
    CHECK(operation_of_command("rmdir shop", &query) == NULL);
    CHECK(operation_of_command("list --jobs", &query) == NULL); /* it is another list */
}

TEST(a_parameter_is_held_to_its_row)
{
    static const struct param params[] = {
        {"n", PARAM_NUMBER, .min = 1, .max = 5},
        {"id", PARAM_ID, .needed = true},
        {"word", PARAM_WORD, .words = "merge:--merge, no"},
        {"long", PARAM_LONG, .max = 3},
        {"text", PARAM_TEXT, .needed = true},
        {"here", PARAM_HERE, .option = "--session"},
        {"agents", PARAM_AGENTS, .needed = true},
        {.name = NULL},
    };
    static const struct {
        const char *param, *value, *wrong; /* wrong NULL: it is right */
    } values[] = {
        {"n", "1", NULL},
        {"n", "5", NULL},
        {"n", "0", "is not a number from 1 to 5"},
        {"n", "6", "is not a number from 1 to 5"},
        {"n", "1.5", "is not a number from 1 to 5"},
        {"n", "\"1\"", "is not a number from 1 to 5"},
        {"id", "\"" ID "\"", NULL},
        {"id", "\"x\"", "is not a version 4 UUID"},
        {"id", "\"\"", "is empty"},
        {"word", "\"merge\"", NULL},
        {"word", "\"no\"", NULL},
        {"word", "\"mer\"", "is none of its words"},
        {"word", "\"merge:--merge\"", "is none of its words"},
        {"word", "\"\"", "is none of its words"},
        {"long", "\"abc\"", NULL},
        {"long", "\"abcd\"", "is longer than 3 bytes"},
        {"long", "\"\"", "is empty"},
        {"text", "\"\\u0007\"", "has a control character"},
        {"text", "7", "is not a string"},
        {"here", "\"a:b\"", "is not a session of this root"},
        {"agents", "[\"a\",\"b\"]", NULL},
        {"agents", "[\"a\",\"b c\"]", "is not a list of agents"},
        {"agents", "[\"a\",7]", "is not a list of agents"},
        {"agents", "{}", "is not a list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        _cleanup_json_ struct json *node = NULL;
        _cleanup_str_ struct str why = STR_INIT;
        struct err err = ERR_INIT;
        size_t len = strlen(values[i].value);
        CHECK_INT(json_parse(values[i].value, len, len, &node, &err), 0);
        bool right = param_check(param_find(params, values[i].param), node, &why);
        CHECK(right == (values[i].wrong == NULL));
        CHECK_STR(str_text(&why), values[i].wrong != NULL ? values[i].wrong : "");
    }
    _cleanup_str_ struct str why = STR_INIT;
    CHECK(param_check(param_find(params, "n"), NULL, &why));
    CHECK(!param_check(param_find(params, "id"), NULL, &why));
    CHECK_STR(str_text(&why), "is missing");
}

TEST(words_of_a_row_are_told_and_found)
{
    static const struct param word = {"word", PARAM_WORD, .words = "merge:--merge, no, now:-n"};
    static const struct param text = {"text", PARAM_TEXT, .words = "merge:--merge"};
    static const struct {
        const char *word, *option;
    } options[] = {{"merge", "--merge"}, {"now", "-n"}, {"no", NULL},
                   {"mer", NULL},        {"", NULL},    {"merge:", NULL}};
    _cleanup_str_ struct str words = STR_INIT;
    size_t len = 0;

    param_put_words(&word, &words);
    CHECK_STR(words.data, "merge, no, now");
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const char *option = param_word_option(&word, options[i].word, &len);
        _cleanup_free_ char *got = option != NULL ? mem_dupn(option, len) : NULL;
        CHECK_STR(got, options[i].option);
    }
    CHECK(param_word_option(&text, "merge", &len) == NULL);
    CHECK(param_is_input(&(struct param){"a", PARAM_LONG, .option = "-"}));
    CHECK(param_is_input(&(struct param){"a", PARAM_LONG, .option = "--body -"}));
    CHECK(!param_is_input(&(struct param){"a", PARAM_LONG, .option = "-a"}));
    CHECK(!param_is_input(&(struct param){.name = "a", .kind = PARAM_LONG}));
    CHECK(param_find(NULL, "a") == NULL);
}

/* The check of a value, that of a word, and the schema, of each kind. */
TEST(a_kind_has_its_limits_and_its_schema)
{
    static const struct {
        struct param param;
        const char *good[3], *bad[3]; /* words; "-": none */
        const char *schema;
    } kinds[] = {
        {{"p", PARAM_NUMBER, .min = 2, .max = 5},
         {"2", "12345", "0"},
         {"", "-1", "1x"},
         "\"type\":\"integer\",\"minimum\":2,\"maximum\":5"},
        {{.name = "p", .kind = PARAM_ID},
         {"550E8400-e29b-41d4-a716-446655440000", "-", "-"},
         {"", "x", "550e8400"},
         "\"type\":\"string\",\"pattern\":"
         "\"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$\""},
        {{"p", PARAM_PATH, .needed = true},
         {"/", "/a b", "-"},
         {"", "a", "~/a"},
         "\"type\":\"string\",\"pattern\":\"^/\""},
        {{"p", PARAM_WORD, .words = "one:--one, two"},
         {"one", "two", "-"},
         {"three", "on", "one:--one"},
         "\"type\":\"string\",\"enum\":[\"one\",\"two\"]"},
        {{"p", PARAM_NAME, .words = "team"},
         {"a-b", "-", "-"},
         {"", "a/b", "abcdefghijklmnopqrstuvwxyz0123456"},
         "\"type\":\"string\""},
        {{"p", PARAM_TEXT, .needed = true, .help = "a text"},
         {"a b", "\xff", "-"},
         {"", "a\nb", "-"},
         "\"type\":\"string\",\"minLength\":1,\"maxLength\":1024,\"description\":\"a text\""},
        {{"p", PARAM_LONG, .max = 3},
         {"abc", "a\nb", "-"},
         {"", "abcd", "-"},
         "\"type\":\"string\",\"minLength\":1,\"maxLength\":3"},
        {{.name = "p", .kind = PARAM_LONG},
         {"a", "-", "-"},
         {"", "-", "-"},
         "\"type\":\"string\",\"minLength\":1,\"maxLength\":65536"},
        {{"p", PARAM_MESSAGE, .needed = true},
         {"a\nb", "-", "-"},
         {"", "\x1b[2J", "\xff"},
         "\"type\":\"string\",\"minLength\":1"},
        {{"p", PARAM_TYPED, .needed = true},
         {"", "a", "-"},
         {"\x1b[2J", "-", "-"},
         "\"type\":\"string\""},
        {{.name = "p", .kind = PARAM_HERE},
         {"a", "", "-"},
         {"a:b", ":", "-"},
         "\"type\":\"string\""},
        {{.name = "p", .kind = PARAM_FLAG},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"type\":\"boolean\""},
        {{.name = "p", .kind = PARAM_LIST},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"type\":\"array\",\"items\":{\"type\":\"string\"}"},
        {{.name = "p", .kind = PARAM_AGENTS},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":"
         "\"^[A-Za-z0-9_-]{1,32}$\"},\"maxItems\":256"},
        {{.name = "p", .kind = PARAM_FORM},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"type\":\"object\",\"additionalProperties\":true"},
        {{"p", PARAM_ANY, .max = 9},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"type\":\"integer\",\"minimum\":0,\"maximum\":9"},
        {{"p", PARAM_TEXT, .schema = "\"x\":1", .help = "h"},
         {"-", "-", "-"},
         {"-", "-", "-"},
         "\"x\":1,\"description\":\"h\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct param *param = &kinds[i].param;
        _cleanup_str_ struct str schema = STR_INIT;
        _cleanup_free_ char *want = mem_printf("{%s}", kinds[i].schema);
        struct json_out out = {.to = &schema};
        for (size_t j = 0; j < 6; j++) {
            const char *word = j < 3 ? kinds[i].good[j] : kinds[i].bad[j - 3];
            if (strcmp(word, "-") != 0 && !CHECK_INT(param_fits(param, word), j < 3))
                printf("# kind %d: '%s'\n", (int)param->kind, word);
        }
        json_open(&out, NULL, '{');
        param_put_schema(param, &out);
        json_close(&out, '}');
        CHECK_STR(schema.data, want);
    }
    static const struct param params[] = {{.name = "a", .kind = PARAM_FLAG},
                                          {"b", PARAM_FLAG, .needed = true},
                                          {"c", PARAM_FLAG, .needed = true},
                                          {.name = NULL}};
    _cleanup_str_ struct str all = STR_INIT;
    struct json_out out = {.to = &all};
    json_open(&out, NULL, '{');
    params_put_schema(params, &out);
    json_close(&out, '}');
    CHECK_STR(all.data, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"},"
                        "\"b\":{\"type\":\"boolean\"},\"c\":{\"type\":\"boolean\"}},"
                        "\"required\":[\"b\",\"c\"],\"additionalProperties\":false}");
}

TEST(values_of_other_types_are_refused)
{
    _cleanup_str_ struct str agents = STR_INIT;
    static const struct {
        enum param_kind kind;
        const char *value;
        bool good;
    } cases[] = {
        {PARAM_FLAG, "true", true},      {PARAM_FLAG, "false", true},
        {PARAM_FLAG, "\"true\"", false}, {PARAM_FLAG, "null", false},
        {PARAM_FLAG, "1", false},        {PARAM_FORM, "{}", true},
        {PARAM_FORM, "[]", false},       {PARAM_LIST, "[]", true},
        {PARAM_LIST, "\"a\"", false},    {PARAM_AGENTS, "[]", true},
        {PARAM_AGENTS, "[\"\"]", false}, {PARAM_ANY, "null", true},
        {PARAM_TEXT, "null", false},     {PARAM_TEXT, "\"\"", true},
        {PARAM_PATH, "7", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_json_ struct json *node = NULL;
        _cleanup_str_ struct str why = STR_INIT;
        struct err err = ERR_INIT;
        size_t len = strlen(cases[i].value);
        CHECK_INT(json_parse(cases[i].value, len, len, &node, &err), 0);
        if (!CHECK_INT(param_check(&(struct param){.name = "p", .kind = cases[i].kind}, node, &why),
                       cases[i].good))
            printf("# kind %d: %s\n", (int)cases[i].kind, cases[i].value);
    }
    for (int more = 0; more < 2; more++) {
        _cleanup_json_ struct json *node = NULL;
        _cleanup_str_ struct str why = STR_INIT;
        struct err err = ERR_INIT;
        str_clear(&agents);
        for (int i = 0; i < PARAM_AGENTS_MAX + more; i++)
            str_addf(&agents, "%s\"a%d\"", i > 0 ? "," : "[", i);
        str_addc(&agents, ']');
        CHECK_INT(json_parse(agents.data, agents.len, agents.len, &node, &err), 0);
        CHECK_INT(param_check(&(struct param){.name = "p", .kind = PARAM_AGENTS}, node, &why),
                  more == 0);
    }
}

/* A project's script is allowed by a person at the machine: not from outside. */
TEST(a_setting_is_let_through_but_not_that_of_a_script)
{
    static const struct {
        const char *words;
        bool good;
    } cases[] = {{"set -q -- " ID " private=yes", true}, {"set -q -- " ID " setup=no", true},
                 {"set -q -- " ID " setup=yes", false},  {"set -q -- " ID " setup=", false},
                 {"set -q -- " ID " private", false},    {"set -q -- " ID " setup2=yes", true}};
    bool any = false;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_strv_ char **words = NULL;
        struct err err = ERR_INIT;
        CHECK_INT(str_split_words(cases[i].words, &words, &err), 0);
        bool is = operation_is_command(words, "/x/");
        any = any || is;
        if (!CHECK_INT(is, cases[i].good))
            unit_print_str("words", cases[i].words);
    }
    CHECK(any);
}
