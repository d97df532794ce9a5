/*
 * What `mas try` does not bring into a person's checkout: files by which git, shells, editors and
 * agents run something or are told what to do, only because they lie there; and links that lead out
 * of it.
 */
#pragma once

/* Returns true for the path of a file that stays as the person has it. */
bool held_back(const char *path);

/* Returns true if a symbolic link at `path` with this target leads out of the tree, or into .git.
 * ".." counts only at its beginning: what is behind it may be a link. */
bool held_leaves(const char *path, const char *target);
