/*
 * SHA-1, which ends the files of git. It protects against accidents, not against people.
 * By libmd.
 */
#pragma once

enum { SHA1_SIZE = 20 /* bytes */ };

void sha1(const void *bytes, size_t len, unsigned char ret[SHA1_SIZE]);
