/*
 * Who is meant and whether an agent may do that is settled before the lock of code.git is taken,
 * which is then held until the command has acted on each agent. What an agent's command prints
 * meanwhile stays in memory, since its reader might not read. What fails for one agent does not
 * keep the others; hosts look again when the lock is free.
 */

#include "cli/code.h"

#include "cli/brokered.h"
#include "cli/each_session.h"
#include "client/look.h"
#include "code/merge.h"
#include "host/check.h"
#include "model/target.h"
#include "session/notify.h"
#include "store/code_log.h"
#include "store/workspace.h"

void code_call_unlock(struct code_call *code)
{
    fd_closep(&code->lock);
    held_output_end(&code->held);
}

void code_call_free(struct code_call *code)
{
    code_call_unlock(code);
    roster_free(&code->roster);
    team_free(&code->team);
    repo_free(&code->repo);
}

/* Fails if an agent may not act on another one. */
static int check_rules(struct code_call *code, struct err *err)
{
    const struct team *team = &code->team;
    struct err why = ERR_INIT;

    if (targets_sender(code->call, &code->roster, code->call->cmd->name, &code->from, err) == -1)
        return -1;
    if (code->from == NULL)
        return 0;
    for (size_t i = 0; i < code->roster.count; i++) {
        const struct agent *agent = code->roster.agents[i].agent;
        if (strcmp(agent->id, code->from) == 0 ||
            target_check_rule(team, team_agent(team, code->from), agent, &why) == 0)
            continue;
        return err_set(err, MAS_FAILED, "cannot %s agent '%s': %s", code->call->cmd->name,
                       agent->id, why.text);
    }
    return 0;
}

/* Fails if none of the agents has a repository. */
static int check_writers(const struct code_call *code, struct err *err)
{
    const struct roster *roster = &code->roster;

    for (size_t i = 0; i < roster->count; i++)
        if (roster->agents[i].agent->code == AGENT_CODE_WORKTREE)
            return 0;
    if (roster->count == 0)
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot run '%s': agent '%s' has no repository of its own",
                  code->call->cmd->name, roster->agents[0].agent->id);
    return err_hint(err, "a template gives it one with: code = worktree");
}

int code_call_open(struct call *call, enum targets_form form, bool writes, struct code_call *ret,
                   struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    char *own[] = {getenv("MAS_AGENT_ID"), NULL};
    const char *id = getenv("MAS_SESSION_ID");

    code.call = call;
    if (writes && call->operand_count == 0 && call->session == NULL && id != NULL &&
        own[0] != NULL && own[0][0] != '\0') {
        call->operands = own;
        call->operand_count = 1;
    }
    if (targets_parse(call, form, &code.roster, err) == -1 ||
        repo_load(&call->root, code.roster.teams[0].id, &code.team, &code.repo, err) == -1 ||
        (writes && check_rules(&code, err) == -1) || check_writers(&code, err) == -1 ||
        merge_lock(&code.repo, call->cmd->name, &code.lock, err) == -1)
        return -1;
    if (brokered_is_agent())
        held_output_begin(&code.held);
    *ret = code;
    code = (struct code_call)CODE_CALL_INIT;
    return 0;
}

int code_call_each(const struct code_call *code, code_each *each, void *arg, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < code->roster.count; i++) {
        const struct agent *agent = code->roster.agents[i].agent;
        struct err why = ERR_INIT;
        if (agent->code == AGENT_CODE_WORKTREE && each(code, agent->id, arg, &why) == -1)
            each_session_fail(&why, &rc, err);
    }
    return rc;
}

struct check code_check_of(const struct call *call, const char *id, const struct team *team,
                           const struct agent *agent, struct walled_agent *of)
{
    const struct config *config = &call->config;
    const char *own = team->project.check;

    *of = (struct walled_agent){
        .root = &call->root, .config = config, .id = id, .team = team, .agent = agent};
    return (struct check){.command = own[0] != '\0' ? own : config_text(config, SETTING_CODE_CHECK),
                          .timeout_ms = config_number(config, SETTING_CODE_CHECK_TIMEOUT),
                          .run = check_run_held,
                          .arg = of};
}

struct check code_check(const struct code_call *code, const char *agent, struct walled_agent *of)
{
    return code_check_of(code->call, code->roster.teams[0].id, &code->team,
                         team_agent(&code->team, agent), of);
}

int code_fail_check(const struct repo *repo, const struct team *team,
                    const struct check_result *check, const char *what, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;

    for (const char *text = check->output; text[0] != '\0';) {
        size_t len = strcspn(text, "\n");
        str_clear(&line);
        str_add_line(&line, text, len);
        (void)fprintf(stderr, "%s\n", str_text(&line));
        text += len + (text[len] != '\0');
    }
    (void)err_set(err, MAS_FAILED, "cannot %s: %s failed: %s", what,
                  team->project.check[0] != '\0' ? "the check" : "[code] check", check->why);
    return err_hint(err, "see all of its output in %s/logs/check.log", repo->workspace);
}

void code_tell(const struct code_call *code, const char *agent, const struct str *text)
{
    const struct call *call = code->call;
    struct err why = ERR_INIT;

    if (code->from != NULL && strcmp(code->from, agent) == 0)
        return;
    if (notify_agent(&call->root, &call->config, code->roster.teams[0].id, agent, code->from,
                     str_text(text), &why) == -1)
        err_warn("cannot tell agent '%s' about it: %s", agent, why.text);
}

/* ---- what is recorded, in the session's log and for mas serve */

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
