/*
 * The two kinds of agent that a host runs: a program on a terminal (host/terminal/), and an agent
 * that speaks ACP on pipes (host/acp/). The rest of the host knows them through this table only.
 *
 * A host calls open() once, then for each run of the agent, in this order:
 *
 *     connect()     before the supervisor starts
 *     launched()    the supervisor starts the agent
 *     begin()       the agent runs
 *     hang_up()     only if mas ends the agent: before the supervisor ends it
 *     ended()       the agent has ended
 *     disconnect()  its whole tree has ended, or it could not be started
 *
 * and close() at the end. In between the loop calls want(), serve() and tick(). Each kind keeps its
 * state behind one pointer in struct host, which open() makes and close() frees. close() may come
 * without an open().
 */
#pragma once

#include "host/supervisor.h"
#include "model/agent_status.h"
#include "os/loop.h"

struct host;
struct frame;

enum backend_kind { BACKEND_TERMINAL, BACKEND_ACP };

/* What an agent's end says about the next start. */
struct agent_end {
    bool early; /* it ended before its first answer */
    const char *why; /* why it fails each time, if that is known; else NULL */
};

struct backend {
    enum backend_kind kind;
    bool piped; /* the agent's standard files are pipes, and the pane is not its terminal */
    bool logs_refusals; /* the session's log names the messages that the host refuses */
    int asked_limit; /* restarts in a row while messages wait */
    const char *next_start; /* what starts an agent that has ended, for the pane */

    /* Opens the pane, and reads what waited when the previous host ended. */
    int (*open)(struct host *host, struct err *err);
    /* Frees everything. What waits stays on disk. */
    void (*close)(struct host *host);

    /* ---- the process */
    /* Adds to the command and the environment what this run is told by them; NULL: nothing. */
    int (*tell)(struct host *host, char ***argv, char ***env, struct err *err);
    /* Makes what connects host and agent. Fills spec->pipes, or *ret_slave, the agent's end of the
     * terminal. */
    int (*connect)(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                   struct err *err);
    void (*launched)(struct host *host, int64_t now);
    void (*disconnect)(struct host *host);
    /* Appends the last lines that the agent printed, at most `max` bytes. */
    void (*last_lines)(const struct host *host, size_t max, struct str *to);

    /* ---- messages or prompts that wait */
    size_t (*queued)(const struct host *host);
    /* Returns true if the agent takes pictures, or has not told yet. */
    bool (*takes_pictures)(const struct host *host);
    void (*fail_queue)(struct host *host, const char *why);

    /* ---- what the agent does now */
    enum agent_state (*state)(const struct host *host);
    /* Fills in what this kind knows; *ret points into the host. */
    void (*fill_status)(const struct host *host, struct agent_status *ret);
    /* Shows a message of mas in the pane. */
    void (*say)(struct host *host, const char *words);
    /* The same, and keeps it in the history, if this kind has one. */
    void (*note)(struct host *host, const char *words);
    /* The agent's tree is stopped; or it goes on, after `lasted` ms. Its silence meant nothing. */
    void (*pause)(struct host *host, bool on, int64_t lasted);

    /* ---- the loop */
    /* Returns true if the host reads the keys of the pane. If not, only its hang-up counts. */
    bool (*reads_keys)(const struct host *host, int64_t now);
    /* Handles keys that were typed while the agent runs. They are in pane.keys. */
    void (*handle_keys)(struct host *host, const char *keys, size_t len, int64_t now);
    /* The same, of an agent that sleeps: they wake it. They are dropped then. NULL: nothing. */
    void (*wake_keys)(struct host *host, const char *keys, size_t len, int64_t now);
    /* Tells the loop what to wait for; then handles what has come. */
    void (*want)(const struct host *host, struct loop *loop, int64_t now);
    void (*serve)(struct host *host, struct loop *loop);
    /* Does what is due. Returns when to call again, -1: never. */
    int64_t (*tick)(struct host *host, int64_t now);

    /* ---- hooks; NULL if this kind has nothing to do at that point */
    /* A client that holds its prompt has gone before the end. */
    void (*abandoned)(struct host *host, int64_t prompt);
    void (*begin)(struct host *host);
    void (*hang_up)(struct host *host);
    /* `how` it ended, in words. Fills in *ret, which is {false, NULL} before. */
    void (*ended)(struct host *host, const char *how, struct agent_end *ret);
    /* Reads what the agent has printed by now. Returns false if the pane has no room for the rest.
     */
    bool (*drain)(struct host *host);
    /* The pane has another size. */
    void (*resize)(struct host *host);
    /* The pane's own program (host->pane_program) has ended. */
    void (*reap)(struct host *host);
    /* The login on the pane (host->pane_login) has ended. */
    void (*login_ended)(struct host *host, int status);
    /* The agent stops: tells those who wait for an answer that what waits is kept. */
    void (*keep_queue)(struct host *host, const char *why);
    /* A process of the agent (`peer`) has told what its program does. */
    void (*told)(struct host *host, const struct proc_id *peer, const struct frame *frame);
    /* Tells clients of the status; called in each turn of the loop. */
    void (*tell_status)(struct host *host, const struct agent_status *now);
};

extern const struct backend backend_terminal, backend_acp;
