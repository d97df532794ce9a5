#include "code/setup.h"

#include "base/id.h"
#include "base/path.h"
#include "cmd.h"
#include "code/placed.h"
#include "session/walled_run.h"

enum { CANNOT_RUN = 126 }; /* exit code, as of a shell */

/* Runs the setup in the work tree, behind the wall of the agent. */
static int run_program(const struct call *call, const struct repo *repo, const struct team *team,
                       const struct agent *agent, int *ret_status, struct err *err)
{
    _cleanup_strv_ char **words = NULL;
    _cleanup_free_ char *tree = repo_tree(repo, agent->id);
    _cleanup_free_ char *program = NULL;
    struct setup setup;

    if (chdir(tree) == -1)
        return err_errno(err, "cannot enter '%s'", tree);
    if (setup_load(repo, &setup, err) == -1)
        return -1;
    if (setup.from_project) {
        program = mem_printf("%s/" SETUP_SCRIPT, tree);
        strv_push(&words, program);
    } else if (str_split_words(config_text(&call->config, SETTING_CODE_SETUP), &words, err) == -1) {
        return -1;
    } else if (words == NULL || words[0] == NULL) {
        *ret_status = 0; /* the setting was removed meanwhile */
        return 0;
    } else {
        program = path_find_program(words[0], getenv("PATH"), AT_FDCWD);
    }
    if (program == NULL)
        return err_set(err, MAS_NOT_FOUND, "cannot run the setup: there is no program '%s'",
                       words[0]);
    const struct walled_agent of = {.root = &call->root,
                                    .config = &call->config,
                                    .id = call->operands[0],
                                    .team = team,
                                    .agent = agent};
    return walled_run(&of, program, words, ret_status, err);
}

/* Returns true if the list of names, each ended with NUL, has this one. The list is sorted as git
 * sorts it. */
static bool has_name(const struct str *names, const char **at, const char *name)
{
    const char *end = str_text(names) + names->len;

    while (*at < end && strcmp(*at, name) < 0)
        *at += strlen(*at) + 1;
    return *at < end && strcmp(*at, name) == 0;
}

/* Records what the setup has made and git ignores: it is no work. `before` are the files that were
 * there before and that are. */
static int record_made(const struct repo *repo, const char *agent, const struct str *before,
                       struct err *err)
{
    _cleanup_str_ struct str after = STR_INIT;
    _cleanup_str_ struct str made = STR_INIT;
    const char *at = str_text(before);

    if (placed_list(repo, agent, &after, err) == -1)
        return -1;
    const char *end = str_text(&after) + after.len;
    for (const char *name = str_text(&after); name < end; name += strlen(name) + 1)
        if (!has_name(before, &at, name))
            str_addn(&made, name, strlen(name) + 1);
    return placed_record(repo, agent, &made, err);
}

static int run_setup(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_str_ struct str before = STR_INIT;
    enum setup_state state = SETUP_NONE;
    const char *id = call->operands[0];
    const char *agent = call->operands[1];
    int status = -1;

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot set up '%s': it is no session id", id);
    if (repo_load(&call->root, id, &team, &repo, err) == -1)
        return -1;
    const struct agent *known = team_agent(&team, agent);
    if (known == NULL || known->code != AGENT_CODE_WORKTREE)
        return err_set(err, MAS_NOT_FOUND, "cannot set up agent '%s': it has no work tree", agent);
    if (setup_look(&call->root, &repo, agent, &state, err) == -1)
        return -1;
    if (state != SETUP_DUE)
        return err_set(err, MAS_CONFLICT, "cannot set up agent '%s': its setup is '%s', not 'due'",
                       agent, setup_state_name(state));
    if (placed_list(&repo, agent, &before, err) == -1 ||
        placed_drop(&repo, agent, &before, err) == -1 ||
        run_program(call, &repo, &team, known, &status, err) == -1 ||
        record_made(&repo, agent, &before, err) == -1)
        return -1;
    if (status == 0)
        return setup_mark(&repo, agent, err);
    (void)err_set(err, MAS_FAILED, "the setup of agent '%s' ended with exit code %d", agent,
                  status);
    if (status == CANNOT_RUN)
        (void)err_hint(err, "a script needs a first line that names a program: #!/bin/sh");
    err_print(err);
    exit(status); /* the host tells this code */
}

const struct cmd cmd_setup = {
    .name = "setup",
    .operands = " ID AGENT",
    .summary = "run the setup of an agent's work tree",
    .operands_min = 2,
    .operands_max = 2,
    .flags = CMD_ROOT | CMD_PRESETS | CMD_HIDDEN,
    .run = run_setup,
};
