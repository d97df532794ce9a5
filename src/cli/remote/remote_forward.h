/*
 * `mas remote forward`: the ports of agents on another machine, on this one. Each agent's ten keep
 * their numbers if they are free here and no agent's, and are others in a row otherwise.
 */
#pragma once

#include "cmd.h"

/* Forwards the ports of an agent of a session, HOST:SESSION, or of all its agents (NULL), and
 * prints where they are, until this process is to end. Fails as reach_forward() does, with
 * MAS_NOT_FOUND for an unknown host or agent, and with the error of `show` there. */
int remote_forward(const struct call *call, const char *session, const char *agent,
                   struct err *err);
