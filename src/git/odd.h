/*
 * Odd files: FIFOs and devices, and links that lead to one, where git opens a file without a look
 * at what it is. It would wait for ever at a FIFO, while mas waits for it and holds its locks.
 */
#pragma once

/* Fails with MAS_DAMAGED, and names the file, if there is one in the work tree that is open at
 * `tree`, in its .git or in a repository inside. `path` is that of the tree. Other FIFOs, which git
 * leaves alone, are no reason. An agent can still make one behind mas's back: git has a time limit.
 */
int odd_check(int tree, const char *path, struct err *err);
