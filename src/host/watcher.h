/*
 * What an agent on a terminal is doing, told from what it prints.
 *
 * What it says itself counts most: shell integration marks (OSC 133), progress (OSC 9;4), its title
 * where the preset has patterns for it, a bell or a notification (OSC 9, OSC 777). Else output
 * means that it works, and silence for the preset's `idle` that it does not. The watcher reads a
 * copy of the output; it changes none of it.
 */
#ifndef MAS_HOST_WATCHER_H
#define MAS_HOST_WATCHER_H

#include "base/str.h"
#include "base/vt.h"
#include "model/agent_status.h"
#include "model/preset.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCHER_TEXT_MAX = 4096 }; /* of the newest text, for patterns and last words */

/* What the agent has said of itself last, if anything. */
enum claim { CLAIM_NONE, CLAIM_WORKING, CLAIM_IDLE, CLAIM_WAITING };

struct watcher {
    const struct preset *preset; /* not owned */
    struct vt vt;
    bool ready; /* it reads */
    bool pastes; /* it asked for bracketed paste */
    bool origin; /* and for lines counted from its scroll region */
    bool printed;
    enum claim claim;
    bool claim_by_title;
    enum agent_state state; /* STARTING, WORKING, IDLE or WAITING */
    int64_t started, last_output, last_input, last_task; /* monotonic ms; 0: never */
    int64_t attention; /* when it rang; 0: it did not, or was heard */
    bool looked; /* the text was matched since the last output */
    bool asks; /* by its text, when that was matched */
    char text[WATCHER_TEXT_MAX]; /* printable, lines ended by \n */
    size_t text_len;
    size_t answered; /* so much of the text asks nothing any more */
    char title[AGENT_TITLE_MAX];
    char notice[AGENT_TITLE_MAX]; /* of a notification */
    struct pattern {
        regex_t regex;
        bool there;
    } patterns[5];
};

/* For a run that begins now. Release with watcher_free(). */
void watcher_start(struct watcher *watcher, const struct preset *preset, int64_t now);
void watcher_free(struct watcher *watcher);

void watcher_output(struct watcher *watcher, const char *bytes, size_t len, int64_t now);
/* It was seen to read, which says that it is ready where no pattern is to. */
void watcher_reads(struct watcher *watcher);
/* Somebody pressed keys in the pane, Enter among them or not. */
void watcher_keys(struct watcher *watcher, const char *keys, size_t len, int64_t now);
/* A message was handed to it. */
void watcher_task(struct watcher *watcher, int64_t now);

/* Its text or title asks a question just now, where an Enter would be an answer. A bell is no
 * question: many ring when they are done. */
bool watcher_asks(const struct watcher *watcher);

/* Draws the conclusions of time. Returns when to call again, monotonic ms; -1: not before something
 * happens. */
int64_t watcher_tick(struct watcher *watcher, int64_t now);

/* The last lines of text, at most `max` bytes, for a note. */
void watcher_last_lines(const struct watcher *watcher, size_t max, struct str *to);

#endif
