/*
 * How a template comes into templates/ of a root: as a copy of another one, or made of a directory
 * that has unit/ and perhaps workflows/, but no template.ini.
 *
 * Each directory in unit/ is an agent. If the ids of all have two digits, they mean what they do in
 * `default`: 00 is the meta manager, 10 the manager of 11 to 19, and so on. Otherwise all are
 * workers of one group. The role of agent 10 is what workflows/10_ROLE.md is called.
 *
 * A template is filled as templates/.new-NAME, synced, and renamed. A kill before that leaves this
 * directory, which the next one that comes removes. The caller holds root_lock_templates().
 */
#pragma once

#include "os/tree.h"

/* Names in a template; those in a workspace are the same. */
#define TEMPLATE_INI "template.ini"
#define TEMPLATE_UNIT "unit"
#define TEMPLATE_WORKFLOWS "workflows"
#define STAGING_PREFIX ".new-" /* of what is being made: templates, workspaces */

/* Fills the new template, whose directory is open at `dir`. */
typedef int template_fill(int dir, void *arg, struct err *err);

/* Puts a new template into the directory open at `templates`, completely or not at all, and
 * durably. Fails with MAS_CONFLICT if the name exists; `what` is what the caller does, "copy to".
 */
int template_put(int templates, const char *name, const char *what, template_fill *fill, void *arg,
                 struct err *err);

/* Returns true if the directory open at `dir` has what a template is made of, and none. */
bool template_can_be_made(int dir);

/* Makes the template `name` of unit/ and workflows/ in the directory open at `from`, which stays as
 * it is; `path` names it in messages. Refused are names that no agent can have, links that lead out
 * of the directory, and more than TEMPLATE_MAKE_FILES files or TEMPLATE_MAKE_BYTES. */
int template_make(int from, const char *path, int templates, const char *name, tree_tick *tick,
                  void *arg, struct err *err);

enum { TEMPLATE_MAKE_FILES = 200000 };
#define TEMPLATE_MAKE_BYTES (INT64_C(4) << 30)
