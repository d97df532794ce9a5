/*
 * FNV-1a with 64 bits, for what nobody forges on purpose; sha.h for the rest.
 */
#pragma once

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Returns `hash` extended by these bytes. Start with HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}
