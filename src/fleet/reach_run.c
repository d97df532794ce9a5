/*
 * Running a command on another machine: what it prints, and how it ends; then many at once. Each of
 * the many is a child that does what reach_run() does for one, because connecting waits; its time
 * holds for all of it. A child that has failed prints the reason as mas there would, so that
 * reach_find_error() reads either.
 */

#include "fleet/reach.h"

#include "fleet/reach_internal.h"
#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"

enum {
    LOST = 255, /* exit code of ssh itself; of srun, see reach.c */
    NO_PERMISSION = 126, /* of a shell */
    NO_PROGRAM = 127,
    KILLED = 128, /* likewise, and the signal */
    WHY_MAX = 400, /* bytes of why one of many has failed */
    SAID_MAX = 4096, /* bytes of what ssh, srun or a shell said; the last ones are kept */
};

const char *reach_find_error(const char *said, size_t *ret_len)
{
    static const char name[] = "mas: ";
    static const char warning[] = "mas: warning: ";
    const char *line = said;
    const char *newline = strchr(line, '\n');

    while (newline != NULL && (!str_starts(line, name) || str_starts(line, warning))) {
        line = newline + 1;
        newline = strchr(line, '\n');
    }
    if (!str_starts(line, name))
        line = said;
    line += str_starts(line, name) ? strlen(name) : 0;
    *ret_len = strcspn(line, "\r\n");
    return line;
}

/* A command whose output comes. */
struct listening {
    const struct reach_command *command;
    struct seal *seal;
    struct str said; /* the end of what came on standard error, until mas runs there or from then */
};

/* Returns the last words of ssh, srun or a shell, or the error of a mas there that knows no seal;
 * NULL: there are none. The caller frees them. */
static char *find_words(const struct listening *listening)
{
    const char *text = str_text(&listening->said);
    size_t len;
    const char *error = reach_find_error(text, &len);
    bool is_mas = error > text;

    if (!listening->seal->begun && is_mas)
        return mem_dupn(error, len);
    char *words = reach_last_words(text, listening->said.len);
    if (words == NULL || !str_starts(words, "mas: "))
        return words;
    free(words); /* it was printed, and is no reason */
    return NULL;
}

/* Sets the error of a machine that was not reached, with these words. Returns -1. */
static int fail_saying(const struct listening *listening, const char *why, struct err *err)
{
    _cleanup_free_ char *words = find_words(listening);
    _cleanup_free_ char *text = words != NULL ? mem_printf("%s: %s", why, words) : mem_dup(why);

    return reach_fail(listening->command->remote, text, err);
}

/* The program has not done its work, or not all of it. */
static int fail_lost(const struct listening *listening, struct err *err)
{
    static const char why[] = "the connection was lost, or the command was killed there";
    _cleanup_free_ char *words = listening->seal->begun ? NULL : find_words(listening);

    return words != NULL ? reach_fail(listening->command->remote, words, err)
                         : fail_saying(listening, why, err);
}

/* Fails if this exit code of the program is not mas's own: the connection was lost, or there is no
 * mas. */
static int check_status(const struct listening *listening, int status, struct err *err)
{
    const struct remote *remote = listening->command->remote;

    if (status == LOST)
        return fail_lost(listening, err);
    if (status != NO_PROGRAM && status != NO_PERMISSION)
        return 0;
    _cleanup_free_ char *why = mem_printf("'%s' does not run there", remote->mas);
    (void)fail_saying(listening, why, err);
    return err_hint(err, "the path of mas there belongs into mas.ini: [host %s] mas = /PATH/mas",
                    remote->name);
}

/* Prints what was kept of standard error. */
static void print_said(struct listening *listening)
{
    (void)file_write_all(STDERR_FILENO, str_text(&listening->said), listening->said.len);
    str_clear(&listening->said);
}

/* Takes a piece of standard error, and prints it if mas runs there. */
static void hear(struct listening *listening, const char *bytes, size_t len)
{
    struct str *said = &listening->said;

    if (listening->seal->begun)
        (void)file_write_all(STDERR_FILENO, bytes, len);
    str_addn(said, bytes, len);
    if (said->len <= SAID_MAX)
        return;
    _cleanup_free_ char *end = mem_dupn(said->data + said->len - SAID_MAX, SAID_MAX);
    str_clear(said);
    str_addn(said, end, SAID_MAX);
}

/* Prints a piece of what comes, without the seal. */
static int print_piece(int to, const char *bytes, size_t len, void *arg, struct err *err)
{
    struct listening *listening = arg;
    struct seal *seal = listening->seal;
    bool had_begun = seal->begun;
    _cleanup_str_ struct str text = STR_INIT;

    if (to == STDERR_FILENO) {
        hear(listening, bytes, len);
        return 0;
    }
    if (bytes != NULL)
        seal_take(seal, bytes, len, &text);
    else
        seal_end(seal, &text);
    if (seal->begun && !had_begun)
        print_said(listening);
    if (text.len > 0 && file_write_all(STDOUT_FILENO, text.data, text.len) == -1)
        return err_errno(err, "cannot write the output");
    return 0;
}

static int find_patience(void *arg)
{
    const struct listening *listening = arg;
    int ms = listening->command->silence_ms;

    if (listening->seal->begun)
        return ms == 0 ? -1 : ms;
    return ms == 0 || ms > REACH_BEGIN_MS ? REACH_BEGIN_MS : ms;
}

/* Nothing has come for too long. */
static int fail_silent(struct listening *listening, struct err *err)
{
    const struct remote *remote = listening->command->remote;
    double s = find_patience(listening) / 1000.0;
    bool begun = listening->seal->begun;
    _cleanup_free_ char *why = begun ? mem_printf("mas there has printed nothing for %g s", s)
                                     : mem_printf("mas has not begun there after %g s", s);

    if (begun)
        (void)reach_fail(remote, why, err);
    else
        (void)fail_saying(listening, why, err);
    if (begun)
        return err_hint(err, "the command may still run there; [fleet] silence in mas.ini says "
                             "how long to wait");
    return err_hint(err, "a login script there hangs, or a disk");
}

/* What answers there does so in mas's place. */
static int fail_stranger(const struct listening *listening, const char *said, struct err *err)
{
    static const char why[] = "what answers there is not mas";
    const struct remote *remote = listening->command->remote;
    _cleanup_free_ char *text = mem_printf("%s: %s", why, said);

    if (said[0] != '\0')
        (void)reach_fail(remote, text, err);
    else
        (void)fail_saying(listening, "what answers there is not mas, or an older one", err);
    if (remote->via != REMOTE_SSH)
        return err_hint(err, "[host %s] mas = has to be the path of mas on the nodes",
                        remote->name);
    return err_hint(err,
                    "a ForceCommand of its sshd may do that, or a ~/.bashrc that ends by itself; "
                    "see: ssh %s %s version",
                    remote->place, remote->mas);
}

/* Fails if what has answered is not mas, or mas has ended by itself and its output has not. */
static int check_seal(struct listening *listening, const struct reach_end *end, struct err *err)
{
    const struct reach_command *command = listening->command;
    const struct seal *seal = listening->seal;

    if (seal->line[0] == '\0' || seal->whole)
        return 0;
    if (print_piece(STDOUT_FILENO, NULL, 0, listening, err) == -1)
        return -1;
    if (end->code > KILLED) { /* over srun, with what it printed; it says so itself */
        if (!seal->begun)
            print_said(listening);
        return 0;
    }
    if (!seal->begun)
        return fail_stranger(listening, end->before, err);
    if (end->code > MAS_UNREACHED)
        return 0;
    (void)reach_fail(command->remote, "the end of its output is missing", err);
    return err_hint(err, "the command has run there");
}

static int run_line(const struct reach_line *line, struct listening *listening,
                    struct reach_end *ret, struct err *err)
{
    const char *before = line->seal.before;
    struct reach_end end = {.signal = 0};
    struct err why = ERR_INIT;
    const struct proc_tied tied = {.file = line->program,
                                   .argv = line->argv,
                                   .envp = line->env,
                                   .take = line->seal.line[0] != '\0' ? print_piece : NULL,
                                   .patience = find_patience,
                                   .arg = listening};

    if (proc_run_tied(&tied, &end.code, &end.signal, &why) == -1) {
        if (why.code == MAS_TIMEOUT)
            return fail_silent(listening, err);
        *err = why;
        return -1;
    }
    (void)snprintf(end.before, sizeof end.before, "%.*s", (int)strcspn(before, "\r\n"), before);
    if (end.signal == 0 &&
        (check_status(listening, end.code, err) == -1 || check_seal(listening, &end, err) == -1))
        return -1;
    *ret = end;
    return 0;
}

int reach_run(const struct reach_command *command, struct reach_end *ret, struct err *err)
{
    _cleanup_reach_ struct reach_line line = REACH_LINE_INIT;

    if (reach_open(command, &line, err) == -1)
        return -1;
    struct listening listening = {.command = command, .seal = &line.seal, .said = STR_INIT};
    int rc = run_line(&line, &listening, ret, err);
    str_free(&listening.said);
    return rc;
}

struct proc_spec reach_spec(const char *name, int (*go_on)(void *arg), void *arg)
{
    return (struct proc_spec){.file = name,
                              .go_on = go_on,
                              .arg = arg,
                              .cwd = -1,
                              .output_max = REACH_ANSWER_MAX,
                              .timeout_ms = INT32_MAX,
                              .bound = true};
}

/* ---- many at once: a child for each, which connects and runs ssh */

/* Becomes mas. Returns only on failure. */
static int run_here(const struct reach_ask *ask, struct err *err)
{
    _cleanup_strv_ char **argv = NULL;
    _cleanup_free_ char *mas = path_exe();

    strv_push(&argv, "mas");
    if (ask->command.greet)
        strv_push(&argv, "--greet");
    if (ask->root != NULL) {
        strv_push(&argv, "--root");
        strv_push(&argv, ask->root);
    }
    for (size_t i = 0; ask->command.words[i] != NULL; i++)
        strv_push(&argv, ask->command.words[i]);
    return mas == NULL ? err_errno(err, "cannot find the mas program")
                       : proc_exec(mas, argv, NULL, err);
}

static int run_ask(void *arg)
{
    const struct reach_ask *ask = arg;
    struct err err = ERR_INIT;
    struct reach_end end;

    if (ask->command.remote == NULL) {
        (void)run_here(ask, &err);
        (void)dprintf(STDERR_FILENO, "%s\n", err.text);
        return err.code;
    }
    if (reach_run(&ask->command, &end, &err) == 0)
        return end.signal != 0 ? 128 + end.signal : end.code;
    (void)dprintf(STDERR_FILENO, "mas: %s\n%s\n", err.text, err.hint);
    return err.code;
}

static void take_why(struct reach_ask *ask, const struct str *text)
{
    size_t len;
    const char *error = reach_find_error(str_text(text), &len);

    str_addn(&ask->why, error, str_cut(error, len, WHY_MAX));
}

static void finish_ask(struct reach_ask *ask, struct proc_result *result)
{
    if (ask->err.code == MAS_TIMEOUT && ask->command.remote != NULL) {
        _cleanup_free_ char *why =
            ask->command.goes_on ? reach_connecting(ask->command.remote) : NULL;
        (void)reach_fail(ask->command.remote, why != NULL ? why : "no answer in time", &ask->err);
    }
    ask->code = result->status;
    ask->out = result->out;
    result->out = (struct str)STR_INIT;
    take_why(ask, &result->err);
    if (ask->err.code == MAS_OK && ask->code == MAS_UNREACHED)
        (void)err_set(&ask->err, MAS_UNREACHED, "%s", str_text(&ask->why));
    proc_result_free(result);
}

static void ask_some(struct reach_ask *asks, size_t count)
{
    struct proc procs[REACH_AT_ONCE];
    struct proc_result results[REACH_AT_ONCE];
    struct err errs[REACH_AT_ONCE];
    size_t place[REACH_AT_ONCE];
    size_t started = 0;

    for (size_t i = 0; i < count; i++) {
        const struct remote *remote = asks[i].command.remote;
        const struct proc_spec spec = {.file = remote != NULL ? remote->name : "mas",
                                       .go_on = run_ask,
                                       .arg = &asks[i],
                                       .cwd = -1,
                                       .output_max = asks[i].output_max,
                                       .timeout_ms = asks[i].timeout_ms,
                                       .bound = true};
        if (proc_start(&spec, &procs[started], &asks[i].err) == -1)
            continue;
        results[started] = (struct proc_result)PROC_RESULT_INIT;
        errs[started] = (struct err)ERR_INIT;
        place[started++] = i;
    }
    proc_finish_all(procs, started, results, errs);
    for (size_t i = 0; i < started; i++) {
        asks[place[i]].err = errs[i];
        finish_ask(&asks[place[i]], &results[i]);
    }
}

void reach_ask_all(struct reach_ask *asks, size_t count)
{
    for (size_t at = 0; at < count; at += REACH_AT_ONCE)
        ask_some(asks + at, count - at < REACH_AT_ONCE ? count - at : REACH_AT_ONCE);
}

void reach_ask_free(struct reach_ask *ask)
{
    str_free(&ask->out);
    str_free(&ask->why);
}

int reach_ask_json(const struct reach_ask *ask, struct json **ret, struct err *err)
{
    struct reach_ask one = *ask;
    struct err ignored = ERR_INIT;
    int rc = 0;

    reach_ask_all(&one, 1);
    if (one.err.code != MAS_OK) {
        *err = one.err;
        rc = -1;
    } else if (one.code != MAS_OK) {
        bool known = one.code >= MAS_FAILED && one.code <= MAS_UNREACHED;
        (void)err_set(err, known ? one.code : MAS_FAILED, "%s", str_text(&one.why));
        rc = REACH_REFUSED;
    } else if (ret != NULL &&
               json_parse(str_text(&one.out), one.out.len, one.output_max, ret, &ignored) == -1) {
        rc = REACH_STRANGE;
    }
    reach_ask_free(&one);
    return rc;
}
