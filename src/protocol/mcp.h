/*
 * A server of the Model Context Protocol (MCP) that offers only tools, without processes or
 * descriptors. The caller passes in what a client writes and sends the bytes that come out; a
 * callback reports the calls of tools.
 *
 * It accepts revision 2026-07-28, in which each request names the revision, and on the same
 * connection the earlier ones that begin with initialize (2025-11-25, 2025-06-18, 2025-03-26,
 * 2024-11-05).
 *
 * The JSON schema of a tool is generated from its row in the table of operations, and arguments are
 * checked against the row. So a reported call has all required arguments, each of the right type
 * and within its limits, and no others.
 */
#pragma once

#include "base/json.h"
#include "model/operation.h"

enum {
    MCP_LINE_MAX = 8 << 20, /* bytes of a message */
    MCP_OUT_MAX = 64 << 20, /* unsent bytes for a client that does not read */
};

#define MCP_NEWEST "2026-07-28"

struct mcp_self {
    const char *name, *title, *version;
    const char *instructions; /* for the model */
};

struct mcp_ops {
    /* A call of a tool; `arguments` is an object, or NULL if missing. Answer it with
     * mcp_result(), at any time. What the callback receives is valid only during the call. */
    void (*call)(void *arg, const char *ticket, const struct model_tool *tool,
                 const struct json *arguments);
    /* notifications/cancelled: the client no longer waits. The call is closed; do not answer it. */
    void (*cancelled)(void *arg, const char *ticket);
};

struct mcp;

/* Creates a server, which keeps all pointers; release it with mcp_free(). Callbacks may call
 * mcp_result(). */
struct mcp *mcp_new(const struct mcp_ops *ops, void *arg, const struct mcp_self *self,
                    const struct model_tool *const *tools, size_t count);
void mcp_free(struct mcp *mcp);

/* Returns the bytes to write to the client; they stay valid until the next call. */
const char *mcp_out(const struct mcp *mcp, size_t *ret_len);
/* Drops the first `len` of these bytes, which were written. */
void mcp_sent(struct mcp *mcp, size_t len);
/* Returns true if more than MCP_OUT_MAX bytes waited and some were lost. */
bool mcp_is_stuck(const struct mcp *mcp);
/* Passes in bytes of the client and calls the callbacks. */
void mcp_feed(struct mcp *mcp, const char *bytes, size_t len);

/* Answers a call: `text` is for the model, `object` the same as JSON text for programs (NULL:
 * none). */
void mcp_result(struct mcp *mcp, const char *ticket, const char *text, const char *object,
                bool is_error);
