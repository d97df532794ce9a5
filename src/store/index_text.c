/*
 * The part of store/index.h that knows the format of the file. A line of mas is cut up in place, or
 * copied unread; one with escapes is parsed as JSON, and its texts are kept apart. Quotes within
 * values are escaped, so whether a member has a value can be told by a search for its bytes.
 * Anything that is not exactly so makes the index broken.
 */

#include "store/index_internal.h"

#include "base/json.h"
#include "base/time.h"
#include "store/workspace.h"

static const char head[] = "{\"version\":\"1.0\",\n\"sessions\":[\n";
static const char tail[] = "],\n\"lastUpdated\":\"";
static const char tail_end[] = "\"}\n";

static const char *const members[INDEX_N] = {"sessionId",    "tmuxSession", "status",  "createdAt",
                                             "lastActivity", "workingDir",  "mode",    "name",
                                             "template",     "private",     "metadata"};

void index_put_row(const struct root *root, const struct session *session, const char *stamp,
                   struct str *to)
{
    char created[TIME_TEXT];
    char activity[TIME_TEXT];
    struct json_out out = {.to = to};
    _cleanup_free_ char *dir = workspace_path(root, session->id, NULL);
    _cleanup_str_ struct str origin = STR_INIT;

    if (session->moved_to == NULL || session->moved_to[0] == '\0')
        str_add(&origin, stamp);
    if (origin.len > 0 && session->machine != NULL && session->machine[0] != '\0')
        str_addf(&origin, "@%s", session->machine);
    time_format(session->created, created);
    time_format(session->activity, activity);
    const char *values[INDEX_N] = {session->id,
                                   session->tmux_name,
                                   status_name(session->status),
                                   created,
                                   activity,
                                   dir,
                                   mode_name(session->mode),
                                   session->name,
                                   session->template,
                                   session->private ? "yes" : "no",
                                   str_text(&origin)};
    json_open(&out, NULL, '{');
    for (size_t i = 0; i < INDEX_N; i++)
        json_put(&out, members[i], values[i]);
    json_close(&out, '}');
}

void index_begin(struct str *to)
{
    str_add(to, head);
}

void index_end(struct str *to)
{
    char now[TIME_TEXT];

    if (to->len > strlen(head))
        str_addc(to, '\n');
    time_format(time(NULL), now);
    str_addf(to, "%s%s%s", tail, now, tail_end);
}

/* Cuts `"key":"value"` off *p if it is exactly there. The line contains no escapes. */
static char *cut_member(char **p, const char *key)
{
    size_t len = strlen(key);
    char *at = *p;
    if (at[0] != '"' || strncmp(at + 1, key, len) != 0 || strncmp(at + 1 + len, "\":\"", 3) != 0)
        return NULL;
    char *value = at + len + 4;
    char *end = strchr(value, '"');
    if (end == NULL)
        return NULL;
    *end = '\0';
    *p = end + 1;
    return value;
}

static bool set_row(struct row *row, const char *const values[INDEX_N])
{
    time_t t;
    *row = (struct row){.id = values[INDEX_ID],
                        .tmux_name = values[INDEX_TMUX],
                        .created = values[INDEX_CREATED],
                        .activity = values[INDEX_ACTIVITY],
                        .name = values[INDEX_NAME],
                        .template = values[INDEX_TEMPLATE],
                        .private = strcmp(values[INDEX_PRIVATE], "yes") == 0,
                        .stamp = values[INDEX_STAMP]};
    return id_is_valid(row->id) &&
           VALUE_PARSE(&status_type, values[INDEX_STATUS], &row->status) == NULL &&
           VALUE_PARSE(&mode_type, values[INDEX_MODE], &row->mode) == NULL &&
           time_parse(row->created, &t) && time_parse(row->activity, &t);
}

char *index_keep(struct index *index, const char *text)
{
    index->copies = mem_room(index->copies, index->copy_count, sizeof *index->copies);
    return index->copies[index->copy_count++] = mem_dup(text);
}

/* Parses a line that contains escapes, with the JSON parser. */
static bool parse_row(struct index *index, const char *line, size_t len, struct row *row)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;
    const char *values[INDEX_N];

    if (json_parse(line, len, len, &json, &ignored) == -1)
        return false;
    for (size_t i = 0; i < INDEX_N; i++) {
        const char *text = json_get_text_or(json, members[i], i >= INDEX_PRIVATE ? "" : NULL);
        if (text == NULL)
            return false;
        values[i] = index_keep(index, text);
    }
    return set_row(row, values);
}

/* Splits a line without escapes in place. */
static bool cut_row(char *line, struct row *row)
{
    const char *values[INDEX_N];
    char *p = line;

    for (size_t i = INDEX_PRIVATE; i < INDEX_N; i++)
        values[i] = "";
    for (size_t i = 0; i < INDEX_N && (i < INDEX_PRIVATE || *p == ','); i++) {
        if (*p != (i == 0 ? '{' : ','))
            return false;
        p++;
        values[i] = cut_member(&p, members[i]);
        if (values[i] == NULL)
            return false;
    }
    return strcmp(p, "}") == 0 && set_row(row, values);
}

bool index_read_row(struct index *index, char *line, size_t len)
{
    struct row row;
    bool plain = memchr(line, '\\', len) == NULL && strlen(line) == len;

    if (plain ? !cut_row(line, &row) : !parse_row(index, line, len, &row))
        return false;
    index->rows = mem_room(index->rows, index->count, sizeof row);
    index->rows[index->count++] = row;
    return true;
}

/* Steps through the lines between head and tail of a complete index file. Returns the start of the
 * next line and its length without comma and newline; NULL at the end or, with *ret_bad set, if the
 * file is invalid. */
static const char *next_line(const char *at, const char *end, size_t *ret_len, bool *ret_bad)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *ret_bad = newline == NULL;
    if (newline == NULL || str_starts(at, "],"))
        return NULL;
    *ret_len = (size_t)(newline - at);
    if (*ret_len > 0 && newline[-1] == ',')
        (*ret_len)--;
    *ret_bad = *ret_len < 2;
    return *ret_bad ? NULL : newline + 1;
}

/* Returns true if the rows are followed by the tail and nothing else. */
bool index_is_tail(const char *at, const char *end)
{
    const size_t len = strlen(tail) + TIME_TEXT - 1 + strlen(tail_end);
    char stamp[TIME_TEXT];
    time_t t;
    if (!str_starts(at, tail) || (size_t)(end - at) != len)
        return false;
    memcpy(stamp, at + strlen(tail), TIME_TEXT - 1);
    stamp[TIME_TEXT - 1] = '\0';
    return time_parse(stamp, &t) && strcmp(at + strlen(tail) + TIME_TEXT - 1, tail_end) == 0;
}

char *index_after_head(char *text)
{
    return str_starts(text, head) ? text + strlen(head) : NULL;
}

bool index_cut_up(struct index *index, size_t len)
{
    char *at = index_after_head(index->text);
    const char *end = index->text + len;
    bool bad = false;
    size_t line_len;

    if (at == NULL)
        return false;
    for (;;) {
        const char *next = next_line(at, end, &line_len, &bad);
        if (next == NULL)
            return !bad && index_is_tail(at, end);
        at[line_len] = '\0';
        if (!index_read_row(index, at, line_len))
            return false;
        at += next - at;
    }
}

int index_compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool index_has_id(const struct index_ids *ids, const char *id)
{
    return ids != NULL && ids->count > 0 &&
           bsearch(&id, ids->sorted, ids->count, sizeof *ids->sorted, index_compare_ids) != NULL;
}

/* A quote inside a value is escaped, so this text appears only as the member itself. */
bool index_holds(const char *text, size_t len, enum index_member member, const char *value)
{
    _cleanup_str_ struct str key = STR_INIT;
    struct json_out out = {.to = &key};
    if (value == NULL)
        return false;
    json_put(&out, members[member], value);
    return memmem(text, len, key.data, key.len) != NULL;
}

void index_add_line(struct str *to, const char *line, size_t len)
{
    if (to->len > strlen(head))
        str_addn(to, ",\n", 2);
    str_addn(to, line, len);
}

bool index_count_rows(const char *text, size_t len, size_t *ret)
{
    enum { AROUND = 4 }; /* lines of the head and the tail */
    size_t lines = 0;

    if (!str_starts(text, head))
        return false;
    for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))) != NULL; p++)
        lines++;
    if (lines < AROUND)
        return false;
    *ret = lines - AROUND;
    return true;
}

/* Reads the id from a line in the format of index_put_row(); false for any other line. */
static bool read_line_id(const char *line, size_t len, char ret[ID_TEXT])
{
    static const char start[] = "{\"sessionId\":\"";
    size_t at = strlen(start);

    if (len < at + ID_TEXT || !str_starts(line, start) || line[at + ID_TEXT - 1] != '"' ||
        line[len - 1] != '}')
        return false;
    memcpy(ret, line + at, ID_TEXT - 1);
    ret[ID_TEXT - 1] = '\0';
    return true;
}

/* Returns true for the line of a stopped session that has none of the servers. */
static bool is_at_rest(const struct index_ids *servers, char *line, size_t len)
{
    static const char name[] = "\",\"tmuxSession\":\"";
    static const char stopped[] = ",\"status\":\"stopped\",\"";
    char id[ID_TEXT];

    if (!read_line_id(line, len, id))
        return false;
    char *at = (char *)memchr(line, ':', len) + 1 + ID_TEXT; /* the quote after the id */
    char *end = memchr(at + strlen(name), '"', len - (size_t)(at - line) - strlen(name));
    if (!str_starts(at, name) || end == NULL || !str_starts(end + 1, stopped))
        return false;
    *end = '\0';
    bool has = index_has_id(servers, at + strlen(name));
    *end = '"';
    return !has;
}

char *index_cut_running(struct index *index, const struct index_ids *servers, char *text,
                        size_t len)
{
    const char *end = text + len;
    const char *next;
    size_t line_len;
    bool bad;

    while ((next = next_line(text, end, &line_len, &bad)) != NULL) {
        if (is_at_rest(servers, text, line_len)) {
            index->left_out++;
        } else {
            text[line_len] = '\0';
            if (!index_read_row(index, index_keep(index, text), line_len))
                break;
        }
        text += next - text;
    }
    return text;
}

bool index_copy_lines(const char *text, size_t len, const struct index_ids *ids,
                      const struct str *row, struct str *to)
{
    const char *at = text + strlen(head);
    const char *end = text + len;
    bool bad = false;
    bool put = row == NULL;
    const char *next;
    size_t line_len;
    char id[ID_TEXT];

    if (!str_starts(text, head))
        return false;
    while ((next = next_line(at, end, &line_len, &bad)) != NULL) {
        if (!read_line_id(at, line_len, id))
            return false;
        bool is_it = index_has_id(ids, id);
        if (!is_it || !put) {
            index_add_line(to, is_it ? row->data : at, is_it ? row->len : line_len);
            put = put || is_it;
        }
        at = next;
    }
    if (!put)
        index_add_line(to, row->data, row->len);
    return !bad && index_is_tail(at, end);
}
