/*
 * Per-agent options of `mas new`: first messages, and how agents run.
 *
 *     {"agents":{"metaManager":{"id":"00","prompt":"..."},
 *                "units":[{"unitId":1,"manager":{"id":"10","prompt":"...","preset":"claude"},
 *                          "workers":[{"id":"11","prompt":"..."}]}]}}
 *
 * Only the id of an agent is required. The values override those of the template. Errors name the
 * file and the path of the wrong value within it; the team may be partly changed then.
 */
#pragma once

#include "base/json.h"
#include "model/team/team.h"
#include "store/config.h"

/* Applies a JSON document to the team. Fails with MAS_NOT_FOUND if an agent or a preset does not
 * exist, otherwise with MAS_FAILED. `name` is for messages. */
int prompts_from_json(const struct json *json, const char *name, const struct config *config,
                      struct team *team, struct err *err);
/* Reads such a document, or a session's config.json, from a file; "-" is standard input. */
int prompts_read(const char *path, struct json **ret, struct err *err);
/* Applies words of the form AGENT=TEXT, NULL-terminated, at most one per agent. They override the
 * file. Fails with MAS_USAGE for any other word. */
int prompts_from_words(char *const *words, struct team *team, struct err *err);
