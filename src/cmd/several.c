#include "cmd/several.h"

#include "base/str.h"
#include "cmd/print.h"

#include <stdlib.h>
#include <string.h>

/* One of the sessions to work on, or why an operand names none. */
struct target {
    char id[ID_TEXT];
    struct err why; /* code MAS_OK: the id is good */
};

/* The ids of all sessions that `want` picks. */
static int pick(struct call *call, several_want *want, struct target **ret, size_t *ret_count,
                struct err *err)
{
    _cleanup_survey_ struct survey survey = SURVEY_INIT;
    size_t count = 0;

    if (survey_take(&call->root, &call->config, SURVEY_LIVE, &survey, err) == -1)
        return -1;
    struct target *targets = mem_alloc((survey.count + 1) * sizeof *targets);
    for (size_t i = 0; i < survey.count; i++)
        if (want(&survey.views[i]))
            memcpy(targets[count++].id, survey.views[i].row.id, ID_TEXT);
    *ret = targets;
    *ret_count = count;
    return 0;
}

/* The ids of those that -s and the operands name: all found before anything is done, since what is
 * done could change what @last or a prefix means. */
static size_t find_named(struct call *call, struct target **ret)
{
    size_t count = 0;
    struct target *targets = mem_alloc(((size_t)call->operand_count + 2) * sizeof *targets);

    for (int i = -1; i < call->operand_count; i++) {
        const char *text = i == -1 ? call->session : call->operands[i];
        if (text != NULL) {
            (void)call_select(call, text, targets[count].id, &targets[count].why);
            count++;
        }
    }
    *ret = targets;
    return count;
}

int several_run(struct call *call, several_do *act, several_want *want, struct err *err)
{
    struct life_memory memory = {.needed = 0};
    struct life life = {.root = &call->root, .config = &call->config, .memory = &memory};
    struct target *targets = NULL;
    size_t count = 0;
    int rc = 0;
    bool named = call->operand_count > 0 || call->session != NULL;

    if (want != NULL && named)
        return err_set(err, MAS_USAGE, "cannot run '%s': a SESSION and an option for many",
                       call->cmd->name);
    if (want == NULL && !named)
        return call_select(call, NULL, (char[ID_TEXT]){""}, err);
    if (want == NULL)
        count = find_named(call, &targets);
    else if (call->has_root && pick(call, want, &targets, &count, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct err *why = &targets[i].why;
        if (why->code == MAS_OK && act(call, &life, targets[i].id, why) == 0)
            continue;
        if (rc == -1)
            err_print(why); /* the first one is left to main */
        else
            *err = *why;
        rc = -1;
    }
    free(targets);
    warn_memory(&memory);
    return rc;
}
