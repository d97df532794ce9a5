/*
 * Templates: trees with template.ini, unit/ and workflows/. One is named templates/<name>/ in the
 * root, or is any directory, called by its absolute path.
 */
#ifndef MAS_STORE_TEMPLATE_H
#define MAS_STORE_TEMPLATE_H

#include "base/err.h"
#include "base/tree.h"
#include "model/diagnostic.h"
#include "model/team.h"
#include "model/template_name.h"
#include "store/config.h"
#include "store/root.h"

#include <stdbool.h>

#define TEMPLATE_INI "template.ini"

struct template
{
    char *name; /* a word, or its absolute path */
    char *path; /* for messages: "templates/<name>" below the root, or its absolute path */
    int fd; /* its directory */
    struct team team;
};

#define TEMPLATE_INIT                                                                              \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* The name that what a user typed stands for: a word is itself, text with a slash (and . and ..) is
 * made the absolute path that it is now, or the name where that is a template of the root. */
int template_resolve(const struct root *root, const char *text, char **ret, struct err *err);

/* Opens a template and checks that it makes a team: every agent has its directory. MAS_NOT_FOUND
 * where there is none of that name (the hint lists those there are), MAS_FAILED where it is bad. A
 * directory that is called by its path, and its template.ini, must be this user's or root's, and
 * nobody else's to write to: they name programs. */
int template_open(const struct root *root, const char *name, struct template *ret, struct err *err);
/* Only finds its directory; whose that is does not matter. */
int template_find(const struct root *root, const char *name, struct template *ret, struct err *err);
/* The names of the templates there are, sorted; released with strv_free(), may be NULL. With `all`
 * also what stands among them and is none. */
char **template_list(const struct root *root, bool all);
/* Finds all that would make `mas new` of it fail; what depends on the machine is a warning. `ini`
 * is a template.ini that is to be read instead of its own; NULL: none is. */
void template_check(const struct root *root, const struct config *config, const char *name,
                    const char *ini, struct diagnostics *diagnostics);

/* Copies it under a new name: all or nothing, and durable. MAS_CONFLICT where that is taken. */
int template_copy(const struct root *root, const char *from, const char *to, tree_tick *tick,
                  void *arg, struct err *err);

/*
 * Editing its template.ini: a copy beside it is edited, and takes its place when it is good. A copy
 * that was not finished stays, and the next edit goes on with it.
 */
struct template_edit {
    struct template tmpl; /* locked against other edits */
    char *path; /* of the copy */
    bool resumed; /* it was there already */
    char *text; /* template.ini as it was at the beginning */
    size_t len;
    unsigned mode;
};

#define TEMPLATE_EDIT_FILE ".template-edit.ini"

/* MAS_CONFLICT where another edits it. */
int template_edit_begin(const struct root *root, const char *name, struct template_edit *ret,
                        struct err *err);
/* 1 if the copy says something else than template.ini did, 0 if not, -1 if it cannot be read. */
int template_edit_changed(const struct template_edit *edit, struct err *err);
/* Puts the copy in place, durably. MAS_CONFLICT where template.ini has changed meanwhile. */
int template_edit_finish(const struct template_edit *edit, struct err *err);
/* Removes the copy. */
void template_edit_drop(const struct template_edit *edit);
void template_edit_free(struct template_edit *edit);

void template_free(struct template *tmpl);
#define _cleanup_template_ __attribute__((cleanup(template_free)))

#endif
