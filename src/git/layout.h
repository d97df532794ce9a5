/*
 * Writes the files of a new repository, as `git init`, `git config` and `git update-ref` do it in
 * several processes that each wait for the disk. Nobody else knows the repository yet, and the
 * caller makes all of it durable at once.
 *
 *     layout_begin(&config, "sha1", true);
 *     layout_set(&config, "hooksPath", "/dev/null");
 *     if (layout_make(dir, head, &config, err) == -1 || layout_ref(dir, ref, oid, err) == -1)
 */
#pragma once

#include "git/git.h"

/* Adds a line with a setting, or with `value` NULL the heading of a section. The value may hold
 * anything but NUL. */
void layout_set(struct str *config, const char *name, const char *value);

/* Begins the config of a repository, as `git init` does; settings of [core] may follow. `format`:
 * that of its objects, "sha1" or "sha256". */
void layout_begin(struct str *config, const char *format, bool bare);
/* Adds who commits there. */
void layout_set_user(struct str *config, const char *name, const char *email);

/* Makes the directories, HEAD and config of a repository in a directory. It may have objects. */
int layout_make(int dir, const char *head, const struct str *config, struct err *err);

/* Creates a ref with its directories; it must not exist. `ref` and `oid` are valid names. */
int layout_ref(int dir, const char *ref, const char *oid, struct err *err);

/* Looks a ref up in packed-refs of a repository that is open at `dir`; a file of its own would
 * override that. *ret is "" if it is not there. Returns NULL, or what is wrong with packed-refs. */
const char *layout_packed_ref(int dir, const char *ref, char ret[GIT_OID_TEXT]);
