#include "host/parts.h"
#include "host/talk.h"

#include "base/str.h"
#include "core/workspace.h"
#include "wire/rpc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_root(struct talk_work *work, char *path, int dir, bool workspace)
{
    work->paths[work->place.count] = path;
    work->roots[work->place.count++] =
        (struct talk_root){.path = path, .dir = dir, .workspace = workspace};
}

void talk_work_open(struct host *host)
{
    static const char *const parts[] = {WORKSPACE_UNIT, WORKSPACE_WORKFLOWS};
    struct talk_work *work = &host->talk->work;

    talk_work_close(host);
    work->place =
        (struct talk_place){.roots = work->roots, .run = host->run, .agent = host->agent->id};
    add_root(work, workspace_path(&host->root, host->session.id, NULL),
             fcntl(host->dir, F_DUPFD_CLOEXEC, 3), true);
    for (size_t i = 0; i < ARRAY_LEN(parts) && host->session.mode == MODE_LEGACY; i++)
        add_root(work, workspace_part_path(&host->root, &host->session, parts[i]),
                 workspace_open_part(&host->root, host->dir, &host->session, parts[i]), false);
    work->terminals = talk_terminals_new(&work->place, host->env, child_times(host));
}

void talk_work_close(struct host *host)
{
    struct talk_work *work = &host->talk->work;

    talk_terminals_free(work->terminals);
    for (size_t i = 0; i < work->place.count; i++) {
        fd_closep(&work->roots[i].dir);
        free(work->paths[i]);
    }
    *work = (struct talk_work){.terminals = NULL};
}

void talk_work_leave(struct host *host, const char *session)
{
    if (host->talk->work.terminals != NULL)
        talk_terminals_end(host->talk->work.terminals, session);
}

void talk_work_request(struct host *host, const struct acp_request *request)
{
    struct talk *talk = host->talk;

    if (talk->session == NULL || strcmp(talk->session, request->session) != 0)
        acp_refuse(talk->acp, request->ticket, ACP_NO_SUCH, "there is no such session");
    else if (!talk_files_serve(&talk->work.place, talk->acp, request) &&
             !talk_terminals_serve(talk->work.terminals, talk->acp, request))
        acp_refuse(talk->acp, request->ticket, RPC_NO_METHOD, "method not found");
}

size_t talk_work_poll(const struct host *host, struct pollfd fds[TALK_TERMINALS_POLL_MAX])
{
    const struct talk_work *work = &host->talk->work;

    return work->terminals != NULL ? talk_terminals_poll(work->terminals, fds) : 0;
}

void talk_work_read(struct host *host)
{
    if (host->talk->work.terminals != NULL)
        talk_terminals_read(host->talk->work.terminals, host->talk->acp);
}
