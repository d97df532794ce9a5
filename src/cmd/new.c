#include "client/survey.h"
#include "cmd.h"
#include "cmd/consent.h"
#include "cmd/print.h"
#include "cmd/wall_option.h"
#include "tmux/tmux.h"

#include <stdlib.h>
#include <string.h>

static const struct opt opts[] = {
    {'n', "name", "NAME", "name the session", OFFER_NONE},
    {'t', "template", "TEMPLATE", "the template of the team", OFFER_TEMPLATE},
    {0, "agent", "PRESET", "run all agents of the team with this preset", OFFER_PRESET},
    {0, "project", "DIR[@REF]", "work on this git repository, from HEAD or REF on", OFFER_FILE},
    {0, "with-changes", NULL, "begin with what is changed and not committed there", OFFER_NONE},
    {0, "setup", "ANSWER", "yes or no: allow the project's .mas/setup, or do without a setup",
     OFFER_NONE},
    {'c', "config", "FILE", "first messages and presets of single agents, as JSON", OFFER_FILE},
    {'p', "prompt", "AGENT=TEXT", "the first message of an agent; may be repeated", OFFER_NONE},
    {0, "id", "UUID", "use this session id instead of a random one", OFFER_NONE},
    {0, "mode", "MODE", "isolated (the default), or legacy: the one shared session", OFFER_MODE},
    {0, "private", NULL, "make the session private: share no memory", OFFER_NONE},
    WALL_OPTION,
    {0, "no-start", NULL, "only create the workspace", OFFER_NONE},
    {'a', "attach", NULL, "attach to the session", OFFER_NONE},
    {.name = NULL},
};

static int attach(const struct call *call, const struct session *session, struct err *err)
{
    struct tmux_session *live = NULL;
    if (survey_find_live(&call->root, session->tmux_socket, session->id, &live, err) == -1)
        return -1;
    if (live == NULL)
        return err_set(err, MAS_TMUX, "cannot attach: tmux session '%s' is gone",
                       session->tmux_name);
    int rc = tmux_attach(session->tmux_socket, live->target, NULL, err);
    tmux_sessions_free(live, 1);
    return rc;
}

/* Fails if this terminal could not attach to a new session. */
static int check_attach(const struct call *call, struct err *err)
{
    _cleanup_free_ char *socket = NULL;
    if (tmux_socket(&call->config, "mas-00000000", &socket, err) == -1)
        return -1;
    return tmux_check_attach(socket, err);
}

/* Reads --setup, and finds out whether somebody can be asked. */
static int read_setup(const struct call *call, struct life_setup *ret, struct err *err)
{
    const char *word = call_opt(call, "setup");

    if (word != NULL && strcmp(word, "yes") != 0 && strcmp(word, "no") != 0)
        return err_set(err, MAS_USAGE, "cannot use --setup '%s': it is not yes or no", word);
    if (word != NULL)
        ret->wish = strcmp(word, "yes") == 0 ? LIFE_SETUP_YES : LIFE_SETUP_NO;
    if (ret->wish == LIFE_SETUP_YES && caller_is_agent())
        return err_set(err, MAS_FAILED, "cannot use --setup=yes: an agent may not decide this");
    ret->ask = consent_possible() && !caller_is_agent() ? consent_ask : NULL;
    return 0;
}

/* Warns if the project has a setup that does not run although nobody has declined it. */
static void warn_setup(const struct life_setup *setup, const struct session *session)
{
    if (setup->fault != NULL)
        err_warn("the project's " SETUP_SCRIPT " does not run: %s", setup->fault);
    else if (setup->state == SETUP_WAITS)
        err_warn("the project's " SETUP_SCRIPT " does not run, because nobody has allowed it; "
                 "allow it with: mas set %s setup=yes",
                 session->name[0] != '\0' ? session->name : session->id);
}

static int run_new(struct call *call, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    bool wants_attach = call_opt(call, "attach") != NULL;
    const char *mode = call_opt(call, "mode");
    _cleanup_strv_ char **prompts = call_opts(call, "prompt");
    struct life_memory memory = {.needed = 0};
    struct life_setup setup = {.wish = LIFE_SETUP_AS_ANSWERED};
    enum wall_level wall = WALL_UNSET;
    struct life life = {
        .root = &call->root, .config = &call->config, .memory = &memory, .setup = &setup};
    struct life_options options = {
        .name = call_opt(call, "name"),
        .template = call_opt(call, "template"),
        .preset = call_opt(call, "agent"),
        .id = call_opt(call, "id"),
        .project = call_opt(call, "project"),
        .changes = call_opt(call, "with-changes") != NULL,
        .config = call_opt(call, "config"),
        .prompts = prompts,
        .private = call_opt(call, "private") != NULL,
        .start = call_opt(call, "no-start") == NULL,
    };

    if (wants_attach && !options.start)
        return err_set(err, MAS_USAGE, "cannot use --attach with --no-start");
    if (mode != NULL && config_override(&call->config, SETTING_MODE, mode, "--mode", err) == -1)
        return -1;
    if ((wants_attach && check_attach(call, err) == -1) || read_setup(call, &setup, err) == -1 ||
        wall_option_read(call, &wall, &life.wall, err) == -1)
        return -1;
    progress_begin(&life, "copying", call->quiet);
    int rc = life_new(&life, &options, &session, err);
    progress_end();
    if (rc == -1)
        return -1;
    warn_memory(&memory);
    warn_setup(&setup, &session);
    return wants_attach ? attach(call, &session, err)
                        : print_made(call, &session, options.start, err);
}

const struct cmd cmd_new = {
    .name = "new",
    .group = GROUP_BEGIN,
    .operands = "",
    .summary = "create a workspace and start its team",
    .examples = "mas new\n"
                "mas new --name shop --template pair --agent claude\n"
                "mas new --name page --template solo --attach\n"
                "mas new --name login --project ~/src/shop@main",
    .details =
        "mas copies the template into a new workspace and starts each agent in a "
        "pane. It prints where the session is and how to attach; with -q, only the "
        "session's id. With --project, each agent that writes gets a repository and a branch "
        "of its own; 'mas land' brings the work home.",
    .opts = opts,
    .stray = "to name the session, use '--name'",
    .flags = CMD_ROOT | CMD_RUNS | CMD_PRESETS | CMD_MAKES_ROOT | CMD_JSON | CMD_QUIET,
    .run = run_new,
};
