#include "unit.h"

#include "base/sha.h"

static void check_sum(const char *text, size_t count, const char *expected)
{
    struct sha256 sum = sha256_begin();
    char hex[SHA256_TEXT];

    for (size_t i = 0; i < count; i++)
        sha256_add(&sum, text, strlen(text));
    sha256_hex(&sum, hex);
    CHECK_STR(hex, expected);
}

TEST(gives_the_sums_of_the_standard)
{
    check_sum("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sum("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sum("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The padding fills the block at 55 bytes, and needs one more from 56 on. */
TEST(pads_a_block_that_is_nearly_full)
{
    check_sum("a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    check_sum("a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    check_sum("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(takes_data_in_parts)
{
    unsigned char bytes[1000];
    char whole[SHA256_TEXT];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    struct sha256 all = sha256_begin();
    sha256_add(&all, bytes, sizeof bytes);
    sha256_hex(&all, whole);
    for (size_t step = 1; step < 200; step++) {
        struct sha256 sum = sha256_begin();
        char hex[SHA256_TEXT];
        for (size_t at = 0; at < sizeof bytes; at += step)
            sha256_add(&sum, bytes + at, sizeof bytes - at < step ? sizeof bytes - at : step);
        sha256_hex(&sum, hex);
        CHECK_STR(hex, whole);
    }
}

TEST(knows_a_sum)
{
    char hex[SHA256_TEXT];

    sha256_of("abc", 3, hex);
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(sha256_is_hex(hex));
    hex[0] = 'B';
    CHECK(!sha256_is_hex(hex));
    hex[0] = '\0';
    CHECK(!sha256_is_hex(hex));
    CHECK(!sha256_is_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad0"));
}
