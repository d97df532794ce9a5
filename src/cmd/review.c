/*
 * The changes are read under the lock of code.git and written to a file for the editor; then the
 * lock is given back, because the person takes time. Afterwards the changes are read again, and
 * each comment goes to where its line is now. The file stays if anything fails, so that what a
 * person wrote is not lost.
 */

#include "code/review.h"
#include "cli/code.h"
#include "cli/each_session.h"
#include "cli/edit.h"
#include "cli/print.h"
#include "cli/words.h"
#include "code/comparison.h"
#include "code/merge.h"
#include "model/message.h"
#include "os/file.h"
#include "os/proc.h"
#include "session/notify.h"

enum {
    TEXT_MAX = 128 << 20, /* bytes of the edited text */
    COMMENTS_MAX = 1000, /* from a file */
};

static const struct opt opts[] = {
    {0, "comments", "FILE", "send the comments in FILE (JSON) instead of opening an editor"},
    {.name = NULL},
};

/* One agent's changes, and the text that the person edits. */
struct session_review {
    struct comparison changes;
    struct str diff;
    struct patch patch;
    struct review review;
    struct str text;
    char *path; /* of the text */
};

static void session_review_free(struct session_review *review)
{
    review_free(&review->review);
    patch_free(&review->patch);
    str_free(&review->diff);
    comparison_free(&review->changes);
    str_free(&review->text);
    free(review->path);
}
#define _cleanup_session_review_ __attribute__((cleanup(session_review_free)))

/* Finds the agent: the one that is named, or the only one that has a repository. */
static const char *find_agent(const struct code_call *code, struct err *err)
{
    _cleanup_str_ struct str names = STR_INIT;
    const char *found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < code->roster.count; i++) {
        const struct agent *agent = code->roster.agents[i].agent;
        if (agent->code != AGENT_CODE_WORKTREE)
            continue;
        str_addf(&names, "%s%s", count++ > 0 ? ", " : "", agent->id);
        found = agent->id;
    }
    if (count == 1)
        return found;
    (void)err_set(err, MAS_USAGE, "cannot review more than one agent at a time");
    (void)err_hint(err, "name one of: %s", names.data);
    return NULL;
}

static int write_text(struct session_review *review, struct err *err)
{
    const char *dir = getenv("TMPDIR");
    _cleanup_free_ char *path =
        mem_printf("%s/mas-review-XXXXXX.diff", dir != NULL && dir[0] == '/' ? dir : "/tmp");
    _cleanup_close_ int fd = mkostemps(path, (int)strlen(".diff"), O_CLOEXEC);

    if (fd == -1)
        return err_errno(err, "cannot make '%s'", path);
    review->path = path;
    path = NULL;
    return file_write_all(fd, str_text(&review->text), review->text.len) == -1
               ? err_errno(err, "cannot write '%s'", review->path)
               : 0;
}

static int open_changes(const struct code_call *code, const char *agent,
                        struct session_review *review, struct err *err)
{
    if (comparison_open(&code->repo, agent, COMPARE_BRANCHED, &review->changes, err) == -1 ||
        comparison_diff(&review->changes, COMPARE_RAW, &review->diff, err) == -1 ||
        patch_parse(&review->diff, &review->patch, err) == -1)
        return -1;
    _cleanup_free_ char *title =
        mem_printf("Changes of agent %s on %s", agent, review->changes.state.branch);
    review_make(&review->patch, title, &review->review, &review->text);
    return 0;
}

static int edit(struct session_review *review, struct err *err)
{
    _cleanup_strv_ char **words = NULL;
    _cleanup_free_ char *program = NULL;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    int status = 0;

    if (edit_find("a review", &words, &program, err) == -1 || write_text(review, err) == -1)
        return -1;
    strv_push(&words, review->path);
    if (proc_run(program, words, &status, err) == -1)
        return -1;
    if (status != 0)
        return err_set(err, MAS_FAILED, "cannot review: the editor ended with exit code %d",
                       status);
    _cleanup_close_ int fd = open(review->path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return err_errno(err, "cannot open '%s'", review->path);
    if (file_read_stream(fd, review->path, TEXT_MAX, &text, &len, err) == -1)
        return -1;
    review_parse(&review->review, text, len);
    return 0;
}

/* Reads a file of the changes as they are now. */
static char *read_now(const char *path, size_t *ret_len, void *arg)
{
    return comparison_read(arg, path, ret_len);
}

/* Sends the comments, each with its line in `now`; `read` as for review_format(). */
static int send_comments(const struct code_call *code, const char *agent,
                         const struct review *review, struct comparison *now, review_read *read,
                         struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t count = review->comment_count;

    str_addf(&text, "Review of your changes on %s: %zu comment%s.\n", now->state.branch, count,
             count == 1 ? "" : "s");
    review_format(review, read, now, &text);
    return notify_agent(&code->call->root, &code->call->config, code->roster.teams[0].id, agent,
                        code->from, str_text(&text), err);
}

/* Sends the comments, each where its line is now. */
static int deliver(struct code_call *code, const char *agent, const struct session_review *review,
                   struct err *err)
{
    _cleanup_comparison_ struct comparison now = COMPARE_INIT;
    size_t count = review->review.comment_count;

    if (merge_lock(&code->repo, "review", &code->lock, err) == -1 ||
        comparison_open(&code->repo, agent, COMPARE_BRANCHED, &now, err) == -1)
        return -1;
    bool same = strcmp(now.to, review->changes.to) == 0;
    if (send_comments(code, agent, &review->review, &now, same ? NULL : read_now, err) == -1)
        return -1;
    if (!code->call->quiet)
        printf("%zu comment%s sent to agent %s\n", count, count == 1 ? "" : "s", agent);
    return 0;
}

/* ---- for programs */

static void open_answer(const struct code_call *code, const char *agent, struct json_out *out)
{
    json_open(out, NULL, '{');
    json_put(out, "sessionId", code->roster.teams[0].id);
    json_put(out, "agent", agent);
}

/* Prints the lines that comments can be about. */
static void print_lines(const struct code_call *code, const char *agent,
                        const struct session_review *review)
{
    const char *branch = review->changes.state.branch;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    open_answer(code, agent, &out);
    json_put(&out, "branch", branch[0] != '\0' ? branch : NULL);
    json_open(&out, "lines", '[');
    for (size_t i = 0; i < review->review.line_count; i++) {
        const struct review_line *line = &review->review.lines[i];
        _cleanup_str_ struct str path = STR_INIT;
        if (line->text == NULL)
            continue;
        const char *name = review->patch.files[line->file].path;
        str_add_visible(&path, name, strlen(name));
        json_put_all(&out, JO(NULL), JT("path", str_text(&path)), JI("number", line->number),
                     JT("line", line->shown), JOE);
    }
    json_close(&out, ']');
    json_close(&out, '}');
    print_line(&text);
}

/* Returns the name of a member that has to be a text and is none; NULL: all are. */
static const char *no_text(const struct json *comment)
{
    static const char *const texts[] = {"path", "line", "text"};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (json_get(comment, texts[i]) != NULL && json_get_text(comment, texts[i]) == NULL)
            return texts[i];
    return NULL;
}

/* Adds one comment: {"path", "number", "line", "text"}. */
static int add_comment(const struct json *node, size_t index, struct session_review *review,
                       struct err *err)
{
    const struct json *number = json_get(node, "number");
    const struct review_place place = {.path = json_get_text(node, "path"),
                                       .line = json_get_text(node, "line"),
                                       .number = (size_t)json_int(number, 0)};
    const char *text = json_get_text_or(node, "text", "");
    const char *wrong = NULL;

    if (no_text(node) != NULL)
        return err_set(err, MAS_USAGE, "cannot review: comment %zu: %s: it is not a text",
                       index + 1, no_text(node));
    if (!json_is_object(node) || text[strspn(text, " \t\r\n")] == '\0')
        wrong = "it has no text";
    else if (place.line != NULL && (place.path == NULL || place.line[0] == '\0'))
        wrong = place.path == NULL ? "it has a line, but no path" : "its line is empty";
    else if (number != NULL && json_int(number, -1) < 0)
        wrong = "its number is none";
    if (wrong != NULL)
        return err_set(err, MAS_USAGE, "cannot review: comment %zu: %s", index + 1, wrong);
    review_add(&review->review, &place, text, read_now, &review->changes);
    return 0;
}

static int read_comments(const char *file, struct session_review *review, struct err *err)
{
    _cleanup_json_ struct json *json = NULL;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

    if (words_read(file, &text, &len, err) == -1)
        return -1;
    if (json_parse(text, len, MESSAGE_MAX, &json, err) == -1) {
        err->code = MAS_USAGE;
        return err_wrap(err, "cannot read the comments");
    }
    const struct json *list = json_get(json, "comments");
    const struct json *node = json_first(list);
    if (!json_is_array(list) || node == NULL)
        return err_set(err, MAS_USAGE, "cannot review: there is no list 'comments'");
    for (size_t i = 0; node != NULL; node = json_next(node), i++) {
        if (i == COMMENTS_MAX)
            return err_set(err, MAS_USAGE, "cannot review: there are more than %d comments",
                           COMMENTS_MAX);
        if (add_comment(node, i, review, err) == -1)
            return -1;
    }
    return 0;
}

/* Sends comments from a file. */
static int deliver_file(const struct code_call *code, const char *agent, const char *file,
                        struct session_review *review, struct err *err)
{
    _cleanup_str_ struct str said = STR_INIT;
    struct json_out out = {.to = &said};
    size_t stale = 0;

    if (read_comments(file, review, err) == -1 ||
        send_comments(code, agent, &review->review, &review->changes, NULL, err) == -1)
        return -1;
    size_t count = review->review.comment_count;
    for (size_t i = 0; i < count; i++)
        stale += review->review.comments[i].stale;
    if (!code->call->json) {
        if (!code->call->quiet)
            printf("%zu comment%s sent to agent %s\n", count, count == 1 ? "" : "s", agent);
        return 0;
    }
    open_answer(code, agent, &out);
    json_put_int(&out, "comments", (int64_t)count);
    json_put_int(&out, "stale", (int64_t)stale);
    json_close(&out, '}');
    print_line(&said);
    return 0;
}

static int run_review(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_session_review_ struct session_review review = {.changes = COMPARE_INIT,
                                                             .diff = STR_INIT};
    const char *file = call_opt(call, "comments");

    if (code_call_open(call, TARGETS_OPTIONAL, false, &code, err) == -1)
        return -1;
    const char *agent = find_agent(&code, err);
    if (agent == NULL || targets_sender(call, &code.roster, "review", &code.from, err) == -1 ||
        open_changes(&code, agent, &review, err) == -1)
        return -1;
    if (file != NULL)
        return deliver_file(&code, agent, file, &review, err);
    if (call->json) {
        print_lines(&code, agent, &review);
        return 0;
    }
    if (review.patch.count == 0) {
        if (!call->quiet)
            printf("%s: nothing to review\n", agent);
        return 0;
    }
    work_free(&review.changes.tree);
    fd_closep(&code.lock); /* the person takes time */
    int rc = edit(&review, err);
    if (rc == 0 && review.review.comment_count > 0)
        rc = deliver(&code, agent, &review, err);
    else if (rc == 0 && !call->quiet)
        printf("no comment, nothing sent\n");
    if (rc == -1 && review.path != NULL)
        (void)err_hint(err, "what you wrote is in '%s'", review.path);
    else if (review.path != NULL)
        (void)unlink(review.path);
    return rc;
}

const struct cmd cmd_review = {
    .name = "review",
    .group = GROUP_CODE,
    .operands = " [SESSION] [AGENT]",
    .summary = "comment on an agent's changes in your editor",
    .examples = "mas review login 21\n"
                "mas review login 21 --comments comments.json",
    .details =
        "mas opens the agent's changes in $VISUAL, $EDITOR or vi. Each line that you add "
        "is a comment on the line above it. mas sends all comments as one message, each "
        "with its file, line and the line itself. If the file changes while you write, a "
        "comment goes to where its line is then, or is marked as stale. AGENT may be "
        "omitted if only one has a repository. For programs: --json prints the lines that comments "
        "can be about, each with its path and number, and --comments sends comments on "
        "them, {\"comments\":[{\"path\",\"number\",\"line\",\"text\"}]}; without a line, a "
        "comment is about the file, without a path about all changes.",
    .opts = opts,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | CHANGES_SESSIONS | USES_TERMINAL,
    .run = run_review,
};
