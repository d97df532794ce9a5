/* Cgroups, with a directory that stands in for the kernel's. */
#include "place.h"

#include "wall/cgroup.h"

#define SESSION "0d35f03c-face-4716-85d0-c326bea9be41"
#define TEAM CGROUP_PREFIX SESSION

static const char *const limit_files[] = {"memory.max", "memory.swap.max", "memory.oom.group",
                                          "cpu.max", "pids.max"};

struct fixture {
    struct place place;
    int agent; /* its group */
};

static void release(struct fixture *f)
{
    fd_closep(&f->agent);
    place_free(&f->place);
}
#define _cleanup_fixture_ __attribute__((cleanup(release)))

/* Makes the group of agent 11, with these files. */
static struct fixture prepare(const char *const *files, size_t count)
{
    struct fixture f = {.place = place_make(), .agent = -1};

    CHECK_INT(mkdirat(f.place.dir, TEAM, 0700), 0);
    CHECK_INT(mkdirat(f.place.dir, TEAM "/11", 0700), 0);
    CHECK(place_put(f.place.dir, "cgroup.subtree_control", ""));
    f.agent = path_open_dir(f.place.dir, TEAM "/11");
    for (size_t i = 0; i < count; i++)
        CHECK(place_put(f.agent, files[i], ""));
    return f;
}

static void check_file(int dir, const char *name, const char *text)
{
    _cleanup_free_ char *got = NULL;
    size_t len = 0;
    struct err err = ERR_INIT;

    WELL(file_read(dir, name, 4096, &got, &len, &err));
    CHECK_STR(got, text);
}

TEST(limits_are_those_of_the_group)
{
    _cleanup_fixture_ struct fixture f = prepare(limit_files, ARRAY_LEN(limit_files));
    const struct cgroup_limits limits = {
        .memory = UINT64_C(2) << 30, .cpus = 150, .processes = 200};
    struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;

    MUST(cgroup_make(f.place.dir, SESSION, "11", &limits, &group, &err));
    CHECK_INT(group.holds, CGROUP_MEMORY | CGROUP_CPUS | CGROUP_PROCESSES);
    check_file(f.agent, "memory.max", "2147483648");
    check_file(f.agent, "memory.swap.max", "0");
    check_file(f.agent, "memory.oom.group", "1");
    check_file(f.agent, "cpu.max", "150000 100000");
    check_file(f.agent, "pids.max", "200");
    fd_closep(&group.dir);
}

TEST(no_limit_is_one_that_is_taken_away)
{
    _cleanup_fixture_ struct fixture f = prepare(limit_files, ARRAY_LEN(limit_files));
    struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;

    MUST(cgroup_make(f.place.dir, SESSION, "11", &(struct cgroup_limits){.memory = 0}, &group,
                     &err));
    CHECK_INT(group.holds, 0);
    check_file(f.agent, "memory.max", "max");
    check_file(f.agent, "memory.swap.max", "max");
    check_file(f.agent, "cpu.max", "max 100000");
    check_file(f.agent, "pids.max", "max");
    fd_closep(&group.dir);
}

TEST(what_the_kernel_does_not_have_is_not_held)
{
    _cleanup_fixture_ struct fixture f = prepare((const char *const[]){"pids.max"}, 1);
    const struct cgroup_limits limits = {.memory = 1 << 30, .processes = 200};
    struct cgroup group = CGROUP_INIT;
    struct err err = ERR_INIT;

    MUST(cgroup_make(f.place.dir, SESSION, "11", &limits, &group, &err));
    CHECK_INT(cgroup_asked(&limits), CGROUP_MEMORY | CGROUP_PROCESSES);
    CHECK_INT(group.holds, CGROUP_PROCESSES);
    CHECK_INT(cgroup_oom_kills(&group), -1);
    fd_closep(&group.dir);
}

TEST(parts_have_names_of_their_own_and_go_when_they_are_empty)
{
    _cleanup_fixture_ struct fixture f = prepare(NULL, 0);
    struct cgroup group = CGROUP_INIT;
    struct cgroup_part first = {.dir = -1};
    struct cgroup_part second = {.dir = -1};
    struct err err = ERR_INIT;

    MUST(cgroup_make(f.place.dir, SESSION, "11", &(struct cgroup_limits){.memory = 0}, &group,
                     &err));
    REQUIRE(cgroup_part_make(group.dir, &first));
    REQUIRE(cgroup_part_make(group.dir, &second));
    CHECK(strcmp(first.name, second.name) != 0);
    cgroup_part_drop(&first);
    cgroup_part_drop(&second);
    CHECK_INT(first.dir, -1);
    CHECK_INT(mkdirat(group.dir, "7", 0700), 0); /* an earlier host was killed */
    fd_closep(&group.dir);
    MUST(cgroup_make(f.place.dir, SESSION, "11", &(struct cgroup_limits){.memory = 0}, &group,
                     &err));
    CHECK_INT(faccessat(f.agent, "7", F_OK, 0), -1);
    cgroup_drop(&group, f.place.dir, SESSION, "11");
    CHECK_INT(faccessat(f.place.dir, TEAM, F_OK, 0), -1);
}

TEST(what_killed_hosts_left_is_forgotten)
{
    _cleanup_fixture_ struct fixture f = prepare(NULL, 0);
    struct cgroup group = CGROUP_INIT;
    struct cgroup_part part = {.dir = -1};
    struct err err = ERR_INIT;

    MUST(cgroup_make(f.place.dir, SESSION, "12", &(struct cgroup_limits){.memory = 0}, &group,
                     &err));
    REQUIRE(cgroup_part_make(group.dir, &part));
    fd_closep(&part.dir);
    fd_closep(&group.dir);
    cgroup_forget(f.place.path, SESSION); /* which is no cgroup */
    CHECK_INT(faccessat(f.place.dir, TEAM "/12/1", F_OK, 0), 0);
    cgroup_forget("auto", SESSION);
    cgroup_forget("no", "..");
}

TEST(figures_are_read_and_nonsense_is_unknown)
{
    _cleanup_fixture_ struct fixture f = prepare(NULL, 0);
    struct cgroup_usage usage;
    struct cgroup group = {.dir = f.agent};

    CHECK(place_put(f.agent, "cpu.stat", "nr_usage_usec 1\nusage_usec 1234567\nuser_usec 9\n"));
    CHECK(place_put(f.agent, "memory.current", "4096\n"));
    CHECK(place_put(f.agent, "pids.current", "12"));
    CHECK(place_put(f.agent, "memory.events", "oom 3\noom_kill 2\noom_group_kill 1\n"));
    cgroup_measure(f.agent, &usage);
    CHECK_INT(usage.cpu_ms, 1234);
    CHECK_INT(usage.memory, 4096);
    CHECK_INT(usage.processes, 12);
    CHECK_INT(cgroup_oom_kills(&group), 2);

    CHECK(place_put(f.agent, "cpu.stat", "usage_usec"));
    CHECK(place_put(f.agent, "memory.current", "max\n"));
    CHECK(place_put(f.agent, "pids.current", "99999999999999999999"));
    CHECK(place_put(f.agent, "memory.events", "oom_kill -2\n"));
    cgroup_measure(f.agent, &usage);
    CHECK_INT(usage.cpu_ms, -1);
    CHECK_INT(usage.memory, -1);
    CHECK_INT(usage.processes, -1);
    CHECK_INT(cgroup_oom_kills(&group), -1);
}

TEST(processes_are_listed)
{
    _cleanup_fixture_ struct fixture f = prepare(NULL, 0);
    pid_t *pids = NULL;

    CHECK_INT(cgroup_pids(f.agent, &pids), 0);
    free(pids);
    CHECK(place_put(f.agent, "cgroup.procs", "12\n345\n"));
    REQUIRE(cgroup_pids(f.agent, &pids) == 2);
    CHECK_INT(pids[0], 12);
    CHECK_INT(pids[1], 345);
    free(pids);
}

TEST(a_directory_is_no_group)
{
    _cleanup_place_ struct place place = place_make();
    struct err err = ERR_INIT;
    int parent = -1;

    CHECK_INT(cgroup_find(place.path, &parent, &err), -1);
    CHECK(strstr(err.text, "is not a cgroup of version 2") != NULL);
    err = (struct err)ERR_INIT;
    CHECK_INT(cgroup_find("/nowhere/at/all", &parent, &err), -1);
    CHECK(strstr(err.text, "No such file") != NULL);
    err = (struct err)ERR_INIT;
    CHECK_INT(cgroup_find("no", &parent, &err), -1);
    CHECK_STR(err.text, "limits.cgroup is 'no'");
    CHECK_INT(parent, -1);
}
