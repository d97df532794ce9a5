#include "code/keep.h"

#include "base/proc.h"
#include "base/str.h"
#include "code/merge.h"
#include "code/pack.h"
#include "code/project.h"
#include "code/work.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 3 };

struct keeper {
    const struct repo *repo;
    char *objects; /* of the project; NULL: it is gone */
    char *onto; /* commit of the branch to land on; NULL: none */
    struct str landed; /* "^<id>" lines: what is in the project, or was when the session began */
    char **found;
};

static void add_found(struct keeper *keeper, const char *who, const char *what)
{
    _cleanup_free_ char *line = mem_printf("%s: %s", who, what);
    strv_push(&keeper->found, line);
}

/* Adds "<count> files <what>: a, b, ..." for a list of names that end with NUL. */
static void add_files(struct keeper *keeper, const char *who, const struct str *names,
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
    add_found(keeper, who, line.data);
}

/* ---- commits */

/* git on code.git that sees the project's objects and, if asked, an agent's. */
static struct git commits_git(const struct keeper *keeper, const struct stranger *stranger)
{
    return (struct git){.dir = keeper->repo->git,
                        .objects = {keeper->objects, stranger != NULL ? stranger->objects : NULL}};
}

/* Finds what is in the project now. Without the project, only what the session began with is. */
static void open_landed(struct keeper *keeper, const struct team_project *project)
{
    _cleanup_project_ struct project opened = PROJECT_INIT;
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    const struct git own = repo_git(keeper->repo);

    str_add(&keeper->landed, "^" CODE_REF_BASE "\n");
    if (git_run(&own, GIT_ARGS("for-each-ref", "--format=^%(objectname)", CODE_REF_CHANGES), NULL,
                &result, &ignored) == 0)
        str_addn(&keeper->landed, str_text(&result.out), result.out.len);
    proc_result_free(&result);
    result = (struct proc_result)PROC_RESULT_INIT;
    if (project_open(project->path, &opened, &ignored) == -1)
        return;
    const struct git git = {.dir = opened.dir};
    keeper->objects = mem_printf("%s/objects", opened.dir);
    if (git_run(&git, GIT_ARGS("for-each-ref", "--format=^%(objectname)", "refs/heads/"), NULL,
                &result, &ignored) == 0 &&
        result.status == 0)
        str_addn(&keeper->landed, str_text(&result.out), result.out.len);
    proc_result_free(&result);
    if (project->onto[0] != '\0' &&
        git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", project->onto), &keeper->onto,
                 &ignored) == -1)
        keeper->onto = NULL;
}

/* Counts the commits of `oid` that no branch of the project has. */
static int count_missing(const struct keeper *keeper, const struct git *git, const char *oid,
                         size_t *ret, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct proc_result result = PROC_RESULT_INIT;

    str_addf(&text, "%s\n", oid);
    str_addn(&text, keeper->landed.data, keeper->landed.len);
    if (git_must(git, GIT_ARGS("rev-list", "--count", "--stdin"),
                 &(struct git_input){text.data, text.len}, &result, err) == -1)
        return -1;
    *ret = strtoul(str_text(&result.out), NULL, 10);
    proc_result_free(&result);
    return 0;
}

/* Returns true if merging the commit into the project's branch would change nothing there. */
static bool adds_nothing(const struct keeper *keeper, const struct git *git, const char *oid)
{
    _cleanup_free_ char *top = mem_printf("%s^{tree}", keeper->onto);
    _cleanup_free_ char *tree = NULL;
    struct err ignored = ERR_INIT;
    char merged[GIT_OID_TEXT];

    return git_text(git, GIT_ARGS("rev-parse", "--verify", top), &tree, &ignored) == 0 &&
           merge_trees(git, keeper->onto, oid, merged, NULL, &ignored) == 0 &&
           strcmp(merged, tree) == 0;
}

/* Returns true if each commit has the same changes as one of the project's branch. */
static bool is_picked(const struct keeper *keeper, const struct git *git, const char *oid)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    bool picked =
        git_run(git, GIT_ARGS("cherry", keeper->onto, oid), NULL, &result, &ignored) == 0 &&
        result.status == 0 && strchr(str_text(&result.out), '+') == NULL;

    proc_result_free(&result);
    return picked;
}

static int check_commit(struct keeper *keeper, const struct stranger *stranger, const char *who,
                        const char *name, const char *oid, struct err *err)
{
    const struct git git = commits_git(keeper, stranger);
    size_t missing = 0;

    if (count_missing(keeper, &git, oid, &missing, err) == -1)
        return -1;
    if (missing == 0 ||
        (keeper->onto != NULL && (adds_nothing(keeper, &git, oid) || is_picked(keeper, &git, oid))))
        return 0;
    _cleanup_free_ char *line =
        mem_printf("%zu commit%s of %s %s not landed", missing, missing == 1 ? "" : "s", name,
                   missing == 1 ? "is" : "are");
    add_found(keeper, who, line);
    return 0;
}

/* The commits of all refs of an agent, each once. */
struct ref_walk {
    struct keeper *keeper;
    const struct stranger *stranger;
    char **seen;
};

static int check_ref(const char *name, const char *oid, void *arg, struct err *err)
{
    struct ref_walk *walk = arg;
    bool is_stash = strcmp(name, "refs/stash") == 0;

    for (char **seen = walk->seen; seen != NULL && *seen != NULL; seen++)
        if (strcmp(*seen, oid) == 0)
            return 0;
    strv_push(&walk->seen, oid);
    if (is_stash) {
        add_found(walk->keeper, walk->stranger->agent, "a stash");
        return 0;
    }
    const char *shown = str_starts(name, "refs/heads/") ? name + strlen("refs/heads/") : name;
    return check_commit(walk->keeper, walk->stranger, walk->stranger->agent, shown, oid, err);
}

/* ---- files */

/* Runs git and adds the names that it prints. */
static int check_files(struct keeper *keeper, const char *who, const struct git *git,
                       const char *const *args, const char *what, struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;

    if (git_must(git, args, NULL, &result, err) == -1)
        return -1;
    add_files(keeper, who, &result.out, what);
    proc_result_free(&result);
    return 0;
}

/* Finds staged contents that are neither committed nor in the work tree. */
static int check_staged(struct keeper *keeper, const struct stranger *stranger,
                        const struct snapshot_tree *tree, struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/.git/index", stranger->tree);
    struct git git = stranger_git(stranger, index);
    struct proc_result head = PROC_RESULT_INIT;
    struct proc_result files = PROC_RESULT_INIT;
    _cleanup_str_ struct str both = STR_INIT;

    git.write = tree->scratch;
    int rc = git_must(&git, GIT_ARGS("diff-index", "--cached", "-z", "--name-only", stranger->head),
                      NULL, &head, err);
    if (rc == 0)
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
        add_files(keeper, stranger->agent, &both, "differ in what is staged");
    proc_result_free(&head);
    proc_result_free(&files);
    return rc;
}

static int check_tree(struct keeper *keeper, const struct stranger *stranger, struct err *err)
{
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;

    if (work_snapshot(stranger, &tree, err) == -1)
        return -1;
    struct git git = stranger_git(stranger, tree.index);
    git.write = tree.scratch;
    return check_files(keeper, stranger->agent, &git,
                       GIT_ARGS("diff-tree", "-r", "-z", "--name-only", stranger->head, tree.oid),
                       "not committed", err) == -1 ||
                   check_files(
                       keeper, stranger->agent, &git,
                       GIT_ARGS("ls-files", "-z", "--others", "--ignored", "--exclude-standard"),
                       "ignored by git", err) == -1 ||
                   check_staged(keeper, stranger, &tree, err) == -1
               ? -1
               : 0;
}

static int check_agent(struct keeper *keeper, const char *agent, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    struct ref_walk walk = {.keeper = keeper, .stranger = &stranger};

    if (stranger_open(keeper->repo, agent, &stranger, err) == -1)
        return -1;
    const char *progress = stranger_progress(&stranger);
    if (progress != NULL) {
        _cleanup_free_ char *line = mem_printf("%s is in progress", progress);
        add_found(keeper, agent, line);
    }
    pid_t pid = proc_working_below(stranger.tree);
    if (pid != 0) {
        char name[20];
        _cleanup_free_ char *line =
            mem_printf("process %ld (%s) works there", (long)pid, proc_name(pid, name));
        add_found(keeper, agent, line);
    }
    int rc = check_tree(keeper, &stranger, err);
    if (rc == 0)
        rc = stranger_refs(&stranger, check_ref, &walk, err);
    if (rc == 0 && stranger.branch[0] == '\0')
        rc = check_ref("a detached HEAD", stranger.head, &walk, err);
    strv_free(walk.seen);
    return rc;
}

/* Agents that only read may still have changed files in the view. */
static int check_view(struct keeper *keeper, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(keeper->repo, CODE_VIEW);
    _cleanup_free_ char *index = mem_printf("%s/" CODE_VIEW_GIT "/index", keeper->repo->git);
    _cleanup_close_ int cwd = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct git git = {.dir = keeper->repo->git, .tree = tree, .index = index, .cwd = cwd};

    if (cwd == -1)
        return 0; /* the team has no view */
    return check_files(keeper, CODE_VIEW, &git, GIT_ARGS("diff-files", "-z", "--name-only"),
                       "changed", err) == -1 ||
                   check_files(keeper, CODE_VIEW, &git, GIT_ARGS("ls-files", "-z", "--others"),
                               "not in the project", err) == -1
               ? -1
               : 0;
}

static int find_all(struct keeper *keeper, const struct team *team, struct err *err)
{
    const struct git git = repo_git(keeper->repo);
    _cleanup_free_ char *main = NULL;

    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        struct err why = ERR_INIT;
        if (agent->code == AGENT_CODE_WORKTREE && check_agent(keeper, agent->id, &why) == -1)
            add_found(keeper, agent->id, why.text);
    }
    if (check_view(keeper, err) == -1 ||
        git_text(&git, GIT_ARGS("rev-parse", "--verify", keeper->repo->main), &main, err) == -1)
        return -1;
    const char *branch = keeper->repo->main + strlen("refs/heads/");
    return check_commit(keeper, NULL, "the team", branch, main, err);
}

int keep_find(const struct repo *repo, const struct team *team, char ***ret, struct err *err)
{
    struct keeper keeper = {.repo = repo, .landed = STR_INIT};

    open_landed(&keeper, &team->project);
    int rc = find_all(&keeper, team, err);
    if (rc == 0)
        *ret = keeper.found;
    else
        strv_free(keeper.found);
    free(keeper.objects);
    free(keeper.onto);
    str_free(&keeper.landed);
    return rc;
}

/* ---- for `mas rm -f` */

/* Makes a commit of the files of a work tree if they differ from its head; *ret is it, or the head.
 */
static int commit_files(const struct stranger *stranger, const struct snapshot_tree *tree,
                        char ret[GIT_OID_TEXT], struct err *err)
{
    struct git git = stranger_git(stranger, tree->index);
    _cleanup_free_ char *top = mem_printf("%s^{tree}", stranger->head);
    _cleanup_free_ char *committed = NULL;
    _cleanup_free_ char *text = NULL;

    git.write = tree->scratch;
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", top), &committed, err) == -1)
        return -1;
    if (strcmp(committed, tree->oid) == 0) {
        memcpy(ret, stranger->head, GIT_OID_TEXT);
        return 0;
    }
    if (git_text(&git,
                 GIT_ARGS("commit-tree", tree->oid, "-p", stranger->head, "-m",
                          "What was not committed"),
                 &text, err) == -1)
        return -1;
    return git_parse_oid(text, ret)
               ? 0
               : err_set(err, MAS_FAILED, "git commit-tree printed '%s'", text);
}

/* Copies a commit into the project and gives it a ref there. */
static int save_commit(const struct keeper *keeper, const struct git *from,
                       const struct project *project, const char *id, const char *name,
                       const char *oid, struct err *err)
{
    const struct git to = {.dir = project->dir};
    _cleanup_free_ char *wanted = mem_printf("%s\n", oid);
    _cleanup_free_ char *ref = mem_printf("refs/mas/lost/%s/%s", id, name);
    size_t missing = 0;

    if (count_missing(keeper, from, oid, &missing, err) == -1)
        return -1;
    if (missing == 0)
        return 0;
    return pack_copy(from, &to, "objects/pack/tmp_mas", wanted, err) == -1 ||
                   git_must(&to, GIT_ARGS("update-ref", ref, oid), NULL, NULL, err) == -1
               ? -1
               : 0;
}

static int save_agent(const struct keeper *keeper, const struct project *project, const char *id,
                      const char *agent, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;
    char oid[GIT_OID_TEXT];

    if (stranger_open(keeper->repo, agent, &stranger, err) == -1 ||
        work_snapshot(&stranger, &tree, err) == -1 ||
        commit_files(&stranger, &tree, oid, err) == -1)
        return -1;
    struct git from = stranger_git(&stranger, NULL);
    from.write = tree.scratch;
    from.objects[1] = keeper->objects;
    return save_commit(keeper, &from, project, id, agent, oid, err);
}

int keep_save(const struct repo *repo, const struct team *team, const char *id, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    const struct git git = repo_git(repo);
    struct keeper keeper = {.repo = repo, .landed = STR_INIT};
    _cleanup_free_ char *main = NULL;
    int rc = 0;

    if (project_open(team->project.path, &project, err) == -1)
        return -1;
    open_landed(&keeper, &team->project);
    for (size_t i = 0; i < team->agent_count; i++) {
        struct err why = ERR_INIT;
        if (team->agents[i].code != AGENT_CODE_WORKTREE ||
            save_agent(&keeper, &project, id, team->agents[i].id, &why) == 0)
            continue;
        if (rc == 0)
            *err = why;
        rc = -1;
    }
    if (rc == 0)
        rc = git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &main, err);
    if (rc == 0) {
        const struct git from = {.dir = repo->git, .objects = {keeper.objects}};
        rc = save_commit(&keeper, &from, &project, id, "main", main, err);
    }
    free(keeper.objects);
    free(keeper.onto);
    str_free(&keeper.landed);
    return rc;
}
