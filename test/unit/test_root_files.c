/* Roots and what lies in them: how they are found, their templates, settings and small files. */
#include "root.h"

#include "gap.h"

#include "base/json.h"
#include "store/came_from.h"
#include "store/code_log.h"
#include "store/config.h"
#include "store/limits/session_limits.h"
#include "store/mark.h"
#include "store/pictures.h"
#include "store/shipped.h"
#include "store/template.h"
#include "store/tmux_place.h"

static bool exists(int dir, const char *path)
{
    return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Writes a file with the directories above it. */
static bool put(int dir, const char *path, const char *text)
{
    const char *name = NULL;
    _cleanup_close_ int above = path_make_above(dir, path, 0755, &name);

    return CHECK(above != -1) && place_put(above, name, text);
}

/* ---- roots */

TEST(a_root_is_found_in_this_order)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *deep = mem_printf("%s/a/b", place.path);
    _cleanup_free_ char *above = mem_printf("%s/a", place.path);
    _cleanup_free_ char *data = mem_printf("%s/data/mas", place.path);
    _cleanup_free_ char *data_home = mem_printf("%s/data", place.path);
    struct err err = ERR_INIT;
    _cleanup_close_ int was = path_open_dir(AT_FDCWD, ".");
    const struct {
        const char *option, *env, *want;
        enum root_origin origin;
        bool is_above;
    } cases[] = {
        {"x", "/e", "x", ROOT_OPTION, true},     {NULL, "/e", "/e", ROOT_ENV, true},
        {NULL, "", above, ROOT_ABOVE, true},     {NULL, NULL, above, ROOT_ABOVE, true},
        {NULL, NULL, data, ROOT_DEFAULT, false},
    };

    REQUIRE(put(place.dir, "a/b/f", "") && chdir(deep) == 0);
    CHECK(setenv("XDG_DATA_HOME", data_home, 1) == 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *path = NULL;
        enum root_origin origin = ROOT_OPTION;
        (void)unlinkat(place.dir, "a/mas.ini", 0);
        if (cases[i].is_above)
            CHECK(put(place.dir, "a/mas.ini", ""));
        CHECK((cases[i].env != NULL ? setenv("MAS_ROOT", cases[i].env, 1) : unsetenv("MAS_ROOT")) ==
              0);
        MUST(root_find(cases[i].option, &path, &origin, &err));
        CHECK_STR(path, cases[i].want);
        CHECK_INT(origin, cases[i].origin);
        free(path);
    }
    char *path = NULL;
    enum root_origin origin = ROOT_OPTION;
    CHECK_INT(root_find("", &path, &origin, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    CHECK_STR(root_origin_name(ROOT_ABOVE), "current directory");
    CHECK(fchdir(was) == 0 && unsetenv("XDG_DATA_HOME") == 0);
}

TEST(what_is_no_root_is_not_opened)
{
    static const char *const bad[] = {"none", "no-ini", "link-sessions", "file-sessions", "a\nb"};
    _cleanup_place_ struct place place = place_make();
    struct stat st;

    REQUIRE(put(place.dir, "no-ini/f", "") && put(place.dir, "link-sessions/mas.ini", "") &&
            put(place.dir, "file-sessions/mas.ini", "") && put(place.dir, "a\nb/mas.ini", "") &&
            put(place.dir, "good/mas.ini", "") && put(place.dir, "file-sessions/sessions", ""));
    CHECK(symlinkat("..", place.dir, "link-sessions/sessions") == 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_root_ struct root root = ROOT_INIT;
        _cleanup_free_ char *path = mem_printf("%s/%s", place.path, bad[i]);
        struct err err = ERR_INIT;
        CHECK_INT(root_open(path, &root, &err), -1);
        CHECK(err.code == MAS_FAILED && root.fd == -1);
        CHECK(i > 1 || strstr(err.hint, "mas init") != NULL);
    }
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_free_ char *path = mem_printf("%s/./good/../good", place.path);
    struct err err = ERR_INIT;
    MUST(root_open(path, &root, &err));
    CHECK(str_ends(root.path, "/good") && strstr(root.path, "..") == NULL && root.accepted);
    CHECK(fstat(root.sessions, &st) == 0 && (st.st_mode & 0777) == (0755 & ~file_umask()));
    _cleanup_close_ int lock = -1;
    _cleanup_close_ int second = -1;
    MUST(root_lock(&root, &lock, &err));
    CHECK_INT(root_try_lock(&root, &second, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    _cleanup_close_ int templates = -1;
    MUST(root_lock_templates(&root, &templates, &err)); /* another lock */
    CHECK(flock(root.fd, LOCK_EX | LOCK_NB) == -1);
    fd_closep(&templates);
    CHECK(flock(root.fd, LOCK_EX | LOCK_NB) == 0);
}

TEST(a_root_knows_its_sessions_again)
{
    static const char *const files[] = {MARK_ROOT, "sessions/" MARK_SESSIONS};
    A_ROOT;

    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    CHECK_STR(mark_fault(root.fd, -1), NULL);
    mark_make(root.fd, root.sessions);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct stat st;
        CHECK(fstatat(root.fd, files[i], &st, 0) == 0 && (st.st_mode & 0777) == 0600);
    }
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    CHECK_STR(mark_fault(root.fd, -1), "it is missing");
    /* an empty directory, and that of another root */
    CHECK(renameat(root.fd, "sessions", root.fd, "aside") == 0 &&
          mkdirat(root.fd, "sessions", 0700) == 0);
    _cleanup_close_ int other = path_open_dir(root.fd, "sessions");
    CHECK_STR(mark_fault(root.fd, other), "it has not the mark of this root");
    CHECK(place_put(other, MARK_SESSIONS, ID(1) "\n"));
    CHECK_STR(mark_fault(root.fd, other), "it has not the mark of this root");
    _cleanup_root_ struct root strange = ROOT_INIT;
    MUST(root_open(place.path, &strange, &err));
    _cleanup_close_ int lock = -1;
    CHECK(strange.strange != NULL && root_check(&strange, &err) == -1);
    CHECK_INT(root_lock(&strange, &lock, &err), -1);
    CHECK_INT(root_try_lock(&strange, &lock, &err), -1);
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL); /* wherever it lies */
    /* a copy of the root has another inode: the mark says nothing */
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    MUST(file_read(root.fd, MARK_ROOT, 1000, &text, &len, &err));
    _cleanup_close_ int copy = path_make_dir(root.fd, "copy", 0700);
    CHECK(place_write(copy, MARK_ROOT, text, len));
    CHECK_STR(mark_fault(copy, other), NULL);
    CHECK_STR(mark_fault(copy, -1), NULL);
    /* it had a disk of its own, which is not mounted */
    char *word = strstr(text, "same");
    REQUIRE(word != NULL);
    _cleanup_free_ char *own = mem_printf("%.*sown\n", (int)(word - text), text);
    CHECK(place_put(root.fd, MARK_ROOT, own));
    CHECK_STR(mark_fault(root.fd, root.sessions), "its disk is not mounted");
    mark_make(root.fd, root.sessions); /* it is so from now on */
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
    CHECK(place_put(root.fd, MARK_ROOT, "damaged"));
    CHECK_STR(mark_fault(root.fd, root.sessions), NULL);
}

/* ---- where terminals were */

static int push(const struct root *root, const char *terminal, const char *pane)
{
    struct came_from place = {.session = "$1", .window = "@2", .socket = "/s ock"};
    struct err err = ERR_INIT;

    (void)snprintf(place.terminal, sizeof place.terminal, "%s", terminal);
    (void)snprintf(place.pane, sizeof place.pane, "%s", pane);
    return came_from_push(root, &place, &err);
}

static const char *pop(const struct root *root, const char *terminal, struct came_from *ret)
{
    struct err err = ERR_INIT;
    int rc = came_from_pop(root, terminal, ret, &err);

    CHECK(rc != -1);
    CHECK(rc != 1 || strcmp(ret->socket, "/s ock") == 0);
    return rc == 1 ? ret->pane : NULL;
}

TEST(each_terminal_goes_back_its_own_way)
{
    struct came_from at;
    A_ROOT;

    CHECK_STR(pop(&root, "/dev/pts/1", &at), NULL);
    CHECK(push(&root, "/dev/pts/1", "%1") == 0 && push(&root, "/dev/pts/2", "%2") == 0 &&
          push(&root, "/dev/pts/1", "%3") == 0 && push(&root, "/dev/pts/1", "%3") == 0 &&
          push(&root, "/dev/pts/2", "%2") == 0 && push(&root, "/dev/pts/1", "%1") == 0);
    CHECK_STR(pop(&root, "/dev/pts/1", &at), "%1");
    CHECK_STR(pop(&root, "/dev/pts/1", &at), "%3");
    CHECK_STR(pop(&root, "/dev/pts/2", &at), "%2");
    CHECK_STR(pop(&root, "/dev/pts/2", &at), NULL);
    CHECK_STR(pop(&root, "/dev/pts/1", &at), "%1");
    CHECK_STR(pop(&root, "/dev/pts/1", &at), NULL);

    /* lines that mas does not write */
    CHECK(place_put(root.sessions, CAME_FROM_FILE ".new", "left"));
    CHECK(place_put(root.sessions, CAME_FROM_FILE,
                    "t $1 @2 %4 /s ock\nt $1 @2 %5\nt $1 @2 %6 relative\n\nt $1 @2 "
                    "%7777777777777777777777777777777777 /s\n"));
    CHECK_STR(pop(&root, "t", &at), "%4");
    CHECK_STR(pop(&root, "t", &at), NULL);
}

TEST(the_oldest_of_too_many_places_is_forgotten)
{
    struct came_from at;
    char pane[16];
    int count = 0;
    A_ROOT;

    for (int i = 0; i <= CAME_FROM_MAX; i++) {
        (void)snprintf(pane, sizeof pane, "%%%d", i);
        CHECK_INT(push(&root, "t", pane), 0);
    }
    for (int i = CAME_FROM_MAX; i > 0; i--) {
        (void)snprintf(pane, sizeof pane, "%%%d", i);
        const char *found = pop(&root, "t", &at);
        count += found != NULL && strcmp(found, pane) == 0;
    }
    CHECK_INT(count, CAME_FROM_MAX);
    CHECK_STR(pop(&root, "t", &at), NULL);
}

/* ---- what becomes of code */

TEST(events_of_code_are_told_to_people_and_programs)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    static char file[] = "f";
    char *files[120] = {(char[]){"a b"}, (char[]){"\033"}};
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ struct json *json = NULL;
    size_t len = 0;
    A_ROOT;

    for (size_t i = 2; i < 101; i++)
        files[i] = file;
    root_clear_env(&place);
    MUST(config_load(&root, false, &config, NULL, &err));
    REQUIRE(root_put_session(&root, ID(1), ""));
    CHECK(put(root.sessions, ID(1) "/logs/x", ""));
    for (enum code_event_type i = 0; i < CODE_EVENT_COUNT; i++) {
        enum code_event_type type = CODE_EVENT_COUNT;
        CHECK(code_event_parse(code_event_name(i), &type) && type == i);
    }
    CHECK(!code_event_parse("other", NULL) && !code_event_parse(NULL, NULL));
    code_log_add(&root, &config,
                 &(struct code_event){.type = CODE_CONFLICT,
                                      .session = ID(1),
                                      .agent = "x",
                                      .branch = "main",
                                      .commit = "0123456789abcdef",
                                      .commits = 3,
                                      .files = files});
    MUST(file_read(root.sessions, CODE_LOG_FILE, 1 << 20, &text, &len, &err));
    MUST(json_parse(text, len, 1 << 20, &json, &err));
    CHECK_STR(json_get_text(json, "event"), "conflict");
    CHECK_STR(json_get_text(json, "sessionId"), ID(1));
    CHECK_STR(json_get_text(json, "agent"), "x");
    CHECK_STR(json_get_text(json, "branch"), "main");
    CHECK_STR(json_get_text(json, "commit"), "0123456789abcdef");
    CHECK_INT(json_int(json_get(json, "commits"), 0), 3);
    CHECK_INT(json_int(json_get(json, "more"), 0), 1); /* of 101 */
    int count = 0;
    for (const struct json *n = json_first(json_get(json, "files")); n != NULL; n = json_next(n))
        CHECK(count++ != 1 || strcmp(json_text(n), "\\x1b") == 0);
    CHECK_INT(count, 100);
    free(text);
    text = NULL;
    MUST(file_read(root.sessions, ID(1) "/logs/session.log", 1 << 20, &text, &len, &err));
    CHECK(
        strstr(text, " conflict agent=x branch=main commits=3 commit=0123456789ab files='a b',") !=
        NULL);
    CHECK(str_ends(text, ",f,f,f,...\n"));
}

/* ---- templates */

#define AGENT(id) "[agent " id "]\nrole = r\nrank = worker\ngroup = g\ncommand = true\n"
#define INI AGENT("a") AGENT("b") "[window w]\nagents = a, b\n"

static bool put_template(int dir, const char *name)
{
    _cleanup_free_ char *ini = mem_printf("%s/template.ini", name);
    _cleanup_free_ char *a = mem_printf("%s/unit/a/f", name);
    _cleanup_free_ char *b = mem_printf("%s/unit/b/f", name);

    return put(dir, ini, INI) && put(dir, a, "a") && put(dir, b, "b");
}

TEST(templates_are_listed_by_what_they_are)
{
    A_ROOT;

    CHECK(template_list(&root, true) == NULL);
    REQUIRE(put_template(place.dir, "templates/two") && put_template(place.dir, "templates/one") &&
            put_template(place.dir, "templates/.hidden") &&
            put_template(place.dir, "templates/a b") && put(place.dir, "templates/empty/f", "") &&
            put(place.dir, "templates/file", ""));
    _cleanup_strv_ char **good = template_list(&root, false);
    _cleanup_strv_ char **all = template_list(&root, true);
    REQUIRE(CHECK(strv_len(good) == 2) && CHECK(strv_len(all) == 4));
    CHECK_STR(good[0], "one");
    CHECK_STR(good[1], "two");
    CHECK_STR(all[0], "a b");
    CHECK_STR(all[1], "empty");
}

TEST(a_name_of_a_template_is_a_word_or_a_path)
{
    A_ROOT;

    REQUIRE(put_template(place.dir, "templates/t") && put_template(place.dir, "own") &&
            put_template(place.dir, "templates/a b"));
    const struct {
        const char *text; /* below the place if it begins with a slash */
        const char *want; /* likewise; NULL: an error */
        int code;
    } cases[] = {{"t", "t", 0},
                 {"none", "none", 0},
                 {"/own", "/own", 0},
                 {"/templates/../own/", "/own", 0},
                 {"/templates/t", "t", 0},
                 {"/templates/a b", "/templates/a b", 0},
                 {"/templates/t/unit", "/templates/t/unit", 0},
                 {"/none", NULL, MAS_NOT_FOUND},
                 {"/own/template.ini/x", NULL, MAS_NOT_FOUND}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text =
            mem_printf("%s%s", cases[i].text[0] == '/' ? place.path : "", cases[i].text);
        _cleanup_free_ char *name = NULL;
        struct err why = ERR_INIT;
        int rc = template_resolve(&root, text, &name, &why);
        CHECK_INT(rc == 0 ? 0 : why.code, cases[i].code);
        if (rc == 0)
            CHECK_STR(cases[i].want[0] == '/' ? name + strlen(root.path) : name, cases[i].want);
    }
}

/* Another's file could name any program. */
TEST(a_template_that_others_can_write_is_refused)
{
    static const struct {
        const char *path;
        mode_t mode;
        bool good;
    } cases[] = {
        {"templates/t", 0755, true},
        {"templates/t", 0757, false},
        {"templates/t", 0775, true},
        {"templates/t/template.ini", 0644, true},
        {"templates/t/template.ini", 0646, false},
        {"templates/t/unit", 0777, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
        A_ROOT;
        REQUIRE(put_template(place.dir, "templates/t"));
        CHECK(fchmodat(place.dir, cases[i].path, cases[i].mode, 0) == 0);
        int rc = template_open(&root, "t", &tmpl, &err);
        CHECK_INT(rc, cases[i].good ? 0 : -1);
        CHECK(rc == 0 ? tmpl.team.agent_count == 2 : err.code == MAS_FAILED);
    }
}

TEST(a_template_is_whole_or_refused)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    A_ROOT;

    REQUIRE(put_template(place.dir, "templates/t"));
    CHECK_INT(template_open(&root, "none", &tmpl, &err), -1);
    CHECK(err.code == MAS_NOT_FOUND && str_ends(err.hint, ": t"));
    CHECK_INT(template_open(&root, "a b", &tmpl, &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    CHECK(renameat(place.dir, "templates/t/unit/b", place.dir, "aside") == 0);
    CHECK_INT(template_open(&root, "t", &tmpl, &err), -1);
    CHECK(strstr(err.text, "agent b has no directory") != NULL);
    CHECK(symlinkat("a", place.dir, "templates/t/unit/b") == 0);
    CHECK_INT(template_open(&root, "t", &tmpl, &err), -1);
    CHECK(unlinkat(place.dir, "templates/t/template.ini", 0) == 0);
    CHECK(symlinkat("../../aside/f", place.dir, "templates/t/template.ini") == 0);
    CHECK_INT(template_open(&root, "t", &tmpl, &err), -1);
    CHECK(put(place.dir, "templates/t/template.ini", "[agent a]\n"));
    CHECK_INT(template_open(&root, "t", &tmpl, &err), -1);
    CHECK(err.code == MAS_FAILED && strstr(err.hint, "mas template check t") != NULL);
    CHECK(tmpl.fd == -1);
}

TEST(a_template_is_copied_whole_and_durably)
{
    A_ROOT;

    REQUIRE(put_template(place.dir, "templates/t") && put(place.dir, "templates/.new-left/f", "") &&
            put(place.dir, "templates/taken/f", ""));
    trace_begin();
    MUST(template_copy(&root, "t", "copy", NULL, NULL, &err));
    CHECK(str_ends(trace_end(), "syncfs DIR, fsync DIR"));
    CHECK(exists(place.dir, "templates/copy/unit/b/f") &&
          exists(place.dir, "templates/copy/template.ini"));
    CHECK(!exists(place.dir, "templates/.new-left") && !exists(place.dir, "templates/.new-copy"));
    static const char *const bad[][2] = {
        {"t", "taken"}, {"t", "a b"}, {"none", "x"}, {"taken", "x"}};
    static const int codes[] = {MAS_CONFLICT, MAS_USAGE, MAS_NOT_FOUND, MAS_FAILED};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err)ERR_INIT;
        CHECK_INT(template_copy(&root, bad[i][0], bad[i][1], NULL, NULL, &err), -1);
        CHECK_INT(err.code, codes[i]);
    }
    CHECK(!exists(place.dir, "templates/x") && !exists(place.dir, "templates/.new-x"));
    CHECK(exists(place.dir, "templates/taken/f"));
}

TEST(an_edit_replaces_what_it_began_with)
{
    static const char *const texts[] = {INI "# more\n", "[agent", "", "x" INI};
    struct template_edit edit;
    struct template_edit other;
    struct stat st;
    A_ROOT;

    REQUIRE(put_template(place.dir, "templates/t"));
    _cleanup_close_ int dir = path_open_dir(place.dir, "templates/t");
    CHECK(fchmodat(dir, "template.ini", 0440, 0) == 0);
    MUST(template_edit_begin(&root, "t", &edit, &err));
    CHECK(!edit.resumed && str_ends(edit.path, "/templates/t/" TEMPLATE_EDIT_FILE));
    CHECK(fstatat(dir, TEMPLATE_EDIT_FILE, &st, 0) == 0 && (st.st_mode & 0777) == 0640);
    CHECK_INT(template_edit_begin(&root, "t", &other, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(template_edit_changed(&edit, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(texts);
         i++) { /* longer, shorter, none, of another beginning */
        CHECK(place_put(dir, TEMPLATE_EDIT_FILE, texts[i]));
        CHECK_INT(template_edit_changed(&edit, &err), 1);
    }
    template_edit_free(&edit);
    MUST(template_edit_begin(&root, "t", &edit, &err)); /* goes on with what is there */
    CHECK(edit.resumed);
    CHECK_INT(template_edit_changed(&edit, &err), 1);
    CHECK(place_put(dir, TEMPLATE_EDIT_FILE, "new"));
    MUST(template_edit_finish(&edit, &err));
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    MUST(file_read(dir, "template.ini", 1000, &text, &len, &err));
    CHECK_STR(text, "new");
    CHECK(fstatat(dir, "template.ini", &st, 0) == 0 && (st.st_mode & 0777) == 0440);
    CHECK(!exists(dir, TEMPLATE_EDIT_FILE));
    template_edit_free(&edit);

    static const char *const meanwhile[] = {"ne", "newer", "NEW"};
    for (size_t i = 0; i < ARRAY_LEN(meanwhile); i++) {
        CHECK(place_put(dir, "template.ini", "new"));
        MUST(template_edit_begin(&root, "t", &edit, &err));
        CHECK(place_put(dir, TEMPLATE_EDIT_FILE, "mine"));
        CHECK(place_put(dir, "template.ini", meanwhile[i]));
        err = (struct err)ERR_INIT;
        CHECK_INT(template_edit_finish(&edit, &err), -1);
        CHECK_INT(err.code, MAS_CONFLICT);
        CHECK(exists(dir, TEMPLATE_EDIT_FILE));
        template_edit_drop(&edit);
        CHECK(!exists(dir, TEMPLATE_EDIT_FILE));
        template_edit_free(&edit);
    }
}

/* What a root has is told apart from what it was given and what is shipped now. */
TEST(shipped_templates_are_told_apart_from_changed_ones)
{
    enum { NOW = 1, THEN = 2, OWN = 3 };
    static const struct {
        int has, given; /* which version; 0: none */
        enum shipped_state want;
    } cases[] = {
        {0, 0, SHIPPED_MISSING},      {0, NOW, SHIPPED_MISSING},   {NOW, 0, SHIPPED_SAME},
        {NOW, THEN, SHIPPED_SAME},    {NOW, NOW, SHIPPED_SAME},    {THEN, THEN, SHIPPED_EARLIER},
        {THEN, NOW, SHIPPED_CHANGED}, {OWN, NOW, SHIPPED_CHANGED}, {OWN, THEN, SHIPPED_BEHIND},
        {OWN, 0, SHIPPED_BEHIND},
    };
    static const char *const texts[] = {NULL, "now", "then", "own"};
    static const char *const kinds[] = {"t/f", "t/deep/er", "agents.ini", "t/l"}; /* a link */

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            _cleanup_place_ struct place place = place_make();
            _cleanup_shipped_ struct shipped shipped = SHIPPED_INIT;
            struct err err = ERR_INIT;
            bool is_link = strcmp(kinds[k], "t/l") == 0;
            const char *name = str_starts(kinds[k], "t/") ? "t" : kinds[k];
            shipped.from = path_make_dir(place.dir, "from", 0755);
            shipped.to = path_make_dir(place.dir, "to", 0755);
            REQUIRE(shipped.from != -1 && shipped.to != -1 && put(shipped.from, "zz", "last"));
            if (cases[i].given != 0) { /* the record of that time */
                const char *text = texts[cases[i].given];
                CHECK(is_link ? put(shipped.from, "t/x", "") &&
                                    symlinkat(text, shipped.from, "t/l") == 0
                              : put(shipped.from, kinds[k], text));
                MUST(shipped_write_record(&shipped, &err));
                size_t len = 0;
                MUST(file_read(shipped.to, SHIPPED_RECORD, 10000, &shipped.record, &len, &err));
                CHECK(unlinkat(shipped.from, kinds[k], 0) == 0);
            }
            CHECK(is_link
                      ? put(shipped.from, "t/x", "") && symlinkat("now", shipped.from, "t/l") == 0
                      : put(shipped.from, kinds[k], "now"));
            if (cases[i].has != 0)
                CHECK(is_link ? put(shipped.to, "t/x", "") &&
                                    symlinkat(texts[cases[i].has], shipped.to, "t/l") == 0
                              : put(shipped.to, kinds[k], texts[cases[i].has]));
            enum shipped_state state = shipped_look(&shipped, name);
            if (state != cases[i].want)
                unit_print_str(kinds[k], texts[cases[i].has]);
            CHECK_INT(state, cases[i].want);
            CHECK(!shipped_is_root(&shipped));
        }
    }
}

/* ---- settings */

TEST(the_nearest_place_says_a_setting)
{
    A_ROOT;
    root_clear_env(&place);

    const struct {
        const char *user, *own, *env;
        const char *want, *origin; /* end of it */
    } cases[] = {
        {"", "", NULL, setting_infos[SETTING_PRESET].fallback, "built in"},
        {"[session]\npreset = u\n", "", NULL, "u", "/mas/mas.ini:2"},
        {"[session]\npreset = u\n", "\n[session]\npreset = o\n", NULL, "o", "/mas.ini:3"},
        {"[session]\npreset = u\n", "[session]\npreset = o\n", "e", "e", "MAS_PRESET"},
        {"[session]\npreset = u\n", "", "", "u", "/mas/mas.ini:2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_config_ struct config config = CONFIG_INIT;
        CHECK(put(place.dir, "mas/mas.ini", cases[i].user) &&
              put(place.dir, "mas.ini", cases[i].own));
        CHECK((cases[i].env != NULL ? setenv("MAS_PRESET", cases[i].env, 1)
                                    : unsetenv("MAS_PRESET")) == 0);
        MUST(config_load(&root, false, &config, NULL, &err));
        CHECK_STR(config_text(&config, SETTING_PRESET), cases[i].want);
        CHECK(str_ends(config.settings[SETTING_PRESET].origin, cases[i].origin));
        CHECK(config_is_of_env(&config, SETTING_PRESET) ==
              (strcmp(cases[i].origin, "MAS_PRESET") == 0));
    }
    CHECK(unsetenv("MAS_PRESET") == 0);
}

TEST(settings_of_others_are_refused)
{
    static const struct {
        const char *path;
        mode_t mode;
        bool good;
    } cases[] = {{"mas.ini", 0644, true},
                 {"mas.ini", 0646, false},
                 {"mas/mas.ini", 0602, false},
                 {"templates/agents.ini", 0646, false},
                 {"templates/agents.ini", 0664, true}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_config_ struct config config = CONFIG_INIT;
        A_ROOT;
        root_clear_env(&place);
        CHECK(put(place.dir, "mas/mas.ini", "") && put(place.dir, "templates/agents.ini", ""));
        CHECK(fchmodat(place.dir, cases[i].path, cases[i].mode, 0) == 0);
        CHECK_INT(config_load(&root, true, &config, NULL, &err), cases[i].good ? 0 : -1);
    }
    _cleanup_config_ struct config config = CONFIG_INIT;
    A_ROOT;
    root_clear_env(&place);
    CHECK(unlinkat(place.dir, "mas.ini", 0) == 0 && mkfifoat(place.dir, "mas.ini", 0600) == 0);
    CHECK_INT(config_load(&root, false, &config, NULL, &err), -1);
    CHECK(strstr(err.text, "FIFO") != NULL);
}

TEST(presets_variables_and_hosts_are_taken_key_by_key)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_config_ struct config again = CONFIG_INIT;
    const struct remote *remote = NULL;
    struct team team = {.preset = (char[]){""}};
    struct agent agent = {.preset = (char[]){""}};
    A_ROOT;
    root_clear_env(&place);

    CHECK(put(place.dir, "templates/agents.ini",
              "[preset one]\ncommand = a\nmodel_option = -m\n[preset two]\ncommand = b\n"));
    CHECK(put(place.dir, "mas/mas.ini",
              "[preset one]\ncommand = u\n[env]\nset.A = u\nset.B = u\n[host h]\nvia = "
              "ssh:u\n[host k]\nvia = ssh:k\n"));
    CHECK(put(place.dir, "mas.ini",
              "[preset three]\ncommand = o\n[env]\nset.B = o\n[host h]\nvia = ssh:o\n[host "
              "empty]\n[host bad]\nx = y\n"));
    MUST(config_load(&root, true, &config, NULL, &err));
    REQUIRE(CHECK(config.preset_count == 3) && CHECK(config.env_count == 2));
    const struct preset *one = config_preset(&config, "one");
    REQUIRE(one != NULL);
    CHECK_STR(one->command, "u");
    CHECK_STR(one->model_option, "-m");
    CHECK(config_preset(&config, "none") == NULL);
    CHECK_STR(config.env[0].value, "u");
    CHECK_STR(config.env[1].value, "o");
    CHECK(str_ends(config.env[1].origin, "/mas.ini:4"));
    MUST(config_need_remote(&config, "k", &remote, &err));
    MUST(config_need_remote(&config, "h", &remote, &err));
    static const struct {
        const char *name, *text;
        int code;
    } bad[] = {{"empty", "does not say how to reach it", MAS_FAILED},
               {"bad", "mas.ini:", MAS_FAILED},
               {"none", "has no [host none]", MAS_NOT_FOUND}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = (struct err)ERR_INIT;
        CHECK_INT(config_need_remote(&config, bad[i].name, &remote, &err), -1);
        CHECK(err.code == bad[i].code && strstr(err.text, bad[i].text) != NULL);
    }
    CHECK(strstr(err.hint, "h, k, empty, bad") != NULL);

    /* the agent's own, the team's, that of the settings */
    CHECK_INT(config_override(&config, SETTING_PRESET, "three", "--agent", &err), 0);
    CHECK_STR(config_agent_preset_name(&config, &team, &agent), "three");
    team.preset = (char[]){"two"};
    CHECK_STR(config_agent_preset_name(&config, &team, &agent), "two");
    agent.preset = (char[]){"one"};
    CHECK(config_agent_preset(&config, &team, &agent) == one);
    CHECK_INT(config_override(&config, SETTING_MODE, "no such", "--x", &err), -1);
    CHECK_INT(err.code, MAS_USAGE);
    (void)config_hint_presets(&config, &err);
    CHECK(strstr(err.hint, "one, two, three") != NULL);

    /* a root that nobody has accepted names no hosts */
    root.accepted = false;
    MUST(config_load(&root, false, &again, NULL, &err));
    CHECK(again.hides_remotes && config_remote(&again, "h") != NULL &&
          config_remote(&again, "empty") == NULL);
    CHECK(again.remote_count == 2 && again.remotes[0].wrong == NULL);
}

/* ---- limits that a person sets, by two at once */

static const struct root *limits_root;
static int limits_dir;

static void set_other(void *arg)
{
    struct err err = ERR_INIT;

    (void)arg;
    WELL(session_limits_set(limits_root, limits_dir, "b", LIMIT_AGENT, 7, 1000, &err));
}

TEST(two_who_set_limits_at_once_both_have_theirs)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    A_ROOT;

    REQUIRE(root_put_session(&root, ID(1), ""));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    limits_root = &root;
    limits_dir = dir;
    gap_before("flock", set_other, NULL);
    MUST(session_limits_set(&root, dir, "a", LIMIT_AGENT, 5, 1000, &err));
    MUST(session_limits_read(dir, &limits, &err));
    REQUIRE(CHECK(limits.count == 2));
    CHECK_INT(limits.each[0].set.of[LIMIT_AGENT] + limits.each[1].set.of[LIMIT_AGENT], 12);
}

/* ---- pictures of prompts */

TEST(a_picture_is_on_disk_before_it_has_its_name)
{
    static const char bytes[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    _cleanup_place_ struct place place = place_make();
    _cleanup_free_ char *read = NULL;
    struct picture picture;
    struct err err = ERR_INIT;
    size_t len = 0;

    trace_begin();
    MUST(pictures_keep(place.dir, "red.png", bytes, sizeof bytes, &picture, &err));
    const char *told = trace_end();
    _cleanup_free_ char *named = mem_printf(", rename %s, fsync DIR, fsync DIR", picture.file);
    CHECK(str_starts(told, "fsync .new-") && str_ends(told, named));
    MUST(pictures_load(place.dir, &picture, &read, &len, &err));
    CHECK_INT(len, sizeof bytes);

    /* one that was replaced, or is gone, alone or with all */
    _cleanup_close_ int all = path_open_dir(place.dir, WORKSPACE_PICTURES);
    struct pictures two = {.count = 2, .list = {picture, picture}};
    MUST(pictures_find(place.dir, &two, &err));
    CHECK_INT(two.list[1].bytes, (int64_t)sizeof bytes);
    two.list[1].file[0] ^= 1;
    CHECK_INT(pictures_find(place.dir, &two, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
    REQUIRE(place_put(all, picture.file, "no picture"));
    CHECK_INT(pictures_find(place.dir, &two, &err), -1);
    CHECK(strstr(err.text, "cannot use the picture 'red.png'") != NULL);
    CHECK(unlinkat(all, picture.file, 0) == 0 &&
          unlinkat(place.dir, WORKSPACE_PICTURES, AT_REMOVEDIR) == 0);
    CHECK_INT(pictures_find(place.dir, &two, &err), -1);
    CHECK_INT(err.code, MAS_NOT_FOUND);
}

/* ---- sockets of tmux */

TEST(sockets_of_tmux_are_where_tmux_puts_them)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    const struct {
        const char *tmpdir, *name, *want;
    } cases[] = {{place.path, "", "default"},
                 {place.path, "x", "x"},
                 {place.path, "/s", NULL},
                 {"", "x", "x"},
                 {"/no/such", "x", "x"}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *path = NULL;
        bool own = cases[i].tmpdir == place.path;
        _cleanup_free_ char *want =
            mem_printf("%s/tmux-%ld/%s", own ? place.path : "/tmp", (long)geteuid(), cases[i].want);
        CHECK(setenv("TMUX_TMPDIR", cases[i].tmpdir, 1) == 0);
        MUST(tmux_place(cases[i].name, &path, &err));
        CHECK_STR(path, cases[i].want == NULL ? "/s" : want);
    }
    char *path = NULL;
    char longest[109];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_INT(tmux_place(longest, &path, &err), -1);
    CHECK_INT(tmux_place("a\nb", &path, &err), -1);
    CHECK(unsetenv("TMUX_TMPDIR") == 0);
}
