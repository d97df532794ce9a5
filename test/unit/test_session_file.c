#include "root.h"

#include "store/session.h"

/* A good file; the paths are those of the root. */
#define WORKSPACE "%s/sessions/" ID(1)
#define GOOD_FILE                                                                                  \
    "SESSION_ID=" ID(                                                                              \
        1) "\nTMUX_SESSION=mas-550e8400\nSTATUS=stopped\n"                                         \
           "CREATED_AT=2025-12-18T08:00:00Z\nCREATED_NSEC=5\nTMUX_SOCKET=/t/default\nNAME=alpha\n" \
           "MODE=isolated\nTEMPLATE=tp\nPRIVATE=no\nLAST_ACTIVITY=2025-12-18T09:30:00Z\n"          \
           "STOPPED_AT=2025-12-18T09:00:00Z\nSESSION_DIR=" WORKSPACE "\nUNIT_DIR=" WORKSPACE       \
           "/unit\nWORKFLOWS_DIR=" WORKSPACE "/workflows\n"

/* Writes the good file with `lines` in the place of that of `key`: "" leaves it out; another key
 * adds them at the end. */
static void write_text(const struct root *root, const char *key, const char *lines, struct str *to)
{
    _cleanup_free_ char *text = mem_printf(GOOD_FILE, root->path, root->path, root->path);
    _cleanup_free_ char *mark = mem_printf("%s=", key);
    char *at = strstr(text, mark);

    while (at != NULL && at > text && at[-1] != '\n')
        at = strstr(at + 1, mark);
    const char *rest = at != NULL ? strchr(at, '\n') + 1 : "";
    str_addn(to, text, at != NULL ? (size_t)(at - text) : strlen(text));
    str_addf(to, "%s%s%s", lines, lines[0] != '\0' ? "\n" : "", rest);
}

/* What is known of a session: each member that is not as in the good file, or "error: <text>". */
static const char *show(const struct session *s, struct str *to)
{
    static const char *const migrating[] = {"", " migrates to stopped", " migrates to active"};

    str_addf(to, "%s %s %s", s->tmux_name, status_name(s->status), mode_name(s->mode));
    str_addf(to, " %s '%s' %s%s", s->tmux_socket, s->name, s->template, migrating[s->migrating]);
    str_addf(to, " %lld.%ld", (long long)s->created - 1766044800, s->created_nsec);
    str_addf(to, " +%lld", (long long)(s->activity - s->created));
    if (s->stopped != 0)
        str_addf(to, " +%lld", (long long)(s->stopped - s->created));
    str_addf(to, "%s%s%s", s->private ? " private" : "", s->prompted ? " prompted" : "",
             s->moved ? " moved" : "");
    if (s->error[0] != '\0')
        str_addf(to, " error '%s'", s->error);
    if (s->epoch != 0 || s->machine[0] != '\0')
        str_addf(to, " machine '%s' boot '%s' epoch %ju", s->machine, s->boot, (uintmax_t)s->epoch);
    if (s->moved_to[0] != '\0')
        str_addf(to, " moved to '%s'", s->moved_to);
    for (size_t i = 0; i < s->extra.count; i++)
        str_addf(to, " %s='%s'", s->extra.pairs[i].key, s->extra.pairs[i].value);
    if (s->strange != NULL)
        str_addf(to, " strange: %s", s->strange);
    return str_text(to);
}

static const char *load(const struct root *root, const char *text, size_t len, struct str *to)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct err err = ERR_INIT;

    str_clear(to);
    CHECK(root_put_session(root, ID(1), NULL));
    _cleanup_close_ int dir = workspace_open(root, ID(1));
    if (text != NULL)
        CHECK(place_write(dir, WORKSPACE_SESSION, text, len));
    if (session_load(root, dir, ID(1), &session, &err) == 0)
        return show(&session, to);
    CHECK_INT(err.code, MAS_DAMAGED);
    CHECK_STR(session.id, "");
    str_addf(to, "error: %s", err.text);
    return str_text(to);
}

struct file_case {
    const char *key, *lines, *want;
};

static void check_cases(const struct file_case *cases, size_t count, const char *prefix)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < count; i++) {
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        _cleanup_free_ char *want = mem_printf("%s%s", prefix, cases[i].want);
        write_text(&root, cases[i].key, cases[i].lines, &text);
        CHECK_STR(load(&root, str_text(&text), text.len, &got), want);
    }
}

#define GOOD_TEXT(status, mode, name, rest)                                                        \
    "mas-550e8400 " status " " mode " /t/default '" name "' tp" rest
#define REST(rest) GOOD_TEXT("stopped", "isolated", "alpha", rest)
#define GOOD REST(" 0.5 +5400 +3600")

TEST(reads_each_key)
{
    static const struct file_case cases[] = {
        {"", "", GOOD},
        {"STATUS", "STATUS=active", GOOD_TEXT("active", "isolated", "alpha", " 0.5 +5400 +3600")},
        {"STATUS", "STATUS=error\nERROR='it'\\''s bad'",
         GOOD_TEXT("error", "isolated", "alpha", " 0.5 +5400 +3600 error 'it's bad'")},
        {"CREATED_AT", "CREATED_AT=2024-02-29T23:59:59Z", REST(" -56793601.5 +56799001 +56797201")},
        {"CREATED_NSEC", "", REST(" 0.0 +5400 +3600")},
        {"CREATED_NSEC", "CREATED_NSEC=999999999", REST(" 0.999999999 +5400 +3600")},
        {"TMUX_SOCKET", "TMUX_SOCKET='/a b'",
         "mas-550e8400 stopped isolated /a b 'alpha' tp 0.5 +5400 +3600"},
        {"NAME", "", GOOD_TEXT("stopped", "isolated", "", " 0.5 +5400 +3600")},
        {"NAME", "NAME=", GOOD_TEXT("stopped", "isolated", "", " 0.5 +5400 +3600")},
        {"MODE", "", GOOD},
        {"MODE", "MODE=legacy", GOOD_TEXT("stopped", "legacy", "alpha", " 0.5 +5400 +3600 moved")},
        {"MIGRATING", "MIGRATING=stopped", REST(" migrates to stopped 0.5 +5400 +3600")},
        {"MIGRATING", "MIGRATING=active", REST(" migrates to active 0.5 +5400 +3600")},
        {"PRIVATE", "PRIVATE=yes", GOOD " private"},
        {"PRIVATE", "", GOOD},
        {"PROMPTED", "PROMPTED=yes", GOOD " prompted"},
        {"PROMPTED", "PROMPTED=no", GOOD},
        {"MACHINE", "MACHINE='12ab n1'\nBOOT='34cd 4026531836'\nEPOCH=7",
         GOOD " machine '12ab n1' boot '34cd 4026531836' epoch 7"},
        {"MACHINE", "MACHINE=' n1'\nEPOCH=999999999999",
         GOOD " machine ' n1' boot '' epoch 999999999999"},
        {"EPOCH", "EPOCH=0", GOOD},
        {"MOVED_TO", "MOVED_TO=n3", GOOD " moved to 'n3'"},
        {"LAST_ACTIVITY", "", REST(" 0.5 +0 +3600")},
        {"STOPPED_AT", "", REST(" 0.5 +5400")},
        {"X_MINE", "X_MINE='a b'\nX_=", GOOD " X_MINE='a b' X_=''"},
    };
    check_cases(cases, ARRAY_LEN(cases), "");
}

TEST(keeps_strange_keys_apart)
{
    static const struct file_case cases[] = {
        {"PATH", "PATH=/tmp/evil", GOOD " strange: PATH"},
        {"PATH", "PATH=/a\nX_A=1\nLD_PRELOAD=/b", GOOD " X_A='1' strange: PATH, LD_PRELOAD"},
        {"XA", "XA=1", GOOD " strange: XA"},
        {"A", "A=\nB=\nC=\nD=\nE=\nF=\nG=\nH=\nI=\nJ=",
         GOOD " strange: A, B, C, D, E, F, G, H and 2 more"},
    };
    check_cases(cases, ARRAY_LEN(cases), "");
}

#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG HUNDRED HUNDRED HUNDRED HUNDRED "a"

TEST(refuses_wrong_values)
{
    static const struct file_case cases[] = {
        {"SESSION_ID", "", "SESSION_ID is missing"},
        {"SESSION_ID", "SESSION_ID=" ID(2), "SESSION_ID belongs to another session"},
        {"SESSION_ID", "SESSION_ID=", "SESSION_ID belongs to another session"},
        {"TMUX_SESSION", "", "TMUX_SESSION is missing"},
        {"TMUX_SESSION", "TMUX_SESSION=", "TMUX_SESSION is empty or too long"},
        {"STATUS", "", "STATUS is missing"},
        {"STATUS", "STATUS=Active", "STATUS is not active, stopped or error"},
        {"CREATED_AT", "", "CREATED_AT is missing"},
        {"CREATED_AT", "CREATED_AT=", "CREATED_AT is not a time"},
        {"CREATED_AT", "CREATED_AT=2025-12-18", "CREATED_AT is not a time"},
        {"CREATED_NSEC", "CREATED_NSEC=1000000000",
         "CREATED_NSEC is not a number from 0 to 999999999"},
        {"TMUX_SOCKET", "TMUX_SOCKET=default", "TMUX_SOCKET is not an absolute path"},
        {"TMUX_SOCKET", "TMUX_SOCKET=", "TMUX_SOCKET is not an absolute path"},
        {"NAME", "NAME=1a", "NAME is not a session name"},
        {"NAME", "NAME='a b'", "NAME is not a session name"},
        {"NAME", "NAME=../etc", "NAME is not a session name"},
        {"MODE", "MODE=shared", "MODE is not isolated or legacy"},
        {"MIGRATING", "MIGRATING=error", "MIGRATING is not active or stopped"},
        {"PRIVATE", "PRIVATE=1", "PRIVATE is not yes or no"},
        {"PROMPTED", "PROMPTED=YES", "PROMPTED is not yes or no"},
        {"EPOCH", "EPOCH=-1", "EPOCH is not a number from 0 to 999999999999"},
        {"EPOCH", "EPOCH=1000000000000", "EPOCH is not a number from 0 to 999999999999"},
        {"EPOCH", "EPOCH=1s", "EPOCH is not a number from 0 to 999999999999"},
        {"MACHINE", "MACHINE=" LONG, "MACHINE is not one line of at most 400 bytes"},
        {"BOOT", "BOOT=" LONG, "BOOT is not one line of at most 400 bytes"},
        {"MOVED_TO", "MOVED_TO=" LONG, "MOVED_TO is not one line of at most 400 bytes"},
        {"LAST_ACTIVITY", "LAST_ACTIVITY=now", "LAST_ACTIVITY is not a time"},
        {"STOPPED_AT", "STOPPED_AT=0", "STOPPED_AT is not a time"},
    };
    check_cases(cases, ARRAY_LEN(cases), "error: its .session is damaged: ");
}

TEST(refuses_other_forms)
{
    static const struct file_case cases[] = {
        {"NAME", "NAME=alpha\nNAME=beta", "line 8: duplicate key NAME"},
        {"PATH", "PATH=/a\nPATH=/a", "line 17: duplicate key PATH"},
        {"NAME", "NAME=$(touch x)", "line 7: missing quotes around a value"},
        {"NAME", "NAME='al'pha", "line 7: text follows a quoted value"},
        {"NAME", "NAME='alpha", "line 7: unterminated quote"},
        {"NAME", "NAME='al\npha'", "line 7: unterminated quote"},
        {"TEMPLATE", "TEMPLATE='\x1b[2J'", "line 9 contains a control character"},
        {"TEMPLATE", "TEMPLATE='a\tb'", "line 9 contains a control character"},
        {"TEMPLATE", "TEMPLATE=tp\r", "line 9 contains a control character"},
        {"NAME", "# text", "line 7 is not KEY=value"},
        {"NAME", "export NAME=alpha", "line 7 is not KEY=value"},
        {"NAME", "\nNAME=alpha", "line 7 is not KEY=value"},
        {"NAME", "name=alpha", "line 7 is not KEY=value"},
    };
    check_cases(cases, ARRAY_LEN(cases), "error: its .session is damaged: ");
}

TEST(refuses_what_is_too_long)
{
    static const struct {
        const char *key;
        size_t most;
        const char *why;
    } cases[] = {{"NAME", SESSION_NAME_MAX, "NAME is not a session name"},
                 {"TMUX_SESSION", TMUX_NAME_MAX, "TMUX_SESSION is empty or too long"}};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            _cleanup_str_ struct str line = STR_INIT;
            _cleanup_str_ struct str text = STR_INIT;
            _cleanup_str_ struct str got = STR_INIT;
            str_addf(&line, "%s=", cases[i].key);
            for (size_t n = 0; n < cases[i].most + more; n++)
                str_addc(&line, 'x');
            write_text(&root, cases[i].key, str_text(&line), &text);
            bool is_bad = strstr(load(&root, text.data, text.len, &got), cases[i].why) != NULL;
            CHECK_INT(is_bad, more);
        }
}

TEST(refuses_other_bytes_and_files)
{
    static const char *const texts[][2] = {{"", "SESSION_ID is missing"},
                                           {"\n", "line 1 is not KEY=value"},
                                           {"NAME=a", "line 1 does not end in a newline"}};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    CHECK(str_starts(load(&root, NULL, 0, &got), "error: cannot read '.session': "));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_free_ char *want = mem_printf("error: its .session is damaged: %s", texts[i][1]);
        CHECK_STR(load(&root, texts[i][0], strlen(texts[i][0]), &got), want);
    }
    write_text(&root, "", "", &text);
    CHECK_STR(load(&root, text.data, text.len, &got), GOOD);
    for (size_t cut = 1; cut < text.len; cut += 13) /* a plain write that was killed */
        CHECK(str_starts(load(&root, text.data, text.len - cut, &got), "error: ") ||
              strstr(got.data, "moved") != NULL);
    str_addn(&text, "\0\n", 2);
    CHECK(str_starts(load(&root, text.data, text.len, &got), "error: "));
    while (text.len <= KV_FILE_MAX)
        str_addc(&text, '\n');
    CHECK(strstr(load(&root, text.data, text.len, &got), "it is larger than") != NULL);
    REQUIRE(unlinkat(root.sessions, ID(1) "/.session", 0) == 0);
    REQUIRE(symlinkat("../../mas.ini", root.sessions, ID(1) "/.session") == 0);
    CHECK(str_starts(load(&root, NULL, 0, &got), "error: cannot read '.session': "));
}

TEST(reads_what_it_writes)
{
    static const struct {
        const char *text; /* for each text of the session that may be any */
        enum status status;
        enum mode mode;
        enum migrating migrating;
        bool is_set;
        time_t stopped;
    } cases[] = {
        {"plain", STATUS_ACTIVE, MODE_ISOLATED, MIGRATING_NO, false, 0},
        {"it's $(x) `y` \\ #{z}", STATUS_STOPPED, MODE_LEGACY, MIGRATING_STOPPED, true, 1766044801},
        {"\xc3\xa9 \xff ;", STATUS_ERROR, MODE_ISOLATED, MIGRATING_ACTIVE, true, 1},
        {"'", STATUS_ERROR, MODE_LEGACY, MIGRATING_NO, false, 0},
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *socket = mem_printf("/%s", cases[i].text);
        struct session session = {.tmux_name = mem_dup(cases[i].text),
                                  .tmux_socket = TAKE_PTR(socket),
                                  .name = mem_dup(cases[i].is_set ? "n-1" : ""),
                                  .template = mem_dup(cases[i].text),
                                  .error = mem_dup(cases[i].text),
                                  .machine = mem_dup(""),
                                  .boot = mem_dup(""),
                                  .moved_to = mem_dup(""),
                                  .store = mem_dup(""),
                                  .lease = mem_dup(""),
                                  .status = cases[i].status,
                                  .mode = cases[i].mode,
                                  .migrating = cases[i].migrating,
                                  .private = !cases[i].is_set,
                                  .prompted = cases[i].is_set,
                                  .created = 1766044800,
                                  .created_nsec = cases[i].is_set ? 7 : 0,
                                  .activity = 1766044803,
                                  .stopped = cases[i].stopped};
        _cleanup_str_ struct str text = STR_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        _cleanup_str_ struct str want = STR_INIT;

        memcpy(session.id, ID(1), ID_TEXT);
        kv_put(&session.extra, "X_A", cases[i].text);
        session_format(&root, &session, &text);
        if (session.status != STATUS_ERROR)
            session.error[0] = '\0'; /* it is not kept */
        CHECK_STR(load(&root, text.data, text.len, &got), show(&session, &want));
        session_free(&session);
    }
}

TEST(checks_names)
{
    static const struct {
        const char *name;
        bool is_good;
    } cases[] = {{"a", true},      {"Alpha_1-x", true}, {"cafe-x", true}, {"abc", true},
                 {"", false},      {"1a", false},       {"-a", false},    {"_a", false},
                 {"a b", false},   {"a.b", false},      {"a/b", false},   {"a:b", false},
                 {"a\n", false},   {"\xc3\xa9", false}, {"cafe", false},  {"DEADBEEF", false},
                 {"abcd1", false}, {ID(1), false}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(session_check_name(cases[i].name) == NULL, cases[i].is_good))
            unit_print_str("name", cases[i].name);
}

TEST(a_label_is_the_name_or_the_id)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_session_ struct session named = root_session(ID(1), "t", "alpha");
    _cleanup_session_ struct session nameless = root_session(ID(2), "t", "");

    REQUIRE(root_make(&place, &root) && root_save(&root, &named) && root_save(&root, &nameless));
    REQUIRE(root_put_session(&root, ID(3), "damaged"));
    CHECK_STR(session_label(&root, ID(1)).text, "alpha");
    CHECK_STR(session_label(&root, "550E8400-E29B-41D4-A716-446655440001").text, "alpha");
    CHECK_STR(session_label(&root, ID(2)).text, ID(2));
    CHECK_STR(session_label(&root, ID(3)).text, ID(3));
    CHECK_STR(session_label(&root, ID(4)).text, ID(4));
    CHECK_STR(session_label(&root, "../x").text, "../x");
    CHECK_INT(session_used(&named), named.activity);
    named.stopped = named.activity + 1;
    CHECK_INT(session_used(&named), named.stopped);
}
