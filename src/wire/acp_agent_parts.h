/*
 * What the files of the agent's side of ACP share; nobody else includes this.
 *
 *     acp_agent.c        what the client asks for
 *     acp_agent_tell.c   what it is told, and asked
 */
#ifndef MAS_WIRE_ACP_AGENT_PARTS_H
#define MAS_WIRE_ACP_AGENT_PARTS_H

#include "wire/acp_agent.h"
#include "wire/rpc.h"

struct acp_agent {
    const struct acp_agent_ops *ops;
    void *arg;
    const struct acp_agent_self *self;
    struct rpc *rpc;
    bool initialized;
};

#endif
