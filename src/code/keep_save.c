/*
 * The part of code/keep.h that copies work into the project: first what the team has, so that the
 * agents' refs need not bring the same commits again, then each agent and the linked work trees,
 * each with its submodules. Files that are not committed become a commit. Refs are set when their
 * objects are there. What cannot be saved does not keep the rest from it; the first failure is the
 * error.
 */

#include "code/keep.h"
#include "code/land/landed.h"
#include "code/lfs_carry.h"
#include "code/linked.h"
#include "code/project.h"
#include "code/sparse.h"
#include "code/submodule/module.h"
#include "code/submodule/submodule.h"
#include "code/view.h"
#include "code/work.h"
#include "git/odd.h"
#include "git/pack.h"

/* Commits that are copied together, because they are in the same repository. */
struct saver {
    struct landed *landed;
    const struct project *project;
    const char *id;
    const char *who; /* the part of the refs' names behind the id */
    struct git from;
    char *own; /* the agent's repository; NULL: none */
    int tree; /* its work tree; -1: none */
    struct str oids; /* a line each */
    struct str refs; /* commands for update-ref */
    size_t count;
};

static void saver_free(struct saver *saver)
{
    str_free(&saver->oids);
    str_free(&saver->refs);
    free(saver->own);
    fd_closep(&saver->tree);
}
#define _cleanup_saver_ __attribute__((cleanup(saver_free)))

/* Adds a commit unless it is added already, or a branch of the project or the integration branch
 * has it. */
static int add(struct saver *saver, const char *name, const char *oid, struct err *err)
{
    size_t missing = 0;

    if (strstr(str_text(&saver->oids), oid) != NULL)
        return 0;
    if (landed_count(saver->landed, &saver->from, oid, &missing, err) == -1)
        return -1;
    if (missing == 0)
        return 0;
    str_addf(&saver->oids, "%s\n", oid);
    str_addf(&saver->refs, "update refs/mas/lost/%s/%s%s %s\n", saver->id, saver->who, name, oid);
    saver->count++;
    return 0;
}

/* Names a ref after that of the agent; one that git would not take gets a number. */
static int add_ref(const char *name, const char *oid, void *arg, struct err *err)
{
    struct saver *saver = arg;
    char number[40];

    (void)snprintf(number, sizeof number, "/other/%zu", saver->count);
    if (strcmp(name, "refs/stash") == 0)
        (void)snprintf(number, sizeof number, "/stash/%zu", saver->count);
    else if (str_starts(name, "refs/") && git_is_branch(name + strlen("refs/"))) {
        _cleanup_free_ char *below = mem_printf("/%s", name + strlen("refs/"));
        return add(saver, below, oid, err);
    }
    return add(saver, number, oid, err);
}

/* Copies the objects of git-lfs. A damaged one is no reason to copy nothing else: the archive has
 * it as it is. */
static int save_lfs(const struct saver *saver, struct err *err)
{
    const struct lfs_sources from = {.dirs = {saver->from.dir, saver->own}, .tree = saver->tree};

    if (lfs_to_project(&saver->from, saver->oids.data, &from, saver->project, err) == 0)
        return 0;
    if (err->code != MAS_DAMAGED)
        return -1;
    *err = (struct err)ERR_INIT;
    return 0;
}

static int flush(const struct saver *saver, struct err *err)
{
    const struct git to = {.dir = saver->project->dir};

    return saver->count == 0
               ? 0
               : (pack_copy(&saver->from, &to, PACK_TMP, saver->oids.data, err) == -1 ||
                          save_lfs(saver, err) == -1 ||
                          git_must(&to, GIT_ARGS("update-ref", "--stdin"),
                                   &(struct git_input){saver->refs.data, saver->refs.len}, NULL,
                                   err) == -1
                      ? -1
                      : 0);
}

/* Makes a commit of a tree if it differs from that of `head`, which may stand for it; *ret is "" if
 * it does not. */
static int commit_tree(const struct git *git, const char *head, const char *tree, const char *text,
                       char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_free_ char *top = mem_printf("%s^{tree}", head);
    _cleanup_free_ char *committed = NULL;
    _cleanup_free_ char *oid = NULL;

    ret[0] = '\0';
    if (strcmp(head, tree) == 0)
        return 0;
    if (git_text(git, GIT_ARGS("rev-parse", "--verify", top), &committed, err) == -1)
        return -1;
    if (strcmp(committed, tree) == 0)
        return 0;
    if (git_text(git, GIT_ARGS("commit-tree", tree, "-p", head, "-m", text), &oid, err) == -1)
        return -1;
    return git_parse_oid(oid, ret) ? 0
                                   : err_set(err, MAS_FAILED, "git commit-tree printed '%s'", oid);
}

/* Adds what is staged, unless it is what the files are. An index with conflicts has no tree. */
static int add_staged(struct saver *saver, const struct stranger *stranger, const char *files,
                      struct err *err)
{
    _cleanup_free_ char *index = mem_printf("%s/staged.index", saver->from.dir);
    _cleanup_free_ char *tree = NULL;
    struct git git = saver->from;
    struct err ignored = ERR_INIT;
    char oid[GIT_OID_TEXT];

    if (stranger->own == -1)
        return 0;
    if (stranger_copy_index(stranger, index, err) == -1)
        return -1;
    git.index = index;
    int rc = git_text(&git, GIT_ARGS("write-tree"), &tree, &ignored);
    (void)unlink(index);
    if (rc == -1 || strcmp(tree, files) == 0)
        return 0;
    if (commit_tree(&git, stranger->head, tree, "What was staged", oid, err) == -1)
        return -1;
    return oid[0] == '\0' ? 0 : add(saver, "/staged", oid, err);
}

static int save_stranger(struct saver *saver, const struct stranger *stranger, struct err *err)
{
    _cleanup_work_ struct snapshot_tree tree = SNAPSHOT_TREE_INIT;
    char oid[GIT_OID_TEXT] = "";

    saver->own = stranger->objects != NULL
                     ? mem_dupn(stranger->objects, strlen(stranger->objects) - strlen("/objects"))
                     : NULL;
    saver->tree = fcntl(stranger->cwd, F_DUPFD_CLOEXEC, 0);
    saver->from = landed_git(saver->landed, stranger);
    if (stranger->tree != NULL) {
        work_forget(stranger);
        if (work_snapshot(stranger, &tree, err) == -1)
            return -1;
        saver->from.write = tree.scratch;
        if (commit_tree(&saver->from, stranger->head, tree.oid, "What was not committed", oid,
                        err) == -1)
            return -1;
    }
    return add(saver, "/work", oid[0] != '\0' ? oid : stranger->head, err) == -1 ||
                   add_staged(saver, stranger, tree.oid, err) == -1 ||
                   stranger_refs(stranger, add_ref, saver, err) == -1
               ? -1
               : flush(saver, err);
}

/* Adds the files of the view as a commit. */
static int add_view(struct saver *saver, const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *tree = repo_tree(repo, CODE_VIEW);
    _cleanup_free_ char *index = mem_printf("%s/" CODE_VIEW_GIT "/looked", repo->git);
    struct git git = saver->from;
    _cleanup_free_ char *files = NULL;
    char head[GIT_OID_TEXT];
    char oid[GIT_OID_TEXT];

    saver->tree = open(tree, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (saver->tree == -1)
        return 0; /* nobody in the team has the view */
    git.tree = tree;
    git.index = index;
    git.cwd = saver->tree;
    if (odd_check(saver->tree, tree, err) == -1 || view_head(repo, head, err) == -1 ||
        git_must(&git, GIT_ARGS("read-tree", "--reset", head), NULL, NULL, err) == -1 ||
        sparse_mark(&git, repo->git, head, err) == -1 || git_add_all(&git, NULL, err) == -1 ||
        git_text(&git, GIT_ARGS("write-tree"), &files, err) == -1 ||
        commit_tree(&git, head, files, "What was changed in the view", oid, err) == -1)
        return -1;
    return add(saver, "view/work", oid[0] != '\0' ? oid : head, err);
}

/* Saves the integration branch and what agents that only read have made. */
static int save_team(struct saver *saver, const struct repo *repo, struct err *err)
{
    const struct git git = repo_git(repo);
    _cleanup_free_ char *text = NULL;

    if (git_text(&git, GIT_ARGS("for-each-ref", "--format=%(objectname) %(refname)"), &text, err) ==
        -1)
        return -1;
    saver->from = landed_git(saver->landed, NULL);
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *oid = strsep(&line, " ");
        if (line == NULL || str_starts(line, "refs/mas/"))
            continue;
        _cleanup_free_ char *name = strcmp(line, repo->main) == 0
                                        ? mem_dup("main")
                                        : mem_printf("view/%s", line + strlen("refs/"));
        if (add(saver, name, oid, err) == -1)
            return -1;
        if (strcmp(line, repo->main) == 0)
            landed_know(saver->landed, oid); /* the agents' refs need not name it again */
    }
    return add_view(saver, repo, err) == -1 || flush(saver, err) == -1
               ? -1
               : submodule_save(repo, saver->project, saver->id, err);
}

/* Everything that is saved goes through here: one repository or work tree after the other, also if
 * one cannot be saved. */
struct keep_saving {
    const struct repo *repo;
    const struct project *project;
    struct landed *landed;
    const char *id;
    struct err why; /* the first failure */
};

static void note(struct keep_saving *save, const struct err *why)
{
    if (save->why.code == MAS_OK)
        save->why = *why;
}

/* Saves a submodule in the project's checkout of it, which has its history, or else in the project.
 */
static int save_module(const struct stranger *module, void *arg, struct err *err)
{
    struct keep_saving *save = arg;
    _cleanup_free_ char *who =
        mem_printf("%s/submodules/%s", module->agent, module->key + strlen(module->agent) + 1);
    _cleanup_free_ char *checkout = landed_lend(save->landed, module->path);
    const struct project there = {.path = checkout, .dir = checkout};
    _cleanup_saver_ struct saver saver = {.landed = save->landed,
                                          .project = checkout != NULL ? &there : save->project,
                                          .id = save->id,
                                          .who = who,
                                          .tree = -1,
                                          .oids = STR_INIT,
                                          .refs = STR_INIT};
    struct err one = ERR_INIT;

    (void)err;
    if (save_stranger(&saver, module, &one) == -1)
        note(save, &one);
    return 0;
}

static void save_modules(struct keep_saving *save, const struct stranger *stranger)
{
    _cleanup_strv_ char **faults = NULL;
    struct err why = ERR_INIT;

    if (module_each(stranger, save_module, save, &faults, &why) == 0 && faults != NULL)
        (void)err_set(&why, MAS_DAMAGED, "%s", faults[0]);
    if (why.code != MAS_OK)
        note(save, &why);
}

/* Saves what `agent` or `linked` names; neither: what the team has. */
static void save_one(struct keep_saving *save, const char *agent, const struct linked *linked)
{
    _cleanup_free_ char *who = linked != NULL
                                   ? mem_printf("%s/worktrees/%s", linked->agent, linked->name)
                                   : mem_dup(agent != NULL ? agent : "");
    _cleanup_saver_ struct saver saver = {.landed = save->landed,
                                          .project = save->project,
                                          .id = save->id,
                                          .who = who,
                                          .tree = -1,
                                          .oids = STR_INIT,
                                          .refs = STR_INIT};
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    struct err one = ERR_INIT;
    int rc = linked != NULL  ? stranger_open_linked(save->repo, linked, &stranger, &one)
             : agent != NULL ? stranger_open(save->repo, agent, &stranger, &one)
                             : save_team(&saver, save->repo, &one);

    if (rc == 0 && (linked != NULL || agent != NULL))
        rc = save_stranger(&saver, &stranger, &one);
    if (rc == -1)
        note(save, &one);
    if (agent == NULL && linked == NULL && saver.tree != -1) /* the view */
        (void)stranger_open_view(save->repo, &stranger, &one);
    if (stranger.tree != NULL)
        save_modules(save, &stranger);
}

int keep_save(const struct repo *repo, const struct team *team, const char *one, const char *id,
              struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_landed_ struct landed landed = LANDED_INIT;
    _cleanup_linked_ struct linked_list list = LINKED_LIST_INIT;
    struct keep_saving save = {.repo = repo, .project = &project, .landed = &landed, .id = id};
    const struct git own = repo_git(repo);

    if (project_reopen_same(&own, team->project.path, team->project.base, &project, err) == -1)
        return -1;
    landed_open(repo, &team->project, &landed);
    save_one(&save, NULL, NULL);
    for (size_t i = 0; i < team->agent_count; i++)
        if (team->agents[i].code == AGENT_CODE_WORKTREE &&
            (one == NULL || strcmp(team->agents[i].id, one) == 0))
            save_one(&save, team->agents[i].id, NULL);
    linked_find(repo, team, one, &list);
    for (size_t i = 0; i < list.count; i++)
        save_one(&save, NULL, &list.items[i]);
    if (save.why.code == MAS_OK && list.faults != NULL)
        (void)err_set(&save.why, MAS_DAMAGED, "%s", list.faults[0]);
    if (save.why.code == MAS_OK)
        return 0;
    *err = save.why;
    return -1;
}
