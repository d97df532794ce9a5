#include "client/lost_server.h"

#include "client/hosts.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/workspace.h"
#include "tmux/tmux.h"

/* Returns the parent of an agent's host; 0: unknown. */
static pid_t parent_of_host(int run, const char *agent)
{
    _cleanup_free_ struct proc_above *above = NULL;
    pid_t pid = hosts_pid(run, agent);
    struct proc_id host;
    size_t count = 0;

    if (pid == 0 || !proc_identify(pid, &host) || proc_lineage(&host, &above, &count) == -1)
        return 0;
    return count > 1 ? above[1].pid : 0;
}

pid_t lost_server_find(int dir, const char *socket)
{
    if (!tmux_socket_is_gone(socket))
        return 0;
    _cleanup_close_ int run = path_open_dir(dir, WORKSPACE_RUN);
    _cleanup_strv_ char **agents = run != -1 ? hosts_list(run, WORKSPACE_HOST_SOCKET) : NULL;
    pid_t last = 0;
    for (char **agent = agents; agent != NULL && *agent != NULL; agent++) {
        pid_t pid = parent_of_host(run, *agent);
        if (pid == 0 || pid == last)
            continue;
        if (tmux_listens(socket, pid))
            return pid;
        last = pid;
    }
    return 0;
}

int lost_server_mend(int dir, const char *socket, struct err *err)
{
    pid_t pid = lost_server_find(dir, socket);

    if (pid == 0)
        return 0;
    return tmux_make_socket(socket, pid, err) == -1 ? -1 : 1;
}
