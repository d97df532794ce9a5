/* What mas writes and finds in repositories, file by file. */
#include "code.h"

#include "gap.h"

#include "base/sha.h"
#include "code/linked.h"
#include "code/setup.h"
#include "code/sparse.h"
#include "git/index.h"
#include "git/locks.h"

#define DROP(dir, name) CHECK(unlinkat(dir, name, 0) == 0)

static bool exists(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

TEST(settings_are_read_by_git_as_they_were)
{
    static const char *const values[] = {"true", "",     "a b", " blank ", "a\"b",
                                         "a\\b", "a\nb", "#;",  "\t"};
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str config = STR_INIT;
    struct err err = ERR_INIT;
    const struct git git = repo_git(&code.repo);

    layout_set(&config, "core", NULL);
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        _cleanup_free_ char *name = mem_printf("k%zu", i);
        layout_set(&config, name, values[i]);
    }
    _cleanup_close_ int dir = path_open_dir(code.place.dir, CODE_GIT);
    REQUIRE(place_put(dir, "config", config.data));
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        _cleanup_free_ char *name = mem_printf("core.k%zu", i);
        _cleanup_free_ char *value = NULL;
        MUST(git_text(&git, GIT_ARGS("config", "--get", name), &value, &err));
        CHECK_STR(value, values[i]);
    }
    CHECK_INT(layout_ref(dir, BRANCH, OID(2), &err), -1); /* it is there */
    CHECK_INT(layout_make(dir, "ref: x\n", &config, &err), -1);
}

TEST(a_ref_is_read_with_and_without_git)
{
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;
    char oid[GIT_OID_TEXT] = "";
    _cleanup_close_ int dir = path_open_dir(code.place.dir, CODE_GIT);

    MUST(repo_ref(&code.repo, BRANCH, oid, &err));
    CHECK_STR(oid, OID(1));
    CHECK_INT(repo_ref(&code.repo, "refs/heads/none", oid, &err), -1);
    CHECK(place_put(dir, "packed-refs",
                    "# pack-refs with: peeled fully-peeled sorted \n" OID(3) " refs/heads/p\n"));
    MUST(repo_ref(&code.repo, "refs/heads/p", oid, &err));
    CHECK_STR(oid, OID(3));
    CHECK(code_put(dir, "refs/heads/s", "ref: " BRANCH "\n"));
    MUST(repo_ref(&code.repo, "refs/heads/s", oid, &err));
    CHECK_STR(oid, OID(1));
}

TEST(names_of_a_session_are_made_of_its_label)
{
    struct agent agents[] = {{.id = (char[]){"x"}, .code = AGENT_CODE_WORKTREE},
                             {.id = (char[]){"v"}, .code = AGENT_CODE_VIEW},
                             {.id = (char[]){"n"}, .code = AGENT_CODE_NONE}};
    static const char *const dirs[] = {"x", "view", NULL};
    static const char *const branches[] = {"mas/s/x", "mas/s/main", NULL};
    struct team team = {.agents = agents, .agent_count = 3};
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;

    _cleanup_free_ char *branch = repo_branch(&code.repo, "x");
    CHECK_STR(branch, BRANCH);
    CHECK_STR(code.repo.main, "refs/heads/mas/s/main");
    CHECK(str_ends(code.repo.git, "/code.git"));
    for (int with = 0; with < 2; with++) {
        team.project.path = with ? (char[]){"/p"} : NULL;
        for (size_t i = 0; i < ARRAY_LEN(agents); i++) {
            _cleanup_kv_ struct kv env = {.count = 0};
            CHECK_STR(repo_dir_of(&team, &agents[i]), with ? dirs[i] : NULL);
            repo_env(&code.repo, &team, &agents[i], &env);
            const char *dir = kv_get(&env, "MAS_CODE_DIR");
            CHECK_STR(kv_get(&env, "MAS_PROJECT"), with ? "/p" : NULL);
            CHECK_STR(kv_get(&env, "MAS_CODE_BRANCH"), with ? branches[i] : NULL);
            CHECK((dir != NULL) == (with && dirs[i] != NULL));
            CHECK(dir == NULL || str_ends(dir, dirs[i]));
        }
    }
    WELL(repo_check_team(&team, &err));
    static const char *const taken[] = {"main", "view"};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        agents[2].id = (char *)(uintptr_t)taken[i]; /* the last of several */
        err = (struct err)ERR_INIT;
        CHECK_INT(repo_check_team(&team, &err), -1);
        CHECK_INT(err.code, MAS_USAGE);
    }
}

TEST(a_lock_is_beside_what_agents_can_open)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int other = -1;
    struct err err = ERR_INIT;

    MUST(repo_lock(&code.repo, CODE_LOCK, LOCK_TRY, "test", &lock, &err)); /* makes code.locks */
    CHECK(exists(code.place.dir, CODE_LOCKS "/" CODE_LOCK));
    CHECK_INT(repo_lock(&code.repo, CODE_LOCK, LOCK_TRY, "test", &other, &err), -1);
    MUST(repo_lock(&code.repo, "x.look", LOCK_TRY, "test", &other, &err));
    fd_closep(&lock);
    MUST(repo_lock(&code.repo, CODE_LOCK, LOCK_TRY, "test", &lock, &err));
}

/* ---- what a killed git leaves */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

TEST(left_locks_and_parts_of_objects_are_found)
{
    static const struct {
        const char *path;
        bool found;
    } files[] = {
        {"index.lock", true},
        {"HEAD.lock", true},
        {"config", false},
        {"mas.lock", false},
        {"refs/heads/a.lock", true},
        {"refs/heads/deep/er/a.lock", true},
        {"refs/heads/mas.lock", true},
        {"refs/heads/tmp_x", false},
        {"worktrees/w/index.lock", true},
        {"objects/pack/tmp_pack_x", true},
        {"objects/ab/tmp_obj_x", true},
        {"objects/pack/.tmp-1-pack", true},
        {"objects/pack/x.lock", false},
        {"other/x.lock", false}, /* a directory of somebody else's */
        {"tmp_obj_x", false},
    };
    _cleanup_code_ struct code code = code_make();
    _cleanup_strv_ char **left = NULL;
    struct err err = ERR_INIT;
    size_t want = 0;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CHECK(code_put(code.git, files[i].path, ""));
        want += files[i].found;
    }
    CHECK(symlinkat("HEAD", code.git, "link.lock") == 0);
    CHECK(symlinkat("../../..", code.git, "refs/out") == 0);
    _cleanup_free_ char *path = mem_printf("%s/" CODE_DIR "/x/.git", code.place.path);
    MUST(lock_find_left(code.git, path, NULL, &left, &err));
    CHECK_INT(strv_len(left), want);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        CHECK(strv_has(left, files[i].path) == files[i].found);

    /* one that is open is needed */
    strv_free(left);
    left = NULL;
    _cleanup_close_ int fd = openat(code.git, "index.lock", O_RDONLY | O_CLOEXEC);
    MUST(lock_find_left(code.git, path, NULL, &left, &err));
    CHECK(strv_len(left) == want - 1 && !strv_has(left, "index.lock"));
    _cleanup_free_ char *lock = mem_printf("%s/index.lock", path);
    CHECK(!lock_is_left(lock, NULL));
    fd_closep(&fd);
    CHECK(lock_is_left(lock, NULL) && lock_is_left(lock, "/nowhere"));
    DROP(code.git, "index.lock");
    CHECK(!lock_is_left(lock, NULL));
}

/* ---- linked work trees */

/* "<agent>/<name> <tree, below the workspace, or ->", sorted, then the faults. */
static const char *links_of_one(const struct code *code, const char *one, struct str *to)
{
    struct agent agents[] = {{.id = (char[]){"n"}, .code = AGENT_CODE_NONE},
                             {.id = (char[]){"x"}, .code = AGENT_CODE_WORKTREE}};
    const struct team team = {.agents = agents, .agent_count = 2};
    _cleanup_linked_ struct linked_list list = LINKED_LIST_INIT;
    _cleanup_strv_ char **lines = NULL;

    str_clear(to);
    linked_find(&code->repo, &team, one, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct linked *l = &list.items[i];
        const char *tree = l->tree == NULL ? "-"
                           : str_starts(l->tree, code->place.path)
                               ? l->tree + strlen(code->place.path) + 1
                               : l->tree;
        _cleanup_free_ char *line = mem_printf("%s/%s %s", l->agent, l->name, tree);
        strv_push(&lines, line);
    }
    for (char **fault = list.faults; fault != NULL && *fault != NULL; fault++) {
        _cleanup_free_ char *line = mem_printf("~%s", *fault);
        strv_push(&lines, line);
    }
    if (lines != NULL)
        qsort(lines, strv_len(lines), sizeof *lines, compare_lines);
    for (char **line = lines; line != NULL && *line != NULL; line++)
        str_addf(to, "%s\n", *line);
    return str_text(to);
}

static const char *links_of(const struct code *code, struct str *to)
{
    return links_of_one(code, NULL, to);
}

/* Links a work tree to a repository, both by their paths in the workspace; NULL: not that side. */
static bool link_tree(const struct code *code, const char *own, const char *lists, const char *tree,
                      const char *names)
{
    _cleanup_free_ char *list = mem_printf("%s/gitdir", own);
    _cleanup_free_ char *file = mem_printf("%s/.git", tree);
    _cleanup_free_ char *there = mem_printf("%s/%s/.git\n", code->place.path, lists);
    _cleanup_free_ char *back = mem_printf("gitdir: %s/%s\n", code->place.path, names);

    return (lists == NULL || code_put(code->place.dir, list, there)) &&
           (names == NULL || code_put(code->place.dir, file, back));
}

#define X_TREES CODE_DIR "/x/.git/worktrees/"

TEST(linked_work_trees_are_found_from_both_sides)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str shown = STR_INIT;

    CHECK_STR(links_of(&code, &shown), "");
    REQUIRE(link_tree(&code, X_TREES "one", "home/x/one", "home/x/one", X_TREES "one"));
    REQUIRE(link_tree(&code, CODE_GIT "/worktrees/w", "code/view/w", "code/view/w",
                      CODE_GIT "/worktrees/w"));
    REQUIRE(link_tree(&code, CODE_GIT "/worktrees/view", "code/view", "code/view",
                      CODE_GIT "/worktrees/view"));
    /* the list says where it was before the session moved; relative, and with CR */
    REQUIRE(link_tree(&code, X_TREES "moved", "old/place", "new/place", X_TREES "moved"));
    REQUIRE(
        code_put(code.place.dir, CODE_DIR "/x/rel/.git", "gitdir: ../.git/worktrees/./rel\r\n"));
    REQUIRE(code_put(code.place.dir, X_TREES "rel/gitdir", "../../../../x/rel/.git"));
    REQUIRE(code_put(code.place.dir, X_TREES "none/HEAD", "")); /* git does not find it either */
    REQUIRE(code_put(code.place.dir, X_TREES "file", "")); /* no work tree */
    CHECK_STR(links_of(&code, &shown), "view/w code/view/w\n"
                                       "x/moved new/place\n"
                                       "x/none -\n"
                                       "x/one home/x/one\n"
                                       "x/rel code/x/rel\n");
}

TEST(what_cannot_be_told_of_linked_work_trees_is_a_fault)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str shown = STR_INIT;

    REQUIRE(link_tree(&code, X_TREES "one", "one", "one", X_TREES "one"));
    REQUIRE(link_tree(&code, X_TREES "one", NULL, "copy", X_TREES "one"));
    REQUIRE(link_tree(&code, X_TREES "one", NULL, "lost", X_TREES "unknown"));
    REQUIRE(link_tree(&code, X_TREES "away", "gone/away", "x", NULL));
    REQUIRE(code_put(code.place.dir, X_TREES "away/locked", ""));
    REQUIRE(link_tree(&code, X_TREES "bare", "empty", "x", NULL));
    CHECK(mkdirat(code.place.dir, "empty", 0755) == 0);
    CHECK(mkdirat(code.git, "worktrees/a b", 0755) == 0);
    CHECK(symlinkat("one", code.git, "worktrees/link") == 0);
    CHECK_STR(links_of(&code, &shown),
              "x/a b -\n"
              "x/away -\n"
              "x/bare -\n"
              "x/link -\n"
              "x/one one\n"
              "~x, work tree 'a b': git gives no such name\n"
              "~x, work tree 'away': it is locked, and its files are not there\n"
              "~x, work tree 'copy': it is a copy of another one\n"
              "~x, work tree 'empty': its .git cannot be read\n"
              "~x, work tree 'link': Not a directory\n"
              "~x, work tree 'lost': the repository does not know it any more\n");
}

TEST(of_one_agent_directories_of_others_are_searched_only_for_what_is_missing)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str shown = STR_INIT;

    REQUIRE(link_tree(&code, X_TREES "one", "code/wt", "code/wt", X_TREES "one"));
    REQUIRE(link_tree(&code, X_TREES "one", NULL, "home/x/copy", X_TREES "one"));
    REQUIRE(link_tree(&code, X_TREES "one", NULL, "home/n/copy", X_TREES "one"));
    CHECK_STR(links_of_one(&code, "x", &shown),
              "x/one code/wt\n"
              "~x, work tree 'home/x/copy': it is a copy of another one\n");
    REQUIRE(link_tree(&code, X_TREES "moved", "old/place", "unit/n/deep/place", X_TREES "moved"));
    CHECK_STR(links_of_one(&code, "x", &shown),
              "x/moved unit/n/deep/place\n"
              "x/one code/wt\n"
              "~x, work tree 'home/n/copy': it is a copy of another one\n"
              "~x, work tree 'home/x/copy': it is a copy of another one\n");
}

/* ---- the index of git */

TEST(an_index_that_mas_does_not_know_is_read_by_git_alone)
{
    static const char *const bad[] = {"", "DIRC", "XXXXxxxxxxxxxxxxxxxxxxxxxxxx",
                                      "DIRC\1\1\1\4\1\1\1\1xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;
    bool plain = false;
    _cleanup_free_ char *path = mem_printf("%s/index", code.place.path);

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(place_put(code.place.dir, "index", bad[i]) && code_put(code.git, "index", bad[i]));
        CHECK_INT(index_adopt(code.tree, false, &err), 1);
        MUST(index_distrust(path, false, 0, &plain, &err));
        CHECK(!exists(code.place.dir, "index"));
    }
    CHECK_INT(index_distrust(path, false, 0, &plain, &err), -1);
}

/* An index of two files, of which times and inodes are looked at. */
static bool make_index(const struct code *code, struct git *git)
{
    struct err err = ERR_INIT;
    _cleanup_free_ char *tree = repo_tree(&code->repo, "x");
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    *git = (struct git){.dir = dir, .tree = tree, .cwd = code->tree};

    bool good = place_put(code->tree, "a", "1") && place_put(code->tree, "long-name-of-b", "2") &&
                WELL(git_must(git, GIT_ARGS("update-index", "--add", "a", "long-name-of-b"), NULL,
                              NULL, &err));
    *git = (struct git){.dir = NULL};
    return good;
}

/* Reads four bytes of the index. */
static uint32_t word_at(const char *text, size_t at)
{
    const unsigned char *b = (const unsigned char *)text + at;

    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

TEST(times_of_an_index_are_cleared_from_a_second_on)
{
    enum { FIRST = 12, SECOND = 12 + 64 }; /* entries of 62 bytes and a name of one */
    _cleanup_code_ struct code code = code_make();
    _cleanup_free_ char *path = mem_printf("%s/" CODE_DIR "/x/.git/index", code.place.path);
    struct err err = ERR_INIT;
    bool plain = false;
    struct git git;
    struct stat st;

    REQUIRE(make_index(&code, &git));
    REQUIRE(fstatat(code.tree, "a", &st, 0) == 0);
    for (int later = 1; later >= 0; later--) { /* first with a second that nothing has reached */
        _cleanup_free_ char *text = NULL;
        size_t len = 0;
        time_t begun = later ? time(NULL) + 100 : st.st_ctim.tv_sec;
        MUST(index_distrust(path, false, begun, &plain, &err));
        MUST(file_read(code.git, "index", 100000, &text, &len, &err));
        CHECK((word_at(text, FIRST) != 0) == later);
        CHECK((word_at(text, SECOND) != 0) == later);
        CHECK(word_at(text, FIRST + 8) != 0); /* when it was modified stays */
    }
}

TEST(a_copied_index_gets_the_inodes_of_the_copies)
{
    static const char *const files[] = {"a", "long-name-of-b"};
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;
    struct git git;
    struct stat st[2];
    size_t at = 12;

    REQUIRE(make_index(&code, &git));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) { /* other inodes, with the times of before */
        REQUIRE(fstatat(code.tree, files[i], &st[i], 0) == 0);
        _cleanup_free_ char *kept = mem_printf("%s.kept", files[i]);
        CHECK(renameat(code.tree, files[i], code.tree, kept) == 0);
        CHECK(place_put(code.tree, files[i], i == 0 ? "1" : "22")); /* of another size */
        const struct timespec times[] = {st[i].st_mtim, st[i].st_mtim};
        CHECK(utimensat(code.tree, files[i], times, 0) == 0);
    }
    MUST(index_adopt(code.tree, false, &err));
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    MUST(file_read(code.git, "index", 100000, &text, &len, &err));
    struct stat now;
    REQUIRE(fstatat(code.tree, "a", &now, 0) == 0);
    CHECK_INT(word_at(text, at + 20), (uint32_t)now.st_ino);
    CHECK_INT(word_at(text, at), (uint32_t)now.st_ctim.tv_sec);
    CHECK_INT(word_at(text, at + 4), (uint32_t)now.st_ctim.tv_nsec);
    CHECK_INT(word_at(text, at + 28), now.st_uid);
    at += 64;
    CHECK_INT(word_at(text, at + 20), (uint32_t)st[1].st_ino); /* left to git */
    _cleanup_free_ char *tree = repo_tree(&code.repo, "x");
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    const struct git check = {.dir = dir, .tree = tree, .cwd = code.tree};
    _cleanup_free_ char *changed = NULL;
    MUST(git_text(&check, GIT_ARGS("diff-files", "--name-only"), &changed, &err));
    CHECK_STR(changed, "long-name-of-b"); /* git believes the sum, too */
    CHECK_INT(index_adopt(code.tree, true, &err), 1);
}

/* An index of the files a, b, d/e and d/f in the work tree of x. */
static bool make_deep_index(const struct code *code)
{
    struct err err = ERR_INIT;
    _cleanup_free_ char *tree = repo_tree(&code->repo, "x");
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    const struct git git = {.dir = dir, .tree = tree, .cwd = code->tree};

    return place_put(code->tree, "a", "1") && place_put(code->tree, "b", "2") &&
           mkdirat(code->tree, "d", 0700) == 0 && place_put(code->tree, "d/e", "3") &&
           place_put(code->tree, "d/f", "4") && fchmodat(code->tree, "d/f", 0755, 0) == 0 &&
           WELL(git_must(&git, GIT_ARGS("update-index", "--add", "a", "b", "d/e", "d/f"), NULL,
                         NULL, &err));
}

TEST(files_that_are_as_the_index_says_are_copied_and_no_others)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_free_ char *path = mem_printf("%s/" CODE_DIR "/x/.git/index", code.place.path);
    _cleanup_free_ char *tree = mem_printf("%s/new", code.place.path);
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    _cleanup_free_ char *changed = NULL;
    struct err err = ERR_INIT;
    struct stat was;
    struct stat st;

    REQUIRE(make_deep_index(&code) && fstatat(code.tree, "a", &was, 0) == 0);
    _cleanup_close_ int to = path_make_dir(code.place.dir, "new", 0700);
    REQUIRE(to != -1 && mkdirat(to, ".git", 0700) == 0);
    _cleanup_close_ int whole = path_make_dir(code.place.dir, "whole", 0700);
    REQUIRE(whole != -1 && mkdirat(whole, ".git", 0700) == 0);
    CHECK_INT(index_transfer(path, false, code.tree, whole, &err), 0);
    CHECK(exists(whole, "b") && exists(whole, "d/f"));
    /* b is another file of the same size and time, and d leads elsewhere */
    const struct timespec times[] = {was.st_mtim, was.st_mtim};
    CHECK(place_put(code.tree, "b.new", "x") && utimensat(code.tree, "b.new", times, 0) == 0);
    CHECK(utimensat(code.tree, "b", times, 0) == 0);
    CHECK(renameat(code.tree, "b.new", code.tree, "b") == 0);
    CHECK_INT(index_transfer(path, true, code.tree, to, &err), 1);
    CHECK(!exists(to, "a") && !exists(to, ".git/index"));
    CHECK_INT(index_transfer(path, false, code.tree, to, &err), 1);
    CHECK(fstatat(to, "a", &st, 0) == 0 && st.st_mtim.tv_nsec == was.st_mtim.tv_nsec);
    CHECK(!exists(to, "b"));
    CHECK(exists(to, "d/e") && fstatat(to, "d/f", &st, 0) == 0 && (st.st_mode & 0777) == 0755);
    const struct git check = {.dir = dir, .tree = tree, .cwd = to};
    CHECK(symlinkat("/", to, ".git/objects") == 0 && mkdirat(to, ".git/refs", 0700) == 0);
    CHECK(place_put(to, ".git/HEAD", "ref: refs/heads/main\n"));
    MUST(git_text(&check, GIT_ARGS("diff-files", "--name-only"), &changed, &err));
    CHECK_STR(changed, "b"); /* git believes the rest */

    _cleanup_close_ int other = path_make_dir(code.place.dir, "other", 0700);
    REQUIRE(other != -1 && mkdirat(other, ".git", 0700) == 0);
    CHECK(renameat(code.tree, "d", code.place.dir, "d") == 0);
    CHECK(symlinkat("../../d", code.tree, "d") == 0);
    CHECK_INT(index_transfer(path, false, code.tree, other, &err), 1);
    CHECK(exists(other, "a") && !exists(other, "d"));
}

TEST(a_large_one_is_copied_in_shares_and_its_links_are_links)
{
    enum { FILES = 600, FOLDERS = 7 };
    _cleanup_code_ struct code code = code_make();
    _cleanup_free_ char *path = mem_printf("%s/" CODE_DIR "/x/.git/index", code.place.path);
    _cleanup_free_ char *new = mem_printf("%s/new", code.place.path);
    _cleanup_free_ char *new_dir = mem_printf("%s/.git", new);
    _cleanup_free_ char *tree = repo_tree(&code.repo, "x");
    _cleanup_free_ char *dir = mem_printf("%s/.git", tree);
    const struct git git = {.dir = dir, .tree = tree, .cwd = code.tree};
    _cleanup_str_ struct str names = STR_INIT;
    _cleanup_free_ char *changed = NULL;
    struct err err = ERR_INIT;
    char target[8] = "";

    for (int i = 0; i < FILES; i++) {
        _cleanup_free_ char *name = mem_printf("d%d/e/%d", i % FOLDERS, i);
        const char *last = NULL;
        _cleanup_close_ int above = path_make_above(code.tree, name, 0700, &last);
        CHECK(above != -1 && place_put(code.tree, name, name));
        str_addf(&names, "%s\n", name);
    }
    /* what is as new as the index is read, and there is no object */
    const struct timespec old[] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    CHECK(symlinkat("d3", code.tree, "link") == 0 &&
          utimensat(code.tree, "link", old, AT_SYMLINK_NOFOLLOW) == 0);
    str_add(&names, "link\n");
    const struct git_input input = {names.data, names.len};
    MUST(git_must(&git, GIT_ARGS("update-index", "--add", "--stdin"), &input, NULL, &err));
    _cleanup_close_ int to = path_make_dir(code.place.dir, "new", 0700);
    REQUIRE(to != -1 && mkdirat(to, ".git", 0700) == 0);
    CHECK_INT(index_transfer(path, false, code.tree, to, &err), 0);
    CHECK(readlinkat(to, "link", target, sizeof target) == 2 && strcmp(target, "d3") == 0);
    const struct git check = {.dir = new_dir, .tree = new, .cwd = to};
    CHECK(symlinkat("/", to, ".git/objects") == 0 && mkdirat(to, ".git/refs", 0700) == 0);
    CHECK(place_put(to, ".git/HEAD", "ref: refs/heads/main\n"));
    MUST(git_text(&check, GIT_ARGS("diff-files", "--name-only"), &changed, &err));
    CHECK_STR(changed, "");
}

/* ---- patterns of a sparse checkout */

TEST(patterns_are_copied_where_there_are_some)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_str_ struct str config = STR_INIT;
    struct err err = ERR_INIT;
    const struct git git = repo_git(&code.repo);
    _cleanup_close_ int dir = path_open_dir(code.place.dir, CODE_GIT);

    CHECK(!sparse_is_used(code.repo.git));
    MUST(sparse_copy(code.repo.git, code.git, &config, &err));
    CHECK(config.len == 0 && !exists(code.git, "info"));
    CHECK(code_put(dir, "info/sparse-checkout", "/*\n"));
    CHECK(sparse_is_used(code.repo.git));
    MUST(sparse_copy(code.repo.git, code.git, &config, &err));
    CHECK_STR(str_text(&config), "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n");
    CHECK(exists(code.git, "info/sparse-checkout"));
    DROP(code.git, "info/sparse-checkout");
    str_clear(&config);
    MUST(git_must(&git, GIT_ARGS("config", "core.sparseCheckoutCone", "true"), NULL, NULL, &err));
    MUST(sparse_copy(code.repo.git, code.git, &config, &err));
    CHECK(strstr(str_text(&config), "Cone = true") != NULL);
    DROP(code.git, "info/sparse-checkout");
    MUST(sparse_copy(code.repo.git, code.git, NULL, &err));
}

/* ---- setups */

TEST(what_a_session_has_of_a_setup_is_read_back)
{
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;
    struct setup setup = {.from_project = true};
    struct setup read;
    _cleanup_close_ int dir = path_open_dir(code.place.dir, CODE_GIT);

    MUST(setup_load(&code.repo, &read, &err));
    CHECK(!read.exists);
    sha256_of("x", 1, setup.hash);
    for (int i = 0; i < 3; i++) {
        setup.declined = i == 1;
        setup.from_project = i != 2;
        trace_begin();
        MUST(setup_save(&code.repo, &setup, &err));
        CHECK(strstr(trace_end(), "fsync .script.new, rename .script, fsync DIR") != NULL);
        MUST(setup_load(&code.repo, &read, &err));
        CHECK(read.exists && read.declined == setup.declined);
        CHECK(read.from_project == setup.from_project);
        CHECK_STR(read.hash, i == 2 ? "" : setup.hash);
    }
    static const char *const bad[] = {"", "FROM=\"project\"\n", "FROM=\"project\"\nHASH=\"x\"\n",
                                      "HASH=\"\"\n", "no\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err)ERR_INIT;
        CHECK(place_put(dir, "setup/.script", bad[i]));
        CHECK_INT(setup_load(&code.repo, &read, &err), -1);
        CHECK(!read.exists);
    }
}

TEST(a_setup_runs_once_if_it_is_the_one_that_was_seen)
{
    static const char script[] = "#!/bin/sh\n";
    _cleanup_code_ struct code code = code_make();
    struct root root = {.path = code.place.path, .fd = code.place.dir, .sessions = code.place.dir};
    struct err err = ERR_INIT;
    enum setup_state state = SETUP_DONE;
    struct setup setup = {.from_project = false};
#define CHECK_STATE(want)                                                                          \
    do {                                                                                           \
        MUST(setup_look(&root, &code.repo, "x", &state, &err));                                    \
        CHECK_STR(setup_state_name(state), want);                                                  \
    } while (0)

    CHECK_STATE("none");
    MUST(setup_save(&code.repo, &setup, &err));
    CHECK_STATE("due"); /* that of the settings needs no answer */
    setup.from_project = true;
    sha256_of(script, strlen(script), setup.hash);
    MUST(setup_save(&code.repo, &setup, &err));
    CHECK_STATE("waits");
    MUST(setup_answers_keep(&root, setup.hash, SETUP_NO, &err));
    CHECK_STATE("declined");
    MUST(setup_answers_keep(&root, setup.hash, SETUP_YES, &err));
    CHECK_STATE("changed"); /* it is not there */
    CHECK(code_put(code.tree, SETUP_SCRIPT, "#!/bin/sh\nevil\n"));
    CHECK_STATE("changed");
    CHECK(code_put(code.tree, "aside", script));
    DROP(code.tree, SETUP_SCRIPT);
    CHECK(symlinkat("../aside", code.tree, SETUP_SCRIPT) == 0);
    CHECK_STATE("changed");
    DROP(code.tree, SETUP_SCRIPT);
    CHECK(mkfifoat(code.tree, SETUP_SCRIPT, 0600) == 0);
    CHECK_STATE("changed");
    DROP(code.tree, SETUP_SCRIPT);
    CHECK(code_put(code.tree, SETUP_SCRIPT, script));
    CHECK_STATE("due");
    setup.declined = true;
    MUST(setup_save(&code.repo, &setup, &err));
    CHECK_STATE("declined");
    MUST(setup_mark(&code.repo, "other", &err));
    CHECK_STATE("declined");
    MUST(setup_mark(&code.repo, "x", &err));
    CHECK_STATE("done");
}
