/*
 * Valid names of templates.
 */
#pragma once

enum { TEMPLATE_NAME_MAX = 32, TEMPLATE_PATH_MAX = 1024 }; /* bytes */

/* Returns NULL if the text is a valid template name or an absolute path to a template, otherwise a
 * description of a valid one. */
const char *template_check_name(const char *text);
