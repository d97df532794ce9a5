#include "base/id.h"
#include "base/time.h"
#include "cmd.h"
#include "cmd/print.h"
#include "code/work.h"
#include "model/agent_status.h"

#include <sys/resource.h>

enum { NICE = 10 }; /* whoever waits for a command comes first */

static int run_look(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct code_figures figures;
    const char *id = call->operands[0];

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot look at '%s': it is no session id", id);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (repo_load(&call->root, id, &team, &repo, err) == -1)
        return -1;
    const struct agent *agent = team_agent(&team, call->operands[1]);
    if (agent == NULL || agent->code != AGENT_CODE_WORKTREE)
        return err_set(err, MAS_NOT_FOUND, "cannot look at agent '%s': it has no work tree",
                       call->operands[1]);
    work_look(&repo, agent->id, &figures);
    json_open(&out, NULL, '{');
    code_figures_tell(&figures, &out);
    json_close(&out, '}');
    print_line(&text);
    return 0;
}

const struct cmd cmd_look = {
    .name = "look",
    .operands = " ID AGENT",
    .summary = "count what an agent has changed in its work tree",
    .operands_min = 2,
    .operands_max = 2,
    .flags = CMD_ROOT | CMD_HIDDEN,
    .run = run_look,
};
