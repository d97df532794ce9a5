/* What mas believes of the repository of an agent, who may have put anything there. */
#include "code.h"

#include "git/odd.h"

/* Opens the repository of x, or returns what is said against it. */
static const char *refusal(const struct code *code, struct err *err)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;

    *err = (struct err)ERR_INIT;
    if (stranger_open(&code->repo, "x", &stranger, err) == 0)
        return NULL;
    CHECK_INT(err->code, MAS_DAMAGED);
    return str_starts(err->text, "cannot read the repository of agent 'x': ")
               ? err->text + strlen("cannot read the repository of agent 'x': ")
               : err->text;
}

static void drop(int dir, const char *name)
{
    CHECK(unlinkat(dir, name, 0) == 0);
}

#define ELSEWHERE "it borrows objects from elsewhere"
#define NO_DIR "a directory of it is missing or a link"

TEST(a_repository_as_mas_made_it_is_read)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    struct err err = ERR_INIT;

    MUST(stranger_open(&code.repo, "x", &stranger, &err));
    CHECK_STR(stranger.branch, BRANCH);
    CHECK_STR(stranger.head, OID(1));
    CHECK_STR(stranger.key, "x");
    CHECK(!stranger.is_detached && !stranger_is_linked(&stranger) && stranger_borrows(&stranger));
    CHECK_STR(stranger_progress(&stranger), NULL);
    drop(code.git, "objects/info/alternates"); /* it has copied all objects */
    CHECK_STR(refusal(&code, &err), NULL);
    CHECK(!stranger_borrows(&stranger));
    const struct git git = stranger_git(&stranger, "/i");
    CHECK(git.confined && !git.person && git.settings == NULL);
    CHECK_STR(git.dir, code.repo.git);
    CHECK_STR(git.index, "/i");
    CHECK(str_ends(git.objects[0], "/code/x/.git/objects") && str_ends(git.tree, "/code/x"));
    CHECK_INT(git.cwd, stranger.cwd);
}

/* Every directory that git would search is one, and lies there. */
TEST(a_link_leads_git_nowhere)
{
    static const char *const dirs[] = {"objects", "objects/info", "objects/pack", "refs"};
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        _cleanup_free_ char *aside = mem_printf("%s/aside", code.place.path);
        REQUIRE(renameat(code.git, dirs[i], AT_FDCWD, aside) == 0);
        CHECK_STR(refusal(&code, &err), NO_DIR);
        CHECK(symlinkat(aside, code.git, dirs[i]) == 0);
        CHECK_STR(refusal(&code, &err), NO_DIR);
        drop(code.git, dirs[i]);
        CHECK(place_put(code.git, dirs[i], ""));
        CHECK_STR(refusal(&code, &err), NO_DIR);
        drop(code.git, dirs[i]);
        REQUIRE(renameat(AT_FDCWD, aside, code.git, dirs[i]) == 0);
        CHECK_STR(refusal(&code, &err), NULL);
    }
    REQUIRE(renameat(code.tree, ".git", code.place.dir, "aside") == 0);
    CHECK_STR(refusal(&code, &err), "its .git is missing, a file or a link");
    CHECK(symlinkat("../../aside", code.tree, ".git") == 0);
    CHECK_STR(refusal(&code, &err), "its .git is missing, a file or a link");
    drop(code.tree, ".git");
    CHECK(place_put(code.tree, ".git", "gitdir: ../../aside\n"));
    CHECK_STR(refusal(&code, &err), "its .git is missing, a file or a link");
    REQUIRE(renameat(code.place.dir, CODE_DIR "/x", code.place.dir, "moved") == 0);
    CHECK_STR(refusal(&code, &err), "its directory is missing or a link");
    CHECK(symlinkat("../moved", code.place.dir, CODE_DIR "/x") == 0);
    CHECK_STR(refusal(&code, &err), "its directory is missing or a link");
}

TEST(objects_come_from_code_git_alone)
{
    static const char *const bad[] = {"", "/home/u/p/.git/objects\n",
                                      "../../../../" CODE_GIT "/objects",
                                      "../../../../" CODE_GIT "/objects\n/home/u/p/.git/objects\n",
                                      "/home/u/p/.git/objects\n../../../../" CODE_GIT "/objects\n"};
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(code_put(code.git, "objects/info/alternates", bad[i]));
        CHECK_STR(refusal(&code, &err), ELSEWHERE);
    }
    drop(code.git, "objects/info/alternates");
    CHECK(symlinkat("nowhere", code.git, "objects/info/alternates") == 0);
    CHECK_STR(refusal(&code, &err), ELSEWHERE);
    drop(code.git, "objects/info/alternates");
    CHECK(code_put(code.git, "objects/info/http-alternates", ""));
    CHECK_STR(refusal(&code, &err), ELSEWHERE);
    drop(code.git, "objects/info/http-alternates");
    CHECK(symlinkat("nowhere", code.git, "commondir") == 0);
    CHECK_STR(refusal(&code, &err), "it names another repository as its own");
    drop(code.git, "commondir");
    CHECK_STR(refusal(&code, &err), NULL);

    _cleanup_free_ char *deep = stranger_borrowed(".git/modules/a");
    CHECK_STR(deep, "../../../../../../" CODE_GIT "/objects\n");
}

/* Reads HEAD as "<branch> <commit> [detached]", or what is said against it. */
static void check_head(const struct code *code, const char *text, const char *want)
{
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_free_ char *got = NULL;
    struct err err = ERR_INIT;

    CHECK(place_put(code->git, "HEAD", text));
    if (stranger_open(&code->repo, "x", &stranger, &err) == -1)
        got = mem_dup(strrchr(err.text, ':') + 2);
    else
        got = mem_printf("%s %s%s", stranger.branch, stranger.head,
                         stranger.is_detached ? " detached" : "");
    CHECK_STR(got, want);
}

TEST(head_is_a_commit_or_a_branch_with_one)
{
    _cleanup_code_ struct code code = code_make();
    struct err err = ERR_INIT;

    CHECK(code_put(code.git, "refs/heads/other", OID(2) "\n"));
    CHECK(code_put(code.git, "packed-refs",
                   "# pack-refs with: peeled\n" OID(3) " refs/heads/packed\n^" OID(4) "\n" OID(
                       5) " " BRANCH "\n" OID(6) " refs/heads/packed2\n"));
    CHECK(code_put(code.git, "refs/heads/word", "word\n"));
    CHECK(symlinkat("other", code.git, "refs/heads/link") == 0);
    check_head(&code, "ref: " BRANCH "\n", BRANCH " " OID(1));
    check_head(&code, "ref: " BRANCH, BRANCH " " OID(1));
    check_head(&code, OID(7) "\n", " " OID(7) " detached");
    check_head(&code, "ref: refs/heads/other\n", "refs/heads/other " OID(2) " detached");
    check_head(&code, "ref: refs/heads/packed\n", "refs/heads/packed " OID(3) " detached");
    check_head(&code, "ref: refs/heads/packed2\n", "refs/heads/packed2 " OID(6) " detached");
    check_head(&code, "ref: refs/heads/none\n", "its branch has no commit");
    check_head(&code, "ref: refs/heads/mas\n", "its branch has no commit"); /* a directory */
    check_head(&code, "ref: refs/heads/other/none\n", "its branch has no commit");
    check_head(&code, "ref: refs/heads/word\n", "a ref names no object");
    check_head(&code, "ref: refs/heads/../../HEAD\n", "HEAD names no branch");
    check_head(&code, "ref: refs/tags/other\n", "HEAD names no branch");
    check_head(&code, "ref: /refs/heads/other\n", "HEAD names no branch");
    check_head(&code, "", "HEAD names no branch");
    check_head(&code, "ref: refs/heads/link\n", "a ref is no file");
    CHECK(mkfifoat(code.git, "refs/heads/pipe", 0600) == 0);
    check_head(&code, "ref: refs/heads/pipe\n",
               "'.git/refs/heads/pipe' is a FIFO where git needs a file");
    drop(code.git, "refs/heads/pipe");
    drop(code.git, "HEAD");
    CHECK_STR(refusal(&code, &err), "HEAD cannot be read");
    CHECK(symlinkat("refs/heads/other", code.git, "HEAD") == 0);
    CHECK_STR(refusal(&code, &err), "HEAD cannot be read");
    CHECK(place_put(code.git, "packed-refs", "x refs/heads/packed\n"));
    check_head(&code, "ref: refs/heads/packed\n", "packed-refs is damaged");
    drop(code.git, "packed-refs");
    CHECK(symlinkat("HEAD", code.git, "packed-refs") == 0);
    check_head(&code, "ref: refs/heads/packed\n", "packed-refs cannot be read");
    check_head(&code, "ref: " BRANCH "\n", BRANCH " " OID(1)); /* which does not need it */
}

/* ---- all refs */

static int add_ref(const char *name, const char *oid, void *arg, struct err *err)
{
    struct str *to = arg;

    str_addf(to, "%s %c\n", name, oid[strlen(oid) - 1]);
    return strcmp(name, "refs/heads/stop") == 0 ? err_set(err, MAS_FAILED, "stopped") : 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The refs, sorted; or what is said against them. */
static const char *refs_of(const struct stranger *stranger, struct str *to)
{
    _cleanup_str_ struct str all = STR_INIT;
    _cleanup_strv_ char **lines = NULL;
    struct err err = ERR_INIT;

    str_clear(to);
    if (stranger_refs(stranger, add_ref, &all, &err) == -1) {
        str_add(to, strrchr(err.text, ':') != NULL ? strrchr(err.text, ':') + 2 : err.text);
        return str_text(to);
    }
    for (char *rest = all.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            strv_push(&lines, line);
    if (lines != NULL)
        qsort(lines, strv_len(lines), sizeof *lines, compare_lines);
    for (size_t i = 0; i < strv_len(lines); i++)
        str_addf(to, "%s\n", lines[i]);
    return str_text(to);
}

/* A ref that is missed is work that is lost: those in files, packed ones, each entry of the stash,
 * and what an operation in progress has put away. */
TEST(all_refs_are_found)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    struct err err = ERR_INIT;

    MUST(stranger_open(&code.repo, "x", &stranger, &err));
    CHECK_STR(refs_of(&stranger, &shown), BRANCH " 1\n");
    CHECK(code_put(code.git, "refs/heads/a/b/c", OID(2) "\n"));
    CHECK(code_put(code.git, "refs/heads/a/b/c.lock", "half"));
    CHECK(code_put(code.git, "refs/remotes/origin/HEAD", "ref: refs/remotes/origin/m\n"));
    CHECK(code_put(code.git, "packed-refs",
                   "# pack-refs\n" OID(3) " refs/heads/a/b/c\n" OID(4) " refs/tags/t\n^" OID(
                       9) "\n" OID(5) " refs/remotes/origin/m\n"));
    CHECK(code_put(code.git, "refs/stash", OID(7) "\n"));
    CHECK(
        code_put(code.git, "logs/refs/stash",
                 OID(0) " " OID(6) " A <a> 1 +0000\tWIP\n" OID(6) " " OID(7) " A <a> 2 +0000\t\n"));
    CHECK(code_put(code.git, "rebase-merge/autostash", OID(8) "\n"));
    CHECK(code_put(code.git, "rebase-apply/autostash", OID(9) "\n"));
    CHECK(code_put(code.git, "MERGE_AUTOSTASH", OID(0) "\n"));
    CHECK_STR(refs_of(&stranger, &shown),
              "refs/heads/a/b/c 2\nrefs/heads/a/b/c 2\n" BRANCH " 1\n"
              "refs/remotes/origin/m 5\n"
              "refs/stash 0\nrefs/stash 6\nrefs/stash 7\nrefs/stash 7\nrefs/stash 8\n"
              "refs/stash 9\nrefs/tags/t 4\n");
    CHECK_STR(stranger_progress(&stranger), "a rebase");
    CHECK(code_put(code.git, "refs/heads/stop", OID(2) "\n"));
    CHECK_STR(refs_of(&stranger, &shown), "stopped");
}

/* The first one that is bad stops it, wherever it stands. */
TEST(a_damaged_ref_is_not_passed_over)
{
    static const struct {
        const char *path, *text, *why;
    } bad[] = {
        {"refs/heads/0", "no\n", "a ref names no object"},
        {"refs/tags/deep/er/zz", OID(1) "0\n", "a ref names no object"},
        {"refs/stash", "", "a ref names no object"},
        {"logs/refs/stash", OID(0) " " OID(1) " A\n" OID(0) " x A\n",
         "the log of its stash is damaged"},
        {"MERGE_AUTOSTASH", "x", "a ref names no object"},
        {"rebase-merge/autostash", "x", "a ref names no object"},
        {"rebase-apply/autostash", "x", "a ref names no object"},
        {"packed-refs", OID(1) " refs/tags/t\nx refs/tags/u\n", "packed-refs is damaged"},
        {"packed-refs", OID(1) " refs/../HEAD\n", "packed-refs is damaged"},
        {"packed-refs", OID(1) " HEAD\n" OID(1) " refs/tags/t\n", "packed-refs is damaged"},
    };
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    struct err err = ERR_INIT;

    MUST(stranger_open(&code.repo, "x", &stranger, &err));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK(code_put(code.git, bad[i].path, bad[i].text));
        CHECK_STR(refs_of(&stranger, &shown), bad[i].why);
        drop(code.git, bad[i].path);
    }
    CHECK(symlinkat("heads", code.git, "refs/l") == 0);
    CHECK_STR(refs_of(&stranger, &shown), "a ref is no file");
    drop(code.git, "refs/l");
    CHECK(symlinkat("../HEAD", code.git, "logs/refs") == -1);
    CHECK(code_put(code.git, "logs/refs/other", ""));
    CHECK(symlinkat("../../HEAD", code.git, "logs/refs/stash") == 0);
    CHECK_STR(refs_of(&stranger, &shown), "the log of its stash cannot be read");
    drop(code.git, "logs/refs/stash");
    CHECK_STR(refs_of(&stranger, &shown), BRANCH " 1\n");
}

/* Directories below refs/ are read to a depth of 32. */
TEST(refs_are_not_read_at_any_depth)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    _cleanup_str_ struct str path = STR_INIT;
    struct err err = ERR_INIT;

    MUST(stranger_open(&code.repo, "x", &stranger, &err));
    str_add(&path, "refs/");
    for (int i = 0; i < 32; i++)
        str_add(&path, "d/");
    str_add(&path, "r");
    CHECK(code_put(code.git, path.data, OID(2) "\n"));
    CHECK(strstr(refs_of(&stranger, &shown), "/r 2\n") != NULL);
    str_add(&path, "d/r");
    CHECK(code_put(code.git, path.data, OID(2) "\n"));
    CHECK_STR(refs_of(&stranger, &shown), "a directory of its refs cannot be read");
}

TEST(the_index_is_copied_as_it_is)
{
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger stranger = STRANGER_INIT;
    _cleanup_free_ char *to = mem_printf("%s/copy", code.place.path);
    struct timespec old[] = {{.tv_sec = 1000, .tv_nsec = 7}, {.tv_sec = 1000, .tv_nsec = 7}};
    struct err err = ERR_INIT;
    struct stat st;

    MUST(stranger_open(&code.repo, "x", &stranger, &err));
    CHECK(place_put(code.place.dir, "copy", "older"));
    WELL(stranger_copy_index(&stranger, to, &err)); /* it has none */
    CHECK_INT(access(to, F_OK), -1);
    CHECK(place_put(code.git, "index", "DIRC"));
    CHECK_INT(utimensat(code.git, "index", old, 0), 0);
    CHECK(place_put(code.place.dir, "copy", "older"));
    WELL(stranger_copy_index(&stranger, to, &err));
    CHECK(stat(to, &st) == 0 && st.st_size == 4);
    CHECK(st.st_mtim.tv_sec == 1000 && st.st_mtim.tv_nsec == 7);
    drop(code.git, "index");
    CHECK(symlinkat("HEAD", code.git, "index") == 0);
    CHECK_INT(stranger_copy_index(&stranger, to, &err), -1);
    CHECK_INT(err.code, MAS_DAMAGED);
}

/* ---- submodules and linked work trees */

static int open_module(const struct stranger *outer, const char *git_dir, const char *head,
                       struct stranger *ret, struct err *err)
{
    *err = (struct err)ERR_INIT;
    return stranger_open_module(outer, "l/m-1", git_dir, head, ret, err);
}

TEST(a_submodule_is_a_strangers_too)
{
    static const char inner[] = "../../../../../../" CODE_GIT "/objects\n";
    _cleanup_code_ struct code code = code_make();
    _cleanup_stranger_ struct stranger outer = STRANGER_INIT;
    _cleanup_stranger_ struct stranger module = STRANGER_INIT;
    _cleanup_stranger_ struct stranger files = STRANGER_INIT;
    _cleanup_stranger_ struct stranger left = STRANGER_INIT;
    _cleanup_stranger_ struct stranger none = STRANGER_INIT;
    _cleanup_str_ struct str shown = STR_INIT;
    struct err err = ERR_INIT;

    MUST(stranger_open(&code.repo, "x", &outer, &err));
    CHECK_INT(open_module(&outer, NULL, OID(5), &none, &err), -1); /* no such directory */
    CHECK(mkdirat(code.tree, "l", 0755) == 0 && mkdirat(code.tree, "l/m-1", 0755) == 0);
    CHECK(mkdirat(code.git, "modules", 0755) == 0);
    CHECK(code_make_git(code.git, "modules/m", inner));
    _cleanup_close_ int git = path_open_dir(code.git, "modules/m");

    MUST(open_module(&outer, NULL, OID(5), &files, &err));
    CHECK_STR(files.head, OID(5));
    CHECK(files.is_detached && files.branch[0] == '\0' && files.objects == NULL);
    CHECK_STR(refs_of(&files, &shown), "");

    MUST(open_module(&outer, ".git/modules/m", OID(5), &module, &err));
    CHECK_STR(module.head, OID(1));
    CHECK_STR(module.key, "x%l%2Fm-1");
    CHECK_STR(module.subject, "x, submodule 'l/m-1'");
    CHECK(str_ends(module.tree, "/code/x/l/m-1") && !stranger_is_linked(&module));
    CHECK_STR(refs_of(&module, &shown), BRANCH " 1\n");
    const struct git own = stranger_git(&module, NULL);
    CHECK(own.settings != NULL && own.confined);

    MUST(stranger_open_module(&outer, ".git/modules/m", ".git/modules/m", "", &left, &err));
    CHECK(left.tree == NULL && left.cwd == -1);

    CHECK(place_put(git, "shallow", OID(3) "\n"));
    CHECK_INT(open_module(&outer, ".git/modules/m", OID(5), &none, &err), -1);
    CHECK(str_ends(err.text, "it has only a part of the history") && err.hint[0] != '\0');
    _cleanup_close_ int own_git = path_open_dir(code.place.dir, CODE_GIT);
    CHECK(place_put(own_git, "shallow", OID(2) "\n" OID(3) "\n"));
    MUST(open_module(&outer, ".git/modules/m", OID(5), &none, &err));
    CHECK(place_put(git, "shallow", OID(3) "\n" OID(4) "\n"));
    CHECK_INT(open_module(&outer, ".git/modules/m", OID(5), &none, &err), -1);
    drop(git, "shallow");
    CHECK(code_put(git, "objects/info/alternates", "../../../../" CODE_GIT "/objects\n"));
    CHECK_INT(open_module(&outer, ".git/modules/m", OID(5), &none, &err), -1);
}

/* ---- odd files */

TEST(git_waits_at_no_odd_file)
{
    static const struct {
        const char *path, *to; /* a link, or a FIFO (NULL) */
        bool bad;
    } cases[] = {
        {".gitignore", NULL, true},
        {"d/.gitattributes", NULL, true},
        {"d/e/.gitmodules", NULL, true},
        {"d/HEAD", NULL, true},
        {"d/config", NULL, true},
        {"d/packed-refs", NULL, true},
        {"d/commondir", NULL, true},
        {"d/gitdir", NULL, true},
        {"d/.git", NULL, true},
        {"d/refs/r", NULL, true},
        {".git/any", NULL, true},
        {"d/.git/e/any", NULL, true},
        {"pipe", NULL, false},
        {"d/HEAD2", NULL, false},
        {"refs2/r", NULL, false},
        {".gitignore", "/dev/null", false}, /* git follows none of these */
        {".git/l", "/dev/null", true},
        {".git/l", "HEAD", false},
        {".git/l", "nowhere", false},
        {".git/objects/l", "nowhere", true},
        {".git/modules/m/objects/l", "nowhere", true},
        {".git/modules/m/l", "nowhere", false},
        {".git/refs/l", ".", true},
        {".git/modules/m/refs", "..", true},
        {".git/modules/m/objects", "..", true},
        {".git/hooks/l", "..", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_place_ struct place place = place_make();
        const char *name = NULL;
        struct err err = ERR_INIT;
        CHECK(code_put(place.dir, ".git/HEAD", ""));
        CHECK(code_put(place.dir, "a/file", ""));
        _cleanup_close_ int above = path_make_above(place.dir, cases[i].path, 0755, &name);
        CHECK((cases[i].to != NULL ? symlinkat(cases[i].to, above, name)
                                   : mkfifoat(above, name, 0600)) == 0);
        bool bad = odd_check(place.dir, place.path, &err) == -1;
        if (bad != cases[i].bad)
            unit_print_str("judged wrongly", cases[i].path);
        CHECK(bad == cases[i].bad);
        CHECK(!bad || (err.code == MAS_DAMAGED && strstr(err.text, cases[i].path) != NULL));
    }
}
