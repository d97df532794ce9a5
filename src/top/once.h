/*
 * `mas top --once`: the list as text.
 */
#ifndef MAS_TOP_ONCE_H
#define MAS_TOP_ONCE_H

#include "base/err.h"
#include "top/feed.h"

#include <stdbool.h>

/* Waits for the hosts, at most as long as other commands do, and prints the list. */
int once_print(struct top_feed *feed, bool by_team, bool unicode, struct err *err);

#endif
