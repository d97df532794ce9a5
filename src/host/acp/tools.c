#include "host/acp/conversation.h"

#include "base/path.h"
#include "host/acp/agent_side.h"
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

char *tools_servers(const struct host *host)
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
