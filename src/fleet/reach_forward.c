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

/* Printed there when ssh has the ports here: where ssh has said before which ones it has not. */
#define FORWARDS "mas-forwards"

enum { SAID_MAX = 512 * 1024 /* bytes of what ssh said: two lines for each port */ };

struct ssh_ports {
    const struct reach_forward *of;
    struct str said;
    int held; /* what runs there ends when this is closed, and ssh with it */
    bool ready;
};

/* Returns true if ssh has said that it does not listen there. That somebody listens says nothing:
 * it may be another program, which took the port while ssh logged in. */
static bool is_refused(const struct ssh_ports *forwarding, int port)
{
    static const char words[] = "cannot listen to port: ";

    for (const char *at = str_text(&forwarding->said); (at = strstr(at, words)) != NULL;) {
        at += strlen(words);
        if (strtol(at, NULL, 10) == port)
            return true;
    }
    return false;
}

static int check_ports(const struct ssh_ports *forwarding, struct err *err)
{
    const struct reach_forward *of = forwarding->of;

    for (size_t i = 0; i < of->count; i++) {
        const struct reach_port *port = &of->ports[i];
        if (!is_refused(forwarding, port->here) && !sock_port_is_free(port->here))
            continue;
        (void)err_set(err, MAS_FAILED,
                      "cannot forward port %d of host '%s': ssh does not get port %d here",
                      port->there, of->remote->name, port->here);
        return err_hint(err, "another program may have taken it meanwhile; try again");
    }
    return 0;
}

static int take(int to, const char *bytes, size_t len, void *arg, struct err *err)
{
    struct ssh_ports *forwarding = arg;
    struct str *said = &forwarding->said;

    if (to == STDERR_FILENO && said->len < SAID_MAX)
        str_addn(said, bytes, len < SAID_MAX - said->len ? len : SAID_MAX - said->len);
    if (forwarding->ready || strstr(str_text(said), FORWARDS) == NULL)
        return 0;
    forwarding->ready = true;
    if (check_ports(forwarding, err) == -1) {
        fd_closep(&forwarding->held);
        return -1;
    }
    str_free(said); /* what comes next says how it ends */
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
    strv_push(argv, "exec sh -c 'echo " FORWARDS " >&2 && exec cat'");
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
    struct ssh_ports forwarding = {.of = forward, .said = STR_INIT, .held = -1};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == -1 || dup2(ends[0], STDIN_FILENO) == -1)
        return err_errno(err, "cannot forward ports of host '%s'", forward->remote->name);
    forwarding.held = ends[1];
    int rc = run(&forwarding, ret_signal, err);
    (void)close(ends[0]);
    fd_closep(&forwarding.held);
    str_free(&forwarding.said);
    return rc;
}
