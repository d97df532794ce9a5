/*
 * First the answer that mas reads, a table of members; then what gh prints, and how that is made of
 * it; then the programs, a row each, and how they are run: without a shell, in the project, with
 * time and output limited. Of a log only the end is kept, however long it is.
 */
#include "code/land/pr.h"

#include "base/env.h"
#include "code/land/forge.h"
#include "model/member.h"
#include "os/path.h"

enum {
    ANSWER_MAX = 8 << 20,
    ASK_MS = 60000,
    LOG_MS = 300000,
    WORDS_MAX = 24,
    AUTHOR_MAX = 100,
    SAID_MAX = 400, /* bytes of a program's words in an error */
};

/* ---- the answer */

static const char *const states[] = {"open", "closed", "merged", NULL};
static const char *const check_states[] = {"pending", "passed", "failed", NULL};

static const struct value_type number_type = {VALUE_NUMBER, .min = 1, .max = INT64_C(1) << 50},
                               state_type = {VALUE_WORD, .words = states},
                               check_state_type = {VALUE_WORD, .words = check_states},
                               id_type = {VALUE_TEXT, .max = 255, .line = true},
                               line_type = {VALUE_TEXT, .max = PATH_MAX, .line = true},
                               url_type = {VALUE_TEXT, .max = 1000, .line = true},
                               head_type = {VALUE_TEXT, .min = 1, .fits = git_is_oid};

static const struct member members[] = {
    {MEMBER("number", number_type, struct pr, number), .how = MEMBER_NEEDED},
    {MEMBER("state", state_type, struct pr, state), .how = MEMBER_NEEDED},
    {MEMBER("head", head_type, struct pr, head), .how = MEMBER_NEEDED},
    {MEMBER("url", url_type, struct pr, url)},
    MEMBER_END,
};

static const struct member check_members[] = {
    {MEMBER("name", line_type, struct pr_check, name), .how = MEMBER_NEEDED},
    {MEMBER("state", check_state_type, struct pr_check, state), .how = MEMBER_NEEDED},
    {MEMBER("id", id_type, struct pr_check, id)},
    MEMBER_END,
};

static const struct member remark_members[] = {
    {MEMBER("id", id_type, struct pr_remark, id), .how = MEMBER_NEEDED},
    {MEMBER("author", line_type, struct pr_remark, author), .how = MEMBER_NEEDED},
    {MEMBER("text", value_text, struct pr_remark, text), .how = MEMBER_NEEDED},
    {MEMBER("path", line_type, struct pr_remark, path)},
    MEMBER_END,
};

void pr_free(struct pr *pr)
{
    members_free(members, pr);
    for (size_t i = 0; i < pr->check_count; i++)
        members_free(check_members, &pr->checks[i]);
    for (size_t i = 0; i < pr->remark_count; i++)
        members_free(remark_members, &pr->remarks[i]);
    free(pr->checks);
    free(pr->remarks);
    *pr = (struct pr)PR_INIT;
}

static const struct member *read_parts(const struct json *answer, struct pr *to)
{
    const struct member *wrong = NULL;

    for (const struct json *it = json_first(json_get(answer, "checks")); it != NULL && !wrong;
         it = json_next(it)) {
        to->checks = mem_room(to->checks, to->check_count, sizeof *to->checks);
        struct pr_check *check = &to->checks[to->check_count++];
        *check = (struct pr_check){.id = NULL};
        members_fill(check_members, check);
        wrong = members_read(check_members, it, check);
    }
    for (const struct json *it = json_first(json_get(answer, "remarks")); it != NULL && !wrong;
         it = json_next(it)) {
        to->remarks = mem_room(to->remarks, to->remark_count, sizeof *to->remarks);
        struct pr_remark *remark = &to->remarks[to->remark_count++];
        *remark = (struct pr_remark){.writes = json_bool(json_get(it, "writes"), false),
                                     .unsure = json_bool(json_get(it, "unsure"), false),
                                     .changes = json_bool(json_get(it, "changes"), false)};
        members_fill(remark_members, remark);
        wrong = members_read(remark_members, it, remark);
    }
    return wrong;
}

int pr_read(const char *text, size_t len, struct pr *ret, struct err *err)
{
    _cleanup_json_ struct json *answer = NULL;
    _cleanup_pr_ struct pr pr = PR_INIT;

    members_fill(members, &pr);
    if (json_parse(text, len, ANSWER_MAX, &answer, err) == -1)
        return -1;
    const struct member *wrong = members_read(members, answer, &pr);
    wrong = wrong != NULL ? wrong : read_parts(answer, &pr);
    if (wrong != NULL)
        return err_set(err, MAS_DAMAGED, "its answer has no good '%s'", wrong->key);
    *ret = pr;
    pr = (struct pr)PR_INIT;
    return 0;
}

/* ---- gh */

/* Returns what stands beside a word in a table of pairs, or `other`. */
static const char *look_up(const char *const (*pairs)[2], const char *word, const char *other)
{
    for (; word != NULL && (*pairs)[0] != NULL; pairs++)
        if (strcmp((*pairs)[0], word) == 0)
            return (*pairs)[1];
    return other;
}

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

/* Returns true if a run of the same check began later, as where something else has started its
 * workflow once more: GitHub has both. */
static bool is_replaced(const struct json *all, const struct json *check)
{
    static const char *const same[] = {"name", "workflowName"};
    const char *began = json_get_text_or(check, "startedAt", "");

    for (const struct json *it = json_first(all); it != NULL; it = json_next(it)) {
        bool is = strcmp(json_get_text_or(it, "startedAt", ""), began) > 0;
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
    int64_t line = json_int(json_get(it, "line"), 0);
    _cleanup_free_ char *path =
        mem_printf(line > 0 ? "%s:%" PRId64 : "%s", json_get_text_or(it, "path", ""), line);
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

    if (json_parse(str_text(view), view->len, ANSWER_MAX, &seen, err) == -1 ||
        json_parse(str_text(lines), lines->len, ANSWER_MAX, &said, err) == -1)
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

/* ---- the programs */

/* Their command lines; "%0" stands for the first value, and so on. Debian 12 has gh 2.23. */
struct pr_program {
    const char *view[WORDS_MAX]; /* which pull request */
    const char *lines[WORDS_MAX]; /* its number; none: `view` tells all, in the form of mas */
    const char *open[WORDS_MAX]; /* head, base, title, body */
    const char *log[WORDS_MAX]; /* the id of a check */
    const char *failed; /* the last line of it with this is the end of what failed; NULL: all is */
    const char *access[WORDS_MAX]; /* an author; none: `view` tells it */
    const char *owner[WORDS_MAX]; /* of the repository that it asks; none: a branch has one name */
};

static const struct pr_program
    own = {.view = {"view", "%0"}, .open = {"open", "%0", "%1", "%2", "%3"}, .log = {"log", "%0"}},
    gh = {.view = {"pr", "view", "%0", "--json",
                   "number,url,state,headRefOid,statusCheckRollup,reviews,comments"},
          .lines = {"api", "repos/{owner}/{repo}/pulls/%0/comments"
                           "?per_page=100&sort=created&direction=desc"},
          .open = {"pr", "create", "--head", "%0", "--base", "%1", "--title", "%2", "--body", "%3"},
          /* `gh run view --log-failed` has none before the last job of the run has ended, nor one
           * of a job with a slash in its name */
          .log = {"api", "repos/{owner}/{repo}/actions/jobs/%0/logs"},
          .failed = "##[error]",
          .access = {"api", "repos/{owner}/{repo}/collaborators/%0/permission"},
          .owner = {"repo", "view", "--json", "owner"}};

void pr_forge_free(struct pr_forge *forge)
{
    free(forge->file);
    strv_free(forge->words);
    free(forge->dir);
}

int pr_find_forge(const struct config *config, const char *dir, struct pr_forge *ret,
                  struct err *err)
{
    const char *command = config_text(config, SETTING_FORGE_COMMAND);
    bool is_own = command[0] != '\0';
    _cleanup_strv_ char **words = NULL;

    if (str_split_words(is_own ? command : "gh", &words, err) == -1)
        return -1;
    _cleanup_free_ char *file = path_find_program(words[0], getenv("PATH"), -1);
    if (is_own && file == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot find '%s', which [forge] command names",
                       words[0]);
    *ret = (struct pr_forge){.name = is_own ? "[forge] command" : "gh",
                             .file = TAKE_PTR(file),
                             .words = TAKE_PTR(words),
                             .dir = mem_dup(dir),
                             .as = is_own ? &own : &gh};
    return 0;
}

static char *make_word(const char *word, const char *const *values)
{
    const char *mark = strchr(word, '%');

    return mark == NULL
               ? mem_dup(word)
               : mem_printf("%.*s%s%s", (int)(mark - word), word, values[mark[1] - '0'], mark + 2);
}

/* Fails with the first line that a program has said, which is above its usage, but for warnings: gh
 * has one for a work tree with changes. */
static int fail_said(const struct pr_forge *forge, const struct proc_result *result,
                     struct err *err)
{
    _cleanup_str_ struct str said = STR_INIT;
    _cleanup_free_ char *itself = mem_printf("%s: ", forge->name);
    const char *text = str_text(&result->err);

    while (str_starts(text, "Warning: ") && strchr(text, '\n') != NULL)
        text = strchr(text, '\n') + 1;
    text += str_starts(text, itself) ? strlen(itself) : 0;
    size_t len = strcspn(text, "\n");
    str_add_visible(&said, text, len < SAID_MAX ? len : str_cut(text, len, SAID_MAX));
    return said.len == 0
               ? err_set(err, MAS_FAILED, "%s ended with exit code %d", forge->name, result->status)
               : err_set(err, MAS_FAILED, "%s%s", itself, said.data);
}

bool pr_is_limited(const struct err *why)
{
    return strcasestr(why->text, "rate limit") != NULL || strstr(why->text, "HTTP 429") != NULL;
}

static int run(const struct pr_forge *forge, const char *const *words, const char *const *values,
               bool is_log, struct proc_result *ret, struct err *err)
{
    _cleanup_strv_ char **argv = NULL;
    _cleanup_strv_ char **env = NULL;
    _cleanup_close_ int cwd = open(forge->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (cwd == -1)
        return err_errno(err, "cannot open '%s'", forge->dir);
    strv_push_all(&argv, forge->words);
    for (; *words != NULL; words++) {
        _cleanup_free_ char *word = make_word(*words, values);
        strv_push(&argv, word);
    }
    strv_push_all(&env, environ);
    env_drop(env, "CLICOLOR_FORCE"); /* by these gh colours also what mas is to read */
    env_drop(env, "GH_FORCE_TTY");
    const struct proc_spec spec = {.file = forge->file,
                                   .argv = argv,
                                   .envp = env,
                                   .cwd = cwd,
                                   .output_max = is_log ? PR_LOG_MAX : ANSWER_MAX,
                                   .tail = is_log,
                                   .timeout_ms = is_log ? LOG_MS : ASK_MS,
                                   .bound = true,
                                   .whole = true};
    if (proc_capture(&spec, ret, err) == -1)
        return -1;
    return ret->status == 0 ? 0 : fail_said(forge, ret, err);
}

char *pr_branch_name(const struct pr_forge *forge, const char *url, const char *branch)
{
    _cleanup_result_ struct proc_result view = PROC_RESULT_INIT;
    _cleanup_json_ struct json *answer = NULL;
    _cleanup_free_ char *owner = forge_owner(url);
    struct err ignored = ERR_INIT; /* what comes next fails, too, and says why */

    if (owner == NULL || forge->as->owner[0] == NULL ||
        run(forge, forge->as->owner, NULL, false, &view, &ignored) == -1 ||
        json_parse(str_text(&view.out), view.out.len, ANSWER_MAX, &answer, &ignored) == -1)
        return mem_dup(branch);
    const char *asked = json_get_text_or(json_get(answer, "owner"), "login", owner);
    return strcasecmp(asked, owner) == 0 ? mem_dup(branch) : mem_printf("%s:%s", owner, branch);
}

int pr_ask(const struct pr_forge *forge, const char *which, struct pr *ret, struct err *err)
{
    _cleanup_result_ struct proc_result view = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result lines = PROC_RESULT_INIT;
    _cleanup_json_ struct json *seen = NULL;
    _cleanup_str_ struct str answer = STR_INIT;
    int rc = run(forge, forge->as->view, &which, false, &view, err);

    if (rc == -1 || forge->as->lines[0] == NULL)
        return rc == -1 ? -1 : pr_read(str_text(&view.out), view.out.len, ret, err);
    if (json_parse(str_text(&view.out), view.out.len, ANSWER_MAX, &seen, err) == -1)
        return err_wrap(err, "cannot read what %s says", forge->name);
    _cleanup_free_ char *number = mem_printf("%" PRId64, json_int(json_get(seen, "number"), 0));
    if (run(forge, forge->as->lines, (const char *const[]){number}, false, &lines, err) == -1)
        return -1;
    return pr_of_gh(&view.out, &lines.out, &answer, err) == -1 ||
                   pr_read(answer.data, answer.len, ret, err) == -1
               ? err_wrap(err, "cannot read what %s says", forge->name)
               : 0;
}

int pr_open(const struct pr_forge *forge, const char *head, const char *base, const char *message,
            char **ret_url, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const char *title = message != NULL ? message : head;
    const char *body = strchr(title, '\n');
    _cleanup_free_ char *first = mem_dupn(title, strcspn(title, "\n"));
    const char *const values[] = {head, base, first, body != NULL ? body + strspn(body, "\n") : ""};

    if (run(forge, forge->as->open, values, false, &result, err) == -1)
        return err_wrap(err, "cannot open a pull request");
    const char *text = str_text(&result.out);
    *ret_url = mem_dupn(text, strcspn(text, "\n"));
    return 0;
}

/* Returns where the last line of a text with a mark ends; without one, where the text does. */
static size_t find_end(const char *text, size_t len, const char *mark)
{
    const char *end = text + len;
    const char *last = NULL;

    for (const char *at = text; (at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL;)
        last = at++;
    const char *line = last != NULL ? memchr(last, '\n', (size_t)(end - last)) : NULL;
    return line != NULL ? (size_t)(line - text) : len;
}

int pr_log(const struct pr_forge *forge, const struct pr_check *check, struct str *to,
           struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    const char *id = check->id;

    if (run(forge, forge->as->log, &id, true, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    size_t len = result.out.len;
    str_addn(to, text, forge->as->failed != NULL ? find_end(text, len, forge->as->failed) : len);
    return 0;
}

int pr_ask_access(const struct pr_forge *forge, const char *author, bool *ret, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_json_ struct json *answer = NULL;

    *ret = false;
    if (forge->as->access[0] == NULL || !str_is_word(author, AUTHOR_MAX)) /* it is in an address */
        return 0;
    if (run(forge, forge->as->access, &author, false, &result, err) == -1 ||
        json_parse(str_text(&result.out), result.out.len, ANSWER_MAX, &answer, err) == -1)
        return -1;
    const char *word = json_get_text_or(answer, "permission", "");
    *ret = strcmp(word, "admin") == 0 || strcmp(word, "write") == 0;
    return 0;
}
