#include "root.h"

#include "client/survey.h"

/* A root, and settings with a tmux socket on which no server listens. */
struct fixture {
    struct place place;
    struct root root;
    struct config config;
    char *socket; /* likewise */
    char *unsafe; /* one that others could replace: its server cannot be asked */
    int lock; /* of the session, where a case holds it */
};

static bool prepare(struct fixture *f)
{
    struct err err = ERR_INIT;

    *f = (struct fixture){
        .place = place_make(), .root = ROOT_INIT, .config = CONFIG_INIT, .lock = -1};
    f->socket = mem_printf("%s/t", f->place.path);
    f->unsafe = mem_printf("%s/open/t", f->place.path);
    root_clear_env(&f->place);
    return root_make(&f->place, &f->root) && CHECK(mkdirat(f->place.dir, "open", 0700) == 0) &&
           CHECK(fchmodat(f->place.dir, "open", 0777, 0) == 0) &&
           place_put(f->place.dir, "open/t", "") &&
           WELL(config_load(&f->root, false, &f->config, NULL, &err)) &&
           WELL(config_override(&f->config, SETTING_SOCKET, f->socket, "-", &err));
}

static void release(struct fixture *f)
{
    fd_closep(&f->lock);
    config_free(&f->config);
    root_close(&f->root);
    free(f->socket);
    free(f->unsafe);
    place_free(&f->place);
}

static void save(const struct fixture *f, const struct session *session, bool listed)
{
    struct err err = ERR_INIT;

    CHECK(root_save(&f->root, session));
    if (listed)
        WELL(index_update(&f->root, session->id, session, &err));
}

/* A session and its row, then what the words say has happened since. */
static void make(struct fixture *f, enum status status, const char *words)
{
    _cleanup_session_ struct session session = root_session(ID(1), "mas-550e8400", "alpha");
    struct err err = ERR_INIT;

    free(session.tmux_socket);
    session.tmux_socket = mem_dup(strstr(words, "unsafe") != NULL ? f->unsafe : f->socket);
    session.status = status;
    session.mode = strstr(words, "legacy") != NULL ? MODE_LEGACY : MODE_ISOLATED;
    save(f, &session, strstr(words, "unlisted") == NULL);
    session.migrating = strstr(words, "migrating") != NULL ? MIGRATING_STOPPED : MIGRATING_NO;
    if (strstr(words, "stopped") != NULL)
        session.status = STATUS_STOPPED;
    if (strstr(words, "broken") != NULL) {
        session.status = STATUS_ERROR;
        free(session.error);
        session.error = mem_dup("a disk");
    }
    if (strstr(words, "renamed") != NULL)
        session.name[0] = 'A';
    save(f, &session, false);
    if (strstr(words, "damaged") != NULL)
        CHECK(root_put_session(&f->root, ID(1), "x\n"));
    if (strstr(words, "gone") != NULL)
        CHECK(tree_remove(f->root.sessions, ID(1), &err) == 0);
    if (strstr(words, "link") != NULL)
        CHECK(symlinkat("/", f->root.sessions, ID(1)) == 0);
    _cleanup_close_ int dir = workspace_open(&f->root, ID(1));
    if (strstr(words, "locked") != NULL)
        WELL(workspace_lock(dir, LOCK_TRY, "test", &f->lock, &err));
}

static const char *show(const struct view *view, struct str *to)
{
    str_addf(to, "%s%s%s%s%s%s '%s'", status_name(view->status), view->crashed ? " crashed" : "",
             view->migrating ? " migrating" : "", view->unknown ? " unknown" : "",
             view->unreadable ? " unreadable" : "", view->outdated ? " outdated" : "",
             view_name(view));
    if (view->reason != NULL)
        str_addf(to, ": %s", view->reason);
    return str_text(to);
}

TEST(judges_a_session_without_tmux)
{
    static const struct {
        enum status status; /* of its row */
        const char *words, *want;
    } cases[] = {
        {STATUS_STOPPED, "", "stopped 'alpha'"},
        {STATUS_ACTIVE, "", "stopped crashed 'alpha'"},
        {STATUS_ACTIVE, "locked", "stopped 'alpha'"}, /* it may just be coming */
        {STATUS_ACTIVE, "stopped", "stopped outdated 'alpha'"},
        {STATUS_STOPPED, "renamed", "stopped outdated 'Alpha'"},
        {STATUS_STOPPED, "unlisted", "stopped 'alpha'"},
        {STATUS_ACTIVE, "unlisted", "stopped crashed 'alpha'"},
        {STATUS_ERROR, "", "error 'alpha': marked as broken"},
        {STATUS_STOPPED, "broken", "error outdated 'alpha': a disk"},
        {STATUS_STOPPED, "migrating", "stopped migrating 'alpha'"},
        {STATUS_STOPPED, "legacy migrating", "stopped migrating 'alpha'"},
        {STATUS_ACTIVE, "gone", "error 'alpha': its workspace is missing"},
        {STATUS_STOPPED, "gone", "error 'alpha': its workspace is missing"},
        {STATUS_STOPPED, "damaged",
         "error 'alpha': its .session is damaged: line 1 is not KEY=value"},
        {STATUS_STOPPED, "unlisted damaged",
         "error '': its .session is damaged: line 1 is not KEY=value"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_survey_ struct survey survey = SURVEY_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        struct err err = ERR_INIT;
        struct fixture f;
        REQUIRE(prepare(&f));
        make(&f, cases[i].status, cases[i].words);
        WELL(survey_take(&f.root, &f.config, SURVEY_ALL, &survey, &err));
        if (CHECK_INT(survey.count, 1) && !CHECK_STR(show(survey.views, &got), cases[i].want))
            unit_print_str("of", cases[i].words);
        release(&f);
    }
}

/* Nothing may be concluded from a server that cannot be asked. */
TEST(tells_what_it_cannot_know)
{
    static const struct {
        enum status status;
        const char *words, *want;
    } cases[] = {
        {STATUS_ACTIVE, "unsafe", "error unknown 'alpha': cannot use tmux socket '"},
        {STATUS_STOPPED, "unsafe", "error unknown 'alpha': cannot use tmux socket '"},
        {STATUS_ERROR, "unsafe", "error unknown 'alpha': marked as broken"},
        {STATUS_STOPPED, "gone link", "error 'alpha': its workspace cannot be opened: "},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_survey_ struct survey survey = SURVEY_INIT;
        _cleanup_str_ struct str got = STR_INIT;
        struct tmux_session *live = NULL;
        struct err err = ERR_INIT;
        struct fixture f;
        REQUIRE(prepare(&f));
        make(&f, cases[i].status, cases[i].words);
        WELL(survey_take(&f.root, &f.config, SURVEY_ALL, &survey, &err));
        if (CHECK_INT(survey.count, 1) &&
            !CHECK(str_starts(show(survey.views, &got), cases[i].want)))
            unit_print_str("got", got.data);
        CHECK_INT(survey_find_live(&f.root, f.unsafe, ID(1), &live, &err), -1);
        CHECK_INT(err.code, MAS_TMUX);
        CHECK(survey_find_live(&f.root, f.socket, ID(1), &live, &err) == 0 && live == NULL);
        release(&f);
    }
}

/* A row that is current and says stopped is trusted until somebody looks. */
TEST(looks_only_where_it_must)
{
    static const struct {
        enum status status;
        enum mode mode;
        bool is_changed; /* since its row was written */
        bool is_read;
    } cases[] = {{STATUS_STOPPED, MODE_ISOLATED, false, false},
                 {STATUS_STOPPED, MODE_ISOLATED, true, true},
                 {STATUS_STOPPED, MODE_LEGACY, false, true},
                 {STATUS_ERROR, MODE_ISOLATED, false, true},
                 {STATUS_ACTIVE, MODE_ISOLATED, false, true}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_survey_ struct survey survey = SURVEY_INIT;
        _cleanup_session_ struct session session = root_session(ID(1), "mas-550e8400", "alpha");
        struct err err = ERR_INIT;
        struct fixture f;
        REQUIRE(prepare(&f));
        session.status = cases[i].status;
        session.mode = cases[i].mode;
        save(&f, &session, true);
        session.private = true;
        if (cases[i].is_changed)
            save(&f, &session, false);
        WELL(survey_take(&f.root, &f.config, SURVEY_LIVE, &survey, &err));
        if (CHECK_INT(survey.count, 1)) {
            CHECK_INT(survey.views[0].socket != NULL, cases[i].is_read);
            CHECK_INT(survey.views[0].used, cases[i].is_read ? 1766050200 : 0);
        }
        const struct view *view = survey_look(&f.root, &survey, ID(1));
        CHECK(view != NULL && view->used == 1766050200 && view->metadata != 0);
        CHECK(survey_look(&f.root, &survey, ID(2)) == NULL);
        release(&f);
    }
}

#define OTHER "660e8400-e29b-41d4-a716-446655440000"

/* Four sessions; the newest is the one that the index names first. */
static void make_four(const struct fixture *f)
{
    static const struct {
        const char *id, *tmux_name, *name;
        time_t later;
    } made[] = {{ID(4), "mas-4", "delta", 9},
                {ID(1), "mas-1", "alpha", 5},
                {ID(2), "mas-2", "mas-1", 5},
                {OTHER, "ID-3", "550e", 0}};

    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        _cleanup_session_ struct session session =
            root_session(made[i].id, made[i].tmux_name, made[i].name);
        free(session.tmux_socket);
        session.tmux_socket = mem_dup(f->socket);
        session.created += made[i].later;
        save(f, &session, true);
    }
}

TEST(orders_by_age)
{
    static const char *const want[] = {OTHER, ID(1), ID(2), ID(4)};
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    struct err err = ERR_INIT;
    struct fixture f;

    REQUIRE(prepare(&f));
    make_four(&f);
    WELL(survey_take(&f.root, &f.config, SURVEY_LIVE, &survey, &err));
    if (CHECK_INT(survey.count, 4))
        for (size_t i = 0; i < 4; i++)
            CHECK_STR(survey.views[i].row.id, want[i]);
    release(&f);
}

TEST(finds_the_session_that_is_meant)
{
    static const struct {
        const char *text;
        int code;
        const char *id;
    } cases[] = {
        {ID(2), MAS_OK, ID(2)},         {"660E8400-E29B-41D4-A716-446655440000", MAS_OK, OTHER},
        {"alpha", MAS_OK, ID(1)},       {"mas-2", MAS_OK, ID(2)},
        {"mas-1", MAS_CONFLICT, ""}, /* one in tmux, another by mas */
        {"550e", MAS_OK, OTHER}, /* a name comes before the beginning of an id */
        {"550E", MAS_CONFLICT, ""},     {"550e8400-e29b-41d4-a716-44665544000", MAS_CONFLICT, ""},
        {"660e", MAS_OK, OTHER},        {"660E84", MAS_OK, OTHER},
        {"660", MAS_NOT_FOUND, ""},     {ID(7), MAS_NOT_FOUND, ""},
        {OTHER "0", MAS_NOT_FOUND, ""}, {"alph", MAS_NOT_FOUND, ""},
        {"Alpha", MAS_NOT_FOUND, ""},   {"", MAS_NOT_FOUND, ""},
        {"@last", MAS_OK, ID(4)},       {"@first", MAS_NOT_FOUND, ""},
    };
    _cleanup_index_ struct index index = INDEX_INIT;
    struct err ignored = ERR_INIT;
    struct fixture f;

    REQUIRE(prepare(&f));
    char none[ID_TEXT] = "";
    CHECK_INT(survey_select(&f.root, &f.config, "@last", none, &ignored), -1);
    CHECK_INT(ignored.code, MAS_NOT_FOUND);
    make_four(&f);
    CHECK_INT(index_read(&f.root, false, &index, &ignored), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[ID_TEXT] = "";
        struct err err = ERR_INIT;
        (void)survey_select(&f.root, &f.config, cases[i].text, got, &err);
        if (!CHECK_INT(err.code, cases[i].code) || !CHECK_STR(got, cases[i].id))
            unit_print_str("of", cases[i].text);
        if (cases[i].text[0] != '@')
            CHECK_INT(survey_has(&index, cases[i].text), err.code != MAS_NOT_FOUND);
    }
    release(&f);
}

TEST(sums_up_what_tmux_and_the_hosts_say)
{
    static const struct {
        size_t panes, dead, told, idle, exited; /* panes: that live, by tmux */
        size_t running, ended;
    } cases[] = {
        {0, 0, 0, 0, 0, 0, 0}, {3, 1, 0, 0, 0, 3, 1}, {3, 0, 3, 3, 0, 3, 0},
        {3, 0, 3, 1, 2, 1, 2}, {3, 1, 2, 1, 1, 2, 2}, {1, 0, 3, 2, 1, 2, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct tmux_session live = {.running = cases[i].panes, .ended = cases[i].dead};
        struct agent_counts counts = {.told = cases[i].told};
        const struct view view = {.live = &live, .counts = &counts};
        counts.states[AGENT_IDLE] = cases[i].idle;
        counts.states[AGENT_EXITED] = cases[i].exited;
        CHECK_INT(view_running(&view), cases[i].running);
        CHECK_INT(view_ended(&view), cases[i].ended);
    }
}

TEST(activity_is_the_newest_that_is_known)
{
    static const struct {
        const char *recorded;
        time_t live; /* -1: none */
        time_t want;
    } cases[] = {{"2025-12-18T09:30:00Z", -1, 1766050200},
                 {"2025-12-18T09:30:00Z", 1766050199, 1766050200},
                 {"2025-12-18T09:30:00Z", 1766050201, 1766050201},
                 {"", 7, 7}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct tmux_session live = {.activity = cases[i].live};
        const struct view view = {.row = {.activity = cases[i].recorded},
                                  .live = cases[i].live != -1 ? &live : NULL};
        CHECK_INT(view_activity(&view), cases[i].want);
    }
}
