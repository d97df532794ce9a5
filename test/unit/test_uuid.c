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

TEST(parses_and_formats_an_id)
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
TEST(takes_upper_case)
{
    CHECK(parses("550E8400-E29B-41D4-A716-446655440000"));
    CHECK(!id_is_valid("550E8400-E29B-41D4-A716-446655440000"));
}

/* Only version 4 is random; the others can be guessed. */
TEST(takes_every_version)
{
    CHECK(parses("550e8400-e29b-11d4-a716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-11d4-a716-446655440000"));
    CHECK(parses("00000000-0000-0000-0000-000000000000"));
    CHECK(!id_is_valid("00000000-0000-0000-0000-000000000000"));
}

TEST(takes_every_variant)
{
    CHECK(parses("550e8400-e29b-41d4-0716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-41d4-0716-446655440000"));
    CHECK(parses("550e8400-e29b-41d4-c716-446655440000"));
    CHECK(!id_is_valid("550e8400-e29b-41d4-c716-446655440000"));
}
