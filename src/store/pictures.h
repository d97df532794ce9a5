/*
 * The pictures of a session, in pictures/ of its workspace (mode 700, the files 600), where no
 * agent behind a wall can see them. A file is named by the sum of its content, so that the same
 * picture is there once, and is never changed.
 *
 * Who sends a picture copies it there before it asks a host (pictures_keep()): written under
 * another name, with fsync, and renamed. A kill leaves at most a picture that no prompt has, or a
 * file with that other name. Hosts only read.
 */
#pragma once

#include "model/picture.h"

/* Keeps a picture of `len` bytes, which `name`, a path or "", calls so. `dir` is the workspace.
 * Fails with MAS_USAGE if it is too large, or none that models take. */
int pictures_keep(int dir, const char *name, const char *bytes, size_t len, struct picture *ret,
                  struct err *err);
/* Reads one from a file of the caller's, which may be any. Fails with MAS_USAGE if it is no regular
 * file, too large, or none that models take. The caller frees *ret. */
int pictures_read_file(const char *path, char **ret, size_t *ret_len, struct err *err);
/* Reads one. Fails with MAS_NOT_FOUND if it is not there. The caller frees *ret. */
int pictures_load(int dir, const struct picture *picture, char **ret, size_t *ret_len,
                  struct err *err);
/* Fails if one is not there, and sets the size of each; MAS_USAGE: together they are too large. */
int pictures_find(int dir, struct pictures *pictures, struct err *err);
