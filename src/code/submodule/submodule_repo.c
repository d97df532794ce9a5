/*
 * Writes the files of the repository itself, as `git submodule` would make them: no git of mas runs
 * in a repository that an agent owns. One that is there already keeps its objects and refs; only
 * its HEAD, its index and the commits without parents are set, at each time the submodule follows.
 */

#include "code/submodule/submodule_internal.h"

#include "code/stranger.h"
#include "git/index.h"
#include "git/layout.h"
#include "os/file.h"
#include "os/path.h"

enum { CONFIG_MAX = 1 << 20 }; /* bytes */

/* Appends "../" for a path, and for each slash in it. */
static void add_ups(struct str *to, const char *path)
{
    str_add(to, "../");
    for (; *path != '\0'; path++)
        if (*path == '/')
            str_add(to, "../");
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
    layout_begin(to, sha256 ? "sha256" : "sha1", false);
    layout_set(to, "logallrefupdates", "true");
    layout_set(to, "autocrlf", "false");
    layout_set(to, "eol", "lf");
    layout_set(to, "worktree", tree.data);
    layout_set_user(to, user, email);
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
    _cleanup_close_ int from = open(repo->git, PATH_PLACE | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (from == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    int there = file_read_if_there(from, "shallow", CONFIG_MAX, &text, &len, err);
    if (there != 1)
        return there;
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
    _cleanup_free_ char *alternates = stranger_borrowed(git_dir);

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
    str_add(&link, "gitdir: ");
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
    if (module_find(item->path, cwd, &found, err) == -1)
        return -1;
    bool is_new = found == NULL;
    _cleanup_close_ int dir = is_new
                                  ? path_make_below(git_dir, item->module, 0755)
                                  : path_open_beneath(place->tree, found, O_RDONLY | O_DIRECTORY);
    if (dir == -1)
        return is_new ? err_errno(err, "cannot make '%s'", item->module)
                      : err_errno(err, "cannot open '%s'", found);
    if (is_new &&
        (make_repo(place, item, dir, cwd, err) == -1 || set_active(place, item, err) == -1))
        return -1;
    if (copy_shallow(place->repo, dir, err) == -1 ||
        file_replace(dir, "HEAD", head, strlen(head), 0644, err) == -1)
        return -1;
    (void)unlinkat(dir, "index", 0);
    return index_copy(place->dir, index, dir, "index", err);
}
