/*
 * All addresses are compared as IPv6, IPv4 ones as mapped, by their first bits. A rule is taken
 * apart into brackets, port, prefix and "*."; what is left must be a host in one plain spelling,
 * because a resolver reads more of them than this does. Public are all IPv4 addresses but those
 * listed, and of IPv6 only what was given to the world, less the same list; one that leads to an
 * IPv4 address is judged as that.
 */

#include "model/network.h"

#include <arpa/inet.h>

enum { LABEL_MAX = 63, PORT_MAX = 65535, V4_BITS = 96, ALL_BITS = 128, HTTPS = 443, HTTP = 80 };

/* Addresses that only this machine, its link or its site reaches, or nobody. Those of IPv6 that
 * hold an IPv4 address are in embedded[]. */
/* clang-format off */
static const struct {
    const char *address;
    int prefix;
} not_public[] = {
    {"0.0.0.0", 8}, {"10.0.0.0", 8}, {"100.64.0.0", 10}, {"127.0.0.0", 8}, {"169.254.0.0", 16},
    {"172.16.0.0", 12}, {"192.0.0.0", 24}, {"192.0.2.0", 24}, {"192.88.99.0", 24},
    {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24}, {"203.0.113.0", 24},
    {"224.0.0.0", 4}, {"240.0.0.0", 4},
    {"2001::", 23}, {"2001:db8::", 32}, {"3fff::", 20},
};

/* All of IPv6 that has been given to the world. What else there is leads to this machine, its link
 * or its site, or to networks on top of the Internet that call themselves by it, such as 200::/7. */
#define WORLD_6 "2000::"
enum { WORLD_6_PREFIX = 3 };

/* IPv6 addresses that lead to the IPv4 address inside of them. */
static const struct {
    const char *address;
    int prefix;
    size_t at; /* the byte at which the IPv4 address begins */
} embedded[] = {
    {"64:ff9b::", 96, 12}, {"2002::", 16, 2},
};
/* clang-format on */

/* Parses an address of either family without brackets. */
static bool parse_address(const char *text, struct in6_addr *ret)
{
    struct in_addr four;

    if (inet_pton(AF_INET6, text, ret) == 1)
        return true;
    if (inet_pton(AF_INET, text, &four) != 1)
        return false;
    *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&ret->s6_addr[12], &four, sizeof four);
    return true;
}

/* Returns true if the first `bits` bits of both are the same. */
static bool same_bits(const struct in6_addr *a, const struct in6_addr *b, int bits)
{
    size_t whole = (size_t)bits / 8;
    int rest = bits % 8;

    if (memcmp(a->s6_addr, b->s6_addr, whole) != 0)
        return false;
    return rest == 0 || (a->s6_addr[whole] ^ b->s6_addr[whole]) >> (8 - rest) == 0;
}

/* Returns true if the address is in the range `text`/`prefix`, where the prefix of an IPv4 range
 * counts from the beginning of the IPv4 address. */
static bool is_in(const struct in6_addr *address, const char *text, int prefix)
{
    struct in6_addr range;

    return parse_address(text, &range) &&
           same_bits(address, &range, strchr(text, ':') != NULL ? prefix : V4_BITS + prefix);
}

struct in6_addr network_leads_to(const struct in6_addr *address)
{
    struct in6_addr inner = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

    for (size_t i = 0; i < ARRAY_LEN(embedded); i++) {
        if (is_in(address, embedded[i].address, embedded[i].prefix)) {
            memcpy(&inner.s6_addr[12], &address->s6_addr[embedded[i].at], 4);
            return inner;
        }
    }
    return *address;
}

static bool is_public(const struct in6_addr *address)
{
    const struct in6_addr at = network_leads_to(address);

    for (size_t i = 0; i < ARRAY_LEN(not_public); i++) {
        if (is_in(&at, not_public[i].address, not_public[i].prefix))
            return false;
    }
    return IN6_IS_ADDR_V4MAPPED(&at) || is_in(&at, WORLD_6, WORLD_6_PREFIX);
}

/* Returns the length of the label at `text`, which ends at a dot or at `end`; 0 if it is none. */
static size_t label_len(const char *text, const char *end)
{
    size_t len = 0;

    while (text + len < end && text[len] != '.') {
        char c = text[len++];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
            return 0;
    }
    return len <= LABEL_MAX && text[0] != '-' && text[len - (len > 0)] != '-' ? len : 0;
}

/* Returns true for a name in lower case whose last label cannot be read as a number: a resolver
 * takes "127.1" and "0x7f000001" for addresses. */
static bool is_name(const char *text)
{
    const char *end = text + strlen(text);
    const char *last = text;
    size_t len = 0;

    for (const char *at = text; (len = label_len(at, end)) > 0 && at + len < end; at += len + 1)
        last = at + len + 1;
    if (len == 0)
        return false;
    return last[strspn(last, "0123456789")] != '\0' && !str_starts(last, "0x");
}

bool network_parse_host(const char *text, size_t len, struct network_host *ret)
{
    struct network_host host = {.is_address = false};
    char copy[NETWORK_NAME_MAX + 2];
    char *from = copy;

    if (len == 0 || len > sizeof copy - 1 || memchr(text, '\0', len) != NULL)
        return false;
    for (size_t i = 0; i < len; i++)
        copy[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    copy[len] = '\0';
    bool brackets = copy[0] == '[' && copy[len - 1] == ']';
    if (brackets) {
        copy[len - 1] = '\0';
        from++;
    }
    if (parse_address(from, &host.address)) {
        host.is_address = true;
        if (brackets && strchr(from, ':') == NULL)
            return false;
        *ret = host;
        return true;
    }
    if (copy[len - 1] == '.')
        copy[--len] = '\0';
    if (len > NETWORK_NAME_MAX || !is_name(copy))
        return false;
    memcpy(host.name, copy, len + 1);
    *ret = host;
    return true;
}

/* Parses a number without a sign or leading zeros, at least `min`. */
static bool parse_number(const char *text, long min, long max, long *ret)
{
    size_t len = strlen(text);

    if (len == 0 || len > 5 || strspn(text, "0123456789") != len || (text[0] == '0' && len > 1))
        return false;
    long number = strtol(text, NULL, 10);
    if (number < min || number > max)
        return false;
    *ret = number;
    return true;
}

/* Takes "/PREFIX" from the end of an address. */
static bool take_prefix(char *text, bool is_four, int *ret)
{
    char *slash = strrchr(text, '/');
    long number;

    *ret = ALL_BITS;
    if (slash == NULL)
        return true;
    if (!parse_number(slash + 1, 1, is_four ? ALL_BITS - V4_BITS : ALL_BITS, &number))
        return false;
    *ret = (int)number + (is_four ? V4_BITS : 0);
    *slash = '\0';
    return true;
}

/* Parses one host of a value. `text` is changed. */
static bool parse_rule(char *text, struct network_rule *ret)
{
    struct network_rule rule = {.prefix = ALL_BITS};
    char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    long port;

    if (end != NULL && text[0] == '[') { /* brackets, then perhaps a port */
        *end++ = '\0';
        text++;
        if (strchr(text, ':') == NULL)
            return false;
    } else if (end != NULL && strchr(end + 1, ':') != NULL) { /* an IPv6 address without them */
        end = text + strlen(text);
    }
    if (end != NULL && *end != '\0') {
        if (*end != ':' || !parse_number(end + 1, 1, PORT_MAX, &port))
            return false;
        rule.port = (uint16_t)port;
        *end = '\0';
    }
    if (strpbrk(text, "[]") != NULL || !take_prefix(text, strchr(text, ':') == NULL, &rule.prefix))
        return false;
    rule.below = str_starts(text, "*.");
    text += rule.below ? 2 : 0;
    if (!network_parse_host(text, strlen(text), &rule.host) ||
        (rule.host.is_address ? rule.below : rule.prefix != ALL_BITS))
        return false;
    *ret = rule;
    return true;
}

static int parse_list(char **words, struct network *ret, struct err *err)
{
    size_t count = strv_len(words);

    if (count > NETWORK_HOSTS_MAX)
        return err_set(err, MAS_USAGE, "%zu hosts are more than the limit of %d", count,
                       NETWORK_HOSTS_MAX);
    struct network network = {.kind = NETWORK_LIST,
                              .rules = mem_alloc(count * sizeof *network.rules)};
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *copy = mem_dup(words[i]);
        bool is_word = strcmp(copy, "open") == 0 || strcmp(copy, "none") == 0; /* stands alone */
        if (is_word || !parse_rule(copy, &network.rules[network.count++])) {
            network_free(&network);
            (void)err_set(err, MAS_USAGE, "expected open, none or hosts, not '%s'", words[i]);
            return err_hint(err, "a host is a name, *.NAME or an address, and may end in :PORT");
        }
    }
    *ret = network;
    return 0;
}

int network_parse(const char *text, struct network *ret, struct err *err)
{
    if (strlen(text) > NETWORK_TEXT_MAX)
        return err_set(err, MAS_USAGE, "the list of hosts is longer than %d bytes",
                       NETWORK_TEXT_MAX);
    _cleanup_strv_ char **words = str_split_list(text);
    if (words == NULL)
        return err_set(err, MAS_USAGE, "expected open, none or hosts, not ''");
    bool is_one = words[1] == NULL;
    if (is_one && strcmp(words[0], "open") == 0)
        *ret = (struct network){.kind = NETWORK_OPEN};
    else if (is_one && strcmp(words[0], "none") == 0)
        *ret = (struct network){.kind = NETWORK_NONE};
    else
        return parse_list(words, ret, err);
    return 0;
}

void network_free(struct network *network)
{
    free(network->rules);
    *network = (struct network)NETWORK_INIT;
}

static bool has_port(const struct network_rule *rule, uint16_t port)
{
    return rule->port != 0 ? port == rule->port : port == HTTPS || port == HTTP;
}

static bool covers(const struct network_rule *rule, const struct in6_addr *address)
{
    return rule->host.is_address && same_bits(&rule->host.address, address, rule->prefix);
}

static bool matches(const struct network_rule *rule, const struct network_host *host)
{
    if (host->is_address)
        return covers(rule, &host->address);
    if (rule->host.is_address)
        return false;
    if (!rule->below)
        return strcmp(host->name, rule->host.name) == 0;
    size_t len = strlen(host->name);
    size_t tail = strlen(rule->host.name);
    return len > tail + 1 && host->name[len - tail - 1] == '.' &&
           strcmp(host->name + len - tail, rule->host.name) == 0;
}

bool network_admits(const struct network *network, const struct network_host *host, uint16_t port)
{
    if (network->kind != NETWORK_LIST)
        return network->kind == NETWORK_OPEN;
    for (size_t i = 0; i < network->count; i++) {
        if (has_port(&network->rules[i], port) && matches(&network->rules[i], host))
            return true;
    }
    return false;
}

bool network_admits_address(const struct network *network, const struct in6_addr *address,
                            uint16_t port)
{
    const struct network_host host = {.is_address = true, .address = *address};

    return network_admits(network, &host, port) ||
           (network->kind == NETWORK_LIST && is_public(address));
}

bool network_address_of(const struct sockaddr *at, struct in6_addr *ret)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)at;

    if (at->sa_family == AF_INET6) {
        *ret = six->sin6_addr;
        return true;
    }
    if (at->sa_family != AF_INET)
        return false;
    *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&ret->s6_addr[12], &four->sin_addr, sizeof four->sin_addr);
    return true;
}

bool network_names_loopback(const struct network *network)
{
    static const struct in6_addr six = IN6ADDR_LOOPBACK_INIT;

    for (size_t i = 0; i < network->count; i++) {
        const struct network_host *host = &network->rules[i].host;
        if (host->is_address && (is_in(&host->address, "127.0.0.0", 8) ||
                                 memcmp(&host->address, &six, sizeof six) == 0))
            return true;
    }
    return false;
}

static bool is_four(const struct in6_addr *address)
{
    return IN6_IS_ADDR_V4MAPPED(address);
}

/* Appends an address without brackets. */
static void add_address(const struct in6_addr *address, struct str *to)
{
    char text[INET6_ADDRSTRLEN];

    if (is_four(address))
        str_add(to, inet_ntop(AF_INET, &address->s6_addr[12], text, sizeof text));
    else
        str_add(to, inet_ntop(AF_INET6, address, text, sizeof text));
}

void network_format(const struct network *network, struct str *to)
{
    if (network->kind != NETWORK_LIST)
        str_add(to, network->kind == NETWORK_OPEN ? "open" : "none");
    for (size_t i = 0; i < network->count; i++) {
        const struct network_rule *rule = &network->rules[i];
        bool brackets = rule->host.is_address && !is_four(&rule->host.address);
        str_addf(to, "%s%s%s", i > 0 ? " " : "", rule->below ? "*." : "", brackets ? "[" : "");
        if (rule->host.is_address)
            add_address(&rule->host.address, to);
        else
            str_add(to, rule->host.name);
        if (rule->prefix < ALL_BITS)
            str_addf(to, "/%d", rule->prefix - (brackets ? 0 : V4_BITS));
        str_add(to, brackets ? "]" : "");
        if (rule->port != 0)
            str_addf(to, ":%u", (unsigned)rule->port);
    }
}

void network_add_filter(const struct network *network, struct str *to)
{
    for (size_t i = 0; i < network->count; i++) {
        const struct network_rule *rule = &network->rules[i];
        if (rule->prefix < ALL_BITS) {
            str_add(to,
                    is_four(&rule->host.address) ? "^[0-9.]*$\n" : "^[0-9a-f:.]*:[0-9a-f:.]*$\n");
            continue;
        }
        _cleanup_str_ struct str text = STR_INIT;
        if (rule->host.is_address)
            add_address(&rule->host.address, &text);
        str_add(to, rule->below ? "^.*\\." : "^");
        for (const char *c = rule->host.is_address ? str_text(&text) : rule->host.name; *c != '\0';
             c++)
            str_addf(to, "%s%c", *c == '.' ? "\\" : "", *c);
        str_add(to, rule->host.is_address ? "$\n" : "\\.\\{0,1\\}$\n");
    }
}

static void add_port(uint16_t port, uint16_t *ports, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (ports[i] == port)
            return;
    }
    ports[(*count)++] = port;
}

size_t network_ports(const struct network *network, uint16_t **ret)
{
    size_t count = 0;

    *ret = mem_alloc((network->count + 1) * 2 * sizeof **ret);
    for (size_t i = 0; i < network->count; i++) {
        uint16_t port = network->rules[i].port;
        add_port(port != 0 ? port : HTTPS, *ret, &count);
        if (port == 0)
            add_port(HTTP, *ret, &count);
    }
    return count;
}
