/*
 * A request passes three questions in this order: is the Host this server, is the Origin no foreign
 * page, whose token is it. Tokens are kept and compared as sums. A file of tokens is read again
 * when its stat differs; if that fails for a reason of its own it opens nothing, and if this
 * process lacks descriptors or memory, what was read before stays until the next look.
 */

#include "serve/guard.h"

#include "os/file.h"
#include "os/path.h"

#include <arpa/inet.h>
#include <strings.h>

enum { TOKEN_MIN = 16, TOKEN_MAX = 1024, HOST_MAX = 255 };

/* Creates the token file. It gets its name when it is complete. */
static int make_token(int root, const char *path, struct err *err)
{
    _cleanup_free_ char *fresh = mem_printf("%s.%ld.new", path, (long)getpid());
    char text[TOKEN_TEXT];

    if (token_make(text, err) == -1)
        return -1;
    text[TOKEN_TEXT - 1] = '\n';
    if (file_create(root, fresh, text, sizeof text, 0600, err) == -1)
        return -1;
    int rc = linkat(root, fresh, root, path, 0); /* another server may have created it meanwhile */
    if (rc == -1 && errno == EEXIST)
        rc = 0;
    if (rc == -1)
        (void)err_errno(err, "cannot create the token file '%s'", path);
    (void)unlinkat(root, fresh, 0);
    return rc;
}

/* Reads the token file. Fails if others can read it. */
static int read_token(int fd, const char *path, struct token *ret, struct err *err)
{
    struct stat st;
    _cleanup_free_ char *text = NULL;
    size_t len = 0;

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
    for (size_t i = 0; i < len; i++)
        good = good && text[i] > ' ' && text[i] < 0x7f;
    if (!good)
        return err_set(err, MAS_FAILED,
                       "cannot use the token file '%s': a token must be one word of 16 to 1024 "
                       "printable characters",
                       path);
    *ret = (struct token){.right = RIGHT_FULL, .name = TOKEN_OF_FILE};
    sha256_of(text, len, ret->hash);
    return 0;
}

static int open_token(int root, const char *path)
{
    return openat(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int load_own(struct guard *guard, struct err *err)
{
    struct token token;
    _cleanup_close_ int fd = open_token(guard->root->fd, guard->token_file);

    if (read_token(fd, guard->token_file, &token, err) == -1)
        return -1;
    tokens_free(&guard->own);
    guard->own.at = mem_room(NULL, 0, sizeof token);
    guard->own.at[guard->own.count++] = token;
    return 0;
}

int guard_make(const struct root *root, const struct config *config, bool needs_token,
               struct guard *ret, struct err *err)
{
    const char *path = config_text(config, SETTING_SERVE_TOKEN);
    struct guard guard = {.root = root};

    if (needs_token && path[0] == '\0')
        return err_set(err, MAS_FAILED, "cannot serve: the settings name no token file");
    if (needs_token && faccessat(root->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == -1 &&
        errno == ENOENT && make_token(root->fd, path, err) == -1)
        return -1;
    guard.token_file = needs_token ? mem_dup(path) : NULL;
    if (needs_token && load_own(&guard, err) == -1) {
        guard_free(&guard);
        return -1;
    }
    if (tokens_read(root, &guard.named, err) == -1) {
        guard_free(&guard);
        return -1;
    }
    char sum[SHA256_TEXT];
    sha256_of(root->path, strlen(root->path), sum);
    (void)snprintf(guard.cookie, sizeof guard.cookie, "mas_%.8s", sum);
    guard.hosts = str_split_list(config_text(config, SETTING_SERVE_HOSTS));
    guard_free(ret);
    *ret = guard;
    return 0;
}

void guard_free(struct guard *guard)
{
    strv_free(guard->hosts);
    free(guard->token_file);
    tokens_free(&guard->own);
    tokens_free(&guard->named);
    *guard = (struct guard){.hosts = NULL};
}

/* ---- tokens */

/* Returns true if the file is not the one of `seen`, which it becomes. */
static bool has_changed(int dir, const char *path, struct stat *seen)
{
    struct stat now;

    if (fstatat(dir, path, &now, 0) == -1)
        now = (struct stat){.st_ino = 0, .st_nlink = errno == ENOENT};
    bool same = now.st_ino == seen->st_ino && now.st_dev == seen->st_dev &&
                now.st_nlink == seen->st_nlink && now.st_size == seen->st_size &&
                now.st_mode == seen->st_mode && now.st_uid == seen->st_uid &&
                now.st_ctim.tv_sec == seen->st_ctim.tv_sec &&
                now.st_ctim.tv_nsec == seen->st_ctim.tv_nsec;
    *seen = now;
    return !same;
}

/* Returns true if a file could not be read for a reason that says nothing about it. */
static bool is_passing(const struct err *err)
{
    return err->number == EMFILE || err->number == ENFILE || err->number == ENOMEM ||
           err->number == EINTR;
}

bool guard_refresh(struct guard *guard)
{
    bool own = guard->token_file != NULL &&
               has_changed(guard->root->fd, guard->token_file, &guard->own_seen);
    bool named = has_changed(guard->root->sessions, TOKENS_FILE, &guard->named_seen);
    struct tokens fresh = TOKENS_INIT;
    struct err err = ERR_INIT;

    if (own && load_own(guard, &err) == -1) {
        if (is_passing(&err))
            guard->own_seen.st_size = -1; /* look again */
        else
            tokens_free(&guard->own);
    }
    err = (struct err)ERR_INIT;
    if (named && tokens_read(guard->root, &fresh, &err) == -1 && is_passing(&err)) {
        guard->named_seen.st_size = -1;
    } else if (named) {
        tokens_free(&guard->named);
        guard->named = fresh;
    }
    return own || named;
}

static const struct token *find_token(const struct guard *guard, const char hash[SHA256_TEXT])
{
    time_t now = time(NULL);
    const struct token *own = tokens_find(&guard->own, hash, now);
    const struct token *named = tokens_find(&guard->named, hash, now);

    return own != NULL ? own : named;
}

bool guard_still_knows(const struct guard *guard, const struct request *request)
{
    return request->token[0] == '\0' || find_token(guard, request->token) != NULL;
}

/* Finds out whose token the text is. */
static void identify(const struct guard *guard, const char *text, struct request *request)
{
    char hash[SHA256_TEXT];

    sha256_of(text, strlen(text), hash);
    const struct token *token = find_token(guard, hash);
    if (token == NULL)
        return;
    request->known = true;
    request->right = token->right;
    request->guest = token->guest;
    memcpy(request->who, token->name, sizeof request->who);
    memcpy(request->token, hash, sizeof request->token);
}

bool guard_permits(struct request *request, enum right needed, const char *what)
{
    if (request->right >= needed)
        return true;
    answer_refusal(request, 403, "missing_right",
                   "use a token with this right; GET /pair says which one a token has",
                   "the token '%s' has the right '%s', but %s needs '%s'", request->who,
                   right_name(request->right), what, right_name(needed));
    return false;
}

/* ---- guests */

static bool refuse_guest(struct request *request, const char *what)
{
    answer_refusal(request, 403, "missing_right",
                   "ask who has invited you; GET /pair says which session is yours",
                   "the token '%s' is a guest's, who may not %s", request->who, what);
    return false;
}

/* Binds a query that names a session to the guest's own. */
static bool bind_session(struct request *request)
{
    static const char key[] = "session";
    const struct param *param = param_find(request->operation->params, key);
    const char *given = request_query(request, key);

    if (param == NULL || param->kind != PARAM_HERE)
        return true;
    if (given != NULL && strcmp(given, request->guest.session) != 0) {
        answer_error(request, 404, "there is no session '%s'", given);
        return false;
    }
    if (given == NULL && request->query_count == REQUEST_QUERIES) {
        answer_error(request, 400, "cannot read the query of the address");
        return false;
    }
    if (given == NULL)
        request->queries[request->query_count++] = (struct query){key, request->guest.session};
    return true;
}

bool guard_admits(struct request *request)
{
    const struct operation *operation = request->operation;
    const struct guest *guest = &request->guest;

    if (!guest_is(guest) || operation->right == RIGHT_NONE)
        return true;
    if (operation->guests == GUESTS_NEVER)
        return refuse_guest(request, "do this");
    if (request->id[0] != '\0' && !guest_sees(guest, request->id, NULL)) {
        answer_error(request, 404, "there is no session '%s'", request->id);
        return false;
    }
    if (request->agent != NULL && !guest_sees(guest, request->id, request->agent)) {
        answer_error(request, 404, "there is no agent '%s' in this session", request->agent);
        return false;
    }
    if (operation->guests == GUESTS_WHOLE && guest->agents[0] != '\0')
        return refuse_guest(request, "see more than single agents");
    return bind_session(request);
}

bool guard_admits_param(struct request *request, const struct param *param, const struct json *node)
{
    static const char *const closed[] = {"mode", "tags", "execute"}; /* of bodies */
    static const char *const closed_words[] = {"set a mode", "set tags", "leave a line unsent"};
    const struct guest *guest = &request->guest;
    bool is_body = !operation_has_queries(request->operation);

    if (!guest_is(guest))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(closed); i++)
        if (is_body && node != NULL && strcmp(param->name, closed[i]) == 0)
            return refuse_guest(request, closed_words[i]);
    if (is_body || strcmp(param->name, "agent") != 0 || guest->agents[0] == '\0')
        return true;
    const char *agent = json_text(node);
    return (agent != NULL && guest_sees(guest, guest->session, agent)) ||
           refuse_guest(request, "ask for more than single agents: the query agent names one");
}

/* ---- Host and Origin */

/* Gets the host of "host:port"; *ret_port is the port as it is written, "" if there is none.
 * Returns false if it is too long or malformed. */
static bool split_host(const char *text, char ret[HOST_MAX + 1], const char **ret_port)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    size_t len = end == NULL ? strlen(text) : (size_t)(end - text) + (text[0] == '[');

    if (len == 0 || len > HOST_MAX)
        return false;
    memcpy(ret, text, len);
    ret[len] = '\0';
    *ret_port = text + len + (text[len] == ':');
    return text[len] == '\0' ||
           (text[len] == ':' && strspn(*ret_port, "0123456789") == strlen(*ret_port));
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

static bool is_loopback(const char *host)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcasecmp(own[i], host) == 0)
            return true;
    return false;
}

static bool is_listed(const struct guard *guard, const char *host)
{
    for (char **at = guard->hosts; at != NULL && *at != NULL; at++)
        if (strcasecmp(*at, host) == 0)
            return true;
    return false;
}

static bool is_good_host(const struct guard *guard, const char *text)
{
    char host[HOST_MAX + 1];
    const char *port;

    return split_host(text, host, &port) &&
           (is_loopback(host) || is_listed(guard, host) || is_number(host));
}

/* An origin is ours if it is the address that the request was sent to, which is that of this
 * server's own page; or a name of this server with the port where it listens, because another port
 * of the same machine may be anybody's; or a listed name without a port, which a proxy has. Numeric
 * addresses of other machines are as foreign as any name. */
static bool is_good_origin(const struct guard *guard, const struct request *request)
{
    const char *origin = request->origin;
    char host[HOST_MAX + 1];
    char own[sizeof "65535"];
    const char *port;
    size_t scheme = str_starts(origin, "http://")    ? strlen("http://")
                    : str_starts(origin, "https://") ? strlen("https://")
                                                     : 0;
    if (scheme == 0 || !split_host(origin + scheme, host, &port) ||
        !is_good_host(guard, origin + scheme))
        return false;
    if (request->host != NULL && strcasecmp(origin + scheme, request->host) == 0)
        return true;
    (void)snprintf(own, sizeof own, "%u", (unsigned)request->port);
    if (strcmp(port, own) == 0)
        return is_loopback(host) || is_listed(guard, host);
    return port[0] == '\0' && is_listed(guard, host);
}

/* ---- paired browsers */

/* Returns true if the request comes from this server's own page, as far as the browser tells. */
static bool is_own_page(const struct request *request)
{
    const char *origin = request->origin;
    const char *host = origin == NULL ? NULL : strstr(origin, "://");

    if (request->fetch_site != NULL && strcmp(request->fetch_site, "same-origin") != 0)
        return false;
    return origin == NULL ||
           (host != NULL && request->host != NULL && strcasecmp(host + 3, request->host) == 0);
}

/* Finds out whose token the two halves are. */
static void try_halves(const struct guard *guard, struct request *request)
{
    const char *halves[] = {request->cookie_token, request->page_token};
    char token[TOKEN_TEXT];

    for (size_t i = 0; i < ARRAY_LEN(halves); i++)
        if (halves[i] == NULL || strlen(halves[i]) != TOKEN_HALF)
            return;
    if (!is_own_page(request))
        return;
    memcpy(token, halves[0], TOKEN_HALF);
    memcpy(token + TOKEN_HALF, halves[1], TOKEN_HALF + 1);
    identify(guard, token, request);
    request->paired = request->known;
}

bool guard_passes(const struct guard *guard, struct request *request, bool open)
{
    const char *sent = request->authorization;

    if (!request->local && (request->host == NULL || !is_good_host(guard, request->host))) {
        answer_refusal(request, 403, NULL,
                       "ask by the number of the server or by localhost, or have the name added to "
                       "hosts of [serve] in mas.ini",
                       "cannot answer for this Host: it is not in [serve] hosts");
        return false;
    }
    if (request->origin != NULL && !is_good_origin(guard, request)) {
        answer_error(request, 403, "cannot answer requests from this Origin");
        return false;
    }
    if (request->local) {
        request->known = true;
        request->right = RIGHT_FULL;
    } else if (sent != NULL && strncasecmp(sent, "Bearer ", 7) == 0) {
        identify(guard, sent + 7, request);
    } else if (sent == NULL) {
        try_halves(guard, request);
    }
    if (!open && !request->known) {
        answer_error(request, 401,
                     sent == NULL ? "the request needs a token: Authorization: Bearer TOKEN"
                                  : "the token is wrong");
        return false;
    }
    return true;
}
