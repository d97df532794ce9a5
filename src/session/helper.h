/*
 * The helper programs of mas, which carry the libraries that mas itself does not.
 */
#ifndef MAS_SESSION_HELPER_H
#define MAS_SESSION_HELPER_H

#include "base/err.h"

#define HELPER_ARCHIVE "mas-archive"
#define HELPER_CHAT "mas-chat" /* mas-chat SESSION_DIR AGENT: the pane of an ACP agent */
#define HELPER_SERVE "mas-serve" /* mas-serve MAS ROOT SETTING=VALUE...: the HTTP API */

/* The path of a helper: beside a mas that was just built or installed, else where it was configured
 * to be installed. The caller frees; NULL: it is not there. */
char *helper_find(const char *name, struct err *err);

#endif
