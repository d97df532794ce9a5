/*
 * Environments: NULL-terminated vectors of "KEY=value", and which variables agents get.
 */
#pragma once

#include "base/env.h"
#include "store/config.h"

/* Returns this process's environment, filtered and extended by [env] of mas.ini: the one that
 * agents started by this process get. The caller releases it with strv_free(). */
char **env_handed_on(const struct config *config);
