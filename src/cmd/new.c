#include "cli/consent.h"
#include "cli/installed.h"
#include "cli/new_job.h"
#include "cli/new_options.h"
#include "cli/print.h"
#include "client/roster.h"
#include "client/survey.h"
#include "cmd/show.h"
#include "fleet/carry.h"
#include "model/message.h"
#include "os/path.h"
#include "store/index.h"
#include "tmux/tmux.h"

static const struct opt opts[] = {
    NEW_OPTIONS,
    {0, "id", "UUID", "use this session id instead of a random one"},
    {0, "mode", "MODE", "isolated (the default), or legacy: the one shared session"},
    {0, "no-start", NULL, "only create the workspace"},
    {'a', "attach", NULL, "attach to the session"},
    {'d', "detach", NULL, "do not attach, with a PROMPT"},
    {0, "tries", "N", "give the PROMPT to N agents, each with a branch of its own"},
    {0, "check-with", "CMD", "what has to succeed on the work, for compare and merge"},
    NEW_JOB_OPTIONS,
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

/* Says once in a root how to answer what its program asks of each new directory. */
static void tell_trust(const struct call *call, const struct session *session)
{
    _cleanup_index_ struct index index = INDEX_INIT;
    struct roster_team of;
    struct err ignored = ERR_INIT;
    bool asks = false;

    if (index_read(&call->root, false, &index, &ignored) == -1 || index.count != 1 ||
        roster_open(&call->root, session->id, &of, &ignored) == -1)
        return;
    for (size_t i = 0; i < of.team.agent_count && !asks; i++) {
        const struct preset *preset =
            config_agent_preset(&call->config, &of.team, &of.team.agents[i]);
        asks = preset != NULL && preset->told.trust[0] != '\0';
    }
    roster_close(&of);
    if (asks)
        err_warn("its program may ask whether to trust each new directory; " TRUST_ADVICE);
}

static int make(struct call *call, const struct life_options *options, struct new_given *given,
                bool wants_attach, struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    struct life_memory memory = {.needed = 0};
    _cleanup_strv_ char **notes = NULL;
    struct life life = {.root = &call->root,
                        .config = &call->config,
                        .notes = &notes,
                        .memory = &memory,
                        .setup = &given->setup,
                        .wall = given->wall};

    progress_begin(&life, "copying", call->quiet);
    int rc = life_new(&life, options, &session, err);
    progress_end();
    if (rc == -1)
        return -1;
    warn_memory(&memory);
    for (char **note = notes; note != NULL && *note != NULL; note++)
        err_warn("%s", *note);
    if (options->start && !call->quiet)
        warn_job(&call->config);
    new_options_warn(given, &session);
    if (options->start && !call->quiet && !call->json)
        tell_trust(call, &session);
    return wants_attach ? attach(call, &session, err)
                        : print_made(call, &session, options->start, err);
}

/* Returns true below the top of a git repository's work tree. */
static bool in_work_tree(void)
{
    _cleanup_free_ char *path = path_canonical(".");

    while (path != NULL && path[0] != '\0') {
        _cleanup_free_ char *git = mem_printf("%s/.git", path);
        if (access(git, F_OK) == 0)
            return true;
        *strrchr(path, '/') = '\0';
    }
    return false;
}

/* Fails unless the operand is a sentence: a word may be meant as a name. */
static int check_sentence(const struct call *call, struct err *err)
{
    const char *text = call->operands[0];

    if (call->operand_count > 1) {
        (void)err_set(err, MAS_USAGE, "cannot run 'new': it takes one PROMPT");
        return err_hint(err, "put it in quotes: mas new 'WORDS OF THE PROMPT'");
    }
    if (message_is_blank(text, strlen(text)))
        return err_set(err, MAS_USAGE, "cannot begin with a prompt: it is empty");
    if (text[strcspn(text, " \t\n")] != '\0' || call_opt(call, "name") != NULL ||
        call_opt(call, "tries") != NULL)
        return 0;
    (void)err_set(err, MAS_USAGE, "cannot begin with '%s': one word may be a name or a prompt",
                  text);
    bool can_name = session_check_name(text) == NULL;
    return err_hint(err, "for a name: mas new --name %s; for a prompt: mas new -t solo -p solo=%s",
                    can_name ? text : "NAME", can_name ? text : "WORD");
}

/* Reads --tries, with which --agent may be a list. */
static int take_tries(const struct call *call, struct life_options *options,
                      struct sentence *sentence, char ***ret_presets, struct err *err)
{
    static const struct value_type tries = {VALUE_NUMBER, .min = 1, .max = LIFE_TRIES_MAX};
    const char *text = call_opt(call, "tries");
    int count = 0;

    if (text == NULL)
        return 0;
    if (VALUE_PARSE(&tries, text, &count) != NULL)
        return call_bad_value(call, "tries", "a number from 1 to 16", err);
    sentence->tries = (size_t)count;
    for (const char *at = options->preset; at != NULL; at = *at != '\0' ? at + 1 : NULL) {
        _cleanup_free_ char *name = mem_dupn(at, strcspn(at, ","));
        strv_push(ret_presets, name);
        at += strlen(name);
    }
    options->preset = NULL;
    sentence->presets = *ret_presets;
    return 0;
}

/* Fails if a check has words that only a shell understands: it would run, and mean another thing.
 */
static int check_no_shell(const char *command, struct err *err)
{
    static const char *const shell[] = {"&&", "||", "|", ";", "&", ">", "<"};
    _cleanup_strv_ char **words = NULL;

    if (str_split_words(command, &words, err) == -1)
        return -1;
    for (char **word = words; word != NULL && *word != NULL; word++) {
        size_t len = strlen(*word);
        bool found = len > 1 && (*word)[len - 1] == ';';
        for (size_t i = 0; i < ARRAY_LEN(shell); i++)
            found = found || strcmp(*word, shell[i]) == 0;
        if (!found)
            continue;
        (void)err_set(err, MAS_USAGE, "cannot use '%s' in --check-with: no shell runs the command",
                      *word);
        return err_hint(err, "for one: --check-with \"sh -c 'COMMANDS'\"");
    }
    return 0;
}

/* Reads --check-with. */
static int take_check(const struct call *call, struct life_options *options, struct err *err)
{
    options->check = call_opt(call, "check-with");
    if (options->check == NULL)
        return 0;
    if (options->check[0] == '\0' || !value_is_command(options->check) ||
        strlen(options->check) > TEAM_COMMAND_MAX)
        return call_bad_value(call, "check-with", "a command of at most 8192 bytes", err);
    return check_no_shell(options->check, err);
}

/* What a sentence says beside its words: one agent, on the repository around, in front of whoever
 * types it. */
static int take_sentence(const struct call *call, struct life_options *options,
                         struct sentence *sentence, struct str *installed, struct err *err)
{
    if (check_sentence(call, err) == -1)
        return -1;
    const struct preset *first = NULL;
    size_t count = installed_names(&call->config, installed, &first);
    if (count == 0)
        str_add(installed, "none");
    *sentence = (struct sentence){.text = call->operands[0], .installed = str_text(installed)};
    if (count == 1 && config_is_built_in(&call->config, SETTING_PRESET))
        sentence->preset = first->name;
    options->sentence = sentence;
    if (options->template == NULL)
        options->template = "solo";
    if (options->project == NULL && getenv("MAS_PROJECT") == NULL && in_work_tree())
        options->project = ".";
    return 0;
}

/* Returns true if whoever types a sentence will see its agent. */
static bool shows_sentence(const struct call *call)
{
    struct err ignored = ERR_INIT;

    return call_opt(call, "detach") == NULL && call_opt(call, "no-start") == NULL &&
           !new_job_wanted(call) && !call->quiet && !call->json && isatty(STDIN_FILENO) == 1 &&
           isatty(STDOUT_FILENO) == 1 && !caller_is_agent() && check_attach(call, &ignored) == 0;
}

static int run_new(struct call *call, struct err *err)
{
    _cleanup_new_given_ struct new_given given = NEW_GIVEN_INIT;
    _cleanup_str_ struct str installed = STR_INIT;
    _cleanup_strv_ char **presets = NULL;
    struct sentence sentence;
    struct life_options options = {
        .id = call_opt(call, "id"),
        .start = call_opt(call, "no-start") == NULL,
    };
    const char *mode = call_opt(call, "mode");
    bool wants_attach = call_opt(call, "attach") != NULL;

    if (wants_attach && !options.start)
        return err_set(err, MAS_USAGE, "cannot use --attach with --no-start");
    if (mode != NULL && config_override(&call->config, SETTING_MODE, mode, "--mode", err) == -1)
        return -1;
    if (wants_attach && call_opt(call, "host") == NULL && check_attach(call, err) == -1)
        return -1;
    if (new_options_read(call, &options, &given, err) == -1 ||
        take_check(call, &options, err) == -1)
        return -1;
    if (call->operand_count == 0 && call_opt(call, "tries") != NULL)
        return err_set(err, MAS_USAGE, "cannot use --tries without a PROMPT");
    if ((call->operand_count > 0 ? take_sentence(call, &options, &sentence, &installed, err)
                                 : installed_offer(call, err)) == -1 ||
        take_tries(call, &options, &sentence, &presets, err) == -1)
        return -1;
    wants_attach = wants_attach || (call->operand_count > 0 && shows_sentence(call));
    return new_job_wanted(call) ? new_job(call, &options, &given, err)
                                : make(call, &options, &given, wants_attach, err);
}

/* A path that is not relative is one on the other machine. */
static int take_project(struct call *call, const struct carry *carry, const char *session,
                        bool *ret_done, struct err *err)
{
    const char *project = call_opt(call, "project");
    _cleanup_strv_ char **notes = NULL;
    _cleanup_free_ char *there = NULL;

    (void)session;
    *ret_done = false;
    if (project == NULL || project[0] == '/' || project[0] == '~')
        return 0;
    if (call_opt(call, "with-changes") != NULL) {
        (void)err_set(err, MAS_USAGE,
                      "cannot use --with-changes: project '%s' goes to host '%s' as its commits",
                      project, carry->remote->name);
        return err_hint(err, "commit them first");
    }
    if (carry_send(carry, project, &there, &notes, err) == -1)
        return -1;
    for (char **note = notes; note != NULL && *note != NULL; note++)
        err_warn("%s", *note);
    strv_push(&call->texts, there);
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].opt->name, "project") == 0)
            call->given[i].value = call->texts[strv_len(call->texts) - 1];
    return 0;
}

const struct cmd cmd_new = {
    .name = "new",
    .group = GROUP_BEGIN,
    .operands = " [PROMPT]",
    .summary = "create a workspace and start its team",
    .examples = "mas new\n"
                "mas new 'fix the login on Safari'\n"
                "mas new --tries 2 --agent claude,codex 'make it fast' --check-with 'make t'\n"
                "mas new --name shop --template pair --agent claude\n"
                "mas new --name page --template solo --attach\n"
                "mas new --name login --project ~/src/shop@main\n"
                "mas new --name fix --host n1 --project .\n"
                "mas new --name big --host gpu --cpus 8 --mem 32G --time 8h",
    .details =
        "mas copies the template into a new workspace and starts each agent in a "
        "pane. It prints where the session is and how to attach; with -q, only the "
        "session's id. With a PROMPT, one agent works on the git repository in this directory, "
        "and you see it at once; the session is named after the words. With --tries, several "
        "agents, "
        "called 1, 2 and so on, do that beside each other; see 'mas compare'. With --project, each "
        "agent "
        "that writes gets a repository and a branch "
        "of its own; 'mas land' brings the work home. With --host, the session is one job of "
        "Slurm, or one of the host that ssh reaches; see mas-fleet(7).",
    .opts = opts,
    .operands_max = -1,
    .root = ROOT_MADE,
    .takes = TAKES_JSON | TAKES_QUIET,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG,
    .from_here = take_project,
    .run = run_new,
};
