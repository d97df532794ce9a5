/*
 * A sentence and the options become one struct life_options, and life_new() does the rest; whatever
 * can be refused, such as a terminal that cannot attach, is refused before that. For a session on
 * another machine take_project() runs here first: it takes the project there, with the files that
 * git ignores if a person says yes, and changes the options to what they mean there.
 */

#include "cli/consent.h"
#include "cli/installed.h"
#include "cli/new_job.h"
#include "cli/new_options.h"
#include "cli/print.h"
#include "cli/words.h"
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
    {0, "with-included", NULL, "let what .worktreeinclude names go to the host, unasked"},
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
    warn_each(notes);
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
        .included = call_opt(call, "with-included") != NULL,
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
        words_check(call, &options.check, err) == -1)
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

/* Gives the call an option, which has one value from then on; the call takes it over. */
static void give(struct call *call, const char *name, char *value)
{
    const struct opt *opt = opts;
    size_t kept = 0;

    while (strcmp(opt->name, name) != 0)
        opt++;
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].opt->name, name) != 0)
            call->given[kept++] = call->given[i];
    call->given = mem_room(call->given, call->given_count, sizeof *call->given);
    strv_push(&call->texts, value);
    free(value);
    call->given[kept++] =
        (struct given){.opt = opt, .value = call->texts[strv_len(call->texts) - 1]};
    call->given_count = kept;
}

/* Finds out whether what .worktreeinclude names goes along. */
static int ask_files(const struct call *call, const struct carry *carry,
                     const struct carried_project *going, bool *ret, struct err *err)
{
    _cleanup_strv_ char **names = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    *ret = call_opt(call, "with-included") != NULL;
    if (*ret || going->files.count == 0)
        return 0;
    if (consent_possible() &&
        consent_ask_files(going->project.path, &going->files, carry->remote->name, ret, err) == -1)
        return -1;
    for (size_t i = 0; !*ret && i < going->files.count; i++)
        strv_push(&names, going->files.files[i].name);
    git_show_names(names, &text);
    if (!*ret)
        err_warn("what .worktreeinclude names is not taken along: %s; it goes with: "
                 "--with-included",
                 text.data);
    return 0;
}

/* Takes it along for the session, which gets its id here. */
static int take_files(struct call *call, const struct carry *carry,
                      const struct carried_project *going, struct err *err)
{
    const char *given = call_opt(call, "id");
    char id[ID_TEXT];

    if (given != NULL ? !id_normalise(given, id) : id_make(id, err) == -1)
        return given != NULL ? 0 : -1; /* the other machine refuses it */
    if (carry_put(carry, going, id, err) == -1)
        return -1;
    give(call, "with-included", mem_dup(""));
    give(call, "id", mem_dup(id));
    return 0;
}

/* A path that is not relative is one on the other machine. */
static int take_project(struct call *call, const struct carry *carry, const char *session,
                        bool *ret_done, struct err *err)
{
    const char *project = call_opt(call, "project");
    _cleanup_going_ struct carried_project going = CARRIED_PROJECT_INIT;
    char *there = NULL;
    bool files = false;

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
    if (carry_prepare(project, &going, err) == -1 ||
        ask_files(call, carry, &going, &files, err) == -1 ||
        carry_send(carry, &going, &there, err) == -1)
        return -1;
    give(call, "project", there);
    warn_each(going.notes);
    return files ? take_files(call, carry, &going, err) : 0;
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
