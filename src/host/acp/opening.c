/* The sessions of the agent: what one is opened with, which is its role and the directories that it
 * works in, and how it is left. */
#include "host/acp/conversation.h"

#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/permission.h"
#include "host/talk/sleep.h"
#include "os/path.h"
#include "session/env.h"
#include "store/workspace.h"

/* Writes the variables that tell the server whose it is, because agents choose the environment of
 * their servers. */
static void put_environment(const struct host *host, struct json_out *out)
{
    static const char *const names[] = {"MAS_ROOT",       "MAS_TMUX_SOCKET",  "MAS_SESSION_MODE",
                                        "MAS_SESSION_ID", "MAS_SESSION_DIR",  "MAS_AGENT_ID",
                                        "MAS_AGENT_ROLE", MAS_SOCKET_VARIABLE};

    json_open(out, "env", '[');
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = env_get(host->env, names[i]);
        if (value == NULL)
            continue;
        json_put_all(out, JO(NULL), JT("name", names[i]), JT("value", value), JOE);
    }
    json_close(out, ']');
}

char *opening_servers(const struct host *host)
{
    _cleanup_free_ char *exe = path_exe();
    struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    if (!host->preset->tools || exe == NULL)
        return NULL;
    json_open(&out, NULL, '[');
    json_open(&out, NULL, '{');
    json_put_all(&out, JT("name", "mas"), JT("command", exe), JA("args"), JT(NULL, "mcp"), JAE);
    put_environment(host, &out);
    json_close(&out, '}');
    json_close(&out, ']');
    return str_steal(&text);
}

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
