/*
 * The part of fleet/reach.h that forwards ports. The connection is an ssh of its own, because the
 * shared ones forward nothing. What runs there is a cat that reads a pipe from this process, which
 * nobody writes: it ends with this process, however that ends, and so do the ports here.
 */
#include "fleet/reach.h"

#include "fleet/reach_internal.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/sock.h"

#define FORWARDS "mas-forwards" /* printed there when ssh has the ports here */

enum { SAID_MAX = 4096 /* bytes of what ssh said */ };

struct ssh_ports {
    const struct reach_forward *of;
    struct str out, said;
    bool ready;
};

static int check_ports(const struct ssh_ports *forwarding, struct err *err)
{
    const struct reach_forward *of = forwarding->of;

    for (size_t i = 0; i < of->count; i++)
        if (sock_port_is_free(of->ports[i].here)) {
            _cleanup_free_ char *words =
                reach_last_words(str_text(&forwarding->said), forwarding->said.len);
            return err_set(err, MAS_FAILED, "cannot forward port %d of host '%s': %s",
                           of->ports[i].there, of->remote->name,
                           words != NULL ? words : "ssh does not listen");
        }
    return 0;
}

static int take(int to, const char *bytes, size_t len, void *arg, struct err *err)
{
    struct ssh_ports *forwarding = arg;
    struct str *str = to == STDOUT_FILENO ? &forwarding->out : &forwarding->said;

    if (str->len < SAID_MAX)
        str_addn(str, bytes, len < SAID_MAX - str->len ? len : SAID_MAX - str->len);
    if (forwarding->ready || strstr(str_text(&forwarding->out), FORWARDS) == NULL)
        return 0;
    forwarding->ready = true;
    if (check_ports(forwarding, err) == -1)
        return -1;
    forwarding->of->ready(forwarding->of->arg);
    return 0;
}

static int find_patience(void *arg)
{
    const struct ssh_ports *forwarding = arg;

    return forwarding->ready ? -1 : REACH_LOGIN_MS;
}

static void make_line(const struct reach_forward *of, char ***argv)
{
    strv_push(argv, "ssh");
    reach_ssh_options(argv, NULL, NULL);
    strv_push(argv, "-T");
    for (size_t i = 0; i < of->count; i++) {
        _cleanup_free_ char *word =
            mem_printf("127.0.0.1:%d:127.0.0.1:%d", of->ports[i].here, of->ports[i].there);
        strv_push(argv, "-L");
        strv_push(argv, word);
    }
    strv_push(argv, "--");
    strv_push(argv, of->remote->place);
    strv_push(argv, "echo " FORWARDS " && exec cat");
}

/* The connection has ended, or was never there. */
static int fail_end(const struct ssh_ports *forwarding, struct err *err)
{
    _cleanup_free_ char *words =
        reach_last_words(str_text(&forwarding->said), forwarding->said.len);

    return reach_fail(forwarding->of->remote,
                      words != NULL       ? words
                      : forwarding->ready ? "the connection was lost"
                                          : "ssh failed and said nothing",
                      err);
}

static int run(struct ssh_ports *forwarding, int *ret_signal, struct err *err)
{
    const struct remote *remote = forwarding->of->remote;
    _cleanup_free_ char *ssh = path_find_program("ssh", getenv("PATH"), -1);
    _cleanup_strv_ char **argv = NULL;
    int status = 0;

    if (ssh == NULL)
        return reach_fail(remote, "there is no program 'ssh'", err);
    make_line(forwarding->of, &argv);
    const struct proc_tied tied = {
        .file = ssh, .argv = argv, .take = take, .patience = find_patience, .arg = forwarding};
    if (proc_run_tied(&tied, &status, ret_signal, err) == -1)
        return err->code == MAS_TIMEOUT ? reach_fail(remote, "no answer", err) : -1;
    return *ret_signal != 0 ? 0 : fail_end(forwarding, err);
}

int reach_forward(const struct reach_forward *forward, int *ret_signal, struct err *err)
{
    struct ssh_ports forwarding = {.of = forward, .out = STR_INIT, .said = STR_INIT};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1 || dup2(ends[0], STDIN_FILENO) == -1)
        return err_errno(err, "cannot forward ports of host '%s'", forward->remote->name);
    int rc = run(&forwarding, ret_signal, err);
    (void)close(ends[0]);
    (void)close(ends[1]);
    str_free(&forwarding.out);
    str_free(&forwarding.said);
    return rc;
}
