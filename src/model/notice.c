/*
 * notice_of_change() takes over the new state before it decides, so that a change is told once at
 * most, whether it was worth a notice or not. Every text goes through notice_fill(), also one that
 * is read back, so that nothing which a terminal would obey gets any further. Nothing is kept here:
 * the host owns the state, and `mas notify` what is done with a notice.
 */

#include "model/notice.h"

static const char *const names[NOTICE_KIND_COUNT + 1] = {
    [NOTICE_WAITING] = "waiting", [NOTICE_CRASHED] = "crashed", [NOTICE_FAILED] = "failed",
    [NOTICE_DONE] = "done",       [NOTICE_LIMIT] = "limit",     [NOTICE_CONFLICT] = "conflict",
};

const char *notice_kind_name(enum notice_kind kind)
{
    return names[kind];
}

const struct value_type notice_kinds_type = {
    VALUE_SET, "a list of waiting, crashed, failed, done, limit and conflict", .words = names};

static const char *parse_ways(const char *text, void *to)
{
    static const char *const ways[] = {"bell", "osc9", "osc777", NULL};
    static const struct value_type set = {VALUE_SET, "yes, no, or a list of bell, osc9 and osc777",
                                          .min = 1, .words = ways, .none = "no"};

    return VALUE_PARSE(&set, strcmp(text, "yes") == 0 ? "bell,osc9,osc777" : text, (int64_t *)to);
}

const struct value_type notice_ways_type = {VALUE_OTHER, .parse = parse_ways};

void notice_fill(enum notice_kind kind, int64_t at_ms, const char *text, struct notice *ret)
{
    const char *from = text != NULL ? text : "";
    size_t len = str_fit(from, NOTICE_TEXT_MAX - 1);
    bool valid = str_is_utf8(from, len);

    *ret = (struct notice){.kind = kind, .at_ms = at_ms};
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)from[i];
        /* C1 control characters are 0xc2 0x80 to 0xc2 0x9f in UTF-8 */
        bool c1 = valid && c == 0xc2 && (unsigned char)from[i + 1] < 0xa0;
        if (c1)
            ret->text[i++] = ' ';
        ret->text[i] = c < 0x20 || c == 0x7f || c1 ? ' ' : !valid && c >= 0x80 ? '?' : (char)c;
    }
    ret->text[len] = '\0';
}

static bool is_busy(enum agent_state state)
{
    return state == AGENT_WORKING || state == AGENT_WAITING || state == AGENT_LIMITED;
}

/* Returns the kind of notice that the beginning of a state is, NOTICE_KIND_COUNT: none. */
static enum notice_kind kind_of_state(enum agent_state state)
{
    static const struct {
        enum agent_state state;
        enum notice_kind kind;
    } kinds[] = {
        {AGENT_WAITING, NOTICE_WAITING},
        {AGENT_CRASHED, NOTICE_CRASHED},
        {AGENT_LIMITED, NOTICE_LIMIT},
        {AGENT_PAUSED, NOTICE_LIMIT},
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].state == state)
            return kinds[i].kind;
    return NOTICE_KIND_COUNT;
}

/* Returns true if a turn that began at `busy` was long and ended well, and nobody has its end
 * already: who waits for the answer, as `mas ask` does, gets it. One that failed is told at once.
 */
static bool is_done(const struct agent_status *now, int64_t busy, int64_t now_ms, int done_ms)
{
    bool seen = now->done_ms != 0 && now->seen_ms >= now->done_ms;

    return (now->state == AGENT_IDLE || now->state == AGENT_EXITED) && busy != 0 &&
           now_ms - busy >= done_ms && !seen && !agent_turn_is_bad(now);
}

/* Appends what the agent asks, how it crashed, or what it says of itself. */
static void add_text(const struct agent_status *now, struct str *to)
{
    const char *words = now->state == AGENT_WAITING && now->asks != NULL && now->asks[0] != '\0'
                            ? now->asks
                        : now->note != NULL && now->note[0] != '\0' ? now->note
                                                                    : now->title;

    if (now->state == AGENT_CRASHED)
        agent_end_add(now, to);
    if (now->state == AGENT_CRASHED && (now->note == NULL || now->note[0] == '\0'))
        return;
    str_add(to, to->len > 0 ? ": " : "");
    str_add(to, words != NULL ? words : "");
}

bool notice_of_change(struct notice_state *before, const struct agent_status *now, int64_t now_ms,
                      int done_ms, struct notice *ret)
{
    char request[REQUEST_ID_TEXT];
    enum notice_kind kind = kind_of_state(now->state);
    int64_t busy = before->busy_ms;

    request_id(now->permission, now->asks, request);
    bool asks_anew = request[0] != '\0' && strcmp(request, before->request) != 0;
    bool changed = now->state != before->state;
    *before = (struct notice_state){.state = now->state};
    memcpy(before->request, request, sizeof request);
    if (is_busy(now->state))
        before->busy_ms = busy != 0 ? busy : now_ms;
    if (!changed && !asks_anew)
        return false;
    if (is_done(now, busy, now_ms, done_ms))
        kind = NOTICE_DONE;
    if (kind == NOTICE_KIND_COUNT)
        return false;
    _cleanup_str_ struct str text = STR_INIT;
    add_text(now, &text);
    notice_fill(kind, now_ms, str_text(&text), ret);
    memcpy(ret->request, request, sizeof request);
    return true;
}

void notice_put(const struct notice *notice, struct json_out *out)
{
    json_put_all(out, JT("kind", names[notice->kind]), JI("at", notice->at_ms),
                 JT("request", notice->request), JT("text", notice->text));
}

int notice_parse(const struct json *object, struct notice *ret, struct err *err)
{
    int kind = value_word(names, json_get_text(object, "kind"));
    const char *text = json_get_text(object, "text");
    const char *request = json_get_text(object, "request");
    int64_t at = json_int(json_get(object, "at"), -1);

    if (kind == -1 || text == NULL || request == NULL || at < 0 ||
        (request[0] != '\0' && !request_id_is_valid(request)))
        return err_set(err, MAS_DAMAGED, "it is not a notice");
    notice_fill((enum notice_kind)kind, at, text, ret);
    memcpy(ret->request, request, strlen(request) + 1);
    return 0;
}

static bool parse_minute(const char *text, int *ret)
{
    bool digits =
        strspn(text, "0123456789") == 2 && text[2] == ':' && strspn(text + 3, "0123456789") == 2;
    int hour = digits ? (text[0] - '0') * 10 + text[1] - '0' : 24;
    int minute = digits ? (text[3] - '0') * 10 + text[4] - '0' : 60;

    *ret = hour * 60 + minute;
    return hour < 24 && minute < 60;
}

bool notice_parse_quiet(const char *text, struct notice_quiet *ret)
{
    struct notice_quiet quiet = {.from = 0};

    if (text[0] != '\0' && (strlen(text) != strlen("22:00-07:00") || text[5] != '-' ||
                            !parse_minute(text, &quiet.from) || !parse_minute(text + 6, &quiet.to)))
        return false;
    *ret = quiet;
    return true;
}

bool notice_is_quiet(const struct notice_quiet *quiet, int minute)
{
    if (quiet->from <= quiet->to)
        return minute >= quiet->from && minute < quiet->to;
    return minute >= quiet->from || minute < quiet->to;
}
