/* What libuuid does by itself: the reasons for the checks in src/base/id.c. */
#include "unit.h"

#include "base/id.h"

#include <uuid/uuid.h>

#define VALID "550e8400-e29b-41d4-a716-446655440000"

static bool parses(const char *text)
{
    uuid_t bytes;

    return uuid_parse(text, bytes) == 0;
}

static void parses_and_formats_an_id(void)
{
    uuid_t bytes;
    char text[ID_TEXT];

    CHECK_INT(uuid_parse("550E8400-e29b-41D4-a716-446655440000", bytes), 0);
    uuid_unparse_lower(bytes, text);
    CHECK_STR(text, VALID);
    CHECK(!parses("550e8400e29b41d4a716446655440000"));
    CHECK(!parses(VALID "0"));
    CHECK(!parses("550e8400-e29b-41d4-a716-44665544000g"));
}

/* The name of a directory has one spelling only. */
static void takes_upper_case(void)
{
    CHECK(parses("550E8400-E29B-41D4-A716-446655440000"));
    CHECK(!id_is_valid("550E8400-E29B-41D4-A716-446655440000"));
}

/* Only version 4 is random; the others can be guessed. */
static void takes_every_version(void)
{
    CHECK(parses("550e8400-e29b-11d4-a716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-11d4-a716-446655440000"));
    CHECK(parses("00000000-0000-0000-0000-000000000000"));
    CHECK(!id_is_valid("00000000-0000-0000-0000-000000000000"));
}

static void takes_every_variant(void)
{
    CHECK(parses("550e8400-e29b-41d4-0716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-41d4-0716-446655440000"));
    CHECK(parses("550e8400-e29b-41d4-c716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-41d4-c716-446655440000"));
}

static const struct unit_test tests[] = {
    TEST(parses_and_formats_an_id),
    TEST(takes_upper_case),
    TEST(takes_every_version),
    TEST(takes_every_variant),
};

int main(void)
{
    return UNIT_RUN(tests);
}
