/*
 * A session that begins with one sentence: whom it goes to, and what the session is called.
 */
#pragma once

#include "session/life.h"

enum { SENTENCE_NAME_TEXT = 48 }; /* with NUL; ends of names that are taken fit behind it */

/* Names a session after the first two words that say something: "fix the login on Safari" is
 * fix-login. `ret` is "" if there is none in ASCII. */
void sentence_name(const char *text, char ret[SENTENCE_NAME_TEXT]);
/* Likewise, but what is taken gets a number: fix-login-2. *ret is "" if nothing is free; the caller
 * frees it. */
int sentence_free_name(const struct root *root, const char *text, char **ret, struct err *err);

/* Makes the sentence the first message of the team's first agent, besides those for
 * prompts_from_words(); or makes the tries that it wants of a team of one agent, each with this
 * message. Fails with MAS_USAGE if they have one for it, too, if its preset executes what it is
 * sent, and for tries if the team has several agents, or one without a branch of its own. */
int sentence_give(const struct config *config, const struct sentence *sentence, char *const *others,
                  struct team *team, struct err *err);
