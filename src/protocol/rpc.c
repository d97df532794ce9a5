/*
 * Output is appended to one buffer, whose front goes when that pays. Input becomes lines, lines
 * become messages, and these requests or answers. Own requests are in `pending` by their serial,
 * those of the peer in `open` by their ticket; an entry leaves its list before its answer is
 * handled or sent. rpc_free() in a callback takes effect when the outermost call ends.
 */

#include "protocol/rpc.h"

#include "base/time.h"

enum {
    SHOWN_MAX = 200, /* bytes of garbage that are reported */
    OUT_SLACK = 64 * 1024, /* sent bytes that may remain at the front of the buffer */
};

/* An own request without an answer. */
struct pending {
    int64_t serial;
    int64_t deadline; /* -1: none */
};

/* An open request of the peer. */
struct open {
    char ticket[RPC_TICKET_MAX];
    char *id; /* JSON text */
};

struct rpc {
    const struct rpc_spec *spec;
    void *arg;
    struct str in; /* an incomplete line */
    bool skipping; /* skip the rest of a line that is too long */
    struct str out;
    size_t sent; /* bytes at the front of `out` */
    bool stuck;
    struct pending *pending;
    size_t pending_count;
    struct open *open;
    size_t open_count;
    int64_t serial, ticket; /* the last ones */
    int busy; /* nesting of calls that may call back */
    bool freed; /* freed during such a call */
};

struct rpc *rpc_new(const struct rpc_spec *spec, void *arg)
{
    struct rpc *rpc = mem_alloc(sizeof(*rpc));

    rpc->spec = spec;
    rpc->arg = arg;
    return rpc;
}

void rpc_free(struct rpc *rpc)
{
    if (rpc == NULL)
        return;
    if (rpc->busy > 0) {
        rpc->freed = true;
        return;
    }
    for (size_t i = 0; i < rpc->open_count; i++)
        free(rpc->open[i].id);
    free(rpc->open);
    free(rpc->pending);
    str_free(&rpc->in);
    str_free(&rpc->out);
    free(rpc);
}

static void enter(struct rpc *rpc)
{
    rpc->busy++;
}

static void leave(struct rpc *rpc)
{
    if (--rpc->busy == 0 && rpc->freed)
        rpc_free(rpc);
}

/* ---- out */

const char *rpc_out(const struct rpc *rpc, size_t *ret_len)
{
    *ret_len = rpc->out.len - rpc->sent;
    return str_text(&rpc->out) + rpc->sent;
}

void rpc_sent(struct rpc *rpc, size_t len)
{
    struct str *out = &rpc->out;

    if (len == 0)
        return;
    rpc->sent += len;
    if (rpc->sent < OUT_SLACK && rpc->sent < out->len)
        return;
    if (rpc->sent < out->len - rpc->sent)
        return; /* moving more bytes than were sent does not pay */
    memmove(out->data, out->data + rpc->sent, out->len - rpc->sent + 1);
    out->len -= rpc->sent;
    rpc->sent = 0;
}

bool rpc_is_stuck(const struct rpc *rpc)
{
    return rpc->stuck;
}

/* Begins a message with a payload of `more` bytes. Returns false if there is no room. */
static bool begin(struct rpc *rpc, size_t more, struct json_out *ret)
{
    if (rpc->stuck || rpc->out.len - rpc->sent > rpc->spec->out_max ||
        more > rpc->spec->out_max - (rpc->out.len - rpc->sent)) {
        rpc->stuck = true;
        return false;
    }
    *ret = (struct json_out){.to = &rpc->out};
    json_open(ret, NULL, '{');
    json_put(ret, "jsonrpc", "2.0");
    return true;
}

static void end(struct rpc *rpc, struct json_out *out)
{
    json_close(out, '}');
    str_addc(&rpc->out, '\n');
}

static size_t size_of(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

static void say(struct rpc *rpc, int64_t serial, const char *method, const char *params)
{
    struct json_out out;

    if (!begin(rpc, size_of(params), &out))
        return;
    if (serial > 0)
        json_put_int(&out, "id", serial);
    json_put(&out, "method", method);
    if (params != NULL)
        json_put_raw(&out, "params", params);
    end(rpc, &out);
}

static void say_error(struct rpc *rpc, const char *id, int code, const char *message,
                      const char *data)
{
    struct json_out out;

    if (!begin(rpc, size_of(message) + size_of(data), &out))
        return;
    json_put_raw(&out, "id", id);
    json_open(&out, "error", '{');
    json_put_int(&out, "code", code);
    json_put(&out, "message", message);
    if (data != NULL)
        json_put_raw(&out, "data", data);
    json_close(&out, '}');
    end(rpc, &out);
}

int64_t rpc_ask(struct rpc *rpc, const char *method, const char *params, int timeout_ms)
{
    struct pending *pending;

    rpc->pending = mem_room(rpc->pending, rpc->pending_count, sizeof(*rpc->pending));
    pending = &rpc->pending[rpc->pending_count++];
    pending->serial = ++rpc->serial;
    pending->deadline = timeout_ms < 0 ? -1 : time_monotonic_ms() + timeout_ms;
    say(rpc, pending->serial, method, params);
    return pending->serial;
}

void rpc_tell(struct rpc *rpc, const char *method, const char *params)
{
    say(rpc, 0, method, params);
}

/* ---- open requests of both sides */

/* Removes a request from the list. Returns false if it is not there. */
static bool remove_pending(struct rpc *rpc, int64_t serial)
{
    for (size_t i = 0; i < rpc->pending_count; i++) {
        if (rpc->pending[i].serial == serial) {
            rpc->pending[i] = rpc->pending[--rpc->pending_count];
            return true;
        }
    }
    return false;
}

void rpc_forget(struct rpc *rpc, int64_t serial)
{
    (void)remove_pending(rpc, serial);
}

/* Removes an open request and returns its id, which the caller frees; NULL: none. */
static char *pop_open(struct rpc *rpc, const char *ticket)
{
    for (size_t i = 0; i < rpc->open_count; i++) {
        if (strcmp(rpc->open[i].ticket, ticket) == 0) {
            char *id = rpc->open[i].id;

            rpc->open_count--;
            memmove(&rpc->open[i], &rpc->open[i + 1], (rpc->open_count - i) * sizeof(*rpc->open));
            return id;
        }
    }
    return NULL;
}

bool rpc_reply(struct rpc *rpc, const char *ticket, const char *result)
{
    _cleanup_free_ char *id = pop_open(rpc, ticket);
    struct json_out out;

    if (id == NULL)
        return false;
    if (begin(rpc, size_of(result), &out)) {
        json_put_raw(&out, "id", id);
        json_put_raw(&out, "result", result);
        end(rpc, &out);
    }
    return true;
}

bool rpc_refuse_with(struct rpc *rpc, const char *ticket, int code, const char *message,
                     const char *data)
{
    _cleanup_free_ char *id = pop_open(rpc, ticket);

    if (id == NULL)
        return false;
    say_error(rpc, id, code, message, data);
    return true;
}

bool rpc_refuse(struct rpc *rpc, const char *ticket, int code, const char *message)
{
    return rpc_refuse_with(rpc, ticket, code, message, NULL);
}

void rpc_drop(struct rpc *rpc, const char *ticket)
{
    free(pop_open(rpc, ticket));
}

/* Returns the text of an id, which the caller frees; NULL if it is neither a number nor a
 * string. */
static char *id_text(const struct json *id)
{
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (id == NULL || !(json_is_string(id) || json_is_number(id)))
        return NULL;
    json_put_node(&out, NULL, id);
    return str_steal(&text);
}

const char *rpc_ticket_of(const struct rpc *rpc, const struct json *id)
{
    _cleanup_free_ char *text = id_text(id);

    for (size_t i = 0; text != NULL && i < rpc->open_count; i++) {
        if (strcmp(rpc->open[i].id, text) == 0)
            return rpc->open[i].ticket;
    }
    return NULL;
}

/* ---- in */

static void garbage(struct rpc *rpc, const char *why, const char *bytes, size_t len)
{
    if (rpc->spec->garbage != NULL && !rpc->freed)
        rpc->spec->garbage(rpc->arg, why, bytes, len < SHOWN_MAX ? len : SHOWN_MAX);
}

static void handle_request(struct rpc *rpc, const struct json *message, const char *method)
{
    const struct json *id = json_get(message, "id");
    struct rpc_request request = {.method = method, .params = json_get(message, "params")};
    char ticket[RPC_TICKET_MAX];
    struct open *open;
    char *text = id_text(id);

    if (id == NULL) {
        rpc->spec->request(rpc->arg, &request);
        return;
    }
    const char *why = text == NULL                ? "an id must be a number or a string"
                      : strlen(text) > RPC_ID_MAX ? "an id is longer than 512 bytes"
                                                  : NULL;
    if (why != NULL || rpc->open_count == RPC_OPEN_MAX) {
        say_error(rpc, why != NULL ? "null" : text,
                  why != NULL ? RPC_INVALID_REQUEST : RPC_INTERNAL_ERROR,
                  why != NULL ? why : "too many requests are open", NULL);
        free(text);
        return;
    }
    rpc->open = mem_room(rpc->open, rpc->open_count, sizeof(*rpc->open));
    open = &rpc->open[rpc->open_count++];
    open->id = text;
    (void)snprintf(open->ticket, sizeof open->ticket, "%lld", (long long)++rpc->ticket);
    memcpy(ticket, open->ticket, sizeof ticket); /* answering the request moves the table */
    request.ticket = ticket;
    rpc->spec->request(rpc->arg, &request);
}

static void handle_answer(struct rpc *rpc, const struct json *message, const char *line, size_t len)
{
    const struct json *error = json_get(message, "error");
    const char *words = json_is_string(error) ? json_text(error) : json_get_text(error, "message");
    struct rpc_answer answer = {.serial = json_int(json_get(message, "id"), 0),
                                .ok = error == NULL || json_is_null(error),
                                .result = json_get(message, "result")};

    if (!answer.ok) {
        answer.result = NULL;
        answer.code = json_int(json_get(error, "code"), RPC_INTERNAL_ERROR);
        answer.message = words != NULL ? words : "";
        answer.data = json_get(error, "data");
    }
    if (remove_pending(rpc, answer.serial))
        rpc->spec->answer(rpc->arg, &answer);
    else if (answer.serial < 1 || answer.serial > rpc->serial)
        garbage(rpc, "an answer to an unknown request", line, len);
}

/* Input with an id, so that the peer may wait, but neither a request nor an answer. */
static void handle_other(struct rpc *rpc, const struct json *message, const char *line, size_t len)
{
    _cleanup_free_ char *id = id_text(json_get(message, "id"));

    if (id != NULL)
        say_error(rpc, id, RPC_INVALID_REQUEST, "neither a request nor an answer", NULL);
    garbage(rpc, "neither a request nor an answer", line, len);
}

static void handle_message(struct rpc *rpc, const struct json *message, const char *line,
                           size_t len)
{
    const struct json *method = json_get(message, "method");

    if (json_is_string(method))
        handle_request(rpc, message, json_text(method));
    else if (method == NULL &&
             (json_get(message, "result") != NULL || json_get(message, "error") != NULL ||
              json_is_number(json_get(message, "id")))) /* some agents omit an empty result */
        handle_answer(rpc, message, line, len);
    else
        handle_other(rpc, message, line, len);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the code of the escape \uNNNN at `text`, or -1. */
static int escape_code(const char *text, size_t len)
{
    int code = 0;

    if (len < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        if (hex_digit(text[i]) == -1)
            return -1;
        code = code * 16 + hex_digit(text[i]);
    }
    return code;
}

/* Replaces escapes that no string may contain with U+FFFD, in place. */
static void replace_bad_surrogates(char *line, size_t len)
{
    static const char replacement[] = {'\\', 'u', 'f', 'f', 'f', 'd'};
    char *end = line + len;
    char *at = line;

    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        int code = escape_code(at, (size_t)(end - at));
        int next =
            code >= 0xD800 && code <= 0xDBFF ? escape_code(at + 6, (size_t)(end - at - 6)) : -1;

        if (next >= 0xDC00 && next <= 0xDFFF)
            at += 12;
        else if (code == 0 || (code >= 0xD800 && code <= 0xDFFF))
            at = (char *)memcpy(at, replacement, sizeof replacement) + sizeof replacement;
        else
            at += end - at < 2 ? 1 : 2;
    }
}

static void handle_line(struct rpc *rpc, char *line, size_t len)
{
    _cleanup_json_ struct json *message = NULL;
    struct err err = ERR_INIT;
    size_t blank = 0;

    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    while (blank < len && (line[blank] == ' ' || line[blank] == '\t'))
        blank++;
    if (blank == len)
        return;
    replace_bad_surrogates(line, len);
    if (json_parse(line, len, rpc->spec->line_max, &message, &err) == -1) {
        if (line[blank] == '{')
            say_error(rpc, "null", RPC_PARSE_ERROR, err.text, NULL);
        garbage(rpc, err.text, line, len);
    } else if (json_is_object(message)) {
        handle_message(rpc, message, line, len);
    } else {
        if (json_is_array(message) && json_is_object(json_first(message)))
            say_error(rpc, "null", RPC_INVALID_REQUEST,
                      "batches are not supported: send each message by itself", NULL);
        garbage(rpc, "not a JSON object", line, len);
    }
}

/* The line is too long; reports it once. */
static void skip_line(struct rpc *rpc)
{
    _cleanup_str_ struct str line = rpc->in;

    rpc->in = (struct str)STR_INIT;
    rpc->skipping = true;
    say_error(rpc, "null", RPC_PARSE_ERROR, RPC_TOO_LONG, NULL);
    garbage(rpc, RPC_TOO_LONG, str_text(&line), line.len);
}

/* Consumes what belongs to the current line and returns the number of bytes. */
static size_t feed_line(struct rpc *rpc, const char *bytes, size_t len)
{
    const char *newline = memchr(bytes, '\n', len);
    size_t part = newline != NULL ? (size_t)(newline - bytes) : len;

    if (!rpc->skipping && part > rpc->spec->line_max - rpc->in.len)
        skip_line(rpc);
    if (!rpc->skipping)
        str_addn(&rpc->in, bytes, part);
    if (newline == NULL)
        return part;
    if (rpc->skipping) {
        rpc->skipping = false;
    } else if (rpc->in.len > 0) {
        struct str line = rpc->in;

        rpc->in = (struct str)STR_INIT;
        handle_line(rpc, line.data, line.len);
        str_clear(&line);
        if (line.cap <= OUT_SLACK && rpc->in.data == NULL)
            rpc->in = line; /* reuse the memory */
        else
            str_free(&line);
    }
    return part + 1;
}

void rpc_feed(struct rpc *rpc, const char *bytes, size_t len)
{
    enter(rpc);
    while (len > 0 && !rpc->freed) {
        size_t taken = feed_line(rpc, bytes, len);

        bytes += taken;
        len -= taken;
    }
    leave(rpc);
}

/* Returns the first overdue request not newer than `last`; 0: none. */
static int64_t find_late(const struct rpc *rpc, int64_t now_ms, int64_t last)
{
    int64_t late = 0;

    for (size_t i = 0; i < rpc->pending_count; i++) {
        const struct pending *p = &rpc->pending[i];

        if (p->deadline != -1 && p->deadline <= now_ms && p->serial <= last &&
            (late == 0 || p->serial < late))
            late = p->serial;
    }
    return late;
}

void rpc_delay(struct rpc *rpc, int64_t ms)
{
    for (size_t i = 0; i < rpc->pending_count; i++)
        if (rpc->pending[i].deadline != -1)
            rpc->pending[i].deadline += ms;
}

int64_t rpc_tick(struct rpc *rpc, int64_t now_ms)
{
    int64_t next = -1;
    int64_t last = rpc->serial;
    int64_t late;

    enter(rpc);
    while (!rpc->freed && (late = find_late(rpc, now_ms, last)) != 0) {
        struct rpc_answer answer = {
            .serial = late, .code = RPC_TIMED_OUT, .message = "no answer in time"};

        (void)remove_pending(rpc, late);
        rpc->spec->answer(rpc->arg, &answer);
    }
    for (size_t i = 0; i < rpc->pending_count; i++)
        next = time_sooner(next, rpc->pending[i].deadline);
    leave(rpc);
    return next;
}
