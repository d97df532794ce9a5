/*
 * INI files: mas.ini, agents.ini, template.ini. The only file that knows inih is ini.c.
 *
 * inih 55 cuts values at 199 bytes and section names at 49, joins indented lines and strips `;`
 * comments inside values, without a word. ini_read() refuses what it would have cut and gives every
 * key as it was written: a comment is a line whose first character that is not blank is `;` or `#`;
 * a value is what stands behind the first `=`, trimmed; a byte order mark, a NUL, a control
 * character other than tab, a line over INI_LINE_MAX, a file over INI_FILE_MAX, a key outside any
 * section and the same key twice in one section are errors that name file and line (MAS_DAMAGED).
 */
#ifndef MAS_BASE_INI_H
#define MAS_BASE_INI_H

#include "base/err.h"

enum {
    INI_LINE_MAX = 8192, /* bytes, without the newline */
    INI_FILE_MAX = 1 << 20, /* bytes */
    INI_SECTION_MAX = 128, /* bytes */
    INI_KEY_MAX = 128, /* bytes */
};

/* Where a value stands, for error messages. `file` belongs to the caller of ini_read(). */
struct ini_line {
    const char *file;
    int line;
    const char *section; /* "" never: a key outside any section is refused */
    const char *key; /* NULL: this is a section header by itself */
    const char *value; /* "" where nothing stands behind the = */
};

/* Called for each section header (key NULL) and each key, in file order. -1 with *err set stops. */
typedef int ini_each(const struct ini_line *line, void *arg, struct err *err);

/* Reads the file open at fd (from its offset). `file` is its name for messages. */
int ini_read(int fd, const char *file, ini_each *each, void *arg, struct err *err);

/* The same, but goes on after an error: each is told to `wrong`, with its line (0: none) and
 * without file and line in the text. The keys behind a header that cannot be read, or that
 * `each` refused, are left out. -1 if the file cannot be read at all. */
typedef void ini_wrong(int line, const char *text, void *arg);
int ini_read_on(int fd, const char *file, ini_each *each, ini_wrong *wrong, void *arg,
                struct err *err);

/* Fails with MAS_DAMAGED and "<file>:<line>: [<section>] <key>: <why>". Returns -1. */
int ini_fail(const struct ini_line *line, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same for a section or key that does not exist; nearest: the word that was meant, a section in
 * brackets, or NULL. */
int ini_fail_unknown(const struct ini_line *line, const char *why, const char *nearest,
                     struct err *err);

#endif
