/*
 * Shared by the files that make a plan.
 */
#pragma once

#include "wall/plan.h"

/* ---- plan_mount.c: what the other files stand on */

/* Takes a mount out of the plan. */
void plan_drop_mount(struct wall_plan *plan, size_t i);
/* Says why a part is not held, unless something was said before. */
void plan_lack(struct wall_plan *plan, const struct err *why);
/* Says something else that is less than was asked for. */
void plan_lack_too(struct wall_plan *plan, const char *what);
/* Opens, and makes, a directory that the session keeps for the agent, below its home; "": the home
 * itself. */
int plan_open_own(const struct wall_subject *subject, const char *path);
/* Copies an open file, whose place stays at its beginning, for bubblewrap, to a new one. */
int plan_copy_file(int dir, const char *name, int from);

/* ---- plan_open.c: paths that settings, presets and commands name */

/* Finds what any agent of the root can write. Needs plan->home. */
void plan_find_written(struct wall_plan *plan, const struct wall_subject *subject);
/* Opens an absolute path. No link is followed in what any agent can write: then it fails with
 * ELOOP, and the path is among those that are left out. O_CLOEXEC is added. */
int plan_open(struct wall_plan *plan, const char *path, int flags);
/* Says in the report what was left out, when all is planned. */
void plan_tell_left_out(struct wall_plan *plan);
/* Returns true if an agent may have made what is at the path: then what it names, by a link or in
 * its first line, is the agent's word. */
bool plan_is_written(const struct wall_plan *plan, const char *path);
/* Returns the path without links, NULL if plan_open() would fail. The caller frees it. */
char *plan_canonical(const struct wall_plan *plan, const char *path);
/* Appends a path of a setting, absolute or "~/...", in its absolute form; nothing without a
 * home. */
void plan_push_path(const struct wall_plan *plan, const char *path, char ***ret);

/* ---- plan_system.c: what every program may read. `secrets`: of wall/secrets.h; NULL: unknown. */
void plan_add_system(struct wall_plan *plan, char *const *secrets);

/* ---- plan_program.c: the program itself, its interpreter, and what they are installed with. Where
 * an agent can write, nothing is believed, unless a person has approved what the file says. */
/* Returns the path of a program that is beside mas-wall (`enter`). The caller frees it. */
char *plan_beside(const char *enter, const char *name);
void plan_add_program(struct wall_plan *plan, const struct wall_subject *subject,
                      const char *program, bool is_approved);
/* Adds a file that a word of a command names; a script as a program. */
void plan_add_word(struct wall_plan *plan, const struct wall_subject *subject, const char *word,
                   int depth);
/* Adds the package that the command runs with npx, if the user has it. */
void plan_add_npx(struct wall_plan *plan, const struct wall_subject *subject);

/* ---- plan_network.c: what of the network it may reach. Needs plan->alone. If that cannot be held,
 * it is nothing, or an error with WALL_REQUIRE. */
int plan_network(struct wall_plan *plan, const struct wall_subject *subject, struct err *err);
void plan_free_network(struct wall_plan *plan);

/* ---- plan_session.c: what the agent has in its session, and of the user's home */
int plan_add_session(struct wall_plan *plan, const struct wall_subject *subject, struct err *err);
int plan_add_home(struct wall_plan *plan, const struct wall_subject *subject, struct err *err);
/* Opens a file of the user that is small enough to be copied, `name` in the home; with what the
 * preset adds to it (told.home), which the host has written below the agent's role. */
int plan_open_copied(struct wall_plan *plan, const struct wall_subject *subject, const char *name,
                     const char *path);

/* ---- plan_home.c: makes the home one for the agent and the programs that it asks its host for, if
 * that can be. For a plan that has all of its mounts. */
void plan_share_home(struct wall_plan *plan, const struct wall_subject *subject);

/* ---- plan_login.c: lets login shells find mas, in a home that is the agent's own; the second
 * writes to one that is there */
void plan_add_login(struct wall_plan *plan, const struct wall_subject *subject);
void plan_put_login(int home, const struct wall_subject *subject);

/* ---- plan_alone.c: without bubblewrap */
int plan_add_home_alone(struct wall_plan *plan, const struct wall_subject *subject,
                        struct err *err);
/* Lets the environment name that home, also where it names a part of it. */
void plan_set_home_alone(struct wall_plan *plan, const struct wall_subject *subject);
