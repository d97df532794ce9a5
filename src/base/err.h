/*
 * Errors.
 *
 * A function that can fail takes `struct err *err` last and returns 0 or -1. It leaves *err alone
 * on success and fills it on failure; outputs named ret_* are not touched on failure. The floors
 * below cmd never print and never exit: only main() turns a struct err into words on stderr.
 *
 *     struct err err = ERR_INIT;
 *     if (session_load(store, id, &session, &err) == -1)
 *         return err_wrap(&err, "cannot show '%s'", id);
 *
 * The text is `cannot <what> '<subject>': <why>`, lower case, no full stop; the hint, printed on a
 * line of its own, says what to do. Neither is safe to print as it is: subjects are hostile. Print
 * through err_print(), which makes control characters visible.
 */
#ifndef MAS_BASE_ERR_H
#define MAS_BASE_ERR_H

#include <stdarg.h>

/* Exit codes of mas; also the code of a struct err. People script against them. */
enum {
    MAS_OK = 0,
    MAS_FAILED = 1,
    MAS_USAGE = 2,
    MAS_NOT_FOUND = 3,
    MAS_CONFLICT = 4,
    MAS_DAMAGED = 5,
    MAS_TMUX = 6,
    MAS_TIMEOUT = 7,
    /* How a turn ended: stop reasons of the protocol. */
    MAS_MAX_TOKENS = 8,
    MAS_MAX_REQUESTS = 9,
    MAS_REFUSAL = 10,
    MAS_CANCELLED = 11,
};

enum {
    ERR_TEXT_MAX = 2048,
    ERR_HINT_MAX = 1024
}; /* bytes; longer text loses its middle to "..." */

struct err {
    int code;
    char text[ERR_TEXT_MAX];
    char hint[ERR_HINT_MAX];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .code = MAS_OK                                                                             \
    }

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets code and text, drops an older hint. Returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_vset(struct err *err, int code, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

/* Like err_set() with code MAS_FAILED, and ": " and the words for errno behind it. */
int err_errno(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts "<fmt>: " in front of the text that is there; keeps code and hint. Returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Sets the second line. Returns -1. */
int err_hint(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Writes "mas: <text>\n" and, where there is one, the hint to stderr, safe for a terminal. */
void err_print(const struct err *err);

/* Writes "mas: warning: <text>\n" to stderr, safe for a terminal. For the command layer only. */
void err_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
