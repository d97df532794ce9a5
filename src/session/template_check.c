/* The part of store/template.h that finds all problems of a template. */
#include "store/template.h"

#include "model/team/layout.h"
#include "os/path.h"
#include "session/launch.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

struct template_check {
    const struct root *root;
    const struct config *config;
    struct template *tmpl;
    const char *ini; /* displayed name of its template.ini */
    struct diagnostics *diagnostics;
};

static void add(struct template_check *check, enum diagnostic_kind kind, int line,
                const struct err *err)
{
    diagnostics_add(check->diagnostics, kind, check->ini, line, "%s", err->text);
}

/* The problems that tree_check() finds below one part. */
struct checked_part {
    struct template_check *check;
    const char *path;
};

static void add_refused(const char *path, const char *why, void *arg)
{
    const struct checked_part *part = arg;
    _cleanup_free_ char *file = mem_printf("%s%s%s", part->path, path[0] != '\0' ? "/" : "", path);
    diagnostics_add(part->check->diagnostics, DIAGNOSTIC_ERROR, file, 0, "it cannot be copied: %s",
                    why);
}

static void check_tree(struct template_check *check, const char *name, bool required)
{
    _cleanup_free_ char *path = template_file(check->root, check->tmpl, name);
    _cleanup_close_ int dir = path_open_beneath(check->tmpl->fd, name, O_RDONLY | O_DIRECTORY);
    struct checked_part part = {.check = check, .path = path};
    struct err err = ERR_INIT;

    if (dir != -1) {
        tree_check(dir, add_refused, &part);
    } else if (errno != ENOENT || required) {
        (void)err_errno(&err, "it cannot be copied");
        diagnostics_add(check->diagnostics, DIAGNOSTIC_ERROR, path, 0, "%s", err.text);
    }
}

static void check_agents(struct template_check *check)
{
    const struct team *team = &check->tmpl->team;

    for (size_t i = 0; i < team->agent_count; i++) {
        const struct agent *agent = &team->agents[i];
        _cleanup_free_ char *unit = mem_printf("%s/%s", WORKSPACE_UNIT, agent->id);
        _cleanup_close_ int fd = path_open_beneath(check->tmpl->fd, unit, PATH_PLACE);
        _cleanup_strv_ char **argv = NULL;
        const struct preset *preset = NULL;
        struct err err = ERR_INIT;
        if (fd == -1) {
            (void)err_errno(&err, "agent %s has no directory %s", agent->id, unit);
            add(check, DIAGNOSTIC_ERROR, agent->line, &err);
        }
        if (launch_command(check->config, team, agent, NULL, &argv, &preset, &err) == -1)
            add(check, DIAGNOSTIC_ERROR, agent->line, &err);
        else if (launch_check_agent(check->config, team, agent, &err) == -1)
            add(check, DIAGNOSTIC_WARNING, agent->line, &err);
    }
}

static void check_windows(struct template_check *check)
{
    const struct team *team = &check->tmpl->team;
    _cleanup_free_ char *socket = NULL;
    struct err err = ERR_INIT;
    const int columns = config_value(check->config, SETTING_SIZE)->size.columns;
    const int rows = config_value(check->config, SETTING_SIZE)->size.rows;

    for (size_t i = 0; i < team->window_count; i++) {
        const struct window *window = &team->windows[i];
        if (window->count > 0 && !layout_fits(window->layout, window->count, columns, rows))
            diagnostics_add(check->diagnostics, DIAGNOSTIC_ERROR, check->ini, window->line,
                            "window %s of %d columns and %d rows has no room for its %zu agents in "
                            "layout %s",
                            window->name, columns, rows, window->count, window->layout);
    }
    if (tmux_socket(check->config, "mas-check", &socket, &err) == -1 ||
        tmux_check_room(socket, team->agent_count, &err) == -1)
        add(check, DIAGNOSTIC_WARNING, 0, &err);
}

static void check_all(struct template_check *check, int ini)
{
    struct err err = ERR_INIT;

    if (team_check_ini(ini, check->ini, check->diagnostics, &check->tmpl->team, &err) == -1) {
        add(check, DIAGNOSTIC_ERROR, 0, &err);
        return;
    }
    check_agents(check);
    check_windows(check);
    check_tree(check, WORKSPACE_UNIT, true);
    check_tree(check, WORKSPACE_WORKFLOWS, false);
}

void template_check(const struct root *root, const struct config *config, const char *name,
                    const char *ini, struct diagnostics *diagnostics)
{
    _cleanup_template_ struct template tmpl = TEMPLATE_INIT;
    struct template_check check = {
        .root = root, .config = config, .tmpl = &tmpl, .diagnostics = diagnostics};
    struct err err = ERR_INIT;

    if (template_find(root, name, &tmpl, &err) == -1) {
        _cleanup_free_ char *path = mem_printf("%s/%s/%s", root->path, ROOT_TEMPLATES, name);
        diagnostics_add(diagnostics, DIAGNOSTIC_ERROR, name[0] == '/' ? name : path, 0, "%s",
                        err.text);
        return;
    }
    _cleanup_free_ char *file = template_file(root, &tmpl, ini != NULL ? ini : TEMPLATE_INI);
    _cleanup_close_ int fd = ini != NULL ? path_open_beneath(tmpl.fd, ini, O_RDONLY | O_NONBLOCK)
                                         : template_open_ini(root, &tmpl, &err);
    check.ini = file;
    if (fd == -1 && ini != NULL)
        (void)err_errno(&err, "cannot read it");
    if (fd == -1)
        add(&check, DIAGNOSTIC_ERROR, 0, &err);
    else
        check_all(&check, fd);
    diagnostics_sort(diagnostics);
}
