#include "unit.h"

#include "store/config.h"
#include "wall/plan.h"
#include "wall/probe.h"
#include "wall/secrets.h"

#include <sys/syscall.h>

/* ---- what of /etc others cannot read */

static const char *seen_name; /* a file of /etc that seems to have another mode */
static mode_t seen_mode;

int fstatat(int dir, const char *restrict name, struct stat *restrict ret, int flags)
{
    int rc = (int)syscall(SYS_newfstatat, dir, name, ret, flags);

    if (rc == 0 && seen_name != NULL && strcmp(name, seen_name) == 0)
        ret->st_mode = (ret->st_mode & S_IFMT) | seen_mode;
    return rc;
}

static bool is_secret(const char *path, mode_t mode)
{
    _cleanup_strv_ char **paths = NULL;

    seen_name = strrchr(path, '/') + 1;
    seen_mode = mode;
    wall_secrets_find(&paths);
    seen_name = NULL;
    for (char **one = paths; one != NULL && *one != NULL; one++)
        if (strcmp(*one, path) == 0)
            return true;
    return false;
}

TEST(a_secret_is_what_others_cannot_read)
{
    static const struct {
        mode_t mode;
        bool secret;
    } modes[] = {
        {0644, false}, {0640, true}, {0600, true}, {0604, false}, {0000, true}, {0642, true},
    };
    static const char *const paths[] = {"/etc/passwd", "/etc/group", "/etc/default",
                                        "/etc/default/nss"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        for (size_t j = 0; j < ARRAY_LEN(modes) && access(paths[i], F_OK) == 0; j++)
            CHECK_INT(is_secret(paths[i], modes[j].mode), modes[j].secret);
}

/* ---- the level */

/* What decides, and what it says, if these say something: each its own. */
TEST(the_first_that_says_something_decides)
{
    static const enum wall_level say[] = {WALL_OFF, WALL_TRY, WALL_REQUIRE};
    static const enum wall_source order[] = {WALL_BY_SESSION, WALL_BY_AGENT, WALL_BY_PRESET,
                                             WALL_BY_SETTING};
    struct err err = ERR_INIT;

    for (unsigned said = 0; said < 1U << ARRAY_LEN(order); said++) {
        _cleanup_config_ struct config config = CONFIG_INIT;
        enum wall_level levels[ARRAY_LEN(order)] = {WALL_UNSET};
        enum wall_source source = WALL_BY_NOTHING;
        enum wall_level level = WALL_OFF;
        for (size_t i = ARRAY_LEN(order); i-- > 0;) {
            if ((said & 1U << i) == 0)
                continue;
            levels[i] = level = say[(i + said) % ARRAY_LEN(say)]; /* no two neighbours agree */
            source = order[i];
        }
        REQUIRE(config_load(NULL, false, &config, NULL, &err) == 0);
        if (levels[3] != WALL_UNSET)
            CHECK_INT(
                config_override(&config, SETTING_WALL_LEVEL, wall_level_name(levels[3]), "-", &err),
                0);
        struct team team = {.wall = levels[0]};
        const struct agent agent = {.wall = levels[1]};
        struct preset preset = {.wall.level = levels[2]};
        CHECK_INT(wall_source_of(&config, &team, &agent, &preset), source);
        CHECK_INT(wall_level_of(&config, &team, &agent, &preset), level);
        preset.wall.home_count = 1; /* it asks for a wall, after all others */
        CHECK_INT(wall_level_of(&config, &team, &agent, &preset), said != 0 ? level : WALL_TRY);
    }
}

/* What a start has found comes to the hosts as one text; one that says anything else is not
 * believed. */
TEST(what_was_found_is_read_or_refused)
{
    char deep[5000];
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"6 1 /bin/sh", true},
        {"0 0 /bin/sh", true},
        {"6 1 /bin/sh\t/etc/shadow\t/etc/ssl/private", true},
        {"6 1 /bin/sh\t/home/user", false},
        {"6 1 /bin/sh\t/etc", false},
        {"6 1 /bin/sh\t/etcetera/x", false},
        {"6 1 /bin/sh\t/etc/a\t/root\t/etc/b", false},
        {"6 1 /bin/sh\t/etc/\033[2J", false},
        {"", false},
        {" 1 /bin/sh", false},
        {"x 1 /bin/sh", false},
        {"-1 1 /bin/sh", false},
        {"6", false},
        {"6 2 /bin/sh", false},
        {"6 1", false},
        {"6 1 bin/sh", false},
        {"6  1 /bin/sh", false},
        {"6 1  /bin/sh", false},
        {"61/bin/sh", false},
        {"6 1 /etc/passwd", false}, /* no program */
        {"6 1 /nowhere/bwrap", false},
    };

    CHECK_INT(chdir("/"), 0); /* "bin/sh" is a program here */

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wall_probe probe = {.cache = -1};
        bool good = wall_probe_parse(cases[i].text, &probe);
        if (good != cases[i].good)
            unit_print_str("text", cases[i].text);
        CHECK(good == cases[i].good);
        if (good)
            CHECK_STR(probe.bwrap, "/bin/sh");
        wall_probe_free(&probe);
    }
    (void)snprintf(deep, sizeof deep, "6 1 /%04990d", 0);
    struct wall_probe probe = {.cache = -1};
    CHECK(!wall_probe_parse(deep, &probe));
}
