/*
 * Sums of data, by libmd: SHA-256 (FIPS 180-4) of data that comes in parts,
 *
 *     struct sha256 sum = sha256_begin();
 *     sha256_add(&sum, bytes, len);
 *     sha256_hex(&sum, text);
 *
 * and SHA-1, which ends the files of git and protects against accidents, not against people.
 */
#pragma once

#include <sha2.h>

enum { SHA256_HEX = 64, SHA256_TEXT = SHA256_HEX + 1 };

struct sha256 {
    SHA2_CTX state;
    uint64_t len; /* bytes so far */
};

struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sum, const void *bytes, size_t len);
/* Ends the sum and writes it as lower-case hex digits with a NUL. */
void sha256_hex(struct sha256 *sum, char ret[SHA256_TEXT]);
/* Writes the sum of data that is there as a whole. */
void sha256_of(const void *bytes, size_t len, char ret[SHA256_TEXT]);
/* Returns true for 64 lower-case hex digits. */
bool sha256_is_hex(const char *text);

enum { SHA1_SIZE = 20 /* bytes */ };

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE]);
