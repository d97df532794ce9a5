/*
 * What a program on a terminal says of itself in a hook: one JSON object on the hook's standard
 * input. Programs name the same members differently; each name is tried. Measured with Claude Code
 * 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0 and Copilot CLI 1.0.102, whose manuals call them hooks.
 *
 * It is what the agent says: hostile until parsed, and a fact only about itself.
 */
#pragma once

#include "base/json.h"

enum {
    HOOK_SIZE_MAX = 1 << 20, /* bytes of the object */
    HOOK_ID_MAX = 128, /* bytes of a session's id */
};

struct hook_told {
    struct json *json; /* the rest points into it; NULL: not told */
    const char *session; /* a word of at most HOOK_ID_MAX bytes */
    const char *source; /* why a session begins: "startup", "resume", "clear", ... */
    const char *turn; /* an id; NULL: it has none */
    const char *prompt, *answer, *error;
    const char *tool, *tool_id; /* its name, and the id of the call */
    const struct json *input; /* of the tool */
    bool behind; /* tasks of it go on behind the turn that has ended, or are planned */
};

/* Parses the object. Fails with MAS_DAMAGED. The caller releases *ret with hook_free(). */
int hook_parse(const char *text, size_t len, struct hook_told *ret, struct err *err);
/* Returns a text that may be a word of a command line and the id of a session; else NULL. */
const char *hook_id(const char *text);
void hook_free(struct hook_told *told);
#define _cleanup_hook_ __attribute__((cleanup(hook_free)))
