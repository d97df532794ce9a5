/*
 * Two ways, because neither tells all: first the lists of the repositories, then a walk through the
 * whole session for files .git that name one of them. What is found gives a listed work tree its
 * place; what the lists do not know, or know elsewhere, becomes a fault, so that removing a session
 * asks before it loses what lies there.
 */

#include "code/linked.h"

#include "os/file.h"
#include "os/path.h"
#include "os/tree_walk.h"

#define WORKTREES "worktrees"

enum { LINK_MAX = 8192 }; /* bytes of a file that holds a path */

struct linked_search {
    const struct repo *repo;
    const struct team *team;
    const char *one; /* see linked_find() */
    bool everywhere; /* not only in the directories of that one */
    char *workspace; /* its path without links, as git writes it */
    struct linked_list *list;
};

void linked_free(struct linked_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].tree);
        free(list->items[i].who);
    }
    free(list->items);
    strv_free(list->faults);
    *list = (struct linked_list)LINKED_LIST_INIT;
}

static void add_fault(const struct linked_search *search, const char *what, const char *why)
{
    _cleanup_free_ char *line = mem_printf("%s: %s", what, why);
    strv_push(&search->list->faults, line);
}

static bool is_wanted(const struct linked_search *search, const struct agent *agent)
{
    return agent->code == AGENT_CODE_WORKTREE &&
           (search->one == NULL || strcmp(agent->id, search->one) == 0);
}

/* ---- paths */

static bool is_in_session(const struct linked_search *search, const char *path)
{
    size_t len = strlen(search->workspace);

    return str_starts(path, search->workspace) && path[len] == '/';
}

/* Returns "x, work tree 'code/wt'"; `shown` is its path, or its name if that is not known. */
static char *name_it(const struct linked_search *search, const char *agent, const char *shown)
{
    _cleanup_str_ struct str who = STR_INIT;

    if (is_in_session(search, shown))
        shown += strlen(search->workspace) + 1;
    str_addf(&who, "%s, work tree '", strcmp(agent, CODE_VIEW) == 0 ? "the view" : agent);
    str_add_visible(&who, shown, strlen(shown));
    str_addc(&who, '\'');
    return str_steal(&who);
}

static void set_tree(const struct linked_search *search, struct linked *linked, const char *tree)
{
    free(linked->tree);
    free(linked->who);
    linked->tree = mem_dup(tree);
    linked->who = name_it(search, linked->agent, tree);
}

/* Returns the absolute path of `path`, which may be relative to `dir`. The caller frees it. */
static char *join(const char *dir, const char *path)
{
    _cleanup_free_ char *all = path[0] == '/' ? mem_dup(path) : mem_printf("%s/%s", dir, path);
    char *joined = mem_alloc(strlen(all) + 2);
    size_t len = 0;

    for (char *rest = all, *part; (part = strsep(&rest, "/")) != NULL;) {
        if (strcmp(part, "..") == 0)
            while (len > 0 && joined[--len] != '/')
                ;
        else if (part[0] != '\0' && strcmp(part, ".") != 0) {
            joined[len++] = '/';
            memcpy(joined + len, part, strlen(part));
            len += strlen(part);
        }
    }
    joined[len] = '\0';
    return joined;
}

/* Reads the path that a file holds behind `begins`. NULL: there is none. The caller frees it. */
static char *read_path(int dir, const char *file, const char *begins, const char *from)
{
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    if (file_read(dir, file, LINK_MAX, &text, &len, &ignored) == -1 || !str_starts(text, begins))
        return NULL;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
    return join(from, text + strlen(begins));
}

/* Returns the path of the directory that a repository has for all of its work trees. */
static char *list_path(const struct linked_search *search, const char *agent)
{
    return strcmp(agent, CODE_VIEW) == 0
               ? mem_printf("%s/" CODE_GIT "/" WORKTREES, search->workspace)
               : mem_printf("%s/" CODE_DIR "/%s/.git/" WORKTREES, search->workspace, agent);
}

/* ---- what repositories list */

/* Fills linked->tree if the work tree is where the repository says and names it in turn. Returns
 * NULL, or why nobody can tell. */
static const char *find_tree(const struct linked_search *search, int own, const char *own_path,
                             struct linked *linked)
{
    _cleanup_free_ char *path = read_path(own, "gitdir", "", own_path);
    _cleanup_close_ int top = open("/", PATH_PLACE | O_CLOEXEC);
    struct stat st;

    if (path == NULL || !str_ends(path, "/.git") || path[strlen("/.git")] == '\0')
        return NULL; /* git does not find it either */
    path[strlen(path) - strlen("/.git")] = '\0';
    _cleanup_close_ int tree = path_open_beneath(top, path + 1, O_RDONLY | O_DIRECTORY);
    if (tree == -1 && errno != ENOENT && errno != ENOTDIR)
        return strerror(errno);
    if (tree == -1)
        return fstatat(own, "locked", &st, AT_SYMLINK_NOFOLLOW) == 0
                   ? "it is locked, and its files are not there"
                   : NULL;
    _cleanup_free_ char *named = read_path(tree, ".git", "gitdir: ", path);
    if (named != NULL && strcmp(named, own_path) == 0)
        set_tree(search, linked, path);
    else if (is_in_session(search, path) && named == NULL) {
        free(linked->who);
        linked->who = name_it(search, linked->agent, path);
        return "its .git cannot be read";
    }
    return NULL;
}

static void add_listed(const struct linked_search *search, const char *agent, int dir,
                       const char *list, const char *name)
{
    _cleanup_free_ char *own_path = mem_printf("%s/%s", list, name);
    _cleanup_close_ int own = path_open_dir(dir, name);
    struct linked linked = {.agent = agent, .name = mem_dup(name)};
    const char *why = NULL;
    struct stat st;

    if (own == -1 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
        !S_ISLNK(st.st_mode)) {
        free(linked.name);
        return;
    }
    linked.who = name_it(search, agent, name);
    if (own == -1)
        why = strerror(errno);
    else if (!git_is_branch(name)) /* it becomes a part of refs */
        why = "git gives no such name";
    else
        why = find_tree(search, own, own_path, &linked);
    if (why != NULL)
        add_fault(search, linked.who, why);
    search->list->items =
        mem_grow(search->list->items, search->list->count + 1, sizeof *search->list->items);
    search->list->items[search->list->count++] = linked;
}

/* What cannot be opened as a repository at all is told by who looks at that. */
static void add_repository(const struct linked_search *search, const char *agent)
{
    _cleanup_free_ char *path = list_path(search, agent);
    _cleanup_close_ int workspace = open(search->workspace, PATH_PLACE | O_CLOEXEC);
    const char *below = path + strlen(search->workspace) + 1;
    _cleanup_close_ int dir = path_open_beneath(workspace, below, O_RDONLY | O_DIRECTORY);
    _cleanup_strv_ char **names = NULL;
    struct err why = ERR_INIT;

    if (dir == -1 && (errno == ENOENT || errno == ENOTDIR))
        return;
    if (dir == -1 || path_list(dir, &names, &why) == -1) {
        add_fault(search, below, dir == -1 ? strerror(errno) : why.text);
        return;
    }
    for (char **name = names; *name != NULL; name++)
        if (strcmp(agent, CODE_VIEW) != 0 || strcmp(*name, CODE_VIEW) != 0)
            add_listed(search, agent, dir, path, *name);
}

/* ---- what lies in the session */

/* Returns the agent whose repository a path ends in, "/code/AGENT/.git/worktrees/NAME", and *ret,
 * the name; or CODE_VIEW, for "/code.git/worktrees/NAME". NULL: none of the session. */
static const char *whose(const struct linked_search *search, const char *path, const char **ret)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return NULL;
    _cleanup_free_ char *list = mem_dupn(path, (size_t)(slash - path));
    *ret = slash + 1;
    if (str_ends(list, "/" CODE_GIT "/" WORKTREES))
        return search->one == NULL ? CODE_VIEW : NULL;
    for (size_t i = 0; i < search->team->agent_count; i++) {
        const struct agent *agent = &search->team->agents[i];
        _cleanup_free_ char *own = list_path(search, agent->id);
        if (is_wanted(search, agent) && str_ends(list, own + strlen(search->workspace)))
            return agent->id;
    }
    return NULL;
}

/* Notes a directory in the session whose .git names one of its repositories. */
static void add_found(const struct linked_search *search, int dir, const char *path)
{
    const char *name = NULL;
    _cleanup_free_ char *named = read_path(dir, ".git", "gitdir: ", path);
    const char *agent = named != NULL ? whose(search, named, &name) : NULL;
    struct linked *listed = NULL;

    if (agent == NULL || (strcmp(agent, CODE_VIEW) == 0 && strcmp(name, CODE_VIEW) == 0))
        return;
    for (size_t i = 0; i < search->list->count; i++) {
        struct linked *one = &search->list->items[i];
        if (strcmp(one->agent, agent) == 0 && strcmp(one->name, name) == 0)
            listed = one;
    }
    if (listed != NULL && listed->tree == NULL) {
        set_tree(search, listed, path);
    } else if (listed == NULL || strcmp(listed->tree, path) != 0) {
        _cleanup_free_ char *who = name_it(search, agent, path);
        add_fault(search, who,
                  listed == NULL ? "the repository does not know it any more"
                                 : "it is a copy of another one");
    }
}

/* Returns true if a work tree that a repository lists is not where it should be. */
static bool is_one_missing(const struct linked_search *search)
{
    for (size_t i = 0; i < search->list->count; i++)
        if (search->list->items[i].tree == NULL)
            return true;
    return false;
}

/* Returns true if what is at `path` goes with the agents that are looked at: of one agent, what is
 * in its own directories, such as "code/AGENT/x". */
static bool goes(const struct linked_search *search, const char *path)
{
    const char *slash = strchr(path, '/');
    size_t len = slash != NULL ? strcspn(slash + 1, "/") : 0;

    return search->one == NULL || (slash != NULL && len == strlen(search->one) &&
                                   memcmp(slash + 1, search->one, len) == 0);
}

static int visit(int dir, const char *path, mode_t type, void *arg)
{
    const struct linked_search *search = arg;
    const char *slash = strrchr(path, '/');
    bool is_git = strcmp(slash != NULL ? slash + 1 : path, ".git") == 0;

    if (type == 0 && goes(search, path)) {
        _cleanup_str_ struct str what = STR_INIT;
        str_add(&what, "the directory '");
        str_add_visible(&what, path, strlen(path));
        str_add(&what, "' cannot be searched for work trees");
        add_fault(search, what.data, strerror(errno));
    } else if (is_git && S_ISREG(type) && slash != NULL) {
        _cleanup_free_ char *tree =
            mem_printf("%s/%.*s", search->workspace, (int)(slash - path), path);
        add_found(search, dir, tree);
    }
    return S_ISDIR(type) && !is_git && strcmp(path, CODE_GIT) != 0 &&
           (slash == NULL || goes(search, path) || search->everywhere);
}

static void search_session(struct linked_search *search)
{
    _cleanup_close_ int top = open(search->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (top == -1)
        add_fault(search, "the session", strerror(errno));
    else
        walk_tree(top, visit, search);
}

void linked_find(const struct repo *repo, const struct team *team, const char *one,
                 struct linked_list *ret)
{
    struct linked_search search = {.repo = repo,
                                   .team = team,
                                   .one = one,
                                   .workspace = path_canonical(repo->workspace),
                                   .list = ret};

    if (search.workspace == NULL) {
        search.workspace = mem_dup(repo->workspace);
        add_fault(&search, "the session", strerror(errno));
    } else {
        if (one == NULL)
            add_repository(&search, CODE_VIEW);
        for (size_t i = 0; i < team->agent_count; i++)
            if (is_wanted(&search, &team->agents[i]))
                add_repository(&search, team->agents[i].id);
        search.everywhere = one == NULL || is_one_missing(&search);
        search_session(&search);
    }
    free(search.workspace);
}
