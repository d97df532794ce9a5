/*
 * The part of tmux/tmux.h that makes a pane in a team that runs, and takes one away. A person may
 * have moved, closed or resized panes: a new one goes next to the nearest that is left of its
 * window, and a layout is set only on a window of just the team's panes and its size. All is told
 * in one call, for the place where the pane should be; only if it came elsewhere, once more.
 */

#include "model/team/layout.h"
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

/* Where an agent belongs, and the panes that there are. */
struct pane_gap {
    const struct tmux_team *team;
    const char *session; /* "$3" */
    size_t window, at; /* which window of the team, and which of its agents */
    const struct tmux_pane *panes;
    size_t count;
};

static const struct tmux_pane *pane_of(const struct pane_gap *place, size_t agent)
{
    for (size_t i = 0; i < place->count; i++)
        if (strcmp(place->panes[i].agent, place->team->team->agents[agent].id) == 0)
            return &place->panes[i];
    return NULL;
}

/* Returns a pane of a window of the team, NULL if that has none. */
static const struct tmux_pane *pane_in(const struct pane_gap *place, size_t window)
{
    const struct window *is = &place->team->team->windows[window];
    const struct tmux_pane *pane = NULL;

    for (size_t i = 0; i < is->count && pane == NULL; i++)
        pane = pane_of(place, is->agents[i]);
    return pane;
}

static void find_place(struct pane_gap *place, size_t agent)
{
    const struct team *team = place->team->team;

    for (size_t i = 0; i < team->window_count; i++)
        for (size_t j = 0; j < team->windows[i].count; j++)
            if (team->windows[i].agents[j] == agent) {
                place->window = i;
                place->at = j;
            }
}

/* Appends the command that splits the pane next to the agent's. *ret becomes that pane, but with
 * the index that the new one will have. Returns false if there is none. */
static bool add_split(const struct pane_gap *place, struct tmux_pane *ret, struct str *script)
{
    const struct window *window = &place->team->team->windows[place->window];
    const struct tmux_pane *pane = NULL;
    bool before = false;
    size_t second = place->at; /* the later one of the two panes */

    for (size_t i = place->at; i > 0 && pane == NULL; i--)
        pane = pane_of(place, window->agents[i - 1]);
    for (size_t i = place->at + 1; i < window->count && pane == NULL; i++) {
        pane = pane_of(place, window->agents[i]);
        before = true;
        second = i;
    }
    if (pane == NULL)
        return false;
    bool right = layout_splits_right(window->layout, window->count, second);
    str_addf(script, "split-window -d %s%s -t '%s'", before ? "-b " : "", right ? "-h" : "-v",
             pane->pane);
    *ret = *pane;
    ret->index += !before;
    return true;
}

/* Returns true if the first place for a window in the session, where tmux makes one that is told no
 * other, is before this window. */
static bool has_room_before(const struct pane_gap *place, const char *window)
{
    _cleanup_str_ struct str script = STR_INIT;
    _cleanup_str_ struct str out = STR_INIT;
    struct err ignored = ERR_INIT;
    long index = 0;
    long first = 0;

    str_addf(&script, "display-message -p -t '%s' '#{window_index} #{base-index}'\n", window);
    return tmux_run_script(place->team->session->tmux_socket, &script, "look at a window", &out,
                           &ignored) == 0 &&
           sscanf(str_text(&out), "%9ld %9ld", &index, &first) == 2 && first < index;
}

/* Appends the command that makes the window again: behind the one before it, which leaves the
 * others their numbers if the window's own is free. */
static void add_window(const struct pane_gap *place, struct str *script)
{
    const struct team *team = place->team->team;
    const struct tmux_pane *pane = NULL;

    for (size_t i = place->window; i > 0 && pane == NULL; i--)
        pane = pane_in(place, i - 1);
    str_addf(script, "new-window -d -n %s", team->windows[place->window].name);
    if (pane != NULL) {
        str_addf(script, " -a -t '%s:%s'", place->session, pane->window);
        return;
    }
    for (size_t i = place->window + 1; i < team->window_count && pane == NULL; i++)
        pane = pane_in(place, i);
    if (pane != NULL && !has_room_before(place, pane->window))
        str_addf(script, " -b -t '%s:%s'", place->session, pane->window);
    else
        str_addf(script, " -t '%s:'", place->session);
}

/* Appends the commands that arrange the window of a pane as the team does, if it has just the
 * team's panes, for a layout that counts them fits no others, and still this size. */
static void add_layout(const struct pane_gap *place, const struct tmux_pane *pane,
                       struct str *script)
{
    const struct window *window = &place->team->team->windows[place->window];

    if (!layout_fits(window->layout, window->count, pane->columns, pane->rows))
        return;
    str_addf(script,
             " ; if-shell -F -t '%s' '#{==:#{window_panes} #{window_width}x#{window_height},%zu "
             "%dx%d}' { select-layout -t '%s' ",
             pane->window, window->count, pane->columns, pane->rows, pane->window);
    layout_add(script, window->layout, window->count, pane->columns, pane->rows);
    str_add(script, " }");
}

/* Appends what else is so of the new pane, which tmux knows as `target`, and its window. */
static void add_rest(const struct pane_gap *place, size_t agent, const char *target,
                     const struct tmux_pane *pane, bool window, struct str *script)
{
    str_addf(script, "set-option -p -t '%s' " TMUX_PANE_WAITS " ''", target);
    tmux_add_agent(place->team, agent, target, script);
    if (window)
        tmux_add_window_options(place->team, pane->window, script);
    add_layout(place, pane, script);
}

int tmux_make_pane(const struct tmux_team *team, const struct tmux_session *live, size_t agent,
                   struct tmux_pane **panes, size_t *count, struct err *err)
{
    struct pane_gap place = {
        .team = team, .session = live->target, .panes = *panes, .count = *count};
    const char *socket = team->session->tmux_socket;
    const char *id = team->session->id;
    _cleanup_str_ struct str script = STR_INIT;
    _cleanup_str_ struct str out = STR_INIT;
    struct tmux_pane expected = {.index = -1};
    struct tmux_pane pane;

    find_place(&place, agent);
    bool window = !add_split(&place, &expected, &script);
    if (window)
        add_window(&place, &script);
    str_addf(&script, " -P -F '%s'", tmux_panes_format);
    tmux_add_command(team, agent, &script); /* its host waits for its environment */
    if (!window) { /* in the same call, for the pane that is there if nobody has moved any */
        _cleanup_free_ char *target = mem_printf("%s.%d", expected.window, expected.index);
        str_addf(&script, "\nif-shell -F -t '%s' '#{m:* host %s %s,#{pane_start_command}}' { ",
                 target, id, team->team->agents[agent].id);
        add_rest(&place, agent, target, &expected, false, &script);
        str_add(&script, " }");
    }
    str_addc(&script, '\n');
    if (tmux_run_script(socket, &script, "make its pane", &out, err) == -1)
        return err_hint(err, "make its window larger, or stop the session and start it again");
    char *line = out.len > 0 ? out.data : (char[]){""};
    line[strcspn(line, "\n")] = '\0';
    if (!tmux_read_pane(line, id, &pane))
        return err_set(err, MAS_TMUX, "cannot make its pane: tmux made none");
    *panes = mem_room(*panes, *count, sizeof **panes);
    (*panes)[(*count)++] = pane;
    if (pane.index == expected.index && strcmp(pane.window, expected.window) == 0 &&
        pane.columns == expected.columns && pane.rows == expected.rows)
        return 0;
    str_clear(&script);
    add_rest(&place, agent, pane.pane, &pane, window, &script);
    str_addc(&script, '\n');
    return tmux_run_script(socket, &script, "arrange a window", NULL, err);
}

int tmux_drop_pane(const struct tmux_team *team, const struct tmux_session *live,
                   const char *window, const struct tmux_pane *pane, struct err *err)
{
    struct pane_gap place = {.team = team, .session = live->target};
    const struct team *left = team->team;
    _cleanup_str_ struct str script = STR_INIT;

    while (place.window < left->window_count &&
           strcmp(left->windows[place.window].name, window) != 0)
        place.window++;
    str_addf(&script, "if-shell -F -t '%s' '#{==:#{@mas_id},%s}' { kill-pane -t '%s'", pane->pane,
             team->session->id, pane->pane);
    if (place.window < left->window_count) /* else the window goes with it */
        add_layout(&place, pane, &script);
    str_add(&script, " }\n");
    return tmux_run_script(team->session->tmux_socket, &script, "take its pane away", NULL, err);
}
