/*
 * What the fuzz targets share.
 */
#pragma once

#include "base/json.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static inline void must(bool ok)
{
    if (!ok)
        abort();
}

/* What is sent is whole lines, each a message of JSON-RPC. */
static inline void must_be_messages(const char *out, size_t len)
{
    const char *end = out + len;

    while (out < end) {
        const char *newline = memchr(out, '\n', (size_t)(end - out));
        _cleanup_json_ struct json *message = NULL;
        struct err err = ERR_INIT;

        must(newline != NULL);
        must(json_parse(out, (size_t)(newline - out), SIZE_MAX, &message, &err) == 0);
        must(json_is_object(message) && json_get_text(message, "jsonrpc") != NULL);
        out = newline + 1;
    }
}

/* What is read, as `read` notes it, is the same in one piece and in pieces of up to `most` bytes;
 * the first byte of the data says how long they are. */
typedef void fuzz_read(const char *bytes, size_t size, size_t step, struct str *notes);
static inline void must_be_same_in_pieces(const unsigned char *data, size_t size, size_t most,
                                          fuzz_read *read)
{
    _cleanup_str_ struct str whole = STR_INIT;
    _cleanup_str_ struct str cut = STR_INIT;

    if (size == 0)
        return;
    const char *bytes = (const char *)data + 1;
    read(bytes, size - 1, size, &whole);
    read(bytes, size - 1, 1 + data[0] % most, &cut);
    must(whole.len == cut.len && memcmp(str_text(&whole), str_text(&cut), whole.len) == 0);
}
