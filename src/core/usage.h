/*
 * Disk use of sessions: what their files hold, and what they really take.
 */
#ifndef MAS_CORE_USAGE_H
#define MAS_CORE_USAGE_H

#include "base/err.h"
#include "core/config.h"
#include "core/root.h"

#include <stdint.h>

/* Fails (MAS_FAILED, with how much is there and what is wanted) where writing `bytes` more would
 * leave less on the file system of sessions/ than [limits] free says. */
int usage_check_room(const struct root *root, const struct config *config, uint64_t bytes,
                     struct err *err);

#endif
