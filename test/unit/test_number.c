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
