/*
 * What persons of this root have said to the setup scripts of projects: sessions/.setup-answers,
 * which only its owner can read, has a line "<SHA-256 of the script> yes|no <time>" for each. A
 * script of another content is another question.
 */
#pragma once

#include "store/root.h"

#define SETUP_ANSWERS_FILE ".setup-answers" /* in sessions/ */

enum { SETUP_ANSWERS_MAX = 1000 }; /* the oldest ones are dropped */

enum setup_answer { SETUP_UNANSWERED, SETUP_YES, SETUP_NO };

/* Reads the answer to the script with this sum. Fails if the file cannot be trusted: then nothing
 * may run. */
int setup_answers_find(const struct root *root, const char *hash, enum setup_answer *ret,
                       struct err *err);
/* Keeps an answer instead of the one before it. */
int setup_answers_keep(const struct root *root, const char *hash, enum setup_answer answer,
                       struct err *err);
