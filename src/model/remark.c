#include "model/remark.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of the next one; NULL where it is only counted. */
static struct remark *make_room(struct remarks *remarks, enum remark_kind kind)
{
    if (remarks->count < REMARKS_MAX) {
        remarks->list = mem_room(remarks->list, remarks->count, sizeof *remarks->list);
        return &remarks->list[remarks->count++];
    }
    for (size_t i = remarks->count; kind == REMARK_ERROR && i-- > 0;) {
        struct remark *one = &remarks->list[i];
        if (!one->warning)
            continue;
        free(one->file);
        free(one->text);
        return one;
    }
    return NULL;
}

void remarks_add(struct remarks *remarks, enum remark_kind kind, const char *file, int line,
                 const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    struct remark *one = make_room(remarks, kind);

    *(kind == REMARK_ERROR ? &remarks->errors : &remarks->warnings) += 1;
    if (one == NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *one = (struct remark){.file = mem_dup(file),
                           .line = line,
                           .warning = kind == REMARK_WARNING,
                           .text = mem_dup(text)};
}

static bool is_before(const struct remark *a, const struct remark *b)
{
    int order = strcmp(a->file, b->file);
    return order != 0 ? order < 0 : a->line < b->line;
}

/* They are nearly in order already. */
void remarks_sort(struct remarks *remarks)
{
    for (size_t i = 1; i < remarks->count; i++) {
        struct remark one = remarks->list[i];
        size_t at = i;
        for (; at > 0 && is_before(&one, &remarks->list[at - 1]); at--)
            remarks->list[at] = remarks->list[at - 1];
        remarks->list[at] = one;
    }
}

int remark_fail(const struct remark *remark, int code, struct err *err)
{
    return remark->line > 0
               ? err_set(err, code, "%s:%d: %s", remark->file, remark->line, remark->text)
               : err_set(err, code, "%s: %s", remark->file, remark->text);
}

int remarks_fail(const struct remarks *remarks, int code, struct err *err)
{
    for (size_t i = 0; i < remarks->count; i++) {
        const struct remark *one = &remarks->list[i];
        if (!one->warning)
            return remark_fail(one, code, err);
    }
    return 0;
}

void remarks_free(struct remarks *remarks)
{
    for (size_t i = 0; i < remarks->count; i++) {
        free(remarks->list[i].file);
        free(remarks->list[i].text);
    }
    free(remarks->list);
    *remarks = (struct remarks)REMARKS_INIT;
}
