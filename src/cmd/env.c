/*
 * The variables of a session, for `eval`; and what the shell functions for older scripts need of
 * mas and no verb offers, as actions of one hidden verb. These print lines for `eval`, quoted, or
 * an id, and act through session/ as the verbs do.
 */

#include "base/id.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/print.h"
#include "cmd.h"
#include "os/path.h"
#include "session/legacy.h"
#include "session/life.h"
#include "store/session.h"
#include "store/workspace.h"

/* Loads the metadata of the session that `which` names. */
static int env_load(struct call *call, const char *which, struct session *ret, struct err *err)
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
    .root = ROOT_IF_THERE,
    .on = ON_SESSION,
    .who = WHO_AGENTS,
    .takes = TAKES_JSON,
    .run = run_env,
};

/* ---- for lib/session.sh */

static int run_uuid(struct call *call, struct err *err)
{
    char id[ID_TEXT];

    (void)call;
    if (id_make(id, err) == -1)
        return -1;
    printf("%s\n", id);
    return 0;
}

/* Finds the session whose workspace is this directory. *ret_id points into *ret_path. */
static int find_by_dir(const struct call *call, const char *dir, const char **ret_id,
                       char **ret_path, struct err *err)
{
    _cleanup_free_ char *path = path_canonical(dir);

    if (path == NULL) {
        (void)err_errno(err, "cannot find the session of '%s'", dir);
        if (err->number == ENOENT || err->number == ENOTDIR)
            err->code = MAS_NOT_FOUND;
        return -1;
    }
    if (!call->has_root)
        return err_set(err, MAS_NOT_FOUND, "cannot find the session of '%s': there is no root",
                       dir);
    _cleanup_free_ char *sessions = mem_printf("%s/%s/", call->root.path, ROOT_SESSIONS);
    if (!str_starts(path, sessions) || !id_is_valid(path + strlen(sessions)))
        return err_set(err, MAS_NOT_FOUND,
                       "cannot find the session of '%s': it is not a workspace of the root '%s'",
                       dir, call->root.path);
    *ret_id = path + strlen(sessions);
    *ret_path = TAKE_PTR(path);
    return 0;
}

/* Prints the variables that load_session sets: those of `mas env`, and four from .session. */
static int run_load(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_kv_ struct kv variables = {.count = 0};
    char created[TIME_TEXT];

    if (env_load(call, call->operands[0], &session, err) == -1)
        return -1;
    session_env(&call->root, &session, &variables);
    time_format(session.created, created);
    kv_put(&variables, "SESSION_ID", session.id);
    kv_put(&variables, "TMUX_SESSION", session.tmux_name);
    kv_put(&variables, "STATUS", status_name(session.status));
    kv_put(&variables, "CREATED_AT", created);
    print_variables(&variables);
    return 0;
}

static int run_fill(struct call *call, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    const char *id = NULL;
    struct life life = {.root = &call->root, .config = &call->config};

    if (find_by_dir(call, call->operands[0], &id, &path, err) == -1)
        return -1;
    progress_begin(&life, "copying", false);
    int rc = life_fill(&life, id, err);
    progress_end();
    return rc;
}

static int run_mark(struct call *call, struct err *err)
{
    const struct life life = {.root = &call->root, .config = &call->config};
    const char *why = call->operand_count > 1 ? call->operands[1] : "";
    char id[ID_TEXT];

    return call_select(call, call->operands[0], id, err) == -1 ? -1
                                                               : life_mark(&life, id, why, err);
}

/* Prints the id of the legacy session, for scripts that expect one session and know no id. */
static int run_legacy(struct call *call, struct err *err)
{
    char id[ID_TEXT];
    int found = call->has_root ? legacy_find(&call->root, id, err) : 0;

    if (found == 0) {
        (void)err_set(err, MAS_NOT_FOUND,
                      "cannot find the legacy session: the root has no legacy session");
        return err_hint(err, "create it with: mas new --mode legacy");
    }
    if (found == -1)
        return -1;
    printf("%s\n", id);
    return 0;
}

static const struct cmd cmd_uuid = {
    .name = "library uuid",
    .group = GROUP_HIDDEN,
    .operands = "",
    .summary = "print a new id",
    .run = run_uuid,
};

static const struct cmd cmd_load = {
    .name = "library load",
    .group = GROUP_HIDDEN,
    .operands = " SESSION",
    .summary = "print what load_session sets",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_IF_THERE,
    .run = run_load,
};

static const struct cmd cmd_fill = {
    .name = "library fill",
    .group = GROUP_HIDDEN,
    .operands = " DIR",
    .summary = "create what is missing in a workspace",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_IF_THERE,
    .run = run_fill,
};

static const struct cmd cmd_mark = {
    .name = "library mark",
    .group = GROUP_HIDDEN,
    .operands = " SESSION [WHY]",
    .summary = "mark a session as broken",
    .operands_min = 1,
    .operands_max = 2,
    .root = ROOT_IF_THERE,
    .run = run_mark,
};

static const struct cmd cmd_legacy = {
    .name = "library legacy",
    .group = GROUP_HIDDEN,
    .operands = "",
    .summary = "print the id of the legacy session",
    .root = ROOT_IF_THERE,
    .run = run_legacy,
};

static const struct cmd *const actions[] = {&cmd_uuid, &cmd_load,   &cmd_fill,
                                            &cmd_mark, &cmd_legacy, NULL};

const struct cmd cmd_library = {
    .name = "library",
    .group = GROUP_HIDDEN,
    .operands = " ACTION [OPERAND...]",
    .summary = "do what the shell scripts need and no other command does",
    .operands_min = 1,
    .operands_max = -1,
    .actions = actions,
};
