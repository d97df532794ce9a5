/*
 * What an agent may reach over the network: the value of `wall.network`.
 *
 *     open                      everything
 *     none                      nothing
 *     HOST...                   these hosts, separated by blanks or commas
 *
 * A HOST is a name ("api.example.org"), all names below one ("*.example.org"), an address
 * ("192.0.2.7", "[2001:db8::7]") or a range of addresses ("10.0.0.0/8"). Without a port it means
 * the ports 443 and 80; "HOST:PORT" means that port alone.
 *
 * A name that is allowed may still resolve to any address: its owner decides that. So a connection
 * to a name needs both, network_admits() for the name and network_admits_address() for the address
 * that it has resolved to. Nothing here resolves a name.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

enum {
    NETWORK_TEXT_MAX = 4096, /* bytes of the value */
    NETWORK_HOSTS_MAX = 128, /* hosts in it */
    NETWORK_NAME_MAX = 253, /* bytes of a name, as in DNS */
};

enum network_kind { NETWORK_OPEN, NETWORK_NONE, NETWORK_LIST };

/* A host as a program asks for it, or as the value names it. */
struct network_host {
    bool is_address;
    char name[NETWORK_NAME_MAX + 1]; /* in lower case, without a final dot; "" for an address */
    struct in6_addr address; /* IPv4 addresses as ::ffff:192.0.2.7 */
};

struct network {
    enum network_kind kind;
    size_t count;
    struct network_rule {
        struct network_host host;
        bool below; /* all names below host.name, and not that name */
        int prefix; /* of an address: how many of its bits count; 128: all */
        uint16_t port; /* 0: 443 and 80 */
    } * rules;
};

#define NETWORK_INIT                                                                               \
    {                                                                                              \
        .kind = NETWORK_OPEN                                                                       \
    }

/* Parses a value. The caller releases *ret with network_free(). */
int network_parse(const char *text, struct network *ret, struct err *err);
void network_free(struct network *network);
#define _cleanup_network_ __attribute__((cleanup(network_free)))

/* Parses the host of a request: a name, an IPv4 address, or an IPv6 address with or without
 * brackets. Returns false for everything else, also for other spellings of an address ("127.1",
 * "0x7f000001"), which a resolver would understand. */
bool network_parse_host(const char *text, size_t len, struct network_host *ret);

/* Returns true if the value names this host with this port. */
bool network_admits(const struct network *network, const struct network_host *host, uint16_t port);
/* Returns true if an allowed name may lead to this address: the whole world can reach it, or the
 * value names it with this port. Addresses of this machine, of private networks, of the link and
 * for special uses are not for the whole world. */
bool network_admits_address(const struct network *network, const struct in6_addr *address,
                            uint16_t port);
/* Returns the IPv4 address inside of an IPv6 one that leads to it (NAT64, 6to4), else the same. */
struct in6_addr network_leads_to(const struct in6_addr *address);
/* Sets *ret to the IPv4 or IPv6 address in `at`; returns false for another family. */
bool network_address_of(const struct sockaddr *at, struct in6_addr *ret);
/* Returns true if the value names an address that is the loopback of a machine. */
bool network_names_loopback(const struct network *network);

/* Appends the value in its normal form. */
void network_format(const struct network *network, struct str *to);
/* Appends one basic regular expression a line that matches the hosts of the value, as tinyproxy's
 * filter compares them: names and addresses, without ports. A range of addresses becomes one that
 * matches every address, because expressions cannot count. */
void network_add_filter(const struct network *network, struct str *to);
/* Returns the ports of the value, in no particular order; the caller frees *ret. */
size_t network_ports(const struct network *network, uint16_t **ret);

/* The names of the processes outside that let an agent's connections through, and of the one that
 * takes the place of a killed one; see src/network/network.h. */
#define NETWORK_GUARD_NAME "mas-network"
#define NETWORK_SPARE_NAME "mas-net-spare"
