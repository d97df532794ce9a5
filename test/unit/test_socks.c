#include "network/socks.h"
#include "unit.h"

static int greeting(const char *bytes, size_t len)
{
    return socks_parse_greeting((const unsigned char *)bytes, len);
}

static int request(const char *bytes, size_t len, struct socks_request *ret)
{
    return socks_parse_request((const unsigned char *)bytes, len, ret);
}

TEST(reads_greetings)
{
    CHECK_INT(greeting("", 0), 0);
    CHECK_INT(greeting("\5", 1), 0);
    CHECK_INT(greeting("\5\2\1", 3), 0);
    CHECK_INT(greeting("\5\1\0", 3), 3);
    CHECK_INT(greeting("\5\2\1\0more", 8), 4);
    CHECK_INT(greeting("\4\1", 2), -1);
    CHECK_INT(greeting("GET / HTTP/1.0\r\n", 16), -1);
    CHECK_INT(greeting("\5\0", 2), -1);
    CHECK_INT(greeting("\5\1\2", 3), -1); /* a login alone */
}

TEST(reads_requests)
{
    static const char name[] = "\5\1\0\3\4a\0.b\1\273";
    struct socks_request r;

    for (size_t len = 0; len < sizeof name - 1; len++)
        CHECK_INT(request(name, len, &r), 0);
    CHECK_INT(request(name, sizeof name - 1, &r), 11);
    CHECK_INT((int)r.host_len, 4);
    CHECK(memcmp(r.host, "a\0.b", 5) == 0);
    CHECK_INT(r.port, 443);
    CHECK_INT(request("\5\1\0\1\177\0\0\1\0\120", 10, &r), 10);
    CHECK_STR(r.host, "127.0.0.1");
    CHECK_INT(r.port, 80);
    CHECK_INT(request("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120", 22, &r), 22);
    CHECK_STR(r.host, "::1");
}

TEST(refuses_other_requests)
{
    struct socks_request r;

    CHECK_INT(request("\4", 1, &r), -1);
    CHECK_INT(request("\5\2", 2, &r), -1); /* BIND */
    CHECK_INT(request("\5\3", 2, &r), -1); /* UDP ASSOCIATE */
    CHECK_INT(request("\5\1\0\2x", 5, &r), -1);
    CHECK_INT(request("\5\1\0\3\0", 5, &r), -1); /* a name without bytes */
}

TEST(holds_the_longest_name)
{
    unsigned char bytes[SOCKS_MESSAGE_MAX] = {5, 1, 0, 3, 255};
    struct socks_request r;

    memset(bytes + 5, 'a', 255);
    CHECK_INT(socks_parse_request(bytes, sizeof bytes, &r), SOCKS_MESSAGE_MAX);
    CHECK_INT((int)r.host_len, SOCKS_HOST_MAX);
    CHECK_INT((int)strlen(r.host), SOCKS_HOST_MAX);
}
