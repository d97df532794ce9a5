/*
 * How tmux is called; the other files of tmux/ say what it is told, and read what it answers. A
 * call finds tmux, checks whose server listens on the socket, unless this process runs in that
 * server, and gets an environment without secrets; a server that may be new gets a scope of
 * systemd, if there is one. What went wrong is known from the words that tmux or systemd-run has
 * printed.
 */

#include "tmux/tmux.h"

#include "os/path.h"
#include "tmux/tmux_call.h"

enum { OUTPUT_MAX = 64 << 20, SCOPE_OUTPUT_MAX = 4096, ARGS_MAX = 32 };

int tmux_program(char **ret, struct err *err)
{
    char *path = path_find_program("tmux", getenv("PATH"), -1);
    if (path == NULL) {
        (void)err_set(err, MAS_TMUX, "cannot run 'tmux': there is no such program in PATH");
        return err_hint(err,
                        "install tmux " TMUX_FIRST " or newer, for example: apt-get install tmux");
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
    return path_find_program("systemd-run", getenv("PATH"), -1);
}

/* Puts the words before the command that runs in a scope; returns their number. */
static size_t put_scope(const char **argv, enum tmux_scope scope)
{
    static const char *const words[] = {"systemd-run", "--user", "--scope", "--quiet", "--collect"};
    size_t n = 0;

    for (; n < ARRAY_LEN(words); n++)
        argv[n] = words[n];
    if (scope == TMUX_SCOPE_GOES_ON)
        argv[n++] = "--property=OOMPolicy=continue";
    argv[n++] = "--";
    return n;
}

bool tmux_scope_goes_on(char **ret)
{
    _cleanup_free_ char *runner = find_scope_runner();
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    struct err why = ERR_INIT;
    const char *argv[ARGS_MAX] = {NULL};

    if (runner == NULL)
        return true;
    argv[put_scope(argv, TMUX_SCOPE_GOES_ON)] = "true";
    const struct proc_spec spec = {.file = runner,
                                   .argv = (char *const *)(uintptr_t)argv,
                                   .cwd = -1,
                                   .output_max = SCOPE_OUTPUT_MAX,
                                   .timeout_ms = TMUX_CALL_MS};
    if (proc_capture(&spec, &result, &why) == -1) {
        *ret = mem_dup(why.text);
        return false;
    }
    const char *said = str_text(&result.err);
    bool good = result.status == 0;
    if (!good)
        *ret = mem_dupn(said, strcspn(said, "\n"));
    return good;
}

int tmux_call_start(const struct tmux_call *call, struct proc *ret, struct err *err)
{
    _cleanup_free_ char *program = NULL;
    _cleanup_free_ char *runner = NULL;
    _cleanup_strv_ char **env = tmux_environment();
    const char *argv[ARGS_MAX];
    size_t n = 0;
    pid_t pid = call->server;

    if (tmux_program(&program, err) == -1)
        return -1;
    if (call->starts_server) {
        if (tmux_socket_make_dir(call->socket, err) == -1)
            return -1;
        runner = call->scope != TMUX_SCOPE_NONE ? find_scope_runner() : NULL;
    }
    if (!call->inside && pid == 0 && tmux_socket_check(call->socket, &pid, err) == -1)
        return -1;
    if (runner != NULL)
        n = put_scope(argv, (enum tmux_scope)call->scope);
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

/* A server hangs up on a client that is much older or newer than it is: it has not exited. */
static int check_hung_up(const char *socket_path, const struct proc_result *result, struct err *err)
{
    bool hung_up = socket_path != NULL && result->status != 0 &&
                   strstr(str_text(&result->err), "server exited unexpectedly") != NULL;
    pid_t pid = hung_up ? tmux_socket_server(socket_path) : 0;

    if (pid == 0)
        return 0;
    (void)err_set(err, MAS_TMUX,
                  "cannot query tmux on '%s': its server, process %ld, hangs up; it is of another "
                  "version than this tmux",
                  socket_path, (long)pid);
    return err_hint(err,
                    "copy the tmux that runs there, /proc/%ld/exe, and use mas with that first in "
                    "PATH; 'kill %ld' ends it and everything in it",
                    (long)pid, (long)pid);
}

int tmux_finish(struct proc *proc, struct proc_result *ret, struct err *err)
{
    const char *socket_path = proc->partner_arg;
    if (proc_finish(proc, ret, err) == 0)
        return check_hung_up(socket_path, ret, err);
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

int tmux_run_script(const char *socket_path, const struct str *script, const char *what,
                    struct str *out, struct err *err)
{
    const char *args[] = {"source-file", "-", NULL};
    struct tmux_call call = {.socket = socket_path, .args = args, .script = script, .dir = -1};
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    int rc = tmux_call(&call, &result, err);

    if (rc == 0 && result.status != 0)
        rc = tmux_fail(&result, what, err);
    if (rc == 0 && out != NULL)
        str_addn(out, str_text(&result.out), result.out.len);
    return rc;
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
        "no server running",
        "error connecting",
        "lost server",
        "server exited",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(str_text(&result->err), words[i]) != NULL)
            return true;
    return false;
}

bool tmux_said_no_scope(const struct proc_result *result)
{
    const char *text = str_text(&result->err);

    return strstr(text, "Failed to ") != NULL || strstr(text, "Unknown assignment") != NULL;
}

char *tmux_first_line(struct proc_result *result, char **save)
{
    return result->out.data != NULL ? strtok_r(result->out.data, "\n", save) : NULL;
}

bool tmux_is_target(const char *text, char sigil)
{
    return text != NULL && text[0] == sigil && text[1] != '\0' && strlen(text) < 24 &&
           strspn(text + 1, "0123456789") == strlen(text + 1);
}
