/*
 * SOCKS5 (RFC 1928), as much as a proxy without a login needs: the greeting, and CONNECT to a name
 * or an address. Bytes in, structs out.
 */
#pragma once

enum {
    SOCKS_MESSAGE_MAX = 262, /* bytes of the longest message of a client */
    SOCKS_HOST_MAX = 255,
    SOCKS_REPLY = 10, /* bytes of an answer to a request */
};

/* Answers to a request. */
enum socks_reply {
    SOCKS_DONE = 0,
    SOCKS_FAILED = 1,
    SOCKS_REFUSED = 2, /* by the rules */
    SOCKS_UNREACHABLE = 4,
    SOCKS_NO_COMMAND = 7,
};

struct socks_request {
    char host[SOCKS_HOST_MAX + 1]; /* as the client wrote it, or an address as text; may hold NUL */
    size_t host_len;
    uint16_t port;
};

/* Parse what a client has sent. They return the number of bytes of the message, 0 if some of it is
 * still to come, and -1 if it is none. socks_parse_greeting() wants the method "no login";
 * socks_parse_request() wants CONNECT. */
int socks_parse_greeting(const unsigned char *bytes, size_t len);
int socks_parse_request(const unsigned char *bytes, size_t len, struct socks_request *ret);

/* Writes the answer to a request. */
void socks_format_reply(enum socks_reply reply, unsigned char buf[SOCKS_REPLY]);
