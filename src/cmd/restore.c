#include "cli/print.h"
#include "cmd/show.h"
#include "memory/store.h"
#include "session/archive.h"

static const struct opt opts[] = {
    {0, "new-id", NULL, "restore as a new session with a random id"},
    {'n', "name", "NAME", "name the session, instead of the name it had"},
    {0, "takeover", NULL, "restore it although another machine may still have it"},
    {0, "links", NULL, "accept symbolic links that lead out of the session, too"},
    {.name = NULL},
};

/* Ends the waiting prompts and messages in the copy, because they belong to the original. */
static int own_conversations(int dir, const char *id, struct err *err)
{
    struct err why = ERR_INIT;
    _cleanup_store_ struct store *store = NULL;
    int64_t count = 0;

    if (faccessat(dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    if (store_open(dir, id, NULL, true, &store, &why) == -1) {
        if (why.code == MAS_DAMAGED)
            return 0; /* the first start sets it aside, with its waiting prompts */
        *err = why;
        return -1;
    }
    if (store_disown(store, &count, err) == -1)
        return -1;
    if (count > 0)
        err_warn("the copy does not send the prompts that waited for its agents (%lld)",
                 (long long)count);
    return 0;
}

static int run_restore(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life life = {.root = &call->root, .config = &call->config};
    _cleanup_str_ struct str dropped = STR_INIT;
    const struct archive_restore options = {
        .file = call->operands[0],
        .name = call_opt(call, "name"),
        .new_id = call_opt(call, "new-id") != NULL,
        .links = call_opt(call, "links") != NULL,
        .takeover = call_opt(call, "takeover") != NULL,
        .no_accounts = &dropped,
        .own = own_conversations,
    };

    progress_begin(&life, "restoring", call->quiet);
    int rc = archive_restore(&life, &options, &session, err);
    progress_end();
    if (rc == 0 && dropped.len > 0)
        err_warn("another machine wrote the archive: the accounts of %s are left out",
                 dropped.data);
    return rc == -1 ? -1 : print_made(call, &session, false, err);
}

const struct cmd cmd_restore = {
    .name = "restore",
    .group = GROUP_SESSIONS,
    .operands = " FILE",
    .summary = "restore a session from its archive",
    .examples = "mas restore shop.tar.zst\n"
                "mas restore --new-id --name shop2 shop.tar.zst",
    .details = "FILE is an archive that 'mas archive' wrote; - is standard input. The "
               "restored session is stopped.",
    .opts = opts,
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_MADE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = WAITS_LONG,
    .run = run_restore,
};
