/*
 * Tokens for clients of the HTTP API: sessions/.serve.tokens, which only its owner can read, has a
 * line for each:
 *
 *     <SHA-256 of the token> <name> <right> <when it was made> <when it expires, or ->
 *
 * and behind that, of a guest of one session (`mas invite`),
 *
 *     <id of the session> <agents with commas between them, or -: all>
 *
 * The token itself is kept nowhere; token_add() returns it once. It is 256 random bits, so that its
 * sum needs no salt and nobody can find it by trying. Commands and the server write the file, under
 * the lock of the root; a reader sees the old file or the new one.
 *
 * The token in the file that [serve] token_file names is none of these: see serve/guard.h.
 */
#pragma once

#include "base/id.h"
#include "base/sha.h"
#include "model/operation.h"
#include "store/root.h"

#define TOKENS_FILE ROOT_SERVE "tokens" /* in sessions/ */
#define TOKEN_OF_FILE "default" /* how the token in the token file is called */

enum {
    TOKEN_COUNT_MAX = 256, /* expired ones do not count */
    TOKEN_NAME_MAX = 32,
    TOKEN_BYTES = 32, /* of random */
    TOKEN_TEXT = 2 * TOKEN_BYTES + 1, /* as hex digits, with the NUL */
    TOKEN_HALF = TOKEN_BYTES, /* digits of each half of a paired browser's */
    GUEST_NAME_MAX = 24, /* with GUEST_FROM it is what the history has */
    GUEST_AGENTS_MAX = 511, /* bytes of their ids, with commas */
};
#define GUEST_FROM "guest:" /* begins what the history calls a guest: no agent has such an id */

/* What a guest may see. */
struct guest {
    char session[ID_TEXT]; /* "": the owner, who may see all */
    char agents[GUEST_AGENTS_MAX + 1]; /* with commas between them; "": all of the session */
};

struct token {
    char hash[SHA256_TEXT];
    char name[TOKEN_NAME_MAX + 1];
    enum right right;
    time_t made;
    time_t expires; /* 0: never */
    struct guest guest;
};

struct tokens {
    struct token *at;
    size_t count;
};
#define TOKENS_INIT                                                                                \
    {                                                                                              \
        .at = NULL                                                                                 \
    }

/* Returns the word for a right: "none", "read", "answer", "full". */
const char *right_name(enum right right);
/* Parses such a word, except "none". */
bool right_parse(const char *text, enum right *ret);

/* Reads all tokens, also expired ones, the oldest first. A missing file has none. Fails with
 * MAS_DAMAGED if the file cannot be trusted; then nobody has a token. The caller releases *ret with
 * tokens_free(). */
int tokens_read(const struct root *root, struct tokens *ret, struct err *err);
void tokens_free(struct tokens *tokens);
#define _cleanup_tokens_ __attribute__((cleanup(tokens_free)))

/* Returns true if the token has not expired. */
bool token_is_valid(const struct token *token, time_t now);
/* Returns the token of a sum if it has not expired, or NULL. The time that this takes does not
 * depend on where sums differ. */
const struct token *tokens_find(const struct tokens *tokens, const char hash[SHA256_TEXT],
                                time_t now);

/* Returns false for the owner. */
bool guest_is(const struct guest *guest);
/* Returns true if what is said of a session (NULL: of none), or of one of its agents (NULL: of the
 * session itself; "": of none in particular), is for this guest. */
bool guest_sees(const struct guest *guest, const char *session, const char *agent);
/* Returns true if a session has guests, or if that cannot be told. */
bool guest_is_in(const struct root *root, const char *session);
/* Reads the two words of a guest. Returns false if they are none. */
bool guest_parse(const char *session, const char *agents, struct guest *ret);
/* Appends a blank and these words; nothing for the owner. */
void guest_put(const struct guest *guest, struct str *to);

/* Makes a token with this name (letters, digits, "_" and "-"), right and time, and returns its
 * text. Fails with MAS_CONFLICT if the name is taken or if there are TOKEN_COUNT_MAX, with
 * MAS_USAGE if it is none. Removes those that have expired. */
int token_add(const struct root *root, const char *name, enum right right, time_t expires,
              char ret[TOKEN_TEXT], struct err *err);
/* Likewise, from the name, right, time and guest of `wanted`. */
int token_give(const struct root *root, const struct token *wanted, char ret[TOKEN_TEXT],
               struct err *err);
/* Fails as token_add() does if it could not make a token with this name. The caller holds the lock
 * of the root. */
int token_check_new(const struct root *root, const char *name, struct err *err);
/* Removes the token with this name. Fails with MAS_NOT_FOUND if there is none. */
int token_remove(const struct root *root, const char *name, struct err *err);

/* Removes the tokens of guests, of a session or with a name; NULL: any. Adds their number to
 * *count. Fails, also with MAS_DAMAGED: then nobody has a token. The caller holds the lock of the
 * root. */
int token_remove_guests(const struct root *root, const char *session, const char *name,
                        size_t *count, struct err *err);

/* Fills `ret` with a new text for a token. */
int token_make(char ret[TOKEN_TEXT], struct err *err);
