/*
 * Output only leaves notes: claims, bells, the title, the newest text. watcher_tick() judges, after
 * a moment of silence. First it finds out whether the program is ready: by the preset's pattern, by
 * silence or by the time limit. Then a question or a bell counts more than what the program claims,
 * and a claim more than output and silence. Plain text that would not be kept anyway is not parsed.
 */

#include "host/watcher.h"

enum {
    KEY_ECHO_MS = 1000, /* a bell this soon after a key answers that key */
    READ_STEP_MS = 50,
    LOOK_MS = 300, /* of silence before the text is matched and a bell counts */
};

/* The places of the preset's patterns in watcher.patterns. */
enum {
    PATTERN_READY,
    PATTERN_WAITING,
    PATTERN_TITLE_WORKING,
    PATTERN_TITLE_IDLE,
    PATTERN_TITLE_WAITING,
    PATTERN_TITLE_NEW,
    PATTERN_TRUST
};

static bool matches(const struct watcher *watcher, size_t which, const char *text)
{
    const struct pattern *pattern = &watcher->patterns[which];
    return pattern->there && regexec(&pattern->regex, text, 0, NULL, 0) == 0;
}

void watcher_start(struct watcher *watcher, const struct preset *preset, int64_t now)
{
    const char *const texts[ARRAY_LEN(watcher->patterns)] = {
        [PATTERN_READY] = preset->ready,
        [PATTERN_WAITING] = preset->waiting,
        [PATTERN_TITLE_WORKING] = preset->title_working,
        [PATTERN_TITLE_IDLE] = preset->title_idle,
        [PATTERN_TITLE_WAITING] = preset->title_waiting,
        [PATTERN_TITLE_NEW] = preset->told.title_new,
        [PATTERN_TRUST] = preset->told.trust,
    };

    *watcher = (struct watcher){.preset = preset, .state = AGENT_STARTING, .started = now};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i][0] != '\0')
            watcher->patterns[i].there =
                regcomp(&watcher->patterns[i].regex, texts[i], REG_EXTENDED | REG_NOSUB) == 0;
}

void watcher_free(struct watcher *watcher)
{
    for (size_t i = 0; i < ARRAY_LEN(watcher->patterns); i++)
        if (watcher->patterns[i].there)
            regfree(&watcher->patterns[i].regex);
    memset(watcher->patterns, 0, sizeof watcher->patterns);
}

/* Appends text, of which the newest part is kept. */
static void add_text(struct watcher *watcher, const char *bytes, size_t len)
{
    if (len > WATCHER_TEXT_MAX / 2) {
        bytes += len - WATCHER_TEXT_MAX / 2;
        len = WATCHER_TEXT_MAX / 2;
    }
    if (watcher->text_len + len >=
        WATCHER_TEXT_MAX) { /* drops half of it at once, not a byte each time */
        size_t keep = WATCHER_TEXT_MAX - 1 - WATCHER_TEXT_MAX / 2;
        size_t gone = watcher->text_len - keep;
        memmove(watcher->text, watcher->text + gone, keep);
        watcher->text_len = keep;
        watcher->answered = watcher->answered > gone ? watcher->answered - gone : 0;
    }
    memcpy(watcher->text + watcher->text_len, bytes, len);
    watcher->text_len += len;
    watcher->text[watcher->text_len] = '\0';
}

static void end_line(struct watcher *watcher)
{
    if (watcher->text_len > 0 && watcher->text[watcher->text_len - 1] != '\n')
        add_text(watcher, "\n", 1);
}

void watcher_reads(struct watcher *watcher)
{
    if (!watcher->ready && !watcher->patterns[PATTERN_READY].there)
        watcher->ready = true;
}

/* Notes that the program wants attention, unless it only answers a key. */
static void ring(struct watcher *watcher, int64_t now)
{
    if (watcher->ready && (watcher->last_input == 0 || now - watcher->last_input > KEY_ECHO_MS))
        watcher->attention = now;
}

static void copy_words(char *to, size_t size, const char *text, size_t len)
{
    size_t n = len < size ? len : size - 1;
    memcpy(to, text, n);
    to[n] = '\0';
}

static void set_title(struct watcher *watcher, const char *text, size_t len)
{
    copy_words(watcher->title, sizeof watcher->title, text, len);
    static const struct {
        int pattern;
        enum claim claim;
    } claims[] = {{PATTERN_TITLE_WAITING, CLAIM_WAITING},
                  {PATTERN_TITLE_WORKING, CLAIM_WORKING},
                  {PATTERN_TITLE_IDLE, CLAIM_IDLE}};
    for (size_t i = 0; i < ARRAY_LEN(claims); i++)
        if (matches(watcher, (size_t)claims[i].pattern, watcher->title)) {
            watcher->claim = claims[i].claim;
            watcher->claim_by_title = true;
            return;
        }
    if (watcher->claim_by_title)
        watcher->claim = CLAIM_NONE; /* the claim of the title before is over */
    watcher->claim_by_title = false;
}

/* Handles OSC 133, shell integration: https://gitlab.freedesktop.org/Per_Bothner/specifications */
static void mark(struct watcher *watcher, char what)
{
    if (what == 'C')
        watcher->claim = CLAIM_WORKING;
    else if (what == 'A' || what == 'B' || what == 'D')
        watcher->claim = CLAIM_IDLE;
    if (what == 'B')
        watcher_reads(watcher);
}

/* Handles titles; OSC 9;4;<state>, progress, of ConEmu; OSC 9;<text> and OSC
 * 777;notify;<title>;<text>, notifications, of iTerm2 and urxvt. */
static void handle_osc(struct watcher *watcher, const char *text, size_t len, int64_t now)
{
    _cleanup_free_ char *osc = mem_dupn(text, len);

    if (str_starts(osc, "0;") || str_starts(osc, "2;")) {
        set_title(watcher, text + 2, len - 2);
    } else if (str_starts(osc, "133;")) {
        mark(watcher, osc[4]);
    } else if (str_starts(osc, "9;4;")) {
        watcher->claim = osc[4] == '1' || osc[4] == '3' ? CLAIM_WORKING : CLAIM_IDLE;
    } else if (str_starts(osc, "9;")) {
        copy_words(watcher->notice, sizeof watcher->notice, text + 2, len - 2);
        ring(watcher, now);
    } else if (str_starts(osc, "777;notify;")) {
        copy_words(watcher->notice, sizeof watcher->notice, text + 11, len - 11);
        ring(watcher, now);
    }
}

/* Returns true for the modes that lead to the other screen. */
static bool is_screen(int mode)
{
    return mode == 47 || mode == 1047 || mode == 1049;
}

static void handle_csi(struct watcher *watcher, const struct vt_event *event)
{
    enum { ORIGIN = 6, BRACKETED_PASTE = 2004 };
    static const char line_breaks[] = "ABEFHJdf"; /* sequences that leave the line */
    static const char gaps[] = "CG`"; /* sequences that go to another column of it */

    if (event->prefix == '?' && (event->final == 'h' || event->final == 'l')) {
        for (size_t i = 0; i < event->param_count; i++) {
            if (event->params[i] == ORIGIN)
                watcher->origin = event->final == 'h';
            watcher->screens += event->final == 'l' && is_screen(event->params[i]);
            if (event->params[i] != BRACKETED_PASTE)
                continue;
            watcher->pastes = event->final == 'h';
            watcher_reads(watcher);
        }
    } else if (event->prefix == 0 && strchr(line_breaks, event->final) != NULL) {
        end_line(watcher);
    } else if (event->prefix == 0 && strchr(gaps, event->final) != NULL) {
        add_text(watcher, " ", 1);
    }
}

struct feeding {
    struct watcher *watcher;
    int64_t now;
};

static void handle_event(const struct vt_event *event, void *arg)
{
    const struct feeding *feeding = arg;
    struct watcher *watcher = feeding->watcher;

    switch (event->kind) {
    case VT_TEXT:
        add_text(watcher, event->text, event->len);
        break;
    case VT_CONTROL:
        if (event->final == '\a')
            ring(watcher, feeding->now);
        else if (event->final == '\n' || event->final == '\r')
            end_line(watcher);
        else if (event->final == '\t')
            add_text(watcher, " ", 1);
        break;
    case VT_OSC:
        handle_osc(watcher, event->text, event->len, feeding->now);
        break;
    case VT_CSI:
        handle_csi(watcher, event);
        break;
    case VT_ESC:
        if (event->final == 'c') /* reset */
            watcher->pastes = watcher->origin = false;
        break;
    case VT_STRING:
    default:
        break;
    }
}

/* Returns how many bytes are plain text, before the next escape or bell. */
static size_t count_text(const struct watcher *watcher, const char *bytes, size_t len)
{
    if (!vt_is_between(&watcher->vt))
        return 0;
    const char *escape = memchr(bytes, '\033', len);
    len = escape != NULL ? (size_t)(escape - bytes) : len;
    const char *bell = memchr(bytes, '\a', len);
    return bell != NULL ? (size_t)(bell - bytes) : len;
}

/* Forgets the program's question, because it is answered. */
static void drop_question(struct watcher *watcher)
{
    watcher->attention = 0;
    watcher->asks = false;
    watcher->answered = watcher->text_len;
}

void watcher_skip(struct watcher *watcher, int64_t ms)
{
    int64_t *const times[] = {&watcher->started, &watcher->last_output, &watcher->last_input,
                              &watcher->last_task, &watcher->attention};

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (*times[i] != 0)
            *times[i] += ms;
}

void watcher_output(struct watcher *watcher, const char *bytes, size_t len, int64_t now)
{
    enum { STEP = 16 }; /* bytes; most sequences are shorter */
    struct feeding feeding = {.watcher = watcher, .now = now};
    /* the text does not keep what is before this offset */
    size_t old = len > WATCHER_TEXT_MAX ? len - WATCHER_TEXT_MAX : 0;

    if (old > 0 && memchr(bytes + old, '\033', len - old) != NULL)
        old = 0; /* escapes leave less text than bytes */
    if (watcher->asks && watcher->looked)
        watcher->attention = now; /* for example a clock beside the question */
    else if (watcher->attention != 0 && now - watcher->attention > watcher->preset->idle_ms)
        drop_question(watcher); /* the program went on without an answer */
    watcher->printed = true;
    watcher->last_output = now;
    watcher->looked = false;
    for (size_t at = 0, n; at < len; at += n) {
        n = at < old ? count_text(watcher, bytes + at, old - at) : 0;
        if (n > 0)
            continue;
        n = at < old ? STEP : len - at;
        vt_feed(&watcher->vt, bytes + at, n, handle_event, &feeding);
    }
}

void watcher_keys(struct watcher *watcher, const char *keys, size_t len, int64_t now)
{
    bool enter = memchr(keys, '\r', len) != NULL;

    watcher->last_input = now;
    if (enter && watcher->claim != CLAIM_WORKING)
        watcher->claim = CLAIM_NONE; /* it works, unless it says otherwise */
    if (len > 1 && keys[0] == '\033' && !enter)
        return; /* a cursor key, the mouse or a report of the terminal is no answer */
    if (watcher->state == AGENT_WAITING)
        watcher->last_task = now; /* it works again, before it prints anything */
    drop_question(watcher);
    watcher->notice[0] = '\0';
}

void watcher_task(struct watcher *watcher, int64_t now)
{
    watcher->last_task = now;
    drop_question(watcher);
    watcher->notice[0] = '\0';
    watcher->looked = true; /* the message answers what it showed before */
    if (watcher->claim != CLAIM_WORKING)
        watcher->claim = CLAIM_NONE;
    watcher->state = AGENT_WORKING;
}

bool watcher_asks_trust(const struct watcher *watcher)
{
    return matches(watcher, PATTERN_TRUST, watcher->text + watcher->answered);
}

bool watcher_is_anew(const struct watcher *watcher)
{
    return matches(watcher, PATTERN_TITLE_NEW, watcher->title);
}

static bool text_asks(const struct watcher *watcher)
{
    return watcher_asks_trust(watcher) ||
           matches(watcher, PATTERN_WAITING, watcher->text + watcher->answered);
}

bool watcher_asks(const struct watcher *watcher)
{
    return watcher->claim == CLAIM_WAITING || text_asks(watcher);
}

void watcher_redraws(struct watcher *watcher, int64_t now)
{
    if (watcher->preset->quiet_ms == 0)
        return;
    watcher->ready = false;
    watcher->last_output = now;
}

/* Matches the text after a moment of silence. */
static void look(struct watcher *watcher, int64_t now)
{
    bool asks = text_asks(watcher);

    if (asks && watcher->attention == 0)
        watcher->attention = now;
    if (!asks && watcher->asks)
        watcher->attention = 0;
    watcher->asks = asks;
    watcher->looked = true;
}

static int64_t newest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Finds out whether the program is ready. Returns when to look again, -1: not before it prints. */
static int64_t tick_ready(struct watcher *watcher, int64_t now)
{
    const struct preset *preset = watcher->preset;
    bool has_pattern = watcher->patterns[PATTERN_READY].there;
    int64_t limit = watcher->started + preset->ready_timeout_ms;
    int64_t quiet = watcher->last_output + preset->ready_ms;

    if (has_pattern && !watcher->looked) {
        watcher->looked = true;
        watcher->shown = watcher->shown || matches(watcher, PATTERN_READY, watcher->text);
    }
    if (has_pattern)
        quiet = watcher->last_output + preset->quiet_ms;
    if (now >= limit || ((has_pattern ? watcher->shown : watcher->printed) && now >= quiet))
        watcher->ready = true;
    if (watcher->ready) {
        watcher->state = AGENT_WORKING; /* until tick_state() */
        watcher->looked = false;
        return -1;
    }
    if (has_pattern && !watcher->shown)
        return limit;
    if (!has_pattern && !watcher->printed) /* the caller looks whether it reads its terminal */
        return now + READ_STEP_MS < limit ? now + READ_STEP_MS : limit;
    return limit < quiet ? limit : quiet;
}

static int64_t tick_state(struct watcher *watcher, int64_t now)
{
    static const enum agent_state said[] = {[CLAIM_WORKING] = AGENT_WORKING,
                                            [CLAIM_IDLE] = AGENT_IDLE,
                                            [CLAIM_WAITING] = AGENT_WAITING};
    int64_t last = newest(watcher->last_output, watcher->last_task);
    int64_t quiet =
        last + (LOOK_MS < watcher->preset->idle_ms ? LOOK_MS : watcher->preset->idle_ms);
    int64_t idle = last + watcher->preset->idle_ms;

    if (now < quiet) {
        if (watcher->asks)
            watcher->state = AGENT_WAITING;
        else if (watcher->claim != CLAIM_NONE)
            watcher->state = said[watcher->claim];
        else if (watcher->last_output > 0 && watcher->state != AGENT_WORKING &&
                 watcher->attention == 0)
            watcher->state = AGENT_WORKING;
        return quiet;
    }
    if (!watcher->looked)
        look(watcher, now);
    if (watcher->attention != 0)
        watcher->state = AGENT_WAITING;
    else if (watcher->claim != CLAIM_NONE)
        watcher->state = said[watcher->claim];
    else if (now >= idle)
        watcher->state = AGENT_IDLE;
    else
        return idle;
    return -1;
}

int64_t watcher_tick(struct watcher *watcher, int64_t now)
{
    if (!watcher->ready) {
        int64_t at = tick_ready(watcher, now);
        if (!watcher->ready)
            return at;
    }
    return tick_state(watcher, now);
}

void watcher_last_lines(const struct watcher *watcher, size_t max, struct str *to)
{
    const char *end = watcher->text + watcher->text_len;
    const char *at = watcher->text_len > max ? end - max : watcher->text;

    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    const char *line = memchr(at, '\n', (size_t)(end - at));
    if (at > watcher->text && at[-1] != '\n' && line != NULL)
        at = line + 1; /* begin with a whole line, unless one line is too long */
    while (at < end && isspace((unsigned char)*at))
        at++;
    str_addn(to, at, (size_t)(end - at));
}
