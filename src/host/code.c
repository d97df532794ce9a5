#include "base/json.h"
#include "base/time.h"
#include "code/repo.h"
#include "host/server.h"
#include "host/state.h"

/*
 * A child process, `mas look`, reads the work tree, because the host never waits for git. It takes
 * no lock that other commands need.
 */

enum {
    FIRST_MS = 1000, /* after the start of the host */
    PAUSE_MS = 5000, /* from the beginning of one look to that of the next */
    LOOK_MS = 120 * 1000, /* time limit */
};

static bool has_tree(const struct host *host)
{
    return host->team.project.path != NULL && host->agent->code == AGENT_CODE_WORKTREE;
}

void code_open(struct host *host)
{
    host->code.due = time_monotonic_ms() + FIRST_MS;
    host->code.wanted = has_tree(host);
}

void code_close(struct host *host)
{
    if (host->code.runs)
        proc_abandon(&host->code.proc);
    host->code.runs = false;
}

void code_changed(struct host *host)
{
    host->code.wanted = has_tree(host);
}

static void keep(struct host *host, const struct code_figures *figures)
{
    bool same =
        host->code.figures.looked_ms != 0 && code_figures_equal(&host->code.figures, figures);

    host->code.figures = *figures;
    if (!same)
        server_mark_dirty(host);
}

static void keep_problem(struct host *host, const char *words)
{
    struct code_figures figures = {.looked_ms = time_epoch_ms()};

    memcpy(figures.problem, words, str_fit(words, sizeof figures.problem - 1));
    keep(host, &figures);
}

static void begin(struct host *host, int64_t now)
{
    const char *argv[] = {"mas", "look", host->session.id, host->agent->id, NULL};
    struct err err = ERR_INIT;
    const struct proc_spec spec = {.envp = host->env, .timeout_ms = LOOK_MS};

    host->code.wanted = false;
    host->code.due = now + PAUSE_MS;
    host->code.runs = host_start_own("mas look", argv, &spec, &host->code.proc, &err) == 0;
    if (!host->code.runs)
        keep_problem(host, err.text);
}

int64_t code_tick(struct host *host, int64_t now)
{
    if (host->code.runs && now >= host->code.proc.deadline) {
        code_close(host);
        keep_problem(host, "it takes too long to read the work tree");
    }
    if (host->code.runs)
        return host->code.proc.deadline;
    if (!host->code.wanted || host->leaving)
        return -1;
    if (now < host->code.due)
        return host->code.due;
    begin(host, now);
    return host->code.runs ? host->code.proc.deadline : -1;
}

void code_want(const struct host *host, struct loop *loop)
{
    if (host->code.runs)
        loop_want(loop, host->code.proc.end_fd, POLLIN);
}

void code_serve(struct host *host, struct loop *loop)
{
    _cleanup_result_ struct proc_result result = PROC_RESULT_INIT;
    _cleanup_json_ struct json *answer = NULL;
    struct err err = ERR_INIT;
    struct code_figures figures;

    if (!host->code.runs || loop_got(loop, host->code.proc.end_fd) == 0)
        return;
    host->code.runs = false;
    if (host_finish_own(&host->code.proc, &result, &err) == 0 &&
        json_parse(str_text(&result.out), result.out.len, OWN_OUTPUT_MAX, &answer, &err) == 0) {
        code_figures_parse(answer, &figures);
        keep(host, &figures);
    } else {
        keep_problem(host, err.text);
    }
}
