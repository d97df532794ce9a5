/*
 * Two ways in: --host (remote_run()), and a call whose operands name machines
 * (call_go_elsewhere()), which becomes one command line for each machine. Both find mas.ini without
 * a root, check that a person asks, and look up the job if Slurm stands between; run_there() then
 * does the rest through fleet/reach. A command on the job itself is run here.
 */

#include "cli/remote/remote.h"

#include "cli/brokered.h"
#include "cli/new_job.h"
#include "cli/person.h"
#include "client/survey.h"
#include "fleet/carry.h"
#include "fleet/jobs.h"
#include "fleet/reach.h"

#define ATTACH "attach" /* the option by which a verb becomes one for a terminal */

/* Finds mas.ini as a command does that needs no root. */
static const struct cmd finder = {.name = "--host", .operands = "", .root = ROOT_IF_THERE};

static bool is_terminal(void)
{
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

static bool has_terminal(const struct cmd *cmd)
{
    return (cmd->does & USES_TERMINAL) != 0 && is_terminal();
}

static bool needs_terminal(const struct cmd *cmd, char *const *words)
{
    const struct cmd *at =
        cmd->actions != NULL && words[1] != NULL ? cmd_action(cmd, words[1]) : cmd;

    return at != NULL &&
           (has_terminal(at) ||
            (is_terminal() && cmd_has_option(cmd, (int)strv_len(words), words, ATTACH)));
}

/* Ends this process as the signal does by itself. */
void remote_end_by(int sig)
{
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

/* Finds mas.ini and checks that hosts may be reached. The caller closes *ret in any case. */
static int open_finder(const char *root, struct call *ret, struct err *err)
{
    *ret =
        (struct call){.cmd = &finder, .root_path = root, .root = ROOT_INIT, .config = CONFIG_INIT};
    return call_open_root(ret, err);
}

static void close_finder(struct call *call)
{
    free(call->searched);
    config_free(&call->config);
    root_close(&call->root);
}

static int check_person(struct err *err)
{
    return person_check_root(NULL, "reach other hosts", err);
}

/* Finds the job of a session that is reached through Slurm; otherwise *ret stays empty.
 * *ret_is_job: the command works on the job itself, because its team is not up or would end with
 * the command. The caller releases *ret. */
static int find_job(const struct cmd *cmd, const struct config *config, const struct remote *remote,
                    const char *session, struct batch_job *ret, bool *ret_is_job, struct err *err)
{
    bool up = true;

    if (remote->via == REMOTE_SLURM && session != NULL &&
        job_find(config, remote, session, ret, &up, err) == -1)
        return -1;
    if (ret->id[0] != '\0' && cmd->job != NULL && cmd->job->act == NULL) {
        /* its team would end, and the job with it, which saves it and may begin again elsewhere */
        (void)err_set(err, MAS_CONFLICT,
                      "cannot %s session '%s': it is a job on host '%s', and jobs are not moved",
                      cmd->name, session, remote->name);
        return err_hint(err, "when it has ended, restore a save on that machine: %s/%s",
                        jobs_store(config, remote), ret->id);
    }
    *ret_is_job = ret->id[0] != '\0' && cmd->job != NULL && (cmd->job->ends || !up);
    return up || *ret_is_job ? 0 : job_fail(ret, session, err);
}

/* Returns how long the command may print nothing there, in ms; 0: any time. */
static int find_silence(const struct config *config, const struct cmd *cmd, char *const *words)
{
    int count = (int)strv_len(words);
    bool waits = (cmd->does & WAITS_LONG) != 0 || cmd_has_option(cmd, count, words, "follow") ||
                 cmd_has_option(cmd, count, words, "watch");

    return waits ? 0 : config_number(config, SETTING_FLEET_SILENCE);
}

/* Runs the words on a machine; through Slurm, on the node of a job, in its root. */
static int run_there(const struct remote *remote, const struct batch_job *job, char *const *words,
                     bool terminal, int silence_ms, int *ret_code, struct err *err)
{
    struct reach_command command = {
        .remote = remote, .words = words, .terminal = terminal, .silence_ms = silence_ms};
    struct remote node = *remote; /* has the texts of *remote */
    struct reach_end end;
    char number[24];

    if (job->id[0] != '\0') {
        (void)snprintf(number, sizeof number, "%" PRIu64, job->number);
        node.root = job->root;
        command.remote = &node;
        command.job = number;
    }

    if (reach_run(&command, &end, err) == -1)
        return -1;
    if (end.before[0] != '\0')
        err_warn("host '%s' prints '%s' before mas does, which is left out; have ~/.bashrc there "
                 "print only on a terminal",
                 remote->name, end.before);
    if (end.signal != 0)
        remote_end_by(end.signal);
    *ret_code = end.signal != 0 ? 128 + end.signal : end.code;
    return 0;
}

/* Finds a machine of mas.ini for a person. The caller closes *ret in any case. */
static int find_remote(const char *name, const char *root, struct call *ret,
                       const struct remote **ret_remote, struct err *err)
{
    *ret = (struct call){.root = ROOT_INIT, .config = CONFIG_INIT};
    if (brokered_is_agent())
        return err_set(err, MAS_FAILED,
                       "cannot reach host '%s': only a person may, and this is an agent", name);
    int rc = open_finder(root, ret, err);
    if (rc == 0 && (rc = check_person(err)) == 0)
        rc = config_need_remote(&ret->config, name, ret_remote, err);
    return rc;
}

/* Runs the words here, with NAME:SESSION in place of the session, which is a part of one of them.
 */
static int run_named(const struct cmd *cmd, char *const *words, const char *name,
                     const char *session, const char *root, int *ret_code, struct err *err)
{
    _cleanup_strv_ char **named = NULL;

    for (size_t i = 0; words[i] != NULL; i++) {
        size_t len = strlen(words[i]);
        bool has = session >= words[i] && session <= words[i] + len;
        _cleanup_free_ char *word =
            has ? mem_printf("%.*s%s:%s", (int)(session - words[i]), words[i], name, session)
                : mem_dup(words[i]);
        strv_push(&named, word);
    }
    /* parsing puts the words into another order */
    size_t count = strv_len(named);
    _cleanup_free_ char **argv = mem_alloc((count + 1) * sizeof *argv);
    for (size_t i = 0; named != NULL && i < count; i++)
        argv[i] = named[i];
    return cmd_run(cmd, (int)count, argv, &(struct cmd_globals){.root = root}, ret_code, err);
}

static bool takes_host(const struct cmd *cmd)
{
    bool takes = false;

    for (const struct opt *opt = cmd->opts; opt != NULL && opt->name != NULL; opt++)
        takes = takes || opt_offer(opt) == OFFER_HOST;
    return takes;
}

/* Runs the words here with the option that names the machine. */
static int run_with_host(const struct cmd *cmd, char *const *words, const char *name,
                         const char *root, int *ret_code, struct err *err)
{
    size_t count = strv_len((char **)(uintptr_t)words);
    _cleanup_free_ char *host = mem_printf("--host=%s", name);
    _cleanup_free_ char **argv = mem_alloc((count + 2) * sizeof *argv);

    argv[0] = words[0];
    argv[1] = host;
    memcpy(argv + 2, words + 1, count * sizeof *argv);
    return cmd_run(cmd, (int)count + 1, argv, &(struct cmd_globals){.root = root}, ret_code, err);
}

/* What a verb does here before it runs on another machine is done to a call that was parsed: runs
 * the words as one, and returns true, if they can be. */
static bool run_parsed(const struct cmd *cmd, char *const *words, const char *name,
                       const char *session, const char *root, int *ret_code, int *ret,
                       struct err *err)
{
    int count = (int)strv_len((char **)(uintptr_t)words);

    if (cmd->from_here == NULL)
        return false;
    if (session != NULL)
        *ret = run_named(cmd, words, name, session, root, ret_code, err);
    else if (takes_host(cmd) && cmd_has_option(cmd, count, words, "project") &&
             !cmd_has_option(cmd, count, words, "host"))
        *ret = run_with_host(cmd, words, name, root, ret_code, err);
    else
        return false;
    return true;
}

/* Several sessions are several jobs, on a node each. */
static int refuse_several(const struct cmd *cmd, const struct remote *remote, struct err *err)
{
    (void)err_set(err, MAS_USAGE,
                  "cannot run '%s' on host '%s' for several sessions: each is a job", cmd->name,
                  remote->name);
    return err_hint(err, "name the host with each: mas %s %s:SESSION...", cmd->name, remote->name);
}

/* A partition of Slurm has no machine of its own: a command is for the session of a job. */
static int refuse_partition(const struct cmd *cmd, const struct remote *remote, struct err *err)
{
    (void)err_set(
        err, MAS_USAGE,
        "cannot run '%s' on host '%s': it is a partition of Slurm, and no session is named",
        cmd->name, remote->name);
    if (takes_host(cmd))
        return err_hint(err, "submit a session with: mas %s --host %s", cmd->name, remote->name);
    if ((cmd->takes & TAKES_ALL_HOSTS) != 0 && strcmp(cmd->name, "list") != 0)
        return err_hint(err, "all hosts are asked by: mas %s --all-hosts", cmd->name);
    return err_hint(err, "its sessions are: mas list --jobs");
}

int remote_run(const char *name, const struct cmd *cmd, char *const *words, const char *root,
               int *ret_code, struct err *err)
{
    const struct remote *remote = NULL;
    _cleanup_job_ struct batch_job job = JOB_INIT;
    struct err wrong = ERR_INIT; /* to the mas here; a machine may have another version */
    const char *session = NULL;
    bool is_job = false;
    bool only = false;
    struct call found;

    (void)cmd_session_word(cmd, (int)strv_len(words), words, &session, &only, &wrong);
    int rc = find_remote(name, root, &found, &remote, err);
    if (rc == 0 && remote->via == REMOTE_SLURM && wrong.code != MAS_OK) {
        *err = wrong;
        rc = -1;
    } else if (rc == 0 && remote->via == REMOTE_SLURM && session == NULL) {
        rc = refuse_partition(cmd, remote, err);
    }
    if (rc == 0)
        rc = find_job(cmd, &found.config, remote, session, &job, &is_job, err);
    if (rc == 0 && is_job && !only)
        rc = refuse_several(cmd, remote, err);
    else if (rc == 0 && is_job)
        rc = run_named(cmd, words, name, session, root, ret_code, err);
    else if (rc == 0 && remote->via == REMOTE_SSH &&
             run_parsed(cmd, words, name, session, root, ret_code, &rc, err))
        ;
    else if (rc == 0)
        rc = run_there(remote, &job, words, needs_terminal(cmd, words),
                       find_silence(&found.config, cmd, words), ret_code, err);
    close_finder(&found);
    return rc;
}

/* ---- NAME:SESSION */

/* The words of a call that name sessions. */
struct session_words {
    const char ***words;
    size_t count;
};

static void add_place(struct session_words *places, const char **word)
{
    if (*word == NULL)
        return;
    places->words = mem_room(places->words, places->count, sizeof *places->words);
    places->words[places->count++] = word;
}

/* Returns true if the operand at a place may be the session: its word says so, or, as that one may
 * be omitted, the one behind it. */
static bool may_name_session(const struct cmd *cmd, int place)
{
    return cmd_operand_offer(cmd, (size_t)place) == OFFER_SESSION ||
           (place == 0 && cmd_operand_offer(cmd, 1) == OFFER_SESSION);
}

static struct session_words find_places(struct call *call)
{
    struct session_words places = {.words = NULL};
    bool named = call->session != NULL;

    add_place(&places, &call->session);
    for (size_t i = 0; i < call->given_count; i++)
        if (opt_offer(call->given[i].opt) == OFFER_SESSION) {
            add_place(&places, &call->given[i].value);
            named = true;
        }
    for (int i = 0; i < call->operand_count; i++)
        if (call->cmd->on == ON_SESSIONS || (i <= 1 && !named && may_name_session(call->cmd, i)))
            add_place(&places, (const char **)(uintptr_t)&call->operands[i]);
    return places;
}

/* Copies NAME of NAME:SESSION to `name`, also if no SESSION follows; returns false for another
 * word.
 */
static bool split(const char *word, char name[REMOTE_NAME_MAX + 1])
{
    size_t len = strcspn(word, ":");

    if (len == 0 || len > REMOTE_NAME_MAX || word[len] == '\0')
        return false;
    memcpy(name, word, len);
    name[len] = '\0';
    return remote_is_name(name);
}

static const struct remote *remote_of(const struct config *config, const char *word)
{
    char name[REMOTE_NAME_MAX + 1];
    return word != NULL && split(word, name) ? config_remote(config, name) : NULL;
}

static const char *session_of(const char *word)
{
    return word + strcspn(word, ":") + 1;
}

int remote_hint_host(const struct call *call, const char *word, struct err *err)
{
    const struct remote *remote = NULL;
    struct err ignored = ERR_INIT;
    char name[REMOTE_NAME_MAX + 1];
    char id[ID_TEXT];

    /* no name of a session has a colon; a text for an agent may have one, and tmux puts one behind
     * the name of a session */
    if (!split(word, name) || !str_is_word(session_of(word), strlen(word)) ||
        config_remote(&call->config, name) != NULL ||
        (call->has_root && survey_select(&call->root, &call->config, name, id, &ignored) == 0))
        return -1;
    *err = (struct err)ERR_INIT;
    return config_need_remote(&call->config, name, &remote, err);
}

static void push_option(char ***words, const struct given *given, const char *value)
{
    bool takes = given->opt->arg != NULL && (given->opt->arg[0] != '[' || value[0] != '\0');
    _cleanup_free_ char *word =
        mem_printf("--%s%s%s", given->opt->name, takes ? "=" : "", takes ? value : "");

    strv_push(words, word);
}

static bool is_place(const struct session_words *places, char *const *word)
{
    for (size_t i = 0; i < places->count; i++)
        if ((const void *)places->words[i] == (const void *)word)
            return true;
    return false;
}

/* Returns true if this is the one session of the machine that a command is for; through Slurm, each
 * session is on a node of its own. */
static bool goes_with(const struct config *config, const char *word, const char *first)
{
    const struct remote *remote = remote_of(config, first);

    return remote != NULL && remote_of(config, word) == remote &&
           (remote->via != REMOTE_SLURM || strcmp(word, first) == 0);
}

/* Returns the words of the call for the machine of one session: that session, and the others that
 * go with it. `first` NULL: the call has no session. */
static char **make_words(const struct call *call, const struct config *config,
                         const struct session_words *places, const char *first)
{
    _cleanup_strv_ char **verb = str_split_list(call->cmd->name);
    char **words = NULL;

    for (size_t i = 0; verb[i] != NULL; i++)
        strv_push(&words, verb[i]);
    for (size_t i = 0; i < call->given_count; i++) {
        const char *value = call->given[i].value;
        bool is_session = opt_offer(call->given[i].opt) == OFFER_SESSION;
        if (opt_offer(call->given[i].opt) == OFFER_HOST)
            continue;
        push_option(&words, &call->given[i], is_session ? session_of(value) : value);
    }
    if (first != NULL && goes_with(config, call->session, first)) {
        _cleanup_free_ char *word = mem_printf("--session=%s", session_of(call->session));
        strv_push(&words, word);
    }
    if (call->json)
        strv_push(&words, "--json");
    if (call->quiet)
        strv_push(&words, "--quiet");
    strv_push(&words, "--");
    for (int i = 0; i < call->operand_count; i++) {
        const char *word = call->operands[i];
        if (is_place(places, &call->operands[i]) && goes_with(config, word, first))
            strv_push(&words, session_of(word));
        else if (!is_place(places, &call->operands[i]) || call->cmd->on != ON_SESSIONS)
            strv_push(&words, word); /* of one session: what is no session there is another word */
    }
    return words;
}

/* Fails if a word names a machine and no session. */
static int check_words(const struct call *call, const struct config *config,
                       const struct session_words *places, struct err *err)
{
    for (size_t i = 0; i < places->count; i++) {
        const char *word = *places->words[i];
        const struct remote *remote = remote_of(config, word);
        if (remote == NULL || session_of(word)[0] != '\0')
            continue;
        if (remote->via == REMOTE_SLURM)
            return refuse_partition(call->cmd, remote, err);
        (void)err_set(err, MAS_USAGE, "cannot run '%s': '%s' names no session", call->cmd->name,
                      word);
        return call_hint_host(call, remote->name, err);
    }
    return 0;
}

/* Does what is to be done here before. */
static int begin_here(struct call *call, const struct call *found, const struct remote *remote,
                      const char *session, bool *ret_done, struct err *err)
{
    const struct carry carry = {.remote = remote,
                                .root = found->has_root ? found->root.path : NULL};

    *ret_done = false;
    return call->cmd->from_here != NULL && remote->via == REMOTE_SSH
               ? call->cmd->from_here(call, &carry, session, ret_done, err)
               : 0;
}

/* Does what is to be done here after it. */
static int end_here(struct call *call, int code, struct err *err)
{
    return code == MAS_OK && call->cmd->back_here != NULL ? call->cmd->back_here(call, err) : 0;
}

/* Runs the command for one session and those that go with it; if it works on its job, puts the id
 * of the job in its place. */
static int run_one(struct call *call, const struct call *found, const struct session_words *places,
                   const char **place, int *ret_code, struct err *err)
{
    const struct config *config = &found->config;
    _cleanup_strv_ char **words = make_words(call, config, places, *place);
    _cleanup_job_ struct batch_job job = JOB_INIT;
    const struct remote *remote = NULL;
    char name[REMOTE_NAME_MAX + 1];
    bool is_job = false;
    bool done = false;

    (void)split(*place, name);
    if (config_need_remote(config, name, &remote, err) == -1 ||
        find_job(call->cmd, config, remote, session_of(*place), &job, &is_job, err) == -1 ||
        begin_here(call, found, remote, session_of(*place), &done, err) == -1)
        return -1;
    if (done)
        return 0;
    if (!is_job)
        return run_there(remote, &job, words, has_terminal(call->cmd),
                         find_silence(config, call->cmd, words), ret_code, err) == -1
                   ? -1
                   : end_here(call, *ret_code, err);
    strv_push(&call->jobs, job.id);
    *place = call->jobs[strv_len(call->jobs) - 1];
    return 0;
}

/* Runs the command on each machine that is named. The first exit code but 0 stays. */
static void run_each(struct call *call, const struct call *found,
                     const struct session_words *places, int *ret_code)
{
    const struct config *config = &found->config;

    for (size_t i = 0; i < places->count; i++) {
        const struct remote *remote = remote_of(config, *places->words[i]);
        struct err why = ERR_INIT;
        bool is_first = remote != NULL;
        int code = MAS_OK;

        for (size_t j = 0; j < i; j++)
            is_first = is_first && !goes_with(config, *places->words[j], *places->words[i]);
        if (!is_first)
            continue;
        if (run_one(call, found, places, places->words[i], &code, &why) == -1) {
            err_print(&why);
            code = why.code;
        }
        *ret_code = *ret_code != MAS_OK ? *ret_code : code;
    }
}

/* Takes the sessions of other machines from a call. Returns true if none is left. */
static bool take_out(struct call *call, const struct config *config)
{
    int kept = 0;

    if (remote_of(config, call->session) != NULL)
        call->session = NULL;
    for (int i = 0; i < call->operand_count; i++)
        if (remote_of(config, call->operands[i]) == NULL)
            call->operands[kept++] = call->operands[i];
    call->operands[kept] = NULL;
    call->operand_count = kept;
    return call->jobs == NULL &&
           (call->cmd->on != ON_SESSIONS || (kept == 0 && call->session == NULL));
}

/* ---- an option of a verb that names the machine */

static const struct given *host_option(const struct call *call)
{
    for (size_t i = call->given_count; i > 0; i--)
        if (opt_offer(call->given[i - 1].opt) == OFFER_HOST)
            return &call->given[i - 1];
    return NULL;
}

/* Runs the call on the machine that its option names, unless Slurm is to place it. */
static int go_to_host(struct call *call, const char *name, bool *ret_done, int *ret_code,
                      struct err *err)
{
    const struct session_words none = {.words = NULL};
    const struct batch_job no_job = JOB_INIT;
    const struct remote *remote = NULL;
    struct call found;
    int rc = find_remote(name, call->root_path, &found, &remote, err);

    if (rc == 0 && remote->via == REMOTE_SSH && (rc = new_job_refuse(call, err)) == 0 &&
        (rc = begin_here(call, &found, remote, NULL, ret_done, err)) == 0) {
        _cleanup_strv_ char **words = make_words(call, &found.config, &none, NULL);
        bool terminal =
            has_terminal(call->cmd) || (call_opt(call, ATTACH) != NULL && is_terminal());
        rc = run_there(remote, &no_job, words, terminal,
                       find_silence(&found.config, call->cmd, words), ret_code, err);
        *ret_done = true;
    }
    close_finder(&found);
    return rc;
}

int call_go_elsewhere(struct call *call, bool *ret_done, int *ret_code, struct err *err)
{
    char name[REMOTE_NAME_MAX + 1];
    const struct given *host = host_option(call);

    if (host != NULL)
        return go_to_host(call, host->value, ret_done, ret_code, err);
    struct session_words places = find_places(call);
    bool any = false;
    int rc = 0;

    for (size_t i = 0; i < places.count && !brokered_is_agent(); i++)
        any = any || split(*places.words[i], name);
    if (any) {
        struct call found;
        rc = open_finder(call->root_path, &found, err);
        any = false;
        for (size_t i = 0; rc == 0 && i < places.count; i++)
            any = any || remote_of(&found.config, *places.words[i]) != NULL;
        if (any && (rc = check_person(err)) == 0 &&
            (rc = check_words(call, &found.config, &places, err)) == 0) {
            run_each(call, &found, &places, ret_code);
            *ret_done = take_out(call, &found.config);
        }
        close_finder(&found);
    }
    free(places.words);
    return rc;
}
