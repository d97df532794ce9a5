/*
 * Shared by the files of the agent side of ACP; no other file includes this.
 *
 *     acp_agent.c        the client's requests
 *     acp_agent_tell.c   updates and permission requests to the client
 */
#pragma once

#include "protocol/acp_agent.h"
#include "protocol/rpc.h"

struct acp_agent {
    const struct acp_agent_ops *ops;
    void *arg;
    const struct acp_agent_self *self;
    struct rpc *rpc;
    bool initialized;
    bool elicits_form, elicits_url, has_switches; /* what the client has declared */
};
