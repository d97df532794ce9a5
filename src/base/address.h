/*
 * Addresses to listen at: "127.0.0.1:8765", "[::1]:8765", "localhost:8765". Numbers, or localhost;
 * no name is looked up anywhere.
 */
#ifndef MAS_BASE_ADDRESS_H
#define MAS_BASE_ADDRESS_H

#include "base/str.h"

#include <stdbool.h>
#include <sys/socket.h>

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};

/* false for anything else. Port 0: the kernel's choice. */
bool address_parse(const char *text, struct address *ret);
/* true where only this machine can connect to it: loopback, or no address of the internet. */
bool address_is_loopback(const struct address *address);
/* Appends "127.0.0.1:8765" or "[::1]:8765". */
void address_add(struct str *to, const struct address *address);

#endif
