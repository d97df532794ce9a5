#include "core/index.h"

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/time.h"
#include "core/snapshot.h"
#include "core/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char head[] = "{\"version\":\"1.0\",\n\"sessions\":[\n";
static const char tail[] = "],\n\"lastUpdated\":\"";
static const char tail_end[] = "\"}\n";

/* The members of a row in the order in which they are written. */
enum member {
    M_ID,
    M_TMUX,
    M_STATUS,
    M_CREATED,
    M_ACTIVITY,
    M_DIR,
    M_MODE,
    M_NAME,
    M_TEMPLATE,
    M_N
};
static const char *const members[M_N] = {"sessionId", "tmuxSession",  "status",
                                         "createdAt", "lastActivity", "workingDir",
                                         "mode",      "name",         "template"};

static void put_row(const struct root *root, const struct session *session, struct str *to)
{
    char created[TIME_TEXT];
    char activity[TIME_TEXT];
    struct json_out out = {.to = to};
    _cleanup_free_ char *dir = workspace_path(root, session->id, NULL);

    time_format(session->created, created);
    time_format(session->activity, activity);
    const char *values[M_N] = {session->id,
                               session->tmux_name,
                               status_name(session->status),
                               created,
                               activity,
                               dir,
                               mode_name(session->mode),
                               session->name,
                               session->template};
    json_open(&out, NULL, '{');
    for (size_t i = 0; i < M_N; i++)
        json_put(&out, members[i], values[i]);
    json_close(&out, '}');
}

static void put_tail(struct str *to)
{
    char now[TIME_TEXT];
    time_format(time(NULL), now);
    str_addf(to, "%s%s%s", tail, now, tail_end);
}

/* The mode of a session whose .session cannot be read, by what it has: a legacy one has a team, but
 * no directories for it. */
static enum mode guess_mode(int dir)
{
    return faccessat(dir, WORKSPACE_CONFIG, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                   faccessat(dir, WORKSPACE_UNIT, F_OK, AT_SYMLINK_NOFOLLOW) == -1 &&
                   errno == ENOENT
               ? MODE_LEGACY
               : MODE_ISOLATED;
}

/* What is known of a session whose .session cannot be read: its id, and that it is damaged. */
static void damaged_session(int dir, const char *id, const struct err *why, struct session *ret)
{
    struct stat st;
    *ret = (struct session){.tmux_name = session_tmux_name(id, 8),
                            .tmux_socket = mem_dup("/"),
                            .name = mem_dup(""),
                            .template = mem_dup(""),
                            .error = mem_dup(why->text),
                            .mode = guess_mode(dir),
                            .status = STATUS_ERROR,
                            .created = fstat(dir, &st) == 0 ? st.st_mtim.tv_sec : 0};
    memcpy(ret->id, id, ID_TEXT);
    ret->activity = ret->created;
}

/* Loads the session of a directory entry; false where the entry is none. */
static bool load_entry(const struct root *root, const char *name, struct session *ret)
{
    struct err why = ERR_INIT;
    if (!id_is_valid(name))
        return false;
    _cleanup_close_ int dir = workspace_open(root, name);
    if (dir == -1)
        return false;
    if (session_load(root, dir, name, ret, &why) == -1)
        damaged_session(dir, name, &why, ret);
    return true;
}

/* Cuts `"key":"value"` off *p where it stands there exactly so. The line has no escapes. */
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

static bool set_row(struct row *row, const char *const values[M_N])
{
    time_t t;
    *row = (struct row){.id = values[M_ID],
                        .tmux_name = values[M_TMUX],
                        .created = values[M_CREATED],
                        .activity = values[M_ACTIVITY],
                        .name = values[M_NAME],
                        .template = values[M_TEMPLATE]};
    return id_is_valid(row->id) && status_parse(values[M_STATUS], &row->status) &&
           mode_parse(values[M_MODE], &row->mode) && time_parse(row->created, &t) &&
           time_parse(row->activity, &t);
}

static char *keep(struct index *index, const char *text)
{
    index->copies = mem_room(index->copies, index->copy_count, sizeof *index->copies);
    return index->copies[index->copy_count++] = mem_dup(text);
}

/* The long way, for a line with escapes in it. */
static bool parse_row(struct index *index, const char *line, size_t len, struct row *row)
{
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;
    const char *values[M_N];

    if (json_parse(line, len, len, &json, &ignored) == -1)
        return false;
    for (size_t i = 0; i < M_N; i++) {
        const char *text = json_get_text(json, members[i]);
        if (text == NULL)
            return false;
        values[i] = keep(index, text);
    }
    return set_row(row, values);
}

/* The short way: cuts up the line. */
static bool cut_row(char *line, struct row *row)
{
    const char *values[M_N];
    char *p = line;

    for (size_t i = 0; i < M_N; i++) {
        if (*p != (i == 0 ? '{' : ','))
            return false;
        p++;
        values[i] = cut_member(&p, members[i]);
        if (values[i] == NULL)
            return false;
    }
    return strcmp(p, "}") == 0 && set_row(row, values);
}

/* One line without its newline and comma. */
static bool read_row(struct index *index, char *line, size_t len)
{
    struct row row;
    bool plain = memchr(line, '\\', len) == NULL && strlen(line) == len;

    if (plain ? !cut_row(line, &row) : !parse_row(index, line, len, &row))
        return false;
    index->rows = mem_room(index->rows, index->count, sizeof row);
    index->rows[index->count++] = row;
    return true;
}

/* Steps through the lines between head and tail of a whole index file. Returns the start of the
 * next line and its length without comma and newline; NULL at the end or (with *ret_bad) where the
 * file is not as it should be. */
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

/* true if what follows the rows is the tail and nothing else. */
static bool is_tail(const char *at)
{
    char stamp[TIME_TEXT];
    time_t t;
    if (!str_starts(at, tail) || strlen(at) != strlen(tail) + TIME_TEXT - 1 + strlen(tail_end))
        return false;
    memcpy(stamp, at + strlen(tail), TIME_TEXT - 1);
    stamp[TIME_TEXT - 1] = '\0';
    return time_parse(stamp, &t) && strcmp(at + strlen(tail) + TIME_TEXT - 1, tail_end) == 0;
}

static bool cut_up(struct index *index, size_t len)
{
    char *at = index->text;
    const char *end = at + len;
    bool bad = false;
    size_t line_len;

    if (!str_starts(at, head))
        return false;
    at += strlen(head);
    for (;;) {
        const char *next = next_line(at, end, &line_len, &bad);
        if (next == NULL)
            return !bad && is_tail(at);
        at[line_len] = '\0';
        if (!read_row(index, at, line_len))
            return false;
        at += next - at;
    }
}

/* The names in sessions/. */
static int list_sessions(const struct root *root, char ***ret, struct err *err)
{
    if (path_list(root->sessions, ret, err) == -1)
        return err_wrap(err, "cannot list '%s/%s'", root->path, ROOT_SESSIONS);
    return 0;
}

/* A set of sessions. */
struct ids {
    const char *const *sorted;
    size_t count;
};

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* `ids` NULL is the empty set. */
static bool holds_id(const struct ids *ids, const char *id)
{
    return ids != NULL &&
           bsearch(&id, ids->sorted, ids->count, sizeof *ids->sorted, compare_ids) != NULL;
}

/* Loads every workspace but those of `without` into rows of an empty index, or into the text of a
 * new index file. */
static int scan(const struct root *root, const struct ids *without, struct index *index,
                struct str *text, struct err *err)
{
    _cleanup_strv_ char **names = NULL;

    if (list_sessions(root, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_session_ struct session session = SESSION_INIT;
        _cleanup_str_ struct str line = STR_INIT;
        if (holds_id(without, *name) || !load_entry(root, *name, &session))
            continue;
        put_row(root, &session, &line);
        if (text != NULL)
            str_addf(text, "%s%s", text->len > strlen(head) ? ",\n" : "", line.data);
        if (index != NULL)
            (void)read_row(index, keep(index, line.data), line.len);
    }
    return 0;
}

static int rebuild(const struct root *root, const struct ids *without, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, head);
    if (scan(root, without, NULL, &text, err) == -1)
        return -1;
    if (text.len > strlen(head))
        str_addc(&text, '\n');
    put_tail(&text);
    return file_replace(root->sessions, INDEX_FILE, text.data, text.len, 0600, err);
}

int index_rebuild(const struct root *root, struct err *err)
{
    return rebuild(root, NULL, err);
}

bool index_add_unlisted(const struct root *root, struct index *index, const char *id)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_str_ struct str line = STR_INIT;

    if (!load_entry(root, id, &session))
        return false;
    put_row(root, &session, &line);
    if (!read_row(index, keep(index, line.data), line.len))
        return false;
    index->rows[index->count - 1].unlisted = true;
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *const *x = a;
    const struct row *const *y = b;
    return strcmp((*x)->id, (*y)->id);
}

/* The rows of an index, sorted by id; NULL where an id is there twice. The caller frees. */
static const struct row **sort_rows(const struct index *index)
{
    const struct row **sorted = mem_alloc((index->count + 1) * sizeof *sorted);

    for (size_t i = 0; i < index->count; i++)
        sorted[i] = &index->rows[i];
    qsort(sorted, index->count, sizeof(const struct row *), compare_rows);
    for (size_t i = 1; i < index->count; i++)
        if (strcmp(sorted[i - 1]->id, sorted[i]->id) == 0) {
            free(sorted);
            return NULL;
        }
    return sorted;
}

/* Sets `missing` and adds what is `unlisted`. 1: an id is there twice. */
static int reconcile(const struct root *root, struct index *index, struct err *err)
{
    size_t listed = index->count;
    _cleanup_strv_ char **names = NULL;

    if (list_sessions(root, &names, err) == -1)
        return -1;
    const struct row **sorted = sort_rows(index);
    if (sorted == NULL)
        return 1;
    for (size_t i = 0; i < listed; i++)
        index->rows[i].missing = true;
    size_t kept = 0; /* names that are not in the index move to the front */
    for (size_t i = 0; names[i] != NULL; i++) {
        const struct row key = {.id = names[i]};
        const struct row *key_at = &key;
        const struct row **at =
            bsearch(&key_at, sorted, listed, sizeof(const struct row *), compare_rows);
        if (at != NULL) {
            index->rows[*at - index->rows].missing = false;
        } else {
            char *name = names[i];
            names[i] = names[kept];
            names[kept++] = name;
        }
    }
    free(sorted);
    for (size_t i = 0; i < kept; i++)
        (void)index_add_unlisted(root, index, names[i]);
    return 0;
}

/* A directory counts its subdirectories as links (btrfs does not: 1), so this costs one fstat. */
static bool looks_stale(const struct root *root, size_t rows)
{
    struct stat st;
    size_t known =
        fstatat(root->sessions, SNAPSHOTS_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
            ? 3
            : 2;
    return fstat(root->sessions, &st) == 0 && (st.st_nlink < known || st.st_nlink - known != rows);
}

/* Fills an empty index from the file. 1: it cannot be used, *ret_why (may be NULL: it is missing)
 * says why. */
static int read_file(const struct root *root, bool thorough, struct index *index,
                     const char **ret_why, struct err *err)
{
    struct err why = ERR_INIT;
    size_t len = 0;

    *ret_why = NULL;
    if (file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &index->text, &len, &why) == -1) {
        if (errno != ENOENT)
            *ret_why = "it cannot be read";
        return 1;
    }
    *ret_why = "it is damaged";
    if (!cut_up(index, len))
        return 1;
    return thorough || looks_stale(root, index->count) ? reconcile(root, index, err) : 0;
}

int index_read(const struct root *root, bool thorough, struct index *ret, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err ignored = ERR_INIT;
    const char *why = NULL;

    int rc = read_file(root, thorough, &index, &why, err);
    if (rc == 1) {
        _cleanup_close_ int lock = -1;
        index_free(&index);
        rc = scan(root, NULL, &index, NULL, err);
        if (why != NULL)
            index.broken = mem_dup(why);
        if (rc == 0 && (index.count > 0 || why != NULL) && root_lock(root, &lock, &ignored) == 0)
            (void)index_rebuild(root, &ignored);
    }
    if (rc == -1)
        return -1;
    *ret = index;
    index = (struct index)INDEX_INIT;
    return 0;
}

void index_free(struct index *index)
{
    for (size_t i = 0; i < index->copy_count; i++)
        free(index->copies[i]);
    free(index->copies);
    free(index->text);
    free(index->rows);
    free(index->broken);
    *index = (struct index)INDEX_INIT;
}

/* A quote inside a value is escaped, so this text stands only where the member itself does. */
static bool holds(const char *text, size_t len, enum member member, const char *value)
{
    _cleanup_str_ struct str key = STR_INIT;
    struct json_out out = {.to = &key};
    if (value == NULL)
        return false;
    json_put(&out, members[member], value);
    return memmem(text, len, key.data, key.len) != NULL;
}

/* true if the file lists every workspace, and each once. */
static bool is_whole(const struct root *root)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err ignored = ERR_INIT;
    const char *why;

    if (read_file(root, true, &index, &why, &ignored) != 0)
        return false;
    for (size_t i = 0; i < index.count; i++)
        if (index.rows[i].unlisted)
            return false;
    return true;
}

/* The file's text, made anew where it is no good. ret_others: see struct index_facts. */
static int read_whole(const struct root *root, size_t staged, char **ret, size_t *ret_len,
                      bool *ret_others, struct err *err)
{
    enum { AROUND = 4 }; /* lines of head and tail */
    bool tried = false;

    for (;;) {
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        size_t lines = 0;
        bool good = file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &text, &len, err) == 0 &&
                    str_starts(text, head);
        for (const char *p = text; good && (p = memchr(p, '\n', len - (size_t)(p - text))) != NULL;
             p++)
            lines++;
        good = good && lines >= AROUND;
        bool others = good && looks_stale(root, lines - AROUND + staged);
        if (good && (tried || !others || is_whole(root))) {
            *ret = text;
            text = NULL;
            *ret_len = len;
            *ret_others = others;
            return 0;
        }
        if (tried || index_rebuild(root, err) == -1)
            return -1;
        tried = true;
    }
}

int index_ask(const struct root *root, const char *tmux_name, const char *name, size_t staged,
              struct index_facts *ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    *ret = (struct index_facts){.others = false};
    if (read_whole(root, staged, &text, &len, &ret->others, err) == -1)
        return -1;
    ret->tmux_name_taken = holds(text, len, M_TMUX, tmux_name);
    ret->name_taken = holds(text, len, M_NAME, name);
    return 0;
}

static void add_separator(struct str *to)
{
    if (to->len > strlen(head))
        str_addn(to, ",\n", 2);
}

/* The id in a line as put_row() writes it; false for any other line. */
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

/* Copies all lines behind what is in *to, but for those of the `ids`: `row` stands in the place of
 * the first of these, or at the end (NULL: nowhere). false where the file is no good. */
static bool copy_lines(const char *text, size_t len, const struct ids *ids, const struct str *row,
                       struct str *to)
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
        bool is_it = holds_id(ids, id);
        if (!is_it || !put) {
            add_separator(to);
            str_addn(to, is_it ? row->data : at, is_it ? row->len : line_len);
            put = put || is_it;
        }
        at = next;
    }
    if (!put) {
        add_separator(to);
        str_addn(to, row->data, row->len);
    }
    return !bad && is_tail(at);
}

/* Writes the file with the rows of `ids` replaced by `row` (NULL: by nothing). */
static int change_rows(const struct root *root, const struct ids *ids, const struct str *row,
                       struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str to = STR_INIT;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    bool there = file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &text, &len, &ignored) == 0;
    str_reserve(&to, len + (row != NULL ? row->len : 0) + 4096);
    str_add(&to, head);
    if (!there || !copy_lines(text, len, ids, row, &to))
        return rebuild(root, row == NULL ? ids : NULL, err);
    if (to.len > strlen(head))
        str_addc(&to, '\n');
    put_tail(&to);
    if (file_replace(root->sessions, INDEX_FILE, to.data, to.len, 0600, err) == 0)
        return 0;
    /* On a full disk the file goes, to be made anew some day: what is removed makes room. */
    bool full = row == NULL && (errno == ENOSPC || errno == EDQUOT);
    return full && unlinkat(root->sessions, INDEX_FILE, 0) == 0 ? 0 : -1;
}

int index_update(const struct root *root, const char *id, const struct session *session,
                 struct err *err)
{
    const struct ids ids = {.sorted = &id, .count = 1};
    _cleanup_str_ struct str row = STR_INIT;

    if (session != NULL)
        put_row(root, session, &row);
    return change_rows(root, &ids, session != NULL ? &row : NULL, err);
}

int index_remove(const struct root *root, const char *const *ids, size_t count, struct err *err)
{
    const char **sorted = mem_alloc((count + 1) * sizeof *sorted);

    for (size_t i = 0; i < count; i++)
        sorted[i] = ids[i];
    qsort(sorted, count, sizeof *sorted, compare_ids);
    int rc = change_rows(root, &(struct ids){.sorted = sorted, .count = count}, NULL, err);
    free(sorted);
    return rc;
}
