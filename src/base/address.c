#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { PORT_MAX = 65535 };

static bool parse_port(const char *text, in_port_t *ret)
{
    size_t len = strlen(text);
    if (len == 0 || len > 5 || strspn(text, "0123456789") != len)
        return false;
    long port = strtol(text, NULL, 10);
    *ret = htons((uint16_t)port);
    return port <= PORT_MAX;
}

bool address_parse(const char *text, struct address *ret)
{
    struct address address = {.len = 0};
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&address.at;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&address.at;
    const char *colon = strrchr(text, ':');
    in_port_t port;

    if (colon == NULL || colon == text || !parse_port(colon + 1, &port))
        return false;
    bool brackets = text[0] == '[' && colon[-1] == ']';
    _cleanup_free_ char *host = brackets ? mem_dupn(text + 1, (size_t)(colon - text) - 2)
                                         : mem_dupn(text, (size_t)(colon - text));
    if (brackets && inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = port;
        address.len = sizeof *six;
    } else if (!brackets && inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                                      &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        address.len = sizeof *four;
    }
    if (address.len == 0)
        return false;
    *ret = address;
    return true;
}

bool address_is_loopback(const struct address *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&address->at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&address->at;

    if (address->at.ss_family == AF_INET)
        return (ntohl(four->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
    if (address->at.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    return true;
}

void address_add(struct str *to, const struct address *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&address->at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&address->at;
    char text[INET6_ADDRSTRLEN];

    if (address->at.ss_family == AF_INET6)
        str_addf(to, "[%s]:%u", inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text),
                 (unsigned)ntohs(six->sin6_port));
    else
        str_addf(to, "%s:%u", inet_ntop(AF_INET, &four->sin_addr, text, sizeof text),
                 (unsigned)ntohs(four->sin_port));
}
