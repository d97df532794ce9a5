/*
 * The team that a session was made from: config.json in its workspace.
 */
#ifndef MAS_STORE_TEAM_FILE_H
#define MAS_STORE_TEAM_FILE_H

#include "base/err.h"
#include "base/str.h"
#include "model/team.h"
#include "store/template.h"

enum { CONFIG_FILE_MAX = 4 << 20 }; /* bytes */

/* The team that the session was made from. */
int team_file_load(int dir, struct team *ret, struct err *err);
/* The name of the template in config.json, or NULL. The caller frees. */
char *team_file_template(int dir);
/* Replaces config.json by what a template says now. */
int team_file_save(int dir, const struct template *tmpl, struct err *err);
/* The file's text. Fails where it would be more than a reader takes. */
int team_file_format(const struct template *tmpl, struct str *to, struct err *err);

#endif
