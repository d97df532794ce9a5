/*
 * First the answer that mas reads, a table of members; then the programs, a row each, and how they
 * are run: without a shell, in the project, with time and output limited. Of a log only the end is
 * kept, however long it is.
 */
#include "code/land/pr.h"

#include "base/env.h"
#include "code/land/forge.h"
#include "code/land/pr_of.h"
#include "model/member.h"
#include "os/file.h"
#include "os/path.h"

enum {
    GLAB_CONFIG_MAX = 1 << 20,
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
        *check = (struct pr_check){.part = json_bool(json_get(it, "part"), false)};
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
    if (json_parse(text, len, PR_ANSWER_MAX, &answer, err) == -1)
        return -1;
    const struct member *wrong = members_read(members, answer, &pr);
    wrong = wrong != NULL ? wrong : read_parts(answer, &pr);
    if (wrong != NULL)
        return err_set(err, MAS_DAMAGED, "its answer has no good '%s'", wrong->key);
    *ret = pr;
    pr = (struct pr)PR_INIT;
    return 0;
}

/* ---- the programs */

/* Their command lines; "%0" stands for the first value, and so on. Debian 12 has gh 2.23, Debian 13
 * glab 1.53. */
struct pr_program {
    enum { FORM_OWN, FORM_GH, FORM_GLAB } form; /* of what `view` prints */
    const char *find[WORDS_MAX]; /* "%1" a branch: an open one; none: `view` takes a branch, too */
    const char *view[WORDS_MAX]; /* which pull request */
    const char *lines[WORDS_MAX]; /* its number; none: `view` tells all */
    const char *open[WORDS_MAX]; /* head, base, title, body; project, branch */
    const char *log[WORDS_MAX]; /* the id of a check */
    const char *failed; /* the last line of it with this is the end of what failed; NULL: all is */
    const char *access[WORDS_MAX]; /* an author; none: `view` tells it */
    const char *owner[WORDS_MAX]; /* of the repository that it asks; none: a branch has one name */
};

static const struct pr_program
    own = {.form = FORM_OWN,
           .view = {"view", "%0"},
           .open = {"open", "%0", "%1", "%2", "%3"},
           .log = {"log", "%0"}},
    gh = {.form = FORM_GH,
          .view = {"pr", "view", "%0", "--json",
                   "number,url,state,headRefOid,statusCheckRollup,reviews,comments"},
          .lines = {"api", "repos/{owner}/{repo}/pulls/%0/comments"
                           "?per_page=100&sort=created&direction=desc"},
          .open = {"pr", "create", "--head", "%0", "--base", "%1", "--title", "%2", "--body", "%3"},
          /* `gh run view --log-failed` has none before the last job of the run has ended, nor one
           * of a job with a slash in its name */
          .log = {"api", "repos/{owner}/{repo}/actions/jobs/%0/logs"},
          .failed = "##[error]",
          .access = {"api", "repos/{owner}/{repo}/collaborators/%0/permission"},
          .owner = {"repo", "view", "--json", "owner"}},
    /* `glab mr view` asks which one of several it is, and knows no jobs. For ":id" glab puts the
     * number of the project that it asks. The newest word of GraphQL here is of 2023, GitLab 16.
     * Notes have no order that is documented: those of both ends are some twice. */
    glab = {.form = FORM_GLAB,
            .find = {"api", "graphql", "-F", "p=gid://gitlab/Project/:id", "-f", "w=%1", "-f",
                     "query=query($p:[ID!],$w:[String!]){projects(ids:$p,first:1){nodes{"
                     "mergeRequests(sourceBranches:$w,state:opened){nodes{iid "
                     "sourceProject{fullPath}}}}}}"},
            .view = {"api", "graphql", "-F", "p=gid://gitlab/Project/:id", "-f", "w=%0", "-f",
                     "query=query($p:[ID!],$w:[String!]){projects(ids:$p,first:1){nodes{"
                     "mergeRequests(iids:$w){nodes{iid webUrl state diffHeadSha "
                     "reviewers{nodes{username mergeRequestInteraction{reviewState}}}"
                     "begin:notes(first:50){...n}end:notes(last:50){...n}"
                     "headPipeline{status project{id}jobs(retried:false,statuses:[FAILED])"
                     "{nodes{id name allowFailure}}}}}}}}fragment n on NoteConnection{nodes{"
                     "id body system resolved maxAccessLevelOfAuthor author{username}"
                     "position{newPath newLine}}}"},
            .open = {"mr", "create", "--yes", "--head", "%4", "--source-branch", "%5",
                     "--target-branch", "%1", "--title", "%2", "--description", "%3"},
            .log = {"api", "projects/%0/trace"},
            .failed = ":step_script"};

void pr_forge_free(struct pr_forge *forge)
{
    free(forge->file);
    strv_free(forge->words);
    free(forge->dir);
}

/* Returns true if glab's configuration has a host: a line with only its name. */
static bool glab_has(const char *host)
{
    const char *set = getenv("GLAB_CONFIG_DIR");
    _cleanup_free_ char *dir = path_user_dir("XDG_CONFIG_HOME", ".config");
    _cleanup_free_ char *name = set != NULL && set[0] != '\0'
                                    ? mem_printf("%s/config.yml", set)
                                    : mem_printf("%s/glab-cli/config.yml", dir != NULL ? dir : "");
    _cleanup_free_ char *line = mem_printf(" %s:\n", host);
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    _cleanup_close_ int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct err ignored = ERR_INIT;

    return fd != -1 && file_read_stream(fd, name, GLAB_CONFIG_MAX, &text, &len, &ignored) == 0 &&
           strcasestr(text, line) != NULL;
}

int pr_find_forge(const struct config *config, const char *dir, const char *url,
                  struct pr_forge *ret, struct err *err)
{
    const char *command = config_text(config, SETTING_FORGE_COMMAND);
    _cleanup_free_ char *host = NULL;
    _cleanup_free_ char *path = NULL;
    bool is_own = command[0] != '\0';
    bool is_gitlab =
        forge_place(url, &host, &path) && (strcasestr(host, "gitlab") != NULL || glab_has(host));
    const char *name = is_gitlab ? "glab" : "gh";
    _cleanup_strv_ char **words = NULL;

    if (str_split_words(is_own ? command : name, &words, err) == -1)
        return -1;
    _cleanup_free_ char *file = path_find_program(words[0], getenv("PATH"), -1);
    if (is_own && file == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot find '%s', which [forge] command names",
                       words[0]);
    *ret = (struct pr_forge){.name = is_own ? "[forge] command" : name,
                             .file = TAKE_PTR(file),
                             .words = TAKE_PTR(words),
                             .dir = mem_dup(dir),
                             .as = is_own      ? &own
                                   : is_gitlab ? &glab
                                               : &gh};
    return 0;
}

static char *make_word(const char *word, const char *const *values)
{
    const char *mark = strchr(word, '%');

    return mark == NULL
               ? mem_dup(word)
               : mem_printf("%.*s%s%s", (int)(mark - word), word, values[mark[1] - '0'], mark + 2);
}

/* Fails with the first line that a program has said, which is above its usage, but for what it says
 * on the way there: gh has a warning for a work tree with changes, glab what it is about to do. */
static int fail_said(const struct pr_forge *forge, const struct proc_result *result,
                     struct err *err)
{
    static const char *const before[] = {"\n", "Warning: ", "Creating merge request ",
                                         "Failed to create merge request. Created recovery file",
                                         "Run the command again with the '--recover'"};
    _cleanup_str_ struct str said = STR_INIT;
    _cleanup_free_ char *itself = mem_printf("%s: ", forge->name);
    const char *text = str_text(&result->err);

    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        if (str_starts(text, before[i]) && strchr(text, '\n') != NULL) {
            text = strchr(text, '\n') + 1;
            i = (size_t)-1;
        }
    text += str_starts(text, itself) ? strlen(itself) : 0;
    size_t len = strcspn(text, "\n");
    str_add_visible(&said, text, len < SAID_MAX ? len : str_cut(text, len, SAID_MAX));
    return said.len == 0
               ? err_set(err, MAS_FAILED, "%s ended with exit code %d", forge->name, result->status)
               : err_set(err, MAS_FAILED, "%s%s", itself, said.data);
}

bool pr_is_limited(const struct err *why)
{
    static const char *const said[] = {"rate limit", "HTTP 429", ": 429 "};
    size_t i = 0;

    while (i < ARRAY_LEN(said) && strcasestr(why->text, said[i]) == NULL)
        i++;
    return i < ARRAY_LEN(said);
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
                                   .output_max = is_log ? PR_LOG_MAX : PR_ANSWER_MAX,
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
    _cleanup_free_ char *host = NULL;
    _cleanup_free_ char *path = NULL;
    struct err ignored = ERR_INIT; /* what comes next fails, too, and says why */

    if (forge->as->form == FORM_GLAB)
        return mem_printf("%s:%s", forge_place(url, &host, &path) ? path : "", branch);
    if (owner == NULL || forge->as->owner[0] == NULL ||
        run(forge, forge->as->owner, NULL, false, &view, &ignored) == -1 ||
        json_parse(str_text(&view.out), view.out.len, PR_ANSWER_MAX, &answer, &ignored) == -1)
        return mem_dup(branch);
    const char *asked = json_get_text_or(json_get(answer, "owner"), "login", owner);
    return strcasecmp(asked, owner) == 0 ? mem_dup(branch) : mem_printf("%s:%s", owner, branch);
}

/* Cuts "o/r:mas/fix" into project and branch; without a project that is "". The caller frees
 * *ret_project. Returns the branch. */
static const char *cut_branch(const char *which, char **ret_project)
{
    const char *colon = strchr(which, ':');

    *ret_project = mem_dupn(which, colon != NULL ? (size_t)(colon - which) : 0);
    return colon != NULL ? colon + 1 : which;
}

/* Sets *ret to what `view` is asked for: the number of what has a branch, if it takes no branches.
 * The caller frees it. */
static int find_which(const struct pr_forge *forge, const char *which, char **ret, struct err *err)
{
    _cleanup_result_ struct proc_result found = PROC_RESULT_INIT;
    _cleanup_free_ char *project = NULL;
    const char *const values[] = {NULL, cut_branch(which, &project)};

    if (forge->as->form != FORM_GLAB || strchr(which, ':') == NULL) {
        *ret = mem_dup(which);
        return 0;
    }
    return run(forge, forge->as->find, values, false, &found, err) == -1
               ? -1
               : pr_of_glab_number(&found.out, project, ret, err);
}

/* Asks for what is said to lines: `view` tells the number. */
static int ask_lines(const struct pr_forge *forge, const struct str *view, struct proc_result *ret,
                     struct err *err)
{
    _cleanup_json_ struct json *seen = NULL;

    if (json_parse(str_text(view), view->len, PR_ANSWER_MAX, &seen, err) == -1)
        return err_wrap(err, "cannot read what %s says", forge->name);
    _cleanup_free_ char *number = mem_printf("%" PRId64, json_int(json_get(seen, "number"), 0));
    return run(forge, forge->as->lines, (const char *const[]){number}, false, ret, err);
}

int pr_ask(const struct pr_forge *forge, const char *which, struct pr *ret, struct err *err)
{
    _cleanup_result_ struct proc_result view = PROC_RESULT_INIT;
    _cleanup_result_ struct proc_result lines = PROC_RESULT_INIT;
    _cleanup_free_ char *number = NULL;
    _cleanup_str_ struct str answer = STR_INIT;

    if (find_which(forge, which, &number, err) == -1 ||
        run(forge, forge->as->view, (const char *const[]){number}, false, &view, err) == -1)
        return -1;
    if (forge->as->form == FORM_OWN)
        return pr_read(str_text(&view.out), view.out.len, ret, err);
    if (forge->as->form == FORM_GH && ask_lines(forge, &view.out, &lines, err) == -1)
        return -1;
    int rc = forge->as->form == FORM_GH ? pr_of_gh(&view.out, &lines.out, &answer, err)
                                        : pr_of_glab(&view.out, &answer, err);
    return rc == -1 || pr_read(answer.data, answer.len, ret, err) == -1
               ? err_wrap(err, "cannot read what %s says", forge->name)
               : 0;
}

int pr_open(const struct pr_forge *forge, const char *head, const char *base, const char *message,
            char **ret_url, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_free_ char *project = NULL;
    const char *branch = cut_branch(head, &project);
    const char *title = message != NULL ? message : branch;
    const char *body = strchr(title, '\n');
    _cleanup_free_ char *first = mem_dupn(title, strcspn(title, "\n"));
    const char *const values[] = {
        head, base, first, body != NULL ? body + strspn(body, "\n") : "", project, branch};

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
        json_parse(str_text(&result.out), result.out.len, PR_ANSWER_MAX, &answer, err) == -1)
        return -1;
    const char *word = json_get_text_or(answer, "permission", "");
    *ret = strcmp(word, "admin") == 0 || strcmp(word, "write") == 0;
    return 0;
}
