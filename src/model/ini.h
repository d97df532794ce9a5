/*
 * INI files: mas.ini, agents.ini, template.ini. Only ini.c uses inih.
 *
 * A comment is a line whose first non-blank character is `;` or `#`. A value is the trimmed text
 * after the first `=`, as written, with any `;` in it. These are errors: a byte order mark, a NUL,
 * a control character other than tab, a line over INI_LINE_MAX, a file over INI_FILE_MAX, a line
 * that begins with a blank, a key outside a section, and a key that appears twice in a section.
 */
#pragma once

#include "base/value.h"

enum {
    INI_LINE_MAX = 8192, /* bytes, without the newline */
    INI_FILE_MAX = 1 << 20, /* bytes */
    INI_SECTION_MAX = 128, /* bytes */
    INI_KEY_MAX = 128, /* bytes */
};

/* Location of a value, for error messages. The caller of ini_read() owns `file`. */
struct ini_line {
    const char *file;
    int line;
    const char *section; /* never "": a key outside a section is an error */
    const char *key; /* NULL: this is a section header */
    const char *value; /* "" if nothing follows the = */
};

/* Called for each section header (key NULL) and each key, in file order. Returns -1 with *err set
 * if it refuses the header or key. */
typedef int ini_each(const struct ini_line *line, void *arg, struct err *err);

/* Called for each error with its line, its section (NULL: it stands in none that could be read) and
 * a text without file and line. */
typedef void ini_wrong(int line, const char *section, const char *text, void *arg);

/* Reads the file open at `fd` from its current offset; `file` is its name for messages. Continues
 * after an error: `wrong` gets first those of lines, then those of keys that appear twice, then
 * those of `each`. Skips the keys below a header that is invalid or that `each` refused. Returns -1
 * if the file cannot be read at all. */
int ini_read(int fd, const char *file, ini_each *each, ini_wrong *wrong, void *arg,
             struct err *err);

/* Sets the error MAS_DAMAGED, "[<section>] <key>: <why>". Returns -1. */
int ini_fail(const struct ini_line *line, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Parses the value of a key into a member of `size` bytes, as value_parse() does; fails as
 * ini_fail(). */
int ini_value(const struct ini_line *line, const struct value_type *type, void *to, size_t size,
              struct err *err);

/* Like ini_fail(), for an unknown section or key. `nearest` is the name that was probably meant (a
 * section in brackets), or NULL. */
int ini_fail_unknown(const struct ini_line *line, const char *why, const char *nearest,
                     struct err *err);
