/*
 * How notices are delivered: session/notice.h, with terminals of the test's own, and with programs
 * that write down what they are given.
 */
#include "root.h"

#include "session/notice.h"

#include <sys/socket.h>
#include <sys/un.h>

#define BEGIN "{\"kind\":\"waiting\",\"at\":1766044800000,\"text\":\""
#define END "\",\"request\":\"r-12345678\"}\n"
#define LINE(text) BEGIN text END

enum { TERMINALS = 3, ALL_WAYS = NOTICE_OSC9 | NOTICE_OSC777 | NOTICE_BELL };

struct world {
    struct place place;
    struct root root;
    struct config config;
    int dir; /* the workspace */
    int server; /* as a tmux server's socket */
    int terminals[TERMINALS];
    char *names[TERMINALS];
};

/* A program in the place's bin: it is the only place where programs are looked for. */
static bool put_program(const struct world *world, const char *name, const char *script)
{
    (void)mkdirat(world->place.dir, "bin", 0700);
    _cleanup_close_ int bin = path_open_dir(world->place.dir, "bin");
    _cleanup_str_ struct str text = STR_INIT;

    str_addf(&text, "#!/bin/sh\nPATH=/usr/bin:/bin\ncd '%s' || exit\n%s\n", world->place.path,
             script);
    return place_put(bin, name, str_text(&text)) && CHECK(fchmodat(bin, name, 0700, 0) == 0);
}

/* Lets tmux list these clients. */
static bool put_clients(const struct world *world, const char *clients)
{
    _cleanup_str_ struct str script = STR_INIT;

    str_addf(&script, "cat <<'E'\n%s\nE", clients);
    return put_program(world, "tmux", str_text(&script));
}

static bool world_make(struct world *world)
{
    struct err err = ERR_INIT;
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    *world = (struct world){.place = place_make(), .root = ROOT_INIT, .config = CONFIG_INIT};
    if (!root_make(&world->place, &world->root))
        return false;
    root_clear_env(&world->place);
    _cleanup_free_ char *bin = mem_printf("%s/bin", world->place.path);
    CHECK(setenv("PATH", bin, 1) == 0 && setenv("MAS_AGENT_ID", "x", 1) == 0);
    WELL(config_load(&world->root, false, &world->config, NULL, &err));
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/tmux", world->place.path);
    world->server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(world->server, (struct sockaddr *)&at, sizeof at) == 0 &&
          listen(world->server, 8) == 0);
    struct session session = root_session(ID(0), "mas-one", "login");
    free(session.tmux_socket);
    session.tmux_socket = mem_dup(at.sun_path);
    CHECK(root_save(&world->root, &session));
    session_free(&session);
    world->dir = workspace_open(&world->root, ID(0));
    CHECK(mkdirat(world->dir, "logs", 0700) == 0);
    for (size_t i = 0; i < TERMINALS; i++) {
        world->terminals[i] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
        CHECK(unlockpt(world->terminals[i]) == 0);
        world->names[i] = mem_dup(ptsname(world->terminals[i]));
    }
    return put_clients(world, "") &&
           place_put(world->dir, "config.json",
                     "{\"team\":[{\"id\":\"11\",\"role\":\"worker\",\"rank\":\"worker\","
                     "\"group\":\"g\"}],\"windows\":[{\"name\":\"w\",\"agents\":[\"11\"]}]}");
}

static void world_free(struct world *world)
{
    for (size_t i = 0; i < TERMINALS; i++) {
        (void)close(world->terminals[i]);
        free(world->names[i]);
    }
    (void)close(world->server);
    fd_closep(&world->dir);
    config_free(&world->config);
    root_close(&world->root);
    place_free(&world->place);
}
#define _cleanup_world_ __attribute__((cleanup(world_free)))

static void set(struct world *world, enum setting setting, const char *value)
{
    struct err err = ERR_INIT;

    WELL(config_override(&world->config, setting, value, "test", &err));
}

static int deliver(struct world *world, const char *text, struct err *err)
{
    return notice_deliver(&world->root, &world->config, ID(0), "11", "%5", text, err);
}

/* What a terminal was given since the last look. */
static char *shown(const struct world *world, size_t i)
{
    char buf[8192];
    UNIT_MAYBE _cleanup_close_ int held = open(world->names[i], O_RDONLY | O_NOCTTY | O_CLOEXEC);
    ssize_t n = read(world->terminals[i], buf, sizeof buf);

    return mem_dupn(buf, n > 0 ? (size_t)n : 0);
}

static bool file_has(int dir, const char *name, const char *what, bool has)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;

    bool is = file_read(dir, name, 1 << 20, &text, &len, &err) == 0 && strstr(text, what) != NULL;
    if (is != has)
        printf("# %s: %s\n", name, text != NULL ? text : err.text);
    return is == has;
}

static size_t count_lines(int dir, const char *name, const char *what)
{
    _cleanup_free_ char *text = NULL;
    struct err err = ERR_INIT;
    size_t len = 0;
    size_t count = 0;

    if (file_read(dir, name, 1 << 20, &text, &len, &err) == -1)
        return 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

#define TITLE "mas: login: 11 (worker) waits for you"
#define BODY "May I? - mas approve r-12345678"

/* All terminals, also those after one that has gone, is none, or of another user. */
TEST(every_terminal_is_told)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct err err = ERR_INIT;
    /* with the slaves open, as by a client; else the kernel drops what nobody reads */
    UNIT_MAYBE _cleanup_close_ int one = open(world.names[0], O_RDWR | O_NOCTTY | O_CLOEXEC);
    UNIT_MAYBE _cleanup_close_ int two = open(world.names[1], O_RDWR | O_NOCTTY | O_CLOEXEC);
    UNIT_MAYBE _cleanup_close_ int three = open(world.names[2], O_RDWR | O_NOCTTY | O_CLOEXEC);
    _cleanup_str_ struct str clients = STR_INIT;

    str_addf(&clients,
             "%s %%1\n/dev/pts/99999 %%1\n/dev/shm/none %%1\n/dev/null/x %%2\n%s %%2\n%s %%3",
             world.names[0], world.names[1], world.names[2]);
    REQUIRE(put_clients(&world, str_text(&clients)));
    MUST(deliver(&world, LINE("May I?"), &err)); /* no way is set */
    for (size_t i = 0; i < TERMINALS; i++) {
        _cleanup_free_ char *text = shown(&world, i);
        CHECK_STR(text, "");
    }
    set(&world, SETTING_NOTIFY_TERMINAL, "yes");
    MUST(deliver(&world, LINE("May I?"), &err));
    for (size_t i = 0; i < TERMINALS; i++) {
        _cleanup_free_ char *text = shown(&world, i);
        CHECK_STR(text,
                  "\033]9;" TITLE ": " BODY "\033\\\033]777;notify;" TITLE ";" BODY "\033\\\a");
    }
    CHECK(file_has(world.dir, "logs/session.log",
                   "cannot notify by [notify] terminal: cannot open '/dev/null/x'", true));
    static const struct {
        const char *way, *want;
    } one_way[] = {{"osc9", "\033]9;" TITLE ": " BODY "\033\\"},
                   {"osc777", "\033]777;notify;" TITLE ";" BODY "\033\\"},
                   {"bell", "\a"}};
    for (size_t i = 0; i < ARRAY_LEN(one_way); i++) {
        set(&world, SETTING_NOTIFY_TERMINAL, one_way[i].way);
        MUST(deliver(&world, LINE("May I?"), &err));
        _cleanup_free_ char *text = shown(&world, 2);
        CHECK_STR(text, one_way[i].want);
        free(shown(&world, 0));
    }
    /* a person looks at the agent in one of them */
    str_addf(&clients, "\n/dev/pts/99999 %%5");
    REQUIRE(put_clients(&world, str_text(&clients)));
    MUST(deliver(&world, LINE("May I?"), &err));
    _cleanup_free_ char *text = shown(&world, 0);
    CHECK_STR(text, "");
}

/* A link in the place of a terminal, and a file. */
TEST(nothing_else_is_written_to)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct err err = ERR_INIT;
    _cleanup_str_ struct str clients = STR_INIT;
    char name[] = "/dev/shm/mas-unit-tty-XXXXXX";
    int fd = mkstemp(name);
    struct stat st;

    if (fd == -1)
        UNIT_SKIP("there is no /dev/shm");
    str_addf(&clients, "%s %%1", name);
    REQUIRE(put_clients(&world, str_text(&clients)));
    set(&world, SETTING_NOTIFY_TERMINAL, "bell");
    MUST(deliver(&world, LINE("May I?"), &err));
    CHECK(fstat(fd, &st) == 0 && st.st_size == 0);
    CHECK(file_has(world.dir, "logs/session.log", "is not a terminal of this user", true));
    CHECK(unlink(name) == 0 && symlink(world.names[0], name) == 0);
    UNIT_MAYBE _cleanup_close_ int held = open(world.names[0], O_RDWR | O_NOCTTY | O_CLOEXEC);
    MUST(deliver(&world, LINE("May I?"), &err));
    _cleanup_free_ char *text = shown(&world, 0);
    CHECK_STR(text, "");
    CHECK(unlink(name) == 0);
    (void)close(fd);
}

TEST(a_command_gets_the_notice_and_nothing_of_an_agent)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct err err = ERR_INIT;

    REQUIRE(
        put_program(&world, "keep", "cat >>told; env >env; echo \"$@\" >args; exit $(cat code)"));
    CHECK(place_put(world.place.dir, "code", "0"));
    set(&world, SETTING_NOTIFY_COMMAND, "keep 'a b' c");
    MUST(deliver(&world,
                 LINE("May I?") LINE(
                     "Second") "{\"kind\":\"crashed\",\"at\":1,\"text\":\"\",\"request\":\"\"}",
                 &err));
    CHECK(file_has(world.place.dir, "args", "a b c\n", true));
    CHECK(file_has(world.place.dir, "told", "\"text\":\"May I?\"", true));
    CHECK(file_has(world.place.dir, "told", "\"text\":\"Second\"", true));
    CHECK(file_has(
        world.place.dir, "told",
        "{\"notice\":\"waiting\",\"time\":\"2025-12-18T08:00:00Z\",\"timeMs\":1766044800000,",
        true));
    CHECK(file_has(world.place.dir, "told",
                   ",\"name\":\"login\",\"tmuxSession\":\"mas-one\",\"agent\":\"11\",\"role\":"
                   "\"worker\",\"text\":\"May I?\",\"request\":\"r-12345678\",\"answer\":"
                   "\"mas approve r-12345678\"}",
                   true));
    CHECK(
        file_has(world.place.dir, "told", "\"text\":\"\",\"request\":null,\"answer\":null}", true));
    CHECK(file_has(world.place.dir, "env", "MAS_PROCESS_MARK=", true));
    CHECK(file_has(world.place.dir, "told", "\"notice\":\"crashed\"", true));
    CHECK_INT(count_lines(world.place.dir, "told", "\"answer\":\"mas"), 2);
    CHECK(file_has(world.place.dir, "env", "MAS_NOTICE=crashed\n", true));
    CHECK(file_has(world.place.dir, "env", "MAS_NOTICE_NAME=login\n", true));
    CHECK(file_has(world.place.dir, "env", "MAS_AGENT_ID", false));
    CHECK(file_has(world.place.dir, "env", "HOME=", true));
    CHECK(file_has(world.dir, "logs/session.log", "cannot", false));
    /* why it fails is logged once, and again when it is another reason */
    CHECK(place_put(world.place.dir, "code", "3"));
    MUST(deliver(&world, LINE("1") LINE("2"), &err));
    CHECK_INT(count_lines(world.dir, "logs/session.log", "command: 'keep' exited with code 3"), 1);
    set(&world, SETTING_NOTIFY_COMMAND, "nothing");
    MUST(deliver(&world, LINE("1"), &err));
    CHECK(file_has(world.dir, "logs/session.log", "command: there is no program 'nothing'", true));
}

/* Its other ways are tried though one fails. */
TEST(the_desktop_and_the_web_get_theirs)
{
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct err err = ERR_INIT;

    REQUIRE(put_program(&world, "curl", "echo \"$@\" >curl.args; cat >curl"));
    REQUIRE(put_program(&world, "notify-send", "for a in \"$@\"; do echo \"$a\"; done >>desk"));
    set(&world, SETTING_NOTIFY_COMMAND, "nothing");
    set(&world, SETTING_NOTIFY_DESKTOP, "yes");
    set(&world, SETTING_NOTIFY_WEBHOOK, "https://example.org/a?b=c");
    MUST(deliver(&world, LINE("a < b & c > d"), &err));
    CHECK(file_has(world.place.dir, "desk",
                   "--app-name=mas\n--urgency=critical\n--\n" TITLE
                   "\na &lt; b &amp; c &gt; d - mas approve r-12345678\n",
                   true));
    CHECK(file_has(world.place.dir, "curl.args", "-q --config -\n", true));
    CHECK(file_has(world.place.dir, "curl", "silent\nfail\ngloboff\nproto = \"=http,https\"\n",
                   true));
    CHECK(file_has(world.place.dir, "curl",
                   "max-redirs = \"0\"\nheader = \"Content-Type: application/json\"\n"
                   "user-agent = \"mas\"\noutput = \"/dev/null\"\n",
                   true));
    CHECK(file_has(world.place.dir, "curl", "url = \"https://example.org/a?b=c\"\n", true));
    CHECK(file_has(world.place.dir, "curl", "data-raw = \"{\\\"notice\\\":\\\"waiting\\\"", true));
    MUST(deliver(&world,
                 "{\"kind\":\"failed\",\"at\":1,\"text\":\"x\",\"request\":\"\"}\n"
                 "{\"kind\":\"done\",\"at\":1,\"text\":\"x\",\"request\":\"\"}",
                 &err));
    CHECK_INT(count_lines(world.place.dir, "desk", "--urgency=critical"), 2);
    CHECK_INT(count_lines(world.place.dir, "desk", "--urgency=normal"), 1);
}

TEST(quiet_hours_and_bad_notices)
{
    static const char *const bad[] = {"x", "{}", LINE("ok") "{\"kind\":\"other\",\"at\":1}"};
    _cleanup_world_ struct world world;
    REQUIRE(world_make(&world));
    struct err err = ERR_INIT;

    REQUIRE(put_program(&world, "keep", "cat >>told"));
    set(&world, SETTING_NOTIFY_COMMAND, "keep");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CHECK_INT(deliver(&world, bad[i], &err), -1);
        CHECK(str_starts(err.text, "cannot read a notice"));
        err = (struct err)ERR_INIT;
    }
    CHECK_INT(count_lines(world.place.dir, "told", "\"text\":\"ok\""), 1);
    CHECK_INT(notice_deliver(&world.root, &world.config, ID(0), "12", "%5", LINE("x"), &err), -1);
    CHECK_STR(err.text, "session '" ID(0) "' has no agent '12'");
    CHECK_INT(notice_deliver(&world.root, &world.config, ID(1), "11", "%5", LINE("x"), &err), -1);
    set(&world, SETTING_NOTIFY_QUIET, "00:00-23:59");
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL && (local.tm_hour < 23 || local.tm_min < 58)) {
        MUST(deliver(&world, LINE("quiet"), &err));
        CHECK(file_has(world.place.dir, "told", "quiet", false));
    }
}
