#include "base/json.h"
#include "cmd.h"
#include "cmd/print.h"
#include "core/session.h"
#include "core/workspace.h"

#include <unistd.h>

static int run_env(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct kv env = {.count = 0};
    char id[ID_TEXT];

    if (call_select(call, call->session, id, err) == -1)
        return -1;
    _cleanup_close_ int dir = workspace_open(&call->root, id);
    if (dir == -1)
        return err_set(err, MAS_DAMAGED, "cannot read session '%s': its workspace is missing", id);
    if (session_load(&call->root, dir, id, &session, err) == -1)
        return err_wrap(err, "cannot read session '%s'", id);
    session_env(&call->root, &session, &env);
    if (call->json)
        json_open(&out, NULL, '{');
    for (size_t i = 0; i < env.count; i++) {
        if (call->json) {
            json_put(&out, env.pairs[i].key, env.pairs[i].value);
            continue;
        }
        str_addf(&text, "%s%s=", i > 0 ? "\n" : "", env.pairs[i].key);
        str_add_shell(&text, env.pairs[i].value, true);
    }
    if (call->json)
        json_close(&out, '}');
    kv_free(&env);
    print_line(&text);
    return 0;
}

const struct cmd cmd_env = {
    .name = "env",
    .group = GROUP_SESSIONS,
    .operands = " [SESSION]",
    .summary = "print a session's variables for eval",
    .examples = "eval \"$(mas env shop)\"\n"
                "mas env --json shop",
    .details = "KEY='value' lines that a POSIX shell can eval, whatever is in them.",
    .operands_max = 0,
    .offer = OFFER_SESSION,
    .flags = CMD_ROOT | CMD_NO_ROOT_OK | CMD_JSON | CMD_SESSION,
    .run = run_env,
};
