#include "unit.h"

#include "base/address.h"

TEST(addresses_are_read_and_written)
{
    static const struct {
        const char *text, *want; /* NULL: it is none */
        bool loopback;
    } cases[] = {
        {"127.0.0.1:8765", "127.0.0.1:8765", true},
        {"127.255.0.9:1", "127.255.0.9:1", true},
        {"128.0.0.1:80", "128.0.0.1:80", false},
        {"126.0.0.1:80", "126.0.0.1:80", false},
        {"0.0.0.0:65535", "0.0.0.0:65535", false},
        {"localhost:0", "127.0.0.1:0", true},
        {"[::1]:8765", "[::1]:8765", true},
        {"[::]:8765", "[::]:8765", false},
        {"[fe80::127:0:0:1]:00080", "[fe80::127:0:0:1]:80", false},
        {"localhost", NULL, false},
        {":80", NULL, false},
        {"localhost:", NULL, false},
        {"localhost:65536", NULL, false},
        {"localhost:99999", NULL, false},
        {"localhost:000080", NULL, false},
        {"localhost:8x", NULL, false},
        {"localhost:-1", NULL, false},
        {"localhost: 80", NULL, false},
        {"Localhost:80", NULL, false},
        {"example.org:80", NULL, false},
        {"127.0.0.1.1:80", NULL, false},
        {"[127.0.0.1]:80", NULL, false},
        {"[localhost]:80", NULL, false},
        {"::1:80", NULL, false},
        {"[::1:80", NULL, false},
        {"::1]:80", NULL, false},
        {"[::1]80", NULL, false},
        {"[]:80", NULL, false},
        {"[:80", NULL, false},
        {"]:80", NULL, false},
        {"", NULL, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct address address = {.len = 77};
        _cleanup_str_ struct str text = STR_INIT;
        bool good = address_parse(cases[i].text, &address);
        if (!CHECK_INT(good, cases[i].want != NULL))
            unit_print_str("text", cases[i].text);
        if (!good) {
            CHECK_INT(address.len, 77);
            continue;
        }
        CHECK_INT(address.len, address.at.ss_family == AF_INET6 ? 28 : 16);
        address_add(&text, &address);
        CHECK_STR(text.data, cases[i].want);
        if (!CHECK_INT(address_is_loopback(&address), cases[i].loopback))
            unit_print_str("text", cases[i].text);
    }
    struct address local = {.at.ss_family = AF_UNIX};
    CHECK(address_is_loopback(&local));
}
