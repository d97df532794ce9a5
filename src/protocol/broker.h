/*
 * What a command of mas and the host of an agent say on the agent's socket. The command asks the
 * host to run it outside, as this agent, on three descriptors that come with the first byte:
 *
 *     {"do":"run","words":2,"colour":false,"bytes":12}\nsend\0hello\0
 *     {"ok":true,"exit":0}
 *     {"ok":false,"code":1,"why":"...","hint":"..."}
 *
 * One request for each connection, whose end ends what runs.
 *
 * A hook of the agent's program tells on the same socket what the program does (mas-told). The body
 * is what the hook was given, or empty; the answer comes when it was read.
 *
 *     {"do":"told","event":"Stop","bytes":20}\n{"session_id":"..."}
 *     {"ok":true}
 */
#pragma once

#include "base/frame.h"

#define BROKER_TELLS "{\"do\":\"told\",\"event\":" /* how such a request begins */

enum {
    BROKER_FILES = 3, /* standard input, output and error */
    BROKER_WORDS_MAX = 1024,
    BROKER_BYTES_MAX = 256 * 1024, /* of all words */
    BROKER_JOBS_MAX = 32, /* commands of one agent at the same time */
};

/* Appends a request. `argv` begins with the verb. Fails if it is too large. */
int broker_put_request(char *const *argv, bool colour, struct str *to, struct err *err);
/* Parses a request. The caller releases *ret_argv with strv_free(). */
int broker_parse_request(const struct frame *frame, char ***ret_argv, bool *ret_colour,
                         struct err *err);

/* Appends the answer after the end of the command. */
void broker_put_exit(int code, struct str *to);
/* Appends the answer that nothing was run. */
void broker_put_refusal(const struct err *why, struct str *to);
/* Parses an answer. Fails with the host's reason if nothing was run. */
int broker_parse_answer(const struct frame *frame, int *ret_code, struct err *err);
