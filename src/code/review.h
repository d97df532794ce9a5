/*
 * A diff that a person writes comments into.
 *
 * The text has a line for each line of the diff. A line that the person adds is a comment on the
 * line above it. Lines that are removed do not matter.
 */
#pragma once

#include "git/patch.h"

struct review_line {
    char *shown; /* as in the text, without blanks at its end */
    const char *text; /* of the file, with its mark; NULL: no line of a file */
    size_t len;
    size_t file; /* index in the patch; SIZE_MAX: none */
    size_t
        number; /* line in the new file, for a removed line the one that took its place; 0: none */
};

struct review_comment {
    size_t
        line; /* index in `lines`; SIZE_MAX: the diff has it no more, and these say what it was */
    struct str text;
    char *path, *shown; /* `shown` NULL: the file */
    size_t number; /* of the line in the file */
    bool stale; /* the file has it no more either */
};

struct review {
    const struct patch *patch;
    struct review_line *lines;
    size_t line_count;
    struct review_comment *comments;
    size_t comment_count;
};

/* Makes the text of a patch, which must outlive *ret. */
void review_make(const struct patch *patch, const char *title, struct review *ret, struct str *to);
void review_free(struct review *review);
#define _cleanup_review_ __attribute__((cleanup(review_free)))

/* Finds the comments in the edited text. */
void review_parse(struct review *review, const char *text, size_t len);

/* Returns the content of a file as it is now, which the caller frees; NULL: it is gone. */
typedef char *review_read(const char *path, size_t *ret_len, void *arg);
/* What a comment is about, for a client that has seen the diff earlier. */
struct review_place {
    const char *path; /* NULL: all changes */
    const char *line; /* of the diff, with its mark; NULL: the file */
    size_t number; /* as in struct review_line */
};
/* Adds a comment to the line that is now what it was then: of equal lines the nearest, in the diff
 * or, if that has it no more, in the file. */
void review_add(struct review *review, const struct review_place *place, const char *text,
                review_read *read, void *arg);

/* Appends all comments, each with file, line and the line itself. `read` is NULL if nothing has
 * changed since review_make(); else a comment whose line is elsewhere now gets its new number, and
 * one whose line is gone is marked as stale. */
void review_format(const struct review *review, review_read *read, void *arg, struct str *to);
