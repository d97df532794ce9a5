#include "network/socks.h"

#include <arpa/inet.h>

enum { VERSION = 5, NO_LOGIN = 0, CONNECT = 1, V4 = 1, NAME = 3, V6 = 4 };

int socks_parse_greeting(const unsigned char *bytes, size_t len)
{
    if (len > 0 && bytes[0] != VERSION)
        return -1;
    if (len < 2 || len < 2 + (size_t)bytes[1])
        return 0;
    size_t count = bytes[1];
    return count > 0 && memchr(bytes + 2, NO_LOGIN, count) != NULL ? (int)(2 + count) : -1;
}

int socks_parse_request(const unsigned char *bytes, size_t len, struct socks_request *ret)
{
    struct socks_request request = {.port = 0};
    size_t host_len;
    size_t at = 4; /* version, command, 0, kind of address */

    if ((len > 0 && bytes[0] != VERSION) || (len > 1 && bytes[1] != CONNECT))
        return -1;
    if (len < at + 1)
        return 0;
    if (bytes[3] == V4)
        host_len = 4;
    else if (bytes[3] == V6)
        host_len = 16;
    else if (bytes[3] == NAME)
        host_len = bytes[at++];
    else
        return -1;
    if (host_len == 0)
        return -1;
    if (len < at + host_len + 2)
        return 0;
    if (bytes[3] == NAME) {
        memcpy(request.host, bytes + at, host_len);
        request.host_len = host_len;
    } else {
        (void)inet_ntop(bytes[3] == V4 ? AF_INET : AF_INET6, bytes + at, request.host,
                        sizeof request.host);
        request.host_len = strlen(request.host);
    }
    at += host_len;
    request.port = (uint16_t)(bytes[at] << 8 | bytes[at + 1]);
    *ret = request;
    return (int)(at + 2);
}

void socks_format_reply(enum socks_reply reply, unsigned char buf[SOCKS_REPLY])
{
    memset(buf, 0, SOCKS_REPLY); /* the address and port of this end are nobody's business */
    buf[0] = VERSION;
    buf[1] = (unsigned char)reply;
    buf[3] = V4;
}
