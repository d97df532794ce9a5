/*
 * What a tool call is going to do, in words for people. The title of a call is often the model's
 * own description of it, so who permits the call, or reads of it later, also sees its raw input,
 * its locations and its content. This is the one place that makes words of these.
 *
 *     struct acp_tool tool = {.subject = NULL};
 *     acp_tool_read(&tool, update, content);     for each message about the call
 *     char *line = acp_tool_line(&tool, title, cwd);
 *     char *details = acp_tool_details(&tool, content);
 *
 * No character of these words hides or reorders others: control characters become \xNN.
 */
#pragma once

struct json;

/* What was told of a call; NULL: nothing. */
struct acp_tool {
    char *subject; /* its command or address, from the input */
    char *path; /* from the input */
    char *place; /* the first location */
    char *changed; /* the first file of a diff */
    char *input; /* its raw input, a member a line; what is longer is indented below its name */
    char *locations; /* a path a line, with :LINE if there is one */
};

/* Reads rawInput, locations and diffs of a tool call, an update of one, or a request for a
 * permission. A member that is missing changes nothing. What `content`, for reading (NULL: none),
 * shows of the input is not said twice. What is too long is cut, with a word. */
void acp_tool_read(struct acp_tool *tool, const struct json *update, const char *content);
void acp_tool_free(struct acp_tool *tool);
/* Returns the command, address or path, then the title in parentheses, on a line that fits a
 * notification; the title alone if it names that, or if there is none. A path in `cwd`, the
 * session's directory, is relative to it. The caller frees the line. */
char *acp_tool_line(const struct acp_tool *tool, const char *title, const char *cwd);
/* Returns the input, the locations and the content (NULL: none). The caller frees it. */
char *acp_tool_details(const struct acp_tool *tool, const char *content);
