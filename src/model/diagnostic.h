/*
 * Remarks: all that is wrong with something, where an error tells only the first. Each has a file,
 * a line in it (0: none) and a text, and is printed as a compiler does: "file:line: text".
 */
#ifndef MAS_MODEL_DIAGNOSTIC_H
#define MAS_MODEL_DIAGNOSTIC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct diagnostic {
    char *file;
    int line;
    bool warning; /* not wrong in itself */
    char *text;
};

enum {
    DIAGNOSTICS_MAX = 200,
    DIAGNOSTICS_SHOWN =
        20, /* where they are told as errors of a command that wanted something else */
};

struct diagnostics {
    struct diagnostic *list;
    size_t count; /* at most DIAGNOSTICS_MAX; there may be more */
    size_t errors, warnings; /* all that there are */
};

#define DIAGNOSTICS_INIT                                                                           \
    {                                                                                              \
        .list = NULL                                                                               \
    }

enum diagnostic_kind { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

/* Keeps the first of them; in the place of warnings, where there are too many, what is none. */
void diagnostics_add(struct diagnostics *diagnostics, enum diagnostic_kind kind, const char *file,
                     int line, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* By file, then by line, else as they came. */
void diagnostics_sort(struct diagnostics *diagnostics);
/* Fails with this one. Returns -1. */
int diagnostic_fail(const struct diagnostic *diagnostic, int code, struct err *err);
/* Fails with the first one that is no warning, by `code`; 0 where there is none. */
int diagnostics_fail(const struct diagnostics *diagnostics, int code, struct err *err);
void diagnostics_free(struct diagnostics *diagnostics);
#define _cleanup_diagnostics_ __attribute__((cleanup(diagnostics_free)))

#endif
