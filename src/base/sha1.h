/*
 * SHA-1, which ends the files of git. It protects against accidents, not against people.
 * By libmd.
 */
#ifndef MAS_BASE_SHA1_H
#define MAS_BASE_SHA1_H

#include <stddef.h>

enum { SHA1_SIZE = 20 /* bytes */ };

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE]);

#endif
