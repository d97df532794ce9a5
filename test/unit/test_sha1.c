#include "unit.h"

#include "base/sha.h"

static void check(const void *bytes, size_t len, const char *want)
{
    unsigned char got[SHA1_SIZE];
    char text[2 * SHA1_SIZE + 1];

    sha1(bytes, len, got);
    for (size_t i = 0; i < SHA1_SIZE; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", got[i]);
    CHECK_STR(text, want);
}

/* The examples of the standard, and sha1sum's word for the lengths around the end of a block. */
TEST(sums_up)
{
    static const struct {
        size_t len;
        const char *want;
    } lengths[] = {
        {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
        {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},
        {57, "f08f24908d682555111be7ff6f004e78283d989a"},
        {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"},
        {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},
        {65, "11655326c708d70319be2610e8a57d9a5b959d3b"},
        {119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"},
        {120, "f34c1488385346a55709ba056ddd08280dd4c6d6"},
        {128, "ad5b3fdbcb526778c2839d2f151ea753995e26a0"},
    };
    _cleanup_free_ char *million = malloc(1000000);

    memset(million, 'a', 1000000);
    check("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    check(million, 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
        check(million, lengths[i].len, lengths[i].want);
}
