/*
 * What the parts of store/template.h share; for template*.c only.
 */
#ifndef MAS_STORE_TEMPLATE_INTERNAL_H
#define MAS_STORE_TEMPLATE_INTERNAL_H

#include "store/template.h"

/* The absolute path of a part of it, for messages. The caller frees. */
char *template_file(const struct root *root, const struct template *tmpl, const char *part);
/* Opens its template.ini; fails where it is a stranger's. Returns the descriptor. */
int template_open_ini(const struct root *root, const struct template *tmpl, struct err *err);

#endif
