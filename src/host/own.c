/*
 * What the host does in its own name: its words in the logs and on the pane, its own processes. All
 * children are reaped in one place, and each end goes to whoever waits for it. A sweep ends every
 * descendant that it is not told to spare: a process that the host starts for itself has to be in
 * list_own().
 */

#include "host/backend.h"
#include "host/server.h"
#include "host/state.h"

#include "memory/store.h"
#include "os/path.h"
#include "os/proc.h"
#include "store/workspace.h"

#include <sys/wait.h>

enum { OWN_COUNT = 6 }; /* processes of list_own() */

/* ---- words */

void host_log(const struct host *host, const char *words)
{
    workspace_log(host->dir, config_log_limits(&host->config), "agent=%s %s", host->agent->id,
                  words);
}

void host_log_message(const struct host *host, const char *from, size_t len, const char *outcome)
{
    workspace_log(host->dir, config_log_limits(&host->config),
                  "send from=%s to=%s bytes=%zu outcome=%s", from, host->agent->id, len, outcome);
}

void host_note_memory(struct host *host, const char *words)
{
    (void)snprintf(host->memory, sizeof host->memory, "%s", words);
    server_mark_dirty(host);
}

int host_set_store_aside(struct host *host, char **ret_words, struct err *err)
{
    _cleanup_free_ char *name = NULL;

    if (store_set_aside(host->dir, &name, err) == -1)
        return -1;
    *ret_words = name == NULL
                     ? NULL
                     : mem_printf("%s was damaged and is kept as %s; mas has created a new one",
                                  STORE_FILE, name);
    if (*ret_words == NULL)
        return 0;
    host_log(host, *ret_words);
    host_note_memory(host, *ret_words);
    return 0;
}

void host_set_title(struct host *host)
{
    _cleanup_free_ char *title = mem_printf("%s %s", host->agent->id, host->agent->role);
    pane_title(&host->pane, title);
}

void host_keep_log(struct host *host, const char *bytes, size_t len)
{
    bool kept = log_write(&host->log, bytes, len);

    if (kept == !host->log_failed)
        return;
    host->log_failed = !kept;
    _cleanup_free_ char *words =
        kept ? mem_printf("its log lost %ju bytes of output", (uintmax_t)host->log.lost)
             : mem_dup("its log cannot be written; the agent continues");
    host_log(host, words);
}

/* ---- processes */

int host_start_own(const char *shown, const char *const *argv, const struct proc_spec *spec,
                   struct proc *ret, struct err *err)
{
    _cleanup_free_ char *exe = path_exe();
    struct proc_spec own = *spec;

    if (exe == NULL)
        return err_errno(err, "cannot find the program that this is");
    own.file = exe;
    own.argv = (char *const *)(uintptr_t)argv;
    own.cwd = -1;
    own.output_max = OWN_OUTPUT_MAX;
    int rc = proc_start(&own, ret, err);
    ret->file = shown;
    return rc;
}

int host_finish_own(struct proc *proc, struct proc_result *ret, struct err *err)
{
    const char *shown = proc->file;

    if (proc_finish(proc, ret, err) == -1)
        return -1;
    if (ret->status == 0)
        return 0;
    _cleanup_free_ char *line = mem_dupn(str_text(&ret->err), strcspn(str_text(&ret->err), "\n"));
    if (line[0] == '\0')
        return err_set(err, MAS_FAILED, "'%s' has failed (exit code %d)", shown, ret->status);
    return err_set(err, MAS_FAILED, "%s", str_starts(line, "mas: ") ? line + 5 : line);
}

/* Lists the processes of mas that this host starts for itself. */
static void list_own(struct host *host, struct proc *ret[OWN_COUNT])
{
    struct proc *const own[OWN_COUNT] = {&host->code.proc,     &host->notify.proc,
                                         &host->display.proc,  &host->disk.proc,
                                         &host->lease.renewer, &host->lease.watcher};

    memcpy(ret, own, sizeof own);
}

void host_reap(struct host *host)
{
    struct proc *own[OWN_COUNT];
    int status;
    pid_t pid;

    list_own(host, own);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < OWN_COUNT; i++)
            (void)proc_take_end(own[i], pid, status);
        if (pid == host->pane_login) {
            host->pane_login = 0;
            host->backend->login_ended(host, status);
        }
        if (pid != host->pane_program)
            continue;
        host->pane_program = 0;
        host->backend->reap(host);
    }
}

void host_sweep(struct host *host)
{
    struct proc *own[OWN_COUNT];
    pid_t spared[OWN_COUNT + BROKER_JOBS_MAX + 2];
    size_t count = 0;

    list_own(host, own);
    for (size_t i = 0; i < OWN_COUNT; i++)
        if (!own[i]->ended) /* else the number may be another process's by now */
            spared[count++] = own[i]->pid;
    for (size_t i = 0; i < host->broker.count; i++)
        spared[count++] = host->broker.jobs[i].pid;
    spared[count++] = host->pane_program;
    spared[count++] = host->pane_login;
    supervisor_sweep(spared, count);
    host_reap(host);
}
