#include "cmd.h"
#include "cmd/print.h"
#include "core/archive.h"

static const struct opt opts[] = {
    {0, "new-id", NULL, "as a new session, with an id of its own", OFFER_NONE},
    {'n', "name", "NAME", "a name to call it by, instead of the one it had", OFFER_NONE},
    {0, "links", NULL, "take symbolic links that lead out of the session, too", OFFER_NONE},
    {.name = NULL},
};

static int run_restore(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life life = {.root = &call->root, .config = &call->config};
    const struct archive_restore wish = {
        .file = call->operands[0],
        .name = call_opt(call, "name"),
        .new_id = call_opt(call, "new-id") != NULL,
        .links = call_opt(call, "links") != NULL,
    };

    progress_begin(&life, "restoring", call->quiet);
    int rc = archive_restore(&life, &wish, &session, err);
    progress_end();
    return rc == -1 ? -1 : print_made(call, &session, false, err);
}

const struct cmd cmd_restore = {
    .name = "restore",
    .group = GROUP_SESSIONS,
    .operands = " FILE",
    .summary = "bring a session back from its archive",
    .examples = "mas restore shop.tar.zst\n"
                "mas restore --new-id --name shop2 shop.tar.zst",
    .details = "FILE is what 'mas archive' wrote, - is standard input. The session is stopped.",
    .opts = opts,
    .operands_min = 1,
    .operands_max = 1,
    .offer = OFFER_FILE,
    .flags = CMD_ROOT | CMD_MAKES_ROOT | CMD_JSON | CMD_QUIET,
    .run = run_restore,
};
