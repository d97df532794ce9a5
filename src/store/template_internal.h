/*
 * Functions shared by the parts of store/template.h; for template*.c only.
 */
#pragma once

#include "store/template.h"

/* Returns the absolute path of a file of the template, for messages. The caller frees it. */
char *template_file(const struct root *root, const struct template *tmpl, const char *part);
/* Opens template.ini; fails if an untrusted user owns it or can write to it. Returns the
 * descriptor. */
int template_open_ini(const struct root *root, const struct template *tmpl, struct err *err);
