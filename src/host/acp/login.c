/*
 * A login on the pane: mas-chat goes, the login has the pane and its keys, and mas-chat comes back
 * when it has ended; after one that went well the agent starts again. It is the agent's own program
 * with the arguments of the method that it offers, or, for an agent behind a wall, the command of
 * its preset.
 */

#include "host/acp/conversation.h"

#include "base/env.h"
#include "base/time.h"
#include "host/acp/agent_side.h"
#include "host/acp/turn_side.h"
#include "host/talk/memory.h"
#include "os/path.h"
#include "session/env.h"

enum {
    METHODS_MAX = 1 << 20, /* bytes of the list */
    WORDS_MAX = 32, /* arguments and variables of a method */
};

/* The keys that end a program are for the login, and not for this process beside it. */
static void leave_keys_to_it(bool leave)
{
    static const int keys[] = {SIGINT, SIGQUIT, SIGTSTP};

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        (void)signal(keys[i], leave ? SIG_IGN : SIG_DFL);
}

/* Returns the method with this id, or without one the first, among those on a terminal. */
static const struct json *find_method(const struct json *methods, const char *id)
{
    for (const struct json *m = json_first(methods); m != NULL; m = json_next(m))
        if (strcmp(json_get_text_or(m, "type", "agent"), "terminal") == 0 &&
            (id == NULL || strcmp(json_get_text_or(m, "id", ""), id) == 0))
            return m;
    return NULL;
}

/* Gives the pane to a program, in the directory `dir` (NULL: where the agent is). */
static int start(struct host *host, char *const *argv, char *const *env, const char *dir,
                 struct err *err)
{
    const char *name = argv != NULL && argv[0] != NULL ? argv[0] : "";
    _cleanup_free_ char *program = path_find_program(name, env_get(env, "PATH"), AT_FDCWD);

    if (program == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "there is no program '%s'", name);
        return host->preset->login[0] != '\0'
                   ? err_hint(err, "log in with: %s", host->preset->login)
                   : -1;
    }
    chat_close(host);
    leave_keys_to_it(true);
    pid_t pid = proc_start_here(program, argv, env, dir);
    if (pid == -1) {
        (void)err_errno(err, "cannot start '%s'", program);
        leave_keys_to_it(false);
        chat_open(host);
        return -1;
    }
    host->pane_login = pid;
    return 0;
}

/* Starts the agent's own program with what its method adds. */
static int start_method(struct host *host, const char *id, struct err *err)
{
    _cleanup_json_ struct json *methods = NULL;
    _cleanup_strv_ char **argv = NULL, **env = NULL;
    const char *known = acp_info(host->conversation->link.acp)->auth;
    size_t words = 0;

    if (json_parse(known, strlen(known), METHODS_MAX, &methods, err) == -1)
        return -1;
    const struct json *method = find_method(methods, id);
    if (method == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "it offers no such login on a terminal");
        return err_hint(err, "its note in 'mas status' says how to log in");
    }
    for (char *const *word = host->argv; *word != NULL; word++)
        strv_push(&argv, *word);
    for (char *const *word = host->env; *word != NULL; word++)
        strv_push(&env, *word);
    for (const struct json *it = json_first(json_get(method, "args")); it != NULL;
         it = json_next(it))
        if (json_is_string(it) && ++words <= WORDS_MAX)
            strv_push(&argv, json_text(it));
    for (const struct json *it = json_first(json_get(method, "env")); it != NULL;
         it = json_next(it))
        if (json_is_string(it) && ++words <= WORDS_MAX)
            env_put(&env, json_key(it), json_text(it));
    return start(host, argv, env, NULL, err);
}

/* Behind a wall the agent has no say in it: what runs on a person's terminal could type there, and
 * the login has to be in the user's own home, from where the wall takes it. So it is the command of
 * the preset, outside of the wall and of the agent's directory, which may have settings of its own.
 */
static int start_outside(struct host *host, const char *id, struct err *err)
{
    _cleanup_strv_ char **argv = NULL, **env = NULL;
    const char *home = env_get(host->env, "HOME");

    if (host->preset->login_command[0] == '\0' || home == NULL || home[0] != '/') {
        (void)err_set(err, MAS_CONFLICT,
                      "it works behind a wall, and its preset has no login_command");
        return err_hint(err, "log in on another terminal, by the command that its note says");
    }
    if (id != NULL) {
        (void)err_set(err, MAS_USAGE, "behind a wall there is one login: %s",
                      host->preset->login_command);
        return err_hint(err, "leave '%s' out", id);
    }
    if (str_split_words(host->preset->login_command, &argv, err) == -1)
        return -1;
    for (char *const *word = host->env; *word != NULL; word++)
        strv_push(&env, *word);
    env_put(&env, "PWD", home);
    return start(host, argv, env, home, err);
}

int login_begin(struct host *host, const char *id, struct err *err)
{
    const struct agent_link *link = &host->conversation->link;

    if (!link->needs_login || link->acp == NULL)
        return err_set(err, MAS_CONFLICT, "it needs no login");
    if (host->pane_login != 0)
        return err_set(err, MAS_CONFLICT, "a login is on its pane");
    if (host->conversation->chat.plain) {
        (void)err_set(err, MAS_CONFLICT, "it has no pane for that");
        return err_hint(err, "log in on another terminal, by the command that its note says");
    }
    return host->wall.report.level != WALL_OFF ? start_outside(host, id, err)
                                               : start_method(host, id, err);
}

void login_ended(struct host *host, int status)
{
    struct agent_link *link = &host->conversation->link;

    leave_keys_to_it(false);
    if (host->leaving)
        return;
    chat_open(host); /* which reads from the store what is said before it listens */
    if (status != 0) {
        if (proc_end_signal(status) == 0)
            memory_say(host, true, "the login has failed (exit code %d)", proc_exit_code(status));
        else
            memory_say(host, true, "the login has failed (signal %d)", proc_end_signal(status));
        return;
    }
    memory_say(host, true, "the login is done; the agent starts again");
    link->needs_login = false;
    if (host->child.phase == CHILD_RUNS)
        child_end(host, child_times(host), 0, true);
    else
        child_start(host, time_monotonic_ms());
}
