#include "base/utf8.h"

/* Shortens long text in the middle: its start says what was done, its end why that failed, and the
 * long part is the subject between them. */
static void put(char *to, size_t max, const char *text)
{
    size_t len = strlen(text);

    if (len < max) {
        memcpy(to, text, len + 1);
        return;
    }
    size_t head = max / 2 - sizeof("...");
    const char *tail = text + len - max / 2;
    head = utf8_start(text, head);
    while (utf8_is_inside(*tail))
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

/* All setters format into their own buffer first, because an argument may be the old text. */
static void set_text(struct err *err, int code, int number, const char *text)
{
    err->code = code;
    err->number = number;
    err->hint[0] = '\0';
    memcpy(err->text, text, strlen(text) + 1);
}

int err_vset(struct err *err, int code, const char *fmt, va_list args)
{
    char text[ERR_TEXT_MAX];

    format(text, sizeof(text), fmt, args);
    set_text(err, code, 0, text);
    return -1;
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)err_vset(err, code, fmt, args);
    va_end(args);
    return -1;
}

int err_errno(struct err *err, const char *fmt, ...)
{
    int number = errno;
    char words[128];
    char text[ERR_TEXT_MAX];
    /* mas opens nothing through links, and the C library's text for this error is confusing */
    const char *known = number == ELOOP ? "it is a symbolic link"
                        : number == 0   ? "the reason is not known"
                                        : strerrordesc_np(number);
    va_list args;

    if (known != NULL)
        (void)snprintf(words, sizeof(words), ": %s", known);
    else
        (void)snprintf(words, sizeof(words), ": error %d", number);
    /* Cut a long subject rather than the reason after it. */
    va_start(args, fmt);
    format(text, sizeof(text) - strlen(words), fmt, args);
    va_end(args);
    memcpy(text + strlen(text), words, strlen(words) + 1);
    set_text(err, MAS_FAILED, number, text);
    return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    char front[ERR_TEXT_MAX];
    char whole[2 * ERR_TEXT_MAX + 2];
    va_list args;

    va_start(args, fmt);
    format(front, sizeof(front), fmt, args);
    va_end(args);
    (void)snprintf(whole, sizeof whole, "%s: %s", front, err->text);
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

bool err_is_full(const struct err *err)
{
    return err->number == ENOSPC || err->number == EDQUOT;
}
