/*
 * Readers take no lock. If the file is of no use, they make the rows from the workspaces, and write
 * them only if the metadata lock is free. A writer, which holds that lock, copies the lines of the
 * file with its own changed and renames the copy into place; if it is killed, the old file stays.
 * Each row has a stamp of its .session, by which a row that is older than its session can be told.
 */

#include "store/index_internal.h"

#include "base/number.h"
#include "os/file.h"
#include "os/path.h"
#include "store/mark.h"
#include "store/placement.h"
#include "store/snapshot.h"
#include "store/tmux_place.h"
#include "store/workspace.h"

/* Describes a session whose .session is unreadable: its id, and that it is damaged. */
static void damaged_session(int dir, const char *id, const struct err *why, struct session *ret)
{
    struct stat st;
    *ret = (struct session){.tmux_name = session_tmux_name(id, 8),
                            .tmux_socket = mem_dup("/"),
                            .name = mem_dup(""),
                            .template = mem_dup(""),
                            .error = mem_dup(why->text),
                            .mode = placement_detect(dir),
                            .status = STATUS_ERROR,
                            .created = fstat(dir, &st) == 0 ? st.st_mtim.tv_sec : 0};
    memcpy(ret->id, id, ID_TEXT);
    ret->activity = ret->created;
}

/* Identifies a version of .session by properties that survive a copy: "<time>:<size>"; "" if they
 * are unknown. In a row, NO_CODE follows if there is no WORKSPACE_CODE_GIT, which only new and
 * restore make; and "@<machine>". */
enum { STAMP_TEXT = 64 };
#define NO_CODE '-'

/* Returns false if a workspace does not have this. */
static bool look_at(const struct root *root, const char *id, const char *what, struct stat *ret)
{
    char name[ID_TEXT + 32];

    memcpy(name, id, ID_TEXT - 1);
    name[ID_TEXT - 1] = '/';
    memcpy(name + ID_TEXT, what, strlen(what) + 1);
    return fstatat(root->sessions, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

static void read_stamp(const struct root *root, const char *id, char ret[STAMP_TEXT])
{
    struct stat st;

    ret[0] = '\0';
    if (!look_at(root, id, WORKSPACE_SESSION, &st) || !S_ISREG(st.st_mode))
        return;
    char text[STAMP_TEXT];
    char *end = text + sizeof text;
    bool is_old = st.st_mtim.tv_sec < 0; /* before 1970 */
    *--end = '\0';
    end = number_put(end, (uint64_t)st.st_size, 0);
    *--end = ':';
    end = number_put(end, (uint64_t)st.st_mtim.tv_nsec, 9);
    *--end = '.';
    end = number_put(end, is_old ? -(uint64_t)st.st_mtim.tv_sec : (uint64_t)st.st_mtim.tv_sec, 0);
    if (is_old)
        *--end = '-';
    memcpy(ret, end, (size_t)(text + sizeof text - end));
}

/* The same for a row that is to be written. */
static void make_stamp(const struct root *root, const char *id, char ret[STAMP_TEXT])
{
    struct stat st;

    read_stamp(root, id, ret);
    size_t len = strlen(ret);
    if (len > 0 && !look_at(root, id, WORKSPACE_CODE_GIT, &st) && errno == ENOENT)
        memcpy(ret + len, (char[]){NO_CODE, '\0'}, 2);
}

bool index_is_current(const struct root *root, const struct row *row)
{
    char now[STAMP_TEXT];

    read_stamp(root, row->id, now);
    size_t len = strlen(now);
    const char *rest = row->stamp + len;
    return len > 0 && strncmp(now, row->stamp, len) == 0 &&
           (*rest == '\0' || *rest == '@' || *rest == NO_CODE);
}

bool index_has_no_code(const struct row *row)
{
    const char *size = strchr(row->stamp, ':');
    return size != NULL && size[1 + strspn(size + 1, "0123456789")] == NO_CODE;
}

const char *index_machine(const struct row *row)
{
    const char *at = strchr(row->stamp, '@');
    return at != NULL ? at + 1 : "";
}

/* Loads the session of a directory entry; false if the entry is not a session. `ret_stamp`
 * describes the file before it was read, so a change meanwhile gives another stamp. */
static bool load_entry(const struct root *root, const char *name, struct session *ret,
                       char ret_stamp[STAMP_TEXT])
{
    struct err why = ERR_INIT;
    if (!id_is_valid(name))
        return false;
    _cleanup_close_ int dir = workspace_open(root, name);
    if (dir == -1)
        return false;
    make_stamp(root, name, ret_stamp);
    if (session_load(root, dir, name, ret, &why) == -1)
        damaged_session(dir, name, &why, ret);
    return true;
}

/* Lists the names in sessions/. */
static int list_sessions(const struct root *root, char ***ret, struct err *err)
{
    if (path_list(root->sessions, ret, err) == -1)
        return err_wrap(err, "cannot list '%s/%s'", root->path, ROOT_SESSIONS);
    return 0;
}

/* A workspace that was read: its row, and when the session was created. */
struct scanned {
    struct str line;
    time_t created;
    long created_nsec;
};

/* Oldest first, like rows that are added one by one; in the order of the ids if that is not known.
 */
static int compare_scanned(const void *a, const void *b)
{
    const struct scanned *x = a;
    const struct scanned *y = b;
    int order = (x->created > y->created) - (x->created < y->created);

    if (order == 0)
        order = (x->created_nsec > y->created_nsec) - (x->created_nsec < y->created_nsec);
    return order != 0 ? order : strcmp(x->line.data, y->line.data); /* which begins with the id */
}

/* Loads every workspace except those of `without` into rows of an empty index, or into the text of
 * a new index file. */
static int scan(const struct root *root, const struct index_ids *without, struct index *index,
                struct str *text, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    size_t count = 0;

    if (list_sessions(root, &names, err) == -1)
        return -1;
    struct scanned *found = mem_alloc((strv_len(names) + 1) * sizeof *found);
    for (char **name = names; *name != NULL; name++) {
        _cleanup_session_ struct session session = SESSION_INIT;
        char stamp[STAMP_TEXT];
        if (index_has_id(without, *name) || !load_entry(root, *name, &session, stamp))
            continue;
        found[count] = (struct scanned){
            .line = STR_INIT, .created = session.created, .created_nsec = session.created_nsec};
        index_put_row(root, &session, stamp, &found[count++].line);
    }
    qsort(found, count, sizeof *found, compare_scanned);
    for (size_t i = 0; i < count; i++) {
        struct str *line = &found[i].line;
        if (text != NULL)
            index_add_line(text, line->data, line->len);
        if (index != NULL)
            (void)index_read_row(index, index_keep(index, line->data), line->len);
        str_free(line);
    }
    free(found);
    return 0;
}

static int rebuild(const struct root *root, const struct index_ids *without, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    index_begin(&text);
    if (scan(root, without, NULL, &text, err) == -1)
        return -1;
    index_end(&text);
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
    char stamp[STAMP_TEXT];

    if (!load_entry(root, id, &session, stamp))
        return false;
    index_put_row(root, &session, stamp, &line);
    if (!index_read_row(index, index_keep(index, line.data), line.len))
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

/* Returns the rows of an index sorted by id, or NULL if an id appears twice. The caller frees the
 * array. */
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

/* Sets `missing` and adds the `unlisted` workspaces. Returns 1 if an id appears twice. */
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

/* A directory's link count includes its subdirectories (always 1 on btrfs), so this costs one
 * fstat(). */
static bool looks_stale(const struct root *root, size_t rows)
{
    struct stat st;
    size_t known =
        fstatat(root->sessions, SNAPSHOTS_DIR, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
            ? 3
            : 2;
    return fstat(root->sessions, &st) == 0 && (st.st_nlink < known || st.st_nlink - known != rows);
}

/* Fills an empty index from the file. Returns 1 if the file is unusable; *ret_why says why, or is
 * NULL if it is missing. */
static int read_file(const struct root *root, bool thorough, struct index *index,
                     const char **ret_why, struct err *err)
{
    struct err why = ERR_INIT;
    size_t len = 0;

    *ret_why = NULL;
    if (file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &index->text, &len, &why) == -1) {
        if (why.number != ENOENT)
            *ret_why = "it cannot be read";
        return 1;
    }
    *ret_why = "it is damaged";
    if (!index_cut_up(index, len))
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
        if (rc == 0 && (index.count > 0 || why != NULL) &&
            root_try_lock(root, &lock, &ignored) == 0)
            (void)index_rebuild(root, &ignored);
    }
    if (rc == -1)
        return -1;
    *ret = index;
    index = (struct index)INDEX_INIT;
    return 0;
}

/* Reads the file a piece at a time, since most of it is left out and memory costs more than that.
 * Returns false if it is not whole. */
static bool read_running(const struct root *root, const struct index_ids *servers,
                         struct index *index)
{
    enum { PIECE = 128 * 1024 }; /* no row is as long */
    struct stat st;
    _cleanup_close_ int fd =
        openat(root->sessions, INDEX_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    _cleanup_free_ char *piece = mem_alloc(PIECE + 1);
    char *rest = NULL; /* what is left of the last piece */
    size_t len = 0;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
        return false;
    for (ssize_t n; (n = read(fd, piece + len, PIECE - len)) > 0;) {
        len += (size_t)n;
        piece[len] = '\0';
        rest = rest == NULL ? index_after_head(piece) : piece;
        if (rest == NULL)
            return false;
        rest = index_cut_running(index, servers, rest, len - (size_t)(rest - piece));
        len -= (size_t)(rest - piece);
        memmove(piece, rest, len);
        piece[len] = '\0';
    }
    return rest != NULL && index_is_tail(piece, piece + len);
}

/* Lists the sockets of tmux servers, sorted. */
static char **list_servers(void)
{
    _cleanup_free_ char *dir = NULL;
    struct err ignored = ERR_INIT; /* without such a directory there is none */
    char **names = NULL;

    if (tmux_place_dir(&dir, &ignored) == 0 && path_list_in(AT_FDCWD, dir, &names, &ignored) == 0)
        qsort(names, strv_len(names), sizeof *names, index_compare_ids);
    return names;
}

int index_read_running(const struct root *root, struct index *ret, struct err *err)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    _cleanup_strv_ char **names = list_servers();
    const struct index_ids servers = {.sorted = (const char *const *)names,
                                      .count = names != NULL ? strv_len(names) : 0};

    if (!read_running(root, &servers, &index) || looks_stale(root, index.count + index.left_out))
        return index_read(root, false, ret, err);
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

/* Returns true if the file lists every workspace exactly once. */
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

/* Returns the text of the file, rebuilt if it is invalid. ret_others: see struct index_facts. */
static int read_whole(const struct root *root, size_t staged, char **ret, size_t *ret_len,
                      bool *ret_others, struct err *err)
{
    bool tried = false;

    for (;;) {
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        size_t rows = 0;
        bool good = file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &text, &len, err) == 0 &&
                    index_count_rows(text, len, &rows);
        bool others = good && looks_stale(root, rows + staged);
        if (good && (tried || !others || is_whole(root))) {
            *ret = TAKE_PTR(text);
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
    /* a SESSION can be given as either name, so both share one namespace */
    ret->tmux_name_taken = index_holds(text, len, INDEX_TMUX, tmux_name) ||
                           index_holds(text, len, INDEX_NAME, tmux_name);
    ret->name_taken =
        index_holds(text, len, INDEX_NAME, name) || index_holds(text, len, INDEX_TMUX, name);
    return 0;
}

/* Writes the file with the rows of `ids` replaced by `row` (NULL: removed). */
static int change_rows(const struct root *root, const struct index_ids *ids, const struct str *row,
                       struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str to = STR_INIT;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    bool there = file_read(root->sessions, INDEX_FILE, INDEX_FILE_MAX, &text, &len, &ignored) == 0;
    str_reserve(&to, len + (row != NULL ? row->len : 0) + 4096);
    index_begin(&to);
    if (!there || !index_copy_lines(text, len, ids, row, &to))
        return rebuild(root, row == NULL ? ids : NULL, err);
    index_end(&to);
    if (file_replace(root->sessions, INDEX_FILE, to.data, to.len, 0600, err) == 0)
        return 0;
    /* On a full disk, removes the file, which is rebuilt later: removing sessions must free
     * space. */
    bool full = row == NULL && err_is_full(err);
    return full && unlinkat(root->sessions, INDEX_FILE, 0) == 0 ? 0 : -1;
}

int index_update(const struct root *root, const char *id, const struct session *session,
                 struct err *err)
{
    const struct index_ids ids = {.sorted = &id, .count = 1};
    _cleanup_str_ struct str row = STR_INIT;

    if (session != NULL) {
        char stamp[STAMP_TEXT];
        make_stamp(root, id, stamp);
        index_put_row(root, session, stamp, &row);
    }
    if (change_rows(root, &ids, session != NULL ? &row : NULL, err) == -1)
        return -1;
    if (session != NULL) /* from now on there is something to lose */
        mark_make(root->fd, root->sessions);
    return 0;
}

int index_remove(const struct root *root, const char *const *ids, size_t count, struct err *err)
{
    const char **sorted = mem_alloc((count + 1) * sizeof *sorted);

    for (size_t i = 0; i < count; i++)
        sorted[i] = ids[i];
    qsort(sorted, count, sizeof *sorted, index_compare_ids);
    int rc = change_rows(root, &(struct index_ids){.sorted = sorted, .count = count}, NULL, err);
    free(sorted);
    return rc;
}
