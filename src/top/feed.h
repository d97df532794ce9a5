/*
 * Keeps the table up to date: reads the index when it changes, and watches the hosts of the agents
 * over their sockets. It starts no process and asks tmux nothing.
 *
 *     feed_open(&feed, &root, ids, &table, &err);       the table has all teams, without states
 *     ... in each turn of the loop:
 *     until = feed_want(&feed, &loop);
 *     loop_wait(&loop, until);
 *     feed_turn(&feed, &loop);
 */
#pragma once

#include "os/loop.h"
#include "store/limits/login_quota.h"
#include "store/root.h"
#include "top/table.h"

struct top_feed {
    struct root root;
    char **ids; /* only these sessions, also if they are stopped; NULL: all that run. Not owned */
    struct top_table *table;
    int notices; /* of a watch: the index has changed, or the root is gone */
    int64_t index_ms; /* when to read the index; monotonic; -1: when it changes */
    int64_t check_ms; /* when to look whether the root is still there */
    int hosts; /* stands for the connections of all agents: loop_many_open() */
    bool reads; /* this turn waits for the hosts */
    int64_t rest_ms; /* no host is read before that */
    size_t open, room; /* connections, and how many there may be */
    size_t in_turns; /* agents that are asked in turns */
    size_t stopped; /* sessions of the index that are not shown */
    char *problem; /* what is wrong with the root; NULL: nothing */
    char quota_of[TEAM_WORD_MAX + 1]; /* the preset of the fullest window of a provider; "": none */
    struct quota_window quota;
};

/* Opens the root at `path` and fills the table from its index. Release *feed with feed_close() in
 * any case. */
int feed_open(struct top_feed *feed, const char *path, char **ids, struct top_table *table,
              struct err *err);
void feed_close(struct top_feed *feed);
/* Waits in this turn for what comes. Hosts that have just reported are left out for a moment, so
 * that many reports cost one turn. Returns when the next turn has to begin at the latest. */
int64_t feed_want(struct top_feed *feed, struct loop *loop);
void feed_turn(struct top_feed *feed, struct loop *loop);
/* Returns the number of agents that were not asked yet, or have not answered. */
size_t feed_pending(const struct top_feed *feed);
