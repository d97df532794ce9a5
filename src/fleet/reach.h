/*
 * Reaching other machines: the arguments of ssh and srun, and running them. Only reach.c and
 * reach_master.c know these.
 *
 * A verb there is `exec env MAS_REACHED_AS=NAME mas [--root ROOT] VERB...`, each word quoted for
 * the login shell of the user there: a POSIX shell, csh, tcsh or fish. Over srun no shell runs, and
 * srun sets the variable. By the variable mas there knows the name by which it is reached: its
 * hints name commands that work here. An output is sealed, unless a person reads it on a terminal.
 *
 * Commands to one machine share connections: a master, an ssh that stays for REACH_PERSIST_S after
 * its last command, with a control socket in a directory of this user that nobody else may enter,
 * $XDG_RUNTIME_DIR/mas or /tmp/mas-UID. A server carries 10 commands over a connection unless it is
 * told otherwise (MaxSessions), so a master has REACH_SLOTS slots, each a lock; a command takes the
 * first free slot of the first master, and more than that many at once make another master. Masters
 * are made one after the other, because a server refuses some of many that log in at once
 * (MaxStartups). A list that does not wait for a slow login leaves it to a process of its own,
 * which goes on, so that the next one finds the connection. A machine that was not reached is not
 * tried again by those that waited meanwhile.
 *
 * ssh is trusted with keys, known machines and ~/.ssh/config. mas turns off what would reach back:
 * forwarding of agents, X11 and ports, and questions (BatchMode). Ports are forwarded by a
 * connection of their own, while a person wants it.
 */
#pragma once

#include "base/json.h"
#include "fleet/seal.h"
#include "model/remote.h"
#include "os/proc.h"

enum {
    REACH_LOGIN_MS = 60000, /* until ssh has logged in, unless ~/.ssh/config has less */
    REACH_BEGIN_MS = 60000, /* from then until mas runs there */
    REACH_PERSIST_S = 60,
    REACH_SLOTS = 8, /* commands of a master */
    REACH_MASTERS = 16, /* of a machine */
    REACH_COMMAND_MAX = 131071, /* bytes of a quoted command: the kernel's limit for one word */
    REACH_AT_ONCE = 128, /* machines that are asked at the same time */
    REACH_ANSWER_MAX = 64 * 1024, /* bytes of what a step of mas prints there */
};

struct reach_command {
    const struct remote *remote; /* NULL, for reach_ask_all(): this machine */
    const char *job; /* REMOTE_SLURM: the id of the session's job; never NULL then */
    char *const *words; /* the verb and its arguments, NULL-terminated */
    bool terminal; /* it needs a terminal there */
    int silence_ms; /* it may print nothing for so long; 0: any time, once mas runs there */
    bool goes_on; /* what connects goes on when the time of the command is over */
    bool greet; /* the answer begins with a line of fleet/greeting.h */
};

/* A command line that is ready to run: what it shares is connected. */
struct reach_line {
    char *program; /* path of ssh or srun */
    char **argv, **env;
    int slot; /* lock; -1: none */
    struct seal seal; /* that its output ends with, see fleet/seal.h; empty: with none */
};

#define REACH_LINE_INIT                                                                            \
    {                                                                                              \
        .slot = -1                                                                                 \
    }

/* Connects, if no connection is there, and makes the command line. Fails with MAS_UNREACHED,
 * "cannot reach host 'NAME': <why>", and with MAS_USAGE if the command is too long. The caller
 * starts line->program and keeps *ret until it has ended. */
int reach_open(const struct reach_command *command, struct reach_line *ret, struct err *err);
void reach_close(struct reach_line *line);
#define _cleanup_reach_ __attribute__((cleanup(reach_close)))

/* How a command has ended. */
struct reach_end {
    int code; /* its exit code */
    int signal; /* that was to end this process meanwhile; 0: none */
    char before[SEAL_BEFORE_MAX + 1]; /* the first line of what something else printed on standard
                                       * output before mas did, and which was dropped; hostile */
};

/* Runs the command with the standard files of this process. Fails with MAS_UNREACHED, too, if the
 * connection is lost, what answers is not mas, the end of its output is lost, or nothing comes for
 * too long. What stands on standard error before mas runs there, of ssh, srun or a shell, is then
 * not printed: its last line is in the error. */
int reach_run(const struct reach_command *command, struct reach_end *ret, struct err *err);
/* How a child that does this is run, however long it takes. */
struct proc_spec reach_spec(const char *name, int (*go_on)(void *arg), void *arg);

/* Logs in once and runs nothing, to see whether that works, whatever ~/.ssh/config says of host
 * keys that are not known: such a key is accepted by a person only, whom ssh shows it and asks on
 * the terminal, if `ask`. Fails with MAS_UNREACHED. */
int reach_meet(const struct remote *remote, bool ask, struct err *err);

/* A script for a machine that may have no mas. */
struct reach_script {
    const struct remote *remote;
    const char *text; /* for sh: no line breaks */
    char *const *args; /* its $1, $2, ..., NULL-terminated */
    const char *input; /* its standard input; NULL: nothing */
    size_t input_len;
    int timeout_ms; /* once it is connected */
};
/* Runs it and appends what it has printed itself to `out`. *ret_code is its exit code. Fails with
 * MAS_UNREACHED if it has not run, or not to its end. */
int reach_run_script(const struct reach_script *script, struct str *out, int *ret_code,
                     struct err *err);

/* A command whose output is read. */
struct reach_ask {
    struct reach_command command;
    const char *root; /* on this machine: --root, or NULL */
    size_t output_max; /* bytes of its output */
    int timeout_ms;
    /* Set by reach_ask_all(): */
    struct err err; /* MAS_OK: it has run */
    int code; /* its exit code */
    struct str out; /* what it printed */
    struct str why; /* its error, see reach_find_error(); may be hostile */
};

/* Returns the error of a command in what it has printed on standard error: the line of mas without
 * "mas: ", after warnings and after what ssh has said; where mas has said nothing, the first line.
 * *ret_len is its length. */
const char *reach_find_error(const char *said, size_t *ret_len);

/* Runs all of them at the same time, each within its time. The caller releases them with
 * reach_ask_free(). */
void reach_ask_all(struct reach_ask *asks, size_t count);
void reach_ask_free(struct reach_ask *ask);
/* Runs one, whose output is JSON: *ret, which the caller releases; NULL: it is not wanted. Returns
 * -1 if it was not run, REACH_REFUSED if it has failed there, with its error, and REACH_STRANGE if
 * it prints something else; that sets no error. */
enum { REACH_REFUSED = 1, REACH_STRANGE = 2 };
int reach_ask_json(const struct reach_ask *ask, struct json **ret, struct err *err);

/* Appends a word, without line breaks, so that the login shells named above read it back unchanged.
 */
void reach_quote(struct str *to, const char *word);

/* Ports of a machine that are to be reached here, at 127.0.0.1. */
struct reach_forward {
    const struct remote *remote; /* REMOTE_SSH */
    const struct reach_port {
        int here, there;
    } * ports;
    size_t count;
    void (*ready)(void *arg); /* they are forwarded now */
    void *arg;
};

/* Forwards the ports until this process is to end, by the signal *ret_signal. Takes its standard
 * input away. Fails with MAS_UNREACHED if the machine is not reached, or not any more, and with
 * MAS_FAILED if a port here was taken meanwhile. */
int reach_forward(const struct reach_forward *forward, int *ret_signal, struct err *err);
