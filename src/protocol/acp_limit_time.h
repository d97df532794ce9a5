/*
 * The part of protocol/acp_limit.h for times: spans and clocks in words for people, stamps and
 * numbers in data.
 */
#pragma once

#include "base/json.h"

/* How long a time is past that a stranger tells and that counts as now: clocks of people have no
 * seconds, those of machines differ, and a message takes its time. */
enum { ACP_LIMIT_PAST_MS = 5 * 60 * 1000 };

/* Finds in words for people when the limit ends, in ms since 1970; 0: they do not say. Of a time of
 * day it is the next one. A time zone that is named counts, else it is that of this machine, as
 * agents print it; with a zone that nobody knows it is 0. */
int64_t acp_limit_time_in(const char *text, int64_t now_ms);

/* Returns the time that a member of an error's data gives for the end of the limit; 0: none.
 * *ret_retry: it is meant for this request. */
int64_t acp_limit_time_of(const struct json *node, int64_t now_ms, bool *ret_retry);

/* Returns the value of a node as a number; -1: it is none. */
double acp_limit_number(const struct json *node);
