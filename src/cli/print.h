/*
 * Output that several commands share: colours, progress, warnings. For tables see cli/table.h.
 */
#pragma once

#include "base/palette.h"
#include "model/diagnostic.h"
#include "session/life.h"

struct call;
struct view;

/* Return an escape sequence, or NULL for none. They always return NULL if standard output is not a
 * terminal, or one without colours (base/palette.h). */
const char *colour(enum tint tint);
const char *colour_of(enum status status, bool crashed);

/* Appends the status of a session and what people have to know about it: "stopped (crashed)",
 * "active on n2". */
void print_status(const struct view *view, struct str *to);
const char *colour_dim(void);

/* Says that a session which was started in a job of Slurm has a tmux server of its own although the
 * settings say otherwise. */
void warn_job(const struct config *config);

/* Warns of each line of a list, which may be NULL. */
void warn_each(char *const *lines);
/* Warns if the started agents are likely to need more memory than was free. */
void warn_memory(const struct life_memory *memory);

/* Removes deleted sessions from the search index. On failure it prints a warning, and the next
 * search removes them. */
void forget_sessions(const struct root *root, const char *const *ids, size_t count);

/* Writes KEY='value' lines that a POSIX shell can eval. */
void print_variables(const struct kv *kv);

/* Prints the diagnostics, one "file:line: text" per line, or as JSON. */
void print_diagnostics(const struct diagnostics *diagnostics, bool json);

/* Writes *s and a newline to stdout. */
void print_line(const struct str *s);

/*
 * Progress of long work that signals can stop. If standard error is a terminal, shows progress
 * after 400 ms, beginning with `word` ("copying"), unless `quiet`. Catches SIGINT, SIGTERM, SIGHUP
 * and SIGPIPE, except those that are ignored. Between begin and end, life->tick returns true once
 * the work should stop because of a signal.
 */
void progress_begin(struct life *life, const char *word, bool quiet);
/* Shows how far removal is with looking for work that would be lost; catches no signal. */
void progress_of_looks(struct life *life, bool quiet);
/* Clears the progress line and restores the signal handlers. If a signal arrived, raises it now. */
void progress_end(void);
