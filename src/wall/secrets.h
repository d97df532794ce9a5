/*
 * What is in /etc and others cannot read. As root, bubblewrap drops capabilities but root stays the
 * owner of these files, so a wall hides them.
 */
#pragma once

/* Appends the paths to *ret, which the caller frees with strv_free(). This looks at every file
 * there (2 ms), so `mas start` does it once for all agents. */
void wall_secrets_find(char ***ret);
/* Appends them as one text: a tab before each. Appends nothing if a path cannot be part of it. */
void wall_secrets_format(struct str *to);
/* Reads that text, which is empty or begins with a tab. Returns false if it is none. */
bool wall_secrets_parse(const char *text, char ***ret);
