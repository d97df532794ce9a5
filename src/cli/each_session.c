/*
 * All targets are found before the first is acted on. One that is no session here keeps its error
 * until its turn; a verb that acts on jobs then looks for one of that name, and only if there is
 * none is it a failure.
 */

#include "cli/each_session.h"

#include "cli/jobs.h"
#include "cli/print.h"
#include "os/file.h"
#include "store/session.h"
#include "store/workspace.h"

/* A session to work on, or why an operand names none. */
struct target {
    char id[ID_TEXT];
    struct err why; /* code MAS_OK: the id is valid */
    const char *text; /* as it was named; NULL: by an option */
};

/* Lists the ids of all sessions that `want` selects. */
static int pick(struct call *call, each_session_want *want, struct target **ret, size_t *ret_count,
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

/* Finds the ids of the sessions that -s and the operands name. Finds all of them before acting on
 * any, because an action can change what @last or a prefix means. Returns their number. */
static size_t find_named(struct call *call, struct target **ret)
{
    size_t count = 0;
    struct target *targets = mem_alloc(((size_t)call->operand_count + 2) * sizeof *targets);

    for (int i = -1; i < call->operand_count; i++) {
        const char *text = i == -1 ? call->session : call->operands[i];
        if (text != NULL) {
            targets[count].text = text;
            (void)call_select(call, text, targets[count].id, &targets[count].why);
            count++;
        }
    }
    *ret = targets;
    return count;
}

void each_session_fail(const struct err *why, int *rc, struct err *err)
{
    if (*rc == -1)
        err_print(why);
    else
        *err = *why;
    *rc = -1;
}

/* Returns the value of -s or, without operands, of $MAS_SESSION_ID; NULL if there is none. */
static const char *first_session(const struct call *call)
{
    const char *own = getenv("MAS_SESSION_ID");

    if (call->operand_count > 0 || call->session != NULL)
        return call->session;
    return own != NULL && own[0] != '\0' ? own : NULL;
}

bool each_session_means_all(const struct call *call)
{
    return call->operand_count == 0 && first_session(call) == NULL;
}

int each_session_look(const struct call *call, each_session_parse *take, void *arg, struct err *err)
{
    int rc = 0;

    for (int i = -1; i < call->operand_count; i++) {
        const char *text = i == -1 ? first_session(call) : call->operands[i];
        struct err why = ERR_INIT;
        char id[ID_TEXT];
        if (text != NULL &&
            (call_select(call, text, id, &why) == -1 || take(call, id, arg, &why) == -1))
            each_session_fail(&why, &rc, err);
    }
    return rc;
}

int each_session_run(struct call *call, each_session_do *act, each_session_want *want,
                     struct err *err)
{
    struct life_memory memory = {.needed = 0};
    struct life life = {.root = &call->root, .config = &call->config, .memory = &memory};
    struct target *targets = NULL;
    size_t count = 0;
    int rc = 0;
    bool named = call->operand_count > 0 || call->session != NULL;

    if (want != NULL && named)
        return err_set(
            err, MAS_USAGE,
            "cannot run '%s': it takes a SESSION or an option for many sessions, not both",
            call->cmd->name);
    if (want == NULL && !named)
        return call_select(call, NULL, (char[ID_TEXT]){""}, err);
    if (want == NULL)
        count = find_named(call, &targets);
    else if (call->has_root && pick(call, want, &targets, &count, err) == -1)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct err *why = &targets[i].why;
        int one = -1;
        if (why->code == MAS_OK)
            one = act(call, &life, targets[i].id, why);
        else
            one = all_jobs_act(call, targets[i].text, why);
        if (one == 0)
            continue;
        each_session_fail(why, &rc, err);
    }
    free(targets);
    warn_memory(&memory);
    return rc;
}
