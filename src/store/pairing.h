/*
 * Pairing a browser with `mas serve`: sessions/.serve.pair, which only its owner can read, offers
 * tokens to whoever has a short code, in a line each.
 *
 *     <SHA-256 of the code> <name> <right> <until when> <when the token expires, or -> <tries>
 *
 * and for a guest the words of store/token.h. `mas serve pair` and `mas invite` write it and show
 * the code; the server takes an offer when a browser sends its code. An offer ends when it is
 * taken, when its time is over, or after PAIRING_TRIES wrong codes, which count for all offers. A
 * code has 40 bits, so that these tries find one of PAIRING_OFFERS once in ten thousand million
 * times.
 */
#pragma once

#include "store/token.h"

#define PAIRING_FILE ROOT_SERVE "pair" /* in sessions/ */
#define SERVE_LOCK_FILE ROOT_SERVE "lock" /* locked while the server runs */
#define ADDRESSES_FILE ROOT_SERVE "addresses" /* where the server listens, a line each */

enum {
    PAIRING_S = 120, /* seconds that an offer is valid */
    PAIRING_GUEST_S = 3600, /* the same for a guest, who may be elsewhere */
    PAIRING_OFFERS = 16, /* at the same time */
    PAIRING_TRIES = 5,
    PAIRING_CODE = 8, /* letters and digits of a code */
    PAIRING_TEXT = PAIRING_CODE + 2 /* with a hyphen in the middle and the NUL */
};

struct pairing {
    char name[TOKEN_NAME_MAX + 1]; /* of the token */
    enum right right;
    time_t expires; /* of the token; 0: never */
    struct guest guest;
};

/* Offers a token and returns the code. Fails as token_add() if the name cannot be used, or is
 * that of another offer. One that is not to a guest takes the place of the one before. */
int pairing_offer(const struct root *root, const struct pairing *pairing, char ret[PAIRING_TEXT],
                  struct err *err);
/* Takes the offer with this code, as a person typed it. Fails with MAS_NOT_FOUND if there is none,
 * or if the code is wrong, without saying which. */
int pairing_take(const struct root *root, const char *code, struct pairing *ret, struct err *err);

/* Returns how long an offer is valid. */
int pairing_seconds(const struct pairing *pairing);
/* Reads the offers to guests, at most PAIRING_OFFERS, that are still valid. */
size_t pairing_guests(const struct root *root, struct pairing ret[PAIRING_OFFERS]);
/* Ends what guests have or are offered, of a session or by a name; NULL: any. Adds to *count how
 * many that are. The caller holds the lock of the root. Fails if that cannot be written. */
int pairing_end_guests(const struct root *root, const char *session, const char *name,
                       size_t *count, struct err *err);
