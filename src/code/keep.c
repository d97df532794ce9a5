/*
 * keep_find(): the integration branch first, since its commits need not be told again for each
 * agent; then the agents' repositories, and last the linked work trees. In each repository the
 * files come first (not committed, ignored, staged), then the refs, then its submodules. What fails
 * on the way becomes a sentence of its own: better to ask a person once too often than to lose
 * work. keep_save() is in keep_save.c.
 *
 * The time goes into reading each file, so the agents are read beside each other, one by each
 * thread, and what is found is put together in their order. git is not asked what is known: commits
 * that are in the project are (the first of each agent is), and files are those of the commit if
 * the snapshot says so.
 */

#include "code/keep.h"

#include "code/land/landed.h"
#include "code/linked.h"
#include "code/placed.h"
#include "code/sparse.h"
#include "code/submodule/module.h"
#include "code/view.h"
#include "code/work.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/thread.h"

enum { NAMES_SHOWN = 3 };

struct work_search {
    const struct repo *repo;
    struct landed landed;
    bool runs; /* the agents do */
    char **found;
};

static void add_found(struct work_search *search, const char *who, const char *what)
{
    _cleanup_free_ char *line = mem_printf("%s: %s", who, what);
    strv_push(&search->found, line);
}

/* Adds "<count> files <what>: a, b, ..." for a list of names that end with NUL. */
static void add_files(struct work_search *search, const char *who, const struct str *names,
                      const char *what)
{
    _cleanup_str_ struct str line = STR_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    size_t count = 0;

    for (const char *name = str_text(names); name < str_text(names) + names->len;
         name += strlen(name) + 1, count++) {
        if (count > NAMES_SHOWN)
            continue;
        str_add(&shown, count == 0 ? "" : ", ");
        str_add(&shown, count == NAMES_SHOWN ? "..." : name);
    }
    if (count == 0)
        return;
    str_addf(&line, "%zu file%s %s: %s", count, count == 1 ? "" : "s", what, str_text(&shown));
    add_found(search, who, line.data);
}

/* ---- commits */

static int check_commit(struct work_search *search, const struct git *git, const char *who,
                        const char *name, const char *oid, struct err *err)
{
    size_t missing = 0;

    if (landed_missing(&search->landed, git, oid, &missing, err) == -1)
        return -1;
    if (missing == 0)
        return 0;
    _cleanup_free_ char *line =
        mem_printf("%zu commit%s of %s %s not landed", missing, missing == 1 ? "" : "s", name,
                   missing == 1 ? "is" : "are");
    add_found(search, who, line);
    return 0;
}

/* The refs of a repository. */
struct ref_list {
    char **names;
    char **oids;
    size_t stashes;
};

static void ref_list_free(struct ref_list *list)
{
    strv_free(list->names);
    strv_free(list->oids);
}

static int add_ref(const char *name, const char *oid, void *arg, struct err *err)
{
    struct ref_list *list = arg;
    bool is_stash = strcmp(name, "refs/stash") == 0;

    (void)err;
    for (char **seen = list->oids; seen != NULL && *seen != NULL; seen++)
        if (strcmp(*seen, oid) == 0)
            return 0;
    list->stashes += is_stash;
    strv_push(&list->oids, oid);
    strv_push(&list->names, is_stash ? "" : name);
    return 0;
}

/* Checks the commits of refs: all at once, and one by one only if some are missing. */
static int check_refs(struct work_search *search, const struct git *git, const char *who,
                      const struct ref_list *list, struct err *err)
{
    _cleanup_str_ struct str all = STR_INIT;
    size_t missing = 0;

    if (list->stashes > 0) {
        _cleanup_free_ char *line =
            list->stashes == 1 ? mem_dup("a stash") : mem_printf("%zu stashes", list->stashes);
        add_found(search, who, line);
    }
    for (size_t i = 0; i < strv_len(list->oids); i++)
        if (list->names[i][0] != '\0' && !landed_knows(&search->landed, list->oids[i]))
            str_addf(&all, "%s\n", list->oids[i]);
    if (all.len == 0)
        return 0;
    if (landed_count(&search->landed, git, all.data, &missing, err) == -1)
        return -1;
    for (size_t i = 0; missing > 0 && i < strv_len(list->oids); i++) {
        const char *name = list->names[i];
        if (str_starts(name, "refs/heads/"))
            name += strlen("refs/heads/");
        if (name[0] != '\0' && check_commit(search, git, who, name, list->oids[i], err) == -1)
            return -1;
    }
    return 0;
}

/* ---- files */

/* Runs git and adds the names that it prints. */
static int check_files(struct work_search *search, const char *who, const struct git *git,
                       const char *const *args, const char *what, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    add_files(search, who, &result.out, what);
    return 0;
}

/* Finds staged contents that are neither committed nor in the work tree. */
static int check_staged(struct work_search *search, const struct stranger *stranger,
                        const char *who, const struct snapshot_tree *tree, struct err *err)
{
    _cleanup_free_ char *index =
        mem_printf("%s/" CODE_INDEXES "/%s.staged", search->repo->git, stranger->key);
    struct git git = stranger_git(stranger, index);
    _cleanup_result_ struct proc_result head = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result files = PROC_RESULT_INIT;
    _cleanup_str_ struct str both = STR_INIT;

    if (stranger->own == -1)
        return 0; /* files of a submodule alone */
    git.write = tree->scratch;
    int rc = stranger_copy_index(stranger, index, err);
    if (rc == 0)
        rc = git_must(&git, GIT_ARGS("diff-index", "--cached", "-z", "--name-only", stranger->head),
                      NULL, &head, err);
    if (rc == 0 && head.out.len > 0)
        rc = git_must(&git, GIT_ARGS("diff-index", "--cached", "-z", "--name-only", tree->oid),
                      NULL, &files, err);
    const char *a = str_text(&head.out);
    for (const char *name = a; rc == 0 && name < a + head.out.len; name += strlen(name) + 1) {
        const char *b = str_text(&files.out);
        const char *other = b;
        while (other < b + files.out.len && strcmp(other, name) != 0)
            other += strlen(other) + 1;
        if (other < b + files.out.len)
            str_addn(&both, name, strlen(name) + 1);
    }
    if (rc == 0)
        add_files(search, who, &both, "staged, but neither committed nor in the work tree");
    (void)unlink(index);
    return rc;
}

/* Finds files that git ignores and that mas did not put there, or that were changed since. */
static int check_ignored(struct work_search *search, const struct stranger *stranger,
                         const char *who, const struct git *git, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-standard"),
                 NULL, &result, err) == -1)
        return -1;
    int rc = strcmp(stranger->key, stranger->agent) != 0
                 ? 0
                 : placed_drop(search->repo, stranger->agent, &result.out, err);
    if (rc == 0)
        add_files(search, who, &result.out, "ignored by git");
    return rc;
}

static int check_tree(struct work_search *search, const struct stranger *stranger, const char *who,
                      struct err *err)
{
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;

    if (stranger->tree == NULL) {
        memcpy(tree.oid, stranger->head, sizeof tree.oid);
        return check_staged(search, stranger, who, &tree, err);
    }
    work_forget(stranger);
    if (work_snapshot(stranger, &tree, err) == -1)
        return -1;
    const struct git git = work_git(stranger, &tree);
    return (strcmp(stranger->head, tree.oid) != 0 &&
            check_files(search, who, &git,
                        GIT_ARGS("diff-tree", "-r", "-z", "--name-only", stranger->head, tree.oid),
                        "not committed", err) == -1) ||
                   check_ignored(search, stranger, who, &git, err) == -1 ||
                   check_staged(search, stranger, who, &tree, err) == -1
               ? -1
               : 0;
}

static void check_process(struct work_search *search, const char *who, const char *tree)
{
    _cleanup_free_ char *path = path_canonical(tree);
    pid_t pid = path != NULL ? proc_working_below(path, NULL) : 0;
    char name[PROC_NAME_TEXT];

    if (pid == 0)
        return;
    _cleanup_free_ char *line =
        mem_printf("process %ld (%s) works there", (long)pid, proc_name(pid, name));
    add_found(search, who, line);
}

static int check_stranger(struct work_search *search, const struct stranger *stranger,
                          const char *who, struct err *err)
{
    struct ref_list list = {.names = NULL};
    const struct git git = landed_git(&search->landed, stranger);
    const char *progress = stranger_progress(stranger);

    if (progress != NULL) {
        _cleanup_free_ char *line = mem_printf("%s is in progress", progress);
        add_found(search, who, line);
    }
    if (stranger->tree != NULL && !search->runs)
        check_process(search, who, stranger->tree);
    int rc = check_tree(search, stranger, who, err);
    if (rc == 0)
        rc = stranger_refs(stranger, add_ref, &list, err);
    if (rc == 0 && stranger->branch[0] == '\0')
        rc = add_ref("a detached HEAD", stranger->head, &list, err);
    if (rc == 0)
        rc = check_refs(search, &git, who, &list, err);
    ref_list_free(&list);
    return rc;
}

static int check_module(const struct stranger *module, void *arg, struct err *err)
{
    struct work_search *search = arg;
    struct err why = ERR_INIT;
    struct stat st;

    (void)err;
    free(landed_lend(&search->landed, module->path));
    if (check_stranger(search, module, module->subject, &why) == -1)
        add_found(search, module->subject, why.text);
    if (module->fd != -1 && fstatat(module->fd, "worktrees", &st, AT_SYMLINK_NOFOLLOW) == 0)
        add_found(search, module->subject, "it has linked work trees");
    return 0;
}

/* Checks a repository and the submodules in its work tree. */
static int check_whole(struct work_search *search, const struct stranger *stranger, const char *who,
                       struct err *err)
{
    return check_stranger(search, stranger, who, err) == -1 ||
                   (stranger->tree != NULL &&
                    module_each(stranger, check_module, search, &search->found, err) == -1)
               ? -1
               : 0;
}

static int check_agent(struct work_search *search, const char *agent, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;

    return stranger_open(search->repo, agent, &stranger, err) == -1
               ? -1
               : check_whole(search, &stranger, agent, err);
}

static int check_linked(struct work_search *search, const struct linked *linked, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;

    return stranger_open_linked(search->repo, linked, &stranger, err) == -1
               ? -1
               : check_whole(search, &stranger, linked->who, err);
}

static void check_all_linked(struct work_search *search, const struct team *team, const char *one)
{
    _cleanup_linked_ struct linked_list list = LINKED_LIST_INIT;

    linked_find(search->repo, team, one, &list);
    for (char **fault = list.faults; fault != NULL && *fault != NULL; fault++)
        strv_push(&search->found, *fault);
    for (size_t i = 0; i < list.count; i++) {
        struct err why = ERR_INIT;
        if (check_linked(search, &list.items[i], &why) == -1)
            add_found(search, list.items[i].who, why.text);
    }
}

/* ---- what code.git has itself */

/* Checks the files of the view, which agents that only read may still have changed. The index is
 * made anew, so that each file is read. */
static int check_view_files(struct work_search *search, const char *head, struct err *err)
{
    _cleanup_stranger_ struct stranger view = STRANGER_INIT;
    _cleanup_free_ char *own = mem_printf("%s/" CODE_VIEW_GIT "/index", search->repo->git);
    _cleanup_free_ char *index = mem_printf("%s/" CODE_VIEW_GIT "/looked", search->repo->git);
    struct proc_result refreshed = PROC_RESULT_INIT;

    if (stranger_open_view(search->repo, &view, err) == -1 ||
        module_each(&view, check_module, search, &search->found, err) == -1)
        return -1;
    const struct git git = stranger_git(&view, index);
    const struct git theirs = stranger_git(&view, own);
    int rc = git_must(&git, GIT_ARGS("read-tree", head), NULL, NULL, err);
    if (rc == 0)
        rc = sparse_mark(&git, search->repo->git, head, err);
    if (rc == 0)
        rc = git_run(&git, GIT_ARGS("update-index", "-q", "--refresh"), NULL, &refreshed, err);
    proc_result_free(&refreshed); /* its exit code is 1 if a file has changed */
    if (rc == 0)
        rc = check_files(search, "the view", &git,
                         GIT_ARGS("diff-files", "-z", "--name-only", "--ignore-submodules=dirty"),
                         "changed", err);
    if (rc == 0)
        rc = check_files(search, "the view", &git, GIT_ARGS("ls-files", "-z", "--others"),
                         "not in the project", err);
    if (rc == 0)
        rc = check_files(search, "the view", &theirs,
                         GIT_ARGS("diff-index", "--cached", "-z", "--name-only", head), "staged",
                         err);
    (void)unlink(index);
    return rc;
}

static int check_view(struct work_search *search, const struct git *git, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(search->repo, CODE_VIEW);
    char head[GIT_OID_TEXT];

    if (view_head(search->repo, head, err) == -1)
        return -1;
    check_process(search, "the view", tree);
    return check_view_files(search, head, err) == -1
               ? -1
               : check_commit(search, git, "the view", "a detached HEAD", head, err);
}

static bool has_view(const struct team *team)
{
    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].code == AGENT_CODE_VIEW)
            return true;
    return false;
}

/* Adds the refs of code.git that mas did not make: agents that work in the view did. */
static int list_own(const struct repo *repo, struct ref_list *list, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *text = NULL;

    if (git_text(&git, GIT_ARGS("for-each-ref", "--format=%(objectname) %(refname)"), &text, err) ==
        -1)
        return -1;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *oid = strsep(&line, " ");
        if (line != NULL && !str_starts(line, "refs/mas/") && strcmp(line, repo->main) != 0 &&
            add_ref(line, oid, list, err) == -1)
            return -1;
    }
    return 0;
}

/* Checks the integration branch; what it has is not told again for the agents. */
static int check_team(struct work_search *search, const struct team *team, struct err *err)
{
    const struct git own = repo_git(search->repo);
    const struct git git = landed_git(&search->landed, NULL);
    const char *branch = search->repo->main + strlen("refs/heads/");
    struct ref_list list = {.names = NULL};
    _cleanup_free_ char *main = NULL;

    if (git_text(&own, GIT_ARGS("rev-parse", "--verify", search->repo->main), &main, err) == -1 ||
        check_commit(search, &git, "the team", branch, main, err) == -1)
        return -1;
    landed_know(&search->landed, main);
    int rc = list_own(search->repo, &list, err);
    if (rc == 0)
        rc = check_refs(search, &git, "the view", &list, err);
    ref_list_free(&list);
    return rc == 0 && has_view(team) ? check_view(search, &git, err) : rc;
}

/* The agents that have a repository, and what each thread finds there. */
struct agent_search {
    const struct work_search *all;
    const char *agents[TEAM_AGENTS_MAX];
    char **found[TEAM_AGENTS_MAX];
    size_t count;
    pthread_mutex_t lock; /* protects what follows */
    size_t done;
    keep_progress *progress; /* NULL: none */
    void *arg;
};

static void check_number(size_t number, void *arg)
{
    struct agent_search *agents = arg;
    struct work_search search = {.repo = agents->all->repo, .runs = agents->all->runs};
    struct err why = ERR_INIT;

    landed_copy(&agents->all->landed, &search.landed);
    if (check_agent(&search, agents->agents[number], &why) == -1)
        add_found(&search, agents->agents[number], why.text);
    landed_free(&search.landed);
    agents->found[number] = search.found;
    (void)pthread_mutex_lock(&agents->lock);
    if (agents->progress != NULL)
        agents->progress(++agents->done, agents->count, agents->arg);
    (void)pthread_mutex_unlock(&agents->lock);
}

/* Checks the repositories of all agents, or of `one`. */
static void check_agents(struct work_search *search, const struct team *team, const char *one,
                         keep_progress *progress, void *arg)
{
    struct agent_search agents = {
        .all = search, .lock = PTHREAD_MUTEX_INITIALIZER, .progress = progress, .arg = arg};

    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].code == AGENT_CODE_WORKTREE &&
            (one == NULL || strcmp(team->agents[i].id, one) == 0))
            agents.agents[agents.count++] = team->agents[i].id;
    thread_each(agents.count, check_number, &agents);
    for (size_t i = 0; i < agents.count; i++) {
        strv_push_all(&search->found, agents.found[i]);
        strv_free(agents.found[i]);
    }
}

/* What the integration branch has stays when an agent goes. */
static int know_main(struct work_search *search, struct err *err)
{
    char main[GIT_OID_TEXT];

    if (repo_ref(search->repo, search->repo->main, main, err) == -1)
        return -1;
    landed_know(&search->landed, main);
    return 0;
}

/* Finds what would be lost with the agent `one`, which runs or not, or without it with the team. */
static int find(const struct repo *repo, const struct team *team, const char *one, bool runs,
                keep_progress *progress, void *arg, char ***ret, struct err *err)
{
    struct work_search search = {.repo = repo, .landed = LANDED_INIT, .runs = runs};
    struct err why = ERR_INIT;

    landed_open(repo, &team->project, &search.landed);
    if (search.landed.untold.code == MAS_FAILED && git_check(err) == -1) {
        landed_free(&search.landed);
        return -1;
    }
    if ((one != NULL ? know_main(&search, &why) : check_team(&search, team, &why)) == -1)
        add_found(&search, "the team", why.text);
    check_agents(&search, team, one, progress, arg);
    check_all_linked(&search, team, one);
    if (search.found != NULL && search.landed.untold.code != MAS_OK)
        add_found(&search, "the project", search.landed.untold.text);
    landed_free(&search.landed);
    *ret = search.found;
    return 0;
}

int keep_find(const struct repo *repo, const struct team *team, keep_progress *progress, void *arg,
              char ***ret, struct err *err)
{
    return find(repo, team, NULL, false, progress, arg, ret, err);
}

int keep_find_agent(const struct repo *repo, const struct team *team, const char *agent, bool runs,
                    char ***ret, struct err *err)
{
    return find(repo, team, agent, runs, NULL, NULL, ret, err);
}
