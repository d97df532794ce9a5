/*
 * The person's pager.
 */
#pragma once

/* Shows a text through $PAGER if standard output is a terminal, and returns when the person has
 * read it; without PAGER the pager is less(1), if that is installed, and its options are $LESS or
 * else FRX. Otherwise prints the text. Returns true if less(1) ran. */
bool pager_show(const struct str *text);

/* Set for a command whose output goes through a pager: it may use colours. */
#define PAGER_IN_USE "MAS_PAGER_IN_USE"
