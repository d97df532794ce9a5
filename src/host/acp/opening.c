/* The sessions of the agent: what one is opened with, which is its role and the directories that it
 * works in, and how it is left. */
#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/permission.h"
#include "host/talk/sleep.h"
#include "session/env.h"

static void set_role(struct host *host)
{
    struct agent_link *link = &host->conversation->link;
    _cleanup_str_ struct str role = STR_INIT;

    link->has_role = acp_info(link->acp)->system != ACP_SYSTEM_NONE && !link->refused_role;
    if (link->has_role)
        role_add(host, &role);
    acp_set_system(link->acp, role.len > 0 ? role.data : NULL);
}

/* The agent's unit, its work tree, or the team's, and the workflows: whichever is not where it
 * starts. The sandbox that a program brings along makes directories of its own in each of these, so
 * that one with such a sandbox is told of no directory that it only reads. */
static void set_directories(struct host *host)
{
    const struct {
        const char *name;
        bool writable;
    } others[] = {{"MAS_CODE_DIR", host->agent->code == AGENT_CODE_WORKTREE},
                  {"WORKFLOWS_DIR", false}};
    struct agent_link *link = &host->conversation->link;
    const char *units = env_get(host->env, "UNIT_DIR");
    _cleanup_free_ char *unit = units != NULL ? mem_printf("%s/%s", units, host->agent->id) : NULL;
    _cleanup_strv_ char **paths = NULL;

    if (unit != NULL && strcmp(unit, link->cwd) != 0)
        strv_push(&paths, unit);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char *path = env_get(host->env, others[i].name);
        if (path != NULL && path[0] == '/' && strcmp(path, link->cwd) != 0 &&
            (others[i].writable || !host->wall.nested))
            strv_push(&paths, path);
    }
    acp_set_directories(link->acp, paths);
}

void opening_set(struct host *host)
{
    set_role(host);
    set_directories(host);
}

bool opening_without_role(struct host *host)
{
    struct agent_link *link = &host->conversation->link;

    if (!link->has_role)
        return false;
    host_log(host, "the agent opens no session with its role in the system prompt; it gets the "
                   "role in its first prompt");
    link->refused_role = true;
    return true;
}

void opening_close(struct host *host, const char *session, bool deletes)
{
    struct agent_link *link = &host->conversation->link;

    if (session == NULL || link->acp == NULL)
        return;
    const struct acp_info *info = acp_info(link->acp);
    deletes = deletes && info->remove;
    if (info->close)
        (void)acp_session_close(link->acp, session, SESSION_CLOSE_MS);
    if (deletes)
        (void)acp_session_delete(link->acp, session, SESSION_CLOSE_MS);
    link->left++;
    link->unclosed += !info->close && !deletes;
}

void opening_leave(struct host *host)
{
    struct agent_link *link = &host->conversation->link;

    permission_drop_all(host);
    if (host->talk->session == NULL || link->acp == NULL)
        return;
    sleep_session_left(host);
    tasks_forget(host);
    work_leave(host, host->talk->session);
    opening_close(host, host->talk->session, link->cleared);
    link->cleared = false;
    free(host->talk->session);
    host->talk->session = NULL;
}

void opening_ask(struct host *host)
{
    const struct agent_link *link = &host->conversation->link;

    opening_set(host);
    int64_t serial =
        acp_session_new(link->acp, link->cwd, link->tools, host->preset->initialize_ms);

    link_enter(host, PHASE_OPENS, serial, -1);
}
