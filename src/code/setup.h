/*
 * The setup of a session's work trees: a program that runs once in each of them before its agent
 * starts. It is the one of [code] setup in mas.ini or, without that, the project's own .mas/setup.
 * The latter runs only if a person of this root has said yes to exactly this content.
 *
 * code.git/setup/ has the file .script, which says what the session has, and a file AGENT for each
 * work tree in which it has run.
 *
 * An agent whose setup is due starts in two steps (host/setup.c): `mas setup`, below a supervisor
 * of its own, runs the program and records what it has made; then, if that ended well, the agent
 * starts. Killed in the middle, there is no mark in code.git/setup/, and the next start runs it
 * again.
 */
#pragma once

#include "base/sha.h"
#include "code/repo.h"
#include "store/root.h"

#define SETUP_DIR "setup" /* in code.git */
#define SETUP_SCRIPT ".mas/setup" /* in the project */

enum { SETUP_SCRIPT_MAX = 256 * 1024 }; /* bytes of it */

/* What a session was made with. */
struct setup {
    bool exists;
    bool from_project; /* false: [code] setup of mas.ini */
    bool declined; /* for this session, whatever was answered elsewhere */
    char hash[SHA256_TEXT]; /* of the project's script; "" otherwise */
};

/* The script of a commit. */
struct setup_script {
    char *text; /* NULL: there is none, or it cannot be run */
    size_t len;
    const char *fault; /* why it cannot be run; NULL: it can, or there is none */
    char hash[SHA256_TEXT];
};
void setup_script_free(struct setup_script *script);
#define _cleanup_setup_script_ __attribute__((cleanup(setup_script_free)))

/* Reads the script of a commit of code.git. The caller releases *ret with setup_script_free(). */
int setup_find(const struct repo *repo, const char *commit, struct setup_script *ret,
               struct err *err);

/* Write and read what the session has. */
int setup_save(const struct repo *repo, const struct setup *setup, struct err *err);
int setup_load(const struct repo *repo, struct setup *ret, struct err *err);

enum setup_state {
    SETUP_NONE, /* there is none */
    SETUP_DONE, /* it has run in this work tree */
    SETUP_DUE, /* it runs before the agent starts next */
    SETUP_WAITS, /* for a person's answer */
    SETUP_DECLINED,
    SETUP_CHANGED, /* the file in the work tree is another one than the person has seen */
};
/* Returns "done" and so on. */
const char *setup_state_name(enum setup_state state);
/* Finds out what is to be done in the work tree of an agent. Reads few small files. */
int setup_look(const struct root *root, const struct repo *repo, const char *agent,
               enum setup_state *ret, struct err *err);
/* Records that the setup has run in the work tree of an agent. */
int setup_mark(const struct repo *repo, const char *agent, struct err *err);

/*
 * What persons of this root have said to the setup scripts of projects: sessions/.setup-answers,
 * which only its owner can read, has a line "<SHA-256 of the script> yes|no <time>" for each. A
 * script of another content is another question.
 */
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
