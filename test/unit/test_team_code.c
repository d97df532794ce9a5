/* A team at work on a project: what is merged, synced, kept and counted of what agents do. */
#include "place.h"

#include "base/env.h"
#include "code/keep.h"
#include "code/land/land.h"
#include "code/merge.h"
#include "code/repo_make.h"
#include "code/sync.h"
#include "code/upkeep.h"
#include "code/work.h"
#include "git/layout.h"

/* A project of the files a and b, and a session on it with the agents x and y and a view. */
struct site {
    struct place place;
    struct repo repo;
    struct team team;
    struct agent agents[3];
    char *project, *tree; /* paths: of the project, of x */
    int x; /* the work tree of x */
};

static void site_free(struct site *site)
{
    fd_closep(&site->x);
    free(site->project);
    free(site->tree);
    free(site->team.project.base);
    repo_free(&site->repo);
    place_free(&site->place);
}

static bool git_in(const char *tree, const char *const *args)
{
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    _cleanup_close_ int cwd = path_open_dir(AT_FDCWD, tree);
    const struct git git = {.dir = dir, .tree = tree, .cwd = cwd};
    struct err err = ERR_INIT;

    return WELL(git_must(&git, args, NULL, NULL, &err));
}

static bool make_project(struct site *site)
{
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int top = path_make_dir(site->place.dir, "project", 0755);
    _cleanup_close_ int git = path_make_dir(top, ".git", 0755);
    struct err err = ERR_INIT;

    layout_set(&config, "core", NULL);
    layout_set(&config, "bare", "false");
    layout_set(&config, "user", NULL);
    layout_set(&config, "name", "P");
    layout_set(&config, "email", "p@x");
    return CHECK(git != -1) && WELL(layout_make(git, "ref: refs/heads/main\n", &config, &err)) &&
           place_put(top, "a", "1\n2\n3\n4\n5\n") && place_put(top, "b", "b\n") &&
           place_put(top, ".gitignore", "*.o\n") &&
           git_in(site->project, GIT_ARGS("add", "--all")) &&
           git_in(site->project, GIT_ARGS("commit", "--quiet", "-m", "base"));
}

static bool site_make(struct site *site)
{
    static char x[] = "x", y[] = "y", v[] = "v", onto[] = "refs/heads/main", label[] = "s";
    _cleanup_project_ struct project project = PROJECT_INIT;
    struct err err = ERR_INIT;

    site->place = place_make();
    site->project = mem_printf("%s/project", site->place.path);
    repo_open(site->place.path, "s", &site->repo);
    site->tree = repo_tree(&site->repo, "x");
    site->agents[0] = (struct agent){.id = x, .code = AGENT_CODE_WORKTREE};
    site->agents[1] = (struct agent){.id = v, .code = AGENT_CODE_VIEW};
    site->agents[2] = (struct agent){.id = y, .code = AGENT_CODE_WORKTREE};
    site->team = (struct team){.agents = site->agents, .agent_count = 3};
    CHECK(setenv("HOME", site->place.path, 1) == 0 && unsetenv("XDG_CONFIG_HOME") == 0);
    if (!make_project(site) || !WELL(project_open(site->project, &project, &err)) ||
        !WELL(project_find_person(&project, &err)))
        return false;
    CHECK(mkdirat(site->place.dir, "logs", 0700) == 0);
    site->team.project = (struct team_project){
        .path = site->project, .onto = onto, .base = mem_dup(project.base), .label = label};
    bool good = WELL(repo_make(&site->repo, site->place.dir, &project, NULL, NULL, &err)) &&
                WELL(repo_make_trees(&site->repo, site->place.dir, &project, &site->team, NULL,
                                     NULL, &err));
    site->x = path_open_dir(AT_FDCWD, site->tree);
    return good && CHECK(site->x != -1);
}
#define A_SITE                                                                                     \
    __attribute__((cleanup(site_free))) struct site site = {.x = -1};                              \
    UNIT_MAYBE struct err err = ERR_INIT;                                                          \
    REQUIRE(site_make(&site))

/* Commits all files of an agent. */
static bool commit(const struct site *site, const char *agent, const char *message)
{
    _cleanup_free_ char *tree = repo_tree(&site->repo, agent);

    return git_in(tree, GIT_ARGS("add", "--all")) &&
           git_in(tree, GIT_ARGS("commit", "--quiet", "-m", message));
}

static bool put(const struct site *site, const char *agent, const char *name, const char *text)
{
    _cleanup_free_ char *tree = repo_tree(&site->repo, agent);
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, tree);

    return CHECK(dir != -1) && place_put(dir, name, text);
}

static char *content(const struct site *site, const char *agent, const char *name)
{
    _cleanup_free_ char *tree = repo_tree(&site->repo, agent);
    _cleanup_close_ int dir = path_open_dir(AT_FDCWD, tree);
    struct err ignored = ERR_INIT;
    char *text = NULL;
    size_t len = 0;

    return file_read(dir, name, 1000, &text, &len, &ignored) == -1 ? mem_dup("(none)") : text;
}
#define CHECK_FILE(agent, name, want)                                                              \
    do {                                                                                           \
        _cleanup_free_ char *content_ = content(&site, agent, name);                               \
        CHECK_STR(content_, want);                                                                 \
    } while (0)

/* ---- merge and sync */

static int refuse(void *arg, const struct check_program *program, int *ret_status, struct err *err)
{
    (void)err;
    CHECK(faccessat(program->cwd, "new", F_OK, 0) == 0); /* the commit that is checked */
    CHECK(str_starts(env_get(program->env, "MAS_CODE_DIR"), program->tree));
    CHECK_STR(env_get(program->env, "MAS_CODE_BRANCH"), "mas/s/main");
    for (int i = 0; i < 12; i++)
        CHECK(dprintf(program->log, "line %d\n", i) > 0);
    *ret_status = *(const int *)arg;
    return 0;
}

TEST(branches_of_agents_are_merged_one_after_the_other)
{
    int status = 3;
    const struct check check = {.command = "c", .timeout_ms = 1000, .run = refuse, .arg = &status};
    char was[GIT_OID_TEXT] = "";
    char now[GIT_OID_TEXT] = "";
    A_SITE;

    _cleanup_close_ int lock = -1;
    MUST(merge_lock(&site.repo, "test", &lock, &err));
    MUST(repo_ref(&site.repo, site.repo.main, was, &err));
    for (int i = 0; i < 2; i++) {
        _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
        MUST(merge_agent(&site.repo, "x", NULL, &result, &err));
        CHECK_INT(result.outcome, i == 0 ? MERGE_NOTHING : MERGE_FORWARD);
        CHECK_INT(result.commits, i);
        CHECK_INT(result.view.code, MAS_OK);
        REQUIRE(put(&site, "x", "new", "new\n") && put(&site, "x", "a", "0\n1\n2\n3\n4\n5\n") &&
                (i == 1 || commit(&site, "x", "by x")));
    }
    CHECK_FILE("view", "new", "new\n");
    MUST(repo_ref(&site.repo, site.repo.main, now, &err));
    CHECK(strcmp(was, now) != 0);

    /* what a check refuses moves nothing */
    REQUIRE(put(&site, "y", "a", "1\n2\n3\n4\n5\n6\n") && commit(&site, "y", "by y"));
    {
        _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
        MUST(merge_agent(&site.repo, "y", &check, &result, &err));
        CHECK_INT(result.outcome, MERGE_REFUSED);
        CHECK_STR(result.check.why, "it ended with exit code 3");
        CHECK(str_starts(result.check.output, "line 2\n") &&
              str_ends(result.check.output, "line 11"));
        MUST(repo_ref(&site.repo, site.repo.main, was, &err));
        CHECK_STR(was, now);
        CHECK_FILE("view", "a", "0\n1\n2\n3\n4\n5\n");
    }
    status = 0;
    {
        _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
        MUST(merge_agent(&site.repo, "y", &check, &result, &err));
        CHECK_INT(result.outcome, MERGE_MADE);
        CHECK(result.check.passed && result.commits == 1);
        CHECK_FILE("view", "a", "0\n1\n2\n3\n4\n5\n6\n");
    }
    /* a conflict changes nothing */
    REQUIRE(put(&site, "x", "a", "zero\n1\n2\n3\n4\n5\n") && put(&site, "x", "b", "x\n") &&
            commit(&site, "x", "clash of x"));
    REQUIRE(put(&site, "y", "b", "y\n") && commit(&site, "y", "clash of y"));
    MUST(repo_ref(&site.repo, site.repo.main, was, &err));
    for (int i = 0; i < 2; i++) {
        _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
        MUST(merge_agent(&site.repo, i == 0 ? "x" : "y", NULL, &result, &err));
        CHECK_INT(result.outcome, i == 0 ? MERGE_MADE : MERGE_CONFLICT);
        if (i == 1) {
            CHECK(strv_len(result.files) == 1 && strcmp(result.files[0], "b") == 0);
            CHECK(strv_len(result.others) == 1 && strstr(result.others[0], "(agent x)") != NULL);
        }
    }
    CHECK_FILE("view", "b", "x\n");
}

TEST(what_killed_commands_left_in_code_git_goes_with_the_lock)
{
    static const char *const gone[] = {"incoming",
                                       "scratch",
                                       "check",
                                       "leftover.index",
                                       "finish.index",
                                       "unseen.index",
                                       "land.index",
                                       "x.lock",
                                       "indexes/x.lock",
                                       "refs/heads/mas/s/main.lock",
                                       "refs/mas/agents/x.lock",
                                       CODE_VIEW_GIT "/index.lock"};
    static const char *const kept[] = {"landing", "indexes/x", "placed/x", "other"};
    A_SITE;
    _cleanup_close_ int git = path_open_dir(site.place.dir, CODE_GIT);
    _cleanup_close_ int lock = -1;

    for (size_t i = 0; i < ARRAY_LEN(gone) + ARRAY_LEN(kept); i++) {
        const char *path = i < ARRAY_LEN(gone) ? gone[i] : kept[i - ARRAY_LEN(gone)];
        const char *name = NULL;
        _cleanup_close_ int above = path_make_above(git, path, 0755, &name);
        CHECK(above != -1 && place_put(above, name, ""));
    }
    MUST(merge_hold(&site.repo, "test", &lock, &err));
    CHECK(faccessat(git, gone[0], F_OK, 0) == 0);
    fd_closep(&lock);
    MUST(merge_lock(&site.repo, "test", &lock, &err));
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        if (!CHECK(faccessat(git, gone[i], F_OK, 0) == -1))
            unit_print_str("left", gone[i]);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        CHECK(faccessat(git, kept[i], F_OK, 0) == 0);
}

/* Only who has nothing of its own is moved. */
TEST(agents_without_work_of_their_own_are_synced)
{
    static const char *const kinds[] = {"none",    "commit",   "changed", "untracked",  "staged",
                                        "ignored", "progress", "branch",  "in the way", "locked"};
    static const char *const whys[] = {NULL,
                                       "it has commits of its own",
                                       "it has files that are not committed",
                                       "it has files that are not committed",
                                       "it has files that are not committed",
                                       NULL,
                                       "something is in progress",
                                       "another branch is checked out",
                                       "",
                                       ""};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        _cleanup_merge_ struct merge_result result = MERGE_RESULT_INIT;
        _cleanup_close_ int lock = -1;
        enum sync_outcome outcome = SYNC_CURRENT;
        const char *why = NULL;
        A_SITE;
        MUST(merge_lock(&site.repo, "test", &lock, &err));
        REQUIRE(put(&site, "y", "a", "changed\n") && put(&site, "y", "n.o", "forced\n"));
        _cleanup_free_ char *other = repo_tree(&site.repo, "y");
        REQUIRE(git_in(other, GIT_ARGS("add", "--force", "n.o")) && commit(&site, "y", "by y"));
        MUST(merge_agent(&site.repo, "y", NULL, &result, &err));
        if (i == 1)
            REQUIRE(put(&site, "x", "b", "own\n") && commit(&site, "x", "own"));
        if (i == 2)
            REQUIRE(put(&site, "x", "b", "own\n"));
        if (i == 3)
            REQUIRE(put(&site, "x", "u", "own\n"));
        if (i == 4)
            REQUIRE(put(&site, "x", "b", "own\n") && git_in(site.tree, GIT_ARGS("add", "b")));
        if (i == 5)
            REQUIRE(put(&site, "x", "i.o", "own\n"));
        if (i == 6)
            REQUIRE(put(&site, "x", ".git/MERGE_HEAD", ""));
        if (i == 7)
            REQUIRE(git_in(site.tree, GIT_ARGS("checkout", "--quiet", "-b", "mine")));
        if (i == 8)
            REQUIRE(put(&site, "x", "n.o", "mine\n"));
        if (i == 9)
            REQUIRE(put(&site, "x", ".git/index.lock", ""));
        int rc = sync_agent(&site.repo, "x", &outcome, &why, &err);
        if (i >= 8) {
            CHECK(rc == -1 && err.code == MAS_CONFLICT);
            CHECK_FILE("x", "a", "1\n2\n3\n4\n5\n");
            CHECK_FILE("x", "n.o", i == 8 ? "mine\n" : "(none)");
            continue;
        }
        if (rc == -1)
            unit_print_str(kinds[i], err.text);
        CHECK_INT(rc, 0);
        CHECK_INT(outcome, whys[i] == NULL ? SYNC_MOVED : SYNC_BEHIND);
        CHECK_STR(outcome == SYNC_BEHIND ? why : NULL, whys[i]);
        CHECK_FILE("x", "a", whys[i] == NULL ? "changed\n" : "1\n2\n3\n4\n5\n");
        if (whys[i] != NULL)
            continue;
        CHECK(git_in(site.tree, GIT_ARGS("diff-index", "--quiet", "HEAD")));
        CHECK(git_in(site.tree, GIT_ARGS("fsck", "--strict", "--no-dangling")));
        CHECK(faccessat(site.x, ".git/index.lock", F_OK, 0) == -1);
        MUST(sync_agent(&site.repo, "x", &outcome, &why, &err));
        CHECK_INT(outcome, SYNC_CURRENT);
    }
}

/* ---- what agents have changed */

/* One that cannot be read hides no other. */
TEST(what_was_seen_of_each_agent_is_read_back)
{
    struct code_figures looks[2];
    struct code_figures *read = NULL;
    size_t count = 9;
    A_SITE;

    work_looked(site.place.dir, &read, &count);
    CHECK_INT(count, 0);
    REQUIRE(put(&site, "x", "b", "x\n") && commit(&site, "x", "1") && put(&site, "x", "c", "c\n") &&
            put(&site, "x", "i.o", "ignored\n") && put(&site, "x", "a", "changed\n"));
    REQUIRE(put(&site, "y", ".git/HEAD", "damaged\n"));
    work_look(&site.repo, "x", &looks[0]);
    work_look(&site.repo, "y", &looks[1]);
    CHECK_STR(looks[0].branch, "mas/s/x");
    CHECK(looks[0].ahead == 1 && looks[0].behind == 0 && looks[0].changed == 2);
    CHECK(looks[0].problem[0] == '\0' && looks[0].looked_ms != 0);
    CHECK(strstr(looks[1].problem, "HEAD names no branch") != NULL);
    _cleanup_close_ int indexes = path_open_dir(site.place.dir, CODE_GIT "/indexes");
    static const char *const damaged[] = {"a.figures", "xx.figures", "z.figures"};
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++)
        CHECK(place_put(indexes, damaged[i], "no JSON"));
    work_looked(site.place.dir, &read, &count);
    CHECK_INT(count, 2);
    for (size_t i = 0; i < count; i++)
        CHECK(code_figures_equal(&read[i], &looks[0]) || code_figures_equal(&read[i], &looks[1]));
    free(read);
}

/* ---- what would be lost */

static const char *found(const struct site *site, struct str *to)
{
    _cleanup_strv_ char **work = NULL;
    _cleanup_close_ int lock = -1;
    struct err err = ERR_INIT;

    str_clear(to);
    if (WELL(merge_lock(&site->repo, "test", &lock, &err)) &&
        WELL(keep_find(&site->repo, &site->team, NULL, NULL, &work, &err)))
        for (char **line = work; line != NULL && *line != NULL; line++)
            str_addf(to, "%s\n", *line);
    return str_text(to);
}

TEST(each_kind_of_work_is_found)
{
    _cleanup_str_ struct str shown = STR_INIT;
    A_SITE;

    CHECK_STR(found(&site, &shown), "");
    REQUIRE(put(&site, "y", "a", "changed\n") && put(&site, "y", "new", "new\n"));
    CHECK_STR(found(&site, &shown), "y: 2 files not committed: a, new\n");
    _cleanup_free_ char *y = repo_tree(&site.repo, "y");
    REQUIRE(git_in(y, GIT_ARGS("add", "new")) && git_in(y, GIT_ARGS("stash", "push", "--quiet")));
    CHECK_STR(found(&site, &shown), "y: a stash\n");
    REQUIRE(put(&site, "x", "i.o", "ignored\n"));
    CHECK_STR(found(&site, &shown), "x: 1 file ignored by git: i.o\ny: a stash\n");
    REQUIRE(git_in(y, GIT_ARGS("stash", "drop", "--quiet")));
    CHECK(unlinkat(site.x, "i.o", 0) == 0);
    REQUIRE(put(&site, "x", "b", "staged\n") && git_in(site.tree, GIT_ARGS("add", "b")) &&
            put(&site, "x", "b", "b\n"));
    CHECK(strstr(found(&site, &shown), "staged, but neither committed nor in the work tree: b\n") !=
          NULL);
    REQUIRE(git_in(site.tree, GIT_ARGS("reset", "--quiet", "--hard")));
    REQUIRE(put(&site, "x", "b", "x\n") && commit(&site, "x", "1") &&
            put(&site, "x", "b", "xx\n") && commit(&site, "x", "2"));
    CHECK_STR(found(&site, &shown), "x: 2 commits of mas/s/x are not landed\n");
    REQUIRE(git_in(site.tree, GIT_ARGS("checkout", "--quiet", "--detach")) &&
            git_in(site.tree, GIT_ARGS("branch", "--quiet", "-f", "mas/s/x", "HEAD~1")));
    CHECK_STR(found(&site, &shown), "x: 1 commit of mas/s/x is not landed\n"
                                    "x: 2 commits of a detached HEAD are not landed\n");
    REQUIRE(git_in(site.tree, GIT_ARGS("branch", "aside")) &&
            git_in(site.tree, GIT_ARGS("checkout", "--quiet", "mas/s/x")));
    CHECK_STR(found(&site, &shown), "x: 2 commits of aside are not landed\n"
                                    "x: 1 commit of mas/s/x is not landed\n");
    REQUIRE(put(&site, "x", ".git/MERGE_HEAD", ""));
    CHECK(str_starts(found(&site, &shown), "x: a merge is in progress\n"));
    CHECK(unlinkat(site.x, ".git/MERGE_HEAD", 0) == 0);
    REQUIRE(git_in(site.tree, GIT_ARGS("branch", "-q", "-D", "aside")) &&
            git_in(site.tree, GIT_ARGS("reset", "--quiet", "--hard", "HEAD~1")));
    CHECK_STR(found(&site, &shown), "");
    REQUIRE(put(&site, "view", "a", "changed\n") && put(&site, "view", "new", "new\n"));
    CHECK_STR(found(&site, &shown), "the view: 1 file changed: a\n"
                                    "the view: 1 file not in the project: new\n");
    REQUIRE(put(&site, "view", "a", "1\n2\n3\n4\n5\n"));
    CHECK(place_put(site.place.dir, "code/view/new", "") &&
          unlinkat(site.place.dir, "code/view/new", 0) == 0);
    CHECK_STR(found(&site, &shown), "");
    CHECK(symlinkat("..", site.x, "dir") == 0 && unlinkat(site.x, ".git/HEAD", 0) == 0);
    CHECK_STR(found(&site, &shown),
              "x: cannot read the repository of agent 'x': HEAD cannot be read\n");
}

/* ---- landing */

TEST(what_is_landed_is_in_the_project_and_work_no_more)
{
    static const enum land_way ways[] = {LAND_AUTO, LAND_MERGE, LAND_SQUASH, LAND_REBASE};

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        _cleanup_merge_ struct merge_result merged = MERGE_RESULT_INIT;
        _cleanup_land_ struct land_result landed = LAND_RESULT_INIT;
        const struct land_options options = {.way = ways[i]};
        _cleanup_str_ struct str shown = STR_INIT;
        A_SITE;
        REQUIRE(put(&site, "x", "b", "x\n") && commit(&site, "x", "1") &&
                put(&site, "x", "c", "c\n") && commit(&site, "x", "2"));
        {
            _cleanup_close_ int lock = -1;
            MUST(merge_lock(&site.repo, "test", &lock, &err));
            MUST(merge_agent(&site.repo, "x", NULL, &merged, &err));
            CHECK(merged.outcome == MERGE_FORWARD && merged.commits == 2);
        }
        CHECK_STR(found(&site, &shown), "the team: 2 commits of mas/s/main are not landed\n");
        {
            _cleanup_close_ int lock = -1;
            MUST(merge_lock(&site.repo, "test", &lock, &err));
            MUST(land(&site.repo, &site.team.project, &options, &landed, &err));
            CHECK_INT(landed.commits, 2);
        }
        _cleanup_close_ int project = path_open_dir(AT_FDCWD, site.project);
        CHECK(faccessat(project, "c", F_OK, 0) == 0); /* its work tree follows */
        CHECK(git_in(site.project, GIT_ARGS("diff-index", "--quiet", "HEAD")));
        CHECK_STR(found(&site, &shown), "");
    }
}

/* Whatever the person has at work where the branch is checked out stays, and then nothing lands. */
TEST(landing_replaces_nothing_of_a_persons)
{
    static const struct {
        const char *path, *text; /* what the person writes */
        const char *git[4]; /* and runs */
        const char *why; /* a part of the error; NULL: it lands */
    } cases[] = {
        {"b", "mine\n", {NULL}, "overwrite changes of these: b"},
        {"b", "mine\n", {"add", "b"}, "overwrite changes of these: b"},
        {"b", "x\n", {"add", "b"}, "overwrite changes of these: b"},
        {"a", "mine\n", {NULL}, NULL}, /* which landing does not touch */
        {"a", "mine\n", {"add", "a"}, NULL},
        {"new", "mine\n", {NULL}, "in the way, and the branch does not have them: new"},
        {"n.o", "mine\n", {NULL}, "in the way, and the branch does not have them: n.o"},
        {"other", "mine\n", {NULL}, NULL},
        {".git/MERGE_HEAD", "", {NULL}, "a merge is in progress"},
        {".git/REVERT_HEAD", "", {NULL}, "a revert is in progress"},
        {".git/config",
         "[core]\n\tbare = false\n[filter \"f\"]\n\tclean = false\n",
         {NULL},
         "'f.f' needs a filter of the project"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_merge_ struct merge_result merged = MERGE_RESULT_INIT;
        _cleanup_land_ struct land_result landed = LAND_RESULT_INIT;
        const struct land_options options = {.way = LAND_AUTO};
        _cleanup_close_ int lock = -1;
        A_SITE;
        _cleanup_close_ int project = path_open_dir(AT_FDCWD, site.project);
        REQUIRE(put(&site, "x", "b", "x\n") && put(&site, "x", "new", "x\n") &&
                put(&site, "x", "n.o", "x\n") && put(&site, "x", "f.f", "x\n") &&
                put(&site, "x", ".gitattributes", "*.f filter=f\n"));
        REQUIRE(git_in(site.tree, GIT_ARGS("add", "--force", "n.o")) && commit(&site, "x", "1"));
        MUST(merge_lock(&site.repo, "test", &lock, &err));
        MUST(merge_agent(&site.repo, "x", NULL, &merged, &err));
        if (cases[i].text != NULL)
            CHECK(place_put(project, cases[i].path, cases[i].text));
        if (cases[i].git[0] != NULL)
            CHECK(git_in(site.project, cases[i].git));
        int rc = land(&site.repo, &site.team.project, &options, &landed, &err);
        _cleanup_free_ char *now = NULL;
        size_t len = 0;
        struct err ignored = ERR_INIT;
        if (cases[i].why == NULL) {
            if (rc == -1)
                unit_print_str(cases[i].path, err.text);
            CHECK_INT(rc, 0);
            CHECK(faccessat(project, "new", F_OK, 0) == 0);
        } else {
            CHECK_INT(rc, -1);
            CHECK_INT(err.code, MAS_CONFLICT);
            if (!CHECK(strstr(err.text, cases[i].why) != NULL))
                unit_print_str(cases[i].path, err.text);
            CHECK(str_starts(cases[i].path, "new") || faccessat(project, "new", F_OK, 0) == -1);
        }
        CHECK(cases[i].text == NULL ||
              (file_read(project, cases[i].path, 1000, &now, &len, &ignored) == 0 &&
               strcmp(now, cases[i].text) == 0));
    }
}

/* ---- upkeep */

static size_t count_loose(const struct site *site, const char *objects)
{
    _cleanup_close_ int dir = path_open_dir(site->place.dir, objects);
    size_t count = 0;

    for (unsigned i = 0; i < 256; i++) {
        char fan[3];
        _cleanup_strv_ char **names = NULL;
        struct err ignored = ERR_INIT;
        (void)snprintf(fan, sizeof fan, "%02x", i);
        _cleanup_close_ int sub = path_open_dir(dir, fan);
        if (sub != -1 && path_list(sub, &names, &ignored) == 0)
            count += strv_len(names);
    }
    return count;
}

/* What code.git has in packs goes from the repository of an agent, nothing else. */
TEST(what_code_git_has_is_not_kept_twice)
{
    _cleanup_merge_ struct merge_result merged = MERGE_RESULT_INIT;
    _cleanup_close_ int lock = -1;
    A_SITE;

    for (int i = 0; i < 700; i++) { /* of which some begin with 17 */
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        REQUIRE(put(&site, "x", name, name));
    }
    REQUIRE(commit(&site, "x", "many"));
    size_t all = count_loose(&site, CODE_DIR "/x/.git/objects");
    CHECK(all > 700);
    MUST(merge_lock(&site.repo, "test", &lock, &err));
    upkeep(&site.repo, &site.team);
    CHECK_INT(count_loose(&site, CODE_DIR "/x/.git/objects"), all); /* it has none of them yet */
    MUST(merge_agent(&site.repo, "x", NULL, &merged, &err));
    REQUIRE(put(&site, "x", "own", "own\n") && git_in(site.tree, GIT_ARGS("add", "own")));
    upkeep(&site.repo, &site.team);
    CHECK_INT(count_loose(&site, CODE_DIR "/x/.git/objects"), 1);
    CHECK(git_in(site.tree, GIT_ARGS("fsck", "--no-dangling")));
    CHECK(git_in(site.tree, GIT_ARGS("commit", "--quiet", "-m", "own")));
}
