#include "unit.h"

#include "base/number.h"
#include "os/machine.h"

TEST(sizes_are_powers_of_1024)
{
    static const struct {
        const char *text;
        uint64_t size;
    } good[] = {{"0", 0},
                {"65536", 65536},
                {"1K", 1024},
                {"400M", UINT64_C(400) << 20},
                {"2G", UINT64_C(2) << 30},
                {"3T", UINT64_C(3) << 40},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      "1.5M",
                                      "1 K",
                                      "1k",
                                      "1KB",
                                      "0x10",
                                      " 1",
                                      "1 ",
                                      "1P",
                                      "18446744073709551616",
                                      "16777216T",
                                      "99999999999999999999999999"};
    uint64_t size;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        size = 1;
        CHECK(number_parse_size(good[i].text, UINT64_MAX, &size));
        CHECK(size == good[i].size);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size = 1;
        CHECK(!number_parse_size(bad[i], UINT64_MAX, &size));
        CHECK_INT(size, 1);
    }
}

TEST(what_passes_the_limit_is_refused)
{
    uint64_t size = 1;

    CHECK(number_parse_size("4K", 4096, &size));
    CHECK_INT(size, 4096);
    CHECK(!number_parse_size("4097", 4096, &size));
    CHECK(!number_parse_size("5K", 4096, &size));
    CHECK_INT(size, 4096);
}

TEST(the_machine_has_memory)
{
    CHECK(memory_available() > 1 << 20);
}

TEST(sizes_read_well)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {
        {0, "0B"},
        {1, "1B"},
        {999, "999B"},
        {1000, "1.0K"},
        {1024, "1.0K"},
        {1536, "1.5K"},
        {10 << 10, "10K"},
        {1023 << 10, "1.0M"},
        {999 << 10, "999K"},
        {1 << 20, "1.0M"},
        {3 << 29, "1.5G"},
        {UINT64_C(1) << 40, "1.0T"},
        {UINT64_C(1) << 50, "1.0P"},
        {UINT64_C(1) << 60, "1.0E"},
        {UINT64_MAX, "16E"},
    };
    char text[NUMBER_SIZE_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        number_format_size(cases[i].bytes, text);
        CHECK_STR(text, cases[i].want);
    }
}

TEST(counts_have_no_unit)
{
    static const char *const bad[] = {"", "1K", "-1", "1.0", " 1", "101", "18446744073709551617"};
    uint64_t count = 7;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!number_parse_count(bad[i], 100, &count) && count == 7);
    CHECK(number_parse_count("100", 100, &count) && count == 100);
    CHECK(number_parse_count("0", 100, &count) && count == 0);
    CHECK(number_parse_count("18446744073709551615", UINT64_MAX, &count) && count == UINT64_MAX);
}
