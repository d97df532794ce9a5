#include "base/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t v[8];

    for (size_t i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, sizeof v - sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    size_t held = sum->len % SHA256_BLOCK;

    sum->len += len;
    if (held > 0) {
        size_t n = SHA256_BLOCK - held < len ? SHA256_BLOCK - held : len;
        memcpy(sum->rest + held, at, n);
        at += n;
        len -= n;
        if (held + n == SHA256_BLOCK)
            add_block(sum->state, sum->rest);
    }
    for (; len >= SHA256_BLOCK; at += SHA256_BLOCK, len -= SHA256_BLOCK)
        add_block(sum->state, at);
    if (len > 0)
        memcpy(sum->rest, at, len);
}

void sha256_hex(struct sha256 *sum, char ret[SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    static const unsigned char padding[SHA256_BLOCK] = {0x80};
    const uint64_t bits = sum->len * 8;
    const size_t held = sum->len % SHA256_BLOCK;
    unsigned char end[8];

    for (size_t i = 0; i < sizeof end; i++)
        end[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(sum, padding, held < 56 ? 56 - held : 120 - held);
    sha256_add(sum, end, sizeof end);
    for (size_t i = 0; i < SHA256_HEX; i++)
        ret[i] = digits[sum->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    ret[SHA256_HEX] = '\0';
}

void sha256_of(const void *bytes, size_t len, char ret[SHA256_TEXT])
{
    struct sha256 sum = SHA256_INIT;

    sha256_add(&sum, bytes, len);
    sha256_hex(&sum, ret);
}

bool sha256_is_hex(const char *text)
{
    return strspn(text, "0123456789abcdef") == SHA256_HEX && text[SHA256_HEX] == '\0';
}
