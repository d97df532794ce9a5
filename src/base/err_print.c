/* The part of base/err.h that writes to stderr. */
#include "base/err.h"

#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One write, so that the lines of parallel processes do not mix. */
static void write_stderr(const struct str *s)
{
    size_t done = 0;

    while (done < s->len) {
        ssize_t n = write(STDERR_FILENO, s->data + done, s->len - done);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* there is nowhere to report this */
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
    struct err err = ERR_INIT;
    va_list args;

    va_start(args, fmt);
    (void)err_vset(&err, MAS_FAILED, fmt, args);
    va_end(args);
    str_add(&s, "mas: warning: ");
    str_add_visible(&s, err.text, strlen(err.text));
    str_addc(&s, '\n');
    write_stderr(&s);
}
