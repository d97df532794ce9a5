/*
 * TARGETs, and who may write to whom.
 */
#ifndef MAS_MODEL_TARGET_H
#define MAS_MODEL_TARGET_H

#include "base/err.h"
#include "model/team.h"

#include <stdbool.h>
#include <stddef.h>

/* The agents that a TARGET means: an id, a comma list, a unit's name, `managers`, `workers` or
 * `all`; each agent once, in the order of the team. From an agent a name for several means those
 * that it may write to, without itself; from NULL, a person, all of them. *ret holds indexes into
 * team->agents and is the caller's. MAS_NOT_FOUND with what there is in the hint; MAS_FAILED if a
 * name means nobody whom `from` may write to. */
int target_resolve(const struct team *team, const struct agent *from, const char *text,
                   size_t **ret, size_t *ret_count, struct err *err);

/* Whether agent `from` may write to agent `to` by the team's rules; MAS_FAILED with the rule named,
 * without "cannot ...". from NULL: a person, who may write to anyone. */
int target_check_rule(const struct team *team, const struct agent *from, const struct agent *to,
                      struct err *err);

#endif
