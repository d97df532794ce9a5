#include "base/base64.h"

void base64_add(struct str *to, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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
