/* The functions of cmd.h that find the root and the session of a call. */
#include "cli/jobs.h"
#include "cli/remote/remote.h"
#include "cli/roots.h"
#include "client/survey.h"
#include "cmd.h"

/* Fails if the command would change a session that another machine has. */
static int check_owner(const struct call *call, const char *id, struct err *err)
{
    /* a verb for agents says what is done with them: "cannot send session 'shop'" is no sentence */
    const char *what = call->cmd->on == ON_TARGET ? "use" : call->cmd->name;

    if ((call->cmd->does & CHANGES_SESSIONS) == 0)
        return 0;
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    return dir == -1 ? 0 : owner_check(&call->root, dir, id, what, err);
}

/* Returns true if a word means a job and no session of this root. */
static bool is_job(const struct call *call, const char *text)
{
    for (size_t i = 0; call->jobs != NULL && call->jobs[i] != NULL; i++)
        if (call->jobs[i] == text)
            return true;
    return false;
}

int call_select(const struct call *call, const char *text, char ret[ID_TEXT], struct err *err)
{
    if (text == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot run '%s': it needs a SESSION%s", call->cmd->name,
                      call->cmd->on == ON_SESSION || call->cmd->on == ON_TARGET
                          ? " outside of a team's pane"
                          : "");
        return call_usage(call, err);
    }
    if (is_job(call, text))
        return survey_no_session(call->searched, text, err);
    if (!call->has_root) {
        (void)survey_no_session(call->searched, text, err);
        (void)err_hint(err, "create a session with: mas new");
        (void)roots_hint_session(call, text, err);
        return remote_hint_host(call, text, err);
    }
    int rc = survey_select(&call->root, &call->config, text, ret, err);
    if (call_check_session(call, text, rc == 0 ? ret : NULL, err) == -1)
        return -1;
    if (rc == 0)
        return check_owner(call, ret, err);
    if (err->code != MAS_NOT_FOUND)
        return -1;
    (void)roots_hint_session(call, text, err);
    (void)all_jobs_hint(call, text, err);
    return remote_hint_host(call, text, err);
}
