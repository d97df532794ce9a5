/*
 * The pages on which forges open pull requests, by the URL of a remote. What a remote is called
 * comes from the project, so nothing of it is printed as it is.
 */
#pragma once

/* Returns the page that opens a pull request of `head` for `base`, in ASCII without anything that a
 * shell or a terminal acts on but "?", "&" and "=". The caller frees it. NULL: the URL is of no
 * forge that is known, or of none at all. Knows https, http, ssh and git URLs, and HOST:PATH;
 * credentials and the ports of ssh are left out. */
char *forge_request_url(const char *remote, const char *base, const char *head);

/* Returns whose repository the URL of a remote names: "o" of https://github.com/o/r. The caller
 * frees it. NULL: it names none. */
char *forge_owner(const char *remote);

/* Sets *ret_host to the host in the URL of a remote, without a port, and *ret_path to the
 * repository that it names there, "group/r" of https://gitlab.com/group/r.git, or "". The caller
 * frees both. Returns false, and leaves them, if it names no host. */
bool forge_place(const char *remote, char **ret_host, char **ret_path);
