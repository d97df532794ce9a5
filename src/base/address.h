/*
 * Parse and print the addresses that a server listens on: "127.0.0.1:8765", "[::1]:8765",
 * "localhost:8765". The host is a numeric address or "localhost", which means 127.0.0.1. No name is
 * resolved.
 */
#pragma once

#include <sys/socket.h>

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};

/* Parses "HOST:PORT" into *ret. Port 0 lets the kernel choose. Returns false for any other text and
 * leaves *ret unchanged. */
bool address_parse(const char *text, struct address *ret);
/* Returns true if only this machine can connect to the address: it is a loopback address, or its
 * family is neither IPv4 nor IPv6. */
bool address_is_loopback(const struct address *address);
/* Appends the address to `to`, as "127.0.0.1:8765" or "[::1]:8765". */
void address_add(struct str *to, const struct address *address);
