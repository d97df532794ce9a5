/*
 * `mas top --once`: the list as text.
 */
#pragma once

#include "top/feed.h"

/* Waits for the hosts, at most as long as other commands do, and prints the list. */
int once_print(struct top_feed *feed, bool by_team, bool unicode, struct err *err);
