/*
 * The seal of an output: a line that mas on another machine prints before everything else and after
 * it. What comes before the first one is not mas's: a login script there prints, or something else
 * answers in mas's place. An output without the second one has lost its end and is not a whole one.
 *
 * slurmstepd keeps what it has of a last line without a line break until the command ends, and then
 * loses it now and then without a word: measured with 22.05, 7 of 60 outputs of 60 kB, and 1 of 100
 * with job_drain_output(). What ends in a line break it sends at once. So the seal also brings the
 * last line along.
 *
 * And what slurmstepd has read but not yet sent is lost if the command ends at that moment: on a
 * quiet machine 6 of 90 such outputs, the seal with them. Nothing tells when it has sent it, so the
 * command stays for SEAL_SETTLE_MS after its seal.
 *
 * Here a seal is made for a command, `mas --seal=<text> VERB...`, and taken from its output. There
 * mas prints \x1e, the text and a line break, runs the verb as its child, which also holds for a
 * verb that becomes another program, and prints the line again when that has ended.
 */
#pragma once

#include "base/id.h"

#define SEAL_OPTION "--seal="

enum {
    SEAL_LEN = ID_TEXT + 1, /* bytes of the line */
    SEAL_SETTLE_MS = 50,
    SEAL_BEFORE_MAX = 256, /* bytes of what comes before it that are kept */
};

struct seal {
    char line[SEAL_LEN + 1];
    size_t seen; /* bytes of the line at the end of what was taken; they are kept back */
    bool begun; /* the first one was there */
    bool whole; /* the second one was */
    char before[SEAL_BEFORE_MAX + 1]; /* what came before the first one, from its first word on */
    size_t before_len;
};

/* Makes one that no output has by itself. */
int seal_make(struct seal *ret, struct err *err);

/* Takes a piece of an output, and appends to `to` what of it is mas's: it comes after the first
 * seal. */
void seal_take(struct seal *seal, const char *bytes, size_t len, struct str *to);
/* Likewise at the end of the output: appends what was kept back and was no seal. */
void seal_end(struct seal *seal, struct str *to);

/* Runs this program with these arguments, argv[0] first, and seals its output. *ret_code is its
 * exit code. Fails with MAS_USAGE if the text is none of seal_make(). */
int seal_run(const char *text, char *const *argv, int *ret_code, struct err *err);
