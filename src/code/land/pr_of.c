/*
 * First gh, then glab: tables of their words, and how each part is made. A word that is not known
 * counts least: a check waits, an author only reads.
 */
#include "code/land/pr_of.h"

#include "base/json.h"
#include "base/number.h"

/* Returns what stands beside a word in a table of pairs, or `other`. */
static const char *look_up(const char *const (*pairs)[2], const char *word, const char *other)
{
    for (; word != NULL && (*pairs)[0] != NULL; pairs++)
        if (strcmp((*pairs)[0], word) == 0)
            return (*pairs)[1];
    return other;
}

/* Returns a file, with the line if there is one. The caller frees it. */
static char *name_place(const char *path, int64_t line)
{
    return mem_printf(line > 0 ? "%s:%" PRId64 : "%s", path, line);
}

/* ---- gh */

static const char *const gh_states[][2] = {
    {"OPEN", "open"}, {"CLOSED", "closed"}, {"MERGED", "merged"}, {NULL, NULL}};
/* Conclusions of a run, and states of a commit. The others ("" and PENDING, but also CANCELLED and
 * ACTION_REQUIRED) wait for a machine or a person: no agent can mend them. */
static const char *const gh_checks[][2] = {{"SUCCESS", "passed"},         {"NEUTRAL", "passed"},
                                           {"SKIPPED", "passed"},         {"FAILURE", "failed"},
                                           {"ERROR", "failed"},           {"TIMED_OUT", "failed"},
                                           {"STARTUP_FAILURE", "failed"}, {NULL, NULL}};
/* A member of the organization, or a collaborator, may be one that only reads. */
static const char *const gh_authors[][2] = {
    {"OWNER", "writes"}, {"MEMBER", "unsure"}, {"COLLABORATOR", "unsure"}, {NULL, NULL}};

/* "https://github.com/o/r/actions/runs/5/job/7": the log is that of job 7. */
static const char *gh_job(const char *url)
{
    const char *last =
        url != NULL && strstr(url, "/actions/runs/") != NULL ? strrchr(url, '/') : "";

    return last[0] == '/' && last[1 + strspn(last + 1, "0123456789")] == '\0' ? last + 1 : "";
}

/* Returns when a run began. One that has not yet is the newest. */
static const char *gh_began(const struct json *run)
{
    const char *at = json_get_text_or(run, "startedAt", "");

    return at[0] == '\0' || str_starts(at, "0001-") ? "9999" : at;
}

/* Returns true if a run of the same check began later, as where something else has started its
 * workflow once more: GitHub has both. Those for two events, such as a push and its pull request,
 * are taken for one: gh does not tell the event. */
static bool is_replaced(const struct json *all, const struct json *check)
{
    static const char *const same[] = {"name", "workflowName"};
    const char *began = gh_began(check);

    for (const struct json *it = json_first(all); it != NULL; it = json_next(it)) {
        bool is = strcmp(gh_began(it), began) > 0;
        for (size_t i = 0; is && i < ARRAY_LEN(same); i++)
            is = strcmp(json_get_text_or(it, same[i], ""), json_get_text_or(check, same[i], "")) ==
                 0;
        if (is)
            return json_get(check, "name") != NULL;
    }
    return false;
}

static void put_check(const struct json *it, struct json_out *out)
{
    bool is_run = json_get(it, "name") != NULL;

    json_put_all(out, JO(NULL), JT("name", json_get_text_or(it, is_run ? "name" : "context", "")),
                 JT("state", look_up(gh_checks, json_get_text(it, is_run ? "conclusion" : "state"),
                                     "pending")),
                 JT("id", gh_job(json_get_text(it, "detailsUrl"))), JOE);
}

static void put_remark(const struct json *it, struct json_out *out)
{
    const char *state = json_get_text_or(it, "state", "");
    const char *text = json_get_text_or(it, "body", "");
    const struct json *author = json_get(it, "author");
    bool by_api = author == NULL; /* to a line: `gh api` has other names */
    bool changes = strcmp(state, "CHANGES_REQUESTED") == 0;
    _cleanup_free_ char *id = mem_printf("line-%" PRId64, json_int(json_get(it, "id"), 0));
    _cleanup_free_ char *path =
        name_place(json_get_text_or(it, "path", ""), json_int(json_get(it, "line"), 0));
    const char *association = by_api ? "author_association" : "authorAssociation";
    const char *who = look_up(gh_authors, json_get_text(it, association), "");

    if ((text[0] == '\0' && !changes) || json_bool(json_get(it, "isMinimized"), false) ||
        (state[0] != '\0' && !changes && strcmp(state, "COMMENTED") != 0))
        return;
    json_put_all(
        out, JO(NULL), JT("id", by_api ? id : json_get_text_or(it, "id", "")),
        JT("author", json_get_text_or(by_api ? json_get(it, "user") : author, "login", "")),
        JB("writes", strcmp(who, "writes") == 0), JB("unsure", strcmp(who, "unsure") == 0),
        JB("changes", changes), JT("path", by_api ? path : ""), JT("text", text), JOE);
}

int pr_of_gh(const struct str *view, const struct str *lines, struct str *ret, struct err *err)
{
    _cleanup_json_ struct json *seen = NULL;
    _cleanup_json_ struct json *said = NULL;
    struct json_out out = {.to = ret};

    if (json_parse(str_text(view), view->len, PR_ANSWER_MAX, &seen, err) == -1 ||
        json_parse(str_text(lines), lines->len, PR_ANSWER_MAX, &said, err) == -1)
        return -1;
    const struct json *const remarks[] = {json_get(seen, "comments"), json_get(seen, "reviews"),
                                          said};
    json_put_all(&out, JO(NULL), JN("number", json_get(seen, "number")),
                 JT("url", json_get_text_or(seen, "url", "")),
                 JT("state", look_up(gh_states, json_get_text(seen, "state"), "")),
                 JT("head", json_get_text_or(seen, "headRefOid", "")), JA("checks"));
    const struct json *checks = json_get(seen, "statusCheckRollup");
    for (const struct json *it = json_first(checks); it != NULL; it = json_next(it))
        if (!is_replaced(checks, it))
            put_check(it, &out);
    json_put_all(&out, JAE, JA("remarks"));
    for (size_t i = 0; i < ARRAY_LEN(remarks); i++)
        for (const struct json *it = json_first(remarks[i]); it != NULL; it = json_next(it))
            put_remark(it, &out);
    json_put_all(&out, JAE, JOE);
    return 0;
}

/* ---- glab */

static const char *const glab_states[][2] = {{"opened", "open"},
                                             {"locked", "open"}, /* it is being merged */
                                             {"closed", "closed"},
                                             {"merged", "merged"},
                                             {NULL, NULL}};
/* States of a pipeline, by which jobs that may fail, or that a person may start, do not count. The
 * others wait for a machine or a person; which jobs have failed, is told of each. */
static const char *const glab_pipelines[][2] = {
    {"SUCCESS", "passed"}, {"SKIPPED", "passed"}, {NULL, NULL}};
/* The roles from level 30 on. */
static const char *const glab_authors[][2] = {
    {"Developer", "writes"}, {"Maintainer", "writes"}, {"Owner", "writes"}, {NULL, NULL}};

/* Returns the first one of the things that a list of GraphQL has, or NULL. */
static const struct json *first_of(const struct json *it, const char *list)
{
    return json_first(json_get(json_get(it, list), "nodes"));
}

static const struct json *find_requests(const struct json *answer)
{
    return first_of(first_of(json_get(answer, "data"), "projects"), "mergeRequests");
}

int pr_of_glab_number(const struct str *found, const char *project, char **ret, struct err *err)
{
    _cleanup_json_ struct json *answer = NULL;

    if (json_parse(str_text(found), found->len, PR_ANSWER_MAX, &answer, err) == -1)
        return -1;
    for (const struct json *it = find_requests(answer); it != NULL; it = json_next(it))
        if (strcasecmp(json_get_text_or(json_get(it, "sourceProject"), "fullPath", ""), project) ==
            0) {
            *ret = mem_dup(json_get_text_or(it, "iid", ""));
            return 0;
        }
    return err_set(err, MAS_NOT_FOUND, "there is no such merge request");
}

/* "gid://gitlab/Ci::Build/7": 7. Returns "" for what is of another kind, or has no number. */
static const char *glab_id(const struct json *it, const char *kind)
{
    const char *id = json_get_text_or(it, "id", "");
    const char *number = str_starts(id, kind) ? id + strlen(kind) : "";

    return number[strspn(number, "0123456789")] == '\0' ? number : "";
}

/* A job of the pipeline that has failed, if that is not allowed. Returns true then. */
static bool put_job(const struct json *it, const char *project, struct json_out *out)
{
    const char *number = glab_id(it, "gid://gitlab/Ci::Build/");
    _cleanup_free_ char *log = mem_printf("%s/jobs/%s", project, number);
    bool has_log = number[0] != '\0' && project[0] != '\0';

    if (json_bool(json_get(it, "allowFailure"), false))
        return false;
    json_put_all(out, JO(NULL), JT("name", json_get_text_or(it, "name", "")), JT("state", "failed"),
                 JT("id", has_log ? log : ""), JB("part", true), JOE);
    return true;
}

/* The newest pipeline, behind its jobs that have failed. It may have failed without one, as by a
 * mistake in its YAML. */
static void put_pipeline(const struct json *it, struct json_out *out)
{
    const char *project = glab_id(json_get(it, "project"), "gid://gitlab/Project/");
    const char *state = json_get_text(it, "status");
    bool told = false;

    if (state == NULL)
        return;
    for (const struct json *job = first_of(it, "jobs"); job != NULL; job = json_next(job))
        told = put_job(job, project, out) || told;
    const char *other = !told && strcmp(state, "FAILED") == 0 ? "failed" : "pending";
    json_put_all(out, JO(NULL), JT("name", "pipeline"),
                 JT("state", look_up(glab_pipelines, state, other)), JOE);
}

static bool wants_changes(const struct json *reviewer, const char *author)
{
    for (; reviewer != NULL; reviewer = json_next(reviewer))
        if (strcmp(json_get_text_or(reviewer, "username", ""), author) == 0)
            return strcmp(json_get_text_or(json_get(reviewer, "mergeRequestInteraction"),
                                           "reviewState", ""),
                          "REQUESTED_CHANGES") == 0;
    return false;
}

static void put_note(const struct json *it, const struct json *reviewers, struct json_out *out)
{
    const char *author = json_get_text_or(json_get(it, "author"), "username", "");
    const struct json *at = json_get(it, "position");
    _cleanup_free_ char *path =
        name_place(json_get_text_or(at, "newPath", ""), json_int(json_get(at, "newLine"), 0));
    const char *role = json_get_text(it, "maxAccessLevelOfAuthor");

    if (json_bool(json_get(it, "system"), true) || json_bool(json_get(it, "resolved"), false))
        return;
    json_put_all(out, JO(NULL), JT("id", json_get_text_or(it, "id", "")), JT("author", author),
                 JB("writes", look_up(glab_authors, role, NULL) != NULL),
                 JB("changes", wants_changes(reviewers, author)), JT("path", path),
                 JT("text", json_get_text_or(it, "body", "")), JOE);
}

int pr_of_glab(const struct str *view, struct str *ret, struct err *err)
{
    static const char *const notes[] = {"begin", "end"};
    _cleanup_json_ struct json *seen = NULL;
    struct json_out out = {.to = ret};
    uint64_t number = 0;

    if (json_parse(str_text(view), view->len, PR_ANSWER_MAX, &seen, err) == -1)
        return -1;
    const struct json *it = find_requests(seen);
    (void)number_parse_count(json_get_text_or(it, "iid", ""), INT64_MAX, &number);
    json_put_all(&out, JO(NULL), JI("number", number),
                 JT("url", json_get_text_or(it, "webUrl", "")),
                 JT("state", look_up(glab_states, json_get_text(it, "state"), "")),
                 JT("head", json_get_text_or(it, "diffHeadSha", "")), JA("checks"));
    put_pipeline(json_get(it, "headPipeline"), &out);
    json_put_all(&out, JAE, JA("remarks"));
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        for (const struct json *note = first_of(it, notes[i]); note != NULL; note = json_next(note))
            put_note(note, first_of(it, "reviewers"), &out);
    json_put_all(&out, JAE, JOE);
    return 0;
}
