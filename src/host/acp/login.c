/* A login on the pane: the agent's own program with the arguments of the method that it offers. */
#include "host/acp/conversation.h"

#include "base/env.h"
#include "base/path.h"
#include "base/str.h"
#include "base/time.h"
#include "session/env.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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

static int start(struct host *host, const struct json *method, struct err *err)
{
    _cleanup_free_ char *program =
        path_find_program(host->argv[0], env_get(host->env, "PATH"), AT_FDCWD);
    _cleanup_strv_ char **argv = NULL, **env = NULL;
    size_t words = 0;

    if (program == NULL)
        return err_set(err, MAS_NOT_FOUND, "there is no program '%s'", host->argv[0]);
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
    chat_close(host);
    leave_keys_to_it(true);
    pid_t pid = proc_start_here(program, argv, env);
    if (pid == -1) {
        (void)err_errno(err, "cannot start '%s'", program);
        leave_keys_to_it(false);
        chat_open(host);
        return -1;
    }
    host->pane_login = pid;
    return 0;
}

int login_begin(struct host *host, const char *id, struct err *err)
{
    const struct agent_link *link = &host->conversation->link;
    _cleanup_json_ struct json *methods = NULL;

    if (!link->needs_login || link->acp == NULL)
        return err_set(err, MAS_CONFLICT, "it needs no login");
    if (host->pane_login != 0)
        return err_set(err, MAS_CONFLICT, "a login is on its pane");
    const char *known = acp_info(link->acp)->auth;
    if (json_parse(known, strlen(known), METHODS_MAX, &methods, err) == -1)
        return -1;
    const struct json *method = find_method(methods, id);
    if (method == NULL) {
        (void)err_set(err, MAS_NOT_FOUND, "it offers no such login on a terminal");
        return err_hint(err, "its note in 'mas status' says how to log in");
    }
    /* what runs on a person's terminal could type there, behind a wall as well */
    if (host->wall.report.level != WALL_OFF || host->conversation->chat.plain) {
        (void)err_set(err, MAS_CONFLICT, "it %s",
                      host->conversation->chat.plain ? "has no pane for that"
                                                     : "works behind a wall");
        return err_hint(err, "log in on another terminal, by the command that its note says");
    }
    return start(host, method, err);
}

void login_ended(struct host *host, int status)
{
    struct agent_link *link = &host->conversation->link;
    bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

    leave_keys_to_it(false);
    if (host->leaving)
        return;
    chat_open(host); /* which reads from the store what is said before it listens */
    if (!done) {
        if (WIFEXITED(status))
            event_say(host, true, "the login has failed (exit code %d)", WEXITSTATUS(status));
        else
            event_say(host, true, "the login has failed (signal %d)", WTERMSIG(status));
        return;
    }
    event_say(host, true, "the login is done; the agent starts again");
    link->needs_login = false;
    if (host->child.phase == CHILD_RUNS)
        child_end(host, child_times(host), 0, true);
    else
        child_start(host, time_monotonic_ms());
}
