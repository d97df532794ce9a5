/*
 * The cache of what has worked, for probe*.c only.
 */
#pragma once

#include "wall/probe.h"

/* Takes from the cache that probe->tried works with mas-wall, at the path `enter`. Returns false if
 * it does not say so, or says it of something else. */
bool probe_recall(struct wall_probe *probe, const char *enter);
/* Writes what has worked to the cache, if there is one. That it cannot is no error. */
void probe_keep(const struct wall_probe *probe, const char *enter);
