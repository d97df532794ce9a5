#include "unit.h"

#include "cli/errand/pr_prompt.h"
#include "code/land/pr.h"
#include "code/land/pr_of.h"

#define HEAD "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* As gh 2.23 of Debian 12 has printed it, asking a server that answered as GitHub does. */
static const char view[] =
    "{\"comments\":[{\"id\":\"IC_1\",\"author\":{\"login\":\"alice\"},\"authorAssociation\":"
    "\"MEMBER\",\"body\":\"hi\",\"createdAt\":\"2023-01-01T00:00:00Z\",\"includesCreatedEdit\":"
    "false,\"isMinimized\":false,\"minimizedReason\":\"\",\"reactionGroups\":[],"
    "\"viewerDidAuthor\":false},{\"id\":\"IC_2\",\"author\":{\"login\":\"eve\"},"
    "\"authorAssociation\":\"OWNER\",\"body\":\"spam\",\"isMinimized\":true}],"
    "\"headRefOid\":\"" HEAD
    "\",\"number\":12,\"reviews\":[{\"id\":\"PRR_1\",\"author\":{\"login\":\"bob\"},"
    "\"authorAssociation\":\"NONE\",\"body\":\"bad\",\"submittedAt\":\"2023-01-01T00:00:00Z\","
    "\"includesCreatedEdit\":false,\"reactionGroups\":[],\"state\":\"CHANGES_REQUESTED\","
    "\"commit\":{\"oid\":\"\"}},{\"id\":\"PRR_2\",\"author\":{\"login\":\"alice\"},"
    "\"authorAssociation\":\"COLLABORATOR\",\"body\":\"\",\"state\":\"COMMENTED\"},"
    "{\"id\":\"PRR_3\",\"author\":{\"login\":\"alice\"},\"authorAssociation\":\"OWNER\",\"body\":"
    "\"fine\",\"state\":\"APPROVED\"}],\"state\":\"OPEN\",\"statusCheckRollup\":["
    "{\"__typename\":\"CheckRun\",\"completedAt\":\"2023-01-01T00:00:00Z\",\"conclusion\":"
    "\"FAILURE\",\"detailsUrl\":\"https://github.com/o/r/actions/runs/5/jobs/7\",\"name\":"
    "\"build\",\"startedAt\":\"2023-01-01T00:00:00Z\",\"status\":\"COMPLETED\",\"workflowName\":"
    "\"\"},{\"__typename\":\"CheckRun\",\"completedAt\":\"0001-01-01T00:00:00Z\",\"conclusion\":"
    "\"\",\"detailsUrl\":\"https://github.com/o/r/actions/runs/5/job/8\",\"name\":\"slow\","
    "\"startedAt\":\"2023-01-01T00:00:00Z\",\"status\":\"IN_PROGRESS\",\"workflowName\":\"\"},"
    "{\"__typename\":\"StatusContext\",\"context\":\"ci/x\",\"startedAt\":\"0001-01-01T00:00:00Z\","
    "\"state\":\"SUCCESS\",\"targetUrl\":\"http://x\"}],"
    "\"url\":\"https://github.com/o/r/pull/12\"}";
static const char lines[] =
    "[{\"id\": 77, \"user\": {\"login\": \"alice\"}, \"author_association\": \"OWNER\", \"body\": "
    "\"line\", \"path\": \"src/a.c\", \"line\": 3},{\"id\": 78, \"user\": {\"login\": \"eve\"}, "
    "\"author_association\": \"CONTRIBUTOR\", \"body\": \"x\", \"path\": \"b\", \"line\": null}]";

static int map(const char *seen, const char *said, struct pr *ret, struct err *err)
{
    _cleanup_str_ struct str v = STR_INIT, l = STR_INIT, answer = STR_INIT;

    str_add(&v, seen);
    str_add(&l, said);
    return pr_of_gh(&v, &l, &answer, err) == -1 ? -1 : pr_read(answer.data, answer.len, ret, err);
}

struct said_check {
    const char *id, *name;
    enum pr_check_state state;
};
struct said_remark {
    const char *id, *author, *path, *text;
    bool writes, unsure, changes;
};

static void check_read(const struct pr *pr, const struct said_check *checks, size_t check_count,
                       const struct said_remark *remarks, size_t remark_count)
{
    CHECK(pr->number == 12 && pr->state == PR_OPEN);
    CHECK_STR(pr->head, HEAD);
    REQUIRE(pr->check_count == check_count && pr->remark_count == remark_count);
    for (size_t i = 0; i < check_count; i++) {
        CHECK_STR(pr->checks[i].id, checks[i].id);
        CHECK_STR(pr->checks[i].name, checks[i].name);
        CHECK(pr->checks[i].state == checks[i].state);
    }
    for (size_t i = 0; i < remark_count; i++) {
        CHECK_STR(pr->remarks[i].id, remarks[i].id);
        CHECK_STR(pr->remarks[i].author, remarks[i].author);
        CHECK_STR(pr->remarks[i].path, remarks[i].path);
        CHECK_STR(pr->remarks[i].text, remarks[i].text);
        CHECK(pr->remarks[i].writes == remarks[i].writes);
        CHECK(pr->remarks[i].unsure == remarks[i].unsure);
        CHECK(pr->remarks[i].changes == remarks[i].changes);
    }
}

TEST(what_gh_prints_is_read)
{
    static const struct said_remark remarks[] = {
        {"IC_1", "alice", "", "hi", false, true, false}, /* a member */
        {"PRR_1", "bob", "", "bad", false, false, true},
        {"line-77", "alice", "src/a.c:3", "line", true, false, false},
        {"line-78", "eve", "b", "x", false, false, false}};
    static const struct said_check checks[] = {
        {"7", "build", PR_FAILED}, {"8", "slow", PR_PENDING}, {"", "ci/x", PR_PASSED}};
    _cleanup_pr_ struct pr pr = PR_INIT;
    struct err err = ERR_INIT;

    REQUIRE(map(view, lines, &pr, &err) == 0);
    CHECK_STR(pr.url, "https://github.com/o/r/pull/12");
    check_read(&pr, checks, ARRAY_LEN(checks), remarks, ARRAY_LEN(remarks));
}

TEST(each_word_of_a_check_is_known_or_waits)
{
    static const struct {
        const char *word;
        enum pr_check_state want;
    } cases[] = {{"SUCCESS", PR_PASSED},    {"NEUTRAL", PR_PASSED},
                 {"SKIPPED", PR_PASSED},    {"FAILURE", PR_FAILED},
                 {"TIMED_OUT", PR_FAILED},  {"STARTUP_FAILURE", PR_FAILED},
                 {"CANCELLED", PR_PENDING}, {"", PR_PENDING},
                 {"NEW", PR_PENDING},       {"ACTION_REQUIRED", PR_PENDING}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text = mem_printf(
            "{\"number\":1,\"state\":\"MERGED\",\"headRefOid\":\"" HEAD
            "\",\"statusCheckRollup\":[{\"name\":\"n\",\"conclusion\":\"%s\",\"detailsUrl\":"
            "\"https://ci.example/actions/7\"}]}",
            cases[i].word);
        _cleanup_pr_ struct pr pr = PR_INIT;
        struct err err = ERR_INIT;
        REQUIRE(map(text, "[]", &pr, &err) == 0);
        CHECK(pr.state == PR_MERGED && pr.checks[0].state == cases[i].want);
        CHECK_STR(pr.checks[0].id, "");
    }
}

TEST(of_runs_of_one_check_the_last_counts)
{
#define RUN(name, of, at, is)                                                                      \
    "{\"name\":\"" name "\",\"workflowName\":\"" of "\",\"startedAt\":\"2023-01-01T00:0" at        \
    ":00Z\",\"conclusion\":\"" is "\"}"
    static const char text[] =
        "{\"number\":1,\"state\":\"OPEN\",\"headRefOid\":\"" HEAD
        "\",\"statusCheckRollup\":[" RUN("a", "w", "1", "FAILURE") "," RUN(
            "a", "w", "2",
            "SUCCESS") "," RUN("a", "v", "0",
                               "FAILURE") "," RUN("b", "w", "0",
                                                  "") ",{\"context\":\"a\",\"state\":\"ERROR\","
                                                      "\"startedAt\":\"0001-01-01T00:00:00Z\"}]}";
    static const enum pr_check_state want[] = {PR_PASSED, PR_FAILED, PR_PENDING, PR_FAILED};
    _cleanup_pr_ struct pr pr = PR_INIT;
    struct err err = ERR_INIT;

    REQUIRE(map(text, "[]", &pr, &err) == 0);
    REQUIRE(pr.check_count == ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK(pr.checks[i].state == want[i]);
}

TEST(a_run_that_has_not_begun_is_the_last)
{
    static const char *const at[] = {"0001-01-01T00:00:00Z", ""};

    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        _cleanup_free_ char *text = mem_printf(
            "{\"number\":1,\"state\":\"OPEN\",\"headRefOid\":\"" HEAD
            "\",\"statusCheckRollup\":[" RUN(
                "a", "w", "1",
                "FAILURE") ",{\"name\":\"a\","
                           "\"workflowName\":\"w\",\"startedAt\":\"%s\",\"conclusion\":\"\"}]}",
            at[i]);
        _cleanup_pr_ struct pr pr = PR_INIT;
        struct err err = ERR_INIT;
        REQUIRE(map(text, "[]", &pr, &err) == 0 && pr.check_count == 1);
        CHECK(pr.checks[0].state == PR_PENDING);
    }
}

TEST(a_damaged_list_of_what_was_given_is_no_trouble)
{
    static const char text[] =
        "{\"number\":1,\"state\":\"open\",\"head\":\"" HEAD "\",\"remarks\":[{\"id\":\"1\","
        "\"author\":\"alice\",\"text\":\"hi\",\"writes\":true}]}";
    static const size_t want[] = {17, 17, 16 + 17}; /* the third time the end is missing */
    const struct pr_forge forge = PR_FORGE_INIT;
    _cleanup_free_ char *given = mem_dup("");
    _cleanup_free_ char *known = mem_dup("");
    _cleanup_pr_ struct pr pr = PR_INIT;
    struct err err = ERR_INIT;

    REQUIRE(pr_read(text, strlen(text), &pr, &err) == 0);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        _cleanup_str_ struct str to = STR_INIT;
        given[i == 2 ? 16 : strlen(given)] = '\0';
        CHECK(!pr_prompt_collect(&forge, &pr, &given, &known, &to));
        CHECK((to.len > 0) == (i != 1));
        CHECK_INT((int)strlen(given), (int)want[i]);
    }
}

TEST(a_forge_that_wants_to_be_asked_less_is_known)
{
    static const struct {
        const char *said; /* as gh 2.23 does */
        bool want;
    } cases[] = {
        {"gh: HTTP 403: API rate limit exceeded for user ID 1. (https://api.github.com/graphql)",
         true},
        {"gh: You have exceeded a secondary rate limit. (HTTP 403)", true},
        {"gh: GraphQL: API rate limit exceeded for user ID 1.", true},
        {"gh: HTTP 429 (https://api.github.com/graphql)", true},
        {"glab: HTTP 429", true}, /* glab 1.53 */
        {"glab: error parsing \"p\" value: GET https://gitlab.com/api/v4/projects/o/r: 429 failed "
         "to "
         "parse unknown error format: Retry later",
         true},
        {"gh: HTTP 403: Resource not accessible (https://api.github.com/graphql)", false},
        {"gh: HTTP 502 (https://api.github.com/graphql)", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err why = ERR_INIT;
        (void)err_set(&why, MAS_FAILED, "%s", cases[i].said);
        CHECK(pr_is_limited(&why) == cases[i].want);
    }
}

/* As glab 1.53 of Debian 13 prints what GitLab answers: a merge request with these members. */
static int map_gitlab(const char *more, struct pr *ret, struct err *err)
{
    _cleanup_str_ struct str seen = STR_INIT, answer = STR_INIT;

    str_addf(&seen,
             "{\"data\":{\"projects\":{\"nodes\":[{\"mergeRequests\":{\"nodes\":[{\"iid\":\"12\","
             "\"webUrl\":\"https://gitlab.com/o/r/-/merge_requests/12\",\"diffHeadSha\":\"" HEAD
             "\",%s}]}}]}}}",
             more);
    return pr_of_glab(&seen, &answer, err) == -1 ? -1 : pr_read(answer.data, answer.len, ret, err);
}

static const char gitlab[] =
    "\"state\":\"opened\",\"reviewers\":{\"nodes\":[{\"username\":\"bob\","
    "\"mergeRequestInteraction\":{\"reviewState\":\"REQUESTED_CHANGES\"}},{\"username\":\"alice\","
    "\"mergeRequestInteraction\":{\"reviewState\":\"REVIEWED\"}}]},\"headPipeline\":{\"status\":"
    "\"FAILED\",\"project\":{\"id\":\"gid://gitlab/Project/5\"},\"jobs\":{\"nodes\":[{\"id\":"
    "\"gid://gitlab/Ci::Build/7\",\"name\":\"test: [a, b]\",\"allowFailure\":false},{\"id\":"
    "\"gid://gitlab/Ci::Build/8\",\"name\":\"lint\",\"allowFailure\":true},{\"id\":"
    "\"gid://gitlab/Ci::Bridge/9\",\"name\":\"below\",\"allowFailure\":false},{\"id\":"
    "\"gid://gitlab/Ci::Build/7/../8\",\"name\":\"odd\",\"allowFailure\":false}]}},\"begin\":"
    "{\"nodes\":[{\"id\":\"gid://gitlab/Note/1\",\"body\":\"added 1 commit\",\"system\":true,"
    "\"resolved\":false,\"maxAccessLevelOfAuthor\":\"Owner\",\"author\":{\"username\":\"alice\"},"
    "\"position\":null},{\"id\":\"gid://gitlab/DiffNote/2\",\"body\":\"done\",\"system\":false,"
    "\"resolved\":true,\"maxAccessLevelOfAuthor\":\"Owner\",\"author\":{\"username\":\"alice\"},"
    "\"position\":null},{\"id\":\"gid://gitlab/DiffNote/3\",\"body\":\"line\",\"system\":false,"
    "\"resolved\":false,\"maxAccessLevelOfAuthor\":\"Developer\",\"author\":{\"username\":"
    "\"alice\"},\"position\":{\"newPath\":\"src/"
    "a.c\",\"newLine\":3}}]},\"end\":{\"nodes\":[{\"id\":"
    "\"gid://gitlab/DiffNote/4\",\"body\":\"gone\",\"system\":false,\"resolved\":false,"
    "\"maxAccessLevelOfAuthor\":\"Reporter\",\"author\":{\"username\":\"bob\"},\"position\":"
    "{\"newPath\":\"b\",\"newLine\":null}},{\"id\":\"gid://gitlab/Note/5\",\"body\":\"hi\","
    "\"system\":false,\"resolved\":false,\"maxAccessLevelOfAuthor\":null,\"author\":null,"
    "\"position\":null}]}";

TEST(what_glab_prints_is_read)
{
    static const struct said_check checks[] = {{"5/jobs/7", "test: [a, b]", PR_FAILED},
                                               {"", "below", PR_FAILED},
                                               {"", "odd", PR_FAILED},
                                               {"", "pipeline", PR_PENDING}};
    static const struct said_remark remarks[] = {
        {"gid://gitlab/DiffNote/3", "alice", "src/a.c:3", "line", true, false, false},
        {"gid://gitlab/DiffNote/4", "bob", "b", "gone", false, false, true},
        {"gid://gitlab/Note/5", "", "", "hi", false, false, false}};
    _cleanup_pr_ struct pr pr = PR_INIT;
    struct err err = ERR_INIT;

    REQUIRE(map_gitlab(gitlab, &pr, &err) == 0);
    CHECK_STR(pr.url, "https://gitlab.com/o/r/-/merge_requests/12");
    for (size_t i = 0; i < pr.check_count; i++)
        CHECK(pr.checks[i].part == (strcmp(pr.checks[i].name, "pipeline") != 0));
    check_read(&pr, checks, ARRAY_LEN(checks), remarks, ARRAY_LEN(remarks));
}

TEST(each_state_of_a_merge_request_and_its_pipeline_is_known)
{
    static const struct {
        const char *state, *pipeline;
        enum pr_state want;
        enum pr_check_state want_check;
    } cases[] = {
        {"opened", "SUCCESS", PR_OPEN, PR_PASSED},     {"locked", "SKIPPED", PR_OPEN, PR_PASSED},
        {"merged", "MANUAL", PR_MERGED, PR_PENDING},   {"closed", "RUNNING", PR_CLOSED, PR_PENDING},
        {"closed", "CANCELED", PR_CLOSED, PR_PENDING}, {"closed", "NEW", PR_CLOSED, PR_PENDING},
        {"opened", "FAILED", PR_OPEN, PR_FAILED}}; /* and no job: its YAML is wrong */
    _cleanup_pr_ struct pr none = PR_INIT;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *text =
            mem_printf("\"state\":\"%s\",\"headPipeline\":{\"status\":\"%s\",\"jobs\":null}",
                       cases[i].state, cases[i].pipeline);
        _cleanup_pr_ struct pr pr = PR_INIT;
        REQUIRE(map_gitlab(text, &pr, &err) == 0 && pr.check_count == 1);
        CHECK(pr.state == cases[i].want && pr.checks[0].state == cases[i].want_check);
    }
    CHECK(map_gitlab("\"state\":\"opened\",\"headPipeline\":null", &none, &err) == 0);
    CHECK(none.check_count == 0 && none.remark_count == 0);
}

TEST(a_merge_request_is_that_of_the_own_project)
{
#define FOUND(nodes)                                                                               \
    "{\"data\":{\"projects\":{\"nodes\":[{\"mergeRequests\":{\"nodes\":[" nodes "]}}]}}}"
#define FROM(iid, path) "{\"iid\":\"" iid "\",\"sourceProject\":" path "}"
    static const struct {
        const char *said, *want; /* NULL: none */
    } cases[] = {
        {FOUND(FROM("14", "null") "," FROM("13", "{\"fullPath\":\"eve/r\"}") "," FROM(
             "12", "{\"fullPath\":\"O/r\"}") "," FROM("11", "{\"fullPath\":\"o/r\"}")),
         "12"},
        {FOUND(FROM("13", "{\"fullPath\":\"eve/r\"}")), NULL},
        {FOUND(""), NULL},
        {"{\"data\":{\"projects\":{\"nodes\":[]}}}", NULL},
        {"{\"data\":null}", NULL},
        {"Retry later", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_str_ struct str said = STR_INIT;
        _cleanup_free_ char *number = NULL;
        struct err err = ERR_INIT;
        str_add(&said, cases[i].said);
        CHECK((pr_of_glab_number(&said, "o/r", &number, &err) == 0) == (cases[i].want != NULL));
        if (cases[i].want != NULL)
            CHECK_STR(number, cases[i].want);
    }
}

TEST(what_is_no_answer_is_refused)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"number\":0,\"state\":\"open\",\"head\":\"" HEAD "\"}", "number"},
        {"{\"number\":1,\"state\":\"OPEN\",\"head\":\"" HEAD "\"}", "state"},
        {"{\"number\":1,\"state\":\"open\",\"head\":\"--all\"}", "head"},
        {"{\"number\":1,\"state\":\"open\",\"head\":\"" HEAD "\",\"url\":\"a\\nb\"}", "url"},
        {"{\"number\":1,\"state\":\"open\",\"head\":\"" HEAD "\",\"checks\":[{\"name\":\"x\"}]}",
         "state"},
        {"{\"number\":1,\"state\":\"open\",\"head\":\"" HEAD
         "\",\"remarks\":[{\"id\":\"1\",\"author\":\"x\"}]}",
         "text"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *want = mem_printf("its answer has no good '%s'", cases[i].want);
        struct pr pr = PR_INIT;
        struct err err = ERR_INIT;
        CHECK(pr_read(cases[i].text, strlen(cases[i].text), &pr, &err) == -1);
        CHECK_STR(err.text, want);
        CHECK(pr.url == NULL);
    }
}
