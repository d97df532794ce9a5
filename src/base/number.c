#include "base/number.h"

#include "base/str.h"

#include <string.h>

bool number_parse(const char *text, const struct unit *units, size_t count, uint64_t max,
                  uint64_t *ret)
{
    const char *p = text;
    uint64_t n = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    for (size_t i = 0; i < count && p > text; i++) {
        if (strcmp(p, units[i].name) != 0)
            continue;
        if (n > max / units[i].factor)
            return false;
        *ret = n * units[i].factor;
        return true;
    }
    return false;
}

bool number_parse_size(const char *text, uint64_t max, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", UINT64_C(1) << 40}};
    return number_parse(text, units, ARRAY_LEN(units), max, ret);
}
