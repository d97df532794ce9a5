#include "serve/guard.h"

#include "base/file.h"
#include "base/path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, TOKEN_MIN = 16, TOKEN_MAX = 1024, HOST_MAX = 255 };

/* Creates the token file from 32 random bytes. It gets its name when it is complete. */
static int make_token(int root, const char *path, struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *fresh = mem_printf("%s.%ld.new", path, (long)getpid());

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return err_errno(err, "cannot create a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        str_addf(&text, "%02x", bytes[i]);
    str_addc(&text, '\n');
    if (file_create(root, fresh, text.data, text.len, 0600, err) == -1)
        return -1;
    int rc = linkat(root, fresh, root, path, 0); /* another server may have created it meanwhile */
    if (rc == -1 && errno == EEXIST)
        rc = 0;
    if (rc == -1)
        (void)err_errno(err, "cannot create the token file '%s'", path);
    (void)unlinkat(root, fresh, 0);
    return rc;
}

/* Reads the token. Fails if others can read its file. */
static int read_token(int root, const char *path, char **ret, struct err *err)
{
    struct stat st;
    char *text = NULL;
    size_t len = 0;
    _cleanup_close_ int fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd == -1 && errno == ENOENT) {
        if (make_token(root, path, err) == -1)
            return -1;
        fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (fd == -1 || fstat(fd, &st) == -1)
        return err_errno(err, "cannot read the token file '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, MAS_FAILED, "cannot use the token file '%s': it is %s", path,
                       path_type_name(st.st_mode));
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
        (void)err_set(err, MAS_FAILED, "cannot use the token file '%s': others may read it", path);
        return err_hint(err, "make it private with: chmod 600");
    }
    if (file_read_stream(fd, path, TOKEN_MAX, &text, &len, err) == -1)
        return -1;
    len = strcspn(text, " \t\r\n");
    bool good = text[len + strspn(text + len, " \t\r\n")] == '\0' && len >= TOKEN_MIN;
    text[len] = '\0';
    for (size_t i = 0; i < len; i++)
        good = good && text[i] > ' ' && text[i] < 0x7f;
    if (!good) {
        free(text);
        return err_set(err, MAS_FAILED,
                       "cannot use the token file '%s': a token must be one word of 16 to 1024 "
                       "printable characters",
                       path);
    }
    *ret = text;
    return 0;
}

int guard_make(const struct root *root, const struct config *config, bool needs_token,
               struct guard *ret, struct err *err)
{
    const char *path = config_text(config, SETTING_SERVE_TOKEN);
    char *token = NULL;

    if (needs_token && path[0] == '\0')
        return err_set(err, MAS_FAILED, "cannot serve: the settings name no token file");
    if (needs_token && read_token(root->fd, path, &token, err) == -1)
        return -1;
    guard_free(ret);
    ret->token = token != NULL ? token : mem_dup("");
    ret->hosts = str_split_list(config_text(config, SETTING_SERVE_HOSTS));
    return 0;
}

void guard_free(struct guard *guard)
{
    strv_free(guard->hosts);
    free(guard->token);
    *guard = (struct guard){.hosts = NULL};
}

/* Compares in a time that reveals only the length of `sent`. */
static bool same_token(const char *token, const char *sent)
{
    size_t len = strlen(token);
    size_t sent_len = strlen(sent);
    volatile unsigned char differs = sent_len != len;

    for (size_t i = 0; i < sent_len; i++)
        differs = (unsigned char)(differs | (token[len == 0 ? 0 : i % len] ^ sent[i]));
    return differs == 0;
}

/* Gets the host of "host:port". Returns false if it is too long or malformed. */
static bool add_host(const char *text, char ret[HOST_MAX + 1])
{
    const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    size_t len = end == NULL ? strlen(text) : (size_t)(end - text) + (text[0] == '[');

    if (len == 0 || len > HOST_MAX)
        return false;
    memcpy(ret, text, len);
    ret[len] = '\0';
    const char *port = text + len;
    return port[0] == '\0' ||
           (port[0] == ':' && strspn(port + 1, "0123456789") == strlen(port + 1));
}

static bool is_number(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    char inner[HOST_MAX + 1];
    size_t len = strlen(host);

    if (host[0] != '[')
        return inet_pton(AF_INET, host, &four) == 1;
    if (host[len - 1] != ']')
        return false;
    memcpy(inner, host + 1, len - 1);
    inner[len - 2] = '\0';
    return inet_pton(AF_INET6, inner, &six) == 1;
}

static bool is_listed(const struct guard *guard, const char *host)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcasecmp(own[i], host) == 0)
            return true;
    for (char **at = guard->hosts; at != NULL && *at != NULL; at++)
        if (strcasecmp(*at, host) == 0)
            return true;
    return false;
}

static bool is_good_host(const struct guard *guard, const char *text)
{
    char host[HOST_MAX + 1];
    return add_host(text, host) && (is_listed(guard, host) || is_number(host));
}

/* Numeric addresses of other machines are as foreign as any name: only listed hosts. */
static bool is_good_origin(const struct guard *guard, const char *origin)
{
    char host[HOST_MAX + 1];
    size_t scheme = str_starts(origin, "http://")    ? strlen("http://")
                    : str_starts(origin, "https://") ? strlen("https://")
                                                     : 0;
    return scheme != 0 && add_host(origin + scheme, host) && is_listed(guard, host);
}

bool guard_passes(const struct guard *guard, struct request *request, bool open)
{
    const char *sent = request->authorization;

    if (!request->local && (request->host == NULL || !is_good_host(guard, request->host))) {
        answer_error(request, 403, "cannot answer for this Host: it is not in [serve] hosts");
        return false;
    }
    if (request->origin != NULL && !is_good_origin(guard, request->origin)) {
        answer_error(request, 403, "cannot answer requests from this Origin");
        return false;
    }
    request->known =
        request->local || (sent != NULL && strncasecmp(sent, "Bearer ", 7) == 0 &&
                           guard->token[0] != '\0' && same_token(guard->token, sent + 7));
    if (!open && !request->known) {
        answer_error(request, 401,
                     sent == NULL ? "the request needs a token: Authorization: Bearer TOKEN"
                                  : "the token is wrong");
        return false;
    }
    return true;
}
