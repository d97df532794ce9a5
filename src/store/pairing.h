/*
 * Pairing a browser with `mas serve`: sessions/.serve.pair, which only its owner can read, offers a
 * token to whoever has a short code.
 *
 *     <SHA-256 of the code> <name> <right> <until when> <when the token expires, or -> <tries>
 *
 * `mas serve pair` writes it and shows the code; the server takes it when a browser sends the code.
 * There is one offer at a time. It ends when it is taken, PAIRING_S after it was made, or after
 * PAIRING_TRIES wrong codes, whichever comes first. A code has 40 bits, so that these tries find it
 * once in 200 thousand million times.
 */
#pragma once

#include "store/token.h"

#define PAIRING_FILE ROOT_SERVE "pair" /* in sessions/ */
#define SERVE_LOCK_FILE ROOT_SERVE "lock" /* locked while the server runs */
#define ADDRESSES_FILE ROOT_SERVE "addresses" /* where the server listens, a line each */

enum {
    PAIRING_S = 120, /* seconds that an offer is valid */
    PAIRING_TRIES = 5,
    PAIRING_CODE = 8, /* letters and digits of a code */
    PAIRING_TEXT = PAIRING_CODE + 2 /* with a hyphen in the middle and the NUL */
};

struct pairing {
    char name[TOKEN_NAME_MAX + 1]; /* of the token */
    enum right right;
    time_t expires; /* of the token; 0: never */
};

/* Offers a token and returns the code. Fails as token_add() if the name cannot be used. */
int pairing_offer(const struct root *root, const struct pairing *pairing, char ret[PAIRING_TEXT],
                  struct err *err);
/* Takes the offer with this code, as a person typed it. Fails with MAS_NOT_FOUND if there is none,
 * or if the code is wrong, without saying which. */
int pairing_take(const struct root *root, const char *code, struct pairing *ret, struct err *err);
