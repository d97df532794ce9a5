/*
 * If systemd passes sockets on, the settings open none. A Unix socket that exists is tried: one
 * that takes a connection belongs to a server that runs, one that does not was left by a killed one
 * and is removed. It is made under a umask that gives it to this user alone. If one of them fails,
 * those that are open are closed again.
 */

#include "serve/bind.h"

#include "base/address.h"

#include <sys/socket.h>
#include <sys/un.h>

enum { BACKLOG = 512, FIRST_FD = 3 };

static bool has_tls(const struct config *config)
{
    return config_text(config, SETTING_SERVE_CERT)[0] != '\0';
}

/* Checks whether mas may listen at an address. */
static int check_reach(const struct config *config, const struct address *address, struct err *err)
{
    _cleanup_str_ struct str name = STR_INIT;

    if (address_is_loopback(address) || has_tls(config) || config_yes(config, SETTING_SERVE_REMOTE))
        return 0;
    address_add(&name, address);
    (void)err_set(err, MAS_FAILED,
                  "cannot listen at '%s': others can reach it and would see the token", name.data);
    return err_hint(err, "give --tls-cert and --tls-key, or --allow-remote if a proxy uses TLS");
}

static void add(struct bindings *bindings, int fd, bool local, char *name, char *path)
{
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    bindings->at[bindings->count++] =
        (struct binding){.fd = fd, .local = local, .name = name, .path = path};
}

static char *name_of(const struct config *config, int fd)
{
    struct address address = {.len = sizeof address.at};
    struct str name = STR_INIT;

    (void)getsockname(fd, (struct sockaddr *)&address.at, &address.len);
    str_add(&name, has_tls(config) ? "https://" : "http://");
    address_add(&name, &address);
    return str_steal(&name);
}

static int bind_address(const struct config *config, struct bindings *bindings, struct err *err)
{
    const char *text = config_text(config, SETTING_SERVE_LISTEN);
    struct address address;
    const int on = 1;

    if (text[0] == '\0')
        return 0;
    if (!address_parse(text, &address))
        return err_set(err, MAS_FAILED, "cannot listen at '%s': it is not ADDRESS:PORT", text);
    if (check_reach(config, &address, err) == -1)
        return -1;
    _cleanup_close_ int fd =
        socket(address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd == -1 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == -1 ||
        bind(fd, (const struct sockaddr *)&address.at, address.len) == -1 ||
        listen(fd, BACKLOG) == -1)
        return err_errno(err, "cannot listen at '%s'", text);
    int taken = TAKE_FD(fd);
    add(bindings, taken, false, name_of(config, taken), NULL);
    return 0;
}

/* Removes the stale socket of a killed server; fails if anything else is there. */
static int clear_path(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) == -1)
        return errno == ENOENT ? 0 : err_errno(err, "cannot listen at '%s'", path);
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return err_set(err, MAS_CONFLICT,
                       "cannot listen at '%s': it exists and is not a socket of yours", path);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    memcpy(at.sun_path, path, strlen(path) + 1);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd != -1 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return err_set(err, MAS_CONFLICT,
                       "cannot listen at '%s': another process is listening there", path);
    return unlink(path) == 0 ? 0 : err_errno(err, "cannot listen at '%s'", path);
}

static int bind_unix(const struct root *root, const struct config *config,
                     struct bindings *bindings, struct err *err)
{
    const char *text = config_text(config, SETTING_SERVE_UNIX);
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    if (text[0] == '\0')
        return 0;
    _cleanup_free_ char *path =
        text[0] == '/' ? mem_dup(text) : mem_printf("%s/%s", root->path, text);
    if (strlen(path) >= sizeof at.sun_path)
        return err_set(err, MAS_FAILED, "cannot listen at '%s': it is longer than %zu bytes", path,
                       sizeof at.sun_path - 1);
    if (clear_path(path, err) == -1)
        return -1;
    memcpy(at.sun_path, path, strlen(path) + 1);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t was = umask(0177);
    int rc = fd == -1 ? -1 : bind(fd, (const struct sockaddr *)&at, sizeof at);
    (void)umask(was);
    if (rc == -1 || listen(fd, BACKLOG) == -1)
        return err_errno(err, "cannot listen at '%s'", path);
    int taken = TAKE_FD(fd);
    char *name = mem_printf("unix:%s", path);
    add(bindings, taken, true, name, path);
    path = NULL;
    return 0;
}

/* Returns how many sockets systemd passes on (sd_listen_fds(3)). */
static int count_inherited(void)
{
    const char *pid = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");

    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long n = strtol(count, NULL, 10);
    return n < 0 ? 0 : n > BIND_MAX ? BIND_MAX : (int)n;
}

static int adopt_inherited(const struct config *config, int count, struct bindings *bindings,
                           struct err *err)
{
    for (int fd = FIRST_FD; fd < FIRST_FD + count; fd++) {
        struct address address = {.len = sizeof address.at};
        int listens = 0;
        socklen_t len = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1 || listens == 0 ||
            getsockname(fd, (struct sockaddr *)&address.at, &address.len) == -1)
            return err_set(err, MAS_FAILED,
                           "cannot use descriptor %d: it is not a listening socket", fd);
        bool local = address.at.ss_family == AF_UNIX;
        if (!local && check_reach(config, &address, err) == -1)
            return -1;
        add(bindings, fd, local,
            local ? mem_printf("unix: descriptor %d", fd) : name_of(config, fd), NULL);
    }
    return 0;
}

int bind_all(const struct root *root, const struct config *config, struct bindings *ret,
             struct err *err)
{
    int inherited = count_inherited();

    *ret = (struct bindings){.count = 0};
    int rc = inherited > 0                          ? adopt_inherited(config, inherited, ret, err)
             : bind_address(config, ret, err) == -1 ? -1
                                                    : bind_unix(root, config, ret, err);
    if (rc == 0 && ret->count == 0)
        rc = err_set(err, MAS_FAILED, "cannot serve: neither an address nor a socket is set");
    if (rc == -1)
        bind_end(ret);
    return rc;
}

void bind_end(struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++) {
        struct binding *at = &bindings->at[i];
        if (at->path != NULL)
            (void)unlink(at->path);
        fd_closep(&at->fd);
        free(at->name);
        free(at->path);
    }
    bindings->count = 0;
}

bool bind_is_open(const struct bindings *bindings)
{
    for (size_t i = 0; i < bindings->count; i++)
        if (!bindings->at[i].local)
            return true;
    return false;
}
