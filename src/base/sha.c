#include "base/sha.h"

#include <sha1.h>

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE])
{
    SHA1_CTX sum;

    SHA1Init(&sum);
    if (len > 0) /* of no bytes the address may be NULL, which memcpy() must not get */
        SHA1Update(&sum, bytes, len);
    SHA1Final(ret, &sum);
}

struct sha256 sha256_begin(void)
{
    struct sha256 sum = {.len = 0};

    SHA256Init(&sum.state);
    return sum;
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t len)
{
    if (len > 0) /* of no bytes the address may be NULL, which memcpy() must not get */
        SHA256Update(&sum->state, bytes, len);
    sum->len += len;
}

void sha256_hex(struct sha256 *sum, char ret[SHA256_TEXT])
{
    (void)SHA256End(&sum->state, ret);
}

void sha256_of(const void *bytes, size_t len, char ret[SHA256_TEXT])
{
    struct sha256 sum = sha256_begin();

    sha256_add(&sum, bytes, len);
    sha256_hex(&sum, ret);
}

bool sha256_is_hex(const char *text)
{
    return strspn(text, "0123456789abcdef") == SHA256_HEX && text[SHA256_HEX] == '\0';
}
