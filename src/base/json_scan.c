/*
 * Recursive descent, one function for each rule of the grammar, down to JSON_DEPTH_MAX levels. It
 * keeps no values: only a position, the number of keys so far, and what json.c asks to be noted of
 * numbers. The place of a key is therefore not stored either; an error about one scans the text a
 * second time.
 */

#include "base/json_internal.h"

#include "base/utf8.h"

/* Some versions of cJSON read at most this many bytes of a number. */
enum { NUMBER_MAX = 63 };

static const uint64_t integer_max = UINT64_C(1) << 53;

int json_scan_fail(const struct json_scan *s, size_t pos, const char *why)
{
    size_t line = 1;
    size_t column = 1;

    for (size_t i = 0; i < pos && i < s->len; i++) {
        if (s->text[i] == '\n') {
            line++;
            column = 1;
        } else if (!utf8_is_inside(s->text[i])) {
            column++;
        }
    }
    return err_set(s->err, MAS_DAMAGED, "line %zu, column %zu: %s", line, column, why);
}

/* Returns the byte at pos + ahead, or -1 beyond the end. */
static int peek(const struct json_scan *s, size_t ahead)
{
    return ahead < s->len - s->pos ? (unsigned char)s->text[s->pos + ahead] : -1;
}

/* Fails at pos because the input does not match the grammar. */
static int scan_unexpected(const struct json_scan *s, const char *why)
{
    return json_scan_fail(s, s->pos, s->pos < s->len ? why : "unexpected end of the text");
}

static void skip_space(struct json_scan *s)
{
    int c = peek(s, 0);

    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        s->pos++;
        c = peek(s, 0);
    }
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

size_t json_wide_char(const char *text, size_t len)
{
    unsigned char lead = (unsigned char)text[0];
    size_t n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    return n <= len && str_is_utf8(text, n) ? n : 0;
}

/* Returns the four hex digits at pos + ahead as a number, or -1. */
static int scan_hex(const struct json_scan *s, size_t ahead)
{
    int code = 0;

    for (size_t i = 0; i < 4; i++) {
        int c = peek(s, ahead + i);

        if (is_digit(c))
            code = code * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f')
            code = code * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            code = code * 16 + (c - 'A' + 10);
        else
            return -1;
    }
    return code;
}

static int scan_unicode_escape(struct json_scan *s)
{
    int code = scan_hex(s, 2);
    int second;

    if (code == -1)
        return json_scan_fail(s, s->pos, "\\u needs four hex digits");
    if (code == 0)
        return json_scan_fail(s, s->pos, "\\u0000 is not allowed in a string");
    if (code >= 0xDC00 && code <= 0xDFFF)
        return json_scan_fail(s, s->pos, "unpaired surrogate");
    if (code < 0xD800 || code > 0xDBFF) {
        s->pos += 6;
        return 0;
    }
    second = peek(s, 6) == '\\' && peek(s, 7) == 'u' ? scan_hex(s, 8) : -1;
    if (second < 0xDC00 || second > 0xDFFF)
        return json_scan_fail(s, s->pos, "unpaired surrogate");
    s->pos += 12;
    return 0;
}

static int scan_escape(struct json_scan *s)
{
    switch (peek(s, 1)) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        s->pos += 2;
        return 0;
    case 'u':
        return scan_unicode_escape(s);
    default:
        return json_scan_fail(s, s->pos, "unknown escape in a string");
    }
}

static int scan_string(struct json_scan *s)
{
    size_t start = s->pos++;

    for (;;) {
        int c = peek(s, 0);

        if (c == '"') {
            s->pos++;
            return 0;
        }
        if (c == -1)
            return json_scan_fail(s, start, "unterminated string");
        if (c == '\\') {
            if (scan_escape(s) == -1)
                return -1;
        } else if (c < 0x20) {
            return json_scan_fail(s, s->pos, "control character in a string");
        } else if (c < 0x80) {
            s->pos++;
        } else {
            size_t n = json_wide_char(s->text + s->pos, s->len - s->pos);

            if (n == 0)
                return json_scan_fail(s, s->pos, "invalid UTF-8");
            s->pos += n;
        }
    }
}

/* Limits an exponent to a value that still makes any number of NUMBER_MAX bytes too large, or a
 * fraction, and that cannot overflow. */
static long clamp(long exponent)
{
    return exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent;
}

/*
 * Returns true if this number, already checked and at most NUMBER_MAX bytes long, is an integer of
 * at most 2^53; 1.0 and 1e3 are. It is read as 0.d1d2...dn * 10^point, without zeros at either end
 * of the digits.
 */
static bool is_integer(const char *text, size_t len)
{
    char digits[NUMBER_MAX];
    size_t n = 0;
    long point = 0;
    size_t i = text[0] == '-' ? 1 : 0;
    bool fraction = false;
    uint64_t value = 0;

    for (; i < len && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] == '.') {
            fraction = true;
        } else if (n == 0 && text[i] == '0') {
            point -= fraction; /* a leading zero only moves the point */
        } else {
            digits[n++] = text[i];
            point += !fraction;
        }
    }
    while (n > 0 && digits[n - 1] == '0')
        n--;
    if (n == 0)
        return true; /* zero, whatever the exponent */
    if (i < len)
        point += clamp(strtol(text + i + 1, NULL, 10));
    if (point < (long)n || point > 16)
        return false;
    for (size_t d = 0; d < (size_t)point; d++)
        value = value * 10 + (d < n ? (uint64_t)(digits[d] - '0') : 0);
    return value <= integer_max;
}

static void skip_digits(struct json_scan *s)
{
    while (is_digit(peek(s, 0)))
        s->pos++;
}

static int scan_number(struct json_scan *s)
{
    char number[NUMBER_MAX + 1];
    size_t start = s->pos;
    bool plain = true;
    size_t len;

    if (peek(s, 0) == '-')
        s->pos++;
    if (!is_digit(peek(s, 0)))
        return scan_unexpected(s, "expected a digit");
    if (peek(s, 0) == '0' && is_digit(peek(s, 1)))
        return json_scan_fail(s, s->pos, "a number must not have leading zeros");
    skip_digits(s);
    if (peek(s, 0) == '.') {
        plain = false;
        s->pos++;
        if (!is_digit(peek(s, 0)))
            return scan_unexpected(s, "expected a digit");
        skip_digits(s);
    }
    if (peek(s, 0) == 'e' || peek(s, 0) == 'E') {
        plain = false;
        s->pos++;
        if (peek(s, 0) == '+' || peek(s, 0) == '-')
            s->pos++;
        if (!is_digit(peek(s, 0)))
            return scan_unexpected(s, "expected a digit");
        skip_digits(s);
    }
    len = s->pos - start;
    if (len > NUMBER_MAX)
        return json_scan_fail(s, start, "the number is too long");
    memcpy(number, s->text + start, len);
    number[len] = '\0';
    plain = plain && len <= 15 && strcmp(number, "-0") != 0;
    str_addc(&s->numbers, (char)((plain || is_integer(number, len) ? JSON_NUMBER_INTEGER : 0) |
                                 (plain ? 0 : JSON_NUMBER_RAW)));
    if (!plain)
        str_addn(&s->raw, number, len + 1);
    return 0;
}

static int scan_word(struct json_scan *s, const char *word)
{
    size_t len = strlen(word);

    if (s->len - s->pos < len || memcmp(s->text + s->pos, word, len) != 0)
        return json_scan_fail(s, s->pos, "expected a value");
    s->pos += len;
    return 0;
}

static int scan_value(struct json_scan *s);

static int scan_key(struct json_scan *s)
{
    if (peek(s, 0) != '"')
        return scan_unexpected(s, "expected a key in double quotes");
    if (s->keys++ == s->wanted_key)
        s->wanted_pos = s->pos;
    if (scan_string(s) == -1)
        return -1;
    skip_space(s);
    if (peek(s, 0) != ':')
        return scan_unexpected(s, "expected ':'");
    s->pos++;
    return 0;
}

/* Scans an array or an object whose opening bracket is at pos. */
static int scan_container(struct json_scan *s)
{
    bool object = peek(s, 0) == '{';
    int end = object ? '}' : ']';

    if (++s->depth > JSON_DEPTH_MAX)
        return json_scan_fail(s, s->pos, "nested too deeply");
    s->pos++;
    skip_space(s);
    for (bool first = true; !first || peek(s, 0) != end; first = false) {
        if (!first) {
            if (peek(s, 0) == end)
                break;
            if (peek(s, 0) != ',')
                return scan_unexpected(s, object ? "expected ',' or '}'" : "expected ',' or ']'");
            s->pos++;
            skip_space(s);
        }
        if (object && scan_key(s) == -1)
            return -1;
        if (scan_value(s) == -1)
            return -1;
        skip_space(s);
    }
    s->pos++;
    s->depth--;
    return 0;
}

static int scan_value(struct json_scan *s)
{
    int c;

    skip_space(s);
    c = peek(s, 0);
    if (c == '{' || c == '[')
        return scan_container(s);
    if (c == '"')
        return scan_string(s);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    if (c == 't')
        return scan_word(s, "true");
    if (c == 'f')
        return scan_word(s, "false");
    if (c == 'n')
        return scan_word(s, "null");
    return scan_unexpected(s, "expected a value");
}

int json_scan(struct json_scan *s)
{
    size_t end;

    if (scan_value(s) == -1)
        return -1;
    end = s->pos;
    skip_space(s);
    if (s->pos < s->len)
        return json_scan_fail(s, s->pos, "unexpected text after the value");
    s->pos = end;
    return 0;
}

int json_scan_fail_key(struct json_scan *s, size_t ordinal, const char *why)
{
    s->pos = 0;
    s->keys = 0;
    s->wanted_key = ordinal;
    (void)json_scan(s);
    return json_scan_fail(s, s->wanted_pos, why);
}
