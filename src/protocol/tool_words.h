/*
 * What a tool call is going to do, in words for people. The title of a call is often the model's
 * own description of it, so who permits the call, or reads of it later, also sees its raw input,
 * its locations and its content. This is the one place that makes words of these.
 *
 *     struct tool_words tool = {.subject = NULL};
 *     tool_words_read(&tool, update, content);     for each message about the call
 *     char *line = tool_words_line(&tool, title, cwd);
 *     char *details = tool_words_details(&tool, content);
 *
 * No character of these words hides or reorders others: control characters become \xNN.
 */
#pragma once

struct json;

/* What was told of a call; NULL: nothing. */
struct tool_words {
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
void tool_words_read(struct tool_words *tool, const struct json *update, const char *content);
/* The same of the raw input alone. */
void tool_words_read_input(struct tool_words *tool, const struct json *input, const char *content);
void tool_words_free(struct tool_words *tool);
/* Returns the command, address or path, then the title in parentheses, on a line that fits a
 * notification; the title alone if it names that, or if there is none. A path in `cwd`, the
 * session's directory, is relative to it. The caller frees the line. */
char *tool_words_line(const struct tool_words *tool, const char *title, const char *cwd);
/* Returns the input, the locations and the content (NULL: none). The caller frees it. */
char *tool_words_details(const struct tool_words *tool, const char *content);
