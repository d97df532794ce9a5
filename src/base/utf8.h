/*
 * Characters in UTF-8 text. These functions count the bytes that begin a character, so they take
 * any bytes; str_is_utf8() checks a text.
 */
#pragma once

/* Returns true for a byte inside a character, which does not begin one. */
static inline bool utf8_is_inside(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Returns the start of the character to which text[at] belongs. */
static inline size_t utf8_start(const char *text, size_t at)
{
    while (at > 0 && utf8_is_inside(text[at]))
        at--;
    return at;
}

/* Returns the start of the first character after text[at], or `len`. */
static inline size_t utf8_next(const char *text, size_t len, size_t at)
{
    do
        at++;
    while (at < len && utf8_is_inside(text[at]));
    return at;
}

/* Returns the number of characters. */
static inline size_t utf8_count(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += !utf8_is_inside(text[i]);
    return count;
}

/* Returns the length of the first `count` characters, in bytes. */
static inline size_t utf8_bytes(const char *text, size_t len, size_t count)
{
    size_t i = 0;

    while (i < len && (utf8_is_inside(text[i]) || count-- > 0))
        i++;
    return i;
}
