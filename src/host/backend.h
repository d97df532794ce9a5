/*
 * The two kinds of agent that a host runs: a program on a terminal (backend_terminal.c), and an
 * agent that speaks ACP on pipes (backend_acp.c; its conversation is talk.h). The rest of the host
 * knows them only through this table. For src/host/ only.
 */
#ifndef MAS_HOST_BACKEND_H
#define MAS_HOST_BACKEND_H

#include "base/err.h"
#include "base/loop.h"
#include "host/supervisor.h"
#include "model/agent_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct host;
struct client;
struct frame;

struct backend {
    bool piped; /* the agent's standard files are pipes, and the pane is not its terminal */
    int asked_limit; /* restarts in a row while messages wait */
    const char *next_start; /* what starts an agent that has ended, for the pane */

    /* Opens the pane, the signals of its keys, and what waited when the host before ended. */
    int (*open)(struct host *host, struct err *err);
    /* The host goes; what waits stays on disk. */
    void (*close)(struct host *host);

    /* ---- the process */
    /* Fills spec->pipes, or *ret_slave, the agent's end of the terminal, for a process to start. */
    int (*connect)(struct host *host, struct supervisor_spec *spec, int *ret_slave,
                   struct err *err);
    /* It runs. */
    void (*begin)(struct host *host);
    /* It is about to be ended. */
    void (*hang_up)(struct host *host);
    /* It has ended, `how` in words. Returns true if that was before its first answer. */
    bool (*ended)(struct host *host, const char *how);
    /* Nothing of its tree is left; also after a start that failed. */
    void (*disconnect)(struct host *host);
    /* Why it fails each time, if that is known; else NULL. */
    const char *(*trouble)(const struct host *host);
    /* Returns true if `pid` is the pane's own program and not the agent's. */
    bool (*is_pane)(const struct host *host, pid_t pid);
    /* A child of the host has ended; it may be that program. */
    void (*reap)(struct host *host, pid_t pid);

    /* ---- messages or prompts that wait */
    size_t (*queued)(const struct host *host);
    void (*fail_queue)(struct host *host, const char *why);
    /* The agent is stopped: those who wait for an answer are told, and what waits is kept. */
    void (*keep_queue)(struct host *host, const char *why);

    /* ---- what it does now */
    enum agent_state (*state)(const struct host *host);
    void (*fill_status)(const struct host *host, struct agent_status *ret);
    void (*tell_status)(struct host *host, const struct agent_status *now);
    /* Shows words of mas in the pane. */
    void (*say)(struct host *host, const char *words);

    /* ---- the loop */
    bool (*reads_keys)(const struct host *host); /* of the pane; if not, only its end counts */
    /* Keys that were typed while the agent runs. */
    void (*handle_keys)(struct host *host, const char *keys, size_t len, int64_t now);
    /* Names what it waits for in this turn of the loop; then handles what has come. */
    void (*want)(const struct host *host, struct loop *loop);
    void (*serve)(struct host *host, struct loop *loop);
    /* What time alone brings; returns when to call again, -1: never. */
    int64_t (*tick)(struct host *host, int64_t now);
    /* Answers a request that only this kind knows; false: it does not know it. */
    bool (*request)(struct host *host, struct client *client, const struct frame *frame);
};

extern const struct backend backend_terminal, backend_acp;

#endif
