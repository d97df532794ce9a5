/*
 * Builds the text of earlier messages for an agent that lost its context. They are read from the
 * newest back, until there is no more room, and cut to whole turns; only if the newest turn alone
 * is too long is a part of it taken. What the last compaction has left comes first. All is quoted,
 * so that nothing in it ends the text or looks like another message.
 */

#include "base/json.h"
#include "base/utf8.h"
#include "memory/store_internal.h"
#include "model/picture.h"

#include <strings.h>

static const char head[] =
    "<earlier_conversation>\nThese are the messages of this conversation from before your restart; "
    "the oldest may be missing. They are background: do not answer them. The user's next message "
    "follows them.\n";
static const char tail[] = "</earlier_conversation>\n";
static const char left_out[] = " [... cut]";
static const char cut_off[] = " [interrupted]";
static const char *const names[] = {"earlier_conversation", "summary_of_earlier_conversation",
                                    "recalled_history", "message"};

enum {
    SUMMARY_SHARE = 4, /* what a compaction has left may take this part of the budget */
    NAME_MAX_CHARS = 200, /* characters of a tool call */
    SENDER_MAX = 32, /* bytes of an agent's id */
};

/* A message to inject. */
struct inject_line {
    int64_t number;
    int64_t turn; /* number of its prompt */
    char *text;
    size_t chars;
};

struct inject_lines {
    const struct store_budget *budget;
    struct inject_line *items; /* newest first */
    size_t count;
};

static void lines_free(struct inject_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->items[i].text);
    free(lines->items);
}

/* Returns true if the text after a '<' could be read as a delimiter of mas. */
static bool is_delimiter(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && (text[i] == '/' || text[i] == ' ' || text[i] == '\t' || text[i] == '\n' ||
                       text[i] == '\r'))
        i++;
    for (size_t n = 0; n < ARRAY_LEN(names); n++) {
        size_t name = strlen(names[n]);
        if (len - i >= name && strncasecmp(text + i, names[n], name) == 0)
            return true;
    }
    return false;
}

void store_quote(struct str *to, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '<' && is_delimiter(text + i + 1, len - i - 1))
            str_add(to, "&lt;");
        else if (text[i] != '\0')
            str_addc(to, text[i]);
    }
}

void store_say_pictures(const struct store_item *item, struct str *to)
{
    struct pictures pictures;

    if (item->role != ROLE_USER)
        return;
    pictures_of(item->data, &pictures);
    pictures_say(&pictures, to);
}

void store_add_pictures(const struct store_item *item, struct str *to)
{
    _cleanup_str_ struct str lines = STR_INIT;

    store_say_pictures(item, &lines);
    store_quote(to, str_text(&lines), lines.len);
}

/* Adds the name of a tool call, without its contents. */
static void add_tool(struct str *to, const char *text, size_t len, const char *data)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;
    const char *title = NULL;

    if (data != NULL && json_parse(data, strlen(data), DB_VALUE_MAX, &json, &ignored) == 0)
        title = json_get_text(json, "title");
    if (title != NULL && title[0] != '\0') {
        text = title;
        len = strlen(title);
    }
    const char *newline = memchr(text, '\n', len);
    if (newline != NULL)
        len = (size_t)(newline - text);
    store_quote(to, text, utf8_bytes(text, len, NAME_MAX_CHARS));
}

static void add_line(struct inject_lines *lines, const struct store_item *item)
{
    _cleanup_str_ struct str text = STR_INIT;
    bool tool = item->role == ROLE_TOOL;

    str_addf(&text, "<message role=\"%s\"", tool ? "tool call" : store_role_name(item->role));
    if (item->role == ROLE_USER && item->sender != NULL && str_is_word(item->sender, SENDER_MAX))
        str_addf(&text, " from=\"agent %s\"", item->sender);
    str_add(&text, ">");
    if (tool) {
        add_tool(&text, item->text, item->len, item->data);
    } else {
        size_t len = utf8_bytes(item->text, item->len, lines->budget->each);
        store_add_pictures(item, &text);
        store_quote(&text, item->text, len);
        str_add(&text, len < item->len ? left_out : "");
    }
    str_add(&text, item->state == MESSAGE_INTERRUPTED ? cut_off : "");
    str_add(&text, "</message>\n");
    size_t chars = utf8_count(text.data, text.len);
    lines->items = mem_room(lines->items, lines->count, sizeof *lines->items);
    lines->items[lines->count++] =
        (struct inject_line){.number = item->number,
                             .turn = item->trigger != 0 ? item->trigger : item->number,
                             .chars = chars,
                             .text = str_steal(&text)};
}

/* Lists what the model saw or said: user, agent, tool; not prompts that were cleared unseen. Turn
 * by turn: an answer follows its prompt, even if other prompts had arrived before it. */
static int list_back(struct store *store, int64_t query, int64_t before, int64_t since, size_t most,
                     struct store_numbers *ret, struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT id, iif(trigger = 0, id, trigger) AS turn FROM message"
                 " WHERE query = ?1 AND turn < ?2 AND turn >= ?3 AND role IN (0, 1, 3)"
                 " AND coalesce(stop_reason, '') NOT IN ('cleared', 'not asked')"
                 " ORDER BY turn DESC, id DESC LIMIT ?4",
                 "iiii", query, before, since, (int64_t)most);
    return store_list(store, s, ret, err);
}

/* Reads one step back from `before`. One message more than fits shows where a turn begins. */
static int read_back(struct store *store, int64_t query, int64_t before, struct inject_lines *lines,
                     struct err *err)
{
    _cleanup_numbers_ struct store_numbers numbers = {.count = 0};
    size_t room = lines->budget->messages > 0 ? (size_t)lines->budget->messages : 0;
    size_t chars = 0;
    int rc = 1;

    if (list_back(store, query, before, lines->budget->since, room + 1, &numbers, err) == -1)
        return -1;
    sqlite3_stmt *s = db_prepare(
        store->db, "SELECT id, role, state, trigger, text, data, sender FROM message WHERE id = ?1",
        err);
    if (s == NULL)
        return -1;
    for (size_t i = 0; i < numbers.count && chars <= lines->budget->all && rc == 1; i++) {
        db_bind(s, "i", numbers.items[i]);
        rc = db_step(store->db, s, err);
        if (rc != 1)
            break;
        struct store_item item = {.number = sqlite3_column_int64(s, 0),
                                  .role = (enum store_role)sqlite3_column_int(s, 1),
                                  .state = (enum store_state)sqlite3_column_int(s, 2),
                                  .trigger = sqlite3_column_int64(s, 3),
                                  .text = db_text(s, 4),
                                  .len = db_len(s, 4),
                                  .data = db_text_null(s, 5),
                                  .sender = db_text_null(s, 6)};
        add_line(lines, &item);
        chars += lines->items[lines->count - 1].chars;
        db_reset(s);
    }
    return rc == -1 ? -1 : 0;
}

/* Returns how many lines to use: complete turns, or the newest part of the newest turn if that
 * alone is too long. */
static size_t choose(const struct inject_lines *lines)
{
    size_t room = lines->budget->messages > 0 ? (size_t)lines->budget->messages : 0;
    size_t frame = sizeof head + sizeof tail;
    size_t left = lines->budget->all > frame ? lines->budget->all - frame : 0;
    size_t whole = 0; /* lines that form complete turns */
    size_t i = 0;

    for (; i < lines->count && i < room && lines->items[i].chars <= left; i++) {
        left -= lines->items[i].chars;
        if (i + 1 == lines->count || lines->items[i + 1].turn != lines->items[i].turn)
            whole = i + 1;
    }
    return whole > 0 ? whole : i;
}

/* Reads what the last compaction before `before` has left. *ret_since is the turn in which it
 * was. */
static int read_compaction(struct store *store, int64_t query, int64_t before,
                           const struct store_budget *budget, struct str *ret, int64_t *ret_since,
                           struct err *err)
{
    _cleanup_reset_ sqlite3_stmt *s =
        db_query(store->db, err,
                 "SELECT iif(trigger = 0, id, trigger), text FROM message WHERE query = ?1"
                 " AND id < ?2 AND role = 7 AND key = '" STORE_COMPACTION "'"
                 " ORDER BY id DESC LIMIT 1",
                 "ii", query, before);
    int rc = db_step(store->db, s, err);
    if (rc == 1) {
        *ret_since = sqlite3_column_int64(s, 0);
        str_add(ret, "<message role=\"summary\">");
        store_quote(ret, db_text(s, 1),
                    utf8_bytes(db_text(s, 1), db_len(s, 1), budget->all / SUMMARY_SHARE));
        str_add(ret, "</message>\n");
    }
    return rc == -1 ? -1 : 0;
}

int store_injection(struct store *store, int64_t query, int64_t before,
                    const struct store_budget *budget, struct str *ret, struct err *err)
{
    struct store_budget rest = *budget;
    struct inject_lines lines = {.budget = &rest};
    _cleanup_str_ struct str summary = STR_INIT;

    if (budget->since == 0 &&
        read_compaction(store, query, before, budget, &summary, &rest.since, err) == -1)
        return -1;
    rest.all -= summary.len < rest.all ? summary.len : rest.all;
    int rc = read_back(store, query, before, &lines, err);
    size_t count = rc == 0 ? choose(&lines) : 0;
    if (count > 0) {
        str_add(ret, head);
        str_add(ret, str_text(&summary));
        for (size_t i = count; i > 0; i--)
            str_add(ret, lines.items[i - 1].text);
        str_add(ret, tail);
    }
    lines_free(&lines);
    return rc;
}

int store_cut_off(struct store *store, int64_t query, int64_t before, int64_t *ret, struct err *err)
{
    /* The agent knows a cancelled prompt, or never saw it: it starts nothing, and tells nothing
     * about those before it. */
    return db_number(store->db, 0, ret, err,
                     "SELECT min(id) FROM message WHERE query = ?1 AND role = 0 AND id < ?2"
                     " AND coalesce(stop_reason, '') IN ('', 'failed', 'stopped')"
                     " AND id > coalesce((SELECT max(id) FROM message WHERE query = ?1"
                     " AND role = 0 AND id < ?2 AND coalesce(stop_reason, '')"
                     " NOT IN ('', 'failed', 'stopped', 'cancelled', 'cleared', 'not asked')), 0)",
                     "ii", query, before);
}
