#define UNIT_OWN_MAIN
#include "unit.h"

#include "os/file.h"
#include "session/env.h"
#include "session/launch.h"

enum { AGENTS = 3 };

static char place[] = "/tmp/mas-launch-XXXXXX";

/* A workspace with a run/, and a team of three. */
struct fixture {
    int dir;
    struct config config;
    struct agent agents[AGENTS];
    struct team team;
};

static bool prepare(struct fixture *f)
{
    struct err err = ERR_INIT;

    *f = (struct fixture){.config = CONFIG_INIT};
    f->team = (struct team){.agents = f->agents, .agent_count = AGENTS};
    f->dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->dir != -1 && config_load(NULL, false, &f->config, NULL, &err) == 0;
}

static void release(struct fixture *f)
{
    config_free(&f->config);
    (void)close(f->dir);
}

static bool is_there(const struct fixture *f)
{
    return faccessat(f->dir, "run/env", F_OK, 0) == 0;
}

static bool write_env(struct fixture *f, const bool *wanted, bool prompts)
{
    struct launch_env launch = {
        .config = &f->config, .team = &f->team, .wanted = wanted, .prompts = prompts};
    struct err err = ERR_INIT;
    int fd = -1;

    if (launch_write_env(f->dir, &launch, &fd, &err) == -1)
        return false;
    return close(fd) == 0;
}

/* 'p' with prompts, 'e' the environment alone, '-' nothing, '!' an error. */
static char take(struct fixture *f, size_t index)
{
    _cleanup_launch_received_ struct launch_received received = LAUNCH_RECEIVED_INIT;
    struct err err = ERR_INIT;

    if (launch_receive_env(f->dir, index, &received, &err) == -1)
        return '!';
    if (received.env == NULL)
        return received.prompts ? '?' : '-';
    const char *value = env_get(received.env, "LAUNCH_TEST");
    return value == NULL || strcmp(value, "a=b\nc") != 0 ? '?' : received.prompts ? 'p' : 'e';
}

TEST(the_last_agent_removes_it)
{
    struct fixture f;

    REQUIRE(prepare(&f));
    REQUIRE(write_env(&f, NULL, false));
    CHECK_INT(take(&f, 1), 'e');
    CHECK_INT(take(&f, 0), 'e');
    CHECK(is_there(&f));
    CHECK_INT(take(&f, 2), 'e');
    CHECK(!is_there(&f));
    CHECK_INT(take(&f, 2), '-');
    release(&f);
}

TEST(prompts_are_handed_out_once)
{
    struct fixture f;

    REQUIRE(prepare(&f));
    REQUIRE(write_env(&f, NULL, true));
    CHECK_INT(take(&f, 1), 'p');
    CHECK_INT(take(&f, 1), 'e'); /* its host was started once more */
    CHECK_INT(take(&f, 0), 'p');
    CHECK_INT(take(&f, 2), 'p');
    CHECK(!is_there(&f));
    release(&f);
}

TEST(only_those_who_are_wanted_are_waited_for)
{
    static const bool wanted[AGENTS] = {false, true, false};
    struct fixture f;

    REQUIRE(prepare(&f));
    REQUIRE(write_env(&f, wanted, true));
    CHECK_INT(take(&f, 0), 'e');
    CHECK(is_there(&f));
    CHECK_INT(take(&f, 1), 'p');
    CHECK(!is_there(&f));
    release(&f);
}

TEST(another_file_is_damage)
{
    static const char *const bad[] = {"",
                                      "MASENV3",
                                      "MASENV3\n",
                                      "MASENV2\n-\n...\nA=b",
                                      "MASENV3\n...\nA=b",
                                      "MASENV3\n\n...\nA=b",
                                      "MASENV3\nprompts\n",
                                      "MASENV3\nprompts\n...",
                                      "MASENV3\nprompts\n7 1 /bin/sh",
                                      "MASENV3\nprompts\n...\nA=b",
                                      "MASENV3\nprompt\n\n...\nA=b",
                                      "MASENV3\n-\n\n..\nA=b",
                                      "MASENV3\n-\n\n.?.\nA=b",
                                      "MASENV3\n--\n\n...\nA=b"};
    struct fixture f;
    struct err err = ERR_INIT;

    REQUIRE(prepare(&f));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        launch_drop_env(f.dir);
        REQUIRE(file_create(f.dir, "run/env", bad[i], strlen(bad[i]), 0600, &err) == 0);
        if (take(&f, 2) != '!')
            CHECK_STR(bad[i], "refused");
    }
    launch_drop_env(f.dir);
    release(&f);
}

/* Returns the line that a host reads, as it would write it again; "": it would look itself. */
static void read_machine(struct fixture *f, const char *line, struct str *ret)
{
    _cleanup_launch_received_ struct launch_received received = LAUNCH_RECEIVED_INIT;
    _cleanup_free_ char *text = mem_printf("MASENV3\n-\n%s\n...\nA=b", line);
    struct err err = ERR_INIT;

    launch_drop_env(f->dir);
    if (file_create(f->dir, "run/env", text, strlen(text) + 1, 0600, &err) == -1 ||
        launch_receive_env(f->dir, 0, &received, &err) == -1)
        str_add(ret, err.text);
    else
        wall_probe_format(&received.probe, ret);
}

TEST(what_the_machine_holds_is_believed_if_it_can_be)
{
    static const char *const good[] = {"7 1 /bin/sh", "0 0 /bin/sh", "999 1 /bin/sh"};
    static const char *const bad[] = {
        "",
        "7",
        "7 1",
        "7 1 ",
        "7 1 sh",
        "7 2 /bin/sh",
        "-1 1 /bin/sh",
        "1000 1 /bin/sh",
        "x 1 /bin/sh",
        "7  1 /bin/sh",
        "7 1 /bin/none",
        "7 11 /bin/sh",
    };
    _cleanup_free_ char *huge = mem_alloc(PATH_MAX + 16);
    struct fixture f;

    REQUIRE(prepare(&f));
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        read_machine(&f, good[i], &got);
        CHECK_STR(str_text(&got), good[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        _cleanup_str_ struct str got = STR_INIT;
        read_machine(&f, bad[i], &got);
        CHECK_STR(str_text(&got), "");
    }
    memset(huge, '/', PATH_MAX + 8); /* it leads to the root */
    memcpy(huge, "7 1 ", 4);
    _cleanup_str_ struct str got = STR_INIT;
    read_machine(&f, huge, &got);
    CHECK_STR(str_text(&got), "");
    launch_drop_env(f.dir);
    release(&f);
}

TEST(what_mas_start_has_found_reaches_each_host)
{
    struct wall_probe probe = {.looked = true, .landlock = 6, .seccomp = true};
    struct fixture f;

    REQUIRE(prepare(&f));
    struct launch_env launch = {.config = &f.config, .team = &f.team, .probe = &probe};
    for (int works = 0; works < 2; works++) {
        struct err err = ERR_INIT;
        int fd = -1;
        probe.bwrap = works ? mem_dup("/bin/sh") : NULL; /* without it each host tries again */
        REQUIRE(launch_write_env(f.dir, &launch, &fd, &err) == 0);
        REQUIRE(close(fd) == 0);
        for (size_t i = 0; i < AGENTS; i++) {
            _cleanup_launch_received_ struct launch_received received = LAUNCH_RECEIVED_INIT;
            _cleanup_str_ struct str got = STR_INIT;
            REQUIRE(launch_receive_env(f.dir, i, &received, &err) == 0);
            wall_probe_format(&received.probe, &got);
            CHECK_STR(str_text(&got), works ? "6 1 /bin/sh" : "");
        }
    }
    wall_probe_free(&probe);
    release(&f);
}

int main(void)
{
    if (mkdtemp(place) == NULL || setenv("LAUNCH_TEST", "a=b\nc", 1) == -1)
        return 1;
    _cleanup_free_ char *run = mem_printf("%s/run", place);
    int rc = mkdir(run, 0700) == 0 ? unit_run() : 1;
    (void)rmdir(run);
    (void)rmdir(place);
    return rc;
}
