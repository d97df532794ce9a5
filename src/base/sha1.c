/* FIPS 180-4, section 6.1. */
#include "base/sha1.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 80 };

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put32(unsigned char *at, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(word >> (24 - 8 * i));
}

/* Returns the function of round `i` of these three words, with its constant. */
static uint32_t mix(int i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(uint32_t state[5], const unsigned char *block)
{
    uint32_t words[ROUNDS];
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    uint32_t e = state[4];

    for (int i = 0; i < 16; i++)
        words[i] = get32(block + (ptrdiff_t)4 * i);
    for (int i = 16; i < ROUNDS; i++)
        words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + words[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE])
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const unsigned char *at = bytes;
    unsigned char last[2 * BLOCK] = {0};
    size_t rest = len % BLOCK;
    size_t size = rest < BLOCK - 8 ? BLOCK : sizeof last;

    for (size_t left = len / BLOCK; left > 0; left--, at += BLOCK)
        add_block(state, at);
    if (rest > 0)
        memcpy(last, at, rest);
    last[rest] = 0x80;
    put32(last + size - 8, (uint32_t)((uint64_t)len >> 29));
    put32(last + size - 4, (uint32_t)(len << 3));
    for (size_t done = 0; done < size; done += BLOCK)
        add_block(state, last + done);
    for (size_t i = 0; i < 5; i++)
        put32(ret + 4 * i, state[i]);
}
