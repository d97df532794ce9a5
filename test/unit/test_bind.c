/*
 * Where the server listens.
 */
#include "root.h"

#include "serve/bind.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Binds with these settings. */
static int bind_with(const struct root *root, const struct place *place, const char *settings,
                     struct bindings *ret, struct err *err)
{
    _cleanup_config_ struct config config = CONFIG_INIT;
    _cleanup_free_ char *text = mem_printf("[serve]\n%s", settings);

    *err = (struct err)ERR_INIT;
    if (!place_put(place->dir, ROOT_SETTINGS, text) ||
        !CHECK(went_well(config_load(root, false, &config, NULL, err), err)))
        return -1;
    return bind_all(root, &config, ret, err);
}

TEST(others_reach_it_only_with_tls_or_if_that_is_allowed)
{
    static const struct {
        const char *settings;
        bool good;
    } cases[] = {
        {"listen = 127.0.0.1:0\n", true},
        {"listen = [::1]:0\n", true},
        {"listen = 0.0.0.0:0\n", false},
        {"listen = 0.0.0.0:0\ntls_cert = c\ntls_key = k\n", true},
        {"listen = 0.0.0.0:0\nallow_remote = yes\n", true},
        {"listen = 0.0.0.0:0\nallow_remote = no\n", false},
    };
    A_ROOT;

    root_clear_env(&place);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bindings bindings;
        bool good = bind_with(&root, &place, cases[i].settings, &bindings, &err) == 0;
        if (!good && strstr(err.text, "Cannot assign") != NULL)
            continue; /* there is no IPv6 here */
        if (good != cases[i].good)
            unit_print_str("settings", cases[i].settings);
        CHECK_INT(good, cases[i].good);
        CHECK_INT(bindings.count, good ? 1 : 0);
        if (!good) {
            CHECK(strstr(err.text, "others can reach it") != NULL);
            continue;
        }
        CHECK(str_starts(bindings.at[0].name, i == 3 ? "https://" : "http://"));
        CHECK(!str_ends(bindings.at[0].name, ":0")); /* the port that it got */
        CHECK(bind_is_open(&bindings) && !bindings.at[0].local);
        CHECK((fcntl(bindings.at[0].fd, F_GETFL) & O_NONBLOCK) != 0);
        CHECK((fcntl(bindings.at[0].fd, F_GETFD) & FD_CLOEXEC) != 0);
        bind_end(&bindings);
    }
}

TEST(a_unix_socket_is_the_users_alone_and_goes_at_the_end)
{
    A_ROOT;
    struct bindings bindings;
    struct bindings second;
    struct stat st;

    root_clear_env(&place);
    mode_t was = umask(027);
    MUST(bind_with(&root, &place, "listen =\nunix = s\n", &bindings, &err));
    CHECK_INT(umask(was), 027); /* what is made later is made as the user wants it */
    REQUIRE(bindings.count == 1);
    CHECK(bindings.at[0].local && !bind_is_open(&bindings));
    CHECK(fstatat(place.dir, "s", &st, 0) == 0 && (st.st_mode & 07777) == 0600);
    /* it listens: another server does not take it */
    CHECK_INT(bind_with(&root, &place, "listen =\nunix = s\n", &second, &err), -1);
    CHECK_INT(err.code, MAS_CONFLICT);
    CHECK_INT(second.count, 0);
    CHECK_INT(fstatat(place.dir, "s", &st, 0), 0);
    /* nor does one that has an address before it keep that */
    CHECK_INT(bind_with(&root, &place, "listen = 127.0.0.1:0\nunix = s\n", &second, &err), -1);
    CHECK_INT(second.count, 0);
    fd_closep(&bindings.at[0].fd); /* a killed one's is replaced */
    MUST(bind_with(&root, &place, "listen = 127.0.0.1:0\nunix = s\n", &second, &err));
    CHECK_INT(second.count, 2);
    CHECK(bind_is_open(&second));
    bind_end(&second);
    CHECK_INT(second.count, 0);
    CHECK_INT(fstatat(place.dir, "s", &st, 0), -1);
    bind_end(&bindings);
}

TEST(what_is_no_socket_is_left_alone)
{
    A_ROOT;
    struct bindings bindings;
    struct stat st;

    root_clear_env(&place);
    CHECK(place_put(place.dir, "file", "x"));
    CHECK_INT(symlinkat("nowhere", place.dir, "link"), 0);
    static const char *const settings[] = {"listen =\nunix = file\n", "listen =\nunix = link\n"};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        CHECK_INT(bind_with(&root, &place, settings[i], &bindings, &err), -1);
        CHECK_INT(err.code, MAS_CONFLICT);
    }
    CHECK_INT(fstatat(place.dir, "file", &st, 0), 0);
    CHECK_INT(fstatat(place.dir, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    CHECK_INT(bind_with(&root, &place, "listen =\nunix =\n", &bindings, &err), -1);
    CHECK_STR(err.text, "cannot serve: neither an address nor a socket is set");
}

TEST(the_path_of_a_socket_has_its_length)
{
    A_ROOT;
    struct sockaddr_un at;

    root_clear_env(&place);
    for (size_t len = sizeof at.sun_path - 1; len <= sizeof at.sun_path; len++) {
        struct bindings bindings;
        _cleanup_free_ char *settings = mem_printf("listen =\nunix = %s/%0*d\n", root.path,
                                                   (int)(len - strlen(root.path) - 1), 0);
        bool good = bind_with(&root, &place, settings, &bindings, &err) == 0;
        CHECK_INT(good, len < sizeof at.sun_path);
        if (!good)
            CHECK(strstr(err.text, "it is longer than 107 bytes") != NULL);
        bind_end(&bindings);
    }
}

/* ---- sockets of systemd, which begin at descriptor 3 */

static void listen_at(int fd, int family, bool loopback, bool listens)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    int made = socket(family, SOCK_STREAM, 0);

    four.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    int rc = family == AF_UNIX ? bind(made, (const struct sockaddr *)&local, sizeof(sa_family_t))
                               : bind(made, (const struct sockaddr *)&four, sizeof four);
    CHECK_INT(rc, 0);
    if (listens)
        CHECK_INT(listen(made, 1), 0);
    if (made != fd) {
        CHECK_INT(dup2(made, fd), fd);
        CHECK_INT(close(made), 0);
    }
}

TEST(sockets_of_systemd_are_taken_over)
{
    static const struct {
        int family;
        bool loopback, listens, good;
    } cases[] = {
        {AF_INET, true, true, true},
        {AF_INET, false, true, false},
        {AF_UNIX, false, true, true},
        {AF_INET, true, false, false},
    };
    A_ROOT;
    char pid[16];
    int kept[BIND_MAX + 1];

    root_clear_env(&place);
    for (int i = 0; i <= BIND_MAX; i++)
        kept[i] = fcntl(3 + i, F_DUPFD_CLOEXEC, 100);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    _cleanup_close_ int dir = fcntl(place.dir, F_DUPFD_CLOEXEC, 100);
    struct place far = {.dir = dir};
    struct root there = root;
    there.fd = fcntl(root.fd, F_DUPFD_CLOEXEC, 100);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bindings bindings;
        /* two, and what is to be tried comes last */
        listen_at(3, AF_INET, true, true);
        listen_at(4, cases[i].family, cases[i].loopback, cases[i].listens);
        CHECK(setenv("LISTEN_PID", pid, 1) == 0 && setenv("LISTEN_FDS", "2", 1) == 0);
        bool good = bind_with(&there, &far, "listen = 127.0.0.1:0\n", &bindings, &err) == 0;
        CHECK_INT(good, cases[i].good);
        CHECK_INT(bindings.count, good ? 2 : 0);
        if (good) {
            CHECK_INT(bindings.at[1].fd, 4);
            CHECK_INT(bindings.at[1].local, cases[i].family == AF_UNIX);
            CHECK((fcntl(4, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(4, F_GETFL) & O_NONBLOCK) != 0);
        }
        bind_end(&bindings);
    }
    /* they are for another process: the settings count */
    const char *const others[][2] = {{"1", "1"}, {pid, "0"}, {pid, "-1"}, {NULL, "1"}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct bindings bindings;
        if (others[i][0] == NULL)
            CHECK(unsetenv("LISTEN_PID") == 0);
        else
            CHECK(setenv("LISTEN_PID", others[i][0], 1) == 0);
        CHECK(setenv("LISTEN_FDS", others[i][1], 1) == 0);
        MUST(bind_with(&there, &far, "listen = 127.0.0.1:0\n", &bindings, &err));
        CHECK_INT(bindings.count, 1);
        bind_end(&bindings);
    }
    for (int i = 0; i <= BIND_MAX; i++) /* at most so many */
        listen_at(3 + i, AF_INET, true, true);
    struct bindings bindings;
    CHECK(setenv("LISTEN_PID", pid, 1) == 0 && setenv("LISTEN_FDS", "9", 1) == 0);
    MUST(bind_with(&there, &far, "listen = 127.0.0.1:0\n", &bindings, &err));
    CHECK_INT(bindings.count, BIND_MAX);
    bind_end(&bindings);
    CHECK(unsetenv("LISTEN_PID") == 0 && unsetenv("LISTEN_FDS") == 0);
    for (int i = 0; i <= BIND_MAX; i++) {
        (void)close(3 + i);
        if (kept[i] != -1)
            CHECK_INT(dup2(kept[i], 3 + i), 3 + i);
        fd_closep(&kept[i]);
    }
    (void)close(there.fd);
}
