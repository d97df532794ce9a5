/*
 * The part of tmux/tmux.h that lists sessions and panes. A line is fields between colons, free text
 * last. What a pane was started with shows whose it is, which no agent can change, unlike options
 * and titles. Sessions and panes come in one answer and are told apart by their second field. A
 * server that has exited has none, and is no error.
 */

#include "tmux/tmux.h"
#include "tmux/tmux_call.h"

/* 1 for a dead pane or 0 for a live one, then 1 if it is an agent's. Arbitrary text comes last, and
 * a session name contains no colon. In a loop a comma would begin another format, for the current
 * window only. */
const char tmux_list_format[] =
    "#{session_id}:#{session_attached}:"
    "#{W:#{P:#{pane_dead}#{m:* host #{@mas_id} *,#{pane_start_command}}}}:"
    "#{W:#{window_activity} }:#{@mas_id}:#{session_name}:#{@mas_root}";
const char tmux_panes_format[] =
    "#{session_id}:#{window_id}:#{pane_id}:#{pane_pid}:#{pane_dead}:#{pane_dead_status}:"
    "#{pane_dead_signal}:#{pane_index}:#{window_width}:#{window_height}:#{pane_start_command}";

void tmux_team_say(const char *id, char ret[TMUX_FILTER_TEXT])
{
    /* an agent can change the options of its pane, and not how it was started */
    (void)snprintf(ret, TMUX_FILTER_TEXT, "#{m:* host %s *,#{pane_start_command}}", id);
}

int tmux_list_start(const char *socket_path, pid_t server, const struct tmux_panes_of *of,
                    struct proc *ret, struct err *err)
{
    char filter[TMUX_FILTER_TEXT] = "";
    const char *args[] = {TMUX_TEAM_ARGS(filter), NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1, .server = server};

    if (of != NULL)
        tmux_team_say(of->id, filter);
    else
        args[TMUX_TEAM_SESSIONS] = NULL;
    return tmux_call_start(&call, ret, err);
}

/* Cuts the text before the next `separator` off *p; NULL if there is none. */
static char *cut(char **p, char separator)
{
    char *start = *p;
    char *end = strchr(start, separator);
    if (end == NULL)
        return NULL;
    *end = '\0';
    *p = end + 1;
    return start;
}

/* Parses one line of the list; false if it is not a session of mas. */
static bool read_session(char *line, struct tmux_session *ret)
{
    char *target = cut(&line, ':');
    char *attached = cut(&line, ':');
    char *panes = attached != NULL ? cut(&line, ':') : NULL;
    char *activity = panes != NULL ? cut(&line, ':') : NULL;
    char *id = activity != NULL ? cut(&line, ':') : NULL;
    char *name = id != NULL ? cut(&line, ':') : NULL;

    if (name == NULL || !tmux_is_target(target, '$') || !id_is_valid(id))
        return false;
    *ret = (struct tmux_session){.attached = (int)strtol(attached, NULL, 10)};
    for (; panes[0] != '\0' && panes[1] != '\0'; panes += 2)
        if (panes[1] == '1')
            *(panes[0] == '1' ? &ret->ended : &ret->running) += 1;
    for (char *at = cut(&activity, ' '); at != NULL; at = cut(&activity, ' ')) {
        time_t t = (time_t)strtoll(at, NULL, 10);
        if (t > ret->activity)
            ret->activity = t;
    }
    memcpy(ret->id, id, ID_TEXT);
    memcpy(ret->target, target, strlen(target) + 1);
    ret->name = mem_dup(name);
    ret->root = mem_dup(line);
    return true;
}

bool tmux_agent_of(const char *command, const char *id, char ret[TEAM_WORD_MAX + 1])
{
    _cleanup_free_ char *mark = mem_printf(" host %s ", id);
    const char *at = NULL;
    for (const char *p = command; (p = strstr(p, mark)) != NULL; p++)
        at = p; /* the last match: the text before it is a path and may contain anything */
    if (at == NULL || !str_is_word(at + strlen(mark), TEAM_WORD_MAX))
        return false;
    (void)snprintf(ret, TEAM_WORD_MAX + 1, "%s", at + strlen(mark));
    return true;
}

bool tmux_read_pane(char *line, const char *id, struct tmux_pane *ret)
{
    char *fields[10];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        fields[i] = cut(&line, ':');
        if (fields[i] == NULL)
            return false;
    }
    *ret = (struct tmux_pane){.pid = (pid_t)strtol(fields[3], NULL, 10),
                              .dead = fields[4][0] == '1',
                              .index = (int)strtol(fields[7], NULL, 10),
                              .columns = (int)strtol(fields[8], NULL, 10),
                              .rows = (int)strtol(fields[9], NULL, 10)};
    if (!tmux_is_target(fields[0], '$') || !tmux_is_target(fields[1], '@') ||
        !tmux_is_target(fields[2], '%') || !tmux_agent_of(line, id, ret->agent))
        return false;
    long code = strtol(fields[5], NULL, 10);
    long sig = strtol(fields[6], NULL, 10);
    bool known = fields[5][0] != '\0' || fields[6][0] != '\0';
    ret->exit_status = !known ? -1 : (int)(fields[6][0] != '\0' ? 128 + sig : code);
    memcpy(ret->session, fields[0], strlen(fields[0]) + 1);
    memcpy(ret->window, fields[1], strlen(fields[1]) + 1);
    memcpy(ret->pane, fields[2], strlen(fields[2]) + 1);
    return true;
}

/* Adds the pane of a line to the list, if it is one of an agent of the session. */
static void add_pane(char *line, const char *id, struct tmux_pane **list, size_t *count)
{
    struct tmux_pane pane;

    if (!tmux_read_pane(line, id, &pane))
        return;
    *list = mem_room(*list, *count, sizeof **list);
    (*list)[(*count)++] = pane;
}

/* Adds the session of a line to the list, if it is one of mas. */
static void add_session(char *line, struct tmux_session **list, size_t *count)
{
    struct tmux_session session;

    if (!read_session(line, &session))
        return;
    *list = mem_room(*list, *count, sizeof **list);
    (*list)[(*count)++] = session;
}

/* Returns true for a line of tmux_panes_format: a session is followed by a number. */
static bool is_of_pane(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon != NULL && colon[1] == '@';
}

int tmux_list_finish(struct proc *proc, struct tmux_panes_of *of, struct tmux_session **ret,
                     size_t *ret_count, struct err *err)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct tmux_session *sessions = NULL;
    struct tmux_pane *panes = NULL;
    size_t count = 0;
    size_t pane_count = 0;
    int rc = tmux_finish(proc, &result, err);

    if (rc == 0 && result.status != 0 && !tmux_said_gone(&result))
        rc = tmux_fail(&result, "list tmux sessions", err);
    char *save = NULL;
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (of != NULL && is_of_pane(line))
            add_pane(line, of->id, &panes, &pane_count);
        else
            add_session(line, &sessions, &count);
    }
    if (rc == 0) {
        *ret = sessions;
        *ret_count = count;
    }
    if (rc == 0 && of != NULL) {
        of->panes = panes;
        of->count = pane_count;
    }
    return rc;
}

void tmux_sessions_free(struct tmux_session *sessions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(sessions[i].name);
        free(sessions[i].root);
    }
    free(sessions);
}

int tmux_panes(const char *socket_path, const char *target, const char *id, struct tmux_pane **ret,
               size_t *ret_count, struct err *err)
{
    char session[32];
    const char *args[] = {"list-panes", "-s", "-t", session, "-F", tmux_panes_format, NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct tmux_pane *panes = NULL;
    size_t count = 0;
    int rc = 0;

    (void)snprintf(session, sizeof session, "%s:", target);
    int alive = tmux_is_alive(socket_path, &call.server, err);
    if (alive == -1)
        return -1;
    if (alive == 1)
        rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status > 0 && !tmux_said_gone(&result) &&
        strstr(str_text(&result.err), "can't find session") == NULL)
        rc = tmux_fail(&result, "list panes", err);
    char *save = NULL;
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save))
        add_pane(line, id, &panes, &count);
    if (rc == 0) {
        *ret = panes;
        *ret_count = count;
    }
    return rc;
}
