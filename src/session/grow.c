/*
 * The part of session/grow.h that adds and forks. The new agent is planned in the team that was
 * read, after the pattern of a fellow, whose parts a fork copies, too, and everything is checked
 * before .growing is written. After that a failure removes the parts; if the team is on disk
 * already, the old one is written first (undo()).
 */

#include "session/grow.h"

#include "base/suggest.h"
#include "client/roster.h"
#include "client/survey.h"
#include "code/merge.h"
#include "code/placed.h"
#include "code/repo_make.h"
#include "code/submodule/submodule.h"
#include "model/target.h"
#include "os/file.h"
#include "os/path.h"
#include "session/grow_internal.h"
#include "session/launch.h"
#include "store/placement.h"
#include "store/team_file.h"
#include "store/usage.h"

/* ---- who joins */

static bool is_taken(const struct team *team, const char *name)
{
    static const char *const words[] = {"all", "managers", "workers"};
    bool taken = team_agent(team, name) != NULL;

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        taken = taken || strcmp(name, words[i]) == 0;
    for (size_t i = 0; i < team->agent_count; i++)
        taken = taken || strcmp(name, team->agents[i].group) == 0;
    return taken;
}

/* Returns the id of the new agent. The caller frees *ret. */
static int choose_name(const struct team *team, const struct grow_wish *wish, char **ret,
                       struct err *err)
{
    const char *like = wish->fork != NULL ? wish->fork : wish->preset;
    _cleanup_free_ char *name = mem_dup(wish->as != NULL ? wish->as : like);

    for (int i = 2; wish->as == NULL && is_taken(team, name); i++) {
        free(name);
        name = mem_printf("%.*s-%d", TEAM_WORD_MAX - 4, like, i);
    }
    if (!team_is_agent_id(name))
        return err_set(err, MAS_USAGE, "cannot add agent '%s': a name is " TEAM_AGENT_ID, name);
    if (is_taken(team, name)) {
        (void)err_set(err, MAS_CONFLICT, "cannot add agent '%s': %s", name,
                      team_agent(team, name) != NULL ? "the team has an agent of this name"
                                                     : "the name means several agents");
        return err_hint(err, "give it another name with --as");
    }
    *ret = name;
    name = NULL;
    return 0;
}

static int fail_unit(const struct team *team, const char *unit, struct err *err)
{
    _cleanup_str_ struct str has = STR_INIT;
    struct suggest suggest = SUGGEST_INIT(unit != NULL ? unit : "");

    for (size_t i = 0; i < team->agent_count; i++) {
        const char *group = team->agents[i].group;
        size_t first = 0;
        while (strcmp(team->agents[first].group, group) != 0)
            first++;
        if (first != i)
            continue;
        suggest_try(&suggest, group);
        str_addf(&has, "%s%s", has.len > 0 ? ", " : "", group);
    }
    if (unit == NULL) {
        (void)err_set(err, MAS_USAGE, "cannot add an agent: the team has several units");
        return err_hint(err, "say which with --unit: %s", str_text(&has));
    }
    (void)err_set(err, MAS_NOT_FOUND, "cannot find unit '%s': the team has no such unit", unit);
    return suggest.nearest != NULL ? err_hint(err, SUGGEST_MEANT "%s  (the team has: %s)",
                                              suggest.nearest, str_text(&has))
                                   : err_hint(err, "the team has: %s", str_text(&has));
}

static int choose_parent(const struct team *team, const char *id, size_t *ret, struct err *err)
{
    const struct agent *parent = team_agent(team, id);

    if (parent == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "cannot fork agent '%s': the team has no such agent", id);
        return target_hint(team, id, false, err);
    }
    *ret = (size_t)(parent - team->agents);
    return 0;
}

/* Finds the agent that the new one is like: the first worker of its unit, or who is there. */
static int choose_peer(const struct team *team, const struct grow_wish *wish, size_t *ret,
                       struct err *err)
{
    const struct agent *by = wish->by != NULL ? team_agent(team, wish->by) : NULL;
    const char *unit = wish->unit != NULL ? wish->unit : by != NULL ? by->group : NULL;
    size_t peer = team->agent_count;

    if (wish->fork != NULL)
        return choose_parent(team, wish->fork, ret, err);
    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        if (unit == NULL && strcmp(agent->group, team->agents[0].group) != 0)
            return fail_unit(team, NULL, err);
        if (unit != NULL && strcmp(agent->group, unit) != 0)
            continue;
        if (peer == team->agent_count ||
            (agent->rank == RANK_WORKER && team->agents[peer].rank != RANK_WORKER))
            peer = i;
    }
    if (peer == team->agent_count)
        return fail_unit(team, unit, err);
    *ret = peer;
    return 0;
}

static void put_text(char **to, const char *text)
{
    if (text == NULL)
        return;
    free(*to);
    *to = mem_dup(text);
}

/* Adds it to the team that was read. */
static int plan(struct growing *growing, const struct grow_wish *wish, size_t *ret_peer,
                struct err *err)
{
    const union setting_value *size = config_value(growing->life->config, SETTING_SIZE);
    struct team *team = &growing->team;
    _cleanup_free_ char *name = NULL;

    if (wish->fork == NULL && config_need_preset(growing->life->config, wish->preset, err) == -1)
        return -1;
    if (choose_name(team, wish, &name, err) == -1 || choose_peer(team, wish, ret_peer, err) == -1)
        return -1;
    const char *why =
        team_grow(team, name, *ret_peer, wish->fork != NULL, size->size.columns, size->size.rows);
    if (why != NULL)
        return err_set(err, MAS_FAILED, "cannot add agent '%s': %s", name, why);
    growing->agent = &team->agents[team->agent_count - 1];
    growing->fresh = true;
    put_text(&growing->agent->preset, wish->preset);
    put_text(&growing->agent->model, wish->model);
    put_text(&growing->agent->role, wish->role);
    put_text(&growing->agent->grown_by, wish->by);
    why = wish->role != NULL ? agent_check("role", wish->role) : NULL;
    if (why == NULL && wish->model != NULL) /* a team that has another one is read */
        why = str_has_control(wish->model) ? "a model has no control characters"
                                           : agent_check("model", wish->model);
    if (why != NULL)
        return err_set(err, MAS_USAGE, "cannot add agent '%s': %s", name, why);
    return team->project.path != NULL ? repo_check_team(team, err) : 0;
}

/* Fails if something is where the parts of the agent will be. */
static int check_places(const struct growing *growing, struct err *err)
{
    for (size_t i = 0; i < GROW_PLACES; i++) {
        _cleanup_free_ char *path = mem_printf("%s%s", grow_places[i], growing->agent->id);
        if (faccessat(growing->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        (void)err_set(err, MAS_CONFLICT, "cannot add agent '%s': '%s' exists", growing->agent->id,
                      path);
        return err_hint(err, "move it away, or give the agent another name with --as");
    }
    return 0;
}

/* ---- its parts */

/* What an agent at work has is another one's to make. */
static void leave(const char *path, const char *what, void *arg)
{
    const struct life *life = arg;
    _cleanup_free_ char *note = mem_printf("'%s' is %s and is left out", path, what);

    if (life->notes != NULL)
        strv_push(life->notes, note);
}

static int copy_unit(const struct growing *growing, const char *parent, int from, int to,
                     struct err *err)
{
    const struct life *life = growing->life;
    const struct tree_choice choice = {.leaves = leave, .arg = (void *)life};
    _cleanup_free_ char *name = mem_printf(WORKSPACE_UNIT "/%s", parent);

    return tree_copy_choice(from, to, name, &choice, life->tick, life->tick_arg, err);
}

/* Copies the directory of an agent as it is, or, without `parent`, the template's of this name or
 * of the agent which it is like. */
static int make_unit(const struct growing *growing, const char *peer, struct err *err)
{
    const struct life *life = growing->life;
    const char *const names[] = {growing->agent->id, peer};
    const struct tree_choice choice = {.link_readonly = config_links(life->config)};
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    _cleanup_close_ int unit = path_open_dir(growing->dir, WORKSPACE_UNIT);
    _cleanup_close_ int to = unit == -1 ? -1 : path_make_dir(unit, growing->agent->id, 0755);
    struct err why = ERR_INIT;

    if (to == -1)
        return err_errno(err, "cannot make '" WORKSPACE_UNIT "/%s'", growing->agent->id);
    _cleanup_close_ int own = growing->parent != NULL ? path_open_dir(unit, peer) : -1;
    if (own != -1) /* else it has not started yet, and gets its directory then */
        return copy_unit(growing, peer, own, to, err);
    if (template_open(life->root, growing->session.template, &tmpl, &why) == -1) {
        if (life->notes != NULL)
            strv_push(life->notes, why.text);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        _cleanup_free_ char *part = mem_printf(WORKSPACE_UNIT "/%s", names[i]);
        _cleanup_close_ int from = path_open_beneath(tmpl.fd, part, O_RDONLY | O_DIRECTORY);
        if (from != -1)
            return tree_copy_choice(from, to, part, &choice, life->tick, life->tick_arg, err);
    }
    return 0;
}

/* Gives the agent what its fellows have of the project's own files: its submodules, and files that
 * git ignores. The project itself, which has both, may be gone: then it gets neither. */
static int make_rest(const struct growing *growing, struct project *project, struct err *err)
{
    const struct team_project *of = &growing->team.project;
    const struct git own = repo_git(&growing->repo);
    char ***notes = growing->life->notes;
    _cleanup_project_ struct project there = PROJECT_INIT;
    struct team one = growing->team;
    struct err why = ERR_INIT;

    if (!repo_has_rest(&growing->repo))
        return 0;
    one.agents = growing->agent;
    one.agent_count = 1;
    project->path = mem_dup(of->path);
    if (project_reopen_same(&own, of->path, of->base, &there, &why) == 0) {
        project->top = TAKE_PTR(there.top);
        free(project->dir);
        project->dir = TAKE_PTR(there.dir); /* it may have come with its submodules */
    } else if (notes != NULL)
        strv_push(notes, why.text);
    return submodule_make(&growing->repo, project, &one, notes, err) == -1 ||
                   placed_make(&growing->repo, project, NULL, &one, notes, err) == -1
               ? -1
               : 0;
}

int grow_make_code(const struct growing *growing, struct err *err)
{
    _cleanup_project_ struct project project = PROJECT_INIT;
    _cleanup_close_ int lock = -1;

    if (growing->repo.git == NULL || growing->agent->code != AGENT_CODE_WORKTREE)
        return 0;
    return merge_lock(&growing->repo, growing->what, &lock, err) == -1 ||
                   repo_remember_project(&growing->repo, &project, err) == -1 ||
                   (growing->parent != NULL
                        ? repo_fork_agent(&growing->repo, growing->dir, growing->parent, &project,
                                          growing->agent, err)
                        : repo_add_agent(&growing->repo, growing->dir, &project, growing->agent,
                                         err)) == -1 ||
                   make_rest(growing, &project, err) == -1
               ? -1
               : 0;
}

static int make_parts(struct growing *growing, const char *peer, struct err *err)
{
    if (make_unit(growing, peer, err) == -1 || grow_make_code(growing, err) == -1 ||
        grow_make_talk(growing, err) == -1)
        return -1;
    return file_sync_all(growing->dir) == -1
               ? err_errno(err, "cannot write the files of agent '%s'", growing->agent->id)
               : 0;
}

/* ---- add */

/* Makes the team as it was before. */
static void undo(struct growing *growing)
{
    struct err ignored = ERR_INIT;
    _cleanup_free_ char *agent = mem_dup(growing->agent->id);

    if (grow_begin(growing->dir, agent, &ignored) == -1)
        return; /* then it stays, and has no host */
    (void)life_end_agent(growing->life, growing->session.id, agent, &ignored);
    team_shrink(&growing->team, agent);
    if (grow_record(growing, &ignored) == 0)
        (void)grow_mend(growing->life->root, growing->dir, growing->session.id, &ignored);
}

static int add(struct growing *growing, const char *peer, bool *ret_runs, struct err *err)
{
    struct err ignored = ERR_INIT;

    if (grow_begin(growing->dir, growing->agent->id, err) == -1)
        return -1;
    if (make_parts(growing, peer, err) == -1) {
        (void)grow_mend(growing->life->root, growing->dir, growing->session.id, &ignored);
        return -1;
    }
    if (grow_record(growing, err) == -1 || grow_end(growing->dir, err) == -1 ||
        grow_start(growing, growing->agent, ret_runs, err) == -1) {
        undo(growing);
        return -1;
    }
    return 0;
}

int grow_add(const struct life *life, const char *id, const struct grow_wish *wish,
             struct grown *ret, struct err *err)
{
    _cleanup_growing_ struct growing growing = GROWING_INIT;
    size_t peer = 0;

    growing.parent = wish->fork;
    if (grow_open(life, id, wish->fork != NULL ? "fork" : "add", &growing, err) == -1 ||
        (wish->by != NULL && grow_check_rank(&growing, wish, err) == -1) ||
        plan(&growing, wish, &peer, err) == -1 ||
        (wish->by != NULL && grow_check_rights(&growing, wish, err) == -1) ||
        check_places(&growing, err) == -1 ||
        usage_check_room(life->root, life->config, 0, err) == -1 ||
        launch_check_agent(life->config, &growing.team, growing.agent, err) == -1)
        return -1;
    _cleanup_free_ char *like = mem_dup(growing.team.agents[peer].id);
    bool runs = false;
    if (add(&growing, like, &runs, err) == -1)
        return err_wrap(err, "cannot add an agent to session '%s'",
                        session_label(life->root, id).text);
    workspace_log(growing.dir, config_log_limits(life->config), "%s agent=%s %s=%s by=%s",
                  growing.what, growing.agent->id, wish->fork != NULL ? "of" : "preset",
                  wish->fork != NULL ? wish->fork : wish->preset,
                  wish->by != NULL ? wish->by : "-");
    *ret = (struct grown){.runs = runs, .continuity = growing.continuity};
    memcpy(ret->agent, growing.agent->id, strlen(growing.agent->id) + 1);
    if (growing.repo.git != NULL && growing.agent->code == AGENT_CODE_WORKTREE) {
        _cleanup_free_ char *branch = repo_branch(&growing.repo, ret->agent);
        ret->branch = mem_dup(branch + strlen("refs/heads/"));
    }
    return 0;
}
