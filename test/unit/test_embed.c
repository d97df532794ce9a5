/* Vectors from a program of the user, whose output is a stranger's. */
#include "place.h"

#include "base/json.h"
#include "memory/embed.h"

/* Runs a program that keeps what it gets in the file "in" and prints the file "out". */
static int run(const struct place *place, const char *out, const char *query,
               const char *const *documents, size_t count, struct embedding *ret, struct err *err)
{
    _cleanup_free_ char *command =
        mem_printf("sh -c 'cat > %s/in; cat %s/out'", place->path, place->path);
    struct embed_text texts[4] = {{NULL, 0}};
    const struct embed_text first = {query, strlen(query)};

    for (size_t i = 0; i < count; i++)
        texts[i] = (struct embed_text){documents[i], strlen(documents[i])};
    return place_put(place->dir, "out", out)
               ? embed_run(command, "h.example", &first, texts, count, ret, err)
               : -1;
}

static void check_input(const struct place *place, const char *want)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    WELL(file_read(place->dir, "in", 1 << 20, &text, &len, &err));
    CHECK_STR(text, want);
}

TEST(the_query_comes_first_and_all_agree)
{
    static const char *const documents[] = {"one\ntwo", "three"};
    _cleanup_place_ struct place place = place_make();
    _cleanup_embedding_ struct embedding got = {.count = 0};
    struct err err = ERR_INIT;

    MUST(run(&place,
             "{\"vector\":[3,4],\"model\":\"m\"}\n{\"vector\":[0,-2]}\n"
             "{\"vector\":[1e9,0],\"model\":\"m\"}\n{\"vector\":[9]}\n", /* one too many */
             "q", documents, 2, &got, &err));
    check_input(&place, "{\"kind\":\"query\",\"text\":\"q\"}\n"
                        "{\"kind\":\"document\",\"text\":\"one\\ntwo\"}\n"
                        "{\"kind\":\"document\",\"text\":\"three\"}\n");
    CHECK_STR(got.model, "m");
    CHECK_INT(got.parts, 2);
    REQUIRE(got.count == 3);
    static const int8_t parts[3][2] = {{95, 127}, {0, -127}, {127, 0}};
    for (size_t i = 0; i < 3; i++)
        CHECK(memcmp(got.vectors[i].parts, parts[i], 2) == 0);
    /* of length 1, whatever they were */
    CHECK_INT((int)(got.vectors[0].scale * 127 * 1000 + 0.5F), 800);
    CHECK_INT((int)(got.vectors[1].scale * 127 * 1000 + 0.5F), 1000);
    CHECK_INT((int)(got.vectors[2].scale * 127 * 1000 + 0.5F), 1000);
}

TEST(a_program_may_end_early_and_say_so)
{
    static const char *const documents[] = {"one", "two"};
    _cleanup_place_ struct place place = place_make();
    _cleanup_embedding_ struct embedding got = {.count = 0};
    struct err err = ERR_INIT;

    MUST(run(&place, "{\"vector\":[3,4]}\n{\"vector\":[1,2]}\n{\"more\":true}\n", "q", documents, 2,
             &got, &err));
    CHECK_INT(got.count, 2);
    _cleanup_embedding_ struct embedding none = {.count = 0};
    CHECK_INT(run(&place, "{\"more\":true}\n", "q", documents, 2, &none, &err), -1);
    CHECK_INT(embed_run("sh -c 'test \"$MAS_EMBED_HOST\" = h.example && echo {\\\"vector\\\":[1]}'",
                        "h.example", &(struct embed_text){"q", 1}, NULL, 0, &none, &err),
              0);
}

TEST(a_line_may_lack_its_newline_and_all_models)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_embedding_ struct embedding got = {.count = 0};
    struct err err = ERR_INIT;

    MUST(run(&place, "{\"vector\":[1]}", "q", NULL, 0, &got, &err));
    CHECK_STR(got.model, "");
    CHECK_INT(got.count, 1);
}

/* A vector of so many ones, as a line. */
static char *ones(size_t parts, size_t model)
{
    struct str text = STR_INIT;

    str_add(&text, "{\"vector\":[1");
    for (size_t i = 1; i < parts; i++)
        str_add(&text, ",1");
    str_add(&text, "],\"model\":\"");
    for (size_t i = 0; i < model; i++)
        str_addc(&text, 'm');
    str_add(&text, "\"}\n");
    return str_steal(&text);
}

TEST(one_bad_line_fails_all)
{
    static const char good[] = "{\"vector\":[1,2],\"model\":\"m\"}\n";
    static const char *const documents[] = {"a", "b"};
    static const struct {
        const char *line, *why; /* on line N */
    } table[] = {
        {"x\n", "is not a JSON object"},
        {"\n", "is not a JSON object"},
        {"{}\n", "has no vector of 1 to 16384 numbers"},
        {"{\"vector\":[]}\n", "has no vector of 1 to 16384 numbers"},
        {"{\"vector\":[0,0]}\n", "has a vector of zeros only"},
        {"{\"vector\":[1,\"2\"]}\n", "has a vector of zeros only"},
        {"{\"vector\":[1]}\n", "has another model or another length than the first"},
        {"{\"vector\":[1,2,3]}\n", "has another model or another length than the first"},
        {"{\"vector\":[1,2],\"model\":\"n\"}\n",
         "has another model or another length than the first"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (size_t at = 1; at < 3; at++) {
            _cleanup_place_ struct place place = place_make();
            struct embedding got = {.count = 0};
            struct err err = ERR_INIT;
            _cleanup_free_ char *out = mem_printf("%s%s%s", good, at == 1 ? table[i].line : good,
                                                  at == 1 ? good : table[i].line);
            _cleanup_free_ char *why =
                mem_printf("line %zu of its output %s", at + 1, table[i].why);
            CHECK_INT(run(&place, out, "q", documents, 2, &got, &err), -1);
            CHECK_STR(err.text, why);
            CHECK_INT(got.count, 0);
        }
    }
}

TEST(there_are_limits)
{
    static const struct {
        size_t parts, model;
        const char *why; /* NULL: good */
    } table[] = {
        {EMBED_PARTS_MAX, EMBED_MODEL_MAX, NULL},
        {EMBED_PARTS_MAX + 1, 1, "line 1 of its output has no vector of 1 to 16384 numbers"},
        {1, EMBED_MODEL_MAX + 1, "line 1 of its output has a model name of more than 256 bytes"},
    };
    _cleanup_place_ struct place place = place_make();

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_embedding_ struct embedding got = {.count = 0};
        _cleanup_free_ char *line = ones(table[i].parts, table[i].model);
        struct err err = ERR_INIT;
        CHECK_INT(run(&place, line, "q", NULL, 0, &got, &err), table[i].why == NULL ? 0 : -1);
        CHECK_STR(err.text, table[i].why != NULL ? table[i].why : "");
    }
    /* a text is cut at a character */
    _cleanup_embedding_ struct embedding got = {.count = 0};
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *in = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;
    str_addc(&text, 'x');
    while (text.len < EMBED_TEXT_MAX + 2)
        str_add(&text, "\303\244");
    MUST(run(&place, "{\"vector\":[1]}", text.data, NULL, 0, &got, &err));
    MUST(file_read(place.dir, "in", 1 << 20, &in, &len, &err));
    CHECK(str_is_utf8(in, len));
    CHECK_INT(len, strlen("{\"kind\":\"query\",\"text\":\"\"}\n") + EMBED_TEXT_MAX - 1);
}

TEST(a_program_that_fails_says_why)
{
    static const struct {
        const char *command, *why;
    } table[] = {
        {"", "it names no program"},
        {"mas-no-such-program x", "there is no program 'mas-no-such-program'"},
        {"sh -c 'echo one >&2; echo two >&2; exit 3'", "it exited with code 3: two"},
        {"sh -c 'exit 4'", "it exited with code 4"},
        {"sh -c 'echo {}; echo the reason >&2; exit 1'", "it exited with code 1: the reason"},
        {"true", "it returned 0 vectors for 2 texts"},
        {"echo '{\"vector\":[1]}'", "it returned 1 vectors for 2 texts"},
    };
    const struct embed_text query = {"q", 1}, document = {"d", 1};

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct embedding got = {.count = 0};
        struct err err = ERR_INIT;
        CHECK_INT(embed_run(table[i].command, "", &query, &document, 1, &got, &err), -1);
        CHECK_STR(err.text, table[i].why);
        CHECK_INT(got.count, 0);
    }
}
