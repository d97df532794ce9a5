#include "code/comparison.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void comparison_free(struct comparison *changes)
{
    work_free(&changes->tree);
    stranger_free(&changes->stranger);
    free(changes->agent);
    *changes = (struct comparison)COMPARE_INIT;
}

static int resolve(const struct git *git, const char *name, char ret[GIT_OID_TEXT], struct err *err)
{
    _cleanup_free_ char *text = NULL;

    if (git_text(git, GIT_ARGS("rev-parse", "--verify", "--quiet", name), &text, err) == -1)
        return -1;
    return git_parse_oid(text, ret) ? 0
                                    : err_set(err, MAS_FAILED, "git rev-parse printed '%s'", text);
}

/* Opens the integration branch, which has no work tree. */
static int open_main(const struct repo *repo, struct comparison *changes, struct err *err)
{
    _cleanup_free_ char *range = mem_printf(CODE_REF_BASE "..%s", repo->main);
    _cleanup_free_ char *count = NULL;

    changes->git = repo_git(repo);
    (void)snprintf(changes->state.branch, sizeof changes->state.branch, "%s",
                   repo->main + strlen("refs/heads/"));
    if (resolve(&changes->git, CODE_REF_BASE, changes->from, err) == -1 ||
        resolve(&changes->git, repo->main, changes->to, err) == -1 ||
        git_text(&changes->git, GIT_ARGS("rev-list", "--count", range), &count, err) == -1)
        return -1;
    changes->state.ahead = strtoul(count, NULL, 10);
    return 0;
}

static int find_from(const struct repo *repo, struct comparison *changes,
                     enum comparison_since since, struct err *err)
{
    _cleanup_free_ char *look = mem_printf(CODE_REF_LOOKS "%s", changes->agent);
    _cleanup_free_ char *text = NULL;
    struct err ignored = ERR_INIT;

    if (since == COMPARE_BASE)
        return resolve(&changes->git, CODE_REF_BASE, changes->from, err);
    if (since == COMPARE_INTEGRATION)
        return resolve(&changes->git, repo->main, changes->from, err);
    if (since == COMPARE_LOOK && resolve(&changes->git, look, changes->from, &ignored) == 0)
        return 0;
    if (git_text(&changes->git, GIT_ARGS("merge-base", repo->main, changes->stranger.head), &text,
                 err) == -1 ||
        !git_parse_oid(text, changes->from)) {
        (void)err_set(err, MAS_CONFLICT,
                      "cannot compare the branch of agent '%s': it has no commit in common with "
                      "the team's",
                      changes->agent);
        return err_hint(err, "compare it as it is with: mas diff --integration");
    }
    return 0;
}

int comparison_open(const struct repo *repo, const char *agent, enum comparison_since since,
                    struct comparison *ret, struct err *err)
{
    ret->agent = mem_dup(agent);
    if (strcmp(agent, COMPARE_MAIN) == 0)
        return open_main(repo, ret, err);
    if (stranger_open(repo, agent, &ret->stranger, err) == -1 ||
        work_snapshot(&ret->stranger, &ret->tree, err) == -1 ||
        work_state(&ret->stranger, &ret->tree, &ret->state, err) == -1)
        return -1;
    ret->git = work_git(&ret->stranger, &ret->tree);
    memcpy(ret->to, ret->tree.oid, sizeof ret->to);
    return find_from(repo, ret, since, err);
}

int comparison_diff(const struct comparison *changes, enum comparison_form form,
                    struct proc_result *ret, struct err *err)
{
    const char *const *args =
        form == COMPARE_RAW
            ? GIT_ARGS("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
                       "--raw", "-z", "--patch", changes->from, changes->to)
            : GIT_ARGS("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
                       form == COMPARE_STAT ? "--stat=80" : "--patch", changes->from, changes->to);

    return git_must(&changes->git, args, NULL, ret, err);
}

int comparison_look(const struct comparison *changes, struct err *err)
{
    const struct git git = {.dir = changes->git.dir};
    _cleanup_free_ char *ref = mem_printf(CODE_REF_LOOKS "%s", changes->agent);

    if (changes->tree.dir == -1)
        return 0;
    return work_keep(&changes->tree, err) == -1
               ? -1
               : git_must(&git, GIT_ARGS("update-ref", ref, changes->to), NULL, NULL, err);
}

int comparison_landing(const struct repo *repo, struct comparison_landing *ret, struct err *err)
{
    const struct git git = repo_git(repo);
    struct proc_result result = PROC_RESULT_INIT;
    struct comparison_landing landing = {.files = 0};
    struct err ignored = ERR_INIT;
    char from[GIT_OID_TEXT];

    if (repo_count_unlanded(repo, &landing.commits, err) == -1)
        return -1;
    if (landing.commits > 0) {
        if (repo_ref(repo, CODE_REF_LANDED, from, &ignored) == -1 &&
            repo_ref(repo, CODE_REF_BASE, from, err) == -1)
            return -1;
        if (git_must(&git,
                     GIT_ARGS("diff-tree", "-r", "--numstat", "--no-renames", from, repo->main),
                     NULL, &result, err) == -1)
            return -1;
        for (const char *line = str_text(&result.out); *line != '\0';) {
            /* "<added>\t<removed>\t<path>"; "-" of a binary file counts nothing */
            landing.added += strtoul(line, NULL, 10);
            landing.removed += strtoul(line + strcspn(line, "\t"), NULL, 10);
            landing.files++;
            line += strcspn(line, "\n");
            line += *line != '\0';
        }
        proc_result_free(&result);
    }
    *ret = landing;
    return 0;
}
