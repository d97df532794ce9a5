#include "model/diagnostic.h"

/* Returns the place of the next one; NULL if it is only counted. */
static struct diagnostic *make_room(struct diagnostics *diagnostics, enum diagnostic_kind kind)
{
    if (diagnostics->count < DIAGNOSTICS_MAX) {
        diagnostics->list =
            mem_room(diagnostics->list, diagnostics->count, sizeof *diagnostics->list);
        return &diagnostics->list[diagnostics->count++];
    }
    for (size_t i = diagnostics->count; kind == DIAGNOSTIC_ERROR && i-- > 0;) {
        struct diagnostic *one = &diagnostics->list[i];
        if (!one->warning)
            continue;
        free(one->file);
        free(one->text);
        return one;
    }
    return NULL;
}

void diagnostics_add(struct diagnostics *diagnostics, enum diagnostic_kind kind, const char *file,
                     int line, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;
    struct diagnostic *one = make_room(diagnostics, kind);

    *(kind == DIAGNOSTIC_ERROR ? &diagnostics->errors : &diagnostics->warnings) += 1;
    if (one == NULL)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    *one = (struct diagnostic){.file = mem_dup(file),
                               .line = line,
                               .warning = kind == DIAGNOSTIC_WARNING,
                               .text = mem_dup(text)};
}

static bool is_before(const struct diagnostic *a, const struct diagnostic *b)
{
    int order = strcmp(a->file, b->file);
    return order != 0 ? order < 0 : a->line < b->line;
}

/* Insertion sort: they are almost sorted already. */
void diagnostics_sort(struct diagnostics *diagnostics)
{
    for (size_t i = 1; i < diagnostics->count; i++) {
        struct diagnostic one = diagnostics->list[i];
        size_t at = i;
        for (; at > 0 && is_before(&one, &diagnostics->list[at - 1]); at--)
            diagnostics->list[at] = diagnostics->list[at - 1];
        diagnostics->list[at] = one;
    }
}

int diagnostic_fail(const struct diagnostic *diagnostic, int code, struct err *err)
{
    return diagnostic->line > 0 ? err_set(err, code, "%s:%d: %s", diagnostic->file,
                                          diagnostic->line, diagnostic->text)
                                : err_set(err, code, "%s: %s", diagnostic->file, diagnostic->text);
}

int diagnostics_fail(const struct diagnostics *diagnostics, int code, struct err *err)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        const struct diagnostic *one = &diagnostics->list[i];
        if (!one->warning)
            return diagnostic_fail(one, code, err);
    }
    return 0;
}

void diagnostics_free(struct diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->count; i++) {
        free(diagnostics->list[i].file);
        free(diagnostics->list[i].text);
    }
    free(diagnostics->list);
    *diagnostics = (struct diagnostics)DIAGNOSTICS_INIT;
}
