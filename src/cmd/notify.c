#include "base/file.h"
#include "base/id.h"
#include "cmd.h"
#include "session/notice.h"

static int run_notify(struct call *call, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    const char *id = call->operands[0];
    size_t len = 0;

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot notify for '%s': it is no session id", id);
    if (file_read_stream(STDIN_FILENO, "standard input", NOTICE_INPUT_MAX, &text, &len, err) == -1)
        return -1;
    return notice_deliver(&call->root, &call->config, id, call->operands[1], call->operands[2],
                          text, err);
}

const struct cmd cmd_notify = {
    .name = "notify",
    .operands = " ID AGENT PANE",
    .summary = "deliver notices of an agent, lines of JSON on standard input",
    .operands_min = 3,
    .operands_max = 3,
    .flags = CMD_ROOT | CMD_HIDDEN,
    .run = run_notify,
};
