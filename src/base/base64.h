/* Base64 of bytes (RFC 4648, with padding). */
#pragma once

/* Appends it. */
void base64_add(struct str *to, const void *bytes, size_t len);
/* Appends the bytes that a text stands for. Returns false if it is none. */
bool base64_read(const char *text, struct str *to);
