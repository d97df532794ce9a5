/*
 * Three forms of one message. The text comes from a database that anybody may have written: for a
 * terminal each line goes through term_text, which leaves no control characters, and for JSON what
 * should be JSON is parsed first. A struct history carries what the last message was, for the lines
 * between queries.
 */

#include "cli/history_print.h"
#include "base/json.h"
#include "base/term_text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/print.h"

enum { INDENT = 4, DATA_MAX = 32 << 20 };

/* ---- text */

/* How to print the lines of a text. */
struct block {
    const char *before; /* printed before each line that is not empty */
    const char *next; /* before what a broken line goes on with; NULL: the same */
    size_t width; /* characters; 0: lines are not broken */
    const char *colour; /* NULL: none */
    bool first_only;
    bool cut; /* a line that is too long is cut off */
    size_t lines; /* printed so far */
};

/* Returns the number of bytes that fit in `width` columns; a tab extends to the next stop. */
static size_t fit(const char *line, size_t len, size_t width)
{
    size_t column = 0;
    size_t i = 0;

    while (i < len) {
        size_t next = utf8_next(line, len, i);
        column = line[i] == '\t' ? (column / 8 + 1) * 8 : column + 1;
        if (column > width)
            break;
        i = next;
    }
    return i;
}

static void print_piece(const struct block *block, const char *line, size_t len)
{
    const char *end = block->colour != NULL ? "\033[0m" : "";

    printf("%s%s%.*s%s\n", len > 0 ? block->before : "", block->colour != NULL ? block->colour : "",
           (int)len, line, end);
}

static void print_cut(const struct block *block, const char *line, size_t len)
{
    static const char mark[] = "...";
    _cleanup_free_ char *text =
        mem_printf("%.*s%s", (int)fit(line, len, block->width - (sizeof mark - 1)), line, mark);

    print_piece(block, text, strlen(text));
}

/* Prints a line and breaks it at blanks if possible. */
static void on_line(const char *line, size_t len, void *arg)
{
    struct block *block = arg;

    if (block->first_only && block->lines > 0)
        return;
    block->lines++;
    while (block->width > 0) {
        size_t room = fit(line, len, block->width);
        if (room == len || room == 0)
            break;
        size_t cut = room;
        while (cut > 0 && line[cut] != ' ')
            cut--;
        if (fit(line, cut, block->width) == 0 || strspn(line, " ") >= cut)
            cut = room;
        if (block->cut) {
            print_cut(block, line, len);
            return;
        }
        print_piece(block, line, cut);
        if (block->next != NULL)
            block->before = block->next;
        line += cut;
        len -= cut;
        while (len > 0 && *line == ' ') {
            line++;
            len--;
        }
    }
    print_piece(block, line, len);
}

/* Prints text of any origin without control characters that could affect a terminal. */
static void print_block(struct block *block, const char *text, size_t len)
{
    struct term_text term = {.columns = 0};

    term_text_feed(&term, text, len, on_line, block);
    term_text_end(&term, on_line, block);
    term_text_free(&term);
}

/* Prints a line for each picture of a prompt. */
static void print_pictures(struct block *block, const struct store_item *item)
{
    _cleanup_str_ struct str lines = STR_INIT;

    store_say_pictures(item, &lines);
    if (lines.len > 0)
        print_block(block, lines.data, lines.len);
}

/* Returns the title of a tool call, or NULL if it has none. The caller frees it. */
static char *title_of(const struct store_item *item)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (item->data == NULL ||
        json_parse(item->data, strlen(item->data), DATA_MAX, &json, &ignored) == -1)
        return NULL;
    return mem_dup(json_get_text(json, "title"));
}

/* Prints the answer to a permission request on a line of its own: "-> Allow once, by 10". Prints
 * nothing while the request is open. */
static void print_decision(const struct store_item *item, const char *before, size_t width)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (item->role != ROLE_PERMISSION || item->data == NULL ||
        json_parse(item->data, strlen(item->data), DATA_MAX, &json, &ignored) == -1)
        return;
    struct block block = {.before = before, .width = width};
    _cleanup_str_ struct str line = STR_INIT;
    const char *option = json_get_text(json, "option");
    const char *name = json_get_text(json, "name");
    const char *by = json_get_text(json, "by");
    if (by == NULL)
        return;
    if (name == NULL || name[0] == '\0')
        name = option;
    if (name == NULL)
        str_add(&line, "-> not answered");
    else
        str_addf(&line, "-> %s, by %s", name,
                 strcmp(by, "-") == 0        ? "a person"
                 : strcmp(by, "policy") == 0 ? "the preset"
                                             : by);
    print_block(&block, line.data, line.len);
}

/* Prints what a permission is about, which its text has after the title. */
static void print_asked(const struct store_item *item, const char *before, size_t width)
{
    const char *newline = memchr(item->text, '\n', item->len);
    struct block block = {.before = before, .width = width};

    if (item->role == ROLE_PERMISSION && newline != NULL)
        print_block(&block, newline + 1, item->len - (size_t)(newline + 1 - item->text));
}

static bool is_one_line(enum store_role role)
{
    return role == ROLE_TOOL || role == ROLE_PERMISSION || role == ROLE_MODE;
}

/* Appends the author: "user", "user (from 00)", "10", "tool". */
static void add_who(const struct store_item *item, struct str *to)
{
    if (item->role == ROLE_AGENT)
        str_add(to, item->agent);
    else
        str_add(to, store_role_name(item->role));
    if (item->sender != NULL) {
        str_add(to, " (from ");
        str_add_visible(to, item->sender, strlen(item->sender));
        str_add(to, ")");
    }
}

/* Appends how the message ended if not normally: " (interrupted)", " (cancelled)". */
static void add_end(const struct store_item *item, struct str *to)
{
    const char *stop = item->stop_reason;

    if (item->role == ROLE_NOTE && item->state != MESSAGE_DONE)
        str_add(to,
                item->state == MESSAGE_FAILED ? " (the turn failed)" : " (the turn was stopped)");
    else if (stop != NULL && strcmp(stop, "end_turn") != 0) {
        str_add(to, " (");
        str_add_visible(to, stop, strlen(stop));
        str_add(to, ")");
    } else if (item->role == ROLE_USER && item->state == MESSAGE_OPEN) {
        str_add(to, " (queued)"); /* its turn has not begun */
    } else if (item->state != MESSAGE_DONE) {
        str_addf(to, " (%s)", store_state_name(item->state));
    }
}

static const char *colour_of_item(const struct store_item *item)
{
    enum store_role role = item->role;

    if (role == ROLE_NOTE && item->state != MESSAGE_DONE)
        return colour(TINT_BAD);
    return role == ROLE_USER      ? colour(TINT_BOLD)
           : role == ROLE_AGENT   ? colour(TINT_NEWS)
           : role == ROLE_THOUGHT ? colour(TINT_DIM)
                                  : colour(TINT_HELD);
}

static const char *or_none(const char *text)
{
    return text != NULL ? text : "";
}

static void print_text(const struct store_item *item, struct history *history)
{
    static const char blanks[] = "                                ";
    _cleanup_str_ struct str who = STR_INIT;
    char when[TIME_TEXT];
    const char *dim = colour(TINT_DIM);
    const char *paint = colour_of_item(item);

    time_format((time_t)(item->time_ms / 1000), when);
    if (item->query != history->query)
        printf("%s%s-- query %lld, conversation %.8s --%s\n", history->count > 0 ? "\n" : "",
               or_none(dim), (long long)item->query, item->conversation,
               dim != NULL ? "\033[0m" : "");
    add_who(item, &who);
    add_end(item, &who);
    printf("%s%s #%lld%s %s%s%s", or_none(dim), when, (long long)item->number,
           dim != NULL ? "\033[0m" : "", or_none(paint), who.data, paint != NULL ? "\033[0m" : "");

    struct block block = {.width = (size_t)history->width - INDENT, .before = blanks};
    block.before += sizeof blanks - 1 - INDENT;
    block.colour = item->role == ROLE_THOUGHT ? dim : NULL;
    if (!is_one_line(item->role)) {
        (void)putchar('\n');
        print_pictures(&block, item);
        print_block(&block, item->text, item->len);
        return;
    }
    _cleanup_free_ char *title = title_of(item);
    const char *indent = block.before;
    int used = printf(": ");
    used += snprintf(NULL, 0, "%s #%lld %s", when, (long long)item->number, who.data);
    block.before = "";
    block.next = indent;
    block.first_only = true;
    block.cut = item->role != ROLE_PERMISSION;
    block.width = history->width > used + 20 ? (size_t)(history->width - used) : 20;
    if (title != NULL && title[0] != '\0')
        print_block(&block, title, strlen(title));
    else
        print_block(&block, item->text, item->len);
    if (block.lines == 0)
        (void)putchar('\n');
    print_asked(item, indent, (size_t)history->width - INDENT);
    print_decision(item, indent, (size_t)history->width - INDENT);
}

/* ---- JSON */

/* Writes stored text that should be JSON. It comes from a file that anybody may have written, so it
 * is parsed first; invalid text becomes null. */
static void put_parsed(struct json_out *out, const char *key, const char *text)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    if (text != NULL && json_parse(text, strlen(text), DATA_MAX, &json, &ignored) == 0)
        json_put_node(out, key, json);
    else
        json_put(out, key, NULL);
}

static void put_id(struct json_out *out, const char *key, const char *session, int64_t number)
{
    _cleanup_free_ char *id =
        number != 0 ? mem_printf("%s:%lld", session, (long long)number) : NULL;

    json_put(out, key, id);
}

static void put_message(const struct store_item *item, const struct history *history,
                        struct json_out *out)
{
    /* text from SQLite may contain NULs; this text ends at the first */
    _cleanup_free_ char *text = mem_dupn(item->text, item->len);

    json_open(out, NULL, '{');
    put_id(out, "id", history->session_id, item->number);
    json_put(out, "role", store_role_name(item->role));
    json_put(out, "state", store_state_name(item->state));
    json_put_time(out, "time", item->time_ms);
    json_put_all(out, JT("agent", item->agent), JT("conversation", item->conversation),
                 JI("query", item->query));
    put_id(out, "triggerId", history->session_id, item->trigger);
    json_put_all(out, JT("sender", item->sender), JT("stopReason", item->stop_reason),
                 JT("key", item->key));
    put_parsed(out, "tags", item->tags);
    json_put(out, "text", text);
    put_parsed(out, "data", item->data);
    json_close(out, '}');
}

static void print_json(const struct store_item *item, const struct history *history)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    put_message(item, history, &out);
    if (history->form == HISTORY_JSON && history->count > 0)
        (void)fputs(",\n", stdout);
    (void)fwrite(text.data, 1, text.len, stdout);
    if (history->form == HISTORY_JSONL)
        (void)putchar('\n');
}

/* ---- Markdown */

/* Quotes the messages, so that a heading in one is not a heading of the document. */
static void print_markdown(const struct store_item *item, const struct history *history)
{
    _cleanup_str_ struct str who = STR_INIT;
    struct block block = {.before = "> ",
                          .first_only = is_one_line(item->role) && item->role != ROLE_PERMISSION};
    char when[TIME_TEXT];

    time_format((time_t)(item->time_ms / 1000), when);
    if (item->query != history->query)
        printf("## Query %lld\n\n", (long long)item->query);
    add_who(item, &who);
    add_end(item, &who);
    printf("### %s, %s\n\n", who.data, when);
    print_pictures(&block, item);
    _cleanup_free_ char *title = item->role == ROLE_TOOL ? title_of(item) : NULL;
    if (title != NULL && title[0] != '\0')
        print_block(&block, title, strlen(title));
    else
        print_block(&block, item->text, item->len);
    print_decision(item, "> ", 0);
    (void)putchar('\n');
}

void history_add_head(struct str *to, const char *session, int64_t number, const char *agent,
                      enum store_role role, int64_t time_ms)
{
    const char *dim = colour_dim();
    char when[TIME_TEXT];

    time_format((time_t)(time_ms / 1000), when);
    str_addf(to, "%s%s:%lld  %s %s  %s%s", dim != NULL ? dim : "", session, (long long)number,
             agent, store_role_name(role), when, dim != NULL ? "\033[0m" : "");
}

bool history_print(const struct store_item *item, void *arg)
{
    struct history *history = arg;

    if (history->form == HISTORY_TEXT)
        print_text(item, history);
    else if (history->form == HISTORY_MARKDOWN)
        print_markdown(item, history);
    else
        print_json(item, history);
    history->query = item->query;
    history->count++;
    return ferror(stdout) == 0;
}

/* ---- queries */

static void print_session(const struct json *session)
{
    static const char *const fields[] = {"startedAt", "outcome", "id", "program", "note"};
    _cleanup_str_ struct str line = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const char *text = json_get_text(session, fields[i]);
        if (text == NULL || text[0] == '\0')
            continue;
        str_add(&line, line.len > 0 ? "  " : "    ");
        str_add_visible(&line, text, strlen(text));
    }
    print_line(&line);
}

static void print_query_text(const struct store_query *query)
{
    _cleanup_json_ struct json *sessions = NULL;
    _cleanup_str_ struct str line = STR_INIT;
    struct err ignored = ERR_INIT;
    char started[TIME_TEXT], ended[TIME_TEXT];

    time_format((time_t)(query->started_ms / 1000), started);
    time_format((time_t)(query->ended_ms / 1000), ended);
    str_addf(&line, "query %lld  %.8s/%d  %s  %lld message%s", (long long)query->query,
             query->conversation, query->number, started, (long long)query->messages,
             query->messages == 1 ? "" : "s");
    if (query->mode[0] != '\0') {
        str_add(&line, "  mode ");
        str_add_visible(&line, query->mode, strlen(query->mode));
    }
    if (query->ended_ms != 0) {
        str_addf(&line, "\n    %s  ended: ", ended);
        str_add_visible(&line, query->reason, strlen(query->reason));
    } else if (query->current) {
        str_add(&line, "  current");
    }
    print_line(&line);
    if (json_parse(query->sessions, strlen(query->sessions), DATA_MAX, &sessions, &ignored) == -1)
        return;
    for (const struct json *one = json_first(sessions); one != NULL; one = json_next(one))
        print_session(one);
}

static void print_query_json(const struct store_query *query, const struct history *history)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    json_put_all(&out, JI("query", query->query), JT("conversation", query->conversation),
                 JI("number", query->number), JT("agent", query->agent),
                 JB("current", query->current));
    json_put_time(&out, "startedAt", query->started_ms);
    json_put_time(&out, "endedAt", query->ended_ms);
    json_put_all(&out, JT("reason", query->reason), JT("mode", query->mode),
                 JI("messages", query->messages));
    put_parsed(&out, "agentSessions", query->sessions);
    json_close(&out, '}');
    printf("%s%s", history->count > 0 ? ",\n" : "", text.data);
}

bool history_print_query(const struct store_query *query, void *arg)
{
    struct history *history = arg;

    if (history->form == HISTORY_JSON)
        print_query_json(query, history);
    else
        print_query_text(query);
    history->count++;
    return ferror(stdout) == 0;
}
