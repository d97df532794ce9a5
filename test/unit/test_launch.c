#include "unit.h"

#include "base/file.h"
#include "base/str.h"
#include "session/env.h"
#include "session/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
    _cleanup_strv_ char **env = NULL;
    struct err err = ERR_INIT;
    bool prompts = false;

    if (launch_receive_env(f->dir, index, &env, &prompts, &err) == -1)
        return '!';
    if (env == NULL)
        return prompts ? '?' : '-';
    const char *value = env_get(env, "LAUNCH_TEST");
    return value == NULL || strcmp(value, "a=b\nc") != 0 ? '?' : prompts ? 'p' : 'e';
}

static void the_last_agent_removes_it(void)
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

static void prompts_are_handed_out_once(void)
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

static void only_those_who_are_wanted_are_waited_for(void)
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

static void another_file_is_damage(void)
{
    static const char *const bad[] = {"",
                                      "MASENV2",
                                      "MASENV2\n",
                                      "MASENV1\n...\nA=b",
                                      "MASENV2\n...\nA=b",
                                      "MASENV2\nprompts\n",
                                      "MASENV2\nprompts\n...",
                                      "MASENV2\nprompt\n...\nA=b",
                                      "MASENV2\n-\n..\nA=b",
                                      "MASENV2\n-\n.?.\nA=b",
                                      "MASENV2\n--\n...\nA=b"};
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

static const struct unit_test tests[] = {
    TEST(the_last_agent_removes_it),
    TEST(prompts_are_handed_out_once),
    TEST(only_those_who_are_wanted_are_waited_for),
    TEST(another_file_is_damage),
};

int main(void)
{
    if (mkdtemp(place) == NULL || setenv("LAUNCH_TEST", "a=b\nc", 1) == -1)
        return 1;
    _cleanup_free_ char *run = mem_printf("%s/run", place);
    int rc = mkdir(run, 0700) == 0 ? UNIT_RUN(tests) : 1;
    (void)rmdir(run);
    (void)rmdir(place);
    return rc;
}
