#include "host/state.h"
#include "host/talk.h"

#include "base/str.h"
#include "protocol/rpc.h"
#include "store/placement.h"
#include "store/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_MAX = 256 * 1024 }; /* bytes of a tool's content, beyond which no output is put in */

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
    for (size_t i = 0; i < ARRAY_LEN(parts) && placement_is_shared(host->session.mode); i++)
        add_root(work, placement_path(&host->root, host->session.id, host->session.mode, parts[i]),
                 placement_open(&host->root, host->dir, host->session.mode, parts[i]), false);
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

    talk->turn.heard = talk->turn.heard || talk->turn.on;
    if (talk->session == NULL || strcmp(talk->session, request->session) != 0)
        acp_refuse(talk->acp, request->ticket, ACP_NO_SUCH, "there is no such session");
    else if (!talk_files_serve(&talk->work.place, talk->acp, request) &&
             !talk_terminals_request(talk->work.terminals, talk->acp, request))
        acp_refuse(talk->acp, request->ticket, RPC_NO_METHOD, "method not found");
}

void talk_work_want(const struct host *host, struct loop *loop)
{
    const struct talk_work *work = &host->talk->work;

    if (work->terminals != NULL)
        talk_terminals_want(work->terminals, loop);
}

void talk_work_serve(struct host *host, struct loop *loop)
{
    struct talk_work *work = &host->talk->work;

    if (work->terminals == NULL || !talk_terminals_serve(work->terminals, loop, host->talk->acp))
        return;
    if (work->shown == talk_terminals_ended(work->terminals))
        return;
    work->shown = talk_terminals_ended(work->terminals);
    talk_show_programs(host);
}

/* The last part of what a program printed. */
static void add_output(struct str *to, const char *text)
{
    size_t len = strlen(text);
    const char *from = text;

    if (len > TALK_TERMINALS_TAIL) {
        str_add(to, "...\n");
        from = text + len - TALK_TERMINALS_TAIL;
        from += strcspn(from, "\n");
        from += *from == '\n';
    }
    str_add(to, from);
}

char *talk_work_text(const struct host *host, const char *text)
{
    static const char mark[] = TALK_TERMINAL_MARK;
    const struct talk_terminals *terminals = host->talk->work.terminals;
    struct str shown = STR_INIT;
    const char *at;

    while ((at = strstr(text, mark)) != NULL) {
        size_t len = strcspn(at, "]\n");
        _cleanup_free_ char *id = mem_dupn(at + sizeof mark - 1, len - (sizeof mark - 1));
        const char *output = terminals != NULL ? talk_terminals_output(terminals, id) : NULL;

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
