/*
 * Heads of requests that can be read in two ways are refused: a proxy may have read them in the
 * other way. libmicrohttpd before 1.0 takes most of them, and does not show how a head was written.
 * But it leaves each header where it came in, and puts NULs in the place of the delimiters, so what
 * lies between two headers tells how the line ended.
 */
#include "base/number.h"
#include "serve/http_internal.h"

#include <sys/socket.h>

static bool is_old(void)
{
    return str_starts(MHD_get_version(), "0.");
}

/* Above 0, an old one answers a request without Host twice. */
int http_head_strictness(void)
{
    return is_old() ? 0 : 1;
}

/* Headers that decide something. If one comes twice, a proxy may use the other value. */
static const char *const single[] = {"Host",
                                     "Origin",
                                     "Authorization",
                                     "Content-Length",
                                     "Transfer-Encoding",
                                     "Idempotency-Key",
                                     "Mas-Page-Token",
                                     "Sec-Fetch-Site"};

/* What is found in a head. */
struct head {
    unsigned counts[ARRAY_LEN(single)];
    const char *next; /* where the next header has to begin; NULL: that is not known */
    bool well_formed;
};

static bool is_name(const char *text)
{
    size_t len = strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return len > 0 && text[len] == '\0';
}

static bool is_value(const char *text)
{
    for (; *text != '\0'; text++)
        if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static enum MHD_Result look(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct head *head = cls;
    const char *text = value != NULL ? value : "";

    (void)kind;
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        head->counts[i] += strcasecmp(name, single[i]) == 0;
    head->well_formed = head->well_formed && is_name(name) && is_value(text);
    if (head->next == NULL || !head->well_formed)
        return MHD_YES;
    /* the name, a NUL for the colon, blanks, the value, two NULs for the end of the line */
    const char *colon = name + strlen(name);
    head->well_formed = name == head->next && value != NULL && value > colon &&
                        (size_t)(value - colon) == 1 + strspn(colon + 1, " \t");
    head->next = text + strlen(text) + 2;
    return MHD_YES;
}

/* A blank or a control character in the target of a request: others see the end of it there. */
static bool is_target(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

/* Returns true if the lines of the head follow each other as they should. */
static bool has_its_form(struct exchange *exchange, const char *verb, const char *version,
                         struct head *head)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    if (size == NULL || !is_target(exchange->uri))
        return false;
    if (is_old()) {
        if (exchange->uri != verb + strlen(verb) + 1 ||
            version != exchange->uri + exchange->uri_len + 1)
            return false;
        head->next = version + strlen(version) + 2;
    }
    (void)MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, look, head);
    return head->well_formed && (head->next == NULL || head->next + 2 == verb + size->header_size);
}

static bool is_length(const char *text)
{
    uint64_t length;

    return number_parse_count(text, INT64_MAX, &length);
}

char *http_head_fault(struct exchange *exchange, const char *verb, const char *version)
{
    struct MHD_Connection *connection = exchange->connection;
    const char *coding =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    struct head head = {.well_formed = true};
    bool has_form = has_its_form(exchange, verb, version, &head);

    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        if (head.counts[i] > 1)
            return mem_printf("duplicate header %s", single[i]);
    bool is_first = strcmp(version, "HTTP/1.0") == 0;
    const char *fault =
        !has_form                              ? "a line of the head is malformed"
        : !is_first && head.counts[0] == 0     ? "the header Host is missing"
        : length != NULL && !is_length(length) ? "the Content-Length is no number"
        : coding == NULL                       ? NULL
        : is_first                             ? "HTTP/1.0 has no Transfer-Encoding"
        : length != NULL ? "the request has both Content-Length and Transfer-Encoding"
        : strcasecmp(coding, "chunked") != 0 ? "the Transfer-Encoding is not chunked"
                                             : NULL;
    return mem_dup(fault);
}

/* Answers for libmicrohttpd, and ends the connection before it writes. */
static void refuse_link(struct link *link)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
                                 "Content-Length: 0\r\n\r\n";

    if (!link->encrypted)
        (void)send(link->fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(link->fd, SHUT_WR);
}

/* An old libmicrohttpd answers a malformed Content-Length by itself, with two status lines. What it
 * logs before is all that it tells about it. */
void http_head_log(void *cls, const char *fmt, va_list args)
{
    struct http *http = cls;

    (void)fmt;
    (void)args;
    if (!is_old())
        return;
    for (struct link *link = http->links; link != NULL; link = link->next) {
        const char *length = link->head == NULL
                                 ? NULL
                                 : MHD_lookup_connection_value(link->head->connection,
                                                               MHD_HEADER_KIND, "Content-Length");
        if (length == NULL || is_length(length))
            continue;
        link->head = NULL;
        refuse_link(link);
    }
}
