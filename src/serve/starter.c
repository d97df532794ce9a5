#include "serve/starter.h"

#include "model/operation.h"
#include "tmux/tmux.h"

bool starter_accepts_verb(char *const *words)
{
    return operation_is_command(words, ROOT_SESSIONS "/" ROOT_TRANSFER);
}

/* In the starter. */
static bool accepts(struct proc_spec *spec, void *arg)
{
    const struct starter *starter = arg;
    _cleanup_free_ char *tmux = NULL;
    struct err ignored = ERR_INIT;

    if (strcmp(spec->file, starter->mas) == 0) {
        static const char *const global[] = {"mas", "--root"};
        for (size_t i = 0; i < ARRAY_LEN(global); i++)
            if (spec->argv[i] == NULL || strcmp(spec->argv[i], global[i]) != 0)
                return false;
        spec->envp = starter->env;
        spec->cwd = starter->root->fd;
        return spec->argv[2] != NULL && strcmp(spec->argv[2], starter->root->path) == 0 &&
               starter_accepts_verb(spec->argv + 3);
    }
    spec->envp = starter->tmux_env;
    return tmux_program(&tmux, &ignored) == 0 && strcmp(spec->file, tmux) == 0 &&
           tmux_only_reads(spec->argv);
}

/* Returns the environment for verbs: that of this process without the variables of a team and of
 * systemd. */
static char **verb_env(void)
{
    static const char *const dropped[] = {
        "MAS_SESSION_ID=", "MAS_SESSION_DIR=", "MAS_AGENT_ID=",     "MAS_AGENT_ROLE=",
        "SESSION_NAME=",   "UNIT_DIR=",        "WORKFLOWS_DIR=",    "TMUX=",
        "TMUX_PANE=",      "LISTEN_FDS=",      "LISTEN_PID=",       "LISTEN_FDNAMES=",
        "NOTIFY_SOCKET=",  "WATCHDOG_USEC=",   "WATCHDOG_PID=",     "INVOCATION_ID=",
        "JOURNAL_STREAM=", "MAINPID=",         "SYSTEMD_EXEC_PID=",
    };
    char **env = NULL;

    for (char **at = environ; *at != NULL; at++) {
        size_t i = 0;
        while (i < ARRAY_LEN(dropped) && !str_starts(*at, dropped[i]))
            i++;
        if (i == ARRAY_LEN(dropped))
            strv_push(&env, *at);
    }
    if (getenv("MAS_PROJECT") == NULL)
        strv_push(&env, "MAS_PROJECT="); /* where the server happens to run is no project */
    return env;
}

int starter_begin(struct starter *starter, const char *mas, const struct root *root,
                  struct err *err)
{
    *starter = (struct starter){.mas = mas, .root = root};
    starter->env = verb_env();
    starter->tmux_env = tmux_environment();
    starter->process = (struct proc_starter){.accepts = accepts,
                                             .arg = starter,
                                             .name = "mas-serve-start",
                                             .keep = {root->fd, root->sessions},
                                             .keep_count = 2};
    if (proc_starter_fork(&starter->process, err) == -1)
        return -1;
    proc_start_by(starter->process.socket);
    return 0;
}

void starter_end(struct starter *starter)
{
    proc_starter_end(&starter->process);
    strv_free(starter->env);
    strv_free(starter->tmux_env);
}
