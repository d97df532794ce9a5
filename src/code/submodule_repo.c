#include "code/submodule_internal.h"

#include "base/file.h"
#include "base/path.h"
#include "code/index.h"
#include "code/layout.h"
#include "code/stranger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES ".git/modules"
#define LINK "gitdir: "

enum {
    LINK_MAX = 8192, /* bytes of a file .git */
    CONFIG_MAX = 1 << 20,
    DEPTH_MAX = 16, /* directories below .git/modules */
};

/* Appends "../" for a path, and for each slash in it. */
static void add_ups(struct str *to, const char *path)
{
    str_add(to, "../");
    for (; *path != '\0'; path++)
        if (*path == '/')
            str_add(to, "../");
}

/* ---- the agent's repository */

/* Returns a path without "." and "..", NULL if it leads out. The caller frees it. */
static char *normalize(const char *path)
{
    _cleanup_free_ char *copy = mem_dup(path);
    _cleanup_str_ struct str text = STR_INIT;
    char *save = NULL;

    for (char *part = strtok_r(copy, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") != 0) {
            str_addf(&text, "%s%s", text.len > 0 ? "/" : "", part);
            continue;
        }
        if (text.len == 0)
            return NULL;
        const char *slash = strrchr(str_text(&text), '/');
        _cleanup_free_ char *up =
            mem_dupn(text.data, slash != NULL ? (size_t)(slash - text.data) : 0);
        str_clear(&text);
        str_add(&text, up);
    }
    return text.len > 0 ? mem_dup(text.data) : NULL;
}

/* Finds the repository of the submodule whose directory is open at `cwd`; its path is below the
 * work tree. *ret stays NULL if there is none. */
static int find_dir(const char *path, int cwd, char **ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t len = 0;

    if (fstatat(cwd, ".git", &st, AT_SYMLINK_NOFOLLOW) == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot read '%s/.git'", path);
    if (S_ISDIR(st.st_mode)) {
        *ret = mem_printf("%s/.git", path);
        return 0;
    }
    if (file_read(cwd, ".git", LINK_MAX, &text, &len, err) == -1)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    if (str_starts(text, LINK) && text[strlen(LINK)] != '/') {
        _cleanup_free_ char *there = mem_printf("%s/%s", path, text + strlen(LINK));
        *ret = normalize(there);
    }
    return *ret != NULL
               ? 0
               : err_set(err, MAS_DAMAGED, "'%s/.git' names no repository in the work tree", path);
}

int submodule_repo_open(const struct repo *repo, const char *name, const char *path,
                        struct stranger *ret, bool *ret_there, struct err *err)
{
    _cleanup_free_ char *top = repo_tree(repo, name);
    _cleanup_close_ int tree = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int cwd =
        tree != -1 ? path_open_beneath(tree, path, O_RDONLY | O_DIRECTORY) : -1;
    _cleanup_free_ char *dir = NULL;

    *ret_there = false;
    if (cwd == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s/%s'", top, path);
    if (find_dir(path, cwd, &dir, err) == -1)
        return -1;
    *ret_there = dir != NULL;
    return dir == NULL ? 0 : stranger_open_module(repo, name, dir, ret, err);
}

/* ---- making one */

/* Opens a directory below an open one, and makes what is missing of its path. */
static int make_dirs(int at, const char *path, struct err *err)
{
    _cleanup_free_ char *copy = mem_dup(path);
    _cleanup_close_ int dir = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *save = NULL;

    for (char *part = strtok_r(copy, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
        int next = path_make_dir(dir, part, 0755);
        if (next == -1 && errno == EEXIST)
            next = path_open_dir(dir, part);
        if (next == -1)
            return err_errno(err, "cannot make '%s'", path);
        fd_closep(&dir);
        dir = next;
    }
    int made = dir;
    dir = -1;
    return made;
}

/* As `git submodule` writes it, with what all repositories of a session have. */
static int make_config(const struct submodule_place *place, const struct submodule *item,
                       struct str *to, struct err *err)
{
    const struct git git = repo_git(place->repo);
    _cleanup_str_ struct str tree = STR_INIT;
    _cleanup_free_ char *user = NULL;
    _cleanup_free_ char *email = NULL;
    bool sha256 = strlen(item->oid) == GIT_OID_MAX;

    if (git_text(&git, GIT_ARGS("config", "--get", "user.name"), &user, err) == -1 ||
        git_text(&git, GIT_ARGS("config", "--get", "user.email"), &email, err) == -1)
        return -1;
    add_ups(&tree, ".git");
    add_ups(&tree, item->module);
    str_add(&tree, item->path);
    layout_set(to, "core", NULL);
    layout_set(to, "repositoryformatversion", sha256 ? "1" : "0");
    layout_set(to, "filemode", "true");
    layout_set(to, "bare", "false");
    layout_set(to, "logallrefupdates", "true");
    layout_set(to, "autocrlf", "false");
    layout_set(to, "eol", "lf");
    layout_set(to, "worktree", tree.data);
    if (sha256) {
        layout_set(to, "extensions", NULL);
        layout_set(to, "objectformat", "sha256");
    }
    layout_set(to, "user", NULL);
    layout_set(to, "name", user);
    layout_set(to, "email", email);
    layout_set(to, "gc", NULL);
    layout_set(to, "auto", "0");
    layout_set(to, "maintenance", NULL);
    layout_set(to, "auto", "false");
    if (item->url != NULL) {
        layout_set(to, "remote \"origin\"", NULL);
        layout_set(to, "url", item->url);
        layout_set(to, "fetch", "+refs/heads/*:refs/remotes/origin/*");
    }
    return 0;
}

/* Has the repository around the submodule know it, as after `git submodule init`. */
static int set_active(const struct submodule_place *place, const struct submodule *item,
                      struct err *err)
{
    _cleanup_free_ char *around =
        mem_printf(".git/%.*s", (int)(item->name_at - strlen("modules/")), item->module);
    _cleanup_free_ char *section = mem_printf("submodule \"%s\"", item->module + item->name_at);
    _cleanup_close_ int dir = path_open_beneath(place->tree, around, O_RDONLY | O_DIRECTORY);
    _cleanup_free_ char *text = NULL;
    _cleanup_str_ struct str config = STR_INIT;
    size_t len = 0;

    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", around);
    if (file_read(dir, "config", CONFIG_MAX, &text, &len, err) == -1)
        return err_wrap(err, "cannot read '%s/config'", around);
    if (strstr(text, section) != NULL)
        return 0;
    str_addn(&config, text, len);
    if (len > 0 && text[len - 1] != '\n')
        str_addc(&config, '\n');
    layout_set(&config, section, NULL);
    layout_set(&config, "active", "true");
    if (item->url != NULL)
        layout_set(&config, "url", item->url);
    return file_replace(dir, "config", config.data, config.len, 0644, err);
}

/* A repository that borrows has the commits without parents of the one that it borrows from. */
static int copy_shallow(const struct repo *repo, int dir, struct err *err)
{
    _cleanup_close_ int from = open(repo->git, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;
    size_t len = 0;

    if (from == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    if (file_read(from, "shallow", CONFIG_MAX, &text, &len, &why) == -1) {
        if (why.number == ENOENT)
            return 0;
        *err = why;
        return -1;
    }
    return file_replace(dir, "shallow", text, len, 0644, err);
}

/* Makes the repository, or gives one that is there to a submodule that was moved. */
static int make_repo(const struct submodule_place *place, const struct submodule *item, int dir,
                     int cwd, struct err *err)
{
    _cleanup_free_ char *head = mem_printf("%s\n", item->oid);
    _cleanup_free_ char *git_dir = mem_printf(".git/%s", item->module);
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_str_ struct str link = STR_INIT;
    size_t depth = 0;

    for (const char *c = git_dir; *c != '\0'; c++)
        depth += *c == '/';
    _cleanup_free_ char *alternates = stranger_borrowed(depth);
    if (make_config(place, item, &config, err) == -1)
        return -1;
    if (faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        if (file_replace(dir, "config", config.data, config.len, 0644, err) == -1)
            return -1;
    } else if (layout_make(dir, head, &config, err) == -1) {
        return -1;
    } else {
        _cleanup_close_ int info = path_open_beneath(dir, "objects/info", O_RDONLY | O_DIRECTORY);
        if (info == -1)
            return err_errno(err, "cannot open '%s/objects/info'", git_dir);
        if (file_create(info, "alternates", alternates, strlen(alternates), 0644, err) == -1)
            return -1;
    }
    str_add(&link, LINK);
    add_ups(&link, item->path);
    str_addf(&link, "%s\n", git_dir);
    return file_create(cwd, ".git", link.data, link.len, 0644, err);
}

int submodule_repo_set(const struct submodule_place *place, const struct submodule *item, int cwd,
                       struct err *err)
{
    _cleanup_close_ int git_dir = path_open_dir(place->tree, ".git");
    _cleanup_free_ char *index = mem_printf("%zu", item->number);
    _cleanup_free_ char *head = mem_printf("%s\n", item->oid);
    _cleanup_free_ char *found = NULL;

    if (item->module == NULL || git_dir == -1) /* .git is a file in the view */
        return 0;
    if (find_dir(item->path, cwd, &found, err) == -1)
        return -1;
    bool is_new = found == NULL;
    _cleanup_close_ int dir = is_new
                                  ? make_dirs(git_dir, item->module, err)
                                  : path_open_beneath(place->tree, found, O_RDONLY | O_DIRECTORY);
    if (dir == -1)
        return is_new ? -1 : err_errno(err, "cannot open '%s'", found);
    if (is_new &&
        (make_repo(place, item, dir, cwd, err) == -1 || set_active(place, item, err) == -1))
        return -1;
    if (copy_shallow(place->repo, dir, err) == -1 ||
        file_replace(dir, "HEAD", head, strlen(head), 0644, err) == -1)
        return -1;
    (void)unlinkat(dir, "index", 0);
    return index_copy(place->dir, index, dir, "index", err);
}

/* ---- what is only there */

struct own_search {
    const struct repo *repo;
    bool own; /* a commit that code.git lacks */
};

static int look_at_ref(const char *name, const char *oid, void *arg, struct err *err)
{
    struct own_search *search = arg;
    bool there = false;

    (void)name;
    if (search->own)
        return 0;
    if (submodule_has_commit(search->repo->git, oid, &there, err) == -1)
        return -1;
    search->own = !there;
    return 0;
}

int submodule_repo_check_one(const struct stranger *module, const char *name, struct str *ret,
                             struct err *err)
{
    struct own_search search = {.repo = module->repo};
    struct err why = ERR_INIT;

    if (look_at_ref("HEAD", module->head, &search, err) == -1)
        return -1;
    /* a ref that cannot be read may be work */
    if (search.own || stranger_refs(module, look_at_ref, &search, &why) == -1 || search.own)
        str_addn(ret, name, strlen(name) + 1);
    return 0;
}

static int walk(const struct submodule_place *place, int at, const char *path, int depth,
                struct str *ret, struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    struct stat st;

    if (depth > DEPTH_MAX || path_list(at, &names, &why) == -1) {
        str_addn(ret, path, strlen(path) + 1);
        return 0;
    }
    bool is_repo = faccessat(at, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_repo) {
        if (stranger_open_module(place->repo, place->name, path, &module, &why) == -1)
            str_addn(ret, path, strlen(path) + 1);
        else if (submodule_repo_check_one(&module, path, ret, err) == -1)
            return -1;
    }
    for (char **name = names; *name != NULL; name++) {
        if (is_repo && strcmp(*name, "modules") != 0)
            continue;
        _cleanup_free_ char *below = mem_printf("%s/%s", path, *name);
        _cleanup_close_ int dir = path_open_dir(at, *name);
        if (dir != -1 && walk(place, dir, below, depth + 1, ret, err) == -1)
            return -1;
        if (dir == -1 && !(is_repo && fstatat(at, *name, &st, AT_SYMLINK_NOFOLLOW) == -1))
            str_addn(ret, below, strlen(below) + 1);
    }
    return 0;
}

int submodule_repo_check(const struct submodule_place *place, struct str *ret, struct err *err)
{
    _cleanup_close_ int dir = path_open_beneath(place->tree, MODULES, O_RDONLY | O_DIRECTORY);

    /* .git is a file in the view */
    return dir == -1 ? 0 : walk(place, dir, MODULES, 0, ret, err);
}
