/*
 * What a mas says of itself to one that asks it from another machine (`mas --greet VERB`): a line
 * of JSON before its own output, so that version, clock and free space cost no call of their own.
 *
 *     {"mas":"1.0.0","timeMs":1766044800000,"free":123456789}
 */
#pragma once

enum { GREETING_MAX = 1024, GREETING_VERSION_MAX = 64, GREETING_WHY_MAX = 120 }; /* bytes */
#define GREETING_WALLS "yes" /* it can hold agents behind walls */
#define GREETING_NONE "-" /* the program is missing */

struct greeting {
    char version[GREETING_VERSION_MAX];
    int64_t time_ms; /* since 1970, by its clock */
    int64_t free; /* bytes on the file system of the root; -1: unknown */
    /* only in what `doctor` says: */
    int64_t store_free; /* likewise, of [fleet] store */
    char tmux[GREETING_VERSION_MAX]; /* its version; GREETING_NONE; "": unknown */
    char git[GREETING_VERSION_MAX]; /* likewise */
    char walls[GREETING_WHY_MAX]; /* why it has none; GREETING_WALLS; "": unknown */
};

struct greeting_subject {
    int root; /* its directory, open; -1: none */
    bool whole; /* with what takes a program or a shared disk, which may hang: */
    const char *store; /* the directory of the store; "" or NULL: none */
};

/* Prints the line. */
void greeting_print(const struct greeting_subject *subject);
/* Parses the line at the beginning of an answer, and sets *ret_len to its length. Returns false if
 * there is none. */
bool greeting_parse(const char *text, size_t len, struct greeting *ret, size_t *ret_len);
