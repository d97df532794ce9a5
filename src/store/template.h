/*
 * Templates: directories with template.ini, unit/ and workflows/. A template is templates/<name>/
 * in the root, or any directory, named by its absolute path.
 */
#pragma once

#include "model/diagnostic.h"
#include "model/team/team.h"
#include "model/template_name.h"
#include "os/tree.h"
#include "store/config.h"
#include "store/root.h"
#include "store/template_make.h"

struct template
{
    char *name; /* a name, or its absolute path */
    char *path; /* for messages: "templates/<name>" below the root, or its absolute path */
    int fd; /* its directory, open */
    struct team team;
    char *unit; /* the directory of which each agent gets a copy; NULL: its own */
};

#define TEMPLATE_INIT                                                                              \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Converts a user's text to a template name. A plain word stays as it is. Text with a slash, and .
 * and .., becomes its absolute path, or the plain name if that path is a template of the root. The
 * caller frees *ret. */
int template_resolve(const struct root *root, const char *text, char **ret, struct err *err);

/* Opens a template and checks that it defines a team in which every agent has its directory. Fails
 * with MAS_NOT_FOUND if there is no such template (the hint lists the existing ones), and with
 * MAS_FAILED if it is invalid. A template named by its path, and its template.ini, must belong to
 * this user or root and be writable by no one else, because they name programs. The caller releases
 * *ret with template_free(). */
int template_open(const struct root *root, const char *name, struct template *ret, struct err *err);
/* Fails unless each agent of its team has its directory, or all get `unit`. */
int template_check_units(const struct template *tmpl, struct err *err);
/* Like template_open(), but only finds the directory; its owner does not matter. */
int template_find(const struct root *root, const char *name, struct template *ret, struct err *err);
/* Returns the names of the templates, sorted. With `all`, includes directories in templates/ that
 * are not templates, except those that begin with a dot. The caller releases the list with
 * strv_free(); NULL if it is empty. */
char **template_list(const struct root *root, bool all);
/* Returns the absolute path of a file of the template, for messages. The caller frees it. */
char *template_file(const struct root *root, const struct template *tmpl, const char *part);
/* Opens template.ini; fails if an untrusted user owns it or can write to it. Returns the
 * descriptor. */
int template_open_ini(const struct root *root, const struct template *tmpl, struct err *err);
/* Finds every problem that makes `mas new` fail with this template. Problems that depend on the
 * machine are warnings. `ini` is a file to read instead of the template's own template.ini; NULL:
 * none. */
void template_check(const struct root *root, const struct config *config, const char *name,
                    const char *ini, struct diagnostics *diagnostics);

/* Copies a template to a new name, completely or not at all, and durably. Fails with MAS_CONFLICT
 * if the name exists. */
int template_copy(const struct root *root, const char *from, const char *to, tree_tick *tick,
                  void *arg, struct err *err);

/* Makes the template `name` of a directory, as store/template_make.h describes. Fails with
 * MAS_CONFLICT if the name exists or the directory is a template. */
int template_make_of(const struct root *root, const char *path, const char *name, tree_tick *tick,
                     void *arg, struct err *err);
/* Returns the name of a directory, as far as a template can have it. The caller frees it. */
char *template_own_name(const char *path);

/*
 * An edit of a template.ini. The user edits a copy beside it, and the copy replaces it when it is
 * valid. An unfinished copy stays, and the next edit continues with it.
 */
struct template_edit {
    struct template tmpl; /* locked against other edits */
    char *path; /* of the copy */
    bool resumed; /* the copy existed already */
    char *text; /* contents of template.ini at the beginning */
    size_t len;
    unsigned mode;
};

#define TEMPLATE_EDIT_FILE ".template-edit.ini"

/* Locks the template and creates the copy if there is none. Fails with MAS_CONFLICT if another
 * process edits it. The caller releases *ret with template_edit_free(). */
int template_edit_begin(const struct root *root, const char *name, struct template_edit *ret,
                        struct err *err);
/* Returns 1 if the copy differs from the template.ini of the beginning, 0 if not, and -1 if it
 * cannot be read. */
int template_edit_changed(const struct template_edit *edit, struct err *err);
/* Replaces template.ini with the copy, durably. Fails with MAS_CONFLICT if template.ini has changed
 * meanwhile. */
int template_edit_finish(const struct template_edit *edit, struct err *err);
/* Removes the copy. */
void template_edit_drop(const struct template_edit *edit);
void template_edit_free(struct template_edit *edit);

void template_free(struct template *tmpl);
#define _cleanup_template_ __attribute__((cleanup(template_free)))
