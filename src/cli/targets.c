/*
 * What the first operand is depends on where this runs and on how many agents there are, so a team
 * is opened first and the words are tried on it; what is understood is removed from the operands.
 * If nothing fits, the error is about what the person probably meant. The checks of a sender here
 * are for a clear message: as whom a process acts, the hosts decide.
 */

#include "cli/targets.h"

#include "base/suggest.h"
#include "base/time.h"
#include "model/target.h"
#include "session/errand/errand.h"
#include "session/life.h"

static void shift(struct call *call)
{
    call->operands++;
    call->operand_count--;
}

/* Opens the team of this process's pane. Returns false if it is in none. */
static bool open_own(const struct call *call, struct roster_team *ret)
{
    const char *id = getenv("MAS_SESSION_ID");
    char normal[ID_TEXT];
    struct err ignored = ERR_INIT;

    return id != NULL && call->has_root && id_normalise(id, normal) &&
           roster_open(&call->root, normal, ret, &ignored) == 0;
}

/* Returns true if `text` names agents of the team; else sets the error. */
static bool is_target(const struct team *team, const char *text, struct err *err)
{
    _cleanup_free_ size_t *agents = NULL;
    size_t count = 0;
    return target_resolve(team, NULL, text, &agents, &count, err) == 0;
}

static int open_named(struct call *call, const char *text, struct roster_team *ret, struct err *err)
{
    char id[ID_TEXT];
    return call_select(call, text, id, err) == -1 ? -1 : roster_open(&call->root, id, ret, err);
}

static bool may_leave_out(enum targets_form form)
{
    return form == TARGETS_OPTIONAL || form == TARGETS_ALL || form == TARGETS_NONE;
}

/* Outside of a team's pane: opens the SESSION in the first operand. If it is not found, and is too
 * short for an id or no TARGET follows, the user probably meant an agent, so the hint explains the
 * order. */
static int open_first(struct call *call, enum targets_form form, const char *text,
                      struct roster_team *ret, struct err *err)
{
    bool few = !may_leave_out(form) && call->operand_count == 0;

    if (open_named(call, text, ret, err) == 0)
        return 0;
    if (err->code == MAS_NOT_FOUND && text != NULL && !str_starts(err->hint, SUGGEST_MEANT) &&
        (few || strlen(text) < ID_PREFIX_MIN))
        return err_hint(err, "outside of a team's pane, name the session first: mas %s%s",
                        call->cmd->name, call->cmd->operands);
    return -1;
}

/* Returns true if the agent is omitted and the team has only one. */
static bool is_alone(const struct call *call, enum targets_form form, const struct team *team)
{
    struct err ignored = ERR_INIT;
    bool may = form == TARGETS_AGENT || form == TARGETS_AGENT_TEXT || form == TARGETS_AGENTS;

    if (!may || team->agent_count != 1)
        return false;
    return call->operand_count == 0 ||
           (form == TARGETS_AGENT_TEXT && !is_target(team, call->operands[0], &ignored));
}

/* Opens the session if -s does not name it; removes its operand, if there is one. */
static int open_session(struct call *call, enum targets_form form, struct roster_team *ret,
                        struct err *err)
{
    struct roster_team own;
    struct err no_agent = ERR_INIT;
    const char *text = call->operand_count > 0 ? call->operands[0] : NULL;

    if (!open_own(call, &own)) {
        if (text != NULL)
            shift(call);
        return open_first(call, form, text, ret, err);
    }
    if (text == NULL ? may_leave_out(form) || is_alone(call, form, &own.team)
                     : is_target(&own.team, text, &no_agent)) {
        *ret = own;
        return 0;
    }
    roster_close(&own);
    if (text == NULL)
        return 0; /* the TARGET is missing; targets_parse() reports it */
    shift(call);
    if (open_named(call, text, ret, err) == 0)
        return 0;
    if (err->code == MAS_NOT_FOUND)
        *err = no_agent; /* inside a team's pane, the user probably meant an agent */
    return -1;
}

/* Removes the TARGET from the operands and returns it; several are joined with commas. NULL: there
 * is none. The caller frees it. */
static char *pop_target(struct call *call, enum targets_form form)
{
    struct str text = STR_INIT;

    if (call->operand_count == 0)
        return NULL;
    do {
        str_addf(&text, "%s%s", text.len > 0 ? "," : "", call->operands[0]);
        shift(call);
    } while ((form == TARGETS_MANY || form == TARGETS_AGENTS || form == TARGETS_ALL ||
              form == TARGETS_NONE) &&
             call->operand_count > 0);
    return str_steal(&text);
}

static int need_target(const struct call *call, struct err *err)
{
    (void)err_set(err, MAS_USAGE, "cannot run '%s': it needs %s", call->cmd->name,
                  strstr(call->cmd->operands, "AGENT") != NULL ? "an AGENT" : "a TARGET");
    return call_usage(call, err);
}

static bool takes_option(const struct cmd *cmd, const char *name)
{
    for (const struct opt *opt = cmd->opts; opt != NULL && opt->name != NULL; opt++)
        if (strcmp(opt->name, name) == 0)
            return true;
    return false;
}

/* Returns the agent of this session in whose pane this process runs, or NULL. */
static const char *own_agent(const char *id)
{
    const char *agent = getenv("MAS_AGENT_ID");
    const char *session = getenv("MAS_SESSION_ID");

    return agent != NULL && agent[0] != '\0' && session != NULL && strcmp(session, id) == 0 ? agent
                                                                                            : NULL;
}

int targets_parse(struct call *call, enum targets_form form, struct roster *roster, struct err *err)
{
    struct roster_team team = {.dir = -1};
    int rc = call->session != NULL ? open_named(call, call->session, &team, err)
                                   : open_session(call, form, &team, err);

    if (rc == -1)
        return -1;
    bool alone = team.dir != -1 && is_alone(call, form, &team.team);
    _cleanup_free_ char *target = alone ? mem_dup(team.team.agents[0].id) : pop_target(call, form);
    if (target == NULL && !may_leave_out(form)) {
        if (team.dir != -1)
            roster_close(&team);
        return need_target(call, err);
    }
    if (target == NULL && form == TARGETS_NONE) {
        roster_add_none(roster, &team);
        return 0;
    }
    if (takes_option(call->cmd, "from")) /* a command by which agents write to others */
        roster->from = own_agent(team.id) != NULL ? own_agent(team.id) : call_opt(call, "from");
    if (roster_add(roster, &team, target, err) == -1)
        return -1;
    return form == TARGETS_AGENT || form == TARGETS_AGENT_TEXT
               ? targets_check_one(call, roster, err)
               : 0;
}

int targets_check_one(const struct call *call, const struct roster *roster, struct err *err)
{
    if (roster->count == 1)
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot run '%s' for %zu agents: name one agent", call->cmd->name,
                  roster->count);
    return call_usage(call, err);
}

int targets_sender(const struct call *call, const struct roster *roster, const char *what,
                   const char **ret, struct err *err)
{
    const struct roster_team *team = &roster->teams[0];
    const char *agent = getenv("MAS_AGENT_ID");
    const char *session = getenv("MAS_SESSION_ID");
    bool is_agent = agent != NULL && agent[0] != '\0' && session != NULL && session[0] != '\0';
    const char *from = call_opt(call, "from");

    if (is_agent && strcmp(session, team->id) != 0) {
        (void)err_set(err, MAS_FAILED,
                      "cannot %s session '%s': an agent may write only to its own team", what,
                      roster_label(team).text);
        return err_hint(err, "this is agent '%s' of session '%s'", agent,
                        session_label(team->root, session).text);
    }
    if (is_agent && from != NULL && strcmp(from, agent) != 0)
        return err_set(
            err, MAS_FAILED,
            "cannot %s from agent '%s': this is agent '%s', and an agent may speak only for itself",
            call->cmd->name, from, agent);
    if (is_agent)
        from = agent;
    if (from != NULL && team_agent(&team->team, from) == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot %s from agent '%s': the team has no such agent",
                      call->cmd->name, from);
        return target_hint(&team->team, from, false, err);
    }
    *ret = from;
    return 0;
}

int targets_timeout(const struct call *call, int *ret_ms, struct err *err)
{
    const char *text = call_opt(call, "timeout");

    if (text == NULL || time_parse_duration(text, ret_ms))
        return 0;
    return call_bad_value(call, "timeout", "a time such as 500ms, 30s or 5m", err);
}

int targets_bring_back(const struct call *call, struct roster *roster, enum host_answer missing,
                       size_t *ret_count, struct err *err)
{
    struct life life = {.root = &call->root, .config = &call->config};
    const struct agent **absent = mem_alloc((roster->count + 1) * sizeof *absent);
    struct err ignored = ERR_INIT; /* the next tick begins them */
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i < roster->count; i++)
        if (roster->calls[i].answer == missing) {
            roster->calls[i].answer = HOST_ABSENT;
            absent[count++] = roster->agents[i].agent;
        }
    if (count > 0) {
        const struct life_respawn options = {
            .team = &roster->teams[0].team, .agents = absent, .count = count};
        rc = life_respawn(&life, roster->teams[0].id, &options, err);
        if (rc == 0) {
            roster_ask_coming(roster, "{\"do\":\"status\"}", TARGETS_COME_MS);
            hosts_finish(roster->calls, roster->count, TARGETS_COME_MS, NULL, NULL);
            (void)errand_begin_all(&call->root, &call->config, roster->teams[0].id, &ignored);
        }
    }
    free(absent);
    *ret_count = count;
    return rc;
}
