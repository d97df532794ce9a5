/*
 * Derives from what a program prints what it is doing.
 *
 *     watcher_start(&watcher, preset, now);        at the start of each run
 *     watcher_output(&watcher, bytes, len, now);   a copy of what it prints
 *     watcher_keys(), watcher_task()               what it gets
 *     watcher_tick(&watcher, now);                 brings watcher.state up to date
 *     watcher_free(&watcher);
 *
 * What the program says itself counts most: shell integration marks (OSC 133), progress (OSC 9;4),
 * its title if the preset has patterns for it, a bell or a notification (OSC 9, OSC 777). Otherwise
 * output means that it works, and silence for the preset's `idle` means that it does not. An ACP
 * agent has a watcher for its standard error, of which only the last lines and a notification
 * count.
 */
#pragma once

#include "base/vt.h"
#include "model/agent_status.h"
#include "model/preset.h"

#include <regex.h>

enum { WATCHER_TEXT_MAX = 4096 }; /* bytes of the newest text, for patterns and last lines */

/* What the program has said of itself last. */
enum claim { CLAIM_NONE, CLAIM_WORKING, CLAIM_IDLE, CLAIM_WAITING };

struct watcher {
    const struct preset *preset; /* not owned */
    struct vt vt;
    bool ready; /* it reads its terminal */
    bool shown; /* it has shown that it does, and has to be silent then */
    bool pastes; /* it has turned bracketed paste on */
    bool origin; /* it has turned origin mode on */
    size_t screens; /* how often it has come back from the other screen */
    bool printed;
    enum claim claim;
    bool claim_by_title;
    enum agent_state state; /* STARTING, WORKING, IDLE or WAITING */
    int64_t started, last_output, last_input, last_task; /* monotonic ms; 0: never */
    int64_t attention; /* when it rang the bell; 0: it did not, or somebody has reacted */
    bool looked; /* the text has been matched since the last output */
    bool asks; /* its text asked something when it was matched */
    char text[WATCHER_TEXT_MAX]; /* printable; lines end in \n */
    size_t text_len;
    size_t answered; /* bytes of the text whose question is answered */
    char title[AGENT_TITLE_MAX];
    char notice[AGENT_TITLE_MAX]; /* of a notification */
    struct pattern {
        regex_t regex;
        bool there;
    } patterns[7];
};

/* Begins a run. Free the watcher with watcher_free() before the next one. */
void watcher_start(struct watcher *watcher, const struct preset *preset, int64_t now);
void watcher_free(struct watcher *watcher);

void watcher_output(struct watcher *watcher, const char *bytes, size_t len, int64_t now);
/* Notes that the program reads its terminal. Then it is ready, unless the preset has a pattern for
 * that.
 */
void watcher_reads(struct watcher *watcher);
/* Notes that a person pressed keys in the pane. */
void watcher_keys(struct watcher *watcher, const char *keys, size_t len, int64_t now);
/* Notes that the program got a message. */
void watcher_task(struct watcher *watcher, int64_t now);

/* Notes that the program draws all of its screen anew, and may drop what is typed meanwhile: if its
 * preset says so, it is ready when it was silent (ready_quiet). */
void watcher_redraws(struct watcher *watcher, int64_t now);

/* Returns true if the program's text or title asks a question now, which an Enter would answer. A
 * bell is no question, because many programs ring when they are done. */
bool watcher_asks(const struct watcher *watcher);

/* Returns true if it asks whether its directory is to be trusted: told.trust of the preset. */
bool watcher_asks_trust(const struct watcher *watcher);

/* Returns true if its title says that it has no session: told.title_new of the preset. */
bool watcher_is_anew(const struct watcher *watcher);

/* Brings the state up to date. Returns when to call again, in monotonic ms; -1: not before
 * something happens. */
int64_t watcher_tick(struct watcher *watcher, int64_t now);

/* The program was stopped for so long, and did nothing: moves all times. */
void watcher_skip(struct watcher *watcher, int64_t ms);

/* Appends the last lines of the text, at most `max` bytes. */
void watcher_last_lines(const struct watcher *watcher, size_t max, struct str *to);
