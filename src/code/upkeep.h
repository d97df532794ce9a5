/*
 * Keeps the repositories of a session as fast as they were at its beginning. Each merge adds a pack
 * and some loose objects to code.git, and an agent keeps its own copy of all that it has committed.
 *
 * Here, as in the maintenance of git, packs are put together so that each has at least twice as
 * many objects as the next: work that is small most of the time. No object goes, whether anything
 * names it or not: agents borrow objects from code.git, and may name them again at any time. Packs
 * with a file .keep beside them stay as they are: repo_make() marks those of the project, whose
 * blocks are shared with it.
 *
 * It runs after `merge` and `sync`, still under the lock of code.git. Killed there, code.git has
 * parts of a pack, which `doctor --fix` removes, or objects twice.
 */
#pragma once

#include "code/repo.h"
#include "model/team/team.h"

/* Packs code.git if it has become crowded, and removes from the repositories of agents in which no
 * git is at work the loose objects that code.git has in a pack. The caller holds the lock of
 * code.git. What cannot be done now is left to the next time. */
void upkeep(const struct repo *repo, const struct team *team);
