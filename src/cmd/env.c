#include "cmd/env.h"

#include "base/json.h"
#include "cmd.h"
#include "cmd/print.h"
#include "store/session.h"
#include "store/workspace.h"

int env_load(struct call *call, const char *which, struct session *ret, struct err *err)
{
    char id[ID_TEXT];

    if (call_select(call, which, id, err) == -1)
        return -1;
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    if (dir == -1)
        return err_set(err, MAS_DAMAGED, "cannot read session '%s': its workspace is missing", id);
    if (session_load(&call->root, dir, id, ret, err) == -1)
        return err_wrap(err, "cannot read session '%s'", id);
    return 0;
}

static void print_json(const struct kv *kv)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};

    json_open(&out, NULL, '{');
    for (size_t i = 0; i < kv->count; i++)
        json_put(&out, kv->pairs[i].key, kv->pairs[i].value);
    json_close(&out, '}');
    print_line(&text);
}

static int run_env(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_kv_ struct kv env = {.count = 0};

    if (env_load(call, call->session, &session, err) == -1)
        return -1;
    session_env(&call->root, &session, &env);
    call->json ? print_json(&env) : print_variables(&env);
    return 0;
}

const struct cmd cmd_env = {
    .name = "env",
    .group = GROUP_SESSIONS,
    .operands = " [SESSION]",
    .summary = "print a session's variables for eval",
    .examples = "eval \"$(mas env shop)\"\n"
                "mas env --json shop",
    .details = "Print KEY='value' lines that a POSIX shell can eval, whatever the values "
               "contain.",
    .operands_max = 0,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_SESSION | CMD_AGENT,
    .run = run_env,
};
