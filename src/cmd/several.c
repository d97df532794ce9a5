#include "cmd/several.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* Keeps the first failure, prints the others. */
static void note(struct err *first, const struct err *err)
{
    if (first->code == MAS_OK)
        *first = *err;
    else
        err_print(err);
}

/* The ids of all sessions that `want` picks. */
static int pick(struct call *call, several_want *want, char ***ret, struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;

    if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    for (size_t i = 0; i < survey.count; i++)
        if (want(&survey.views[i]))
            strv_push(ret, survey.views[i].row.id);
    return 0;
}

/* Adds the id of one SESSION, or notes why there is none. */
static void add_named(struct call *call, const char *text, char ***ids, struct err *first)
{
    struct err why = ERR_INIT;
    char id[ID_TEXT];

    if (call_select(call, text, id, &why) == -1)
        note(first, &why);
    else
        strv_push(ids, id);
}

int several_run(struct call *call, several_do *act, several_want *want, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    struct err first = ERR_INIT;
    _cleanup_strv_ char **ids = NULL;
    bool named = call->operand_count > 0 || call->session != NULL;

    if (want != NULL && named)
        return err_set(err, MAS_USAGE, "cannot run '%s': a SESSION and an option for many",
                       call->cmd->name);
    if (want == NULL && !named)
        return call_select(call, NULL, (char[ID_TEXT]){""}, err);
    if (want != NULL && call->has_root && pick(call, want, &ids, err) == -1)
        return -1;
    if (call->session != NULL)
        add_named(call, call->session, &ids, &first);
    for (int i = 0; i < call->operand_count; i++)
        add_named(call, call->operands[i], &ids, &first);
    for (size_t i = 0; ids != NULL && ids[i] != NULL; i++) {
        struct err why = ERR_INIT;
        if (act(call, &life, ids[i], &why) == -1)
            note(&first, &why);
    }
    if (first.code == MAS_OK)
        return 0;
    *err = first;
    return -1;
}
