/*
 * What `mas new` is told of single agents: their first messages, and how they run.
 *
 *     {"agents":{"metaManager":{"id":"00","prompt":"..."},
 *                "units":[{"unitId":1,"manager":{"id":"10","prompt":"...","preset":"claude"},
 *                          "workers":[{"id":"11","prompt":"..."}]}]}}
 *
 * Every member may be missing but an agent's id. What is there goes over what the template says.
 * Errors name the file and the path of what is wrong with it; the team may have been changed in
 * part then.
 */
#ifndef MAS_SESSION_PROMPTS_H
#define MAS_SESSION_PROMPTS_H

#include "base/err.h"
#include "base/json.h"
#include "model/team.h"
#include "store/config.h"

#include <stdbool.h>

/* MAS_NOT_FOUND where an agent or a preset does not exist, else MAS_FAILED. */
int prompts_from_json(const struct json *json, const char *name, const struct config *config,
                      struct team *team, struct err *err);
/* The same of a file; "-" is the standard input. */
int prompts_from_file(const char *path, const struct config *config, struct team *team,
                      struct err *err);
/* From words of the form AGENT=TEXT, NULL-terminated, at most one an agent; over what a file said.
 * MAS_USAGE for other words. */
int prompts_from_words(char *const *words, struct team *team, struct err *err);

#endif
