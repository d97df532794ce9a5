/*
 * What a person has typed on the agent's line and not sent yet, as far as the keys tell.
 *
 *     draft_reset(&draft);                            at the start of each run
 *     draft_keys(&draft, preset, keys, len, now);     what a person types
 *     if (draft.state != DRAFT_NONE) ...              the line is not empty
 *
 * Reports of the terminal (mouse, focus, cursor) are no keys. After keys whose effect only the
 * program knows (a completion, the line before, a move of the cursor, Escape), the text is unknown
 * until the line is empty again.
 */
#pragma once

#include "base/vt.h"

enum {
    DRAFT_TEXT_MAX = 4095, /* bytes: what a terminal takes at once */
    DRAFT_SEQUENCE_MS = 50, /* an Escape that nothing follows for so long is a key */
};

enum draft_state {
    DRAFT_NONE, /* the line is empty */
    DRAFT_KNOWN, /* `text` is on it, with the cursor behind it */
    DRAFT_UNKNOWN, /* something is on it */
};

struct draft {
    enum draft_state state;
    struct str text;
    int64_t touched; /* when the last key came */
    bool pasting; /* within a bracketed paste */
    bool escape; /* the last byte was an Escape, which may be a key */
    bool escaped; /* it was one: what is typed now may be commands, as in vi */
    int64_t fed; /* when the last byte came */
    struct vt vt;
};

/* `executes`: the program runs what it is sent, see preset_executes(). */
void draft_keys(struct draft *draft, bool executes, const char *keys, size_t len, int64_t now);
/* Returns true if Escape was pressed behind what is on the line: only the program knows what that
 * does. */
bool draft_is_escaped(const struct draft *draft, int64_t now);
/* The line is empty; or what it holds is unknown. */
void draft_reset(struct draft *draft);
void draft_lose(struct draft *draft);
void draft_free(struct draft *draft);
