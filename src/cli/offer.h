/*
 * What `mas serve pair`, `mas serve token add` and `mas invite` share: the options of a token, and
 * a code for a browser, with the address to give it to.
 */
#pragma once

#include "cmd.h"
#include "store/pairing.h"

/* Sets *ret from --read-only, --answer or --full, of which one is `needed`. `what` is for the
 * error: "cannot <what>". */
int offer_parse_right(const struct call *call, const char *what, bool needed, enum right *ret,
                      struct err *err);
/* Sets *ret from --expires; without it *ret stays. */
int offer_parse_expires(const struct call *call, time_t *ret, struct err *err);
/* Offers a token as --name, --url and `pairing` say, and prints the address, the code and a QR
 * code. Sets the name: without --name it is `name`, or with a number the first that is free. */
int offer_make(struct call *call, const char *name, struct pairing *pairing, struct err *err);
