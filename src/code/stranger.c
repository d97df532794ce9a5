/*
 * Nothing is opened by a path that the agent could bend: each part is opened beneath an open
 * directory, through no link, and the descriptors are kept for all that follows. The order is: the
 * work tree, its .git, where that gets its objects from, odd files at which git would hang, and
 * last HEAD. What is read has a limit. As in git, a loose ref overrides its line in packed-refs.
 */

#include "code/stranger.h"

#include "git/index.h"
#include "git/layout.h"
#include "git/odd.h"
#include "os/file.h"
#include "os/path.h"

enum {
    REF_MAX = 1024, /* bytes of a file that holds a ref */
    PACKED_MAX = 64 << 20, /* bytes of packed-refs */
    LOG_MAX = 16 << 20, /* bytes of the log of the stash */
    DEPTH_MAX = 32, /* directories below refs/ */
};

void stranger_free(struct stranger *stranger)
{
    free(stranger->subject);
    free(stranger->path);
    free(stranger->modules);
    free(stranger->key);
    free(stranger->tree);
    free(stranger->objects);
    free(stranger->branch);
    fd_closep(&stranger->fd);
    fd_closep(&stranger->own);
    fd_closep(&stranger->cwd);
    *stranger = (struct stranger)STRANGER_INIT;
}

bool stranger_is_linked(const struct stranger *stranger)
{
    return strcmp(stranger->key, stranger->agent) != 0 && stranger->path == NULL;
}

static int refuse(const struct stranger *stranger, const char *why, struct err *err)
{
    return err_set(err, MAS_DAMAGED, "cannot read %s: %s", stranger->subject, why);
}

char *stranger_borrowed(const char *git_dir)
{
    _cleanup_str_ struct str text = STR_INIT;

    str_add(&text, "../../../../");
    for (; *git_dir != '\0'; git_dir++)
        str_add(&text, *git_dir == '/' ? "../" : "");
    str_add(&text, CODE_GIT "/objects\n");
    return str_steal(&text);
}

/* Checks that nothing leads git to other places than this repository and code.git. */
static int check_places(const struct stranger *stranger, const char *git_dir, struct err *err)
{
    static const char *const dirs[] = {"objects", "objects/info", "objects/pack", "refs"};
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    struct stat st;
    size_t len = 0;

    if (fstatat(stranger->fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse(stranger, "it names another repository as its own", err);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        _cleanup_close_ int fd = path_open_beneath(stranger->fd, dirs[i], PATH_PLACE);
        if (fd == -1)
            return refuse(stranger, "a directory of it is missing or a link", err);
    }
    if (fstatat(stranger->fd, "objects/info/http-alternates", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return refuse(stranger, "it borrows objects from elsewhere", err);
    _cleanup_close_ int info =
        path_open_beneath(stranger->fd, "objects/info", O_RDONLY | O_DIRECTORY);
    if (info == -1 || file_read(info, "alternates", REF_MAX, &text, &len, &why) == -1) {
        /* after a repack that copied what was borrowed */
        return why.number == ENOENT ? 0
                                    : refuse(stranger, "it borrows objects from elsewhere", err);
    }
    _cleanup_free_ char *borrowed = stranger_borrowed(git_dir);
    return strcmp(text, borrowed) == 0 ? 0
                                       : refuse(stranger, "it borrows objects from elsewhere", err);
}

bool stranger_borrows(const struct stranger *stranger)
{
    _cleanup_close_ int info =
        path_open_beneath(stranger->fd, "objects/info", O_RDONLY | O_DIRECTORY);

    return info != -1 && faccessat(info, "alternates", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Checks that no git of mas waits for ever at a file of the work tree or of the repository in it.
 */
static int check_files(const struct stranger *stranger, struct err *err)
{
    return odd_check(stranger->cwd, stranger->tree, err) == 0
               ? 0
               : err_wrap(err, "cannot read %s", stranger->subject);
}

/* Cuts the newline off a line. */
static void chomp(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

static int find_packed(const struct stranger *stranger, const char *name, char ret[GIT_OID_TEXT],
                       struct err *err)
{
    const char *wrong = layout_packed_ref(stranger->fd, name, ret);
    return wrong == NULL ? 0 : refuse(stranger, wrong, err);
}

/* Reads a ref of the repository, or of what is the work tree's own in it, open at `dir`. */
static int read_ref(const struct stranger *stranger, int dir, const char *name,
                    char ret[GIT_OID_TEXT], struct err *err)
{
    char text[REF_MAX];
    _cleanup_close_ int fd = path_open_beneath(dir, name, O_RDONLY | O_NONBLOCK);

    if (fd == -1)
        return errno == ENOENT || errno == ENOTDIR || errno == EISDIR
                   ? find_packed(stranger, name, ret, err)
                   : refuse(stranger, "a ref is no file", err);
    struct stat st;
    ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, sizeof text - 1) : -1;
    if (n < 0)
        return S_ISDIR(st.st_mode) ? find_packed(stranger, name, ret, err)
                                   : refuse(stranger, "a ref is no file", err);
    text[n] = '\0';
    chomp(text);
    return git_parse_oid(text, ret) ? 0 : refuse(stranger, "a ref names no object", err);
}

int stranger_ref(const struct stranger *stranger, const char *name, char ret[GIT_OID_TEXT],
                 struct err *err)
{
    return read_ref(stranger, stranger->fd, name, ret, err);
}

static int read_head(struct stranger *stranger, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ char *own = repo_branch(stranger->repo, stranger->agent);
    size_t len = 0;
    struct err why = ERR_INIT;

    if (file_read(stranger->own, "HEAD", REF_MAX, &text, &len, &why) == -1)
        return refuse(stranger, "HEAD cannot be read", err);
    chomp(text);
    if (git_parse_oid(text, stranger->head)) {
        stranger->branch = mem_dup("");
    } else if (str_starts(text, "ref: refs/heads/") &&
               git_is_branch(text + strlen("ref: refs/heads/"))) {
        stranger->branch = mem_dup(text + strlen("ref: "));
        if (stranger_ref(stranger, stranger->branch, stranger->head, err) == -1)
            return -1;
        if (stranger->head[0] == '\0')
            return refuse(stranger, "its branch has no commit", err);
    } else {
        return refuse(stranger, "HEAD names no branch", err);
    }
    stranger->is_detached = strcmp(stranger->branch, own) != 0;
    return 0;
}

/* Opens a repository by its path in an open work tree. */
static int open_git(struct stranger *stranger, int tree, const char *tree_path, const char *git_dir,
                    struct err *err)
{
    stranger->objects = mem_printf("%s/%s/objects", tree_path, git_dir);
    stranger->fd = path_open_beneath(tree, git_dir, O_RDONLY | O_DIRECTORY);
    return stranger->fd == -1 ? refuse(stranger, "its .git is missing, a file or a link", err)
                              : check_places(stranger, git_dir, err);
}

static int open_tree(struct stranger *stranger, struct err *err)
{
    _cleanup_close_ int workspace = open(stranger->repo->workspace, PATH_PLACE | O_CLOEXEC);
    _cleanup_free_ char *path = mem_printf(CODE_DIR "/%s", stranger->agent);

    if (workspace == -1)
        return err_errno(err, "cannot open '%s'", stranger->repo->workspace);
    stranger->tree = repo_tree(stranger->repo, stranger->agent);
    stranger->cwd = path_open_beneath(workspace, path, O_RDONLY | O_DIRECTORY);
    return stranger->cwd == -1 ? refuse(stranger, "its directory is missing or a link", err) : 0;
}

/* Opens the agent's directory and the repository in it. */
static int open_repository(struct stranger *stranger, struct err *err)
{
    return open_tree(stranger, err) == -1 ||
                   open_git(stranger, stranger->cwd, stranger->tree, ".git", err) == -1
               ? -1
               : check_files(stranger, err);
}

int stranger_open(const struct repo *repo, const char *agent, struct stranger *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;

    stranger.repo = repo;
    stranger.agent = agent;
    stranger.subject = mem_printf("the repository of agent '%s'", agent);
    stranger.key = mem_dup(agent);
    if (open_repository(&stranger, err) == -1)
        return -1;
    stranger.own = fcntl(stranger.fd, F_DUPFD_CLOEXEC, 0);
    if (read_head(&stranger, err) == -1)
        return -1;
    *ret = stranger;
    stranger = (struct stranger)STRANGER_INIT;
    return 0;
}

int stranger_open_linked(const struct repo *repo, const struct linked *linked, struct stranger *ret,
                         struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_free_ char *own = mem_printf("worktrees/%s", linked->name);
    _cleanup_close_ int top = open("/", PATH_PLACE | O_CLOEXEC);
    bool is_view = strcmp(linked->agent, CODE_VIEW) == 0;

    stranger.repo = repo;
    stranger.agent = linked->agent;
    stranger.subject = mem_dup(linked->who);
    stranger.key = mem_printf("%s@%s", linked->agent, linked->name);
    if (is_view)
        stranger.fd = path_open_dir(AT_FDCWD, repo->git);
    else if (open_repository(&stranger, err) == -1)
        return -1;
    free(stranger.tree);
    fd_closep(&stranger.cwd);
    stranger.tree = mem_dup(linked->tree);
    stranger.cwd = linked->tree != NULL
                       ? path_open_beneath(top, linked->tree + 1, O_RDONLY | O_DIRECTORY)
                       : -1;
    if (linked->tree != NULL && stranger.cwd == -1)
        return refuse(&stranger, strerror(errno), err);
    if (linked->tree != NULL && check_files(&stranger, err) == -1)
        return -1;
    stranger.own = path_open_beneath(stranger.fd, own, O_RDONLY | O_DIRECTORY);
    if (stranger.own == -1)
        return refuse(&stranger, strerror(errno), err);
    if (read_head(&stranger, err) == -1)
        return -1;
    *ret = stranger;
    stranger = (struct stranger)STRANGER_INIT;
    return 0;
}

/* ---- submodules */

int stranger_open_view(const struct repo *repo, struct stranger *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;

    stranger.repo = repo;
    stranger.agent = CODE_VIEW;
    stranger.subject = mem_dup("the view");
    stranger.key = mem_dup(CODE_VIEW);
    if (open_tree(&stranger, err) == -1 || check_files(&stranger, err) == -1)
        return -1;
    *ret = stranger;
    stranger = (struct stranger)STRANGER_INIT;
    return 0;
}

/* code.git knows which commits lack their parents: those of the person's checkouts. */
static int check_shallow(const struct stranger *stranger, struct err *err)
{
    _cleanup_close_ int git = open(stranger->repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *known = NULL;
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (file_read(stranger->fd, "shallow", PACKED_MAX, &text, &len, &why) == -1)
        return why.number == ENOENT ? 0 : refuse(stranger, why.text, err);
    if (git != -1)
        (void)file_read(git, "shallow", PACKED_MAX, &known, &len, &why);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0' || (known != NULL && strstr(known, line) != NULL))
            continue;
        (void)refuse(stranger, "it has only a part of the history", err);
        return err_hint(err, "get the rest there with: git fetch --unshallow");
    }
    return 0;
}

/* Names what mas keeps for a submodule: a name of a file, and a part of a ref's. */
static char *key_of(const struct stranger *outer, const char *path)
{
    _cleanup_str_ struct str key = STR_INIT;

    str_addf(&key, "%s%%", outer->key);
    for (; *path != '\0'; path++)
        if ((*path >= '0' && *path <= '9') || (*path >= 'a' && *path <= 'z') ||
            (*path >= 'A' && *path <= 'Z') || *path == '_' || *path == '-')
            str_addc(&key, *path);
        else
            str_addf(&key, "%%%02X", (unsigned)(unsigned char)*path);
    return str_steal(&key);
}

int stranger_open_module(const struct stranger *outer, const char *path, const char *git_dir,
                         const char *head, struct stranger *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_str_ struct str subject = STR_INIT;
    bool has_files = git_dir == NULL || strcmp(git_dir, path) != 0;

    str_addf(&subject, "%s, submodule '",
             strcmp(outer->agent, CODE_VIEW) == 0 ? "the view" : outer->agent);
    str_add_visible(&subject, path, strlen(path));
    str_addc(&subject, '\'');
    stranger.repo = outer->repo;
    stranger.agent = outer->agent;
    stranger.subject = str_steal(&subject);
    stranger.key = key_of(outer, path);
    stranger.path = mem_dup(path);
    stranger.modules = mem_printf("%s/.git/modules", outer->tree);
    if (has_files) {
        stranger.tree = mem_printf("%s/%s", outer->tree, path);
        stranger.cwd = path_open_beneath(outer->cwd, path, O_RDONLY | O_DIRECTORY);
        if (stranger.cwd == -1)
            return refuse(&stranger, strerror(errno), err);
    }
    if (git_dir == NULL) {
        stranger.branch = mem_dup("");
        stranger.is_detached = true;
        (void)git_parse_oid(head, stranger.head);
    } else if (open_git(&stranger, outer->cwd, outer->tree, git_dir, err) == -1 ||
               check_shallow(&stranger, err) == -1) {
        return -1;
    } else {
        stranger.own = fcntl(stranger.fd, F_DUPFD_CLOEXEC, 0);
        if (read_head(&stranger, err) == -1)
            return -1;
    }
    *ret = stranger;
    stranger = (struct stranger)STRANGER_INIT;
    return 0;
}

/* ---- all refs */

struct ref_reader {
    const struct stranger *stranger;
    stranger_each *each;
    void *arg;
};

/* Returns true for a ref that names another one, as refs/remotes/origin/HEAD does in a clone: that
 * one is walked, too. */
static bool is_symbolic(int dir, const char *name)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return file_read(dir, name, REF_MAX, &text, &len, &ignored) == 0 &&
           str_starts(text, "ref: refs/");
}

static int walk_dir(const struct ref_reader *walk, const char *path, int depth, struct err *err)
{
    _cleanup_close_ int dir = path_open_beneath(walk->stranger->own, path, O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;
    struct stat st;

    if (dir == -1 || depth > DEPTH_MAX)
        return refuse(walk->stranger, "a directory of its refs cannot be read", err);
    if (path_list(dir, &names, err) == -1)
        return -1;
    for (char **name = names; *name != NULL; name++) {
        _cleanup_free_ char *below = mem_printf("%s/%s", path, *name);
        char oid[GIT_OID_TEXT];
        if (fstatat(dir, *name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        if (S_ISDIR(st.st_mode)) {
            if (walk_dir(walk, below, depth + 1, err) == -1)
                return -1;
        } else if (!str_ends(*name, ".lock") && !is_symbolic(dir, *name)) {
            if (read_ref(walk->stranger, walk->stranger->own, below, oid, err) == -1 ||
                walk->each(below, oid, walk->arg, err) == -1)
                return -1;
        }
    }
    return 0;
}

static int walk_packed(const struct ref_reader *walk, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (file_read(walk->stranger->fd, "packed-refs", PACKED_MAX, &text, &len, &why) == -1)
        return why.number == ENOENT ? 0 : refuse(walk->stranger, "packed-refs cannot be read", err);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *blank = strchr(line, ' ');
        if (line[0] == '#' || line[0] == '^' || blank == NULL)
            continue;
        *blank = '\0';
        char oid[GIT_OID_TEXT];
        if (!git_is_oid(line) || !str_starts(blank + 1, "refs/") ||
            !git_is_branch(blank + 1 + strlen("refs/")))
            return refuse(walk->stranger, "packed-refs is damaged", err);
        /* a file below refs/ overrides the line */
        if (stranger_ref(walk->stranger, blank + 1, oid, err) == -1 ||
            (oid[0] != '\0' && walk->each(blank + 1, oid, walk->arg, err) == -1))
            return -1;
    }
    return 0;
}

/* Older entries of the stash stand only in its log: "<old> <new> <who> <time>\t<text>". */
static int walk_stash(const struct ref_reader *walk, struct err *err)
{
    _cleanup_close_ int dir =
        path_open_beneath(walk->stranger->fd, "logs/refs", O_RDONLY | O_DIRECTORY);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (dir == -1)
        return 0;
    if (file_read(dir, "stash", LOG_MAX, &text, &len, &why) == -1)
        return why.number == ENOENT
                   ? 0
                   : refuse(walk->stranger, "the log of its stash cannot be read", err);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *oid = strchr(line, ' ');
        if (oid == NULL)
            continue;
        oid++;
        oid[strcspn(oid, " ")] = '\0';
        if (!git_is_oid(oid))
            return refuse(walk->stranger, "the log of its stash is damaged", err);
        if (walk->each("refs/stash", oid, walk->arg, err) == -1)
            return -1;
    }
    return 0;
}

/* What `rebase --autostash` and `merge --autostash` have put away until they are done. */
static int walk_autostash(const struct ref_reader *walk, struct err *err)
{
    static const char *const files[] = {"rebase-merge/autostash", "rebase-apply/autostash",
                                        "MERGE_AUTOSTASH"};

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char oid[GIT_OID_TEXT];
        struct stat st;
        if (fstatat(walk->stranger->own, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            (read_ref(walk->stranger, walk->stranger->own, files[i], oid, err) == -1 ||
             walk->each("refs/stash", oid, walk->arg, err) == -1))
            return -1;
    }
    return 0;
}

int stranger_refs(const struct stranger *stranger, stranger_each *each, void *arg, struct err *err)
{
    const struct ref_reader walk = {.stranger = stranger, .each = each, .arg = arg};
    struct stat st;

    if (stranger->own == -1)
        return 0; /* files of a submodule alone */
    if (walk_autostash(&walk, err) == -1)
        return -1;
    if (stranger_is_linked(stranger))
        return fstatat(stranger->own, "refs", &st, AT_SYMLINK_NOFOLLOW) == 0
                   ? walk_dir(&walk, "refs", 0, err)
                   : 0;
    return walk_packed(&walk, err) == -1 || walk_dir(&walk, "refs", 0, err) == -1 ||
                   walk_stash(&walk, err) == -1
               ? -1
               : 0;
}

const char *stranger_progress(const struct stranger *stranger)
{
    return git_progress(stranger->own);
}

int stranger_copy_index(const struct stranger *stranger, const char *to, struct err *err)
{
    struct err why = ERR_INIT;

    (void)unlink(to);
    return index_copy(stranger->own, "index", AT_FDCWD, to, &why) == 0 || why.number == ENOENT
               ? 0
               : refuse(stranger, why.text, err);
}

/* ---- the index that mas keeps */

enum { NOTE_MAX = 256 }; /* bytes */

/* Names the index by its inode and times: git replaces it whenever it writes one. NULL: there is
 * none. The caller frees it. */
static char *make_note(const struct stranger *stranger, int dir, enum stranger_index what)
{
    struct stat st;

    return fstatat(dir, stranger->key, &st, AT_SYMLINK_NOFOLLOW) == -1
               ? NULL
               : mem_printf("%s %d %ju %jd.%09ld\n", stranger->head, (int)what,
                            (uintmax_t)st.st_ino, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

static int open_indexes(const struct stranger *stranger)
{
    _cleanup_free_ char *path = mem_printf("%s/" CODE_INDEXES, stranger->repo->git);
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum stranger_index stranger_index(const struct stranger *stranger)
{
    _cleanup_close_ int dir = open_indexes(stranger);
    _cleanup_free_ char *name = mem_printf("%s.head", stranger->key);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (dir == -1 || file_read(dir, name, NOTE_MAX, &text, &len, &ignored) == -1)
        return INDEX_OTHER;
    for (enum stranger_index what = INDEX_PLAIN; what > INDEX_OTHER; what--) {
        _cleanup_free_ char *note = make_note(stranger, dir, what);
        if (note != NULL && strcmp(note, text) == 0)
            return what;
    }
    return INDEX_OTHER;
}

void stranger_note_index(const struct stranger *stranger, enum stranger_index what)
{
    _cleanup_close_ int dir = open_indexes(stranger);
    _cleanup_free_ char *name = mem_printf("%s.head", stranger->key);
    _cleanup_free_ char *note = make_note(stranger, dir, what);

    if (dir != -1 && note != NULL && stranger_index(stranger) != what)
        repo_keep_note(dir, name, note, strlen(note));
}

struct git stranger_git(const struct stranger *stranger, const char *index)
{
    /* the patterns of a sparse checkout are those of the project, not of a submodule */
    static const char *const whole[] = {"core.sparseCheckout=false", NULL};

    return (struct git){.dir = stranger->repo->git,
                        .tree = stranger->tree,
                        .index = index,
                        .objects = {stranger->objects},
                        .readable = stranger->modules,
                        .confined = true,
                        .cwd = stranger->cwd,
                        .settings = stranger->path != NULL ? whole : NULL};
}
