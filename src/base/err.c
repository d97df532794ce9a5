#include "base/err.h"

#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* true inside a character of UTF-8. */
static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Text that is too long loses its middle: what was done stands at its start, why it failed at its
 * end, and what is long is the subject between them. */
static void put(char *to, size_t max, const char *text)
{
    size_t len = strlen(text);

    if (len < max) {
        memcpy(to, text, len + 1);
        return;
    }
    size_t head = max / 2 - sizeof("...");
    const char *tail = text + len - max / 2;
    while (head > 0 && is_continuation(text[head]))
        head--;
    while (is_continuation(*tail))
        tail++;
    (void)snprintf(to, max, "%.*s...%s", (int)head, text, tail);
}

PRINTF_LIKE(3, 0)
static void format(char *to, size_t max, const char *fmt, va_list args)
{
    char *whole = NULL;

    if (vasprintf(&whole, fmt, args) == -1)
        whole = NULL;
    put(to, max, whole != NULL ? whole : "out of memory");
    free(whole);
}

/* All setters format into a buffer of their own first: an argument may be the old text. */
static void set_text(struct err *err, int code, const char *text)
{
    err->code = code;
    err->hint[0] = '\0';
    memcpy(err->text, text, strlen(text) + 1);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    format(text, sizeof(text), fmt, args);
    va_end(args);
    set_text(err, code, text);
    return -1;
}

int err_errno(struct err *err, const char *fmt, ...)
{
    int saved = errno;
    char words[128];
    char text[ERR_TEXT_MAX];
    /* all that is opened refuses links, and what the C library says of that confuses */
    const char *known = saved == ELOOP ? "it is a symbolic link" : strerrordesc_np(saved);
    va_list args;

    if (known != NULL)
        (void)snprintf(words, sizeof(words), ": %s", known);
    else
        (void)snprintf(words, sizeof(words), ": error %d", saved);
    /* A long subject is cut rather than the reason behind it. */
    va_start(args, fmt);
    format(text, sizeof(text) - strlen(words), fmt, args);
    va_end(args);
    memcpy(text + strlen(text), words, strlen(words) + 1);
    set_text(err, MAS_FAILED, text);
    errno = saved;
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char front[ERR_TEXT_MAX];
    _cleanup_free_ char *whole = NULL;
    va_list args;

    va_start(args, fmt);
    format(front, sizeof(front), fmt, args);
    va_end(args);
    whole = mem_printf("%s: %s", front, err->text);
    put(err->text, sizeof(err->text), whole);
    return -1;
}

int err_hint(struct err *err, const char *fmt, ...)
{
    char hint[ERR_HINT_MAX];
    va_list args;

    va_start(args, fmt);
    format(hint, sizeof(hint), fmt, args);
    va_end(args);
    memcpy(err->hint, hint, strlen(hint) + 1);
    return -1;
}

/* One write, so that the lines of parallel processes do not mix. */
static void write_stderr(const struct str *s)
{
    size_t done = 0;

    while (done < s->len) {
        ssize_t n = write(STDERR_FILENO, s->data + done, s->len - done);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nowhere left to complain */
        done += (size_t)n;
    }
}

void err_print(const struct err *err)
{
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&s, "mas: ");
    str_add_visible(&s, err->text, strlen(err->text));
    str_addc(&s, '\n');
    if (err->hint[0] != '\0') {
        str_add_visible(&s, err->hint, strlen(err->hint));
        str_addc(&s, '\n');
    }
    write_stderr(&s);
}

void err_warn(const char *fmt, ...)
{
    _cleanup_str_ struct str s = STR_INIT;
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    format(text, sizeof(text), fmt, args);
    va_end(args);
    str_add(&s, "mas: warning: ");
    str_add_visible(&s, text, strlen(text));
    str_addc(&s, '\n');
    write_stderr(&s);
}
