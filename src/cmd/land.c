#include "code/land.h"
#include "client/survey.h"
#include "cmd/code_record.h"
#include "cmd/targets.h"
#include "code/merge.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
    {0, "onto", "BRANCH", "land on this branch instead of the one the session began with",
     OFFER_NONE},
    {0, "merge", NULL, "make a merge commit even if none is needed", OFFER_NONE},
    {0, "squash", NULL, "make one commit of all", OFFER_NONE},
    {'m', "message", "TEXT", "the message of the commit", OFFER_NONE},
    {.name = NULL},
};

static int fail_conflict(const struct land_result *result, const char *session, struct err *err)
{
    _cleanup_str_ struct str files = STR_INIT;

    for (char **file = result->files; *file != NULL; file++) {
        str_add(&files, files.len > 0 ? ", " : "");
        str_add(&files, *file);
    }
    (void)err_set(err, MAS_CONFLICT, "cannot land session '%s': it conflicts in %s", session,
                  str_text(&files));
    return err_hint(err, "bring the branch to the agents with: mas sync --project %s", session);
}

static int run_land(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_land_ struct land_result result = LAND_RESULT_INIT;
    _cleanup_close_ int lock = -1;
    bool merges = call_opt(call, "merge") != NULL;
    bool squashes = call_opt(call, "squash") != NULL;
    const struct land_options options = {
        .way = merges     ? LAND_MERGE
               : squashes ? LAND_SQUASH
                          : LAND_AUTO,
        .onto = call_opt(call, "onto"),
        .message = call_opt(call, "message"),
    };
    char id[ID_TEXT];

    if (merges && squashes)
        return err_set(err, MAS_USAGE, "cannot use --merge with --squash");
    if (call_select(call, call->session, id, err) == -1 ||
        repo_load(&call->root, id, &team, &repo, err) == -1 ||
        merge_lock(&repo, "land", &lock, err) == -1 ||
        land(&repo, &team.project, &options, &result, err) == -1)
        return -1;
    code_record_land(call, &repo, &result);
    if (result.files != NULL)
        return fail_conflict(&result, session_label(&call->root, id).text, err);
    if (call->quiet)
        return 0;
    if (result.commits == 0)
        printf("nothing to land\n");
    else
        printf("%zu commit%s landed on %s of %s: %.12s\n", result.commits,
               result.commits == 1 ? "" : "s", result.onto + strlen("refs/heads/"),
               team.project.path, result.oid);
    return 0;
}

const struct cmd cmd_land = {
    .name = "land",
    .group = GROUP_CODE,
    .operands = " [SESSION]",
    .summary = "bring the integration branch into the project",
    .examples = "mas land login\n"
                "mas land login --squash -m 'Reset passwords by mail'",
    .details =
        "mas moves the project's branch forward to the integration branch if that is possible, "
        "and makes a merge commit otherwise. If the project's branch is checked out, its "
        "files must have no changes, and follow. A conflict, or a branch that moves "
        "meanwhile, changes nothing. mas pushes nothing.",
    .opts = opts,
    .operands_max = 1,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_SESSION | CMD_QUIET,
    .run = run_land,
};
