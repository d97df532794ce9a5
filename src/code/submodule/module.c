/*
 * Submodules are found in three places, each of which an agent can change or hide: the list that
 * mas keeps, what the commit names, and .git/modules. module_each() visits the paths of the first
 * two, to which each visited one adds those in it, then the repositories of the last that none of
 * them has. Paths are opened below the work tree without following links.
 */

#include "code/submodule/module.h"

#include "os/file.h"
#include "os/path.h"

#define MODULES ".git/modules"
#define LINK "gitdir: "

enum {
    LIST_MAX = 1 << 20, /* bytes */
    LINK_MAX = 8192, /* bytes of a file .git */
    DEPTH_MAX = 16, /* directories below .git/modules */
};

/* ---- those that mas has filled */

void module_list_free(struct module_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct module_list){.items = NULL};
}

void module_list_add(struct module_list *list, const char *path, const char *oid, size_t number)
{
    struct module item = {.path = mem_dup(path), .number = number};

    (void)git_parse_oid(oid, item.oid);
    list->items = mem_room(list->items, list->count, sizeof *list->items);
    list->items[list->count++] = item;
}

int module_list_read(const struct repo *repo, const char *name, struct module_list *ret,
                     struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" MODULES_DIR "/%s", repo->git, name);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (dir == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", path);
    if (file_read(dir, "list", LIST_MAX, &text, &len, err) == -1)
        return err_wrap(err, "cannot read '%s'", path);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
        char *number = strchr(line, ' ');
        char *end = number != NULL ? strchr(number + 1, ' ') : NULL;
        if (end == NULL)
            continue;
        *number = *end = '\0';
        if (git_is_oid(line))
            module_list_add(ret, end + 1, line, strtoul(number + 1, NULL, 10));
    }
    return 0;
}

/* ---- finding them */

int module_links(const struct git *git, const char *tree, module_link *each, void *arg,
                 struct err *err)
{
    static const char link[] = "160000 commit ";
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, GIT_ARGS("ls-tree", "-r", "-z", "--full-tree", tree), NULL, &result, err) ==
        -1)
        return -1;
    int rc = 0;
    const char *end = str_text(&result.out) + result.out.len;
    for (const char *line = str_text(&result.out); rc == 0 && line < end;
         line += strlen(line) + 1) {
        const char *tab = strchr(line, '\t');
        if (!str_starts(line, link) || tab == NULL)
            continue;
        _cleanup_free_ char *oid =
            mem_dupn(line + strlen(link), (size_t)(tab - line) - strlen(link));
        if (git_is_oid(oid))
            rc = each(tab + 1, oid, arg, err);
    }
    return rc;
}

/* Returns a path without "." and "..", NULL if it leads out. The caller frees it. */
static char *normalize(const char *path)
{
    _cleanup_free_ char *copy = mem_dup(path);
    _cleanup_free_ char *joined = mem_alloc(strlen(path) + 2);
    size_t len = 0;

    joined[0] = '\0';
    for (char *rest = copy, *part; (part = strsep(&rest, "/")) != NULL;) {
        if (part[0] == '\0' || strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            if (len == 0)
                return NULL;
            while (len > 0 && joined[--len] != '/')
                ;
        } else {
            joined[len++] = '/';
            memcpy(joined + len, part, strlen(part));
            len += strlen(part);
        }
        joined[len] = '\0';
    }
    return len > 0 ? mem_dup(joined + 1) : NULL;
}

int module_find(const char *path, int cwd, char **ret, struct err *err)
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

static bool is_empty(int dir)
{
    _cleanup_strv_ char **names = NULL;
    struct err ignored = ERR_INIT;

    return path_list(dir, &names, &ignored) == 0 && names[0] == NULL;
}

bool module_is_empty(int tree, const char *path)
{
    _cleanup_close_ int dir = path_open_beneath(tree, path, O_RDONLY | O_DIRECTORY);
    return dir == -1 ? errno == ENOENT : is_empty(dir);
}

int module_open(const struct stranger *outer, const char *path, const char *head,
                struct stranger *ret, bool *ret_there, struct err *err)
{
    _cleanup_close_ int cwd = path_open_beneath(outer->cwd, path, O_RDONLY | O_DIRECTORY);
    _cleanup_free_ char *dir = NULL;

    *ret_there = false;
    if (cwd == -1 && errno == ENOENT)
        return 0; /* the work tree around it lacks it, too */
    if (cwd == -1)
        return err_errno(err, "cannot open '%s/%s'", outer->tree, path);
    if (module_find(path, cwd, &dir, err) == -1)
        return -1;
    if (dir == NULL && is_empty(cwd))
        return 0;
    if (dir == NULL && head == NULL)
        return err_set(err, MAS_DAMAGED, "it has files, and no repository");
    *ret_there = true;
    return stranger_open_module(outer, path, dir, head, ret, err);
}

/* ---- all of them */

struct module_search {
    const struct stranger *outer;
    module_visit *each;
    void *arg;
    char ***faults;
    char **paths; /* to visit, also the visited */
    const char *below; /* "" or the path of a submodule with a slash */
    char **dirs; /* repositories that were visited */
};

static void add_fault(const struct module_search *search, const char *path, const char *why)
{
    _cleanup_str_ struct str line = STR_INIT;

    str_addf(&line, "%s, submodule '",
             strcmp(search->outer->agent, CODE_VIEW) == 0 ? "the view" : search->outer->agent);
    str_add_visible(&line, path, strlen(path));
    str_addf(&line, "': %s", why);
    strv_push(search->faults, line.data);
}

static int add_link(const char *path, const char *oid, void *arg, struct err *err)
{
    struct module_search *search = arg;
    _cleanup_free_ char *whole = mem_printf("%s%s", search->below, path);

    (void)oid;
    (void)err;
    if (!strv_has(search->paths, whole))
        strv_push(&search->paths, whole);
    return 0;
}

/* Adds the submodules that a commit names. */
static void add_links(struct module_search *search, const struct stranger *in, const char *below)
{
    const struct git git = stranger_git(in, NULL);
    struct err why = ERR_INIT;

    search->below = below;
    if (stranger_index(in) == INDEX_PLAIN)
        return;
    if (module_links(&git, in->head, add_link, search, &why) == -1)
        add_fault(search, below[0] != '\0' ? below : ".", why.text);
}

static int visit_path(struct module_search *search, const char *path, const char *head,
                      struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_free_ char *below = mem_printf("%s/", path);
    struct err why = ERR_INIT;
    bool there = false;

    if (module_open(search->outer, path, head, &module, &there, &why) == -1) {
        add_fault(search, path, why.text);
        return 0;
    }
    if (!there)
        return 0;
    if (module.objects != NULL) {
        size_t top = strlen(search->outer->tree) + 1;
        _cleanup_free_ char *dir =
            mem_dupn(module.objects + top, strlen(module.objects) - top - strlen("/objects"));
        strv_push(&search->dirs, dir);
    }
    add_links(search, &module, below);
    return search->each(&module, search->arg, err);
}

/* Visits the repositories in a directory below .git/modules that no submodule has. */
static int visit_left(const struct module_search *search, int at, const char *path, int depth,
                      struct err *err)
{
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;
    struct stat st;

    if (depth > DEPTH_MAX || path_list(at, &names, &why) == -1) {
        add_fault(search, path, "it cannot be read");
        return 0;
    }
    bool is_repo = faccessat(at, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_repo && !strv_has(search->dirs, path)) {
        if (stranger_open_module(search->outer, path, path, NULL, &module, &why) == -1)
            add_fault(search, path, why.text);
        else if (search->each(&module, search->arg, err) == -1)
            return -1;
    }
    for (char **name = names; *name != NULL; name++) {
        if (is_repo && strcmp(*name, "modules") != 0)
            continue;
        _cleanup_free_ char *below = mem_printf("%s/%s", path, *name);
        _cleanup_close_ int dir = path_open_dir(at, *name);
        if (dir != -1 && visit_left(search, dir, below, depth + 1, err) == -1)
            return -1;
        if (dir == -1 && fstatat(at, *name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            add_fault(search, below, "it is no directory");
    }
    return 0;
}

int module_each(const struct stranger *outer, module_visit *each, void *arg, char ***faults,
                struct err *err)
{
    struct module_search search = {.outer = outer, .each = each, .arg = arg, .faults = faults};
    _cleanup_module_list_ struct module_list list = {.items = NULL};
    _cleanup_close_ int left = path_open_beneath(outer->cwd, MODULES, O_RDONLY | O_DIRECTORY);

    if (!stranger_is_linked(outer) && module_list_read(outer->repo, outer->agent, &list, err) == -1)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        strv_push(&search.paths, list.items[i].path);
    if (outer->head[0] != '\0') /* not of the view */
        add_links(&search, outer, "");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < strv_len(search.paths); i++)
        rc = visit_path(&search, search.paths[i], i < list.count ? list.items[i].oid : NULL, err);
    if (rc == 0 && left != -1) /* .git is a file in the view, and in a linked work tree */
        rc = visit_left(&search, left, MODULES, 0, err);
    strv_free(search.paths);
    strv_free(search.dirs);
    return rc;
}
