/*
 * Walks from a tree of code.git down into each submodule: finds the person's checkout, brings the
 * commit from there, and reads name and address from .gitmodules of the tree around it, then does
 * the same for the submodules inside. A name comes from the project's files and becomes a path in
 * .git/modules, so it has to be one that cannot lead out of it.
 */

#include "code/submodule/submodule_internal.h"

#include "code/land/carried.h"
#include "os/path.h"

static void submodule_free(struct submodule *item)
{
    free(item->path);
    free(item->checkout);
    free(item->module);
    free(item->url);
}

void submodules_free(struct submodules *all)
{
    for (size_t i = 0; i < all->count; i++)
        submodule_free(&all->items[i]);
    free(all->items);
}

static int refuse(const struct project *project, const char *path, const char *why, struct err *err)
{
    _cleanup_str_ struct str shown = STR_INIT;

    str_add_visible(&shown, path, strlen(path));
    (void)err_set(err, MAS_USAGE, "cannot use project '%s': its submodule '%s' %s", project->path,
                  str_text(&shown), why);
    return err_hint(err, "get it there with: git submodule update --init --recursive");
}

/* ---- what the project has */

/* Finds a commit that came with the project from another machine, or that the team made since. */
static int find_carried(const struct repo *repo, const struct project *project,
                        struct submodule *item, struct err *err)
{
    const struct git git = {.dir = project->dir};
    _cleanup_free_ char *ref = mem_printf(CARRIED_SUBMODULES "%s", item->oid);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    bool known = false;

    if (project->top != NULL || !carried_is(project->dir))
        return 0;
    if (git_run(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", ref), NULL, &result, err) ==
            -1 ||
        submodule_is_known(repo, item->oid, &known, err) == -1)
        return -1;
    if (result.status == 0 || known)
        item->checkout = mem_dup(project->dir);
    return 0;
}

/* Finds a submodule's checkout, and sees that code.git has its commit. item->checkout stays NULL if
 * it is not checked out. */
static int find_commit(const struct repo *repo, const struct project *project,
                       struct submodule *item, struct err *err)
{
    bool there = false;

    project_find_submodule(project->top, item->path, &item->checkout);
    if (item->checkout == NULL && find_carried(repo, project, item, err) == -1)
        return -1;
    if (item->checkout == NULL)
        return 0;
    if (submodule_is_known(repo, item->oid, &there, err) == -1)
        return -1;
    if (there)
        return 0;
    if (submodule_has_commit(item->checkout, item->oid, &there, err) == -1)
        return -1;
    return there ? submodule_bring_checkout(repo, item->checkout, item->oid, err)
                 : refuse(project, item->path, "does not have the commit that the project names",
                          err);
}

/* Returns true for a name whose directory is in .git/modules, as git asks it of a name. */
static bool is_name(const char *name)
{
    for (const char *part = name;; part++) {
        size_t len = strcspn(part, "/");
        if (len == 0 || part[0] == '.' || strcspn(part, "\n\\\"") < len)
            return false;
        part += len;
        if (*part == '\0')
            return true;
    }
}

/* Finds the name and the address of a submodule in .gitmodules of the tree around it. Without one,
 * as after `git add` of a repository, it has no repository in a work tree. */
static int find_name(const struct repo *repo, const char *tree, const char *path,
                     const char *modules, struct submodule *item, struct err *err)
{
    static const char begins[] = "submodule.";
    const struct git git = repo_git(repo);
    _cleanup_free_ char *blob = mem_printf("%s:.gitmodules", tree);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    /* it fails if there is no such file, or none with a path */
    if (git_run(&git,
                GIT_ARGS("config", "-z", "--blob", blob, "--get-regexp", "^submodule\\..*\\.path$"),
                NULL, &result, err) == -1)
        return -1;
    const char *end = str_text(&result.out) + (result.status == 0 ? result.out.len : 0);
    for (const char *line = str_text(&result.out); line < end; line += strlen(line) + 1) {
        const char *value = strchr(line, '\n'); /* a name may hold none */
        if (value == NULL || strcmp(value + 1, path) != 0 || !str_starts(line, begins))
            continue;
        const char *name = line + strlen(begins);
        size_t len = (size_t)(value - name) - strlen(".path");
        _cleanup_free_ char *own = mem_dupn(name, len);
        _cleanup_free_ char *key = mem_printf("%s%s.url", begins, own);
        struct err ignored = ERR_INIT;
        if (!is_name(own) || item->module != NULL)
            continue;
        item->module = mem_printf("%s%s", modules, own);
        item->name_at = strlen(modules);
        if (git_text(&git, GIT_ARGS("config", "--blob", blob, "--get", key), &item->url,
                     &ignored) == 0 &&
            item->url[0] == '.') {
            free(item->url); /* what it is relative to is not here */
            item->url = NULL;
        }
    }
    return 0;
}

/* Returns true if a sparse checkout of the project does not have the directory of a submodule. */
static bool is_left_out(const struct project *project, const char *path)
{
    _cleanup_close_ int top =
        project->top != NULL ? open(project->top, PATH_PLACE | O_CLOEXEC) : -1;
    _cleanup_close_ int dir = top != -1 ? path_open_beneath(top, path, PATH_ENTRY) : -1;

    return top != -1 && dir == -1 && errno == ENOENT;
}

static void note_left_out(const struct project *project, const char *path, char ***notes)
{
    _cleanup_str_ struct str note = STR_INIT;

    str_add(&note, "submodule '");
    str_add_visible(&note, path, strlen(path));
    str_addf(&note, "' is not checked out in '%s', and is left out", project->path);
    strv_push(notes, str_text(&note));
}

/* Takes the last submodule out of the list, because the person has not checked it out. Fails if a
 * work tree of the session has it: its files would be removed there. */
static int leave_out(const struct project *project, struct submodules *list, struct err *err)
{
    struct submodule *item = &list->items[list->count - 1];

    for (size_t i = 0; list->filled != NULL && i < list->filled->count; i++)
        if (strcmp(list->filled->items[i].path, item->path) == 0)
            return refuse(project, item->path, "is not checked out any more", err);
    if (list->notes != NULL && !carried_is(project->dir)) /* at home it was told */
        note_left_out(project, item->path, list->notes);
    submodule_free(item);
    list->count--;
    return 0;
}

struct find_links {
    const struct repo *repo;
    const struct project *project;
    const char *tree;
    const struct submodule *outer;
    int depth;
    struct submodules *found;
};

static struct submodule *add(struct submodules *list, const char *path, const char *oid)
{
    struct submodule item = {.path = mem_dup(path)};

    (void)git_parse_oid(oid, item.oid);
    list->items = mem_room(list->items, list->count, sizeof *list->items);
    list->items[list->count] = item;
    return &list->items[list->count++];
}

static int find_link(const char *link, const char *oid, void *arg, struct err *err)
{
    const struct find_links *in = arg;
    const struct submodule *outer = in->outer;
    struct submodules *ret = in->found;
    _cleanup_free_ char *path =
        outer != NULL ? mem_printf("%s/%s", outer->path, link) : mem_dup(link);
    _cleanup_free_ char *modules = outer == NULL ? mem_dup("modules/")
                                   : outer->module != NULL
                                       ? mem_printf("%s/modules/", outer->module)
                                       : NULL;

    if (strchr(path, '\n') != NULL)
        return refuse(in->project, path, "cannot be read", err);
    if (ret->is_sparse && is_left_out(in->project, path))
        return 0;
    if (in->depth >= SUBMODULE_DEPTH_MAX)
        return refuse(in->project, path, "lies in too many others", err);
    struct submodule *added = add(ret, path, oid);
    if (find_commit(in->repo, in->project, added, err) == -1)
        return -1;
    if (added->checkout == NULL)
        return leave_out(in->project, ret, err);
    if (modules != NULL && find_name(in->repo, in->tree, link, modules, added, err) == -1)
        return -1;
    _cleanup_free_ char *module = added->module != NULL ? mem_dup(added->module) : NULL;
    const struct submodule around = {.path = path, .module = module};
    return submodules_find(in->repo, in->project, oid, &around, in->depth + 1, ret, err);
}

int submodules_find(const struct repo *repo, const struct project *project, const char *tree,
                    const struct submodule *outer, int depth, struct submodules *ret,
                    struct err *err)
{
    const struct git git = repo_git(repo);
    struct find_links finding = {repo, project, tree, outer, depth, ret};

    return module_links(&git, tree, find_link, &finding, err);
}

/* ---- for another machine */

struct module_listing {
    const struct project *project;
    const char *below; /* "" or the path of a submodule and a slash */
    int depth;
    struct submodule_commits *found;
    char ***notes;
};

static bool is_shallow(const char *dir)
{
    _cleanup_free_ char *path = mem_printf("%s/shallow", dir);

    return access(path, F_OK) == 0;
}

static int list_link(const char *link, const char *oid, void *arg, struct err *err)
{
    const struct module_listing *in = arg;
    const struct project *project = in->project;
    _cleanup_free_ char *path = mem_printf("%s%s", in->below, link);
    _cleanup_free_ char *below = mem_printf("%s/", path);
    _cleanup_free_ char *dir = NULL;
    bool has = false;

    project_find_submodule(project->top, path, &dir);
    const bool is_out = dir != NULL;
    if (!is_out) /* the project may have what has landed */
        dir = mem_dup(project->dir);
    if (submodule_has_commit(dir, oid, &has, err) == -1)
        return -1;
    if (!has && is_out && in->notes != NULL)
        return refuse(project, path, "does not have the commit that the project names", err);
    if (!has && in->notes != NULL)
        note_left_out(project, path, in->notes);
    if (!has || strv_has(in->found->oids, oid))
        return 0;
    if (in->depth >= SUBMODULE_DEPTH_MAX)
        return refuse(project, path, "lies in too many others", err);
    if (is_shallow(dir)) {
        (void)refuse(project, path, "is a shallow clone, which lacks history", err);
        return err_hint(err, "get it there with: git -C %s fetch --unshallow", path);
    }
    strv_push(&in->found->dirs, dir);
    strv_push(&in->found->oids, oid);
    const struct git git = {.dir = dir};
    struct module_listing inner = *in;
    inner.below = below;
    inner.depth++;
    return module_links(&git, oid, list_link, &inner, err);
}

int submodule_list(const struct project *project, const char *commit, char ***notes,
                   struct submodule_commits *ret, struct err *err)
{
    const struct git git = {.dir = project->dir};
    struct module_listing listing = {.project = project, .below = "", .found = ret, .notes = notes};

    return module_links(&git, commit, list_link, &listing, err);
}

void submodule_commits_free(struct submodule_commits *commits)
{
    strv_free(commits->dirs);
    strv_free(commits->oids);
}
