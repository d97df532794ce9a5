#include "cmd.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/helper.h"

static const struct opt opts[] = {
    {0, "once", NULL, "print the list once, as text"},
    {0, "teams", NULL, "group agents by team"},
    {.name = NULL},
};

/* Adds the full ids of the sessions that the operands name. */
static int push_sessions(const struct call *call, char ***argv, struct err *err)
{
    char id[ID_TEXT];

    if (call->session != NULL && call->operand_count == 0) {
        if (call_select(call, call->session, id, err) == -1)
            return -1;
        strv_push(argv, id);
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (call_select(call, call->operands[i], id, err) == -1)
            return -1;
        strv_push(argv, id);
    }
    return 0;
}

static int run_top(struct call *call, struct err *err)
{
    _cleanup_strv_ char **argv = NULL;
    _cleanup_free_ char *file = helper_find(HELPER_TOP, err);
    _cleanup_free_ char *mas = path_exe();

    if (file == NULL)
        return -1;
    if (mas == NULL)
        return err_errno(err, "cannot find the mas program");
    strv_push(&argv, HELPER_TOP);
    strv_push(&argv, mas);
    strv_push(&argv, call->root.path);
    for (const struct opt *opt = opts; opt->name != NULL; opt++) {
        _cleanup_free_ char *word = mem_printf("--%s", opt->name);
        if (call_opt(call, opt->name) != NULL)
            strv_push(&argv, word);
    }
    return push_sessions(call, &argv, err) == 0 ? proc_exec(file, argv, NULL, err) : -1;
}

const struct cmd cmd_top = {
    .name = "top",
    .group = GROUP_BEGIN,
    .operands = " [SESSION...]",
    .summary = "show all agents live, those that need a person first",
    .examples = "mas top\n"
                "mas top shop\n"
                "mas top --once",
    .details = "A full screen for a terminal; ? shows its keys. Without SESSION, it shows all "
               "sessions that run.",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_MADE,
    .on = ON_SESSIONS,
    .takes = TAKES_ALL_HOSTS,
    .does = WAITS_LONG | USES_TERMINAL,
    .run = run_top,
};
