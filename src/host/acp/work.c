/*
 * Decides where the host opens files and runs programs for an agent: in the workspace, and in
 * legacy mode in parts of the root; behind a wall only in what the agent has there itself. Requests
 * have to come from the present session or from a subagent; a copy that is asked a question may
 * only read. A tool call that names a program is shown with its output, and again when a program
 * has ended.
 */

#include "host/acp/conversation.h"

#include "code/repo.h"
#include "host/acp/agent_side.h"
#include "os/path.h"
#include "protocol/rpc.h"
#include "store/placement.h"
#include "store/workspace.h"

enum { SHOWN_MAX = 256 * 1024 }; /* bytes; a longer content of a tool call gets no more output */

static void add_root(struct agent_work *work, char *path, int dir, bool workspace)
{
    work->paths[work->place.count] = path;
    work->roots[work->place.count++] =
        (struct work_root){.path = path, .dir = dir, .workspace = workspace};
}

/* Adds a part of the workspace that is behind the wall of the agent, if it is there. */
static void add_walled(struct host *host, const char *part, bool read_only)
{
    struct agent_work *work = &host->conversation->work;
    bool of_code = str_starts(part, WORKSPACE_CODE);
    int dir = of_code ? path_open_beneath(host->dir, part, PATH_PLACE)
                      : placement_open(&host->root, host->dir, host->session.mode, part);

    if (dir == -1)
        return;
    add_root(work,
             of_code ? workspace_path(&host->root, host->session.id, part)
                     : placement_path(&host->root, host->session.id, host->session.mode, part),
             dir, false);
    work->roots[work->place.count - 1].read_only = read_only;
}

/* Adds what the agent has behind its wall: the host opens no more for it. */
static void add_all_walled(struct host *host)
{
    const char *name = repo_dir_of(&host->team, host->agent);
    _cleanup_free_ char *unit = host->agent->team_units
                                    ? mem_dup(WORKSPACE_UNIT)
                                    : mem_printf(WORKSPACE_UNIT "/%s", host->agent->id);
    _cleanup_free_ char *tree = name != NULL ? mem_printf(CODE_DIR "/%s", name) : NULL;

    add_walled(host, unit, false);
    add_walled(host, WORKSPACE_WORKFLOWS, true);
    if (name == NULL)
        return;
    if (host->agent->code == AGENT_CODE_WORKTREE)
        add_walled(host, tree, false);
    add_walled(host, CODE_GIT, true);
    add_walled(host, CODE_DIR "/" CODE_VIEW, true);
}

/* Without a wall: the workspace and, in legacy mode, what is in the root instead. */
static void add_all(struct host *host)
{
    static const char *const parts[] = {WORKSPACE_UNIT, WORKSPACE_WORKFLOWS};
    struct agent_work *work = &host->conversation->work;

    add_root(work, workspace_path(&host->root, host->session.id, NULL),
             fcntl(host->dir, F_DUPFD_CLOEXEC, 3), true);
    for (size_t i = 0; i < ARRAY_LEN(parts) && placement_is_shared(host->session.mode); i++)
        add_root(work, placement_path(&host->root, host->session.id, host->session.mode, parts[i]),
                 placement_open(&host->root, host->dir, host->session.mode, parts[i]), false);
}

void work_open(struct host *host)
{
    struct agent_work *work = &host->conversation->work;

    work_close(host);
    work->place = (struct work_place){.roots = work->roots,
                                      .run = host->run,
                                      .agent = host->agent->id,
                                      .project = host->team.project.path != NULL,
                                      .writer = host->agent->code == AGENT_CODE_WORKTREE};
    if (host->wall.report.level != WALL_OFF)
        add_all_walled(host);
    else
        add_all(host);
    work->terminals =
        terminals_new(&work->place, host->env, child_times(host), &host->resources.bounds, host);
    terminals_pause(work->terminals, host->disk.paused);
}

void work_close(struct host *host)
{
    struct agent_work *work = &host->conversation->work;

    terminals_free(work->terminals);
    for (size_t i = 0; i < work->place.count; i++) {
        fd_closep(&work->roots[i].dir);
        free(work->paths[i]);
    }
    *work = (struct agent_work){.terminals = NULL};
}

void work_leave(struct host *host, const char *session)
{
    if (host->conversation->work.terminals != NULL)
        terminals_end(host->conversation->work.terminals, session);
}

void work_request(struct host *host, const struct acp_request *request, bool reads_only)
{
    const struct agent_work *work = &host->conversation->work;
    struct acp *acp = host->conversation->link.acp;
    bool reads = strcmp(request->method, "fs/read_text_file") == 0;

    if ((reads || !reads_only) && files_serve(&work->place, acp, request))
        return;
    if (reads_only)
        acp_refuse(acp, request->ticket, RPC_INVALID_PARAMS,
                   "this copy of a session is for a question: it may read files only");
    else if (!terminals_request(work->terminals, acp, request))
        acp_refuse(acp, request->ticket, RPC_NO_METHOD, "method not found");
}

void work_want(const struct host *host, struct loop *loop)
{
    const struct agent_work *work = &host->conversation->work;

    if (work->terminals != NULL)
        terminals_want(work->terminals, loop);
}

bool work_serve(struct host *host, struct loop *loop)
{
    struct agent_work *work = &host->conversation->work;

    if (work->terminals == NULL ||
        !terminals_serve(work->terminals, loop, host->conversation->link.acp))
        return false;
    if (work->shown == terminals_ended(work->terminals))
        return false;
    work->shown = terminals_ended(work->terminals);
    return true;
}

/* Appends the last part of what a program printed. */
static void add_output(struct str *to, const char *text)
{
    size_t len = strlen(text);
    const char *from = text;

    if (len > TERMINALS_TAIL) {
        str_add(to, "...\n");
        from = text + len - TERMINALS_TAIL;
        from += strcspn(from, "\n");
        from += *from == '\n';
    }
    str_add(to, from);
}

char *work_text(const struct host *host, const char *text)
{
    static const char mark[] = WORK_TERMINAL_MARK;
    const struct terminals *terminals = host->conversation->work.terminals;
    struct str shown = STR_INIT;
    const char *at;

    while ((at = strstr(text, mark)) != NULL) {
        size_t len = strcspn(at, "]\n");
        _cleanup_free_ char *id = mem_dupn(at + sizeof mark - 1, len - (sizeof mark - 1));
        const char *output = terminals != NULL ? terminals_output(terminals, id) : NULL;

        str_addn(&shown, text, (size_t)(at - text));
        text = at + len + (at[len] == ']');
        if (output == NULL || shown.len > SHOWN_MAX)
            str_addf(&shown, "%s%s]", mark, id);
        else
            add_output(&shown, output);
    }
    str_add(&shown, text);
    return str_steal(&shown);
}
