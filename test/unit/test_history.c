/* What mas does with commits, and with the files of a work tree, on small histories. */
#include "place.h"

#include "code/land/landed.h"
#include "code/leftover.h"
#include "code/merge.h"
#include "code/replay.h"
#include "git/drivers.h"
#include "git/in_way.h"
#include "git/layout.h"
#include "git/lfs.h"
#include "git/merge_trees.h"
#include "git/pack.h"
#include "git/unseen.h"

/* A repository with a work tree, as code.git has one for the view. */
struct history {
    struct place place;
    struct repo repo;
    struct git git;
    char *tree;
};

static void history_free(struct history *h)
{
    fd_closep(&h->git.cwd);
    free(h->tree);
    repo_free(&h->repo);
    place_free(&h->place);
}

static bool is_well(int rc, struct err *err)
{
    return CHECK(went_well(rc, err));
}

/* Adds to the history, in the language of git fast-import. */
static bool import_all(const struct history *h, const char *const *parts)
{
    _cleanup_str_ struct str text = STR_INIT;
    const struct git git = repo_git(&h->repo);
    struct err err = ERR_INIT;

    for (; *parts != NULL; parts++)
        str_add(&text, *parts);
    return is_well(git_must(&git, GIT_ARGS("fast-import", "--quiet"),
                            &(struct git_input){text.data, text.len}, NULL, &err),
                   &err);
}
#define import(h, ...) import_all(h, GIT_ARGS(__VA_ARGS__))

/* Makes an empty repository. */
static bool init(const struct place *place, const char *name)
{
    _cleanup_str_ struct str config = STR_INIT;
    _cleanup_close_ int dir = path_make_dir(place->dir, name, 0755);
    struct err err = ERR_INIT;

    layout_set(&config, "core", NULL);
    layout_set(&config, "bare", "true");
    layout_set(&config, "user", NULL);
    layout_set(&config, "name", "T");
    layout_set(&config, "email", "t@x");
    return CHECK(dir != -1) && WELL(layout_make(dir, "ref: refs/heads/none\n", &config, &err));
}

static bool history_make(struct history *h, const char *const *parts)
{
    h->place = place_make();
    repo_open(h->place.path, "s", &h->repo);
    h->tree = mem_printf("%s/tree", h->place.path);
    h->git = (struct git){
        .dir = h->repo.git, .tree = h->tree, .cwd = path_make_dir(h->place.dir, "tree", 0755)};
    return CHECK(h->git.cwd != -1) && init(&h->place, CODE_GIT) && import_all(h, parts);
}
#define A_HISTORY(...)                                                                             \
    __attribute__((cleanup(history_free))) struct history h = {.tree = NULL};                      \
    UNIT_MAYBE struct err err = ERR_INIT;                                                          \
    REQUIRE(history_make(&h, GIT_ARGS(__VA_ARGS__)))

#define COMMIT(branch, message)                                                                    \
    "commit refs/heads/" branch "\nauthor A <a@x> 100 +0100\ncommitter C <c@x> 200 +0200\ndata "   \
    "<<.\n" message "\n.\n"
#define FROM(branch) "from refs/heads/" branch "\n"
#define MERGE(branch) "merge refs/heads/" branch "\n"
#define FILE_(path, text) "M 100644 inline " path "\ndata <<.\n" text "\n.\n"
#define GONE(path) "D " path "\n"
#define LINES "1\n2\n3\n4\n5\n6\n7\n8"

/* What a branch, or an expression, names. */
static struct oid {
    char text[GIT_OID_TEXT];
} oid_of(const struct history *h, const char *name)
{
    const struct git git = repo_git(&h->repo);
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    struct oid oid = {.text = ""};

    if (is_well(git_text(&git, GIT_ARGS("rev-parse", "--verify", name), &text, &err), &err))
        CHECK(git_parse_oid(text, oid.text));
    return oid;
}
#define NAME(expression) oid_of(&h, expression).text

/* What git prints. */
static char *printed(const struct history *h, const char *const *args)
{
    const struct git git = repo_git(&h->repo);
    char *text = NULL;
    struct err err = ERR_INIT;

    return is_well(git_text(&git, args, &text, &err), &err) ? text : mem_dup("");
}

#define CHECK_PRINTS(want, ...)                                                                    \
    do {                                                                                           \
        _cleanup_free_ char *printed_ = printed(&h, GIT_ARGS(__VA_ARGS__));                        \
        CHECK_STR(printed_, want);                                                                 \
    } while (0)

/* A list in one line. */
static const char *joined(char *const *list, struct str *to)
{
    str_clear(to);
    for (; list != NULL && *list != NULL; list++)
        str_addf(to, "%s%s", to->len > 0 ? " " : "", *list);
    return str_text(to);
}

/* ---- merges and replays */

#define SIDES                                                                                      \
    COMMIT("base", "base"), FILE_("a", LINES), FILE_("b", LINES), FILE_("c", "c"),                 \
        COMMIT("ours", "ours"), FROM("base"), FILE_("a", "0\n" LINES), FILE_("b", "ours"),         \
        FILE_("o", "o"), COMMIT("theirs", "one"), FROM("base"), FILE_("a", LINES "\n9"),           \
        COMMIT("theirs", "two"), FILE_("c", "C"), COMMIT("clash", "clash"), FROM("base"),          \
        FILE_("b", "theirs"), FILE_("o", "p"), FILE_("z", "z")

TEST(a_merge_is_a_tree_or_names_what_conflicts)
{
    _cleanup_str_ struct str shown = STR_INIT;
    char tree[GIT_OID_TEXT] = "";
    char **files = NULL;
    A_HISTORY(SIDES);
    const struct git git = repo_git(&h.repo);

    MUST(merge_trees(&git, NAME("ours"), NAME("theirs"), tree, &files, &err));
    CHECK(files == NULL);
    _cleanup_free_ char *a = mem_printf("%s:a", tree);
    CHECK_PRINTS("0\n" LINES "\n9", "show", a);
    MUST(merge_trees(&git, NAME("ours"), NAME("clash"), tree, &files, &err));
    CHECK_STR(tree, "");
    CHECK_STR(joined(files, &shown), "b o");
    strv_free(files);
    MUST(merge_trees(&git, NAME("ours"), NAME("clash"), tree, NULL, &err));
    CHECK_STR(tree, "");
    CHECK_INT(merge_trees(&git, "ours", "none", tree, NULL, &err), -1);
}

TEST(commits_are_replayed_as_they_were)
{
    char last[GIT_OID_TEXT] = "";
    char at[GIT_OID_TEXT] = "";
    char **files = NULL;
    A_HISTORY(SIDES);
    const struct git git = repo_git(&h.repo);

    REQUIRE(import(&h, "commit refs/heads/theirs\nauthor \304 <a@x> 123 -0300\n"
                       "committer C <c@x> 200 +0200\nencoding latin1\ndata <<.\nthree\n\nbody "
                       "\344\n.\nfrom refs/heads/theirs^0\n"
                       "M 120000 inline l\ndata 1\nc\n"));
    MUST(replay(&git, NAME("ours"), NAME("theirs"), last, at, &files, &err));
    CHECK(files == NULL);
    CHECK_PRINTS("three\ntwo\none\nours\nbase", "log", "--format=%s", last);
    CHECK_PRINTS("\303\204 <a@x> 123 -0300 latin1", "log", "-1", "--format=%an <%ae> %ad %e",
                 "--date=raw", last);
    CHECK_PRINTS("3", "rev-list", "--count", last, "^ours");
    _cleanup_free_ char *raw = printed(&h, GIT_ARGS("cat-file", "commit", last));
    CHECK(str_ends(raw, "\nencoding latin1\n\nthree\n\nbody \344"));
    CHECK(strstr(raw, "committer C <c@x> 200") == NULL); /* who replays it commits it */
    _cleanup_free_ char *a = mem_printf("%s:a", last);
    CHECK_PRINTS("0\n" LINES "\n9", "show", a);
}

/* A header goes with all of its lines, and the message is none, whatever it looks like. */
TEST(a_replayed_commit_has_no_signature)
{
    static const char signed_by[] = "committer C <c@x> 200 +0200\n"
                                    "gpgsig -----BEGIN-----\n"
                                    " AAAA\n"
                                    " BBBB\n"
                                    "mergetag object 1\n"
                                    " author no\n"
                                    "\n"
                                    "subject\n"
                                    "\n"
                                    "gpgsig of the message\n"
                                    " indented\n";
    _cleanup_result_ struct proc_result made = PROC_RESULT_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    char last[GIT_OID_TEXT] = "";
    char at[GIT_OID_TEXT] = "";
    char **files = NULL;
    A_HISTORY(SIDES);
    const struct git git = repo_git(&h.repo);

    str_addf(&text, "tree %s\n", NAME("theirs^{tree}"));
    str_addf(&text, "parent %s\nauthor A <a@x> 5 +0000\n%s", NAME("theirs"), signed_by);
    memcpy(strstr(text.data, NAME("theirs^{tree}")), NAME("clash^{tree}"), strlen(NAME("clash")));
    REQUIRE(is_well(git_must(&git, GIT_ARGS("hash-object", "-t", "commit", "-w", "--stdin"),
                             &(struct git_input){text.data, text.len}, &made, &err),
                    &err));
    _cleanup_free_ char *commit = mem_dupn(made.out.data, strcspn(made.out.data, "\n"));
    MUST(replay(&git, NAME("base"), commit, last, at, &files, &err));
    _cleanup_free_ char *raw = printed(&h, GIT_ARGS("cat-file", "commit", last));
    CHECK(strstr(raw, "\nauthor A <a@x> 5 +0000\ncommitter ") != NULL);
    const char *end = strstr(raw, "\n\n");
    CHECK_STR(end, "\n\nsubject\n\ngpgsig of the message\n indented");
    const char *committer = strstr(raw, "committer ");
    CHECK(end != NULL && committer != NULL && strchr(committer, '\n') == end);
}

TEST(what_is_there_is_not_replayed_and_a_conflict_is_told)
{
    _cleanup_str_ struct str shown = STR_INIT;
    char last[GIT_OID_TEXT] = "x";
    char at[GIT_OID_TEXT] = "";
    char **files = NULL;
    A_HISTORY(SIDES);
    const struct git git = repo_git(&h.repo);

    /* "two" was picked alone, and the change of "one" is there in another commit */
    REQUIRE(import(&h, COMMIT("picked", "two"), FROM("ours"), FILE_("c", "C"),
                   COMMIT("squashed", "all"), FROM("ours"), FILE_("a", "0\n" LINES "\n9"),
                   FILE_("c", "C"), FILE_("q", "q")));
    MUST(replay(&git, NAME("picked"), NAME("theirs"), last, at, &files, &err));
    CHECK_PRINTS("one\ntwo\nours\nbase", "log", "--format=%s", last);
    MUST(replay(&git, NAME("squashed"), NAME("theirs"), last, at, &files, &err));
    CHECK_STR(last, NAME("squashed"));
    MUST(replay(&git, NAME("ours"), NAME("base"), last, at, &files, &err));
    CHECK_STR(last, NAME("ours"));

    REQUIRE(import(&h, COMMIT("later", "fine"), FROM("base"), FILE_("n", "n"),
                   COMMIT("later", "bad"), FILE_("b", "theirs"), COMMIT("later", "fine, too"),
                   FILE_("m", "m")));
    MUST(replay(&git, NAME("ours"), NAME("later"), last, at, &files, &err));
    CHECK_STR(last, "");
    CHECK_STR(at, NAME("later~1"));
    CHECK_STR(joined(files, &shown), "b");
    strv_free(files);
}

TEST(a_merge_with_changes_of_its_own_is_not_replayed)
{
    char last[GIT_OID_TEXT] = "";
    char at[GIT_OID_TEXT] = "";
    char **files = NULL;
    A_HISTORY(SIDES);
    const struct git git = repo_git(&h.repo);

    REQUIRE(import(&h, COMMIT("side", "side"), FROM("base"), FILE_("s", "s"),
                   COMMIT("plain", "merge"), FROM("theirs"), MERGE("side"), FILE_("s", "s"),
                   COMMIT("evil", "merge"), FROM("theirs"), MERGE("side"), FILE_("s", "s"),
                   FILE_("e", "e")));
    MUST(replay(&git, NAME("ours"), NAME("plain"), last, at, &files, &err));
    CHECK_PRINTS("4", "rev-list", "--count", last, "^base");
    CHECK_INT(replay(&git, NAME("ours"), NAME("evil"), last, at, &files, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK(strstr(err.hint, "--merge or --squash") != NULL);
}

/* ---- who is on the other side */

TEST(the_other_side_of_a_conflict_is_named)
{
    static const char *const files[] = {"f", "g", NULL};
    _cleanup_str_ struct str shown = STR_INIT;
    A_HISTORY(COMMIT("base", "base"), FILE_("f", "f"), FILE_("g", "g"), FILE_("h", "h"));
    const struct git git = repo_git(&h.repo);

    /* x and y are merged; what "no" did is of no agent; of h nothing is told */
    REQUIRE(import(&h, COMMIT("x", "by x"), FROM("base"), FILE_("f", "x"), COMMIT("y", "by y"),
                   FROM("base"), FILE_("g", "y"), COMMIT("m", "h alone"), FROM("base"),
                   FILE_("h", "2"), COMMIT("m", "Merge mas/s/x"), MERGE("x"), FILE_("f", "x"),
                   COMMIT("m", "Merge mas/other/y"), MERGE("y"), FILE_("g", "y"),
                   COMMIT("m", "a (b) \033[1m"), FILE_("f", "3"), COMMIT("mine", "mine"),
                   FROM("base"), FILE_("f", "4")));
    char **others =
        conflict_others(&h.repo, &git, NAME("mine"), NAME("m"), (char **)(uintptr_t)files);
    REQUIRE(CHECK(strv_len(others) == 3));
    for (size_t i = 0; i < 3; i++) {
        CHECK(strspn(others[i], "0123456789abcdef") == 12);
        str_addf(&shown, "%s\n", others[i] + 12);
    }
    CHECK(strstr(shown.data, " (agent x) 'by x'\n") != NULL);
    CHECK(strstr(shown.data, " 'by y'\n") != NULL && strstr(shown.data, "(agent y)") == NULL);
    CHECK(str_starts(others[0] + 12, " 'a (b) ") && strchr(others[0], '\033') == NULL);
    str_clear(&shown);
    conflict_show_others((char **)(uintptr_t)files, &shown);
    CHECK_STR(str_text(&shown), "; there it was changed by: f; g");
    conflict_show_others(NULL, &shown);
    CHECK_STR(str_text(&shown), "; there it was changed by: f; g");
    strv_free(others);

    /* the newest five; which agent's branch has a commit tells its name, where it is one alone */
    _cleanup_str_ struct str more = STR_INIT;
    for (int i = 0; i < 7; i++)
        str_addf(&more, COMMIT("many", "number %d") "%s" FILE_("g", "%d"), i,
                 i == 0 ? FROM("base") : "", i);
    str_add(&more, "reset refs/mas/agents/z\nfrom refs/heads/many\n\n");
    REQUIRE(import(&h, more.data));
    others = conflict_others(&h.repo, &git, NAME("mine"), NAME("many"), (char **)(uintptr_t)files);
    CHECK_INT(strv_len(others), 5);
    CHECK_STR(others[0] + 12, " (agent z) 'number 6'");
    CHECK_STR(others[4] + 12, " (agent z) 'number 2'");
    strv_free(others);
    REQUIRE(import(&h, "reset refs/mas/agents/zz\nfrom refs/heads/many\n\n"));
    others = conflict_others(&h.repo, &git, NAME("mine"), NAME("many"), (char **)(uintptr_t)files);
    CHECK_STR(others[0] + 12, " 'number 6'");
    strv_free(others);
}

/* ---- packs */

TEST(a_pack_brings_what_is_needed_and_no_more)
{
    _cleanup_free_ char *to_dir = NULL;
    _cleanup_free_ char *tmp = NULL;
    _cleanup_strv_ char **left = NULL;
    A_HISTORY(SIDES);
    const struct git from = repo_git(&h.repo);

    to_dir = mem_printf("%s/to", h.place.path);
    const struct git to = {.dir = to_dir};
    REQUIRE(init(&h.place, "to"));
    _cleanup_free_ char *oids = mem_printf("%s\n%s\n", NAME("theirs"), NAME("clash"));
    MUST(pack_copy(&from, &to, PACK_TMP, oids, &err));
    MUST(git_must(&to, GIT_ARGS("update-ref", "refs/heads/t", NAME("theirs")), NULL, NULL, &err));
    MUST(git_must(&to, GIT_ARGS("update-ref", "refs/heads/c", NAME("clash")), NULL, NULL, &err));
    MUST(git_must(&to, GIT_ARGS("fsck", "--strict", "--no-dangling"), NULL, NULL, &err));
    CHECK_INT(git_must(&to, GIT_ARGS("cat-file", "-e", NAME("ours")), NULL, NULL, &err), -1);

    /* only the commit, the tree and three files are new */
    const struct git both = {.dir = h.repo.git};
    _cleanup_free_ char *ours = mem_printf("%s\n", NAME("ours"));
    _cleanup_free_ char *theirs = mem_printf("%s\n", NAME("theirs"));
    MUST(pack_copy(&both, &to, PACK_TMP, ours, &err));
    _cleanup_free_ char *count = NULL;
    MUST(git_text(&to, GIT_ARGS("count-objects", "-v"), &count, &err));
    CHECK(strstr(count, "packs: 2\n") != NULL);
    MUST(pack_copy(&both, &to, PACK_TMP, theirs, &err)); /* which is there */
    free(count);
    count = NULL;
    MUST(git_text(&to, GIT_ARGS("count-objects", "-v"), &count, &err));
    CHECK(strstr(count, "packs: 2\n") != NULL);
    tmp = mem_printf("%s/objects", to_dir);
    _cleanup_close_ int objects = path_open_dir(AT_FDCWD, tmp);
    MUST(path_list(objects, &left, &err));
    for (char **name = left; *name != NULL; name++)
        CHECK(!str_starts(*name, "tmp_"));

    struct str none = STR_INIT;
    MUST(pack_copy_objects(&both, &to, PACK_TMP, &none, &err));
}

/* An object that is not what its name says does not come in, and nothing is left of it. */
TEST(a_damaged_object_is_not_brought)
{
    static const char *const expressions[] = {"clash:z", "clash^{tree}", "none"};

    for (size_t i = 0; i < ARRAY_LEN(expressions); i++) {
        _cleanup_strv_ char **left = NULL;
        A_HISTORY(SIDES);
        const struct git from = repo_git(&h.repo);
        _cleanup_free_ char *to_dir = mem_printf("%s/to", h.place.path);
        _cleanup_free_ char *objects = mem_printf("%s/objects", to_dir);
        _cleanup_free_ char *clash = mem_printf("%s\n", NAME("clash"));
        const struct git to = {.dir = to_dir};
        REQUIRE(init(&h.place, "to"));
        if (strcmp(expressions[i], "none") == 0) {
            clash[0] = clash[0] == '0' ? '1' : '0';
        } else { /* another object of the same kind has its name */
            const struct oid oid = oid_of(&h, expressions[i]);
            const struct oid other = oid_of(&h, i == 0 ? "ours:o" : "ours^{tree}");
            _cleanup_free_ char *is =
                mem_printf("%s/objects/%.2s/%s", h.repo.git, oid.text, oid.text + 2);
            _cleanup_free_ char *was =
                mem_printf("%s/objects/%.2s/%s", h.repo.git, other.text, other.text + 2);
            REQUIRE(rename(was, is) == 0);
        }
        CHECK_INT(pack_copy(&from, &to, PACK_TMP, clash, &err), -1);
        CHECK_INT(err.code, MAS_DAMAGED);
        _cleanup_close_ int at = path_open_dir(AT_FDCWD, objects);
        MUST(path_list(at, &left, &err));
        CHECK_INT(strv_len(left), 2); /* info, pack */
        _cleanup_close_ int packs = path_open_dir(at, "pack");
        strv_free(left);
        left = NULL;
        MUST(path_list(packs, &left, &err));
        CHECK_INT(strv_len(left), 0);
    }
}

/* ---- is it in the project? */

/* Returns how many commits of a branch are missing in "project". */
static size_t missing(const struct history *h, const char *branch, const char *const *tips)
{
    struct landed landed = {.repo = &h->repo, .known = STR_INIT};
    const struct git git = repo_git(&h->repo);
    struct err err = ERR_INIT;
    size_t count = 99;

    landed_know(&landed, oid_of(h, "base").text);
    for (; *tips != NULL; tips++) {
        landed_know(&landed, oid_of(h, *tips).text);
        strv_push(&landed.tips, oid_of(h, *tips).text);
    }
    is_well(landed_missing(&landed, &git, oid_of(h, branch).text, &count, &err), &err);
    landed_free(&landed);
    return count;
}

TEST(what_came_back_in_another_way_is_landed)
{
    static const struct {
        const char *branch;
        size_t count;
        const char *tips[3];
    } cases[] = {
        {"theirs", 2, {NULL}},
        {"theirs", 2, {"ours"}},
        {"theirs", 0, {"theirs"}},
        {"base", 0, {"ours"}},
        {"theirs", 0, {"merged"}},
        {"theirs", 0, {"squash"}},
        {"theirs", 0, {"squashed-and-changed"}},
        {"theirs", 0, {"picked"}},
        {"theirs", 2, {"half"}},
        {"theirs", 0, {"half", "picked"}}, /* the last of several */
        {"theirs", 0, {"picked", "half"}},
        {"plain", 0, {"picked-with-side"}},
        {"evil", 4, {"picked-with-side"}},
    };
    A_HISTORY(SIDES);

    REQUIRE(import(&h, COMMIT("merged", "m"), FROM("ours"), MERGE("theirs"),
                   FILE_("a", "0\n" LINES "\n9"), FILE_("c", "C"), COMMIT("squash", "s"),
                   FROM("ours"), FILE_("a", "0\n" LINES "\n9"), FILE_("c", "C"),
                   COMMIT("squashed-and-changed", "s"), FROM("squash"), FILE_("a", "other"),
                   FILE_("c", "D"), COMMIT("picked", "1"), FROM("ours"),
                   FILE_("a", "0\n" LINES "\n9"), COMMIT("picked", "2"), FILE_("c", "C"),
                   COMMIT("picked", "3"), FILE_("a", "x"), COMMIT("picked", "4"), FILE_("c", "y"),
                   COMMIT("half", "1"), FROM("ours"), FILE_("a", "0\n" LINES "\n9")));
    REQUIRE(import(&h, COMMIT("side", "side"), FROM("base"), FILE_("s", "s"),
                   COMMIT("plain", "merge"), FROM("theirs"), MERGE("side"), FILE_("s", "s"),
                   COMMIT("evil", "merge"), FROM("theirs"), MERGE("side"), FILE_("s", "s"),
                   FILE_("e", "e"), COMMIT("picked-with-side", "5"), FROM("picked"),
                   FILE_("s", "s"), COMMIT("picked-with-side", "6"), FILE_("s", "t")));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t count = missing(&h, cases[i].branch, cases[i].tips);
        if (count != cases[i].count)
            unit_print_str(cases[i].branch, cases[i].tips[0] != NULL ? cases[i].tips[0] : "none");
        CHECK_INT(count, cases[i].count);
    }
}

/* ---- files of a work tree */

/* Brings the work tree and the index to a commit. */
static bool check_out(const struct history *h, const char *commit)
{
    struct err err = ERR_INIT;

    return is_well(
        git_must(&h->git, GIT_ARGS("read-tree", "--reset", "-u", commit), NULL, NULL, &err), &err);
}

static char *content(const struct history *h, const char *path)
{
    char *text = NULL;
    struct err ignored = ERR_INIT;
    size_t len = 0;

    return file_read(h->git.cwd, path, 1000, &text, &len, &ignored) == -1 ? mem_dup("(none)")
                                                                          : text;
}
#define CHECK_FILE(path, want)                                                                     \
    do {                                                                                           \
        _cleanup_free_ char *content_ = content(&h, path);                                         \
        CHECK_STR(content_, want);                                                                 \
    } while (0)

TEST(what_is_in_the_way_is_found)
{
    static const struct {
        const char *made; /* a file; "/" at the end: a directory; "@": a dangling link */
        const char *want;
    } cases[] = {
        {NULL, ""},
        {"n", "n"},
        {"n@", "n"},
        {"n/", ""}, /* git replaces an empty directory */
        {"n/x", "n/x"},
        {"d/deep/f", "d/deep/f"},
        {"d/deep@", "d/deep"},
        {"d", "d"},
        {"d/other", ""},
        {"old/mine", "old/mine"}, /* a file of that name comes where the directory was */
        {"other", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_str_ struct str shown = STR_INIT;
        A_HISTORY(COMMIT("old", "old"), FILE_("old/1", "1"), FILE_("old/2", "2"), FILE_("k", "k"),
                  COMMIT("new", "new"), FROM("old"), GONE("old"), FILE_("old", "now a file"),
                  FILE_("d/deep/f", "f"), FILE_("d/deep/g", "g"), FILE_("n", "n"));
        REQUIRE(check_out(&h, "old"));
        if (cases[i].made != NULL) {
            _cleanup_free_ char *path = mem_dup(cases[i].made);
            char last = path[strlen(path) - 1];
            const char *name = NULL;
            path[strcspn(path, "@")] = '\0';
            _cleanup_close_ int above = path_make_above(h.git.cwd, path, 0755, &name);
            CHECK(last == '/'   ? mkdirat(h.git.cwd, path, 0755) == 0 || errno == EEXIST
                  : last == '@' ? symlinkat("nowhere", above, name) == 0
                                : place_put(above, name, "mine"));
        }
        MUST(in_way_find(&h.git, NAME("old"), NAME("new"), &names, &err));
        CHECK_STR(joined(names, &shown), cases[i].want);
        int rc = in_way_check(&h.git, NAME("old"), NAME("new"), &err);
        CHECK_INT(rc, names == NULL ? 0 : -1);
        CHECK(rc == 0 || (err.code == MAS_CONFLICT && strstr(err.text, cases[i].want) != NULL));
        if (names == NULL)
            WELL(git_must(&h.git, GIT_ARGS("read-tree", "-m", "-u", "old", "new"), NULL, NULL,
                          &err));
    }
}

/* Size and time are as they were, so that git sees no change. */
TEST(changes_that_git_does_not_see_are_found)
{
    static const char *const files[] = {"a", "b", "c", "kept"};
    _cleanup_strv_ char **names = NULL;
    _cleanup_str_ struct str shown = STR_INIT;
    _cleanup_free_ char *index = NULL;
    A_HISTORY(COMMIT("old", "old"), FILE_("a", "1"), FILE_("b", "1"), FILE_("c", "1"),
              FILE_("kept", "1"), COMMIT("new", "new"), FROM("old"), FILE_("a", "2"), GONE("b"),
              FILE_("c", "2"), FILE_("n", "n"));
    REQUIRE(check_out(&h, "old"));
    index = mem_printf("%s/own.index", h.place.path);

    MUST(unseen_find(&h.git, index, NAME("old"), NAME("new"), &names, &err));
    CHECK(names == NULL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct stat st;
        REQUIRE(fstatat(h.git.cwd, files[i], &st, 0) == 0);
        _cleanup_close_ int fd = openat(h.git.cwd, files[i], O_WRONLY | O_CLOEXEC);
        CHECK(pwrite(fd, "X", 1, 0) == 1);
        CHECK(futimens(fd, (const struct timespec[]){st.st_atim, st.st_mtim}) == 0);
    }
    CHECK(unlinkat(h.git.cwd, "c", 0) == 0); /* what is missing does not count */
    MUST(unseen_find(&h.git, index, NAME("old"), NAME("new"), &names, &err));
    CHECK_STR(joined(names, &shown), "a b");
    CHECK_INT(access(index, F_OK), -1);
}

/* A move that was killed goes on, and nobody's work is lost. */
TEST(a_move_that_was_killed_is_finished)
{
    static const struct {
        const char *path, *text; /* what is there; NULL: nothing */
        bool refused;
    } cases[] = {
        {"k", "k\n", false},
        {"m", "22222\n", false}, /* moved already */
        {"m", "22", false}, /* half written */
        {"m", NULL, false},
        {"m", "22222\nmine\n", true},
        {"m", "mine\n", true},
        {"n", "new\n", false},
        {"n", "mine\n", true},
        {"gone", NULL, false},
        {"gone", "mine\n", false},
        /* which stays */ {"k", "mine\n", false}, /* another file is left alone */
        {"z", "22222\n", false},
        {"z", "mine\n", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        A_HISTORY(COMMIT("old", "old"), FILE_("k", "k"), FILE_("m", "1"), FILE_("gone", "1"),
                  FILE_("z", "1"), COMMIT("new", "new"), FROM("old"), FILE_("m", "22222"),
                  GONE("gone"), FILE_("n", "new"), FILE_("z", "22222"));
        struct leftover leftover = {.repo = &h.repo, .git = h.git};
        REQUIRE(check_out(&h, "old"));
        (void)git_parse_oid(NAME("old"), leftover.old);
        (void)git_parse_oid(NAME("new"), leftover.new);
        if (cases[i].text == NULL)
            CHECK(unlinkat(h.git.cwd, cases[i].path, 0) == 0);
        else
            CHECK(place_put(h.git.cwd, cases[i].path, cases[i].text));
        int rc = leftover_finish(&leftover, &err);
        if (rc != (cases[i].refused ? -1 : 0))
            unit_print_str("not so", cases[i].path);
        CHECK_INT(rc, cases[i].refused ? -1 : 0);
        if (cases[i].refused) {
            CHECK_INT(err.code, MAS_CONFLICT);
            CHECK_FILE(cases[i].path, cases[i].text);
            CHECK_FILE("k", "k\n");
            if (strcmp(cases[i].path, "m") != 0)
                CHECK_FILE("m", "1\n"); /* all is as it was */
            continue;
        }
        CHECK_FILE("m", "22222\n");
        CHECK_FILE("z", "22222\n");
        CHECK_FILE("n", "new\n");
        CHECK_FILE("gone", strcmp(cases[i].path, "gone") == 0 && cases[i].text != NULL ? "mine\n"
                                                                                       : "(none)");
        CHECK_FILE("k", strcmp(cases[i].path, "k") == 0 ? cases[i].text : "k\n");
        _cleanup_strv_ char **staged = NULL;
        WELL(git_names(&h.git, GIT_ARGS("diff-index", "--cached", "--name-only", "-z", "new"),
                       &staged, &err));
        CHECK(staged == NULL);
    }
}

/* What is staged of other files stays; what is staged of those that move stops it. */
TEST(what_is_staged_is_not_lost)
{
    static const char *const paths[] = {"m", "k", "z"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        A_HISTORY(COMMIT("old", "old"), FILE_("k", "k"), FILE_("m", "1"), FILE_("z", "1"),
                  COMMIT("new", "new"), FROM("old"), FILE_("m", "2"), FILE_("z", "2"));
        struct leftover leftover = {.repo = &h.repo, .git = h.git};
        _cleanup_str_ struct str shown = STR_INIT;
        _cleanup_strv_ char **staged = NULL;
        REQUIRE(check_out(&h, "old"));
        (void)git_parse_oid(NAME("old"), leftover.old);
        (void)git_parse_oid(NAME("new"), leftover.new);
        CHECK(place_put(h.git.cwd, paths[i], "staged\n"));
        MUST(git_must(&h.git, GIT_ARGS("update-index", paths[i]), NULL, NULL, &err));
        bool other = strcmp(paths[i], "k") == 0;
        if (!other)
            CHECK(place_put(h.git.cwd, paths[i], "2\n"));
        CHECK_INT(leftover_finish(&leftover, &err), other ? 0 : -1);
        WELL(git_names(
            &h.git, GIT_ARGS("diff-index", "--cached", "--name-only", "-z", other ? "new" : "old"),
            &staged, &err));
        CHECK_STR(joined(staged, &shown), paths[i]);
    }
}

/* ---- filters */

TEST(filters_are_turned_off_and_files_that_need_them_found)
{
    _cleanup_strv_ char **off = NULL;
    _cleanup_str_ struct str shown = STR_INIT;
    _cleanup_free_ char *index = NULL;
    _cleanup_free_ char *found = NULL;
    A_HISTORY(COMMIT("old", "old"), FILE_("plain", "1"), FILE_("x.one", "1"), FILE_("x.two", "1"),
              FILE_(".gitattributes", "*.two filter=off\n*.lfs filter=lfs"), COMMIT("new", "new"),
              FROM("old"), FILE_("plain", "2"), FILE_("x.lfs", "2"), COMMIT("first", "first"),
              FROM("new"), FILE_("x.one", "2"), FILE_(".gitattributes", "*.one filter=a.b\n"),
              COMMIT("last", "last"), FROM("new"), FILE_("x.two", "2"),
              FILE_(".gitattributes", "*.two filter=two\n"), COMMIT("gone", "gone"), FROM("last"),
              GONE("x.two"));
    const struct git git = repo_git(&h.repo);
    static const char *const settings[][2] = {
        {"filter.a.b.clean", "c"},
        {"filter.lfs.process", "p"},
        {"filter.none.required", "true"},
        {"filter.two.smudge", "s"},
    };
    index = mem_printf("%s/own.index", h.place.path);

    MUST(drivers_turn_off(&git, &off, &err));
    CHECK(off == NULL);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        MUST(git_must(&git, GIT_ARGS("config", settings[i][0], settings[i][1]), NULL, NULL, &err));
    MUST(drivers_turn_off(&git, &off, &err));
    CHECK_STR(joined(off, &shown), "filter.a.b.process= filter.a.b.required=false "
                                   "filter.two.process= filter.two.required=false");
    MUST(drivers_find(&git, off, index, NAME("old"), NAME("new"), &found, &err));
    CHECK_STR(found, NULL);
    MUST(drivers_find(&git, NULL, index, NAME("old"), NAME("last"), &found, &err));
    CHECK_STR(found, NULL);
    MUST(drivers_find(&git, off, index, NAME("last"), NAME("gone"), &found, &err));
    CHECK_STR(found, NULL);
    MUST(drivers_find(&git, off, index, NAME("old"), NAME("first"), &found, &err));
    CHECK_STR(found, "x.one");
    free(found);
    found = NULL;
    MUST(drivers_find(&git, off, index, NAME("old"), NAME("last"), &found, &err));
    CHECK_STR(found, "x.two");
    CHECK_INT(access(index, F_OK), -1);
    MUST(git_must(&git, GIT_ARGS("config", "filter.a=b.clean", "c"), NULL, NULL, &err));
    CHECK_INT(drivers_turn_off(&git, &off, &err), -1);
}

/* ---- git-lfs */

/* Puts an object, or what pretends to be one, into a store. */
static bool put_object(const struct history *h, const char *repository, const char *oid,
                       const char *text)
{
    _cleanup_free_ char *path =
        mem_printf("%s/" LFS_STORE "/%.2s/%.2s/%s", repository, oid, oid + 2, oid);
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(h->place.dir, path, 0755, &name);

    return CHECK(above != -1) && place_put(above, name, text);
}

/* Each object comes from the first source that has it as its name says; one that no source has so
 * is damaged if any has something of its name. */
TEST(objects_of_lfs_are_brought_as_their_names_say)
{
    static const struct {
        const char *sources[3]; /* what they have; NULL: nothing */
        const char *here, *file; /* in the store, in the work tree */
        const char *want; /* "brought", "damaged", "missing" */
    } cases[] = {
        {{"good", NULL, NULL}, NULL, NULL, "brought"},
        {{NULL, NULL, "good"}, NULL, NULL, "brought"},
        {{"evil", NULL, "good"}, NULL, NULL, "brought"},
        {{"evil", NULL, NULL}, NULL, NULL, "damaged"},
        {{"longer", NULL, NULL}, NULL, NULL, "damaged"},
        {{NULL, "evil", NULL}, NULL, NULL, "damaged"},
        {{NULL, NULL, "evil"}, NULL, NULL, "damaged"},
        {{NULL, NULL, NULL}, NULL, NULL, "missing"},
        {{NULL, NULL, NULL}, NULL, "good", "brought"},
        {{NULL, NULL, NULL}, NULL, "evil", "missing"},
        {{"evil", NULL, NULL}, NULL, "good", "brought"},
        {{NULL, NULL, NULL}, "good", NULL, "brought"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_gaps_ struct lfs_gaps gaps = LFS_GAPS_INIT;
        _cleanup_str_ struct str pointer = STR_INIT;
        struct lfs_pointer object = {.size = 4};
        struct lfs_sources from = {.tree = -1};
        char *dirs[3];
        sha256_of("good", 4, object.oid);
        lfs_format(&object, &pointer);
        pointer.data[pointer.len - 1] = '\0'; /* FILE_() ends the line */
        _cleanup_free_ char *file =
            mem_printf("M 100644 inline big\ndata <<.\n%s\n.\n", pointer.data);
        A_HISTORY(COMMIT("b", "b"), FILE_("a", "no pointer"), file);
        const struct git git = repo_git(&h.repo);
        for (size_t j = 0; j < ARRAY_LEN(dirs); j++) {
            _cleanup_free_ char *name = mem_printf("source%zu", j);
            dirs[j] = mem_printf("%s/%s", h.place.path, name);
            from.dirs[j] = dirs[j];
            CHECK(mkdirat(h.place.dir, name, 0755) == 0);
            CHECK(cases[i].sources[j] == NULL ||
                  put_object(&h, name, object.oid, cases[i].sources[j]));
        }
        CHECK(cases[i].here == NULL || put_object(&h, CODE_GIT, object.oid, cases[i].here));
        if (cases[i].file != NULL) {
            CHECK(place_put(h.git.cwd, "big", cases[i].file));
            from.tree = h.git.cwd;
        }
        _cleanup_free_ char *revs = mem_printf("%s\n", NAME("b"));
        MUST(lfs_bring(&git, revs, LFS_TREES, &from, h.repo.git, &gaps, &err));
        bool damaged = false;
        _cleanup_close_ int fd = lfs_open(h.repo.git, &object, &damaged);
        const char *got = fd != -1               ? "brought"
                          : gaps.damaged != NULL ? "damaged"
                          : gaps.missing != NULL ? "missing"
                                                 : "nothing";
        if (!CHECK_STR(got, cases[i].want))
            unit_print_str("of", cases[i].sources[0]);
        CHECK(strv_len(gaps.damaged) + strv_len(gaps.missing) == (fd == -1));
        char is[5] = "";
        CHECK(fd == -1 || (read(fd, is, 4) == 4 && strcmp(is, "good") == 0));
        for (size_t j = 0; j < ARRAY_LEN(dirs); j++)
            free(dirs[j]);
    }
}
