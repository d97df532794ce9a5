/*
 * Putting the mas of this machine onto another one, which has none, into the home of the user
 * there.
 *
 * What goes is the installation that this program is part of: the program, its helpers, the shipped
 * templates and the manual pages, as one tar file with its SHA-256. A script there, run by ssh,
 *
 *     1. makes ~/.local/lib/mas/VERSION.new, in place of one that was left there, and stores the
 * file
 *     2. compares the sum, unpacks, looks for shared libraries that are missing, runs `mas version`
 *     3. makes it durable, and renames it to VERSION
 *     4. makes the link ~/.local/bin/mas, which names it
 *
 * Killed or cut before 3 it leaves VERSION.new at most, which mas never uses; after 3 the version
 * is whole, and the next time makes the link. What fails leaves nothing. Not ~/.local/share/mas,
 * where `make install PREFIX=~/.local` puts templates: it is the default root of the user.
 */
#pragma once

#include "base/sha.h"
#include "model/remote.h"

/* What a machine is and has. All texts are hostile. */
struct install_place {
    char *system, *arch, *home; /* uname -s, uname -m, $HOME */
    char *mas, *version; /* path of a mas and its version; NULL: there is none */
    char **missing; /* of the programs that are needed there; NULL: none */
    int64_t free; /* bytes in its home; -1: unknown */
};

#define INSTALL_PLACE_INIT                                                                         \
    {                                                                                              \
        .free = -1                                                                                 \
    }

/* Looks. `mas`: the path of the mas to look for; NULL: in PATH and where install_send() puts it. Of
 * several, *ret has one of this version, if there is one. */
int install_look(const struct remote *remote, const char *mas, struct install_place *ret,
                 struct err *err);
void install_place_free(struct install_place *place);
#define _cleanup_install_place_ __attribute__((cleanup(install_place_free)))

/* Returns true if the program is among the missing ones. */
bool install_lacks(const struct install_place *place, const char *program);

/* The installation as it goes. */
struct install_pack {
    struct str tar;
    char sum[SHA256_TEXT];
};

#define INSTALL_PACK_INIT                                                                          \
    {                                                                                              \
        .tar = STR_INIT                                                                            \
    }

/* Fails with MAS_CONFLICT if the machine cannot run the programs of this one, or has too little
 * room or no tar; also if this program is part of no installation. */
int install_pack(const struct remote *remote, const struct install_place *place,
                 struct install_pack *ret, struct err *err);
void install_pack_free(struct install_pack *pack);
#define _cleanup_install_pack_ __attribute__((cleanup(install_pack_free)))

/* Puts it there. *ret is the path of mas there, which the caller frees; hostile. */
int install_send(const struct remote *remote, const struct install_pack *pack, char **ret,
                 struct err *err);
