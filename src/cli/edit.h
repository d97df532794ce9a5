/*
 * The editor of the person.
 */
#pragma once

/* Returns true if somebody can answer: standard input and error are a terminal. */
bool edit_is_terminal(void);
/* Finds $VISUAL, $EDITOR or vi: its words, which the caller releases with strv_free(), and its
 * program in PATH, which the caller frees. `what` says in errors what is edited. */
int edit_find(const char *what, char ***ret_words, char **ret_program, struct err *err);
