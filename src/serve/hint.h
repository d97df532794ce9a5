/*
 * Hints of mas name commands, which a client of the HTTP API may not have. Here is which address
 * does the same.
 */
#pragma once

/* What the addresses in a hint are about; NULL or "" where that is not known, and the address keeps
 * its placeholder. */
struct hint_subject {
    const char *id, *agent, *item;
    const char *kind; /* what stands before the item in the path; NULL: there is none */
};

/* Appends what a client can do about an error with this status that says no more; nothing, if that
 * is not known. */
void hint_default(int status, const struct hint_subject *subject, struct str *to);

/* Appends the hint with addresses in place of commands. Of several parts, which are separated by
 * "; ", those are left out that name an option or a command which a client does not have, or are
 * for the pane. */
void hint_put(const char *hint, const struct hint_subject *subject, struct str *to);
