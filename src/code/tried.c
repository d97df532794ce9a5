/*
 * The journal, the lock, the index, and what the session remembers. tried_move.c moves files.
 */

#include "code/tried.h"

#include "base/json.h"
#include "code/repo.h"
#include "git/index.h"
#include "git/locks.h"
#include "os/file.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/tree.h"

#include <sys/file.h>

#define INDEX "index" /* in mas-try, and in the repository */
#define LOCKED "locked" /* of a linked work tree, see git-worktree(1) */
#define LOCKED_WHY "files of 'mas try' are there; take them out with: mas try --off\n"
#define LOCK "index.lock"

enum {
    JOURNAL_MAX = 256 << 20, /* bytes */
    HINT_MAX = 16 * 1024,
    LOCK_TRIES = 600,
    LOCK_STEP_MS = 100,
    HEADS = 6, /* records before the files */
    GIT_FILE_MAX = PATH_MAX + 16,
    UNSORTED_MAX = 1000, /* files that tried_find() looks through one by one */
};

static void forget_names(struct tried *tried)
{
    free(tried->names);
    tried->names = NULL;
    tried->name_count = 0;
}

static void forget(struct tried *tried)
{
    char **const texts[] = {&tried->workspace, &tried->agent, &tried->head,
                            &tried->tree,      &tried->since, &tried->was_top};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    for (size_t i = 0; i < tried->count; i++)
        free(tried->files[i].path);
    free(tried->files);
    forget_names(tried);
    tried->files = NULL;
    tried->count = tried->next_slot = 0;
    strv_free(tried->dirs);
    tried->dirs = NULL;
    tried->half = false;
}

int tried_above(struct tried *tried, enum tried_where where, const char *path, bool make,
                const char **ret_name)
{
    struct tried_above *above = &tried->above[where];
    const char *slash = strrchr(path, '/');
    size_t len = slash != NULL ? (size_t)(slash - path) : 0;
    int root = where == TRIED_TOP ? tried->top : tried->dir;

    *ret_name = slash != NULL ? slash + 1 : path;
    if (above->path != NULL && strlen(above->path) == len && strncmp(above->path, path, len) == 0)
        return above->fd;
    char *dir = slash != NULL ? mem_dupn(path, len) : mem_dup("");
    const char *rel = slash != NULL ? dir : ".";
    int fd = make ? path_make_below(root, rel, PATH_BY_UMASK)
                  : path_open_beneath(root, rel, O_RDONLY | O_DIRECTORY);
    if (fd == -1) {
        int number = errno;
        free(dir);
        errno = number;
        return -1;
    }
    if (above->path != NULL)
        (void)close(above->fd);
    free(above->path);
    *above = (struct tried_above){dir, fd};
    return fd;
}

void tried_forget_above(struct tried *tried, const char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;

    for (size_t i = 0; i < (path != NULL ? TRIED_TOP + 1 : TRIED_WHERES); i++) {
        struct tried_above *above = &tried->above[i];
        if (above->path == NULL ||
            (path != NULL && (strncmp(above->path, path, len) != 0 ||
                              (above->path[len] != '/' && above->path[len] != '\0'))))
            continue;
        (void)close(above->fd);
        free(above->path);
        above->path = NULL;
    }
}

bool tried_stat(struct tried *tried, enum tried_where where, const char *path, struct stat *ret)
{
    const char *name = NULL;
    int above = tried_above(tried, where, path, false, &name);

    return above != -1 && fstatat(above, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

void tried_free(struct tried *tried)
{
    forget(tried);
    tried_forget_above(tried, NULL);
    fd_closep(&tried->dir);
    fd_closep(&tried->top);
    fd_closep(&tried->git);
    free(tried->git_path);
    free(tried->common);
    free(tried->top_path);
    *tried = (struct tried)TRIED_INIT;
}

void tried_notes_free(struct tried_notes *notes)
{
    strv_free(notes->kept);
    *notes = (struct tried_notes)TRIED_NOTES_INIT;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct tried_name *)a)->path, ((const struct tried_name *)b)->path);
}

static void sort_names(struct tried *tried)
{
    forget_names(tried);
    tried->names = mem_grow(NULL, tried->count, sizeof *tried->names);
    for (size_t i = 0; i < tried->count; i++)
        tried->names[tried->name_count++] = (struct tried_name){tried->files[i].path, i};
    qsort(tried->names, tried->name_count, sizeof *tried->names, by_path);
}

struct tried_file *tried_find(struct tried *tried, const char *path)
{
    const struct tried_name wanted = {.path = path};

    if (tried->count - tried->name_count > UNSORTED_MAX)
        sort_names(tried);
    const struct tried_name *name =
        tried->names == NULL
            ? NULL
            : bsearch(&wanted, tried->names, tried->name_count, sizeof *tried->names, by_path);
    if (name != NULL)
        return &tried->files[name->at];
    for (size_t i = tried->name_count; i < tried->count; i++)
        if (strcmp(tried->files[i].path, path) == 0)
            return &tried->files[i];
    return NULL;
}

struct tried_file *tried_add(struct tried *tried, const char *path)
{
    tried->files = mem_room(tried->files, tried->count, sizeof *tried->files);
    struct tried_file *file = &tried->files[tried->count++];
    *file = (struct tried_file){.path = mem_dup(path), .slot = tried->next_slot++};
    return file;
}

/* ---- the journal: records that end with NUL, "KEY VALUE" */

static void add_stamp(const struct tried_stamp *stamp, struct str *to)
{
    str_addf(to, " %" PRId64 " %" PRId64 " %o %s", stamp->mtime, stamp->size, stamp->mode,
             stamp->oid[0] != '\0' ? stamp->oid : "-");
}

int tried_write(const struct tried *tried, const char *name, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_addf(&text, "workspace %s%cagent %s%chead %s%ctree %s%csince %s%ctop %s%c",
             tried->workspace, 0, tried->agent, 0, tried->head, 0, tried->tree, 0, tried->since, 0,
             tried->top_path, 0);
    for (char **dir = tried->dirs; dir != NULL && *dir != NULL; dir++)
        str_addf(&text, "dir %s%c", *dir, 0);
    for (size_t i = 0; i < tried->count; i++) {
        const struct tried_file *file = &tried->files[i];
        str_addf(&text, "file %zu %c %d %d", file->slot, (char)file->step, file->had, file->fresh);
        add_stamp(&file->is, &text);
        add_stamp(&file->was, &text);
        str_addf(&text, " %s%c", file->path, 0);
    }
    return file_replace(tried->dir, name, text.data, text.len, 0600, err);
}

static bool parse_file(const char *line, struct tried *tried)
{
    struct tried_file file = {.path = NULL};
    char step = 0;
    int had = 0, fresh = 0, end = 0;

    if (sscanf(line,
               "file %zu %c %d %d %" SCNd64 " %" SCNd64 " %o %64s %" SCNd64 " %" SCNd64
               " %o %64s%n",
               &file.slot, &step, &had, &fresh, &file.is.mtime, &file.is.size, &file.is.mode,
               file.is.oid, &file.was.mtime, &file.was.size, &file.was.mode, file.was.oid,
               &end) != 12 ||
        strchr("=+-<", step) == NULL || line[end] != ' ' || line[end + 1] == '\0')
        return false;
    struct tried_stamp *const stamps[] = {&file.is, &file.was};
    for (size_t i = 0; i < ARRAY_LEN(stamps); i++)
        if (strcmp(stamps[i]->oid, "-") == 0)
            stamps[i]->oid[0] = '\0';
    struct tried_file *to = tried_add(tried, line + end + 1); /* which may begin with a space */
    file.path = to->path;
    file.step = (enum tried_step)step;
    file.had = had != 0;
    file.fresh = fresh != 0;
    *to = file;
    if (file.slot >= tried->next_slot)
        tried->next_slot = file.slot + 1;
    return true;
}

static bool parse(const char *text, size_t len, struct tried *tried)
{
    static const char *const keys[HEADS] = {"workspace ", "agent ", "head ",
                                            "tree ",      "since ", "top "};
    char **const heads[HEADS] = {&tried->workspace, &tried->agent, &tried->head,
                                 &tried->tree,      &tried->since, &tried->was_top};
    const char *end = text + len;
    size_t number = 0;

    for (const char *line = text; line < end; line += strlen(line) + 1, number++) {
        if (number < HEADS && str_starts(line, keys[number]))
            *heads[number] = mem_dup(line + strlen(keys[number]));
        else if (number >= HEADS && str_starts(line, "dir "))
            strv_push(&tried->dirs, line + strlen("dir "));
        else if (number < HEADS || !parse_file(line, tried))
            return false;
    }
    return number >= HEADS;
}

/* Reads the journal, else the state of a whole round. */
static int read_state(struct tried *tried, struct err *err)
{
    static const char *const names[] = {TRIED_JOURNAL, TRIED_WHOLE};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        int there = file_read_if_there(tried->dir, names[i], JOURNAL_MAX, &text, &len, err);
        if (there == -1)
            return -1;
        if (there == 0)
            continue;
        tried->half = i == 0;
        return parse(text, len, tried)
                   ? 0
                   : err_set(err, MAS_DAMAGED, "cannot read '%s/" TRIED_DIR "/%s'", tried->git_path,
                             names[i]);
    }
    return tried_end(tried, err); /* of a round that had not begun */
}

int tried_settle(struct tried *tried, struct err *err)
{
    size_t count = 0;

    forget_names(tried);
    for (size_t i = 0; i < tried->count; i++) {
        struct tried_file *file = &tried->files[i];
        if (file->step == TRIED_BACK) {
            free(file->path);
            continue;
        }
        file->step = TRIED_REST;
        file->fresh = false;
        file->was = (struct tried_stamp){.mtime = 0};
        tried->files[count++] = *file;
    }
    tried->count = count;
    if (tried_write(tried, TRIED_WHOLE, err) == -1)
        return -1;
    tried_drop_stage(tried);
    return unlinkat(tried->dir, TRIED_JOURNAL, 0) == -1
               ? err_errno(err, "cannot remove '" TRIED_JOURNAL "'")
               : 0;
}

/* ---- opening */

static int lock(int git, const char *path, struct err *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(git, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK)
            return err_errno(err, "cannot lock '%s'", path);
        (void)loop_wait_for(-1, 0, LOCK_STEP_MS);
    }
    return err_set(err, MAS_TIMEOUT, "cannot lock '%s': another mas has it", path);
}

/* Asks git for the paths of the checkout that `cwd` is in. */
static int find(int cwd, struct tried *tried, struct err *err)
{
    const struct git git = {.cwd = cwd, .person = true};
    _cleanup_free_ char *text = NULL;
    char *lines[3];

    if (git_text(&git,
                 GIT_ARGS("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
                          "--show-toplevel"),
                 &text, err) == -1)
        return -1;
    if (!str_fields(text, '\n', lines, ARRAY_LEN(lines)) || strchr(lines[2], '\n') != NULL)
        return err_set(err, MAS_FAILED, "git rev-parse printed '%s'", text);
    tried->git_path = mem_dup(lines[0]);
    tried->common = mem_dup(lines[1]);
    tried->top_path = mem_dup(lines[2]);
    return 0;
}

/* Fails unless git would find this repository from the work tree, too, and files that are tried are
 * of this work tree, or of one that was moved here. */
static int check_top(const struct tried *tried, struct err *err)
{
    static const char begins[] = "gitdir: ";
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    struct stat own, found, was;
    size_t len = 0;

    if (fstat(tried->git, &own) == -1)
        return err_errno(err, "cannot read '%s'", tried->git_path);
    bool is = fstatat(tried->top, ".git", &found, 0) == 0;
    if (is && S_ISREG(found.st_mode)) {
        is = file_read(tried->top, ".git", GIT_FILE_MAX, &text, &len, &ignored) == 0 &&
             str_starts(text, begins);
        if (is)
            text[strcspn(text, "\n")] = '\0';
        is = is && fstatat(tried->top, text + strlen(begins), &found, 0) == 0;
    }
    is = is && found.st_dev == own.st_dev && found.st_ino == own.st_ino;
    if (is && tried->was_top != NULL && strcmp(tried->was_top, tried->top_path) != 0)
        is = stat(tried->was_top, &was) == -1;
    return is ? 0
              : err_set(err, MAS_CONFLICT, "cannot use '%s': its work tree is not that of '%s'",
                        tried->top_path, tried->git_path);
}

int tried_open(const char *path, struct tried *ret, struct err *err)
{
    _cleanup_close_ int cwd = open(path, PATH_PLACE | O_CLOEXEC);
    _cleanup_tried_ struct tried tried = TRIED_INIT;

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", path);
    if (find(cwd, &tried, err) == -1)
        return -1;
    tried.git = open(tried.git_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tried.top = open(tried.top_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tried.git == -1 || tried.top == -1)
        return err_errno(err, "cannot open '%s'",
                         tried.git == -1 ? tried.git_path : tried.top_path);
    if (lock(tried.git, tried.git_path, err) == -1)
        return -1;
    tried.dir = path_open_dir(tried.git, TRIED_DIR);
    if (tried.dir == -1 && errno != ENOENT)
        return err_errno(err, "cannot open '%s/" TRIED_DIR "'", tried.git_path);
    if ((tried.dir != -1 && read_state(&tried, err) == -1) || check_top(&tried, err) == -1)
        return -1;
    *ret = tried;
    tried = (struct tried)TRIED_INIT;
    return 0;
}

/* git removes a linked work tree, and what it keeps for it, if nothing in it has changed: what the
 * person had there may lie in mas-try alone. */
static void lock_worktree(const struct tried *tried)
{
    struct err ignored = ERR_INIT;

    if (faccessat(tried->git, "commondir", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        (void)file_create(tried->git, LOCKED, LOCKED_WHY, strlen(LOCKED_WHY), 0644, &ignored);
}

static void unlock_worktree(const struct tried *tried)
{
    _cleanup_free_ char *why = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(tried->git, LOCKED, sizeof LOCKED_WHY, &why, &len, &ignored) == 0 &&
        strcmp(why, LOCKED_WHY) == 0)
        (void)unlinkat(tried->git, LOCKED, 0);
}

int tried_stage(struct tried *tried, struct err *err)
{
    static const char *const names[] = {"new", "old", "out"};

    if (mkdirat(tried->git, TRIED_DIR, 0700) == -1 && errno != EEXIST)
        return err_errno(err, "cannot make '%s/" TRIED_DIR "'", tried->git_path);
    if (tried->dir == -1)
        tried->dir = path_open_dir(tried->git, TRIED_DIR);
    if (tried->dir == -1)
        return err_errno(err, "cannot open '%s/" TRIED_DIR "'", tried->git_path);
    tried_forget_above(tried, NULL);
    lock_worktree(tried);
    if (tree_remove(tried->dir, "new", err) == -1)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (mkdirat(tried->dir, names[i], 0700) == -1 && errno != EEXIST)
            return err_errno(err, "cannot make '%s/" TRIED_DIR "/%s'", tried->git_path, names[i]);
    return 0;
}

void tried_drop_stage(struct tried *tried)
{
    struct err ignored = ERR_INIT;

    if (tried->workspace == NULL)
        (void)tried_end(tried, &ignored);
    else if (tried->dir != -1)
        (void)tree_remove(tried->dir, "new", &ignored);
}

static bool is_gone(const char *path)
{
    return access(path, F_OK) == -1 && (errno == ENOENT || errno == ENOTDIR);
}

/* Makes the session forget it, if it means this checkout, which may have been moved since. */
static void drop_hint(const struct tried *tried)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_GIT, tried->workspace);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (dir != -1 && file_read(dir, TRIED_HINT, HINT_MAX, &text, &len, &ignored) == 0) {
        _cleanup_json_ struct json *hint = NULL;
        const char *git = json_parse(text, len, HINT_MAX, &hint, &ignored) == 0
                              ? json_get_text_or(hint, "git", "")
                              : "";
        if (strcmp(git, tried->git_path) == 0 || is_gone(git))
            (void)unlinkat(dir, TRIED_HINT, 0);
    }
}

int tried_end(struct tried *tried, struct err *err)
{
    if (tried->workspace != NULL)
        drop_hint(tried);
    if (tried->dir != -1)
        for (size_t i = 0; i < 2; i++) /* `tried` first: without the journal it would be whole */
            if (unlinkat(tried->dir, i == 0 ? TRIED_WHOLE : TRIED_JOURNAL, 0) == -1 &&
                errno != ENOENT)
                return err_errno(err, "cannot remove '%s/" TRIED_DIR "'", tried->git_path);
    tried_forget_above(tried, NULL);
    fd_closep(&tried->dir);
    forget(tried);
    if (tree_remove(tried->git, TRIED_DIR, err) == -1)
        return -1;
    unlock_worktree(tried);
    return 0;
}

/* ---- the index */

int tried_keep_index(const struct tried *tried, struct err *err)
{
    struct stat st;

    if (fstatat(tried->git, INDEX, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    (void)unlinkat(tried->dir, INDEX, 0);
    if (index_copy(tried->git, INDEX, tried->dir, INDEX, err) == -1)
        return -1;
    return fchmodat(tried->dir, INDEX, st.st_mode & 0777, 0) == -1
               ? err_errno(err, "cannot copy '%s/" INDEX "'", tried->git_path)
               : 0;
}

/* Prints what an index says, without what it knows of the times of files. */
static int list_index(const struct tried *tried, const char *index, struct proc_result *ret)
{
    const struct git git = {.dir = tried->git_path,
                            .common = tried->common,
                            .tree = tried->top_path,
                            .index = index,
                            .cwd = tried->top};
    struct err ignored = ERR_INIT;

    return git_must(&git, GIT_ARGS("ls-files", "-z", "-s", "-v"), NULL, ret, &ignored);
}

static bool is_same_file(int a, const char *name, int b, const char *other)
{
    struct stat one, two;

    return fstatat(a, name, &one, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b, other, &two, AT_SYMLINK_NOFOLLOW) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

void tried_restore_index(const struct tried *tried, bool *ret_stays)
{
    _cleanup_free_ char *kept = mem_printf("%s/" TRIED_DIR "/" INDEX, tried->git_path);
    _cleanup_free_ char *left = mem_printf("%s/" LOCK, tried->git_path);
    _cleanup_result_ struct proc_result then = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result now = PROC_RESULT_INIT;

    if (faccessat(tried->dir, INDEX, F_OK, AT_SYMLINK_NOFOLLOW) == -1 ||
        is_same_file(tried->dir, INDEX, tried->git, INDEX))
        return;
    if (is_same_file(tried->dir, INDEX, tried->git, LOCK) || lock_is_left(left, tried->top_path))
        (void)unlinkat(tried->git, LOCK, 0); /* a kill left it */
    *ret_stays = true;
    if (linkat(tried->dir, INDEX, tried->git, LOCK, 0) == -1)
        return; /* git is at work there */
    if (list_index(tried, kept, &then) == 0 && list_index(tried, NULL, &now) == 0 &&
        then.out.len == now.out.len &&
        memcmp(str_text(&then.out), str_text(&now.out), now.out.len) == 0)
        *ret_stays = renameat(tried->git, LOCK, tried->git, INDEX) == -1;
    if (*ret_stays)
        (void)unlinkat(tried->git, LOCK, 0);
}

/* ---- what the session remembers */

/* The caller frees it; NULL: there is none. */
static struct json *read_hint(int workspace)
{
    _cleanup_close_ int dir = path_open_beneath(workspace, CODE_GIT, O_RDONLY | O_DIRECTORY);
    struct json *hint = NULL;
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return dir == -1 || file_read(dir, TRIED_HINT, HINT_MAX, &text, &len, &ignored) == -1 ||
                   json_parse(text, len, HINT_MAX, &hint, &ignored) == -1
               ? NULL
               : hint;
}

char *tried_moved(int workspace)
{
    _cleanup_json_ struct json *hint = read_hint(workspace);
    const char *top = hint != NULL ? json_get_text(hint, "dir") : NULL;
    const char *git = hint != NULL ? json_get_text(hint, "git") : NULL;

    return top != NULL && git != NULL && is_gone(git) ? mem_dup(top) : NULL;
}

bool tried_look(int workspace, struct tried_place *ret)
{
    _cleanup_json_ struct json *hint = read_hint(workspace);

    if (hint == NULL)
        return false;
    const char *agent = json_get_text(hint, "agent");
    const char *top = json_get_text(hint, "dir");
    const char *git = json_get_text(hint, "git");
    if (agent == NULL || top == NULL || git == NULL)
        return false;
    _cleanup_free_ char *journal = mem_printf("%s/" TRIED_DIR "/" TRIED_JOURNAL, git);
    _cleanup_free_ char *whole = mem_printf("%s/" TRIED_DIR "/" TRIED_WHOLE, git);
    bool half = access(journal, F_OK) == 0;
    if (!half && access(whole, F_OK) == -1)
        return false;
    *ret = (struct tried_place){.agent = mem_dup(agent),
                                .top = mem_dup(top),
                                .since = mem_dup(json_get_text_or(hint, "since", "")),
                                .half = half};
    return true;
}

void tried_place_free(struct tried_place *place)
{
    free(place->agent);
    free(place->top);
    free(place->since);
}
