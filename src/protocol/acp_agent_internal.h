/*
 * What the files of the agent's side of ACP share; nobody else includes this.
 *
 *     acp_agent.c        what the client asks for
 *     acp_agent_tell.c   what it is told, and asked
 */
#ifndef MAS_PROTOCOL_ACP_AGENT_INTERNAL_H
#define MAS_PROTOCOL_ACP_AGENT_INTERNAL_H

#include "protocol/acp_agent.h"
#include "protocol/rpc.h"

struct acp_agent {
    const struct acp_agent_ops *ops;
    void *arg;
    const struct acp_agent_self *self;
    struct rpc *rpc;
    bool initialized;
};

#endif
