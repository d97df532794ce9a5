/*
 * What a fork knows. Its history is a copy of what was said in the open query of the other agent.
 * If the program of both takes copies of its sessions (told.copies), the fork goes on with one, up
 * to the end of the last whole turn, in its own home if that is behind a wall; else it is told what
 * was said. The history is copied first, so that the program knows all that it says.
 *
 * The id of the session is what the other agent has told. So behind its wall only its own home is
 * looked in, and no link is followed there.
 */
#include "memory/store_transcript.h"
#include "os/machine.h"
#include "os/path.h"
#include "session/grow_internal.h"
#include "session/outside/outside_copy.h"
#include "store/placement.h"
#include "store/workspace.h"
#include "wall/plan.h"

/* Returns the directory in which an agent starts, which the caller frees. */
static char *starts_in(const struct growing *growing, const struct agent *agent)
{
    const struct root *root = growing->life->root;
    const char *id = growing->session.id;
    const char *tree = agent_starts_in_code(agent) ? repo_dir_of(&growing->team, agent) : NULL;
    _cleanup_free_ char *part = mem_printf("%s/%s", tree != NULL ? CODE_DIR : WORKSPACE_UNIT,
                                           tree != NULL ? tree : agent->id);

    return tree != NULL ? workspace_path(root, id, part)
                        : placement_path(root, id, growing->session.mode, part);
}

/* Returns the preset that says where the program of an agent keeps its sessions; NULL: none does.
 */
static const struct preset *keeps_as(const struct growing *growing, const struct agent *agent)
{
    const struct config *config = growing->life->config;
    const struct preset *preset = config_agent_preset(config, &growing->team, agent);

    if (preset != NULL && preset->told.like[0] != '\0')
        preset = config_preset(config, preset->told.like);
    return preset != NULL && preset->told.copies ? preset : NULL;
}

/* Opens the home of an agent behind a wall. Returns 0 for one without. */
static int open_home(const struct growing *growing, const struct agent *agent, bool make,
                     struct outside_home *ret, struct err *err)
{
    const struct config *config = growing->life->config;
    const struct preset *preset = config_agent_preset(config, &growing->team, agent);
    _cleanup_free_ char *part = mem_printf(WORKSPACE_HOME "/%s", agent->id);

    *ret = (struct outside_home){.own = -1, .env = environ};
    if (wall_level_of(config, &growing->team, agent, preset) == WALL_OFF)
        return 0;
    ret->own = make ? path_make_below(growing->dir, part, 0700)
                    : path_open_beneath(growing->dir, part, O_RDONLY | O_DIRECTORY);
    return ret->own != -1 ? 0 : err_errno(err, "cannot open '%s'", part);
}

static int copy_session(const struct growing *growing, const struct preset *preset, const char *id,
                        struct outside_copied *ret, struct err *err)
{
    const struct agent *parent = team_agent(&growing->team, growing->parent);
    struct outside_home from = {.own = -1}, to = {.own = -1};
    int rc = open_home(growing, parent, false, &from, err) == -1 ||
                     open_home(growing, growing->agent, true, &to, err) == -1 ||
                     outside_copy_session(&from, &to, &preset->told, id, ret, err) == -1
                 ? -1
                 : 0;

    fd_closep(&from.own);
    fd_closep(&to.own);
    return rc;
}

/* Lets the fork go on with a copy of the session. */
static int go_on(const struct growing *growing, struct store *store, const char *machine,
                 const struct preset *preset, const struct store_forked *forked, struct err *err)
{
    _cleanup_copied_ struct outside_copied copied = OUTSIDE_COPIED_INIT;
    _cleanup_free_ char *directory = starts_in(growing, growing->agent);

    if (copy_session(growing, preset, forked->session, &copied, err) == -1)
        return -1;
    const struct store_agent_session session = {
        .id = copied.id,
        .home = {.directory = directory, .machine = machine},
        .program = preset->name,
        .outcome = OUTCOME_RESUMED,
    };
    const struct store_transcript at = {.agent_session = copied.id,
                                        .file = copied.name,
                                        .offset = copied.offset,
                                        .tail = copied.tail,
                                        .mark = -1};
    if (store_fork_goes_on(store, forked->query, &session, &at, err) == 0)
        return 0;
    outside_uncopy(&copied);
    return -1;
}

int grow_make_talk(struct growing *growing, struct err *err)
{
    const struct preset *preset = keeps_as(growing, growing->agent);
    _cleanup_store_ struct store *store = NULL;
    _cleanup_free_ char *machine = NULL;
    struct store_forked forked = {.query = 0};
    struct err why = ERR_INIT;

    growing->continuity = "fresh";
    if (growing->parent == NULL ||
        faccessat(growing->dir, STORE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return 0;
    if (machine_identity(&machine, &why) == -1)
        machine = mem_dup(""); /* then no session goes on */
    _cleanup_free_ char *directory =
        starts_in(growing, team_agent(&growing->team, growing->parent));
    const struct store_home home = {.directory = directory, .machine = machine};
    if (store_open(growing->dir, growing->session.id, growing->agent->id, true, &store, err) ==
            -1 ||
        store_fork(store, growing->parent, &home, &forked, err) == -1)
        return -1;
    _cleanup_free_ char *session = forked.session;
    if (forked.query == 0)
        return 0;
    growing->continuity = "injected";
    if (preset == NULL || session == NULL)
        return 0;
    if (go_on(growing, store, machine, preset, &forked, &why) == 0)
        growing->continuity = "copied";
    else if (growing->life->notes != NULL)
        strv_push(growing->life->notes, why.text);
    return 0;
}
