/*
 * A server of the Model Context Protocol that has tools and nothing else, without a process or a
 * descriptor: what a client writes goes in, what it is to be sent comes out, and calls of tools are
 * told.
 *
 * Revision 2026-07-28, in which each request names the revision, and those before it, which begin
 * with initialize (2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05), on one connection.
 *
 * A tool is a row of a table: its JSON schema is made of that row, and arguments are held to it, so
 * that a call which is told has all that it must have, of the right type, within its limits, and
 * nothing else.
 */
#ifndef MAS_PROTOCOL_MCP_H
#define MAS_PROTOCOL_MCP_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MCP_LINE_MAX = 8 << 20, /* bytes of one message */
    MCP_OUT_MAX = 64 << 20, /* that wait for a client that does not read */
    MCP_PARAMS_MAX = 6,
};

#define MCP_NEWEST "2026-07-28"

enum mcp_type { MCP_STRING, MCP_INTEGER };

struct mcp_param {
    const char *name; /* NULL: the row ends */
    enum mcp_type type;
    const char *description;
    bool required;
    int64_t min, max; /* of an integer; of a text its bytes */
    const char *const *words; /* all that a text may be, NULL-terminated; NULL: anything */
};

struct mcp_tool {
    const char *name, *title, *description;
    bool read_only; /* it changes nothing */
    struct mcp_param params[MCP_PARAMS_MAX + 1];
};

struct mcp_self {
    const char *name, *title, *version;
    const char *instructions; /* for the model */
};

struct mcp_ops {
    /* A call; `arguments` is an object, or NULL where it has none. Answered by mcp_result(). */
    void (*call)(void *arg, const char *ticket, size_t tool, const struct json *arguments);
    /* notifications/cancelled: nobody waits for it; no answer is to come, and none is sent */
    void (*cancelled)(void *arg, const char *ticket);
};

struct mcp;

/* All are kept by reference. */
struct mcp *mcp_new(const struct mcp_ops *ops, void *arg, const struct mcp_self *self,
                    const struct mcp_tool *tools, size_t count);
void mcp_free(struct mcp *mcp);

const char *mcp_out(const struct mcp *mcp, size_t *ret_len);
void mcp_sent(struct mcp *mcp, size_t len);
bool mcp_is_stuck(const struct mcp *mcp);
void mcp_feed(struct mcp *mcp, const char *bytes, size_t len);

/* Ends a call: `text` for the model; `object`, JSON text, the same for programs (NULL none). */
void mcp_result(struct mcp *mcp, const char *ticket, const char *text, const char *object,
                bool is_error);

#endif
