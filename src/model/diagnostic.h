/*
 * Diagnostics: all problems of a file, where an error reports only the first. Each has a file, a
 * line in it (0: none) and a text, and is printed as a compiler prints it: "file:line: text".
 */
#pragma once

struct diagnostic {
    char *file;
    int line;
    bool warning; /* a warning, not an error */
    char *text;
};

enum {
    DIAGNOSTICS_MAX = 200,
    DIAGNOSTICS_SHOWN = 20, /* at most this many are shown if the command's own task is another */
};

struct diagnostics {
    struct diagnostic *list;
    size_t count; /* at most DIAGNOSTICS_MAX; the rest is only counted */
    size_t errors, warnings; /* totals, including those not kept */
};

#define DIAGNOSTICS_INIT                                                                           \
    {                                                                                              \
        .list = NULL                                                                               \
    }

enum diagnostic_kind { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING };

/* Adds a diagnostic; copies its texts. If the list is full, an error replaces a warning and
 * everything else is only counted. */
void diagnostics_add(struct diagnostics *diagnostics, enum diagnostic_kind kind, const char *file,
                     int line, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Sorts by file and then by line; equal ones keep their order. */
void diagnostics_sort(struct diagnostics *diagnostics);
/* Sets this diagnostic as the error, with `code`. Returns -1. */
int diagnostic_fail(const struct diagnostic *diagnostic, int code, struct err *err);
/* Sets the first diagnostic that is not a warning as the error, with `code`, and returns -1.
 * Returns 0 if there is none. */
int diagnostics_fail(const struct diagnostics *diagnostics, int code, struct err *err);
void diagnostics_free(struct diagnostics *diagnostics);
#define _cleanup_diagnostics_ __attribute__((cleanup(diagnostics_free)))
