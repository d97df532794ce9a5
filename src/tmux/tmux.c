#include "tmux/tmux.h"

#include "base/path.h"
#include "tmux/tmux_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_MAX = 64 << 20, ARGS_MAX = 32 };

int tmux_program(char **ret, struct err *err)
{
    char *path = path_find_program("tmux", getenv("PATH"), AT_FDCWD);
    if (path == NULL) {
        (void)err_set(err, MAS_TMUX, "cannot run 'tmux': there is no such program in PATH");
        return err_hint(err, "install tmux 3.2 or newer, for example: apt-get install tmux");
    }
    *ret = path;
    return 0;
}

/* Returns true for environment entries that a new server may inherit: nothing secret. */
static bool may_pass(const char *entry)
{
    static const char *const names[] = {
        "HOME=", "PATH=", "SHELL=", "USER=",          "LANG=",    "LC_*",
        "TERM=", "XDG_*", "DBUS_*", "SSH_AUTH_SOCK=", "DISPLAY=",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]) - (names[i][strlen(names[i]) - 1] == '*');
        if (strncmp(entry, names[i], len) == 0)
            return true;
    }
    return false;
}

char **tmux_environment(void)
{
    char **env = NULL;
    for (char **e = environ; *e != NULL; e++)
        if (may_pass(*e))
            strv_push(&env, *e);
    if (getenv("TERM") == NULL)
        strv_push(&env, "TERM=screen");
    return env;
}

/* Returns the path of `systemd-run` if a user manager runs that can give the server its own scope,
 * so that it outlives the login that started it. Otherwise NULL. */
static char *find_scope_runner(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat st;

    if (runtime == NULL || runtime[0] != '/')
        return NULL;
    _cleanup_free_ char *manager = mem_printf("%s/systemd/private", runtime);
    pid_t pid;
    if (stat(manager, &st) == -1 || !S_ISSOCK(st.st_mode) || tmux_socket_peer(manager, &pid) != 1)
        return NULL;
    return path_find_program("systemd-run", getenv("PATH"), AT_FDCWD);
}

int tmux_call_start(const struct tmux_call *call, struct proc *ret, struct err *err)
{
    _cleanup_free_ char *program = NULL;
    _cleanup_free_ char *runner = NULL;
    _cleanup_strv_ char **env = tmux_environment();
    const char *argv[ARGS_MAX];
    size_t n = 0;
    pid_t pid = 0;

    if (tmux_program(&program, err) == -1)
        return -1;
    if (call->starts_server) {
        if (tmux_socket_make_dir(call->socket, err) == -1)
            return -1;
        runner = call->unscoped ? NULL : find_scope_runner();
    }
    if (!call->inside && tmux_socket_check(call->socket, &pid, err) == -1)
        return -1;
    if (runner != NULL) {
        static const char *const scope[] = {"systemd-run", "--user",    "--scope",
                                            "--quiet",     "--collect", "--"};
        for (size_t i = 0; i < ARRAY_LEN(scope); i++)
            argv[n++] = scope[i];
    }
    argv[n++] = program;
    argv[n++] = "-u"; /* otherwise UTF-8 and tabs in answers become _ in a C locale */
    argv[n++] = "-S";
    argv[n++] = call->socket;
    for (size_t i = 0; call->args[i] != NULL; i++)
        argv[n++] = call->args[i];
    argv[n] = NULL;
    struct proc_spec spec = {
        .file = runner != NULL ? runner : program,
        .argv = (char *const *)(uintptr_t)argv,
        .envp = env,
        .cwd = call->dir,
        .input = call->script != NULL ? str_text(call->script) : NULL,
        .input_len = call->script != NULL ? call->script->len : 0,
        .output_max = OUTPUT_MAX,
        .timeout_ms = call->inside ? INSIDE_CALL_MS : TMUX_CALL_MS,
        .raise_nofile = call->starts_server,
    };
    if (proc_start(&spec, ret, err) == -1) {
        err->code = MAS_TMUX;
        return -1;
    }
    ret->file = "tmux";
    if (!call->inside)
        proc_be_patient(ret, TMUX_CALL_MOST_MS, pid, tmux_socket_server, call->socket);
    return 0;
}

int tmux_finish(struct proc *proc, struct proc_result *ret, struct err *err)
{
    const char *socket_path = proc->partner_arg;
    if (proc_finish(proc, ret, err) == 0)
        return 0;
    pid_t pid = err->code == MAS_TIMEOUT ? tmux_socket_server(socket_path) : 0;
    if (pid == 0)
        return -1;
    (void)err_set(err, MAS_TIMEOUT,
                  "cannot query tmux on '%s': its server, process %ld, does not answer",
                  socket_path, (long)pid);
    return err_hint(err,
                    "try again when the machine is less busy; 'kill -CONT %ld' continues a stopped "
                    "server, 'kill %ld' ends it and everything in it",
                    (long)pid, (long)pid);
}

int tmux_call(const struct tmux_call *call, struct proc_result *ret, struct err *err)
{
    struct proc proc;
    if (tmux_call_start(call, &proc, err) == -1)
        return -1;
    return tmux_finish(&proc, ret, err);
}

void tmux_add_word(struct str *script, const char *text)
{
    str_add(script, " '");
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            str_add(script, "'\\''");
        else
            str_addc(script, *text);
    }
    str_addc(script, '\'');
}

int tmux_fail(const struct proc_result *result, const char *what, struct err *err)
{
    /* tmux reports errors in a script on standard output */
    const char *text = str_text(result->err.len > 0 ? &result->err : &result->out);
    int len = (int)strcspn(text, "\n");
    if (len == 0)
        return err_set(err, MAS_TMUX, "cannot %s: tmux exited with code %d", what, result->status);
    return err_set(err, MAS_TMUX, "cannot %s: tmux: %.*s", what, len > 200 ? 200 : len, text);
}

bool tmux_said_gone(const struct proc_result *result)
{
    static const char *const words[] = {
        "no server running", "error connecting", "lost server",
        "server exited",     "Failed to ", /* systemd-run could not create a scope */
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(str_text(&result->err), words[i]) != NULL)
            return true;
    return false;
}

/* 1 for a dead pane or 0 for a live one, then 1 if it is an agent's. Arbitrary text comes last, and
 * a session name contains no colon. */
const char tmux_list_format[] =
    "#{session_id}:#{session_attached}:"
    "#{W:#{P:#{pane_dead}#{m:* host #{@mas_id} *,#{pane_start_command}}}}:"
    "#{W:#{window_activity},}:#{@mas_id}:#{session_name}:#{@mas_root}";
const char tmux_panes_format[] = "#{session_id}:#{window_id}:#{pane_id}:#{pane_pid}:#{pane_dead}:"
                                 "#{pane_dead_status}:#{pane_dead_signal}:#{pane_start_command}";

int tmux_list_start(const char *socket_path, struct proc *ret, struct err *err)
{
    const char *args[] = {"list-sessions", "-F", tmux_list_format, NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    return tmux_call_start(&call, ret, err);
}

char *tmux_first_line(struct proc_result *result, char **save)
{
    return result->out.data != NULL ? strtok_r(result->out.data, "\n", save) : NULL;
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

bool tmux_is_target(const char *text, char sigil)
{
    return text != NULL && text[0] == sigil && text[1] != '\0' && strlen(text) < 24 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
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
    for (char *at = cut(&activity, ','); at != NULL; at = cut(&activity, ',')) {
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

int tmux_list_finish(struct proc *proc, struct tmux_session **ret, size_t *ret_count,
                     struct err *err)
{
    struct proc_result result = PROC_RESULT_INIT;
    struct tmux_session *sessions = NULL;
    size_t count = 0;
    int rc = tmux_finish(proc, &result, err);

    if (rc == 0 && result.status != 0 && !tmux_said_gone(&result))
        rc = tmux_fail(&result, "list tmux sessions", err);
    char *save = NULL;
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        struct tmux_session session;
        if (!read_session(line, &session))
            continue;
        sessions = mem_grow(sessions, count + 1, sizeof *sessions);
        sessions[count++] = session;
    }
    proc_result_free(&result);
    if (rc == 0) {
        *ret = sessions;
        *ret_count = count;
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

static bool read_pane(char *line, const char *id, struct tmux_pane *ret)
{
    char *fields[7];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        fields[i] = cut(&line, ':');
        if (fields[i] == NULL)
            return false;
    }
    *ret =
        (struct tmux_pane){.pid = (pid_t)strtol(fields[3], NULL, 10), .dead = fields[4][0] == '1'};
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

int tmux_panes(const char *socket_path, const char *target, const char *id, struct tmux_pane **ret,
               size_t *ret_count, struct err *err)
{
    char session[32];
    pid_t pid;
    const char *args[] = {"list-panes", "-s", "-t", session, "-F", tmux_panes_format, NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .dir = -1};
    struct proc_result result = PROC_RESULT_INIT;
    struct tmux_pane *panes = NULL;
    size_t count = 0;
    int rc = 0;

    (void)snprintf(session, sizeof session, "%s:", target);
    int alive = tmux_is_alive(socket_path, &pid, err);
    if (alive == -1)
        return -1;
    if (alive == 1)
        rc = tmux_call(&call, &result, err);
    if (rc == 0 && result.status > 0 && !tmux_said_gone(&result) &&
        strstr(str_text(&result.err), "can't find session") == NULL)
        rc = tmux_fail(&result, "list panes", err);
    char *save = NULL;
    char *line = rc == 0 ? tmux_first_line(&result, &save) : NULL;
    for (; line != NULL; line = strtok_r(NULL, "\n", &save)) {
        struct tmux_pane pane;
        if (!read_pane(line, id, &pane))
            continue;
        panes = mem_grow(panes, count + 1, sizeof *panes);
        panes[count++] = pane;
    }
    proc_result_free(&result);
    if (rc == 0) {
        *ret = panes;
        *ret_count = count;
    }
    return rc;
}
