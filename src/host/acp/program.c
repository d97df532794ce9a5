/*
 * Words, environment and directory are read first, and then the program is looked for; what is
 * wrong with them is said before anything starts. Behind a wall the search is left to the inside,
 * and to a shell there if the command may be a line: what exists out here is not for the agent to
 * know.
 */

#include "host/acp/program.h"

#include "host/state.h"
#include "host/wall.h"
#include "model/env_name.h"
#include "os/path.h"
#include "session/env.h"

enum { WORDS_MAX = 4096 }; /* arguments, or variables */

void program_free(struct program *program)
{
    strv_free(program->argv);
    strv_free(program->env);
    free(program->path);
    fd_closep(&program->cwd);
}

/* Reads command and arguments. Returns NULL, or what is wrong. */
static const char *read_words(const struct json *params, struct program *program)
{
    const struct json *args = json_get(params, "args");
    const char *command = json_get_text(params, "command");
    size_t count = 0;

    if (command == NULL || *command == '\0')
        return "command is missing";
    strv_push(&program->argv, command);
    for (const struct json *it = json_first(args); it != NULL; it = json_next(it)) {
        if (json_text(it) == NULL || count++ == WORDS_MAX)
            return "args is not a list of strings, or is too long";
        strv_push(&program->argv, json_text(it));
    }
    return NULL;
}

/* Joins the host's environment and the variables that the agent adds. Those of mas stay. */
static const char *read_env(char *const *env, const struct json *params, struct program *program)
{
    size_t count = 0;

    for (size_t i = 0; env != NULL && env[i] != NULL; i++)
        strv_push(&program->env, env[i]);
    for (const struct json *it = json_first(json_get(params, "env")); it != NULL;
         it = json_next(it)) {
        const char *name = json_get_text(it, "name");
        const char *value = json_get_text(it, "value");

        if (name == NULL || value == NULL || !env_is_name(name) || count++ == WORDS_MAX)
            return "env is not a list of names and values, or is too long";
        if (!str_starts(name, "MAS_"))
            env_put(&program->env, name, value);
    }
    return NULL;
}

static const char *open_cwd(const struct work_place *place, const struct json *params,
                            struct program *program)
{
    const char *path = json_get_text(params, "cwd");
    const struct work_root *root = NULL;
    const char *rel;

    if (path == NULL)
        return NULL;
    rel = work_place_find(place, path, &root);
    if (rel == NULL)
        return "cwd is not in the workspace";
    program->cwd = path_open_beneath(root->dir, rel, O_RDONLY | O_DIRECTORY);
    if (program->cwd == -1)
        return "cwd cannot be entered";
    env_put(&program->env, "PWD", path);
    return NULL;
}

/* Returns true if a command may be a line for the shell. */
static bool may_be_line(const struct program *program)
{
    return program->argv[1] == NULL && strpbrk(program->argv[0], " \t\n;&|<>()$`\"'*?") != NULL;
}

/* Gives the command to a shell, with these words in front of it. */
static void give_to_shell(struct program *program, const char *const *words)
{
    char **line = NULL;

    for (; *words != NULL; words++)
        strv_push(&line, *words);
    strv_push(&line, program->argv[0]);
    strv_free(program->argv);
    program->argv = line;
}

/* Behind a wall a program is looked for where it runs: here are others, and what exists here is not
 * for the agent to know. */
static void leave_to_inside(struct program *program)
{
    static const char *const either[] = {
        "sh", "-c", "command -v -- \"$1\" >/dev/null 2>&1 && exec \"$1\"; eval \"$1\"", "sh", NULL};

    if (may_be_line(program))
        give_to_shell(program, either);
}

/* Finds the program. A command that is a line instead of a program is for the shell. */
static const char *find_program(struct program *program)
{
    const char *search = env_get(program->env, "PATH");
    int dir = program->cwd != -1 ? program->cwd : AT_FDCWD;

    program->path = path_find_program(program->argv[0], search, dir);
    if (program->path == NULL && may_be_line(program)) {
        give_to_shell(program, (const char *const[]){"sh", "-c", NULL});
        program->path = path_find_program("sh", search, dir);
    }
    if (program->path == NULL)
        return "there is no such program";
    return NULL;
}

const char *program_read(const struct work_place *place, char *const *env, bool is_walled,
                         const struct json *params, struct program *program)
{
    const char *wrong = read_words(params, program);

    if (wrong == NULL)
        wrong = read_env(env, params, program);
    if (wrong == NULL)
        wrong = open_cwd(place, params, program);
    if (wrong != NULL || !is_walled)
        return wrong != NULL ? wrong : find_program(program);
    leave_to_inside(program);
    return NULL;
}

int program_launch(struct host *host, const struct program *program, struct supervisor_times times,
                   const struct proc_bounds *bounds, struct supervisor *ret, int *ret_out,
                   struct err *err)
{
    struct supervisor_spec spec = {
        .lease = host != NULL ? &host->lease.clock : NULL,
        .program = program->path,
        .argv = program->argv,
        .env = program->env,
        .cwd = program->cwd != -1 ? &program->cwd : NULL,
        .times = times,
        .bounds = bounds,
        .piped = true,
    };
    _cleanup_walled_ struct walled walled = WALLED_INIT;

    if (host != NULL && host_wall_around(host, false, &spec, &walled, err) == -1)
        return -1;
    return supervisor_start_printing(&spec, ret, ret_out, err);
}
