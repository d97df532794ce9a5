/*
 * Replays commits onto another one, as a rebase does, without a work tree.
 */
#pragma once

#include "git/git.h"

/* Puts one commit that is no merge onto another one. Its author and message stay. *ret is `onto` if
 * the commit changes nothing there, and "" if it conflicts; then *ret_files are its files, which
 * the caller releases with strv_free(). */
int replay_one(const struct git *git, const char *onto, const char *commit, char ret[GIT_OID_TEXT],
               char ***ret_files, struct err *err);

/* Puts the commits that `from` has and `onto` lacks onto `onto`, oldest first, without merges and
 * without those that change nothing there. Authors and messages stay. *ret is the last one. If a
 * commit conflicts, *ret is "", *ret_at is that commit and *ret_files its files, which the caller
 * releases with strv_free(). Fails with MAS_CONFLICT if a merge among them has changes of its own,
 * which would be lost. */
int replay(const struct git *git, const char *onto, const char *from, char ret[GIT_OID_TEXT],
           char ret_at[GIT_OID_TEXT], char ***ret_files, struct err *err);
