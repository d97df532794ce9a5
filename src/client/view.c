#include "client/view.h"

#include "base/time.h"
#include "store/workspace.h"

const struct agent_counts *view_counts(const struct view *view)
{
    static const struct agent_counts none = {.told = 0};

    return view->counts != NULL ? view->counts : &none;
}

void view_set_counts(struct view *view, const struct agent_counts *counts)
{
    if (counts == NULL) {
        free(view->counts);
        view->counts = NULL;
        return;
    }
    if (view->counts == NULL)
        view->counts = mem_alloc(sizeof *view->counts);
    *view->counts = *counts;
}

const char *view_name(const struct view *view)
{
    return view->name != NULL ? view->name : view->row.name;
}

time_t view_activity(const struct view *view)
{
    time_t t = 0;
    (void)time_parse(view->row.activity, &t);
    if (view->crashed && view->used > t)
        t = view->used;
    return view->live != NULL && view->live->activity > t ? view->live->activity : t;
}

size_t view_running(const struct view *view)
{
    const struct agent_counts *counts = view_counts(view);
    size_t panes = view->live != NULL ? view->live->running : 0;
    return agent_counts_live(counts) + (panes > counts->told ? panes - counts->told : 0);
}

size_t view_ended(const struct view *view)
{
    return agent_counts_ended(view_counts(view)) + (view->live != NULL ? view->live->ended : 0);
}

/* Writes nothing for a session whose agents have no work trees, or were not looked at. */
static void put_code(const struct code_counts *code, struct json_out *out)
{
    char looked[TIME_TEXT];

    if (code->agents == 0)
        return;
    time_format((time_t)(code->looked_ms / 1000), looked);
    json_put_all(out, JO("code"), JI("agents", code->agents), JI("ahead", code->ahead),
                 JI("behind", code->behind), JI("changed", code->changed), JT("looked", looked),
                 JOE);
}

void view_put_json(const struct root *root, const struct view *view, struct json_out *out)
{
    _cleanup_free_ char *dir = workspace_path(root, view->row.id, NULL);
    char activity[TIME_TEXT];

    time_format(view_activity(view), activity);
    json_put_all(out, JT("sessionId", view->row.id),
                 JT("tmuxSession", view->live != NULL ? view->live->name : view->row.tmux_name),
                 JT("status", status_name(view->status)), JT("createdAt", view->row.created),
                 JT("lastActivity", activity), JT("workingDir", dir),
                 JT("mode", mode_name(view->row.mode)), JT("name", view_name(view)),
                 JT("template", view->row.template), JB("private", view->row.private),
                 JB("crashed", view->crashed));
    if (view->migrating)
        json_put_bool(out, "migrating", true);
    if (view->machine != NULL)
        json_put(out, "machine", view->machine);
    if (view->elsewhere)
        json_put_bool(out, "elsewhere", true);
    if (view->lease_lost)
        json_put_bool(out, "leaseLost", true);
    if (view->moved_to != NULL)
        json_put(out, "movedTo", view->moved_to);
    if (view->lost_after != 0) {
        char when[TIME_TEXT];
        time_format(view->lost_after, when);
        json_put(out, "lostAfter", when);
    }
    json_put_int(out, "agentsRunning", (int64_t)view_running(view));
    json_put_int(out, "agentsEnded", (int64_t)view_ended(view));
    json_open(out, "agentStates", '{');
    for (size_t i = 0; i < AGENT_STATE_COUNT; i++)
        if (view_counts(view)->states[i] > 0)
            json_put_int(out, agent_state_name((enum agent_state)i),
                         (int64_t)view_counts(view)->states[i]);
    json_close(out, '}');
    put_code(&view_counts(view)->code, out);
    json_put_int(out, "attached", view->live != NULL ? view->live->attached : 0);
    if (view->reason != NULL)
        json_put(out, "reason", view->reason);
}
