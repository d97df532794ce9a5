/*
 * The verbs that mas runs itself: as a host, for hosts, and for git; those over ssh are in
 * carried.c and receive.c. `look`, `measure`, `notify` and `setup` are processes of their own
 * because a host never waits. The first two give way to other processes; a host reads what they
 * print and how they end, but `measure` tells each host of the session by itself.
 */

#include "base/id.h"
#include "cli/print.h"
#include "client/roster.h"
#include "cmd.h"
#include "code/placed.h"
#include "code/setup.h"
#include "code/work.h"
#include "git/lfs_filter.h"
#include "host/host.h"
#include "model/agent_status.h"
#include "os/file.h"
#include "os/path.h"
#include "session/launch.h"
#include "session/notice.h"
#include "session/walled_run.h"
#include "store/limits/session_limits.h"
#include "store/limits/session_quota.h"
#include "store/session.h"
#include "store/usage.h"

#include <sys/resource.h>

enum {
    CANNOT_RUN = 126, /* exit code, as of a shell */
    NICE = 10, /* of what works beside the team: whoever waits for a command comes first */
};

/* ---- host: the process in the pane of an agent */

static bool has_light(const char *verb)
{
    const struct cmd *cmd = cmd_find(verb);
    return cmd != NULL && (cmd->does & OPENS_NO_DATABASE) != 0;
}

static int run_light(char *const *argv)
{
    struct err err = ERR_INIT;
    const struct cmd_globals globals = {.root = NULL};
    int argc = 0;
    int code = MAS_OK;

    while (argv[argc] != NULL)
        argc++;
    int rc =
        cmd_run(cmd_find(argv[1]), argc - 1, (char **)(uintptr_t)argv + 1, &globals, &code, &err);
    return cmd_finish(rc, code, &err);
}

static int run_host(struct call *call, struct err *err)
{
    static const struct host_commands commands = {.has = has_light, .run = run_light};

    if (host_run(call->operands[0], call->operands[1], &commands, err) == 0)
        return 0;
    err_print(err);
    host_flush_terminal();
    exit(err->code);
}

const struct cmd cmd_host = {
    .name = "host",
    .group = GROUP_HIDDEN,
    .operands = " ID AGENT",
    .summary = "run as the process in an agent's pane",
    .operands_min = 2,
    .operands_max = 2,
    .run = run_host,
};

/* ---- lfs-filter */

static int run_lfs_filter(struct call *call, struct err *err)
{
    return lfs_filter(call->operands, err);
}

const struct cmd cmd_lfs_filter = {
    .name = "lfs-filter",
    .group = GROUP_HIDDEN,
    .operands = " [REPOSITORY...]",
    .summary = "be the filter of git-lfs for git",
    .operands_max = -1,
    .run = run_lfs_filter,
};

/* ---- look */

static int run_look(struct call *call, struct err *err)
{
    _cleanup_team_ struct team team = TEAM_INIT;
    _cleanup_repo_ struct repo repo = REPO_INIT;
    _cleanup_str_ struct str text = STR_INIT;
    struct json_out out = {.to = &text};
    struct code_figures figures;
    const char *id = call->operands[0];

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot look at '%s': it is no session id", id);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (repo_load(&call->root, id, &team, &repo, err) == -1)
        return -1;
    const struct agent *agent = team_agent(&team, call->operands[1]);
    if (agent == NULL || agent->code != AGENT_CODE_WORKTREE)
        return err_set(err, MAS_NOT_FOUND, "cannot look at agent '%s': it has no work tree",
                       call->operands[1]);
    work_look(&repo, agent->id, &figures);
    json_open(&out, NULL, '{');
    code_figures_tell(&figures, &out);
    json_close(&out, '}');
    print_line(&text);
    return 0;
}

const struct cmd cmd_look = {
    .name = "look",
    .group = GROUP_HIDDEN,
    .operands = " ID AGENT",
    .summary = "count what an agent has changed in its work tree",
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .run = run_look,
};

/* ---- measure */

/*
 * What a host runs to measure its session. It reads the limits anew, so that a change of mas.ini
 * counts, and tells each host of the session what concerns its agent.
 */

static int64_t sooner(int64_t room, const struct disk_use *use)
{
    int64_t own = disk_room(use);
    return own < room ? own : room;
}

static void tell(struct roster *roster, const struct disk_use *session, bool held,
                 const struct disk_use *each, int64_t room)
{
    for (size_t i = 0; i < roster->count; i++) {
        _cleanup_str_ struct str head = STR_INIT;
        struct json_out out = {.to = &head};
        json_open(&out, NULL, '{');
        json_put(&out, "do", "disk");
        disk_put("session", session, &out);
        disk_put("agent", &each[i], &out);
        json_put_int(&out, "room", room);
        if (held)
            json_put_bool(&out, "held", true);
        json_close(&out, '}');
        roster->calls[i] = (struct host_call){.run = roster->teams[roster->agents[i].team].run,
                                              .agent = roster->agents[i].agent->id};
        hosts_start(&roster->calls[i], 1, str_text(&head), NULL, 0);
    }
    roster->asked = roster->count;
    hosts_finish(roster->calls, roster->count, HOSTS_ANSWER_MS, NULL, NULL);
}

/* Sets the limit of each agent. Returns true if one has any. */
static bool find_limits(const struct call *call, const struct session_limits *limits,
                        const struct roster *roster, struct disk_use *each)
{
    bool any = false;

    for (size_t i = 0; i < roster->count; i++) {
        const struct agent *agent = roster->agents[i].agent;
        const struct preset *preset =
            config_agent_preset(&call->config, &roster->teams[0].team, agent);
        each[i] = (struct disk_use){
            .limit =
                session_limits_hold(limits, &call->config, agent, preset).of[LIMIT_AGENT].amount};
        any = any || each[i].limit != 0;
    }
    return any;
}

/* Walks over the files of the session. */
static void walk(const struct call *call, const struct session *session,
                 const struct roster *roster, struct disk_use *all, struct disk_use *each)
{
    struct usage_agent *agents = mem_alloc((roster->count + 1) * sizeof *agents);
    uint64_t used = 0;

    for (size_t i = 0; i < roster->count; i++)
        agents[i].id = roster->agents[i].agent->id;
    usage_measure_agents(&call->root, roster->teams[0].dir, session->mode, agents, roster->count,
                         &used);
    all->used = (int64_t)used;
    for (size_t i = 0; i < roster->count; i++) {
        each[i].known = true;
        each[i].used = (int64_t)agents[i].used;
    }
    free(agents);
}

/* The kernel's count of the session, if it has one, replaces that of the walk, and saves it unless
 * an agent has a limit of its own. */
static void measure(const struct call *call, const struct session *session,
                    const struct session_limits *limits, struct roster *roster)
{
    struct disk_use *each = mem_alloc((roster->count + 1) * sizeof *each);
    struct disk_use all = {
        .known = true,
        .limit = session_limits_hold(limits, &call->config, NULL, NULL).of[LIMIT_SESSION].amount};
    struct session_quota quota = {.used = 0};
    bool has_quota = session_quota_use(roster->teams[0].dir, (uint64_t)all.limit, &quota);

    if (find_limits(call, limits, roster, each) || !has_quota)
        walk(call, session, roster, &all, each);
    if (has_quota)
        all.used = quota.used > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)quota.used;
    int64_t room = disk_room(&all);
    for (size_t i = 0; i < roster->count; i++)
        room = sooner(room, &each[i]);
    tell(roster, &all, quota.holds, each, room);
    free(each);
}

static int run_measure(struct call *call, struct err *err)
{
    _cleanup_session_limits_ struct session_limits limits = SESSION_LIMITS_INIT;
    _cleanup_session_ struct session session = SESSION_INIT;
    _cleanup_roster_ struct roster roster = ROSTER_INIT;
    const char *id = call->operands[0];
    struct roster_team team;

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot measure '%s': it is no session id", id);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    if (roster_open(&call->root, id, &team, err) == -1)
        return -1;
    if (session_load(&call->root, team.dir, id, &session, err) == -1 ||
        session_limits_read(team.dir, &limits, err) == -1) {
        roster_close(&team);
        return -1;
    }
    if (roster_add(&roster, &team, NULL, err) == -1)
        return -1;
    measure(call, &session, &limits, &roster);
    return 0;
}

const struct cmd cmd_measure = {
    .name = "measure",
    .group = GROUP_HIDDEN,
    .operands = " ID",
    .summary = "measure the disk space of a session for its hosts",
    .operands_min = 1,
    .operands_max = 1,
    .root = ROOT_NEEDED,
    .does = READS_PRESETS,
    .run = run_measure,
};

/* ---- notify */

static int run_notify(struct call *call, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    const char *id = call->operands[0];
    size_t len = 0;

    if (!id_is_valid(id))
        return err_set(err, MAS_USAGE, "cannot notify for '%s': it is no session id", id);
    if (file_read_stream(STDIN_FILENO, "standard input", NOTICE_INPUT_MAX, &text, &len, err) == -1)
        return -1;
    return notice_deliver(&call->root, &call->config, id, call->operands[1], call->operands[2],
                          text, err);
}

const struct cmd cmd_notify = {
    .name = "notify",
    .group = GROUP_HIDDEN,
    .operands = " ID AGENT PANE",
    .summary = "deliver notices of an agent, lines of JSON on standard input",
    .operands_min = 3,
    .operands_max = 3,
    .root = ROOT_NEEDED,
    .run = run_notify,
};

/* ---- setup */

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
    .group = GROUP_HIDDEN,
    .operands = " ID AGENT",
    .summary = "run the setup of an agent's work tree",
    .operands_min = 2,
    .operands_max = 2,
    .root = ROOT_NEEDED,
    .does = READS_PRESETS,
    .run = run_setup,
};
