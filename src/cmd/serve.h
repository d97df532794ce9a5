/*
 * The actions of `mas serve`.
 */
#pragma once

#include "cmd.h"
#include "store/token.h"

extern const struct cmd cmd_serve_token, cmd_serve_pair;

/* Parse --read-only, --answer, --full, and --expires; without them *ret stays. Fails if there are
 * two rights, or none although one is `needed`. "cannot <what>: ..." */
int serve_parse_right(const struct call *call, const char *what, bool needed, enum right *ret,
                      struct err *err);
int serve_parse_expires(const struct call *call, time_t *ret, struct err *err);
