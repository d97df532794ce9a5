/*
 * Errors.
 *
 * A function that can fail takes `struct err *err` last and returns 0 or -1. On success it leaves
 * *err unchanged. On failure it fills *err and leaves its outputs, named ret_*, unchanged. The code
 * below src/cli never prints and never exits: only main() prints a struct err to stderr.
 *
 *     struct err err = ERR_INIT;
 *     if (session_load(store, id, &session, &err) == -1)
 *         return err_wrap(&err, "cannot show '%s'", id);
 *
 * A caller that has to tell failures apart asks `err.code` or, for the cause, `err.number`:
 *
 *     if (file_read(dir, name, max, &text, &len, &err) == -1 && err.number == ENOENT)
 *
 * A function that fills a struct err says nothing through errno. Functions that take none follow
 * the system's convention: they return -1 with errno.
 *
 * The text is `cannot <what> '<subject>': <why>`, in lower case, without a full stop. The hint
 * tells the user what to do and is printed on its own line. Subjects can be hostile, so neither
 * string is safe to print directly: err_print() makes control characters visible.
 *
 * A command line in a hint or a warning stands behind a colon, in parentheses or in quotes: "start
 * it with: mas start ID", "(mas start ID)", "'mas start'"; another may follow it behind "&& ".
 * Where mas runs for somebody on another machine, who reached this one as the host NAME, it is
 * printed as "mas --host NAME start ID".
 */
#pragma once

/* Exit codes of mas, also used as the code of a struct err. Scripts depend on them. */
enum {
    MAS_OK = 0,
    MAS_FAILED = 1,
    MAS_USAGE = 2,
    MAS_NOT_FOUND = 3,
    MAS_CONFLICT = 4,
    MAS_DAMAGED = 5,
    MAS_TMUX = 6,
    MAS_TIMEOUT = 7,
    /* How a turn ended: the stop reasons of ACP. */
    MAS_MAX_TOKENS = 8,
    MAS_MAX_REQUESTS = 9,
    MAS_REFUSAL = 10,
    MAS_CANCELLED = 11,
    MAS_UNREACHED = 12, /* another machine was not reached, or has no mas */
};

enum {
    ERR_TEXT_MAX = 2048,
    ERR_HINT_MAX = 1024
}; /* bytes; the middle of longer text becomes "..." */

struct err {
    int code;
    int number; /* the cause as a value of errno; 0: it has none */
    char text[ERR_TEXT_MAX];
    char hint[ERR_HINT_MAX];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        .code = MAS_OK                                                                             \
    }

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Sets code and text; clears number and hint. Returns -1, so that `return err_set(...)` works. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_vset(struct err *err, int code, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

/* Like err_set() with code MAS_FAILED and errno as the number, whose text it appends after ": ". */
int err_errno(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Prepends "<fmt>: " to the text; keeps code, number and hint. Returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Sets the hint. Returns -1. */
int err_hint(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Returns true if the cause is that a disk, or a quota on it, is full. */
bool err_is_full(const struct err *err);

/* In the environment: the name by which another machine has reached this one. */
#define ERR_REACHED_AS "MAS_REACHED_AS"

/* Appends a text for people, with its command lines as they are to be typed where it is read. */
struct str;
void err_add_commands(struct str *to, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Writes "mas: <text>\n" and the hint, if there is one, to stderr. Makes control characters
 * visible. */
void err_print(const struct err *err);

/* Writes "mas: warning: <text>\n" to stderr and makes control characters visible. For src/cli
 * and src/cmd only. */
void err_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
