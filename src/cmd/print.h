/*
 * What several commands print alike: colours, progress, what was made. Tables: cmd/table.h.
 */
#ifndef MAS_CMD_PRINT_H
#define MAS_CMD_PRINT_H

#include "base/str.h"
#include "session/life.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Escape sequences, or NULL where stdout is no terminal or NO_COLOR is set. */
enum colour { COLOUR_NONE, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_BLUE, COLOUR_DIM };
const char *colour(enum colour which);
const char *colour_of(enum status status, bool crashed);
const char *colour_dim(void);

/* Says so where the agents that were started are likely to take more memory than there was. */
void warn_memory(const struct life_memory *memory);

struct call;
struct survey;
/* Prints one session of a survey whole, as `mas show` does; JSON where the call wants it. */
int print_view(const struct call *call, struct survey *survey, const char *id, struct err *err);

/* Says where a session is that was just made, and what to do with it: its id alone with -q. */
int print_made(const struct call *call, const struct session *session, bool started,
               struct err *err);

/* Takes sessions that were removed out of the search. Where that fails it says so; the next search
 * does it then. */
void forget_sessions(const struct root *root, const char *const *ids, size_t count);

/* Writes KEY='value' lines that a POSIX shell can eval. */
void print_variables(const struct kv *kv);

/* Writes *s and a newline to stdout. */
void print_line(const struct str *s);

/*
 * Long work that may be stopped: shows progress on a terminal after a moment, with a word for what
 * is done ("copying"), and turns SIGINT, SIGTERM and SIGHUP into a clean end. Between begin and
 * end, life->tick says whether to go on.
 */
void progress_begin(struct life *life, const char *word, bool quiet);
/* Restores the signals; where one came, the process takes it now. */
void progress_end(void);

#endif
