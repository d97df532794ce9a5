/*
 * The part of tmux/tmux.h that builds the tmux session of a team, in one script. No number is known
 * while it is written, so it calls everything by its name; hooks of the user, which could rename or
 * move that, are masked meanwhile. Its last command lists the panes, by which the build is judged.
 * Of one that failed, kill_half() ends what there is, known by the command of its panes.
 */

#include "model/team/layout.h"
#include "os/file.h"
#include "os/pty.h"
#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

#include <dirent.h>
#include <sys/resource.h>

enum {
    SPARE_DESCRIPTORS = 24, /* clients, logs and other descriptors that a server opens briefly */
    SPARE_PTYS = 8,
};

/* A user's hooks that run during the build could move the objects that the next command names. So
 * they are masked for this session until the build is complete. The first KEPT stay masked: they
 * belong to commands that mas uses later, including the unmasking itself. */
static const char *const masked_hooks[] = {
    "after-set-hook",     "after-list-panes",    "after-new-window",
    "after-split-window", "after-select-layout", "after-select-window",
    "after-select-pane",  "after-set-option",    "after-rename-window"};
enum { KEPT = 2 };

int tmux_check_room(const char *socket, size_t panes, struct err *err)
{
    long max = 0;
    long used = 0;
    struct rlimit limit;
    pid_t pid;

    if (pty_count(&used, &max) && used + (long)panes + SPARE_PTYS > max) {
        (void)err_set(err, MAS_TMUX,
                      "cannot start %zu agents: the system has %ld of %ld pseudo-terminals left",
                      panes, max - used, max);
        return err_hint(err, "stop sessions, or raise the limit: sysctl kernel.pty.max");
    }
    int answer = tmux_is_alive(socket, &pid, err);
    if (answer == -1)
        return -1;
    bool alive = answer == 1;
    size_t open_now = alive ? proc_count_files(pid) : 0;
    if (prlimit(alive ? pid : 0, RLIMIT_NOFILE, NULL, &limit) == -1)
        return 0; /* not visible to us: tmux itself will report it */
    rlim_t room = alive ? limit.rlim_cur : limit.rlim_max;
    if (room != RLIM_INFINITY && open_now + panes + SPARE_DESCRIPTORS > room) {
        (void)err_set(err, MAS_TMUX,
                      "cannot start %zu agents: the tmux server on '%s' has %zu of %ju "
                      "descriptors in use",
                      panes, socket, open_now, (uintmax_t)room);
        return err_hint(err, "stop sessions, or set [tmux] server = per-session in mas.ini");
    }
    return 0;
}

int tmux_check_size(const struct team *team, int columns, int rows, struct err *err)
{
    for (size_t i = 0; i < team->window_count; i++) {
        const struct window *window = &team->windows[i];
        if (layout_fits(window->layout, window->count, columns, rows))
            continue;
        (void)err_set(err, MAS_TMUX,
                      "cannot start the team: window %s of %d columns and %d rows has no room for "
                      "its %zu agents in layout %s",
                      window->name, columns, rows, window->count, window->layout);
        return err_hint(err, "set a larger [tmux] size in mas.ini, or another layout");
    }
    return 0;
}

void tmux_add_command(const struct tmux_team *team, size_t agent, struct str *script)
{
    tmux_add_word(script, team->host);
    str_addf(script, " host %s %s", team->session->id, team->team->agents[agent].id);
}

/* The border of a pane: who the agent is and what it does, and the title that it has set. */
#define BORDER                                                                                     \
    " #{?" TMUX_PANE_AGENT ",#{" TMUX_PANE_AGENT "}#{?pane_dead,: ended,: #{" TMUX_PANE_STATE      \
    "}}#{?#{==:#{pane_title},#{" TMUX_PANE_AGENT "}},, - #{pane_title}},#{pane_title}} "

/* The right end of the status line: who waits or, if nobody does, who is at work in the active
 * pane, and the time. The first word of a pane's @mas_agent is its id. */
#define WHO_WAITS "#{W:#{P:#{?" TMUX_PANE_WAITS ",#{s/ .*//:" TMUX_PANE_AGENT "} ,}}}"
#define STATUS                                                                                     \
    "#{?" WHO_WAITS ",#[reverse] waits: #{=24:" WHO_WAITS "}#[noreverse],#{=24:" TMUX_PANE_AGENT   \
    "}} %H:%M"

void tmux_add_agent(const struct tmux_team *team, size_t agent, const char *target,
                    struct str *script)
{
    const struct agent *is = &team->team->agents[agent];
    _cleanup_str_ struct str words = STR_INIT;

    if (!team->status)
        return;
    str_addf(&words, "%s ", is->id);
    str_add_visible(&words, is->role, strlen(is->role));
    for (size_t i = 0; i < words.len; i++)
        if (words.data[i] == '#')
            words.data[i] = '_';
    str_addf(script, " ; set-option -p -t %s " TMUX_PANE_AGENT, target);
    tmux_add_word(script, words.data);
    str_addf(script, " ; set-option -p -t %s " TMUX_PANE_STATE " idle", target);
}

void tmux_add_window_options(const struct tmux_team *team, const char *target, struct str *script)
{
    const char *border = team->status ? BORDER : " #{pane_title} ";
    const struct {
        const char *name, *value;
    } options[] = {
        {"remain-on-exit", "on"}, /* the output of an agent that exited stays readable */
        {"allow-rename", "off"},       {"automatic-rename", "off"},
        {"pane-border-status", "top"}, {"pane-border-format", border},
    };
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        str_addf(script, " ; set-option -w -t %s %s '%s'", target, options[i].name,
                 options[i].value);
}

/* Makes the status line show the session's name and leave space for the windows. Keeps what the
 * user's configuration has changed. */
static void add_status_line(const struct tmux_team *team, struct str *script)
{
    const struct session *session = team->session;
    const char *tmux = session->tmux_name;

    /* the default of 10 columns truncates the name */
    str_addf(script,
             " ; if-shell -F -t =%s: '#{e|<:#{status-left-length},24}' "
             "'set-option -t =%s: status-left-length 24'",
             tmux, tmux);
    if (session->name[0] != '\0') {
        _cleanup_free_ char *target = mem_printf("=%s", tmux);
        str_add(script, " ; ");
        tmux_add_name(target, "", session->name, script);
    }
    /* the default shows the pane's title, which is already above the pane, and the date */
    str_addf(script,
             " ; if-shell -F -t =%s: '#{m:*{=21:pane_title#}*,#{status-right}}' "
             "'set-option -t =%s: status-right \"%s\"'",
             tmux, tmux, team->status ? STATUS : " %H:%M");
}

static void add_session(const struct tmux_team *team, struct str *script)
{
    const struct session *session = team->session;
    _cleanup_kv_ struct kv env = {.count = 0};

    str_addf(script, "new-session -d -s %s -n %s -x %d -y %d", session->tmux_name,
             team->team->windows[0].name, team->columns, team->rows);
    session_env(team->root, session, &env);
    for (size_t i = 0; i < env.count; i++) {
        _cleanup_free_ char *entry = mem_printf("%s=%s", env.pairs[i].key, env.pairs[i].value);
        str_add(script, " -e");
        tmux_add_word(script, entry);
    }
    tmux_add_command(team, team->team->windows[0].agents[0], script);
    for (size_t i = 0; i < ARRAY_LEN(masked_hooks); i++)
        str_addf(script, " ; set-hook -t =%s: %s ''", session->tmux_name, masked_hooks[i]);
    /* a hook on the new session may have renamed the window already */
    str_addf(script, " ; rename-window -t =%s: %s", session->tmux_name,
             team->team->windows[0].name);
    str_addf(script, " ; set-option -t =%s: destroy-unattached off", session->tmux_name);
    add_status_line(team, script);
    str_addf(script, " ; set-option -t =%s: @mas_id %s", session->tmux_name, session->id);
    str_addf(script, " ; set-option -t =%s: @mas_root", session->tmux_name);
    tmux_add_word(script, team->root->path);
}

static void add_window(const struct tmux_team *team, size_t index, struct str *script)
{
    const struct window *window = &team->team->windows[index];
    _cleanup_str_ struct str target = STR_INIT;

    str_addf(&target, "=%s:=%s", team->session->tmux_name, window->name);
    if (index > 0) {
        str_addf(script, " ; new-window -d -t =%s: -n %s", team->session->tmux_name, window->name);
        tmux_add_command(team, window->agents[0], script);
    }
    tmux_add_agent(team, window->agents[0], target.data, script);
    tmux_add_window_options(team, target.data, script);
    for (size_t i = 1; i < window->count; i++) {
        bool right = layout_splits_right(window->layout, window->count, i);
        str_addf(script, " ; split-window %s -t %s", right ? "-h" : "-v", target.data);
        tmux_add_command(team, window->agents[i], script);
        tmux_add_agent(team, window->agents[i], target.data, script);
        str_addf(script, " ; select-layout -t %s ", target.data);
        if (i + 1 < window->count)
            layout_add_growing(script, window->layout, window->count, i + 1, team->columns,
                               team->rows);
        else
            layout_add(script, window->layout, window->count, team->columns, team->rows);
    }
}

static void write_script(const struct tmux_team *team, struct str *script)
{
    const char *name = team->session->tmux_name;

    add_session(team, script);
    for (size_t i = 0; i < team->team->window_count; i++)
        add_window(team, i, script);
    str_addf(script, " ; select-window -t =%s:=%s", name, team->team->windows[0].name);
    for (size_t i = 0; i < team->team->window_count; i++)
        str_addf(script, " ; select-pane -t '=%s:=%s.{top-left}'", name,
                 team->team->windows[i].name);
    str_addf(script,
             " ; list-panes -s -t =%s: -F '#{exit-unattached}:#{session_id}:"
             "#{pane_start_command}'",
             name);
    for (size_t i = KEPT; i < ARRAY_LEN(masked_hooks); i++)
        str_addf(script, " ; set-hook -u -t =%s: %s", name, masked_hooks[i]);
    str_addc(script, '\n');
}

/* Ends what a failed build left: a session with that name whose panes were started for this id (the
 * session may not carry the id yet). */
static void kill_half(const struct tmux_team *team)
{
    const char *name = team->session->tmux_name;
    const char *args[] = {"source-file", "-", NULL};
    _cleanup_str_ struct str script = STR_INIT;
    struct tmux_call call = {
        .socket = team->session->tmux_socket, .args = args, .script = &script, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err ignored = ERR_INIT;

    str_addf(&script,
             "if-shell -F -t '=%s:' '#{m:* host %s *,#{pane_start_command}}' "
             "\"kill-session -t '=%s:'\"\n",
             name, team->session->id, name);
    if (tmux_is_alive(team->session->tmux_socket, &call.server, &ignored) == 1)
        (void)tmux_call(&call, &result, &ignored);
}

int tmux_build_start(const struct tmux_team *team, struct proc *ret, struct err *err)
{
    /* start-server in the same invocation: a server started alone would exit before the next one */
    const char *args[] = {"start-server", ";", "source-file", "-", NULL};
    _cleanup_str_ struct str script = STR_INIT;
    pid_t pid = 0;
    int alive = tmux_is_alive(team->session->tmux_socket, &pid, err);
    struct tmux_call call = {.socket = team->session->tmux_socket,
                             .args = args,
                             .script = &script,
                             .dir = team->dir,
                             .starts_server = alive == 0,
                             .scope = (int)team->scope,
                             .server = pid};
    if (alive == -1)
        return -1;
    write_script(team, &script);
    if (tmux_call_start(&call, ret, err) == 0)
        return 0;
    kill_half(team); /* the client may have run for a moment */
    return -1;
}

int tmux_version(char ret[TMUX_VERSION_MAX], struct err *err)
{
    _cleanup_free_ char *program = NULL;
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;

    if (tmux_program(&program, err) == -1)
        return -1;
    char *argv[] = {program, (char[]){"-V"}, NULL};
    struct proc_spec spec = {
        .file = program, .argv = argv, .cwd = -1, .output_max = 4096, .timeout_ms = TMUX_CALL_MS};
    if (proc_capture(&spec, &result, err) == -1)
        return -1;
    const char *text = str_text(&result.out);
    const char *digits = text + strcspn(text, "0123456789");
    (void)snprintf(ret, TMUX_VERSION_MAX, "%.*s", (int)strcspn(digits, "\n"), digits);
    return 0;
}

bool tmux_version_is_old(const char *version)
{
    int major = 0;
    int minor = 0;

    return sscanf(version, "%d.%d", &major, &minor) == 2 &&
           (major < 3 || (major == 3 && minor < 3));
}

static int explain(const struct proc_result *result, struct err *err)
{
    char version[TMUX_VERSION_MAX];
    struct err ignored = ERR_INIT;

    /* an old tmux fails somewhere during the build; its version explains that better */
    if (tmux_version(version, &ignored) == 0 && tmux_version_is_old(version)) {
        (void)err_set(err, MAS_TMUX, "cannot start the team: tmux %s is too old", version);
        return err_hint(err, "install tmux " TMUX_FIRST " or newer");
    }
    return tmux_fail(result, "start the team", err);
}

/* Checks that all panes of the team exist: the last command of the script lists the panes. */
static int check_built(const struct tmux_team *team, struct proc_result *result, struct err *err)
{
    char *save = NULL;
    size_t found = 0;

    char *line = tmux_first_line(result, &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char agent[TEAM_WORD_MAX + 1];
        if (line[0] == '1') {
            (void)err_set(err, MAS_TMUX,
                          "cannot start the team: the tmux server on '%s' has exit-unattached on, "
                          "so it would end when you detach",
                          team->session->tmux_socket);
            return err_hint(err, "turn it off in your tmux.conf, or give mas a tmux server of its "
                                 "own: MAS_TMUX_SOCKET=mas");
        }
        found +=
            tmux_agent_of(line, team->session->id, agent) && team_agent(team->team, agent) != NULL;
    }
    if (found == 0 &&
        result->err.len > 0) /* "error creating /x (...)", which tmux does not treat as a failure */
        return explain(result, err);
    if (found != team->team->agent_count)
        return err_set(err, MAS_TMUX, "cannot start the team: tmux created only %zu of %zu panes",
                       found, team->team->agent_count);
    return 0;
}

enum tmux_built tmux_build_finish(const struct tmux_team *team, struct proc *proc, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    enum tmux_built built = TMUX_BUILD_FAILED;

    if (tmux_finish(proc, &result, err) == -1) {
        err->code = err->code == MAS_TIMEOUT ? MAS_TIMEOUT : MAS_TMUX;
    } else if (result.status == 0) {
        if (check_built(team, &result, err) == 0)
            built = TMUX_BUILT;
    } else if (strstr(str_text(&result.err), "duplicate session") != NULL) {
        built = TMUX_NAME_TAKEN;
    } else {
        if (tmux_said_no_scope(&result))
            built = TMUX_NO_SCOPE;
        else if (tmux_said_gone(&result))
            built = TMUX_SERVER_GONE;
        (void)explain(&result, err);
    }
    if (built != TMUX_BUILT && built != TMUX_NAME_TAKEN)
        kill_half(team);
    return built;
}
