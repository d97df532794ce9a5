#include "model/money.h"

#include <math.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool money_parse_currency(const char *text, char ret[MONEY_CURRENCY_MAX + 1])
{
    enum { CODE = 3 }; /* letters of a code of ISO 4217 */
    size_t len = 0;

    while (len <= MONEY_CURRENCY_MAX && is_letter(text[len]))
        len++;
    if (len == 0 || len > MONEY_CURRENCY_MAX || text[len] != '\0')
        return false;
    memcpy(ret, text, len + 1);
    for (size_t i = 0; len == CODE && i < len; i++)
        ret[i] = (char)(ret[i] & ~0x20);
    return true;
}

bool money_from_number(double number, int64_t *ret_micro)
{
    if (!(number >= 0 && number <= (double)MONEY_MAX / MONEY_UNIT)) /* false for NaN, too */
        return false;
    *ret_micro = llround(number * MONEY_UNIT);
    return true;
}

/* Parses "12" or "12.345678", and moves *at behind it. */
static bool parse_number(const char **at, int64_t *ret_micro)
{
    int64_t micro = 0;
    const char *p = *at;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        micro = micro * 10 + (*p - '0') * (int64_t)MONEY_UNIT;
        if (micro > MONEY_MAX)
            return false;
    }
    if (*p == '.') {
        int64_t unit = MONEY_UNIT / 10;
        const char *first = ++p;
        for (; *p >= '0' && *p <= '9' && unit > 0; p++, unit /= 10)
            micro += (*p - '0') * unit;
        if (p == first || (*p >= '0' && *p <= '9'))
            return false;
    }
    *at = p;
    *ret_micro = micro;
    return true;
}

bool money_parse(const char *text, struct money *ret)
{
    struct money money;

    if (!parse_number(&text, &money.micro) || money.micro == 0)
        return false;
    while (*text == ' ')
        text++;
    if (!money_parse_currency(text, money.currency))
        return false;
    *ret = money;
    return true;
}

void money_format_number(int64_t micro, char buf[MONEY_TEXT])
{
    int n = snprintf(buf, MONEY_TEXT, "%lld.%06lld", (long long)(micro / MONEY_UNIT),
                     (long long)(micro % MONEY_UNIT));

    while (n > 0 && buf[n - 1] == '0')
        n--;
    if (n > 0 && buf[n - 1] == '.')
        n--;
    buf[n] = '\0';
}

void money_format(const struct money *money, char buf[MONEY_TEXT])
{
    enum { CENT = MONEY_UNIT / 100, FINE = MONEY_UNIT / 10000 };
    int64_t step = money->micro < MONEY_UNIT ? FINE : CENT;
    int64_t parts = (money->micro + step / 2) / step; /* rounded */
    int64_t whole = MONEY_UNIT / step;

    (void)snprintf(buf, MONEY_TEXT, "%lld.%0*lld %s", (long long)(parts / whole),
                   step == FINE ? 4 : 2, (long long)(parts % whole), money->currency);
}

int64_t money_sum(int64_t micro, int64_t more)
{
    return more > MONEY_MAX - micro ? MONEY_MAX : micro + more;
}

void money_put(const struct money *money, struct json_out *out)
{
    char number[MONEY_TEXT];
    bool known = money->currency[0] != '\0';

    money_format_number(money->micro, number);
    json_put_raw(out, "cost", known ? number : "null");
    json_put(out, "currency", known ? money->currency : NULL);
}

void money_read(const struct json *object, struct money *ret)
{
    const char *currency = json_get_text(object, "currency");
    struct money money = {.micro = 0};

    *ret = money;
    if (currency != NULL && money_parse_currency(currency, money.currency) &&
        money_from_number(json_number(json_get(object, "cost"), -1), &money.micro))
        *ret = money;
}
