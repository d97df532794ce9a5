/*
 * What mas-serve is made of. One thread, the event loop of main.c, owns all of it: connections
 * (http.c), requests on them (http_request.c), the list of sessions (list.c), events (events.c),
 * numbers (metrics.c). What waits for others is done by workers (work.h), whose jobs see only
 * `root`, `config`, `mas` and `env`.
 *
 * It keeps nothing of its own on disk but its log, its lock and its token: what it tells is read
 * from the sessions, and what changes them is done by `mas`, run as a child. So it may be killed at
 * any time.
 */
#ifndef MAS_SERVE_SERVER_H
#define MAS_SERVE_SERVER_H

#include "base/log.h"
#include "serve/guard.h"
#include "serve/list.h"
#include "serve/work.h"
#include "store/config.h"
#include "store/root.h"

enum {
    SERVER_WORKERS = 16,
    SERVER_CONNECTIONS = 1024, /* over the network */
    SERVER_STRANGERS = 256, /* of these, that have not shown the token */
    SERVER_LOCAL = 256, /* over the Unix socket */
    SERVER_LISTENERS = 512
};

struct http;
struct events;
struct metrics;

struct server {
    struct root root;
    struct config config;
    const char *mas; /* path of the program */
    char **env; /* what mas is run with */
    struct guard guard;
    struct list list;
    struct pool *pool;
    struct events *events;
    struct metrics *metrics;
    struct http *http;
    struct log log;
    int lock; /* that no second one has */
    bool ending; /* it has been asked to end: only what runs is finished */
};

#endif
