/*
 * land() takes the steps in the order of the header, after it has finished a landing that was
 * killed; the commits of submodules go before the branch that names them. What a git has done that
 * failed or was killed in step 4 is not guessed: settle() asks the project where the branch is.
 * land_tree.c checks and moves the work tree.
 */

#include "code/land/land_internal.h"

#include "base/json.h"
#include "code/leftover.h"
#include "code/lfs_carry.h"
#include "code/merge.h"
#include "code/project.h"
#include "code/replay.h"
#include "code/submodule/submodule.h"
#include "git/checkout.h"
#include "git/locks.h"
#include "git/merge_trees.h"
#include "git/pack.h"
#include "os/file.h"
#include "os/path.h"

#define JOURNAL "landing" /* in code.git */

enum { JOURNAL_MAX = 65536 };

void land_result_free(struct land_result *result)
{
    free(result->onto);
    strv_free(result->files);
    strv_free(result->others);
    check_result_free(&result->check);
    *result = (struct land_result)LAND_RESULT_INIT;
}

static void landing_free(struct landing *landing)
{
    project_free(&landing->project);
    dry_end(&landing->dry);
    free(landing->written);
    free(landing->own);
    free(landing->objects);
    free(landing->onto);
    free(landing->tree);
}

/* git on code.git that also reads the objects of the project. */
static struct git both(const struct landing *landing)
{
    return (struct git){
        .dir = landing->repo->git, .objects = {landing->objects}, .write = landing->written};
}

static struct git theirs(const struct landing *landing)
{
    return (struct git){.dir = landing->project.dir};
}

static int open_onto(struct landing *landing, const struct team_project *project,
                     const struct land_options *options, struct err *err)
{
    const struct git git = theirs(landing);
    _cleanup_free_ char *text = NULL;
    struct err why = ERR_INIT;

    if (options->onto == NULL && project->onto[0] == '\0') {
        (void)err_set(err, MAS_USAGE, "cannot land: the session began at no branch");
        return err_hint(err, "name the branch with --onto BRANCH");
    }
    if (options->onto != NULL && !git_is_branch(options->onto))
        return err_set(err, MAS_USAGE, "cannot land onto '%s': it is not a name of a branch",
                       options->onto);
    landing->onto =
        options->onto == NULL ? mem_dup(project->onto) : mem_printf("refs/heads/%s", options->onto);
    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", "--quiet", landing->onto), &text, &why) ==
            -1 ||
        !git_parse_oid(text, landing->old)) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot land onto '%s': project '%s' has no such branch",
                      landing->onto + strlen("refs/heads/"), landing->project.path);
        return err_hint(err, "name another one with --onto BRANCH");
    }
    return 0;
}

/* Finds the work tree that has the branch checked out. Only that of the project follows: somebody
 * may be at work in another one. */
static int find_tree(struct landing *landing, struct err *err)
{
    const struct git git = theirs(landing);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *wanted = mem_printf("branch %s", landing->onto);
    const char *tree = NULL;

    if (git_must(&git, GIT_ARGS("worktree", "list", "--porcelain", "-z"), NULL, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    for (const char *line = text; line < text + result.out.len; line += strlen(line) + 1) {
        if (str_starts(line, "worktree "))
            tree = line + strlen("worktree ");
        else if (strcmp(line, wanted) == 0 && tree != NULL)
            landing->tree = mem_dup(tree);
    }
    if (landing->tree == NULL ||
        (landing->project.top != NULL && strcmp(landing->tree, landing->project.top) == 0))
        return 0;
    (void)err_set(err, MAS_CONFLICT,
                  "cannot land onto '%s': it is checked out in another work tree, '%s'",
                  landing->onto + strlen("refs/heads/"), landing->tree);
    return err_hint(err, "switch that one to another branch, or name another one with --onto");
}

/* Finds out whether the old commit has this tree already: what is there in other commits, for
 * example a squash, is not landed again. */
static int is_there(const struct git *git, const struct landing *landing, const char *tree,
                    bool *ret, struct err *err)
{
    _cleanup_free_ char *top = mem_printf("%s^{tree}", landing->old);
    _cleanup_free_ char *text = NULL;

    if (git_text(git, GIT_ARGS("rev-parse", "--verify", top), &text, err) == -1)
        return -1;
    *ret = strcmp(text, tree) == 0;
    return 0;
}

/* Writes the commit with this tree: a squash of the branch, or a merge of `main`. */
static int write_tree(const struct git *git, struct landing *landing,
                      const struct land_options *options, const char *main, const char *tree,
                      struct err *err)
{
    const char *branch = landing->repo->main + strlen("refs/heads/");
    bool squash = options->way == LAND_SQUASH;
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ char *message = options->message != NULL ? mem_dup(options->message)
                                   : squash                 ? mem_printf("Land %s", branch)
                                                            : mem_printf("Merge %s", branch);
    const char *const *args =
        squash ? GIT_ARGS("commit-tree", tree, "-p", landing->old, "-m", message)
               : GIT_ARGS("commit-tree", tree, "-p", landing->old, "-p", main, "-m", message);

    if (git_text(git, args, &text, err) == -1)
        return err_wrap(err, "cannot land '%s'", branch);
    return git_parse_oid(text, landing->new)
               ? 0
               : err_set(err, MAS_FAILED, "git commit-tree printed '%s'", text);
}

/* Makes the commit to land. result->files is set if there is a conflict. */
static int make_commit(struct landing *landing, const struct land_options *options,
                       struct land_result *result, struct err *err)
{
    const struct git git = both(landing);
    const struct repo *repo = landing->repo;
    const char *branch = repo->main + strlen("refs/heads/");
    _cleanup_free_ char *counts = NULL;
    _cleanup_free_ char *main = NULL;
    char tree[GIT_OID_TEXT];
    char *tab = NULL;
    bool there = false;

    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", repo->main), &main, err) == -1)
        return -1;
    _cleanup_free_ char *range = mem_printf("%s...%s", landing->old, main);
    if (git_text(&git, GIT_ARGS("rev-list", "--left-right", "--count", range), &counts, err) == -1)
        return -1;
    size_t missing = strtoul(counts, &tab, 10);
    result->commits = strtoul(tab, NULL, 10);
    if (result->commits == 0) {
        memcpy(landing->new, landing->old, sizeof landing->new);
        return 0;
    }
    bool forward = options->way == LAND_AUTO && options->message == NULL;
    if (missing == 0 && (forward || (options->dry_run && options->way != LAND_REBASE))) {
        (void)git_parse_oid(main, landing->new); /* or a commit with the same files */
        result->forward = forward;
        return 0;
    }
    if (merge_trees(&git, landing->old, main, tree, &result->files, err) == -1)
        return err_wrap(err, "cannot land '%s'", branch);
    if (tree[0] == '\0' && options->way != LAND_REBASE) {
        result->others = conflict_others(repo, &git, main, landing->old, result->files);
        return 0;
    }
    strv_free(result->files);
    result->files = NULL;
    if (is_there(&git, landing, tree, &there, err) == -1)
        return -1;
    if (there) {
        result->commits = 0;
        memcpy(landing->new, landing->old, sizeof landing->new);
        return 0;
    }
    if (options->way == LAND_REBASE)
        return replay(&git, landing->old, main, landing->new, result->at, &result->files, err) == -1
                   ? err_wrap(err, "cannot land '%s'", branch)
                   : 0;
    return write_tree(&git, landing, options, main, tree, err);
}

static int write_journal(const struct landing *landing, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    _cleanup_close_ int dir = open(landing->repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir == -1)
        return err_errno(err, "cannot open '%s'", landing->repo->git);
    json_open(&out, NULL, '{');
    json_put_all(&out, JT("project", landing->project.path), JT("dir", landing->project.dir),
                 JT("onto", landing->onto), JT("old", landing->old), JT("new", landing->new));
    if (landing->tree != NULL)
        json_put(&out, "tree", landing->tree);
    json_close(&out, '}');
    str_addc(&text, '\n');
    return file_replace(dir, JOURNAL, text.data, text.len, 0600, err);
}

static int drop_journal(const struct repo *repo, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s/" JOURNAL, repo->git);

    return unlink(path) == -1 && errno != ENOENT ? err_errno(err, "cannot remove '%s'", path) : 0;
}

static int remember(const struct repo *repo, struct err *err)
{
    const struct git git = repo_git(repo);
    return git_must(&git, GIT_ARGS("update-ref", CODE_REF_LANDED, repo->main), NULL, NULL, err);
}

/* Removes the locks that a git which was killed while it moved a branch has left. `tree` is the
 * work tree that has the branch checked out, or NULL. */
static void drop_locks(const char *dir, const char *onto, const char *tree)
{
    const char *const names[] = {onto, "HEAD"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_free_ char *lock = mem_printf("%s/%s.lock", dir, names[i]);
        if (lock_is_left(lock, tree))
            (void)unlink(lock);
    }
}

/* Called after a git that was to move the branch has failed, or was killed after it had moved it.
 * Returns 0 if the branch is where it was to be. */
static int settle(const struct landing *landing, struct err *err)
{
    const struct git git = theirs(landing);
    _cleanup_free_ char *now = NULL;
    struct err why = ERR_INIT;

    if (git_text(&git, GIT_ARGS("rev-parse", "--verify", landing->onto), &now, &why) == 0) {
        if (strcmp(now, landing->new) == 0) {
            *err = (struct err)ERR_INIT;
            return 0;
        }
        (void)drop_journal(landing->repo, &why);
    }
    err->code = MAS_CONFLICT;
    (void)err_wrap(err, "cannot land onto '%s'", landing->onto + strlen("refs/heads/"));
    return now == NULL || strcmp(now, landing->old) == 0
               ? -1
               : err_hint(err, "the branch has moved; try again");
}

static int move_branch(const struct landing *landing, struct err *err)
{
    const struct git git = theirs(landing);
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = git_run(
        &git, GIT_ARGS("update-ref", "-m", "mas land", landing->onto, landing->new, landing->old),
        NULL, &result, err);
    bool killed = rc == -1 || result.status > 128;

    if (rc == 0 && result.status != 0)
        rc = git_fail(&result, "update-ref", err);
    if (killed)
        drop_locks(landing->project.dir, landing->onto, landing->tree);
    return rc == 0 ? 0 : settle(landing, err);
}

/* Moves the branch, and the work tree behind it. */
static int place(const struct landing *landing, struct err *err)
{
    if (landing->tree != NULL && land_check_tree(landing, err) == -1)
        return -1;
    if (write_journal(landing, err) == -1 || move_branch(landing, err) == -1 ||
        (landing->tree != NULL &&
         land_move_tree(landing->tree, landing->old, landing->new, err) == -1))
        return -1;
    return drop_journal(landing->repo, err);
}

/* Has git write into a directory of its own. */
static int begin_dry(struct landing *landing, struct err *err)
{
    if (dry_begin(&landing->dry, err) == -1)
        return -1;
    landing->aside = landing->dry.path;
    landing->own = mem_printf("%s/objects", landing->repo->git);
    landing->written = mem_printf("%s/objects", landing->aside);
    return mkdir(landing->written, 0700) == -1
               ? err_errno(err, "cannot create '%s'", landing->written)
               : 0;
}

/* Runs the check on the commit to land, of which code.git gets what the project alone has. */
static int run_check(const struct landing *landing, const struct check *check,
                     struct land_result *result, struct err *err)
{
    const struct git from = both(landing);
    const struct git to = repo_git(landing->repo);
    _cleanup_free_ char *wanted = mem_printf("%s\n", landing->new);

    return pack_copy(&from, &to, PACK_TMP, wanted, err) == -1 ||
                   check_run(landing->repo, check, landing->new, &result->check, err) == -1
               ? err_wrap(err, "cannot check what would land")
               : 0;
}

static int land_open(struct landing *landing, const struct team_project *project,
                     const struct land_options *options, struct land_result *result,
                     struct err *err)
{
    const struct git own = repo_git(landing->repo);

    if (project_reopen_same(&own, project->path, project->base, &landing->project, err) == -1)
        return -1;
    landing->objects = mem_printf("%s/objects", landing->project.dir);
    landing->aside = landing->repo->git;
    if (options->dry_run && begin_dry(landing, err) == -1)
        return -1;
    return open_onto(landing, project, options, err) == -1 || find_tree(landing, err) == -1
               ? -1
               : make_commit(landing, options, result, err);
}

static int copy_commit(const struct landing *landing, struct err *err)
{
    const struct git from = both(landing);
    const struct git to = theirs(landing);
    _cleanup_free_ char *wanted = mem_printf("%s\n", landing->new);

    const struct lfs_sources lfs = {.dirs = {landing->repo->git}, .tree = -1};

    return pack_copy(&from, &to, PACK_TMP, wanted, err) == -1 ||
                   lfs_to_project(&from, wanted, &lfs, &landing->project, err) == -1
               ? err_wrap(err, "cannot land onto '%s'", landing->onto + strlen("refs/heads/"))
               : 0;
}

/* Brings the commits of submodules first: the branch is never at one that is not there. */
static int land_submodules(const struct landing *landing, struct land_result *result,
                           struct err *err)
{
    const struct git git = both(landing);
    bool moved = false;

    if (submodule_land(landing->repo, &landing->project, &git, landing->old, landing->new, &moved,
                       err) == -1)
        return err_wrap(err, "cannot land onto '%s'", landing->onto + strlen("refs/heads/"));
    result->lags = moved && landing->tree != NULL;
    return 0;
}

bool land_was_killed(const struct repo *repo)
{
    _cleanup_free_ char *path = mem_printf("%s/" JOURNAL, repo->git);

    return access(path, F_OK) == 0;
}

/* Fails if a landing was killed: what the next one does is not what a dry run says. */
static int check_unfinished(const struct repo *repo, struct err *err)
{
    if (!land_was_killed(repo))
        return 0;
    (void)err_set(err, MAS_CONFLICT, "cannot say what would land: a landing was killed");
    return err_hint(err, "finish it first: land without --dry-run");
}

int land(const struct repo *repo, const struct team_project *project,
         const struct land_options *options, struct land_result *ret, struct err *err)
{
    struct landing landing = {.repo = repo, .project = PROJECT_INIT, .dry = DRY_INIT};
    _cleanup_land_ struct land_result result = LAND_RESULT_INIT;
    bool finished = false;
    int rc = options->dry_run ? check_unfinished(repo, err) : land_finish(repo, &finished, err);

    if (rc == 0)
        rc = land_open(&landing, project, options, &result, err);
    bool moves = rc == 0 && result.files == NULL && strcmp(landing.old, landing.new) != 0;
    if (moves && options->check != NULL) {
        rc = run_check(&landing, options->check, &result, err);
        moves = rc == 0 && result.check.why == NULL;
    }
    if (moves && options->dry_run) {
        rc = landing.tree != NULL ? land_check_tree(&landing, err) : 0;
        moves = false;
    }
    if (moves)
        rc = land_submodules(&landing, &result, err);
    moves = moves && rc == 0;
    if (moves)
        rc = copy_commit(&landing, err);
    if (rc == 0 && moves)
        rc = place(&landing, err);
    if (rc == 0 && result.files == NULL && result.check.why == NULL && !options->dry_run)
        rc = remember(repo, err);
    if (rc == 0) {
        result.onto = mem_dup(landing.onto);
        memcpy(result.oid, landing.new, sizeof result.oid);
        *ret = result;
        result = (struct land_result)LAND_RESULT_INIT;
    }
    landing_free(&landing);
    return rc;
}

/* ---- after a kill */

static int read_journal(const struct repo *repo, struct json **ret, struct err *err)
{
    _cleanup_close_ int dir = open(repo->git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    *ret = NULL;
    if (dir == -1)
        return err_errno(err, "cannot open '%s'", repo->git);
    int there = file_read_if_there(dir, JOURNAL, JOURNAL_MAX, &text, &len, err);
    if (there != 1)
        return there;
    return json_parse(text, len, JOURNAL_MAX, ret, err);
}

/* Finishes in the work tree that the journal names. *ret tells whether it lagged. */
static int finish_tree(const struct repo *repo, const char *tree, const char *onto,
                       struct leftover *leftover, bool *ret, struct err *err)
{
    _cleanup_checkout_ struct checkout checkout = CHECKOUT_INIT;
    _cleanup_free_ char *now = NULL;

    if (checkout_open(tree, &checkout, err) == -1)
        return -1;
    leftover->repo = repo;
    leftover->git = checkout.git;
    if (git_text(&checkout.git, GIT_ARGS("rev-parse", "--verify", onto), &now, err) == -1)
        return -1;
    *ret = strcmp(now, leftover->new) == 0;
    if (!*ret)
        return 0; /* the branch never moved, or it has moved on since */
    _cleanup_free_ char *lock = mem_printf("%s/index.lock", checkout.dir);
    if (access(lock, F_OK) == 0 && !lock_is_left(lock, tree))
        return err_set(err, MAS_CONFLICT, "cannot finish landing in '%s': git works there", tree);
    (void)unlink(lock); /* of the git that was killed */
    return leftover_finish(leftover, err);
}

int land_finish(const struct repo *repo, bool *ret, struct err *err)
{
    _cleanup_json_ struct json *journal = NULL;
    struct leftover leftover = {.repo = repo};

    *ret = false;
    if (read_journal(repo, &journal, err) == -1)
        return -1;
    if (journal == NULL)
        return 0;
    const char *tree = json_get_text(journal, "tree");
    const char *dir = json_get_text(journal, "dir");
    const char *onto = json_get_text(journal, "onto");
    const char *old = json_get_text(journal, "old");
    const char *new = json_get_text(journal, "new");
    if (dir == NULL || onto == NULL || !str_starts(onto, "refs/heads/") || old == NULL ||
        new == NULL || !git_parse_oid(old, leftover.old) || !git_parse_oid(new, leftover.new))
        return err_set(err, MAS_DAMAGED, "cannot read '%s/" JOURNAL "'", repo->git);
    drop_locks(dir, onto, tree);
    return tree != NULL && finish_tree(repo, tree, onto, &leftover, ret, err) == -1
               ? -1
               : drop_journal(repo, err);
}
