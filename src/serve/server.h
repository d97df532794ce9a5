/*
 * The parts of mas-serve. One thread, the event loop in main.c, owns everything: connections
 * (http.c), their requests (http_request.c), the list of sessions (list.c), events (events.c),
 * metrics (metrics.c). Workers (work.h) do what has to wait for others; their jobs use only `root`,
 * `config` and `mas`. No thread starts programs: another process does (starter.h), and this one has
 * a filter of system calls.
 *
 * The server stores only its log, lock, tokens and keys of requests on disk. It reads the sessions,
 * asks the hosts, and runs `mas` as a child for the rest. So it can be killed at any time.
 */
#pragma once

#include "base/log.h"
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
