#include "code/review.h"
#include "base/file.h"
#include "base/proc.h"
#include "cmd/code.h"
#include "cmd/each_session.h"
#include "cmd/edit.h"
#include "code/comparison.h"
#include "code/merge.h"
#include "session/notify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 128 << 20 }; /* bytes of the edited text */

/* One agent's changes, and the text that the person edits. */
struct session_review {
    struct comparison changes;
    struct proc_result diff;
    struct patch patch;
    struct review review;
    struct str text;
    char *path; /* of the text */
};

static void session_review_free(struct session_review *review)
{
    review_free(&review->review);
    patch_free(&review->patch);
    proc_result_free(&review->diff);
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
        patch_parse(&review->diff.out, &review->patch, err) == -1)
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
    const struct comparison *now = arg;
    _cleanup_free_ char *name = mem_printf("%s:%s", now->to, path);
    struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;
    char *text = NULL;

    if (git_must(&now->git, GIT_ARGS("cat-file", "blob", name), NULL, &result, &ignored) == 0) {
        *ret_len = result.out.len;
        text = mem_dupn(str_text(&result.out), result.out.len);
    }
    proc_result_free(&result);
    return text;
}

/* Sends the comments, each where its line is now. */
static int deliver(struct code_call *code, const char *agent, const struct session_review *review,
                   struct err *err)
{
    _cleanup_comparison_ struct comparison now = COMPARE_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    size_t count = review->review.comment_count;

    if (merge_lock(&code->repo, "review", &code->lock, err) == -1 ||
        comparison_open(&code->repo, agent, COMPARE_BRANCHED, &now, err) == -1)
        return -1;
    bool same = strcmp(now.to, review->changes.to) == 0;
    str_addf(&text, "Review of your changes on %s: %zu comment%s.\n", now.state.branch, count,
             count == 1 ? "" : "s");
    review_format(&review->review, same ? NULL : read_now, &now, &text);
    if (notify_agent(&code->call->root, &code->call->config, code->roster.teams[0].id, agent,
                     code->from, str_text(&text), err) == -1)
        return -1;
    if (!code->call->quiet)
        printf("%zu comment%s sent to agent %s\n", count, count == 1 ? "" : "s", agent);
    return 0;
}

static int run_review(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_session_review_ struct session_review review = {.changes = COMPARE_INIT,
                                                             .diff = PROC_RESULT_INIT};

    if (code_call_open(call, TARGETS_OPTIONAL, false, &code, err) == -1)
        return -1;
    const char *agent = find_agent(&code, err);
    if (agent == NULL || targets_sender(call, &code.roster, "review", &code.from, err) == -1 ||
        open_changes(&code, agent, &review, err) == -1)
        return -1;
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
    .examples = "mas review login 21",
    .details = "mas opens the agent's changes in $VISUAL, $EDITOR or vi. Each line that you add "
               "is a comment on the line above it. mas sends all comments as one message, each "
               "with its file, line and the line itself. If the file changes while you write, a "
               "comment goes to where its line is then, or is marked as stale. AGENT may be "
               "omitted if only one has a repository.",
    .operands_max = 2,
    .offer = OFFER_SESSION,
    .then = OFFER_AGENT,
    .flags = CMD_ROOT | CMD_PRESETS | CMD_TARGET | CMD_QUIET,
    .run = run_review,
};
