/*
 * Remotes: the other machines of this user, one section [host NAME] of mas.ini for each. Users read
 * "host"; here a host is the process in an agent's pane.
 *
 * A remote names programs to run and machines to connect to, so only a mas.ini that the user wrote
 * or accepted may have one: see store/config.h. All texts are checked here, and nothing else is
 * ever put into a command line of ssh or srun from this file.
 */
#pragma once

#include "model/ini.h"

enum { REMOTE_NAME_MAX = 32, REMOTE_PLACE_MAX = 255, REMOTES_MAX = 1024 };

enum remote_via {
    REMOTE_UNSET, /* the section has no `via`, or is wrong */
    REMOTE_SSH, /* place: the destination of ssh: [USER@]MACHINE or ssh://[USER@]MACHINE[:PORT] */
    REMOTE_SLURM, /* place: the partition */
};

struct remote {
    char *name;
    enum remote_via via;
    char *place;
    char *mas; /* absolute path of mas there; "mas": found by PATH there */
    char *root; /* the root there, absolute; "": the one that mas finds there */
    char *store; /* directory on a shared disk, absolute; "": none */
    char *submit; /* more options for sbatch, as a shell would split them; "": none */
    char *origin; /* "FILE:LINE" of the section */
    char *wrong; /* "FILE:LINE: what is wrong" with the section, which cannot be used; or NULL */
};

/* Fills *ret with the defaults. */
void remote_make(struct remote *ret, const char *name, const char *origin);
void remote_free(struct remote *remote);

/* Returns true if a remote can have this name. */
bool remote_is_name(const char *name);

/* Reads one key of the section. Fails as ini_fail() does. */
int remote_read(struct remote *remote, const struct ini_line *line, struct err *err);

/* The keys, for `mas config`: the name of number `at` and the text of its value, which is written
 * to `buf`, or NULL behind the last one. */
const char *remote_key(size_t at);
const char *remote_value(const struct remote *remote, size_t at, char buf[REMOTE_PLACE_MAX + 16]);
