/*
 * TARGETs, and which agents may write to each other.
 */
#pragma once

#include "model/team/team.h"

/* Resolves a TARGET: an agent's id, a comma-separated list, a unit's name, `managers`, `workers` or
 * `all`. Each agent appears once, in the order of the list, and those of one name in that of the
 * team. If `from` is an agent, a name for
 * several agents means those that `from` may write to, without `from` itself; if `from` is NULL (a
 * person), it means all of them. *ret receives indexes into team->agents; the caller frees it.
 * Fails with MAS_NOT_FOUND (the hint lists valid targets), or MAS_FAILED if a name leaves no agent
 * that `from` may write to. */
int target_resolve(const struct team *team, const struct agent *from, const char *text,
                   size_t **ret, size_t *ret_count, struct err *err);

/* Sets the hint for a word that names no agent: which agent it probably means, and those that the
 * team has; with `many` also the words that mean several. Returns -1. */
int target_hint(const struct team *team, const char *word, bool many, struct err *err);

/* Checks whether agent `from` may write to agent `to` under the team's rules. `from` NULL is a
 * person, who may write to anyone. Fails with MAS_FAILED; the text names the rule, without "cannot
 * ...". */
int target_check_rule(const struct team *team, const struct agent *from, const struct agent *to,
                      struct err *err);
