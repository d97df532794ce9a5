/*
 * What a template may be called.
 */
#ifndef MAS_MODEL_TEMPLATE_NAME_H
#define MAS_MODEL_TEMPLATE_NAME_H

enum { TEMPLATE_NAME_MAX = 32, TEMPLATE_PATH_MAX = 1024 }; /* bytes */

/* NULL for the name of a template or an absolute path that can be one's, else what is. */
const char *template_check_name(const char *text);

#endif
