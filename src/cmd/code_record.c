#include "cmd/code_record.h"

#include "client/look.h"
#include "store/code_log.h"
#include "store/workspace.h"

static const char *session_of(const struct repo *repo)
{
    return strrchr(repo->workspace, '/') + 1;
}

static const char *short_name(const char *ref)
{
    return str_starts(ref, "refs/heads/") ? ref + strlen("refs/heads/") : ref;
}

void code_record_merge(const struct call *call, const struct repo *repo, const char *agent,
                       const struct merge_result *result)
{
    bool moved = result->outcome == MERGE_FORWARD || result->outcome == MERGE_MADE;
    const struct code_event event = {
        .type = moved ? CODE_MERGED : CODE_CONFLICT,
        .session = session_of(repo),
        .agent = agent,
        .branch = short_name(repo->main),
        .commit = result->oid,
        .commits = result->commits,
        .files = result->files,
    };

    if (moved || result->outcome == MERGE_CONFLICT)
        code_log_add(&call->root, &call->config, &event);
}

void code_record_land(const struct call *call, const struct repo *repo,
                      const struct land_result *result)
{
    bool moved = result->files == NULL;
    const struct code_event event = {
        .type = moved ? CODE_LANDED : CODE_CONFLICT,
        .session = session_of(repo),
        .branch = short_name(result->onto != NULL ? result->onto : ""),
        .commit = moved ? result->oid : NULL,
        .commits = result->commits,
        .files = result->files,
    };

    if (!moved || result->commits > 0)
        code_log_add(&call->root, &call->config, &event);
}

void code_record_sync(const struct call *call, const struct repo *repo, const char *agent)
{
    _cleanup_close_ int dir = workspace_open(&call->root, session_of(repo));

    if (dir != -1)
        workspace_log(dir, config_log_limits(&call->config), "synced agent=%s branch=%s", agent,
                      short_name(repo->main));
}

void code_record_end(const struct call *call, const struct repo *repo)
{
    look_again(&call->root, session_of(repo));
}
