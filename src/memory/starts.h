/*
 * What the starts of agents that tell have come to in this root, for as long as it exists:
 * sessions/.starts, a number for each outcome. Hosts count, and `mas serve` tells (/metrics). A
 * removed session stays counted. Nothing depends on the file: without it, or if it is damaged,
 * counting begins at 0, and a start that cannot be counted is not.
 */
#pragma once

#include "memory/store.h"
#include "store/root.h"

#define STARTS_FILE ".starts"
#define STARTS_LOCK ".starts.lock"

void starts_count(const struct root *root, enum store_outcome outcome);
void starts_read(const struct root *root, uint64_t ret[OUTCOME_COUNT]);
