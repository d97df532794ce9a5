/*
 * The team of a session: config.json in its workspace, written when the session is created.
 */
#pragma once

#include "model/team/team.h"
#include "store/template.h"

enum { CONFIG_FILE_MAX = 4 << 20 }; /* bytes */

/* Loads the team from the workspace open at `dir`. The caller releases *ret with team_free(). */
int team_file_load(int dir, struct team *ret, struct err *err);
/* Returns the name of the template in config.json, or NULL. The caller frees it. */
char *team_file_template(int dir);
/* Replaces config.json with the current contents of a template. */
int team_file_save(int dir, const struct template *tmpl, struct err *err);
/* Replaces config.json with another state of its team. */
int team_file_change(int dir, const struct team *team, struct err *err);
/* Appends the text of the file to `to`. Fails if it exceeds CONFIG_FILE_MAX. */
int team_file_format(const struct template *tmpl, struct str *to, struct err *err);
