/*
 * The command lines of ssh and srun: the words for a shell there, and what stands around them. Any
 * of four kinds of shells may read them, so each word is quoted in the one way that all of them
 * read alike; words with line breaks are put together by a POSIX shell. What describes this
 * terminal and this team stays out of the environment. A slot (reach_master.c) is held as long as
 * the line is open.
 */

#include "fleet/reach.h"

#include "base/env.h"
#include "fleet/reach_internal.h"
#include "os/path.h"

/* What describes this terminal and this team, not the ones there. */
static const char *const own_variables[] = {"TMUX", "TMUX_PANE", "SLURM_JOB_ID", "SLURM_JOBID"};

extern char **environ;

/* No shell reads quotes, backslashes and ! alike within quotes: csh keeps a backslash in double
 * ones, fish reads it in single ones, and csh reads ! in both. */
void reach_quote(struct str *to, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:@+,-";

    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        str_add(to, word);
        return;
    }
    if (word[0] == '\0')
        str_add(to, "''");
    while (*word != '\0') {
        size_t len = strcspn(word, "'\\!");
        const char *around = "'";
        if (len == 0) {
            len = strspn(word, "'");
            around = "\"";
        }
        if (len == 0)
            str_addf(to, "\\%c", *word++);
        else
            str_addf(to, "%s%.*s%s", around, (int)len, word, around);
        word += len;
    }
}

/* Appends words that have line breaks, which no two kinds of shells quote alike: a POSIX shell
 * there puts them together from their lines. */
static void quote_lines(struct str *to, char *const *words)
{
    _cleanup_str_ struct str args = STR_INIT;
    size_t count = 0;

    str_add(to, " sh -c 'n=$(printf \"\\012x\"); n=${n%x}; exec");
    for (size_t i = 0; words[i] != NULL; i++) {
        str_add(to, " \"");
        for (const char *line = words[i]; *line != '\0';) {
            size_t len = strcspn(line, "\n");
            if (len > 0) {
                _cleanup_free_ char *copy = mem_dupn(line, len);
                str_addc(&args, ' ');
                reach_quote(&args, copy);
                str_addf(to, "${%zu}", ++count);
            }
            line += len;
            if (*line == '\n') {
                str_add(to, "$n");
                line++;
            }
        }
        str_addc(to, '"');
    }
    str_add(to, "' sh");
    str_addn(to, str_text(&args), args.len);
}

/* Appends what tells mas there how it is reached: an environment variable. Each shell knows `env`;
 * sh alone knows the variable in front of `exec`. */
static void push_env(const struct remote *remote, char ***to)
{
    if (strchr(remote->mas, '=') != NULL) /* `env` would take it for a variable */
        return;
    _cleanup_free_ char *word = mem_printf("%s=%s", ERR_REACHED_AS, remote->name);
    strv_push(to, "env");
    strv_push(to, word);
}

/* Appends mas and its global options. */
static void push_mas(const struct reach_command *command, const struct seal *seal, char ***to)
{
    strv_push(to, command->remote->mas);
    if (seal->line[0] != '\0') {
        _cleanup_free_ char *word = mem_printf("%s%.*s", SEAL_OPTION, ID_TEXT - 1, seal->line + 1);
        strv_push(to, word);
    }
    if (command->greet)
        strv_push(to, "--greet");
    if (command->remote->root[0] != '\0') {
        strv_push(to, "--root");
        strv_push(to, command->remote->root);
    }
    for (size_t i = 0; command->words[i] != NULL; i++)
        strv_push(to, command->words[i]);
}

/* Returns the command for a shell, or NULL with *err set. The caller frees it. */
static char *make_text(const struct reach_command *command, const struct seal *seal,
                       struct err *err)
{
    _cleanup_strv_ char **words = NULL;
    _cleanup_str_ struct str text = STR_INIT;

    push_env(command->remote, &words);
    push_mas(command, seal, &words);
    str_add(&text, "exec");
    bool lines = false;
    for (size_t i = 0; words[i] != NULL; i++)
        lines = lines || strchr(words[i], '\n') != NULL;
    if (lines)
        quote_lines(&text, words);
    for (size_t i = 0; !lines && words[i] != NULL; i++) {
        str_addc(&text, ' ');
        reach_quote(&text, words[i]);
    }
    if (text.len > REACH_COMMAND_MAX) {
        (void)err_set(err, MAS_USAGE,
                      "cannot run '%s' on host '%s': the command line is too long for ssh",
                      command->words[0], command->remote->name);
        (void)err_hint(err, "it may have %d bytes; give a text on standard input",
                       REACH_COMMAND_MAX);
        return NULL;
    }
    return str_steal(&text);
}

static char **make_env(void)
{
    char **env = NULL;

    for (size_t i = 0; environ[i] != NULL; i++)
        if (!str_starts(environ[i], "MAS_"))
            strv_push(&env, environ[i]);
    for (size_t i = 0; i < ARRAY_LEN(own_variables); i++)
        if (env != NULL)
            env_drop(env, own_variables[i]);
    /* srun's own errors are not a verb's */
    env_put(&env, "SLURM_EXIT_ERROR", "255");
    return env;
}

/* Connects, and makes the command line of ssh for a shell's command. */
static int open_ssh(const struct remote *remote, const char *text, bool terminal, bool goes_on,
                    struct reach_line *line, struct err *err)
{
    _cleanup_free_ char *path = NULL;

    if (text == NULL ||
        reach_take_slot(line->program, line->env, remote, goes_on, &path, &line->slot, err) == -1)
        return -1;
    strv_push(&line->argv, "ssh");
    reach_ssh_options(&line->argv, "no", path);
    strv_push(&line->argv, terminal ? "-t" : "-T");
    strv_push(&line->argv, "--");
    strv_push(&line->argv, remote->place);
    strv_push(&line->argv, text);
    return 0;
}

static int open_command(const struct reach_command *command, struct reach_line *line,
                        struct err *err)
{
    _cleanup_free_ char *text = make_text(command, &line->seal, err);

    return open_ssh(command->remote, text, command->terminal, command->goes_on, line, err);
}

static void open_srun(const struct reach_command *command, struct reach_line *line)
{
    static const char *const fixed[] = {
        "--overlap",
        "--nodes=1",
        "--ntasks=1",
        /* twice: without its own line about an exit code but 0 */
        "--quiet",
        "--quiet",
        "--quit-on-interrupt",
    };

    strv_push(&line->argv, "srun");
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        strv_push(&line->argv, fixed[i]);
    if (command->terminal)
        strv_push(&line->argv, "--pty");
    else
        strv_push(&line->argv, "--input=0");
    _cleanup_free_ char *job = mem_printf("--jobid=%s", command->job);
    strv_push(&line->argv, job);
    _cleanup_free_ char *env =
        mem_printf("--export=HOME,USER,LOGNAME,SHELL,PATH,LANG,LC_ALL,TERM,%s=%s", ERR_REACHED_AS,
                   command->remote->name);
    strv_push(&line->argv, env);
    strv_push(&line->argv, "--");
    push_mas(command, &line->seal, &line->argv);
}

/* Finds ssh or srun, and what is in its environment. */
static int find_program(const struct remote *remote, const char *name, struct reach_line *line,
                        struct err *err)
{
    line->env = make_env();
    line->program = path_find_program(name, getenv("PATH"), -1);
    if (line->program == NULL)
        return err_set(err, MAS_UNREACHED, "cannot reach host '%s': there is no program '%s'",
                       remote->name, name);
    return 0;
}

int reach_open(const struct reach_command *command, struct reach_line *ret, struct err *err)
{
    bool ssh = command->remote->via == REMOTE_SSH;
    struct reach_line line = REACH_LINE_INIT;

    /* on a terminal, people see what answers, and what is missing */
    if (!command->terminal && seal_make(&line.seal, err) == -1)
        return -1;
    int rc = find_program(command->remote, ssh ? "ssh" : "srun", &line, err);
    if (rc == 0 && ssh)
        rc = open_command(command, &line, err);
    else if (rc == 0)
        open_srun(command, &line);
    if (rc == -1)
        reach_close(&line);
    else
        *ret = line;
    return rc;
}

int reach_open_text(const struct remote *remote, const char *text, struct reach_line *ret,
                    struct err *err)
{
    struct reach_line line = REACH_LINE_INIT;
    int rc = find_program(remote, "ssh", &line, err);

    if (rc == 0)
        rc = open_ssh(remote, text, false, false, &line, err);
    if (rc == -1)
        reach_close(&line);
    else
        *ret = line;
    return rc;
}

void reach_close(struct reach_line *line)
{
    free(line->program);
    strv_free(line->argv);
    strv_free(line->env);
    fd_closep(&line->slot);
    *line = (struct reach_line)REACH_LINE_INIT;
}
