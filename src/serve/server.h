/* clang-format off */
/*
 * The parts of mas-serve. One thread, the event loop in main.c, owns everything: connections
 * (http.c), their requests (http_request.c), the list of sessions (list.c), events (events.c),
 * metrics (metrics.c). Workers (work.h) do what has to wait for others; their jobs use only `root`,
 * `config` and `mas`. No thread starts programs: another process does (starter.h), and this one has
 * a filter of system calls.
 *
 * The server stores only its log, lock, tokens and keys of requests on disk. It reads the sessions,
 * asks the hosts, and runs `mas` as a child for the rest. So it can be killed at any time.
 *
 * A request goes from http_request.c, which makes a struct request of it, through guard.c (its token
 * and right) to api.c, which finds its operation in the table of model/operation_table.c and checks
 * its parameters. Then, by the kind of operation,
 *
 *     acts.c, verb.c      run `mas VERB` as a child, whose exit code sets the status: answer_err()
 *     task.c              begins one that takes long, and answers 202
 *     agents.c            asks the socket of the agent's host; no process is started
 *     sessions.c, metrics.c, permissions.c
 *                         only read; permissions.c asks those whom the register of who waits names
 *     logs.c, log_stream.c, transfer.h
 *                         have bodies that are files
 *     events.c, follow.c  send what happens: they compare surveys, and watch hosts and the log of
 *                         the code, while a client listens
 *     openapi.c, components.json
 *                         describe all this: what the table says, and what answers look like
 *     page.c, page/       give browsers the page; pair.c their token
 *
 * and later.h lets a worker do it, and those who ask the same at the same time share one process. The fuzz target is
 * request.h to api.h.
 *
 *     mas-serve ROOT ...            reads requests, has a filter; starts nothing
 *      └ mas-serve-start            forked before the first has a socket or a token: starter.h
 *         └ mas VERB, tmux          without a filter; they go on when either ends
 *
 * A kill at any instant leaves only the log and lock of the server: children continue, and `mas` keeps
 * the sessions consistent.
 */
/* clang-format on */
#pragma once

#include "os/log.h"
#include "serve/guard.h"
#include "serve/list.h"
#include "serve/starter.h"
#include "serve/work.h"
#include "store/config.h"
#include "store/root.h"

enum {
    SERVER_WORKERS = 24,
    SERVER_PLACES = 768, /* requests that have one of them or wait for one */
    SERVER_CONNECTIONS = 1024, /* from the network */
    SERVER_STRANGERS = 256, /* those of them without the token */
    SERVER_LOCAL = 256, /* through the Unix socket */
    SERVER_LISTENERS = 512
};

struct http;
struct events;
struct metrics;
struct tasks;
struct keys;
struct shared;

struct server {
    struct root root;
    struct config config;
    const char *mas; /* path of the program */
    struct starter starter; /* starts mas, and tmux */
    struct guard guard;
    struct list list;
    struct pool *pool;
    struct tasks *tasks;
    struct keys *keys;
    struct shared *shared;
    struct events *events;
    struct metrics *metrics;
    struct http *http;
    struct log log;
    int lock; /* held so that only one server runs */
    bool ending; /* it was told to end and finishes the current requests */
};
