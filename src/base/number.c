#include "base/number.h"

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

bool number_parse_count(const char *text, uint64_t max, uint64_t *ret)
{
    static const struct unit plain[] = {{"", 1}};
    return number_parse(text, plain, 1, max, ret);
}

const struct unit number_sizes[] = {
    {"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", UINT64_C(1) << 40}};

bool number_parse_size(const char *text, uint64_t max, uint64_t *ret)
{
    return number_parse(text, number_sizes, ARRAY_LEN(number_sizes), max, ret);
}

char *number_put(char *end, uint64_t number, int width)
{
    for (int i = 0; i < width || number > 0 || i == 0; i++, number /= 10)
        *--end = (char)('0' + number % 10);
    return end;
}

void number_format_size(uint64_t bytes, char buf[NUMBER_SIZE_TEXT])
{
    static const char units[] = "BKMGTPE";
    double n = (double)bytes;
    size_t unit = 0;

    while (n >= 1000 && unit + 1 < strlen(units)) {
        n /= 1024;
        unit++;
    }
    (void)snprintf(buf, NUMBER_SIZE_TEXT, unit == 0 || n >= 10 ? "%.0f%c" : "%.1f%c", n,
                   units[unit]);
}
