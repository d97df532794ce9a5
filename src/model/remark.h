/*
 * Remarks: all that is wrong with something, where an error tells only the first. Each has a file,
 * a line in it (0: none) and a text, and is printed as a compiler does: "file:line: text".
 */
#ifndef MAS_MODEL_REMARK_H
#define MAS_MODEL_REMARK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct remark {
    char *file;
    int line;
    bool warning; /* not wrong in itself */
    char *text;
};

enum {
    REMARKS_MAX = 200,
    REMARKS_SHOWN = 20, /* where they are told as errors of a command that wanted something else */
};

struct remarks {
    struct remark *list;
    size_t count; /* at most REMARKS_MAX; there may be more */
    size_t errors, warnings; /* all that there are */
};

#define REMARKS_INIT                                                                               \
    {                                                                                              \
        .list = NULL                                                                               \
    }

enum remark_kind { REMARK_ERROR, REMARK_WARNING };

/* Keeps the first of them; in the place of warnings, where there are too many, what is none. */
void remarks_add(struct remarks *remarks, enum remark_kind kind, const char *file, int line,
                 const char *fmt, ...) PRINTF_LIKE(5, 6);
/* By file, then by line, else as they came. */
void remarks_sort(struct remarks *remarks);
/* Fails with this one. Returns -1. */
int remark_fail(const struct remark *remark, int code, struct err *err);
/* Fails with the first one that is no warning, by `code`; 0 where there is none. */
int remarks_fail(const struct remarks *remarks, int code, struct err *err);
void remarks_free(struct remarks *remarks);
#define _cleanup_remarks_ __attribute__((cleanup(remarks_free)))

#endif
