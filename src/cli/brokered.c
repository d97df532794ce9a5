#include "cli/brokered.h"

#include "client/broker.h"
#include "os/proc.h"
#include "store/workspace.h"

/* Returns the value of a variable, NULL if it is empty. */
static const char *get(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* What needs no root is done where it is asked for, and what mas itself runs there. */
static bool is_local(const struct cmd *cmd)
{
    return cmd->group == GROUP_HIDDEN || (cmd->actions == NULL && !cmd_opens_root(cmd));
}

bool brokered_wanted(const struct cmd *cmd)
{
    return get(MAS_SOCKET_VARIABLE) != NULL && !is_local(cmd);
}

static int fail_root(struct err *err)
{
    (void)err_set(err, MAS_FAILED, "cannot use --root: an agent works in the root of its team");
    return err_hint(err, "leave it out");
}

int brokered_ask(const struct cmd *cmd, int argc, char **argv, const char *root, int *ret_code,
                 struct err *err)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool colour = (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
    char *alone[] = {(char *)(uintptr_t)cmd->name, NULL};

    if (root != NULL)
        return fail_root(err);
    if (argc > 0 && cmd_open_files(cmd, argc, argv, err) == -1)
        return -1;
    return broker_run(get(MAS_SOCKET_VARIABLE), argc > 0 ? argv : alone, colour, ret_code, err);
}

static bool is_brokered(void)
{
    return get(MAS_BROKERED_VARIABLE) != NULL;
}

bool brokered_is_agent(void)
{
    return get(MAS_SOCKET_VARIABLE) != NULL || is_brokered();
}

/* Fails if an option names a file. */
static int check_files(const struct call *call, struct err *err)
{
    for (size_t i = 0; i < call->given_count; i++) {
        const struct given *given = &call->given[i];
        enum offer kind = opt_offer(given->opt);
        if ((kind != OFFER_FILE && kind != OFFER_DIR) || strcmp(given->value, "-") == 0)
            continue;
        (void)err_set(err, MAS_FAILED,
                      "cannot use --%s '%s': the host of an agent opens no files for it",
                      given->opt->name, given->value);
        return err_hint(err, "give it on standard input: --%s -", given->opt->name);
    }
    return 0;
}

int call_check_agent(const struct call *call, struct err *err)
{
    if (!is_brokered())
        return 0;
    proc_end_with_parent(SIGKILL); /* an agent that kills its supervisor gains nothing */
    if (call->cmd->who != WHO_AGENTS && call->cmd->who != WHO_AGENTS_SHARE) {
        (void)err_set(err, MAS_FAILED, "cannot run '%s': only a person may, and this is agent '%s'",
                      call->cmd->name, get(MAS_BROKERED_VARIABLE));
        return err_hint(err, "what agents may do is in mas-agents(7); ask a person for the rest");
    }
    if (call->root_path != NULL)
        return fail_root(err);
    return check_files(call, err);
}

/* The agent hears the same whether there is another session of that name or not. */
int call_check_session(const struct call *call, const char *text, const char *id, struct err *err)
{
    const char *own = getenv("MAS_SESSION_ID");
    bool is_memory = call->cmd->who == WHO_AGENTS_SHARE;

    if (!is_brokered() || (is_memory && config_yes(&call->config, SETTING_MEMORY_SHARE)) ||
        (own != NULL && id != NULL && strcmp(own, id) == 0))
        return 0;
    (void)err_set(err, MAS_NOT_FOUND,
                  "cannot run '%s' for session '%s': an agent sees its own team", call->cmd->name,
                  text);
    return is_memory ? err_hint(err, "to let agents see all sessions, set 'share = yes' in "
                                     "[memory] of mas.ini")
                     : err_hint(err, "leave the session out");
}
