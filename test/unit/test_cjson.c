/* What cJSON does by itself: the reasons for the scan in src/base/json_scan.c, which checks a text
 * before cJSON gets it, and for the walk and the printing in json.c. */
#include "unit.h"

#include <cjson/cJSON.h>

/* Parses as json.c could do at most: all of the text, which ends in a NUL. */
static cJSON *parse(const char *text)
{
    return cJSON_ParseWithLengthOpts(text, strlen(text) + 1, NULL, true);
}

static bool parses(const char *text)
{
    cJSON *root = parse(text);
    bool parsed = root != NULL;

    cJSON_Delete(root);
    return parsed;
}

/* Checks what cJSON prints of a text that it has parsed; NULL: it does not parse it. */
#define CHECK_PRINTS(text, want) check_prints((text), (want), __LINE__)

static void check_prints(const char *text, const char *want, int line)
{
    cJSON *root = parse(text);
    char *printed = cJSON_PrintUnformatted(root);

    (void)unit_check_str(printed, want, text, __FILE__, line);
    cJSON_free(printed);
    cJSON_Delete(root);
}

TEST(parses_and_prints_json)
{
    CHECK_PRINTS(" {\"a\": [1, true, null, \"b\\n\"]} ", "{\"a\":[1,true,null,\"b\\n\"]}");
    CHECK(!parses("[1,]"));
    CHECK(!parses("[1"));
    CHECK(!parses("\"\\x\""));
    CHECK(!parses("\"\\ud800\""));
}

/* Why a text is scanned. */

/* An error of cJSON is a place without a reason, in a variable of the process. */
TEST(gives_no_reason)
{
    const char *text = "{\"a\" 1}";
    const char *end = NULL;

    CHECK(cJSON_ParseWithLengthOpts(text, strlen(text), &end, false) == NULL);
    CHECK_STR(end, "1}");
}

/* A frame of the protocol is not followed by a NUL, and only then cJSON refuses a rest. */
TEST(takes_a_text_with_a_rest)
{
    cJSON *root = cJSON_ParseWithLength("1 x", 3);

    CHECK(cJSON_IsNumber(root));
    cJSON_Delete(root);
    CHECK(!parses("1 x"));
}

TEST(takes_numbers_that_json_has_not)
{
    CHECK_PRINTS("01", "1");
    CHECK_PRINTS("1.", "1");
    CHECK_PRINTS("-.5", "-0.5");
    CHECK_PRINTS("[1e]", NULL);
}

TEST(takes_control_characters_in_a_string)
{
    CHECK_PRINTS("\"a\nb\x01\"", "\"a\\nb\\u0001\"");
    CHECK_PRINTS("\x01[\x02]\v", "[]"); /* and for blanks */
    CHECK_PRINTS("\xEF\xBB\xBF[]", "[]"); /* and a byte order mark */
}

TEST(takes_bytes_that_are_not_utf8)
{
    CHECK_PRINTS("\"\xFF\xC3\"", "\"\xFF\xC3\"");
    CHECK_PRINTS("\"\xED\xA0\x80\"", "\"\xED\xA0\x80\"");
}

TEST(cuts_a_string_at_an_escaped_nul)
{
    CHECK_PRINTS("\"a\\u0000b\"", "\"a\"");
}

TEST(takes_bad_hex_digits_for_a_nul)
{
    CHECK_PRINTS("\"a\\u00zzb\"", "\"a\"");
}

/* A thousand levels; mas walks and prints a tree by recursion, and refuses more than 64. */
TEST(takes_deep_nesting)
{
    char text[2 * 1000 + 1];

    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    text[2000] = '\0';
    CHECK(parses(text));
}

/* Why the parsed tree is walked. */

TEST(takes_a_key_twice)
{
    cJSON *root = parse("{\"a\":1,\"a\":2}");

    CHECK_INT(cJSON_GetObjectItemCaseSensitive(root, "a")->valueint, 1);
    cJSON_Delete(root);
}

TEST(takes_keys_in_another_case)
{
    cJSON *root = parse("{\"A\":1}");

    CHECK(cJSON_GetObjectItem(root, "a") != NULL);
    CHECK(cJSON_GetObjectItemCaseSensitive(root, "a") == NULL); /* json_get() is faster still */
    cJSON_Delete(root);
}

/* A double cannot tell whether it was exact. */
TEST(rounds_integers_above_2_to_the_53)
{
    cJSON *root = parse("[9007199254740993, 0.99999999999999999999]");

    CHECK(root->child->valuedouble == 9007199254740992.0);
    CHECK(root->child->next->valuedouble == 1);
    cJSON_Delete(root);
}

TEST(cuts_its_integers_at_the_limits_of_an_int)
{
    cJSON *root = parse("1000000000000");

    CHECK_INT(root->valueint, INT32_MAX);
    CHECK(root->valuedouble == 1e12);
    cJSON_Delete(root);
}

/* Why json.c prints. */

/* An id of JSON-RPC goes back as it came. */
TEST(prints_a_number_in_another_spelling)
{
    CHECK_PRINTS("1.0", "1");
    CHECK_PRINTS("1e3", "1000");
    CHECK_PRINTS("9007199254740991", "9.00719925474099e+15");
}

/* Which would control a terminal, or turn the direction of its text. */
TEST(prints_control_characters_as_they_are)
{
    CHECK_PRINTS("\"\x7F\"", "\"\x7F\"");
    CHECK_PRINTS("\"\\u009b\"", "\"\xC2\x9B\"");
    CHECK_PRINTS("\"\\u202e\"", "\"\xE2\x80\xAE\"");
}
