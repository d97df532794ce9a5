#include "root.h"

#include "session/retention.h"

enum { NOW = 1000000, DAY = 24 * 3600, VIEWS_MAX = 6 };

/* A session of a survey, whose id ends in `digit`. It was used `ago` seconds ago. */
struct made {
    char digit;
    enum status status; /* as its metadata says */
    time_t ago;
    const char *is; /* what else it is: words of make_survey() */
};

struct made_survey {
    struct survey survey;
    struct view views[VIEWS_MAX];
    char ids[VIEWS_MAX][ID_TEXT];
};

static bool is(const struct made *made, const char *what)
{
    return made->is != NULL && strstr(made->is, what) != NULL;
}

static void make_survey(const struct made *made, struct made_survey *ret)
{
    static const struct tmux_session live = {.running = 1};
    static char socket[] = "/t", reason[] = "why", name[] = "";

    *ret = (struct made_survey){.survey = SURVEY_INIT};
    ret->survey.views = ret->views;
    for (; ret->survey.count < VIEWS_MAX && made[ret->survey.count].digit != '\0';) {
        const struct made *m = &made[ret->survey.count];
        char *id = ret->ids[ret->survey.count];
        memcpy(id, ID(0), ID_TEXT);
        id[ID_TEXT - 2] = m->digit;
        ret->views[ret->survey.count++] = (struct view){
            .row = {.id = id,
                    .name = "",
                    .status = m->status,
                    .mode = is(m, "legacy") ? MODE_LEGACY : MODE_ISOLATED,
                    .missing = is(m, "missing")},
            .migrating = is(m, "migrating"),
            .elsewhere = is(m, "elsewhere"),
            .unknown = is(m, "unknown"),
            .unreadable = is(m, "unreadable"),
            .socket = is(m, "unreadable") || is(m, "damaged") ? NULL : socket,
            .reason = m->status == STATUS_ERROR ? reason : NULL,
            .name = name,
            .live = is(m, "live") ? &live : NULL,
            .used = NOW - m->ago,
        };
    }
}

/* The digits of the chosen ones, and "?" for each that could not be checked. */
static const char *choose(const struct root *root, const struct made *made,
                          const struct retention *options, struct str *to)
{
    struct made_survey of;
    struct retention_candidate *chosen = NULL;
    struct retention_unknown unknown;

    make_survey(made, &of);
    str_clear(to);
    size_t count = retention_choose(root, &of.survey, options, NOW, &chosen, &unknown);
    for (size_t i = 0; i < count; i++)
        str_addc(to, chosen[i].id[ID_TEXT - 2]);
    for (size_t i = 0; i < unknown.count; i++)
        str_addc(to, '?');
    free(chosen);
    return str_text(to);
}

#define AGE(seconds) .by_age = true, .age = (seconds)
#define KEEP(count) .by_count = true, .keep = (count)
#define USUAL .statuses = RETENTION_STOPPED | RETENTION_ERROR

TEST(chooses_by_age_and_number)
{
    static const struct made five[] = {
        {'1', STATUS_STOPPED, 5 * DAY, NULL}, {'2', STATUS_STOPPED, 1 * DAY, NULL},
        {'3', STATUS_ERROR, 3 * DAY, NULL},   {'4', STATUS_STOPPED, 3 * DAY, NULL},
        {'5', STATUS_ACTIVE, 9 * DAY, NULL},  {'\0', STATUS_ACTIVE, 0, NULL}};
    static const struct {
        struct retention options;
        const char *want; /* oldest first; of equal ones the first of the survey */
    } cases[] = {
        {{USUAL}, "1342"},
        {{USUAL, AGE(0)}, "1342"},
        {{USUAL, AGE(1 * DAY)}, "1342"},
        {{USUAL, AGE(1 * DAY + 1)}, "134"},
        {{USUAL, AGE(3 * DAY)}, "134"},
        {{USUAL, AGE(3 * DAY + 1)}, "1"},
        {{USUAL, AGE(5 * DAY + 1)}, ""},
        {{USUAL, KEEP(0)}, "1342"},
        {{USUAL, KEEP(1)}, "134"},
        {{USUAL, KEEP(2)}, "13"},
        {{USUAL, KEEP(4)}, ""},
        {{USUAL, KEEP(1000000)}, ""},
        {{USUAL, AGE(3 * DAY), KEEP(3)}, "1"},
        {{USUAL, AGE(4 * DAY), KEEP(1)}, "1"},
        {{.statuses = RETENTION_STOPPED}, "142"},
        {{.statuses = RETENTION_ERROR}, "3"},
        {{.statuses = RETENTION_CRASHED}, "5"},
        {{.statuses = RETENTION_CRASHED, AGE(9 * DAY + 1)}, ""},
        {{.statuses = RETENTION_STOPPED, KEEP(2)}, "1"}, /* the others do not count */
        {{.statuses = RETENTION_STOPPED | RETENTION_ERROR | RETENTION_CRASHED, KEEP(1)}, "5134"},
    };
    struct root none = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_STR(choose(&none, five, &cases[i].options, &got), cases[i].want);
}

TEST(spares_what_is_no_candidate)
{
    static const struct {
        enum status status;
        const char *is, *want;
    } cases[] = {
        {STATUS_STOPPED, NULL, "1"},
        {STATUS_STOPPED, "live", ""},
        {STATUS_ACTIVE, "live", ""},
        {STATUS_ERROR, "live", ""},
        {STATUS_ERROR, "missing", ""},
        {STATUS_STOPPED, "missing", ""},
        {STATUS_STOPPED, "migrating", "1"},
        {STATUS_STOPPED, "legacy", "1"},
        {STATUS_STOPPED, "migrating legacy", ""},
        {STATUS_STOPPED, "elsewhere", ""},
        {STATUS_ACTIVE, "elsewhere", ""},
        {STATUS_STOPPED, "unknown", "?"},
        {STATUS_ERROR, "unreadable", "?"},
        {STATUS_ERROR, "unreadable unknown", "?"},
        {STATUS_ERROR, "unreadable live", ""},
        {STATUS_ERROR, "damaged", ""}, /* without a workspace */
    };
    static const struct retention all = {.statuses = RETENTION_STOPPED | RETENTION_ERROR |
                                                     RETENTION_CRASHED};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;

    REQUIRE(root_make(&place, &root));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct made one[] = {{'1', cases[i].status, DAY, cases[i].is},
                                   {'\0', STATUS_STOPPED, 0, NULL}};
        if (!CHECK_STR(choose(&root, one, &all, &got), cases[i].want))
            unit_print_str("of", cases[i].is);
    }
}

/* Why is that of the oldest one; the others are counted. */
TEST(the_first_that_cannot_be_checked_says_why)
{
    static const struct retention all = {.statuses = RETENTION_STOPPED};
    static const struct made made[] = {{'1', STATUS_STOPPED, DAY, "unknown"},
                                       {'2', STATUS_STOPPED, 3 * DAY, "unknown"},
                                       {'3', STATUS_STOPPED, 2 * DAY, "unknown"},
                                       {'\0', STATUS_STOPPED, 0, NULL}};
    struct made_survey of;
    struct retention_candidate *chosen = NULL;
    struct retention_unknown unknown;
    A_ROOT;

    make_survey(made, &of);
    of.views[0].reason = (char[]){"newest"};
    of.views[1].reason = (char[]){"oldest"};
    of.views[2].reason = (char[]){"middle"};
    CHECK_INT(retention_choose(&root, &of.survey, &all, NOW, &chosen, &unknown), 0);
    CHECK_INT(unknown.count, 3);
    CHECK_STR(unknown.why, "oldest");
    CHECK(unknown.code != MAS_OK);
    free(chosen);
}

static bool set_time(int dir, const char *name, time_t t)
{
    const struct timespec times[2] = {{.tv_sec = t}, {.tv_sec = t}};

    return CHECK(utimensat(dir, name, times, 0) == 0);
}

/* Damaged metadata: the files say when. */
TEST(finds_the_age_of_a_damaged_one)
{
    static const struct made one[] = {{'1', STATUS_ERROR, 0, "damaged"},
                                      {'\0', STATUS_STOPPED, 0, NULL}};
    static const struct retention by_day = {USUAL, AGE(DAY)};
    _cleanup_place_ struct place place = place_make();
    _cleanup_root_ struct root root = ROOT_INIT;
    _cleanup_str_ struct str got = STR_INIT;
    time_t used = 0;

    REQUIRE(root_make(&place, &root) && root_put_session(&root, ID(1), "damaged"));
    _cleanup_close_ int dir = workspace_open(&root, ID(1));
    REQUIRE(mkdirat(dir, WORKSPACE_LOGS, 0700) == 0 && place_put(dir, WORKSPACE_LOCK, "") &&
            place_put(dir, "logs/a", "") && mkdirat(dir, "unit", 0700) == 0 &&
            place_put(dir, "unit/new", ""));
    REQUIRE(set_time(dir, "logs/a", NOW - 2 * DAY) && set_time(dir, "logs", NOW - 5 * DAY) &&
            set_time(dir, "unit", NOW - 3 * DAY) && set_time(dir, ".session", NOW - 4 * DAY));
    CHECK(retention_find_used(dir, &used));
    CHECK_INT(used, NOW - 2 * DAY); /* neither its lock nor what is deeper in unit/ counts */
    CHECK_STR(choose(&root, one, &by_day, &got), "1");
    REQUIRE(set_time(dir, "logs/a", NOW - DAY + 1));
    CHECK_STR(choose(&root, one, &by_day, &got), "");
    REQUIRE(set_time(dir, "logs/a", NOW - 9 * DAY) && set_time(dir, ".session", NOW - 6));
    CHECK(retention_find_used(dir, &used));
    CHECK_INT(used, NOW - 6);
    REQUIRE(unlinkat(dir, "logs/a", 0) == 0 && unlinkat(dir, "logs", AT_REMOVEDIR) == 0);
    CHECK(retention_find_used(dir, &used));
    CHECK_INT(used, NOW - 6);
}

TEST(reads_the_settings)
{
    static const struct {
        const char *older, *keep, *status, *archive;
        int rc;
        struct retention want;
    } cases[] = {
        {"", "", "", "no", -1, {.statuses = 0}},
        {"", "", "", "yes", -1, {.statuses = 0}},
        {"7d", "", "", "no", 0, {USUAL, AGE(7 * DAY)}},
        {"", "0", "", "yes", 0, {USUAL, KEEP(0), .archive = true}},
        {"90m", "12", "", "no", 0, {USUAL, AGE(5400), KEEP(12)}},
        {"", "", "crashed", "no", 0, {.statuses = RETENTION_CRASHED}},
        {"", "", "error,stopped", "no", 0, {USUAL}},
        {"0s", "", "crashed", "no", 0, {.statuses = RETENTION_CRASHED, AGE(0)}},
    };
    _cleanup_place_ struct place place = place_make();
    _cleanup_config_ struct config config = CONFIG_INIT;
    struct err err = ERR_INIT;

    root_clear_env(&place);
    MUST(config_load(NULL, false, &config, NULL, &err));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct retention *want = &cases[i].want;
        struct retention got = {.statuses = 0};
        WELL(config_override(&config, SETTING_CLEAN_OLDER, cases[i].older, "-", &err));
        WELL(config_override(&config, SETTING_CLEAN_KEEP, cases[i].keep, "-", &err));
        WELL(config_override(&config, SETTING_CLEAN_STATUS, cases[i].status, "-", &err));
        WELL(config_override(&config, SETTING_CLEAN_ARCHIVE, cases[i].archive, "-", &err));
        CHECK_INT(retention_read(&config, &got, &err), cases[i].rc);
        CHECK_INT(err.code, cases[i].rc == 0 ? MAS_OK : MAS_USAGE);
        CHECK(got.by_age == want->by_age && got.age == want->age);
        CHECK(got.by_count == want->by_count && got.keep == want->keep);
        CHECK(got.statuses == want->statuses && got.archive == want->archive);
        err = (struct err)ERR_INIT;
    }
}

TEST(reads_statuses)
{
    static const struct {
        const char *text;
        bool is_good;
        unsigned want;
    } cases[] = {
        {"", true, 0},
        {"stopped", true, RETENTION_STOPPED},
        {"error,crashed", true, RETENTION_ERROR | RETENTION_CRASHED},
        {"error,error", true, RETENTION_ERROR},
        {",", false, 0},
        {"stopped,", false, 0},
        {",stopped", false, 0},
        {"stopped,,error", false, 0},
        {"stopped error", false, 0},
        {"Stopped", false, 0},
        {"stop", false, 0},
        {"active", false, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned got = 0;
        CHECK_INT(retention_parse_status(cases[i].text, &got), cases[i].is_good);
        CHECK_INT(got, cases[i].want);
    }
    CHECK_STR(retention_status_name(RETENTION_STOPPED), "stopped");
    CHECK_STR(retention_status_name(RETENTION_ERROR), "error");
    CHECK_STR(retention_status_name(RETENTION_CRASHED), "crashed");
}
