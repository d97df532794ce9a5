#include "model/network.h"
#include "unit.h"

#include <arpa/inet.h>

static bool admits(const struct network *network, const char *host, uint16_t port)
{
    struct network_host parsed;

    return network_parse_host(host, strlen(host), &parsed) &&
           network_admits(network, &parsed, port);
}

static bool admits_address(const struct network *network, const char *text, uint16_t port)
{
    struct network_host parsed;

    return network_parse_host(text, strlen(text), &parsed) && parsed.is_address &&
           network_admits_address(network, &parsed.address, port);
}

/* Values that are valid, and their normal form. */
TEST(reads_what_it_may)
{
    static const struct {
        const char *text, *normal;
    } rows[] = {
        {"open", "open"},
        {" none ", "none"},
        {"example.org", "example.org"},
        {"API.Example.ORG.", "api.example.org"},
        {"a.example, b.example\tc.example:8080", "a.example b.example c.example:8080"},
        {"*.example.org:8443", "*.example.org:8443"},
        {"localhost:8080", "localhost:8080"},
        {"_x-y.example", "_x-y.example"},
        {"192.0.2.7", "192.0.2.7"},
        {"192.0.2.7:8080", "192.0.2.7:8080"},
        {"10.0.0.0/8:22", "10.0.0.0/8:22"},
        {"[2001:DB8::7]:22", "[2001:db8::7]:22"},
        {"2001:db8::7", "[2001:db8::7]"},
        {"[fd00::/8]", "[fd00::/8]"},
        {"::ffff:192.0.2.7", "192.0.2.7"},
        {"1.2.3.4.example", "1.2.3.4.example"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_network_ struct network network = NETWORK_INIT;
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = ERR_INIT;
        CHECK_INT(network_parse(rows[i].text, &network, &err), 0);
        network_format(&network, &text);
        CHECK_STR(str_text(&text), rows[i].normal);
    }
}

TEST(refuses_the_rest)
{
    static const char *const rows[] = {
        "",
        " ",
        ",",
        "*",
        "*.",
        "*.*.org",
        "a.*.org",
        "*example.org",
        ".example.org",
        "example..org",
        "-a.org",
        "a-.org",
        "https://example.org",
        "example.org/x",
        "a@b.org",
        "example.org:",
        "example.org:0",
        "example.org:65536",
        "example.org:https",
        "example.org:080",
        "example.org:+80",
        "example.org:80:90",
        "1.2.3",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "a.0x7f",
        "256.1.1.1",
        "010.0.0.1",
        "*.127.0.0.1",
        "10.0.0.0/0",
        "10.0.0.0/33",
        "10.0.0.0/",
        "a.org/8",
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "[::1]80",
        "[::1]:",
        "[fe80::1%eth0]",
        "[::]/8",
        "[]",
        ":80",
        "b\xc3\xbc.example",
        "a\\.org",
        "(a).org",
        "a$",
        "open example.org",
        "example.org none",
        "none\n",
        "a.org\nb.org",
        "\x1b[0m",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.org",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct network network = NETWORK_INIT;
        struct err err = ERR_INIT;
        if (network_parse(rows[i], &network, &err) != -1) {
            printf("# %s\n", rows[i]);
            CHECK(false);
            network_free(&network);
        }
        CHECK_INT(err.code, MAS_USAGE);
    }
}

TEST(has_limits)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err err = ERR_INIT;

    for (int i = 0; i < NETWORK_HOSTS_MAX; i++)
        str_addf(&text, "h%d ", i);
    CHECK_INT(network_parse(str_text(&text), &network, &err), 0);
    CHECK_INT((int)network.count, NETWORK_HOSTS_MAX);
    str_add(&text, "more");
    struct network other = NETWORK_INIT;
    CHECK_INT(network_parse(str_text(&text), &other, &err), -1);
    str_clear(&text);
    for (int i = 0; i <= NETWORK_TEXT_MAX; i++)
        str_addc(&text, ' ');
    CHECK_INT(network_parse(str_text(&text), &other, &err), -1);
    CHECK(strstr(err.text, "longer") != NULL);

    /* a name of 253 bytes, with and without the dot at its end, and one of 254 */
    str_clear(&text);
    for (int i = 0; i < 126; i++)
        str_add(&text, "a.");
    str_add(&text, "a");
    struct network_host host;
    CHECK_INT((int)text.len, NETWORK_NAME_MAX);
    CHECK(network_parse_host(str_text(&text), text.len, &host));
    str_add(&text, ".");
    CHECK(network_parse_host(str_text(&text), text.len, &host));
    str_add(&text, "a");
    CHECK(!network_parse_host(str_text(&text), text.len, &host));
    CHECK(!network_parse_host("a\0b", 3, &host));
}

TEST(admits_what_is_named)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err err = ERR_INIT;

    REQUIRE(network_parse("example.org *.example.net git.example:9418 192.0.2.7:22 10.1.0.0/16 "
                          "[2001:db8::1]",
                          &network, &err) == 0);
    CHECK(admits(&network, "example.org", 443));
    CHECK(admits(&network, "example.org", 80));
    CHECK(admits(&network, "EXAMPLE.Org.", 443));
    CHECK(!admits(&network, "example.org", 22));
    CHECK(!admits(&network, "example.org", 0));
    CHECK(!admits(&network, "www.example.org", 443));
    CHECK(!admits(&network, "notexample.org", 443));
    CHECK(!admits(&network, "example.org.evil.example", 443));
    CHECK(!admits(&network, "example.org@evil.example", 443));
    CHECK(!admits(&network, "example.org#", 443));
    CHECK(!admits(&network, "example.org:443", 443));
    CHECK(!admits(&network, "example.org..", 443));
    CHECK(admits(&network, "a.example.net", 443));
    CHECK(admits(&network, "a.b.example.net", 443));
    CHECK(!admits(&network, "example.net", 443));
    CHECK(!admits(&network, "xexample.net", 443));
    CHECK(!admits(&network, ".example.net", 443));
    CHECK(admits(&network, "git.example", 9418));
    CHECK(!admits(&network, "git.example", 443));
    CHECK(admits(&network, "192.0.2.7", 22));
    CHECK(admits(&network, "::ffff:192.0.2.7", 22));
    CHECK(!admits(&network, "192.0.2.8", 22));
    CHECK(!admits(&network, "3221225991", 22));
    CHECK(admits(&network, "10.1.255.255", 80));
    CHECK(!admits(&network, "10.2.0.0", 80));
    CHECK(admits(&network, "[2001:db8::1]", 443));
    CHECK(admits(&network, "2001:DB8:0::1", 443));
    CHECK(!admits(&network, "2001:db8::2", 443));
}

TEST(admits_public_addresses_and_named_ones)
{
    static const char *const refused[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "198.19.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "2001::1",
        "fe80::1",
        "febf::1",
        "fc00::1",
        "fd00::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "200:1234::1", /* of a mesh on top of the Internet */
        "::ffff:0:7f00:1",
        "4000::1",
        "1fff:ffff::1",
    };
    static const char *const accepted[] = {
        "1.1.1.1",         "9.255.255.255", "11.0.0.0",   "100.63.0.1",       "100.128.0.0",
        "126.0.0.1",       "128.0.0.1",     "172.15.0.1", "172.32.0.1",       "192.167.0.1",
        "223.255.255.255", "2606:4700::1",  "2a00::1",    "64:ff9b::101:101", "2002:101:101::1",
    };
    _cleanup_network_ struct network network = NETWORK_INIT;
    _cleanup_network_ struct network named = NETWORK_INIT;
    struct err err = ERR_INIT;

    REQUIRE(network_parse("example.org", &network, &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (admits_address(&network, refused[i], 443)) {
            printf("# %s\n", refused[i]);
            CHECK(false);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
        if (!admits_address(&network, accepted[i], 443)) {
            printf("# %s\n", accepted[i]);
            CHECK(false);
        }
    }
    REQUIRE(network_parse("example.org 127.0.0.1:8080 10.0.0.0/8", &named, &err) == 0);
    CHECK(admits_address(&named, "127.0.0.1", 8080));
    CHECK(!admits_address(&named, "127.0.0.1", 443));
    CHECK(!admits_address(&named, "127.0.0.2", 8080));
    CHECK(admits_address(&named, "10.9.8.7", 443));
    CHECK(network_names_loopback(&named));
    CHECK(!network_names_loopback(&network));
}

TEST(none_admits_nothing)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    struct err err = ERR_INIT;

    REQUIRE(network_parse("none", &network, &err) == 0);
    CHECK(!admits(&network, "example.org", 443));
    CHECK(!admits_address(&network, "1.1.1.1", 443));
}

TEST(filters_by_name)
{
    _cleanup_network_ struct network network = NETWORK_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ uint16_t *ports = NULL;
    struct err err = ERR_INIT;

    REQUIRE(network_parse("a.org *.b.org:22 1.2.3.4 10.0.0.0/8 [fd00::1]:22", &network, &err) == 0);
    network_add_filter(&network, &text);
    CHECK_STR(str_text(&text), "^a\\.org\\.\\{0,1\\}$\n^.*\\.b\\.org\\.\\{0,1\\}$\n"
                               "^1\\.2\\.3\\.4$\n^[0-9.]*$\n^fd00::1$\n");
    CHECK_INT((int)network_ports(&network, &ports), 3);
    CHECK_INT(ports[0], 443);
    CHECK_INT(ports[1], 80);
    CHECK_INT(ports[2], 22);
}
