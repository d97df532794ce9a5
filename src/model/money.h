/*
 * Amounts of money, or of another unit in which an agent counts what it costs. An amount is an
 * integer in millionths of its currency, so that sums are exact.
 */
#pragma once

#include "base/json.h"

enum {
    MONEY_CURRENCY_MAX = 16, /* bytes: "USD", "credits" */
    MONEY_TEXT = 48,
    MONEY_UNIT = 1000000, /* millionths */
};
/* The largest amount, in millionths; JSON holds it exactly. */
#define MONEY_MAX (INT64_C(1) << 50)

struct money {
    int64_t micro;
    char currency[MONEY_CURRENCY_MAX + 1]; /* "": no amount is known */
};

/* Reads a currency: 1 to 16 ASCII letters. A code of three letters becomes upper case. Returns
 * false for any other text. */
bool money_parse_currency(const char *text, char ret[MONEY_CURRENCY_MAX + 1]);
/* Converts a number, rounded to millionths. Returns false if it is negative, too large or not a
 * number. */
bool money_from_number(double number, int64_t *ret_micro);
/* Parses "5 USD" or "0.25 credits". Returns false for any other text, and for 0. */
bool money_parse(const char *text, struct money *ret);

/* Writes the number without its currency, as JSON and --json have it: "5", "0.000001". */
void money_format_number(int64_t micro, char buf[MONEY_TEXT]);
/* Writes the amount for people: with two decimals, or with four if it is below 1. */
void money_format(const struct money *money, char buf[MONEY_TEXT]);
/* Adds `more`, and stays at MONEY_MAX if the sum is larger. */
int64_t money_sum(int64_t micro, int64_t more);

/* Write and read the members "cost" and "currency" of an object; null if no amount is known. */
void money_put(const struct money *money, struct json_out *out);
void money_read(const struct json *object, struct money *ret);
