#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct str *to, const void *bytes, size_t len)
{
    const unsigned char *in = bytes;

    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        unsigned group = (unsigned)in[i] << 16 | (n > 1 ? (unsigned)in[i + 1] << 8 : 0) |
                         (n > 2 ? (unsigned)in[i + 2] : 0);
        const char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
                              n > 1 ? digits[group >> 6 & 63] : '=',
                              n > 2 ? digits[group & 63] : '='};
        str_addn(to, four, sizeof four);
    }
}

bool base64_read(const char *text, struct str *to)
{
    size_t len = strlen(text);
    size_t pad = len > 1 && text[len - 1] == '=' ? (text[len - 2] == '=' ? 2 : 1) : 0;
    unsigned group = 0;

    if (len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool ends = i >= len - pad;
        const char *digit = ends ? digits : strchr(digits, text[i]);
        if (digit == NULL)
            return false;
        group = group << 6 | (unsigned)(digit - digits);
        if (i % 4 != 3)
            continue;
        const char three[3] = {(char)(group >> 16 & 0xff), (char)(group >> 8 & 0xff),
                               (char)(group & 0xff)};
        str_addn(to, three, sizeof three - (ends ? pad : 0));
        group = 0;
    }
    return true;
}
