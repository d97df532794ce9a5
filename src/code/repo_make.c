/*
 * code.git: the objects are copied or linked, then its layout is written by hand, without git; what
 * the project borrows is lent for a moment and packed into it. Work trees: git fills the first, the
 * others are copies of its files, and then each gets its branch and an index that knows its own
 * inodes. All of it is in the stage, which is not yet a session: a kill leaves nothing that counts.
 */

#include "code/repo_make.h"

#include "code/repo_make_internal.h"
#include "code/sparse.h"
#include "code/stranger.h"
#include "code/view.h"
#include "git/index.h"
#include "git/layout.h"
#include "git/lfs.h"
#include "os/file.h"
#include "os/path.h"

enum {
    COPY_TRIES = 3, /* the project may be packed anew while its objects are copied */
    SHALLOW_MAX = 1 << 20, /* bytes of the list of commits without parents */
};

/* ---- code.git */

/* info/ holds what depends on other repositories, and caches. */
static bool is_object_dir(const char *name, void *arg)
{
    (void)arg;
    return strcmp(name, "info") != 0 && !str_starts(name, "tmp_");
}

/* Refuses links among the objects: a copied link would lead git back into the project. */
static int check_links(int objects, const struct project *project, struct err *err)
{
    _cleanup_strv_ char **dirs = NULL;
    struct stat st;

    if (path_list(objects, &dirs, err) == -1)
        return -1;
    for (char **dir = dirs; *dir != NULL; dir++) {
        _cleanup_strv_ char **names = NULL;
        if (fstatat(objects, *dir, &st, AT_SYMLINK_NOFOLLOW) == -1)
            return err_errno(err, "cannot read '" CODE_GIT "/objects/%s'", *dir);
        bool link = S_ISLNK(st.st_mode);
        if (S_ISDIR(st.st_mode) && path_list_in(objects, *dir, &names, err) == -1)
            return -1;
        _cleanup_close_ int at = names != NULL ? path_open_dir(objects, *dir) : -1;
        for (char **name = names; name != NULL && *name != NULL && !link; name++)
            link = fstatat(at, *name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
        if (link)
            return err_set(err, MAS_USAGE,
                           "cannot use project '%s': there is a symbolic link in its objects/%s",
                           project->path, *dir);
    }
    return 0;
}

int repo_copy_objects(int to, const struct project *project, tree_tick *tick, void *arg,
                      struct err *err)
{
    const struct tree_choice choice = {.link_readonly = true, .takes = is_object_dir};
    _cleanup_free_ char *path = mem_printf("%s/objects", project->dir);
    _cleanup_close_ int from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (from == -1)
        return err_errno(err, "cannot copy '%s'", path);
    for (int tries = 1;; tries++) {
        if (path_make_dir(to, "objects", 0755) == -1 && errno != EEXIST)
            return err_errno(err, "cannot make '" CODE_GIT "/objects'");
        _cleanup_close_ int objects = path_open_dir(to, "objects");
        if (objects == -1)
            return err_errno(err, "cannot open '" CODE_GIT "/objects'");
        if (tree_copy_choice(from, objects, path, &choice, tick, arg, err) == 0)
            return check_links(objects, project, err);
        if (err->number != ENOENT || tries == COPY_TRIES || tree_remove(to, "objects", err) == -1)
            return -1;
    }
}

/* Has code.git borrow what the project borrows, until keep_borrowed(). *ret tells whether it does.
 */
static int borrow(const struct project *project, int dir, bool *ret, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/objects/info/alternates", project->dir);
    _cleanup_free_ char *objects = mem_printf("%s/objects\n", project->dir);

    *ret = access(path, F_OK) == 0;
    if (!*ret)
        return 0;
    if (strchr(project->dir, '\n') != NULL)
        return err_set(err, MAS_USAGE,
                       "cannot use project '%s': it borrows objects, and its path holds a newline",
                       project->path);
    _cleanup_close_ int info =
        path_open_beneath(dir, CODE_GIT "/objects/info", O_RDONLY | O_DIRECTORY);
    return info == -1 ? err_errno(err, "cannot open '" CODE_GIT "/objects/info'")
                      : file_create(info, "alternates", objects, strlen(objects), 0644, err);
}

/* Makes the borrowed objects the session's own. */
static int keep_borrowed(const struct repo *repo, int dir, const struct project *project,
                         struct err *err)
{
    const struct git git = repo_git(repo);

    if (git_must(&git, GIT_ARGS("repack", "-a", "-d", "-q"), NULL, NULL, err) == -1)
        return err_wrap(err, "cannot copy the objects that '%s' borrows", project->path);
    return unlinkat(dir, CODE_GIT "/objects/info/alternates", 0) == -1
               ? err_errno(err, "cannot remove '" CODE_GIT "/objects/info/alternates'")
               : 0;
}

/* Has git keep the packs of the project apart from those to come, and their blocks shared: see
 * code/upkeep.h. */
static int keep_packs(int to, struct err *err)
{
    _cleanup_close_ int dir = path_open_beneath(to, "objects/pack", O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;

    if (dir == -1 || path_list(dir, &names, err) == -1)
        return dir == -1 ? err_errno(err, "cannot open '" CODE_GIT "/objects/pack'") : -1;
    for (char **name = names; *name != NULL; name++) {
        if (!str_ends(*name, ".pack"))
            continue;
        _cleanup_free_ char *keep =
            mem_printf("%.*s.keep", (int)(strlen(*name) - strlen(".pack")), *name);
        struct err why = ERR_INIT;
        if (file_create(dir, keep, "", 0, 0644, &why) == -1 && why.number != EEXIST) {
            *err = why;
            return -1;
        }
    }
    return 0;
}

/* A shallow project names the commits whose parents it lacks. */
static int copy_shallow(int to, const struct project *project, struct err *err)
{
    _cleanup_close_ int from = open(project->dir, PATH_PLACE | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (!project->shallow)
        return 0;
    if (from == -1)
        return err_errno(err, "cannot open '%s'", project->dir);
    return file_read(from, "shallow", SHALLOW_MAX, &text, &len, err) == -1
               ? -1
               : file_create(to, "shallow", text, len, 0644, err);
}

/* Begins the configuration that all repositories of a session have. Commits are made in the name of
 * the person who made the session. Agents borrow objects that nothing in code.git needs, and may
 * run git in the view, which collects garbage there. */
static void begin_config(const struct project *project, bool bare, struct str *to)
{
    layout_begin(to, project->format, bare);
    if (!bare) {
        layout_set(to, "logallrefupdates", "true");
        layout_set(to, "autocrlf", "false"); /* files are as in the commits, whatever the person */
        layout_set(to, "eol", "lf"); /* has set: mas compares them without these settings */
    }
    layout_set_user(to, project->user_name, project->user_email);
    layout_set(to, "gc", NULL);
    layout_set(to, "auto", "0");
    if (bare)
        layout_set(to, "pruneExpire", "never");
    if (project->lfs)
        str_add(to, LFS_CONFIG);
}

int repo_make(const struct repo *repo, int dir, const struct project *project, tree_tick *tick,
              void *arg, struct err *err)
{
    _cleanup_free_ char *head = mem_printf("ref: %s\n", repo->main);
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int to = path_make_dir(dir, CODE_GIT, 0755);

    if (to == -1)
        return err_errno(err, "cannot make '" CODE_GIT "'");
    _cleanup_close_ int locks = path_make_dir(dir, CODE_LOCKS, 0700);
    if (locks == -1)
        return err_errno(err, "cannot make '" CODE_LOCKS "'");
    bool borrows = false;
    begin_config(project, true, &config);
    if (repo_copy_objects(to, project, tick, arg, err) == -1 ||
        layout_make(to, head, &config, err) == -1 || copy_shallow(to, project, err) == -1 ||
        borrow(project, dir, &borrows, err) == -1 ||
        layout_ref(to, CODE_REF_BASE, project->base, err) == -1)
        return -1;
    if (sparse_inherit(repo->git, project, err) == -1)
        return -1;
    return borrows && keep_borrowed(repo, dir, project, err) == -1 ? -1 : keep_packs(to, err);
}

/* ---- work trees */

/* What all work trees have alike. The paths are relative, so that a session can be moved. */
static void format_config(const struct repo *repo, const struct project *project, struct str *to)
{
    _cleanup_free_ char *fetch =
        mem_printf("+refs/heads/mas/%s/*:refs/remotes/team/*", repo->label);

    begin_config(project, false, to);
    layout_set(to, "maintenance", NULL);
    layout_set(to, "auto", "false");
    layout_set(to, "remote \"team\"", NULL);
    layout_set(to, "url", "../../" CODE_GIT);
    layout_set(to, "fetch", fetch);
}

int repo_make_first(const struct repo *repo, int code, const char *name,
                    const struct project *project, const struct repo_like *like, struct err *err)
{
    _cleanup_free_ char *alternates = stranger_borrowed(".git");
    _cleanup_free_ char *tree = repo_tree(repo, name);
    _cleanup_free_ char *git_dir = mem_printf("%s/.git", tree);
    _cleanup_free_ char *objects = mem_printf("%s/objects", repo->git);
    _cleanup_free_ char *head = mem_printf("%s\n", project->base);
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int cwd = path_make_dir(code, name, 0755);
    _cleanup_close_ int at = cwd == -1 ? -1 : path_make_dir(cwd, ".git", 0755);

    if (at == -1)
        return err_errno(err, "cannot make '" CODE_DIR "/%s'", name);
    format_config(repo, project, &config);
    if (sparse_copy(repo->git, at, &config, err) == -1 || layout_make(at, head, &config, err) == -1)
        return -1;
    _cleanup_close_ int info = path_open_beneath(at, "objects/info", O_RDONLY | O_DIRECTORY);
    if (info == -1)
        return err_errno(err, "cannot open the objects of '" CODE_DIR "/%s'", name);
    if (file_create(info, "alternates", alternates, strlen(alternates), 0644, err) == -1 ||
        copy_shallow(at, project, err) == -1)
        return -1;
    const struct git git = {.dir = git_dir, .tree = tree, .objects = {objects}, .cwd = cwd};
    const char *what = like != NULL ? like->tree : project->base;
    bool sha256 = strcmp(project->format, "sha256") == 0;
    int rc = like != NULL ? index_transfer(like->index, sha256, like->cwd, cwd, err) : 1;
    if (rc == 1)
        rc = git_must(&git, GIT_ARGS("read-tree", "-u", "--reset", what), NULL, NULL, err);
    return rc == 0 ? 0 : err_wrap(err, "cannot check out the project for agent '%s'", name);
}

/* Makes the other work trees. */
static int copy_first(int code, const char *const *names, size_t count, tree_tick *tick, void *arg,
                      struct err *err)
{
    _cleanup_close_ int from = path_open_dir(code, names[0]);
    int to[TEAM_AGENTS_MAX];
    size_t made = 0;
    int rc = 0;

    if (from == -1)
        return err_errno(err, "cannot open '" CODE_DIR "/%s'", names[0]);
    while (rc == 0 && 1 + made < count) {
        to[made] = path_make_dir(code, names[1 + made], 0755);
        if (to[made] == -1)
            rc = err_errno(err, "cannot make '" CODE_DIR "/%s'", names[1 + made]);
        else
            made++;
    }
    if (rc == 0 && made > 0)
        rc = tree_copy_many(from, to, made, CODE_DIR, tick, arg, err);
    while (made > 0)
        (void)close(to[--made]);
    return rc;
}

int repo_finish_tree(const struct repo *repo, int code, const char *name,
                     const struct project *project, struct err *err)
{
    _cleanup_free_ char *branch = repo_branch(repo, name);
    _cleanup_free_ char *head = mem_printf("ref: %s\n", branch);
    _cleanup_free_ char *path = mem_printf("%s/.git", name);
    _cleanup_close_ int at = path_open_beneath(code, path, O_RDONLY | O_DIRECTORY);

    if (at == -1 || unlinkat(at, "HEAD", 0) == -1)
        return err_errno(err, "cannot finish '" CODE_DIR "/%s'", name);
    return layout_ref(at, branch, project->base, err) == -1
               ? -1
               : file_create(at, "HEAD", head, strlen(head), 0644, err);
}

/* Gives the index of a copied work tree the inodes of its files. */
static int adopt_files(const struct repo *repo, int code, const char *name,
                       const struct project *project, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, name);
    _cleanup_free_ char *git_dir = mem_printf("%s/.git", tree);
    _cleanup_free_ char *objects = mem_printf("%s/objects", repo->git);
    _cleanup_close_ int cwd = path_open_dir(code, name);

    if (cwd == -1)
        return err_errno(err, "cannot open '" CODE_DIR "/%s'", name);
    const struct git git = {.dir = git_dir, .tree = tree, .objects = {objects}, .cwd = cwd};
    int rc = index_adopt(cwd, strcmp(project->format, "sha256") == 0, err);
    return rc != 1 ? rc
                   : git_must(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, NULL, err);
}

int repo_make_trees(const struct repo *repo, int dir, const struct project *project,
                    const struct team *team, tree_tick *tick, void *arg, struct err *err)
{
    const char *writers[TEAM_AGENTS_MAX];
    size_t count = 0;
    bool viewed = false;

    for (size_t i = 0; i < team->agent_count; i++) {
        if (team->agents[i].code == AGENT_CODE_WORKTREE)
            writers[count++] = team->agents[i].id;
        viewed = viewed || team->agents[i].code == AGENT_CODE_VIEW;
    }
    _cleanup_close_ int own = path_open_dir(dir, CODE_GIT);
    if (own == -1)
        return err_errno(err, "cannot open '" CODE_GIT "'");
    if (layout_ref(own, repo->main, project->base, err) == -1)
        return -1;
    _cleanup_close_ int code = path_make_dir(dir, CODE_DIR, 0755);
    if (code == -1)
        return err_errno(err, "cannot make '" CODE_DIR "'");
    if (count > 0 && (repo_make_first(repo, code, writers[0], project, NULL, err) == -1 ||
                      copy_first(code, writers, count, tick, arg, err) == -1))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (repo_finish_tree(repo, code, writers[i], project, err) == -1 ||
            (i > 0 && adopt_files(repo, code, writers[i], project, err) == -1))
            return -1;
    return viewed ? view_make(repo, dir, code, project->base, err) : 0;
}
