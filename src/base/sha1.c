#include "base/sha1.h"

#include <sha1.h>

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE])
{
    SHA1_CTX sum;

    SHA1Init(&sum);
    if (len > 0) /* of no bytes the address may be NULL, which memcpy() must not get */
        SHA1Update(&sum, bytes, len);
    SHA1Final(ret, &sum);
}
