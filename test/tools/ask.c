/*
 * Asks the host of an agent by its socket, for tests: python takes twenty times as long to start as
 * the host to answer. Requests that no client of mas would send are for test/host/ask.py.
 *
 *   ask RUN_DIR AGENT REQUEST [FILE]   asks (a JSON object), with FILE's bytes as the body
 *   ask RUN_DIR AGENT .MEMBER          prints a member of its status, as jq -r does
 *
 * It prints each answer as a line, until the host hangs up. REQUEST may be many, one a line: each
 * is asked on a connection of its own, in order. The exit code is 1 if there is no host, it says
 * nothing for 20 s, or its answer is cut.
 */
#include "base/frame.h"
#include "base/json.h"
#include "os/file.h"

#include <sys/socket.h>
#include <sys/un.h>

enum { SILENCE_S = 20, BODY_MAX = 1 << 28, ANSWER_MAX = 1 << 24 };

static _Noreturn void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "ask: %s: %s\n", what, why);
    exit(1);
}

/* The path is one below the working directory: it may be longer than a socket's. */
static int connect_to(const char *agent)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval silence = {.tv_sec = SILENCE_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if ((size_t)snprintf(to.sun_path, sizeof(to.sun_path), "%s.sock", agent) >= sizeof(to.sun_path))
        give_up(agent, "this name is too long");
    if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)) == -1)
        give_up(to.sun_path, strerror(errno));
    return fd;
}

/* A host that refuses a request may hang up before it has read all of it. */
static void send_all(int fd, const struct str *text)
{
    for (size_t sent = 0; sent < text->len;) {
        ssize_t n = send(fd, text->data + sent, text->len - sent, MSG_NOSIGNAL);
        if (n == -1 && errno != EINTR)
            give_up("cannot send", strerror(errno));
        sent += n > 0 ? (size_t)n : 0;
    }
}

/* Reads some of the answer. False: it is at its end. */
static bool receive(int fd, struct str *answer)
{
    char bytes[65536];
    ssize_t n = recv(fd, bytes, sizeof(bytes), 0);

    if (n == -1 && errno == ECONNRESET)
        return false;
    if (n == -1 && errno != EINTR)
        give_up("no answer", strerror(errno));
    if (n > 0)
        str_addn(answer, bytes, (size_t)n);
    return n != 0;
}

static void ask(const char *agent, const char *request, const char *body, size_t body_len)
{
    _cleanup_str_ struct str head = STR_INIT, text = STR_INIT, answer = STR_INIT;
    int fd = connect_to(agent);

    str_add(&head, request);
    frame_add(&text, &head, body, body_len);
    send_all(fd, &text);
    while (receive(fd, &answer)) {
        const char *end = answer.len > 0 ? memrchr(answer.data, '\n', answer.len) : NULL;
        if (end == NULL)
            continue;
        size_t whole = (size_t)(end - answer.data) + 1, rest = answer.len - whole;
        (void)fwrite(answer.data, 1, whole, stdout);
        (void)fflush(stdout); /* who watches reads each line as it comes */
        memmove(answer.data, answer.data + whole, rest);
        answer.len = rest;
    }
    (void)close(fd);
    if (answer.len > 0)
        give_up("half a frame", str_text(&answer));
}

static void print_member(const char *agent, const char *name)
{
    _cleanup_str_ struct str text = STR_INIT, answer = STR_INIT, shown = STR_INIT;
    _cleanup_json_ struct json *root = NULL;
    struct err err = ERR_INIT;
    int fd = connect_to(agent);

    str_add(&text, "{\"do\":\"status\"}\n");
    send_all(fd, &text);
    while (receive(fd, &answer))
        ;
    (void)close(fd);
    if (json_parse(str_text(&answer), answer.len, ANSWER_MAX, &root, &err) == -1)
        give_up("no status", err.text);
    const struct json *value = json_get(root, name);
    struct json_out out = {.to = &shown};
    json_put_node(&out, NULL, value);
    (void)puts(json_is_string(value) ? json_text(value) : str_text(&shown));
}

int main(int argc, char **argv)
{
    char *body = NULL;
    size_t body_len = 0;
    struct err err = ERR_INIT;

    if (argc < 4 || argc > 5) {
        (void)fputs("usage: ask RUN_DIR AGENT REQUEST [FILE] | .MEMBER\n", stderr);
        return 2;
    }
    if (argc == 5 && file_read(AT_FDCWD, argv[4], BODY_MAX, &body, &body_len, &err) == -1)
        give_up(argv[4], err.text);
    if (chdir(argv[1]) == -1)
        give_up(argv[1], strerror(errno));
    if (argv[3][0] == '.') {
        print_member(argv[2], argv[3] + 1);
    } else {
        for (char *rest = argv[3], *request; (request = strsep(&rest, "\n")) != NULL;)
            if (request[0] != '\0')
                ask(argv[2], request, body, body_len);
    }
    free(body);
    return 0;
}
