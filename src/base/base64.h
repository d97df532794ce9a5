/* Base64 of bytes (RFC 4648, with padding). */
#pragma once

/* Appends it. */
void base64_add(struct str *to, const void *bytes, size_t len);
