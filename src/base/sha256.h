/*
 * SHA-256 (FIPS 180-4) of data that comes in parts.
 *
 *     struct sha256 sum = SHA256_INIT;
 *     sha256_add(&sum, bytes, len);
 *     sha256_hex(&sum, text);
 */
#ifndef MAS_BASE_SHA256_H
#define MAS_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_HEX = 64, SHA256_TEXT = SHA256_HEX + 1 };

struct sha256 {
    uint32_t state[8];
    uint64_t len; /* bytes so far */
    unsigned char rest[SHA256_BLOCK]; /* those that do not fill a block yet */
};
#define SHA256_INIT                                                                                \
    {                                                                                              \
        .state = {                                                                                 \
            0x6a09e667,                                                                            \
            0xbb67ae85,                                                                            \
            0x3c6ef372,                                                                            \
            0xa54ff53a,                                                                            \
            0x510e527f,                                                                            \
            0x9b05688c,                                                                            \
            0x1f83d9ab,                                                                            \
            0x5be0cd19                                                                             \
        }                                                                                          \
    }

void sha256_add(struct sha256 *sum, const void *bytes, size_t len);
/* Ends the sum and writes it as lower-case hex digits with a NUL. */
void sha256_hex(struct sha256 *sum, char ret[SHA256_TEXT]);
/* Writes the sum of data that is there as a whole. */
void sha256_of(const void *bytes, size_t len, char ret[SHA256_TEXT]);
/* Returns true for 64 lower-case hex digits. */
bool sha256_is_hex(const char *text);

#endif
