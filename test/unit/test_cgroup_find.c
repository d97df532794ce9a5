/*
 * Where groups may be: the kernel's hierarchy is a directory of the test here, and what the kernel
 * says of this process is a text.
 */
#include "gap.h"
#include "place.h"

#include "wall/cgroup.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#define SESSION "0d35f03c-face-4716-85d0-c326bea9be4"

static const char *own; /* /proc/self/cgroup */
static char hierarchy[64]; /* instead of /sys/fs/cgroup */
static const char *delegated; /* the end of the path of a group that is handed over */
static const char *delegated_by;

static int open_at(int dir, const char *path, int flags, unsigned mode)
{
    char moved[PATH_MAX];

    if (own != NULL && strcmp(path, "/proc/self/cgroup") == 0) {
        int fd = memfd_create("cgroup", MFD_CLOEXEC);
        CHECK(write(fd, own, strlen(own)) == (ssize_t)strlen(own) && lseek(fd, 0, SEEK_SET) == 0);
        return fd;
    }
    if (hierarchy[0] != '\0' && str_starts(path, "/sys/fs/cgroup")) {
        (void)snprintf(moved, sizeof moved, "%s%s", hierarchy, path + strlen("/sys/fs/cgroup"));
        path = moved;
    }
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;
    va_end(args);
    return open_at(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    return open_at(AT_FDCWD, path, flags, 0);
}

int fstatfs(int fd, struct statfs *ret)
{
    (void)fd;
    *ret = (struct statfs){.f_type = hierarchy[0] != '\0' ? CGROUP2_SUPER_MAGIC : TMPFS_MAGIC};
    return 0;
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    char path[PATH_MAX] = "";
    _cleanup_free_ char *self = mem_printf("/proc/self/fd/%d", fd);

    if (readlink(self, path, sizeof path - 1) == -1 || delegated == NULL ||
        !str_ends(path, delegated) || strcmp(name, delegated_by) != 0 || size < 1)
        return -1;
    *(char *)value = '1';
    return 1;
}

/* Makes the hierarchy in the place. */
static void begin(const struct place *place)
{
    (void)snprintf(hierarchy, sizeof hierarchy, "%s", place->path);
    delegated = NULL;
    delegated_by = "user.delegate";
}

/* ---- what this process is in */

TEST(the_own_group_is_that_of_version_2)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"0::/a/b\n", "/a/b"},
        {"0::/a", "/a"},
        {"12:cpu:/x\n1:name=systemd:/y\n0::/a/b\n", "/a/b"},
        {"10::/x\n0::/a\n", "/a"},
        {"1:cpu:/x\n", NULL},
        {"", NULL},
        {"0::/../x\n", NULL}, /* outside of what this process sees */
        {"0::/a/..x\n", NULL},
        {"0::x\n", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        own = cases[i].text;
        _cleanup_free_ char *path = cgroup_own_path();
        CHECK_STR(path, cases[i].path);
    }
    own = NULL;
}

#define MANAGER "/u.slice/user@1000.service"

TEST(groups_are_made_in_the_nearest_one_that_is_delegated)
{
    static const struct {
        const char *text, *delegated, *by, *found;
    } cases[] = {
        {"0::/a.slice/b.scope/c", "/a.slice/b.scope/c", "user.delegate", "/a.slice/b.scope/c"},
        {"0::/a.slice/b.scope/c", "/a.slice/b.scope", "trusted.delegate", "/a.slice/b.scope"},
        {"0::/a.slice/b.scope/c", "/a.slice", "user.delegate", "/a.slice"},
        {"0::/a.slice/b.scope/c", "/gone", "user.delegate", NULL},
        {"0::/a.slice/b.scope/c", "/a.slice", "user.other", NULL},
        /* the group of the user's manager is that manager's alone, what is below it is not */
        {"0::" MANAGER "/app.slice", MANAGER, "user.delegate", NULL},
        {"0::" MANAGER, MANAGER, "user.delegate", NULL},
        {"0::" MANAGER "/app.slice", MANAGER "/app.slice", "user.delegate", MANAGER "/app.slice"},
        {"0::/a.slice/mas.service/x", "/a.slice/mas.service", "user.delegate",
         "/a.slice/mas.service"},
        {"0::/a.slice/user@x.slice/x", "/a.slice/user@x.slice", "user.delegate",
         "/a.slice/user@x.slice"},
    };
    static const char *const groups[] = {"a.slice/b.scope/c", MANAGER "/app.slice",
                                         "a.slice/mas.service/x", "a.slice/user@x.slice/x"};
    _cleanup_place_ struct place place = place_make();

    begin(&place);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        _cleanup_close_ int made =
            path_make_below(place.dir, groups[i] + strspn(groups[i], "/"), 0700);
        CHECK(made != -1);
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        _cleanup_close_ int fd = -1;
        own = cases[i].text;
        delegated = cases[i].delegated;
        delegated_by = cases[i].by;
        bool found = cgroup_find("auto", &fd, &err) == 0;
        CHECK_INT(found, cases[i].found != NULL);
        if (!found) {
            CHECK_STR(err.text, "no cgroup of version 2 is delegated to this user");
            continue;
        }
        char path[PATH_MAX] = "";
        _cleanup_free_ char *self = mem_printf("/proc/self/fd/%d", fd);
        CHECK(readlink(self, path, sizeof path - 1) > 0);
        CHECK_STR(path + strlen(place.path), cases[i].found);
    }
    own = NULL;
}

TEST(mas_steps_down_from_its_own_group)
{
    _cleanup_place_ struct place place = place_make();
    _cleanup_close_ int fd = -1;
    struct err err = ERR_INIT;
    struct stat st;
    char text[8] = "";

    begin(&place);
    own = "0::/x.scope\n";
    CHECK_INT(mkdirat(place.dir, "x.scope", 0700), 0);
    CHECK_INT(cgroup_step_down(&fd, &err), -1); /* the kernel does not let it in */
    CHECK_INT(fd, -1);
    CHECK_INT(fstatat(place.dir, "x.scope/mas", &st, 0), 0);
    CHECK(place_put(place.dir, "x.scope/mas/cgroup.procs", ""));
    err = (struct err)ERR_INIT;
    MUST(cgroup_step_down(&fd, &err));
    CHECK_INT(faccessat(fd, "mas", F_OK, 0), 0); /* the one above */
    _cleanup_close_ int procs = openat(fd, "mas/cgroup.procs", O_RDONLY | O_CLOEXEC);
    CHECK(read(procs, text, sizeof text - 1) == 1);
    CHECK_STR(text, "0");
    own = NULL;
}

TEST(what_a_group_offers_are_its_controllers)
{
    static const struct {
        const char *text;
        unsigned offers;
    } cases[] = {
        {"cpuset cpu io memory pids\n", CGROUP_MEMORY | CGROUP_CPUS | CGROUP_PROCESSES},
        {"memory\n", CGROUP_MEMORY},
        {"cpu", CGROUP_CPUS},
        {"io pids", CGROUP_PROCESSES},
        {"cpuset pids2 xmemory\n", 0},
        {"", 0},
    };
    _cleanup_place_ struct place place = place_make();

    CHECK_INT(cgroup_offers(place.dir), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(place_put(place.dir, "cgroup.controllers", cases[i].text));
        CHECK_INT(cgroup_offers(place.dir), cases[i].offers);
    }
    CHECK_STR(cgroup_limit_name(CGROUP_MEMORY | CGROUP_CPUS | CGROUP_PROCESSES), "memory");
    CHECK_STR(cgroup_limit_name(CGROUP_CPUS | CGROUP_PROCESSES), "cpus");
    CHECK_STR(cgroup_limit_name(CGROUP_PROCESSES), "processes");
}

TEST(limits_are_those_that_are_held)
{
    struct limits_held held = {.of[LIMIT_MEMORY].amount = 1};

    held.of[LIMIT_MEMORY].amount = 1 << 20;
    held.of[LIMIT_CPUS].amount = 150;
    held.of[LIMIT_PROCESSES].amount = 7;
    struct cgroup_limits limits = cgroup_limits_of(&held);
    CHECK_INT(limits.memory, 1 << 20);
    CHECK_INT(limits.cpus, 150);
    CHECK_INT(limits.processes, 7);
    CHECK_INT(cgroup_asked(&limits), CGROUP_MEMORY | CGROUP_CPUS | CGROUP_PROCESSES);
    limits.cpus = 0;
    CHECK_INT(cgroup_asked(&limits), CGROUP_MEMORY | CGROUP_PROCESSES);
}

/* ---- what is left */

/* Makes the group of a session with three agents. */
static void make_session(const struct place *place, const char *name)
{
    for (int i = 1; i <= 3; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%d/1", name, i);
        _cleanup_close_ int made = path_make_below(place->dir, path, 0700);
        CHECK(made != -1);
    }
}

TEST(groups_that_nobody_holds_are_left)
{
    static const char *const names[] = {"mas-" SESSION "0", "mas-" SESSION "1", "mas-" SESSION "2",
                                        "mas-" SESSION "3", "mas-" SESSION "4", "mas-other",
                                        "xas-" SESSION "5"};
    _cleanup_place_ struct place place = place_make();
    int held[3];

    begin(&place);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        make_session(&place, names[i]);
    for (int i = 0; i < 3; i++) { /* one agent has a host: the first, one in the middle, the last */
        _cleanup_free_ char *path = mem_printf("%s/%d", names[i], i + 1);
        held[i] = path_open_dir(place.dir, path);
        CHECK_INT(flock(held[i], LOCK_SH), 0);
    }
    CHECK(place_put(place.dir, "mas-" SESSION "3/cgroup.events", "populated 1\nfrozen 0\n"));
    CHECK(place_put(place.dir, "mas-" SESSION "4/cgroup.events", "populated 0\nfrozen 1\n"));
    _cleanup_strv_ char **left = cgroup_left(place.path);
    REQUIRE(strv_len(left) == 1);
    CHECK_STR(left[0], SESSION "4");
    for (int i = 0; i < 3; i++)
        fd_closep(&held[i]);
    strv_free(left);
    left = cgroup_left(place.path);
    CHECK_INT(strv_len(left), 4);
    hierarchy[0] = '\0';
    CHECK(cgroup_left(place.path) == NULL); /* it is no cgroup */
}

TEST(what_is_forgotten_goes_with_all_that_is_empty)
{
    _cleanup_place_ struct place place = place_make();

    begin(&place);
    make_session(&place, "mas-" SESSION "0");
    make_session(&place, "mas-" SESSION "1");
    cgroup_forget(place.path, SESSION "0");
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "0", F_OK, 0), -1);
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "1/3/1", F_OK, 0), 0);
    CHECK_INT(mkdirat(place.dir, "mas-" SESSION "1/2/1/below", 0700), 0); /* not empty */
    cgroup_forget(place.path, SESSION "1");
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "1/2/1", F_OK, 0), 0);
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "1/1", F_OK, 0), -1);
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "1/3", F_OK, 0), -1);
}

/* ---- the group of an agent */

static void remove_group(void *arg)
{
    const struct place *place = arg;

    CHECK_INT(unlinkat(place->dir, "mas-" SESSION "0/1", AT_REMOVEDIR), 0);
}

TEST(a_group_that_is_removed_before_it_is_held_is_made_again)
{
    _cleanup_place_ struct place place = place_make();
    struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;
    struct stat st, named;

    CHECK_INT(mkdirat(place.dir, "mas-" SESSION "0", 0700), 0);
    gap_before("flock", remove_group, &place);
    MUST(
        cgroup_make(place.dir, SESSION "0", "1", &(struct cgroup_limits){.cpus = 0}, &group, &err));
    CHECK(fstat(group.dir, &st) == 0 && st.st_nlink > 0);
    CHECK(fstatat(place.dir, "mas-" SESSION "0/1", &named, 0) == 0 && named.st_ino == st.st_ino);
    _cleanup_close_ int other = path_open_dir(place.dir, "mas-" SESSION "0/1");
    CHECK(place_put(other, "cgroup.procs", "")); /* in the kernel's it is always there */
    fd_closep(&group.dir);
    MUST(
        cgroup_make(place.dir, SESSION "0", "1", &(struct cgroup_limits){.cpus = 0}, &group, &err));
    CHECK_INT(flock(other, LOCK_EX | LOCK_NB), -1); /* its host holds it */
    CHECK_INT(flock(other, LOCK_SH | LOCK_NB), 0); /* and so may others */
    cgroup_drop(&group, place.dir, SESSION "0", "1");
    CHECK_INT(group.dir, -1);
}

TEST(dropping_leaves_what_is_used_by_others)
{
    _cleanup_place_ struct place place = place_make();
    struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;

    begin(&place);
    MUST(
        cgroup_make(place.dir, SESSION "0", "1", &(struct cgroup_limits){.cpus = 0}, &group, &err));
    CHECK_INT(mkdirat(place.dir, "mas-" SESSION "0/2", 0700), 0);
    cgroup_drop(&group, place.dir, SESSION "0", "1");
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "0/1", F_OK, 0), -1);
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "0/2", F_OK, 0), 0);
    cgroup_drop(&group, place.dir, SESSION "0", "2"); /* there is none: nothing is done */
    CHECK_INT(faccessat(place.dir, "mas-" SESSION "0/2", F_OK, 0), 0);
}

TEST(limits_are_set_anew)
{
    static const char *const files[] = {"memory.max", "memory.swap.max", "cpu.max", "pids.max"};
    _cleanup_place_ struct place place = place_make();
    struct cgroup group = {.dir = place.dir};
    struct {
        struct cgroup_limits limits;
        unsigned holds;
        const char *text[ARRAY_LEN(files)];
    } cases[] = {
        {{.memory = 5}, CGROUP_MEMORY, {"5", "0", "max 100000", "max"}},
        {{.cpus = 50}, CGROUP_CPUS, {"max", "max", "50000 100000", "max"}},
        {{.processes = 3}, CGROUP_PROCESSES, {"max", "max", "max 100000", "3"}},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t j = 0; j < ARRAY_LEN(files); j++)
            CHECK(place_put(place.dir, files[j], ""));
        cgroup_limit(&group, &cases[i].limits);
        CHECK_INT(group.holds, cases[i].holds);
        for (size_t j = 0; j < ARRAY_LEN(files); j++) {
            _cleanup_free_ char *text = NULL;
            size_t len = 0;
            struct err err = ERR_INIT;
            WELL(file_read(place.dir, files[j], 64, &text, &len, &err));
            CHECK_STR(text, cases[i].text[j]);
        }
    }
}

TEST(there_are_at_most_1000_parts)
{
    _cleanup_place_ struct place place = place_make();
    struct cgroup_part part = {.dir = -1};
    char name[16];

    for (int i = 1; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "%d", i);
        CHECK_INT(mkdirat(place.dir, name, 0700), 0);
    }
    CHECK(cgroup_part_make(place.dir, &part));
    CHECK_STR(part.name, "1000");
    fd_closep(&part.dir);
    CHECK(!cgroup_part_make(place.dir, &part));
    CHECK_INT(part.dir, -1);
}

TEST(what_runs_is_stopped_and_killed)
{
    _cleanup_place_ struct place place = place_make();
    char text[8] = "";

    CHECK(!cgroup_kill(place.dir));
    CHECK(!cgroup_is_used(place.dir));
    CHECK(!cgroup_freeze(place.dir, true, 0));
    CHECK(place_put(place.dir, "cgroup.kill", ""));
    CHECK(place_put(place.dir, "cgroup.freeze", ""));
    CHECK(place_put(place.dir, "cgroup.events", "populated 1\nfrozen 1\n"));
    CHECK(cgroup_kill(place.dir));
    CHECK(cgroup_is_used(place.dir));
    CHECK(cgroup_freeze(place.dir, true, 0));
    gap_clock(true);
    int64_t before = gap_later_ms;
    CHECK(!cgroup_freeze(place.dir, false, 1000)); /* it stays stopped */
    gap_clock(false);
    CHECK(gap_later_ms > before && gap_later_ms - before <= 1100);
    _cleanup_close_ int fd = openat(place.dir, "cgroup.freeze", O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, text, sizeof text - 1) == 1);
    CHECK_STR(text, "0");
}
