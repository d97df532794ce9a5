/*
 * The directory is opened without following a link and entered by its descriptor: an agent may have
 * put anything into it, and without a wall something else in its place. The agent's own socket and
 * name are not handed on: who types is a person.
 */
#include "cli/code.h"
#include "cli/consent.h"
#include "cli/edit.h"
#include "cli/person.h"
#include "cli/targets.h"
#include "code/look.h"
#include "code/repo.h"
#include "git/git.h"
#include "os/path.h"
#include "os/proc.h"
#include "session/walled_run.h"
#include "store/placement.h"
#include "store/ports.h"
#include "store/session.h"
#include "store/workspace.h"

static const struct opt opts[] = {
    {0, "editor", NULL, "open a copy of its files in $VISUAL or $EDITOR, with your rights"},
    {.name = NULL},
};

struct opened {
    const struct call *call;
    const struct roster_team *team;
    const struct agent *agent;
};

static int ask(void *arg, struct err *err)
{
    const struct opened *opened = arg;
    const char *id = opened->agent->id;
    char answer = '\0';

    if (consent_possible()) {
        (void)fprintf(
            stderr,
            "Agent '%s' has no wall. What you start in its directory can run programs that "
            "it has put there\nor named in the configuration of its repository, with all "
            "that you may do. Go on? [y/N] ",
            id);
        if (consent_read(&answer, err) == -1)
            return -1;
    }
    if (answer == 'y')
        return 0;
    (void)err_set(err, MAS_FAILED,
                  "cannot open agent '%s': it has no wall, and nobody has said yes to that", id);
    const struct session_label label = roster_label(opened->team);
    return err_hint(err, "put one up with: mas stop %s && mas start --wall %s", label.text,
                    label.text);
}

/* Enters the agent's work tree, or its unit. */
static int enter(const struct call *call, const struct roster_team *team, const struct agent *agent,
                 struct err *err)
{
    _cleanup_session_ struct session session = SESSION_INIT;
    const char *name = repo_dir_of(&team->team, agent);
    _cleanup_free_ char *code = mem_printf(CODE_DIR "/%s", name != NULL ? name : "");
    _cleanup_free_ char *unit = mem_printf(WORKSPACE_UNIT "/%s", agent->id);

    if (session_load(&call->root, team->dir, team->id, &session, err) == -1)
        return -1;
    _cleanup_close_ int dir = name != NULL
                                  ? path_open_beneath(team->dir, code, O_RDONLY | O_DIRECTORY)
                                  : placement_open(&call->root, team->dir, session.mode, unit);
    return dir == -1 || fchdir(dir) == -1
               ? err_errno(err, "cannot open the directory of agent '%s'", agent->id)
               : 0;
}

static void add_variables(const struct call *call, const struct roster_team *team,
                          const struct agent *agent, struct kv *to)
{
    _cleanup_free_ int *ports = ports_find(&call->root, team->id, &team->team);
    int port = ports[agent - team->team.agents];
    _cleanup_free_ char *text = mem_printf("%d", port);
    _cleanup_repo_ struct repo repo = REPO_INIT;

    if (port != 0)
        kv_put(to, "MAS_PORT", text);
    if (team->team.project.path == NULL)
        return;
    repo_of(&call->root, team->id, team->team.project.label, &repo);
    repo_env(&repo, &team->team, agent, to);
}

/* Runs the words, or the person's shell. */
static int run_words(const struct call *call, const struct roster *roster, struct err *err)
{
    const struct roster_team *team = &roster->teams[0];
    struct opened opened = {.call = call, .team = team, .agent = roster->agents[0].agent};
    const char *shell = getenv("SHELL");
    char *alone[] = {(char *)(uintptr_t)(shell != NULL && shell[0] == '/' ? shell : "/bin/sh"),
                     NULL};
    char **words = call->operand_count > 0 ? call->operands : alone;
    _cleanup_free_ char *file = path_find_program(words[0], getenv("PATH"), AT_FDCWD);
    _cleanup_kv_ struct kv own = {.count = 0};
    const struct walled_agent of = {.root = &call->root,
                                    .config = &call->config,
                                    .id = team->id,
                                    .team = &team->team,
                                    .agent = opened.agent};
    int status = 0;

    if (file == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot run '%s': there is no such program", words[0]);
    add_variables(call, team, opened.agent, &own);
    const struct walled_program program = {.file = file,
                                           .argv = words,
                                           .own = &own,
                                           .tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
                                           .ask = ask,
                                           .arg = &opened};
    if (walled_open(&of, &program, &status, err) == -1)
        return -1;
    return status == 0 || words == alone
               ? 0
               : err_set(err, MAS_FAILED, "'%s' ended with exit code %d", words[0], status);
}

/* ---- in an editor */

static void say_look(const struct call *call, const char *agent, const struct file_look *look)
{
    _cleanup_str_ struct str held = STR_INIT;

    if (look->held != NULL) {
        git_show_names(look->held, &held);
        err_warn("held back, as git, shells, editors or agents would act on them: %s",
                 str_text(&held));
    }
    if (!call->quiet)
        (void)fprintf(stderr,
                      "this is a copy of the files of agent '%s'; what you change in it is not "
                      "kept, and it goes when the editor ends\n",
                      agent);
}

static int run_editor(struct call *call, struct err *err)
{
    _cleanup_code_call_ struct code_call code = CODE_CALL_INIT;
    _cleanup_look_ struct file_look look = LOOK_INIT;
    _cleanup_strv_ char **words = NULL;
    _cleanup_free_ char *program = NULL;
    int status = 0;

    if (edit_find("the files of an agent", &words, &program, err) == -1 ||
        code_call_open(call, TARGETS_AGENT_TEXT, false, &code, err) == -1)
        return -1;
    if (call->operand_count > 0)
        return call_unexpected(call, call->operands[0], err);
    const struct agent *agent = code.roster.agents[0].agent;
    if (agent->code != AGENT_CODE_WORKTREE)
        return err_set(err, MAS_CONFLICT,
                       "cannot open the files of agent '%s': it has no "
                       "repository of its own",
                       agent->id);
    if (look_open(&code.repo, code.roster.teams[0].dir, agent->id, &look, err) == -1)
        return -1;
    code_call_unlock(&code); /* the person takes time */
    say_look(call, agent->id, &look);
    strv_push(&words, ".");
    _cleanup_free_ char *file = realpath(program, NULL); /* not that of the agent */
    if (file == NULL)
        return err_errno(err, "cannot run '%s'", program);
    if (fchdir(look.dir) == -1)
        return err_errno(err, "cannot enter '%s'", look.path);
    int rc = proc_run(file, words, &status, err);
    if (rc == 0 && status != 0)
        rc = err_set(err, MAS_FAILED, "the editor ended with exit code %d", status);
    return rc;
}

static int run_open(struct call *call, struct err *err)
{
    _cleanup_roster_ struct roster roster = ROSTER_INIT;

    if (person_check("open", err) == -1)
        return -1;
    if (call_opt(call, "editor") != NULL)
        return run_editor(call, err);
    if (targets_parse(call, TARGETS_AGENT_TEXT, &roster, err) == -1)
        return -1;
    return enter(call, &roster.teams[0], roster.agents[0].agent, err) == -1 ||
                   run_words(call, &roster, err) == -1
               ? -1
               : 0;
}

const struct cmd cmd_open = {
    .name = "open",
    .group = GROUP_CODE,
    .operands = " [SESSION] AGENT [CMD...]",
    .summary = "start a shell in an agent's work tree, behind its wall",
    .examples = "mas open login 21\n"
                "mas open login 21 make test\n"
                "mas open --editor login 21",
    .details = "The shell, or CMD, reaches what the agent reaches, and has MAS_PORT and the other "
               "variables of its work tree. An agent without a wall could have what it left there "
               "run with all your rights, so mas asks first. Options of CMD stand behind '--'. "
               "With --editor, $VISUAL or $EDITOR gets a copy of the files, without the settings "
               "by which editors, git and agents run something; it goes when the editor ends.",
    .opts = opts,
    .operands_min = 1,
    .operands_max = -1,
    .root = ROOT_NEEDED,
    .on = ON_TARGET,
    .who = WHO_PERSONS,
    .does = READS_PRESETS | RUNS_PROGRAMS | WAITS_LONG | USES_TERMINAL,
    .run = run_open,
};
