/*
 * Notices: changes of an agent that a person may want to be told of, wherever that person is
 * ([notify] of mas.ini). The host of the agent makes them, `mas notify` delivers them.
 */
#pragma once

#include "base/json.h"
#include "base/value.h"
#include "model/agent_status.h"
#include "model/request_id.h"

enum notice_kind {
    NOTICE_WAITING, /* it waits for a permission or an answer */
    NOTICE_CRASHED,
    NOTICE_FAILED, /* a turn has failed, or was stopped by a kill */
    NOTICE_DONE, /* a long turn has ended */
    NOTICE_LIMIT, /* its provider or a budget stopped it */
    NOTICE_CONFLICT, /* its branch does not merge */
    NOTICE_KIND_COUNT
};

/* A list of kinds such as "waiting, crashed", as bits, 1 << kind; "" is none. */
extern const struct value_type notice_kinds_type;
/* The name of a kind: "waiting", "crashed", "failed", "done", "limit", "conflict". */
const char *notice_kind_name(enum notice_kind kind);

/* How an attached terminal is told; a bit each. */
enum notice_way {
    NOTICE_BELL = 1,
    NOTICE_OSC9 = 2, /* iTerm2, WezTerm, ghostty, Windows Terminal, kitty */
    NOTICE_OSC777 = 4, /* rxvt-unicode, foot, VTE, ghostty, WezTerm */
};
/* "no", "yes" (all three), or a list of "bell", "osc9" and "osc777"; an int64_t. */
extern const struct value_type notice_ways_type;

enum { NOTICE_TEXT_MAX = 256 }; /* bytes */

struct notice {
    enum notice_kind kind;
    int64_t at_ms; /* milliseconds since 1970 */
    char request[REQUEST_ID_TEXT]; /* of a waiting ACP agent; else "" */
    char text[NOTICE_TEXT_MAX]; /* what it asks, or how it ended: one line, safe to print */
};

/* Fills a notice. Newlines and control characters of `text` (NULL: none) become blanks, bytes that
 * are not UTF-8 "?". */
void notice_fill(enum notice_kind kind, int64_t at_ms, const char *text, struct notice *ret);

/* What the newest notices of an agent were about. Zero-initialised; a host keeps one. */
struct notice_state {
    enum agent_state state;
    char request[REQUEST_ID_TEXT];
    int64_t
        busy_ms; /* since when it works, with all that it waits for in between; 0: it does not */
};

/* Compares the status with the one before. Returns true and fills *ret if the change is worth a
 * notice: each change once, nothing while it lasts. A turn is long from `done_ms` milliseconds on.
 * `now_ms` is the time since 1970. */
bool notice_of_change(struct notice_state *before, const struct agent_status *now, int64_t now_ms,
                      int done_ms, struct notice *ret);

/* Writes and reads the object in which a host hands a notice to `mas notify`. Reading fails with
 * MAS_DAMAGED. */
void notice_put(const struct notice *notice, struct json_out *out);
int notice_parse(const struct json *object, struct notice *ret, struct err *err);

/* A time of the day during which nothing is told, such as "22:00-07:00", in minutes after midnight;
 * from == to: none. Returns false for any other text. */
struct notice_quiet {
    int from, to;
};
bool notice_parse_quiet(const char *text, struct notice_quiet *ret);
bool notice_is_quiet(const struct notice_quiet *quiet, int minute);
