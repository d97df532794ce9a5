/* The part of tmux/tmux.h for the host in a pane: what it asks its own server. */
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

int tmux_show_start(const char *socket_path, const char *pane, const struct tmux_show *show,
                    struct proc *ret, struct err *err)
{
    const char *tell[] = {"set-option",
                          "-p",
                          "-t",
                          pane,
                          TMUX_PANE_STATE,
                          show->state,
                          ";",
                          "set-option",
                          "-p",
                          "-t",
                          pane,
                          TMUX_PANE_WAITS,
                          show->waits ? "1" : "",
                          ";"};
    const char *ask[] = {"display-message", "-p", "-t", pane,
                         "#{pane_id} #{pane_active} #{window_active_clients}"};
    const char *args[ARRAY_LEN(tell) + ARRAY_LEN(ask) + 1];
    const struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1, .inside = true};
    size_t n = 0;

    if (!tmux_is_target(pane, '%'))
        return err_set(err, MAS_TMUX, "cannot ask tmux about pane '%s': it is no pane", pane);
    for (size_t i = 0; show->state != NULL && i < ARRAY_LEN(tell); i++)
        args[n++] = tell[i];
    for (size_t i = 0; i < ARRAY_LEN(ask); i++)
        args[n++] = ask[i];
    args[n] = NULL;
    return tmux_call_start(&call, ret, err);
}

/* Returns true if the line of tmux_show_start() says that somebody sees the pane. */
static bool is_seen(const char *line, const char *pane)
{
    size_t len = strlen(pane);

    /* a pane that does not exist gives empty values */
    return strncmp(line, pane, len) == 0 && strncmp(line + len, " 1 ", 3) == 0 &&
           line[len + 3] >= '1' && line[len + 3] <= '9';
}

bool tmux_show_finish(struct proc *proc, const char *pane)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    bool seen = proc_finish(proc, &result, &ignored) == 0 && is_seen(str_text(&result.out), pane);
    return seen;
}
