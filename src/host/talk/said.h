/* What the agent says and does: text, tool calls, plans. Each change is stored, then told. */
#pragma once

#include "host/talk/talk.h"

/* Stores and tells a piece of what the agent says or thinks. */
void said_text(struct host *host, enum store_role role, const char *text, size_t len);
/* Ends the text that grows: what comes next is another message. */
void said_close_text(struct host *host);
/* Returns the tool call with this id, which may be new. */
struct tool_call *said_know_tool(struct tool_table *tools, const char *id);
void said_free_tool(struct tool_call *tool);
void said_free_tools(struct tool_table *tools);
/* Returns true if the tool call has ended. */
bool said_tool_is_over(const struct tool_call *tool);
/* Stores and tells what a tool call has become. */
void said_tell_tool(struct host *host, struct tool_call *tool, const char *content);
/* Stores and tells the plan; `more` entries are left out of `entries`, a JSON array. */
void said_plan(struct host *host, const char *text, const char *entries, size_t more);
