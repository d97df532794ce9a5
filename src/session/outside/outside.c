/*
 * One walk serves all looks for files: a pattern is followed name by name below open directories,
 * within limits of time and number, and `take` gets each regular file. A list has paths and times
 * first; only of those to be shown are the heads read. A session is open if a process has its file
 * open, or if a file of the program names a process that lives and is older than that file: numbers
 * are used again.
 */

#include "session/outside/outside.h"

#include "base/time.h"
#include "memory/store.h"
#include "model/path_pattern.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "protocol/line.h"
#include "session/outside/outside_rows.h"
#include "store/index.h"
#include "store/workspace.h"

enum {
    STATE_MAX = 64 << 10, /* bytes of a file that tells of a process */
    STARTED_SLACK_MS = 2000, /* a file may be so much older than its process by the clocks */
};

/* ---- a look for files */

struct looking {
    const char *pattern; /* without $NAME/ */
    const char *id; /* NULL: any */
    const int *own; /* the home of an agent behind its wall; NULL: that of the user */
    int dir; /* of the file that is taken */
    const char *name;
    int64_t until; /* monotonic */
    int64_t names; /* come across */
    bool cut;
    /* Takes a regular file. */
    void (*take)(struct looking *looking, const char *path, const struct stat *st,
                 const struct path_found *found);
    void *arg;
};

static bool is_over(struct looking *looking)
{
    looking->cut =
        looking->cut || looking->names > OUTSIDE_FILES_MAX || time_monotonic_ms() > looking->until;
    return looking->cut;
}

/* Looks for the rest of the pattern in the directory open at `dir`; `path` is below the first one.
 */
static void look_in(struct looking *looking, int dir, const char *rest, const char *top,
                    const char *path)
{
    size_t len = strcspn(rest, "/");
    _cleanup_free_ char *part = mem_dupn(rest, len);
    _cleanup_strv_ char **names = NULL;
    struct path_found found;
    struct err ignored = ERR_INIT;
    struct stat st;

    if (part[strcspn(part, "*?{")] == '\0') /* one name, which need not be looked for */
        strv_push(&names, part);
    else if (path_list(dir, &names, &ignored) == -1)
        return;
    for (char **name = names; name != NULL && *name != NULL; name++) {
        looking->names++;
        if (is_over(looking))
            return;
        if (((*name)[0] == '.' && part[0] != '.') || strlen(*name) > NAME_MAX ||
            !path_pattern_match(part, *name, looking->id, &found))
            continue;
        _cleanup_free_ char *below = mem_printf("%s%s%s", path, path[0] != '\0' ? "/" : "", *name);
        if (rest[len] == '/') {
            _cleanup_close_ int fd =
                openat(dir, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (fd != -1)
                look_in(looking, fd, rest + len + 1, top, below);
        } else if (fstatat(dir, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
                   path_pattern_match(looking->pattern, below, looking->id, &found)) {
            _cleanup_free_ char *whole = mem_printf("%s/%s", top, below);
            looking->dir = dir;
            looking->name = *name;
            looking->take(looking, whole, &st, &found);
        }
    }
}

static void look(struct looking *looking, char *const *patterns)
{
    looking->until = time_monotonic_ms() + OUTSIDE_LOOK_MS;
    for (; patterns != NULL && *patterns != NULL; patterns++) {
        _cleanup_free_ char *name = NULL;
        looking->pattern = path_pattern_below(*patterns, &name);
        const char *top = looking->own != NULL ? "" : getenv(name != NULL ? name : "HOME");
        size_t plain = path_pattern_plain(looking->pattern);
        if (looking->own != NULL ? name != NULL : top == NULL || top[0] != '/')
            continue;
        _cleanup_free_ char *first = mem_printf("%s/%.*s", top, (int)plain, looking->pattern);
        _cleanup_free_ char *path =
            mem_dupn(looking->pattern, plain > 0 ? plain - 1 : 0); /* without its slash */
        _cleanup_close_ int dir =
            looking->own == NULL
                ? open(first, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                : path_open_beneath(*looking->own, plain > 0 ? path : ".", O_RDONLY | O_DIRECTORY);
        if (dir != -1)
            look_in(looking, dir, looking->pattern + plain, top, path);
    }
}

struct look_for {
    outside_each *each;
    void *arg;
    bool found;
};

static void take_first(struct looking *looking, const char *path, const struct stat *st,
                       const struct path_found *found)
{
    struct look_for *looks = looking->arg;

    (void)path;
    (void)st;
    if (!looks->found)
        looks->each(looking->dir, looking->name, found, looks->arg);
    looks->found = true;
}

bool outside_look_for(int own, char *const *patterns, const char *id, outside_each *each, void *arg)
{
    struct look_for looks = {.each = each, .arg = arg};
    struct looking looking = {
        .id = id, .own = own != -1 ? &own : NULL, .take = take_first, .arg = &looks};

    look(&looking, patterns);
    return looks.found;
}

/* ---- the list */

static void free_session(struct outside_session *session)
{
    free(session->path);
    free(session->id);
    free(session->directory);
    free(session->words);
}

void outside_keep_if(struct outside_list *list, bool (*wanted)(struct outside_session *, void *arg),
                     void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (wanted(&list->sessions[i], arg))
            list->sessions[kept++] = list->sessions[i];
        else
            free_session(&list->sessions[i]);
    }
    list->count = kept;
}

struct find_in {
    struct outside_list *list;
    const struct preset *preset;
};

static void add_session(struct looking *looking, const char *path, const struct stat *st,
                        const struct path_found *found)
{
    const struct find_in *finding = looking->arg;
    struct outside_list *list = finding->list;

    if (found->id[0] == '\0')
        return;
    list->sessions = mem_room(list->sessions, list->count, sizeof *list->sessions);
    list->sessions[list->count++] = (struct outside_session){
        .preset = finding->preset,
        .path = mem_dup(path),
        .id = mem_dup(found->id),
        .size = st->st_size,
        .changed = st->st_mtim.tv_sec,
    };
}

struct find_rows {
    const struct find_in *in;
    const char *path;
    int64_t rows;
};

static bool add_row(const struct outside_row *row, void *arg)
{
    struct find_rows *finding = arg;
    struct outside_list *list = finding->in->list;

    list->cut = list->cut || finding->rows == OUTSIDE_FILES_MAX;
    if (finding->rows++ == OUTSIDE_FILES_MAX)
        return false;
    list->sessions = mem_room(list->sessions, list->count, sizeof *list->sessions);
    list->sessions[list->count++] = (struct outside_session){
        .preset = finding->in->preset,
        .path = mem_dup(finding->path),
        .id = mem_dup(row->id),
        .in_database = true,
        .changed = row->changed,
        .directory = row->directory != NULL
                         ? mem_dupn(row->directory, str_fit(row->directory, PATH_MAX))
                         : NULL,
    };
    return true;
}

static void add_rows(struct looking *looking, const char *path, const struct stat *st,
                     const struct path_found *found)
{
    const struct find_in *in = looking->arg;
    struct find_rows finding = {.in = in, .path = path};
    struct err why = ERR_INIT;

    (void)st;
    (void)found;
    (void)outside_rows(&in->preset->told, path, looking->until, add_row, &finding, &why);
    in->list->cut = in->list->cut || why.code == MAS_TIMEOUT;
}

static int newest_first(const void *a, const void *b)
{
    const struct outside_session *one = a, *other = b;

    if (one->changed != other->changed)
        return one->changed < other->changed ? 1 : -1;
    int rc = strcmp(one->path, other->path);
    rc = rc == 0 && one->in_database && other->in_database ? strcmp(one->id, other->id) : rc;
    return rc != 0 ? rc : one->preset < other->preset ? -1 : one->preset > other->preset;
}

/* Another pattern, or a later preset of the same program, finds the same file or row. */
static bool is_first(struct outside_session *session, void *arg)
{
    struct outside_session *before = arg;

    if (before->path != NULL && strcmp(session->path, before->path) == 0 &&
        (!session->in_database || strcmp(session->id, before->id) == 0))
        return false;
    *before = *session;
    return true;
}

void outside_find(const struct config *config, const struct preset *preset,
                  struct outside_list *ret)
{
    for (size_t i = 0; i < config->preset_count; i++) {
        struct find_in finding = {.list = ret, .preset = &config->presets[i]};
        struct looking looking = {.take = add_session, .arg = &finding};
        if ((preset != NULL && preset != finding.preset) || !preset_tells(finding.preset))
            continue;
        look(&looking, finding.preset->told.kept);
        looking.take = add_rows;
        look(&looking, finding.preset->told.database);
        ret->cut = ret->cut || looking.cut;
    }
    struct outside_session before = {.path = NULL};
    if (ret->count > 0)
        qsort(ret->sessions, ret->count, sizeof *ret->sessions, newest_first);
    outside_keep_if(ret, is_first, &before);
}

void outside_free(struct outside_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_session(&list->sessions[i]);
    free(list->sessions);
    *list = (struct outside_list)OUTSIDE_LIST_INIT;
}

static bool is_unknown(struct outside_session *session, void *arg)
{
    return !strv_has(arg, session->id);
}

void outside_leave_out(struct outside_list *list, char *const *ids)
{
    if (ids != NULL)
        outside_keep_if(list, is_unknown, (void *)(uintptr_t)ids);
}

/* ---- what a file says */

/* Returns the first line with words in it, which the caller frees; NULL: there is none. */
static char *first_line(const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t len = str_cut(text, strcspn(text, "\r\n"), OUTSIDE_WORDS_MAX);

    return len > 0 ? mem_dupn(text, len) : NULL;
}

static void take_line(struct outside_session *session, const char *text, size_t len)
{
    const struct preset_told *told = &session->preset->told;
    _cleanup_json_ struct json *json = NULL;
    struct err ignored = ERR_INIT;

    for (size_t i = 0; i < told->line_count; i++) {
        _cleanup_line_ struct line_told line = {.owned = NULL};
        enum told_fact fact = told->lines[i].fact;
        if ((fact != TOLD_SESSION && fact != TOLD_PROMPT) ||
            !line_may_apply(&told->lines[i], text, len))
            continue;
        if (json == NULL && (json_parse(text, len, OUTSIDE_HEAD_MAX, &json, &ignored) == -1 ||
                             !json_is_object(json)))
            return;
        if (!line_apply(&told->lines[i], json, &line))
            continue;
        if (session->directory == NULL && line.directory != NULL)
            session->directory = mem_dupn(line.directory, str_fit(line.directory, PATH_MAX));
        if (fact == TOLD_SESSION && line.told.session != NULL &&
            str_starts(line.told.session, session->id)) { /* its name has a part of it */
            free(session->id);
            session->id = mem_dup(line.told.session);
        }
        if (session->words == NULL && line.told.prompt != NULL)
            session->words = first_line(line.told.prompt);
    }
}

struct row_head {
    struct outside_session *session;
    size_t room;
};

static bool take_row_line(const char *line, size_t len, void *arg)
{
    struct row_head *head = arg;
    bool fits = len <= head->room;

    if (fits)
        take_line(head->session, line, len);
    head->room -= fits ? len : head->room;
    return head->room > 0 && head->session->words == NULL;
}

/* Reads the head of a session in a database, of which its row has told where it is. */
static bool read_rows(struct outside_session *session, int64_t until)
{
    struct row_head head = {.session = session, .room = OUTSIDE_HEAD_MAX};
    struct err ignored = ERR_INIT;

    (void)outside_row_lines(&session->preset->told, session->path, session->id, until,
                            take_row_line, &head, &ignored);
    return true;
}

/* Reads the head of a file. Returns false if it is no session: all of it was read, and it says
 * neither where it is nor what was asked. */
static bool read_head(struct outside_session *session, void *arg)
{
    const int64_t *until = arg;
    struct stat st;

    if (time_monotonic_ms() > *until)
        return true;
    if (session->in_database)
        return read_rows(session, *until);
    _cleanup_close_ int fd =
        open(session->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    _cleanup_free_ char *head = mem_alloc(OUTSIDE_HEAD_MAX);
    ssize_t got = pread(fd, head, OUTSIDE_HEAD_MAX, 0);
    size_t len = got > 0 ? (size_t)got : 0, at = 0;
    const char *end;

    while (at < len && (session->directory == NULL || session->words == NULL) &&
           (end = memchr(head + at, '\n', len - at)) != NULL) {
        take_line(session, head + at, (size_t)(end - head) - at);
        at = (size_t)(end - head) + 1;
    }
    return len == OUTSIDE_HEAD_MAX || session->directory != NULL || session->words != NULL;
}

void outside_read(struct outside_list *list)
{
    int64_t until = time_monotonic_ms() + OUTSIDE_LOOK_MS;

    for (; list->count > OUTSIDE_LISTED_MAX; list->cut = true)
        free_session(&list->sessions[--list->count]);
    outside_keep_if(list, read_head, &until);
    list->cut = list->cut || time_monotonic_ms() > until;
}

/* ---- who has it open */

struct opened_by {
    const char *id;
    pid_t pid;
};

/* Takes the process if it lives, and began before the file was written last: a number is used
 * again. A file of which the path does not name the session has to name it. */
static void ask_file(struct looking *looking, const char *path, const struct stat *st,
                     const struct path_found *found)
{
    struct opened_by *asking = looking->arg;
    struct proc_id process;
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (found->pid == 0 && found->whole && asking->pid == 0)
        asking->pid = proc_with_file(st->st_dev, st->st_ino);
    if (found->pid <= 0 || !proc_identify(found->pid, &process) || !proc_is_alive(&process))
        return;
    int64_t boot = time_epoch_ms() - time_boot_ms();
    int64_t started = boot + (int64_t)(process.start * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    if (started > (int64_t)st->st_mtim.tv_sec * 1000 + STARTED_SLACK_MS)
        return;
    if (!found->whole && (file_read(AT_FDCWD, path, STATE_MAX, &text, &len, &ignored) == -1 ||
                          memmem(text, len, asking->id, strlen(asking->id)) == NULL))
        return;
    asking->pid = found->pid;
}

pid_t outside_opened_by(const struct outside_session *session)
{
    struct opened_by asking = {.id = session->id};
    struct looking looking = {.id = session->id, .take = ask_file, .arg = &asking};
    struct stat st;

    look(&looking, session->preset->told.alive);
    /* a database is open while any of its sessions is */
    if (asking.pid == 0 && !session->in_database && lstat(session->path, &st) == 0)
        asking.pid = proc_with_file(st.st_dev, st.st_ino);
    return asking.pid;
}

/* ---- what mas has begun */

static bool add_ids(const struct store_query *query, void *arg)
{
    char ***ids = arg;
    _cleanup_json_ struct json *list = NULL;
    struct err ignored = ERR_INIT;

    if (json_parse(query->sessions, strlen(query->sessions), STORE_TEXT_MAX, &list, &ignored) == 0)
        for (const struct json *one = json_first(list); one != NULL; one = json_next(one))
            strv_push(ids, json_get_text_or(one, "id", ""));
    return true;
}

char **outside_known(const struct root *root)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    char **ids = NULL;
    struct err ignored = ERR_INIT;

    if (index_read(root, true, &index, &ignored) == -1)
        return NULL;
    for (size_t i = 0; i < index.count; i++) {
        _cleanup_close_ int dir = workspace_open(root, index.rows[i].id);
        _cleanup_store_ struct store *store = NULL;
        if (dir != -1 && store_open(dir, index.rows[i].id, NULL, false, &store, &ignored) == 0)
            (void)store_queries(store, NULL, add_ids, &ids, &ignored);
    }
    return ids;
}
